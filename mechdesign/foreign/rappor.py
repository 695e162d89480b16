"""The exact epsilon of RAPPOR for one report, for any number of them, and for all together.

A client sets h of k bits by hashing its value, makes each bit permanently noisy (a bit b becomes 1 or 0 with
probability f/2 each, and stays b otherwise), and for every report sends a permanent 1 as 1 with probability
q and a permanent 0 as 1 with probability p (Erlingsson, Pihur and Korolova 2014). The permanent bits are
kept: n reports of one value are independent given them.

For one bit the two laws of n reports have a monotone likelihood ratio in the number of ones, so the
largest ratios are at n ones and at none. Values whose set bits are disjoint differ in 2h bits, h each way;
the bits are independent, and the ratios multiply. All of it is rational; of large powers only the
logarithms are computed, as bounds to any number of digits.

One bit is a boolean, as in the repository google/rappor: true sets the bit, false does not. The hashed
values of two and more bits set at least one, so that the bound also covers the one-hot bits of an ordinal
and a boolean in one bit of many; it does not cover bits that a program sets freely.
"""

from __future__ import annotations

from fractions import Fraction

from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.values import frozen_value, rounded_text, value_field
from mechdesign.exact.numbers import plain_int, rational
from mechdesign.foreign.audit import (
    MOST_BITS,
    ONE,
    ForeignAudit,
    Interval,
    Magnitude,
    log_interval,
    power,
    power_above,
    power_below,
    product,
    report_count,
)

HALF = Fraction(1, 2)
MOST_HASHES = 4096
MOST = 1 << 32
"""Bits, and cohorts."""

OF_BOOLEANS = "a boolean: true sets the one bit, false does not (encodeBoolean)"
OF_HASHES = (
    "hashed values and ordinals (encodeString, encodeOrdinal); not bits that are set freely (encodeBits)"
)


def _count(name: str, value: object) -> int:
    count = plain_int(name, value)
    if not 1 <= count <= MOST:
        what = "is below 1" if count < 1 else f"is above {MOST}"
        raise ParameterError(name, what, "give a positive integer")
    return count


def _share(name: str, value: object) -> Fraction:
    share = rational(name, value)
    if not 0 <= share <= 1:
        raise ParameterError(name, f"{rounded_text(share, 6)} is outside [0, 1]", "give a probability")
    return share


