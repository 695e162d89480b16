"""The methods of ``location-noise``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.families.location.noise import LocationNoise


def noise_on_a_lattice(problem: LocationNoise) -> Outcome:
    """Return the noise on a lattice."""
    return problem.outcome("lattice")


def noise_in_real_numbers(problem: LocationNoise) -> Outcome:
    """Return the noise in real numbers."""
    return problem.outcome("laplace")


METHODS = (
    Method("lattice", LocationNoise, "analytic",
           "discrete planar Laplace noise on a lattice, certified in integers",
           noise_on_a_lattice),
    # As published by Andres et al. (2013).
    Method("planar-laplace", LocationNoise, "analytic",
           "planar Laplace noise in real numbers: leaks through its last bits in floating point",
           noise_in_real_numbers),
)  # fmt: skip
