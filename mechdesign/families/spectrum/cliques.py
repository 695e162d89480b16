"""Cliques: thresholds of users at most one of whose radii is above its own; which ones a solution breaks."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.crowding import USEFUL, Crowd

Array = NDArray[np.float64]
Places = NDArray[np.int64]

WEIGHT = 2e-3
"""Columns with more weight than this are gathered."""

BROKEN, MOST = 0.01, 1500
"""Rows are added where they are broken by ``BROKEN``, at most ``MOST`` at a time."""

HEAVY = 300
"""The search from this number of heaviest columns also weighs what a member leaves to the next ones."""

LOOSE_SUM, LOOSE_PRICE, OLD = 0.99, 1e-3, 8
"""Rows are dropped that were below this sum, at less than this price, for ``OLD`` rounds."""


class Cliques:
    """Rows of thresholds alpha, infinite for users who are not concerned; with prices and ages.

    For any two users of a row ``alpha_i + alpha_j >= m_ij`` holds in exact numbers: at most one of two radii
    that keep their distance is above its threshold.
    """

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.alpha = np.zeros((0, len(crowd.caps)))
        self.prices, self.sums = np.zeros(0), np.zeros(0)
        self.age = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.alpha)

    def add(self, rows: list[Array]) -> None:
        """Append rows."""
        if rows:
            none = np.zeros(len(rows))
            self.alpha = np.concatenate([self.alpha, rows])
            self.prices, self.sums = np.append(self.prices, none), np.append(self.sums, none)
            self.age = np.append(self.age, none.astype(np.int64))

    def solved(self, sums: Array, prices: Array) -> None:
        """Take the rows' sums and prices of a solution."""
        self.sums, self.prices = sums, prices
        loose = (sums < LOOSE_SUM) & (prices < LOOSE_PRICE)
        self.age = np.where(loose, self.age + 1, 0)

    def drop(self) -> None:
        """Drop the rows that were loose for long."""
        left = self.age < OLD
        self.alpha, self.age = self.alpha[left], self.age[left]
        self.prices, self.sums = self.prices[left], self.sums[left]

    def entries(self, users: Places, low: Array, first: int) -> tuple[Places, Places]:
        """Return rows, from ``first`` on, and columns of all entries 1; columns are ordered."""
        ends = np.searchsorted(users, np.arange(len(self.crowd.caps) + 1))
        rows, columns = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for user in range(len(self.crowd.caps)):
            begin, end = int(ends[user]), int(ends[user + 1])
            at = np.flatnonzero(np.isfinite(self.alpha[:, user]))
            start = begin + np.searchsorted(low[begin:end], self.alpha[at, user])
            counts = end - start
            rows.append(np.repeat(at + first, counts))
            before = np.repeat(np.cumsum(counts) - counts, counts)
            columns.append(np.repeat(start, counts) + np.arange(int(counts.sum())) - before)
        return np.concatenate(rows), np.concatenate(columns)

    def broken(self, users: Places, low: Array, values: Array, until: float) -> list[Array]:
        """Return thresholds of rows that a solution breaks, those that are broken most."""
        used = np.flatnonzero(values > WEIGHT)
        used = used[np.argsort(-values[used], kind="stable")]
        users, low, values = users[used], low[used], values[used]
        apart = low >= rest_of(self.crowd.margins[np.ix_(users, users)], low[:, None])
        apart |= users[:, None] == users
        np.fill_diagonal(apart, False)
        found: dict[tuple[int, ...], float] = {}
        for first in range(len(users)):
            if time.monotonic() > until:
                break
            near = np.flatnonzero(apart[first])
            sets = [_gathered(first, near, apart)]
            if first < HEAVY:
                sets.append(_weighed(first, near, apart, values))
            for members in sets:
                total = float(values[members].sum())
                if total > 1.0 + BROKEN:
                    found[tuple(sorted(members))] = total
        rows = []
        for chosen in sorted(found, key=lambda key: -found[key])[:MOST]:
            members = list(chosen)
            alpha = np.full(len(self.crowd.caps), np.inf)
            np.minimum.at(alpha, users[members], low[members])
            rows.append(self.lowered(alpha))
        return rows

    def lowered(self, alpha: Array) -> Array:
        """Return the thresholds lowered as far as the others allow, with all users that can be added.

        Each is set to what the others need, rounded up: of two, the one that was set last fits the other.
        """
        margins, caps = self.crowd.margins, self.crowd.caps
        members = np.flatnonzero(np.isfinite(alpha))
        for user in members[np.argsort(alpha[members], kind="stable")].tolist():
            others = members[members != user]
            alpha[user] = rest_of(margins[user, others], alpha[others]).max(initial=0.0)
        need = np.maximum(rest_of(margins[:, members], alpha[members]).max(axis=1), 0.0)
        need[members] = np.inf
        least = np.where(caps > 0, USEFUL * caps, -np.inf)
        while True:
            part = np.where(need < least, need / np.maximum(caps, 1e-300), np.inf)
            user = int(part.argmin())
            if not np.isfinite(part[user]):
                return alpha
            alpha[user] = need[user]
            need = np.maximum(need, rest_of(margins[:, user], alpha[user]))
            need[user] = np.inf


def rest_of(margins: Array, taken: Array) -> Array:
    """Return the least doubles that make up the margins together with what is taken, in exact numbers.

    The rounding error of a difference is itself a double (Knuth), so that its sign is known.

    Examples
    --------
    >>> rest_of(np.array([1.0, np.inf]), np.array([2.0**-60, 1.0])).tolist()
    [1.0, inf]
    >>> float(rest_of(np.array([1.0]), np.array([-(2.0**-60)]))[0]) > 1.0
    True
    """
    found: Array = margins - taken
    with np.errstate(invalid="ignore"):
        shift = found - margins
        error = (margins - (found - shift)) - (taken + shift)
    return np.where(error > 0, np.nextafter(found, np.inf), found)


def _gathered(first: int, near: Places, apart: NDArray[np.bool_]) -> list[int]:
    """Return columns from the front of a list that all exclude each other."""
    members = [first]
    while len(near):
        members.append(int(near[0]))
        near = near[1:][apart[near[0]][near[1:]]]
    return members


def _weighed(first: int, near: Places, apart: NDArray[np.bool_], values: Array) -> list[int]:
    """Return columns that all exclude each other, each one leaving most weight to those after it."""
    members, inner, weights = [first], apart[np.ix_(near, near)], values[near]
    left = np.ones(len(near), dtype=bool)
    while left.any():
        best = int(np.where(left, inner @ (weights * left) + weights, -1.0).argmax())
        members.append(int(near[best]))
        left &= inner[best]
    return members
