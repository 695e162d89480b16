"""Planar Laplace noise cut off at the radius, as in Zhang (2019), section 6.4: it excludes reports."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.location.noise.problem import LocationNoise


def run(problem: LocationNoise) -> Outcome:
    """Return the noise by its name; the problem judges it."""
    noise = problem.truncated
    return Outcome(
        status="feasible",
        variables={"noise": "truncated"},
        solver="formula",
        notes={"radius": noise.radius},
    )


METHOD = Method(
    name="truncated",
    problem=LocationNoise,
    kind="published",
    preference=90,
    summary="planar Laplace noise cut off at the radius, as published: not private",
    run=run,
)
