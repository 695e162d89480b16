"""Planar Laplace noise in real numbers, as published by Andres et al. (2013)."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.location.noise.problem import LocationNoise


def run(problem: LocationNoise) -> Outcome:
    """Return the noise by its name; the problem judges it."""
    noise = problem.laplace
    return Outcome(
        status="feasible",
        variables={"noise": "laplace"},
        solver="formula",
        notes={"radius": noise.radius},
    )


METHOD = Method(
    name="planar-laplace",
    problem=LocationNoise,
    kind="analytic",
    preference=20,
    summary="planar Laplace noise in real numbers: leaks through its last bits in floating point",
    run=run,
)
