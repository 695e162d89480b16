"""The whole loop: measured error against predicted, the Chebyshev promise, payments, and misreporting."""

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog.sweeping import simulate
from mechdesign.families.contract import PrivacyContract

REPETITIONS = 400


@pytest.mark.parametrize("noise", ["laplace", "duchi", "piecewise"])
@pytest.mark.parametrize("information", ["incomplete", "complete"])
def test_measured_error_meets_the_prediction(noise, information):
    problem = PrivacyContract(
        types=[1, 2, 2.1],
        counts=[100, 10, 90],
        budget=500,
        noise=noise,
        information=information,
        data_range=3.0,
    )
    measured = simulate(md.solve(problem), 200, REPETITIONS, np.random.default_rng(11))
    # The prediction is exact for Laplace noise and a worst case for the others.
    spread = 4 / np.sqrt(REPETITIONS)
    assert measured["rmse"] <= measured["predicted_rmse"] * (1 + spread)
    if noise == "laplace":
        assert measured["rmse"] >= measured["predicted_rmse"] * (1 - spread)
    assert measured["exceeded"] <= 1 - problem.confidence
    assert measured["paid"] == pytest.approx(measured["budget_per_user"], rel=1e-9)
    assert measured["misreport_gain"] == 0.0
    assert measured["stayed_out"] == 0.0


def test_another_number_of_users_keeps_the_price_per_user():
    problem = PrivacyContract(types=[1, 2], counts=[30, 10], budget=100)
    measured = simulate(md.solve(problem), 4000, 100, np.random.default_rng(12))
    assert measured["paid"] == pytest.approx(2.5, rel=1e-6)
    assert measured["predicted_rmse"] == pytest.approx(
        md.solve(problem).quantities["alpha"] * np.sqrt(0.1) / 10, rel=1e-12
    )


def test_left_out_types_stay_out_of_the_average():
    problem = PrivacyContract(types=[1, 2, 3], counts=[100, 50, 10], budget=1000, minimum_buyers=120)
    measured = simulate(md.solve(problem), 160, 50, np.random.default_rng(13))
    assert measured["stayed_out"] == pytest.approx(10 / 160)
