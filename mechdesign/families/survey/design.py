"""The problem ``survey-design``: several questions of each user under one epsilon, and the survey that runs.

**What epsilon and requested errors are worth, from the prices that prove the bound.**
Let designs c have the shares q_c and tell z_cj(eps) of result j, I_j = sum_c q_c z_cj. With the shares, the
parts of epsilon that each design takes, and the dual numbers p_j fixed, the value moves with epsilon as

    goal "mean":   V = sum_j w_j / I_j           goal "users":   V = 1 / sum_j p_j I_j,   sum_j p_j I_j = 1/V,

and for goal "worst" as the root of the users that are needed over the planned ones.

*Proof sketch.* The shares are the variables of a convex program whose set does not depend on epsilon, and
the budgets of a design are a maximum of its price p.z over the divisions of epsilon. At the optimum a small
change of either moves the value by nothing (envelope theorem), so budgets that stay in proportion give the
derivative. For "users" the least of I_j / n_j is maximised; p_j are the multipliers of I_j >= t n_j, and t
is stationary.

What a single question tells is a formula, or the variance of a solved channel: its derivative comes from
the multipliers of that channel. Beside others a number or an ordered question takes its channel from a
ladder of epsilons. The jumps from rung to rung are left out: the channel moves along as if it were solved
at its budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.fields import checked, choice, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, as_written, privacy_epsilon
from mechdesign.exact.numbers import text_of
from mechdesign.families.survey.design_mixtures import Column
from mechdesign.families.survey.design_setting import (
    Ask,
    SurveySetting,
    SurveyTarget,
    design_information,
    noise,
    targets_of,
)
from mechdesign.families.survey.part_plans import planned_part
from mechdesign.families.survey.parts import SurveyPart
from mechdesign.families.survey.questions import Question, Questions
from mechdesign.families.survey.survey import SurveyMechanism, survey_figures
from mechdesign.primitives.combine import question_kind

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure
    from mechdesign.solvers.sensitivity import Binding

Array = NDArray[np.float64]

SOLVED = ("number", "ordered")
"""Kinds of parts whose channel is solved for its own epsilon: a larger budget would not help it."""

GRAIN = 2.0**-40
"""Budgets of parts are multiples of it, but for the last one, so that they add up exactly."""

DIGITS = 20
"""Binary digits of a share: those beyond differ between processors, as solvers round. To leave them out costs
next to nothing: the users that are needed grow by a millionth, the mean error by the square of that."""


def variables_of(
    questions: Questions, columns: Sequence[Column], shares: Sequence[float], epsilon: float
) -> dict[str, Any]:
    """Return designs and shares as plain values, the largest shares first, equal ones by their questions.

    The same designs give the same values in whichever order they come, with their parts in any order.
    """
    names = questions.names
    plain = plain_shares(shares)
    parts = [tuple(sorted(column, key=_content)) for column in columns]
    order = sorted(range(len(parts)), key=lambda place: (-plain[place], [*map(_content, parts[place])]))
    designs = [
        [
            {
                "kind": ask.kind,
                "questions": [names[place] for place in ask.places],
                "epsilon": ask.epsilon,
                **({"sets": list(ask.sets)} if ask.sets else {}),
            }
            for ask in parts[place]
        ]
        for place in order
    ]
    return {"epsilon": epsilon, "designs": designs, "shares": [plain[place] for place in order]}


def _content(ask: Ask) -> tuple[tuple[int, ...], str, tuple[int, ...], float]:
    return ask.places, ask.kind, ask.sets, ask.epsilon


def plain_shares(shares: Sequence[float]) -> list[float]:
    """Return shares in the same proportions, to :data:`DIGITS` binary digits each, that sum to 1.

    Examples
    --------
    >>> plain_shares([0.3 + 1e-12, 0.3, 0.4]) == plain_shares([0.3, 0.3 - 1e-12, 0.4])
    True
    """
    rounded = []
    for share in shares:
        mantissa, exponent = math.frexp(share)
        rounded.append(math.ldexp(round(math.ldexp(mantissa, DIGITS)), exponent - DIGITS))
    total = math.fsum(rounded)
    return [share / total for share in rounded]


def _columns_of(questions: Questions, variables: Variables) -> list[Column]:
    """Return the designs of plain values."""

    def ask(item: Mapping[str, Any]) -> Ask:
        places = tuple(questions.place(name, "designs") for name in item["questions"])
        return Ask(item["kind"], places, float(item["epsilon"]), tuple(item.get("sets", ())))

    return [tuple(map(ask, design)) for design in variables["designs"]]


def target_information(setting: SurveySetting, variables: Variables) -> Array:
    """Return the information of a user's report about each target, on average over the designs."""
    columns = _columns_of(setting.questions, variables)
    shares = np.asarray(variables["shares"], dtype=np.float64)
    result: Array = shares @ np.array([setting.information(column) for column in columns])
    return result


