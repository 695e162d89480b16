"""The methods of ``survey-design``, the first one that applies is the default, and the outlook of a survey.

**The least epsilon with which the planned users are enough, with a design there and a proof just below.**
The users that are needed fall steadily as epsilon rises, nearly like a power of it: a secant in logarithms
finds where they are the planned ones in a few steps, each started from the designs of the one before. Where
a number is asked for its mean, the first steps take its variance from between the solved channels; only the
last ones solve the channel at their epsilon.

**Designs for an epsilon** come from column generation, from a closed form, from the usual rules, and in a
second way from a coarse grid: all its designs are in one convex program in cvxpy, which shares no code with
the column generation but the information of a part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.problem import Method, Outcome, Status
from mechdesign.core.solution import Solution
from mechdesign.core.validation import user_count
from mechdesign.core.values import changed
from mechdesign.families.survey import design as building
from mechdesign.families.survey.design import SurveyDesign, SurveyPrices, variables_of
from mechdesign.families.survey.design_bundles import Independent, Joint
from mechdesign.families.survey.design_mixtures import (
    RULES,
    SETS,
    Column,
    Mixture,
    bounds_for_any,
    even_turns,
    generate_mixture,
    rotated,
)
from mechdesign.families.survey.design_setting import STEPS, Ask, SurveySetting
from mechdesign.families.survey.part_plans import SurveyOutlook, expected_errors, outlook_of, users_for
from mechdesign.families.survey.survey import SurveyMechanism
from mechdesign.solvers.solve import solve

AIM = 4e-6
"""A step aims at this part fewer users than planned, so that it ends where the planned ones are enough."""

NEAR = 1e-5
"""When the users needed are that close to the planned ones, the proof just below is tried."""

ROUNDS = 60

DIGITS = 8
"""Decimal digits of the epsilons that are tried: solvers that round otherwise lead to the same ones."""


@dataclass(frozen=True)
class TriedEpsilon:
    """A mixture at one epsilon."""

    setting: SurveySetting
    mixture: Mixture

    @property
    def epsilon(self) -> float:
        """Its epsilon."""
        return self.setting.epsilon

    @property
    def needed(self) -> float:
        """The users that are needed."""
        return self.mixture.value


@dataclass
class EpsilonSearch:
    """The ends between which the least epsilon lies, and the slope of the users needed.

    Attributes
    ----------
    high : TriedEpsilon
        Where the planned users are enough.
    low : float
        Where they are not, for any design of the class.
    slope : float
        Of the logarithm of the users needed against that of epsilon, at the last steps.
    done : bool
        Whether low is just below high.
    """

    high: TriedEpsilon
    low: float = 0.0
    slope: float = -2.0
    done: bool = False


def search_least_epsilon(problem: SurveyDesign, kind: type[Independent]) -> EpsilonSearch | TriedEpsilon:
    """Return where the least epsilon is; a single try where no epsilon up to the problem's is enough."""
    first = _tried(problem.own_setting, kind, None)
    if first.needed > problem.users:
        return first
    search, last = EpsilonSearch(first), first
    if any(question.is_mean for question in problem.questionnaire.all):
        plan = EpsilonSearch(_tried(problem.setting(planned=True), kind, first, False))
        if plan.high.needed <= problem.users:
            _narrowed(plan, plan.high, problem, kind, lambda epsilon: problem.setting(epsilon, planned=True))
            search.slope = plan.slope
            last = _step(search, problem, kind, problem.setting(plan.high.epsilon), plan.high)
    _narrowed(search, last, problem, kind, problem.setting)
    return search


def _narrowed(
    search: EpsilonSearch,
    last: TriedEpsilon,
    problem: SurveyDesign,
    kind: type[Independent],
    setting: Callable[[float], SurveySetting],
) -> None:
    """Bring the ends of a search together, from its last step on."""
    within = problem.optimal_within / 2.0
    beyond = False
    for _ in range(ROUNDS):
        high = search.high
        if high.epsilon - search.low <= within * high.epsilon:
            search.done = True
            return
        if beyond and last.needed > problem.users >= last.mixture.bound:
            return  # within the gap of the optimum
        beyond = last is high and math.log(problem.users / high.needed) <= NEAR
        missing = math.log(problem.users * (1.0 - AIM) / last.needed)
        epsilon = last.epsilon * math.exp(missing / search.slope)
        if beyond:
            epsilon = high.epsilon * (1.0 - 0.9 * within)
        if not search.low < epsilon < high.epsilon:
            epsilon = (search.low + high.epsilon) / 2.0
        before, epsilon = last, float(f"{epsilon:.{DIGITS}g}")
        last = _step(search, problem, kind, setting(epsilon), last, beyond)
        change = math.log(last.epsilon / before.epsilon)
        if abs(change) > 1e-4:
            slope = math.log(last.needed / before.needed) / change
            search.slope = min(slope, -0.1)


