"""Many users of one channel: a good allocation, then a proven bound and better ones, in a given time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.clique_bound import Thresholds
from mechdesign.families.spectrum.interval_bound import SIMPLEX, CuttingPlanes
from mechdesign.families.spectrum.local_search import LEVELS, STEPS, Greedy, RadiiAtLevel, annealed, crossed

MOVES = 60
"""Moves of lists, before the annealing."""

LONGER = 5 * STEPS
"""Moves of the second annealing, before bounds are computed."""

SHARE = 0.2
"""The part of the time that it may take, and so may the crossing of allocations: where this is not enough,
it begins when half as much is over."""

LAST = 0.12
"""The part of the time that is kept for better multipliers in the end."""

LAST_CROWDED = 0.2
"""The same on crowded maps, where an interior point method finds them."""

PATIENCE, PROGRESS = 20, 0.01
"""The rounds stop when PATIENCE of them together closed less than the part PROGRESS of the gap."""


@dataclass(frozen=True)
class BoundedAllocation:
    """An allocation, a bound of every other one, and the work done."""

    best: RadiiAtLevel
    bound: float
    rounds: int
    columns: int
    rows: int


def quick(channel: Channel, until: float = math.inf) -> RadiiAtLevel:
    """Return an allocation from lists and annealing.

    Without ``until`` no clock decides, so it is always the same.
    """
    greedy = Greedy(channel)
    return _settled(greedy, annealed(channel, greedy.best(moves=MOVES, until=until), until=until))


def _searched(greedy: Greedy, best: RadiiAtLevel, steps: int, until: float) -> RadiiAtLevel:
    """Return the better of an allocation and one from another annealing."""
    again = annealed(greedy.channel, best, steps, seed=1, until=until)
    return max(best, _settled(greedy, again), key=lambda item: item.value)


def _settled(greedy: Greedy, allocation: RadiiAtLevel) -> RadiiAtLevel:
    """Return an allocation with the best L near by, where the channel has an owner."""
    if greedy.channel.owner is None:
        return allocation
    order = np.argsort(-greedy.channel.revenue(allocation.radii), kind="stable").tolist()
    return greedy.settled(order, allocation, greedy.channel.most / LEVELS)


def bounded(channel: Channel, gap: float, seconds: float) -> BoundedAllocation:
    """Return an allocation and a bound, within a relative gap or a time.

    Parameters
    ----------
    channel : Channel
    gap : float
        The gap that is enough, as a part of the revenue.
    seconds : float
        The most time.
    """
    started = time.monotonic()
    until, rounds_until = started + seconds, started + (1.0 - LAST) * seconds
    greedy, best = Greedy(channel), quick(channel, until)
    best = _searched(greedy, best, LONGER, started + SHARE * seconds)
    planes = CuttingPlanes(channel, best, gap)
    gaps: list[float] = []
    rounds, hard = 0, False
    while time.monotonic() < (rounds_until if rounds else until) and planes.tighten(until):
        rounds += 1
        best, guess = followed(greedy, planes, best)
        if not hard and planes.bound > planes.cutoff and time.monotonic() > started + SHARE / 2.0 * seconds:
            hard = True
            child = _settled(greedy, crossed(channel, best, time.monotonic() + SHARE * seconds))
            if child.value > best.value:
                best = child
                planes.offer(best)
        if planes.bound <= planes.cutoff or (hard and len(planes.users) > SIMPLEX):
            break
        if not (planes.refine(best, guess) or planes.added):
            break
        gaps.append(planes.bound - best.value)
        if len(gaps) > PATIENCE and gaps[-1] > (1.0 - PROGRESS) * gaps[-1 - PATIENCE]:
            break  # what is left is not in the rows
    if hard and planes.bound > planes.cutoff and len(planes.users) > SIMPLEX:
        return crowded(greedy, planes, best, rounds, until, LAST_CROWDED * seconds)
    planes.polish(min(until, time.monotonic() + LAST * seconds))
    bound = max(planes.proven, best.value) + 2.0 * channel.rounding
    return BoundedAllocation(best, bound, rounds, len(planes.users), len(planes.rows))


def crowded(
    greedy: Greedy, planes: CuttingPlanes, best: RadiiAtLevel, rounds: int, until: float, last: float
) -> BoundedAllocation:
    """Go on with cliques alone where the rounds of cutting planes are too slow.

    Parameters
    ----------
    greedy : Greedy
    planes : CuttingPlanes
        The program so far: its bound holds as well.
    best : RadiiAtLevel
    rounds : int
        The rounds so far.
    until, last : float
        When to end, and the time that is kept for better multipliers.
    """
    program = Thresholds(greedy.channel, best, planes.gap)
    while program.bound > program.cutoff and time.monotonic() < until - last:
        program.tighten(until - last)
        rounds += 1
        best, _ = followed(greedy, program, best)
    if program.bound > program.cutoff:
        program.finish(until - time.monotonic())
    bound = max(min(planes.proven, program.proven), best.value) + 2.0 * greedy.channel.rounding
    return BoundedAllocation(best, bound, rounds, len(program.users), len(program.rows))


def followed(
    greedy: Greedy, program: CuttingPlanes | Thresholds, best: RadiiAtLevel
) -> tuple[RadiiAtLevel, RadiiAtLevel]:
    """Return the best allocation and the one that a program's solution suggests; offer it if it is better."""
    channel = greedy.channel
    order, level = program.suggestion()
    rest = np.argsort(-best.radii, kind="stable").tolist()
    chosen = set(order)
    order += [user for user in rest if user not in chosen]
    levels = {best.level} if level <= 0 else {level, best.level}
    tries = [(greedy.filled(order, place), place) for place in sorted(levels)]
    guesses = [RadiiAtLevel(radii, place, channel.utility(radii, place)) for radii, place in tries]
    guess = max(guesses, key=lambda item: item.value)
    if guess.value > best.value:
        best = _settled(greedy, guess)
        program.offer(best)
    return best, guess
