"""Planar Laplace noise with the best remap: every observed point becomes the report that is best given it.

Andres et al. (2013) for the noise; Chatzikokolakis, ElSalamouny and Palamidessi (2017) for the remap by the
posterior. It is the usual mechanism for places, and seldom the best: ``compare`` shows what the optimum
gains.
"""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.response.randomized_response.planar_noise import run_noise, why_no_noise
from mechdesign.problems.response.randomized_response.problem import RandomizedResponse


def run(problem: RandomizedResponse) -> Outcome:
    """Turn every observed point into the report with the largest expected utility."""
    return run_noise(problem, "optimal")


METHOD = Method(
    name="planar-remapped",
    problem=RandomizedResponse,
    kind="heuristic",
    preference=70,
    summary="planar Laplace noise, each observed point turned into the best report",
    run=run,
    why_not=why_no_noise,
)
