"""A bound for horizons of any size: against brute force, the integer program, and bad prices."""

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.auction import horizon_methods
from mechdesign.families.auction.horizon_methods import horizon_bound, shares_of, task_prices

from .test_horizon import SMALL, brute


@pytest.mark.parametrize("seed", range(6))
def test_no_selection_is_cheaper_than_the_bound(seed):
    problem = md.AuctionHorizon(**SMALL, seed=seed, generator="redrawn" if seed % 2 else "fixed")
    least = brute(problem)
    solution = md.solve(problem, "prices")
    assert max(solution.residuals.values()) == 0.0
    assert solution.bound <= least * (1 + 1e-12)
    assert least * (1 - 1e-12) <= solution.value
    assert solution.bound >= 0.9 * least
    rng = np.random.default_rng(seed)
    for _ in range(20):  # any prices make a bound
        shares = rng.uniform(0.0, 5.0, problem.users) * (rng.random(problem.users) < 0.5)
        tasks = rng.uniform(0.0, 5.0, problem.instance.needs.shape)
        assert horizon_bound(problem, shares, tasks) <= Fraction(least) * (1 + Fraction(1, 10**12))


def test_the_bound_is_the_formula_in_fractions():
    problem = md.AuctionHorizon(**SMALL, seed=2)
    instance, rng = problem.instance, np.random.default_rng(1)
    shares = rng.integers(0, 8, problem.users) / 4.0
    tasks = rng.integers(0, 8, instance.needs.shape) / 4.0
    total = problem.wins * sum(map(Fraction, shares.tolist()))
    for slot in range(problem.slots):
        total += sum(
            Fraction(price) * need
            for price, need in zip(tasks[slot].tolist(), instance.needs[slot].tolist(), strict=True)
        )
        for user in range(problem.users):
            own = sum(
                Fraction(price)
                for price, able in zip(tasks[slot].tolist(), instance.able[slot, user].tolist(), strict=True)
                if able
            )
            total += min(0, Fraction(float(instance.costs[slot, user])) - Fraction(shares[user]) - own)
    bound = horizon_bound(problem, shares, tasks)
    assert bound <= total
    assert total - bound < Fraction(1, 2**25)  # costs are rounded down


def test_a_hundred_slots_are_solved_and_the_online_rule_is_near():
    problem = md.AuctionHorizon(users=100, tasks=10, slots=100, epsilon=1.0, seed=1)
    prices, online = md.solve(problem, "prices"), md.solve(problem, "online")
    assert prices.claims_optimality
    assert max(prices.residuals.values()) == 0.0
    assert prices.value <= online.value <= 1.01 * prices.bound


def test_the_bound_is_that_of_the_integer_program_where_that_is_for():
    problem = md.AuctionHorizon(users=12, tasks=3, slots=40, epsilon=1.0, value_range=0.4, seed=1)
    exact = md.solve(problem, "milp")
    assert exact.claims_optimality
    prices = md.solve(problem, "prices")
    assert prices.bound <= exact.value * (1 + 1e-9)
    assert prices.bound >= exact.value * (1 - 1e-3)


def test_larger_horizons_take_their_prices_from_some_slots(monkeypatch):
    monkeypatch.setattr(horizon_methods, "MOST_TOGETHER", 100)
    problem = md.AuctionHorizon(
        users=20, tasks=4, slots=30, epsilon=1.0, generator="redrawn", value_range=0.4
    )
    shares, parts = shares_of(problem)
    assert parts is None
    assert shares.max() > 0
    bound = float(horizon_bound(problem, shares, task_prices(problem, shares)))
    monkeypatch.undo()
    best = md.solve(problem, "prices")
    assert 0.8 * best.bound < bound <= best.value


def test_without_a_share_the_slots_are_alone():
    problem = md.AuctionHorizon(users=30, tasks=4, slots=5, epsilon=1.0, participation=0.0, value_range=0.5)
    solution = md.solve(problem, "prices")
    assert solution.bound <= solution.value <= 1.2 * solution.bound
    assert max(solution.residuals.values()) == 0.0
