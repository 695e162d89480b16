"""Pure privacy of a sum of integers: the largest ratio of its law under two inputs, at every value.

One user's number has the law f_0 or f_1 on 0 .. d, those of the others any of the two. With R the law of the
others' sum, the ratio of f_1 * R and f_0 * R is needed at all values, including the rarest. All terms are
positive, so that rounding errors are relative; so that none gets lost below the smallest double, the laws
are tilted by b^z, which changes no ratio, for as many b as it takes until every value is close to a mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import UNIT, compounded
from mechdesign.core.errors import ParameterError

Array = NDArray[np.float64]

BLOCKS = 8
"""Into how many ranges of the number of ones all data of many others are divided."""

FEW = 24
"""With no more others every number of ones has its own law."""

LEAST = 1e-180
"""Values below this are left to another tilt."""

LOST = 1e-250
"""More than all that is lost of a value by terms too small for doubles."""

FLOOR = 1e-270
"""Ends of a law below this are cut off."""

LARGEST = 1 << 13
"""Sums beyond this are refused: they would take minutes."""


@dataclass(frozen=True)
class _Law:
    """Positive numbers in proportion to a law on ``low``, ``low + 1``, ..., with a relative error."""

    low: int
    mass: Array
    error: float

    def plus(self, other: _Law) -> _Law:
        """Return the distribution of the sum, scaled to a total of about 1 by a power of 2."""
        mass = np.convolve(self.mass, other.mass)
        steps = min(len(self.mass), len(other.mass)) + 4
        mass = np.ldexp(mass, -math.frexp(float(mass.sum()))[1])
        places = np.flatnonzero(mass >= FLOOR)
        first, last = int(places[0]), int(places[-1]) + 1
        error = compounded(self.error, other.error, steps * UNIT)
        return _Law(self.low + other.low + first, mass[first:last], error)


def crowds(others: int) -> list[tuple[int, int]]:
    """Return pairs (zeros, ones) such that all data of ``others`` users are one of these and further users.

    Examples
    --------
    >>> crowds(2)
    [(2, 0), (1, 1), (0, 2)]
    """
    count = others + 1 if others <= FEW else BLOCKS
    edges = [(others + 1) * place // count for place in range(count + 1)]
    return [(others - (after - 1), low) for low, after in pairwise(edges)]


def pure_epsilon(zero: Sequence[int], one: Sequence[int], others: int, limit: float = math.inf) -> float:
    """Return the largest logarithm of a ratio of the sum's law under the two inputs, rounded up.

    Parameters
    ----------
    zero, one : sequence of int
        Positive weights of f_0 and f_1 on 0 .. d, out of the same total; ``one`` is ``zero`` mirrored.
    others : int
        Honest users beside the one who is looked at, whose inputs may be any.
    limit : float
        The search ends at a ratio beyond it.

    Raises
    ------
    ParameterError
        For weights that are not positive and mirrored, or too many others.

    Examples
    --------
    >>> round(pure_epsilon([3, 1], [1, 3], 0), 9)  # nobody else: ln 3
    1.098612289
    """
    if list(one) != list(zero)[::-1] or min(zero) < 1:
        raise ParameterError("weights", "give positive ones, those of 1 mirrored to those of 0")
    length = len(zero) - 1
    if others * length > LARGEST:
        raise ParameterError("weights", f"{others} others with {length} messages each take too long")
    largest = 0.0
    ways = crowds(others)
    for zeros, ones in ways[: (len(ways) + 1) // 2]:  # the rest are mirrored
        for ratio in _ratios(zero, one, zeros, ones):
            largest = max(largest, ratio)
            if largest > limit:
                return largest
    return largest


def _ratios(zero: Sequence[int], one: Sequence[int], zeros: int, ones: int) -> Iterator[float]:
    """Yield bounds of the largest logarithms of ratios in ranges that together are all values."""
    length, users = len(zero) - 1, zeros + ones + 1
    first, second = (np.array([float(weight) for weight in law]) for law in (zero, one))
    done, end = -1, users * length
    mean = 0.0
    while done < end:
        tilt = _tilt_for(first, second, zeros, ones, mean)
        top, bottom = _pair(first, second, zeros, ones, tilt)
        right = (top.mass >= LEAST) & (bottom.mass >= LEAST)
        start = done + 1 - top.low
        if not (0 <= start < len(right) and right[start]):
            if mean <= done + 1.0:
                yield math.inf  # no tilt shows this value: nothing is proven
                return
            mean = max(done + 1.0, 0.5 * (mean + done))
            continue
        gaps = np.flatnonzero(~right[start:])
        stop = start + int(gaps[0]) if len(gaps) else len(right)
        chosen = slice(start, stop)
        upper = [law.mass[chosen] * (1.0 + law.error) + LOST for law in (top, bottom)]
        lower = [law.mass[chosen] * (1.0 - law.error) - LOST for law in (top, bottom)]
        ratio = np.maximum(upper[0] / lower[1], upper[1] / lower[0])
        yield float(np.log(ratio.max())) + 1e-14
        last = top.low + stop - 1
        mean, done = min(float(end), last + max(1.0, (last - done) / 2.2)), last


def _pair(first: Array, second: Array, zeros: int, ones: int, tilt: float) -> tuple[_Law, _Law]:
    """Return both laws of the sum, tilted, on the same window."""
    places = np.arange(len(first), dtype=np.float64)
    factor = np.exp(tilt * (places - (places[-1] if tilt > 0 else 0.0)))
    scale = float((first * factor).sum() + (second * factor).sum())
    error = (len(first) + 2048.0) * UNIT  # exponents down to -745, where doubles end, are rounded
    plain, raised = (_Law(0, law * factor / scale, error) for law in (first, second))
    rest = _powers(plain, zeros, _powers(raised, ones, None))
    pair = []
    for law in (raised, plain):
        mass = law.mass if rest is None else np.convolve(rest.mass, law.mass)
        rounding = compounded(rest.error, law.error, (len(first) + 4) * UNIT) if rest else law.error
        pair.append(_Law(rest.low if rest else 0, mass, rounding))
    return pair[0], pair[1]


def _powers(law: _Law, count: int, power: _Law | None) -> _Law | None:
    """Return the distribution of the sum with this many more variables."""
    while count:
        if count & 1:
            power = law if power is None else power.plus(law)
        count >>= 1
        if count:
            law = law.plus(law)
    return power


def _tilt_for(first: Array, second: Array, zeros: int, ones: int, target: float) -> float:
    """Return the tilt with which the sum has about this mean."""
    places, laws = np.arange(len(first), dtype=np.float64), np.stack([first, second])
    below = places - places[-1]
    low, high = -200.0, 200.0
    for _ in range(60):
        tilt = (low + high) / 2.0
        tilted = laws * np.exp(tilt * (below if tilt > 0 else places))
        means = ((tilted * places).sum(axis=1) / tilted.sum(axis=1)).tolist()
        mean = (zeros + 0.5) * means[0] + (ones + 0.5) * means[1]
        low, high = (tilt, high) if mean < target else (low, tilt)
    return (low + high) / 2.0
