"""Searches by yes and no whose outcome is foreseen: what they find, with few of their questions asked.

A bisection only learns on which side of a number a curve is. The values of the curve tell more: a few of them
say nearly where it has the level. The bisection is then gone through as if it were there, and only the last
two numbers that it would ask about are looked at. Where they are as foreseen, they are what it finds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from mechdesign.core.errors import MechDesignError

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

    def enough(place: Number) -> bool:
        if place not in seen:
            seen[place] = curve(place)
        return seen[place] <= level

    for known in near:
        enough(known)
    for turn in range(MOST_ROUNDS):
        guess = _crossing(seen, level, rising, turn < ROUNDS)
        if guess is None:
            break
        place, doubt = guess
        supposed = _Supposed(place, rising)
        last, beyond = search(supposed)
        numbers = supposed.numbers
        unknown = beyond in numbers and beyond not in seen
        # The number that is enough is looked at last: callers look at it again.
        if beyond != last and beyond in numbers and enough(beyond):
            continue
        if unknown and doubt > abs(beyond - last):
            continue
        if last not in numbers or enough(last):
            return last, beyond
    return search(enough)


def bisection(
    enough: Callable[[float], bool], low: float, high: float, precision: float = 0.0, rounds: int = 2000
) -> tuple[float, float]:
    """Return two numbers next to each other between which a statement begins to hold, by halving.

    Parameters
    ----------
    enough : callable
        Whether it holds at a number; at ``high`` and beyond it is taken to hold, at ``low`` not to.
    low, high : float
    precision : float
        The search ends when they are within this part of ``high``; at the latest at neighbouring doubles.
    rounds : int
        The most numbers that are looked at.

    Examples
    --------
    >>> bisection(lambda number: number >= 0.3, 0.0, 1.0, rounds=2)
    (0.25, 0.5)
    """
    for _ in range(rounds):
        middle = low + (high - low) / 2.0
        if high - low <= precision * high or not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high


class _Supposed:
    """Answers as if the curve had the level at a place, and the numbers that they are about."""

    def __init__(self, place: float, rising: bool) -> None:
        self.place, self.rising = place, rising
        self.numbers: set[float] = set()

    def __call__(self, number: float) -> bool:
        self.numbers.add(number)
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


LEAP = 4
"""Fourfold steps of a weight that are taken at once: small weights hide nothing, and are soon looked at."""

HARDLY = 0.9
"""A delta above which next to nothing is proven."""


def least_passing(
    passes: Callable[[int], bool],
    low: int,
    high: int,
    digits: int = 12,
    end: int | None = None,
    patience: float = math.inf,
) -> int | None:
    """Return about the least whole number that passes; None when the largest one does not.

    Parameters
    ----------
    passes : callable
        Of a whole number; what it returns is believed for the number that is returned, no monotony is
        needed for that.
    low, high : int
        Where to look.
    digits : int
        The search stops when the bracket is below 2**-digits of the number,
    end : int, optional
        and of its distance from this one, at which the error would be infinite.
    patience : float, optional
        Seconds of this process after which the search ends with what has passed by then, or None.

    Examples
    --------
    >>> least_passing(lambda number: number >= 77, 1, 1 << 62)
    77
    """
    fails, holds, deadline = low - 1, low, time.process_time() + patience
    while not passes(holds):  # in steps from below: what passes by far may take far longer to look at
        if holds >= high or time.process_time() > deadline:
            return None
        fails, holds = holds, min(high, 4 * holds + 1)
    return _halved(passes, fails, holds, digits, end, deadline)[0]


def _halved(
    passes: Callable[[int], bool],
    fails: int,
    holds: int,
    digits: int,
    end: int | None,
    deadline: float = math.inf,
) -> tuple[int, int]:
    while holds - fails > max(1, min(holds, (end or 2 * holds) - holds) >> digits):
        if time.process_time() > deadline:
            break
        middle = (fails + holds) // 2
        if passes(middle):
            holds = middle
        else:
            fails = middle
    return holds, fails


def least_within(
    curve: Callable[[int], float],
    level: float,
    low: int,
    high: int,
    digits: int = 12,
    end: int | None = None,
    leap: int = 1,
) -> int | None:
    """Return the result of :func:`least_passing` for a falling curve and a level, from few of its values.

    ``leap`` is how many fourfold steps are taken at once while the curve is next to 1.

    Examples
    --------
    >>> least_within(lambda number: math.exp(-number / 1e6), 1e-9, 1, 1 << 62)
    20727125
    >>> least_passing(lambda number: math.exp(-number / 1e6) <= 1e-9, 1, 1 << 62)
    20727125
    """
    values: dict[int, float] = {}

    def looked(number: int) -> float:
        if number not in values:
            values[number] = curve(number)
        return values[number]

    rungs = [low]
    while rungs[-1] < high:
        rungs.append(min(high, 4 * rungs[-1] + 1))
    place = _first_within(lambda rung: looked(rungs[rung]), level, len(rungs), leap)
    if place is None:
        return None
    fails, holds = rungs[place - 1] if place else low - 1, rungs[place]
    if holds - fails == 1:
        return holds
    near = rungs[max(0, place - 2) : place + 1]
    return foreseen(
        lambda passes: _halved(passes, fails, holds, digits, end), looked, level, near, rising=False
    )[0]


def _first_within(looked: Callable[[int], float], level: float, count: int, leap: int) -> int | None:
    """Return the first of ``count`` rungs at which a falling curve is within the level; None if none is.

    From below, as what passes by far may take far longer to look at; ``leap`` rungs at a time while next to
    nothing is proven. A leap to where nothing can be computed is taken in steps.
    """
    fails, place = -1, 0
    while looked(place) > level:
        if place == count - 1:
            return None
        fails, step = place, leap if looked(place) > max(HARDLY, level) else 1
        place = min(place + step, count - 1)
        try:
            looked(place)
        except MechDesignError:
            if step == 1:
                raise
            place, leap = fails + 1, 1
    while place - fails > 1:
        middle = (fails + place) // 2
        if looked(middle) <= level:
            place = middle
        else:
            fails = middle
    return place
