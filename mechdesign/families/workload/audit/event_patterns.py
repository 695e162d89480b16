"""A lower bound for the error of every private unbiased count of one event a user, over all reports whatever.

The types are no event and one event in slot 1 .. m, with the shares p0 and p1/m each. In the bound of
:mod:`mechdesign.families.workload.audit.workload_bound` let B and mu treat all slots alike: with s = v
without its first entry and S the sum of s,

    (B v)_i = b0 v_0 + b1 s_i + b2 S,        mu.v = mu0 v_0 + mu1 S.

Then |B v|^2, mu.v and pi.v of a pattern v in {1, E}^(m+1) depend only on v_0 and on the number of slots with
E: 2 (m + 1) classes of patterns. They are gone through in fractions, with e^epsilon rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechdesign.core.errors import CertificateError
from mechdesign.core.text import counted
from mechdesign.exact.exponential import exp_upper, float_down


@dataclass(frozen=True)
class OneEventBound:
    """The numbers from which a lower bound of the error of counts of one event is checked.

    Parameters
    ----------
    slots : int
    prior : (p0, p1)
        Shares of users without and with an event, both above 0; divided by their sum.
    directions : (b0, b1, b2)
    multiplier : (mu0, mu1)

    Examples
    --------
    >>> bound = OneEventBound(2, (0.5, 0.5), (-0.9, 2.2845, -0.6922), (-0.3555, 1.7701))
    >>> 2.80 < bound.check(1.0) < 2.80973  # the least error is 2.80973
    True
    """

    slots: int
    prior: tuple[float, float]
    directions: tuple[float, float, float]
    multiplier: tuple[float, float]

    @property
    def method(self) -> str:
        """Name of the proof of the inequality for all patterns."""
        return "all patterns"

    def check(self, epsilon: float) -> float:
        """Return a proven lower bound of the error of one report, all slots together.

        Raises
        ------
        CertificateError
            When the numbers are not finite, or prove nothing.
        """
        numbers = (*self.prior, *self.directions, *self.multiplier)
        if self.slots < 1 or not all(map(math.isfinite, numbers)) or min(self.prior) <= 0.0:
            raise CertificateError("bound", f"its numbers do not fit {counted(self.slots, 'slot')}")
        m, total = self.slots, sum(map(Fraction, self.prior))
        none, one = (Fraction(share) / total for share in self.prior)
        b0, b1, b2 = map(Fraction, self.directions)
        ratio = self._largest_ratio(none, one, Fraction(exp_upper(epsilon)))
        product = -b0 * one + m * (b1 * (1 - one / m) + b2 * (1 - one))  # tr(B W~')
        mass = (Fraction(self.multiplier[0]) + m * Fraction(self.multiplier[1])) * ratio
        if product <= 0 or mass <= 0:
            raise CertificateError("bound", "its numbers prove nothing: tr B W~' or 1.mu may be negative")
        own = none * one**2 / m + one * ((1 - one / m) ** 2 + (m - 1) * (one / m) ** 2)
        return float_down(product**2 / mass - own)

    def _largest_ratio(self, none: Fraction, one: Fraction, power: Fraction) -> Fraction:
        """Return the largest |Bv|^2 / ((mu.v)(pi.v)) of all patterns."""
        m = self.slots
        b0, b1, b2 = map(Fraction, self.directions)
        mu0, mu1 = map(Fraction, self.multiplier)
        largest = Fraction(0)
        for first in (Fraction(1), power):
            for inside in range(m + 1):
                size = inside * power + (m - inside)
                shared = b0 * first + b2 * size
                square = inside * (shared + b1 * power) ** 2 + (m - inside) * (shared + b1) ** 2
                cost = mu0 * first + mu1 * size
                if cost <= 0:
                    raise CertificateError("bound", "its numbers prove nothing: mu.v may be negative")
                largest = max(largest, square / (cost * (none * first + one / m * size)))
        return largest

    def as_json(self) -> dict[str, Any]:
        """Return the stored numbers as plain values."""
        names = ("prior", "directions", "multiplier")
        return {"slots": self.slots, **{name: list(getattr(self, name)) for name in names}}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> OneEventBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        none, one = map(float, document["prior"])
        b0, b1, b2 = map(float, document["directions"])
        mu0, mu1 = map(float, document["multiplier"])
        return cls(int(document["slots"]), (none, one), (b0, b1, b2), (mu0, mu1))
