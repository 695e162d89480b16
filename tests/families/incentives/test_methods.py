"""Formulas against the exact linear program, as fractions; what each needs, and what shows its lack."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.incentives.closed_forms import cone_weights, ironed_line, side_bets
from mechdesign.families.incentives.environments import environment_of
from mechdesign.families.incentives.interim import (
    hierarchical_chances,
    hierarchy,
    interim_auction,
    ironed_basis,
)
from mechdesign.solvers.exact_linear import IntegerProgram, IntegerRows, solve_exactly, whole_array

BAYESIAN = {"incentives": "bayesian", "participation": "interim"}


def shares_of(rng, count):
    weights = rng.integers(1, 9, count)
    return [f"{int(weight)}/{int(weights.sum())}" for weight in weights]


def exact(problem, method=None):
    solution = md.solve(problem, method)
    assert solution.status == "optimal"
    assert not solution.broken
    return Fraction(solution.notes["exact_value"])


@pytest.mark.parametrize("seed", range(20))
def test_myerson_is_the_exact_optimum_of_random_auctions(seed):
    """Asymmetric bidders, irregular types, both kinds of incentives."""
    rng = np.random.default_rng(seed)
    agents = int(rng.integers(1, 4))
    sizes = rng.integers(1, 5 if agents < 3 else 4, agents)
    environment = {
        "name": "single-item",
        "types": [sorted(rng.choice(12, int(size), replace=False).tolist()) for size in sizes],
        "prior": [shares_of(rng, int(size)) for size in sizes],
        "worth": int(rng.integers(0, 3)),
    }
    options = BAYESIAN if seed % 2 else {}
    problem = md.DirectMechanism(environment=environment, **options)
    assert exact(problem, "myerson") == exact(problem, "exact-lp")


@pytest.mark.parametrize(
    "environment",
    [
        {"name": "procurement", "types": [1, 2, 4], "worth": 5, "agents": 2},
        {"name": "multi-unit", "types": [1, 2, 5], "units": 2, "agents": 3},
        {"name": "public-good", "types": [0, 1, 3], "cost": 2, "agents": 2},
    ],
)
def test_myerson_beyond_one_item(environment):
    for options in ({}, BAYESIAN):
        problem = md.DirectMechanism(environment=environment, **options)
        assert exact(problem, "myerson") == exact(problem, "exact-lp")


def test_equal_treatment_of_irregular_types_is_refuted():
    irregular = {
        "name": "single-item",
        "types": [1, 2, 3, 6],
        "prior": ["1/4", "1/2", "1/8", "1/8"],
        "agents": 2,
    }
    solution = md.solve(md.DirectMechanism(environment=irregular), "without-ironing")
    assert next(item.property for item in solution.broken) == "incentive_compatibility"
    regular = md.solve(
        md.DirectMechanism(environment={"name": "single-item", "types": [1, 2, 3], "agents": 2}),
        "without-ironing",
    )
    assert not regular.broken
    assert regular.value == 2.0


@pytest.mark.parametrize("seed", range(8))
def test_border_rows_give_the_optimum_of_equal_bidders(seed):
    rng = np.random.default_rng(100 + seed)
    count = int(rng.integers(2, 5))
    environment = {
        "name": "single-item",
        "types": sorted(rng.choice(12, count, replace=False).tolist()),
        "prior": shares_of(rng, count),
        "agents": int(rng.integers(1, 4)),
        "worth": int(rng.integers(0, 3)),
    }
    problem = md.DirectMechanism(environment=environment, **BAYESIAN)
    assert exact(problem, "interim") == exact(problem, "exact-lp")


def test_a_hundred_bidders_with_a_hundred_values():
    """The revenue is E max(ironed virtual value, 0), summed by hand."""
    count = 100
    values = [Fraction(number) for number in range(1, count + 1)]
    shares = [Fraction(1, count)] * count
    found = interim_auction(values, shares, count)
    ironed = ironed_line(values, shares).ironed
    by_hand = sum(
        max(value, 0) * (Fraction(place + 1, count) ** count - Fraction(place, count) ** count)
        for place, value in enumerate(ironed)
    )
    assert found.revenue == by_hand
    assert sum(share * paid for share, paid in zip(shares, found.payments, strict=True)) * count == by_hand


def test_the_suggested_basis_decides_nothing():
    """HiGHS alone finds the same optimum where it can."""
    values, shares = (
        [Fraction(1), Fraction(2), Fraction(3), Fraction(6)],
        [Fraction(n, 8) for n in (2, 4, 1, 1)],
    )
    basis = ironed_basis(values, shares, Fraction(0))
    assert len(basis.columns) == len(basis.tight)
    found = interim_auction(values, shares, 3)
    assert found.blocks == (0, 1, 1, 2)
    assert hierarchical_chances(found.blocks, shares, 3) == list(found.chances)
    assert hierarchy(found.chances) == list(found.blocks)


def test_steps_in_rationals_find_what_doubles_cannot_tell():
    big = 10**30
    rows = IntegerRows.of_entries(np.array([0, 0]), np.array([0, 1]), whole_array([big, 3 * big + 1]), (1, 2))
    program = IntegerProgram(
        whole_array([1, 3]), rows, whole_array([big]), np.array([False]), np.zeros(2, dtype=bool)
    )
    found = solve_exactly(program)
    assert found.status == "optimal"
    assert program.value(found.point) == program.bound(found.prices) == 1


def test_limits_that_differ_by_less_than_a_double():
    """x <= 1 + 1e-30 and x <= 1: the basis of HiGHS may take either row."""
    big = 10**30
    for first, second in ((big + 1, big), (big, big + 1)):
        rows = IntegerRows.of_entries(np.array([0, 1]), np.array([0, 0]), whole_array([big, big]), (2, 1))
        program = IntegerProgram(
            whole_array([1]), rows, whole_array([first, second]), np.zeros(2, dtype=bool), np.array([False])
        )
        found = solve_exactly(program)
        assert found.status == "optimal"
        assert program.value(found.point) == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_pivot_and_the_externality_reach_the_first_best(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 6, (3, 2, 3)).tolist()
    environment = {
        "types": [["a", "b"]] * 3,
        "outcomes": ["x", "y", "z"],
        "values": values,
        "cost": [0, 1, 2],
        "prior": [shares_of(rng, 2) for _ in range(3)],
    }
    for participation in ("none", "ex-post", "interim"):
        problem = md.DirectMechanism(environment=environment, goal="welfare", participation=participation)
        assert exact(problem, "vcg") == exact(problem, "exact-lp")
    balanced = md.DirectMechanism(
        environment=environment,
        goal="welfare",
        incentives="bayesian",
        participation="none",
        budget="balanced",
    )
    assert exact(balanced, "expected-externality") == exact(balanced, "exact-lp")


@pytest.mark.parametrize("seed", range(6))
def test_bets_take_all_the_surplus_of_correlated_types(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, (3, 3)) + 8 * np.eye(3, dtype=int)
    environment = {
        "name": "single-item",
        "types": [[1, 3, 4], [0, 2, 7]],
        "joint": [f"{int(weight)}/{int(weights.sum())}" for weight in weights.reshape(-1)],
    }
    problem = md.DirectMechanism(environment=environment, **BAYESIAN)
    assert exact(problem, "full-surplus") == exact(problem, "exact-lp")


def test_beliefs_inside_the_cone_of_others_are_named():
    """The beliefs of type 2 are the mean of those of 1 and 3, so that no bet tells it apart."""
    rows = [["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]]
    joint = [str(Fraction(share) / 3) for row in rows for share in row]
    environment = {"name": "single-item", "types": [[1, 2, 3], [1, 2]], "joint": joint}
    problem = md.DirectMechanism(environment=environment, **BAYESIAN)
    with pytest.raises(
        md.MethodError, match=r"bidder1 of type 2 are a combination of others': 1/2 x 1 \+ 1/2 x 3"
    ):
        md.solve(problem, "full-surplus")
    assert md.solve(problem).status == "optimal"
    own, weights = side_bets(problem.environment, 0)
    assert (own, weights) == (1, [Fraction(1, 2), 0, Fraction(1, 2)])
    half = Fraction(1, 2)
    assert cone_weights([[half, half], [Fraction(1), Fraction(0)]], 0) == []


def test_the_median_is_the_best_without_payments():
    for agents in (1, 2, 3):
        problem = md.DirectMechanism(
            environment={"name": "facility", "places": [0, 1, 3], "agents": agents},
            transfers=False, participation="none", goal="welfare",
        )  # fmt: skip
        assert exact(problem, "median") == exact(problem, "exact-lp")
    voting = md.DirectMechanism(
        environment={"name": "voting", "candidates": 3}, transfers=False, participation="none", goal="welfare"
    )
    with pytest.raises(md.MethodError, match="not minus the distance"):
        md.solve(voting, "median")


def test_a_posted_price_is_the_best_for_one_buyer():
    environment = {"name": "single-item", "types": [1, 2, 5], "prior": ["1/2", "1/4", "1/4"], "worth": "1/2"}
    problem = md.DirectMechanism(environment=environment)
    assert exact(problem, "posted-price") == exact(problem, "exact-lp") == exact(problem, "myerson")


@pytest.mark.parametrize("seed", range(5))
def test_rules_without_lotteries_by_trying_all(seed):
    """One buyer, three types: every assignment of outcomes, with the largest payments for it."""
    from itertools import product

    from mechdesign.families.incentives.implementation import implementable

    rng = np.random.default_rng(seed)
    values = [[0, *row] for row in rng.integers(0, 6, (3, 2)).tolist()]
    environment = {"types": [["a", "b", "c"]], "outcomes": ["none", "x", "y"], "values": [values]}
    problem = md.DirectMechanism(environment=environment, outcomes="deterministic")
    made = environment_of("environment", environment)
    best = Fraction(0)
    for choice in product(range(3), repeat=3):
        found = implementable(made, np.eye(3, dtype=int)[list(choice)], participation=True)
        if found.holds:
            best = max(best, sum(found.payments.reshape(-1), Fraction(0)) / 3)
    assert exact(problem, "integer") == best


def test_a_lottery_is_worth_more_than_none():
    goods = {"name": "two-goods", "types": [[2, 1], [4, 0], [5, 1]], "prior": ["3/7", "2/7", "2/7"]}
    solution = md.solve(md.DirectMechanism(environment=goods, outcomes="deterministic"))
    assert solution.method == "integer"
    assert solution.notes["exact_value"] == "3"
    assert solution.notes["with_lotteries"] == "23/7"
    assert set(solution.mechanism().out_of) == {1}
