"""The radius of the noise, and the epsilon that the audit found."""

from __future__ import annotations

from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.location.noise.problem import LocationNoise


def quantities(problem: LocationNoise, solution: Candidate) -> dict[str, Any]:
    """Return ``radius``, ``true_epsilon``, and the radius in units of 1 / epsilon, for claims."""
    noise = problem.noise(solution.variables)
    audit = noise.audit()
    return {
        "radius": noise.radius,
        "scaled_radius": problem.epsilon * noise.radius,
        "true_epsilon": audit.true_epsilon,
    }
