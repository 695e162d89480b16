"""Users with a few events in many interchangeable slots: their states, channels, and integer weights.

Channels are in floating point: probabilities of classes, decodings, and their errors. Weights are integers,
with an exact audit.

**States and classes.**
A state says how many events fall into each of m slots, at most r in all; permutations of the slots make its
kind, a partition. A report that singles out k slots, its *named* ones, meets a state in a class: how many
events the state has in each named slot, and the partition of the others. Thousands of states have a few dozen
classes, whatever m is.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit
from mechdesign.collect.kernel import Kernel, Steps, row_hex
from mechdesign.core.errors import CertificateError
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BITS, TOTAL, exp_written
from mechdesign.families.workload.weights import audit_patterns

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
        return tuple(self._classes_with(named) for named in range(self.most_named + 1))

    def _classes_with(self, named: int) -> EventClasses:
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


Codes = NDArray[np.int64]

SPARE = 2.0**-40
"""What goes to the blank report, as a part of a row: it takes what rounding leaves."""


@dataclass(frozen=True, eq=False)
class EventWeights(Kernel):
    """Weights out of 2**62 of reports that name slots; the blank report has what is left of each row.

    Attributes
    ----------
    states : EventStates
    named : tuple of int
        The slots that the reports of each orbit name, at least 1.
    weights : tuple of (C,) int arrays
        The weight of one report of the orbit for a state of each class.
    decoded : tuple of (k + 1,) arrays
        Estimates of the named slots and of the others.
    blank : float
        The estimate of every slot where the report is blank.
    """

    states: EventStates
    named: tuple[int, ...]
    weights: tuple[Codes, ...]
    decoded: tuple[Array, ...]
    blank: float

    def __post_init__(self) -> None:
        for named, weights, decoded in zip(self.named, self.weights, self.decoded, strict=True):
            if not 1 <= named <= self.states.most_named:
                raise CertificateError("channel", f"a report names {named} slots")
            if weights.shape != (len(self.states.classes(named).counts),) or decoded.shape != (named + 1,):
                raise CertificateError("channel", "weights and classes do not belong together")
            if int(weights.min()) < 0 or int(weights.max()) > TOTAL:
                raise CertificateError("channel", "a weight is negative or exceeds 2**62")
            if not np.isfinite(decoded).all():
                raise CertificateError("channel", "an estimate is not finite")
        if min(self.blanks) < 0:
            raise CertificateError("channel", "a row sums to more than 2**62")

    @cached_property
    def blanks(self) -> tuple[int, ...]:
        """The weights of the blank report, for each kind of state."""
        blanks = [TOTAL] * len(self.states.kinds)
        for named, weights in zip(self.named, self.weights, strict=True):
            classes = self.states.classes(named)
            for number, kind in enumerate(classes.kinds.tolist()):
                blanks[kind] -= met(self.states, classes, number) * int(weights[number])
        return tuple(blanks)

    @property
    def most_blank(self) -> float:
        """The largest probability of the blank report."""
        return max(self.blanks) / 2.0**BITS

    def audit(self, epsilon: float) -> ClassAudit:
        """Return the exact audit: the largest ratio of the weights of any report."""
        low = np.array([weights.min() for weights in self.weights], dtype=np.int64)
        high = np.array([weights.max() for weights in self.weights], dtype=np.int64)
        return audit_patterns(low, high, np.array(self.blanks, dtype=np.int64), epsilon)

    @cached_property
    def channel(self) -> EventChannel:
        """The same in floating point."""
        states = self.states
        blank = frozen(np.array(self.blanks) / float(TOTAL))
        orbits = [EventOrbit(0, frozen(np.array([self.blank])), blank)]
        for named, weights, decoded in zip(self.named, self.weights, self.decoded, strict=True):
            count = float(math.perm(states.slots, named))
            masses = weights.astype(np.float64) * (count / float(TOTAL))
            orbits.append(EventOrbit(named, decoded, frozen(masses)))
        return EventChannel(states, tuple(orbits))

    def redecoded(self, prior: Array) -> EventWeights:
        """Return the weights with the unbiased decodings of the least variance at a prior."""
        blank, *others = self.channel.redecoded(prior).orbits
        return replace(self, decoded=tuple(orbit.decoded for orbit in others), blank=float(blank.decoded[0]))

    # Reports

    @cached_property
    def starts(self) -> Codes:
        """The number of the first report of each orbit; the blank report is 0."""
        sizes = [self.states.slots**named for named in self.named]
        return frozen(np.cumsum([1, *sizes], dtype=np.int64))

    @property
    def reports(self) -> int:
        """The number of reports, those that name a slot twice included; they are never made."""
        return int(self.starts[-1])

    def slots_of(self, orbit: int) -> Codes:
        """Return the slots that each report of an orbit names, shape (m^k, k)."""
        named, slots = self.named[orbit], self.states.slots
        numbers = np.arange(slots**named)
        return np.stack([numbers // slots**place % slots for place in range(named)], axis=1)

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which numbers are reports: those that name different slots."""
        parts = [np.ones(1, dtype=np.bool_)]
        parts += [_differ(self.slots_of(orbit)) for orbit in range(len(self.named))]
        return frozen(np.concatenate(parts))

    def held_weights(self, orbit: int) -> Codes:
        """Return the weights of an orbit's reports by the events that their named slots hold.

        Shape (kinds, (most + 1)^k), the first named slot running fastest; 0 where no state holds them so.
        """
        classes, base = self.states.classes(self.named[orbit]), self.states.most + 1
        weights = np.zeros((len(self.states.kinds), base ** self.named[orbit]), dtype=np.int64)
        held = classes.named @ base ** np.arange(self.named[orbit])
        weights[classes.kinds, held] = self.weights[orbit]
        return weights

    @cached_property
    def _rows(self) -> tuple[Codes, ...]:
        """The cumulative weights of all reports for a state of each kind, its fullest slots first."""
        base, rows = self.states.most + 1, []
        tables = [self.held_weights(orbit) for orbit in range(len(self.named))]
        for number, kind in enumerate(self.states.kinds):
            events = np.zeros(self.states.slots, dtype=np.int64)
            events[: len(kind)] = kind
            parts = [np.array([self.blanks[number]], dtype=np.int64)]
            for orbit, named in enumerate(self.named):
                slots = self.slots_of(orbit)
                held = events[slots] @ base ** np.arange(named)
                parts.append(np.where(_differ(slots), tables[orbit][number, held], 0))
            rows.append(frozen(np.cumsum(np.concatenate(parts))))
        return tuple(rows)

    def client_steps(self) -> Steps:
        """Return how a report is drawn for the number of a state, as plain values."""
        tables = [self.held_weights(orbit) for orbit in range(len(self.named))]
        return {
            "step": "events",
            "slots": self.states.slots,
            "most": self.states.most,
            "named": list(self.named),
            "kinds": [list(kind) for kind in self.states.kinds],
            "blanks": row_hex(self.blanks),
            "weights": [[row_hex(row.tolist()) for row in table] for table in tables],
        }

    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        """Return the number of a report for the number of each state, from one uniform integer each."""
        kinds, orders = self._states_in_order
        reports = np.zeros(len(codes), dtype=np.int64)
        for number, row in enumerate(self._rows):
            mine = np.flatnonzero(kinds[codes] == number)
            report = np.searchsorted(row, uniform[mine], side="right")
            reports[mine] = self._moved(report, orders[codes[mine]])
        return reports

    def row(self, code: int) -> Codes:
        """Return the weights of all reports for the state with this number."""
        kinds, orders = self._states_in_order
        places = np.arange(self.reports)
        row = np.zeros(self.reports, dtype=np.int64)
        moved = self._moved(places, np.broadcast_to(orders[code], (self.reports, self.states.slots)))
        row[moved] = np.diff(self._rows[kinds[code]], prepend=0)
        return row

    def _moved(self, reports: Codes, orders: Codes) -> Codes:
        """Return reports about a state in order as reports about the state itself."""
        orbit = np.searchsorted(self.starts, reports, side="right") - 1
        moved = np.zeros(len(reports), dtype=np.int64)
        for number, named in enumerate(self.named):
            mine = np.flatnonzero(orbit == number)
            place = reports[mine] - self.starts[number]
            total = np.full(len(mine), self.starts[number])
            for digit in range(named):
                slot = place // self.states.slots**digit % self.states.slots
                total += orders[mine, slot] * self.states.slots**digit
            moved[mine] = total
        return moved

    @cached_property
    def _states_in_order(self) -> tuple[Codes, Codes]:
        """The kind of each state, and its slots with the fullest first."""
        places = {kind: number for number, kind in enumerate(self.states.kinds)}
        kinds, orders = [], []
        for state in listed_states(self.states):
            events = np.bincount(np.array(state, dtype=np.int64), minlength=self.states.slots)
            order = np.argsort(-events, kind="stable")
            kinds.append(places[tuple(int(part) for part in events[order] if part)])
            orders.append(order)
        return frozen(np.array(kinds, dtype=np.int64)), frozen(np.array(orders, dtype=np.int64))

    def totals(self, counts: Codes) -> tuple[Array, Array]:
        """Return the sums over reports of the estimates and of their squares, for each slot."""
        first = np.full(self.states.slots, float(counts[0]) * self.blank)
        second = np.full(self.states.slots, float(counts[0]) * self.blank**2)
        for orbit, decoded in enumerate(self.decoded):
            own = counts[self.starts[orbit] : self.starts[orbit + 1]]
            slots = self.slots_of(orbit)
            for total, power in ((first, 1), (second, 2)):
                total += float(own.sum()) * decoded[-1] ** power
                for place in range(self.named[orbit]):
                    amounts = own * (decoded[place] ** power - decoded[-1] ** power)
                    np.add.at(total, slots[:, place], amounts)
        return first, second


