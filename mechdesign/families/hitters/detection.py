"""What a design of levels finds, certified by exact binomial tails.

**The test of a level.** A group of N users reports prefixes of l bits. The number of reports that support a
prefix that nobody has is Bin(N, q); a prefix is kept if its support reaches t(N), the least t with
P(Bin(N, q) >= t) <= a. So a false prefix is kept with probability at most a, whatever N.

**Loss.** A string of share f raises the probability of support of its prefix to r = q + f (p - q) at least.
If the users are drawn from a population in which the share is f, the support is Bin(N, r). If f is the
share among the users themselves, N of whom are the group, the number who have the string is hypergeometric,
hence a sum of N independent bits (Vatutin and Mikhailov 1982), and so is the support; its lower tail is at
most that of Bin(N, r) for t <= N r (Hoeffding 1956). Either way the prefix is lost with probability at most
P(Bin(N, r) < t(N)). N itself is Bin(n, w) for a group that each user joins with probability w; its
probabilities are summed. The string is lost somewhere with at most the sum over the levels.

**What is kept.** Let m of the N users have a prefix. It is kept with probability at most s(m), the tail of
Bin(N, q + (m/N)(p - q)) (Hoeffding) or 1 where t <= N q + m (p - q) + 1. The users' m sum to N. So of C
prefixes C a + D are kept on average at most, D = max over m of (s(m) - a) N / m: as many as if nobody had
any, and those that somebody has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Wholes = NDArray[np.int64]

WINDOW = 6.5
"""Sizes of a group within so many standard deviations are summed; the rest counts as a loss."""

BLOCKS = 1024
"""Sizes of a group are summed in at most so many blocks, each by its worst size."""

STEPS = 44
"""Halvings of a bound, or steps towards the least share, at most."""

CLOSE = 1e-8
"""How close the least share is approached from above, relative."""

HALVINGS, EVERY = 13, 16
"""The first halvings for the least share use one block in this many, to predict the result."""

CACHED_STEP = 18
LARGE_TABLE_WEIGHT = 8.0
"""Additions to tables of more than 2^18 entries take about eight times as long (measured: 27 and 3 ns)."""

MULTIPLES = np.geomspace(0.02, 1.0, 200)
"""The shares at which the expected number of prefixes that are kept is looked at, in units of the largest."""

NEARBY = 4
"""So near to the normal law's quantile the binomial one is looked for first."""

SLACK = 1.0 + 1e-9
"""More than the relative error of a binomial tail in doubles."""


def upper_tail(counts: Any, users: Any, chance: Any) -> Array:
    """Return P(Bin(users, chance) >= counts), elementwise.

    Examples
    --------
    >>> upper_tail(2, 3, 0.5).item()
    0.5
    """
    return _tail(counts, users, chance, True)


def lower_tail(counts: Any, users: Any, chance: Any) -> Array:
    """Return P(Bin(users, chance) < counts), elementwise and accurate where it is small.

    Examples
    --------
    >>> lower_tail(2, 3, 0.5).item()
    0.5
    """
    return _tail(counts, users, chance, False)


def _tail(counts: Any, users: Any, chance: Any, is_upper: bool) -> Array:
    from scipy.special import betainc, betaincc

    least, size = np.asarray(counts, dtype=np.float64), np.asarray(users, dtype=np.float64)
    inside = (least >= 1) & (least <= size)
    a, b = np.where(inside, least, 1.0), np.where(inside, size - least + 1.0, 1.0)
    tail = (betainc if is_upper else betaincc)(a, b, chance)
    return np.asarray(np.where(inside, tail, (least < 1) == is_upper))


def binomial_thresholds(users: Any, chance: float, alarm: float) -> Wholes:
    """Return the least t with P(Bin(users, chance) >= t) <= alarm for each number of users.

    Examples
    --------
    >>> binomial_thresholds([10, 1000], 0.5, 0.05).tolist()
    [9, 527]
    """
    size = np.atleast_1d(np.asarray(users, dtype=np.int64))
    low, high = np.zeros(len(size), dtype=np.int64), size + 1  # the tail at low is above, at high below alarm
    spread = np.sqrt(size * chance * (1.0 - chance)) + 1.0
    near = size * chance + spread * math.sqrt(2.0 * max(-math.log(alarm), 0.0) + 1e-9)
    near = np.minimum(near + 2.0 * max(-math.log(alarm), 0.0) + 2.0, size + 1).astype(np.int64)
    enough = upper_tail(near, size, chance) <= alarm
    low, high = np.where(enough, low, near), np.where(enough, near, high)
    low = np.where(enough, np.maximum(low, (size * chance - spread * 9.0).astype(np.int64)), low)
    for guess in _expected_thresholds(size, chance, alarm):  # they shorten the search, nothing else
        middle = np.clip(guess, low + 1, np.maximum(high - 1, low + 1))
        below = upper_tail(middle, size, chance) <= alarm
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        below = upper_tail(middle, size, chance) <= alarm
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return high


