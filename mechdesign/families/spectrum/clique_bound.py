"""A proven bound for crowded maps: cliques alone, on intervals of radii that are split and merged.

A clique has thresholds of users at most one of whose radii is above its own. Columns, rows and why no
allocation breaks them are those of ``interval_bound``; of the rows there are only cliques. Entries are 0
and 1, so that a program of thousands of columns takes tenths of a second, and each round splits hundreds of
intervals. A split lies on the threshold of a tight row, where the row leaves off. Intervals that no solution
uses are merged again, so that the program stays small. Many users of one channel get a good allocation first,
then this bound and better allocations, in the time that there is.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.allocation import least_level
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.interval_bound import (
    FULL,
    LOOSE,
    SIMPLEX,
    USEFUL,
    Crowd,
    CuttingPlanes,
    IntervalProgram,
    gathered,
)
from mechdesign.families.spectrum.local_search import LEVELS, STEPS, Greedy, RadiiAtLevel, annealed, crossed
from mechdesign.solvers.descent import Steps
from mechdesign.solvers.highs import packed

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
        totals: dict[tuple[int, ...], float] = {}
        for first in range(len(users)):
            if time.monotonic() > until:
                break
            near = np.flatnonzero(apart[first])
            sets = [[first, *gathered(near, apart)]]
            if first < HEAVY:
                sets.append(_weighed(first, near, apart, values))
            for members in sets:
                total = float(values[members].sum())
                if total > 1.0 + BROKEN:
                    totals[tuple(sorted(members))] = total
        rows = []
        for chosen in sorted(totals, key=lambda key: -totals[key])[:MOST]:
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
    rest: Array = margins - taken
    with np.errstate(invalid="ignore"):
        shift = rest - margins
        error = (margins - (rest - shift)) - (taken + shift)
    return np.where(error > 0, np.nextafter(rest, np.inf), rest)


def _weighed(first: int, near: Places, apart: NDArray[np.bool_], values: Array) -> list[int]:
    """Return columns that all exclude each other, each one leaving most weight to those after it."""
    members, inner, weights = [first], apart[np.ix_(near, near)], values[near]
    left = np.ones(len(near), dtype=bool)
    while left.any():
        best = int(np.where(left, inner @ (weights * left) + weights, -1.0).argmax())
        members.append(int(near[best]))
        left &= inner[best]
    return members


Truths = NDArray[np.bool_]

START, FIRST_RADII = 5, 24
"""Intervals of each radius, and of L, to start with."""

BLOCKS = 2
"""Blocks of steps in a round."""

USED = 1e-3
"""Intervals with more weight than this may be split."""

SPLITS, SMALL, SMALLEST = 300, 0.01, 3e-5
"""A round splits at most ``SPLITS`` intervals, those that are worth most: at least this part of the
largest revenue of a user, at first and at last."""

NARROWEST = 2e-5
"""Intervals that are shorter than this part of the largest radius are not split."""

IDLE, UNUSED, POOR = 2, 1e-5, 2e-3
"""Two intervals are merged when they had less weight than ``UNUSED`` for ``IDLE`` rounds, and the merged one
is worse than the user's best by this part of its largest revenue."""

TIGHT = 1e-5
"""Rows with a larger price, as a part of the largest revenue, say where intervals are split."""


