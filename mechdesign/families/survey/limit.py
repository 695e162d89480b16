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
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, UnknownNameError
from mechdesign.core.fields import checked, choice, frozen_problem, related
from mechdesign.core.problem import Problem, Sense, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range, integer, privacy_epsilon, require_keys
from mechdesign.exact.numbers import rational, text_of
from mechdesign.families.marginals.sets.products import product_shares, share_in

Part = tuple[int, ...]


@dataclass(frozen=True)
class Effects:
    """The parts of all requested tables, by kinds.

    Attributes
    ----------
    sizes : tuple of int
        The number of answers of each question.
    members : tuple of tuple of tuple of int
        The parts of each kind, each as increasing numbers of questions.
    dimensions : tuple of int
        The dimension of one part of each kind.
    weights : tuple of Fraction
        W: the sum over the parts of a kind, and over the requested tables that contain them, of weight times
        dimension / cells; the error of n users is the sum of W / eta over the kinds, divided by n.
    """

    sizes: tuple[int, ...]
    members: tuple[tuple[Part, ...], ...]
    dimensions: tuple[int, ...]
    weights: tuple[Fraction, ...]

    @property
    def singles(self) -> bool:
        """Whether tables of single questions are wanted only."""
        return all(len(part) == 1 for kind in self.members for part in kind)

    def group(self, kind: int) -> tuple[int, ...]:
        """Return the questions of a kind of single questions."""
        return tuple(place for part in self.members[kind] for place in part)


def effects_of(sizes: Sequence[int], tables: Mapping[Part, Fraction]) -> Effects:
    """Return the parts of tables with weights.

    Examples
    --------
    >>> effects = effects_of([2, 2, 3], {(0,): Fraction(1), (1,): Fraction(1), (2,): Fraction(3)})
    >>> effects.members, [str(weight) for weight in effects.weights]
    ((((0,), (1,)), ((2,),)), ['1', '2'])
    """
    each: dict[Part, Fraction] = {}
    for table, weight in tables.items():
        cells = math.prod(sizes[place] for place in table)
        for count in range(1, len(table) + 1):
            for part in combinations(table, count):
                each[part] = each.get(part, Fraction(0)) + weight * _dimension(sizes, part) / cells
    kinds: dict[object, list[Part]] = {}
    alone = all(len(part) == 1 for part in each)
    for part, weight in sorted(each.items(), key=lambda item: (len(item[0]), item[0])):
        kinds.setdefault((sizes[part[0]], weight) if alone else part, []).append(part)
    members = tuple(tuple(parts) for parts in kinds.values())
    return Effects(
        tuple(sizes),
        members,
        tuple(_dimension(sizes, parts[0]) for parts in members),
        tuple(sum((each[part] for part in parts), Fraction(0)) for parts in members),
    )


def _dimension(sizes: Sequence[int], part: Part) -> int:
    return math.prod(sizes[place] - 1 for place in part)


Array = NDArray[np.float64]
Column = Mapping[str, Any]


def kind_information(effects: Effects, epsilon: float, column: Column) -> Array:
    """Return eta of each kind of part, averaged over its parts: similar questions change places at random.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.families.survey.limit import effects_of
    >>> effects = effects_of([2, 2], {(0,): Fraction(1), (1,): Fraction(1)})
    >>> kind_information(effects, 2.0, {"widths": [1, 1]}).round(6)  # both: rho^2
    array([0.378200])
    """
    if "cells" in column:
        each = _of_cells(effects, epsilon, column["questions"], column["cells"])
    elif "answers" in column:
        each = _of_any(effects, epsilon, column["answers"])
    elif "matches" in column:
        each = _of_matches(effects, epsilon, column["widths"], column["matches"])
    else:
        each = _of_product(effects, epsilon, column["widths"])
    return np.array([math.fsum(each[part] for part in kind) / len(kind) for kind in effects.members])


def _of_product(effects: Effects, epsilon: float, widths: Sequence[int]) -> dict[Part, float]:
    """Return eta of a product of subsets: rho^2 times the product of (k - d)/(d (k - 1))."""
    alone = product_shares(effects.sizes, widths, epsilon)
    square = share_in(epsilon, math.prod(d / k for d, k in zip(widths, effects.sizes, strict=True))) ** 2
    return {
        part: square * math.prod(alone[i] / square for i in part) for kind in effects.members for part in kind
    }


