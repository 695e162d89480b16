"""The problem ``event-counts``: a private report from which rare events in many slots are counted.

Its lower bounds for the error of private unbiased counts are checked again from stored numbers.

**Reports that single out few slots.**
Let a report be decoded as a vector d of estimates, one per slot, of which all but r are equal. For prices y
of the row sums and w of unbiasedness let c_x(d) = y_x + w_x.d - pi_x |d|^2 for every state x, and

    h(d) = sum_x max(c_x(d), E c_x(d)),      E = e^eps.

A report's probabilities lie between some l and E l, so it lowers the Lagrangian by at most l h(d); and the l
of all reports sum to at most 1. So every private channel with unbiased decodings of this class has

    error >= sum_x (y_x + w_x.x - pi_x |x|^2) - max(0, sup h).

The sup over all real d is found by branch and bound: on a box each max lies below a chord, which leaves a
concave quadratic with a maximum that is known. What is proven does not depend on where y and w come from.

**One event a user, over all reports whatever.**
The types are no event and one event in slot 1 .. m, with the shares p0 and p1/m each. In the bound of
:mod:`mechdesign.families.workload.workload_bound` let B and mu treat all slots alike: with s = v
without its first entry and S the sum of s,

    (B v)_i = b0 v_0 + b1 s_i + b2 S,        mu.v = mu0 v_0 + mu1 S.

Then |B v|^2, mu.v and pi.v of a pattern v in {1, E}^(m+1) depend only on v_0 and on the number of slots with
E: 2 (m + 1) classes of patterns. They are gone through in fractions, with e^epsilon rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.fields import Kept, checked, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array, privacy_epsilon, probability_vector
from mechdesign.core.values import Vector, changed
from mechdesign.exact.randomness import exp_upper, float_down, float_up
from mechdesign.families.workload.event_release import EventRelease, slot_names, state_names
from mechdesign.families.workload.event_states import (
    EventChannel,
    EventOrbit,
    EventStates,
    integer_weights_of,
    listed_states,
)
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.patterns import Array
from mechdesign.families.workload.release import WorkloadRelease
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.solve import one_thread

if TYPE_CHECKING:
    import cvxpy

ROUNDING = 2.0**-44
"""More than what a sum of a few hundred products loses, as a part of the sum of their sizes."""

MOST_BOXES = 300_000
CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class EventForms:
    """The c_x of all classes for decodings with k named slots: g.d - pi (sizes.d^2) + y each."""

    counts: Array
    linear: Array
    square: Array
    constant: Array
    sizes: Array

    def values(self, points: Array) -> Array:
        """Return c_x for each point and class, shape (B, C)."""
        norms = (points * points) @ self.sizes
        values: Array = points @ self.linear.T - norms[:, None] * self.square + self.constant
        return values

    def heights(self, points: Array, power: float) -> Array:
        """Return h at points, shape (B,)."""
        values = self.values(points)
        heights: Array = np.maximum(values, power * values) @ self.counts
        return heights

    def climbed(self, points: Array, power: float, steps: int = 60) -> Array:
        """Return points no lower than these: each goes to the maximum of its quadratic, again and again."""
        before = np.zeros(0, dtype=np.bool_)
        for _ in range(steps):
            signs = self.values(points) > 0.0
            if np.array_equal(before, signs):
                break  # every point is the maximum of its quadratic
            before = signs
            weights = np.where(signs, power, 1.0) * self.counts
            curvature = weights @ self.square
            points = (weights @ self.linear) / (2.0 * curvature[:, None] * self.sizes)
        return points


@dataclass(frozen=True, eq=False)
class EventBound:
    """The prices from which a lower bound of the error is checked.

    Parameters
    ----------
    states : EventStates
    prior : (r + 1,) array
        Shares of users by their number of events, all above 0.
    sums : (kinds,) array
        y, over all states of a kind.
    unbiased : (pairs,) array
        w, over all slots of a kind with this many events.
    """

    states: EventStates
    prior: Array
    sums: Array
    unbiased: Array

    @property
    def method(self) -> str:
        """Name of the proof of the inequality."""
        return "branch and bound over all decodings"

    @property
    def total(self) -> float:
        """The bound before sup h is subtracted, rounded down."""
        shares = self.states.shares(self.prior)
        terms = np.concatenate([self.sums, self.unbiased * self.states.events, -shares * self.states.squares])
        return math.fsum(terms.tolist()) - ROUNDING * float(np.abs(terms).sum())

    def forms(self, named: int) -> EventForms:
        """Return the c_x for decodings that name this many slots."""
        states = self.states
        classes, shares = states.classes(named), states.shares(self.prior)
        each = self.unbiased / states.holding
        return EventForms(
            classes.counts,
            np.einsum("p,pck->ck", each, classes.parts),
            (shares / states.counts)[classes.kinds],
            (self.sums / states.counts)[classes.kinds],
            states.sizes(named),
        )

    def check(self, epsilon: float) -> float:
        """Return a proven lower bound of the error of one report, all slots together.

        Raises
        ------
        CertificateError
            When the prices have no fitting shape, or prove nothing.
        """
        sizes = (len(self.states.kinds), len(self.states.pairs), self.states.most + 1)
        if (len(self.sums), len(self.unbiased), len(self.prior)) != sizes or self.prior.min() <= 0.0:
            raise CertificateError("bound", "its numbers do not fit the states")
        if not np.isfinite(np.concatenate([self.sums, self.unbiased])).all():
            raise CertificateError("bound", "a price is not finite")
        if not _is_never_positive(self.forms(self.states.most_named), float_up(exp_upper(epsilon))):
            raise CertificateError("bound", "its prices are exceeded by a decoding")
        return self.total

    def as_json(self) -> dict[str, Any]:
        """Return the stored numbers as plain values."""
        return {
            "slots": self.states.slots,
            "most": self.states.most,
            "prior": self.prior.tolist(),
            "sums": self.sums.tolist(),
            "unbiased": self.unbiased.tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EventBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        names = ("prior", "sums", "unbiased")
        arrays = [finite_array(f"bound: {name}", document[name], 1) for name in names]
        return cls(EventStates(int(document["slots"]), int(document["most"])), *arrays)


def _radius(forms: EventForms) -> float:
    """Return a number beyond which every c_x is negative, whatever the direction."""
    slopes = np.sqrt((forms.linear**2 / forms.sizes).sum(axis=1))
    reach = 2.0 * slopes / forms.square + np.sqrt(2.0 * np.maximum(forms.constant, 0.0) / forms.square)
    return 1.001 * float(reach.max()) + 1e-9


def _is_never_positive(forms: EventForms, power: float) -> bool:
    """Whether h <= 0 at every real decoding is proven."""
    named = len(forms.sizes) - 1
    reach = _radius(forms) / np.sqrt(np.maximum(forms.sizes, 1.0))
    low, high = -reach[None, :], reach[None, :]
    seen = 0
    while len(low):
        part_low, part_high = low[-CHUNK:], high[-CHUNK:]
        low, high = low[:-CHUNK], high[:-CHUNK]
        seen += len(part_low)
        if seen > MOST_BOXES:
            return False
        tops, kinks = _tops(forms, power, part_low, part_high)
        open_boxes = tops > 0.0
        part_low, part_high, kinks = part_low[open_boxes], part_high[open_boxes], kinks[open_boxes]
        if not len(part_low):
            continue
        middle = (part_low + part_high) / 2.0
        if forms.heights(middle, power).max() > 0.0:
            return False
        side = np.argmax(kinks * (part_high - part_low), axis=1)
        rows = np.arange(len(side))
        left_high, right_low = part_high.copy(), part_low.copy()
        left_high[rows, side] = right_low[rows, side] = middle[rows, side]
        both_low, both_high = np.vstack([part_low, right_low]), np.vstack([left_high, part_high])
        # named slots are interchangeable: their estimates may be taken to decrease
        ordered = (both_high[:, : max(named - 1, 0)] >= both_low[:, 1:named]).all(axis=1)
        low, high = np.vstack([low, both_low[ordered]]), np.vstack([high, both_high[ordered]])
    return True


def _tops(forms: EventForms, power: float, low: Array, high: Array) -> tuple[Array, Array]:
    """Return an upper bound of h on each box, and how much each coordinate bends it."""
    sizes = forms.sizes
    # each coordinate's part of c_x is a concave parabola: its ends and, inside, its vertex
    curve = forms.square[:, None] * sizes
    vertex = forms.linear / (2.0 * curve)
    ends = [forms.linear * side[:, None, :] - curve * side[:, None, :] ** 2 for side in (low, high)]
    inside = np.clip(vertex[None], low[:, None, :], high[:, None, :])
    most = (forms.linear * inside - curve * inside**2).sum(axis=2) + forms.constant
    least = np.minimum(*ends).sum(axis=2) + forms.constant
    far = np.maximum(np.abs(low), np.abs(high))
    size = far @ np.abs(forms.linear).T + (far**2 @ sizes)[:, None] * forms.square + np.abs(forms.constant)
    lost = ROUNDING * size
    most, least = most + lost, least - lost
    width = np.maximum(most - least, 1e-300)
    slope = np.where(least >= 0.0, power, np.where(most <= 0.0, 1.0, (power * most - least) / width))
    crossing = (least < 0.0) & (most > 0.0)
    lift = np.where(crossing, least - slope * least, 0.0)
    weights = slope * forms.counts
    linear, curvature = weights @ forms.linear, (weights @ forms.square)[:, None] * sizes
    best = np.clip(linear / (2.0 * curvature), low, high)
    top = (linear * best - curvature * best**2).sum(axis=1) + weights @ forms.constant + lift @ forms.counts
    top = top + 4.0 * ROUNDING * ((weights * size).sum(axis=1) + np.abs(lift) @ forms.counts)
    bend = np.abs(forms.linear)[None] + 2.0 * far[:, None, :] * curve
    kinks = np.einsum("bc,bck->bk", np.where(crossing, forms.counts * (power - 1.0), 1e-9), bend)
    return top, kinks


@dataclass(frozen=True)
class OneEventBound:
    """The numbers from which a lower bound of the error of counts of one event is checked.

    Parameters
    ----------
    slots : int
    prior : (p0, p1)
        Shares of users without and with an event, both above 0; divided by their sum.
    directions : (b0, b1, b2)
    multiplier : (mu0, mu1)

    Examples
    --------
    >>> bound = OneEventBound(2, (0.5, 0.5), (-0.9, 2.2845, -0.6922), (-0.3555, 1.7701))
    >>> 2.80 < bound.check(1.0) < 2.80973  # the least error is 2.80973
    True
    """

    slots: int
    prior: tuple[float, float]
    directions: tuple[float, float, float]
    multiplier: tuple[float, float]

    @property
    def method(self) -> str:
        """Name of the proof of the inequality for all patterns."""
        return "all patterns"

    def check(self, epsilon: float) -> float:
        """Return a proven lower bound of the error of one report, all slots together.

        Raises
        ------
        CertificateError
            When the numbers are not finite, or prove nothing.
        """
        numbers = (*self.prior, *self.directions, *self.multiplier)
        if self.slots < 1 or not all(map(math.isfinite, numbers)) or min(self.prior) <= 0.0:
            raise CertificateError("bound", f"its numbers do not fit {counted(self.slots, 'slot')}")
        m, total = self.slots, sum(map(Fraction, self.prior))
        none, one = (Fraction(share) / total for share in self.prior)
        b0, b1, b2 = map(Fraction, self.directions)
        ratio = self._largest_ratio(none, one, Fraction(exp_upper(epsilon)))
        product = -b0 * one + m * (b1 * (1 - one / m) + b2 * (1 - one))  # tr(B W~')
        mass = (Fraction(self.multiplier[0]) + m * Fraction(self.multiplier[1])) * ratio
        if product <= 0 or mass <= 0:
            raise CertificateError("bound", "its numbers prove nothing: tr B W~' or 1.mu may be negative")
        own = none * one**2 / m + one * ((1 - one / m) ** 2 + (m - 1) * (one / m) ** 2)
        return float_down(product**2 / mass - own)

    def _largest_ratio(self, none: Fraction, one: Fraction, power: Fraction) -> Fraction:
        """Return the largest |Bv|^2 / ((mu.v)(pi.v)) of all patterns."""
        m = self.slots
        b0, b1, b2 = map(Fraction, self.directions)
        mu0, mu1 = map(Fraction, self.multiplier)
        largest = Fraction(0)
        for first in (Fraction(1), power):
            for inside in range(m + 1):
                size = inside * power + (m - inside)
                shared = b0 * first + b2 * size
                square = inside * (shared + b1 * power) ** 2 + (m - inside) * (shared + b1) ** 2
                cost = mu0 * first + mu1 * size
                if cost <= 0:
                    raise CertificateError("bound", "its numbers prove nothing: mu.v may be negative")
                largest = max(largest, square / (cost * (none * first + one / m * size)))
        return largest

    def as_json(self) -> dict[str, Any]:
        """Return the stored numbers as plain values."""
        names = ("prior", "directions", "multiplier")
        return {"slots": self.slots, **{name: list(getattr(self, name)) for name in names}}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> OneEventBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        none, one = map(float, document["prior"])
        b0, b1, b2 = map(float, document["directions"])
        mu0, mu1 = map(float, document["multiplier"])
        return cls(int(document["slots"]), (none, one), (b0, b1, b2), (mu0, mu1))


Bound = EventBound | OneEventBound | WorkloadBound

LIMITS = (0.1, 16.0)
"""Between these epsilons the linear program is solved to the accuracy that its bound needs."""

MOST_STATES = 50_000
LEAST_SHARE = 1e-7


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LIMITS[0] <= epsilon <= LIMITS[1]:
        raise ParameterError(field, f"{epsilon:g} is outside {LIMITS[0]:g} .. {LIMITS[1]:g}", "set it inside")
    return epsilon


def _prior(problem: EventCounts, field: str, value: Any) -> Array:
    shares = probability_vector(field, value)
    if len(shares) != problem.most + 1:
        expected = f"expected {problem.most + 1} shares, for 0 to {problem.most} events"
        raise ParameterError(field, f"{expected}, got {len(shares)}", "give one each")
    if float(shares.min()) < LEAST_SHARE:
        raise ParameterError(
            field,
            f"the share of users with {int(np.argmin(shares))} events is below {LEAST_SHARE:g}",
            "give every number of events a small positive share",
        )
    return shares


def _labels(problem: EventCounts, field: str, names: Any) -> tuple[str, ...]:
    return slot_names(problem.slots, names)


@frozen_problem(eq=False)
class EventCounts(Problem[EventRelease | WorkloadRelease]):
    r"""The epsilon-private report from which the events of every slot are counted with the least variance.

    ::

        minimize    sum_x pi_x sum_y q(y | x) |d_y - x|^2
        over        every channel with  q(y | x) <= e^eps q(y | x')  and vectors d_y of estimates
        subject to  sum_y q(y | x) d_y = x      (the estimate is unbiased for every state)

    A state x says how many events a user has in each of m slots, at most r in all; pi gives each number of
    events its share, spread evenly over its states. With one event a user (r = 1), with at most r + 1 slots,
    and with at most 20 states the optimum is over all reports. Up to 300 states patterns of states are
    generated; the bound is for all reports, and may be far. Else the optimum is over the reports that single
    out at most r slots, where in each d_y all other entries are equal: the best of its class, and says so.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.EventCounts(slots=9, most=1, prior=[0.9, 0.1], epsilon=0.3))
    >>> solution.status, round(solution.value, 2)  # the best report that singles out one slot: 642.26
    ('optimal', 313.43)
    """

    name: ClassVar[str] = "event-counts"
    example: ClassVar[Mapping[str, Any]] = {"slots": 4, "most": 2, "prior": [0.9, 0.08, 0.02], "epsilon": 2.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "variance of one report, all slots together"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "private counts of rare events in many slots with the least variance"
    compared_with: ClassVar[str] = "all epsilon-private reports, decoded without bias"
    optimal_within: ClassVar[float] = 1e-3
    """A solution is certified optimal when its proven gap is below this part of its value."""

    slots: int = whole("Number m of slots, such as kinds of events times windows of time.", low=2, high=64)
    most: int = whole("Largest number r of events of a user.", low=1, high=3)
    epsilon: float = checked(
        "From 0.1 to 16. With 0 a report contains no information, and the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LIMITS[1]},
        form="float",
    )
    prior: Kept[Array, Vector] = related(
        "Shares of users with 0, 1, ... r events, all above 0. It shapes the mechanism; the estimates are "
        "unbiased for all data.",
        _prior,
        form="(r + 1,) array",
    )
    labels: Sequence[str] | None = related(
        "Names of the slots, by default their numbers.", _labels, form="sequence of str", default=None
    )

    def __attrs_post_init__(self) -> None:
        if self.states.size > MOST_STATES:
            raise ParameterError(
                "slots",
                f"{counted(self.states.size, 'state')}, more than {MOST_STATES}",
                "give fewer slots or events",
            )

    @cached_property
    def states(self) -> EventStates:
        """The states and their classes."""
        return EventStates(self.slots, self.most)

    @property
    def own_class(self) -> str:
        """The reports that single out few slots, where these are not all reports; empty where they are."""
        if self.slots <= self.most + 1:
            return ""
        return f"reports that single out at most {counted(self.most, 'slot')}"

    @cached_property
    def queries(self) -> LinearQueries:
        """The same as linear queries about the states, one per slot, for reports of any pattern."""
        names = None if self.labels is None else list(self.labels)
        workload = {"name": "events", "slots": self.slots, "most": self.most, "names": names}
        totals = np.array([len(state) for state in listed_states(self.states)])
        shares = self.prior[totals] / np.bincount(totals)[totals]
        return LinearQueries(workload=workload, epsilon=self.epsilon, population=shares)

    def channel(self, variables: Variables) -> EventChannel:
        """Return the channel that variables describe."""
        names = ("named", "decoded", "masses")
        rows = zip(*(variables[name] for name in names), strict=True)
        orbits = [
            EventOrbit(int(named), np.asarray(decoded), np.asarray(masses)) for named, decoded, masses in rows
        ]
        return EventChannel(self.states, tuple(orbits))

    def statement(self) -> cvxpy.Problem:
        """Return the program of linear queries about the states: their counts are the queries."""
        return self.queries.statement()

    def why_no_statement(self) -> str | None:
        return "with epsilon = 0 a report says nothing" if self.epsilon == 0.0 else None

    def statement_size(self) -> int:
        return 1 << self.states.size

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        return self.queries.from_statement(values)

    def objective(self, variables: Variables) -> float:
        """Return the mean squared error of one report, all slots together."""
        if "patterns" in variables:
            return self.queries.objective(variables)
        return self.channel(variables).error(self.prior)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of the row sums, of privacy and of unbiasedness."""
        if "patterns" in variables:
            return self.queries.residuals(variables)
        channel = self.channel(variables)
        power = float(np.exp(self.epsilon))
        excess = [float(orbit.masses.max() - power * orbit.masses.min()) for orbit in channel.orbits]
        return {
            "row_sums": float(np.abs(channel.sums - 1.0).max()),
            "privacy": max(0.0, *excess),
            "bias": float(np.abs(channel.means - self.states.events).max()),
        }

    def mechanism(self, solution: Solution[Any]) -> EventRelease | WorkloadRelease:
        """Return the mechanism with exact integer weights; its decodings are those of the integers.

        Reports that single out few slots are named by these; others are sets of states.
        """
        if "patterns" in solution.variables:
            bare = self.queries.mechanism(solution)
            names = state_names(self.states, slot_names(self.slots, self.labels))
            return WorkloadRelease(bare.workload, self.epsilon, bare.weights, bare.population, labels=names)
        rounded = integer_weights_of(self.channel(solution.variables), self.epsilon)
        return EventRelease(self.epsilon, rounded.redecoded(self.prior), self.prior, self.labels)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy, sums and bias of what would run, and optimality; the bound is proven again here."""
        mechanism = solution.mechanism()
        deployed = mechanism.average_error
        figures: dict[str, Any] = {"value": solution.value, "deployed_value": deployed}
        if solution.bound is None:
            return (*mechanism.certificates(), self.optimality(solution, unproven=figures))
        figures |= {"bound": solution.bound, "gap": solution.gap}
        left = deployed - solution.bound
        judged = self.optimality(solution, left, solution.value, figures=figures)
        if solution.scope:
            judged = changed(judged, among=f"all epsilon-private {self.own_class}, without bias")
        stored = solution.realisation
        if isinstance(stored, Bound) and self.proven(stored) < solution.bound:
            judged = Certificate(judged.property, False, False, figures, note="the stored numbers prove less")
        return (*mechanism.certificates(), judged)

    def proven(self, bound: Bound) -> float:
        """Return the bound that stored prices prove, in outward rounding."""
        if isinstance(bound, WorkloadBound):
            return self.queries.proven(bound)
        if isinstance(bound, OneEventBound):
            return self._proven_for_one(bound)
        if bound.states.slots != self.slots or (np.asarray(bound.prior) != self.prior).any():
            raise ParameterError("bound", "it is for other users", "solve the problem again")
        with one_thread(loading=True):  # with several sums are in another order
            return bound.check(self.epsilon)

    def _proven_for_one(self, bound: OneEventBound) -> float:
        """Return what the error of users with at most one event proves: it is a part of the whole error."""
        if bound.slots != self.slots or list(bound.prior) != self.prior[:2].tolist():
            raise ParameterError("bound", "it is for other users", "solve the problem again")
        part = bound.check(self.epsilon)
        if self.most == 1:
            return part
        shares = [Fraction(share) for share in self.prior.tolist()]
        return float_down(Fraction(max(part, 0.0)) * (shares[0] + shares[1]) / sum(shares))
