"""Allocations in the order of a list: each user gets what those before it leave; moves improve lists."""

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
        found: NDArray[np.bool_] = self.channel.margins < radius[:, None] + radius
        return found

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
            found = float(self.channel.revenue(radii).sum())
            if found > value * (1.0 + 1e-12):
                best_order, best, value = changed, radii, found
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
        found = self._first(grid.tolist(), 0, until)
        best_order = np.argsort(-self.channel.revenue(found.radii), kind="stable").tolist()
        order, _ = self.improved(best_order, found.level, moves, until)
        return self.settled(order, found, most / levels)

    def _first(self, grid: Sequence[float], moves: int, until: float) -> RadiiAtLevel:
        """Return the best allocation of the lists to start from, over a grid of L."""
        tries: list[RadiiAtLevel] = []
        for level in grid:
            for order in self.orders(level):
                if not tries or time.monotonic() < until:
                    tries.append(self._at(order, level, moves, until))
        return max(tries, key=lambda found: found.value)

    def settled(self, order: Sequence[int], found: RadiiAtLevel, step: float) -> RadiiAtLevel:
        """Return the better of an allocation and those of a list at L near by, with ever smaller steps."""
        most, level = self.channel.most, found.level
        found = max(found, self._at(order, level, 0), key=lambda item: item.value)
        while step > most * 1e-7:
            tries = [self._at(order, place, 0) for place in (level - step, level + step) if 0 < place <= most]
            better = max(tries, key=lambda item: item.value, default=found)
            if better.value > found.value:
                found, level = better, better.level
            else:
                step /= 2.0
        return found

    def _at(self, order: Sequence[int], level: float, moves: int, until: float = math.inf) -> RadiiAtLevel:
        listed = self.filled(order, level) if not moves else self.improved(order, level, moves, until)[1]
        return RadiiAtLevel(listed, level, self.channel.utility(listed, level))
