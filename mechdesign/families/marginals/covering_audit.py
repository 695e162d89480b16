"""Exact check of a covering design: which subsets of points lie in no block.

Every subset of ``order`` points has a rank, a whole number below C(points, order). The subsets of all blocks
are ranked and marked, a bounded number at a time; what is left unmarked is uncovered. Nothing is sampled and
nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import TextInNotebooks
from mechdesign.exact.numbers import wholes

Wholes = NDArray[np.int64]

MOST_SUBSETS = 1 << 28
"""Subsets that are marked, a byte each: 256 MiB."""

AT_ONCE = 1 << 20
"""Subsets of blocks that are ranked at once."""

SHOWN = 3
"""Uncovered subsets that a witness names."""


@dataclass(frozen=True)
class CoveringAudit(TextInNotebooks):
    """Result of the check of a covering.

    Attributes
    ----------
    blocks : int
        How many blocks there are.
    malformed : int
        How many of them are not sets of the wanted number of points: repeated points, points out of range.
        They cover nothing.
    first_malformed : tuple of int
        The first of them, empty where there is none.
    uncovered : int
        How many subsets lie in no block.
    first_uncovered : tuple of tuple of int
        The first few of those.
    subsets : int
        How many subsets there are.
    """

    blocks: int
    malformed: int
    first_malformed: tuple[int, ...]
    uncovered: int
    first_uncovered: tuple[tuple[int, ...], ...]
    subsets: int

    @property
    def holds(self) -> bool:
        """Whether the blocks are proper ones and cover everything."""
        return not self.malformed and not self.uncovered

    def certificate(self) -> Certificate:
        """Return the check as a certificate of the property ``covering``."""
        figures = {"blocks": self.blocks, "subsets": self.subsets, "uncovered": self.uncovered}
        witness: dict[str, Any] = {}
        if self.malformed:
            figures["malformed"] = self.malformed
            witness["malformed"] = list(self.first_malformed)
        if self.uncovered:
            witness["uncovered"] = [list(subset) for subset in self.first_uncovered]
        return Certificate("covering", self.holds, True, figures, witness)


def audit_covering(blocks: Any, points: int, order: int, block: int) -> CoveringAudit:
    """Check that every subset of ``order`` points lies in at least one block.

    Parameters
    ----------
    blocks : (m, block) array of whole numbers
        The points of each block, numbered from 0, in any order.
    points, order, block : int
        1 <= order <= block <= points.

    Raises
    ------
    ParameterError
        When the blocks are not a matrix of integers, or the subsets are too many to be marked.

    Examples
    --------
    >>> fano = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    >>> print(audit_covering(fano, points=7, order=2, block=3).certificate())
    covering: holds (exact); blocks = 7, subsets = 21, uncovered = 0
    >>> print(audit_covering(fano[1:], points=7, order=2, block=3).certificate())
    covering: FAILS (exact); blocks = 6, subsets = 21, uncovered = 3; witness uncovered = [[0, 1], [0, 2], ...
    """
    rows = np.sort(wholes("blocks", blocks, 2), axis=1)
    subsets = checked_subsets(points, order)
    if rows.shape[1] == block:
        proper = (rows[:, 0] >= 0) & (rows[:, -1] < points) & (np.diff(rows, axis=1) > 0).all(axis=1)
    else:
        proper = np.zeros(len(rows), dtype=np.bool_)
    covered = np.zeros(subsets, dtype=np.bool_)
    for ranks in _ranks_of_subsets(rows[proper], points, order):
        covered[ranks] = True
    missing = subsets - int(np.count_nonzero(covered))
    first = np.flatnonzero(~covered)[:SHOWN] if missing else np.zeros(0, dtype=np.int64)
    strange = rows[~proper]
    return CoveringAudit(
        blocks=len(rows),
        malformed=len(strange),
        first_malformed=tuple(strange[0].tolist()) if len(strange) else (),
        uncovered=missing,
        first_uncovered=tuple(tuple(row) for row in unranked(first, points, order).tolist()),
        subsets=subsets,
    )


def checked_subsets(points: int, order: int) -> int:
    """Return C(points, order), or refuse where a byte for each of them is too much.

    Raises
    ------
    ParameterError
        Saying how much memory it would take.
    """
    subsets = math.comb(points, order)
    if subsets > MOST_SUBSETS:
        gibibytes = -(-subsets >> 30) if subsets >= 1 << 30 else 1
        raise ParameterError(
            "order",
            f"{points} points have {short_number(subsets)} subsets of {order}, and checking them would take "
            f"{short_number(gibibytes)} GiB of memory",
            f"{MOST_SUBSETS} subsets are the limit: take fewer points or a smaller order",
        )
    return subsets


def short_number(number: int) -> str:
    """Return a whole number in full where it is short, else to three digits."""
    if number < 10**12:
        return str(number)
    digits = str(number)
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1}"


def _ranks_of_subsets(rows: Wholes, points: int, order: int) -> Iterator[Wholes]:
    """Yield the ranks of all subsets of all blocks (sorted rows), at most ``AT_ONCE`` at a time."""
    table = binomials(points, order)
    within = math.comb(rows.shape[1], order)
    for start in range(0, within, AT_ONCE):
        places = unranked(np.arange(start, min(start + AT_ONCE, within)), rows.shape[1], order)
        height = max(1, AT_ONCE // len(places))
        for top in range(0, len(rows), height):
            part = rows[top : top + height]
            ranks = np.zeros((len(part), len(places)), dtype=np.int64)
            for place in range(order):
                ranks += table[place + 1][part][:, places[:, place]]
            yield ranks.ravel()


def binomials(points: int, order: int) -> Wholes:
    """Return the table of C(p, j) in row j and column p, for j = 0 .. order and p = 0 .. points."""
    rows = [[math.comb(point, size) for point in range(points + 1)] for size in range(order + 1)]
    return np.array(rows, dtype=np.int64)


def unranked(ranks: Wholes, points: int, order: int) -> Wholes:
    """Return the subsets of these ranks, one per row, their points in rising order.

    The rank of c_1 < ... < c_k is C(c_1, 1) + ... + C(c_k, k).

    Examples
    --------
    >>> unranked(np.arange(4), points=4, order=2).tolist()
    [[0, 1], [0, 2], [1, 2], [0, 3]]
    """
    table = binomials(points, order)
    left = np.array(ranks, dtype=np.int64)
    subsets = np.zeros((len(left), order), dtype=np.int64)
    for size in range(order, 0, -1):
        subsets[:, size - 1] = np.searchsorted(table[size], left, side="right") - 1
        left -= table[size][subsets[:, size - 1]]
    return subsets