def _step(
    search: EpsilonSearch,
    problem: SurveyDesign,
    kind: type[Independent],
    setting: SurveySetting,
    near: TriedEpsilon,
    proven: bool = False,
) -> TriedEpsilon:
    """Try one epsilon and move an end of the search there."""
    result = _tried(setting, kind, near, proven)
    if result.needed <= problem.users:
        if result.epsilon < search.high.epsilon:
            search.high = result
    elif result.mixture.bound > problem.users:
        search.low = max(search.low, result.epsilon)
    return result


def _tried(
    setting: SurveySetting, kind: type[Independent], near: TriedEpsilon | None, proven: bool = True
) -> TriedEpsilon:
    pricing = kind(setting)
    start = pricing.start()
    if near is not None:
        start += [moved(column, near.setting, setting) for column in near.mixture.columns]
    return TriedEpsilon(setting, generate_mixture(setting, start, pricing, proven))


def moved(column: Column, old: SurveySetting, new: SurveySetting) -> Column:
    """Return a design with its budgets in the same proportion of another epsilon.

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question, Questions
    >>> from mechdesign.families.survey.design_setting import Ask
    >>> from mechdesign.families.survey.design_setting import targets_of
    >>> questions = Questions([Question(name, labels=("no", "yes")) for name in "ab"])
    >>> targets = targets_of(questions, [{"name": "a"}, {"name": "b"}], [], [])
    >>> old, new = SurveySetting(questions, targets, 1.0), SurveySetting(questions, targets, 2.0)
    >>> [(ask.places, ask.epsilon) for ask in moved((Ask("cells", (0, 1), 1.0),), old, new)]
    [((0, 1), 2.0)]
    """
    asks = []
    for ask in column:
        step = min(STEPS, math.ceil(ask.epsilon / old.epsilon * STEPS - 1e-9))
        if len(ask.places) == 1:
            asks.append(new.menu.ask(ask.places[0], step))
        else:
            asks.append(replace(ask, epsilon=float(new.menu.budgets[step])))
    return tuple(asks)


Array = NDArray[np.float64]

NOTHING = "with epsilon = 0 reports contain no information; give a larger epsilon"

Class = type[Independent]


def by_generation(kind: Class) -> Callable[[SurveyDesign], Outcome]:
    """Return the method that chooses from a class of designs by column generation."""

    def run(problem: SurveyDesign) -> Outcome:
        if problem.epsilon == 0.0:
            return Outcome(status="infeasible", solver="column generation", message=NOTHING)
        if problem.goal == "epsilon":
            return _least_epsilon(problem, kind)
        setting, pricing = problem.own_setting, kind(problem.own_setting)
        return _outcome(problem, setting, generate_mixture(setting, pricing.start(), pricing), kind)

    return run


def _outcome(problem: SurveyDesign, setting: SurveySetting, mixture: Mixture, kind: Class) -> Outcome:
    columns, shares = rotated(mixture, setting.groups)
    variables = variables_of(problem.questionnaire, columns, shares.tolist(), setting.epsilon)
    value, bound = _in_goal(problem, mixture.value), _in_goal(problem, mixture.bound)
    notes: dict[str, Any] = {"designs": len(columns), "rounds": mixture.rounds}
    notes |= _for_any(problem, setting)
    prices = SurveyPrices(problem, setting, columns, shares, mixture.prices)
    if kind is Joint:
        status: Status = "optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible"
        source, solver = "prices of all designs (weak duality)", "column generation"
        return Outcome(status, variables, bound, source, solver, notes=notes, prices=prices)
    notes["bound_for_independent_answers"] = bound
    return Outcome("feasible", variables, solver="column generation", notes=notes, prices=prices)


def _for_any(problem: SurveyDesign, setting: SurveySetting) -> dict[str, Any]:
    """Return the notes on what no private mechanism goes below, where that is known."""
    bounds = bounds_for_any(setting) if problem.goal == "mean" else {}
    if not bounds:
        return {}
    return {"bound_for_any_mechanism": max(bounds.values()), "bounds_for_any_mechanism": bounds}


