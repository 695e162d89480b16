"""What shuffled reports of a local mechanism are proven to keep, and how little local privacy is enough.

All users have the same randomizer and none sees the reports of others. Known of it is its epsilon, and it
may be known that it is a k-ary response or which finite channel it is; the smallest bound counts. The proofs
are in docs/families/shuffle.md.

Searches by yes and no whose outcome is foreseen: what they find, with few of their questions asked.

A bisection only learns on which side of a number a curve is. The values of the curve tell more: a few of them
say nearly where it has the level. The bisection is then gone through as if it were there, and only the last
two numbers that it would ask about are looked at. Where they are as foreseen, they are what it finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from mechdesign.audit.mass import UNIT
from mechdesign.collect.base import Randomizer, Row
from mechdesign.families.shuffle.kary_divergence import BinaryDivergence, LatticeDivergence, atoms_of
from mechdesign.families.shuffle.sum_divergence import MOST_USERS, Divergence, kary_law

Number = TypeVar("Number", int, float)

ROUNDS = 12
"""Looks that may foresee nothing before the known numbers are halved."""

MOST_ROUNDS = 100
"""Looks that may foresee nothing before the search asks for itself."""

MOST_POINTS = 4
"""Number of values that say where the curve has the level."""

FAR = 4.0
"""Nothing is foreseen further out than this multiple of the distance of the known values."""


def foreseen(
    search: Callable[[Callable[[Number], bool]], tuple[Number, Number]],
    curve: Callable[[Number], float],
    level: float,
    near: Sequence[Number],
    rising: bool,
) -> tuple[Number, Number]:
    """Return the result of a search by yes and no on a monotone curve, from few of its values.

    Parameters
    ----------
    search : callable
        Handed a function that tells of a number whether it is enough, it returns the last one that is and
        next to it one that is not. It has to ask about them, or to know them without.
    curve : callable
        At least 0; a number is enough where the curve is at most the level.
    level : float
        Above 0.
    near : sequence of float
        Two numbers or more that the level is near to, within the range of the curve.
    rising : bool
        Whether the curve rises, so that small numbers are enough; else large ones are.

    Returns
    -------
    (float, float)
        What the search returns. At both, where it asked about them, the curve has been evaluated.

    Examples
    --------
    >>> from itertools import count
    >>> def halved(enough):
    ...     low, high = 0.0, 1024.0
    ...     while high - low > 1e-9:
    ...         middle = (low + high) / 2.0
    ...         low, high = (middle, high) if enough(middle) else (low, middle)
    ...     return low, high
    >>> calls = count()
    >>> curve = lambda x: math.exp(x) + 0 * next(calls)
    >>> low, high = foreseen(halved, curve, 1e9, (20.0, 21.0), rising=True)
    >>> math.exp(low) <= 1e9 < math.exp(high), next(calls)
    (True, 4)
    >>> (low, high) == halved(lambda x: math.exp(x) <= 1e9)
    True
    """
    seen: dict[Number, float] = {}

    def enough(number: Number) -> bool:
        if number not in seen:
            seen[number] = curve(number)
        return seen[number] <= level

    for number in near:
        enough(number)
    for turn in range(MOST_ROUNDS):
        guess = _crossing(seen, level, rising, turn < ROUNDS)
        if guess is None:
            break
        place, doubt = guess
        supposed = _Supposed(place, rising)
        last, beyond = search(supposed)
        asked = supposed.asked
        unknown = beyond in asked and beyond not in seen
        # The number that is enough is looked at last: callers look at it again.
        if beyond != last and beyond in asked and enough(beyond):
            continue
        if unknown and doubt > abs(beyond - last):
            continue
        if last not in asked or enough(last):
            return last, beyond
    return search(enough)


class _Supposed:
    """Answers as if the curve had the level at a place; what it was asked about is kept."""

    def __init__(self, place: float, rising: bool) -> None:
        self.place, self.rising = place, rising
        self.asked: set[float] = set()

    def __call__(self, number: float) -> bool:
        self.asked.add(number)
        return (number <= self.place) == self.rising


def _crossing(
    seen: Mapping[Number, float], level: float, rising: bool, smooth: bool
) -> tuple[float, float] | None:
    """Return where the curve has the level, by what has been seen of it, and how doubtful that is."""
    below = [number for number, value in seen.items() if (value <= level) == rising]
    above = [number for number, value in seen.items() if (value <= level) != rising]
    reach = FAR * (max(seen) - min(seen))
    least = float(max(below)) if below else min(seen) - reach
    most = float(min(above)) if above else max(seen) + reach
    if not least < most:
        return None
    place, doubt = _interpolated(seen, level) if smooth else (math.nan, math.inf)
    return (place, doubt) if least < place < most else ((least + most) / 2.0, math.inf)


def _interpolated(seen: Mapping[Number, float], level: float) -> tuple[float, float]:
    """Return the number as a polynomial of the curve's logarithm at the level, by Neville's scheme."""
    logs = [(math.log(value / level), float(number)) for number, value in seen.items() if value > 0.0]
    points = sorted(logs, key=lambda point: abs(point[0]))[:MOST_POINTS]
    table, before = [number for _, number in points], math.nan
    for order in range(1, len(points)):
        pairs = [(points[at][0], points[at + order][0]) for at in range(len(points) - order)]
        if any(left == right for left, right in pairs):
            break
        before = table[0]
        table = [
            (right * table[at] - left * table[at + 1]) / (right - left)
            for at, (left, right) in enumerate(pairs)
        ]
    return (table[0], abs(table[0] - before)) if table else (math.nan, math.inf)


MOST_INPUTS = 12
"""Channels with more inputs have too many pairs, and are bounded by their epsilon alone."""

MOST_LOCAL = 20.0
"""Channels with a larger epsilon have few reports in common, and are bounded by that epsilon alone."""

LEAST_LOCAL = 1e-6
"""Smaller local epsilons are looked at as this one: what is private with less is private with more."""

LARGEST_LOCAL = 100.0

PRECISION = 1e-6
"""To which part of it the largest local epsilon is found; always from below."""

MARGIN = 1e-9
"""Part of delta that searches stay below it, so that another processor's rounding does not refuse them."""


