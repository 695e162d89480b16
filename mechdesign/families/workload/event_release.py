"""The mechanism of event counts: a private report per user, and an unbiased count for every slot.

Its server writes only the reports that were sent: most never are. Its estimate is the mean number per user
of each slot, with intervals.

**Confidence limits: the score test of means, for users of a few kinds.**
A slot's score has the mean c for a user with c events in it, and moments that depend on c and on the kind of
the user's state. Which kinds the users are of is unknown; their average second moment is observed, and lies
between the envelopes of the kinds' under each hypothesis about the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit
from mechdesign.collect.codec import Choice, Codec, Codes, Labels
from mechdesign.collect.collector import Aggregator, Collector
from mechdesign.collect.estimate import ListedEstimate
from mechdesign.collect.intervals import rare_step
from mechdesign.collect.scores import few_users
from mechdesign.collect.server import damage_refused, require_users, whole_rows
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, counted
from mechdesign.core.validation import double_epsilon, finite_array, probability_vector, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.exact.numbers import frozen, require_no_mask, wholes
from mechdesign.families.workload.event_states import EventStates, EventWeights, listed_states
from mechdesign.primitives.mean_limits import Curves, ReportSums, ScoreLimits, lower_envelope
from mechdesign.show.figure import Figure

if TYPE_CHECKING:
    from mechdesign.collect.intervals import Limits

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


@dataclass(frozen=True, repr=False)
class EventEstimate(ListedEstimate):
    """Unbiased estimates of the mean number of events of a user, for each slot.

    Attributes
    ----------
    value, standard_error : (m,) array
    users : int
    slots : tuple of str
    population : bool
        False: the truth is the average over the users who reported, and the errors are an upper estimate.
        True: over the population they are drawn from at random.
    mechanism : EventRelease
        The mechanism that made the reports.
    limits : Limits
        What intervals are made from: those of the score test.
    """

    thing: ClassVar[str] = "slot"
    things: ClassVar[str] = "slots"
    estimated: ClassVar[str] = "events per user"
    digits: ClassVar[str] = ".5g"
    most: ClassVar[int | None] = 40

    value: Array
    standard_error: Array
    slots: tuple[str, ...]
    mechanism: EventRelease = field(repr=False, compare=False)
    population: bool = False
    notes: tuple[str, ...] = ()
    limits: Limits | None = field(default=None, repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.slots

    @property
    def counts(self) -> Array:
        """The estimated number of events of all users, for each slot."""
        counts: Array = np.asarray(self.value) * self.users
        return counts

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        return self._drawn(f"Estimated events of {counted(self.users, 'report')}", "slot", "events per user")


class EventTally(Aggregator[EventEstimate]):
    """Counts of the reports: add reports, merge with others, estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.EventCounts(slots=3, most=1, prior=[0.5, 0.5], epsilon=2.0)
    >>> mechanism = md.solve(problem).mechanism()
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize(["none", "2"], rng=1))
    >>> there.update(mechanism.randomize(["1"], rng=2))
    >>> here.merge(there)
    >>> here.users
    3
    """

    def _written(self) -> dict[str, Any]:
        seen = np.flatnonzero(self.counts)
        return {"made": seen.tolist(), "counts": self.counts[seen].tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        seen, counts = document["made"], document["counts"]
        (places,) = whole_rows([seen], len(seen), 1)
        (numbers,) = whole_rows([counts], len(seen), 1)
        require_users(sum(numbers))
        if len(set(places)) < len(places):
            raise DataError("made", "names a report twice", "count the reports again")
        tally = np.zeros(len(self.counts), dtype=np.int64)
        tally[self.mechanism.read(np.array(places, dtype=np.int64))] = np.array(numbers, dtype=np.int64)
        self.counts = tally


MOST_SLOTS, MOST_EVENTS = 64, 3
"""The largest numbers that a file may have, those of the problem: more would take minutes to list."""

BIASED = 2.0**-31
"""The largest bias that is allowed, as a part of the standard error of one report: that of 2^62 users."""


def state_names(states: EventStates, slots: Sequence[str]) -> list[str]:
    """Return the names of states: the slots of the events, joined by +; ``none`` without events.

    Examples
    --------
    >>> state_names(EventStates(2, 2), ["a", "b"])
    ['none', 'a', 'b', 'a+a', 'a+b', 'b+b']
    """
    return ["+".join(slots[slot] for slot in state) or "none" for state in listed_states(states)]


def slot_names(count: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the slots, numbers by default.

    Raises
    ------
    ParameterError
        When a name is empty, appears twice, or could be taken for a state.
    """
    if names is None:
        return tuple(str(number) for number in range(count))
    read = Labels(count, names, "labels").names
    assert read is not None
    for name in read:
        if "+" in name or name == "none":
            raise ParameterError("labels", f"'{name}' could be a state", "omit '+' and the name 'none'")
    return read


