"""Bounds of the hockey-stick divergence of shuffled reports, for the laws that k-ary response leads to.

All are of the form (docs/families/shuffle.md)

    delta(eps) = (s (E-1)(1+e) / n) E (N - c/2 - tanh(eps/2) Y(c, M))_+ ,
    Y(c, M) = ((E+1) c / 2 + r M) / (E-1),    E = e^eps0,  e = e^eps,

with c ~ Bin(n, 2u) reports that distinguish the two inputs, N ~ Bin(c, 1/2) of them for the first, and M
reports of the rest, for which there is M ~ Bin(n-c, v) in a bound and M = n - c in an attack.

The excess of many binomials over thresholds, bounded by running sums of their probabilities.

A table has a line for each binomial and its mode in the same column; probabilities and errors are those of
the windows of :mod:`mechdesign.audit.mass`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import LEAST_WEIGHT, UNIT, Doubles, Window, binomial_window, radius

BEFORE = 2
"""The sums begin this far below the mode: thresholds are seldom below the mean."""

CELLS = 2**17
"""Largest number of cells of a table; a single line may have more."""


class Excess:
    """Running sums that bound the excess E(N - t)_+ of binomials N over thresholds t, from above or below.

    For a threshold t with whole part first + i - 1 and t' = first + i the excess is
    E(N - t')_+ + (t' - t) Pr[N >= t'].

    Parameters
    ----------
    trials : sequence of int
        Of each binomial; at most 2^50.
    odds : float
        The odds of one trial, p / (1 - p), true up to a part of 8 units of rounding.
    tails : sequence of float
        Requested size of what is omitted on each side of each binomial.
    upper : bool
        Whether the sums bound from above.

    Attributes
    ----------
    first : array
        The threshold that the sums of each binomial start at; it may be below 0.
    tails, integral : arrays
        Bounds of Pr[N >= first + i], and of E(N - first - i)_+, for i = 0, 1, ...; without the factor.
    start, size : arrays of int
        Where the sums of each binomial start, and how far from there the last ones are.
    factor : array
        What the sums have to be multiplied by to be bounds whatever was rounded.

    Examples
    --------
    >>> coins = Excess([4, 2], 1.0, [1e-9, 1e-9], upper=True)
    >>> coins.bound(np.array([3.0, 0.5])).tolist()
    [0.0625, 0.625]
    """

    def __init__(self, trials: Sequence[int], odds: float, tails: Sequence[float], upper: bool) -> None:
        self.upper = upper
        most = max(n * odds / (1.0 + odds) ** 2 for n in trials)
        width = max(1, min(max(trials), radius(most, min(tails))))
        lines = max(1, CELLS // width)
        parts = [
            _sums(window_table(trials[at : at + lines], odds, tails[at : at + lines]), width, upper)
            for at in range(0, len(trials), lines)
        ]
        self.first, self.factor = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:2])
        self.size = np.concatenate([part.size for part in parts])
        self.tails = np.concatenate([part.tails.ravel() for part in parts])
        self.integral = np.concatenate([part.integral.ravel() for part in parts])
        self.start = np.arange(len(trials)) * (len(self.tails) // len(trials))

    def bound(self, thresholds: Doubles) -> Doubles:
        """Return the bounds of the excess over the thresholds, one of each binomial, but for the factor."""
        return excess(self.tails, self.integral, thresholds - self.first, self.upper, self.start, self.size)


class WindowTable(NamedTuple):
    """Windows of several binomials, one line each.

    Attributes
    ----------
    mode, first, last : (m,) array
    falling, rising : (m, width) array
        Weights relative to the mode: one below it and further down, one above it and further up; then 0.
    total : (m,) array
        Sums of the weights: the quotients are the probabilities.
    below, above, above_mean, error : (m,) array
        As for one window.
    """

    mode: Doubles
    first: Doubles
    last: Doubles
    falling: Doubles
    rising: Doubles
    total: Doubles
    below: Doubles
    above: Doubles
    above_mean: Doubles
    error: Doubles


def window_table(trials: Sequence[int], odds: float, tails: Sequence[float]) -> WindowTable:
    """Return the windows of several binomials with the same odds; see :func:`binomial_window`."""
    n, variance = np.array(trials, dtype=np.float64), odds / (1.0 + odds) ** 2
    reach = np.array([radius(count * variance, tail) for count, tail in zip(trials, tails, strict=True)])
    mode = np.minimum(n, np.floor((n + 1.0) * (odds / (1.0 + odds))))
    width = int(max(1.0, np.minimum(reach, n).max()))
    back = odds or 1.0  # at odds of 0 the mode is 0, and nothing is below it
    ratios = _ratios(n - mode, mode, width)
    if odds == 1.0:
        rising, up = _products(ratios, np.minimum(reach, n - mode))
        falling, down = _mirrored(rising, up, mode > n - mode, reach)
    else:
        rising, up = _products(ratios * odds, np.minimum(reach, n - mode))
        falling, down = _products(_ratios(mode, n - mode, width) / back, np.minimum(reach, mode))
    total = falling.sum(axis=1) + 1.0 + rising.sum(axis=1)
    first, last = mode - down.astype(np.float64), mode + up.astype(np.float64)
    error = 32.0 * (down + up + 9).astype(np.float64) * UNIT
    above, above_mean = _beyond(_edge(rising, up) / total, (n - last) / (last + 1.0) * odds)
    below, _ = _beyond(_edge(falling, down) / total, first / (n - first + 1.0) / back)
    return WindowTable(mode, first, last, falling, rising, total, below, above, above_mean, error)


def _ratios(hits: Doubles, misses: Doubles, width: int) -> Doubles:
    """Return (hits - j) / (misses + j + 1) in column j."""
    steps = np.arange(float(width))
    ratios: Doubles = hits[:, None] - steps
    ratios /= misses[:, None] + (steps + 1.0)
    return ratios


def _products(ratios: Doubles, most: Doubles) -> tuple[Doubles, NDArray[np.int64]]:
    """Return products of ratios, at most as many in a line as stated, and how many before they underflow."""
    width = ratios.shape[1]
    if most.min() < width:
        np.copyto(ratios, 0.0, where=np.arange(width) >= most[:, None])
    products, counts = ratios.cumprod(axis=1), most.astype(np.int64)
    if (_edge(products, counts) <= LEAST_WEIGHT).any():
        products[products <= LEAST_WEIGHT] = 0.0
        counts = np.count_nonzero(products, axis=1)
    return products, counts


def _mirrored(
    rising: Doubles, up: NDArray[np.int64], is_odd: NDArray[np.bool_], reach: NDArray[np.int64]
) -> tuple[Doubles, NDArray[np.int64]]:
    """Return the weights below the mode of fair coins: those above it, and of an odd number a 1 before."""
    falling, odd = rising.copy(), np.flatnonzero(is_odd)
    falling[odd, 0], falling[odd, 1:] = 1.0, rising[odd, :-1]
    cut = odd[reach[odd] < rising.shape[1]]
    falling[cut, reach[cut]] = 0.0
    return falling, np.where(is_odd, np.minimum(up + 1, reach), up)


def _edge(weights: Doubles, counts: NDArray[np.int64]) -> Doubles:
    """Return the outermost weight of each line: 1, that of the mode, where the line is empty."""
    outermost: Doubles = weights[np.arange(len(counts)), counts - 1]
    return np.where(counts > 0, outermost, 1.0)


def _beyond(edge: Doubles, ratio: Doubles) -> tuple[Doubles, Doubles]:
    """Return bounds of sum p r^i and sum i p r^i over i >= 1; ratios further out are smaller still."""
    ratio = ratio * (1.0 + 1e-12)
    near = ratio >= 1.0 - 1e-9
    rest = np.where(near, 1.0, 1.0 - ratio)
    bound = 1.01 * edge * ratio / rest
    return np.where(near, np.inf, bound), np.where(near, np.inf, bound / rest)


class _Sums(NamedTuple):
    """Some of the lines; ``tails`` and ``integral`` are tables."""

    first: Doubles
    factor: Doubles
    size: NDArray[np.int64]
    tails: Doubles
    integral: Doubles


def _sums(window: WindowTable, width: int, upper: bool) -> _Sums:
    """Return the running sums of windows, in tables of this width."""
    lines = len(window.mode)
    table = np.zeros((lines, BEFORE + 1 + width + 1))
    reach = window.rising.shape[1]
    table[:, BEFORE] = 1.0
    table[:, BEFORE + 1 : BEFORE + 1 + reach] = window.rising
    for step in range(min(BEFORE, reach)):
        table[:, BEFORE - 1 - step] = window.falling[:, step]
    table /= window.total[:, None]
    tails = np.cumsum(table[:, ::-1], axis=1, out=table[:, ::-1])[:, ::-1]
    integral = np.zeros_like(tails)
    last = BEFORE + (window.last - window.mode).astype(np.int64)
    slack = 0.25 * window.error  # 8 units a term of a sum, where a window has 32
    if upper:
        tails += window.above[:, None]
        inner = np.where(np.arange(tails.shape[1]) <= last[:, None], tails, 0.0)
        np.cumsum(inner[:, :0:-1], axis=1, out=integral[:, -2::-1])
        integral += window.above_mean[:, None]  # E(N - last)_+, and Pr[N > last] is part of it
        factor = (1.0 + 2.0 * window.error) * (1.0 + slack)
    else:
        np.cumsum(tails[:, :0:-1], axis=1, out=integral[:, -2::-1])
        within = np.maximum(0.0, 1.0 - window.below - window.above)
        factor = (1.0 - 2.0 * window.error) * within * (1.0 - slack)
    return _Sums(window.mode - BEFORE, factor, last + 1, tails, integral)


def excess(
    tails: Doubles,
    integral: Doubles,
    distances: Doubles,
    upper: bool,
    start: NDArray[np.int64],
    size: NDArray[np.int64],
) -> Doubles:
    """Return bounds of the excess for thresholds at these distances from where the running sums start.

    ``tails`` and ``integral`` hold the sums of several variables, those of a threshold from ``start`` to
    ``start + size``.
    """
    whole = np.floor(distances) + 1.0
    place = start + np.clip(whole, 0.0, size).astype(np.int64)
    part = np.clip(whole - distances, 0.0, 1.0)
    if not upper:
        part = np.where((whole < 0.0) | (whole > size), 0.0, part)
    result: Doubles = integral[place] + part * tails[place]
    if upper:
        result += np.where(whole < 0.0, 1.0 - whole, 0.0)
    return result


MOST_USERS = 10**9
"""More users are not looked at: they only help, so that a bound for these holds for more as well."""

GROUPS, MANY_GROUPS = 8.0, 16.0
"""Groups of numbers of pairs c in a standard deviation; many where that is cheap."""

CHEAP = 1000
"""Up to this standard deviation of c many groups are cheap; beyond it few lose next to nothing."""

CENTRAL, TAIL_GROUPS = 3.5, 4.0
"""Groups more than CENTRAL standard deviations from the mean are TAIL_GROUPS times as wide."""

FEW_USERS = 4096
"""With no more users M has its own law for each number of pairs."""

PLACES = 4.0
"""Places of M in a standard deviation."""


@dataclass(frozen=True)
class Law:
    """Number of reports of each kind.

    Attributes
    ----------
    local_epsilon : float
    odds_pair : float
        2u / (1 - 2u): the odds that a report is one of those that distinguish the pair.
    odds_rest : float
        Of the other ones, the odds that a report counts among M.
    rest : float
        r, the weight of M.
    scale : float
        s.
    """

    local_epsilon: float
    odds_pair: float
    odds_rest: float = 0.0
    rest: float = 0.0
    scale: float = 1.0


def kary_law(local_epsilon: float, size: int) -> Law:
    """Return the distribution of the blanket of k-ary response; of size 2 it bounds every randomizer.

    Examples
    --------
    >>> kary_law(1.0, 2).odds_pair * math.expm1(1.0)
    2.0
    """
    excess = math.expm1(local_epsilon)
    return Law(local_epsilon, 2.0 / (excess + (size - 2)), (size - 2) / excess, 1.0 if size > 2 else 0.0)


class Divergence:
    """An upper bound of delta as a function of the central epsilon; the costly part is done once.

    Parameters
    ----------
    users : int
        n, at least 1.
    law : Law
    delta : float
        The delta that matters: windows leave out a small part of it.
    """

    def __init__(self, users: int, law: Law, delta: float) -> None:
        self.users, self.law = min(users, MOST_USERS), law
        self.less_one = math.expm1(law.local_epsilon)
        self.tail = 1e-9 * delta / (law.scale * math.exp(law.local_epsilon))
        outer = binomial_window(self.users, law.odds_pair, self.tail)
        self.outside = outer.below + outer.above
        self.least = outer.first
        self.places, self.masses = self._rest(outer.first)
        ranges = groups(outer, MANY_GROUPS if deviation(outer) <= CHEAP else GROUPS)
        most = [high for _, high, _, _ in ranges]
        # The tails of a group count with its share.
        coins = Excess(most, 1.0, [min(self.tail / share, 1e-3) for _, _, share, _ in ranges], upper=True)
        self.tails, self.integral = coins.tails, coins.integral
        # Of 0 coins the excess is 0, even where rounding has moved a threshold below 0.
        factors = np.where(np.array(most) > 0, coins.factor * outer.upper, 0.0)
        self.cells, masses, counts = self._points(ranges)
        group = np.repeat(np.arange(len(ranges)), counts)
        self.weights = masses * factors[group]
        self.coins = np.array(most, dtype=np.float64)[group]
        self.offset = 0.5 * self.coins - coins.first[group]
        self.start, self.size = coins.start[group], coins.size[group]

    def _rest(self, pairs: int) -> tuple[Doubles, Doubles]:
        """Return places and masses of M when there are ``pairs`` pairs."""
        if self.law.odds_rest == 0.0:
            return np.zeros(1), np.ones(1)
        return _spread(binomial_window(self.users - pairs, self.law.odds_rest, self.tail), PLACES)

    def _points(self, ranges: list[Group]) -> Points:
        """Return values of Y and their masses for groups of c, and the number of them of each group.

        A group is moved to its ends, and M has the law for the least c, but for its mean: both keep means and
        spread more. Of few users M has its own law for each c that is a group by itself.
        """
        cells, masses, counts = self._moved(ranges)
        if self.users > FEW_USERS or self.law.odds_rest == 0.0:
            return cells, masses, counts
        ends = counts.cumsum()[:-1]
        moved = zip(ranges, np.split(cells, ends), np.split(masses, ends), strict=True)
        parts = [
            self._alone(low, share) if low == high else (points, weights)
            for (low, high, share, _), points, weights in moved
        ]
        cells, masses = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cells, masses, np.array([len(points) for points, _ in parts])

    def _alone(self, pairs: int, share: float) -> tuple[Doubles, Doubles]:
        places, masses = self._rest(pairs)
        return self._cost(np.array(pairs), places), share * masses

    def _moved(self, ranges: list[Group]) -> Points:
        low, high, share, part = (np.array(column) for column in zip(*ranges, strict=True))
        chance = self.law.odds_rest / (1.0 + self.law.odds_rest)
        ends = np.stack([low, high], axis=1)[:, :, None]
        cells = self._cost(ends, self.places - (ends - self.least) * chance)
        weights = np.stack([share * (1.0 - part), share * part], axis=1)[:, :, None] * self.masses
        used = np.stack([np.full(len(low), True), low < high], axis=1)
        return cells[used].ravel(), weights[used].ravel(), used.sum(axis=1) * len(self.places)

    def _cost(self, pairs: NDArray[np.int64], rest: Doubles) -> Doubles:
        cost: Doubles = (0.5 * (self.less_one + 2.0) * pairs + self.law.rest * rest) / self.less_one
        # Of a difference in ``rest`` the error is that of its parts.
        parts = (self.less_one + 2.0) * pairs + self.law.rest * (self.places.max() + pairs)
        cost -= 16.0 * UNIT * parts / self.less_one
        return cost

    def __call__(self, epsilon: float) -> float:
        """Return the bound of delta at a central epsilon >= 0."""
        distances = self.offset + self.cells * math.tanh(0.5 * epsilon)
        distances -= 64.0 * UNIT * (np.abs(distances) + self.coins)
        lost = excess(self.tails, self.integral, distances, True, self.start, self.size)
        total = float((self.weights * lost).sum()) * (1.0 + 4.0 * (len(lost) + 32) * UNIT)
        factor = self.law.scale * self.less_one * (1.0 + math.exp(epsilon)) / self.users
        largest = self.law.scale * (self.less_one + 1.0)
        return min(1.0, total * factor + 1.01 * largest * self.outside)


Group = tuple[int, int, float, float]
"""The least number and the largest, their mass, and where their mean lies between them, from 0 to 1."""

Points = tuple[Doubles, Doubles, NDArray[np.int64]]
"""Values, their masses, and the number of them of each group."""


def groups(window: Window, parts: float) -> list[Group]:
    """Return groups of neighbouring numbers.

    A standard deviation has about ``parts`` groups, and fewer in the tails.
    """
    unit = deviation(window)
    narrow, wide = max(1, int(unit / parts)), max(1, int(TAIL_GROUPS * unit / parts))
    centre = int((window.values * window.probability).sum()) - window.first
    starts, start = [], 0
    while start < len(window.probability):
        starts.append(start)
        start += narrow if abs(start - centre) < CENTRAL * unit else wide
    last = np.diff(np.append(starts, len(window.probability))) - 1
    steps = np.arange(len(window.probability)) - np.repeat(starts, last + 1)
    share = np.add.reduceat(window.probability, starts)
    means = np.add.reduceat(window.probability * steps, starts)
    with np.errstate(invalid="ignore"):  # 0 of 0 steps
        part = np.where(last > 0, np.minimum(means / (share * last), 1.0), 0.0)
    low = window.first + np.array(starts)
    columns = (column[share > 0.0].tolist() for column in (low, low + last, share, part))
    return list(zip(*columns, strict=True))


def _spread(window: Window, parts: float) -> tuple[Doubles, Doubles]:
    """Return few places and masses that have the mean of the window's law and are spread at least as far.

    What the window leaves out below is put at 0, what it leaves out above at its end.
    """
    count = len(window.probability)
    width = max(1, int(deviation(window) / parts))
    if width == 1:
        places, masses = window.values, window.probability * window.upper
    else:
        blocks = -(-count // width)
        padded = np.zeros(blocks * width)
        padded[:count] = window.probability
        table = padded.reshape(blocks, width)
        steps = np.arange(width, dtype=np.float64)
        masses = np.zeros(blocks + 1)
        masses[:-1] += (table * (width - steps)).sum(axis=1) / width
        masses[1:] += (table * steps).sum(axis=1) / width
        places = window.first + width * np.arange(blocks + 1, dtype=np.float64)
        masses *= window.upper * (1.0 + 4.0 * (width + 8) * UNIT)
    places, masses = np.append(places, 0.0), np.append(masses, window.below)
    masses[-2] += window.above
    return places, masses


def deviation(window: Window) -> float:
    """Return the standard deviation of the window's law, about."""
    mean = float((window.values * window.probability).sum())
    return math.sqrt(float(((window.values - mean) ** 2 * window.probability).sum()))
