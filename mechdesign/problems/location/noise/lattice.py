"""Discrete planar Laplace noise on a lattice: exact, and the one to deploy."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.location.noise.problem import LocationNoise


def run(problem: LocationNoise) -> Outcome:
    """Return the noise by its name; the problem judges it."""
    noise = problem.lattice
    return Outcome(
        status="feasible",
        variables={"noise": "lattice"},
        solver="formula",
        notes={"radius": noise.radius},
    )


METHOD = Method(
    name="lattice",
    problem=LocationNoise,
    kind="analytic",
    preference=10,
    summary="discrete planar Laplace noise on a lattice, certified in whole numbers",
    run=run,
)
