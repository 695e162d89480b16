"""Entropic least squares against a general convex solver, its certificate, and the transform of effects."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from mechdesign.solvers.least_squares import EffectTransform, contrasts, entropic_least_squares


def program(sizes, rows, seed=0):
    rng = np.random.default_rng(seed)
    cells = int(np.prod(sizes))
    chosen = np.sort(rng.permutation(np.arange(1, cells))[:rows])
    transform = EffectTransform(sizes, chosen)
    weights = rng.uniform(10.0, 3000.0, rows)
    target = transform.forward(rng.dirichlet(np.full(cells, 0.3))) + rng.normal(size=rows) / weights**0.5
    return transform, target, weights, rng.dirichlet(np.full(cells, 5.0))


def objective(parts, penalty, shares):
    transform, target, weights, reference = parts
    inside = shares > 0.0
    entropy = float((shares[inside] * np.log(shares[inside] / reference[inside])).sum())
    return 0.5 * float(weights @ (transform.forward(shares) - target) ** 2) + penalty * entropy


@pytest.mark.parametrize("penalty", [300.0, 30.0, 0.5])
@pytest.mark.parametrize("sizes", [[2, 3, 2], [3, 4, 2, 2, 3]])
def test_a_general_convex_solver_finds_nothing_better_than_the_bound(sizes, penalty):
    import cvxpy

    parts = program(sizes, 10 if len(sizes) == 3 else 100)
    transform, target, weights, reference = parts
    fit = entropic_least_squares(*parts, penalty)
    point = cvxpy.Variable(len(reference), nonneg=True)
    squares = cvxpy.sum_squares(cvxpy.multiply(np.sqrt(weights), transform.matrix() @ point - target))
    other = cvxpy.Problem(
        cvxpy.Minimize(0.5 * squares + penalty * cvxpy.sum(cvxpy.rel_entr(point, reference))),
        [cvxpy.sum(point) == 1.0],
    )
    other.solve(solver="CLARABEL")
    theirs = np.maximum(point.value, 0.0) / np.maximum(point.value, 0.0).sum()
    assert fit.shares.sum() == pytest.approx(1.0)
    assert fit.distance <= 1e-5
    assert objective(parts, penalty, theirs) >= objective(parts, penalty, fit.shares) - fit.gap - 1e-9
    assert objective(parts, penalty, fit.shares) <= objective(parts, penalty, theirs) + fit.gap + 1e-9


def test_the_gap_is_that_of_the_primal_and_the_dual():
    """After few steps, far from the minimum, where the two values can be subtracted."""
    parts = program([3, 4, 2, 2, 4, 3], 400)
    transform, target, weights, reference = parts
    rough = entropic_least_squares(*parts, 1.0, distance=0.5)
    scaled = np.sqrt(weights) * rough.multipliers
    dual = -np.log((reference * np.exp(-transform.back(scaled))).sum()) - scaled @ target
    dual -= 0.5 * rough.multipliers @ rough.multipliers
    assert rough.gap > 1e-6
    assert objective(parts, 1.0, rough.shares) - dual == pytest.approx(rough.gap, rel=1e-6, abs=1e-9)
    exact = entropic_least_squares(*parts, 1.0, distance=1e-7)
    assert np.abs(rough.shares - exact.shares).sum() / 2.0 <= rough.distance + exact.distance
    assert objective(parts, 1.0, rough.shares) - objective(parts, 1.0, exact.shares) <= rough.gap


def test_without_weights_it_is_the_reference_and_without_rows_too():
    parts = program([2, 3], 3)
    fit = entropic_least_squares(*parts[:2], np.zeros(3), parts[3], 1.0)
    assert fit.shares == pytest.approx(parts[3], abs=1e-12)
    none = EffectTransform([2, 3], np.zeros(0, dtype=np.int64))
    fit = entropic_least_squares(none, np.zeros(0), np.zeros(0), parts[3], 1.0)
    assert fit.shares == pytest.approx(parts[3], abs=1e-12)
    assert fit.gap == 0.0


@pytest.mark.parametrize("sizes", [[2], [3, 2], [5, 2, 3, 4], [17, 2, 2, 2, 2, 3, 2]])
def test_the_transform_is_its_matrix_and_effects_are_those_of_marginals(sizes):
    rng = np.random.default_rng(1)
    cells = int(np.prod(sizes))
    chosen = rng.permutation(cells)[: min(cells, 40)]
    full, some = EffectTransform(sizes), EffectTransform(sizes, chosen)
    table, values = rng.dirichlet(np.ones(cells)), rng.normal(size=len(chosen))
    rows = reduce(np.kron, map(contrasts, sizes)) if cells <= 1000 else None
    assert some.forward(table) @ values == pytest.approx(table @ some.back(values))
    assert some.matrix() @ table == pytest.approx(some.forward(table), abs=1e-13)
    if rows is not None:
        assert full.forward(table) == pytest.approx((rows @ table)[1:], abs=1e-13)
        assert (rows[1:] ** 2).mean(axis=1) == pytest.approx(full.squares)
    alone = table.reshape(sizes).sum(axis=tuple(range(1, len(sizes))))
    stride = cells // sizes[0]
    mine = EffectTransform(sizes, np.arange(1, sizes[0]) * stride)
    assert mine.forward(table) == pytest.approx(EffectTransform([sizes[0]]).forward(alone), abs=1e-13)
