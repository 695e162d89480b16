"""Variance formulas and unbiasedness against independent integration and enumeration."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.exact.randomness import TOTAL
from mechdesign.families.mean import (
    VARIANCES,
    WORST_VARIANCES,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    GridMean,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.variance import hybrid_mixing, wave_halfwidth

EPSILONS = [0.05, 0.5, 1.0, 1.29, 3.0, 8.0]
VALUES = [-1.0, -0.4, 0.0, 0.7, 1.0]


def moments(pieces):
    """Mass, mean and variance of a piecewise constant density given as (start, end, height)."""
    mass = sum(height * (end - start) for start, end, height in pieces)
    mean = sum(height * (end**2 - start**2) / 2 for start, end, height in pieces)
    square = sum(height * (end**3 - start**3) / 3 for start, end, height in pieces)
    return mass, mean, square - mean**2


def piecewise_pieces(epsilon, x):
    """The definition of thesis sec. 2.3.3, word by word."""
    s = math.exp(epsilon / 2)
    reach = (s + 1) / (s - 1)
    p = (math.exp(epsilon) - s) / (2 * s + 2)
    left = (reach + 1) / 2 * x - (reach - 1) / 2
    right = left + reach - 1
    q = p / math.exp(epsilon)
    return [(-reach, left, q), (left, right, p), (right, reach, q)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("x", VALUES)
def test_piecewise_is_unbiased_with_the_formula_as_variance(epsilon, x):
    mass, mean, variance = moments(piecewise_pieces(epsilon, x))
    assert mass == pytest.approx(1.0, rel=1e-12)
    assert mean == pytest.approx(x, abs=1e-10)
    assert VARIANCES["piecewise"](epsilon, x) == pytest.approx(variance, rel=1e-9)
    assert Piecewise(epsilon).variance(x) == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("x", VALUES)
def test_piecewise_log_density_is_the_definition(epsilon, x):
    mechanism = Piecewise(epsilon)
    for start, end, height in piecewise_pieces(epsilon, x):
        if end - start > 1e-9:
            middle = np.array((start + end) / 2)
            assert math.exp(mechanism.log_density(np.array([x]), middle)[0]) == pytest.approx(
                height, rel=1e-9
            )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("x", VALUES)
def test_duchi_by_enumeration(epsilon, x):
    size = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    up = (math.exp(epsilon) - 1) / (2 * math.exp(epsilon) + 2) * x + 0.5
    assert size * (2 * up - 1) == pytest.approx(x, abs=1e-12)
    expected = size**2 - (size * (2 * up - 1)) ** 2
    assert VARIANCES["duchi"](epsilon, x) == pytest.approx(expected, rel=1e-9)
    assert Duchi(epsilon).variance(x) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_variance_by_integration(epsilon):
    mechanism = Laplace(epsilon, 0.0, 1.0)
    reports = np.linspace(0.3 - 60 / epsilon, 0.3 + 60 / epsilon, 2_000_001)
    density = np.exp(mechanism.log_density(np.array(0.3), reports))
    assert np.trapezoid(density, reports) == pytest.approx(1.0, abs=1e-6)
    variance = np.trapezoid(density * (reports - 0.3) ** 2, reports)
    assert mechanism.variance(0.3) == pytest.approx(variance, rel=1e-6)
    assert mechanism.worst_variance() == pytest.approx(VARIANCES["laplace"](epsilon, 0.0) / 4, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("u", [0.0, 0.2, 0.5, 1.0])
def test_square_wave_is_unbiased_after_the_affine_map(epsilon, u):
    b = float(wave_halfwidth(epsilon))
    p = math.exp(epsilon) / (2 * b * math.exp(epsilon) + 1)
    q = 1 / (2 * b * math.exp(epsilon) + 1)
    mass, mean, variance = moments([(-b, u - b, q), (u - b, u + b, p), (u + b, 1 + b, q)])
    assert mass == pytest.approx(1.0, rel=1e-12)
    mechanism = SquareWave(epsilon, 0.0, 1.0)
    slope, offset = float(mechanism.slope), float(mechanism.offset)
    assert slope * (mean - 0.5) + offset == pytest.approx(u, abs=1e-12)
    assert mechanism.variance(u) == pytest.approx(slope**2 * variance, rel=1e-9)
    assert mechanism.variance(u) <= mechanism.worst_variance() * (1 + 1e-12)


def test_square_wave_halfwidth_is_continuous_where_series_and_closed_form_meet():
    below, above = wave_halfwidth(math.nextafter(1.0, 0.0)), wave_halfwidth(math.nextafter(1.0, 2.0))
    assert float(below) == pytest.approx(float(above), rel=1e-14)
    e = math.exp(2.0)
    assert float(wave_halfwidth(2.0)) == pytest.approx((2 * e - e + 1) / (2 * e * (e - 1 - 2)), rel=1e-13)


@pytest.mark.parametrize("epsilon", [0.2, 0.6, 0.62, 1.0, 4.0])
def test_hybrid_mixing_is_optimal_among_a_thousand(epsilon):
    def worst(a):
        return max(
            a * VARIANCES["piecewise"](epsilon, x) + (1 - a) * VARIANCES["duchi"](epsilon, x)
            for x in (0.0, 1.0)
        )

    best = min(worst(a) for a in np.linspace(0, 1, 1001))
    found = worst(float(hybrid_mixing(epsilon)))
    assert found <= best * (1 + 1e-12)
    assert Hybrid(epsilon).worst_variance() == pytest.approx(found, rel=1e-12)


def test_worst_cases_of_the_notes():
    expected = {0.5: (16.671, 21.223, 16.671), 1.0: (4.683, 5.224, 4.289), 2.0: (1.724, 1.228, 1.042)}
    expected |= {1.29: (3.096, 3.096, 2.572), 4.0: (1.076, 0.241, 0.219)}
    for epsilon, figures in expected.items():
        for name, figure in zip(("duchi", "piecewise", "hybrid"), figures, strict=True):
            assert round(float(WORST_VARIANCES[name](epsilon)), 3) == figure, (name, epsilon)


@pytest.mark.parametrize("name", ["laplace", "duchi", "piecewise"])
def test_the_three_that_are_said_to_be_convex_and_decreasing(name):
    values = WORST_VARIANCES[name](np.linspace(0.05, 10.0, 500))
    assert (np.diff(values) < 0).all()
    assert (np.diff(values, 2) > 0).all()


def test_the_hybrid_has_a_concave_kink():
    grid = np.linspace(0.5, 0.7, 2001)
    assert (np.diff(WORST_VARIANCES["hybrid"](grid), 2) < 0).any()


@pytest.mark.parametrize(
    "mechanism",
    [
        Duchi(1.0),
        CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1),
        CensoringInterval.from_interval(0.3, 0.6, 1.0, 0.0),
        DiscretePiecewise(2.0),
        DiscretePiecewise(4.0, 10.0, 30.0),
        Hybrid(2.0, 0.0, 5.0),
        SquareWave(1.0),
        Piecewise(3.0, 5.0, 6.0),
    ],
    ids=lambda mechanism: mechanism.type,
)
def test_worst_variance_is_the_largest_on_a_fine_grid(mechanism):
    grid = np.linspace(mechanism.domain.low, mechanism.domain.high, 20_001)
    variances = mechanism.variance(grid)
    worst = mechanism.worst_variance()
    assert variances.max() <= worst * (1 + 1e-12)
    assert variances.max() >= worst * (1 - 1e-6)
    assert variances.min() >= mechanism._least_variance() * (1 - 1e-12)


def test_the_variance_of_censoring_is_eq_10():
    c, d, mu = 0.2, 0.5, 0.3
    expected = (d * mu + c) * (1 - d * mu - c) / d**2
    mechanism = CensoringInterval.from_interval(c, c + d, 3.0)
    assert mechanism.variance(mu) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_grid_variance_by_enumeration(epsilon):
    """Enumerate rounding and report with rational numbers, at knots and between them."""
    mechanism = DiscretePiecewise(epsilon, 0.0, 1.0, 9, 4)
    assert isinstance(mechanism, GridMean)
    knots = [Fraction(knot) for knot in mechanism.knots.tolist()]
    outputs = [Fraction(value) for value in mechanism.outputs.tolist()]
    for left in range(len(knots) - 1):
        for share in (Fraction(0), Fraction(1, 3), Fraction(1, 2)):
            x = float((1 - share) * knots[left] + share * knots[left + 1])
            rest = (Fraction(x) - knots[left]) / (knots[left + 1] - knots[left])
            mean = square = Fraction(0)
            for knot, part in ((left, 1 - rest), (left + 1, rest)):
                for weight, value in zip(mechanism.channel.weights[knot].tolist(), outputs, strict=True):
                    mean += part * Fraction(weight, TOTAL) * value
                    square += part * Fraction(weight, TOTAL) * value**2
            assert abs(mean - Fraction(x)) <= mechanism.worst_bias
            assert mechanism.variance(x) == pytest.approx(float(square - mean**2), rel=1e-9)


def test_two_cells_are_duchis_mechanism():
    assert DiscretePiecewise(0.3).worst_variance() == pytest.approx(Duchi(0.3).worst_variance(), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.5, 2.0, 4.0, 8.0])
def test_the_discrete_mechanism_is_never_worse_than_duchi_nor_much_than_piecewise(epsilon):
    worst = DiscretePiecewise(epsilon).worst_variance()
    assert worst <= WORST_VARIANCES["duchi"](epsilon) * (1 + 1e-12)
    assert worst <= WORST_VARIANCES["piecewise"](epsilon)