def _of_cells(effects: Effects, epsilon: float, questions: Sequence[int], width: int) -> dict[Part, float]:
    """Return eta of ``width`` scattered cells of the table of some questions: the same for all its parts."""
    cells = math.prod(effects.sizes[place] for place in questions)
    eta = share_in(epsilon, width / cells) ** 2 * (cells - width) / (width * (cells - 1))
    return {part: eta if set(part) <= set(questions) else 0.0 for kind in effects.members for part in kind}


def _of_matches(effects: Effects, epsilon: float, widths: Sequence[int], least: int) -> dict[Part, float]:
    """Return eta of the answers with at least ``least`` entries in their subsets of these widths.

    Given that the answer is in T, let b_j say whether the j-th one matches: |proj_S 1_T|^2 / t^2 is the
    square of the mean of the product of b_j - p_j over S, divided by the product of p_j (1 - p_j).
    """
    p = [width / size for width, size in zip(widths, effects.sizes, strict=True)]
    places = [place for place, share in enumerate(p) if share < 1.0]
    tail = _tail([p[place] for place in places], least)
    rho, result = share_in(epsilon, tail), {}
    known: dict[tuple[float, ...], float] = {}
    for kind in effects.members:
        for part in kind:
            if not set(part) <= set(places):
                result[part] = 0.0
                continue
            shares = tuple(p[place] for place in part)
            if shares not in known:
                rest = [p[place] for place in places if place not in part]
                mean = math.fsum(
                    math.prod((1.0 - q) * q if i in hit else -q * (1.0 - q) for i, q in enumerate(shares))
                    * _tail(rest, least - len(hit))
                    for count in range(len(shares) + 1)
                    for hit in combinations(range(len(shares)), count)
                )
                known[shares] = (rho * mean / tail) ** 2 / math.prod(q * (1.0 - q) for q in shares)
            result[part] = known[shares] / math.prod(effects.sizes[place] - 1 for place in part)
    return result


def _tail(shares: Sequence[float], least: int) -> float:
    """Return the probability that at least ``least`` of the independent events happen."""
    if least <= 0:
        return 1.0
    law = np.zeros(len(shares) + 1)
    law[0] = 1.0
    for share in shares:
        law[1:] = law[1:] * (1.0 - share) + law[:-1] * share
        law[0] *= 1.0 - share
    return float(math.fsum(law[least:]))


def _of_any(effects: Effects, epsilon: float, answers: Sequence[int]) -> dict[Part, float]:
    """Return eta of any set of answers, given by their numbers, the last question fastest."""
    table = np.zeros(math.prod(effects.sizes))
    table[list(answers)] = 1.0
    held, whole = table.reshape(effects.sizes), float(len(answers))
    rho, result = share_in(epsilon, whole / table.size), {}
    for kind in effects.members:
        for part in kind:
            left = held - 0.0
            for axis in range(len(effects.sizes)):
                mean = left.mean(axis=axis, keepdims=True)
                left = left - mean if axis in part else np.broadcast_to(mean, left.shape)
            t = whole / table.size
            dimension = math.prod(effects.sizes[place] - 1 for place in part)
            result[part] = rho**2 * float((left**2).mean()) / (t * t * dimension)
    return result


def checked_column(effects: Effects, column: Any) -> Column:
    """Return a way to ask, or raise ParameterError for one that is none."""
    sizes = effects.sizes
    if not isinstance(column, Mapping):
        raise ParameterError("sets", f"expected tables, got {text_of(column)}")
    keys = set(column)
    if keys in ({"widths"}, {"widths", "matches"}):
        fits = len(column["widths"]) == len(sizes) and all(
            1 <= width <= size for width, size in zip(column["widths"], sizes, strict=True)
        )
        narrowed = sum(width < size for width, size in zip(column["widths"], sizes, strict=True))
        fits = fits and narrowed >= column.get("matches", 1) >= 1
    elif keys == {"questions", "cells"}:
        fits = 1 <= column["cells"] < math.prod(sizes[place] for place in column["questions"])
    else:
        fits = keys == {"answers"} and 0 < len(set(column["answers"])) < math.prod(sizes)
    if not fits:
        raise ParameterError("sets", f"{text_of(dict(column))} is not a set of answers to these questions")
    return column


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
