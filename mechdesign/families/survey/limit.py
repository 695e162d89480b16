"""The problem ``survey-limit``: the least error of tables that any epsilon-private mechanism can have.

A table consists of parts: for each set S of questions the part that only S has, with its weight. The
functions of all answers are the orthogonal sum of spaces V_S, S a set of questions, of the dimension prod
over S of (k_j - 1). A table A of K_A cells is made of the parts S in A. Where the reports of n users say as
much of V_S as answers in clear from the share eta_S of them, its squared error is, at even answers, at least
the sum over S of dim_S / (K_A eta_S), divided by n. Questions that are alike have the same share in a best
mixture, since users can be asked in every order; they are one *kind* of part.

A way to ask is a set T of answers: a product, a match, cells or any set. A report says of its sender:
"e^epsilon to 1, the answer is in T". With t the share of all answers that T holds and rho = (E - 1) t / (1 +
(E - 1) t), E = e^epsilon, the reports say as much of a part S as answers in clear from a share eta_S = rho^2
|proj_S 1_T|^2 / (t^2 dim_S) of the users, whatever T is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, UnknownNameError
from mechdesign.core.fields import checked, choice, frozen_problem, related
from mechdesign.core.problem import Problem, Sense, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range, integer, privacy_epsilon, require_keys
from mechdesign.exact.numbers import rational, text_of
from mechdesign.families.survey.limit_columns import (
    Effects,
    Part,
    checked_column,
    effects_of,
    kind_information,
)

LEAST_EPSILON, LARGEST_EPSILON = 2.0**-30, 700.0
"""Below the least one errors are beyond what doubles divide."""

MOST_QUESTIONS, MOST_ANSWERS, MOST_IN_TABLE = 1000, 1 << 12, 6

MEASURES = ("relative", "squared")


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon > LARGEST_EPSILON:
        raise ParameterError(field, f"{epsilon:g} is too large", f"give at most {LARGEST_EPSILON:g}")
    if 0.0 < epsilon < LEAST_EPSILON:
        raise ParameterError(field, f"{epsilon:g} is too small", f"give at least {LEAST_EPSILON:.3g}, or 0")
    return epsilon


def _sizes(field: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__") or not len(value):
        raise ParameterError(field, f"expected a list of integers, got {text_of(value)}")
    if len(value) > MOST_QUESTIONS:
        raise ParameterError(field, counted(len(value), "question"), f"give at most {MOST_QUESTIONS}")
    return tuple(
        integer(f"{field}: question {place}", size, 2, MOST_ANSWERS) for place, size in enumerate(value)
    )


def _tables(problem: SurveyLimit, field: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__") or not len(value):
        raise ParameterError(field, f"expected a list of tables, got {text_of(value)}")
    weights: dict[Part, float] = {}
    for number, entry in enumerate(value):
        where = f"{field}: entry {number}"
        statement = entry if isinstance(entry, Mapping) else {"questions": entry}
        require_keys(where, statement, ("questions", "weight"))
        table = _table(problem, where, statement.get("questions"))
        if table in weights:
            raise ParameterError(where, "is there twice", "drop one")
        weights[table] = in_range(f"{where}: weight", statement.get("weight", 1.0), 0.0, 1e9, low_open=True)
    return tuple({"questions": list(table), "weight": weight} for table, weight in weights.items())


def _table(problem: SurveyLimit, where: str, value: Any) -> Part:
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__"):
        raise ParameterError(where, f"expected a list of numbers of questions, got {text_of(value)}")
    table = tuple(sorted(integer(f"{where}: question", one, 0, len(problem.sizes) - 1) for one in value))
    if not 1 <= len(table) <= MOST_IN_TABLE or len(set(table)) < len(table):
        raise ParameterError(
            where, f"expected 1 to {MOST_IN_TABLE} different questions, got {text_of(value)}"
        )
    return table


@frozen_problem()
class SurveyLimit(Problem[Any]):
    """The least error of the requested tables that any epsilon-private mechanism can have, at even answers.

    Every user may report through a channel of any form, chosen at random or not. The value is that of a
    mixture of sets: a report names a set of answers and says that the own one is in it, e^epsilon to 1. The
    bound is for every mechanism, whatever its form.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    The limit is attained by mixtures of sets whose questions' answers are renamed at random; see
    docs/families/survey_limit.md for the theorem and its proof.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.SurveyLimit(questions=[2, 2], epsilon=2.0))
    >>> round(solution.value, 4), round(solution.bound, 4)  # errors without privacy are 1
    (2.6441, 2.6441)
    """

    name: ClassVar[str] = "survey-limit"
    example: ClassVar[Mapping[str, Any]] = {"questions": [2, 2, 4], "epsilon": 2.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "users times the error"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = (
        "lower bound on the error of every private mechanism for several questions, with a proof"
    )
    compared_with: ClassVar[str] = "all epsilon-private mechanisms, of any form, at even answers"

    questions: Sequence[int] = checked(
        "The number of answers of each question, at least 2.", _sizes, form="sequence of int"
    )
    epsilon: float = checked(
        "The guarantee to each user, from 0 to 700. With 0 the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LARGEST_EPSILON},
        form="float",
    )
    tables: Sequence[Any] | None = related(
        "The requested tables: lists of numbers of questions, from 0, or ``{questions = [0, 1], "
        "weight = 2.0}``; by default each question by itself.",
        _tables,
        form="sequence",
        default=None,
    )
    measure: Literal["relative", "squared"] = choice(
        "What ``value`` is the weighted mean of, over the tables: ``relative``, the squared error, summed "
        "over the cells, in units of the one that answers in clear have, 1 - 1/cells for one user; or "
        "``squared``, the squared error itself.",
        MEASURES,
        default="relative",
    )

    def __attrs_post_init__(self) -> None:
        if len(self.table_weights) > MOST_ANSWERS:
            raise ParameterError(
                "tables", counted(len(self.table_weights), "table"), f"give at most {MOST_ANSWERS}"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of answers of each question."""
        sizes: Any = self.questions
        checked_sizes: tuple[int, ...] = sizes
        return checked_sizes

    @cached_property
    def table_weights(self) -> Mapping[Part, float]:
        """The requested tables with their weights."""
        if self.tables is None:
            return {(place,): 1.0 for place in range(len(self.sizes))}
        return {tuple(entry["questions"]): entry["weight"] for entry in self.tables}

    @cached_property
    def effects(self) -> Effects:
        """The parts of the requested tables, by kinds, with their weights."""
        total = sum((rational("weight", weight) for weight in self.table_weights.values()), Fraction(0))
        units = {}
        for table, weight in self.table_weights.items():
            cells = math.prod(self.sizes[place] for place in table)
            unit = Fraction(cells, cells - 1) if self.measure == "relative" else Fraction(1)
            units[table] = rational("weight", weight) / total * unit
        return effects_of(self.sizes, units)

    # Judging candidates

    def information(self, variables: Variables) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return eta of each kind of part, the effective share of the users, for a mixture of sets."""
        shares = np.asarray(variables["shares"], dtype=np.float64)
        rows = [kind_information(self.effects, self.epsilon, column) for column in variables["sets"]]
        result: np.ndarray[Any, np.dtype[np.float64]] = shares @ np.stack(rows)
        return result

    def objective(self, variables: Variables) -> float:
        """Return users times the error of a mixture of sets, at even answers."""
        other = self._otherwise(variables)
        if other is not None:
            return float(other.value())
        with np.errstate(divide="ignore"):
            parts = np.array([float(weight) for weight in self.effects.weights]) / self.information(variables)
        return float(math.fsum(parts.tolist()))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the distance of the shares from a split, and the number of invalid sets."""
        if self._otherwise(variables) is not None:
            return {}
        shares = np.asarray(variables["shares"], dtype=np.float64)
        for column in variables["sets"]:
            checked_column(self.effects, column)
        return {
            "shares": abs(math.fsum(shares) - 1.0) + float(np.maximum(-shares, 0.0).sum()),
            "miscounted": float(len(shares) != len(variables["sets"])),
        }

    def _otherwise(self, variables: Variables) -> Any:
        """Return the judge of a way to collect that is not a mixture of sets; None for a mixture."""
        if "published" not in variables:
            return None
        judge = companion(type(self), "otherwise")
        if judge is None:
            raise UnknownNameError("published", f"no '{variables['published']}'", "give sets and shares")
        return judge(self, variables)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return optimality among all private mechanisms; of another way to collect its privacy."""
        other = self._otherwise(solution.variables)
        if other is not None:
            result: tuple[Certificate, ...] = other.certificates()
            return result
        return (self.optimality(solution),)

    def why_no_mechanism(self) -> str | None:
        """Return why the result is not a mechanism, and what to build instead."""
        return "build 'marginal-views' by the method 'product-subset', or 'survey-design'"
