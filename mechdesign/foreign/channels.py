"""The exact audit of a channel that another program wrote: numbers as they are, rows as they sum.

Nothing is repaired and nothing is rounded. A channel is a matrix of numbers >= 0: row x holds the
probabilities of the reports of answer x. Rows of other programs rarely sum to one, so every sum is stated
exactly. A sampler divides a row by its sum, so epsilon is that of the rows divided by their sums:

    e^epsilon = max over reports y and answers x, x' of (p_xy / s_x) / (p_x'y / s_x').

This ratio is a rational number, and fractions decide it. Logarithms of the entries as doubles only omit
what is far from the largest ratio: they neither overflow nor underflow, whatever the size of an entry, and
the margin is above their error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, counted
from mechdesign.core.values import rounded_text, short_text
from mechdesign.exact.numbers import EXACT_BELOW, doubles, rational
from mechdesign.foreign.audit import Defect, ForeignAudit, exact_sums, power, report_count

MARGIN = 2.0**-46
"""Of a logarithm, per unit of the largest one; doubles err by less than a tenth of it."""

MOST_COMMON = 400_000
"""Bits of the common denominator of a row; sums of many quotients take too long beyond."""

MOST_EXACT = 2_000_000
"""Entries that are not doubles: each is a fraction of its own."""


class ForeignChannel:
    """A matrix of numbers >= 0 with names of answers and reports, as another program wrote it.

    Parameters
    ----------
    rows : (n, m) float array, or nested lists of numbers
        At least two answers and two reports: with one of either there is nothing to compare. Doubles stand
        for exactly what they are. Fractions and decimals stay exact.
    answers, reports : sequence of str, optional
        Names; by default numbers from 0.

    Raises
    ------
    DataError
        For a negative or infinite entry, a row of zeros, one answer or report, or names that do not fit.

    Examples
    --------
    >>> from fractions import Fraction
    >>> third = Fraction(1, 3)
    >>> channel = ForeignChannel([[2 * third, third], [third, 2 * third]], answers=["no", "yes"])
    >>> print(channel.audit())
    epsilon = 0.6931471806, in [0.69314718055994530941, 0.69314718055994530942]
    e^epsilon = 2
    witness: answer = no, other = yes, report = 0, probability = 2/3, other_probability = 1/3
    all 2 rows sum to one exactly
    """

    def __init__(
        self, rows: Any, answers: Sequence[str] | None = None, reports: Sequence[str] | None = None
    ) -> None:
        self._exact: list[list[Fraction]] | None = None
        if isinstance(rows, np.ndarray) and rows.dtype == np.float64:
            self._doubles = _checked(rows)
            self.shape = _sized(self._doubles.shape)
            self._positive: NDArray[np.bool_] = self._doubles > 0.0
            self.sums = exact_sums(self._doubles)
        else:
            self._exact = _fractions(rows)
            self.shape = _sized((len(self._exact), len(self._exact[0])))
            self._positive = np.array([[entry.numerator > 0 for entry in row] for row in self._exact])
            self.sums = [_summed(f"row {number}", row) for number, row in enumerate(self._exact, 1)]
        size, width = self.shape
        self.answers = _names("answers", answers, size)
        self.reports = _names("reports", reports, width)
        for name, total in zip(self.answers, self.sums, strict=True):
            if total == 0:
                raise DataError(f"row '{name}'", "holds only zeros", "give the probabilities of its reports")

    def entry(self, row: int, column: int) -> Fraction:
        """Return an entry, exactly, as it was given."""
        return Fraction(self._doubles[row, column]) if self._exact is None else self._exact[row][column]

    def exact(self, row: int, column: int) -> Fraction:
        """Return the probability of a report, divided by the sum of its row."""
        return self.entry(row, column) / self.sums[row]

    def defects(self) -> tuple[Defect, ...]:
        """Return the rows that do not sum to one."""
        return tuple(
            Defect(row, name, total)
            for row, (name, total) in enumerate(zip(self.answers, self.sums, strict=True))
            if total != 1
        )

    def audit(self, reports: int = 1) -> ForeignAudit:
        """Return the exact epsilon of ``reports`` independent reports of the same answer."""
        number = report_count(reports)
        covers = "" if number == 1 else f"{number} independent reports"
        ratio, place = self._largest()
        witness: dict[str, Any] = {}
        if place is not None:
            first, second, column = place
            witness = {
                "answer": self.answers[first],
                "other": self.answers[second],
                "report": self.reports[column],
                "probability": short_text(self.exact(first, column)),
                "other_probability": short_text(self.exact(second, column)),
            }
        magnitude = None if ratio is None else power(ratio, number)
        return ForeignAudit(magnitude, witness, self.defects(), self.shape, covers)

    def _largest(self) -> tuple[Fraction | None, tuple[int, int, int] | None]:
        """Return the largest ratio, None for infinity, and the answers and the report that attain it."""
        ever, always = self._positive.any(axis=0), self._positive.all(axis=0)
        open_columns = np.flatnonzero(ever & ~always)
        if open_columns.size:
            column = int(open_columns[0])
            possible = np.flatnonzero(self._positive[:, column])
            top = self._extreme(possible, column, 1)
            return None, (top, int(self._positive[:, column].argmin()), column)
        columns = np.flatnonzero(always)
        logs, margin = self._logarithms(columns)
        highs, lows = logs.max(axis=0), logs.min(axis=0)
        spread = highs - lows
        above, below, place = 1, 1, None
        numbers = np.flatnonzero(spread >= spread.max() - 4 * margin)
        for number in self._distinct(columns, numbers):
            column = int(columns[number])
            top = self._extreme(np.flatnonzero(logs[:, number] >= highs[number] - 2 * margin), column, 1)
            bottom = self._extreme(np.flatnonzero(logs[:, number] <= lows[number] + 2 * margin), column, -1)
            (part, whole), (other, another) = self._parts(top, column), self._parts(bottom, column)
            if part * another * below > above * whole * other:
                above, below, place = part * another, whole * other, (top, bottom, column)
        return Fraction(above, below), place

    def _distinct(self, columns: NDArray[np.intp], numbers: NDArray[np.intp]) -> list[int]:
        """Return some of the columns, without those that are the same as an earlier one."""
        known: dict[bytes, int] = {}
        if len(numbers) > 1:
            for number in numbers.tolist():
                known.setdefault(self._keys(int(columns[number])).tobytes(), number)
        return list(known.values()) or numbers.tolist()

    def _keys(self, column: int) -> NDArray[Any]:
        """Return a number for each entry of a column; the same number stands for the same entry."""
        if self._exact is None:
            return np.ascontiguousarray(self._doubles[:, column])
        return np.array([id(row[column]) for row in self._exact])

    @cached_property
    def _ranks(self) -> NDArray[np.intp]:
        """The place of each row's sum among all of them."""
        places = {total: place for place, total in enumerate(sorted(set(self.sums)))}
        return np.array([places[total] for total in self.sums])

    def _extreme(self, rows: NDArray[np.intp], column: int, sign: int) -> int:
        """Return the first of some answers that is likeliest, or least likely, to make a report; exactly.

        Of answers with the same entry, the one with the smallest sum is likeliest.
        """
        if len(rows) > FEW:
            ordered = rows[np.argsort(sign * self._ranks[rows], kind="stable")]
            _, first = np.unique(self._keys(column)[ordered], return_index=True)
            rows = np.sort(ordered[first])
        best, part, whole = -1, 0, 1
        for row in rows.tolist():
            top, bottom = self._parts(row, column)
            if best < 0 or sign * (top * whole - part * bottom) > 0:
                best, part, whole = row, top, bottom
        return best

    def _parts(self, row: int, column: int) -> tuple[int, int]:
        """Return two integers whose quotient is the probability of a report; not in lowest terms."""
        entry = self._doubles[row, column] if self._exact is None else self._exact[row][column]
        numerator, denominator = entry.as_integer_ratio()
        total = self.sums[row]
        return numerator * total.denominator, denominator * total.numerator

    def _logarithms(self, columns: NDArray[np.intp]) -> tuple[NDArray[np.float64], float]:
        """Return the binary logarithms of the probabilities in columns without zeros, and their margin."""
        if self._exact is None:
            mantissas, exponents = np.frexp(self._doubles[:, columns])
            entries = np.log2(mantissas) + exponents
        else:
            parts = {id(entry): entry for row in self._exact for entry in row if entry.numerator}
            known = {name: _log2(entry) for name, entry in parts.items()}
            listed = columns.tolist()
            entries = np.array([[known[id(row[column])] for column in listed] for row in self._exact])
        sums = np.array([[_log2(total)] for total in self.sums])
        largest = max(1.0, float(np.abs(entries).max()), float(np.abs(sums).max()))
        return entries - sums, MARGIN * largest


