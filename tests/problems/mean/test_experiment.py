"""The experiment of the paper: ranks and Friedman's test against scipy, errors against the formulas."""

import math

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.problems.mean import MeanInterval
from mechdesign.problems.mean.interval.ranks import (
    PRINTED_RANKS,
    friedman,
    friedman_p_value,
    mean_ranks,
)
from mechdesign.problems.mean.interval.simulation import entrants, errors_on, generated_columns, simulation


def test_friedman_matches_scipy():
    errors = np.random.default_rng(1).exponential(size=(30, 5))
    statistic = friedman(mean_ranks(errors), 30)
    found = friedmanchisquare(*errors.T)
    assert statistic == pytest.approx(found.statistic, rel=1e-12)
    assert friedman_p_value(statistic, 5) == pytest.approx(found.pvalue, rel=1e-12)


def test_ties_share_their_ranks():
    assert mean_ranks(np.array([[0.2, 0.1, 0.2]])).tolist() == [2.5, 1.0, 2.5]


def test_table_7_at_epsilon_one_tenth_and_the_rows_of_table_6_that_cannot_be_ranks():
    assert friedman([1.4, 3.833333, 3.7, 2.4, 3.666667], 30) == pytest.approx(54.587, abs=5e-4)
    wrong = [epsilon for epsilon, ranks in PRINTED_RANKS.items() if abs(sum(ranks) - 15.0) > 0.026]
    assert wrong == [0.2, 0.8, 8.0, 10.0]


def test_measured_errors_are_those_of_the_formulas():
    problem = MeanInterval(epsilon=1.0, mean=0.5, attributes=4)
    users, rng = 20_000, np.random.default_rng(6)
    methods = entrants(problem, (0.2689414213699951, 0.7310585786300049))
    table = np.full((1, 4), 0.5)
    squares = {name: 0.0 for name in methods}
    for _ in range(40):
        for name, error in errors_on(table, methods, users, rng).items():
            squares[name] += error**2 / 40
    power, m = math.e, 4
    a, size, gain = 1 / (power - 1), (power + 1) / (power - 1), math.sqrt(power) - 1
    expected = {
        "opt": (0.5 + a) * (m * (1 + a) - 0.5 - a),
        "baseline": (0.5 + a) * (m * (1 + 2 * a) - 0.5 - a),
        "duchi": m * size**2 / 4,
        "harmony": m * size**2 / 4,
        "piecewise": m * (gain + 4) / (3 * gain**2) / 4,
        "interval": m * (0.5 + a) ** 2,
    }
    for name, variance in expected.items():
        assert squares[name] * users == pytest.approx(variance, rel=0.35), name  # 160 squared errors each


def test_simulation_is_repeatable_and_names_its_measures():
    problem = MeanInterval(epsilon=1.0, mean=0.5, attributes=6)
    solution = md.solve(problem)
    first, second = (simulation(problem, solution, 3000, 5, np.random.default_rng(9)) for _ in range(2))
    assert first == second
    ranks = sum(value for key, value in first.items() if key.startswith("rank_"))
    assert ranks == pytest.approx(15.0)
    assert first["rmse_interval"] < 2 * first["rmse_predicted"]


def test_generated_columns_fill_the_range():
    table = generated_columns(5, np.random.default_rng(0))
    assert table.min(axis=0).tolist() == [0.0] * 5
    assert table.max(axis=0).tolist() == [1.0] * 5


def test_epsilon_zero_has_nothing_to_compare():
    with pytest.raises(ParameterError, match="epsilon"):
        entrants(MeanInterval(epsilon=0.0, delta=0.1), (0.0, 0.1))
