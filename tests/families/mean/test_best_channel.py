"""The best channel for a mean as one function: the stored ladder, what starts from it, exact privacy."""

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.mean.column_generation import ChannelDesign, default_inputs, refined, symmetric_grid
from mechdesign.families.mean.discrete import best_shape
from mechdesign.families.mean.optimal_channel import best_channel, ladder, solved, worst_variance_of
from mechdesign.families.survey.design_setting import PLANNED, noise


@pytest.mark.parametrize("epsilon", [0.05, 0.35, 1.0, 3.0, 7.9, 12.0])
def test_a_rung_is_a_private_mechanism_of_the_stored_variance(epsilon: float) -> None:
    mechanism = best_channel(epsilon, 0.0, 10.0)
    assert mechanism is not None
    assert all(certificate.holds for certificate in mechanism.certificates())
    assert mechanism.audit().epsilon == epsilon
    assert mechanism.worst_variance() / 25.0 == pytest.approx(worst_variance_of(epsilon), rel=1e-9)
    assert worst_variance_of(epsilon) == ladder().variances[ladder().below(epsilon)]


def test_the_ladder_descends_and_lies_below_what_is_known_in_closed_form() -> None:
    known = ladder()
    assert (np.diff(known.epsilons) > 0.0).all()
    assert (np.diff(known.variances) < 0.0).all()
    duchi = ((np.exp(known.epsilons) + 1.0) / np.expm1(known.epsilons)) ** 2
    assert (known.variances < duchi).all()
    assert (
        known.variances * np.expm1(known.epsilons / 1.0) ** 2 > 0.99
    ).all()  # Hammersley, Chapman, Robbins


@pytest.mark.parametrize("epsilon", [0.07, math.log(3.0), 2.05])
def test_the_start_from_the_ladder_changes_nothing_but_the_time(epsilon: float) -> None:
    cold = refined(
        lambda size: ChannelDesign(epsilon, symmetric_grid(size), "worst"), default_inputs(epsilon), 1e-5
    )
    warm = solved(epsilon)
    assert warm.bound <= cold.value * (1.0 + 1e-12)
    assert cold.bound <= warm.value * (1.0 + 1e-12)
    assert warm.value == pytest.approx(cold.value, rel=2e-5)


def test_mean_channel_and_this_function_are_one() -> None:
    for epsilon in (1.0, 1.3):
        solution, mechanism = md.solve(md.MeanChannel(epsilon=epsilon)), best_channel(epsilon)
        assert mechanism is not None
        assert solution.status == "optimal"
        assert 4.0 * solution.value == pytest.approx(mechanism.worst_variance(), rel=1e-5)
        assert mechanism.worst_variance() >= 4.0 * solution.bound * (1.0 - 1e-12)


def test_it_can_promise_a_rounding_less() -> None:
    less = math.nextafter(0.3, 0.0)
    mechanism = best_channel(0.3, promised=less)
    assert mechanism is not None
    assert mechanism.audit().holds
    assert mechanism.audit().epsilon == less


def test_there_is_none_beyond_the_solver() -> None:
    assert best_channel(1e-4) is None
    assert best_channel(17.0) is None
    assert worst_variance_of(17.0) == math.inf


def test_between_the_rungs_the_plan_is_close() -> None:
    for epsilon in (0.82, 3.33):
        assert noise(PLANNED, epsilon) == pytest.approx(worst_variance_of(epsilon), rel=2e-3)


def test_below_the_ladder_two_cells_are_the_best_piecewise_mechanism() -> None:
    for epsilon in (1e-5, 0.001, 0.01, 0.05):
        assert best_shape(epsilon)[1:] == (2, 1)
