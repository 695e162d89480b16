"""The methods of ``event-counts``, in the order in which they are tried.

**All patterns of types, not only those that single out few slots.**
With one event a user the slots can be exchanged and the patterns are few classes
(:mod:`mechdesign.families.workload.event_symmetry`). With more events all patterns are gone through where
there are at most 20 states. Where the best reports single out one slot they are written as such; else as
sets of states, like those of ``linear-queries``.

**Several events a user: patterns of states are generated modulo exchanges of slots.**
A pattern stands for all its images, so the master program has a few dozen numbers whatever the slots. Its
prices say which patterns lower the error: from many decodings, in which groups of slots are alike, patterns
climb until they stay. A pattern with more than a thousand images is not looked for. All reports that single
out few slots are among the others, up to 300 states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import counted
from mechdesign.core.problem import Method, Outcome, Problem
from mechdesign.core.values import changed
from mechdesign.families.workload.event_counts import EventCounts, OneEventBound
from mechdesign.families.workload.event_decodings import (
    NOTHING,
    channel_variables,
    generated_decodings,
    kary_response,
    why_not_kary,
)
from mechdesign.families.workload.event_states import EventChannel, EventOrbit
from mechdesign.families.workload.event_symmetry import (
    ExchangedMaster,
    ExchangedUsers,
    Exchanges,
    PatternClasses,
    balanced_sets,
    best_classes,
    groupings,
    slotwise_moments,
)
from mechdesign.families.workload.master import PatternWorth
from mechdesign.families.workload.patterns import Array, Sets, columns_of
from mechdesign.families.workload.query_columns import all_columns, column_generation, why_not_all_columns
from mechdesign.families.workload.query_outcomes import (
    QueryPrices,
    outcome,
    pattern_variables,
    spectral_bound,
)
from mechdesign.families.workload.weights import feasible_patterns
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED, WorkloadBound
from mechdesign.solvers.interior import Minimised
from mechdesign.solvers.sensitivity import Binding
from mechdesign.solvers.statement import statement_method

NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class AllPatternPrices:
    """The worth of the patterns of a solution, for the users that were planned with."""

    problem: EventCounts
    worth: PatternWorth

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian at another epsilon; None for other users."""
        assert isinstance(problem, EventCounts)
        if problem.states != self.problem.states or (problem.prior != self.problem.prior).any():
            return None
        return self.worth.lagrangian(problem.epsilon)

    def binding(self) -> list[Binding]:
        """Return nothing: the equations always hold, and privacy is in the form of the patterns."""
        return []


def own_prices(problem: EventCounts, prices: Any) -> AllPatternPrices | None:
    """Return the prices of the same linear queries as prices of the events."""
    return AllPatternPrices(problem, prices.worth) if isinstance(prices, QueryPrices) else None


