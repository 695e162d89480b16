"""``event-counts`` by generation of decodings, by orbits of slots: the best that single out few slots.

The master program has the decodings found so far. Its prices say where h, the most that a decoding would
lower the error by, is positive: each start climbs from the maximum of one concave quadratic to that of the
next. What is left in the end is made up for by lower prices, and branch and bound over all real decodings
proves them (:mod:`mechdesign.families.workload.audit.event_bound`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mechdesign.core.errors import CertificateError
from mechdesign.core.method import Outcome
from mechdesign.families.workload.audit.event_bound import EventBound
from mechdesign.families.workload.audit.event_classes import EventStates
from mechdesign.families.workload.event_counts.patterns import PatternMaster
from mechdesign.families.workload.event_counts.prices import EventPrices
from mechdesign.families.workload.event_counts.problem import EventCounts
from mechdesign.families.workload.event_counts.program import Decoding, EventMaster
from mechdesign.families.workload.events.channel import EventChannel, EventOrbit
from mechdesign.families.workload.value import Array

ROUNDS = 120
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
        if left <= CLOSE * master.value or not fresh or rounds >= ROUNDS:
            return master, left, rounds
        idle = [orbit.masses.max() <= NEGLIGIBLE for orbit in master.orbits]
        ages = [age + 1 if unused else 0 for age, unused in zip(ages, idle, strict=True)]
        kept = [age < PATIENCE for age in ages]
        points = [point for point, keep in zip(points, kept, strict=True) if keep] + fresh
        ages = [age for age, keep in zip(ages, kept, strict=True) if keep] + [0] * len(fresh)


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
    found: list[Decoding] = []
    left = 0.0
    for named in range(states.most_named + 1):
        forms, classes = prices.forms(named), states.classes(named)
        known = [decoded for number, decoded in points if number == named]
        seen = np.array([*known, *np.full((NEW, named + 1), np.inf)])
        reached = forms.climbed(_starts(problem, known, named, rng), power)
        weights = np.where(forms.values(reached) > 0.0, power, 1.0) * forms.counts
        excess = forms.heights(reached, power) / (weights / states.counts[classes.kinds]).sum(axis=1)
        left = max(left, float(excess.max()))
        new: list[Array] = []
        for place in np.argsort(-excess).tolist():
            if excess[place] <= 1e-9 * left or len(new) >= NEW:
                break
            point = np.append(-np.sort(-reached[place, :-1]), reached[place, -1])
            if (np.abs(seen - point).max(axis=1) > SAME).all():
                seen[len(known) + len(new)] = point
                new.append(point)
        found += [(named, point) for point in new]
    return found, left * len(states.kinds)


def _starts(problem: EventCounts, known: list[Array], named: int, rng: np.random.Generator) -> Array:
    """Return points to climb from: known decodings shaken, and drawn ones of several sizes."""
    reach = float(problem.most)
    drawn = [rng.uniform(-0.2, 1.4, size=(STARTS, named + 1)) * reach * size for size in (1.0, 4.0)]
    for points in drawn:
        points[:, -1] *= rng.choice([0.003, 0.05, 0.5], size=STARTS)
    if not known:
        return np.vstack(drawn)
    shape = (len(known), named + 1)
    shaken = [np.array(known) * (1.0 + size * rng.normal(size=shape)) for size in (0.01, 0.3)]
    return np.vstack([*drawn, *shaken])


def _lowered(problem: EventCounts, prices: EventBound, left: float) -> tuple[EventBound | None, float | None]:
    """Return prices lowered until branch and bound proves them, with the bound; None where it does not."""
    for factor in SHIFTS:
        lower = replace(prices, sums=prices.sums - factor * left / len(prices.sums))
        try:
            return lower, problem.proven(lower)
        except CertificateError:
            continue
    return None, None
