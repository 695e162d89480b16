"""``event-counts`` over all private reports: any pattern of types, not only those that single out few slots.

With one event a user the slots can be exchanged and the patterns are few classes (:mod:`.symmetric`). With
more events all patterns are gone through where there are at most 20 states. Where the best reports single out
one slot they are written as such; else as sets of states, like those of ``linear-queries``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.core.prices import Binding
from mechdesign.core.problem import Problem
from mechdesign.core.text import counted
from mechdesign.core.values import changed
from mechdesign.families.workload.audit.workload_bound import MOST_ENUMERATED
from mechdesign.families.workload.event_counts.balanced import balanced_sets
from mechdesign.families.workload.event_counts.orbits import NOTHING, channel_variables
from mechdesign.families.workload.event_counts.problem import EventCounts
from mechdesign.families.workload.event_counts.symmetric import PatternClasses, best_classes
from mechdesign.families.workload.events.channel import EventChannel, EventOrbit
from mechdesign.families.workload.linear_queries.all_columns import all_columns, why_not_all_columns
from mechdesign.families.workload.linear_queries.columns import column_generation
from mechdesign.families.workload.linear_queries.outcomes import pattern_variables
from mechdesign.families.workload.linear_queries.prices import QueryPrices
from mechdesign.families.workload.value import Array, Sets, columns_of
from mechdesign.families.workload.worth import PatternWorth

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


def all_patterns(problem: EventCounts) -> Outcome:
    """Return the best of all private reports, proven by all patterns."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="interior point", message=NOTHING)
    return _one_event(problem) if problem.most == 1 else _few_states(problem)


def _one_event(problem: EventCounts) -> Outcome:
    classes = best_classes(problem.slots, problem.prior, problem.epsilon)
    used = np.flatnonzero(classes.chances > NEGLIGIBLE * classes.chances.max()).tolist()
    sets, amounts = _listed(problem, classes, used)
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


def _listed(problem: EventCounts, classes: PatternClasses, used: list[int]) -> tuple[Sets, Array]:
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
        found = states.classes(1)
        masses = np.where(found.kinds == 0, first, np.where(found.named[:, 0] == 1, own, rest)) * unit
        orbits.append(EventOrbit(1, np.zeros(2), masses))
    return EventChannel(states, tuple(orbits))


def _few_states(problem: EventCounts) -> Outcome:
    """Return the best of all patterns of at most 20 states, as linear queries."""
    queries = problem.queries
    found = all_columns(queries) if why_not_all_columns(queries) is None else column_generation(queries)
    return changed(
        found, prices=own_prices(problem, found.prices), notes={"states": problem.states.size, **found.notes}
    )


def why_not_all_patterns(problem: EventCounts) -> str | None:
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
