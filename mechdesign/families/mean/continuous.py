"""Mechanisms whose reports are real numbers: Laplace noise, the piecewise mechanism, its hybrid with Duchi's.

``Laplace`` adds noise of scale (high - low)/epsilon to the value.

Piecewise (Wang et al., ICDE 2019; thesis sec. 2.3.3). With s = e^(eps/2), C = (s + 1)/(s - 1) and v in
[-1, 1], the report lies in [-C, C], with probability s/(s + 1) uniformly in the window [l, l + C - 1],
l = (C + 1)v/2 - (C - 1)/2, else uniformly outside it. The densities are p = s(s - 1)/(2(s + 1)) inside
and p e^-eps outside, so any ratio is at most e^eps. The report is unbiased for v.

With u = (v + 1)/2 the window starts (C + 1)u above -C, and one uniform t in [0, 1] draws the report: t below
1/(s + 1) is a place in the complement of the window, of length C + 1, the rest a place in the window.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import DensityAudit, audit_density
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, exp_lower
from mechdesign.families.mean import variance as formulas
from mechdesign.families.mean.means import FormulaMechanism, uniform_numbers
from mechdesign.families.mean.tally import FloatTally
from mechdesign.primitives.mean_limits import PLACES, Array, Curves

LARGEST_NOISE = BITS * math.log(2.0)
"""The largest noise that can be drawn, in units of the scale: -ln(2**-62)."""


def centred_grid(half: float) -> Array:
    """Return places from -half to half, for moments that are polynomials."""
    places: Array = np.linspace(-half, half, PLACES)
    return places


class Laplace(FormulaMechanism):
    """The Laplace mechanism on [low, high] (thesis sec. 2.3.1, eqs. (2.6), (2.7)).

    A report is x + Lap(width/epsilon). Unbiased; its variance 2 (width/epsilon)^2 does not depend on x.

    Privacy: the log density ``-|y - x|/scale`` changes by at most ``|x - x'|/scale`` <= epsilon. That holds
    for real numbers; a double leaks through its last bits (Mironov, CCS 2012), so the certificate is not
    exact. For a deployment take ``Duchi``, ``DiscretePiecewise`` or ``GridMean``.

    Parameters
    ----------
    epsilon : float
    low, high : float
        The range of the values, [-1, 1] by default.

    Examples
    --------
    >>> mechanism = Laplace(epsilon=2.0)
    >>> mechanism.worst_variance()
    2.0
    >>> estimate = mechanism.estimate(mechanism.randomize([0.5] * 4000, rng=7))
    >>> abs(estimate.value - 0.5) < 4 * estimate.standard_error
    True
    """

    type: ClassVar[str] = "laplace"
    exact_alternative = "its reports are real numbers: build 'duchi' or 'discrete-piecewise', which are exact"

    @property
    def scale(self) -> float:
        """The scale of the noise, (high - low)/epsilon; infinite for epsilon = 0."""
        return self.domain.width / self.epsilon if self.epsilon else math.inf

    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        """Return x plus noise by inversion: one bit is the sign, 61 bits are the tail probability."""
        bits = source.integers(len(unit))
        noise = np.log(((bits >> 1) + 0.5) * 2.0 ** -(BITS - 1))
        noise *= self.scale
        np.negative(noise, out=noise, where=(bits & 1).astype(np.bool_))
        noise += unit * self.domain.width
        noise += self.domain.low
        reports: Array = noise
        return reports

    def tally(self, groups: int = 1) -> FloatTally:
        return FloatTally(groups, self.domain.middle, self.domain.half + self.scale * LARGEST_NOISE)

    @cached_property
    def curves(self) -> Curves:
        """The noise has variance 2 scale^2, no third and the fourth moment 24 scale^4."""
        c = centred_grid(self.domain.half)
        noise = 2.0 * self.scale**2
        fourth = c**4 + 6.0 * noise * c**2 + 6.0 * noise**2
        return Curves(c, c**2 + noise, c**3 + 3.0 * noise * c, fourth)

    def _unit_variance(self, unit: Array) -> Array:
        """Return 2/eps^2."""
        return np.full(len(unit), 2.0 / self.epsilon**2 if self.epsilon else math.inf)

    def _worst_unit(self) -> float:
        """Return any u: the variance is the same for all."""
        return 0.0

    def _least_variance(self) -> float:
        return self.worst_variance()

    def log_density(self, values: Array, reports: Array) -> Array:
        """Return the log density of reports given values."""
        density: Array = -np.abs(reports - values) / self.scale - math.log(2.0 * self.scale)
        return density

    def audit(self) -> DensityAudit:
        """Return the audit of the density: the sup over reports is attained beyond the two ends."""
        ends = np.array([self.domain.low, self.domain.high])
        return audit_density(self.log_density, ends, ends, self.epsilon)


TINY = float(np.finfo(np.float64).tiny)
"""The least normal double; a narrower window would hold one number only."""


class Piecewise(FormulaMechanism):
    """The piecewise mechanism PM on [low, high] (thesis sec. 2.3.3, eq. (2.9)).

    Privacy holds for real numbers; doubles leak through their last bits, so the certificate is not
    exact. ``DiscretePiecewise`` is the same mechanism on a grid, private exactly.

    Parameters
    ----------
    epsilon : float
    low, high : float
        The range of the values, [-1, 1] by default.

    Examples
    --------
    >>> mechanism = Piecewise(epsilon=4.0)
    >>> round(mechanism.worst_variance(), 3)
    0.241
    >>> estimate = mechanism.estimate(mechanism.randomize([0.5] * 4000, rng=7))
    >>> abs(estimate.value - 0.5) < 4 * estimate.standard_error
    True
    """

    type: ClassVar[str] = "piecewise"
    exact_alternative = "its reports are real numbers: build 'discrete-piecewise', its exact form"

    def _prepare(self) -> None:
        half, eps = self.domain.half, self.epsilon
        with np.errstate(all="ignore"):
            self.reach = float(formulas.duchi_value(eps / 2.0))  # C, with [-1, 1] as the range
            self._travel = float(-2.0 * half / np.expm1(-eps / 2.0))  # C + 1
            self._window = float(2.0 * half / np.expm1(eps / 2.0))  # C - 1
        self.inside = 1.0 / (1.0 + math.exp(-eps / 2.0))  # s/(s + 1)
        self.outside = self.inside * math.exp(-eps / 2.0)
        self._least = self.domain.middle - self.reach * half
        if not self._window >= TINY:
            raise ParameterError(
                "epsilon",
                f"{eps:g} leaves no room for noise in the range [{self.domain.low:g}, {self.domain.high:g}]",
                "give a smaller epsilon or a wider range",
            )

    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        return self.place(unit, uniform_numbers(source, len(unit)))

    def place(self, unit: Array, uniform: Array) -> Array:
        """Return the reports that these uniform numbers in [0, 1] stand for."""
        start = unit * self._travel
        rest = uniform * (self._travel / self.outside)
        rest += (rest >= start) * self._window
        within = uniform - self.outside
        within *= self._window / self.inside
        within += start
        reports: Array = np.where(uniform < self.outside, rest, within)
        reports += self._least
        return reports

    @property
    def bound(self) -> float:
        """The largest distance of a report from the middle of the range."""
        return self.reach * self.domain.half

    def tally(self, groups: int = 1) -> FloatTally:
        return FloatTally(groups, self.domain.middle, self.bound)

    @cached_property
    def curves(self) -> Curves:
        """E[y^2] = V(v) + v^2, and the third and fourth moments of the density."""
        v, half = centred_grid(1.0), self.domain.half
        second = formulas.VARIANCES[self.type](self.epsilon, v) + v**2
        third, fourth = self._higher(v)
        return Curves(v * half, second * half**2, third * half**3, fourth * half**4, self._step())

    def _step(self) -> float:
        """Return the distance of two sums of reports next to each other: reports are continuous."""
        return 0.0

    def _higher(self, v: Array) -> tuple[Array, Array]:
        """Return E[y^3] and E[y^4] on [-1, 1].

        With window [a - w, a + w], a = (C + 1)v/2, 2w = C - 1, and the excess density p - q = 2/(C^2 - 1)
        there: E[y^3] = v(a^2 + w^2), E[y^4] = (2 a^4 + 4 a^2 w^2 + 2 w^4/5)/(C + 1) + 2 q C^5/5.
        """
        a, w = v * self._travel / self.domain.width, self._window / self.domain.width
        reach = self.reach
        outside = 2.0 * (self.outside / (self._travel / self.domain.half)) * reach**5 / 5.0
        inside = (2.0 * a**4 + 4.0 * a**2 * w**2 + 0.4 * w**4) / (reach + 1.0)
        return v * (a**2 + w**2), inside + outside

    def _unit_variance_at(self, value: float) -> float:
        return float(formulas.VARIANCES[self.type](self.epsilon, value))

    def _unit_variance(self, unit: Array) -> Array:
        """Return the formula for v = 2u - 1, for a range of length 1."""
        result: Array = formulas.VARIANCES[self.type](self.epsilon, 2.0 * unit - 1.0) / 4.0
        return result

    def _worst_unit(self) -> float:
        """Return the end or the middle: the variance is a quadratic in v without a linear term."""
        return 1.0 if self._unit_variance_at(1.0) >= self._unit_variance_at(0.0) else 0.5

    def _least_variance(self) -> float:
        return min(self._unit_variance_at(0.0), self._unit_variance_at(1.0)) * self.domain.half**2

    def log_density(self, values: Array, reports: Array) -> Array:
        """Return the log density of reports given values; minus infinity outside [-C, C]."""
        start = self.domain.to_unit(values) * self._travel
        place = np.asarray(reports) - self._least
        within = (place >= start) & (place <= start + self._window)
        # p = s/(s + 1) / (C - 1) and q = 1/(s + 1) / (C + 1), in the units of the values
        inside = np.log(self.inside) - np.log(self._window)
        outside = -self.epsilon / 2.0 + np.log(self.inside) - np.log(self._travel)
        density: Array = np.where(within, inside, outside)
        return np.where((place < 0.0) | (place > 2.0 * self.bound), -np.inf, density)

    def audit(self) -> DensityAudit:
        """Return the audit of the density at one point in each piece for five inputs.

        There are two levels only, so the supremum is attained wherever one input is inside and
        another outside: between any two neighbouring ends of windows.
        """
        return audit_density(self.log_density, *self._representatives(), self.epsilon)

    def _representatives(self) -> tuple[Array, Array]:
        unit = np.linspace(0.0, 1.0, 5)
        edges = np.sort(np.concatenate([unit * self._travel, unit * self._travel + self._window]))
        middles = (edges[1:] + edges[:-1]) / 2.0 + self._least
        return self.domain.low + unit * self.domain.width, middles


class Hybrid(Piecewise):
    """Piecewise with probability a, Duchi's otherwise; a minimises the worst-case variance.

    The mixing probability is computed, see :func:`~mechdesign.families.mean.variance.hybrid_mixing`:
    0 up to epsilon = 0.61, then 1 - e^(-eps/2). The coin is independent of the value, so a mixture of two
    eps-private mechanisms is eps-private, and both are unbiased. Not exact, as piecewise is not.

    The coin and Duchi's part are held as integers out of 2**62. Of the W of them that are left to Duchi, a
    value at u in [0, 1] is reported high by lo + floor(u (hi - lo)), with lo = ceil(W/(E + 1)) for the
    rational lower bound E of e^eps and hi = W - lo <= E lo; so both of its reports keep epsilon whatever is
    rounded. Where W is too small for lo < hi (epsilon above 70), piecewise is left alone.

    Parameters
    ----------
    epsilon : float
    low, high : float
        The range of the values, [-1, 1] by default.

    Examples
    --------
    >>> mechanism = Hybrid(epsilon=1.0)
    >>> round(mechanism.mixing, 4), round(mechanism.worst_variance(), 3)
    (0.3935, 4.289)
    """

    type: ClassVar[str] = "hybrid"
    exact_alternative = "its reports are real numbers: build 'discrete-piecewise', which is exact"

    def _prepare(self) -> None:
        super()._prepare()
        with np.errstate(all="ignore"):
            rest = math.floor((1 - Fraction(float(formulas.hybrid_mixing(self.epsilon)))) * TOTAL)
        lo = math.ceil(rest / (exp_lower(self.epsilon) + 1))
        self._coin = (TOTAL - rest, lo, rest - lo)
        if rest and rest - lo <= lo:
            if rest == TOTAL:
                raise ParameterError(
                    "epsilon",
                    f"{self.epsilon:g} leaves no room between 62-bit weights, so that the variance is "
                    "infinite",
                    "give a larger epsilon",
                )
            self._coin = (TOTAL, 0, 0)
        smooth, lo, hi = self._coin
        self.mixing = smooth / TOTAL
        self.size = (hi + lo) / (hi - lo) if hi else 1.0  # D, with [-1, 1] as the range
        step = self.size * self.domain.half
        self.atoms = (self.domain.middle - step, self.domain.middle + step)

    @property
    def bound(self) -> float:
        """The largest distance of a report from the middle of the range: Duchi's D or the reach C."""
        return max(self.size, self.reach if self.mixing else 0.0) * self.domain.half

    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        """Return reports; one uniform number tosses the coin and draws the report."""
        smooth = self._coin[0]
        numbers = source.integers(len(unit))
        reports = np.where(numbers - smooth < self._high_weight(unit), *self.atoms[::-1])
        chosen = np.flatnonzero(numbers < smooth)
        if len(chosen):
            reports[chosen] = self.place(unit[chosen], numbers[chosen] / smooth)
        return reports

    def _high_weight(self, unit: Array) -> NDArray[np.int64]:
        """Return the integer weight lo + floor(u (hi - lo)) of Duchi's higher value, in [lo, hi]."""
        _, lo, hi = self._coin
        weight = (unit * float(hi - lo)).astype(np.int64)
        np.minimum(weight, hi - lo, out=weight)
        weight += lo
        return weight

    def _step(self) -> float:
        """Return Duchi's step where the hybrid is nothing else."""
        return 0.0 if self.mixing else 2.0 * self.size * self.domain.half

    def _higher(self, v: Array) -> tuple[Array, Array]:
        """Return the mixtures of those of piecewise and of Duchi's, D^2 v and D^4."""
        third, fourth = super()._higher(v)
        rest = 1.0 - self.mixing
        return self.mixing * third + rest * self.size**2 * v, self.mixing * fourth + rest * self.size**4

    def log_density(self, values: Array, reports: Array) -> Array:
        """Return the log density of reports given values; at Duchi's two values the log probability."""
        places = np.asarray(reports)
        high = self._high_weight(self.domain.to_unit(values))
        chances = np.where(places == self.atoms[1], high, sum(self._coin[1:]) - high) / TOTAL
        with np.errstate(divide="ignore"):
            smooth = np.log(self.mixing) + super().log_density(values, reports)
            atoms = np.log(chances)
        is_atom = ((places == self.atoms[0]) | (places == self.atoms[1])) & (self._coin[2] > 0)
        density: Array = np.where(is_atom, atoms, smooth)
        return density

    def _representatives(self) -> tuple[Array, Array]:
        inputs, middles = super()._representatives()
        return inputs, np.concatenate([middles, self.atoms])
