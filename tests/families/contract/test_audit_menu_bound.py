"""The bound from shadow prices: below every feasible menu, whatever the prices; tight for the right ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.contract.incentives import LOSSES, NARROW, Sellers, least_menu_error, least_payment
from mechdesign.families.contract.noise import NOISES

TABLE = {"epsilon": [0.1, 0.5, 1.0, 2.0, 5.0], "variance": [800.0, 32.0, 8.0, 2.0, 0.3]}
KINDS = st.sampled_from(["laplace", "duchi", "piecewise", "table"])


def instance(seed, kind, information, limited):
    """A population, what may be sold to it, and a budget that pays for the floor."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    types, counts = np.sort(10.0 ** rng.uniform(-1, 1, size)), rng.integers(1, 100, size).astype(float)
    low, high = (0.2, 3.0) if limited else (0.1 if kind == "table" else 0.0, math.inf)
    cost = np.full(size, 0.3 if limited else 0.0)
    noise = TABLE if kind == "table" else kind
    sellers = Sellers(types, counts, cost, information, noise, low, 100.0 if high == math.inf else high)
    if kind == "laplace" and high == math.inf:
        sellers = Sellers(types, counts, cost, information, noise, low, high)
    floor = counts.sum() * (0.31 + 0.21 * types[-1])
    return rng, sellers, float(floor * rng.uniform(1.0, 20.0))


def problem_of(sellers, **goal):
    return md.PrivacyContract(
        types=sellers.types,
        counts=sellers.counts,
        participation_cost=sellers.cost,
        information=sellers.information,
        noise=sellers.noise,
        epsilon_min=sellers.low,
        epsilon_max=None if sellers.high == math.inf else sellers.high,
        **goal,
    )


def random_prices(rng, right):
    """Prices around the right ones, others of any size and order, zeros among them."""
    kind = rng.integers(4)
    if kind == 0:
        return right * rng.uniform(0.8, 1.25, len(right))
    if kind == 1:
        return right * float(10.0 ** rng.uniform(-6, 6))
    if kind == 2:
        return 10.0 ** rng.uniform(-12, 12, len(right))
    return np.where(rng.random(len(right)) < 0.5, 0.0, right)


@given(st.integers(0, 10**6), KINDS, st.sampled_from(["incomplete", "complete"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_right_prices_prove_the_optimum_and_no_prices_prove_more(seed, kind, information, limited):
    rng, sellers, budget = instance(seed, kind, information, limited)
    solution = md.solve(problem_of(sellers, budget=budget))
    right = solution.mechanism().terms.prices
    value = solution.value
    assert value * (1 - 1e-6) <= least_menu_error(sellers, right, budget) <= value
    for _ in range(10):
        assert least_menu_error(sellers, random_prices(rng, right), budget) <= value


@given(st.integers(0, 10**6), KINDS, st.sampled_from(["incomplete", "complete"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_same_for_the_least_payment(seed, kind, information, limited):
    rng, sellers, budget = instance(seed, kind, information, limited)
    reached = md.solve(problem_of(sellers, budget=budget))
    solution = md.solve(problem_of(sellers, target_error=reached.quantities["alpha"] * 1.01))
    menu = solution.mechanism()
    error = math.fsum(sellers.counts * menu.noise.loss(menu.epsilon))
    value = menu.total_payment
    assert value * (1 - 1e-6) <= least_payment(sellers, menu.terms.prices, error) <= value
    for _ in range(10):
        assert least_payment(sellers, random_prices(rng, menu.terms.prices), error) <= value


@given(st.integers(0, 10**6), KINDS)
@settings(max_examples=100, deadline=None)
def test_random_feasible_menus_are_above_the_bound(seed, kind):
    rng, sellers, budget = instance(seed, kind, "incomplete", True)
    types, noise = sellers.types, problem_of(sellers, budget=budget).noise_model
    epsilon = np.sort(rng.uniform(sellers.low, sellers.high, len(types)))[::-1]
    paid = types[-1] * epsilon[-1] + np.append(np.cumsum((types[:-1] * -np.diff(epsilon))[::-1])[::-1], 0.0)
    total = float(sellers.counts @ (paid + sellers.cost))
    error = float(sellers.counts @ noise.loss(epsilon))
    for _ in range(10):
        prices = random_prices(rng, 10.0 ** rng.uniform(-3, 3, len(types)))
        assert least_menu_error(sellers, prices, total) <= error
        assert least_payment(sellers, prices, error) <= total


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_written_twice_agree(name):
    levels = np.geomspace(1e-3, 25.0, 200)
    assert np.allclose(LOSSES[name].value(levels), NOISES[name].loss(levels), rtol=1e-12, atol=0.0)
    falls = NOISES[name].loss(levels[:-1]) - NOISES[name].loss(levels[1:])
    slopes = LOSSES[name].slope(levels)  # convexity: each fall is between the slopes at its two ends
    assert (slopes[:-1] * np.diff(levels) > falls).all()
    assert (slopes[1:] * np.diff(levels) < falls).all()


@pytest.mark.parametrize("prices", [[-1.0, 1.0], [math.nan, 1.0], [math.inf, 1.0], [1e300, 1.0]])
def test_impossible_prices_prove_nothing(prices):
    sellers = Sellers(np.array([1.0, 2.0]), np.ones(2), np.zeros(2))
    assert least_menu_error(sellers, np.array(prices), 10.0) == -math.inf
    assert least_payment(sellers, np.array(prices), 1.0) <= 0.0


def test_a_cap_beyond_what_the_formula_covers_proves_nothing():
    sellers = Sellers(np.array([1.0]), np.ones(1), np.zeros(1), noise="duchi", high=1e9)
    assert least_menu_error(sellers, np.array([0.01]), 1.0) == -math.inf


def test_prices_of_another_length_are_refused():
    sellers = Sellers(np.array([1.0, 2.0]), np.ones(2), np.zeros(2))
    with pytest.raises(ParameterError, match="prices: 1 for 2 types; give one per type"):
        least_menu_error(sellers, np.ones(1), 10.0)


@pytest.mark.parametrize("kind", ["laplace", "duchi", "piecewise", "table"])
def test_with_one_type_the_bound_is_the_minimum_over_a_grid(kind):
    noise = TABLE if kind == "table" else kind
    sellers = Sellers(np.array([2.0]), np.array([3.0]), np.zeros(1), noise=noise, low=0.3, high=4.0)
    grid = np.linspace(0.3, 4.0, 10_001)
    loss = problem_of(sellers, budget=100.0).noise_model.loss(grid)
    prices = np.append(0.0, np.geomspace(1e-4, 1e3, 400))
    for budget in (2.0, 5.0, 24.0, 60.0):
        best = 3.0 * float(loss[6.0 * grid <= budget].min())
        bounds = [least_menu_error(sellers, np.array([price]), budget) for price in prices]
        # between two prices, or two epsilons, of the grids
        near = 3.0 * float(loss[6.0 * grid <= budget / 1.03].min())
        assert (2.0 * best - near) * (1.0 - NARROW) <= max(bounds) <= best