@frozen_value(kw_only=True)
class Rappor:
    """A configuration of RAPPOR, with the names of its published parameters.

    Attributes
    ----------
    bits, hashes, cohorts : int
        k, h and m: the size of the Bloom filter, the hash functions, and the groups with hashes of their
        own. The cohort is sent with the report and does not depend on the value, so it changes no ratio.
    p, q, f : number
        Probability that a permanent 0, a permanent 1 is sent as 1; that a bit is made up permanently.

    Raises
    ------
    ParameterError
        For a probability outside [0, 1], or more hashes than bits.

    Examples
    --------
    >>> from fractions import Fraction
    >>> half, most = Fraction(1, 2), Fraction(3, 4)
    >>> deployed = Rappor(bits=16, hashes=2, cohorts=64, p=half, q=most, f=half)
    >>> print(deployed.audit(1).lines()[0])
    epsilon of 1 report = 1.074285864, in [1.07428586416672818355, 1.07428586416672818356]
    >>> round(deployed.audit(None).epsilon, 6)  # 4 ln 3
    4.394449
    """

    bits: int = value_field(_count)
    hashes: int = value_field(_count)
    p: Fraction = value_field(_share)
    q: Fraction = value_field(_share)
    f: Fraction = value_field(_share)
    cohorts: int = value_field(_count, default=1)

    def __attrs_post_init__(self) -> None:
        if self.hashes > min(self.bits, MOST_HASHES):
            least = min(self.bits, MOST_HASHES)
            raise ParameterError("hashes", f"{self.hashes} is above {least}", "set at most as many as bits")

    def shares(self) -> tuple[Fraction, Fraction]:
        """Return the probability that a set bit, and that a bit that is not set, is reported as 1."""
        keep, noise = 1 - self.f, self.f * HALF
        mixed = noise * (self.p + self.q)
        return keep * self.q + mixed, keep * self.p + mixed

    @property
    def is_boolean(self) -> bool:
        """Whether it is about a boolean: one bit, which true sets and false does not."""
        return self.bits == 1

    def encoders(self) -> str:
        """Return which values it is about, by the names of the encoders of google/rappor."""
        return OF_BOOLEANS if self.is_boolean else OF_HASHES

    def audit(self, reports: int | None = 1) -> ForeignAudit:
        """Return the exact epsilon of one value's reports; None for any number of them.

        For any number the permanent bits themselves are taken as known: n reports tend to show them when q
        differs from p, and no number of reports shows more.
        """
        number = None if reports is None else report_count(reports)
        covers = "any number of reports" if number is None else counted(number, "report")
        ones, zeros = self._bit_ratios(number)
        first, second = self._differing(ones, zeros)
        if ones is None or zeros is None:
            return ForeignAudit(None, self._witness(first, second, number), covers=covers)
        magnitude = product([(ones, first), (zeros, second)])
        witness = {} if magnitude.is_one else self._witness(first, second, number)
        return ForeignAudit(magnitude, witness, covers=covers)

    def _witness(self, first: int, second: int, reports: int | None) -> dict[str, str]:
        if self.is_boolean:
            bit = "bit 1" if first else "bit 0"
            report = f"permanent {bit}" if reports is None else f"{bit} each time"
            return {"answer": str(bool(first)).lower(), "other": str(not first).lower(), "report": report}
        each = "the permanent bits as for the first" if reports is None else "the bits of the first each time"
        return {
            "answer": f"sets {counted(first, 'bit')}",
            "other": f"sets {counted(second, 'other')}",
            "report": each,
        }

    def _differing(self, ones: Magnitude | None, zeros: Magnitude | None) -> tuple[int, int]:
        """Return how many bits each of two values sets alone, where the ratio is largest.

        Both set a bit at least, but for the one bit of a boolean; hashes may collide, so that a value sets
        fewer than h. A bit that is reported as 1 more surely than another as 0 comes first.
        """
        more = min(self.hashes, max(1, self.bits - 1))
        less = min(self.hashes, self.bits - more)
        is_first = ones is None or (zeros is not None and self._ones_count_more())
        return (more, less) if is_first else (less, more)

    def _ones_count_more(self) -> bool:
        """Whether a report of ones tells more than one of zeros, of any number of reports.

        With high and low for the larger and the smaller of p and q, n ones are high^n over low^n before
        the permanent noise, which is monotone; n zeros are (1 - low)^n over (1 - high)^n.
        """
        high, low = max(self.p, self.q), min(self.p, self.q)
        likelier = high * (1 - high) >= low * (1 - low)  # ones tell more of the value with more ones
        return likelier if self.q >= self.p else not likelier

    def _bit_ratios(self, reports: int | None) -> tuple[Magnitude | None, Magnitude | None]:
        """Return the largest ratio of a set bit over an unset one, and the other way; None for infinity."""
        if self.p == self.q or self.f == 1:
            return ONE, ONE
        if reports is None:
            noise = self.f * HALF
            permanent = None if noise == 0 else power((1 - noise) / noise)
            return permanent, permanent
        high, low = max(self.p, self.q), min(self.p, self.q)
        ones = self._noisy(high, low, reports)
        zeros = self._noisy(1 - low, 1 - high, reports)
        return (ones, zeros) if self.q >= self.p else (zeros, ones)

    def _noisy(self, high: Fraction, low: Fraction, reports: int) -> Magnitude | None:
        """Return the ratio of high^n and low^n after the permanent noise has mixed them; None for infinity.

        It is (1 - u + u t) / (u + (1 - u) t) with u = f/2 and t = (low/high)^n, and decreases in t.
        """
        noise = self.f * HALF
        if low == 0:
            return None if noise == 0 else power((1 - noise) / noise)
        if noise == 0:
            return power(high / low, reports)

        def mixed(part: Fraction) -> Fraction:
            return Fraction((1 - noise + noise * part) / (noise + (1 - noise) * part))

        def logarithm(digits: int) -> Interval:
            more = digits + len(str(reports))
            below, above = (bound * reports for bound in log_interval(high / low, more))
            least = noise / Fraction(10) ** (digits + 5)
            top, bottom = power_above(below, more, least), power_below(above, more, least)
            return log_interval(mixed(top), digits)[0], log_interval(mixed(bottom), digits)[1]

        part = low / high
        if part.denominator.bit_length() * reports > MOST_BITS:
            return Magnitude(logarithm)
        return power(mixed(part**reports))
