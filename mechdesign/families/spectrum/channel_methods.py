"""Vertex patterns of few users of a channel: who is served, and which limits are tight.

*One or two users:* every pattern, each the maximum of a cubic with a pole on an interval of L. The caps of
user j are r0_j for L <= a_j - r0_j and a_j - L after that: pieces (a) to (c) of section 6.5.2. With both
served, both have their caps, or one has its cap and the other one what is left of the margin.

*A few users:* a search tree over all patterns.

The methods of ``spectrum-channel``: the first one that applies is the default.

*Cuts*, for many users: a linear program of intervals of radii, with rows of crowding, refined as long as it
takes.

*Lists*: users served one after the other from good lists, over a grid of L, then annealing; no bound.

The integer program, which only checks the others, is in ``checks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.validation import in_range
from mechdesign.exact.randomness import float_down, float_up
from mechdesign.families.spectrum.allocation import (
    NODES,
    Form,
    best_pattern,
    best_radii,
    limited,
    revenue_cubic,
    summed,
)
from mechdesign.families.spectrum.channel import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.checks import allocation_by_integer_program, why_no_integer_program
from mechdesign.families.spectrum.clique_bound import bounded, quick
from mechdesign.solvers.roots import maximum

Pattern = tuple[dict[int, Form], Fraction, Fraction]
"""The radii of those who are served, and the interval of L."""


def caps(channel: Channel, user: int) -> list[tuple[Form, Fraction, Fraction]]:
    """Return the pieces of a user's cap: a form, and where it is the cap."""
    full = Fraction(float(channel.radius[user]))
    if channel.owner is None:
        return [((full, Fraction(0)), Fraction(0), Fraction(0))]
    room = Fraction(float(channel.reach[user]))
    pieces = [((full, Fraction(0)), Fraction(0), room - full)]
    pieces.append(((room, Fraction(-1)), max(Fraction(0), room - full), room))
    return [piece for piece in pieces if piece[1] <= piece[2] and piece[2] >= 0]


def patterns(channel: Channel) -> Iterator[Pattern]:
    """Yield every pattern with its interval of L, which may be empty."""
    for user in range(channel.size):
        for form, low, high in caps(channel, user):
            yield {user: form}, low, high
    if channel.size < 2 or channel.margins[0, 1] <= 0:
        return
    margin = Fraction(float(channel.margins[0, 1]))
    for first, low, high in caps(channel, 0):
        for second, least, most in caps(channel, 1):
            both = (first[0] + second[0] - margin, first[1] + second[1])
            yield {0: first, 1: second}, *limited([both], max(low, least), min(high, most))
    for user, other in ((0, 1), (1, 0)):
        for form, low, high in caps(channel, user):
            rest = (margin - form[0], -form[1])
            rows = [(-rest[0], -rest[1]), (rest[0] - Fraction(float(channel.radius[other])), rest[1])]
            if channel.owner is not None:
                rows.append((rest[0] - Fraction(float(channel.reach[other])), rest[1] + 1))
            yield {user: form, other: rest}, *limited(rows, low, high)


def _revenue(channel: Channel, served: dict[int, Form]) -> list[Fraction]:
    """Return the coefficients of the revenue as a cubic in L."""
    factor, privacy = channel.factor.tolist(), channel.privacy.tolist()
    return summed(revenue_cubic(factor[user], privacy[user], form) for user, form in served.items())


def allocation_from_patterns(problem: SpectrumChannel) -> Outcome:
    """Return the best pattern; of equal values that with the larger L."""
    if (covered := nobody(problem, "patterns")) is not None:
        return covered
    channel = problem.channel
    pole = Fraction(0 if channel.owner is None else channel.privacy_cost)
    best: tuple[Fraction, Fraction, dict[int, Form]] | None = None
    bound, tried = None, 0
    for served, low, high in patterns(channel):
        if low > high or (pole and high <= 0):
            continue
        peak, tried = maximum(_revenue(channel, served), pole, low, high), tried + 1
        bound = peak.bound if bound is None else max(bound, peak.bound)
        if best is None or (peak.value, peak.place) > best[:2]:
            best = (peak.value, peak.place, served)
    if best is None or bound is None:
        return Outcome(status="failed", solver="patterns", message="no pattern has an interval; report this")
    level = float_down(best[1])
    radii = np.zeros(problem.size)
    for user, (alpha, beta) in best[2].items():
        radii[user] = max(0.0, float_down(alpha + beta * best[1]))
    return outcome(
        problem,
        channel.allowed(radii, level),
        level,
        "patterns",
        float_up(bound) + channel.rounding,
        "all vertex patterns, their roots isolated in exact arithmetic",
        {"patterns": tried},
    )


