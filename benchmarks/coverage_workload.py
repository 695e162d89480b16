"""Coverage of the intervals of linear queries, their quantiles, and events; see :mod:`benchmarks.coverage`.

The counts of the reports are drawn from the integers of the mechanism, equal counts are estimated once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_cases import Counting, Covered
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.hitters import PrefixReports
from mechdesign.families.workload import EventCounts, LinearQueries
from mechdesign.solvers.solve import solve

Counts = NDArray[np.int64]

TYPES, SLOTS = 5, 6

MEDIANS = (0.5, 0.5 + 1e-9)
"""With half the users of the first type and half of the last one these are those two types: at either end of
the interval a quantile is one that a test of a cumulative share of just 0.5 does not reject."""


def drawn_counts(
    mechanism: Any, held: Counts, population: bool, repetitions: int, rng: np.random.Generator
) -> Iterator[tuple[Counts, int]]:
    """Yield different counts of the reports of users who hold types, and how often each was drawn."""
    chances = np.zeros((len(held), mechanism.counters))
    for code in np.flatnonzero(held).tolist():
        chances[code] = mechanism.weights.row(code) / float(TOTAL)
        chances[code] /= chances[code].sum()
    users = int(held.sum())
    if population:
        drawn = rng.multinomial(users, held / users @ chances, size=repetitions)
    else:
        drawn = np.zeros((repetitions, mechanism.counters), dtype=np.int64)
        for code in np.flatnonzero(held).tolist():
            drawn += rng.multinomial(held[code], chances[code], size=repetitions)
    kinds, times = np.unique(drawn, axis=0, return_counts=True)
    yield from zip(kinds, times.tolist(), strict=True)


@cache
def queries_of(epsilon: float) -> Any:
    """Return the mechanism of the cumulative shares of five types."""
    return solve(LinearQueries(workload={"name": "prefix", "size": TYPES}, epsilon=epsilon)).mechanism()


def types_held(users: int) -> dict[str, Counts]:
    """Return how many users are of each type."""
    first, last = np.eye(TYPES, dtype=np.int64)[[0, -1]]
    even = np.full(TYPES, users // TYPES) + (np.arange(TYPES) < users % TYPES)
    return {
        "even": even,
        "half and half": users // 2 * first + (users - users // 2) * last,
        "all the first": users * first,
        "one the last": (users - 1) * first + last,
    }


def queries(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of cumulative shares and of the median, of users at hand and of a population."""
    mechanism, found = queries_of(epsilon), []
    shown = mechanism.labels.shown()
    for name, held in types_held(users).items():
        truth = mechanism.workload.rows @ held / users
        right = [int(np.argmax(np.cumsum(held) >= share * users)) for share in MEDIANS]
        for population in (False, True):
            kind = f"{name}, {'population' if population else 'users'}"
            counting, reached = Counting(f"queries, {kind}", truth), [0 for _ in MEDIANS]
            for counts, times in drawn_counts(mechanism, held, population, repetitions, rng):
                estimate = mechanism.estimate_from_counts(counts, population)
                counting.add_estimate(estimate, times)
                for place, share in enumerate(MEDIANS if name == "half and half" else ()):
                    quantile = estimate.quantile(share)
                    low, high = shown.index(quantile.low), shown.index(quantile.high)
                    reached[place] += times * (low <= right[place] <= high)
            names = (f"{share:.9g} quantile, {kind}" for share in MEDIANS)
            hits = zip(names, reached, strict=True)
            found += counting.found()
            if name == "half and half":
                found += [Covered(case, hit, repetitions) for case, hit in hits]
    return found


@cache
def events_of(epsilon: float, method: str | None = None) -> Any:
    """Return the mechanism of events in six slots, of which users have two at most."""
    problem = EventCounts(slots=SLOTS, most=2, prior=[0.8, 0.15, 0.05], epsilon=epsilon)
    return solve(problem, method).mechanism()


EVENTS = {
    "few": {"none": 0.7, "0": 0.2, "1+1": 0.05, "2+5": 0.05},
    "one": {"none": 1.0, "0": 1e-9},
    "half": {"none": 0.5, "0+1": 0.5},
}
"""Shares of users with these events, of whom there is one at least; in some slots there are none."""


def events(
    epsilon: float,
    users: int,
    repetitions: int,
    rng: np.random.Generator,
    methods: Sequence[str | None] = (None, "kary"),
) -> list[Covered]:
    """Return the coverage of events in slots with many, few and none, of users and of a population.

    The moments of a report of the best mechanism depend on the other events of its user, those of a k-ary
    response on the number of events in the slot alone.
    """
    found: list[Covered] = []
    for method, (name, shares) in product(methods, EVENTS.items()):
        mechanism = events_of(epsilon, method)
        numbers = np.maximum(1, np.floor(np.array(list(shares.values())) * users + 1e-9)).astype(np.int64)
        numbers[0] += users - numbers.sum()
        texts = list(shares)
        held = np.zeros(mechanism.labels.size, dtype=np.int64)
        held[mechanism.labels.encode(texts)] = numbers
        slots = [[text.split("+").count(str(slot)) for slot in range(SLOTS)] for text in texts]
        truth = numbers @ np.array(slots) / users
        for population in (False, True):
            kind = "population" if population else "users"
            counting = Counting(f"events, {method or 'best'}, {name}, {kind}", truth)
            for counts, times in drawn_counts(mechanism, held, population, repetitions, rng):
                counting.add_estimate(mechanism.estimate_from_counts(counts, population), times)
            found += list(counting.found())
    return found


KNOWN = {"a": 0.6, "b": 0.3, "ab": 0.1}
"""Strings that are known beforehand, and their shares among users."""


def strings(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of shares of strings, of each alone and of all together."""
    mechanism = PrefixReports.of(epsilon, "abc", 6, 2, [3, 6], [0.4, 0.6], [0.05, 0.001], list(KNOWN))
    times = np.floor(np.array(list(KNOWN.values())) * users + 1e-9).astype(np.int64)
    times[0] += users - times.sum()
    truth = dict(zip(KNOWN, (times / users).tolist(), strict=True))
    answers = np.repeat(list(KNOWN), times)
    alone = dict.fromkeys(KNOWN, 0)
    together = 0
    for _ in range(repetitions):
        estimate = mechanism.estimate(mechanism.randomize(answers, rng=rng))
        shares = np.array([truth.get(text, 0.0) for text in estimate.strings])
        low, high = estimate.interval()
        together += bool(((low <= shares) & (shares <= high)).all())
        low, high = estimate.interval(simultaneous=False)
        for text, hit in zip(estimate.strings, (low <= shares) & (shares <= high), strict=True):
            if text in alone:
                alone[text] += bool(hit)
    found = [Covered(f"{text!r} alone", hits, repetitions) for text, hits in alone.items()]
    return [*found, Covered("all listed strings at once", together, repetitions)]
