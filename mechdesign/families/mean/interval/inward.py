"""An interval in double precision that keeps its constraints exactly."""

from __future__ import annotations

import math

from mechdesign.exact.randomness import BITS
from mechdesign.families.mean.interval.problem import MeanInterval


def rounded_inward(
    problem: MeanInterval, start: float, end: float, rest: float
) -> tuple[float, float] | None:
    """Move the ends towards each other by the fewest steps until the constraints hold without tolerance.

    The ends become multiples of 2**-62, the numbers that a mechanism draws with. An end at 0 or 1
    stays there. None when nothing is left between the ends.

    Parameters
    ----------
    problem : MeanInterval
    start, end, rest : float
        c, c + d, and 1 - c - d; the smaller of the last two is used, which has the better accuracy.

    Examples
    --------
    >>> problem = MeanInterval(epsilon=1.0)
    >>> start, end = rounded_inward(problem, 1 / (math.e + 1), math.e / (math.e + 1), 1 / (math.e + 1))
    >>> problem.is_private(start, end)
    True
    """
    if start == 0.0 and rest == 0.0:
        return None  # neither end may move, and [0, 1] is private for no epsilon
    steps = 0
    while True:
        low, high = _moved_up(start, steps), _upper(end, rest, steps)
        if high <= low:
            return None
        if problem.is_private(low, high):
            return low, high
        steps = 2 * steps + 1


def _moved_up(number: float, steps: int) -> float:
    """Return the number, moved up by ``steps`` spacings of doubles, each at least 2**-62; 0 stays."""
    if number == 0.0:
        return 0.0
    grid = math.ldexp(math.ceil(math.ldexp(number, BITS)), -BITS)
    return grid + steps * max(math.ulp(grid), 2.0**-BITS)


def _upper(end: float, rest: float, steps: int) -> float:
    """Return the upper end, moved down by ``steps`` spacings; 1 stays, and nothing else becomes 1."""
    if end < rest:
        grid = math.ldexp(math.floor(math.ldexp(end, BITS)), -BITS)
        return grid - steps * max(math.ulp(grid), 2.0**-BITS)
    high = 1.0 - _moved_up(rest, steps)
    return math.nextafter(1.0, 0.0) if rest > 0.0 and high == 1.0 else high