def _in_goal(problem: SurveyDesign, value: float) -> float:
    """Return the value of the goal: the users needed become a ratio of errors for ``worst``."""
    return math.sqrt(value / problem.users) if problem.goal == "worst" else value


# The least epsilon


def _least_epsilon(problem: SurveyDesign, kind: Class) -> Outcome:
    """Return the least epsilon with which the planned users are enough.

    At it the design found is enough; just below the bound proves that none of the class is.
    """
    search = search_least_epsilon(problem, kind)
    if isinstance(search, TriedEpsilon):
        needed = math.ceil(search.mixture.bound)
        message = (
            f"with {counted(problem.users, 'user')} no epsilon up to {problem.epsilon:g} is enough: at that "
            f"one {needed} users are needed; ask more users, or accept larger errors"
        )
        return Outcome(status="infeasible", solver="column generation", message=message)
    setting, mixture = search.high.setting, search.high.mixture
    columns, shares = rotated(mixture, setting.groups)
    variables = variables_of(problem.questionnaire, columns, shares.tolist(), setting.epsilon)
    notes = {"designs": len(columns)}
    source = "designs of a smaller epsilon need more users (weak duality)"
    solver = "column generation and secant"
    prices = SurveyPrices(problem, setting, columns, shares, mixture.prices)
    if kind is Joint:
        status: Status = "optimal" if search.done else "feasible"
        return Outcome(status, variables, search.low, source, solver, notes=notes, prices=prices)
    return Outcome("feasible", variables, solver=solver, notes=notes, prices=prices)


# In closed form


