"""The exact epsilon of RAPPOR for one report, for any number of them, and for all together.

A client sets h of k bits by hashing its value, makes each bit permanently noisy (a bit b becomes 1 or 0 with
probability f/2 each, and stays b otherwise), and for every report sends a permanent 1 as 1 with probability
q and a permanent 0 as 1 with probability p (Erlingsson, Pihur and Korolova 2014). The permanent bits are
kept: n reports of one value are independent given them.

For one bit the two laws of n reports have a monotone likelihood ratio in the number of ones, so the
largest ratios are at n ones and at none. Values whose set bits are disjoint differ in 2h bits, h each way;
the bits are independent, and the ratios multiply. All of it is rational.
"""

from __future__ import annotations

from fractions import Fraction

from mechdesign.audit.exponential import log_bounds
from mechdesign.audit.foreign import ForeignAudit
from mechdesign.core.errors import ParameterError
from mechdesign.core.numbers import plain_int, rational
from mechdesign.core.values import frozen_value, kept

HALF = Fraction(1, 2)
MOST_HASHES = 4096


def _count(name: str, value: object) -> int:
    count = plain_int(name, value)
    if count < 1:
        raise ParameterError(name, f"{count} is below 1", "give a positive integer")
    return count


def _share(name: str, value: object) -> Fraction:
    share = rational(name, value)
    if not 0 <= share <= 1:
        raise ParameterError(name, f"{float(share):g} is outside [0, 1]", "give a probability")
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

    bits: int = kept(_count)
    hashes: int = kept(_count)
    p: Fraction = kept(_share)
    q: Fraction = kept(_share)
    f: Fraction = kept(_share)
    cohorts: int = kept(_count, default=1)

    def __attrs_post_init__(self) -> None:
        if self.hashes > min(self.bits, MOST_HASHES):
            least = min(self.bits, MOST_HASHES)
            raise ParameterError("hashes", f"{self.hashes} is above {least}", "set at most as many as bits")

    def shares(self) -> tuple[Fraction, Fraction]:
        """Return the probability that a set bit, and that a bit that is not set, is reported as 1."""
        keep, noise = 1 - self.f, self.f * HALF
        mixed = noise * (self.p + self.q)
        return keep * self.q + mixed, keep * self.p + mixed

    def audit(self, reports: int | None = 1) -> ForeignAudit:
        """Return the exact epsilon of one value's reports; None for any number of them.

        For any number the permanent bits themselves are taken as known: n reports tend to show them when q
        differs from p, and no number of reports shows more.
        """
        if reports is not None and plain_int("reports", reports) < 1:
            raise ParameterError("reports", f"{reports} is below 1", "give the number of reports")
        ones, zeros = self._bit_ratios(reports)
        first, second = self._differing(ones, zeros)
        covers = "any number of reports" if reports is None else f"{reports} report{'s' * (reports > 1)}"
        shown = (
            "the permanent bits as for the first" if reports is None else "the bits of the first each time"
        )
        witness = {
            "answer": f"sets {first} bit{'s' * (first > 1)}",
            "other": f"sets {second} other{'s' * (second > 1)}",
            "report": shown,
        }
        if first == second == 0:
            return ForeignAudit(Fraction(1), Fraction(0), Fraction(0), {}, covers=covers)
        if ones is None or zeros is None:
            return ForeignAudit(None, None, None, witness, covers=covers)
        ratio = Fraction(ones**first * zeros**second)
        low, high = log_bounds(ratio)
        return ForeignAudit(ratio, low, high, witness if ratio > 1 else {}, covers=covers)

    def _differing(self, ones: Fraction | None, zeros: Fraction | None) -> tuple[int, int]:
        """Return how many bits each of two values sets alone, where the ratio is largest.

        Both set a bit at least; hashes may collide, so that a value sets fewer than h.
        """
        more = min(self.hashes, self.bits - 1)
        less = min(self.hashes, self.bits - more) if more else 0
        if ones is None or zeros is None or ones >= zeros:
            return more, less
        return less, more

    def _bit_ratios(self, reports: int | None) -> tuple[Fraction | None, Fraction | None]:
        """Return the largest ratio of a set bit over an unset one, and the other way; None for infinity."""
        noise = self.f * HALF
        if reports is None:
            if self.p == self.q:
                return Fraction(1), Fraction(1)
            kept = None if noise == 0 else (1 - noise) / noise
            return kept, kept
        high, low = max(self.p, self.q), min(self.p, self.q)
        ones = self._mixed(high**reports, low**reports)
        zeros = self._mixed((1 - low) ** reports, (1 - high) ** reports)
        return (ones, zeros) if self.q >= self.p else (zeros, ones)

    def _mixed(self, likely: Fraction, unlikely: Fraction) -> Fraction | None:
        noise = self.f * HALF
        top = (1 - noise) * likely + noise * unlikely
        bottom = noise * likely + (1 - noise) * unlikely
        if bottom == 0:
            return None if top > 0 else Fraction(1)
        return Fraction(top / bottom)
