"""Good allocations crossed: the radii of one inside a circle, those of another outside, and repaired.

Annealing ends in allocations that are good in different parts of the map. Users who are far apart do not
concern each other, so that a part of one allocation fits into another but for the users along the circle.
"""

from __future__ import annotations

import math
import time

import numpy as np

from mechdesign.families.spectrum.annealing import annealed
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.greedy import Array, RadiiAtLevel

POOL, STEPS = 8, 10_000
"""Allocations to cross, and moves of the annealing of each."""

CROSSINGS, REPAIRS = 160, 500
"""How often two of them are crossed, and moves of the annealing of the outcome."""

WARMTH = 0.03
"""The first temperature of these moves, as a part of the largest revenue of one user."""

NARROWEST, WIDEST = 1.2, 5.0
"""Radii of circles, in parts of the largest radius of a user."""


def crossed(channel: Channel, best: RadiiAtLevel, until: float = math.inf, seed: int = 2) -> RadiiAtLevel:
    """Return the best allocation of a pool that was annealed and crossed, or ``best`` where it is better.

    Without ``until`` no clock decides.

    Examples
    --------
    >>> from mechdesign.families.spectrum.channel_program import users_of
    >>> spots = [{"x": x, "y": 0, "radius": 2, "privacy": 0.5} for x in (0, 3, 6)]
    >>> channel = Channel.of(1.0, 1.0, users_of("users", spots, None), None)
    >>> crossed(channel, RadiiAtLevel(np.array([0.0, 2.0, 0.0]), 0.0, 0.0)).radii.tolist()
    [2.0, 0.0, 2.0]
    """
    rng = np.random.default_rng(seed)
    pool = [best]
    for number in range(1, POOL):
        now = time.monotonic()
        if now > until:
            break
        share = now + (until - now) / 2.0 / (POOL - number)
        pool.append(annealed(channel, best, STEPS, seed=seed + number, until=share))
    for number in range(CROSSINGS):
        if len(pool) < 2 or time.monotonic() > until:
            break
        one, other = rng.choice(len(pool), 2, replace=False).tolist()
        child = _crossing(channel, pool[one], pool[other], rng)
        found = annealed(channel, child, REPAIRS, seed=seed + POOL + number, until=until, warmth=WARMTH)
        if any(abs(found.value - known.value) <= 1e-9 * abs(known.value) for known in pool):
            continue  # a pool of equals has nothing to cross
        worst = min(range(len(pool)), key=lambda place: pool[place].value)
        lesser = min(one, other, key=lambda place: pool[place].value)
        place = lesser if found.value > pool[lesser].value else worst
        if found.value > pool[place].value:
            pool[place] = found
    return max([best, *pool], key=lambda found: found.value)


def _crossing(
    channel: Channel, outer: RadiiAtLevel, inner: RadiiAtLevel, rng: np.random.Generator
) -> RadiiAtLevel:
    """Return the radii of one allocation outside a random circle and of the other inside, made to fit."""
    centre = int(rng.integers(channel.size))
    size = float(channel.radius.max()) * rng.uniform(NARROWEST, WIDEST)
    inside = np.hypot(channel.x - channel.x[centre], channel.y - channel.y[centre]) < size
    wanted = np.where(inside, inner.radii, outer.radii)
    return RadiiAtLevel(_fitted(channel, wanted), outer.level, -math.inf)


def _fitted(channel: Channel, wanted: Array) -> Array:
    """Return these radii, the largest first, as far as those before leave room."""
    room, fitted = wanted.copy(), np.zeros(len(wanted))
    for user in np.argsort(-wanted, kind="stable").tolist():
        if wanted[user] <= 0:
            break
        if room[user] > 0:
            fitted[user] = room[user]
            room = np.minimum(room, channel.margins[user] - fitted[user])
    return fitted