def one_question(problem: SurveyDesign) -> Outcome:
    """Ask every user one question with all of epsilon, with the best shares (theorem 1)."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="closed form", message=NOTHING)
    setting = problem.own_setting
    columns = Independent(setting).start()
    information = np.array([setting.information(column)[place] for place, column in enumerate(columns)])
    if problem.goal == "mean":
        shares = np.sqrt(setting.each_weight / information)
    else:
        shares = setting.each_needed / information
    shares /= shares.sum()
    variables = variables_of(problem.questionnaire, columns, shares.tolist(), problem.epsilon)
    notes: dict[str, Any] = {"best_independent": _is_best(setting)}
    notes |= _for_any(problem, setting)
    return Outcome("feasible", variables, solver="closed form", notes=notes)


def _is_best(setting: SurveySetting) -> bool:
    """Whether what a question tells per unit of budget is largest at all of epsilon, for every question."""
    menu = setting.menu
    rate = menu.information[:, 1:] / menu.budgets[1:]
    return bool((rate <= rate[:, -1:] * (1.0 + 1e-12)).all())


def no_closed_form(problem: SurveyDesign) -> str | None:
    """Return why one question per user is not a plan (joint results, least epsilon), or None."""
    return no_joint_results(problem) or (
        "it is not for goal 'epsilon'" if problem.goal == "epsilon" else None
    )


def no_joint_results(problem: SurveyDesign) -> str | None:
    """Return why independent answers are not a plan (results of several questions), or None."""
    if len(problem.targets) > len(problem.questionnaire):
        return "it does not estimate cross tables and group means"
    return None


# What is usual


def by_rule(count: Callable[[SurveySetting], int]) -> Callable[[SurveyDesign], Outcome]:
    """Return the method that asks each user ``count(setting)`` questions, evenly."""

    def run(problem: SurveyDesign) -> Outcome:
        if problem.epsilon == 0.0:
            return Outcome(status="infeasible", solver="formula", message=NOTHING)
        setting = problem.own_setting
        columns, shares = even_turns(setting, count(setting))
        variables = variables_of(problem.questionnaire, columns, shares, problem.epsilon)
        return Outcome("feasible", variables, solver="formula", notes={"designs": len(columns)})

    return run


BUDGET_PARTS = 8
"""Parts of epsilon that independent answers take."""

MOST_DESIGNS = 6000


def coarse_grid(problem: SurveyDesign) -> Outcome:
    """Return the best mixture of the designs of the grid."""
    import cvxpy as cp

    from mechdesign.solvers.convex import solve_convex

    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="cvxpy", message=NOTHING)
    setting = problem.own_setting
    columns = list(_columns(setting))
    nothing = np.zeros(len(setting.targets))
    asks = {ask for column in columns for ask in column}
    alone = {ask: setting.information([ask]) for ask in asks}  # a design tells what its parts tell
    table = np.array([sum((alone[ask] for ask in column), start=nothing) for column in columns])
    shares = cp.Variable(len(columns), nonneg=True)
    if problem.goal == "mean":
        errors = cp.multiply(setting.each_weight, cp.inv_pos(table.T @ shares))
        limits: list[cp.Constraint] = []
        program = cp.Problem(cp.Minimize(cp.sum(errors)), [cp.sum(shares) == 1])
    else:
        least = cp.Variable()
        scaled = table / setting.each_needed * problem.users
        limits = [scaled.T @ shares >= least]
        program = cp.Problem(cp.Maximize(least), [*limits, cp.sum(shares) == 1])
    result = solve_convex(program)
    if shares.value is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    amounts = np.where(shares.value > 1e-9, shares.value, 0.0)
    used = np.flatnonzero(amounts)
    split = amounts[used] / amounts[used].sum()
    chosen = [columns[place] for place in used]
    variables = variables_of(problem.questionnaire, chosen, split.tolist(), problem.epsilon)
    prices = np.zeros(len(setting.targets))
    for limit in limits:
        prices = np.asarray(limit.dual_value) / setting.each_needed
    notes, priced = {"designs_listed": len(columns)}, SurveyPrices(problem, setting, chosen, split, prices)
    return Outcome("feasible", variables, solver=result.solver, notes=notes, prices=priced)


def why_not_coarse_grid(problem: SurveyDesign) -> str | None:
    """Return why the grid is too large or the goal another one, or None."""
    if problem.goal == "epsilon":
        return "it is not for goal 'epsilon'"
    if len(problem.targets) > len(problem.questionnaire):
        return "its designs do not list whole tables"
    count = len(problem.questionnaire)
    if math.comb(BUDGET_PARTS + count - 1, count - 1) + (1 << count) > MOST_DESIGNS:
        return f"{count} questions have more than {MOST_DESIGNS} designs on its grid"
    return None


def _columns(setting: SurveySetting) -> Iterator[tuple[Ask, ...]]:
    """Yield all divisions of epsilon in eighths, and k-ary response on the cells of all sets of questions."""
    questions, menu = setting.questions, setting.menu
    step = (len(menu.budgets) - 1) // BUDGET_PARTS
    single = [
        [menu.ask(place, part * step) for part in range(BUDGET_PARTS + 1)] for place in range(len(questions))
    ]
    for cuts in combinations(range(BUDGET_PARTS + len(questions) - 1), len(questions) - 1):
        ends = (-1, *cuts, BUDGET_PARTS + len(questions) - 1)
        parts = [after - before - 1 for before, after in pairwise(ends)]
        yield tuple(single[place][part] for place, part in enumerate(parts) if part)
    for size in range(2, len(questions) + 1):
        for places in combinations(range(len(questions)), size):
            if math.prod(questions[place].size for place in places) <= 1 << 16:
                yield (Ask("cells", places, setting.epsilon),)


ALONE = "answers that are independent of each other"

METHODS = (
    Method("design", SurveyDesign, "numeric",
           "independent and joint reports by column generation, with a proven gap", by_generation(Joint)),
    Method("split", SurveyDesign, "numeric",
           "the best division of epsilon among independent answers", by_generation(Independent),
           no_joint_results, ALONE),
    Method("one-question", SurveyDesign, "analytic",
           "one question of each user with all of epsilon, with the best shares", one_question,
           no_closed_form, ALONE),
    Method("grid", SurveyDesign, "numeric", "all designs of a coarse grid at once, declared in cvxpy",
           coarse_grid, why_not_coarse_grid, "designs of a coarse grid"),
    *(Method(name, SurveyDesign, "heuristic", summary, by_rule(count), no_closed_form, ALONE)
      for name, count, summary in RULES),
)  # fmt: skip


USEFUL = 0.05
"""A standard error that tells something of a share, or of a mean as a part of its range."""

MOST_LISTED = 8

TRIES = 8

SAID = {
    "mean": "mean squared error relative to answers in clear",
    "worst": "largest ratio of an error to its target",
    "users": "users needed for all target errors",
    "epsilon": "least epsilon for all target errors",
}


def outlook(
    problem: SurveyDesign, solution: Solution[SurveyMechanism], users: int | None = None
) -> SurveyOutlook:
    """Return the forecast before any user is asked; for the planned users by default.

    Raises
    ------
    ParameterError
        Where an error is larger than what is possible: what each would be, and what would help.
    """
    survey, count = solution.mechanism(), problem.users if users is None else user_count(users)
    if max(_relative(problem, survey)) > math.sqrt(count):
        raise _too_little(problem, survey, count)
    goals = [target.error for target in problem.targets]
    return outlook_of(survey, count, goals, _bounds(problem, solution))


def _bounds(problem: SurveyDesign, solution: Solution[SurveyMechanism]) -> list[str]:
    result = [f"{SAID[problem.goal]}: {solution.value:.6g}"]
    if solution.bound is not None:
        result[0] += f"; at least {solution.bound:.6g} among {problem.compared_with}"
    bounds = _bounds_of_solution(problem, solution)
    if bounds:
        listed = "; ".join(f"{bound:.6g} ({source})" for source, bound in bounds)
        result.append(f"no mechanism of this epsilon goes below {listed}")
    return result


def _bounds_of_solution(
    problem: SurveyDesign, solution: Solution[SurveyMechanism]
) -> list[tuple[str, float]]:
    """Return the bounds for every mechanism, the best one first; by entropy too where sets are too many."""
    bounds: dict[str, float] = dict(solution.notes.get("bounds_for_any_mechanism", {}))
    if bounds and SETS not in bounds:
        setting = problem.own_setting
        bounds = bounds_for_any(setting, building.target_information(setting, solution.variables))
    known = [(source, bound) for source, bound in bounds.items() if math.isfinite(bound)]
    return sorted(known, key=lambda item: -item[1])


def _widths(problem: SurveyDesign) -> list[float]:
    """Return the unit of an error of each result: 1 for shares, the range for means."""
    questions = [problem.questionnaire[target.request.subject] for target in problem.targets]
    return [question.domain.width if question.is_number else 1.0 for question in questions]


def _relative(problem: SurveyDesign, survey: SurveyMechanism) -> list[float]:
    """Return the standard error of each result with one user, as a part of what is possible."""
    alone = expected_errors(survey, 1).tolist()
    return [error / width for error, width in zip(alone, _widths(problem), strict=True)]


def _too_little(problem: SurveyDesign, survey: SurveyMechanism, users: int) -> ParameterError:
    rows = zip(_relative(problem, survey), survey.errors(users).items(), _widths(problem), strict=True)
    named = sorted(rows, key=lambda row: -row[0])
    listed = [f"{name} {error:.3g} (of {width:g})" for _, (name, error), width in named[:MOST_LISTED]]
    more = f" and {len(named) - MOST_LISTED} smaller ones" if len(named) > MOST_LISTED else ""
    what = f"{problem.epsilon:g} is too small: with {counted(users, 'user')} the standard errors are "
    enough = users_for(max(_relative(problem, survey)), USEFUL)
    remedies = [] if enough is None else [f"ask {_rounded_up(enough)} users"]
    larger = _enough_epsilon(problem, max(_relative(problem, survey)), users)
    remedies += [] if larger is None else [f"give epsilon = {larger:g}"]
    remedies += ["ask fewer questions"] if len(problem.questionnaire) > 1 else []
    goal = f"for errors of at most {USEFUL:.0%} of what is possible "
    return ParameterError("epsilon", what + ", ".join(listed) + more, goal + ", or ".join(remedies))


def _enough_epsilon(problem: SurveyDesign, alone: float, users: int) -> float | None:
    """Return an epsilon that is enough for useful errors, in two digits; None where none was found.

    Errors at a small epsilon are about proportional to 1 / epsilon; where that is too little, more is tried.
    """
    epsilon = _two_digits(problem.epsilon * alone / (USEFUL * math.sqrt(users)))
    for _ in range(TRIES):
        epsilon = min(max(epsilon, 0.01), 50.0)
        tried = changed(problem, epsilon=epsilon, users=users, goal="mean")
        if max(_relative(tried, solve(tried).mechanism())) <= USEFUL * math.sqrt(users):
            return epsilon
        if epsilon == 50.0:
            return None
        epsilon = _two_digits(1.5 * epsilon)
    return None


def _two_digits(number: float) -> float:
    return float(f"{number:.2g}")


def _rounded_up(count: int) -> int:
    """Return a count rounded up to two digits.

    Examples
    --------
    >>> _rounded_up(1234), _rounded_up(99_100), _rounded_up(7)
    (1300, 100000, 7)
    """
    step: int = 10 ** max(0, len(str(count)) - 2)
    return int(-(-count // step) * step)
