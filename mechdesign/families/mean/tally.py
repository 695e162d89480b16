"""Exact sums of reports: integers, so that no order of adding or merging changes an estimate.

Reports that are codes are counted. Reports that are floats are first rounded to the nearest multiple
of a resolution, a power of two above bound / 2**36 for the largest score bound; the multiples are
whole numbers below 2**36 in size, split in two halves h 2**18 + l, so that

    sum q = 2**18 sum h + sum l,    sum q^2 = 2**36 sum h^2 + 2**19 sum h l + sum l^2

are sums of whole numbers that double precision holds exactly over 2**16 reports at a time
(2**36 2**16 = 2**52), and that Python adds exactly after that. Rounding moves a report by at most
bound / 2**36, far below the noise of a report at any epsilon in use; standard errors include it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Labels, as_floats
from mechdesign.collect.server import require_users, whole_rows
from mechdesign.core.errors import DataError, RowError
from mechdesign.data.intake import Coded
from mechdesign.work.records import dataclass

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

PIECE = 1 << 16
"""Reports summed at a time: they fit the processor's cache, and their sums a double."""

STEPS = 36
"""A float report is a whole number of up to this many bits, times the resolution."""

HALF = STEPS // 2


@dataclass(frozen=True)
class Moments:
    """Number of reports, exact sums of scores and of their squares, and how far a score was rounded."""

    count: int
    total: Fraction
    square: Fraction
    rounding: Fraction = Fraction(0)

    @property
    def mean(self) -> Fraction:
        """The average score."""
        return self.total / self.count

    @property
    def mean_square(self) -> Fraction:
        """The average of the squared scores."""
        return self.square / self.count


class Tally(ABC):
    """Exact counters of reports in groups (attributes); one group for a single attribute."""

    groups: int

    @abstractmethod
    def check(self, reports: Any) -> NDArray[Any]:
        """Return the reports as one array, or raise DataError naming the first impossible row."""

    @abstractmethod
    def centred(self, reports: NDArray[Any]) -> Array:
        """Return the score of each checked report, (n,): what :meth:`moments` sums."""

    @abstractmethod
    def add(self, reports: NDArray[Any], groups: Codes | None = None) -> None:
        """Add checked reports; ``groups`` numbers the group of each (None: all in the first)."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add the counters of another tally of the same kind."""

    @abstractmethod
    def counts(self) -> Codes:
        """Return the number of reports in each group."""

    @abstractmethod
    def moments(self, group: int = 0) -> Moments:
        """Return the exact moments of the scores in a group."""

    @abstractmethod
    def as_json(self) -> list[list[int]]:
        """Return the counters as lists of integers, one a group."""

    @abstractmethod
    def restore(self, rows: Any) -> None:
        """Set the counters to those that :meth:`as_json` gave."""


class CodeTally(Tally):
    """Counts of the reports 0 .. k-1, each with a score.

    Parameters
    ----------
    groups : int
    scores : sequence of Fraction
        The centred value that each report stands for.
    possible : (k,) bool array
        Which reports can be made at all.

    Examples
    --------
    >>> tally = CodeTally(1, [Fraction(0), Fraction(1)], np.array([True, True]))
    >>> tally.add(tally.check([0, 1, 1]))
    >>> tally.moments().mean
    Fraction(2, 3)
    """

    def __init__(self, groups: int, scores: Sequence[Fraction], possible: NDArray[np.bool_]) -> None:
        self.groups, self.scores, self.possible = groups, list(scores), possible
        self.table: Codes = np.zeros((groups, len(self.scores)), dtype=np.int64)

    def check(self, reports: Any) -> NDArray[Any]:
        """Return the codes; refuse what is not a code, or one that no value can cause."""
        if not isinstance(reports, Coded):
            array = np.asarray(reports)
            if array.dtype == np.uint8 and array.ndim == 1 and self.possible.all():
                if array.size and int(array.max()) >= len(self.scores):
                    Labels(len(self.scores)).encode(array, "reports")
                return array
        codes = Labels(len(self.scores)).encode(reports, "reports")
        if not self.possible.all():
            wrong = ~self.possible[codes]
            if wrong.any():
                row = int(np.argmax(wrong))
                raise RowError(
                    "reports",
                    row,
                    f"no value can cause the report {int(codes[row])} under this mechanism",
                    "use the mechanism file the reports were made with",
                )
        return codes

    def centred(self, reports: NDArray[Any]) -> Array:
        result: Array = np.array([float(score) for score in self.scores])[np.asarray(reports)]
        return result

    def add(self, reports: NDArray[Any], groups: Codes | None = None) -> None:
        size = len(self.scores)
        for start in range(0, len(reports), PIECE):
            part = reports[start : start + PIECE]
            if groups is None and size == 2:
                ones = int(np.count_nonzero(part))
                self.table[0] += (len(part) - ones, ones)
                continue
            places = part if groups is None else groups[start : start + PIECE] * size + part
            self.table += np.bincount(places, minlength=self.table.size).reshape(self.table.shape)

    def merge(self, other: Self) -> None:
        require_users(int(self.table.sum()) + int(other.table.sum()))
        self.table = self.table + other.table

    def counts(self) -> Codes:
        totals: Codes = self.table.sum(axis=1)
        return totals

    def moments(self, group: int = 0) -> Moments:
        row = self.table[group].tolist()
        pairs = [(count, score) for count, score in zip(row, self.scores, strict=True) if count]
        total = sum((count * score for count, score in pairs), Fraction(0))
        square = sum((count * score * score for count, score in pairs), Fraction(0))
        return Moments(sum(row), total, square)

    def as_json(self) -> list[list[int]]:
        rows: list[list[int]] = self.table.tolist()
        return rows

    def restore(self, rows: Any) -> None:
        counts = whole_rows(rows, len(self.scores), self.groups)
        if any(count and not able for row in counts for count, able in zip(row, self.possible, strict=True)):
            raise DataError(
                "aggregator", "counts of reports that no value can cause", "count the reports again"
            )
        require_users(sum(map(sum, counts)))
        self.table = np.array(counts, dtype=np.int64)


