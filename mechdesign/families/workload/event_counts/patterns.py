"""The master program of event counts by patterns: a few dozen rows, however many decodings there are.

Given a decoding, the masses of its classes lie between L and e^eps L, so they are a combination of
*patterns*: each class has L or e^eps L. The prices of the rows say at once which pattern of a known decoding
lowers the error most. The program over all classes (:mod:`.program`) has thousands of rows for the same
optimum.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.audit.event_bound import EventBound
from mechdesign.families.workload.audit.event_classes import EventStates
from mechdesign.families.workload.event_counts.program import (
    Decoding,
    EventMaster,
    class_rows,
    solved_program,
)
from mechdesign.families.workload.events.channel import EventOrbit
from mechdesign.families.workload.value import Array

Pattern = NDArray[np.bool_]

ROUNDS = 60
"""Most rounds for one set of decodings."""

ENOUGH = 0.2
"""Patterns are added until prices are exceeded by at most this part of what may be left in the end."""


class PatternMaster:
    """The best masses of the decodings so far, kept from one set of decodings to the next.

    Parameters
    ----------
    states : EventStates
    prior : (r + 1,) array
    epsilon : float
    accuracy : float
        What may be left in the end, as a part of the error.
    """

    def __init__(self, states: EventStates, prior: Array, epsilon: float, accuracy: float) -> None:
        self._states, self._prior, self._epsilon, self._accuracy = states, prior, epsilon, accuracy
        self._shares = states.shares(prior)
        self._power = math.exp(epsilon)
        self._limits = np.concatenate([np.ones(len(states.kinds)), states.events])
        self._points: list[Decoding] = []
        self._patterns: list[tuple[int, Pattern]] = []

    def solved(self, points: list[Decoding]) -> EventMaster:
        """Return the best channel with these decodings, all but new ones known from the last time.

        Raises
        ------
        MethodError
            When HiGHS does not end with an optimum.
        """
        if not self._patterns:
            first = solved_program(self._states, self._prior, self._epsilon, points)
            self._patterns = [
                (number, orbit.masses > height)
                for number, orbit in enumerate(first.orbits)
                for height in np.unique(orbit.masses)
            ]
            self._points = points
            return first
        place = {id(point): number for number, point in enumerate(points)}
        kept = ((place.get(id(self._points[number])), pattern) for number, pattern in self._patterns)
        self._patterns = [(number, pattern) for number, pattern in kept if number is not None]
        self._points = points
        return self._generated()

    def _generated(self) -> EventMaster:
        """Add the best pattern of each decoding until none lowers the error further."""
        from mechdesign.solvers.linear import solve_equality_form

        data = [class_rows(self._states, self._shares, point) for point in self._points]
        columns = [self._column(data[number], pattern) for number, pattern in self._patterns]
        constant = float(self._shares @ self._states.squares)
        for _ in range(ROUNDS):
            gains = np.array([gain for gain, _ in columns])
            amounts, prices = solve_equality_form(
                gains, np.array([rows for _, rows in columns]).T, self._limits
            )
            value = -float(gains @ amounts) - constant
            allowed = ENOUGH * self._accuracy * value / len(self._states.kinds)
            fresh = []
            for number, (earned, rows) in enumerate(data):
                reduced = earned - prices @ rows
                pattern = reduced > 0.0
                weights = np.where(pattern, self._power, 1.0)
                if float(weights @ reduced) > allowed * float(
                    weights @ rows[: len(self._states.kinds)].sum(axis=0)
                ):
                    fresh.append((number, pattern))
            if not fresh:
                break
            self._patterns += fresh
            columns += [self._column(data[number], pattern) for number, pattern in fresh]
        amounts = np.append(amounts, np.zeros(len(self._patterns) - len(amounts)))
        return self._master(amounts, prices, value)

    def _column(self, data: tuple[Array, Array], pattern: Pattern) -> tuple[float, Array]:
        earned, rows = data
        weights = self._weights(pattern)
        return float(earned @ weights), rows @ weights

    def _weights(self, pattern: Pattern) -> Array:
        """Return the masses of a pattern, centred: HiGHS drops entries below 1e-9."""
        root = math.sqrt(self._power)
        return np.where(pattern, root, 1.0 / root)

    def _master(self, amounts: Array, prices: Array, value: float) -> EventMaster:
        masses = [np.zeros(len(self._states.classes(named).counts)) for named, _ in self._points]
        for amount, (number, pattern) in zip(amounts.tolist(), self._patterns, strict=True):
            masses[number] += max(amount, 0.0) * self._weights(pattern)
        pairs = zip(self._points, masses, strict=True)
        orbits = tuple(EventOrbit(named, decoded, found) for (named, decoded), found in pairs)
        kinds = len(self._states.kinds)
        bound = EventBound(self._states, self._prior, -prices[:kinds], -prices[kinds:])
        return EventMaster(orbits, bound, value, "HiGHS simplex")
