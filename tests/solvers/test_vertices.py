"""Vertices of polytopes whose vertices are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mechdesign.families.response.extreme_points import basic_solutions, polytope_vertices, unique_rows


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_corners_of_a_cube(dimension):
    rows = np.vstack([np.eye(dimension), -np.eye(dimension)])
    limits = np.concatenate([np.ones(dimension), np.zeros(dimension)])
    corners = polytope_vertices(rows, limits, np.full(dimension, 0.5))
    assert sorted(map(tuple, corners.round(9).tolist())) == sorted(product([0.0, 1.0], repeat=dimension))


def test_basic_solutions_of_a_simplex_are_its_corners():
    values, bases = basic_solutions(np.ones((1, 5)), np.array([1.0]))
    assert values.tolist() == [[1.0]] * 5
    assert bases.ravel().tolist() == list(range(5))


def test_negative_basic_solutions_are_left_out():
    values, bases = basic_solutions(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0]))
    assert sorted(map(tuple, bases.tolist())) == [(0, 1), (0, 2)]
    assert (values >= 0).all()


def test_unique_rows_keeps_full_precision():
    points = np.array([[0.1, 0.2], [0.1 + 1e-12, 0.2], [0.3, 0.4], [-0.0, 0.4], [0.0, 0.4]])
    assert unique_rows(points).tolist() == [[0.1, 0.2], [0.3, 0.4], [0.0, 0.4]]
    assert unique_rows(np.zeros((0, 2))).shape == (0, 2)
