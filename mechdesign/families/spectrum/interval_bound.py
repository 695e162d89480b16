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

A proven bound for many users: a linear program of intervals of radii, refined where its solution is.

Columns are intervals of radii (:mod:`mechdesign.families.spectrum.interval_bound`). Each round solves the
program, adds the rows that its solution breaks, and splits the intervals it uses. Columns that no allocation
above the cutoff needs are closed. The bound is computed from the multipliers, whatever the solver says.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.allocation import least_level
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.local_search import RadiiAtLevel
from mechdesign.solvers.descent import SteppedProgram
from mechdesign.solvers.highs import GrowingProgram

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


def gathered(rest: Places, apart: NDArray[np.bool_]) -> list[int]:
    """Return columns of a list, from its front, that all exclude each other."""
    members: list[int] = []
    while len(rest):
        members.append(int(rest[0]))
        rest = rest[1:][apart[rest[0]][rest[1:]]]
    return members


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

    def _cliques(self, until: float) -> list[tuple[float, Row]]:
        rows, seen = [], set()
        for first in range(len(self.users)):
            if time.monotonic() > until:
                break
            members = [first, *gathered(np.flatnonzero(self.apart[first]), self.apart)]
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
        members = gathered(near[order], self.apart)
        chosen = np.isin(near, members)
        total = weight + float(share[chosen].sum())
        if total < 1.0 + BROKEN:
            return []
        return [(total, self.crowd.ramped(user, low, ramp, self.users[members], self.low[members]))]


START, LEVELS = 4, 12
"""Intervals of each radius, and of L, to start with."""

FULL = 2.0**-30
"""The last interval of a radius is this part of it: it stands for the largest radius alone."""

IDLE = 4
"""Rows are dropped after this many rounds in a row in which they were not tight."""

SLACK = 1e-4
"""A row is not tight where its sum is below 1 by more than this."""

LOOSE = 2.0**-28
"""Rows may be off by this part, for their entries are computed in doubles."""

MOST = 2500
"""Rows that are added at a time, at most: those that are broken most."""

SMALL, SMALLEST, MARGIN = 1e-4, 1e-7, 0.02
"""Intervals are split that are worth at least the part SMALL of the value at first, SMALLEST at last, and not
nearer to an end than the part MARGIN of them."""

FEW = 20
"""Where fewer intervals are split, those that are worth less are next."""

INNER = 2
"""How often rows are added between two refinements, where the program is small."""

SIMPLEX = 600
"""With more columns than these the program is solved by first-order steps."""

PRECISION = 0.5
"""These steps end when their bound is off by this part of what is above the cutoff."""


class IntervalProgram:
    """A linear program of intervals of radii, with a cutoff above the best allocation.

    Parameters
    ----------
    channel : Channel
    best : RadiiAtLevel
        The best allocation known.
    gap : float
        The cutoff is above the best value by this part of its revenue.
    """

    def __init__(self, channel: Channel, best: RadiiAtLevel, gap: float) -> None:
        self.channel, self.crowd, self.gap = channel, Crowd(channel), gap
        self.cutoff = -math.inf
        self.offer(best)
        self.closed = False
        """Whether there were columns that no allocation above the cutoff needs."""
        caps = np.maximum(self.crowd.caps[:-1], 0.0)
        self.bound = math.fsum(channel.revenue(caps).tolist()) * (1.0 + LOOSE)
        """No allocation that needs no closed column exceeds it."""

    def offer(self, best: RadiiAtLevel) -> None:
        """Take an allocation: what is closed from now on is above it by ``gap`` of its revenue at most."""
        revenue = float(self.channel.revenue(best.radii).sum())
        self.cutoff = max(self.cutoff, best.value + self.gap * revenue)

    @property
    def proven(self) -> float:
        """Upper bound of all allocations: the program's bound, or the cutoff where columns were closed."""
        return max(self.bound, self.cutoff) if self.closed else self.bound