def _expected_thresholds(users: Wholes, chance: float, alarm: float) -> tuple[Wholes, Wholes]:
    """Return numbers a little below and above the thresholds, by the normal law with its skewness."""
    z = _normal_quantile(alarm)
    skewed = users * chance + (z * z - 1.0) * (1.0 - 2.0 * chance) / 6.0
    near = np.floor(skewed + z * np.sqrt(users * chance * (1.0 - chance)) + 0.5).astype(np.int64)
    return near - 1, near + 2


def _normal_quantile(tail: float) -> float:
    """Return the normal quantile of an upper tail, at least 0."""
    from statistics import NormalDist

    return -NormalDist().inv_cdf(min(tail, 0.5))


@dataclass(frozen=True)
class Level:
    """One group of users and its test.

    Attributes
    ----------
    start, length : int
        Bits of the prefixes that are extended, and of those that the group reports.
    share : float
        Probability that a user is in the group.
    alarm : float
        Largest probability that a prefix that nobody has is kept.
    """

    start: int
    length: int
    share: float
    alarm: float

    @property
    def step(self) -> int:
        """Bits by which prefixes are extended."""
        return self.length - self.start


@dataclass(frozen=True)
class GroupSizes:
    """Blocks of sizes of a group, their probabilities, and the thresholds of the level.

    ``low`` and ``high`` are the least and the largest size of each block, ``first`` and ``last`` the
    thresholds at these; ``outside`` is the probability of all other sizes.
    """

    low: Wholes
    high: Wholes
    mass: Array
    outside: float
    first: Wholes
    last: Wholes


@lru_cache(maxsize=256)
def group_sizes(users: int, share: float, chance: float, alarm: float) -> GroupSizes:
    """Return the sizes that a group of a binomial number of users has, in blocks."""
    if share >= 1.0:
        size = np.array([users])
        tests = binomial_thresholds(size, chance, alarm)
        return GroupSizes(size, size, np.ones(1), 0.0, tests, tests)
    spread = WINDOW * math.sqrt(users * share * (1.0 - share)) + WINDOW
    least, most = max(0, int(users * share - spread)), min(users, int(users * share + spread) + 1)
    edges = np.unique(np.linspace(least, most + 1, min(most + 1 - least, BLOCKS) + 1).astype(np.int64))
    above = upper_tail(edges, users, share)
    below = lower_tail(edges, users, share)
    mass = np.where(edges[:-1] > users * share, above[:-1] - above[1:], below[1:] - below[:-1])
    outside = float(below[0] + above[-1])
    low, high = edges[:-1], edges[1:] - 1
    first = binomial_thresholds(low, chance, alarm)
    last = first if (low == high).all() else binomial_thresholds(high, chance, alarm)
    return GroupSizes(low, high, np.maximum(mass, 0.0), outside, first, last)


