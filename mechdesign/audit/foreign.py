"""The exact audit of a channel that another program wrote: numbers as they are, rows as they sum.

Nothing is repaired and nothing is rounded. A channel is a matrix of numbers >= 0: row x holds the
probabilities of the reports of answer x. Rows of other programs rarely sum to one, so every sum is stated
exactly. A sampler divides a row by its sum, so epsilon is that of the rows divided by their sums:

    e^epsilon = max over reports y and answers x, x' of (p_xy / s_x) / (p_x'y / s_x').

This ratio is a rational number, found without rounding: doubles only choose the few reports and answers that
can attain it, with a margin above their error, and exact arithmetic decides among those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import exp_lower, float_up, log_bounds
from mechdesign.audit.foreign_sums import exact_sums
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.notebook import TextInNotebooks
from mechdesign.core.numbers import doubles, plain_int, rational
from mechdesign.core.text import counted
from mechdesign.core.validation import privacy_epsilon

MARGIN = 2.0**-48
"""Relative; the doubles that choose candidates err by less than 4 units of 2^-53 each."""

SMALLEST = 1e-290
"""Below it a double loses digits, so a report with a smaller positive probability is decided exactly."""

LARGEST = Fraction(10) ** 300
"""No probability is larger, even before its row is divided by its sum."""

MOST_EXACT = 2_000_000
"""Entries that are not doubles: each is a fraction of its own."""

SHOWN_DEFECTS = 3


@dataclass(frozen=True)
class Defect:
    """A row that does not sum to one: its number, its name and its sum."""

    row: int
    name: str
    total: Fraction

    def __str__(self) -> str:
        more = self.total - 1
        size = abs(more)
        exact = f"{size.numerator}/{size.denominator}" if size.denominator < 10**40 else "a fraction"
        return f"row '{self.name}' sums to 1 {'+' if more > 0 else '-'} {exact} ({float(size):.2g})"


@dataclass(frozen=True)
class ForeignAudit(TextInNotebooks):
    """The exact epsilon of a foreign mechanism and what shows it.

    Attributes
    ----------
    ratio : Fraction or None
        e^epsilon, exactly; None where epsilon is infinite.
    low, high : Fraction or None
        Rational bounds of epsilon, closer than 48 digits; None where it is infinite.
    witness : mapping
        ``answer`` and ``other``, and the ``report`` that is likelier by this ratio, by their names; with the
        ``probability`` of the report under each. Empty when all answers have the same reports.
    defects : tuple of Defect
        All rows that do not sum to one.
    size : tuple of int
        Answers and reports.
    covers : str
        The reports that epsilon covers, where it is not one report of a channel.
    """

    ratio: Fraction | None
    low: Fraction | None
    high: Fraction | None
    witness: dict[str, Any]
    defects: tuple[Defect, ...] = ()
    size: tuple[int, int] = (0, 0)
    covers: str = ""

    @property
    def epsilon(self) -> float:
        """Epsilon as a double, rounded up."""
        return float("inf") if self.high is None else float_up(self.high)

    def keeps(self, epsilon: float) -> bool:
        """Whether a stated epsilon holds: the ratio against a lower bound of e^epsilon, without tolerance."""
        return self.ratio is not None and self.ratio <= exp_lower(privacy_epsilon(epsilon))

    def certificate(self, epsilon: float) -> Certificate:
        """Return the verdict on a stated epsilon."""
        figures = {"epsilon": float(epsilon), "true_epsilon": self.epsilon}
        note = f"of {self.covers}" if self.covers else ""
        return Certificate("privacy", self.keeps(epsilon), True, figures, self.witness, note)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; exact numbers are texts of two integers."""
        bounds = None if self.low is None else [_text(self.low), _text(self.high)]
        return {
            "epsilon": "inf" if self.high is None else self.epsilon,
            "interval": bounds,
            "ratio": None if self.ratio is None else _text(self.ratio),
            "witness": self.witness or None,
            "covers": self.covers or "1 report",
            "rows_that_do_not_sum_to_one": [
                {"row": item.row, "answer": item.name, "sum": _text(item.total)} for item in self.defects
            ],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the results as strings, one line for each fact."""
        many = f" of {self.covers}" if self.covers else ""
        if self.ratio is None or self.low is None or self.high is None:
            found = [f"epsilon{many} is infinite"]
        else:
            found = [
                f"epsilon{many} = {float(self.high):.10g}, in "
                f"[{_decimal(self.low)}, {_decimal(self.high, up=True)}]",
                f"e^epsilon = {_short(self.ratio)}",
            ]
        if self.witness:
            found.append("witness: " + ", ".join(f"{key} = {value}" for key, value in self.witness.items()))
        if self.size != (0, 0):
            found.append(self._rows())
        return found

    def _rows(self) -> str:
        if not self.defects:
            return f"all {self.size[0]} rows sum to one exactly"
        worst = sorted(self.defects, key=lambda item: -abs(item.total - 1))[:SHOWN_DEFECTS]
        rest = len(self.defects) - len(worst)
        more = f"; {rest} more" if rest else ""
        first = "; ".join(map(str, worst))
        count = f"{len(self.defects)} of {self.size[0]} rows do not sum to one"
        return f"{count}: {first}{more}; each is divided by its sum"


class ForeignChannel:
    """A matrix of numbers >= 0 with names of answers and reports, as another program wrote it.

    Parameters
    ----------
    rows : (n, m) float array, or nested lists of numbers
        Doubles stand for exactly what they are. Fractions and decimals stay exact.
    answers, reports : sequence of str, optional
        Names; by default numbers from 0.

    Raises
    ------
    DataError
        For a negative or infinite entry, a row of zeros, or names that do not fit.

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
            self.rough = _checked(rows)
            self.positive: NDArray[np.bool_] = self.rough > 0.0
            self.sums = exact_sums(self.rough)
        else:
            self._exact = _fractions(rows)
            self.rough = np.array([[float(entry) for entry in row] for row in self._exact])
            self.positive = np.array([[entry > 0 for entry in row] for row in self._exact])
            self.sums = [sum(row, Fraction(0)) for row in self._exact]
        size, width = self.rough.shape
        self.answers = _names("answers", answers, size)
        self.reports = _names("reports", reports, width)
        for name, total in zip(self.answers, self.sums, strict=True):
            if total == 0:
                raise DataError(f"row '{name}'", "holds only zeros", "give the probabilities of its reports")

    def exact(self, row: int, column: int) -> Fraction:
        """Return the probability of a report, divided by the sum of its row."""
        entry = self._exact[row][column] if self._exact is not None else Fraction(self.rough[row, column])
        return entry / self.sums[row]

    def defects(self) -> tuple[Defect, ...]:
        """Return the rows that do not sum to one."""
        return tuple(
            Defect(row, name, total)
            for row, (name, total) in enumerate(zip(self.answers, self.sums, strict=True))
            if total != 1
        )

    def audit(self, reports: int = 1) -> ForeignAudit:
        """Return the exact epsilon of ``reports`` independent reports of the same answer."""
        number = plain_int("reports", reports)
        if number < 1:
            raise ParameterError("reports", f"{number} is below 1", "give the number of reports")
        covers = "" if number == 1 else f"{number} independent reports"
        ratio, place = self._largest()
        witness: dict[str, Any] = {}
        if place is not None:
            first, second, column = place
            witness = {
                "answer": self.answers[first],
                "other": self.answers[second],
                "report": self.reports[column],
                "probability": _short(self.exact(first, column)),
                "other_probability": _short(self.exact(second, column)),
            }
        size = self.rough.shape
        if ratio is None:
            return ForeignAudit(None, None, None, witness, self.defects(), size, covers)
        low, high = log_bounds(ratio)
        total = ratio**number
        return ForeignAudit(total, low * number, high * number, witness, self.defects(), size, covers)

    def _largest(self) -> tuple[Fraction | None, tuple[int, int, int] | None]:
        """Return the largest ratio, None for infinity, and the answers and the report that attain it."""
        ever, always = self.positive.any(axis=0), self.positive.all(axis=0)
        open_columns = np.flatnonzero(ever & ~always)
        if open_columns.size:
            column = int(open_columns[0])
            possible = self.positive[:, column]
            top = int(self.rough[:, column].argmax())
            top = top if possible[top] else int(possible.argmax())
            return None, (top, int(possible.argmin()), column)
        best, place = Fraction(1), None
        for column in self._candidates(np.flatnonzero(ever)):
            highs, lows = self._extremes(column)
            top = max(highs, key=lambda row: self.exact(row, column))
            bottom = min(lows, key=lambda row: self.exact(row, column))
            ratio = self.exact(top, column) / self.exact(bottom, column)
            if ratio > best:
                best, place = ratio, (top, bottom, column)
        return best, place

    def _scaled(self, columns: Any) -> NDArray[np.float64]:
        sums = np.array([float(total) for total in self.sums])
        found: NDArray[np.float64] = self.rough[:, columns] / (
            sums if np.ndim(columns) == 0 else sums[:, None]
        )
        return found

    def _candidates(self, columns: NDArray[np.intp]) -> list[int]:
        """Return the reports that can attain the largest ratio."""
        if not columns.size:
            return []
        fine = (self.rough[:, columns] >= SMALLEST).all(axis=0)
        normal, tiny = columns[fine], columns[~fine]
        if not normal.size:
            return [int(column) for column in tiny]
        scaled = self._scaled(normal)
        ratios = scaled.max(axis=0) / scaled.min(axis=0)
        near = normal[ratios >= ratios.max() * (1.0 - MARGIN)]
        return sorted(int(column) for column in (*near, *tiny))

    def _extremes(self, column: int) -> tuple[list[int], list[int]]:
        """Return the answers that can be likeliest and least likely to make a report."""
        if (self.rough[:, column] < SMALLEST).any():
            rows = list(range(len(self.rough)))
            return rows, rows
        scaled = self._scaled(column)
        highs = np.flatnonzero(scaled >= scaled.max() * (1.0 - MARGIN))
        lows = np.flatnonzero(scaled <= scaled.min() * (1.0 + MARGIN))
        return highs.tolist(), lows.tolist()


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


def _rough(entry: Fraction) -> str:
    """Return a number for an error message, also one that no double holds."""
    return f"{float(entry):g}" if abs(entry) <= LARGEST else "a number beyond 1e300"


def _fractions(rows: Any) -> list[list[Fraction]]:
    """Return nested lists of numbers as fractions; every entry passes the gate."""
    listed = [list(row) for row in rows]
    if not listed or not listed[0]:
        raise DataError("channel", "is empty", "give a row of probabilities for each answer")
    width = len(listed[0])
    if len(listed) * width > MOST_EXACT:
        raise DataError("channel", f"more than {MOST_EXACT} exact entries", "save doubles as .npy instead")
    found = []
    for number, row in enumerate(listed, 1):
        if len(row) != width:
            raise DataError(
                f"row {number}", f"has {counted(len(row), 'entry')}, row 1 has {width}", "give each the same"
            )
        fractions = [rational(f"row {number}, column {place}", entry) for place, entry in enumerate(row, 1)]
        for place, entry in enumerate(fractions, 1):
            if not 0 <= entry <= LARGEST:
                what = "is negative" if entry < 0 else "is too large"
                raise DataError(
                    f"row {number}, column {place}", f"{_rough(entry)} {what}", "give probabilities >= 0"
                )
        found.append(fractions)
    return found


def _names(what: str, names: Sequence[str] | None, size: int) -> list[str]:
    if names is None:
        return [str(number) for number in range(size)]
    if len(names) != size:
        raise DataError(what, f"{counted(len(names), 'name')} for {size} of them", "give each a name")
    if len(set(names)) != size:
        twice = next(name for name in names if list(names).count(name) > 1)
        raise DataError(what, f"duplicate name '{twice}'", "use each name once")
    return list(names)


def _decimal(value: Fraction, up: bool = False) -> str:
    """Return 20 decimals of a number, rounded down or up."""
    scaled = value * 10**20
    units, rest = divmod(math.ceil(scaled) if up else math.floor(scaled), 10**20)
    return f"{units}.{rest:020d}"


def _short(value: Fraction) -> str:
    """Return a fraction where it is short, else its decimals."""
    text = _text(value)
    return text if len(text) <= 40 else f"{float(value):.10g}"


def _text(value: Fraction | None) -> str:
    if value is None:
        return "inf"
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
