"""Consistent tables of views: three methods that share no code, and the bounds that are promised."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.marginals import residual
from mechdesign.families.marginals.papers.rivals import make_consistent, non_negative
from mechdesign.families.marginals.papers.rivals.consistency import shared_sets
from mechdesign.families.marginals.views import EffectSpace, effect_errors, helmert

EPS = 2.0**-52


def instance(seed: int) -> tuple[list[tuple[int, ...]], list[np.ndarray], list[int], np.ndarray]:
    """Return views of 3 to 5 attributes with 2 or 3 values, noisy tables, sizes and weights."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    sizes = rng.integers(2, 4, size=count).tolist()
    drawn = (rng.choice(count, rng.integers(1, 4), replace=False) for _ in range(rng.integers(2, 6)))
    views = sorted({tuple(sorted(view.tolist())) for view in drawn})
    tables = [rng.normal(0.1, 0.2, size=[sizes[a] for a in view]) for view in views]
    return views, tables, sizes, rng.uniform(0.2, 1.0, size=len(views))


def summing(view: tuple[int, ...], kept: set[int], sizes: list[int]) -> np.ndarray:
    """Return the matrix that takes a flat table to its flat marginal, cell by cell."""
    places = [attribute for attribute in view if attribute in kept]
    cells = [tuple(cell) for cell in np.ndindex(*[sizes[a] for a in view])]
    rows = [tuple(cell) for cell in np.ndindex(*[sizes[a] for a in places])]
    matrix = np.zeros((len(rows), len(cells)))
    for column, cell in enumerate(cells):
        row = tuple(value for attribute, value in zip(view, cell, strict=True) if attribute in kept)
        matrix[rows.index(row), column] = 1.0
    return matrix


def nearest(views, tables, sizes, weights, total, signed):
    """Return the least sum of weighted squares, by cvxpy."""
    made = [cvxpy.Variable(table.size) for table in tables]
    limits = [] if signed else [table >= 0 for table in made]
    if total is not None:
        limits += [cvxpy.sum(table) == total for table in made]
    for first, view in enumerate(views):
        for second in range(first):
            kept = set(view) & set(views[second])
            here, there = summing(view, kept, sizes), summing(views[second], kept, sizes)
            limits.append(here @ made[first] == there @ made[second])
    cost = sum(
        weight * cvxpy.sum_squares(variable - table.ravel())
        for weight, variable, table in zip(weights, made, tables, strict=True)
    )
    problem = cvxpy.Problem(cvxpy.Minimize(cost), limits)
    problem.solve(solver="CLARABEL")
    return problem.value


def squares(weights, found, tables) -> float:
    return sum(
        weight * float(((a - b) ** 2).sum()) for weight, a, b in zip(weights, found, tables, strict=True)
    )


@pytest.mark.parametrize("total", [None, 1.0])
@pytest.mark.parametrize("seed", range(12))
def test_averaging_from_small_to_large_is_the_weighted_projection(seed, total):
    """By averaging, in effects and by cvxpy; the first two differ by rounding, cvxpy's gap is 1e-8."""
    views, tables, sizes, weights = instance(seed)
    averaged = make_consistent(views, tables, sizes, weights.tolist(), total)
    space = EffectSpace(views, sizes, weights)
    projected = space.split(space.project(space.join(tables), total))
    for one, other in zip(averaged, projected, strict=True):
        assert np.abs(one - other).max() <= 500 * EPS
    assert residual(views, averaged) <= 100 * EPS
    scaled = weights / weights.max()
    assert squares(scaled, averaged, tables) <= nearest(views, tables, sizes, scaled, total, True) + 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_non_negative_tables_are_the_nearest_ones(seed):
    views, tables, sizes, weights = instance(seed)
    found = non_negative(views, tables, sizes, weights.tolist(), 1.0)
    assert min(table.min() for table in found.tables) >= 0.0
    assert residual(views, found.tables) <= 100 * EPS
    assert found.mixed <= 1e-6
    scaled = weights / weights.max()
    best = nearest(views, tables, sizes, scaled, 1.0, False)
    assert squares(scaled, found.tables, tables) <= best + 1e-6


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_any_number_of_rounds_ends_consistent_and_non_negative(rounds):
    """Whatever is left below 0 is mixed away, and the share is told."""
    views, tables, sizes, _ = instance(3)
    wild = [table * 50.0 for table in tables]
    found = non_negative(views, wild, sizes, total=1.0, rounds=rounds)
    assert min(table.min() for table in found.tables) >= 0.0
    assert residual(views, found.tables) <= 100 * EPS
    assert found.tables[0].sum() == pytest.approx(1.0, abs=100 * EPS)
    assert 0.0 < found.mixed <= 1.0
    assert found.rounds == rounds