def _differ(slots: Codes) -> NDArray[np.bool_]:
    ordered = np.sort(slots, axis=1)
    distinct: NDArray[np.bool_] = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    return distinct


def met(states: EventStates, classes: EventClasses, number: int) -> int:
    """Return the number of reports of an orbit that meet one state in a class.

    Examples
    --------
    >>> states = EventStates(4, 2)
    >>> classes = states.classes(1)
    >>> [met(states, classes, number) for number in np.flatnonzero(classes.kinds == 3)]  # two slots of four
    [2, 2]
    """
    kind = states.kinds[int(classes.kinds[number])]
    held = classes.named[number].tolist()
    ways, left = 1, {events: kind.count(events) for events in set(held)}
    left[0] = states.slots - len(kind)
    for events in held:
        ways *= left[events]
        left[events] -= 1
    return ways


def listed_states(states: EventStates) -> list[tuple[int, ...]]:
    """Return the states in order, each as the slots of its events.

    Examples
    --------
    >>> listed_states(EventStates(2, 2))
    [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
    """
    slots = range(states.slots)
    totals = range(states.most + 1)
    return [state for total in totals for state in itertools.combinations_with_replacement(slots, total)]


def integer_weights_of(channel: EventChannel, epsilon: float) -> EventWeights:
    """Return exactly private integer weights next to a channel in floating point.

    The least weights of each report are raised to what its largest one allows, rows are divided by the
    largest sum, and what they then lack goes to the blank report, with a little for every state.

    Raises
    ------
    CertificateError
        Where the channel is too far from a private one for that.
    """
    states, limit = channel.states, exp_written(epsilon)
    inverse = float(1 / limit) * (1.0 + 2.0**-30)
    raised = [
        EventOrbit(orbit.named, orbit.decoded, np.maximum(orbit.masses, inverse * orbit.masses.max()))
        for orbit in channel.orbits
    ]
    largest = float(EventChannel(states, tuple(raised)).sums.max())
    spare = SPARE
    while spare < 1e-3:
        scale = (1.0 - spare) / largest * float(TOTAL)
        weights = _rounded(states, raised, scale, limit)
        if min(weights.blanks) >= 0 and weights.audit(epsilon).holds:
            return weights
        spare *= 4.0
    raise CertificateError("channel", "it is too far from a private one")


def _rounded(states: EventStates, orbits: list[EventOrbit], scale: float, limit: Fraction) -> EventWeights:
    blank = next(orbit for orbit in orbits if orbit.named == 0)
    naming = [orbit for orbit in orbits if orbit.named > 0]
    weights = []
    for orbit in naming:
        each = np.rint(orbit.masses * (scale / math.perm(states.slots, orbit.named))).astype(np.int64)
        weights.append(np.maximum(each, math.ceil(int(each.max()) / limit)))
    named = tuple(orbit.named for orbit in naming)
    decoded = tuple(orbit.decoded for orbit in naming)
    return EventWeights(states, named, tuple(weights), decoded, float(blank.decoded[0]))
