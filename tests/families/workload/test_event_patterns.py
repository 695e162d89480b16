"""Counts of events over all private reports: recorded optima, an independent second way, and what runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, RowError
from mechdesign.families.workload import WorkloadRelease
from mechdesign.families.workload.event_counts import OneEventBound
from mechdesign.families.workload.event_release import EventRelease
from mechdesign.families.workload.event_symmetry import balanced_sets, best_classes

RARE = [0.9, 0.1]


def problem_of(slots: int, epsilon: float, prior=RARE, **more) -> md.EventCounts:
    return md.EventCounts(slots=slots, most=len(prior) - 1, prior=prior, epsilon=epsilon, **more)


@pytest.mark.parametrize(
    ("slots", "epsilon", "best"),
    [(6, 1.0, 13.1546), (6, 0.5, 65.7470), (8, 0.5, 93.5353), (9, 0.5, 108.1239), (9, 0.3, 313.4308)],
)
def test_any_report_beats_those_that_single_out_one_slot(slots, epsilon, best):
    problem = problem_of(slots, epsilon)
    solution = md.solve(problem)
    assert solution.value == pytest.approx(best, abs=1e-4)
    assert (solution.status, solution.scope) == ("optimal", "")
    assert 0.0 <= solution.gap <= 1e-8 * solution.value
    assert all(item.holds for item in solution.certificates)
    if slots in (6, 9) and epsilon != 1.0:  # the same without any symmetry: all sets of at most 10 types
        other = md.solve(problem.queries, "all-columns")
        assert other.value == pytest.approx(solution.value, rel=1e-6)
        assert other.bound == pytest.approx(solution.bound, rel=1e-6)
    if slots == 8:
        assert md.solve(problem, "orbits").value / solution.value == pytest.approx(1.67, abs=0.01)


def test_the_best_of_a_class_says_so_everywhere():
    solution = md.solve(problem_of(8, 0.5), "orbits")
    assert (solution.status, solution.claims_optimality) == ("feasible", False)
    assert solution.scope == "the best of its class: reports that single out at most 1 slot"
    assert solution.scope in str(solution)
    assert solution.scope in solution.caution, "what build says"
    assert md.solve(problem_of(8, 0.5)).caution == ""
    judged = next(item for item in solution.certificates if item.property == "optimality")
    assert judged.among == "all epsilon-private reports that single out at most 1 slot, without bias"
    many = md.solve(problem_of(24, 3.0, [0.9, 0.08, 0.02]))
    assert (many.method, many.status) == ("orbits", "feasible")
    assert "at most 2 slots" in str(many)
    small = md.solve(problem_of(3, 2.0, [0.9, 0.08, 0.02]))
    assert (small.method, small.status, small.scope) == ("orbits", "optimal", "")  # all reports are in it


def test_what_runs_has_the_error_that_is_stated(tmp_path):
    labels = [f"page {number}" for number in range(9)]
    mechanism = md.solve(problem_of(9, 0.5, labels=labels)).mechanism()
    assert isinstance(mechanism, WorkloadRelease)
    assert mechanism.audit().holds
    assert mechanism.average_error == pytest.approx(108.1239, abs=1e-4)
    mechanism.save(tmp_path / "events.json")
    again = load_mechanism(tmp_path / "events.json")
    assert again.fingerprint == mechanism.fingerprint
    users = ["none"] * 27_000 + ["page 4"] * 2_000 + ["page 7"] * 1_000
    estimate = again.estimate(again.randomize(users, rng=3))
    truth = np.zeros(9)
    truth[[4, 7]] = 2 / 30, 1 / 30
    assert tuple(estimate.queries) == tuple(labels)
    scores = (estimate.value - truth) / np.sqrt(108.1239 / 9 / 30_000)
    assert np.abs(scores).max() < 4.0
    assert "a slot" in str(mechanism.forecast(30_000))
    with pytest.raises(RowError, match="'page 9'"):
        mechanism.randomize(["page 9"])


def test_reports_about_one_slot_are_named_by_it_where_they_are_the_best():
    solution = md.solve(problem_of(24, 5.0))
    assert isinstance(solution.mechanism(), EventRelease)
    assert (solution.status, solution.scope) == ("optimal", "")
    assert solution.value <= md.solve(problem_of(24, 5.0), "orbits").value * (1.0 + 1e-9)


@pytest.mark.parametrize(("slots", "size"), [(9, 4), (17, 8), (64, 30), (63, 9)])
def test_balanced_sets_treat_all_pairs_alike(slots, size):
    sets, weights = balanced_sets(slots, size)
    assert (sets.sum(axis=1) == size).all()
    together = (sets * weights[:, None]).T.astype(float) @ sets
    assert np.diag(together) == pytest.approx(size / slots)
    apart = together[~np.eye(slots, dtype=bool)]
    assert apart == pytest.approx(size * (size - 1) / slots / (slots - 1))
    assert len(sets) <= 3_000


def test_many_slots_are_proven_and_private():
    solution = md.solve(problem_of(40, 0.2, [0.99, 0.01]))
    assert solution.gap <= 1e-8 * solution.value
    assert solution.mechanism().audit().holds
    assert solution.mechanism().average_error == pytest.approx(solution.value, rel=1e-7)


def test_a_bound_of_one_event_is_checked_from_its_numbers():
    bound = best_classes(7, np.array(RARE), 1.0).bound
    stated = bound.check(1.0)
    assert OneEventBound.from_json(bound.as_json()).check(1.0) == stated
    rng = np.random.default_rng(1)
    for _ in range(50):  # whatever the numbers are, what they prove is below the optimum
        b = tuple(np.array(bound.directions) * (1.0 + 0.02 * rng.normal(size=3)))
        mu = tuple(np.array(bound.multiplier) * np.exp(0.02 * rng.normal(size=2)))
        assert replace(bound, directions=b, multiplier=mu).check(1.0) <= stated * (1.0 + 1e-9)
    with pytest.raises(CertificateError, match="prove nothing"):
        replace(bound, directions=tuple(-part for part in bound.directions)).check(1.0)
    with pytest.raises(CertificateError, match="prove nothing"):
        replace(bound, multiplier=(-100.0, 1.0)).check(1.0)
    with pytest.raises(CertificateError, match="do not fit"):
        replace(bound, multiplier=(float("nan"), 1.0)).check(1.0)


def test_epsilon_is_worth_what_a_second_solution_says():
    solution = md.solve(problem_of(9, 0.5))
    slope = solution.sensitivity["epsilon"].slope
    above, below = (md.solve(problem_of(9, epsilon)).value for epsilon in (0.501, 0.499))
    assert slope == pytest.approx((above - below) / 0.002, rel=1e-3)


# Patterns modulo exchanges of slots


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_patterns_modulo_exchanges_of_slots_are_as_good_as_all_patterns(epsilon):
    problem = problem_of(4, epsilon, [0.9, 0.08, 0.02])
    every, generated = md.solve(problem), md.solve(problem, "columns")
    assert every.method == "all-patterns"
    assert every.value * (1 - 1e-6) <= generated.value <= every.value * (1 + 1e-5)
    assert generated.bound <= every.value
    assert all(item.holds for item in generated.certificates)


def test_generated_patterns_are_better_than_reports_that_single_out_few_slots():
    problem = problem_of(7, 0.2, [0.9, 0.099, 0.001])
    solution = md.solve(problem)
    assert (solution.method, solution.status, solution.scope) == ("columns", "feasible", "")
    assert solution.value == pytest.approx(2094.16, abs=0.1)
    assert md.solve(problem, "orbits").value == pytest.approx(2377.1, abs=0.5)
    assert all(item.holds for item in solution.certificates)


def test_the_bound_of_users_with_one_event_is_a_part_of_that_of_all():
    problem = problem_of(7, 5.0, [0.9, 0.099, 0.001])
    solution = md.solve(problem, "columns")
    one = md.solve(problem_of(7, 5.0, [0.9 / 0.999, 0.099 / 0.999]))
    assert solution.bound == pytest.approx(0.999 * one.bound, rel=1e-6)
    assert solution.bound < solution.value