@dataclass(frozen=True)
class Detection:
    """A design of levels for a number of users: what it finds, what it lists wrongly, what it costs.

    Attributes
    ----------
    users : int
    own, other : float
        p and q: probabilities that a report supports its own prefix, and another one.
    buckets : int
        Bits of a hash.
    levels : tuple of Level
    known : int
        Number of known strings, which are followed in any case.

    Examples
    --------
    >>> levels = (Level(0, 6, 0.4, 1e-3), Level(6, 12, 0.6, 1e-4))
    >>> design = Detection(10_000, 0.55, 0.125, 3, levels)
    >>> share = design.least_share(0.1)
    >>> round(share, 4), round(design.loss(share), 4)
    (0.0585, 0.1)
    """

    users: int
    own: float
    other: float
    buckets: int
    levels: tuple[Level, ...]
    known: int = 0

    def _sizes(self, level: Level) -> GroupSizes:
        return group_sizes(self.users, level.share, self.other, level.alarm)

    def losses(self, share: float) -> list[float]:
        """Return for each level the largest probability that a string of this share is lost there."""
        return [self._lost(level, share) for level in self.levels]

    def _lost(self, level: Level, share: float, every: int = 1) -> float:
        """Return the loss of a level; about it, where only some of the blocks are looked at."""
        sizes = self._sizes(level)
        low, last, mass = sizes.low[::every], sizes.last[::every], sizes.mass[::every]
        if every > 1:
            mass = mass / mass.sum()
        chance = min(self.other + share * (self.own - self.other), 1.0)
        # in a block the fewest users face the largest threshold
        lost = np.where(last > low * chance, 1.0, 0.0)
        tails = lower_tail(last, low, chance)
        lost = np.maximum(tails, lost * (tails >= 0.5))  # Hoeffding's bound needs t <= N r
        return min(1.0, SLACK * float(mass @ lost) + sizes.outside)

    def loss(self, share: float) -> float:
        """Return the largest probability that a string of this share is not listed: the sum over levels."""
        return sum(self.losses(share))

    def least_share(self, failure: float) -> float:
        """Return the least share that is listed with probability ``1 - failure``; infinity where none is."""
        return _least_share(self, failure)

    def may_list(self, share: float, failure: float) -> bool:
        """Return whether :meth:`least_share` can be below a share, by a single look: losses fall in shares.

        Examples
        --------
        >>> design = Detection(10_000, 0.55, 0.125, 3, design_levels([6, 12], [0.4, 0.6], [1e-3, 1e-4]))
        >>> design.may_list(0.058, 0.1), design.may_list(0.059, 0.1)
        (False, True)
        """
        sums = accumulate(self._lost(level, share) for level in self.levels)  # up to the first beyond
        return share >= 1.0 or all(lost <= failure for lost in sums)

    def held(self, level: Level) -> float:
        """Return D: how many prefixes that somebody has are kept on average at most."""
        return _held(self.users, self.own, self.other, level.share, level.alarm)

    @property
    def survivors(self) -> tuple[float, ...]:
        """How many prefixes are kept after each level on average at most, known ones included."""
        *_, last = self._entering
        return (*self._entering[1:], self._after(self.levels[-1], last))

    @cached_property
    def _entering(self) -> tuple[float, ...]:
        """How many prefixes each level extends on average at most."""
        result = [1.0]
        for level in self.levels[:-1]:
            result.append(self._after(level, result[-1]))
        return tuple(result)

    def _after(self, level: Level, before: float) -> float:
        """Return how many prefixes are kept after a level that extends so many."""
        candidates = before * 2.0**level.step
        rare = self._sizes(level).outside * self.users  # no more prefixes that somebody has than users
        return candidates * level.alarm * SLACK + self.held(level) + rare + self.known

    @property
    def false_strings(self) -> float:
        """How many listed strings nobody has, on average at most."""
        last = self.levels[-1]
        return self._entering[-1] * 2.0**last.step * last.alarm * SLACK

    @property
    def work(self) -> float:
        """Additions of the server on average at most: g - 1 a report and prefix, s 2^s a transform.

        Prefixes below a threshold that the server follows for guesses come on top.
        """
        total = 0.0
        for level, before in zip(self.levels, self._entering, strict=True):
            total += before * level_work(self.users * level.share, self.buckets, level.start, level.step)
        return total


@lru_cache(maxsize=256)
def _held(users: int, own: float, other: float, share: float, alarm: float) -> float:
    """Return D of a level; designs that differ in another level ask for the same."""
    sizes = group_sizes(users, share, other, alarm)
    pick = np.unique(np.linspace(0, len(sizes.low) - 1, 17).astype(np.int64))
    pairs = list(zip(pick, pick[1:] if len(pick) > 1 else pick, strict=False))
    if any(sizes.low[first] < 1 for first, _ in pairs):
        return math.inf
    worst = 1.0
    for first, last in pairs:
        least, most, threshold = int(sizes.low[first]), int(sizes.high[last]), int(sizes.first[first])
        shares = MULTIPLES * max(threshold / least - other, 1e-12) * 2.0
        shares /= own - other
        chance = np.minimum(other + shares * (own - other) * most / least, 1.0)
        tail, unknown = np.ones(len(shares)), threshold > most * chance + 1.0
        tail[unknown] = upper_tail(threshold, most, chance[unknown])
        floor = float(upper_tail(threshold, most, other)) if first == 0 else 0.0
        worst = max(worst, float(((tail[1:] - floor) / shares[:-1]).max()), 1.0 / float(shares[-1]))
    return worst