class FloatTally(Tally):
    """Exact sums of float reports, rounded to multiples of a resolution.

    Parameters
    ----------
    groups : int
    centre : float
        Scores are report - centre.
    bound : float
        No score is larger than this in size.

    Examples
    --------
    >>> tally = FloatTally(1, centre=0.0, bound=4.0)
    >>> tally.add(tally.check([0.5, -0.25]))
    >>> tally.moments()
    Moments(count=2, total=Fraction(1, 4), square=Fraction(5, 16), rounding=Fraction(1, 17179869184))
    """

    def __init__(self, groups: int, centre: float, bound: float) -> None:
        self.groups, self.centre, self.bound = groups, centre, bound
        self.exponent = int(np.frexp(bound)[1]) - STEPS
        self.sums = [[0] * 3 for _ in range(groups)]  # count, sum q, sum q^2

    @property
    def resolution(self) -> Fraction:
        """The step to whose multiples reports are rounded: a power of two, at least bound / 2**36."""
        return Fraction(2) ** self.exponent

    def check(self, reports: Any) -> NDArray[Any]:
        """Return the reports as doubles; refuse NaN and what no value can cause."""
        array = as_floats(reports, 1, "reports")
        allowed = self.bound + float(self.resolution)
        if array.size and not (array.min() >= self.centre - allowed and array.max() <= self.centre + allowed):
            wrong = ~(np.abs(array - self.centre) <= allowed)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise RowError(
                    "reports",
                    row,
                    f"no value can cause the report {array[row]:.10g} under this mechanism",
                    "use the mechanism file the reports were made with",
                )
        return array

    def centred(self, reports: NDArray[Any]) -> Array:
        return np.asarray(reports, dtype=np.float64) - self.centre

    def add(self, reports: NDArray[Any], groups: Codes | None = None) -> None:
        for start in range(0, len(reports), PIECE):
            part = reports[start : start + PIECE]
            whole = part - self.centre
            np.rint(np.ldexp(whole, -self.exponent, out=whole), out=whole)
            high = np.floor(whole * 2.0**-HALF)
            low = whole - high * 2.0**HALF
            if groups is None:
                self._add_one(0, len(part), *_sums(high, low))
            else:
                self._add_groups(groups[start : start + PIECE], high, low)

    def _add_one(self, group: int, count: int, high: float, low: float, *squares: float) -> None:
        entry = self.sums[group]
        entry[0] += count
        entry[1] += (int(high) << HALF) + int(low)
        entry[2] += (int(squares[0]) << 2 * HALF) + (int(squares[1]) << HALF + 1) + int(squares[2])

    def _add_groups(self, groups: Codes, high: Array, low: Array) -> None:
        counts = np.bincount(groups, minlength=self.groups)
        columns = [
            np.bincount(groups, weights=values, minlength=self.groups)
            for values in (high, low, high * high, high * low, low * low)
        ]
        for group in np.flatnonzero(counts).tolist():
            self._add_one(group, int(counts[group]), *(float(column[group]) for column in columns))

    def merge(self, other: Self) -> None:
        require_users(sum(entry[0] for entry in (*self.sums, *other.sums)))
        self.sums = [
            [mine + theirs for mine, theirs in zip(*pair, strict=True)]
            for pair in zip(self.sums, other.sums, strict=True)
        ]

    def counts(self) -> Codes:
        return np.array([entry[0] for entry in self.sums], dtype=np.int64)

    def moments(self, group: int = 0) -> Moments:
        count, total, square = self.sums[group]
        return Moments(count, total * self.resolution, square * self.resolution**2, self.resolution / 2)

    def as_json(self) -> list[list[int]]:
        """Return count, sum and sum of squares of each group, in steps of the resolution."""
        return [list(entry) for entry in self.sums]

    def restore(self, rows: Any) -> None:
        sums = whole_rows(rows, 3, self.groups, signed=True)
        most = (1 << STEPS + 1) ** 2  # of the square of one report in steps
        if not all(n >= 0 and total**2 <= n * square and square <= n * most for n, total, square in sums):
            raise DataError("aggregator", "the sums are damaged", "add the reports again")
        require_users(sum(row[0] for row in sums))
        self.sums = sums


def _sums(high: Array, low: Array) -> tuple[float, float, float, float, float]:
    return (
        float(high.sum()),
        float(low.sum()),
        float(np.einsum("i,i->", high, high)),
        float(np.einsum("i,i->", high, low)),
        float(np.einsum("i,i->", low, low)),
    )
