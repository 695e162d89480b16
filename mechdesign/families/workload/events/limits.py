"""Confidence limits of event counts: the score test of means, for users of a few kinds.

A slot's score has the mean c for a user with c events in it, and moments that depend on c and on the kind of
the user's state. Which kinds the users are of is unknown; their average second moment is observed, and lies
between the envelopes of the kinds' under each hypothesis about the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.curves import Curves, ReportSums, lower_envelope
from mechdesign.collect.intervals import rare_step
from mechdesign.collect.score import ScoreLimits

Array = NDArray[np.float64]
Lines = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class ClassCurves(Curves):
    """Moments of a score at some numbers of events only, with several kinds of users at each.

    ``second``, ``third`` and ``fourth`` are the largest of each number of events.

    Parameters
    ----------
    events : (P,) array
        The numbers of events of the kinds.
    moments : (3, P) array
        The second to fourth moments about 0.

    Examples
    --------
    >>> curves = ClassCurves.of(np.array([0.0, 0.0, 1.0]), np.array([[0.2, 0.4, 1.5]] * 3))
    >>> curves.second_at(np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.0, 9.0])).round(9).tolist()
    [0.2, 0.85, 0.95]
    >>> curves.least_square(np.array([0.5]), np.array([0.85])).round(9).tolist()  # c^2 = c
    [0.5]
    """

    events: Array = field(kw_only=True)
    moments: Array = field(kw_only=True)

    @classmethod
    def of(cls, events: Array, moments: Array) -> Self:
        """Return the curves of kinds with these events and moments."""
        places = np.unique(events)
        second, third, fourth = (_extreme(places, events, moment) for moment in moments)
        return cls(places, second, third, fourth, events=events, moments=moments)

    def least_square(self, mean: Array, second: Array) -> Array:
        """Return a lower bound of avg(c^2), at most what the ends of the range allow."""
        least = mean**2
        for slope, (knots, envelope) in self._bounds:
            least = np.maximum(least, slope * second + np.interp(mean, knots, envelope))
        most = (self.places[0] + self.places[-1]) * mean - self.places[0] * self.places[-1]
        bound: Array = np.minimum(least, np.maximum(most, mean**2))
        return bound

    def cumulants(self, mean: Array) -> tuple[Array, Array]:
        """Return bounds of the average third and fourth cumulants, each of shape (2, ...): least, largest."""
        third, fourth = (
            np.stack([sign * np.interp(mean, *lines) for sign, lines in zip((1.0, -1.0), both, strict=True)])
            for both in self._envelopes
        )
        return third, fourth

    def step_at(self, variance: Array, fourth: Array) -> Array:
        """Return the distance of two sums of reports next to each other: reports stand for few numbers."""
        return rare_step(self.step, variance, fourth)

    @cached_property
    def least_variance(self) -> float:
        """The least variance of a report."""
        return max(0.0, float((self.moments[0] - self.events**2).min()))

    @cached_property
    def _envelopes(self) -> tuple[tuple[Lines, Lines], ...]:
        """The least of the third and fourth cumulants, and the least of their negatives, along the mean."""
        c, (two, three, four) = self.events, self.moments
        variance = two - c**2
        third = three - 3.0 * c * two + 2.0 * c**3
        fourth = four - 4.0 * c * three + 6.0 * c**2 * two - 3.0 * c**4 - 3.0 * variance**2
        return tuple((self._least(curve), self._least(-curve)) for curve in (third, fourth))

    @cached_property
    def _least_second(self) -> Lines:
        return self._least(self.moments[0])

    @cached_property
    def _bounds(self) -> list[tuple[float, Lines]]:
        """The slopes k with the convex envelopes of c^2 - k s; with k = 0 that of c^2 alone."""
        squares = self.events**2
        return [(slope, self._least(squares - slope * self.moments[0])) for slope in [0.0, *self._slopes()]]

    def _least(self, values: Array) -> Lines:
        """Return the convex envelope of a value of each kind."""
        return lower_envelope(self.places, -_extreme(self.places, self.events, -values))


def _extreme(places: Array, events: Array, values: Array) -> Array:
    """Return the largest value at each number of events."""
    return np.array([values[events == place].max() for place in places])


def slot_limits(curves: ClassCurves, mean: Array, square: Array, users: int, population: bool) -> ScoreLimits:
    """Return the limits of the average number of events in each slot.

    Parameters
    ----------
    curves : ClassCurves
    mean, square : (m,) array
        Averages of the scores of the reports, and of their squares, for each slot.
    users : int
    population : bool
    """
    return ScoreLimits(curves, ReportSums(users, mean, square, 0.0 if population else 1.0))
