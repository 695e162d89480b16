"""Planar Laplace noise and the nearest place: what Andres et al. (2013) propose for a grid, section 5."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.response.randomized_response.planar_noise import run_noise, why_no_noise
from mechdesign.problems.response.randomized_response.problem import RandomizedResponse


def run(problem: RandomizedResponse) -> Outcome:
    """Turn every observed point into the nearest place."""
    return run_noise(problem, "nearest")


def why_not(problem: RandomizedResponse) -> str | None:
    """Say why it does not apply, if so."""
    if problem.reports != problem.size:
        return "it is for as many reports as places"
    return why_no_noise(problem)


METHOD = Method(
    name="planar-laplace",
    problem=RandomizedResponse,
    kind="heuristic",
    preference=75,
    summary="planar Laplace noise, each observed point turned into the nearest place",
    run=run,
    why_not=why_not,
)
