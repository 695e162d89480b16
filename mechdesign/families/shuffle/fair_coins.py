"""One unit hidden in a random number of fair coins: what most protocols in the shuffle model come down to.

Let s other messages each stand, with the same chance, for one of two values, and let a user's own message
stand for the first with chance a and the second with chance b, or the other way round. The adversary sees s
and how many stand for the first. Own messages that stand for neither have the same law under both inputs;
telling them to the adversary can only help him, so they are left out and a + b may be below 1.

A unit may also be hidden in each of several rows of counts at once. In every row a user's own message stands
for one of two values, and each of T further messages is with chance c a fair coin between the two. With s
coins in a row and j messages for the first value the likelihood ratio is j / (s + 1 - j). The ratios of rows
multiply: their logarithms are rounded up to a lattice, and convolved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import SLACK, UNIT, Mass, binomial_mass, compounded
from mechdesign.exact.randomness import exp_lower, float_down
from mechdesign.families.shuffle.divergence import Divergence, excess_terms, positive_sum

HALF = Fraction(1, 2)

FINENESS = 8
"""Numbers of coins are grouped, this many groups to a standard deviation; each counts as its smallest."""

WIDTH = 2e-5
"""Groups need not be narrower than this part of the number of coins: about this part of the noise is lost."""

RARE = 2.0**-70
"""Larger numbers of coins than come with this part of the chance are one group: less would not be seen."""


def coins_divergence(coins: int, own: Fraction, other: Fraction, epsilon: float) -> Divergence:
    """Return the divergence for a known number of fair coins, rounded up.

    With B binomial of that many coins it is sum_j (a B(j-1) + b B(j) - e^eps (b B(j-1) + a B(j)))_+; the
    other direction is the same by symmetry.

    Parameters
    ----------
    coins : int
    own, other : Fraction
        a and b, the chances that the own message stands for the own value and for the other one; a + b is
        at most 1.
    epsilon : float

    Examples
    --------
    >>> round(coins_divergence(1, Fraction(1), Fraction(0), 0.0), 12)
    0.5
    """
    return 0.0 if _alone(own, other, epsilon) else Hidden(own, other, epsilon).among(coins)


def _alone(own: Fraction, other: Fraction, epsilon: float) -> bool:
    """Whether the user's message is private without any crowd: no term of any sum is positive."""
    rational = exp_lower(epsilon)
    return own <= rational * other and other <= rational * own


MOST_KEPT = 1 << 14
"""Laws of more coins are long, and are not kept."""


@dataclass(frozen=True, eq=False)
class FairCoins:
    """The law of a number of fair coins, and its running sums.

    Attributes
    ----------
    law : Mass
    at_least : (k + 1,) array
        Sums of ``law.mass`` from each entry on; the last one is 0.
    """

    law: Mass
    at_least: NDArray[np.float64]

    @classmethod
    def of(cls, coins: int) -> FairCoins:
        """Return the law of this many."""
        law = binomial_mass(coins, HALF)
        return cls(law, np.append(law.mass[::-1].cumsum()[::-1], 0.0))

    def from_on(self, number: int) -> float:
        """Return the chance of ``number`` heads or more, but for rounding and what the law leaves out."""
        return float(self.at_least[min(max(0, number - self.law.low), len(self.at_least) - 1)])


@lru_cache(maxsize=1024)
def _few_coins(coins: int) -> FairCoins:
    """Return the law of ``coins`` fair coins; kept, as a calibration needs the same numbers often."""
    return FairCoins.of(coins)


def _coins(coins: int) -> FairCoins:
    return _few_coins(coins) if coins <= MOST_KEPT else FairCoins.of(coins)


def fair_coins(coins: int) -> Mass:
    """Return the law of ``coins`` fair coins; short ones are kept.

    Examples
    --------
    >>> fair_coins(2).mass
    array([0.25, 0.5 , 0.25])
    """
    return _coins(coins).law