def all_event_patterns(problem: EventCounts) -> Outcome:
    """Return the best of all private reports, proven by all patterns."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="interior point", message=NOTHING)
    return _one_event(problem) if problem.most == 1 else _few_states(problem)


def _one_event(problem: EventCounts) -> Outcome:
    classes = best_classes(problem.slots, problem.prior, problem.epsilon)
    used = np.flatnonzero(classes.chances > NEGLIGIBLE * classes.chances.max()).tolist()
    sets, amounts = _listed_classes(problem, classes, used)
    queries = problem.queries
    worth = PatternWorth(queries.centered, queries.shares, problem.epsilon, sets, amounts)
    few = all(classes.inside[number] in (0, 1, problem.slots - 1, problem.slots) for number in used)
    if few:
        channel = _single(problem, classes, used).redecoded(problem.prior)
        variables = channel_variables(channel)
    else:
        variables = pattern_variables(sets, amounts, queries.shares)
    return Outcome(
        status="optimal",
        variables=variables,
        bound=classes.bound.check(problem.epsilon),
        bound_source=f"duality, checked for {classes.bound.method} in fractions",
        solver="interior point",
        notes={"states": problem.states.size, "named_slots": _named(classes, used), "patterns": len(sets)},
        realisation=classes.bound,
        prices=AllPatternPrices(problem, worth),
    )


def _named(classes: PatternClasses, used: list[int]) -> str:
    """Return how many slots reports single out, with the chance of each number."""
    chances: dict[int, float] = {}
    for number in used:
        inside = int(classes.inside[number])
        chances[inside] = chances.get(inside, 0.0) + float(classes.chances[number])
    return ", ".join(
        f"{inside}: {chance:.3f}" for inside, chance in sorted(chances.items()) if chance >= 5e-4
    )


def _listed_classes(problem: EventCounts, classes: PatternClasses, used: list[int]) -> tuple[Sets, Array]:
    """Return the patterns of the classes one by one, with the probability of each outside of its set."""
    parts, amounts = [], []
    power, shares = float(np.exp(problem.epsilon)), problem.queries.shares
    for number in used:
        sets, weights = balanced_sets(problem.slots, int(classes.inside[number]))
        whole = np.hstack([np.full((len(sets), 1), classes.none[number]), sets])
        mass = columns_of(whole[:1], power) @ shares  # the same for all of a class
        parts.append(whole)
        amounts.append(weights * classes.chances[number] / mass)
    return np.vstack(parts), np.concatenate(amounts)


def _single(problem: EventCounts, classes: PatternClasses, used: list[int]) -> EventChannel:
    """Return reports that single out one slot or none as such."""
    states, power = problem.states, float(np.exp(problem.epsilon))
    orbits = [EventOrbit(0, np.zeros(1), np.zeros(len(states.kinds)))]
    share = problem.prior[1] / problem.slots
    for number in used:
        none, inside = bool(classes.none[number]), int(classes.inside[number])
        first, rest = (power if none else 1.0), (1.0 if inside <= 1 else power)
        own = rest if inside in (0, problem.slots) else (power if inside == 1 else 1.0)
        size = inside * power + (problem.slots - inside)
        unit = float(classes.chances[number]) / (problem.prior[0] * first + share * size)
        single = states.classes(1)
        masses = np.where(single.kinds == 0, first, np.where(single.named[:, 0] == 1, own, rest)) * unit
        orbits.append(EventOrbit(1, np.zeros(2), masses))
    return EventChannel(states, tuple(orbits))


def _few_states(problem: EventCounts) -> Outcome:
    """Return the best of all patterns of at most 20 states, as linear queries."""
    queries = problem.queries
    solved = all_columns(queries) if why_not_all_columns(queries) is None else column_generation(queries)
    return changed(
        solved,
        prices=own_prices(problem, solved.prices),
        notes={"states": problem.states.size, **solved.notes},
    )


def why_not_all_event_patterns(problem: EventCounts) -> str | None:
    """Return why not all patterns are gone through, or None."""
    if problem.most == 1:
        return None
    if problem.slots <= problem.most + 1:
        return "every report singles out few slots; use orbits"
    if problem.states.size > MOST_ENUMERATED:
        return (
            f"{counted(problem.states.size, 'state')} have too many patterns with several events a user; "
            f"{MOST_ENUMERATED} at most"
        )
    return None


Codes = NDArray[np.int64]

MOST_STATES = 300
MOST_IMAGES = 1000
"""Images of a pattern under exchanges of slots, at most."""

MOST_SPECTRAL = 128
"""States up to which the bound of the spectral dual is looked at as well."""

ROUNDS = 80
NEW = 60
"""Patterns that enter at a time."""

CLOSE = 1e-5
"""Where the search stops: what a pattern gains at the prices, as a part of the error."""

CLIMBS = 20
"""Steps of one climb, at most."""

FIRST, DRAWN = 12, 8
"""Decodings that are drawn for each way to group the slots: to begin with, and for each size in a round."""

SHAKEN = (0.0, 0.05, 0.3)
"""By what parts the decodings of patterns in use are changed."""

SIZES = (1.0, 0.3, 0.1)
"""The sizes of decodings that are drawn, as parts of the largest one in use."""

UNUSED, IDLE = 1e-6, 1e-5
"""Patterns with a smaller part of the largest weight leave the master program, and the solution."""

SAME = 7
"""Decimals to which two patterns of the same moments agree."""


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Sets of states, and the labels of slots that can be exchanged within them."""

    sets: Sets
    labels: Codes

    def __getitem__(self, chosen: Codes) -> _Patterns:
        return _Patterns(self.sets[chosen], self.labels[chosen])

    def joined(self, other: _Patterns) -> _Patterns:
        """Return these and others."""
        return _Patterns(np.vstack([self.sets, other.sets]), np.vstack([self.labels, other.labels]))


