"""What the exact audit of a foreign mechanism states: epsilon as an interval, its witness, the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import ONE_REPORT, Guarantee, Proof
from mechdesign.core.notebook import TextInNotebooks
from mechdesign.exact.exact import epsilon_number
from mechdesign.exact.exact_text import (
    LONGEST,
    SHORT,
    bound_text,
    exact_or_rounded,
    quotient_text,
    rounded_text,
)
from mechdesign.exact.exponential import float_up
from mechdesign.exact.magnitude import Magnitude, exponential_text
from mechdesign.exact.numbers import plain_int

MOST_REPORTS = 10**18

SHOWN_DEFECTS = 3


def report_count(reports: Any) -> int:
    """Return a number of reports, from 1 to 10^18."""
    number = plain_int("reports", reports)
    if not 1 <= number <= MOST_REPORTS:
        what = "is below 1" if number < 1 else f"is above {MOST_REPORTS}"
        raise ParameterError("reports", what, "give the number of reports")
    return number


@dataclass(frozen=True)
class Defect:
    """A row that does not sum to one: its number, its name and its sum."""

    row: int
    name: str
    total: Fraction

    def __str__(self) -> str:
        more = self.total - 1
        size = abs(more)
        exact = quotient_text(size, 81) if size.denominator < 10**40 else None
        sign = "+" if more > 0 else "-"
        return f"row '{self.name}' sums to 1 {sign} {exact or 'a fraction'} ({rounded_text(size, 2)})"


@dataclass(frozen=True)
class ForeignAudit(TextInNotebooks):
    """The exact epsilon of a foreign mechanism and what shows it.

    Attributes
    ----------
    magnitude : Magnitude or None
        e^epsilon by its logarithm; None where epsilon is infinite.
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

    magnitude: Magnitude | None
    witness: dict[str, Any]
    defects: tuple[Defect, ...] = ()
    size: tuple[int, int] = (0, 0)
    covers: str = ""

    @property
    def infinite(self) -> bool:
        """Whether epsilon is infinite."""
        return self.magnitude is None

    @property
    def ratio(self) -> Fraction | None:
        """e^epsilon, exactly; None where epsilon is infinite, or the number has too many digits."""
        return None if self.magnitude is None else self.magnitude.exact

    def ratio_text(self, longest: int = LONGEST) -> str:
        """Return e^epsilon exactly, or to ten digits where that is longer than ``longest`` characters.

        It is "inf" where epsilon is infinite, and empty where even its exponent is too long.
        """
        if self.low is None:
            return "inf"
        if self.ratio is None:
            return exponential_text(self.low) or ""
        return quotient_text(self.ratio, longest) or rounded_text(self.ratio)

    @cached_property
    def interval(self) -> tuple[Fraction, Fraction] | None:
        """Rational bounds of epsilon, closer than 40 significant digits; None where it is infinite."""
        return None if self.magnitude is None else self.magnitude.bounds()

    @property
    def low(self) -> Fraction | None:
        """Lower bound of epsilon; None where it is infinite."""
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> Fraction | None:
        """Upper bound of epsilon; None where it is infinite."""
        return None if self.interval is None else self.interval[1]

    @property
    def epsilon(self) -> float:
        """Epsilon as a double, rounded up."""
        return math.inf if self.high is None else float_up(self.high)

    def keeps(self, epsilon: Any) -> bool:
        """Whether a stated epsilon holds: a number, or a decimal in a text, exactly and without tolerance."""
        exact = epsilon_number(epsilon)
        return self.magnitude is not None and self.magnitude.is_within(exact)

    def certificate(self, epsilon: Any) -> Certificate:
        """Return the verdict on a stated epsilon."""
        exact = epsilon_number(epsilon)
        holds, true = self.keeps(exact), self.epsilon
        nearest = float(exact)
        figures = {"epsilon": float_up(exact) if holds and nearest < true else nearest, "true_epsilon": true}
        notes = [f"of {self.covers}"] if self.covers else []
        if not holds and self.low is not None and math.isclose(nearest, true, rel_tol=1e-9):
            notes.append(
                f"the stated epsilon is exceeded by {rounded_text(max(Fraction(0), self.low - exact), 2)}"
            )
        # Where the statement holds exactly, it bounds epsilon at least as well as the interval.
        bound = min(self.high, exact) if holds and self.high is not None else self.high
        promise = Guarantee(exact, covers=self.covers or ONE_REPORT)
        answers = self.size[0]
        proof = Proof(promise, bound, pairs=answers * (answers - 1) if answers else None)
        return Certificate.of_privacy(proof, figures, self.witness, "; ".join(notes))

    def as_json(self) -> dict[str, Any]:
        """Return plain values; exact numbers are texts of two integers, or 50 digits where these are long."""
        bounds = (
            None
            if self.low is None or self.high is None
            else [exact_or_rounded(self.low, False), exact_or_rounded(self.high, True)]
        )
        return {
            "epsilon": "inf" if self.infinite else self.epsilon,
            "interval": bounds,
            "ratio": None if self.ratio is None else quotient_text(self.ratio),
            "witness": self.witness or None,
            "covers": self.covers or "1 report",
            "rows_that_do_not_sum_to_one": [
                {"row": item.row, "answer": item.name, "sum": exact_or_rounded(item.total, True)}
                for item in self.defects
            ],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the results as strings, one line for each fact."""
        many = f" of {self.covers}" if self.covers else ""
        if self.low is None or self.high is None:
            found = [f"epsilon{many} is infinite"]
        else:
            bounds = f"[{bound_text(self.low, False)}, {bound_text(self.high, True)}]"
            found = [f"epsilon{many} = {rounded_text(self.high)}, in {bounds}"]
            written = self.ratio_text(SHORT)
            found += [f"e^epsilon = {written}"] if written else []
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
