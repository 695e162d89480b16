"""Laws on the integers as doubles with proven error bounds: binomial ones, their windows and sums.

A binomial law of a million trials has no exact fractions that fit into memory. Its weights relative to the
mode are products of ratios (n-j)/(j+1) * odds; dividing by their sum makes them probabilities. What a window
leaves out only makes the sum smaller, so the quotients are upper bounds but for rounding; rounding is bounded
by counting operations, each of which loses at most a part of 2^-53; what is left out is bounded by geometric
series, as ratios of neighbours fall. Nothing is subtracted, so that all errors are relative, and no special
function is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError

Doubles = NDArray[np.float64]

UNIT = 2.0**-53
"""The largest relative error of one rounded operation."""

LEAST_WEIGHT = 1e-290
"""Windows end where weights relative to the mode would lose precision by underflow."""


def radius(variance: float, tail: float) -> int:
    """Return the distance from its mean at which a window of a sum of 0/1 variables may end, by Bernstein.

    The estimate only chooses windows; what lies outside is bounded by itself.
    """
    exponent = -math.log(max(tail, LEAST_WEIGHT))
    return math.ceil(exponent / 3.0 + math.sqrt(exponent * exponent / 9.0 + 2.0 * variance * exponent)) + 2


@dataclass(frozen=True)
class Window:
    """Probabilities of a binomial variable at ``first``, ``first + 1``, ...

    Attributes
    ----------
    first : int
    probability : array
        Close to the true ones: at most a part ``error`` above them; below them by at most that part and
        the part ``below + above``.
    below, above : float
        Upper bounds of what lies below and above the window.
    above_mean : float
        An upper bound of the sum of (j - last) times the probability of j over all j above the window.
    error : float
    """

    first: int
    probability: Doubles
    below: float
    above: float
    above_mean: float
    error: float

    @property
    def last(self) -> int:
        """The last number in the window."""
        return self.first + len(self.probability) - 1

    @property
    def upper(self) -> float:
        """The factor that makes the probabilities upper bounds."""
        return 1.0 + 2.0 * self.error

    @property
    def lower(self) -> float:
        """The factor that makes the probabilities lower bounds."""
        return (1.0 - 2.0 * self.error) * max(0.0, 1.0 - self.below - self.above)

    @cached_property
    def values(self) -> Doubles:
        """The numbers of the window, as doubles."""
        return np.arange(self.first, self.last + 1, dtype=np.float64)


def binomial_window(trials: int, odds: float, tail: float) -> Window:
    """Return the probabilities of a binomial variable on a window that omits about ``tail``.

    Parameters
    ----------
    trials : int
        At most 2^50.
    odds : float
        The odds of one trial, p / (1 - p), true up to a part of 8 units of rounding.
    tail : float
        Requested size of what is omitted on each side; the true size is bounded in the result.

    Examples
    --------
    >>> window = binomial_window(4, 1.0, 1e-9)
    >>> window.first, window.probability.tolist()
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    if radius(trials * (odds / (1.0 + odds) ** 2), tail) <= 1 << 15:  # so that memory stays flat
        return _recent_window(trials, odds, tail)
    return _window(trials, odds, tail)


def _window(trials: int, odds: float, tail: float) -> Window:
    n, back = float(trials), odds or 1.0
    reach = radius(trials * (odds / (1.0 + odds) ** 2), tail)
    mode = min(n, float(math.floor((n + 1.0) * (odds / (1.0 + odds)))))
    width = int(max(1.0, min(reach, n)))  # sums have as many terms as in a table of several, to round alike
    rise, fall = int(min(reach, n - mode)), int(min(reach, mode))
    steps = np.arange(float(max(rise, fall)))
    rising, up = _product(((n - mode) - steps[:rise]) / (mode + steps[:rise] + 1.0) * odds, width)
    falling, down = _product((mode - steps[:fall]) / ((n - mode) + steps[:fall] + 1.0) / back, width)
    total = float(falling.sum()) + 1.0 + float(rising.sum())
    first, last = mode - down, mode + up
    # A step of a product loses 3 units and the odds 8 more, so a weight 11 units a step, and their sum a
    # unit more for each term; the quotient loses both.
    error = 32.0 * (down + up + 9) * UNIT
    edge = float(rising[up - 1]) if up else 1.0
    above, above_mean = _beyond(edge / total, (n - last) / (last + 1.0) * odds)
    edge = float(falling[down - 1]) if down else 1.0
    below, _ = _beyond(edge / total, first / (n - first + 1.0) / back)
    probability = np.concatenate([falling[:down][::-1], np.ones(1), rising[:up]])
    probability /= total
    probability.flags.writeable = False
    return Window(int(first), probability, below, above, above_mean, error)


def _product(ratios: Doubles, width: int) -> tuple[Doubles, int]:
    """Return products of falling ratios, zeros after them, and how many come before they would underflow."""
    result, count = np.zeros(width), len(ratios)
    np.cumprod(ratios, out=result[:count])
    if count and result[count - 1] <= LEAST_WEIGHT:
        result[result <= LEAST_WEIGHT] = 0.0
        count = int(np.count_nonzero(result))
    return result, count


def _beyond(edge: float, ratio: float) -> tuple[float, float]:
    """Return bounds of sum p r^i and sum i p r^i over i >= 1; ratios further out are smaller still."""
    ratio *= 1.0 + 1e-12
    if ratio >= 1.0 - 1e-9:
        return math.inf, math.inf
    rest = 1.0 - ratio
    bound = 1.01 * edge * ratio / rest
    return bound, bound / rest


