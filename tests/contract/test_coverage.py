"""Every type that estimates: its 95 % intervals cover where few reports are wrong, and at ordinary epsilons.

With a fixed seed, hits of R repetitions are compared with a coverage of 0.93 less three standard errors of
it (exactly: with the binomial tail of the same probability, as R is small for some): of a cell whose coverage
is 0.93 one run in 700 is lower, of one with 0.95 and R = 200 one in a million; a coverage of 0.85 is noticed
at R = 200 in four of five cells. The rates are numbers of wrong reports that are expected, n e^-epsilon: with
0.3 to 3 normal intervals fail, as there may be no wrong report at all.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import mechdesign as md
from benchmarks.coverage_local import joint
from benchmarks.coverage_registry import MEASURED, NO_ESTIMATE, NO_INTERVALS
from benchmarks.coverage_survey import survey_case
from mechdesign.mechanisms.base import mechanism_types

PROMISE, REPETITIONS, USERS, SURVEYED = 0.93, 200, 60, 300

FEWER = {
    **dict.fromkeys(("attribute-sampling", "harmony", "kary-response"), 15),
    "joint-response": 6,
    **dict.fromkeys(("marginal-release", "prhr", "pucm"), 12),
    **dict.fromkeys(("hist-mm", "hist-rr", "set-response", "range-tree", "uniformity-dump"), 40),
    **dict.fromkeys(
        (
            "distinct-parity",
            "hist-dump",
            "hist-flip",
            "hist-kr",
            "murs",
            "rsum-dsg",
            "rsum-pure",
            "rsum-rr",
            "solh",
        ),
        50,
    ),
    **dict.fromkeys(("event-counts", "linear-queries", "cnt-pure", "rsum-kr", "rsum-rm"), 100),
}
"""Repetitions of types whose clients or estimators take long."""

QUICKER = {"joint-response": partial(joint, penalty=30.0, reference="uniform")}
"""Measurements without what takes long and has no part in an interval."""

MORE_USERS = {"aut": 300, "put": 300, "uniformity-dump": 300}
"""Users of types that fewer are too few for."""


def epsilons(users: int) -> list[float]:
    """Return epsilon for 0.3, 1 and 3 wrong reports among the users, and two ordinary ones."""
    return [*(math.log(users / rate) for rate in (0.3, 1.0, 3.0)), 0.5, 2.0]


def too_low(item, repetitions: int) -> bool:
    """Return whether so few hits have a probability below that of three standard errors, exactly.

    Cells with equal truths are counted together, but those of one estimate are not independent.
    """
    trials = min(item.trials, repetitions)
    return bool(stats.binom.cdf(math.ceil(item.share * trials), trials, PROMISE) < stats.norm.cdf(-3.0))


@pytest.mark.parametrize("kind", sorted(set(MEASURED) - {"survey"}))
def test_intervals_cover_where_few_reports_are_wrong(kind):
    rng, found, users = np.random.default_rng(7), [], MORE_USERS.get(kind, USERS)
    repetitions = FEWER.get(kind, REPETITIONS)
    for epsilon in epsilons(users):
        found += QUICKER.get(kind, MEASURED[kind])(epsilon, users, repetitions, rng)
    assert found
    assert not [item for item in found if too_low(item, repetitions)]


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
