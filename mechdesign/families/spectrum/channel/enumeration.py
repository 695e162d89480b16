"""A few users: a search tree over all vertex patterns."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.allocate import NODES, best_pattern, best_radii
from mechdesign.families.spectrum.channel.problem import SpectrumChannel, nobody, outcome

MOST_USERS, MOST_IDLE = 8, 10
"""Users of an occupied channel and of an idle one."""


def run(problem: SpectrumChannel, nodes: int = NODES) -> Outcome:
    """Search all patterns.

    Parameters
    ----------
    problem : SpectrumChannel
    nodes : int
        Largest number of branches; the rest is only bounded, and nothing is claimed.
    """
    covered = nobody(problem, "search tree")
    if covered is not None:
        return covered
    source = "a search tree over all vertex patterns"
    if problem.owner is None:
        radii, bound = best_radii(problem.channel, problem.channel.radius, nodes)
        allowed = problem.channel.allowed(np.asarray(radii), 0.0)
        return outcome(problem, allowed, 0.0, "search tree", bound + problem.channel.rounding, source)
    found = best_pattern(problem.channel, nodes)
    return outcome(problem, found.radii, found.level, "search tree", found.bound, source)


def why_not(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users, or None."""
    most = MOST_USERS if problem.owner is not None else MOST_IDLE
    return f"{problem.size} users are too many; the limit is {most}" if problem.size > most else None