def largest_budget(variables: Variables) -> float:
    """Return the epsilon of the most expensive design."""
    return max(math.fsum(item["epsilon"] for item in design) for design in variables["designs"])


def repeated_questions(variables: Variables) -> int:
    """Return the number of designs that ask a question twice."""
    designs = [[name for item in design for name in item["questions"]] for design in variables["designs"]]
    return sum(len(names) - len(set(names)) for names in designs)


def runnable_survey(problem: SurveyDesign, variables: Variables) -> SurveyMechanism:
    """Return the survey of these designs; those that nobody would get are left out."""
    questions, epsilon = problem.questionnaire, float(variables["epsilon"])
    columns, shares = _columns_of(questions, variables), variables["shares"]
    used = [place for place, share in enumerate(shares) if Fraction(float(share)) * (1 << 61) > 1]
    designs = []
    for place in used:
        column = columns[place]
        taken = budgets([ask.epsilon for ask in column], epsilon, [ask.kind in SOLVED for ask in column])
        designs.append([_part(questions, ask, budget) for ask, budget in zip(column, taken, strict=True)])
    requests = [target.request for target in problem.targets[len(questions) :]]
    return SurveyMechanism(
        questions, epsilon, designs, [float(shares[place]) for place in used], requests, problem.users
    )


def budgets(value: Sequence[float], epsilon: float, own_budgets: Sequence[bool] = ()) -> list[float]:
    """Return budgets that add up to at most epsilon exactly: rounded down, and the rest for the last one.

    Parameters
    ----------
    value : sequence of float
    epsilon : float
    own_budgets : sequence of bool, optional
        Which of them take nothing of the rest: the channel of a number is solved for its own epsilon.

    Examples
    --------
    >>> parts = budgets([0.1, 0.2, 0.7], 1.0)
    >>> sum(map(Fraction, parts)) <= 1, parts[2] >= 0.7
    (True, True)
    >>> budgets([0.25, 0.5], 1.0, [False, True])
    [0.5, 0.5]
    """
    fixed = list(own_budgets) or [False] * len(value)
    free = [place for place, own in enumerate(fixed) if not own]
    last = free[-1] if free else len(value) - 1
    result = [one if own else math.floor(one / GRAIN) * GRAIN for one, own in zip(value, fixed, strict=True)]
    spent = sum((Fraction(one) for place, one in enumerate(result) if place != last), Fraction(0))
    rest = as_written(epsilon) - spent
    most = float(rest)
    if as_written(most) > rest:
        most = math.nextafter(most, 0.0)
    whole = math.fsum(value) >= epsilon * (1.0 - 1e-9)  # else a design that does not use all of epsilon
    result[last] = most if free and (whole or any(fixed)) else min(most, value[last])
    return result


def _part(questions: Questions, ask: Ask, epsilon: float) -> SurveyPart:
    part = planned_part(questions, ask.kind, ask.places, ask.epsilon, epsilon, ask.sets)
    if part is None:
        question = questions[ask.places[0]]
        what = "a number" if question.is_mean else f"{question.size} ordered categories"
        raise ParameterError("designs", f"no channel for {what} at epsilon = {ask.epsilon:g}")
    return part


