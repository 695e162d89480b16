"""Revenue when the protection radius is widened: by the mean itself, or by an exponential random length.

With a = d_m - s the granted radius is R = clip(a - X, 0, r0), and T(R) = c R (s + R)^2. For X exponential
with mean L, integrating by parts with rho = min(r0, a),

    E T(R) = T(rho) - integral over y from 0 to rho of T'(y) exp(-(a - y) / L) dy,

which is elementary, and evaluated in rational numbers with rational bounds of the two exponentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from mechdesign.exact.exponential import exp_lower, exp_upper
from mechdesign.solvers.polynomial import evaluated

Bounds = tuple[Fraction, Fraction]

NEGLIGIBLE = 900
"""e^-z is bounded by 0 and 2^-1200 beyond this."""


def falling(exponent: Fraction) -> Bounds:
    """Return rational bounds of exp(-exponent) for an exponent >= 0.

    Examples
    --------
    >>> low, high = falling(Fraction(1))
    >>> float(low), high - low < 10**-45
    (0.36787944117144233, True)
    """
    if exponent > NEGLIGIBLE:
        return Fraction(0), Fraction(1, 2**1200)
    return 1 / exp_upper(exponent), 1 / exp_lower(exponent)


@dataclass(frozen=True)
class Widened:
    """Revenue from one user whose circle may reach up to ``room`` = a, exactly for the given doubles.

    Attributes
    ----------
    factor, privacy, radius, room : Fraction
        c, s, r0 and a.
    """

    factor: Fraction
    privacy: Fraction
    radius: Fraction
    room: Fraction

    @cached_property
    def most(self) -> Fraction:
        """rho: the largest radius that can be granted."""
        return min(self.radius, self.room)

    @cached_property
    def revenue(self) -> list[Fraction]:
        """The coefficients of T."""
        c, s = self.factor, self.privacy
        return [Fraction(0), c * s * s, 2 * c * s, c]

    @cached_property
    def worth(self) -> Fraction:
        """A, the integral of T(R) over all widenings X > 0: E T(R) < A / L, and nearly so for large L."""
        whole = sum((c * self.most ** (k + 1) / (k + 1) for k, c in enumerate(self.revenue)), Fraction(0))
        return evaluated(self.revenue, self.most) * (self.room - self.most) + whole

    def expected(self, level: Fraction) -> Bounds:
        """Return bounds of E T(R) for the mean widening ``level``."""
        low, high = self._integral(_slope(self.revenue), level)
        full = evaluated(self.revenue, self.most)
        return full - high, full - low

    def expected_radius(self, level: Fraction) -> Fraction:
        """Return E R to many digits."""
        low, high = self._integral([Fraction(1)], level)
        return self.most - (low + high) / 2

    def marginal(self, level: Fraction) -> Bounds:
        """Return bounds of H(L): the derivative of E T(R) is -H(L) / L^2, and H rises with L."""
        slope = _slope(self.revenue)
        shifted = [self.room * c for c in slope] + [Fraction(0)]
        for power, c in enumerate(slope):
            shifted[power + 1] -= c
        return self._integral(shifted, level)

    def _integral(self, polynomial: Sequence[Fraction], level: Fraction) -> Bounds:
        """Return bounds of the integral of q(y) exp(-(a - y) / L) for y from 0 to rho."""
        ends = []
        for place in (self.most, Fraction(0)):
            total, part, power = Fraction(0), list(polynomial), level
            while part:
                total += power * evaluated(part, place)
                part, power = _slope(part), -power * level
            ends.append((total, falling((self.room - place) / level)))
        (top, (top_low, top_high)), (bottom, (bottom_low, bottom_high)) = ends
        low = min(top * top_low, top * top_high) - max(bottom * bottom_low, bottom * bottom_high)
        high = max(top * top_low, top * top_high) - min(bottom * bottom_low, bottom * bottom_high)
        return low, high


def _slope(polynomial: Sequence[Fraction]) -> list[Fraction]:
    return [power * c for power, c in enumerate(polynomial)][1:]