@lru_cache(maxsize=64)
def _least_share(design: Detection, failure: float) -> float:
    """Return the least share, from above: by the chord of the logarithms, or halving where that is slow."""
    low, high = 0.0, 1.0
    target, below, above = math.log(failure), 0.0, math.log(max(design.loss(1.0), 1e-300))
    if above > target:
        return math.inf
    turns = HALVINGS
    for _ in range(HALVINGS):  # as some of the blocks foresee
        middle = (low + high) / 2.0
        lost = sum(design._lost(level, middle, EVERY) for level in design.levels)
        low, high = (low, middle) if lost <= failure else (middle, high)
    ends = [math.log(max(design.loss(share), 1e-300)) for share in (low, high)]
    if ends[0] <= target or ends[1] > target:
        low, high, turns = 0.0, 1.0, 0
    else:
        below, above = ends if low > 0.0 else (below, ends[1])
    for turn in range(turns, 2 * STEPS):
        part = (below - target) / (below - above) if turn >= HALVINGS and turn % 3 else 0.5
        middle = low + (high - low) * min(max(part, 0.02), 0.98)
        lost = math.log(max(design.loss(middle), 1e-300))
        if lost <= target:
            high, above = middle, lost
        else:
            low, below = middle, lost
        if high - low < CLOSE * high:
            break
    return high


@lru_cache(maxsize=64)
def single_test_bound(users: int, own: float, other: float, failure: float, alarm: float) -> float:
    """Return a share below which no design of levels lists a string with probability ``1 - failure``.

    Whatever the levels: a string that differs from all others in its first bits is listed if every level
    keeps its prefix. That is one test of n reports, which support with probability q, or with r if the
    string has share f. Its probabilities of false alarm multiply to at most ``alarm``, the expected false
    strings over the number of strings, and its loss is at most ``failure``. By Neyman and Pearson no test
    of n reports has a smaller false alarm at this loss than that of a threshold of the total support.

    Examples
    --------
    >>> round(single_test_bound(10_000, 0.55, 0.125, 0.1, 2.0**-12), 4)
    0.0379
    """
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        share = (low + high) / 2.0
        chance = other + share * (own - other)
        threshold = _last_within(users, chance, failure)
        if float(upper_tail(threshold + 1, users, other)) > alarm:
            low = share
        else:
            high = share
    return low / SLACK


def _last_within(users: int, chance: float, failure: float) -> int:
    """Return the largest t with P(Bin(users, chance) < t) <= failure."""
    low, high = 0, users + 1
    near = users * chance - _normal_quantile(failure) * math.sqrt(users * chance * (1.0 - chance))
    for guess in (int(near) - NEARBY, int(near) + NEARBY):  # they shorten the search, nothing else
        if low < guess < high:
            below = float(lower_tail(guess, users, chance)) <= failure
            low, high = (guess, high) if below else (low, guess)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(lower_tail(middle, users, chance)) <= failure else (low, middle)
    return low


def level_work(users: Any, buckets: int, start: int, step: int) -> Any:
    """Return the additions of the server for one prefix: of a table beyond the processor's cache, eightfold.

    Examples
    --------
    >>> level_work(1000, 3, 0, 4)
    7064.0
    """
    weight = LARGE_TABLE_WEIGHT if start and step > CACHED_STEP else 1.0
    return weight * (users * (2.0**buckets - 1.0) + step * 2.0**step)


def design_levels(
    lengths: Sequence[int], shares: Sequence[float], alarms: Sequence[float]
) -> tuple[Level, ...]:
    """Return the levels of lengths, probabilities of groups and false alarms.

    Examples
    --------
    >>> [level.step for level in design_levels([6, 12], [0.4, 0.6], [1e-3, 1e-4])]
    [6, 6]
    """
    starts = [0, *lengths[:-1]]
    return tuple(
        Level(int(start), int(length), float(share), float(alarm))
        for start, length, share, alarm in zip(starts, lengths, shares, alarms, strict=True)
    )
