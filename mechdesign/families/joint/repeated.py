"""Bits that are randomized once and then again for every report: exact audit, and linked reports.

**The two extreme outcomes.**
Of an attribute, two users differ in two bits: a 1 and a 0. With h the chance that the kept bit is flipped, q
and p those of reporting 1 for a kept 1 and a kept 0, all R reports of a bit are 1 with chance
A1 = (1-h) q^R + h p^R for a true 1 and A0 = h q^R + (1-h) p^R for a true 0; all are 0 with chance
Z1 = (1-h)(1-q)^R + h (1-p)^R or Z0 = h (1-q)^R + (1-h)(1-p)^R. The likelihood ratio rises with the number of
ones (p < q, h < 1/2), so these are the extremes, and d attributes have exactly e^epsilon = (A1 Z0 / (A0
Z1))^d: a rational number. An attribute with one symmetric bit (q = 1 - p) has A1 / A0 = Z0 / Z1 alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate, PrivacyFinding
from mechdesign.core.errors import CertificateError, DataError, ParameterError, counted
from mechdesign.core.guarantee import ONE_REPORT, Guarantee, Proof
from mechdesign.core.values import changed, frozen_value
from mechdesign.exact.randomness import exp_lower, float_up, log_ratio, true_bound
from mechdesign.families.joint.one_hot import Codes, PackedBits as Packed, grouped

MOST_BITS = 1 << 22
"""Bits of the integers that are compared; more reports or attributes are refused."""

LEADING_BITS = 4096
"""Leading bits of longer integers that decide which epsilon is printed; the verdict uses all bits."""

WITNESS = "ones where the first has its values, zeros where the second has, in every report"
ALONE = "a bit that stands for two values is that of the first in every report"


def witness_text(one_hot: int, single: int) -> str:
    """Return the worst reports of so many one-hot attributes and attributes with one bit."""
    return "; ".join(text for text, count in ((WITNESS, one_hot or not single), (ALONE, single)) if count)


@dataclass(frozen=True)
class RepeatedBits:
    """Weights out of a total: a kept bit is flipped, a kept 1 or a kept 0 is reported as 1.

    Attributes
    ----------
    total : int
    flip : int
        2 flip < total.
    keep, add : int
        0 <= add < keep <= total.

    Examples
    --------
    >>> bits = RepeatedBits(8, 1, 6, 4)
    >>> bits.own, bits.other, bits.ratio(1) == bits.own * (1 - bits.other) / (bits.other * (1 - bits.own))
    (Fraction(23, 32), Fraction(17, 32), True)
    >>> bits.ratio(None)
    Fraction(49, 1)
    """

    total: int
    flip: int
    keep: int
    add: int

    def __post_init__(self) -> None:
        if not 0 <= 2 * self.flip < self.total:
            raise CertificateError("flip", "is not from 0 to below half of the total")
        if not 0 <= self.add < self.keep <= self.total:
            raise CertificateError("keep, add", "are not 0 <= add < keep <= total")

    @property
    def own(self) -> Fraction:
        """The probability q* that one report has a 1 where the true bit is 1."""
        above = (self.total - self.flip) * self.keep + self.flip * self.add
        return Fraction(above, self.total**2)

    @property
    def other(self) -> Fraction:
        """The probability p* that one report has a 1 where the true bit is 0."""
        above = self.flip * self.keep + (self.total - self.flip) * self.add
        return Fraction(above, self.total**2)

    def ratio(self, reports: int | None) -> Fraction | None:
        """Return e^epsilon of one attribute for this number of reports (None: any); None for infinity."""
        above, below = self.odds(reports)
        return None if below == 0 else Fraction(above, below)

    def odds(self, reports: int | None) -> tuple[int, int]:
        """Return numerator and denominator of :meth:`ratio`, not reduced: of many reports that takes long."""
        stay = self.total - self.flip
        if reports is None:
            return stay**2, self.flip**2
        ones = self.keep**reports, self.add**reports
        zeros = (self.total - self.keep) ** reports, (self.total - self.add) ** reports
        above = (stay * ones[0] + self.flip * ones[1]) * (self.flip * zeros[0] + stay * zeros[1])
        below = (self.flip * ones[0] + stay * ones[1]) * (stay * zeros[0] + self.flip * zeros[1])
        return above, below

    @property
    def symmetric(self) -> bool:
        """Whether a kept 1 and a kept 0 are reported wrongly with the same probability."""
        return self.keep + self.add == self.total

    def odds_alone(self, reports: int | None) -> tuple[int, int]:
        """Return the largest likelihood ratio of one symmetric bit that says two values, not reduced.

        Examples
        --------
        >>> RepeatedBits(8, 1, 6, 2).odds_alone(1), RepeatedBits(8, 1, 6, 2).odds_alone(None)
        ((44, 20), (7, 1))
        """
        if not self.symmetric:
            raise CertificateError(
                "bit", "keep and add of a bit that says two values do not sum to the total"
            )
        stay = self.total - self.flip
        if reports is None:
            return stay, self.flip
        right, wrong = self.keep**reports, self.add**reports
        return stay * right + self.flip * wrong, self.flip * right + stay * wrong


@frozen_value(repr=False)
class RepeatedAudit(PrivacyFinding):
    """Result of the audit of one-hot bits.

    Attributes
    ----------
    proof : Proof
        The guarantee of all reports together.
    single : Proof or None
        The guarantee of each report alone, where it is promised.
    one_report, any_reports : float
        The least epsilon of one report, and of any number of reports; rounded up, infinite if there is none.
    figures : mapping
        The number of reports, and the promise for one of them where there is one.
    """

    single: Proof | None
    one_report: float
    any_reports: float
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def holds(self) -> bool:
        return self.proof.holds and (self.single is None or self.single.holds)

    def certificate(self) -> Certificate:
        certificate = super().certificate()
        if self.single is None or self.single.holds:
            return certificate
        return changed(certificate, holds=False, note=f"of one report {self.single.reason}")

    def _figures(self) -> dict[str, Any]:
        return {
            **super()._figures(),
            **self.figures,
            "one_report": self.one_report,
            "any_number_of_reports": self.any_reports,
        }


Powers = Sequence[tuple[tuple[int, int], int]]
"""Quotients, each with the number of attributes that have it."""


def epsilon_of_quotient(odds: tuple[int, int], attributes: int) -> float:
    """Return d times the logarithm of a quotient, rounded up; infinite where the denominator is 0.

    Examples
    --------
    >>> epsilon_of_quotient((49, 1), 2), epsilon_of_quotient((1, 0), 2)
    (7.783640596221254, inf)
    """
    return float_up(digits_of_quotient(odds, attributes))


def digits_of_quotient(odds: tuple[int, int], attributes: int) -> Decimal:
    """Return d times the logarithm of a quotient to many digits, rounded up."""
    if odds[1] == 0:
        return Decimal("inf")
    above, below = odds
    shift = below.bit_length() - LEADING_BITS
    if shift > 0:  # an upper bound of the quotient; whole numbers of many digits are slow as decimals
        above, below = (above >> shift) + 1, below >> shift
    context = Context(prec=60, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return context.multiply(log_ratio(above, below), Decimal(attributes))


def audit_repeated(
    bits: RepeatedBits,
    attributes: int,
    reports: int,
    epsilon: float,
    report_epsilon: float | None = None,
    bit: RepeatedBits | None = None,
    alone: int = 0,
) -> RepeatedAudit:
    """Audit reports of several attributes exactly.

    Parameters
    ----------
    bits : RepeatedBits
        Of the one-hot attributes.
    attributes : int
        How many one-hot attributes there are; their sizes do not matter.
    reports : int
        How many reports of one user the promise is for.
    epsilon : float
        The promise for all of them together.
    report_epsilon : float, optional
        The promise for each single one.
    bit : RepeatedBits, optional
        Of attributes with one symmetric bit for two values.
    alone : int
        How many of these there are.

    Raises
    ------
    ParameterError
        For more reports than integers of four million bits can tell.

    Examples
    --------
    >>> audit = audit_repeated(RepeatedBits(8, 1, 6, 4), 2, 3, 7.0, 2.0)
    >>> audit.holds, round(audit.one_report, 4), round(audit.true_epsilon, 4), round(audit.any_reports, 4)
    (True, 1.6262, 4.3987, 7.7836)
    >>> single = audit_repeated(RepeatedBits(8, 1, 6, 4), 0, 1, 2.2, bit=RepeatedBits(8, 2, 8, 0), alone=2)
    >>> round(single.true_epsilon, 4), round(single.any_reports, 4)  # 2 ln 3: the kept bit is the report
    (2.1973, 2.1973)
    """
    if 4 * reports * (attributes + alone) * bits.total.bit_length() > MOST_BITS:
        raise ParameterError(
            "reports",
            f"{reports} of {attributes + alone} attributes are too many for exact integers",
            "state fewer",
        )

    def powers(count: int | None) -> Powers:
        one_hot: Powers = [(bits.odds(count), attributes)] if attributes or not alone else []
        return [*one_hot, *([(bit.odds_alone(count), alone)] if bit is not None and alone else [])]

    one, every = powers(1), powers(reports)
    covers = f"all {reports} reports of a kept state" if reports > 1 else ONE_REPORT
    proof, single = _proof(every, Guarantee(epsilon, covers=covers)), None
    figures: dict[str, Any] = {"reports": reports}
    if report_epsilon is not None:
        single = _proof(one, Guarantee(report_epsilon))
        figures["report_epsilon"] = report_epsilon
    return RepeatedAudit(
        proof,
        {"input": "first values", "other": "second values", "report": witness_text(attributes, alone)},
        single,
        float_up(_digits(one)),
        float_up(_digits(powers(None))),
        figures,
    )


def _digits(powers: Powers) -> Decimal:
    """Return the logarithm of a product of powers of quotients to many digits, rounded up."""
    context = Context(prec=60, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
    each = [digits_of_quotient(odds, count) for odds, count in powers]
    return reduce(context.add, each)


def _proof(powers: Powers, promise: Guarantee) -> Proof:
    """Return what the quotients of single attributes prove of a promise for all of them."""
    true = true_bound(_digits(powers), promise.epsilon, _within(powers, promise.epsilon))
    return Proof(promise, true, pairs=2 if any(count for _, count in powers) else 0)


def _within(powers: Powers, epsilon: Fraction) -> bool:
    above = math.prod(odds[0] ** count for odds, count in powers)
    below = math.prod(odds[1] ** count for odds, count in powers)
    bound = exp_lower(epsilon)
    return bool(below > 0 and above * bound.denominator <= bound.numerator * below)


Array = NDArray[np.float64]

MOST_REPORTS = 255
"""Ones are counted in bytes."""


def sequence_chances(weights: RepeatedBits, reports: int) -> Array:
    """Return the chance of each sequence of reports of a bit with 0, 1, ... ones, for a true 1 and a true 0.

    Examples
    --------
    >>> sequence_chances(RepeatedBits(8, 1, 6, 2), 1)  # 1 - q*, q* and 1 - p*, p*
    array([[0.3125, 0.6875],
           [0.6875, 0.3125]])
    """
    flip, keep, add = (weight / weights.total for weight in (weights.flip, weights.keep, weights.add))
    ones = np.arange(reports + 1)
    true_chance, added = (share**ones * (1.0 - share) ** (reports - ones) for share in (keep, add))
    return np.stack([(1.0 - flip) * true_chance + flip * added, flip * true_chance + (1.0 - flip) * added])


def linked_counts(
    tables: Sequence[Packed],
    bits: int,
    weights: RepeatedBits,
    bit: RepeatedBits | None = None,
    alone: Packed | None = None,
) -> tuple[Packed, Codes]:
    """Return the different numbers of ones of users, one number a bit, and how many users have each.

    Parameters
    ----------
    tables : sequence of (n, bytes) array
        The reports of the same users in the same order, one table a request.
    bits : int
    weights : RepeatedBits
    bit : RepeatedBits, optional
        Of the bits that ``alone`` has, a packed row.

    Raises
    ------
    DataError
        For tables of unequal length, none, or reports that contradict each other.
    """
    if not tables or not len(tables[0]):
        raise DataError("reports", "there are none", "give at least one report")
    if len(tables) > MOST_REPORTS:
        raise DataError("reports", f"{len(tables)} of each user", f"give at most {MOST_REPORTS}")
    for number, table in enumerate(tables):
        if len(table) != len(tables[0]):
            raise DataError(
                "reports",
                f"table {number + 1} has {counted(len(table), 'user')}, the first {len(tables[0])}",
                "give the same users in the same order",
            )
    ones = np.zeros((len(tables[0]), bits), dtype=np.uint8)
    for table in tables:
        ones += np.unpackbits(table, axis=1, count=bits)
    unseen = (sequence_chances(weights, len(tables)).max(axis=0) == 0.0)[ones]
    if bit is not None and alone is not None:
        places = np.unpackbits(alone, count=bits).view(np.bool_)
        unseen[:, places] = (sequence_chances(bit, len(tables)).max(axis=0) == 0.0)[ones[:, places]]
    impossible = unseen.any(axis=1)
    if impossible.any():
        raise DataError(
            "reports",
            f"those of user {int(np.argmax(impossible)) + 1} contradict each other",
            "give the same users in the same order",
        )
    return grouped(ones, np.ones(len(ones), dtype=np.int64))
