"""``event-counts`` by generation of decodings, by orbits of slots: the best that single out few slots.

k-ary response over the states, with its best unbiased decoding, is what is deployed; it is for comparison.

**Generation.**
The master program has the decodings found so far. Its prices say where h, the most that a decoding would
lower the error by, is positive: each start climbs from the maximum of one concave quadratic to that of the
next. What is left in the end is made up for by lower prices, and branch and bound over all real decodings
proves them (:mod:`mechdesign.families.workload.event_counts`).

**The linear program over all classes of states.**
Variables are, for each decoding d, the masses z of its classes and the largest of them, L: z <= L and
L <= e^eps z. There is a row of sums for each kind of state, and one of unbiasedness for each pair of a kind
and a number of events: a few dozen.

**The master program by patterns: a few dozen rows, however many decodings there are.**
Given a decoding, the masses of its classes lie between L and e^eps L, so they are a combination of
*patterns*: each class has L or e^eps L. The prices of the rows say at once which pattern of a known decoding
lowers the error most. The program over all classes has thousands of rows for the same
optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError, MethodError
from mechdesign.core.problem import Outcome
from mechdesign.families.workload.event_counts import EventBound, EventCounts
from mechdesign.families.workload.event_states import EventChannel, EventOrbit, EventStates
from mechdesign.families.workload.patterns import Array
from mechdesign.solvers.sensitivity import Binding

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram

Decoding = tuple[int, Array]
"""The number of named slots, and the estimates of these and of the others."""

NAME = "event-counts"


@dataclass(frozen=True, eq=False)
class EventMaster:
    """The best masses of given decodings, with the prices of the rows."""

    orbits: tuple[EventOrbit, ...]
    prices: EventBound
    value: float
    solver: str


def class_rows(states: EventStates, shares: Array, point: Decoding) -> tuple[Array, Array]:
    """Return the effect of a unit of mass of each class: minus its second moment, and on the equations."""
    named, decoded = point
    classes, kinds = states.classes(named), len(states.kinds)
    size = len(classes.counts)
    each = classes.counts / states.counts[classes.kinds]
    norm = float(states.sizes(named) @ decoded**2)
    rows = np.zeros((kinds + len(states.pairs), size))
    rows[classes.kinds, np.arange(size)] = each
    rows[kinds:] = (classes.parts @ decoded) * classes.counts / states.holding[:, None]
    return -norm * shares[classes.kinds] * each, rows


def _program(states: EventStates, shares: Array, epsilon: float, points: list[Decoding]) -> LinearProgram:
    """Return the program that maximises minus the second moment of the decoded reports."""
    from scipy.sparse import block_diag, coo_array, csr_array

    from mechdesign.solvers.linear import LinearProgram

    shrink, kinds = math.exp(-epsilon), len(states.kinds)
    objective, equal, upper = [], [], []
    for point in points:
        earned, rows = class_rows(states, shares, point)
        size = len(earned)
        objective.append(np.append(earned, 0.0))
        equal.append(np.hstack([rows, np.zeros((len(rows), 1))]))
        own = np.arange(size)
        last, ones = np.full(size, size), np.ones(size)  # z <= L, then L <= e^eps z
        entries = np.concatenate([ones, -ones, -ones, shrink * ones])
        places = np.concatenate([own, own, own + size, own + size]), np.concatenate([own, last, own, last])
        upper.append(coo_array((entries, places), shape=(2 * size, size + 1)))
    private = csr_array(block_diag(upper))
    count = private.shape[1]
    return LinearProgram(
        objective=np.concatenate(objective),
        upper_rows=private,
        upper_limits=np.zeros(private.shape[0]),
        equal_rows=csr_array(np.hstack(equal)),
        equal_limits=np.concatenate([np.ones(kinds), states.events]),
        low=np.zeros(count),
        high=np.full(count, np.inf),
    )


def solved_program(states: EventStates, prior: Array, epsilon: float, points: list[Decoding]) -> EventMaster:
    """Return the best channel with these decodings.

    Raises
    ------
    MethodError
        When HiGHS does not end with an optimum.
    """
    from mechdesign.solvers.linear import solve_linear

    shares = states.shares(prior)
    stated = _program(states, shares, epsilon, points)
    result = solve_linear(stated)
    if result.status != "optimal":
        result = solve_linear(stated, "interior-point")
    if result.status != "optimal":
        raise MethodError(
            NAME, f"the linear program failed ({result.message})", "change epsilon or the prior"
        )
    sizes = [len(states.classes(named).counts) + 1 for named, _ in points]
    parts = np.split(result.variables, np.cumsum(sizes)[:-1])
    orbits = tuple(
        EventOrbit(named, decoded, np.maximum(part[:-1], 0.0))
        for (named, decoded), part in zip(points, parts, strict=True)
    )
    prices = -result.equal_multipliers
    bound = EventBound(states, prior, prices[: len(states.kinds)], prices[len(states.kinds) :])
    value = -float(stated.objective @ result.variables) - float(shares @ states.squares)
    return EventMaster(orbits, bound, value, result.solver)


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
        remaining = ((place.get(id(self._points[number])), pattern) for number, pattern in self._patterns)
        self._patterns = [(number, pattern) for number, pattern in remaining if number is not None]
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
        orbits = tuple(EventOrbit(named, decoded, mass) for (named, decoded), mass in pairs)
        kinds = len(self._states.kinds)
        bound = EventBound(self._states, self._prior, -prices[:kinds], -prices[kinds:])
        return EventMaster(orbits, bound, value, "HiGHS simplex")


@dataclass(frozen=True, eq=False)
class EventPrices:
    """The last master program of a solution, with the epsilon that it was solved for.

    The masses of a report are L (1 + (e^eps - 1) t) with t in [0, 1] for each class of states. L, t, the
    decodings and the prices are kept when epsilon moves. Only equations have prices: privacy is in the form.
    """

    master: EventMaster
    epsilon: float

    def lagrangian(self, problem: Any) -> float | None:
        """Return the Lagrangian at another epsilon; None for other users."""
        prices = self.master.prices
        states, prior = prices.states, prices.prior
        if problem.states != states or (problem.prior != prior).any():
            return None
        shares = states.shares(prior)
        each = np.concatenate([prices.sums, prices.unbiased])
        limits = np.concatenate([np.ones(len(states.kinds)), states.events])
        terms = [float(each @ limits), -float(shares @ states.squares)]
        growth = math.expm1(problem.epsilon) / math.expm1(self.epsilon)
        for orbit in self.master.orbits:
            earned, rows = class_rows(states, shares, (orbit.named, orbit.decoded))
            least = float(orbit.masses.min())
            terms.append(-float((earned + each @ rows) @ (least + growth * (orbit.masses - least))))
        return math.fsum(terms)

    def binding(self) -> list[Binding]:
        """Return nothing: the equations always hold, and privacy is in the form of the masses."""
        return []


MOST_ROUNDS = 120
NEW = 12
"""Decodings that enter at a time, for each number of named slots."""

STARTS = 300
PATIENCE = 4
"""Rounds after which a decoding that is not used is dropped."""

CLOSE = 1e-4
"""Where the search stops: what is left to be gained, as a part of the value."""

SAME = 1e-7
NEGLIGIBLE = 1e-11
MARGIN = 3e-4
"""By what part of the value prices are lowered at least: with less, branch and bound takes long."""

SHIFTS = (1.0, 3.0, 10.0, 50.0)
"""By how much more prices are lowered, until they are proven."""

NOTHING = "at epsilon = 0 a report contains no information; set epsilon > 0"


def generated_decodings(problem: EventCounts, seed: int = 0) -> Outcome:
    """Generate decodings until next to nothing is left to be gained, and prove the bound.

    Parameters
    ----------
    problem : EventCounts
    seed : int
        Of the starts of the search.
    """
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="linear program", message=NOTHING)
    master, left, rounds = _generated(problem, np.random.default_rng(seed))
    states = problem.states
    used = tuple(item for item in master.orbits if item.masses.max() > NEGLIGIBLE)
    channel = EventChannel(states, _one_blank(states, used)).redecoded(problem.prior)
    bound, proven = _lowered(problem, master.prices, max(2.0 * left, MARGIN * master.value))
    value = channel.error(problem.prior)
    tight = proven is not None and value - proven <= problem.optimal_within * value
    return Outcome(
        status="optimal" if tight and not problem.own_class else "feasible",
        variables=channel_variables(channel),
        bound=proven,
        bound_source="" if bound is None else f"duality, checked by {bound.method}",
        solver=f"generation of decodings, {master.solver}",
        notes={"states": states.size, "orbits": len(channel.orbits), "rounds": rounds},
        realisation=bound,
        prices=EventPrices(master, problem.epsilon),
        scope=problem.own_class and f"the best of its class: {problem.own_class}",
    )


def channel_variables(channel: EventChannel) -> dict[str, Any]:
    """Return the variables of a channel by their stable names."""
    return {
        "named": [orbit.named for orbit in channel.orbits],
        "decoded": [orbit.decoded.tolist() for orbit in channel.orbits],
        "masses": [orbit.masses.tolist() for orbit in channel.orbits],
    }


def _one_blank(states: EventStates, orbits: tuple[EventOrbit, ...]) -> tuple[EventOrbit, ...]:
    """Return the orbits with one that names no slot; others like it name one slot, without any effect."""
    blanks = [orbit for orbit in orbits if orbit.named == 0]
    blanks.sort(key=lambda orbit: -float(orbit.masses.max()))
    first = blanks[0] if blanks else EventOrbit(0, np.zeros(1), np.zeros(len(states.kinds)))
    kinds = states.classes(1).kinds
    others = [EventOrbit(1, np.repeat(orbit.decoded, 2), orbit.masses[kinds]) for orbit in blanks[1:]]
    return (first, *others, *(orbit for orbit in orbits if orbit.named > 0))


def _generated(problem: EventCounts, rng: np.random.Generator) -> tuple[EventMaster, float, int]:
    """Return the last master program, how far its prices are exceeded, and the number of rounds."""
    points = _first(problem)
    ages = [0] * len(points)
    masters = PatternMaster(problem.states, problem.prior, problem.epsilon, CLOSE)
    rounds = 0
    while True:
        rounds += 1
        master = masters.solved(points)
        fresh, left = _priced(problem, master.prices, points, rng)
        if left <= CLOSE * master.value or not fresh or rounds >= MOST_ROUNDS:
            return master, left, rounds
        idle = [orbit.masses.max() <= NEGLIGIBLE for orbit in master.orbits]
        ages = [age + 1 if unused else 0 for age, unused in zip(ages, idle, strict=True)]
        young = [age < PATIENCE for age in ages]
        points = [point for point, keep in zip(points, young, strict=True) if keep] + fresh
        ages = [age for age, keep in zip(ages, young, strict=True) if keep] + [0] * len(fresh)


def _first(problem: EventCounts) -> list[Decoding]:
    """Return decodings with which an unbiased channel exists: of one named slot, above and below 0."""
    most, power = problem.most, math.exp(problem.epsilon)
    wide = 4.0 * most * (power + problem.slots) / (power - 1.0)
    blanks: list[Decoding] = [(0, np.array([level])) for level in (0.0, -0.01, -1.0, -wide)]
    heights = [*range(1, 2 * most + 1), wide, wide / 3.0, -1.0, -3.0]
    single: list[Decoding] = [(1, np.array([float(height), 0.0])) for height in heights]
    several: list[Decoding] = [
        (named, np.append(np.ones(named), 0.0)) for named in range(2, problem.states.most_named + 1)
    ]
    return [*blanks, *single, *several]


def _priced(
    problem: EventCounts, prices: EventBound, points: list[Decoding], rng: np.random.Generator
) -> tuple[list[Decoding], float]:
    """Return decodings that lower the error, and by how much the sum of all prices is to be lowered."""
    states, power = problem.states, math.exp(problem.epsilon)
    decodings: list[Decoding] = []
    left = 0.0
    for named in range(states.most_named + 1):
        forms, classes = prices.forms(named), states.classes(named)
        known = [decoded for number, decoded in points if number == named]
        reached = forms.climbed(_starts(problem, known, named, rng), power)
        weights = np.where(forms.values(reached) > 0.0, power, 1.0) * forms.counts
        excess = forms.heights(reached, power) / (weights / states.counts[classes.kinds]).sum(axis=1)
        left = max(left, float(excess.max()))
        order = np.argsort(-excess)
        likely = reached[order[excess[order] > 1e-9 * left]]
        ordered = np.hstack([-np.sort(-likely[:, :-1], axis=1), likely[:, -1:]])
        decodings += [(named, point) for point in _new_points(ordered, known)]
    return decodings, left * len(states.kinds)


def _new_points(points: Array, known: list[Array]) -> list[Array]:
    """Return at most ``NEW`` points, the first ones, that are neither known nor close to an earlier one."""
    fresh = np.ones(len(points), dtype=bool)
    for point in known:
        fresh &= np.abs(points - point).max(axis=1) > SAME
    new: list[Array] = []
    while len(new) < NEW and fresh.any():
        new.append(points[np.argmax(fresh)])
        fresh &= np.abs(points - new[-1]).max(axis=1) > SAME
    return new


def _starts(problem: EventCounts, known: list[Array], named: int, rng: np.random.Generator) -> Array:
    """Return points to climb from: known decodings shaken, and drawn ones of several sizes."""
    reach = float(problem.most)
    random = [rng.uniform(-0.2, 1.4, size=(STARTS, named + 1)) * reach * size for size in (1.0, 4.0)]
    for points in random:
        points[:, -1] *= rng.choice([0.003, 0.05, 0.5], size=STARTS)
    if not known:
        return np.vstack(random)
    shape = (len(known), named + 1)
    shaken = [np.array(known) * (1.0 + size * rng.normal(size=shape)) for size in (0.01, 0.3)]
    return np.vstack([*random, *shaken])


def _lowered(problem: EventCounts, prices: EventBound, left: float) -> tuple[EventBound | None, float | None]:
    """Return prices lowered until branch and bound proves them, with the bound; None where it does not."""
    for factor in SHIFTS:
        lower = replace(prices, sums=prices.sums - factor * left / len(prices.sums))
        try:
            return lower, problem.proven(lower)
        except CertificateError:
            continue
    return None, None


def kary_response(problem: EventCounts) -> Outcome:
    """Report the user's state e^eps times as often as each other one."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="formula", message=NOTHING)
    states, power = problem.states, math.exp(problem.epsilon)
    other = 1.0 / (power + states.size - 1.0)
    orbits = []
    for kind, count in zip(states.kinds, states.counts, strict=True):
        classes = states.classes(len(kind))
        own = [
            tuple(held) == kind and not rest  # named in any order where numbers of events are equal
            for held, rest in zip(classes.named.tolist(), classes.rests, strict=True)
        ]
        masses = count * other * np.where(own, power, 1.0)
        orbits.append(EventOrbit(len(kind), np.zeros(len(kind) + 1), masses))
    channel = EventChannel(states, tuple(orbits)).redecoded(problem.prior)
    return Outcome(
        status="feasible",
        variables=channel_variables(channel),
        solver="formula",
        notes={"states": states.size},
    )


def why_not_kary(problem: EventCounts) -> str | None:
    """Return why its reports cannot be decoded here, or None."""
    if problem.slots <= problem.most:
        return "a state can fill all slots, but a report leaves at least one out; give more slots than events"
    return None
