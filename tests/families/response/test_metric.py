"""Metric privacy: distances, the rows that are left out, and what the left-out rows would have said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mechdesign as md
from mechdesign.audit.metric import needed_pairs
from mechdesign.families.response.parameters import distance_matrix


def random_distance(seed: int, size: int, is_metric: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if is_metric:
        return distance_matrix(rng.integers(0, 4, (size, 2)).astype(float), size)
    steps = np.triu(rng.uniform(0.1, 3.0, (size, size)), 1)
    return steps + steps.T


@given(st.integers(0, 10_000), st.integers(2, 7), st.booleans())
def test_the_rows_that_are_left_out_follow_from_those_that_are_kept(seed, size, is_metric):
    """The shortest way over kept pairs is no longer than the distance: the kept factors multiply to less."""
    distance = random_distance(seed, size, is_metric)
    shortest = np.full((size, size), np.inf)
    np.fill_diagonal(shortest, 0.0)
    for first, second in needed_pairs(distance).tolist():
        shortest[first, second] = distance[first, second]
    for middle in range(size):
        shortest = np.minimum(shortest, shortest[:, [middle]] + shortest[[middle], :])
    assert (shortest <= distance + 1e-12).all()


def test_on_a_line_only_neighbours_are_needed():
    assert len(needed_pairs(distance_matrix("line", 50))) == 2 * 49


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_with_all_rows(seed):
    """A linear program over every pair, written here, against the one with implied rows left out."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    distance = random_distance(seed, size, seed % 2 == 0)
    prior = rng.dirichlet(np.ones(size))
    problem = md.RandomizedResponse(prior=prior, epsilon=0.8, utility="absolute-loss", distance=distance)
    rows = []
    for first in range(size):
        for second in range(size):
            for report in range(size):
                if first != second:
                    row = np.zeros((size, size))
                    row[first, report] += 1.0
                    row[second, report] -= np.exp(0.8 * distance[first, second])
                    rows.append(row.ravel())
    sums = np.kron(np.eye(size), np.ones(size))
    whole = linprog(-problem.weights().ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(size))
    solution = md.solve(problem, "lp")
    assert solution.value == pytest.approx(-whole.fun, abs=1e-8)
    assert solution.mechanism().audit().true_epsilon <= 0.8


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=3, max_size=4, unique=True))
def test_distances_of_points_are_rounded_down(points):
    matrix = distance_matrix(np.array(points), len(points))
    for first, (x, y) in enumerate(points):
        for second, (u, v) in enumerate(points):
            square = (Fraction(x) - Fraction(u)) ** 2 + (Fraction(y) - Fraction(v)) ** 2
            assert Fraction(matrix[first, second]) ** 2 <= square
            up = Fraction(np.nextafter(matrix[first, second], np.inf)) * (1 + Fraction(1, 2**50))
            assert up**2 >= square


def test_two_points_and_a_two_by_two_matrix_are_told_apart():
    assert distance_matrix(np.array([[0.0, 3.0], [3.0, 0.0]]), 2)[0, 1] == 3.0
    assert distance_matrix(np.array([[0.0, 3.0], [4.0, 0.0]]), 2)[0, 1] == 5.0
    assert distance_matrix(np.array([[1.0, 1.0], [4.0, 5.0]]), 2)[0, 1] == 5.0


@pytest.mark.parametrize("method", ["lp", "convex"])
def test_answers_at_one_place_are_reported_alike_and_the_others_are_not(method):
    places = [[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [5.0, 1.0]]
    problem = md.RandomizedResponse(prior=[0.3, 0.2, 0.3, 0.2], epsilon=1.0, distance=places)
    solution = md.solve(problem, method)
    assert solution.gap < 1e-6
    mechanism = solution.mechanism()
    assert mechanism.indistinguishable() == [[0, 1]]
    assert mechanism.audit().true_epsilon <= 1.0


def test_every_channel_for_a_line_of_32_places_has_a_finite_true_epsilon():
    """Where a plain solver leaves zeros that face positive entries."""
    problem = md.RandomizedResponse(
        prior=[1 / 32] * 32, epsilon=1.0, utility="absolute-loss", distance="line"
    )
    solution = md.solve(problem, "lp")
    audit = solution.mechanism().audit()
    assert audit.holds
    assert audit.true_epsilon <= 1.0
    assert solution.gap < 1e-6
    assert "utility_given_up" in solution.notes
