"""Mixtures of many columns at their best shares, and the sets of answers by classes.

A column is a set of answers that reports may stand for; its information about each kind of table is a row of
numbers. The best shares are found with few columns, and those are added that are worth more at the prices so
far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.randomness import exp_upper
from mechdesign.families.survey import limit_bounds as proofs
from mechdesign.families.survey.limit_bounds import Effects, answer_masks, tables_below
from mechdesign.primitives.oracle import share_in
from mechdesign.solvers.descent import ErrorTerms, allocate

Array = NDArray[np.float64]

CLOSE = 1e-9
"""The relative gap at which no further column is looked for."""

ROUNDS = 200

DROPPED = 1e-9
"""Smaller shares are left out where the others say as much."""

COLUMNS_AT_ONCE = 8
"""Columns that are added in a round."""

SETS_AT_ONCE = 1 << 16
"""Sets that are looked at at a time."""


def _split(effects: Effects, table: Array) -> Array:
    """Return the best shares of these columns, (columns, kinds); every kind has to be told by one."""
    return allocate(ErrorTerms(effects.each_weight, table.T)).shares


def _prices(effects: Effects, information: Array) -> tuple[Array, float]:
    """Return the prices of information and the value."""
    weights = effects.each_weight
    return weights / information**2, float((weights / information).sum())


def grown_columns(
    effects: Effects, table: Array, more: Callable[[Array], Array | None]
) -> tuple[Array, Array]:
    """Return columns and shares: those given, and those that are asked for at the prices so far.

    ``more(prices)`` returns further columns, (new, kinds), best first, or None.
    """
    shares = _split(effects, table)
    for _ in range(ROUNDS):
        prices, value = _prices(effects, shares @ table)
        columns = more(prices)
        if columns is None or float((columns @ prices).max()) <= value * (1.0 + CLOSE):
            break
        keep = shares > 1e-12
        table = np.concatenate([table[keep], columns])
        shares = _split(effects, table)
    return table, shares


def best(effects: Effects, table: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the columns of the best mixture, out of many, and their shares."""
    start = [int(np.argmax(table[:, kind])) for kind in range(table.shape[1])]
    used = np.unique([*start, int(np.argmax(table.min(axis=1)))])
    shares = _split(effects, table[used])
    for _ in range(ROUNDS):
        prices, value = _prices(effects, shares @ table[used])
        worth = table @ prices
        order = np.argsort(-worth, kind="stable")[:COLUMNS_AT_ONCE]
        fresh = order[worth[order] > value * (1.0 + CLOSE)]
        fresh = np.setdiff1d(fresh, used)
        if not len(fresh):
            break
        used = np.concatenate([used[shares > 1e-12], fresh])
        shares = _split(effects, table[used])
    large = shares > DROPPED
    return used[large], shares[large] / shares[large].sum()


@dataclass(frozen=True)
class SetClasses:
    """The classes of all sets of answers.

    Attributes
    ----------
    answers : int
        D.
    numbers : (c,) int array
        One set of each class, as bits: answer 0 is the lowest one.
    sizes : (c,) int array
    norms : (c, kinds) int array
        M_S, summed over the parts of a kind.
    """

    answers: int
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]
    norms: NDArray[np.int64]

    def information(self, effects: Effects, epsilon: float) -> Array:
        """Return eta, (classes, kinds): rho^2 M / (|T|^2 dim)."""
        rho = np.array([share_in(epsilon, size / self.answers) for size in self.sizes.tolist()])
        result: Array = (rho / self.sizes)[:, None] ** 2 * self.norms / np.array(effects.totals)
        return result

    def best_mixture(self, effects: Effects, epsilon: float) -> tuple[NDArray[np.int64], Array, float]:
        """Return the classes of the best mixture of all sets, their shares, and the bound that they prove."""
        table = self.information(effects, epsilon)
        used, shares = best(effects, table)
        multipliers = proofs.factors((1.0 / (shares @ table[used])).tolist())
        most = self.most(effects, epsilon, proofs.prices(effects, multipliers))
        return used, shares, proofs.bound_from(effects, multipliers, most)

    def most(self, effects: Effects, epsilon: float, each: Sequence[Fraction]) -> Fraction:
        """Return an upper bound of the sum of prices times eta over all sets, in integers.

        rho / |T| = (E - 1)/(D + (E - 1) |T|) rises with E, so a rational above e^epsilon takes its place.
        """
        common = math.lcm(*(price.denominator for price in each))
        whole = math.lcm(*effects.totals)
        factors = [
            int(price * common) * (whole // dim) for price, dim in zip(each, effects.totals, strict=True)
        ]
        tops: dict[int, int] = {}
        for size, row in zip(self.sizes.tolist(), self.norms.tolist(), strict=True):
            total = sum(factor * number for factor, number in zip(factors, row, strict=True))
            tops[size] = max(total, tops.get(size, 0))
        excess = exp_upper(epsilon) - 1
        return max(
            (excess / (self.answers + excess * size)) ** 2 * Fraction(total, common * whole)
            for size, total in tops.items()
        )


def classes_of(effects: Effects) -> SetClasses:
    """Return the classes of all sets that are neither empty nor everything.

    Examples
    --------
    >>> from mechdesign.families.survey.limit_bounds import effects_of
    >>> classes = classes_of(effects_of([2, 2], {(0,): Fraction(1), (1,): Fraction(1)}))
    >>> classes.sizes.tolist(), classes.norms[:, 0].tolist()  # 1, 2 (alike or apart), 3 answers
    ([1, 2, 2, 3], [2, 0, 4, 2])
    """
    sizes = effects.sizes
    answers = math.prod(sizes)
    tables = sorted({table for kind in effects.members for part in kind for table in tables_below(part)})
    masks = {table: answer_masks(sizes, table) for table in tables}
    rows = []
    for start in range(1, 2**answers - 1, SETS_AT_ONCE):
        numbers = np.arange(start, min(start + SETS_AT_ONCE, 2**answers - 1), dtype=np.int64)
        squares = {
            table: len(masks[table])
            * sum(np.bitwise_count(numbers & mask).astype(np.int64) ** 2 for mask in masks[table])
            for table in tables
        }
        norms = [
            sum(
                (-1) ** (len(part) - len(table)) * squares[table]
                for part in kind
                for table in tables_below(part)
            )
            for kind in effects.members
        ]
        keys = np.stack([np.bitwise_count(numbers).astype(np.int64), *norms, numbers], axis=1)
        rows.append(_first_of_each(keys))
    firsts = _first_of_each(np.concatenate(rows))
    return SetClasses(answers, firsts[:, -1], firsts[:, 0], firsts[:, 1:-1])


def _first_of_each(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return of the rows that differ in the last column alone the first one each, in rising order.

    Examples
    --------
    >>> _first_of_each(np.array([[2, 7], [1, 8], [2, 9]])).tolist()
    [[1, 8], [2, 7]]
    """
    order = np.lexsort(rows[:, -2::-1].T)
    ordered = rows[order]
    fresh = np.append(True, (ordered[1:, :-1] != ordered[:-1, :-1]).any(axis=1))
    firsts: NDArray[np.int64] = ordered[fresh]
    return firsts


def answer_sets(numbers: NDArray[np.int64]) -> list[dict[str, list[int]]]:
    """Return the answers of sets that are numbers, as bits."""
    return [{"answers": [place for place in range(64) if bits >> place & 1]} for bits in numbers.tolist()]
