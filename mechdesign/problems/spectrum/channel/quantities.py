"""What the optimum is worth beside a fixed widening, and the circles to draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.problem import Candidate
from mechdesign.mechanisms.spectrum.allocate import best_radii
from mechdesign.problems.spectrum.channel.problem import SpectrumChannel
from mechdesign.problems.spectrum.judging import FIXED_PRIMARY

NODES = 20_000


def quantities(problem: SpectrumChannel, solution: Candidate) -> dict[str, Any]:
    """Return the baseline and the circles.

    ``fixed_utility`` is the utility with the widening 1 of section 6.6.1 and the best radii for it, ``gain``
    how much more the solution has. ``served`` counts users. ``circles`` has a row (x, y, privacy radius,
    granted radius, radius of the whole circle) for each user, ``owner_circle`` (x, y, protection, L).
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
        caps = np.clip(np.minimum(channel.radius, channel.reach - FIXED_PRIMARY), 0.0, None)
        fixed = channel.utility(
            channel.allowed(best_radii(channel, caps, NODES)[0], FIXED_PRIMARY), FIXED_PRIMARY
        )
        found |= {"fixed_utility": fixed, "gain": solution.value - fixed}
    return found
