r"""A permanent report and weekly reports drawn from it: exact laws, and how both are drawn.

The device keeps a set S of w of its k cells, drawn once by subset selection with the weight ``include``.
A weekly report is a set S' of w' cells. With the weight ``near`` it is uniform among the sets of that size
that have the most in common with S, else uniform among all of them.

**What one week reveals.** By symmetry the probability of S' given the cell x depends on whether S' holds x.
With p = include/T that S holds x, q = (w - p)/(k - 1) that it holds another cell, and a1, a0 the
probabilities that S' holds a cell that is in S or not, S' holds x with probability P = p a1 + (1 - p) a0. So
the weekly report is again subset selection, of size w', and all is exact in fractions.

**What all weeks reveal.** Every weekly report is drawn from S without a look at x: any number of them is as
private as S.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer
from mechdesign.exact.bits import Packed, width
from mechdesign.exact.randomness import TOTAL, BitSource, exp_lower, weight
from mechdesign.families.marginals.oracles.blocks import SubsetSelection, subset_design
from mechdesign.families.marginals.oracles.support import ReportClass
from mechdesign.families.marginals.sets.shapes import packed_subsets

ENTRIES = 1 << 22
"""Cells of sets that are drawn at a time."""

KINDS = ("a set with both", "a set with the first only", "a set with the second only", "a set with neither")


@dataclass(frozen=True)
class WeeklyLaw:
    """Weights of the permanent set and of the weekly sets.

    Attributes
    ----------
    cells : int
        k.
    size, week_size : int
        w and w', from 1 to k - 1.
    include, near : int
        Weights out of 2**62: that the permanent set is drawn around the own cell, and that a weekly one is
        as near to the permanent one as its size allows.

    Examples
    --------
    >>> law = WeeklyLaw(3, 1, 1, TOTAL * 3 // 4, TOTAL // 2)
    >>> law.own_kept, law.transition, law.own, law.other
    (Fraction(3, 4), (Fraction(2, 3), Fraction(1, 6)), Fraction(13, 24), Fraction(11, 48))
    >>> law.variance(1) == law.other * (1 - law.other) / (law.own - law.other) ** 2
    True
    """

    cells: int
    size: int
    week_size: int
    include: int
    near: int

    def __post_init__(self) -> None:
        integer("cells", self.cells, 2)
        integer("permanent_size", self.size, 1, self.cells - 1)
        integer("weekly_size", self.week_size, 1, self.cells - 1)
        weight("include", self.include)
        weight("near", self.near, 1, TOTAL)

    @classmethod
    def of(cls, cells: int, size: int, week_size: int, all_weeks: Fraction, one_week: Fraction) -> WeeklyLaw:
        """Return the weights that use these ratios e^epsilon in full, rounded to the private side.

        Parameters
        ----------
        cells, size, week_size : int
        all_weeks, one_week : Fraction
            Lower bounds of e^epsilon of the permanent set and of a weekly one.
        """
        include = math.floor(TOTAL * size * all_weeks / (size * all_weeks + cells - size))
        if include * (cells - size) <= (TOTAL - include) * size or not 0 < include < TOTAL:
            what = "is so small that reports contain no information about the answers"
            raise ParameterError("epsilon_all", what, "give a larger one")
        nearest = cls(cells, size, week_size, include, TOTAL).own
        most = week_size * one_week / (week_size * one_week + cells - week_size)
        even = Fraction(week_size, cells)
        near = min(TOTAL, math.floor(TOTAL * (most - even) / (nearest - even)))
        if near < 1:
            what = "is so small that a report contains no information about the answer"
            raise ParameterError("epsilon_week", what, "give a larger one")
        return cls(cells, size, week_size, include, near)

    # Exact probabilities

    @property
    def own_kept(self) -> Fraction:
        """p: the probability that the permanent set holds the own cell."""
        return Fraction(self.include, TOTAL)

    @property
    def other_kept(self) -> Fraction:
        """q: the probability that the permanent set holds another cell, whichever it is."""
        return (self.size - self.own_kept) / (self.cells - 1)

    @property
    def transition(self) -> tuple[Fraction, Fraction]:
        """a1 and a0: the probabilities that a weekly set holds a cell that is in the permanent one or not."""
        near, even = Fraction(self.near, TOTAL), Fraction(self.week_size, self.cells)
        inside = Fraction(min(self.size, self.week_size), self.size)
        outside = Fraction(max(0, self.week_size - self.size), self.cells - self.size)
        return near * inside + (1 - near) * even, near * outside + (1 - near) * even

    @property
    def own(self) -> Fraction:
        """P: the probability that a weekly set holds the own cell."""
        return self._seen(self.own_kept)

    @property
    def other(self) -> Fraction:
        """Q: the probability that a weekly set holds another cell, whichever it is."""
        return self._seen(self.other_kept)

    def _seen(self, first: Fraction) -> Fraction:
        inside, outside = self.transition
        return first * inside + (1 - first) * outside

    def ratio(self) -> Fraction:
        """Return e^epsilon of the permanent set, and so of any number of weeks."""
        return _ratio(self.own_kept, self.size, self.cells)

    def week_ratio(self) -> Fraction:
        """Return e^epsilon of one week."""
        return _ratio(self.own, self.week_size, self.cells)

    def week_classes(self) -> tuple[ReportClass, ...]:
        """Return the weekly sets by which of two cells they hold, with their weights for both."""
        design, own = subset_design(self.cells, self.week_size), self.own
        inside = own.numerator * (design.blocks - design.through)
        outside = (own.denominator - own.numerator) * design.through
        one, neither = design.through - design.both, design.blocks - 2 * design.through + design.both
        sides = ((inside, inside), (inside, outside), (outside, inside), (outside, outside))
        counts = (design.both, one, one, neither)
        return tuple(
            ReportClass(name, count, *side) for name, count, side in zip(KINDS, counts, sides, strict=True)
        )

    def variance(self, weeks: int | None) -> Fraction:
        """Return users times the variance of the mean of that many weeks (None: of any number), rare cell.

        It is V + (V' - V)/weeks with V of the permanent set and V' of a weekly one.
        """
        last = _variance(self.own_kept, self.other_kept)
        return last if weeks is None else last + (_variance(self.own, self.other) - last) / weeks

    # Draws

    @cached_property
    def _first(self) -> SubsetSelection:
        """The subset selection that draws permanent sets; its own promise is of no matter here."""
        return SubsetSelection(self.cells, 700.0, self.size, self.include)

    def draw_permanent(self, cells: Codes, source: BitSource) -> Packed:
        """Return a permanent set for each cell, packed, shape (n, bytes)."""
        return self._first.draw(cells, source)

    def draw_weekly(self, permanent: Packed, source: BitSource) -> Packed:
        """Return a weekly set for each permanent one, packed, shape (n, bytes)."""
        reports = np.empty((len(permanent), width(self.cells)), dtype=np.uint8)
        rows = max(1, ENTRIES // self.cells)
        for start in range(0, len(permanent), rows):
            part = permanent[start : start + rows]
            reports[start : start + rows] = self._weekly(part, source)
        return reports

    def _weekly(self, permanent: Packed, source: BitSource) -> Packed:
        near = source.integers(len(permanent)) < self.near
        reports = np.empty((len(permanent), width(self.cells)), dtype=np.uint8)
        reports[near] = self._nearest(permanent[near], source)
        away = int((~near).sum())
        reports[~near] = np.packbits(_chosen(self.cells, self.week_size, away, source), axis=1)
        return reports

    def _nearest(self, permanent: Packed, source: BitSource) -> Packed:
        """Return uniform sets among those with the most in common: parts of the set, or larger ones."""
        if self.week_size == self.size or not len(permanent):
            return permanent
        member = np.unpackbits(permanent, axis=1, count=self.cells).astype(np.bool_)
        grows = self.week_size > self.size
        pool = self.cells - self.size if grows else self.size
        places = np.nonzero(~member if grows else member)[1].reshape(len(member), pool)
        more = self.week_size - self.size if grows else self.week_size
        chosen = _chosen(pool, more, len(member), source)
        result = member if grows else np.zeros_like(member)
        mine = np.take_along_axis(result, places, axis=1) | chosen
        np.put_along_axis(result, places, mine, axis=1)
        return np.packbits(result, axis=1)


def _chosen(pool: int, size: int, count: int, source: BitSource) -> NDArray[np.bool_]:
    """Return uniform subsets of a size of the numbers below ``pool``, as membership (count, pool)."""
    if not count:
        return np.zeros((0, pool), dtype=np.bool_)
    packed = packed_subsets(np.full(count, pool, dtype=np.int64), pool + 1, size, source)
    return np.unpackbits(packed, axis=1, count=pool).astype(np.bool_)


def _ratio(own: Fraction, size: int, cells: int) -> Fraction:
    """Return how much likelier a set that holds the own cell is than one that does not."""
    return own * (cells - size) / ((1 - own) * size)


def _variance(own: Fraction, other: Fraction) -> Fraction:
    return other * (1 - other) / (own - other) ** 2


def composed_within(ratio: Fraction, times: int, epsilon: Fraction) -> bool:
    """Return whether so many such ratios together are at most a lower bound of e^epsilon."""
    return ratio**times <= exp_lower(epsilon)


def single_variance(cells: int, size: int, ratio: Fraction) -> Fraction:
    """Return n Var of a rare cell by the subset selection of a size that uses a ratio in full, exactly.

    Examples
    --------
    >>> round(float(single_variance(5, 1, exp_lower(4.0))), 6)
    0.02005
    """
    own = Fraction(math.floor(TOTAL * size * ratio / (size * ratio + cells - size)), TOTAL)
    return _variance(own, (size - own) / (cells - 1))
