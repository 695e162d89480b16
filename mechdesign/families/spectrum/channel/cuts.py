"""Many users: a linear program of intervals of radii, with rows of crowding, refined as long as it takes."""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.core.validation import in_range
from mechdesign.families.spectrum.channel.problem import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.many import bounded

MOST_USERS = 500

GAP, SECONDS, SECONDS_A_USER = 0.005, 60.0, 2.0
"""The gap that is enough, as a part of the revenue, and the most time: in all, and for each user."""


def run(problem: SpectrumChannel, gap: float = GAP, seconds: float | None = None) -> Outcome:
    """Improve an allocation and its bound.

    Parameters
    ----------
    problem : SpectrumChannel
    gap : float
        The gap that is enough, as a part of the revenue.
    seconds : float, optional
        After this time the best allocation and the bound so far are returned: a minute, less for few users.
    """
    covered = nobody(problem, "cuts")
    if covered is not None:
        return covered
    in_range("gap", gap, 0.0, 1.0)
    seconds = min(SECONDS, SECONDS_A_USER * problem.size) if seconds is None else seconds
    in_range("seconds", seconds, 0.0, 1e6)
    channel = problem.channel
    found = bounded(channel, gap, seconds)
    radii = channel.allowed(found.best.radii, found.best.level)
    notes = {"rounds": found.rounds, "columns": found.columns, "rows": found.rows}
    source = "a linear program of intervals of radii, by weak duality"
    return outcome(problem, radii, found.best.level, "cuts", found.bound, source, notes)


def why_not(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users, or None."""
    return (
        f"{problem.size} users are too many; the limit is {MOST_USERS}" if problem.size > MOST_USERS else None
    )