@dataclass(frozen=True, eq=False)
class _Prices:
    """The prices of the master program: a pattern v gains |Bv|^2/(pi.v) - mu.v."""

    users: ExchangedUsers
    directions: Array
    multiplier: Array

    @classmethod
    def of(cls, users: ExchangedUsers, minimum: Minimised) -> _Prices:
        """Return the prices that belong to multipliers and inverses."""
        exchanges = users.exchanges
        inverses = zip(minimum.state.more, users.centered, strict=True)
        total, rest = (inverse @ part for inverse, part in inverses)
        directions = np.einsum("a,asn->sn", rest, exchanges.slotwise)
        directions += total @ exchanges.plain / exchanges.states.slots
        return cls(users, directions, -minimum.multiplier @ exchanges.plain)

    def decoded(self, sets: Sets) -> Array:
        """Return the estimates Bv/(pi.v) of every slot."""
        decoded: Array = self.users.columns(sets) @ self.directions.T
        return decoded

    def best(self, decoded: Array) -> Sets:
        """Return the patterns that gain most with these estimates."""
        squares = (decoded**2).sum(axis=1)[:, None] * self.users.shares
        best: Sets = 2.0 * decoded @ self.directions - squares > self.multiplier
        return best

    def climbed(self, decoded: Array) -> Sets:
        """Return patterns that are best with their own estimates."""
        sets = self.best(decoded)
        for _ in range(CLIMBS):
            before, sets = sets, self.best(self.decoded(sets))
            if (sets == before).all():
                break
        return sets

    def gains(self, sets: Sets) -> Array:
        """Return what each pattern gains, divided by pi.v: by so much the error may be above the least."""
        columns = self.users.columns(sets)
        gains: Array = ((columns @ self.directions.T) ** 2).sum(axis=1) - columns @ self.multiplier
        return gains


def event_columns(problem: EventCounts, seed: int = 0) -> Outcome:
    """Generate patterns until none that is found lowers the error; the bound is for all reports.

    Parameters
    ----------
    problem : EventCounts
    seed : int
        Of the decodings that are drawn.
    """
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="interior point", message=NOTHING)
    queries, power = problem.queries, math.exp(problem.epsilon)
    users = ExchangedUsers(Exchanges(problem.states), queries.shares, power)
    patterns, best, rounds = _generated(users, np.random.default_rng(seed))
    used = np.flatnonzero(best.weights > IDLE * best.weights.max())
    sets, amounts = _listed_images(users, patterns[used], best.weights[used])
    notes: dict[str, Any] = {"states": problem.states.size, "patterns": len(sets), "rounds": rounds}
    solver = "column generation, patterns priced by local search modulo exchanges of slots"
    judged = outcome(queries, sets, amounts, None, solver, notes=notes)
    value = queries.objective(judged.variables)
    bound = _best_bound(problem, value)
    proven = problem.proven(bound)
    tight = value - proven <= problem.optimal_within * value
    return changed(
        judged,
        status="optimal" if tight else "feasible",
        bound=proven,
        bound_source=f"duality, checked for {bound.method}{_whose(bound)}",
        realisation=bound,
        prices=own_prices(problem, judged.prices),
    )


def _best_bound(problem: EventCounts, value: float) -> OneEventBound | WorkloadBound:
    """Return the bound of users with at most one event, or that of the spectral dual where it proves more."""
    shares = problem.prior[:2]
    own = best_classes(problem.slots, shares / shares.sum(), problem.epsilon).bound
    one = replace(own, prior=(float(shares[0]), float(shares[1])))
    left = value - problem.proven(one)
    if left <= problem.optimal_within * value or problem.states.size > MOST_SPECTRAL:
        return one
    other, _, _ = spectral_bound(problem.queries)
    return one if problem.proven(one) >= problem.proven(other) else other


def _whose(bound: OneEventBound | WorkloadBound) -> str:
    """Return of whose error the bound is."""
    return " of users with at most one event" if isinstance(bound, OneEventBound) else ""


def _generated(users: ExchangedUsers, rng: np.random.Generator) -> tuple[_Patterns, Minimised, int]:
    """Return patterns, their best weights, and the number of rounds."""
    ways = groupings(users.exchanges.states.slots, MOST_IMAGES)
    patterns, rounds = _distinct(users, _first(users, ways, rng)), 0
    while True:
        rounds += 1
        weighed = ExchangedMaster(users, patterns.sets).best_weights(1e-7)
        prices = _Prices.of(users, weighed)
        fresh = _reached(prices, patterns, weighed.weights, ways, rng)
        gains = prices.gains(fresh.sets)
        best = np.argsort(-gains)[:NEW]
        best = best[gains[best] > CLOSE * weighed.state.value]
        if not len(best) or rounds >= ROUNDS:
            return patterns, ExchangedMaster(users, patterns.sets).best_weights(1e-9), rounds
        used = np.flatnonzero(weighed.weights > UNUSED * weighed.weights.max())
        patterns = _distinct(users, patterns[used].joined(fresh[best]))


