"""Planar Laplace noise, density epsilon^2 / (2 pi) e^(-epsilon d)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import audit_density
from mechdesign.core.certificate import Certificate
from mechdesign.core.guarantee import Proof
from mechdesign.exact.randomness import BITS, BitSource
from mechdesign.families.location.location_audit import LocationAudit, per_length
from mechdesign.families.location.mechanism import LocationMechanism, planar_epsilon, probability

Array = NDArray[np.float64]

LEAK = (
    "for any two places, in real numbers; the last bits of a report leak (Mironov 2012); "
    "use planar-lattice for an exact guarantee"
)

HALF = BITS // 2

ROUNDING = 2.0**-40
"""What the scaling of the density's audit may lose, relatively."""


class PlanarLaplace(LocationMechanism):
    """The planar Laplace mechanism (Andres et al., 2013), private at epsilon d for all real numbers.

    The radius has the density eps^2 r e^(-eps r), that of a sum of two exponential variables: it is drawn
    as -ln(U V) / eps, the direction evenly. The privacy is that of real numbers: in floating point the
    doubles that a report can be depend on the place, so the certificate is not exact. ``PlanarLattice`` is
    for deployment.

    Parameters
    ----------
    epsilon : float
        > 0, per unit of distance.
    beta : float
        Probability of a report beyond ``radius``.
    area : (x_low, y_low, x_high, y_high), optional

    Examples
    --------
    >>> mechanism = PlanarLaplace(epsilon=2.0)
    >>> mechanism.mean_distance, round(mechanism.radius, 6)
    (1.0, 2.371932)
    >>> reports = mechanism.randomize([[0.0, 0.0]] * 10_000, rng=1)
    >>> abs(np.hypot(*reports.T).mean() - 1.0) < 4 / np.sqrt(2) / 100
    np.True_
    """

    type: ClassVar[str] = "planar-laplace"

    def draw(self, points: Array, source: BitSource) -> Array:
        """Return the points plus noise: two words a point, for two radii's parts and the direction."""
        words = source.integers(2 * len(points)).reshape(2, -1)
        low = words[1] & ((1 << HALF) - 1)
        radius = np.log((words[0] + 0.5) * 2.0**-BITS)
        radius += np.log(((words[1] >> HALF) + 0.5) * 2.0**-HALF)
        radius *= -1.0 / self.epsilon
        angle = low * (2.0 * math.pi / (1 << HALF))
        reports = points.copy()
        reports[:, 0] += radius * np.cos(angle)
        reports[:, 1] += radius * np.sin(angle)
        return reports

    @cached_property
    def radius(self) -> float:
        """The 1 - beta quantile of the distance: (1 + eps r) e^(-eps r) = beta, by the Lambert W function."""
        return planar_quantile(self.epsilon, self.beta)

    @property
    def mean_distance(self) -> float:
        """The expected distance, 2 / eps."""
        return 2.0 / self.epsilon

    def log_density(self, places: Array, reports: Array) -> Array:
        """Return the log density of reports on the line y = 0 given places on it."""
        level = 2.0 * math.log(self.epsilon) - math.log(2.0 * math.pi)
        density: Array = -self.epsilon * np.abs(reports - places) + level
        return density

    def audit(self) -> LocationAudit:
        """Return the audit of the density, for two places 1 / eps apart and the line through them."""
        apart = 1.0 / self.epsilon
        ends = np.array([0.0, apart])
        finding = audit_density(self.log_density, ends, np.array([-apart, apart / 2, 2 * apart]), 1.0)
        witness = {
            "place": [finding.witness["input"], 0.0],
            "other": [finding.witness["other"], 0.0],
            "report": [finding.witness["report"], 0.0],
        }
        true = finding.true_epsilon / apart
        slack = float(finding.proof.rounding) / apart * (1.0 + ROUNDING) + ROUNDING * self.epsilon
        proof = Proof(per_length(self.epsilon), true, exact=False, rounding=slack)
        return LocationAudit(proof, witness, LEAK)

    def interference(self) -> Certificate:
        """Judge 1 - F(radius) = (1 + eps r) e^(-eps r) against beta, up to rounding of the quantile."""
        scaled = self.epsilon * self.radius
        beyond = (1.0 + scaled) * math.exp(-scaled)
        figures = {"radius": self.radius, "beta": self.beta, "probability_beyond": beyond}
        holds = beyond <= self.beta * (1.0 + 2.0**-40)
        return Certificate("interference", holds, False, figures, note="a quantile of the radius")

    def content(self) -> dict[str, Any]:
        """Return the parameters."""
        area = None if self.area is None else list(self.area)
        return {"epsilon": self.epsilon, "beta": self.beta, "area": area}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from plain values."""
        return cls(content["epsilon"], content["beta"], content["area"])


def planar_quantile(epsilon: float, beta: float) -> float:
    """Return the r with (1 + eps r) e^(-eps r) = beta, by the lower branch of Lambert's W.

    Parameters
    ----------
    epsilon : float
        > 0.
    beta : float
        In (0, 1).

    Examples
    --------
    >>> r = planar_quantile(1.0, 0.1)
    >>> round((1 + r) * np.exp(-r), 12)
    np.float64(0.1)
    """
    from scipy.special import lambertw

    level = probability("beta", beta)
    rate = planar_epsilon(epsilon)
    return max(0.0, -float(lambertw(-level / math.e, -1).real) - 1.0) / rate