FEW = 8
"""Answers that are compared one by one; of more, those with the same entry are compared by their sums."""

LEADING = 64
"""Bits of an integer that its logarithm is taken from."""


def _log2(value: Fraction) -> float:
    """Return the binary logarithm of a positive fraction of any size.

    Its error is a few units of the result, not of the logarithms of numerator and denominator, which are
    much larger than their difference where both are long: their exponents are subtracted as integers.
    """
    numerator, denominator = value.numerator, value.denominator
    if numerator < EXACT_BELOW > denominator:
        return math.log2(numerator / denominator)
    (above, up), (below, down) = _leading(numerator), _leading(denominator)
    return math.log2(above) - math.log2(below) + (up - down)


def _leading(number: int) -> tuple[float, int]:
    """Return a positive integer as a double from 1/2 to 1 and an exponent of two."""
    length = number.bit_length()
    shift = max(0, length - LEADING)
    return math.ldexp(float(number >> shift), shift - length), length


def _sized(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the numbers of answers and reports; with one of either there is nothing to compare."""
    size, width = shape
    if size == 1:
        raise DataError("channel", "has one answer, so nothing is compared", "give a row for each answer")
    if width == 1:
        raise DataError("channel", "has one report, so nothing is compared", "give a column for each report")
    return size, width


def _checked(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    array = doubles("channel", rows, 2)
    if array.size == 0:
        raise DataError("channel", "is empty", "give a row of probabilities for each answer")
    for wrong, what in ((array < 0, "is negative"), (np.isinf(array), "is infinite")):
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise DataError(
                f"row {row}, column {column}", f"{array[row, column]:g} {what}", "give probabilities >= 0"
            )
    return array


def _fractions(rows: Any) -> list[list[Fraction]]:
    """Return nested lists of numbers as fractions; every entry passes the gate."""
    if np.ma.isMaskedArray(rows):
        raise DataError("channel", "is a masked array", "fill it, and give the numbers that are meant")
    try:
        listed = [list(row) for row in (np.asarray(rows) if hasattr(rows, "__array__") else rows)]
    except TypeError:
        raise DataError("channel", "expected rows of numbers", "give a list for each answer") from None
    if not listed or not listed[0]:
        raise DataError("channel", "is empty", "give a row of probabilities for each answer")
    width = len(listed[0])
    if len(listed) * width > MOST_EXACT:
        raise DataError("channel", f"more than {MOST_EXACT} exact entries", "save doubles as .npy instead")
    result = []
    for number, row in enumerate(listed, 1):
        if len(row) != width:
            raise DataError(
                f"row {number}", f"has {counted(len(row), 'entry')}, row 1 has {width}", "give each the same"
            )
        fractions = [
            entry if type(entry) is Fraction else rational(f"row {number}, column {place}", entry)
            for place, entry in enumerate(row, 1)
        ]
        for place, entry in enumerate(fractions, 1):
            if entry.numerator < 0:
                where = f"row {number}, column {place}"
                raise DataError(where, f"{rounded_text(entry, 6)} is negative", "give probabilities >= 0")
        result.append(fractions)
    return result


def _summed(where: str, fractions: Sequence[Fraction]) -> Fraction:
    """Return the sum of a row; DataError where it has too long a denominator."""
    denominators = {entry.denominator for entry in fractions}
    common = max(denominators)
    for denominator in denominators:
        if common % denominator:
            common = math.lcm(common, denominator)
        if common.bit_length() > MOST_COMMON:
            what = "its quotients have a common denominator of more than 120000 digits"
            raise DataError(where, what, "write them as decimals, or over one denominator")
    factors = {denominator: common // denominator for denominator in denominators}
    return Fraction(sum(entry.numerator * factors[entry.denominator] for entry in fractions), common)


def _names(what: str, names: Sequence[str] | None, size: int) -> list[str]:
    if names is None:
        return [str(number) for number in range(size)]
    if len(names) != size:
        raise DataError(what, f"{counted(len(names), 'name')} for {size} of them", "give each a name")
    if not all(name.strip() for name in names):
        raise DataError(what, "a name is empty", "give each a name")
    if len(set(names)) != size:
        twice = next(name for name in names if list(names).count(name) > 1)
        raise DataError(what, f"duplicate name '{twice}'", "use each name once")
    return list(names)