class Hidden:
    """A user's message among fair coins: the divergence for each number s of coins, rounded up.

    With a > b and e = e^eps the term of j is positive where B(j-1) / B(j) = j / (s + 1 - j) is above
    (e a - b) / (a - e b), so from the first j on that is at least the part
    (e a - b) / ((a - b) (e + 1)) of s + 1. The sum of these terms is

        a Pr[B >= j - 1] + b Pr[B >= j] - e (b Pr[B >= j - 1] + a Pr[B >= j]).

    Parameters
    ----------
    own, other : Fraction
        As in :func:`coins_divergence`, and not private without a crowd.
    epsilon : float
    """

    def __init__(self, own: Fraction, other: Fraction, epsilon: float) -> None:
        more, less = max(own, other), min(own, other)
        factor = float_down(exp_lower(epsilon))
        exact = Fraction(factor)
        self._first = (exact * more - less) / ((more - less) * (exact + 1))
        upwards, downwards = 1.0 + SLACK, factor * (1.0 - SLACK)
        self._top = float(more) * upwards, float(less) * upwards
        self._bottom = float(less) * downwards, float(more) * downwards

    def among(self, coins: int) -> Divergence:
        """Return the divergence among this many coins.

        Examples
        --------
        >>> round(Hidden(Fraction(1), Fraction(0), 0.0).among(1), 12)
        0.5
        """
        first = -(-(coins + 1) * self._first.numerator // self._first.denominator)
        fair = _coins(coins)
        before, here = fair.from_on(first - 1), fair.from_on(first)
        # A law's own error, and one rounding for each of its terms in a running sum.
        error = compounded(fair.law.error, (len(fair.at_least) + 2) * UNIT)
        top = (self._top[0] * before + self._top[1] * here) * (1.0 + error)
        bottom = (self._bottom[0] * before + self._bottom[1] * here) * (1.0 - error)
        return min(1.0, max(0.0, top * (1.0 + SLACK) - bottom * (1.0 - SLACK)) + fair.law.tail)


@lru_cache(maxsize=1024)
def blanket_divergence(
    trials: int, chance: Fraction, own: Fraction, other: Fraction, epsilon: float
) -> Divergence:
    """Return the divergence for a binomial number of fair coins, rounded up.

    Parameters
    ----------
    trials : int
        How many messages of honest users may be a coin.
    chance : Fraction
        That one is.
    own, other : Fraction
        As in :func:`coins_divergence`; own + other at most 1.
    epsilon : float

    Notes
    -----
    The divergence falls with the number of coins, because one more coin only adds noise: so a group of
    numbers is counted as its smallest, which is an upper bound.

    Examples
    --------
    >>> round(blanket_divergence(2, Fraction(1, 2), Fraction(1), Fraction(0), 0.0), 12)  # 1/4 + 1/4 + 1/8
    0.625
    """
    return crowd_divergence(((trials, chance),), own, other, epsilon)


@lru_cache(maxsize=1024)
def crowd_divergence(
    crowds: tuple[tuple[int, Fraction], ...], own: Fraction, other: Fraction, epsilon: float
) -> Divergence:
    """Return the same for coins from independent crowds, each given by its number of messages and its chance.

    Examples
    --------
    >>> half, whole = Fraction(1, 2), Fraction(1)
    >>> round(crowd_divergence(((1, half), (1, half)), whole, Fraction(0), 0.0), 12)  # as of two together
    0.625
    """
    if _alone(own, other, epsilon):
        return 0.0
    coins, shares, tail = coin_groups(crowds)
    hidden, total = Hidden(own, other, epsilon), 0.0
    for count, share in zip(coins, shares, strict=True):
        total += share * hidden.among(count)
    return min(1.0, total * (1.0 + (len(coins) + 4) * UNIT) + tail)


def coin_groups(crowds: tuple[tuple[int, Fraction], ...]) -> tuple[list[int], list[float], float]:
    """Return the least number of coins of each group of numbers, its chance rounded up, and what is missing.

    Examples
    --------
    >>> coins, shares, _ = coin_groups(((2, Fraction(1, 2)),))
    >>> coins, [round(share, 12) for share in shares]
    ([0, 1, 2], [0.25, 0.5, 0.25])
    """
    number = Mass(0, np.ones(1))
    for trials, chance in crowds:
        number = number.convolved(binomial_mass(trials, chance))
    mean = sum(trials * float(chance) for trials, chance in crowds)
    variance = sum(trials * float(chance) * float(1 - chance) for trials, chance in crowds)
    return *_grouped(number, mean, math.sqrt(variance)), number.tail


def _grouped(
    number: Mass, mean: float, deviation: float, fineness: int = FINENESS
) -> tuple[list[int], list[float]]:
    """Return the least number of each group and its chance, rounded up; the last has all that is above."""
    starts = _starts(number, mean, deviation, fineness)
    upper = number.upper()
    shares = np.add.reduceat(upper, starts)
    starts = starts[shares[::-1].cumsum()[::-1] > RARE * shares.sum()]
    lengths = np.diff(np.append(starts, len(upper)))
    shares = np.add.reduceat(upper, starts) * (1.0 + (lengths + 2) * UNIT)
    return (number.low + starts).tolist(), shares.tolist()


@lru_cache(maxsize=1024)
def group_divergence(trials: int, flip: Fraction, bits: int, epsilon: float) -> Divergence:
    """Return the divergence of all ones and all zeros of one user, flipped bits among others' flipped bits.

    Parameters
    ----------
    trials : int
        The bits of all others; each is a fair coin with the chance 2 flip.
    flip : Fraction
        Below 1/2.
    bits : int
        Of the user.
    epsilon : float

    Notes
    -----
    The number of ones of a user with u true ones has a likelihood ratio that rises with u, and fair coins
    keep it so. So half lines are the best events, their chance rises with u, and the pair of all bits and
    none is the worst one.

    Examples
    --------
    >>> group_divergence(50, Fraction(1, 4), 1, 0.5) == blanket_divergence(
    ...     50, Fraction(1, 2), Fraction(3, 4), Fraction(1, 4), 0.5
    ... )
    True
    """
    if bits == 1:
        return blanket_divergence(trials, 2 * flip, 1 - flip, flip, epsilon)
    number, held, free = (
        binomial_mass(trials, 2 * flip),
        binomial_mass(bits, 1 - flip),
        binomial_mass(bits, flip),
    )
    deviation = math.sqrt(trials * float(2 * flip) * float(1 - 2 * flip))
    counts, shares = _grouped(number, trials * float(2 * flip), deviation, FINENESS // 2)
    total, slope = 0.0, 0.0
    for count, share in zip(counts, shares, strict=True):
        # The half line begins at about the same part of the coins; a little below it is where to look from.
        start = (count + bits) // 2 + math.floor(slope * count) - 2
        divergence, first = _half_line(fair_coins(count), held, free, epsilon, start)
        total += share * divergence
        slope = 0.98 * (first - (count + bits) / 2.0) / max(1, count)
    return min(1.0, total * (1.0 + (len(counts) + 4) * UNIT) + number.tail)


def _last(law: Mass) -> int:
    return law.low + len(law.mass) - 1


def _above(law: Mass, low: int) -> Mass:
    """Return the part of a law from a number on."""
    return replace(law, low=max(low, law.low), mass=law.mass[max(0, low - law.low) :])


def _half_line(coins: Mass, held: Mass, free: Mass, epsilon: float, start: int) -> tuple[Divergence, int]:
    """Return the divergence of the sums with coins, and where its terms begin to be positive.

    Only terms from ``start`` on are looked at where the first one is not positive: then none below is.
    """
    start = min(start, _last(coins) + min(_last(held), _last(free)))
    sums = [_above(_above(coins, start - _last(law)).convolved(law), start) for law in (held, free)]
    is_inside = all(law.low == start and len(law.mass) for law in sums)
    low, terms = excess_terms(sums[0], sums[1], epsilon) if is_inside else (start, np.ones(1))
    if terms[0] > 0.0:
        sums = [coins.convolved(held), coins.convolved(free)]
        low, terms = excess_terms(sums[0], sums[1], epsilon)
    positive = np.flatnonzero(terms > 0.0)
    first = low + int(positive[0] if len(positive) else len(terms))
    return min(1.0, positive_sum(terms) + sums[0].tail), first


def _starts(number: Mass, mean: float, deviation: float, fineness: int) -> NDArray[np.int64]:
    """Return where the groups start: fine ones where the sum has its weight, coarse ones beyond."""
    coarse = max(1, int(deviation))
    fine = min(coarse, max(1, int(deviation / fineness), int(WIDTH * mean)))
    size = len(number.mass)
    low = min(size, max(0, int(mean - 8.0 * deviation) - number.low))
    high = min(size, max(low, int(mean + 3.0 * deviation) + 1 - number.low))
    return np.concatenate(
        [np.arange(0, low, coarse), np.arange(low, high, fine), np.arange(high, size, coarse)]
    )


Array = NDArray[np.float64]

ROW_FINENESS = 48
"""Points of the lattice in a standard deviation of a row's logarithm."""

MOST_POINTS = 1 << 15
"""A lattice with more points is made coarser: a bound still, and a larger one."""

TAIL = 40
"""The attack leaves out numbers of coins of the probability e^(-2 TAIL) at most."""

CUT = 1e-9
"""The part of delta that is cut off above the lattice, and added to the divergence."""


@lru_cache(maxsize=1024)
def rows_divergence(
    trials: int, chance: Fraction, rows: int, epsilon: float, delta: float = 1e-6
) -> Divergence:
    """Return the divergence of one unit in each of ``rows`` rows, rounded up.

    Parameters
    ----------
    trials : int
        How many messages of honest users in a row may be a coin.
    chance : Fraction
        That one is.
    rows : int
        Rows are independent.
    epsilon : float
    delta : float
        The delta that matters.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> one, two = (rows_divergence(200, half, rows, 0.5) for rows in (1, 2))
    >>> 0.0 < one < two < 1.0
    True
    """
    if rows == 1:
        return blanket_divergence(trials, chance, Fraction(1), Fraction(0), epsilon)
    coins, shares, tail = coin_groups(((trials, chance),))
    typical = max(1.0, trials * float(chance))
    step = max(2.0 / math.sqrt(typical) / ROW_FINENESS, 2.0 * epsilon / MOST_POINTS)
    low, chances, beyond, error = _row(coins, shares, step)
    cut = CUT * delta / rows
    chances, start, lost = trimmed(chances, cut)
    low, beyond = low + start, beyond + lost
    single, single_low, total_beyond, single_error = chances, low, beyond, error
    for _ in range(rows - 1):
        error = compounded(error, single_error, (min(len(chances), len(single)) + 8) * UNIT)
        chances = np.convolve(chances, single)
        chances, start, lost = trimmed(chances, cut)
        low, total_beyond = (
            low + single_low + start,
            total_beyond + beyond * (1.0 - min(1.0, total_beyond)) + lost,
        )
    losses = (low + np.arange(len(chances))) * (step * (1.0 + SLACK))
    positive = losses > epsilon
    gains = -np.expm1((epsilon - losses[positive]) * (1.0 + 4.0 * UNIT)) * (1.0 + SLACK)
    total = float((chances[positive] * gains).sum()) * (1.0 + error + (len(chances) + 16) * UNIT)
    return min(1.0, total + (total_beyond + rows * tail) * (1.0 + SLACK))


def rows_attack(trials: int, chance: Fraction, rows: int, epsilon: float) -> float:
    r"""Return a lower bound of :func:`rows_divergence`, from one test of the sum over all rows.

    Whoever sees the rows sees s, the number of coins, and the messages for the first value, which are the
    heads of s coins, and ``rows`` more or none. With m = s / 2, rounded up, and 2 m coins at most, the test
    "more than m - 1" finds

        sum_{i=1..rows} C(2m, m - i) / 4^m - (e^epsilon - 1) (1 + C(2m, m) / 4^m) / 2,

    C(2m, m - i) / C(2m, m) >= ((m - i) / (m + i))^i and C(2m, m) / 4^m >= 1 / sqrt(pi (m + 1/2)), at most
    1 / sqrt(pi m). It falls in m; s exceeds its mean by t with the chance e^(-2 t^2 / N) at most (Hoeffding).

    Parameters
    ----------
    trials, chance, rows, epsilon
        As in :func:`rows_divergence`.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> 0.01 < rows_attack(2000, half, 6, 0.05) < rows_divergence(2000, half, 6, 0.05)
    True
    """
    number = trials * rows
    mean = number * chance
    most = min(number, math.ceil(mean) + math.isqrt(TAIL * number) + 1)
    m = -(-most // 2)
    if m <= 2 * rows:
        return 0.0
    middle = 1.0 / math.sqrt(math.pi * (m + 0.5))
    heads = sum(middle * ((m - i) / (m + i)) ** i for i in range(1, rows + 1))
    lost = math.expm1(min(epsilon, 700.0)) * (0.5 + 0.5 / math.sqrt(math.pi * m))
    missing = 0.0 if most == number else math.exp(-2.0 * TAIL)
    return max(0.0, (heads * (1.0 - SLACK) - lost * (1.0 + SLACK)) * (1.0 - missing) - missing - SLACK)


def _row(coins: list[int], shares: list[float], step: float) -> tuple[int, Array, float, float]:
    """Return the law of a row's logarithm on the lattice: first point, masses, mass above all, error."""
    parts: list[tuple[NDArray[np.int64], Array]] = [(np.zeros(1, dtype=np.int64), np.zeros(1))]
    beyond = 0.0
    for count, share in zip(coins, shares, strict=True):
        law = fair_coins(count)
        number = law.low + 1 + np.arange(len(law.mass), dtype=np.float64)  # with the own message
        rest = count + 1.0 - number
        mass = law.upper() * share * (1.0 + SLACK)
        beyond += share * law.tail + float(mass[rest == 0.0].sum())
        finite = rest > 0.0
        losses = np.log(number[finite] / rest[finite])
        losses += (np.abs(losses) + 1.0) * SLACK
        parts.append((np.ceil(losses / step).astype(np.int64), mass[finite]))
    low = min(int(places.min(initial=0)) for places, _ in parts)
    size = max(int(places.max(initial=0)) for places, _ in parts) - low + 1
    chances, terms = np.zeros(size), 0
    for places, mass in parts:
        chances += np.bincount(places - low, weights=mass, minlength=size)
        terms += len(mass)
    return low, chances, beyond, (terms + 8) * UNIT


def trimmed(chances: Array, cut: float) -> tuple[Array, int, float]:
    """Return a law without tails of this mass, its first place, and what was cut off above.

    The lower tail is moved up.
    """
    start = int(np.searchsorted(np.cumsum(chances), cut, side="right"))
    stop = len(chances) - int(np.searchsorted(np.cumsum(chances[::-1]), cut, side="right"))
    start = min(start, len(chances) - 1)
    stop = max(stop, start + 1)
    middle = chances[start:stop].copy()
    middle[0] += float(chances[:start].sum())
    return middle, start, 1.01 * float(chances[stop:].sum())
