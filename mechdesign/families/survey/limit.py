"""The problem ``survey-limit``: the least error of tables that any epsilon-private mechanism can have.

Of the methods the first one that applies is the default.

*All sets of answers*, where these are few: every set is gone through, by classes, for the exact optimum. With
Q_R the sum of the squares of the numbers of answers of T in the cells of the table of R, K_R cells and D
answers in all, D^2 |proj_S 1_T|^2 is the sum over R in S of (-1)^|S - R| K_R Q_R, a whole number M_S.

*One question a user*: subset selection of the best size, shares in closed form.

*Product sets*, for surveys of any size: products of subsets, matches and scattered cells. Columns are
generated: at given prices the product that is worth most is found by dynamic programming over its entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, UnknownNameError, counted
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.fields import checked, choice, frozen_problem, related
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Status, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range, integer, privacy_epsilon, require_keys
from mechdesign.exact.numbers import rational, text_of
from mechdesign.families.survey import limit_bounds as proofs
from mechdesign.families.survey.limit_bounds import (
    Effects,
    Part,
    bounds_of,
    checked_column,
    effects_of,
    kind_information,
)
from mechdesign.families.survey.limit_columns import (
    DROPPED,
    Array,
    answer_sets,
    best,
    classes_of,
    grown_columns,
)
from mechdesign.primitives.combine import question_kind
from mechdesign.solvers.statement import statement_method

if TYPE_CHECKING:
    import cvxpy

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
        what = f"expected 1 to {MOST_IN_TABLE} different questions, got {text_of(value)}"
        raise ParameterError(where, what)
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
            count = counted(len(self.table_weights), "table")
            raise ParameterError("tables", count, f"give at most {MOST_ANSWERS}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of answers of each question."""
        return tuple(self.questions)

    wanted, told = FormerAttribute("table_weights"), FormerAttribute("information")

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

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        table = classes_of(self.effects).information(self.effects, self.epsilon)  # of each kind of sets
        shares = cp.Variable(len(table), name="shares", nonneg=True)
        even = table.mean(axis=0)  # solvers like numbers next to 1
        errors = cp.multiply(self.effects.each_weight / even, cp.inv_pos((table / even).T @ shares))
        return cp.Problem(cp.Minimize(cp.sum(errors)), [(cp.sum(shares) == 1).set_label("shares")])

    def why_no_statement(self) -> str | None:
        return "with epsilon = 0 no set says anything" if self.epsilon == 0.0 else None

    def statement_size(self) -> int:
        answers = math.prod(self.sizes)
        return 2**answers if answers > MOST_LISTED else len(classes_of(self.effects).numbers)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        shares = np.maximum(values["shares"], 0.0)
        used = np.flatnonzero(shares > DROPPED * shares.max())
        sets = answer_sets(classes_of(self.effects).numbers[used])
        return {"sets": sets, "shares": shares[used] / shares[used].sum()}

    # Judging candidates

    def information(self, variables: Variables) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return eta of each kind of part, the effective share of the users, for a mixture of sets."""
        shares = np.asarray(variables["shares"], dtype=np.float64)
        rows = [kind_information(self.effects, self.epsilon, column) for column in variables["sets"]]
        return shares @ np.stack(rows)

    def objective(self, variables: Variables) -> float:
        """Return users times the error of a mixture of sets, at even answers."""
        other = self._otherwise(variables)
        if other is not None:
            return float(other.value())
        with np.errstate(divide="ignore"):
            parts = self.effects.each_weight / self.information(variables)
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
            return tuple(other.certificates())
        return (self.optimality(solution),)

    def why_no_mechanism(self) -> str | None:
        """Return why the result is not a mechanism, and what to build instead."""
        return "build 'marginal-views' by the method 'product-subset', or 'survey-design'"


def nothing() -> Outcome:
    """Return that there is no answer at epsilon = 0."""
    message = "with epsilon = 0 reports contain no information; give a larger epsilon"
    return Outcome(status="infeasible", solver="columns", message=message)


def outcome(
    problem: SurveyLimit,
    columns: Sequence[Any],
    shares: Array,
    bound: float,
    source: str,
    solver: str = "columns",
) -> Outcome:
    """Return the mixture; ``optimal`` where its value meets the bound."""
    variables = {"sets": list(columns), "shares": shares / shares.sum()}
    value = problem.objective(variables)
    status: Status = "optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible"
    return Outcome(status, variables, bound, source, solver)


MOST_IN_ALL, MOST_LISTED = 20, 14
"""Answers in all, of which there are 2^20 sets; and those whose sets are listed for the statement."""


def mix_all_sets(problem: SurveyLimit) -> Outcome:
    """Return the best mixture of symmetrized sets, and a bound for every private mechanism."""
    if problem.epsilon == 0.0:
        return nothing()
    classes = classes_of(problem.effects)
    used, shares, bound = classes.best_mixture(problem.effects, problem.epsilon)
    columns = answer_sets(classes.numbers[used])
    source = "all sets of answers: what every private mechanism mixes"
    return outcome(problem, columns, shares, bound, source)


def why_not_all_sets(problem: SurveyLimit) -> str | None:
    """Return why there are too many answers in all, or None."""
    answers = math.prod(problem.sizes)
    if answers <= MOST_IN_ALL:
        return None
    return (
        f"the questions have {answers} answers together; all sets of at most {MOST_IN_ALL} are gone through"
    )


def ask_one_question(problem: SurveyLimit) -> Outcome:
    """Return one column for each kind of question, and the bound of the total information."""
    if problem.epsilon == 0.0:
        return nothing()
    effects, epsilon = problem.effects, problem.epsilon
    columns, information = [], []
    for kind, members in enumerate(effects.members):
        size = effects.sizes[members[0][0]]
        choices = [
            {"questions": list(members[0]), "cells": width} for width in range(1, max(2, size // 2 + 1))
        ]
        shares = [float(kind_information(effects, epsilon, column)[kind]) for column in choices]
        columns.append(choices[int(np.argmax(shares))])
        information.append(max(shares))
    split = np.sqrt(effects.each_weight / np.array(information))
    bound = proofs.information_bound(effects, epsilon)
    source = "the total information, sinh(epsilon/2)^2"
    return outcome(problem, columns, split / split.sum(), bound, source, solver="formula")


def why_not_one_question(problem: SurveyLimit) -> str | None:
    """Return why the method does not apply (it is for tables of single questions), or None."""
    return None if problem.effects.singles else "it is for tables of single questions"


MOST_WIDTHS = 4096
"""Products of the subsets of a table that are listed one by one."""


def mix_products(problem: SurveyLimit) -> Outcome:
    """Return the best mixture of these sets, next to the better one of two bounds for every mechanism."""
    if problem.epsilon == 0.0:
        return nothing()
    effects, epsilon = problem.effects, problem.epsilon
    columns = list(_listed(effects, epsilon))
    table = np.stack([kind_information(effects, epsilon, column) for column in columns])
    known = {row.tobytes(): column for row, column in zip(table, columns, strict=True)}

    def more(prices: Array) -> Array | None:
        rows = []
        each = [0.0] * len(effects.sizes)
        for kind, price in enumerate(prices.tolist()):
            for place in effects.group(kind):
                each[place] = price / len(effects.members[kind])
        for widths in question_kind("sets").best_sets(effects.sizes, epsilon, each):
            row = kind_information(effects, epsilon, {"widths": widths})
            if row.tobytes() not in known:
                known[row.tobytes()] = {"widths": widths}
                rows.append(row)
        return np.stack(rows) if rows else None

    used, _ = best(effects, table)
    table, shares = grown_columns(effects, table[used], more if effects.singles else lambda prices: None)
    in_use = shares > DROPPED
    sets = [known[row.tobytes()] for row in table[in_use]]
    part_shares = shares[in_use] / shares[in_use].sum()
    bounds = bounds_of(effects, epsilon, part_shares @ table[in_use])
    source, bound = max(bounds.items(), key=lambda item: item[1])
    return outcome(problem, sets, part_shares, bound, source)


def _listed(effects: Effects, epsilon: float) -> Iterator[Mapping[str, Any]]:
    """Yield the columns to begin with: cells of the requested tables, and matches of similar questions."""
    tables = {part for kind in effects.members for part in kind}
    if effects.singles:
        tables = {kind[0] for kind in effects.members}
        yield from _matches(effects)
    for table in sorted(tables):
        cells = math.prod(effects.sizes[place] for place in table)
        middle = cells / (math.exp(epsilon) + 1.0)
        for width in sorted({1, math.floor(middle), math.ceil(middle), max(1, cells // 2)}):
            if 1 <= width < cells:
                yield {"questions": list(table), "cells": width}
    if not effects.singles:
        yield from _products(effects)


def _matches(effects: Effects) -> Iterator[Mapping[str, Any]]:
    """Yield matches of all questions of a kind, and of none of the others."""
    for kind in range(len(effects.members)):
        group = effects.group(kind)
        widths = [1 if place in group else size for place, size in enumerate(effects.sizes)]
        for least in range(1, len(group)):
            yield {"widths": widths, "matches": least}


def _products(effects: Effects) -> Iterator[Mapping[str, Any]]:
    """Yield the products over all questions with few widths each, and over each requested table with all."""
    sizes = effects.sizes
    whole = [sorted({1, size // 2, size}) for size in sizes]
    if math.prod(map(len, whole)) <= MOST_WIDTHS:
        for chosen in product(*whole):
            if any(d < size for d, size in zip(chosen, sizes, strict=True)):
                yield {"widths": list(chosen)}
    for part in {part for kind in effects.members for part in kind}:
        if math.prod(sizes[place] for place in part) <= MOST_WIDTHS:
            for chosen in product(*(range(1, sizes[place]) for place in part)):
                widths = list(sizes)
                for place, width in zip(part, chosen, strict=True):
                    widths[place] = width
                yield {"widths": widths}


METHODS = (
    Method("subsets", SurveyLimit, "analytic",
           "exactly: mixtures of all sets of answers, for at most 20 answers in all", mix_all_sets,
           why_not_all_sets),
    Method("product-sets", SurveyLimit, "numeric",
           "products of subsets, matches and cells by column generation; bounds by information and entropy",
           mix_products),
    Method("one-question", SurveyLimit, "heuristic",
           "one question a user in closed form, next to the bound of the total information",
           ask_one_question, why_not_one_question),
    statement_method(SurveyLimit),
)  # fmt: skip
