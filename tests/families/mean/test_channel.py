"""The best channel: two formulations, bounds by brute force, the deployed worst case by sampling x."""

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.mean import WORST_VARIANCES, MeanChannel
from mechdesign.families.mean.channel import (
    any_mechanism_bound,
    criterion_value,
    quick_bound,
    two_input_bound,
)
from mechdesign.families.mean.channel_methods import hat_weights
from mechdesign.families.mean.column_generation import PatternPrices, cheapest, default_inputs, proven_lower
from mechdesign.families.mean.optimal_channel import best_mechanism, best_variance


def random_prices(rng, size):
    """Return prices that are mirrored about the middle, as the methods make them."""
    level, slope, curve = rng.normal(size=size), rng.normal(size=size), rng.exponential(size=size)
    return PatternPrices((level + level[::-1]) / 2, (slope - slope[::-1]) / 2, (curve + curve[::-1]) / 2)


def price(prices, small, output):
    """Return F(t) by its definition, of one output or of each."""
    t = np.asarray(output)[..., None]
    single = prices.curve * t**2 - prices.slope * t - prices.level
    return np.minimum(single, small * single).sum(axis=-1)


@pytest.mark.parametrize(
    ("epsilon", "inputs", "outputs", "criterion"),
    [(0.5, 5, 21, "worst"), (2.0, 6, 30, "average"), (4.0, 7, 41, "worst")],
)
def test_columns_and_the_linear_program_agree(epsilon, inputs, outputs, criterion):
    problem = MeanChannel(epsilon=epsilon, inputs=inputs, outputs=outputs, criterion=criterion)
    comparison = md.compare(problem)
    assert [run.method for run in comparison.runs] == ["columns", "lp", "statement"]
    assert comparison.agree, comparison
    for run in comparison.runs:
        assert run.gap <= 1e-5 * run.value
        assert max(run.residuals.values()) < 1e-9
        assert all(certificate.holds for certificate in run.certificates)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.29, 2.0, 4.0])
def test_lower_worst_case_than_every_rival_and_close_to_the_best_possible(epsilon):
    value = best_variance(epsilon)
    rivals = [float(WORST_VARIANCES[name](epsilon)) / 4 for name in ("duchi", "piecewise", "hybrid")]
    least = any_mechanism_bound(epsilon)
    assert least < value < min(rivals)
    assert value < 1.01 * least


def test_the_figures_of_the_notes_are_between_the_bound_and_the_value():
    for epsilon, stated in ((0.5, 16.005), (1.0, 3.991), (1.29, 2.350), (2.0, 0.865), (4.0, 0.127)):
        assert 4 * any_mechanism_bound(epsilon) <= stated + 5e-4
        assert 4 * best_variance(epsilon) == pytest.approx(stated, rel=0.01)


def test_the_value_is_the_worst_case_of_the_mechanism_over_all_x():
    solution = md.solve(MeanChannel(epsilon=3.0, inputs=9))
    mechanism = solution.mechanism()
    places = np.linspace(0.0, 1.0, 20_001)
    assert mechanism.variance(places).max() <= solution.value * (1 + 1e-9)
    assert mechanism.variance(places).max() >= solution.value * (1 - 1e-6)
    x = np.full(200_000, 0.3)
    values = mechanism.values(mechanism.randomize(x, rng=4))
    assert values.mean() == pytest.approx(0.3, abs=5 * math.sqrt(solution.value / len(x)))
    assert values.var() == pytest.approx(mechanism.variance(0.3), rel=0.02)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_with_the_two_ends_alone_duchi_is_the_best_mechanism(epsilon):
    solution = md.solve(MeanChannel(epsilon=epsilon, inputs=2))
    assert solution.value == pytest.approx(float(WORST_VARIANCES["duchi"](epsilon)) / 4, rel=1e-5)
    assert solution.bound <= float(WORST_VARIANCES["duchi"](epsilon)) / 4


@pytest.mark.parametrize("criterion", ["worst", "average"])
@pytest.mark.parametrize(("inputs", "outputs"), [(2, 2), (2, 10), (3, 3), (4, 2), (4, 10)])
def test_the_smallest_grids(inputs, outputs, criterion):
    comparison = md.compare(MeanChannel(epsilon=1.0, inputs=inputs, outputs=outputs, criterion=criterion))
    assert comparison.agree
    assert all(certificate.holds for run in comparison.runs for certificate in run.certificates)


def test_value_falls_and_bound_rises_with_the_inputs():
    values = [md.solve(MeanChannel(epsilon=2.0, inputs=size)).value for size in (5, 9, 17)]
    bounds = [any_mechanism_bound(2.0, "worst", size) for size in (5, 9, 17)]
    assert values[0] > values[1] > values[2] > bounds[2] > bounds[1] > bounds[0]


def test_free_outputs_are_no_worse_than_any_grid_of_outputs():
    free = md.solve(MeanChannel(epsilon=1.0, inputs=7))
    gridded = [md.solve(MeanChannel(epsilon=1.0, inputs=7, outputs=size)).value for size in (11, 41, 161)]
    assert free.bound < min(gridded)
    assert gridded[2] - free.value < (gridded[0] - free.value) / 10