def channel_bound(rows: tuple[Row, ...], users: int, delta: float, epsilon: float) -> float:
    """Return the bound of delta of a finite channel, the largest over all pairs of inputs."""
    inputs = range(len(rows))
    laws = {atoms_of(rows, one, two) for one in inputs for two in inputs if one != two}
    return max(LatticeDivergence(users, law, delta)(epsilon) for law in laws)


def delta_bounds(
    users: int, randomizer: Randomizer, epsilon: float, delta: float
) -> Iterator[tuple[str, float]]:
    """Yield proven bounds of delta with where they come from, the quickest first."""
    local = max(randomizer.epsilon, LEAST_LOCAL)
    yield "any randomizer of this epsilon", Divergence(users, kary_law(local, 2), delta)(epsilon)
    if randomizer.size > 2:
        law = kary_law(local, randomizer.size)
        yield f"{randomizer.size}-ary response", Divergence(users, law, delta)(epsilon)
    if randomizer.size == 2:
        yield "binary response", BinaryDivergence(users, local, delta)(epsilon)
    if 2 <= len(randomizer.rows) <= MOST_INPUTS and local <= MOST_LOCAL:
        yield "this channel", channel_bound(randomizer.rows, users, delta, epsilon)


def profile(users: int, randomizer: Randomizer, tail: float) -> Callable[[float], float]:
    """Return a proven bound of delta as a function of the central epsilon, for both orders of every pair.

    What is costly is done once; channels and binary responses are bounded by their epsilon alone, as sums for
    them take long at each epsilon.

    Parameters
    ----------
    users : int
        The honest ones.
    randomizer : Randomizer
    tail : float
        The delta that matters: sums leave out a small part of it.

    Examples
    --------
    >>> bound = profile(1_000_000, Randomizer(4.0), 1e-6)
    >>> bound(0.035) <= 1e-6, bound(4.0)
    (True, 0.0)
    """
    local, count = max(randomizer.epsilon, LEAST_LOCAL), min(users, MOST_USERS)
    found: list[Callable[[float], float]] = [Divergence(count, kary_law(local, 2), tail)]
    if randomizer.size > 2:
        found.append(Divergence(count, kary_law(local, randomizer.size), tail))

    def bound(epsilon: float) -> float:
        return 0.0 if epsilon >= local else min(one(epsilon) for one in found)

    return bound


@lru_cache(maxsize=256)
def proven(users: int, randomizer: Randomizer, epsilon: float, delta: float) -> tuple[float, str]:
    """Return a bound of delta that is proven for shuffled reports, and what it was proven for.

    Bounds are tried until one is at most the delta that is wanted.

    Parameters
    ----------
    users : int
        The honest ones, at least 1. More than 10^9 are looked at as 10^9.
    randomizer : Randomizer
    epsilon : float
        The central epsilon.
    delta : float
        What is wanted.

    Examples
    --------
    >>> bound, text = proven(1_000_000, Randomizer(4.0), 0.035, 1e-6)
    >>> bound <= 1e-6, text
    (True, 'any randomizer of this epsilon')
    """
    if epsilon >= randomizer.epsilon:
        return 0.0, "each report by itself"
    best, text = 1.0, "nothing"
    for source, found in delta_bounds(min(users, MOST_USERS), randomizer, epsilon, delta):
        if found < best:
            best, text = found, source
        if best <= delta:
            break
    return best, text


@lru_cache(maxsize=256)
def largest_local(users: int, epsilon: float, delta: float) -> float:
    """Return a local epsilon that is proven to be enough for any randomizer, next to the largest one.

    Parameters
    ----------
    users : int
        The honest ones.
    epsilon, delta : float
        What the shuffled reports have to keep.

    Examples
    --------
    >>> round(largest_local(1_000_000, 0.5, 1e-9), 3)
    8.341
    """
    wanted = delta * (1.0 - MARGIN)

    def bound(local: float) -> float:
        return proven(users, Randomizer(local), epsilon, wanted)[0]

    start, end = epsilon, LARGEST_LOCAL
    step = 0.5
    while start + step < end:  # from below: what is far too large takes longer to look at
        if bound(start + step) > wanted:
            end = start + step
            break
        start, step = start + step, 2.0 * step

    def search(enough: Callable[[float], bool]) -> tuple[float, float]:
        low, high = start, end
        while high - low > PRECISION * high:
            middle = low + (high - low) / 2.0
            low, high = (middle, high) if enough(middle) else (low, middle)
        return low, high

    near = end if end < LARGEST_LOCAL else (start + end) / 2.0
    return foreseen(search, bound, wanted, (start, near), rising=True)[0] * (1.0 - 4.0 * UNIT)