def _first(users: ExchangedUsers, ways: list[Codes], rng: np.random.Generator) -> _Patterns:
    """Return patterns of states with a large number of events, weighed by slots."""
    events = users.exchanges.events.T
    labels = np.repeat(np.array(ways), FIRST, axis=0)
    scores = _slot_numbers(labels, rng) @ events
    limits = rng.permuted(scores, axis=1)[:, :1]
    return _Patterns(np.vstack([scores > limits, scores >= limits]), np.vstack([labels, labels]))


def _slot_numbers(labels: Codes, rng: np.random.Generator) -> Array:
    """Return normal numbers, the same for slots with the same label."""
    numbers = rng.normal(size=labels.shape)
    return np.take_along_axis(numbers, labels, axis=1)


def _reached(
    prices: _Prices, patterns: _Patterns, weights: Array, ways: list[Codes], rng: np.random.Generator
) -> _Patterns:
    """Return the patterns that climbs reach, from the patterns in use and from drawn estimates."""
    used = patterns[np.argsort(-weights)[:NEW]]
    decoded = prices.decoded(used.sets)
    starts = [decoded * (1.0 + part * _slot_numbers(used.labels, rng)) for part in SHAKEN]
    labels = [used.labels] * len(SHAKEN)
    new = np.repeat(np.array(ways), DRAWN, axis=0)
    for size in SIZES:
        starts.append(_slot_numbers(new, rng) * float(np.abs(decoded).max()) * size)
        labels.append(new)
    return _proper(_Patterns(prices.climbed(np.vstack(starts)), np.vstack(labels)))


def _proper(patterns: _Patterns) -> _Patterns:
    """Return the patterns that tell something."""
    return patterns[np.flatnonzero(patterns.sets.any(axis=1) & ~patterns.sets.all(axis=1))]


def _distinct(users: ExchangedUsers, patterns: _Patterns) -> _Patterns:
    """Return the patterns with different moments."""
    patterns = _proper(patterns)
    whole = patterns.sets.astype(np.float64)
    moments = slotwise_moments(users.exchanges, whole).reshape(len(whole), -1)
    features = np.hstack([whole @ users.exchanges.plain.T, moments]).round(SAME)
    return patterns[np.sort(np.unique(features, axis=0, return_index=True)[1])]


def _listed_images(users: ExchangedUsers, patterns: _Patterns, weights: Array) -> tuple[Sets, Array]:
    """Return all images of patterns one by one, with the probability of each outside of its set."""
    parts, amounts = [], []
    masses = columns_of(patterns.sets, users.power) @ users.shares
    for number, amount in enumerate((weights / masses).tolist()):
        images = users.exchanges.images(patterns.sets[number], patterns.labels[number])
        parts.append(images)
        amounts.append(np.full(len(images), amount / len(images)))
    return feasible_patterns(np.vstack(parts), np.concatenate(amounts), users.power)


def why_not_event_columns(problem: EventCounts) -> str | None:
    """Return why patterns are not generated, or None."""
    if problem.most == 1:
        return "one event a user has few classes of patterns; use all-patterns"
    if problem.slots <= problem.most + 1:
        return "every report singles out few slots; use orbits"
    if problem.states.size > MOST_STATES:
        return f"{counted(problem.states.size, 'state')} have too many patterns; {MOST_STATES} at most"
    return None


METHODS = (
    Method(
        name="all-patterns",
        problem=EventCounts,
        kind="numeric",
        summary="the best of all private reports, for one event a user or at most 20 states",
        run=all_event_patterns,
        why_not=why_not_all_event_patterns,
    ),
    Method(
        name="columns",
        problem=EventCounts,
        kind="numeric",
        summary="patterns of states generated modulo exchanges of slots, to a proven gap: up to 300 states",
        run=event_columns,
        why_not=why_not_event_columns,
    ),
    Method(
        name="orbits",
        problem=EventCounts,
        kind="numeric",
        summary="the best reports that single out few slots: decodings generated, bound over all real ones",
        run=generated_decodings,
    ),
    Method(
        name="kary",
        problem=EventCounts,
        kind="heuristic",
        summary="k-ary response over all states, with its best unbiased decoding",
        run=kary_response,
        why_not=why_not_kary,
    ),
    statement_method(EventCounts),
)
