"""The problem ``survey-design``: several questions of each user under one epsilon.

Its figures show who is asked what, and the errors to be expected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, choice, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, privacy_epsilon
from mechdesign.exact.numbers import text_of
from mechdesign.families.survey import design_building as building
from mechdesign.families.survey.design_setting import SurveySetting, SurveyTarget, targets_of
from mechdesign.families.survey.questions import Question, Questions
from mechdesign.families.survey.results import survey_figures
from mechdesign.families.survey.survey import Survey
from mechdesign.show.figure import Figure

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
        raise ParameterError(
            field, f"{epsilon:g} exceeds the largest epsilon of a survey", "give 0.000001 to 50"
        )
    return epsilon


def _questions(field: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    if isinstance(value, Questions):
        value = value.as_json()
    if not isinstance(value, (list, tuple)):
        raise ParameterError(
            field, f"expected a list of tables, got {text_of(value)}", "write [[parameters.questions]]"
        )
    kept, asked = [], []
    for item in value:
        stated = item.as_json() if isinstance(item, Question) else item
        if not isinstance(stated, Mapping):
            raise ParameterError(
                field, f"expected a table, got {text_of(stated)}", 'give { name = "age", ... }'
            )
        question = Question.from_json(stated, EXTRA)
        asked.append(question)
        kept.append(question.as_json() | {key: stated[key] for key in EXTRA if key in stated})
    Questions(asked)
    return tuple(kept)


def _listed(problem: SurveyDesign, field: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(field, f"expected a list, got {text_of(value)}")
    return tuple(value)


@frozen_problem()
class SurveyDesign(Problem[Survey]):
    r"""Plan of the questions to each user: epsilon covers all questions of a user together.

    ::

        minimize    sum_j w_j / (sum_c q_c z_cj)        (goal "mean")
        over        designs c and the shares q_c of the users who get them

    z_cj is what one report of design c tells of result j: 1 over the variance of one user's contribution, the
    sampling of the user included. The value is the mean over the wanted results of n x variance, relative to
    users who answer in clear: 1 means that privacy costs nothing.

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
        names = list(self.asked.names)
        listed = ", ".join(names[:4]) + (f", ... {len(names)} in all" if len(names) > 4 else "")
        more = f", goal='{self.goal}'" if self.goal != "mean" else ""
        extra = len(self.targets) - len(names)
        joint = f", {extra} joint result{'s' * (extra > 1)}" if extra else ""
        return f"{type(self).__name__}(questions=[{listed}]{joint}, epsilon={self.epsilon:g}{more})"

    @cached_property
    def asked(self) -> Questions:
        """The questions as the mechanism knows them."""
        found = []
        for item in self.questions:
            found.append(Question.from_json(item, EXTRA))
        return Questions(found)

    @cached_property
    def targets(self) -> tuple[SurveyTarget, ...]:
        """Everything that is wanted."""
        return targets_of(self.asked, self.questions, self.tables, self.group_means)

    @property
    def planned_users(self) -> int:
        """Number of users who will report."""
        return self.users

    def setting(self, epsilon: float | None = None, planned: bool = False) -> SurveySetting:
        """Return the survey as its optimisation sees it, at its own epsilon or another one."""
        budget = self.epsilon if epsilon is None else epsilon
        return SurveySetting(self.asked, self.targets, budget, self.goal != "mean", planned)

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
        information = building.target_information(setting, variables)
        with np.errstate(divide="ignore"):
            if self.goal == "mean":
                return float((setting.each_weight / information).sum())
            needed = float((setting.each_needed / information).max())
        return needed if self.goal == "users" else math.sqrt(needed / self.users)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the shares' distance from a split, epsilon beyond the limit, and errors too large."""
        shares = np.asarray(variables["shares"], dtype=np.float64)
        spent = building.spent(variables)
        result = {
            "shares": abs(math.fsum(shares) - 1.0) + float(np.maximum(-shares, 0.0).sum()),
            "epsilon_over": max(0.0, spent - float(variables["epsilon"])),
            "asked_twice": float(building.asked_twice(variables)),
        }
        if self.goal == "epsilon":
            information = building.target_information(self.own_setting, variables)
            ratio = float((self.own_setting.each_needed / information).max()) / self.users
            result["error_over"] = max(0.0, math.sqrt(ratio) - 1.0)
        return result

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy and shares of what would run, and optimality."""
        found = list(solution.mechanism().certificates())
        if solution.bound is None:
            return (*found, self.optimality(solution))
        figures = {"gap": solution.gap}
        excess = solution.value - solution.bound
        return (*found, self.optimality(solution, excess, solution.bound, figures=figures))

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> Survey:
        """Return the survey that runs, with exact integers and budgets that add up exactly."""
        return building.survey(self, solution.variables)


def figures(problem: SurveyDesign, solution: Solution[Any]) -> list[Figure]:
    """Return those of the survey that would run."""
    return survey_figures(problem.mechanism(solution))
