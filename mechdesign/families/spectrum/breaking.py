"""Rows that a solution of the program breaks: members are collected greedily, by their weight."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.crowding import NARROW, Crowd, Row

Array = NDArray[np.float64]
Places = NDArray[np.int64]

USED = 2e-4
"""Columns above this are used by a solution."""

BROKEN = 0.01
"""Rows are added where they are broken by this much."""


class Used:
    """The columns that a solution uses, most weight first, and which of them exclude each other."""

    def __init__(self, crowd: Crowd, users: Places, low: Array, high: Array, values: Array) -> None:
        used = np.flatnonzero(values > USED)
        used = used[np.argsort(-values[used], kind="stable")]
        self.crowd, self.users, self.values = crowd, users[used], values[used]
        self.low, self.high = low[used], high[used]
        self.paid = crowd.paid(self.users, self.high)
        self.apart = self.low[:, None] + self.low >= crowd.margins[np.ix_(self.users, self.users)]
        self.apart |= self.users[:, None] == self.users
        np.fill_diagonal(self.apart, False)

    def broken(self, until: float) -> list[tuple[float, Row]]:
        """Return broken rows with their sums, most broken first."""
        found = self._cliques(until) + self._ramps(until)
        found.sort(key=lambda pair: -pair[0])
        return found

    def _collected(self, rest: Places) -> list[int]:
        """Return columns of a list, from its front, that all exclude each other."""
        members: list[int] = []
        while len(rest):
            members.append(int(rest[0]))
            rest = rest[1:][self.apart[rest[0]][rest[1:]]]
        return members

    def _cliques(self, until: float) -> list[tuple[float, Row]]:
        found, seen = [], set()
        for first in range(len(self.users)):
            if time.monotonic() > until:
                break
            members = [first, *self._collected(np.flatnonzero(self.apart[first]))]
            key = tuple(sorted(members))
            total = float(self.values[members].sum())
            if key in seen or total < 1.0 + BROKEN:
                continue
            seen.add(key)
            found.append((total, self.crowd.clique(self.users[members], self.low[members])))
        return found

    def _ramps(self, until: float) -> list[tuple[float, Row]]:
        crowd, found = self.crowd, []
        for user in np.unique(self.users).tolist():
            if user == crowd.owner or time.monotonic() > until:
                continue
            near = np.flatnonzero(crowd.margins[user, self.users] < crowd.caps[user] + self.high)
            mine = np.flatnonzero(self.users == user)
            wide = mine[self.high[mine] - self.low[mine] > NARROW * crowd.caps[user]]
            ramps = crowd.ramps(user, self.low[wide], self.high[wide])
            for place, *ramp in zip(wide.tolist(), *ramps, strict=True):
                start, base, slope = ramp
                low = float(self.low[place])
                own = mine[self.low[mine] >= low]
                shares = np.clip(base[user] + slope[user] * self.paid[own], 0.0, 1.0)
                weight = float(self.values[own] @ shares)
                found += self._ramp(user, low, weight, (start, base, slope), near)
        return found

    def _ramp(
        self, user: int, low: float, weight: float, ramp: tuple[Array, Array, Array], near: Places
    ) -> list[tuple[float, Row]]:
        """Return the ramp of a user with the weightiest others, if it is broken."""
        start, base, slope = ramp
        users = self.users[near]
        share = self.values[near] * np.clip(base[users] + slope[users] * self.paid[near], 0.0, 1.0)
        share[self.low[near] < start[users]] = 0.0
        if weight + float(share.sum()) < 1.0 + BROKEN:
            return []
        order = np.argsort(-share, kind="stable")
        order = order[share[order] > USED]
        members = self._collected(near[order])
        chosen = np.isin(near, members)
        total = weight + float(share[chosen].sum())
        if total < 1.0 + BROKEN:
            return []
        return [(total, self.crowd.ramped(user, low, ramp, self.users[members], self.low[members]))]
