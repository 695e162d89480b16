"""A random local search for radii at a given L: serve somebody, shrink who is in the way, fill the rest."""

from __future__ import annotations

import math
import time

import numpy as np

from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.greedy import Array, RadiiAtLevel

STEPS = 4000
"""Moves; about a twentieth of a millisecond each for 200 users."""

WARMTH = 0.15
"""The first temperature, as a part of the largest revenue of one user."""

COLD = 1e-12
"""The least temperature, as a part of the first."""


def annealed(
    channel: Channel,
    start: RadiiAtLevel,
    steps: int = STEPS,
    seed: int = 0,
    until: float = math.inf,
    warmth: float = WARMTH,
) -> RadiiAtLevel:
    """Return the best allocation met by simulated annealing from a start, with the start's L.

    A move serves one user up to its cap, or up to what one of its neighbours leaves, shrinks all others as
    far as they are in the way, and gives the room that came free to whoever gains most by it. It cools with
    its steps, or with the time until ``until`` where that is shorter.

    Examples
    --------
    >>> spots = [{"x": x, "y": 0, "radius": 2, "privacy": 0.5} for x in (0, 3, 6)]
    >>> from mechdesign.families.spectrum.channel_program import users_of
    >>> channel = Channel.of(1.0, 1.0, users_of("users", spots, None), None)
    >>> annealed(channel, RadiiAtLevel(np.array([0.0, 2.0, 0.0]), 0.0, 0.0), steps=50).radii.tolist()
    [2.0, 0.0, 2.0]
    """
    rng = np.random.default_rng(seed)
    margins = channel.margins
    level = 0.0 if channel.owner is None else start.level
    caps = np.clip(np.minimum(channel.radius, channel.reach - level), 0.0, None)
    live = np.flatnonzero(caps > 0)
    radii = np.minimum(start.radii, caps)
    paid = channel.revenue(radii)
    value = best_value = float(paid.sum())
    best = radii.copy()
    warmest = warmth * float(channel.revenue(caps).max(initial=0.0))
    picks = rng.integers(max(1, len(live)), size=steps if len(live) else 0)
    started, spent = time.monotonic(), 0.0
    coins, chances = rng.random(steps), rng.random(steps)
    for step, pick in enumerate(picks):
        if step % 64 == 0 and math.isfinite(until):
            spent = (time.monotonic() - started) / max(until - started, 1e-9)
            if spent > 1.0:
                break
        cooled = max(step / steps, spent)
        user = int(live[pick])
        wanted = caps[user]
        if radii[user] >= wanted:
            continue
        if coins[step] < 0.5:
            near = np.flatnonzero((radii > 0) & (margins[user] < radii + wanted))
            if len(near):
                other = near[int(coins[step] * 2.0 * len(near))]
                room = margins[user, other] - radii[other]
                wanted = room if 0.0 < room < wanted else wanted
        tried = _moved(channel, caps, radii, user, wanted)
        found = float(channel.revenue(tried).sum())
        temperature = max(warmest * (1.0 - cooled) ** 2, COLD * warmest)
        if found > value or chances[step] < math.exp((found - value) / temperature):
            radii, value = tried, found
            if value > best_value:
                best_value, best = value, radii
    return RadiiAtLevel(best, start.level, channel.utility(best, start.level))


def _moved(channel: Channel, caps: Array, radii: Array, user: int, wanted: float) -> Array:
    """Return the radii once a user is served and the room that is left went to others."""
    margins = channel.margins
    tried: Array = np.minimum(radii, np.maximum(margins[user] - wanted, 0.0))
    tried[user] = wanted
    served = np.flatnonzero(tried > 0)
    room = np.minimum(caps, (margins[:, served] - tried[served]).min(axis=1))
    paid = channel.revenue(tried)
    while True:
        gains = np.where(room > tried, channel.revenue(np.maximum(room, 0.0)) - paid, 0.0)
        first = int(gains.argmax())
        if gains[first] <= 1e-9 * paid[user]:
            return tried
        tried[first] = room[first]
        paid[first] += gains[first]
        room = np.minimum(room, margins[first] - tried[first])
