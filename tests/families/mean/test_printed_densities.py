"""Section 2.3 of Zhang (2019): the printed laws of a report against the printed variances, by integration."""

import math

import pytest
from scipy.integrate import quad

from mechdesign.families.mean.variance import duchi_variance, laplace_variance, piecewise_variance

EPSILONS = (0.3, 1.0, 1.29, 4.0)
VALUES = (-1.0, -0.4, 0.0, 0.7, 1.0)


def printed_piecewise(epsilon, v):
    """Return the breaks of the density and its heights between them."""
    root = math.exp(epsilon / 2.0)
    c = (root + 1.0) / (root - 1.0)
    p = (math.exp(epsilon) - root) / (2.0 * root + 2.0)
    left = (c + 1.0) / 2.0 * v - (c - 1.0) / 2.0
    right = left + c - 1.0
    return (-c, left, right, c), (p / math.exp(epsilon), p, p / math.exp(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("v", VALUES)
def test_piecewise_is_a_law_of_mean_v_with_variance_2_9(epsilon, v):
    breaks, heights = printed_piecewise(epsilon, v)
    assert -breaks[3] - 1e-12 <= breaks[1]  # the middle part stays inside, up to rounding
    assert breaks[2] <= breaks[3] + 1e-12
    assert max(heights) / min(heights) == pytest.approx(math.exp(epsilon), rel=1e-12)

    def moment(power):
        return sum(
            height * (high ** (power + 1) - low ** (power + 1)) / (power + 1)
            for low, high, height in zip(breaks, breaks[1:], heights, strict=False)
        )

    scale = breaks[3] ** 2
    assert moment(0) == pytest.approx(1.0, abs=1e-12)
    assert moment(1) == pytest.approx(v, abs=1e-12 * scale)
    assert moment(2) - v**2 == pytest.approx(float(piecewise_variance(epsilon, v)), abs=1e-11 * scale)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("v", VALUES)
def test_duchi_is_a_law_of_mean_v_with_variance_2_8(epsilon, v):
    top = (math.exp(epsilon) + 1.0) / (math.exp(epsilon) - 1.0)
    up = (math.exp(epsilon) - 1.0) / (2.0 * math.exp(epsilon) + 2.0) * v + 0.5
    down = -(math.exp(epsilon) - 1.0) / (2.0 * math.exp(epsilon) + 2.0) * v + 0.5
    assert up + down == pytest.approx(1.0, abs=1e-15)
    assert top * (up - down) == pytest.approx(v, abs=1e-14)
    assert top**2 - v**2 == pytest.approx(float(duchi_variance(epsilon, v)), rel=1e-13)
    extremes = [(math.exp(epsilon) - 1.0) / (2.0 * math.exp(epsilon) + 2.0) * x + 0.5 for x in (-1.0, 1.0)]
    assert extremes[1] / extremes[0] == pytest.approx(math.exp(epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_has_variance_2_7_and_ratio_e_to_epsilon_over_a_range_of_two(epsilon):
    scale = 2.0 / epsilon

    def density(x):
        return math.exp(-abs(x) / scale) / (2.0 * scale)

    second, error = quad(lambda x: 2.0 * x * x * density(x), 0.0, math.inf, epsrel=1e-11)
    assert abs(second - float(laplace_variance(epsilon, 0.3))) <= error + 1e-9 * second
    assert density(0.0) / density(2.0) == pytest.approx(math.exp(epsilon), rel=1e-13)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_worst_values_are_the_middle_and_the_ends(epsilon):
    grid = [step / 50.0 for step in range(-50, 51)]
    assert max(grid, key=lambda x: float(duchi_variance(epsilon, x))) == 0.0
    assert abs(max(grid, key=lambda x: float(piecewise_variance(epsilon, x)))) == 1.0
