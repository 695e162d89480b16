"""Good allocations without a bound: in the order of a list, by annealing, and crossed.

*Lists:* each user gets what those before it leave; moves improve lists.

*Annealing*, a random local search for radii at an L: serve somebody, shrink who is in the way, fill the rest.

*Crossing* takes the radii of one allocation inside a circle and those of another outside, and repairs them.
Annealing ends in allocations that are good in different parts of the map. Users who are far apart do not
concern each other, so that a part of one allocation fits into another but for the users along the circle.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.channel_program import Channel

Array = NDArray[np.float64]

LEVELS = 48
"""Values of L that are tried."""

MOVES = 400
"""Users that are moved to the front of the list, in all."""


@dataclass(frozen=True)
class RadiiAtLevel:
    """Radii of all users, 0 for those who are not served, and L (0 where the channel is idle)."""

    radii: Array
    level: float
    value: float


class Greedy:
    """Greedy allocations of a channel.

    Every vertex whose tight pairs have no cycle is reached from some list: caps first, then outwards.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.reach = channel.reach.tolist()
        self.radius = channel.radius.tolist()

    @cached_property
    def close(self) -> NDArray[np.bool_]:
        """Which users can be in each other's way."""
        radius = self.channel.radius
        result: NDArray[np.bool_] = self.channel.margins < radius[:, None] + radius
        return result

    @cached_property
    def near(self) -> list[list[tuple[int, float]]]:
        """The users in whose way each one can be, with the margins."""
        margins = self.channel.margins
        return [
            [(other, float(margins[user, other])) for other in np.flatnonzero(self.close[user]).tolist()]
            for user in range(self.channel.size)
        ]

    def filled(self, order: Sequence[int], level: float) -> Array:
        """Return the radii when users are served in this order."""
        radii = [0.0] * self.channel.size
        for user in order:
            room = min(self.radius[user], self.reach[user] - level)
            if room <= 0:
                continue
            for other, margin in self.near[user]:
                if radii[other] > 0 and margin - radii[other] < room:
                    room = margin - radii[other]
                    if room <= 0:
                        break
            radii[user] = max(room, 0.0)
        return np.array(radii)

    def orders(self, level: float) -> list[list[int]]:
        """Return lists to start from: by revenue, and by revenue against that of those in the way."""
        caps = np.clip(np.minimum(self.channel.radius, self.channel.reach - level), 0.0, None)
        pay = self.channel.revenue(caps)
        rivals = np.where(self.close, pay, 0.0).sum(axis=1)
        crowd = self.close.sum(axis=1)
        keys = (pay, pay / (1.0 + crowd), pay - rivals)
        return [np.argsort(-key, kind="stable").tolist() for key in keys]

    def improved(
        self, order: Sequence[int], level: float, moves: int = MOVES, until: float = math.inf
    ) -> tuple[list[int], Array]:
        """Return a list that no move of one user to the front improves, or the best within moves and time."""
        best_order, best = list(order), self.filled(order, level)
        value = float(self.channel.revenue(best).sum())
        waiting = [user for user in best_order if best[user] < self.radius[user]]
        while waiting and moves > 0 and time.monotonic() < until:
            moves -= 1
            user = waiting.pop(0)
            changed = [user, *(other for other in best_order if other != user)]
            radii = self.filled(changed, level)
            revenue = float(self.channel.revenue(radii).sum())
            if revenue > value * (1.0 + 1e-12):
                best_order, best, value = changed, radii, revenue
                waiting = [other for other in best_order if best[other] < self.radius[other]]
        return best_order, best

    def best(self, levels: int = LEVELS, moves: int = MOVES, until: float = math.inf) -> RadiiAtLevel:
        """Return the best allocation found over a grid of L, then around its best point.

        After the time ``until`` no further list is begun; the first is filled in any case.
        """
        if self.channel.owner is None:
            return self._first([0.0], moves, until)
        most = self.channel.most
        ends = np.concatenate([self.channel.reach, self.channel.reach - self.channel.radius])
        grid = np.unique(np.concatenate([np.arange(1, levels + 1) * (most / levels), ends]))
        grid = grid[(grid > 0.0) & (grid <= most)]
        if len(grid) > 3 * levels:
            grid = grid[:: len(grid) // (2 * levels)]
        start = self._first(grid.tolist(), 0, until)
        best_order = np.argsort(-self.channel.revenue(start.radii), kind="stable").tolist()
        order, _ = self.improved(best_order, start.level, moves, until)
        return self.settled(order, start, most / levels)

    def _first(self, grid: Sequence[float], moves: int, until: float) -> RadiiAtLevel:
        """Return the best allocation of the lists to start from, over a grid of L."""
        tries: list[RadiiAtLevel] = []
        for level in grid:
            for order in self.orders(level):
                if not tries or time.monotonic() < until:
                    tries.append(self._at(order, level, moves, until))
        return max(tries, key=lambda allocation: allocation.value)

    def settled(self, order: Sequence[int], best: RadiiAtLevel, step: float) -> RadiiAtLevel:
        """Return the better of an allocation and those of a list at L near by, with ever smaller steps."""
        most, level = self.channel.most, best.level
        best = max(best, self._at(order, level, 0), key=lambda item: item.value)
        while step > most * 1e-7:
            tries = [self._at(order, place, 0) for place in (level - step, level + step) if 0 < place <= most]
            better = max(tries, key=lambda item: item.value, default=best)
            if better.value > best.value:
                best, level = better, better.level
            else:
                step /= 2.0
        return best

    def _at(self, order: Sequence[int], level: float, moves: int, until: float = math.inf) -> RadiiAtLevel:
        listed = self.filled(order, level) if not moves else self.improved(order, level, moves, until)[1]
        return RadiiAtLevel(listed, level, self.channel.utility(listed, level))


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
    level = 0.0 if channel.owner is None else start.level
    caps = np.clip(np.minimum(channel.radius, channel.reach - level), 0.0, None)
    users = np.flatnonzero(caps > 0).tolist()
    neighborhood = _Neighborhood(channel, caps)
    here = best = neighborhood.at(np.minimum(start.radii, caps))
    warmest = warmth * float(channel.revenue(caps).max(initial=0.0))
    picks = rng.integers(max(1, len(users)), size=steps if users else 0).tolist()
    started, spent = time.monotonic(), 0.0
    coins, chances = rng.random(steps).tolist(), rng.random(steps).tolist()
    for step, pick in enumerate(picks):
        if step % 64 == 0 and math.isfinite(until):
            spent = (time.monotonic() - started) / max(until - started, 1e-9)
            if spent > 1.0:
                break
        user = users[pick]
        if here.radii[user] >= caps[user]:
            continue
        tried = neighborhood.moved(here, user, coins[step])
        if tried.value <= here.value:
            temperature = max(warmest * (1.0 - max(step / steps, spent)) ** 2, COLD * warmest)
            if chances[step] >= math.exp((tried.value - here.value) / temperature):
                continue
        here = tried
        if here.value > best.value:
            best = here
    return RadiiAtLevel(best.radii, start.level, channel.utility(best.radii, start.level))


class _Allocation:
    """Radii that annealing has met, their revenue, and where its moves lead from there."""

    def __init__(self, radii: Array, value: float) -> None:
        self.radii, self.value = radii, value
        self.rooms: dict[int, list[float]] = {}
        self.moves: dict[tuple[int, float], _Allocation] = {}


MOST_MET, FEW = 2000, 64
"""Allocations that are remembered, and users of whom annealing meets the same ones again and again."""


class _Neighborhood:
    """The moves of annealing; one that was made before from the same allocation is not computed again."""

    def __init__(self, channel: Channel, caps: Array) -> None:
        self.channel, self.caps = channel, caps
        self.met: dict[bytes, _Allocation] = {}

    def at(self, radii: Array) -> _Allocation:
        """Return the allocation with these radii."""
        key = radii.tobytes()
        if key not in self.met:
            if len(self.met) >= MOST_MET:
                self.met.clear()
            self.met[key] = self._allocation(radii)
        return self.met[key]

    def moved(self, here: _Allocation, user: int, coin: float) -> _Allocation:
        """Return the allocation after a user was served: up to its cap, or to what a neighbor leaves."""
        radius = float(self.caps[user])
        if coin < 0.5 and (rooms := self._rooms(here, user)):
            room = rooms[int(coin * 2.0 * len(rooms))]
            radius = room if 0.0 < room < radius else radius
        move = user, radius
        if move in here.moves:
            return here.moves[move]
        radii = _moved(self.channel, self.caps, here.radii, user, radius)
        if self.channel.size > FEW:
            return self._allocation(radii)
        here.moves[move] = self.at(radii)
        return here.moves[move]

    def _allocation(self, radii: Array) -> _Allocation:
        return _Allocation(radii, float(self.channel.revenue(radii).sum()))

    def _rooms(self, here: _Allocation, user: int) -> list[float]:
        """Return what each of those that are in the way of a user leaves."""
        if user not in here.rooms:
            margins, radii = self.channel.margins[user], here.radii
            near = ((radii > 0) & (margins < radii + self.caps[user])).nonzero()[0]
            here.rooms[user] = (margins[near] - radii[near]).tolist()
        return here.rooms[user]


def _moved(channel: Channel, caps: Array, radii: Array, user: int, radius: float) -> Array:
    """Return the radii once a user is served and the room that is left went to others."""
    margins = channel.margins
    tried: Array = np.minimum(radii, np.maximum(margins[user] - radius, 0.0))
    tried[user] = radius
    served = (tried > 0).nonzero()[0]
    room = np.minimum(caps, (margins[:, served] - tried[served]).min(axis=1))
    paid = channel.revenue(tried)
    while True:
        free = (room > tried).nonzero()[0]
        if not len(free):
            return tried
        gains = channel.revenue(room[free], free) - paid[free]
        most = int(gains.argmax())
        if gains[most] <= 1e-9 * paid[user]:
            return tried
        first = int(free[most])
        tried[first] = room[first]
        paid[first] += gains[most]
        room = np.minimum(room, margins[first] - tried[first])


POOL, STEPS_OF_PARENTS = 8, 10_000
"""Allocations to cross, and moves of the annealing of each."""

CROSSINGS, REPAIRS = 160, 500
"""How often two of them are crossed, and moves of the annealing of the outcome."""

WARMTH_OF_REPAIR = 0.03
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
        pool.append(annealed(channel, best, STEPS_OF_PARENTS, seed=seed + number, until=share))
    for number in range(CROSSINGS):
        if len(pool) < 2 or time.monotonic() > until:
            break
        one, other = rng.choice(len(pool), 2, replace=False).tolist()
        child = _crossing(channel, pool[one], pool[other], rng)
        repaired = annealed(
            channel, child, REPAIRS, seed=seed + POOL + number, until=until, warmth=WARMTH_OF_REPAIR
        )
        if any(abs(repaired.value - known.value) <= 1e-9 * abs(known.value) for known in pool):
            continue  # a pool of equals has nothing to cross
        worst = min(range(len(pool)), key=lambda place: pool[place].value)
        lesser = min(one, other, key=lambda place: pool[place].value)
        place = lesser if repaired.value > pool[lesser].value else worst
        if repaired.value > pool[place].value:
            pool[place] = repaired
    return max([best, *pool], key=lambda repaired: repaired.value)


def _crossing(
    channel: Channel, outer: RadiiAtLevel, inner: RadiiAtLevel, rng: np.random.Generator
) -> RadiiAtLevel:
    """Return the radii of one allocation outside a random circle and of the other inside, made to fit."""
    centre = int(rng.integers(channel.size))
    size = float(channel.radius.max()) * rng.uniform(NARROWEST, WIDEST)
    inside = np.hypot(channel.x - channel.x[centre], channel.y - channel.y[centre]) < size
    radii = np.where(inside, inner.radii, outer.radii)
    return RadiiAtLevel(_fitted(channel, radii), outer.level, -math.inf)


def _fitted(channel: Channel, radii: Array) -> Array:
    """Return these radii, the largest first, as far as those before leave room."""
    room, fitted = radii.copy(), np.zeros(len(radii))
    for user in np.argsort(-radii, kind="stable").tolist():
        if radii[user] <= 0:
            break
        if room[user] > 0:
            fitted[user] = room[user]
            room = np.minimum(room, channel.margins[user] - fitted[user])
    return fitted
