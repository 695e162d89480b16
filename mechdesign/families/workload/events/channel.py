"""Channels of event reports in floating point: probabilities of classes, decodings, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.numbers import frozen
from mechdesign.families.workload.audit.event_classes import EventStates

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EventOrbit:
    """Reports that name k slots, one for each choice of them, and how they are decoded.

    Attributes
    ----------
    named : int
        k.
    decoded : (k + 1,) array
        The estimate for each named slot and, last, for every other one.
    masses : (C,) array
        For each class, the probability of one such report times the number of reports.
    """

    named: int
    decoded: Array
    masses: Array


@dataclass(frozen=True, eq=False)
class EventChannel:
    """A channel that treats all slots the same way, with its decodings."""

    states: EventStates
    orbits: tuple[EventOrbit, ...]

    @cached_property
    def _parts(self) -> tuple[Array, ...]:
        """For each orbit, the probability that a slot of a pair gets an entry of the decoding."""
        states = self.states
        found = []
        for orbit in self.orbits:
            classes = states.classes(orbit.named)
            weights = orbit.masses * classes.counts
            found.append(frozen(np.einsum("pck,c->pk", classes.parts, weights) / states.holding[:, None]))
        return tuple(found)

    @property
    def sums(self) -> Array:
        """The row sums of each kind of state."""
        found = np.zeros(len(self.states.kinds))
        for orbit in self.orbits:
            classes = self.states.classes(orbit.named)
            np.add.at(found, classes.kinds, orbit.masses * classes.counts)
        return found / self.states.counts

    @property
    def means(self) -> Array:
        """The expected estimate for a slot of each pair; its number of events where it is unbiased."""
        return self.moment(1)

    def moment(self, order: int) -> Array:
        """Return the moment about 0 of the estimate for a slot of each pair."""
        parts = zip(self._parts, self.orbits, strict=True)
        found: Array = np.sum([part @ orbit.decoded**order for part, orbit in parts], axis=0)
        return found

    @property
    def variances(self) -> Array:
        """The variance of the estimate for a slot of each pair."""
        return self.moment(2) - self.means**2

    def error(self, prior: Array) -> float:
        """Return the variance of one report, all slots together, averaged over the users."""
        states = self.states
        kinds = np.array([kind for kind, _ in states.pairs])
        weights = states.shares(prior)[kinds] * states.holding / states.counts[kinds]
        return float(weights @ (self.variances + (self.means - states.events) ** 2))

    def redecoded(self, prior: Array) -> EventChannel:
        """Return the channel with the unbiased decodings of the least variance at a prior.

        With the average probability w of each entry, minimise sum w d^2 subject to A d = events.
        """
        states = self.states
        shares = states.shares(prior) / states.counts
        rows = np.hstack(self._parts)
        weights = np.concatenate([self._chance(orbit, shares) for orbit in self.orbits])
        scale = np.where(weights > 0.0, 1.0 / np.sqrt(np.maximum(weights, 1e-300)), 0.0)
        solved = scale * np.linalg.lstsq(rows * scale, states.events, rcond=1e-13)[0]
        ends = np.cumsum([orbit.named + 1 for orbit in self.orbits])[:-1]
        orbits = zip(self.orbits, np.split(solved, ends), strict=True)
        return EventChannel(
            states, tuple(EventOrbit(orbit.named, decoded, orbit.masses) for orbit, decoded in orbits)
        )

    def _chance(self, orbit: EventOrbit, shares: Array) -> Array:
        """Return the probability of an orbit's reports, times the slots that each entry stands for."""
        classes = self.states.classes(orbit.named)
        chance = float((shares[classes.kinds] * classes.counts) @ orbit.masses)
        return chance * self.states.sizes(orbit.named)
