"""The thesis's way for two users: a local ascent from the middle, and each user served alone.

Problem 6.5.1 (idle, circles overlap) is called convex and handed to a solver; it maximises a convex function,
and ascent from the middle of its interval ends wherever the slope leads. Problem 6.5.3 (occupied) is left to
gradient descent. Of the candidates the best is taken; printed is the largest L (note ``printed_privacy``;
``printed_utility`` is the largest utility with that L).
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.families.spectrum.channel.piecewise import run as every_pattern
from mechdesign.families.spectrum.channel.problem import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.channel_program import Array, Channel
from mechdesign.families.spectrum.papers.channel.given_widening import best_utility
from mechdesign.solvers.local import local_maximum

Candidate = tuple[float, Array, float]
"""Utility, radii, L"""


def slopes(channel: Channel, radii: Array) -> Array:
    """Return the derivatives of the revenues."""
    grown = channel.privacy + radii
    return np.asarray(channel.factor * grown * (grown + 2.0 * radii))


def idle_pair(channel: Channel) -> Candidate:
    """Return where ascent ends on R_1 in [max(0, M - r0_2), min(r0_1, M)] with R_2 = M - R_1."""
    margin, wanted = float(channel.margins[0, 1]), channel.radius
    low, high = max(0.0, margin - wanted[1]), min(wanted[0], margin)

    def radii(x: Array) -> Array:
        return np.array([x[0], margin - x[0]])

    found = local_maximum(
        lambda x: channel.utility(radii(x), 0.0),
        lambda x: slopes(channel, radii(x)) @ np.array([[1.0], [-1.0]]),
        np.array([(low + high) / 2.0]),
        np.zeros((0, 1)),
        np.zeros(0),
        np.array([low]),
        np.array([high]),
    )
    return channel.utility(radii(found), 0.0), radii(found), 0.0


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
    found = local_maximum(
        lambda x: channel.utility(x[:2], x[2]),
        lambda x: np.append(slopes(channel, x[:2]), channel.privacy_cost / x[2] ** 2),
        start,
        np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]),
        np.array([reach[0], reach[1], margin]),
        np.array([0.0, 0.0, most * 1e-6]),
        np.array([channel.radius[0], channel.radius[1], most]),
    )
    radii = channel.allowed(found[:2], float(found[2]))
    return channel.utility(radii, float(found[2])), radii, float(found[2])


def alone(problem: SpectrumChannel, user: int) -> Candidate | None:
    """Return the optimum with one of the two users, as in section 6.4."""
    single = SpectrumChannel(
        price=problem.price,
        privacy_cost=problem.privacy_cost,
        secondary=[problem.secondary[user]],
        primary=problem.primary,
    )
    found = every_pattern(single)
    if found.status not in ("optimal", "feasible"):
        return None
    radii = np.zeros(2)
    radii[user] = found.variables["radii"][0]
    level = float(found.variables["privacy"])
    return problem.channel.utility(radii, level), radii, level


def run(problem: SpectrumChannel) -> Outcome:
    """Return the best candidate of the thesis."""
    covered = nobody(problem, "local ascent")
    if covered is not None:
        return covered
    channel = problem.channel
    margin = float(channel.margins[0, 1])
    if problem.owner is None and margin >= channel.radius.sum():
        return outcome(problem, np.array(channel.radius), 0.0, "local ascent")
    candidates = [found for user in (0, 1) if (found := alone(problem, user)) is not None]
    if margin > 0 and problem.owner is None:
        candidates = [idle_pair(channel)]
    elif margin > 0 and channel.reach.min() > 0:
        candidates.append(occupied_pair(channel))
    _, radii, level = max(candidates, key=lambda found: found[0])
    printed = max(found[2] for found in candidates)
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
