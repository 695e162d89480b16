"""Tails of Pearson type III laws against incomplete gamma functions and against an integral."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.special import gammainc, gammaincc

from mechdesign.collect.intervals import FEW, NEARLY_NORMAL, normal_tail, tail_chance

PLACES = np.linspace(-6.0, 6.0, 241)


@pytest.mark.parametrize("skewness", [0.005, 0.01, 0.0199])
def test_the_series_is_the_incomplete_gamma_function(skewness):
    """The first power that is left out is h^6; both sides of the law are looked at."""
    assert skewness < NEARLY_NORMAL
    shape, close = 4.0 / skewness**2, 2e-7 * (skewness / NEARLY_NORMAL) ** 6 + 1e-10
    for sign, gamma in ((1.0, gammaincc), (-1.0, gammainc)):
        exact = gamma(shape, shape + sign * PLACES * (2.0 / skewness))
        found = tail_chance(PLACES, np.full(len(PLACES), sign * skewness))
        off = np.abs(found / exact - 1.0)
        assert off.max() < close
        assert off[np.abs(PLACES) <= 2.0].max() < 1e-4 * close + 1e-11  # where every coefficient counts


@pytest.mark.parametrize("skewness", [1e-3, -1e-3])
def test_far_tails_of_nearly_normal_laws_are_integrals_of_the_density(skewness):
    """scipy's gammainc(4e6, .) has three right digits at six standard deviations."""
    shape, sign = 4.0 / skewness**2, math.copysign(1.0, skewness)
    root = math.sqrt(shape)

    def density(x):  # of a gamma variable, moved and scaled, over that of Stirling's formula for its middle
        moved = sign * x / root
        power = (shape - 1.0) * (math.log1p(moved) - moved) - moved - 1.0 / (12.0 * shape)
        return math.exp(power) / math.sqrt(2.0 * math.pi)

    exact, _ = integrate.quad(density, 6.0, 14.0, epsabs=0.0, epsrel=1e-12)
    found = tail_chance(np.array([6.0]), np.array([skewness]))
    assert found[0] == pytest.approx(exact, rel=1e-8)


def test_laws_of_any_skewness_side_by_side():
    skewness = np.array([-1.5, -0.03, -0.01, 0.0, 0.01, 0.03, 1.5])
    together, single = tail_chance(np.full(7, 2.0), skewness), skewness[:, None]
    alone = [float(tail_chance(np.array([2.0]), each)[0]) for each in single]
    np.testing.assert_allclose(together, alone, rtol=1e-13)
    assert (np.diff(together) > 0).all()
    assert tail_chance(np.array([2.0, 3.0])[:, None], np.array([0.01, 0.5])).shape == (2, 2)


def test_few_and_many_normal_tails_are_the_same():
    places = np.linspace(-9.0, 36.0, FEW + 1)
    many, few = normal_tail(places), normal_tail(places[:FEW])
    np.testing.assert_allclose(many[:FEW], few, rtol=1e-13)
    assert few[0] > 1.0 - 1e-15
    assert normal_tail(np.zeros((0, 3))).shape == (0, 3)