def test_the_weights_are_those_of_the_thesis():
    """Two cells summed at variance 1 weigh half as much as one at variance 1 (section 3.3.4)."""
    tables = [np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([4.0, 0.0])]
    first, second = make_consistent([(0, 1), (0,)], tables, [2, 2])
    assert second == pytest.approx([1.0 / 3.0 + 4.0 * 2.0 / 3.0, 0.0])
    assert first.sum(axis=1) == pytest.approx(second)
    assert first[1] == pytest.approx([0.0, 0.0])
    assert first[0, 0] - first[0, 1] == pytest.approx(1.0)  # the correction is spread evenly


def test_consistent_tables_are_left_alone_and_equal_views_weigh_by_precision():
    joint = np.random.default_rng(1).dirichlet(np.ones(8)).reshape(2, 2, 2)
    tables = [joint.sum(axis=2), joint.sum(axis=0)]
    for one, other in zip(make_consistent([(0, 1), (1, 2)], tables, [2, 2, 2]), tables, strict=True):
        assert np.abs(one - other).max() <= 10 * EPS
    twice = make_consistent([(0,), (0,)], [[0.0, 1.0], [1.0, 0.0]], [2], [3.0, 1.0])
    assert twice[0] == pytest.approx([0.25, 0.75])


def test_sets_are_closed_under_intersection_and_ordered():
    views = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 4)]
    found = shared_sets(views)
    assert found[0] == ()
    assert {(1, 2), (2, 3), (2,), (0,), (4,)} <= set(found)
    for place, small in enumerate(found):
        assert not any(set(small) > set(later) for later in found[place:])


def test_the_predicted_error_is_that_of_the_projection():
    """Exactly, for independent cells: the trace of the covariance of the projected marginal."""
    views, _, sizes, weights = instance(5)
    space = EffectSpace(views, sizes, weights)
    noise = np.zeros((space.length, space.length))
    for cell in range(space.length):
        unit = np.zeros(space.length)
        unit[cell] = space.weights[cell] ** -0.5
        noise[cell] = space.project(unit, 0.0)  # the total is known
    for place, view in enumerate(views):
        expected = sum(float((space.split(row)[place] ** 2).sum()) for row in noise)
        assert effect_errors(view, views, sizes, weights.tolist()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_basis_is_orthonormal(size):
    basis = helmert(size)
    assert np.abs(basis @ basis.T - np.eye(size)).max() <= 10 * EPS
    assert np.ptp(basis[0]) == 0.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([], [], [2]), "views: expected a list"),
        (([(1, 0)], [np.ones(4)], [2, 2]), "is not a list of increasing attributes"),
        (([(0, 2)], [np.ones(4)], [2, 2]), "view 0 names attribute 2; there are 0 to 1"),
        (([(0,)], [np.ones(3)], [2]), "its view needs 2"),
        (([(0,)], [np.ones(2), np.ones(2)], [2]), "tables: 2 for 1 views"),
        (([(0,)], [np.array([1.0, np.nan])], [2]), "NaN"),
        (([(0,)], [np.array([1.0, np.inf])], [2]), "infinite"),
        (([(0,)], [np.ones(2)], [2], [0.0]), "weights: must be positive"),
    ],
)
def test_what_is_no_view_or_table_is_refused(arguments, text):
    with pytest.raises(ParameterError, match=text):
        make_consistent(*arguments)


def test_tables_that_are_all_zero_say_nothing():
    with pytest.raises(DataError, match="sum to 0, so they have no shares"):
        non_negative([(0,), (0, 1)], [np.zeros(2), np.zeros(4)], [2, 2])


def test_cells_that_are_even_already_do_not_disturb_the_mixture():
    """Two cells of the second table are exactly even while others are pushed up from below zero."""
    found = non_negative([(0,), (1,)], [[1.5, -0.5], [0.5, 0.5]], [2, 2], rounds=1)
    assert [table.min() >= 0.0 for table in found.tables] == [True, True]
    assert np.abs(found.tables[1] - 0.5).max() <= EPS
    assert found.mixed > 0.0