def why_no_patterns(problem: SpectrumChannel) -> str | None:
    """Two users at most."""
    return f"it is for one or two users, and there are {problem.size}" if problem.size > 2 else None


MOST_USERS, MOST_IDLE = 8, 10
"""Users of an occupied channel and of an idle one."""


def allocation_from_tree(problem: SpectrumChannel, nodes: int = NODES) -> Outcome:
    """Search all patterns.

    Parameters
    ----------
    problem : SpectrumChannel
    nodes : int
        Largest number of branches; the rest is only bounded, and nothing is claimed.
    """
    if (covered := nobody(problem, "search tree")) is not None:
        return covered
    source = "a search tree over all vertex patterns"
    if problem.owner is None:
        radii, bound = best_radii(problem.channel, problem.channel.radius, nodes)
        allowed = problem.channel.allowed(np.asarray(radii), 0.0)
        return outcome(problem, allowed, 0.0, "search tree", bound + problem.channel.rounding, source)
    allocation = best_pattern(problem.channel, nodes)
    return outcome(problem, allocation.radii, allocation.level, "search tree", allocation.bound, source)


def why_no_tree(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users, or None."""
    most = MOST_USERS if problem.owner is not None else MOST_IDLE
    return f"{problem.size} users are too many; the limit is {most}" if problem.size > most else None


MOST_USERS_OF_SEARCH = 500

GAP, SECONDS, SECONDS_A_USER = 0.005, 60.0, 2.0
"""The gap that is enough, as a part of the revenue, and the most time: in all, and for each user."""


def allocation_by_cuts(problem: SpectrumChannel, gap: float = GAP, seconds: float | None = None) -> Outcome:
    """Improve an allocation and its bound.

    Parameters
    ----------
    problem : SpectrumChannel
    gap : float
        The gap that is enough, as a part of the revenue.
    seconds : float, optional
        After this time the best allocation and the bound so far are returned: a minute, less for few users.
    """
    if (covered := nobody(problem, "cuts")) is not None:
        return covered
    in_range("gap", gap, 0.0, 1.0)
    seconds = min(SECONDS, SECONDS_A_USER * problem.size) if seconds is None else seconds
    in_range("seconds", seconds, 0.0, 1e6)
    channel = problem.channel
    result = bounded(channel, gap, seconds)
    radii = channel.allowed(result.best.radii, result.best.level)
    notes = {"rounds": result.rounds, "columns": result.columns, "rows": result.rows}
    source = "a linear program of intervals of radii, by weak duality"
    return outcome(problem, radii, result.best.level, "cuts", result.bound, source, notes)


def why_no_cuts(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users, or None."""
    return (
        f"{problem.size} users are too many; the limit is {MOST_USERS_OF_SEARCH}"
        if problem.size > MOST_USERS_OF_SEARCH
        else None
    )


def allocation_from_lists(problem: SpectrumChannel) -> Outcome:
    """Return the best allocation found."""
    if (covered := nobody(problem, "lists and annealing")) is not None:
        return covered
    allocation = quick(problem.channel)
    radii = problem.channel.allowed(allocation.radii, allocation.level)
    return outcome(problem, radii, allocation.level, "lists and annealing")


METHODS = (
    Method("piecewise", SpectrumChannel, "analytic",
           "all vertex patterns of one or two users, by roots of quartics",
           allocation_from_patterns, why_no_patterns),
    Method("enumeration", SpectrumChannel, "numeric", "search tree over all vertex patterns of a few users",
           allocation_from_tree, why_no_tree),
    Method("cuts", SpectrumChannel, "numeric",
           "linear program of intervals of radii, cliques and ramps added, for many users",
           allocation_by_cuts, why_no_cuts),
    Method("milp", SpectrumChannel, "numeric", "mixed integer program with revenue by pieces, for many users",
           allocation_by_integer_program, why_no_integer_program),
    Method("greedy", SpectrumChannel, "heuristic",
           "users served in the order of a list, improved by annealing", allocation_from_lists),
)  # fmt: skip
