r"""An upper bound of the divergence of shuffled binary randomized response over all data of the others.

With a of the others having the input 1 and b the input 0, and q = 1 / (E + 1), E = e^eps0, the number of ones
they report is a + X - X', X ~ Bin(b, q), X' ~ Bin(a, q). One more user has 1 or 0:

    delta(eps) = q max over s of (E - e) Pr[X - X' >= s - 1] - (e E - 1) Pr[X - X' >= s],     e = e^eps.

Sums of independent 0/1 variables have log-concave laws, so that the maximum is where Pr[X - X' = s] falls
below (E - e) / (e E - 1) times Pr[X - X' = s - 1]. All data with a from a_1 to a_2 are bounded at once by
leaving out a_2 - a_1 users, whose reports are given away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.binomials import UNIT, binomial_window

Doubles = NDArray[np.float64]

CELLS = 128
"""Into how many ranges of a all data are divided; so about a part 1 / (2 CELLS) of epsilon is lost."""


MOST_DOUBTFUL = 64
"""With more numbers at which the maximum may be, the smaller of the two terms is left out."""


def cells(others: int) -> Iterator[tuple[int, int]]:
    """Yield (a, b) such that all data of ``others`` users are some of them with further users added.

    Examples
    --------
    >>> list(cells(2))
    [(0, 2), (1, 1), (2, 0)]
    """
    count = min(CELLS, others + 1)
    edges = [(others + 1) * place // count for place in range(count + 1)]
    for low, after in pairwise(edges):
        yield low, others - (after - 1)


class Composition:
    """The delta of one victim, 1 or 0, among ``ones`` others with 1 and ``zeros`` with 0; an upper bound."""

    def __init__(self, ones: int, zeros: int, local_epsilon: float, delta: float) -> None:
        self.local_epsilon = local_epsilon
        self.grown = math.exp(local_epsilon)
        odds = 1.0 / self.grown
        tail = 1e-12 * delta / self.grown
        added, removed = binomial_window(zeros, odds, tail), binomial_window(ones, odds, tail)
        self.removed = removed.probability
        size = len(self.removed)
        # A number s is at this place of the padded arrays plus s.
        self.place = removed.first - added.first + size
        self.last = added.last - removed.first
        self.first = added.first - removed.last
        tails = np.cumsum(added.probability[::-1])[::-1]
        self.tails = np.concatenate([np.ones(size), tails, np.zeros(size)])
        self.points = np.concatenate([np.zeros(size), added.probability, np.zeros(size)])
        terms = len(added.probability) + 2 * size + 32
        self.error = 2.0 * (added.error + removed.error) + 4.0 * terms * UNIT
        self.doubt = 4.0 * self.error + 64.0 * UNIT
        self.outside = 1.01 * (added.above + added.below + removed.above + removed.below)
        # At most this much of the law at one number comes from outside the windows.
        self.stray = self.outside * max(float(added.probability.max()), float(self.removed.max()))
        self.mean = (zeros - ones) / (self.grown + 1.0)
        self.shift = 0.0  # how far the last guess was off
        self.variance = (zeros + ones) * self.grown / (self.grown + 1.0) ** 2

    def _sum(self, values: Doubles, s: int) -> float:
        start = self.place + s
        if start < 0:
            return 1.0 if values is self.tails else 0.0
        piece = values[start : start + len(self.removed)]
        return float(np.einsum("i,i->", self.removed[: len(piece)], piece))

    def _rises(self, s: int, ratio: float, surely: bool) -> bool:
        """Return whether the law at s is above ratio times the law at s - 1, surely or possibly."""
        here, before = self._sum(self.points, s), self._sum(self.points, s - 1)
        if surely:
            return here > ratio * (1.0 + self.doubt) * (before + self.stray)
        return here + self.stray > ratio * (1.0 - self.doubt) * before

    def _turn(self, ratio: float, guess: float, surely: bool) -> int:
        """Return the first s at which the law does not rise any more, surely or possibly, from a guess."""
        # Up to the mode, which is within 1 of the mean (Darroch 1964), it rises for every ratio up to 1.
        low, high = max(self.first, math.floor(self.mean) - 2), self.last + 1
        here, step = int(min(max(guess, low + 1), self.last)), 1
        rises = self._rises(here, ratio, surely)
        while low < here < high and self._rises(here, ratio, surely) == rises:
            low, high = (here, high) if rises else (low, here)
            here, step = here + (step if rises else -step), 2 * step
        if low < here < high:
            low, high = (low, here) if rises else (here, high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._rises(middle, ratio, surely) else (low, middle)
        return high

    def __call__(self, epsilon: float) -> float:
        """Return the bound of delta at a central epsilon >= 0."""
        gain = max(0.0, self.grown - math.exp(epsilon)) + 8.0 * UNIT * self.grown
        loss = math.expm1(self.local_epsilon + epsilon) * (1.0 - 16.0 * UNIT)
        if loss <= 0.0:
            return 1.0
        ratio = gain / loss
        guess = self.mean + 0.5 - self.variance * math.log(ratio) if ratio > 0.0 else self.last
        early = self._turn(ratio, guess + self.shift, surely=True)
        self.shift = early - guess
        late = self._turn(ratio, early, surely=False)
        best = gain * self._tail(self.last, 1.0)  # no later s has more
        if late - early > MOST_DOUBTFUL:
            best = max(best, gain * self._tail(early - 1, 1.0))
            late = early - 1
        for s in range(early, late + 1):
            best = max(best, gain * self._tail(s - 1, 1.0) - loss * self._tail(s, -1.0))
        return min(1.0, best * (1.0 + 16.0 * UNIT) / (self.grown + 1.0))

    def _tail(self, s: int, sign: float) -> float:
        """Return a bound of Pr[X - X' >= s], from above for sign 1 and from below for -1."""
        found = self._sum(self.tails, s) * (1.0 + sign * self.error)
        return found + self.outside if sign > 0.0 else found * max(0.0, 1.0 - self.outside)


class BinaryDivergence:
    """The upper bound of delta over all data of the others, as a function of the central epsilon.

    Parameters
    ----------
    users : int
    local_epsilon : float
    delta : float
        The delta that matters.
    """

    def __init__(self, users: int, local_epsilon: float, delta: float) -> None:
        self.local_epsilon, self.delta = local_epsilon, delta
        self.ranges = list(cells(users - 1))
        # The bound is largest near the ends, so they come first; what a range needs in memory is not kept.
        self.ranges.sort(key=min)

    def parts(self) -> Iterator[Composition]:
        """Yield the bound of each range of the data."""
        for ones, zeros in self.ranges:
            yield Composition(ones, zeros, self.local_epsilon, self.delta)

    def __call__(self, epsilon: float) -> float:
        """Return the bound of delta at a central epsilon >= 0."""
        return max(part(epsilon) for part in self.parts())

    def until(self, epsilon: float, delta: float) -> float:
        """Return the bound, or that of the first range of the data for which it is above delta."""
        worst = 0.0
        for part in self.parts():
            worst = max(worst, part(epsilon))
            if worst > delta:
                break
        return worst

    def least(self, delta: float, high: float) -> float:
        """Return a central epsilon at which delta is proven, one range of the data after the other."""
        found = 0.0
        for part in self.parts():
            if part(found) <= delta:
                continue
            low, step = found, 1e-4 * found
            while found < high:
                found = min(high, found + step) if step > 0.0 else high
                if found >= high or part(found) <= delta:
                    break
                low, step = found, 4.0 * step
            while found - low > 1e-6 * found:
                middle = low + (found - low) / 2.0
                low, found = (low, middle) if part(middle) <= delta else (middle, found)
            if found >= high:
                return high
        return found
