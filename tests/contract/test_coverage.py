"""Every type that estimates: its 95 % intervals cover where few reports are wrong, and at ordinary epsilons.

With a fixed seed, hits of R repetitions are compared with a coverage of 0.93 less three standard errors of
it (exactly: with the binomial tail of the same probability, as R is small for some): of a cell whose coverage
is 0.93 one run in 700 is lower, of one with 0.95 and R = 200 one in a million. A coverage of 0.85 is noticed
at R = 200 in three of four cells, and at R = 100 in a third of them, one of 0.80 in four of five; a type has
several cells. The rates are numbers of wrong reports that are expected, n e^-epsilon: with 0.3 to 3 normal
intervals fail, as there may be no wrong report at all.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import mechdesign as md
from benchmarks.coverage_cases import Counting, Measure
from benchmarks.coverage_registry import MEASURED, NO_ESTIMATE, NO_INTERVALS
from benchmarks.coverage_shuffle import PROTOCOLS, protocol_measure
from benchmarks.coverage_survey import survey_case
from benchmarks.coverage_workload import drawn_counts
from mechdesign.collect.base import mechanism_types

PROMISE, REPETITIONS, USERS, SURVEYED = 0.93, 200, 60, 300

SLOW = ("joint-response", "marginal-release", "set-response")
HALF = ("attribute-sampling", "harmony", "kary-response")
LONG = ("event-counts", "linear-queries", "shuffled", "prefix-hashing", "key-value-selection")
FEWER = dict.fromkeys((*SLOW, *HALF, *PROTOCOLS, *LONG), 100)
"""Repetitions of types whose clients or estimators take long."""

MORE_USERS = {"aut": 300, "put": 300, "uniformity-dump": 300}
"""Users of types that fewer are too few for."""

RATES, FEW_USERS, ORDINARY = (0.3, 1.0, 3.0), 20, 1.0
"""Expected wrong reports; users whose intervals carry a note, unless they are exact; an epsilon of many."""


def settings(kind: str) -> list[tuple[int, float]]:
    """Return users with epsilon: for these rates, for 1 of few users, and an ordinary one.

    The limits of the protocols of the shuffle model are exact, the same at every epsilon. A joint response
    divides epsilon among six bits, so that many of them are wrong at all rates.
    """
    users = MORE_USERS.get(kind, USERS)
    found = [(users, math.log(users / rate)) for rate in RATES]
    if kind not in MORE_USERS:
        found.append((FEW_USERS, math.log(FEW_USERS)))
    return found if kind in (*PROTOCOLS, "joint-response") else [*found, (users, ORDINARY)]


def quicker(kind: str, place: int) -> Measure:
    """Return the measurement of a type in one of the settings, of fewer data where it takes long.

    Users at hand and a population take turns. Where all users but one are alike there are answers of nearly
    all, of one and of nobody; even data, and larger tables, are measured at one wrong report.
    """
    turns = (place % 2 == 1,)
    if kind in SLOW:
        some = {"names": ("one other", "even")[: 2 if place == 1 else 1], "populations": turns}
        more = {"penalty": 30.0, "reference": "uniform"} if kind == "joint-response" else {}
        return partial(MEASURED[kind], **some, **more)
    if kind in HALF:
        return partial(MEASURED[kind], populations=turns)
    if kind == "event-counts":  # the best mechanism takes long to find
        return partial(MEASURED[kind], methods=(None, "kary") if place == 1 else ("kary",))
    if kind in PROTOCOLS:
        return protocol_measure(PROTOCOLS[kind][: 2 if place == 1 and kind != "pucm" else 1])
    return MEASURED[kind]


def too_low(item, repetitions: int) -> bool:
    """Return whether so few hits have a probability below that of three standard errors, exactly.

    Cells with equal truths are counted together, but those of one estimate are not independent.
    """
    trials = min(item.trials, repetitions)
    return bool(stats.binom.cdf(math.ceil(item.share * trials), trials, PROMISE) < stats.norm.cdf(-3.0))


@pytest.mark.parametrize("kind", sorted(set(MEASURED) - {"survey"}))
def test_intervals_cover_where_few_reports_are_wrong(kind):
    rng, found, repetitions = np.random.default_rng(7), [], FEWER.get(kind, REPETITIONS)
    for place, (users, epsilon) in enumerate(settings(kind)):
        found += quicker(kind, place)(epsilon, users, repetitions, rng)
    assert found
    assert not [item for item in found if too_low(item, repetitions)]


@pytest.mark.parametrize("method", [None, "kary"])
def test_events_that_everybody_has_cover(method):
    """All users have an event in the same slot, and 0.7 of them are expected to report something else.

    There the observed second moment is often below that of every user. The coverage is 0.98; without the
    least second moment it is below 0.9 (20 000 repetitions), which 4000 repetitions miss less often than
    once in 1000.
    """
    users, repetitions, slots = 60, 4000, 6
    problem = md.EventCounts(slots=slots, most=1, prior=[0.97, 0.03], epsilon=math.log(users / 0.7))
    mechanism = md.solve(problem, method).mechanism()
    held = np.zeros(mechanism.labels.size, dtype=np.int64)
    held[mechanism.labels.encode(["0"])] = users
    for population in (False, True):
        counting, rng = Counting("events of everybody", np.eye(slots)[0]), np.random.default_rng(9)
        for counts, times in drawn_counts(mechanism, held, population, repetitions, rng):
            counting.add_estimate(mechanism.estimate_from_counts(counts, population), times)
        assert not [item for item in counting.found() if too_low(item, repetitions)]


@pytest.mark.parametrize(
    ("rate", "name", "population"),
    [(0.3, "a tenth", False), (1.0, "even", False), (3.0, "a tenth", True), (None, "a tenth", False)],
)
def test_all_results_of_a_survey_cover(rate, name, population):
    """Shares, a cross table, cumulative shares, the median, a mean and means of groups, of four designs."""
    epsilon = 2.0 if rate is None else math.log(SURVEYED / rate)
    found = survey_case(epsilon, SURVEYED, name, population, 80, np.random.default_rng(8))
    assert len(found) > 7
    assert not [item for item in found if too_low(item, 80)]


def test_every_type_is_measured_or_says_why_not():
    assert set(MEASURED) | set(NO_ESTIMATE) | set(NO_INTERVALS) == set(mechanism_types())


def test_fewer_users_than_are_measured_are_noted():
    for problem in (
        md.LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=3.0),
        md.EventCounts(slots=4, most=1, prior=[0.5, 0.5], epsilon=3.0),
    ):
        mechanism = md.solve(problem).mechanism()
        counts = np.zeros(mechanism.counters, dtype=np.int64)
        counts[0] = 29
        assert "fewer than 30 users" in str(mechanism.estimate_from_counts(counts))
        counts[0] = 30
        assert "fewer than 30 users" not in str(mechanism.estimate_from_counts(counts))
