"""Rows with notes; intervals by Student's t; differences by the limits of their parts; many tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import ListedEstimate
from mechdesign.collect.intervals import Limits, normal_quantile
from mechdesign.data.tidy import Columns

Array = NDArray[np.float64]

STEPS, CLOSE = 60, 1e-6

FAR = 9.0
"""Standard deviations beyond which nobody asks how small a p-value is: below 1e-18."""

FARTHEST = 38.0
"""Standard deviations beyond which a normal tail is 0 in doubles."""


class NotedEstimate(ListedEstimate):
    """Estimates whose tables have a note in every row: what stands beside numbers goes with them."""

    def tidy(self, level: float = 0.95) -> Columns:
        columns = super().tidy(level)
        return {**columns, "note": ["; ".join(self._said())] * len(columns["estimate"])}


def student_quantile(tail: float, freedom: float) -> float:
    """Return the number that a Student variable exceeds with this probability.

    Examples
    --------
    >>> round(student_quantile(0.025, 10.0), 4), round(student_quantile(0.025, 1e9), 4)
    (2.2281, 1.96)
    """
    if freedom > 1e6:
        return -normal_quantile(tail)
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, tail))


@dataclass(frozen=True)
class StudentLimits(Limits):
    """A Student quantile times the standard error."""

    standard_error: Any
    freedom: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        width = student_quantile(tail, self.freedom) * np.asarray(self.standard_error)
        return width, width


@dataclass(frozen=True)
class QuotientLimits(Limits):
    """The limits of a quotient a/b of means with an error each (Fieller 1954), Student's quantile in both.

    They are the t with (a - t b)^2 <= q^2 (V_aa - 2 t V_ab + t^2 V_bb): where b is not clear of 0, all t.
    """

    means: tuple[float, float]
    covariance: Any
    freedom: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        square = student_quantile(tail, self.freedom) ** 2
        (above, below), spread = self.means, np.asarray(self.covariance)
        lead = below * below - square * spread[1, 1]
        if lead <= 0.0:
            return np.array([np.inf]), np.array([np.inf])
        middle = (above * below - square * spread[0, 1]) / lead
        rest = middle * middle - (above * above - square * spread[0, 0]) / lead
        half, value = math.sqrt(max(rest, 0.0)), above / below
        return np.array([value - middle + half]), np.array([middle + half - value])


def difference_distances(first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the distances down and up of the limits of a - b, from those of a and of b; see below.

    Examples
    --------
    >>> difference_distances((3.0, 1.0), (1.0, 4.0))
    (np.float64(5.0), np.float64(1.4142135623730951))
    """
    (down, up), (less, more) = first, second
    return np.hypot(down, more), np.hypot(up, less)


@dataclass(frozen=True)
class DifferenceLimits(Limits):
    """The limits of a difference of independent estimates a - b, from those of both (MOVER).

    low = d - sqrt(down_a^2 + up_b^2), high = d + sqrt(up_a^2 + down_b^2): where the limits of a difference
    meet, each part is as far from its estimate as it has to be (Newcombe 1998, method 10; Zou, Donner 2008).
    """

    first: Limits
    second: Limits

    def distances(self, tail: float) -> tuple[Array, Array]:
        return difference_distances(self.first.distances(tail), self.second.distances(tail))


@dataclass(frozen=True)
class CorrelatedLimits(Limits):
    """The limits of a difference a - b of correlated estimates, from those of both (MOVER; Zou 2007).

    low = d - sqrt(down_a^2 + up_b^2 - 2 r down_a up_b), high likewise.
    """

    first: Limits
    second: Limits
    correlation: Any

    def distances(self, tail: float) -> tuple[Array, Array]:
        (down, up), (less, more) = self.first.distances(tail), self.second.distances(tail)
        widths = [
            np.sqrt(np.maximum(one**2 + two**2 - 2.0 * self.correlation * one * two, 0.0))
            for one, two in ((np.asarray(down), np.asarray(more)), (np.asarray(up), np.asarray(less)))
        ]
        return widths[0], widths[1]


def p_value(limits: Limits, difference: Array) -> Array:
    """Return for each difference the level at which its interval just reaches 0: a two-sided p-value.

    Examples
    --------
    >>> from mechdesign.collect.intervals import NormalLimits
    >>> p_value(NormalLimits(np.array([1.0, 1.0])), np.array([1.959964, 0.0])).round(4)
    array([0.05, 1.  ])
    """
    places = [_place(limits, row, float(value)) for row, value in enumerate(np.ravel(difference).tolist())]
    return np.array([math.erfc(place / math.sqrt(2.0)) for place in places])


def _place(limits: Limits, row: int, value: float) -> float:
    """Return the normal quantile z at whose tail the interval just reaches 0.

    The width is nearly linear in z: secants from z = 1 take few steps, and beyond FAR one line is enough.
    """
    aim = abs(value)

    def width(place: float) -> float:
        down, up = limits.distances(0.5 * math.erfc(place / math.sqrt(2.0)))
        return float(np.ravel(down if value > 0.0 else up)[row])

    if aim == 0.0:
        return 0.0
    before, reached = 1.0, width(1.0)
    place = aim / max(reached, aim / FARTHEST)
    for _ in range(STEPS):
        if place >= FAR:
            return min(FARTHEST, FAR * aim / max(width(FAR), aim / FARTHEST))
        latest = width(place)
        if abs(latest - aim) <= CLOSE * aim:
            return place
        slope = (latest - reached) / (place - before) if place != before else 0.0
        further = place + (aim - latest) / slope if slope > 0.0 else place * aim / max(latest, 1e-300)
        before, reached = place, latest
        place = further if 0.0 < further < 2.0 * max(place, 1.0) else place * aim / max(latest, 1e-300)
    return place


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values that hold together, whatever their dependence (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    result, largest = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        result[place] = largest
    return result


Row = tuple[float, float, float, float]
"""An estimate, its standard error, and the ends of its interval."""


@dataclass(frozen=True)
class Change:
    """The change of one estimate between two waves.

    Attributes
    ----------
    question, category : str
    value : float
        The later estimate minus the earlier one.
    standard_error, low, high : float
        Its standard error, and the ends of its interval.
    """

    question: str
    category: str
    value: float
    standard_error: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether its interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0


def change_between(question: str, category: str, first: Row, second: Row) -> Change:
    """Return the change from one estimate to a later one.

    Parameters
    ----------
    question, category : str
    first, second : (estimate, standard error, low, high)

    Examples
    --------
    >>> change_between("smokes", "yes", (0.2, 0.03, 0.14, 0.26), (0.3, 0.04, 0.22, 0.38))
    Change(question='smokes', category='yes', value=0.09999..., standard_error=0.05, low=-0.0, high=0.2)
    """
    (a, error_a, low_a, high_a), (b, error_b, low_b, high_b) = first, second
    value = b - a
    down, up = map(float, difference_distances((b - low_b, high_b - b), (a - low_a, high_a - a)))
    return Change(question, category, value, math.hypot(error_a, error_b), value - down, value + up)
