"""What the optimum is worth next to a fixed widening, and the circles to draw."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.channel.problem import SpectrumChannel
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.papers.baseline import FIXED_PRIMARY, FIXED_SECONDARY
from mechdesign.families.spectrum.papers.channel.given_widening import best_utility


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
    found: dict[str, Any] = {
        "served": int(np.count_nonzero(radii)),
        "revenue": math.fsum(channel.revenue(radii).tolist()),
        "circles": np.column_stack(
            [channel.x, channel.y, channel.privacy, radii, np.where(radii > 0, channel.privacy + radii, 0.0)]
        ),
    }
    if problem.owner is not None:
        owner = problem.owner
        found["owner_circle"] = [owner.x, owner.y, owner.protection, level]
        fixed = best_utility(channel, FIXED_PRIMARY)
        wider = replace(channel, privacy=np.full(channel.size, FIXED_SECONDARY))
        both_fixed = best_utility(wider, FIXED_PRIMARY)
        found |= {"fixed_utility": fixed, "gain": solution.value - fixed}
        found |= {"both_fixed_utility": both_fixed, "gain_over_both_fixed": solution.value - both_fixed}
    elif channel.size == 2 and 0 < channel.margins[0, 1] < channel.radius.sum():
        found |= shared_margin(channel)
    return found


def shared_margin(channel: Channel) -> dict[str, float]:
    """Return the behavior of the revenue of problem 6.5.1 on its interval of R_1, where R_2 = M - R_1.

    ``best_end`` is the larger revenue at the ends, the optimum of that problem. ``middle_over_chord`` is the
    revenue in the middle less the mean of those at the ends: at least 0 for any concave function.
    ``curvature`` is the second derivative in the middle, from differences, which are exact for a cubic, and
    for the sum of two; ``printed_curvature`` is that of theorem 6.5.2 as printed.
    """
    margin, wanted = float(channel.margins[0, 1]), channel.radius
    low, high = max(0.0, margin - float(wanted[1])), min(float(wanted[0]), margin)
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
