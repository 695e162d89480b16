"""Columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.exact.numbers import text_of
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
    >>> from mechdesign.families.survey.limit_columns import effects_of
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
