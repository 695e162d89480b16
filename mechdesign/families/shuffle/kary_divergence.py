"""An upper bound of the divergence of shuffled binary randomized response over all data of the others.

With a of the others having the input 1 and b the input 0, and q = 1 / (E + 1), E = e^eps0, the number of ones
they report is a + X - X', X ~ Bin(b, q), X' ~ Bin(a, q). One more user has 1 or 0:

    delta(eps) = q max over s of (E - e) Pr[X - X' >= s - 1] - (e E - 1) Pr[X - X' >= s],     e = e^eps.

Sums of independent 0/1 variables have log-concave laws, so that the maximum is where Pr[X - X' = s] falls
below (E - e) / (e E - 1) times Pr[X - X' = s - 1]. All data with a from a_1 to a_2 are bounded at once by
leaving out a_2 - a_1 users, whose reports are given away.

An upper bound of the divergence of shuffled reports for a finite channel, by positive sums on a lattice.

With omega the least entry of each column of the channel, and L = (R_x - e^eps R_x') / omega of a report,

    delta(eps) <= 1/n  E ( sum over n of Z )_+ ,   Z = L(y) with probability omega(y), else 0

(Balle, Bell, Gascon, Nissim 2019, lemma 5.3). The law of Z is moved to a lattice, which keeps its mean and
only spreads it; sums of 2, 4, 8, ... follow by convolution, on ever coarser lattices. All terms are positive,
so that rounding errors are relative and counted; what is cut off below is moved up, what is cut off above is
paid for in full.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import UNIT, binomial_window
from mechdesign.exact.randomness import exp_lower, float_up
from mechdesign.families.shuffle.fair_coins import trimmed

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
        self.law: dict[int, float] = {}  # the searches look at the same few numbers again and again
        self.mean = (zeros - ones) / (self.grown + 1.0)
        self.shift = 0.0  # how far the last guess was off
        self.variance = (zeros + ones) * self.grown / (self.grown + 1.0) ** 2

    def _sum(self, values: Doubles, s: int) -> float:
        start = self.place + s
        if start < 0:
            return 1.0 if values is self.tails else 0.0
        piece = values[start : start + len(self.removed)]
        return float(np.einsum("i,i->", self.removed[: len(piece)], piece))

    def _at(self, s: int) -> float:
        """Return the law at s, without what is outside the windows."""
        if s not in self.law:
            self.law[s] = self._sum(self.points, s)
        return self.law[s]

    def _rises(self, s: int, ratio: float, surely: bool) -> bool:
        """Return whether the law at s is above ratio times the law at s - 1, surely or possibly."""
        here, before = self._at(s), self._at(s - 1)
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
        tail = self._sum(self.tails, s) * (1.0 + sign * self.error)
        return tail + self.outside if sign > 0.0 else tail * max(0.0, 1.0 - self.outside)


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
        self.users, self.local_epsilon, self.delta = users, local_epsilon, delta

    def parts(self) -> Iterator[Composition]:
        """Yield the bound of each range of the data."""
        return _parts(self.users, self.local_epsilon, self.delta)

    def __call__(self, epsilon: float) -> float:
        """Return the bound of delta at a central epsilon >= 0."""
        worst = self.until(epsilon, self.delta)
        return worst if worst <= self.delta else self.until(epsilon, math.inf)

    def until(self, epsilon: float, delta: float) -> float:
        """Return the bound, or that of the first range of the data for which it is above delta."""
        return _worst(self.users, self.local_epsilon, self.delta, epsilon, delta)

    def at_ends(self, epsilon: float) -> float:
        """Return the largest bound of the first ranges of the data: those next to its ends."""
        return max(part(epsilon) for part in islice(self.parts(), 2))

    def least(self, delta: float, high: float) -> float:
        """Return a central epsilon at which delta is proven, one range of the data after the other."""
        result = 0.0
        for part in self.parts():
            if part(result) <= delta:
                continue
            low, step = result, 1e-4 * result
            while result < high:
                result = min(high, result + step) if step > 0.0 else high
                if result >= high or part(result) <= delta:
                    break
                low, step = result, 4.0 * step
            while result - low > 1e-6 * result:
                middle = low + (result - low) / 2.0
                low, result = (low, middle) if part(middle) <= delta else (middle, result)
            if result >= high:
                return high
        return result


def _parts(users: int, local_epsilon: float, delta: float) -> Iterator[Composition]:
    # The bound is largest near the ends, so they come first; what a range needs in memory is not kept.
    for ones, zeros in sorted(cells(users - 1), key=min):
        yield Composition(ones, zeros, local_epsilon, delta)


@lru_cache(maxsize=1024)
def _worst(users: int, local_epsilon: float, delta: float, epsilon: float, level: float) -> float:
    """Return the largest bound of the ranges, up to the first one above the level.

    Remembered, as a protocol, its certificates and its file ask for the same one.
    """
    worst = 0.0
    for part in _parts(users, local_epsilon, delta):
        worst = max(worst, part(epsilon))
        if worst > level:
            break
    return worst


Row = Sequence[Fraction]

UNDERFLOW = 1e-280
"""More than all probabilities that are too small for doubles."""

POINTS = 2048
"""The most points of a lattice before it is made coarser."""


@dataclass(frozen=True)
class Atoms:
    """The distribution of one report for a pair of inputs: mass omega, and both laws in units of it."""

    mass: tuple[Fraction, ...]
    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]


def atoms_of(rows: Sequence[Row], first: int, second: int) -> Atoms:
    """Return the atoms of a pair of inputs; reports with the same two ratios are one.

    Every column of the channel has to be positive, or zero for all inputs.

    Examples
    --------
    >>> third = Fraction(1, 3)
    >>> found = atoms_of([(2 * third, third), (third, 2 * third)], 0, 1)
    >>> [str(mass) for mass in found.mass], [str(ratio) for ratio in found.first]
    (['1/3', '1/3'], ['2', '1'])
    """
    merged: dict[tuple[Fraction, Fraction], Fraction] = {}
    for column in zip(*rows, strict=True):
        least = min(column)
        if least > 0:
            key = (column[first] / least, column[second] / least)
            merged[key] = merged.get(key, Fraction(0)) + least
    ratios = sorted(merged)
    ratios.reverse()
    return Atoms(
        tuple(merged[key] for key in ratios),
        tuple(one for one, _ in ratios),
        tuple(two for _, two in ratios),
    )


def kary_atoms(grown: Fraction, size: int) -> Atoms:
    """Return the atoms of k-ary response with a rational e^eps0; of size 2 those of the worst pair of all.

    Examples
    --------
    >>> [str(mass) for mass in kary_atoms(Fraction(3), 4).mass]
    ['1/6', '1/3', '1/6']
    """
    each, one = 1 / (grown + size - 1), Fraction(1)
    if size == 2:
        return Atoms((each, each), (grown, one), (one, grown))
    return Atoms((each, (size - 2) * each, each), (grown, one, one), (one, one, grown))


@dataclass(frozen=True)
class _Sum:
    """A law on ``step * (first, first + 1, ...)`` with a relative ``error``; ``lost`` was cut off above.

    No value is above ``top``, not even one that was cut off.
    """

    step: float
    first: int
    chance: Doubles
    lost: float
    error: float
    top: float

    def coarser(self) -> _Sum:
        """Return the law on a lattice of twice the step: what is between its points goes to both halves."""
        odd_start = self.first % 2
        padded = np.zeros(2 * ((len(self.chance) + odd_start + 1) // 2))
        padded[odd_start : odd_start + len(self.chance)] = self.chance
        moved = np.append(padded[0::2] + 0.5 * padded[1::2], 0.0)
        moved[1:] += 0.5 * padded[1::2]
        first = (self.first - odd_start) // 2
        error, top = self.error + 4.0 * UNIT, self.top + 2.0 * self.step
        return _Sum(2.0 * self.step, first, moved, self.lost, error, top)

    def trimmed(self, cut: float) -> _Sum:
        """Return the distribution without tails of this mass: the lower one moved up, the upper one lost."""
        chance, low, lost = trimmed(self.chance, cut)
        error = self.error + 2.0 * (low + 2) * UNIT
        return _Sum(self.step, self.first + low, chance, self.lost + lost, error, self.top)

    def plus(self, other: _Sum, cut: float) -> _Sum:
        """Return the distribution of the sum of two independent variables on the same lattice."""
        shorter = min(len(self.chance), len(other.chance))
        total = _Sum(
            self.step,
            self.first + other.first,
            np.convolve(self.chance, other.chance),
            self.lost + other.lost,
            self.error + other.error + 2.0 * (shorter + 8) * UNIT,
            self.top + other.top,
        ).trimmed(cut)
        return total.coarser() if len(total.chance) > POINTS else total


class LatticeDivergence:
    """The upper bound of delta for one pair of inputs of a finite channel, as a function of epsilon.

    Parameters
    ----------
    users : int
    atoms : Atoms
    delta : float
        The delta that matters: about a part 10^-6 of it is cut off.
    """

    def __init__(self, users: int, atoms: Atoms, delta: float) -> None:
        self.users, self.atoms, self.delta = users, atoms, delta

    def __call__(self, epsilon: float) -> float:
        """Return the bound of delta at a central epsilon >= 0."""
        single = self._single(epsilon)
        law = self._power(single, 1e-8 * self.delta / (single.top * self.users))
        values = law.first + np.arange(len(law.chance), dtype=np.float64)
        excess = float((np.maximum(values, 0.0) * law.chance).sum()) * law.step / self.users
        bound = excess * (1.0 + 2.0 * law.error + 4.0 * (len(values) + 8) * UNIT)
        return min(1.0, bound + 1.01 * law.top / self.users * (law.lost + UNDERFLOW))

    def _power(self, single: _Sum, tail: float) -> _Sum:
        """Return the law of the sum of ``users`` variables, by squaring; ``tail`` a user may be cut off."""
        result: _Sum | None = None
        power, count = self.users, 1
        while True:
            cut = tail * count
            if power & 1:
                result = single if result is None else _added(result, single, cut)
            power >>= 1
            if power == 0:
                assert result is not None  # the highest digit of a positive number is 1
                return result
            single, count = single.plus(single, cut), 2 * count

    def _single(self, epsilon: float) -> _Sum:
        """Return the distribution of Z on a lattice, its values rounded up."""
        grown = exp_lower(epsilon)
        atoms = self.atoms
        values = [float_up(one - grown * two) for one, two in zip(atoms.first, atoms.second, strict=True)]
        masses = [float(mass) for mass in atoms.mass]
        nothing = float(1 - sum(atoms.mass))
        values, masses = [*values, 0.0], [*masses, nothing]
        mean = sum(mass * value for mass, value in zip(masses, values, strict=True))
        spread = sum(mass * (value - mean) ** 2 for mass, value in zip(masses, values, strict=True))
        extent = max(values) - min(values)
        step = max(0.02 * math.sqrt(spread), extent / POINTS, 1e-300)
        if self.users < 200:
            step = max(extent / POINTS, 1e-300)
        first = math.floor(min(values) / step)
        chance = np.zeros(math.floor(max(values) / step) - first + 3)
        for value, mass in zip(values, masses, strict=True):
            place = math.floor(value / step)
            part = min(1.0, value / step - place + 1e-12 * (1.0 + abs(place))) if value != 0.0 else 0.0
            chance[place - first] += mass * (1.0 - part)
            chance[place - first + 1] += mass * part
        top = (first + len(chance)) * step
        return _Sum(step, first, chance, 0.0, 8.0 * (len(values) + 4) * UNIT, top)


def _added(one: _Sum, other: _Sum, cut: float) -> _Sum:
    """Return the distribution of the sum of two variables, on the coarser of their lattices."""
    while one.step < other.step:
        one = one.coarser()
    while other.step < one.step:
        other = other.coarser()
    return one.plus(other, cut)
