"""The Laplace mechanism: the value plus Laplace noise of scale (high - low)/epsilon."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.density import DensityAudit, audit_density
from mechdesign.collect.curves import Curves, centred_grid
from mechdesign.collect.domain import Array
from mechdesign.collect.means import FormulaMechanism
from mechdesign.collect.tally import FloatTally
from mechdesign.exact.randomness import BITS, BitSource

LARGEST_NOISE = BITS * math.log(2.0)
"""The largest noise that can be drawn, in units of the scale: -ln(2**-62)."""


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
        """Return exact sums of rounded reports, centred at the middle of the range."""
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
        """Return the variance, the same for all values."""
        return self.worst_variance()

    def log_density(self, values: Array, reports: Array) -> Array:
        """Return the log density of reports given values."""
        density: Array = -np.abs(reports - values) / self.scale - math.log(2.0 * self.scale)
        return density

    def audit(self) -> DensityAudit:
        """Return the audit of the density: the sup over reports is attained beyond the two ends."""
        ends = np.array([self.domain.low, self.domain.high])
        return audit_density(self.log_density, ends, ends, self.epsilon)
