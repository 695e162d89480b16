"""What building a survey says: who is asked what, expected errors, bounds; or what would help."""

from __future__ import annotations

import math

from mechdesign.core.errors import ParameterError
from mechdesign.core.solution import Solution
from mechdesign.core.solve import solve
from mechdesign.core.text import counted
from mechdesign.core.validation import user_count
from mechdesign.families.survey.design import building
from mechdesign.families.survey.design.anything import SETS, bounds_for_any
from mechdesign.families.survey.design.problem import SurveyDesign
from mechdesign.families.survey.outlook import SurveyOutlook, outlook_of, users_for
from mechdesign.families.survey.planned import expected_errors
from mechdesign.families.survey.survey import Survey

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


def outlook(problem: SurveyDesign, solution: Solution[Survey], users: int | None = None) -> SurveyOutlook:
    """Return the forecast before any user is asked; for the planned users by default.

    Raises
    ------
    ParameterError
        Where an error is larger than what is possible: what each would be, and what would help.
    """
    survey, count = solution.mechanism(), problem.users if users is None else user_count(users)
    if max(_relative(problem, survey)) > math.sqrt(count):
        raise _too_little(problem, survey, count)
    wanted = [target.error for target in problem.targets]
    return outlook_of(survey, count, wanted, _bounds(problem, solution))


def _bounds(problem: SurveyDesign, solution: Solution[Survey]) -> list[str]:
    found = [f"{SAID[problem.goal]}: {solution.value:.6g}"]
    if solution.bound is not None:
        found[0] += f"; at least {solution.bound:.6g} among {problem.compared_with}"
    bounds = _for_any(problem, solution)
    if bounds:
        listed = "; ".join(f"{bound:.6g} ({source})" for source, bound in bounds)
        found.append(f"no mechanism of this epsilon goes below {listed}")
    return found


def _for_any(problem: SurveyDesign, solution: Solution[Survey]) -> list[tuple[str, float]]:
    """Return the bounds for every mechanism, the best one first; by entropy too where sets are too many."""
    bounds: dict[str, float] = dict(solution.notes.get("bounds_for_any_mechanism", {}))
    if bounds and SETS not in bounds:
        setting = problem.own_setting
        bounds = bounds_for_any(setting, building.target_information(setting, solution.variables))
    known = [(source, bound) for source, bound in bounds.items() if math.isfinite(bound)]
    return sorted(known, key=lambda item: -item[1])


def _widths(problem: SurveyDesign) -> list[float]:
    """Return the unit of an error of each result: 1 for shares, the range for means."""
    found = []
    for target in problem.targets:
        number = target.wanted.places[0] if target.wanted.number is None else target.wanted.number
        question = problem.asked[number]
        found.append(question.domain.width if question.is_mean else 1.0)
    return found


def _relative(problem: SurveyDesign, survey: Survey) -> list[float]:
    """Return the standard error of each result with one user, as a part of what is possible."""
    alone = expected_errors(survey, 1).tolist()
    return [error / width for error, width in zip(alone, _widths(problem), strict=True)]


def _too_little(problem: SurveyDesign, survey: Survey, users: int) -> ParameterError:
    named = sorted(
        zip(_relative(problem, survey), survey.errors(users).items(), _widths(problem), strict=True),
        key=lambda item: -item[0],
    )
    listed = [f"{name} {error:.3g} (of {width:g})" for _, (name, error), width in named[:MOST_LISTED]]
    more = f" and {len(named) - MOST_LISTED} smaller ones" if len(named) > MOST_LISTED else ""
    what = f"{problem.epsilon:g} is too small: with {counted(users, 'user')} the standard errors are "
    enough = users_for(max(_relative(problem, survey)), USEFUL)
    remedies = [] if enough is None else [f"ask {_rounded_up(enough)} users"]
    larger = _enough_epsilon(problem, max(_relative(problem, survey)), users)
    remedies += [] if larger is None else [f"give epsilon = {larger:g}"]
    remedies += ["ask fewer questions"] if len(problem.asked) > 1 else []
    goal = f"for errors of at most {USEFUL:.0%} of what is possible "
    return ParameterError("epsilon", what + ", ".join(listed) + more, goal + ", or ".join(remedies))


def _enough_epsilon(problem: SurveyDesign, alone: float, users: int) -> float | None:
    """Return an epsilon that is enough for useful errors, in two digits; None where none was found.

    Errors at a small epsilon are about proportional to 1 / epsilon; where that is too little, more is tried.
    """
    epsilon = _two_digits(problem.epsilon * alone / (USEFUL * math.sqrt(users)))
    for _ in range(TRIES):
        epsilon = min(max(epsilon, 0.01), 50.0)
        tried = SurveyDesign(
            questions=problem.questions,
            epsilon=epsilon,
            users=users,
            tables=problem.tables,
            group_means=problem.group_means,
        )
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
