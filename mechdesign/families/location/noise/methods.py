"""The methods of ``location-noise``: the first one that applies is the default."""

from __future__ import annotations

from collections.abc import Callable

from mechdesign.core.method import Method, Outcome
from mechdesign.families.location.noise.problem import LocationNoise


def named(noise: str) -> Callable[[LocationNoise], Outcome]:
    """Return the ``run`` that takes a noise by its name; the problem judges it."""

    def run(problem: LocationNoise) -> Outcome:
        return Outcome(
            status="feasible",
            variables={"noise": noise},
            solver="formula",
            notes={"radius": problem.noise({"noise": noise}).radius},
        )

    return run


METHODS = (
    Method("lattice", LocationNoise, "analytic",
           "discrete planar Laplace noise on a lattice, certified in integers", named("lattice")),
    # As published by Andres et al. (2013).
    Method("planar-laplace", LocationNoise, "analytic",
           "planar Laplace noise in real numbers: leaks through its last bits in floating point",
           named("laplace")),
)  # fmt: skip
