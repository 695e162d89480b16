"""Noise with a remap: truncated geometric noise on a line, planar Laplace noise on a few places.

**On a line** the truncated geometric channel with its best remap is optimal for every prior. With a =
e^-eps the channel of Ghosh, Roughgarden and Sundararajan (2012) shows symbol s for answer i with
probability

    g_is = c_s a^|i - s|,    c_s = 1 / (1 + a) at both ends,  (1 - a) / (1 + a) between them,

and every symbol is turned into the report that is best given the symbol. No private channel does better when
the loss does not decrease with the distance between answer and report: docs/families/response.md has
the proof, by a dual solution whose value is that of the channel.

**In the plane** every observed point is turned into a report: the nearest location, or the best report.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import counted
from mechdesign.core.problem import Outcome
from mechdesign.families.response.linear_program import polished, shifted
from mechdesign.families.response.randomized_response import RandomizedResponse

Array = NDArray[np.float64]

MAX_SIZE = 2048
"""Larger channels would hold more than four million numbers."""

UNDERFLOW = 745.0
"""The exponential of minus this is 0 in double precision."""


def geometric_channel(size: int, epsilon: float) -> Array:
    """Return the truncated geometric channel of ``size`` answers and as many symbols.

    Examples
    --------
    >>> geometric_channel(3, 0.6931471805599453).round(6).tolist()  # doctest: +NORMALIZE_WHITESPACE
    [[0.666667, 0.166667, 0.166667],
     [0.333333, 0.333333, 0.333333],
     [0.166667, 0.166667, 0.666667]]
    """
    if size == 1:
        return np.ones((1, 1))
    places = np.arange(size, dtype=np.float64)
    ratio = math.exp(-epsilon)
    scales = np.full(size, -math.expm1(-epsilon) / (1.0 + ratio))
    scales[[0, -1]] = 1.0 / (1.0 + ratio)
    channel: Array = np.exp(-epsilon * np.abs(places[:, None] - places)) * scales
    return channel


def truncated_geometric(problem: RandomizedResponse) -> Outcome:
    """Turn every symbol into the report with the largest expected utility."""
    seen = geometric_channel(problem.size, problem.epsilon)
    gains, offset = problem.centred_weights()
    expected = gains.T @ seen  # [report, symbol], nowhere positive
    best = expected.argmax(axis=0)
    channel = np.zeros((problem.size, problem.reports))
    np.add.at(channel.T, best, seen.T)
    lost = _rounded_up(problem, expected.max(axis=0))
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=shifted(lost, offset) if lost or offset else 0.0,
        bound_source="the proof of optimality for every prior",
        solver="closed form",
        notes={"kept_reports": len(np.unique(best))},
    )


def _rounded_up(problem: RandomizedResponse, losses: Array) -> float:
    """Return the sum of the losses, all <= 0, enlarged by what double precision may have lost.

    No terms cancel, so relative errors stay what they are: one unit a summand, the exponent's size in
    units from the exponential, and a dozen for the rest.
    """
    exponent = min(problem.epsilon * (problem.size - 1), UNDERFLOW)
    error = (problem.size + exponent + 16.0) * 2.0**-52
    total = math.fsum(losses.tolist())
    return (
        total * (1.0 - error) + 1e-300 if total else 0.0
    )  # a loss that underflows to 0 is above the true one


def why_no_geometric(problem: RandomizedResponse) -> str | None:
    """Return why the remapped geometric channel does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not isinstance(problem.distance, str):
        return "it is for the distance 'line'"
    if not isinstance(problem.utility, str) or not problem.is_linear:
        return "it is for the utilities 'truth', 'absolute-loss' and 'squared-loss'"
    if problem.size > MAX_SIZE:
        return f"it would have {counted(problem.size, 'answer')}, more than {MAX_SIZE}"
    return None


MARGIN = 25.0
"""Observed points reach so far beyond the places, in 1 / epsilon: less than 10**-9 lies beyond."""

FINENESS = 4
"""Observed points, at most, in the smaller of 1 / epsilon and the least distance of two places."""

MOST_POINTS = 1 << 17
"""With more observed points the lattice is made coarser, at first so that it keeps the places of a grid."""

BATCH = 1 << 13

WIDEST = 1e9
"""Beyond this number of noise lengths, or below one over it, no lattice has both noise and places."""

PLANAR_NOISE_MAX_SIZE = 2000
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
    if problem.size > PLANAR_NOISE_MAX_SIZE:
        return f"{problem.size} places are too many; the limit is {PLANAR_NOISE_MAX_SIZE}"
    return None


def why_not_nearest(problem: RandomizedResponse) -> str | None:
    """Return why the nearest location does not apply as a report, or None."""
    if problem.reports != problem.size:
        return "it is for as many reports as places"
    return why_no_noise(problem)