_recent_window = lru_cache(maxsize=16)(_window)  # mirrored data have the same ones, one soon after the other


Array = NDArray[np.float64]


CUT = 83.0
"""Tails below e^-CUT are left out of the sums and added to what is proven."""

MOST_TRIALS = 1 << 50
"""More trials are refused: differences from their number would not be exact."""

WIDEST = 1 << 24
"""Windows of more numbers are refused: they would not fit into memory."""


UNDERFLOW = 1e-280
"""More than all terms together that are too small for doubles to be right in their relative error."""

SLACK = 16.0 * UNIT
"""What bounds are moved outwards by, so that a few further roundings need no word."""


def compounded(*errors: float) -> float:
    """Return a relative error that covers all these, one after the other.

    Examples
    --------
    >>> compounded(1e-10, 1e-10) >= 2e-10
    True
    """
    total = sum(errors)
    return total * (1.0 + total) * (1.0 + 2.0**-40)


@dataclass(frozen=True, eq=False)
class Mass:
    """A law, or a part of one, on integers next to each other.

    Attributes
    ----------
    low : int
        The first integer.
    mass : (k,) array
        Probabilities of ``low``, ``low + 1``, ...; the true ones are within a factor 1 + ``error``.
    error : float
    tail : float
        What may be missing in all, wherever: at least the probability that is not in ``mass``.
    """

    low: int
    mass: Array
    error: float = 0.0
    tail: float = 0.0

    def upper(self) -> Array:
        """Return bounds from above, without what is missing."""
        return self.mass * ((1.0 + self.error) * (1.0 + SLACK))

    def lower(self) -> Array:
        """Return bounds from below."""
        return self.mass * ((1.0 - self.error) * (1.0 - SLACK))

    def shifted(self, by: int) -> Mass:
        """Return the distribution of the variable plus a number."""
        return replace(self, low=self.low + by)

    def mirrored(self) -> Mass:
        """Return the distribution of minus the variable."""
        return replace(self, low=1 - self.low - len(self.mass), mass=self.mass[::-1])

    def convolved(self, other: Mass) -> Mass:
        """Return the law of the sum of two independent variables; sums of positive terms, no transform."""
        mass = np.convolve(self.mass, other.mass)
        steps = min(len(self.mass), len(other.mass)) + 2
        return Mass(
            self.low + other.low,
            mass,
            compounded(self.error, other.error, steps * UNIT),
            (self.tail + other.tail) * (1.0 + 4.0 * UNIT),
        )

    def on(self, low: int, size: int) -> Mass:
        """Return the same on a window that contains its own."""
        padded = np.zeros(size)
        padded[self.low - low : self.low - low + len(self.mass)] = self.mass
        return replace(self, low=low, mass=padded)


@lru_cache(maxsize=16)
def binomial_mass(trials: int, chance: Fraction) -> Mass:
    """Return the binomial law, tails of at most about e^-83 left out and accounted for.

    Parameters
    ----------
    trials : int
        Up to 2**50.
    chance : Fraction
        From 0 to 1, exactly.

    Examples
    --------
    >>> law = binomial_mass(2, Fraction(1, 2))
    >>> law.low, law.mass, law.tail
    (0, array([0.25, 0.5 , 0.25]), 1e-280)
    """
    hit, whole = chance.numerator, chance.denominator
    if not 0 <= trials <= MOST_TRIALS or not 0 <= hit <= whole:
        raise ParameterError("binomial", f"{trials} trials of probability {float(chance):g} are out of range")
    if trials == 0 or hit in (0, whole):
        return Mass(trials if hit else 0, np.ones(1))
    odds, against = hit / (whole - hit), (whole - hit) / hit  # quotients of integers are rounded once
    mode = min(trials, (trials + 1) * hit // whole)
    variance = trials * (hit / whole) * ((whole - hit) / whole)
    reach = math.ceil(CUT + math.sqrt(CUT * CUT + 2.0 * CUT * variance)) + 2
    if reach > WIDEST:
        raise ParameterError(
            "binomial", f"{trials} trials of probability {float(chance):g} spread too far", "use fewer"
        )
    last, first = min(trials, mode + reach), max(0, mode - reach)
    above = np.arange(mode, last, dtype=np.float64)  # j, for the step from j to j + 1
    up = (trials - above) / (above + 1.0) * odds
    below = np.arange(mode, first, -1, dtype=np.float64)  # j, for the step from j to j - 1
    down = below / (trials - below + 1.0) * against
    mass = np.concatenate([np.cumprod(down)[::-1], np.ones(1), np.cumprod(up)])
    steps = max(len(up), len(down))
    tail = _beyond_mass(mass[-1], (trials - last) / (last + 1.0) * odds) if last < trials else 0.0
    tail += _beyond_mass(mass[0], first / (trials - first + 1.0) * against) if first else 0.0
    total = float(np.sum(mass))
    # Four roundings a step, as many again in the sum and one for each of its terms, one for the quotient;
    # the missing tail makes shares smaller.
    error = compounded(8.0 * steps * UNIT, len(mass) * UNIT, 4.0 * UNIT, 2.0 * tail / total)
    return Mass(first, mass / total, error, 2.0 * tail / total + UNDERFLOW)


def _beyond_mass(end: float, ratio: float) -> float:
    """Return a bound of the terms beyond the last one, whose ratios only fall."""
    if ratio >= 0.999999:
        return math.inf
    return 1.01 * float(end) * ratio / (1.0 - ratio)
