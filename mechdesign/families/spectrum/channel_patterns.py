"""Vertex patterns of few users of a channel: who is served, and which limits are tight.

*One or two users:* every pattern, each the maximum of a cubic with a pole on an interval of L. The caps of
user j are r0_j for L <= a_j - r0_j and a_j - L after that: pieces (a) to (c) of section 6.5.2. With both
served, both have their caps, or one has its cap and the other one what is left of the margin.

*A few users:* a search tree over all patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from mechdesign.core.problem import Outcome
from mechdesign.exact.exponential import float_down, float_up
from mechdesign.families.spectrum.allocation import NODES, best_pattern, best_radii
from mechdesign.families.spectrum.channel import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.solvers.roots import maximum

Form = tuple[Fraction, Fraction]
"""alpha + beta L"""

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


def limited(rows: list[Form], low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return the part of [low, high] on which alpha + beta L <= 0 for all rows.

    Examples
    --------
    >>> limited([(Fraction(-3), Fraction(1))], Fraction(0), Fraction(9))
    (Fraction(0, 1), Fraction(3, 1))
    """
    for alpha, beta in rows:
        if beta > 0:
            high = min(high, -alpha / beta)
        elif beta < 0:
            low = max(low, -alpha / beta)
        elif alpha > 0:
            return Fraction(1), Fraction(0)
    return low, high


def _revenue(channel: Channel, served: dict[int, Form]) -> list[Fraction]:
    """Return the coefficients of the revenue as a cubic in L."""
    total = [Fraction(0)] * 4
    for user, (alpha, beta) in served.items():
        c, s = Fraction(float(channel.factor[user])), Fraction(float(channel.privacy[user]))
        product = [c]
        for linear in ((alpha, beta), (s + alpha, beta), (s + alpha, beta)):
            longer = [part * linear[0] for part in product] + [Fraction(0)]
            for power, part in enumerate(product):
                longer[power + 1] += part * linear[1]
            product = longer
        total = [one + other for one, other in zip(total, product, strict=True)]
    return total


def allocation_from_patterns(problem: SpectrumChannel) -> Outcome:
    """Return the best pattern; of equal values that with the larger L."""
    covered = nobody(problem, "patterns")
    if covered is not None:
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
    covered = nobody(problem, "search tree")
    if covered is not None:
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
