"""Rows of crowding: what users who are in each other's way can have together, for intervals of radii.

A column (j, lo, hi] stands for user j with a radius in (lo, hi] and pays T_j(hi). The owner is one more
"user", its radius is L and it pays -kp / L. A row holds, for each user j, a threshold alpha_j and an affine
function g_j of the revenue, cut off at 0 and 1; a column's entry is g_j(T_j(hi)) where lo >= alpha_j, else 0.

- *Clique*: g = 1 and alpha_i + alpha_j >= m_ij for all pairs: at most one radius is above its threshold.
- *Ramp*: a user i with an interval [a, b], g_i from 0 at a to 1 at b; other users have thresholds that make a
  clique and are at least m_ij - b, and g_j from 0 at m_ij - b to 1 at m_ij - a.

Why no allocation breaks them is in docs/families/spectrum.md.

The rows of a program are also tables of thresholds, bases and slopes of all users, with what columns cost.
Members of rows that a solution of the program breaks are collected greedily, by their weight.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.channel_program import Channel

Array = NDArray[np.float64]
Places = NDArray[np.int64]

NARROW = 2.0**-20
"""Intervals that are shorter than this part of the largest radius get no ramp: it would be all rounding."""

USEFUL = 0.95
"""A user is added to a row where its threshold is below this part of its largest radius."""


@dataclass(frozen=True)
class Row:
    """Thresholds (infinite for users who are in no way concerned), and g as ``base + slope T`` of each user.

    Attributes
    ----------
    alpha, base, slope : (n + 1,) arrays
        The owner is the last entry.
    """

    alpha: Array
    base: Array
    slope: Array


class Crowd:
    """Users of a channel, and its owner as the last of them.

    Parameters
    ----------
    channel : Channel
    """

    def __init__(self, channel: Channel) -> None:
        n = channel.size
        self.owner, self.cost = n, channel.privacy_cost
        self.margins = np.full((n + 1, n + 1), np.inf)
        self.margins[:n, :n] = channel.margins
        self.caps = np.append(np.minimum(channel.radius, channel.reach), 0.0)
        if channel.owner is not None:
            self.margins[n, :n] = self.margins[:n, n] = channel.reach
            self.caps[n] = channel.most
        self.factor, self.privacy = np.append(channel.factor, 0.0), np.append(channel.privacy, 0.0)

    def paid(self, users: Places, radii: Array) -> Array:
        """Return T_j(R), or -kp / L for the owner; 0 for a radius of 0 or less."""
        positive = np.maximum(radii, 0.0)
        paid: Array = self.factor[users] * positive * (self.privacy[users] + positive) ** 2
        owners = users == self.owner
        if owners.any():
            paid = np.where(owners, -self.cost / np.where(owners, radii, 1.0), paid)
        return paid

    def entries(self, row: Row, users: Places, low: Array, paid: Array) -> Array:
        """Return the entries of columns in a row."""
        inside = low >= row.alpha[users]
        result: Array = np.where(inside, np.clip(row.base[users] + row.slope[users] * paid, 0.0, 1.0), 0.0)
        return result

    def clique(self, members: Places, low: Array) -> Row:
        """Return the row of columns no two of which go together, with all users that can be added."""
        alpha = np.full(self.owner + 1, np.inf)
        np.minimum.at(alpha, members, low)
        none = np.zeros(self.owner + 1)
        return self._lifted(alpha, none, none + 1.0, none)

    def ramps(self, user: int, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Return where the ramps of all other users start at the earliest, and g as base and slope.

        There is a line for each interval of the user. The ramp of j ends where the user's begins. Where
        m_ij < b it starts at 0 with what is left there.
        """
        everybody = np.arange(self.owner + 1)
        low, high = low[:, None], high[:, None]
        me = np.array([user])
        first_paid, width = self.paid(me, low), self.paid(me, high) - self.paid(me, low)
        margins = self.margins[user]
        finite = np.where(np.isfinite(margins), margins, 0.0)
        start, end = finite - high, finite - low
        begin = np.maximum(start, 0.0)
        left = self.paid(me, np.clip(finite, low, high))
        rest = np.where(start < 0, 1.0 - (left - first_paid) / width, 0.0)
        most = self.paid(everybody, np.where(everybody == self.owner, 1.0, self.caps))
        first = self.paid(everybody, np.where(everybody == self.owner, 1.0, begin))
        last = self.paid(everybody, np.where(everybody == self.owner, 1.0, end))
        steep = (end > 0) & (most > 0) & (last - first > NARROW * most)
        slope = np.where(steep, (1.0 - rest) / np.where(steep, last - first, 1.0), 0.0)
        steep[:, self.owner] = False
        slope = np.where(steep, slope, 0.0)
        base = np.where(steep, rest - slope * first, 1.0)
        start = np.where(steep, begin, np.maximum(end, 0.0))  # too short for a ramp: a threshold
        start = np.where(np.isfinite(margins), start, np.inf)
        slope[:, user] = 1.0 / width[:, 0]
        base[:, user] = -first_paid[:, 0] / width[:, 0]
        return start, base, slope

    def ramped(
        self, user: int, low: float, ramp: tuple[Array, Array, Array], members: Places, lows: Array
    ) -> Row:
        """Return the row of a ramp with other columns that were chosen, and all users that can be added."""
        start, base, slope = ramp
        alpha = np.full(self.owner + 1, np.inf)
        np.minimum.at(alpha, members, lows)
        start = start.copy()
        start[user] = np.inf
        row = self._lifted(alpha, start, base, slope)
        row.alpha[user] = low
        return row

    def _lifted(self, alpha: Array, start: Array, base: Array, slope: Array) -> Row:
        """Add users one after the other, those with the least thresholds first."""
        members = np.flatnonzero(np.isfinite(alpha))
        need = np.maximum(start, 0.0)
        need = np.maximum(need, (self.margins[:, members] - alpha[members]).max(axis=1, initial=0.0))
        need[members] = np.inf
        caps = np.where(self.caps > 0, self.caps, 1.0)
        open_ = (self.caps > 0) & (need < USEFUL * caps)
        while open_.any():
            part = np.where(open_, need / caps, np.inf)
            user = int(part.argmin())
            alpha[user] = need[user]
            need = np.maximum(need, self.margins[:, user] - alpha[user])
            open_ &= need < USEFUL * caps
            open_[user] = False
        return Row(alpha, base, slope)


