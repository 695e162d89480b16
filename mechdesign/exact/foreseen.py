"""Searches by yes and no whose outcome is foreseen: what they find, with few of their questions asked.

A bisection only learns on which side of a number a curve is. The values of the curve tell more: a few of them
say nearly where it has the level. The bisection is then gone through as if it were there, and only the last
two numbers that it would ask about are looked at. Where they are as foreseen, they are what it finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

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
