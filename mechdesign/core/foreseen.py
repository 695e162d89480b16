"""Searches by yes and no whose outcome is foreseen: what they find, with few of their questions asked.

A bisection only learns on which side of a number a curve is. The values of the curve tell more: a few of them
say nearly where it has the level. The bisection is then gone through as if it were there, and only the last
two numbers that it would ask about are looked at. Where they are as foreseen, they are what it finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Search = Callable[[Callable[[float], bool]], tuple[float, float]]
"""Asks whether numbers are enough; returns the last one that is, and next to it one that is not."""

ROUNDS = 12
"""After so many looks that foresaw nothing the search asks for itself."""

MOST_POINTS = 4
"""So many values say where the curve has the level."""

FAR = 4.0
"""Nothing is foreseen further out than so many times the distance of the values that are known."""


def foreseen(
    search: Search,
    curve: Callable[[float], float],
    level: float,
    near: tuple[float, float],
    rising: bool,
) -> tuple[float, float]:
    """Return what a search finds, for a monotone and nearly smooth curve at most evaluated next to its level.

    Parameters
    ----------
    search : callable
        Handed a function that tells of a number whether it is enough. What it returns has to be numbers
        that it asked about, or that need no answer.
    curve : callable
        At least 0; a number is enough where the curve is at most the level.
    level : float
        Above 0.
    near : (float, float)
        Two numbers that the level is near to, within the range of the curve.
    rising : bool
        Whether the curve rises, so that small numbers are enough; else large ones are.

    Returns
    -------
    (float, float)
        The last number that is enough and the next one that is not: of both, as far as the search asked about
        them, the curve has been evaluated.

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
    >>> low, high = foreseen(halved, lambda x: math.exp(x) + 0 * next(calls), 1e9, (20.0, 21.0), rising=True)
    >>> math.exp(low) <= 1e9 < math.exp(high), (low, high) == halved(lambda x: math.exp(x) <= 1e9), next(calls)
    (True, True, 4)
    """
    seen: dict[float, float] = {}

    def enough(number: float) -> bool:
        if number not in seen:
            seen[number] = curve(number)
        return seen[number] <= level

    for number in near:
        enough(number)
    for _ in range(ROUNDS):
        guess = _crossing(seen, level, rising)
        if guess is None:
            break
        place, doubt = guess
        asked: set[float] = set()

        def supposed(number: float, place: float = place, asked: set[float] = asked) -> bool:
            asked.add(number)
            return (number <= place) == rising

        last, beyond = search(supposed)
        # The number that is enough is asked about last: callers look at it again.
        new = beyond in asked - seen.keys()
        if beyond != last and beyond in asked and enough(beyond):
            continue
        if new and doubt > abs(beyond - last):
            continue
        if last not in asked or enough(last):
            return last, beyond
    return search(enough)


def _crossing(seen: dict[float, float], level: float, rising: bool) -> tuple[float, float] | None:
    """Return where the curve has the level, by what has been seen of it, and how doubtful that is."""
    points = sorted((math.log(value / level), number) for number, value in seen.items() if value > 0.0)
    points = sorted(points, key=lambda point: abs(point[0]))[:MOST_POINTS]
    numbers = [number for _, number in points]
    if len(points) < 2:
        return None
    # The number as a polynomial of the logarithm, at 0, by Neville's scheme.
    table, before = numbers, numbers[0]
    for order in range(1, len(points)):
        pairs = zip(points, points[order:], table, table[1:], strict=False)
        steps = [(left[0], right[0], one, two) for left, right, one, two in pairs]
        if any(left == right for left, right, *_ in steps):
            break
        before, table = table[0], [
            (right * one - left * two) / (right - left) for left, right, one, two in steps
        ]
    place = table[0]
    below = [number for number, value in seen.items() if (value <= level) == rising]
    above = [number for number, value in seen.items() if (value <= level) != rising]
    reach = FAR * (max(numbers) - min(numbers))
    least = max(below) if below else min(numbers) - reach
    most = min(above) if above else max(numbers) + reach
    if not least < most or not math.isfinite(place):
        return None
    if least < place < most:
        return place, abs(place - before)
    # What the values say is not so: it is somewhere between.
    return (least + most) / 2.0, math.inf
