"""Users with a few events in many interchangeable slots: their states, and channels for these.

Channels are in floating point: probabilities of classes, decodings, and their errors.

**States and classes.**
A state says how many events fall into each of m slots, at most r in all; permutations of the slots make its
kind, a partition. A report that singles out k slots, its *named* ones, meets a state in a class: how many
events the state has in each named slot, and the partition of the others. Thousands of states have a few dozen
classes, whatever m is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.numbers import frozen

Array = NDArray[np.float64]
Kind = tuple[int, ...]


def partitions(total: int, largest: int | None = None) -> Iterator[Kind]:
    """Yield the partitions of a number into parts of at most ``largest``, the largest parts first.

    Examples
    --------
    >>> list(partitions(3))
    [(3,), (2, 1), (1, 1, 1)]
    """
    if total == 0:
        yield ()
        return
    for part in range(min(total, total if largest is None else largest), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def placements(kind: Kind, slots: int) -> int:
    """Return the number of states of a kind in this many slots.

    Examples
    --------
    >>> placements((2, 1), 4), placements((), 4), placements((1, 1, 1), 2)
    (12, 1, 0)
    """
    if len(kind) > slots:
        return 0
    alike = math.prod(math.factorial(count) for count in Counter(kind).values())
    return math.perm(slots, len(kind)) // alike


@dataclass(frozen=True)
class EventClasses:
    """The classes of states next to a report that names k of the slots.

    Attributes
    ----------
    named : (C, k) int array
        The events in each named slot.
    counts : (C,) array
        The number of states in each class.
    kinds : (C,) int array
        The kind of these states.
    parts : (P, C, k + 1) array
        For each pair of a kind and a number of events: the slots of a state of the class that hold this many
        events, among the named ones and, last, among the others.
    """

    named: NDArray[np.int64]
    rests: tuple[Kind, ...]
    counts: Array
    kinds: NDArray[np.int64]
    parts: Array


@dataclass(frozen=True)
class EventStates:
    """The states of users with at most ``most`` events in ``slots`` slots.

    Examples
    --------
    >>> states = EventStates(24, 3)
    >>> states.size, [len(states.classes(named).counts) for named in range(4)]
    (2925, [7, 14, 25, 41])
    >>> EventStates(2, 2).kinds
    ((), (1,), (2,), (1, 1))
    """

    slots: int
    most: int

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of states, by the number of events."""
        kinds = [kind for total in range(self.most + 1) for kind in partitions(total)]
        return tuple(kind for kind in kinds if placements(kind, self.slots))

    @cached_property
    def counts(self) -> Array:
        """The number of states of each kind."""
        return frozen(np.array([placements(kind, self.slots) for kind in self.kinds], dtype=np.float64))

    @property
    def size(self) -> int:
        """The number of states."""
        return math.comb(self.slots + self.most, self.most)

    @property
    def most_named(self) -> int:
        """The most slots that a report may name: ``most``, or all but one."""
        return min(self.most, self.slots - 1)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of a kind and a number of events that a slot of such a state holds."""
        pairs = []
        for number, kind in enumerate(self.kinds):
            held = sorted(set(kind)) if len(kind) == self.slots else [0, *sorted(set(kind))]
            pairs += [(number, events) for events in held]
        return tuple(pairs)

    @cached_property
    def holding(self) -> Array:
        """The number of slots that each pair is about, over all states of the kind."""
        numbers: Array = np.array(
            [self.counts[kind] * self._held(self.kinds[kind], events) for kind, events in self.pairs]
        )
        return frozen(numbers)

    def _held(self, kind: Kind, events: int) -> int:
        return kind.count(events) if events else self.slots - len(kind)

    @cached_property
    def events(self) -> Array:
        """The number of events of each pair."""
        return frozen(np.array([events for _, events in self.pairs], dtype=np.float64))

    @cached_property
    def squares(self) -> Array:
        """The sum of squares of the numbers of events, for each kind."""
        return frozen(np.array([sum(part * part for part in kind) for kind in self.kinds], dtype=np.float64))

    def shares(self, prior: Array) -> Array:
        """Return the shares of the kinds: those of each number of events, spread evenly over its states."""
        totals = np.array([sum(kind) for kind in self.kinds])
        alike = np.bincount(totals, weights=self.counts)
        shares: Array = prior[totals] * self.counts / alike[totals]
        return shares

    def sizes(self, named: int) -> Array:
        """Return the number of slots that each entry of a decoding stands for: 1 each, then the rest."""
        return np.append(np.ones(named), float(self.slots - named))

    def classes(self, named: int) -> EventClasses:
        """Return the classes next to a report that names this many slots."""
        return self._classes[named]

    @cached_property
    def _classes(self) -> tuple[EventClasses, ...]:
        return tuple(self._made(named) for named in range(self.most_named + 1))

    def _made(self, named: int) -> EventClasses:
        places = {kind: number for number, kind in enumerate(self.kinds)}
        pairs = {pair: number for number, pair in enumerate(self.pairs)}
        states = []
        for held in _vectors(named, self.most):
            for total in range(self.most - sum(held) + 1):
                states += [(held, rest) for rest in partitions(total) if placements(rest, self.slots - named)]
        kinds = [places[tuple(sorted([*filter(None, held), *rest], reverse=True))] for held, rest in states]
        parts = np.zeros((len(pairs), len(states), named + 1))
        for number, ((held, rest), kind) in enumerate(zip(states, kinds, strict=True)):
            for slot, events in enumerate(held):
                parts[pairs[kind, events], number, slot] = 1.0
            for events, count in Counter(rest).items():
                parts[pairs[kind, events], number, -1] = count
            empty = self.slots - named - len(rest)
            if empty:
                parts[pairs[kind, 0], number, -1] = empty
        counts = [placements(rest, self.slots - named) for _, rest in states]
        return EventClasses(
            frozen(np.array([held for held, _ in states], dtype=np.int64).reshape(len(states), named)),
            tuple(rest for _, rest in states),
            frozen(np.array(counts, dtype=np.float64)),
            frozen(np.array(kinds, dtype=np.int64)),
            frozen(parts),
        )


def _vectors(length: int, most: int) -> Iterator[tuple[int, ...]]:
    if length == 0:
        yield ()
        return
    for first in range(most + 1):
        for rest in _vectors(length - 1, most - first):
            yield (first, *rest)


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
        parts = []
        for orbit in self.orbits:
            classes = states.classes(orbit.named)
            weights = orbit.masses * classes.counts
            parts.append(frozen(np.einsum("pck,c->pk", classes.parts, weights) / states.holding[:, None]))
        return tuple(parts)

    @property
    def sums(self) -> Array:
        """The row sums of each kind of state."""
        sums = np.zeros(len(self.states.kinds))
        for orbit in self.orbits:
            classes = self.states.classes(orbit.named)
            np.add.at(sums, classes.kinds, orbit.masses * classes.counts)
        return sums / self.states.counts

    @property
    def means(self) -> Array:
        """The expected estimate for a slot of each pair; its number of events where it is unbiased."""
        return self.moment(1)

    def moment(self, order: int) -> Array:
        """Return the moment about 0 of the estimate for a slot of each pair."""
        parts = zip(self._parts, self.orbits, strict=True)
        moment: Array = np.sum([part @ orbit.decoded**order for part, orbit in parts], axis=0)
        return moment

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
