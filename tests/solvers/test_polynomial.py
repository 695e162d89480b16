"""Real roots and largest values: exact, against grids and known factors."""

from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.solvers.roots import maximum, roots


def product(zeros):
    """Return the coefficients of the polynomial with these zeros."""
    found = [Fraction(1)]
    for zero in zeros:
        longer = [Fraction(0), *found]
        for power, part in enumerate(found):
            longer[power] -= zero * part
        found = longer
    return found


@pytest.mark.parametrize("seed", range(40))
def test_every_root_is_found_once_also_multiple_ones(seed):
    rng = np.random.default_rng(seed)
    zeros = [Fraction(int(n), 8) for n in rng.integers(0, 24, size=5)]  # with repetitions
    found = roots(product(zeros), Fraction(0), Fraction(4))
    assert [left for left, right in found] == sorted({zero for zero in zeros if zero > 0})
    assert all(left == right for left, right in found)


def test_roots_that_doubles_cannot_tell_apart_are_told_apart():
    near = Fraction(1) + Fraction(1, 2**80)
    (a, b), (c, d) = roots(product([Fraction(1), near]), Fraction(0), Fraction(2))
    assert a <= 1 <= b <= c < near <= d  # intervals without their left ends


@pytest.mark.parametrize("seed", range(60))
def test_no_point_of_a_grid_is_above_the_bound(seed):
    rng = np.random.default_rng(seed)
    coefficients = [Fraction(float(c)) for c in rng.uniform(-3, 3, size=4)]
    pole = Fraction(float(rng.choice([0.0, 1e-9, 0.5, 40.0])))
    low = Fraction(float(rng.choice([0.0, rng.uniform(0, 2)])))
    high = low + Fraction(float(rng.uniform(0.01, 5)))
    found = maximum(coefficients, pole, low, high)
    assert low <= found.place <= high
    assert found.value <= found.bound <= found.value + Fraction(1, 2**40)
    for step in range(1, 200):
        x = low + (high - low) * step / 200
        value = sum(c * x**k for k, c in enumerate(coefficients)) - pole / x
        assert value <= found.bound


def test_of_equal_values_the_larger_place_is_taken():
    found = maximum([Fraction(0), Fraction(-1), Fraction(1)], Fraction(0), Fraction(0), Fraction(1))
    assert (found.place, found.value) == (1, 0)


@pytest.mark.parametrize(("low", "high", "pole"), [(2, 1, 0), (-1, 1, 0), (0, 0, 1), (0, 1, -1)])
def test_an_interval_that_makes_no_sense_is_refused(low, high, pole):
    with pytest.raises(ParameterError, match="interval"):
        maximum([Fraction(1)], Fraction(pole), Fraction(low), Fraction(high))