class RowTable:
    """Rows of crowding, one below the other.

    Parameters
    ----------
    width : int
        The users, and the owner as the last.
    """

    def __init__(self, width: int) -> None:
        self.alpha, self.base, self.slope = (np.zeros((0, width)) for _ in range(3))

    def __len__(self) -> int:
        return len(self.alpha)

    def add(self, rows: list[Row]) -> None:
        """Append rows."""
        if rows:
            self.alpha = np.concatenate([self.alpha, [row.alpha for row in rows]])
            self.base = np.concatenate([self.base, [row.base for row in rows]])
            self.slope = np.concatenate([self.slope, [row.slope for row in rows]])

    def keep(self, left: NDArray[np.bool_]) -> None:
        """Keep these rows alone."""
        self.alpha, self.base, self.slope = self.alpha[left], self.base[left], self.slope[left]

    def entries(self, user: int, low: float, paid: float) -> Array:
        """Return the entries of one column in all rows."""
        inside = low >= self.alpha[:, user]
        result: Array = np.where(
            inside, np.clip(self.base[:, user] + self.slope[:, user] * paid, 0.0, 1.0), 0.0
        )
        return result

    def costs(self, prices: Array, users: Places, low: Array, paid: Array) -> Array:
        """Return the costs of columns at prices of the rows."""
        cost = np.zeros(len(users))
        priced = prices > 0
        for user in np.unique(users).tolist():
            mine = users == user
            at = np.flatnonzero(priced & np.isfinite(self.alpha[:, user]))
            shares = np.clip(self.base[at, user][:, None] + self.slope[at, user][:, None] * paid[mine], 0, 1)
            cost[mine] = prices[at] @ np.where(self.alpha[at, user][:, None] <= low[mine], shares, 0.0)
        return cost


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
        rows = self._cliques(until) + self._ramps(until)
        rows.sort(key=lambda pair: -pair[0])
        return rows

    def _collected(self, rest: Places) -> list[int]:
        """Return columns of a list, from its front, that all exclude each other."""
        members: list[int] = []
        while len(rest):
            members.append(int(rest[0]))
            rest = rest[1:][self.apart[rest[0]][rest[1:]]]
        return members

    def _cliques(self, until: float) -> list[tuple[float, Row]]:
        rows, seen = [], set()
        for first in range(len(self.users)):
            if time.monotonic() > until:
                break
            members = [first, *self._collected(np.flatnonzero(self.apart[first]))]
            key = tuple(sorted(members))
            total = float(self.values[members].sum())
            if key in seen or total < 1.0 + BROKEN:
                continue
            seen.add(key)
            rows.append((total, self.crowd.clique(self.users[members], self.low[members])))
        return rows

    def _ramps(self, until: float) -> list[tuple[float, Row]]:
        crowd, rows = self.crowd, []
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
                rows += self._ramp(user, low, weight, (start, base, slope), near)
        return rows

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
