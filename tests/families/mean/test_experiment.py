"""The experiment of the paper: ranks and Friedman's test against scipy, errors against the formulas."""

import math

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.families.mean import MeanInterval
from mechdesign.families.mean.interval import least_offset
from mechdesign.families.mean.papers import printed_tables
from mechdesign.families.mean.papers.interval import entrants, errors_on, generated_columns, simulation
from mechdesign.families.mean.papers.printed_tables import friedman, friedman_p_value, mean_ranks


def test_friedman_matches_scipy():
    errors = np.random.default_rng(1).exponential(size=(30, 5))
    statistic = friedman(mean_ranks(errors), 30)
    found = friedmanchisquare(*errors.T)
    assert statistic == pytest.approx(found.statistic, rel=1e-12)
    assert friedman_p_value(statistic, 5) == pytest.approx(found.pvalue, rel=1e-12)


def test_ties_share_their_ranks():
    assert mean_ranks(np.array([[0.2, 0.1, 0.2]])).tolist() == [2.5, 1.0, 2.5]


def test_rank_sums_of_table_6_by_trying_all_of_them():
    """A whole number of thirtieths rounds, or is cut off, to what is printed: found by trying all."""
    for row in printed_tables.PRINTED_RANKS.values():
        for text in row:
            shown = float(text)
            fits = [
                total
                for total in range(30, 151)
                if f"{total / 30:.2f}" == text or total * 10 // 3 == round(shown * 100)
            ]
            found = printed_tables.rank_sum(text, 30)
            assert fits == ([] if found is None else [found]), text


def test_table_7_follows_from_four_rows_of_table_6_and_three_others_have_one_wrong_entry():
    right, repaired = [], {}
    for epsilon, row in printed_tables.PRINTED_RANKS.items():
        sums = printed_tables.rank_sums(row, 30)
        if sums is not None and sum(sums) == 450:
            assert (
                round(printed_tables.statistic_of(sums, 30), 3) == printed_tables.PRINTED_STATISTICS[epsilon]
            )
            right.append(epsilon)
        if fitting := printed_tables.repairs(epsilon):
            repaired[epsilon] = [(name, round(rank * 30)) for name, rank in fitting]
    assert right == [0.1, 1.0, 2.0, 5.0]
    assert repaired == {0.2: [("piecewise", 68)], 8.0: [("opt", 68)], 10.0: [("duchi", 101)]}
    assert printed_tables.possible_ranks(printed_tables.PRINTED_RANKS[0.5], 27) == 5


def test_ends_of_table_8_against_users_drawn_at_random():
    """No data set gives a variance outside of the ends; those that attain them are among the tried ones."""
    rng, m, epsilon = np.random.default_rng(4), 36, 0.8
    power = math.exp(epsilon)
    intervals = {"opt": (1 / power, 1.0), "baseline": (1 / (power + 1), power / (power + 1))}
    offset = least_offset(epsilon)
    ends = {
        "opt": printed_tables.interval_ends(offset, 0.0, m),
        "baseline": printed_tables.interval_ends(offset, offset, m),
    }
    shapes = [rng.beta(a, b, 500) for a, b in rng.uniform(0.05, 4.0, (60, 2))]
    shapes += [np.full(2, value) for value in (0.0, 0.3, 0.97, 1.0)] + [np.array([0.0, 1.0])]
    for name, (start, end) in intervals.items():
        chance = [start + (end - start) * values for values in shapes]  # of a bit 1, which is scaled by m
        found = [float((m * p - p**2).mean()) / (end - start) ** 2 for p in chance]
        low, high = ends[name]
        assert low * (1 - 1e-12) <= min(found)
        assert max(found) <= high * (1 + 1e-12)
        assert min(found) == pytest.approx(low, rel=1e-12)
    assert max(found) > 0.999 * high


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_ends_of_the_piecewise_mechanism_by_algorithm_6(epsilon):
    """Integrate the density of m times the report on [0, 1], over a grid of values."""
    m, root = 36, math.exp(epsilon / 2)
    far = (root + 1) / (root - 1)
    near = (root - 1) / 2 * root / (root + 1)  # density inside, exp(epsilon) times that outside
    found = []
    for t in np.linspace(-1, 1, 401):
        left = (far + 1) / 2 * t - (far - 1) / 2
        cuts = np.array([-far, left, left + far - 1, far])
        thirds = np.diff(((cuts + 1) / 2) ** 3) * 2 / 3  # integral of ((y + 1)/2)^2
        square = near * (thirds[1] + (thirds[0] + thirds[2]) * math.exp(-epsilon))
        found.append(m * square - ((t + 1) / 2) ** 2)
    low, high = printed_tables.accumulated_piecewise_ends(epsilon, m)
    assert min(found) == pytest.approx(low, rel=1e-3)
    assert min(found) >= low * (1 - 1e-12)
    assert max(found) == pytest.approx(high, rel=1e-12)


def test_both_ways_to_add_up_reports_and_what_they_leave_possible():
    """With algorithm 6 Duchi's bits are the baseline's; what is possible centred is possible so, too."""
    cells = {
        reading: [
            (epsilon, name)
            for epsilon in printed_tables.PRINTED_ERRORS
            for name, error in printed_tables.errors_outside(epsilon, reading).items()
            if abs(error) <= printed_tables.MOST_ERRORS
        ]
        for reading in printed_tables.READINGS
    }
    assert {reading: len(found) for reading, found in cells.items()} == {"centred": 18, "algorithm_6": 42}
    assert set(cells["centred"]) <= set(cells["algorithm_6"])
    every = {(epsilon, name) for epsilon in printed_tables.PRINTED_ERRORS for name in printed_tables.COMPARED}
    impossible = {0.1: {"harmony"}, 0.2: {"opt", "piecewise"}}
    assert every - set(cells["algorithm_6"]) == {
        (e, name) for e, names in impossible.items() for name in names
    }
    assert printed_tables.possible_errors("duchi", 1.0, "algorithm_6") == printed_tables.possible_errors(
        "baseline", 1.0
    )


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