class EventRelease(Collector[EventEstimate]):
    """One private report per user with a few events, from which every slot's events are counted.

    Parameters
    ----------
    epsilon : float
        The guarantee; audited here.
    weights : EventWeights
        The integer weights of all classes of reports, and how reports are decoded.
    prior : (r + 1,) array
        Shares of users by their number of events that it is made for; estimates are unbiased for all data.
    labels : sequence of str, optional
        Names of the slots.

    Raises
    ------
    CertificateError
        When the weights are not private, or the estimates biased.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.EventCounts(slots=3, most=2, prior=[0.6, 0.3, 0.1], epsilon=2.0)
    >>> mechanism = md.solve(problem).mechanism()
    >>> users = ["none"] * 6000 + ["0"] * 3000 + ["1+1"] * 1000
    >>> estimate = mechanism.estimate(mechanism.randomize(users, rng=1))
    >>> low, high = estimate.interval(0.999)
    >>> bool((low < [0.3, 0.2, 0.0]).all() and (high > [0.3, 0.2, 0.0]).all())
    True
    """

    type: ClassVar[str] = "event-counts"
    quantity: ClassVar[str] = "the events of the slots"
    _report_text: ClassVar[str] = "the number of a report"

    def __init__(
        self, epsilon: float, weights: EventWeights, prior: Any, labels: Sequence[str] | None = None
    ) -> None:
        self.epsilon = double_epsilon(epsilon)
        self.weights = replace(
            weights,
            weights=tuple(frozen(row) for row in weights.weights),
            decoded=tuple(frozen(row) for row in weights.decoded),
        )
        self.states = weights.states
        self.prior: Array = frozen(probability_vector("prior", prior))
        if len(self.prior) != self.states.most + 1 or self.prior.min() <= 0.0:
            raise CertificateError("prior", f"expected {self.states.most + 1} shares above 0")
        self.slot_labels = None if labels is None else tuple(labels)
        self.slots = slot_names(self.states.slots, labels)
        self.labels = Labels(self.states.size, state_names(self.states, self.slots))
        for certificate in self.certificates():
            if not certificate.holds:
                raise CertificateError("channel", certificate)

    def _figures(self) -> str:
        return (
            f"{counted(self.states.slots, 'slot')}, {counted(self.states.size, 'state')}, "
            f"epsilon={self.epsilon:g}"
        )

    # Audit

    def audit(self) -> ClassAudit:
        return self._audit

    @cached_property
    def _audit(self) -> ClassAudit:
        return self.weights.audit(self.epsilon)

    def certificates(self) -> tuple[Certificate, ...]:
        return *super().certificates(), self._unbiased

    @cached_property
    def _unbiased(self) -> Certificate:
        """Certify that the estimator is unbiased for each class under the integer weights."""
        channel = self.weights.channel
        bias = float(np.abs(channel.means - self.states.events).max())
        most = BIASED * math.sqrt(max(float(channel.variances.max()), 0.0))
        note = "computed in doubles; below the standard error of 2**62 users"
        return Certificate("unbiased", bias <= most, False, {"bias_below": float(f"{most:.2g}")}, {}, note)

    @property
    def average_error(self) -> float:
        """The variance of one report, all slots together, averaged over the prior."""
        return self.weights.channel.error(self.prior)

    # Client

    @property
    def kernel(self) -> EventWeights:
        return self.weights

    def _sum_figures(self) -> Mapping[str, float]:
        return {"blank": self.weights.most_blank}

    @cached_property
    def codec(self) -> Codec:
        """Questions and codes: the slots of each user's events in order, joined by ``+``, or ``none``."""
        return Choice(self.labels, "events")

    # Server

    def read(self, reports: Any) -> Codes:
        """Return the numbers of reports; one that names a slot twice is refused."""
        codes = self.report_labels.encode(reports, "reports")
        self.report_labels._refuse(np.asarray(reports), ~self.possible_reports()[codes], "reports")
        return codes

    def aggregator(self) -> EventTally:
        """Return an empty counter of reports; counters of many servers can be merged."""
        return EventTally(self)

    def estimate_from_counts(self, counts: Codes, population: bool = False) -> EventEstimate:
        """Return the estimates from the number of times each report was made.

        The standard errors are those of the score test at the estimates: the second moment of the decoded
        reports is moved to what users with these averages can have.
        """
        require_no_mask(counts, "counts")
        users = int(counts.sum())
        values, squares = (total / users for total in self.weights.totals(counts))
        limits = slot_limits(self._curves, values, squares, users, population)
        errors = limits.standard_error()
        return EventEstimate(values, errors, users, self.slots, self, population, few_users(users), limits)

    @cached_property
    def _curves(self) -> ClassCurves:
        """The moments of a slot's score for users of each kind."""
        moments = np.stack([self.weights.channel.moment(order) for order in (2, 3, 4)])
        return ClassCurves.of(self.states.events, moments)

    # Accuracy

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of a slot's mean number of events with this many users."""
        count = user_count(users)
        largest = math.sqrt(float(self.weights.channel.variances.max()) / count)
        typical = math.sqrt(self.average_error / self.states.slots / count)
        assumption = (largest, typical, "if the prior is right")
        if largest <= self.states.most:
            return Forecast("events per user", count, True, *assumption, of="a slot")
        reason = (
            f"with {counted(count, 'user')} the standard error of a slot is up to {largest:.4g}, and a user "
            f"has at most {self.states.most} events; collect from more users, or build with a larger epsilon"
        )
        return Forecast("events per user", count, False, *assumption, reason, of="a slot")

    # File

    def content(self) -> dict[str, Any]:
        """Return guarantee, weights and decodings as plain values."""
        return {
            "epsilon": self.epsilon,
            "slots": self.states.slots,
            "most": self.states.most,
            "prior": self.prior.tolist(),
            "labels": None if self.slot_labels is None else list(self.slot_labels),
            "named": list(self.weights.named),
            "weights": [weights.tolist() for weights in self.weights.weights],
            "decoded": [decoded.tolist() for decoded in self.weights.decoded],
            "blank": self.weights.blank,
        }

    @classmethod
    @damage_refused
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from plain values, auditing it again."""
        slots, events = int(content["slots"]), int(content["most"])
        if not (2 <= slots <= MOST_SLOTS and 1 <= events <= MOST_EVENTS):
            raise CertificateError(
                "slots", f"{counted(slots, 'slot')} and {events} events per user are out of range"
            )
        weights = EventWeights(
            EventStates(slots, events),
            tuple(int(named) for named in content["named"]),
            tuple(frozen(wholes("weights", row, 1)) for row in content["weights"]),
            tuple(frozen(finite_array("decoded", row, 1)) for row in content["decoded"]),
            float(content["blank"]),
        )
        return cls(content["epsilon"], weights, content["prior"], content["labels"])