class CuttingPlanes(IntervalProgram):
    """The program of a channel with cliques and ramps."""

    def __init__(self, channel: Channel, best: RadiiAtLevel, gap: float) -> None:
        super().__init__(channel, best, gap)
        self.program: GrowingProgram | SteppedProgram = GrowingProgram()
        users, low, high = self._grid(best.value)
        self.users = np.array(users, dtype=np.int64)
        self.low, self.high = np.array(low), np.array(high)
        self.paid = self.crowd.paid(self.users, self.high)
        self.open = np.ones(len(users), dtype=bool)
        self.program.columns(self.paid)
        self.served = np.unique(self.users)
        for user in self.served.tolist():
            mine = np.flatnonzero(self.users == user)
            self.program.row(mine, np.ones(len(mine)), exactly=user == self.crowd.owner)
        self.rows = RowTable(len(self.crowd.caps))
        self.added = 0
        """Rows added in the last round."""
        self.small = SMALL
        self.age = np.zeros(0, dtype=np.int64)

    def _grid(self, value: float) -> tuple[list[int], list[float], list[float]]:
        users: list[int] = []
        ends: list[tuple[float, float]] = []
        for user, cap in enumerate(self.crowd.caps[:-1].tolist()):
            if cap > 0:
                points = [*np.linspace(0.0, cap * (1.0 - FULL), START + 1).tolist(), cap]
                ends += list(pairwise(points))
                users += [user] * (START + 1)
        if self.channel.owner is not None:
            least, most = least_level(self.channel, value), self.channel.most
            points = np.geomspace(least, most, LEVELS + 1).tolist()
            points[0], points[-1] = least * (1.0 - FULL), most
            ends += list(pairwise(points))
            users += [self.crowd.owner] * LEVELS
        return users, [low for low, _ in ends], [high for _, high in ends]

    # One round

    def tighten(self, until: float) -> bool:
        """Solve the program and add the rows that its solution breaks; False where nothing was solved."""
        solved, self.added = False, 0
        for _ in range(1 if isinstance(self.program, SteppedProgram) else INNER):
            if not self._solved(until):
                return solved
            solved = True
            self._prove()
            if self.bound <= self.cutoff or time.monotonic() > until:
                break
            values = np.where(self.open, self.program.values, 0.0)
            used = Used(self.crowd, self.users, self.low, self.high, values)
            broken = used.broken(until)[:MOST]
            self.added += len(broken)
            self._add([row for _, row in broken])
            if not broken:
                break
        self._drop()
        return True

    def polish(self, until: float) -> None:
        """Find better multipliers of the rows there are."""
        if isinstance(self.program, SteppedProgram):
            while time.monotonic() < until and self.bound > self.cutoff:
                self.program.solve(until - time.monotonic(), 0.0)
                self._prove()

    def _solved(self, until: float) -> bool:
        if isinstance(self.program, GrowingProgram):
            if len(self.users) <= SIMPLEX:
                return self.program.solve(until - time.monotonic())
            self.program = self._stepped(self.program)
        error = PRECISION * max(self.bound - self.cutoff, 0.0)
        return self.program.solve(until - time.monotonic(), error)

    def _stepped(self, small: GrowingProgram) -> SteppedProgram:
        """Return the program for first-order steps, with the solution so far."""
        groups = np.searchsorted(self.served, self.users)
        program = SteppedProgram(self.paid, groups, self.served == self.crowd.owner)
        program.rows(self._shares(self.rows.alpha, self.rows.base, self.rows.slope))
        program.close(np.flatnonzero(~self.open))
        program.begin(small.values, small.multipliers)
        return program

    def _shares(self, alpha: Array, base: Array, slope: Array) -> list[tuple[Places, Array]]:
        """Return the columns of rows, with their entries."""
        taken = []
        for a, b, s in zip(alpha, base, slope, strict=True):
            entries = self.crowd.entries(Row(a, b, s), self.users, self.low, self.paid)
            columns = np.flatnonzero(entries > LOOSE)
            taken.append((columns, entries[columns]))
        return taken

    def _add(self, rows: list[Row]) -> None:
        if rows:
            self.rows.add(rows)
            new = slice(len(self.rows) - len(rows), None)
            self.program.rows(
                self._shares(*(t[new] for t in (self.rows.alpha, self.rows.base, self.rows.slope)))
            )
            self.age = np.concatenate([self.age, np.zeros(len(rows), dtype=np.int64)])

    def _drop(self) -> None:
        sums = self.program.sums[len(self.served) :]
        loose = np.zeros(len(self.age), dtype=bool)
        loose[: len(sums)] = sums < 1.0 - SLACK
        self.age = np.where(loose, self.age + 1, 0)
        gone = self.age >= IDLE
        if gone.any():
            self.program.drop(np.flatnonzero(gone) + len(self.served))
            self.rows.keep(~gone)
            self.age = self.age[~gone]

    # What is proven

    def _prove(self) -> None:
        """Compute the bound from the multipliers; close columns that nothing above the cutoff needs."""
        count, owner = len(self.served), self.crowd.owner
        prices = np.maximum(self.program.multipliers, 0.0)
        if owner in self.served:  # its row is an equation
            prices[count - 1] = self.program.multipliers[count - 1]
        cost = prices[np.searchsorted(self.served, self.users)]
        cost += self.rows.costs(prices[count:], self.users, self.low, self.paid)
        left = np.where(self.open, self.paid - cost, -np.inf)
        slack = LOOSE * float(np.abs(prices).sum() + np.abs(self.paid).max())
        total = float(prices.sum()) + slack
        for user in self.served.tolist():  # the columns of a user sum to 1 at most, those of the owner to 1
            mine = self.users == user
            best = float(left[mine].max(initial=-np.inf))
            if user == owner:
                total += best
                left[mine] -= min(best, 0.0)
            else:
                total += max(best, 0.0)
        self.bound = min(self.bound, total)
        self._close(total + left < self.cutoff)
        if owner in self.served and not self.open[self.users == owner].any():
            self.bound = -math.inf  # no L has an allocation above the cutoff

    def _close(self, poor: NDArray[np.bool_]) -> None:
        """Close columns whose intervals, below and above, hold nothing above the cutoff.

        A radius inside an interval is a mixture of its two ends: both have to be poor.
        """
        order = np.lexsort((self.high, self.users))
        ranked, users = poor[order], self.users[order]
        same = users[1:] == users[:-1]
        below = np.append(False, same & ranked[:-1])  # below the lowest end is 0, which is never poor
        above = np.append(~same | ranked[1:], True)
        needless = np.where(users == self.crowd.owner, ranked, ranked & below & above)
        closing = order[needless & self.open[order]]
        if len(closing):
            self.closed = True
            self.open[closing] = False
            self.program.close(closing)

    # Refining

    def _values(self) -> Array:
        """Return the solution, 0 for columns that are newer."""
        values = self.program.values
        return np.concatenate([values, np.zeros(len(self.users) - len(values))])

    def refine(self, best: RadiiAtLevel, guess: RadiiAtLevel) -> int:
        """Split the intervals that the solution uses, where guesses lie or neighbours leave off."""
        values, caps = self._values(), self.crowd.caps
        used = np.flatnonzero((values > USED) & self.open)
        low = np.where(self.low > 0, self.low, NARROW * caps[self.users])
        worth = values[used] * (self.paid - self.crowd.paid(self.users, low))[used]
        ranked = np.argsort(-worth, kind="stable")
        while (worth >= self.small * abs(best.value)).sum() < FEW and self.small > SMALLEST:
            self.small /= 4.0
        ranked = ranked[worth[ranked] >= self.small * abs(best.value)]
        others = used[np.argsort(-values[used], kind="stable")]
        users = self.users[others]
        wide = self.high[others] - self.low[others] > NARROW * caps[users]
        taken = np.where(wide, self.high[others], self.low[others])
        guesses = [np.append(vector.radii, vector.level) for vector in (guess, best)]
        splits: list[tuple[int, float, float]] = []
        for column in used[ranked].tolist():
            user, least, most = int(self.users[column]), float(self.low[column]), float(self.high[column])
            width = most - least
            if width <= 2.0 * NARROW * caps[user]:
                continue
            left = (self.crowd.margins[user, users] - taken)[users != user]
            tries = np.concatenate([[vector[user] for vector in guesses], left])
            inside = tries[(tries > least + MARGIN * width) & (tries < most - MARGIN * width)]
            point = float(inside[0]) if len(inside) else least + width / 2.0
            self._split(column, user, point)
            splits.append((user, least, point))
        if splits:
            new = np.array([user for user, _, _ in splits], dtype=np.int64)
            ends = np.array([point for _, _, point in splits])
            self.users = np.concatenate([self.users, new])
            self.low = np.concatenate([self.low, [least for _, least, _ in splits]])
            self.high = np.concatenate([self.high, ends])
            self.paid = np.concatenate([self.paid, self.crowd.paid(new, ends)])
            self.open = np.concatenate([self.open, np.ones(len(splits), dtype=bool)])
        return len(splits)

    def _split(self, column: int, user: int, point: float) -> None:
        """Add the column of the lower part; the upper part keeps the place of the whole."""
        low, count = float(self.low[column]), len(self.served)
        paid = float(self.crowd.paid(np.array([user]), np.array([point]))[0])
        entries = self.rows.entries(user, low, paid)
        rows = np.flatnonzero(entries > LOOSE)
        own = int(np.searchsorted(self.served, user))
        self.program.column(paid, np.append(own, rows + count), np.append(1.0, entries[rows]))
        above = self.rows.entries(user, point, float(self.paid[column]))
        alpha = self.rows.alpha[:, user]
        for row in np.flatnonzero((low < alpha) & (point >= alpha)).tolist():
            self.program.entry(row + count, column, float(above[row]))
        self.low[column] = point

    def suggestion(self) -> tuple[list[int], float]:
        """Return users in the order of what the solution pays for them, and its L."""
        values = self._values()
        worth = values * self.paid
        order: dict[int, None] = {}
        for column in np.argsort(-worth, kind="stable").tolist():
            if values[column] > USED and self.users[column] != self.crowd.owner:
                order.setdefault(int(self.users[column]))
        owners = np.flatnonzero((self.users == self.crowd.owner) & (values > USED))
        level = float(self.low[owners[values[owners].argmax()]]) if len(owners) else 0.0
        return list(order), level