def test_the_average_bound_is_below_every_average_and_close():
    for epsilon in (0.5, 2.0):
        least = any_mechanism_bound(epsilon, "average", 21)
        average = md.solve(MeanChannel(epsilon=epsilon, inputs=21, criterion="average")).value
        duchi = (1 / math.tanh(epsilon / 2) ** 2 - 1 / 3) / 4
        assert least < average < duchi
        assert average < 1.01 * least


@pytest.mark.parametrize("size", [2, 5, 8])
def test_pricing_finds_the_least_price_over_all_outputs(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        prices, small = random_prices(rng, size), float(rng.uniform(0.01, 0.9))
        found = cheapest(prices, small)
        scanned = price(prices, small, np.linspace(-30.0, 30.0, 6001))
        assert found.values.min() <= scanned.min() + 1e-12
        best = int(found.values.argmin())
        assert price(prices, small, found.outputs[best]) == pytest.approx(found.values[best], abs=1e-9)


def test_the_proven_bound_holds_for_mechanisms_it_knows_nothing_about():
    """Duchi's and the hybrid's second moments are never below the bound of arbitrary prices."""
    rng = np.random.default_rng(11)
    epsilon = 1.5
    grid = np.linspace(-1.0, 1.0, 5)
    size = 1 / math.tanh(epsilon / 2)
    gain = math.expm1(epsilon / 2)
    moments = [
        np.full(5, size**2),
        grid**2 / gain + (gain + 4) / (3 * gain**2) + grid**2,
    ]
    tight = -math.inf
    for _ in range(300):
        prices = random_prices(rng, 5)
        bound = proven_lower(prices, grid, math.exp(-epsilon))
        for second in moments:
            weighted = float(prices.curve @ second)
            assert bound <= weighted
            tight = max(tight, bound / weighted)
    assert tight > 0.0


def test_criterion_by_scanning():
    rng = np.random.default_rng(2)
    knots = np.sort(rng.uniform(-0.5, 0.5, 6))
    means, moments = knots + rng.normal(0, 0.01, 6), rng.uniform(1.0, 2.0, 6)
    places = np.linspace(knots[0], knots[-1], 400_001)
    errors = np.interp(places, knots, moments) - 2 * places * np.interp(places, knots, means) + places**2
    assert criterion_value(knots, means, moments, "worst") == pytest.approx(errors.max(), abs=1e-5)
    assert criterion_value(knots, means, moments, "average") == pytest.approx(errors.mean(), abs=1e-5)


def test_hat_weights_integrate_linear_interpolation():
    grid = np.array([-1.0, -0.2, 0.5, 1.0])
    values = np.array([1.0, 3.0, 0.5, 2.0])
    scanned = np.interp(np.linspace(-1, 1, 200_001), grid, values).mean()
    assert hat_weights(grid) @ values == pytest.approx(scanned, abs=1e-5)


def test_mechanism_for_any_range_is_private_and_scaled():
    mechanism = best_mechanism(1.0, -10.0, 30.0)
    assert all(certificate.holds for certificate in mechanism.certificates())
    assert mechanism.worst_variance() == pytest.approx(1600 * best_variance(1.0), rel=1e-9)
    assert best_mechanism(0.0) is None
    assert best_variance(40.0) is None


def test_default_grids_grow_with_epsilon_and_are_odd():
    sizes = [default_inputs(epsilon) for epsilon in (0.1, 3.0, 4.0, 5.0, 8.0, 300.0)]
    assert sizes == sorted(sizes)
    assert all(size % 2 == 1 for size in sizes)
    assert sizes[-1] == 41


def test_epsilon_zero_is_infeasible_and_tiny_or_huge_ones_are_explained():
    assert md.solve(MeanChannel(epsilon=0.0)).status == "infeasible"
    for epsilon, hint in ((1e-4, "Duchi"), (20.0, "piecewise")):
        assert hint in md.compare(MeanChannel(epsilon=epsilon)).skipped["columns"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": "one"}, "epsilon: expected a number"),
        ({"epsilon": 1e-200}, "epsilon: 1e-200 is so small"),
        ({"epsilon": 1.0, "inputs": 1}, "inputs: 1 is not from 2"),
        ({"epsilon": 1.0, "outputs": 2.5}, "outputs: expected a whole number"),
        ({"epsilon": 1.0, "criterion": "mean"}, "criterion: .*"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        MeanChannel(**parameters)


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 2.0, 7.0, 30.0])
@pytest.mark.parametrize("criterion", ["worst", "average"])
def test_the_bound_of_two_inputs_is_below_all_mechanisms(epsilon, criterion):
    """Duchi's has the variance (scale^2 - (2 x - 1)^2) / 4; and the bound is never above the solved one."""
    bound = two_input_bound(epsilon, criterion)
    scale = 1.0 / math.tanh(epsilon / 2.0) ** 2
    duchi = (scale if criterion == "worst" else scale - 1.0 / 3.0) / 4.0
    assert 0.0 < bound < duchi
    ends = (scale - 1.0) / 4.0  # of one report at an end, where two inputs decide
    assert criterion == "average" or bound == pytest.approx(ends, rel=1e-9)
    if 0.1 < epsilon < 5.0:
        assert bound < quick_bound(epsilon, criterion) < best_variance(epsilon)
