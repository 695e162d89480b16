"""The radius of the noise, the epsilon that the audit found, and what a report tells of two places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.location.noise.problem import LocationNoise

PARTS = 20_000
"""Of the integrals, by the midpoint rule."""


def quantities(problem: LocationNoise, solution: Solution[Any]) -> dict[str, Any]:
    """Return ``radius``, ``true_epsilon``, and what reports tell, for claims.

    ``scaled_radius`` is the radius in units of 1 / epsilon. ``telling_apart`` is the probability of guessing
    from a report of planar Laplace noise which of two equally likely places one unit apart it comes from,
    0.5 for one who learns nothing. ``excluded`` is the probability that a report of the truncated noise
    cannot come from a place one radius away, ``witness_ratio`` the distance of the audit's two places in
    radii; both are 0 for other noise.
    """
    noise = problem.noise(solution.variables)
    audit = noise.audit()
    cut = solution.variables["noise"] == "truncated"
    apart = math.dist(audit.witness["place"], audit.witness["other"]) if cut else 0.0
    return {
        "radius": noise.radius,
        "scaled_radius": problem.epsilon * noise.radius,
        "true_epsilon": audit.true_epsilon,
        "telling_apart": telling_apart(problem.epsilon),
        "excluded": excluded(problem.epsilon, noise.radius) if cut else 0.0,
        "witness_ratio": apart / noise.radius,
    }


def telling_apart(epsilon: float) -> float:
    """Return the probability of guessing right which of two places at the distance 1 made a report.

    The likelier place is the nearer one, so the guess is right unless the noise reaches beyond 1/2 in the
    other's direction: at the angle t to it that is a length above 1 / (2 cos t).

    Examples
    --------
    >>> round(telling_apart(1e-3), 3), round(telling_apart(2.0), 3)
    (0.5, 0.761)
    """
    angles = (np.arange(PARTS) + 0.5) * (math.pi / 2.0 / PARTS)
    length = epsilon / (2.0 * np.cos(angles))
    return 1.0 - float(np.mean((1.0 + length) * np.exp(-length))) / 2.0


def excluded(epsilon: float, radius: float) -> float:
    """Return the probability that truncated noise leaves the disc around a place one radius away.

    Examples
    --------
    >>> round(excluded(1e-4, 1.0), 3)  # almost uniform: 1/3 + sqrt(3) / (2 pi)
    0.609
    """
    lengths = (np.arange(PARTS) + 0.5) * (radius / PARTS)
    density = lengths * np.exp(-epsilon * lengths)
    outside = 1.0 - np.arccos(lengths / (2.0 * radius)) / math.pi
    return float(density @ outside / density.sum())
