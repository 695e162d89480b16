"""Noises as a designer sees them: convex, decreasing, inverted correctly; and their clients are unbiased."""

import numpy as np
import pytest

from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.families.contract.noise import NOISES, noise_of, tabulated
from mechdesign.families.mean import WORST_VARIANCES

GRID = np.geomspace(1e-3, 30.0, 4000)


@pytest.mark.parametrize("name", NOISES)
def test_variance_is_convex_and_decreasing(name):
    slope = NOISES[name].slope(GRID)
    assert (slope > 0).all()
    assert (np.diff(slope) < 0).all()


@pytest.mark.parametrize("name", NOISES)
def test_slope_is_the_derivative_and_is_inverted(name):
    noise = NOISES[name]
    step = 1e-5 * GRID
    numeric = (noise.variance(GRID - step) - noise.variance(GRID + step)) / (2 * step)
    small = GRID < 8  # beyond, Duchi's variance is 1 to within rounding
    assert np.allclose(numeric[small], noise.slope(GRID)[small], rtol=1e-5)
    assert np.allclose(noise.at_slope(noise.slope(GRID)), GRID, rtol=1e-12)


def test_variances_are_the_published_ones():
    e = GRID[GRID < 20]
    root = np.exp(e / 2)
    assert np.allclose(NOISES["laplace"].variance(e), 8 / e**2)
    assert np.allclose(NOISES["duchi"].variance(e), ((np.exp(e) + 1) / (np.exp(e) - 1)) ** 2, rtol=1e-10)
    printed = 1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    assert np.allclose(NOISES["piecewise"].variance(e), printed, rtol=1e-10)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("value", [-1.0, 0.3])
def test_clients_are_unbiased_and_no_noisier_than_stated(name, epsilon, value):
    noise, count = NOISES[name], 100_000
    reports = noise.randomize(np.full(count, value), epsilon, rng=7)
    worst = float(noise.variance(np.array(epsilon)))
    assert abs(reports.mean() - value) < 5 * np.sqrt(worst / count)
    assert reports.var() < 1.03 * worst


def test_a_table_is_straight_between_its_nodes_and_inverted():
    noise = tabulated([0.5, 1.0, 2.0], [32.0, 8.0, 2.0])
    prices = np.array([100.0, 40.0, 7.0, 3.0])
    candidates = np.linspace(0.5, 2.0, 1501)
    best = [candidates[np.argmin(noise.variance(candidates) + price * candidates)] for price in prices]
    assert np.allclose(noise.at_slope(prices), best)
    assert np.isinf(noise.variance(np.array([0.4]))).all()
    with pytest.raises(MethodError, match="without a client"):
        noise.randomize([0.0], 1.0)


@pytest.mark.parametrize(
    ("epsilon", "variance", "text"),
    [
        ([1.0, 2.0, 3.0], [9.0, 8.0, 2.0], r"noise\.variance: is not convex at entry 1 \(epsilon 2\)"),
        ([1.0, 2.0], [2.0, 2.0], r"noise\.variance: entry 1 \(2\) does not decrease"),
        ([2.0, 1.0], [3.0, 2.0], r"noise\.epsilon: entry 1 \(1\) does not increase"),
        ([1.0, 2.0], [3.0], r"noise\.variance: has 1 entry for 2 epsilons"),
    ],
)
def test_bad_tables_name_the_entry(epsilon, variance, text):
    with pytest.raises(ParameterError, match=text):
        noise_of({"epsilon": epsilon, "variance": variance})


@pytest.mark.parametrize("name", NOISES)
def test_variances_are_those_of_the_mean_mechanisms(name):
    e = GRID[GRID < 20]
    assert np.allclose(NOISES[name].variance(e), WORST_VARIANCES[name](e), rtol=1e-9)


def test_unknown_noise_is_suggested():
    with pytest.raises(ParameterError, match="did you mean 'laplace'"):
        noise_of("laplac")