LEAST_EPSILON, LARGEST_EPSILON = 2.0**-20, 50.0
"""The range in which the mechanisms of single answers run."""

EXTRA = ("importance", "error")
"""What a model says of a question next to what the mechanism knows."""

GOALS = ("mean", "worst", "users", "epsilon")

LABELS = {
    "worst": "largest standard error relative to the requested one",
    "users": "users needed",
    "epsilon": "epsilon needed",
}


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        what = f"{epsilon:g} exceeds the largest epsilon of a survey"
        raise ParameterError(field, what, "give 0.000001 to 50")
    return epsilon


def _questions(field: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    if isinstance(value, Questions):
        value = value.as_json()
    if not isinstance(value, (list, tuple)):
        what = f"expected a list of tables, got {text_of(value)}"
        raise ParameterError(field, what, "write [[parameters.questions]]")
    statements, questions = [], []
    for item in value:
        stated = item.as_json() if isinstance(item, Question) else item
        if not isinstance(stated, Mapping):
            what = f"expected a table, got {text_of(stated)}"
            raise ParameterError(field, what, 'give { name = "age", ... }')
        question = Question.from_json(stated, EXTRA)
        questions.append(question)
        statements.append(question.as_json() | {key: stated[key] for key in EXTRA if key in stated})
    Questions(questions)
    return tuple(statements)


def _listed(problem: SurveyDesign, field: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(field, f"expected a list, got {text_of(value)}")
    return tuple(value)


@frozen_problem()
class SurveyDesign(Problem[SurveyMechanism]):
    r"""Plan of the questions to each user: epsilon covers all questions of a user together.

    ::

        minimize    sum_j w_j / (sum_c q_c z_cj)        (goal "mean")
        over        designs c and the shares q_c of the users who get them

    z_cj is what one report of design c tells of result j: 1 over the variance of one user's contribution, the
    sampling of the user included. The value is the mean over the results of n x variance, relative to users
    who answer in clear: 1 means that privacy costs nothing.

    Raises
    ------
    ParameterError
        Naming the question, what is wrong and the remedy.

    Notes
    -----
    Source: docs/families/survey.md.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.SurveyDesign(
    ...     questions=[{"name": "smokes", "labels": ["no", "yes"]}, {"name": "age", "range": [18, 90]}],
    ...     epsilon=2.0,
    ... )
    >>> solution = md.solve(problem)
    >>> round(solution.value, 3), solution.status, len(solution.variables["designs"])
    (4.803, 'optimal', 2)
    """

    name: ClassVar[str] = "survey-design"
    example: ClassVar[Mapping[str, Any]] = {
        "questions": [{"name": "smokes", "labels": ["no", "yes"]}, {"name": "age", "range": [18, 90]}],
        "epsilon": 2.0,
        "users": 10_000,
    }
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    relaxations: ClassVar[Mapping[str, Any]] = {"users": MOST_USERS, "epsilon": LARGEST_EPSILON}
    value_name: ClassVar[str] = "error relative to answers in clear"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = (
        "a design divides epsilon in infinitely many ways, and what it tells is not concave in them"
        "; method 'grid' is a program over some of them"
    )
    summary: ClassVar[str] = "several questions of each user under one epsilon: what to ask of whom, and how"
    compared_with: ClassVar[str] = "mixtures of independent and joint reports"
    optimal_within: ClassVar[float] = 1e-4

    questions: Sequence[Any] = checked(
        'A list of tables with ``name``, ``kind`` ("categorical", "ordered" or "number"), ``labels`` or '
        "``range``; for a number also ``bins`` (a histogram instead of the mean) and ``spread`` (the planned "
        "standard deviation); ``frequencies``, the planned shares of the categories (even ones by default); "
        "``cumulative = true``, where the cumulative shares of ordered answers are wanted; "
        "``skip = true`` allows to omit it; ``importance`` (1) and ``error`` (the "
        "wanted standard error, of a category's share or of the mean).",
        _questions,
        form="list of tables",
    )
    epsilon: float = checked(
        "Total epsilon of a user over all questions, from 0 to 50. With 0 the problem is infeasible. "
        'For goal "epsilon" the largest that may be.',
        _epsilon,
        limits={"minimum": 0, "maximum": LARGEST_EPSILON},
        form="float",
    )
    users: int = whole("Number of users who report, at least 1.", low=1, high=MOST_USERS, default=10_000)
    tables: Sequence[Any] = related(
        "Requested cross tables: lists of questions, or ``{questions = [...], importance = , error = }``.",
        _listed,
        form="list",
        default=(),
    )
    group_means: Sequence[Any] = related(
        'Requested means by group: ``{number = "age", by = "sex"}``, also with importance and error.',
        _listed,
        form="list",
        default=(),
    )
    goal: Literal["mean", "worst", "users", "epsilon"] = choice(
        "What is minimized. ``mean``: the weighted mean of the errors relative to answers in clear. "
        "``worst``: the largest ratio of a standard error to the requested one. ``users``: the number of "
        "users for which all errors are as requested. ``epsilon``: the epsilon at which ``users`` users give "
        "these errors.",
        GOALS,
        default="mean",
    )

    def __attrs_post_init__(self) -> None:
        missing = [target.name for target in self.targets if target.error is None]
        if self.goal != "mean" and missing:
            raise ParameterError(
                f"goal: '{self.goal}' needs the target standard error of '{missing[0]}'",
                remedy="write error = 0.01 there, or take goal = 'mean'",
            )

    def __repr__(self) -> str:
        """Return the parameters in short: the names of the questions."""
        names = list(self.questionnaire.names)
        listed = ", ".join(names[:4]) + (f", ... {len(names)} in all" if len(names) > 4 else "")
        more = f", goal='{self.goal}'" if self.goal != "mean" else ""
        extra = len(self.targets) - len(names)
        joint = f", {extra} joint result{'s' * (extra > 1)}" if extra else ""
        return f"{type(self).__name__}(questions=[{listed}]{joint}, epsilon={self.epsilon:g}{more})"

    asked = FormerAttribute("questionnaire")

    @cached_property
    def questionnaire(self) -> Questions:
        """The questions as the mechanism knows them."""
        return Questions([Question.from_json(item, EXTRA) for item in self.questions])

    @cached_property
    def targets(self) -> tuple[SurveyTarget, ...]:
        """Everything that is wanted."""
        return targets_of(self.questionnaire, self.questions, self.tables, self.group_means)

    @property
    def planned_users(self) -> int:
        return self.users

    def setting(self, epsilon: float | None = None, planned: bool = False) -> SurveySetting:
        """Return the survey as its optimisation sees it, at its own epsilon or another one."""
        budget = self.epsilon if epsilon is None else epsilon
        return SurveySetting(self.questionnaire, self.targets, budget, self.goal != "mean", planned)

    @cached_property
    def own_setting(self) -> SurveySetting:
        """The setting at its epsilon."""
        return self.setting()

    def value_label(self) -> str:
        """Return the name of the goal."""
        return LABELS.get(self.goal, self.value_name)

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the goal for designs and shares."""
        if self.goal == "epsilon":
            return float(variables["epsilon"])
        setting = self.own_setting
        information = target_information(setting, variables)
        with np.errstate(divide="ignore"):
            if self.goal == "mean":
                return float((setting.each_weight / information).sum())
            needed = float((setting.each_needed / information).max())
        return needed if self.goal == "users" else math.sqrt(needed / self.users)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the shares' distance from a split, epsilon beyond the limit, and errors too large."""
        shares = np.asarray(variables["shares"], dtype=np.float64)
        spent = largest_budget(variables)
        result = {
            "shares": abs(math.fsum(shares) - 1.0) + float(np.maximum(-shares, 0.0).sum()),
            "epsilon_over": max(0.0, spent - float(variables["epsilon"])),
            "asked_twice": float(repeated_questions(variables)),
        }
        if self.goal == "epsilon":
            information = target_information(self.own_setting, variables)
            ratio = float((self.own_setting.each_needed / information).max()) / self.users
            result["error_over"] = max(0.0, math.sqrt(ratio) - 1.0)
        return result

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy and shares of what would run, and optimality."""
        certificates = solution.mechanism().certificates()
        if solution.bound is None:
            return (*certificates, self.optimality(solution))
        excess, figures = solution.value - solution.bound, {"gap": solution.gap}
        return (*certificates, self.optimality(solution, excess, solution.bound, figures=figures))

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> SurveyMechanism:
        return runnable_survey(self, solution.variables)


def figures(problem: SurveyDesign, solution: Solution[Any]) -> list[Figure]:
    """Return those of the survey that would run."""
    return survey_figures(problem.mechanism(solution))


STEP = 1e-4
"""By what part epsilon is moved for the users needed, where the least epsilon is the goal."""


@dataclass(frozen=True, eq=False)
class SurveyPrices:
    """The designs of a solution with their shares, and the dual numbers of the information.

    Parameters
    ----------
    problem : SurveyDesign
    setting : SurveySetting
        At the epsilon of the designs.
    columns : sequence of tuple of Ask
    shares : (C,) array
    prices : (m,) array
        p, of each result.
    """

    problem: SurveyDesign
    setting: SurveySetting
    columns: Sequence[Column]
    shares: Array
    prices: Array

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the value with the same shares and dual numbers at another epsilon; None for other goals."""
        assert isinstance(problem, SurveyDesign)
        if problem.targets != self.problem.targets or problem.goal != self.problem.goal:
            return None
        if problem.goal == "epsilon":
            return self.setting.epsilon  # the largest that may be does not bind
        if problem.goal == "mean":
            return float((self.setting.each_weight / self._information(problem.epsilon)).sum())
        needed = self._needed(problem.epsilon)
        return needed if problem.goal == "users" else math.sqrt(needed / problem.users)

    def binding(self) -> Sequence[Binding]:
        """Return the prices of the requested standard errors that bind."""
        from mechdesign.solvers.sensitivity import Binding

        goal = self.problem.goal
        if goal == "mean":
            return []
        epsilon, users = self.setting.epsilon, self._needed(self.setting.epsilon)
        worth = 2.0 * users  # per part by which an error is relaxed
        if goal == "worst":
            worth = math.sqrt(users / self.problem.users)
        elif goal == "epsilon":
            step = STEP * epsilon
            worth /= (self._needed(epsilon - step) - self._needed(epsilon + step)) / (2.0 * step)
        parts = self.prices * self.setting.each_needed
        parts = parts / parts.sum()
        return [
            Binding(f"error of {target.name}", worth * float(part) / target.error, 1, "standard error")
            for target, part in zip(self.problem.targets, parts, strict=True)
            if target.error is not None
        ]

    def _needed(self, epsilon: float) -> float:
        return 1.0 / float(self.prices @ self._information(epsilon))

    def _information(self, epsilon: float) -> Array:
        """Return a report's information on each target, budgets in the same proportion of another epsilon."""
        factor = epsilon / self.setting.epsilon
        asks = list(dict.fromkeys(ask for column in self.columns for ask in column))
        each = {ask: self._part_information(ask, factor) for ask in asks}
        result: Array = self.shares @ np.array([sum(each[ask] for ask in column) for column in self.columns])
        return result

    def _part_information(self, ask: Ask, factor: float) -> Array:
        """Return the information of a part on each target with a multiple of its epsilon."""
        questions, targets = self.setting.questions, self.setting.targets
        if ask.kind not in ("number", "ordered"):
            return design_information(questions, targets, [replace(ask, epsilon=factor * ask.epsilon)])
        size = questions[ask.places[0]].size
        slope = question_kind(ask.kind).slope(size, ask.epsilon)
        moved = noise(ask.kind, ask.epsilon, size) + slope * (factor - 1.0) * ask.epsilon
        own = [target.request.places == ask.places for target in targets]
        spread = np.array([target.spread for target in targets])
        return np.where(own, 1.0 / (moved + spread), 0.0)