class Thresholds(IntervalProgram):
    """The program of a channel with cliques alone.

    Attributes
    ----------
    users, low, high, paid : arrays
        The columns, ordered by user and radius.
    values, left : arrays
        The last solution, and the reduced gains less the best one of the user.
    """

    def __init__(self, channel: Channel, best: RadiiAtLevel, gap: float) -> None:
        super().__init__(channel, best, gap)
        self.rows = Cliques(self.crowd)
        self._grid(best.value)
        self.served = np.unique(self.users)
        self.exactly = self.served == self.crowd.owner
        self.values, self.left = np.zeros(len(self.users)), np.zeros(len(self.users))
        self.idle = np.zeros(len(self.users), dtype=np.int64)
        self.own = np.zeros(len(self.served))
        """Prices of the users' rows."""
        self.largest = float(self.crowd.paid(self.served, self.crowd.caps[self.served]).max())
        self.small = SMALL

    def _grid(self, value: float) -> None:
        parts: list[tuple[int, Array]] = []
        for user, cap in enumerate(self.crowd.caps[:-1].tolist()):
            if cap > 0:
                inner = np.linspace(0.0, cap, START + 1)[:-1]
                parts.append((user, np.append(inner, [cap * (1.0 - FULL), cap])))
        if self.channel.owner is not None:
            least, most = least_level(self.channel, value), self.channel.most
            points = np.geomspace(least, most, FIRST_RADII + 1)
            points[0], points[-1] = least * (1.0 - FULL), most
            parts.append((self.crowd.owner, points))
        self.users = np.concatenate([np.full(len(ends) - 1, user) for user, ends in parts])
        self.low = np.concatenate([ends[:-1] for _, ends in parts])
        self.high = np.concatenate([ends[1:] for _, ends in parts])
        self.paid = self.crowd.paid(self.users, self.high)

    # One round

    def tighten(self, until: float) -> None:
        """Take steps, prove, add broken rows, then close, merge and split intervals."""
        matrix = self._matrix().tocsr()
        groups = np.searchsorted(self.served, self.users)
        steps = Steps(matrix, self.paid, groups, self.exactly, np.ones(len(groups), dtype=bool))
        prices = np.concatenate([self.own, self.rows.prices])
        self.values, prices = steps.taken(self.values, prices, until, 0.0, BLOCKS)
        self._take(matrix, prices)
        if self.bound <= self.cutoff:
            return
        new = self.rows.broken(self.users, self.low, self.values, until)
        self._close()
        self._merge()
        self._split()
        self.rows.drop()
        self.rows.add(new)

    def suggestion(self) -> tuple[list[int], float]:
        """Return users in the order of what the last solution pays for them, and its L (0 where idle)."""
        worth = np.where(self.users == self.crowd.owner, 0.0, self.values * self.paid)
        order = self.users[np.argsort(-worth, kind="stable")][: int((worth > 0).sum())]
        owners = np.flatnonzero(self.users == self.crowd.owner)
        level = float(self.low[owners[self.values[owners].argmax()]]) if len(owners) else 0.0
        return list(dict.fromkeys(order.tolist())), level

    def finish(self, seconds: float) -> None:
        """Solve the program once by an interior point method."""
        matrix = self._matrix()
        exactly = np.append(self.exactly, np.zeros(len(self.rows), dtype=bool))
        solution = packed(self.paid, matrix, exactly, seconds)
        if solution is not None and np.isfinite(solution[1]).all():
            self.values = solution[0]
            self._take(matrix.tocsr(), solution[1])

    def _matrix(self) -> Any:
        """Return the matrix by columns: rows of users, then cliques."""
        from scipy.sparse import csc_array

        rows, columns = self.rows.entries(self.users, self.low, len(self.served))
        groups = np.searchsorted(self.served, self.users)
        rows = np.concatenate([groups, rows])
        columns = np.concatenate([np.arange(len(groups)), columns])
        shape = (len(self.served) + len(self.rows), len(groups))
        return csc_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def _take(self, matrix: Any, prices: Array) -> None:
        """Compute the bound from the multipliers, by weak duality; the best prices of users are exact."""
        count = len(self.served)
        prices = np.append(prices[:count], np.maximum(prices[count:], 0.0))
        self.rows.solved((matrix @ self.values)[count:], prices[count:])
        gains = self.paid - matrix[count:].T @ prices[count:]
        best = np.where(self.exactly, -np.inf, 0.0)
        groups = np.searchsorted(self.served, self.users)
        np.maximum.at(best, groups, gains)
        self.own, self.left = best, gains - best[groups]
        slack = LOOSE * float(prices[count:].sum() + np.abs(best).sum() + np.abs(self.paid).max())
        self.total = float(prices[count:].sum() + best.sum()) + slack
        self.bound = min(self.bound, self.total)

    # Columns

    def _adjoining(self) -> Truths:
        """Return for each column whether the one before it ends where it begins."""
        same = (self.users[1:] == self.users[:-1]) & (self.high[:-1] == self.low[1:])
        return np.append(False, same)

    def _close(self) -> None:
        """Remove columns whose intervals, below and above, hold nothing above the cutoff.

        A radius inside an interval is a mixture of its two ends: both have to be poor. Below the lowest end
        is 0, which is never poor. Where the column below is gone, the interval held nothing already.
        """
        poor = self.total + self.left < self.cutoff
        joined = self._adjoining()
        below = np.where(joined, np.append(False, poor[:-1]), self.low > 0)
        above = np.append(~joined[1:] | poor[1:], True)
        gone = np.where(self.users == self.crowd.owner, poor, poor & below & above)
        if gone.any():
            self.closed = True
            self._keep(~gone)
        if self.exactly.any() and not (self.users == self.crowd.owner).any():
            self.bound = -math.inf  # no L has an allocation above the cutoff

    def _merge(self) -> None:
        """Merge neighbors that no solution used lately and that do not pay together.

        The lower one has a column below it, or begins at 0: radii in it are mixtures with that one's end.
        """
        self.idle = np.where(self.values < UNUSED, self.idle + 1, 0)
        joined = self._adjoining()
        lower = np.flatnonzero(joined) - 1
        upper = lower + 1
        worth = self.left[lower] + self.paid[upper] - self.paid[lower]
        fits = (worth < -POOR * self.largest) & (self.high[upper] < self.crowd.caps[self.users[upper]])
        fits &= (self.idle[lower] >= IDLE) & (self.idle[upper] >= IDLE)
        fits &= joined[lower] | (self.low[lower] == 0.0)
        keep, last = np.ones(len(self.users), dtype=bool), -2
        for place in lower[fits].tolist():
            if place > last + 1:
                self.low[place + 1] = self.low[place]
                self.left[place + 1] = self.left[place] + self.paid[place + 1] - self.paid[place]
                keep[place], last = False, place
        self._keep(keep)

    def _keep(self, keep: Truths) -> None:
        for name in ("users", "low", "high", "paid", "values", "left", "idle"):
            setattr(self, name, getattr(self, name)[keep])

    def _split(self) -> None:
        """Split the intervals that the solution uses.

        A split lies at the threshold with the highest price inside, or where a user in use leaves off, or in
        the middle.
        """
        used = np.flatnonzero(self.values > USED)
        floor = np.maximum(self.low, NARROWEST * self.crowd.caps[self.users])
        worth = self.values[used] * (self.paid - self.crowd.paid(self.users, floor))[used]
        least = self.small * self.largest
        order = used[np.argsort(-worth, kind="stable")][: min(SPLITS, int((worth > least).sum()))]
        if len(order) < SPLITS / 3 and self.small > SMALLEST:
            self.small /= 2.0
        users, low, high = self.users[used], self.low[used], self.high[used]
        tight = self.rows.prices > TIGHT * self.largest
        alpha, prices = self.rows.alpha[tight], self.rows.prices[tight]
        places, points = [], []
        for column in order.tolist():
            user, least, most = int(self.users[column]), float(self.low[column]), float(self.high[column])
            width = most - least
            if width < NARROWEST * self.crowd.caps[user]:
                continue
            mine = alpha[:, user]
            inside = (mine > least + 0.01 * width) & (mine < most - 0.01 * width)
            if inside.any():
                point = float(mine[np.where(inside, prices, -1.0).argmax()])
            else:
                margins = self.crowd.margins[user, users]
                ties = np.concatenate([margins - low, margins - high])
                ties = ties[(ties > least + 0.2 * width) & (ties < most - 0.2 * width)]
                middle = least + width / 2.0
                point = float(ties[np.abs(ties - middle).argmin()]) if len(ties) else middle
            places.append(column)
            points.append(point)
        self._divide(np.array(places, dtype=np.int64), np.array(points))

    def _divide(self, places: Places, points: Array) -> None:
        """Put a column of the lower part before each of these; the upper part keeps its weight."""
        low, users = self.low[places], self.users[places]
        self.low[places] = points
        none = np.zeros(len(places))
        parts = {"users": users, "low": low, "high": points, "paid": self.crowd.paid(users, points)}
        parts |= {"values": none, "left": none, "idle": none.astype(np.int64)}
        for name, part in parts.items():
            setattr(self, name, np.insert(getattr(self, name), places, part))


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
    started, worked = time.monotonic(), time.thread_time()
    until, rounds_until = started + seconds, started + (1.0 - LAST) * seconds
    greedy, best = Greedy(channel), quick(channel, until)
    best = _searched(greedy, best, LONGER, started + SHARE * seconds)
    planes = CuttingPlanes(channel, best, gap)
    gaps: list[float] = []
    rounds, hard = 0, False
    while time.monotonic() < (rounds_until if rounds else until) and planes.tighten(until):
        rounds += 1
        best, guess = followed(greedy, planes, best)
        # Other programs make no map hard, so it is the time of the processor that decides here.
        if not hard and planes.bound > planes.cutoff and time.thread_time() > worked + SHARE / 2.0 * seconds:
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
