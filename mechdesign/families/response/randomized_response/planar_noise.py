"""Planar Laplace noise on a few places, every observed point turned into a report."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.response.randomized_response.polish import polished
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

Array = NDArray[np.float64]

MARGIN = 25.0
"""Observed points reach so far beyond the places, in 1 / epsilon: less than 10**-9 lies beyond."""

FINENESS = 4
"""Observed points, at most, in the smaller of 1 / epsilon and the least distance of two places."""

MOST_POINTS = 1 << 17
"""With more observed points the lattice is made coarser, at first so that it keeps the places of a grid."""

BATCH = 1 << 13

WIDEST = 1e9
"""Beyond this number of noise lengths, or below one over it, no lattice has both noise and places."""

MAX_SIZE = 2000
"""More places would need tables of gigabytes."""


def observed(places: Array, epsilon: float) -> Array:
    """Return the points of a square lattice around the places; one of them is the first place."""
    low, high = places.min(axis=0), places.max(axis=0)
    apart = np.abs(places[:, None] - places).max(axis=2)
    least = min(1.0 / epsilon, float(apart[apart > 0].min(initial=math.inf)))
    coarsest = math.sqrt(float((high - low + 2.0 * MARGIN / epsilon).prod()) / MOST_POINTS)
    fineness = max(1, min(FINENESS, int(least / coarsest)))
    step = max(least / fineness, coarsest)
    ends = [np.ceil((side + MARGIN / epsilon) / step) for side in (places[0] - low, high - places[0])]
    sides = [places[0, k] + step * np.arange(-ends[0][k], ends[1][k] + 1) for k in (0, 1)]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)


def run_noise(problem: RandomizedResponse, remap: Literal["optimal", "nearest"]) -> Outcome:
    """Return the channel of planar Laplace noise whose observed points are turned into reports.

    On a lattice that has all places the noise e^(-eps d) / sum e^(-eps d) is private as it is, the sum being
    the same from every place, and what is done to the observed point costs no privacy. Where the lattice
    misses places the sums differ a little, which the repair mends.
    """
    places = problem.distance
    assert isinstance(places, np.ndarray)
    points = observed(places, problem.epsilon)
    gains, _ = problem.centred_weights()
    total = np.zeros(problem.size)
    channel = np.zeros((problem.size, problem.reports))
    for start in range(0, len(points), BATCH):
        part = points[start : start + BATCH]
        steps = places[:, None] - part
        apart = np.hypot(steps[..., 0], steps[..., 1])
        noise = np.exp(-problem.epsilon * apart)
        total += noise.sum(axis=1)
        best = (gains.T @ noise).argmax(axis=0) if remap == "optimal" else apart.argmin(axis=0)
        np.add.at(channel.T, best, noise.T)
    mixed, notes = polished(problem, channel / total[:, None])
    return Outcome(
        status="feasible",
        variables={"channel": mixed},
        solver="formula",
        notes={"observed_points": len(points), "kept_reports": int((mixed.max(axis=0) > 0).sum()), **notes},
    )


def remapped(problem: RandomizedResponse) -> Outcome:
    """Turn every observed point into the report with the largest expected utility given it.

    Andres et al. (2013) for the noise; Chatzikokolakis, ElSalamouny and Palamidessi (2017) for the remap by
    the posterior. It is the usual mechanism for places, and seldom the best: ``compare`` shows what the
    optimum gains.
    """
    return run_noise(problem, "optimal")


def nearest(problem: RandomizedResponse) -> Outcome:
    """Turn every observed point into the nearest place: Andres et al. (2013) for a grid, section 5."""
    return run_noise(problem, "nearest")


def why_no_noise(problem: RandomizedResponse) -> str | None:
    """Return why planar noise does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    places = problem.distance
    if not isinstance(places, np.ndarray) or places.shape != (problem.size, 2) or problem.size == 2:
        return "it is for three or more points in the plane"
    if not problem.is_linear:
        return "the utility is not linear in the channel"
    if problem.epsilon == 0.0:
        return "with epsilon = 0 the noise would have no end"
    far = float(np.ptp(places, axis=0).max())
    if not 1.0 / WIDEST <= problem.epsilon * far <= WIDEST:
        return f"epsilon times the extent of the places is not from {1.0 / WIDEST:g} to {WIDEST:g}"
    if problem.size > MAX_SIZE:
        return f"{problem.size} places are too many; the limit is {MAX_SIZE}"
    return None


def why_not_nearest(problem: RandomizedResponse) -> str | None:
    """Return why the nearest location does not apply as a report, or None."""
    if problem.reports != problem.size:
        return "it is for as many reports as places"
    return why_no_noise(problem)
