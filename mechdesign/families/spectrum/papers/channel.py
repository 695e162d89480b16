"""The sources of ``spectrum-channel``: the thesis's way for two users, and a baseline.

The thesis takes a local ascent from the middle, and each user served alone. Problem 6.5.1 (idle, circles
overlap) is called convex and handed to a solver; it maximises a convex function, and ascent from the middle
of its interval ends wherever the slope leads. Problem 6.5.3 (occupied) is left to gradient descent. Of the
candidates the best is taken; printed is the largest L (note ``printed_privacy``; ``printed_utility`` is the
largest utility with that L).

The quantities are what the optimum is worth next to a fixed widening, and the circles to draw.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.allocation import best_radii
from mechdesign.families.spectrum.channel import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.channel_methods import allocation_from_patterns
from mechdesign.families.spectrum.channel_program import Array, Channel
from mechdesign.families.spectrum.papers.secondary import FIXED_PRIMARY, FIXED_SECONDARY
from mechdesign.solvers.descent import local_maximum

NODES = 20_000
"""Of the search for the best radii."""


def best_utility(channel: Channel, level: float) -> float:
    """Return the utility with the best radii for a widening L."""
    caps = np.clip(np.minimum(channel.radius, channel.reach - level), 0.0, None)
    return channel.utility(channel.allowed(best_radii(channel, caps, NODES)[0], level), level)


Candidate = tuple[float, Array, float]
"""Utility, radii, L"""


def slopes(channel: Channel, radii: Array) -> Array:
    """Return the derivatives of the revenues."""
    grown = channel.privacy + radii
    return np.asarray(channel.factor * grown * (grown + 2.0 * radii))


def idle_pair(channel: Channel) -> Candidate:
    """Return where ascent ends on R_1 in [max(0, M - r0_2), min(r0_1, M)] with R_2 = M - R_1."""
    margin, caps = float(channel.margins[0, 1]), channel.radius
    low, high = max(0.0, margin - caps[1]), min(caps[0], margin)

    def radii(x: Array) -> Array:
        return np.array([x[0], margin - x[0]])

    place = local_maximum(
        lambda x: channel.utility(radii(x), 0.0),
        lambda x: slopes(channel, radii(x)) @ np.array([[1.0], [-1.0]]),
        np.array([(low + high) / 2.0]),
        np.zeros((0, 1)),
        np.zeros(0),
        np.array([low]),
        np.array([high]),
    )
    return channel.utility(radii(place), 0.0), radii(place), 0.0


def occupied_pair(channel: Channel) -> Candidate:
    """Return where ascent ends in problem 6.5.3, from half of the room of each variable."""
    margin, reach = float(channel.margins[0, 1]), channel.reach
    most = float(reach.min())
    level = most / 2.0
    start = np.array(
        [
            min(channel.radius[0], margin / 2.0, reach[0] - level) / 2.0,
            min(channel.radius[1], margin / 2.0, reach[1] - level) / 2.0,
            level,
        ]
    )
    place = local_maximum(
        lambda x: channel.utility(x[:2], x[2]),
        lambda x: np.append(slopes(channel, x[:2]), channel.privacy_cost / x[2] ** 2),
        start,
        np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]),
        np.array([reach[0], reach[1], margin]),
        np.array([0.0, 0.0, most * 1e-6]),
        np.array([channel.radius[0], channel.radius[1], most]),
    )
    radii = channel.allowed(place[:2], float(place[2]))
    return channel.utility(radii, float(place[2])), radii, float(place[2])


def alone(problem: SpectrumChannel, user: int) -> Candidate | None:
    """Return the optimum with one of the two users, as in section 6.4."""
    single = SpectrumChannel(
        price=problem.price,
        privacy_cost=problem.privacy_cost,
        secondary=[problem.secondary[user]],
        primary=problem.primary,
    )
    best = allocation_from_patterns(single)
    if best.status not in ("optimal", "feasible"):
        return None
    radii = np.zeros(2)
    radii[user] = best.variables["radii"][0]
    level = float(best.variables["privacy"])
    return problem.channel.utility(radii, level), radii, level


def run(problem: SpectrumChannel) -> Outcome:
    """Return the best candidate of the thesis."""
    if (covered := nobody(problem, "local ascent")) is not None:
        return covered
    channel = problem.channel
    margin = float(channel.margins[0, 1])
    if problem.owner is None and margin >= channel.radius.sum():
        return outcome(problem, np.array(channel.radius), 0.0, "local ascent")
    candidates = [candidate for user in (0, 1) if (candidate := alone(problem, user)) is not None]
    if margin > 0 and problem.owner is None:
        candidates = [idle_pair(channel)]
    elif margin > 0 and channel.reach.min() > 0:
        candidates.append(occupied_pair(channel))
    _, radii, level = max(candidates, key=lambda candidate: candidate[0])
    printed = max(candidate[2] for candidate in candidates)
    notes = {"printed_privacy": printed}
    if problem.owner is not None:
        notes["printed_utility"] = best_utility(channel, printed)
    return outcome(problem, channel.allowed(radii, level), level, "local ascent", notes=notes)


def why_not(problem: SpectrumChannel) -> str | None:
    """Two users exactly."""
    return f"it is for two users, and there are {problem.size}" if problem.size != 2 else None


METHODS = (
    Method("published", SpectrumChannel, "published",
           "the thesis's local ascent for two users, and each of them alone", run, why_not),
)  # fmt: skip


def quantities(problem: SpectrumChannel, solution: Solution[Any]) -> dict[str, Any]:
    """Return the baselines, the circles, and what theorem 6.5.2 is about.

    ``fixed_utility`` is the utility with the widening 1 of section 6.6.1 and the best radii for it, ``gain``
    how much more the solution has; in ``both_fixed_utility`` and ``gain_over_both_fixed`` the users have the
    privacy radius 2 of section 6.6.1, too. ``served`` counts users. ``circles`` has a row (x, y, privacy
    radius, granted radius, radius of the whole circle) for each user, ``owner_circle`` (x, y, protection, L).
    For two users of an idle channel whose circles overlap there are the figures of ``shared_margin``.
    """
    channel = problem.channel
    radii, level = np.asarray(solution.variables["radii"]), float(solution.variables["privacy"])
    result: dict[str, Any] = {
        "served": int(np.count_nonzero(radii)),
        "revenue": math.fsum(channel.revenue(radii).tolist()),
        "circles": np.column_stack(
            [channel.x, channel.y, channel.privacy, radii, np.where(radii > 0, channel.privacy + radii, 0.0)]
        ),
    }
    if problem.owner is not None:
        owner = problem.owner
        result["owner_circle"] = [owner.x, owner.y, owner.protection, level]
        fixed = best_utility(channel, FIXED_PRIMARY)
        wider = replace(channel, privacy=np.full(channel.size, FIXED_SECONDARY))
        both_fixed = best_utility(wider, FIXED_PRIMARY)
        result |= {"fixed_utility": fixed, "gain": solution.value - fixed}
        result |= {"both_fixed_utility": both_fixed, "gain_over_both_fixed": solution.value - both_fixed}
    elif channel.size == 2 and 0 < channel.margins[0, 1] < channel.radius.sum():
        result |= shared_margin(channel)
    return result


def shared_margin(channel: Channel) -> dict[str, float]:
    """Return the behavior of the revenue of problem 6.5.1 on its interval of R_1, where R_2 = M - R_1.

    ``best_end`` is the larger revenue at the ends, the optimum of that problem. ``middle_over_chord`` is the
    revenue in the middle less the mean of those at the ends: at least 0 for any concave function.
    ``curvature`` is the second derivative in the middle, from differences, which are exact for a cubic, and
    for the sum of two; ``printed_curvature`` is that of theorem 6.5.2 as printed.
    """
    margin, caps = float(channel.margins[0, 1]), channel.radius
    low, high = max(0.0, margin - float(caps[1])), min(float(caps[0]), margin)
    middle, step = (low + high) / 2.0, (high - low) / 2.0

    def revenue(first: float) -> float:
        return math.fsum(channel.revenue(np.array([first, margin - first])).tolist())

    ends, centre = (revenue(low) + revenue(high)) / 2.0, revenue(middle)
    one, other = (4.0 * channel.factor[0], 2.0 * channel.factor[1])
    return {
        "best_end": max(revenue(low), revenue(high)),
        "middle_over_chord": centre - ends,
        "curvature": 2.0 * (ends - centre) / step**2,
        "printed_curvature": float(one * (channel.privacy[0] + middle) + other * (margin - middle)),
    }
