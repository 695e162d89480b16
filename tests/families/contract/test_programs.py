"""The convex programs: agreement with the closed form, the bound for any multipliers, and speed."""

import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.families.contract import PrivacyContract
from mechdesign.families.contract.allocation import (
    EpsilonLimits,
    Multipliers,
    all_rows,
    reduced_rows,
    weak_duality,
)
from mechdesign.families.contract.noise import NOISES

EXTRAS = [
    {"budget": 1000},
    {"budget": 1000, "information": "complete"},
    {"budget": 400, "epsilon_min": 0.5, "epsilon_max": 2.0, "participation_cost": 0.1},
    {"target_error": 0.2},
    {"target_error": 0.2, "participation_cost": [0.0, 0.1, 0.1, 0.2], "epsilon_max": 4.0},
    {"budget": 40, "epsilon_min": 0.5},
]


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("noise", ["laplace", "duchi", "piecewise"])
def test_all_methods_agree_and_every_certificate_holds(extra, noise):
    comparison = md.compare(
        PrivacyContract(types=[1, 2, 2.1, 3], counts=[100, 1, 60, 10], noise=noise, **extra)
    )
    assert comparison.agree, comparison
    for run in comparison.runs:
        if run.kind != "published" and run.found:
            assert all(certificate.holds for certificate in run.certificates), run


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["laplace", "duchi", "piecewise"]))
@settings(max_examples=100, deadline=None)
def test_weak_duality_holds_for_any_multipliers(seed, full, noise):
    rng = np.random.default_rng(seed)
    problem = PrivacyContract(
        types=np.sort(rng.uniform(1, 4, 4)), counts=rng.integers(1, 9, 4), budget=30, noise=noise
    )
    people = problem.population
    rows = (all_rows if full else reduced_rows)(people, "incomplete", 30.0)
    upper = rng.exponential(1.0, rows.upper.shape[0]) * rng.choice([0.0, 1.0, 10.0])
    given_ = Multipliers(upper, rng.normal(size=rows.equal.shape[0]))
    bound = weak_duality(people, rows, NOISES[noise], EpsilonLimits(), 30.0, given_)
    assert bound <= md.solve(problem).value


def test_participation_costs_that_bind_in_the_middle():
    problem = PrivacyContract(
        types=[1, 2, 3], counts=[100, 50, 10], budget=300, participation_cost=[1.5, 0.1, 0.0]
    )
    solution = md.solve(problem)
    assert solution.method == "reduced-program"
    assert all(certificate.holds for certificate in solution.certificates)
    # cheaper than paying everybody the highest cost, dearer than paying nobody any
    dear = md.solve(
        PrivacyContract(types=[1, 2, 3], counts=[100, 50, 10], budget=300, participation_cost=1.5)
    )
    free = md.solve(PrivacyContract(types=[1, 2, 3], counts=[100, 50, 10], budget=300))
    assert free.value < solution.value < dear.value


def test_five_hundred_types_in_ten_seconds():
    rng = np.random.default_rng(1)
    problem = PrivacyContract(types=rng.uniform(1, 10, 500), counts=rng.integers(1, 9, 500), budget=1e4)
    start = time.perf_counter()
    solution = md.solve(problem, method="reduced-program")
    assert time.perf_counter() - start < 10
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(md.solve(problem).value, rel=1e-7)


def test_sixty_types_with_all_rows():
    rng = np.random.default_rng(2)
    problem = PrivacyContract(types=rng.uniform(1, 10, 60), counts=rng.integers(1, 9, 60), budget=1e4)
    start = time.perf_counter()
    solution = md.solve(problem, method="full-program")
    assert time.perf_counter() - start < 10
    assert solution.value == pytest.approx(md.solve(problem).value, rel=1e-7)


def test_row_counts_are_those_of_the_thesis():
    people = PrivacyContract(types=[1, 2, 3, 4], counts=[1, 1, 1, 1], budget=5).population
    assert all_rows(people, "incomplete", 5.0).upper.shape == (1 + 4 + 12, 8)
    reduced = reduced_rows(people, "incomplete", 5.0)
    assert (reduced.upper.shape[0], reduced.equal.shape[0]) == (1 + 3, 1 + 3)


def test_methods_that_do_not_apply_say_why():
    table = PrivacyContract(types=[1], counts=[1], budget=1, noise={"epsilon": [0.1, 1], "variance": [9, 1]})
    with pytest.raises(md.MechDesignError, match="no cone form"):
        md.solve(table, method="full-program")
    with pytest.raises(md.MechDesignError, match="39800 rows; use reduced-program"):
        md.solve(PrivacyContract(types=np.arange(1.0, 201.0), counts=200, budget=9), method="full-program")
    with pytest.raises(md.MechDesignError, match="the theorem has no minimum_buyers"):
        md.solve(PrivacyContract(types=[1], counts=[2], budget=1, minimum_buyers=1), method="published")
