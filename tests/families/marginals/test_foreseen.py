"""The error that is foreseen of a penalized estimate: its formula, and what is made."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.penalized import foreseen_squares
from mechdesign.solvers.least_squares import EffectTransform


def test_it_is_the_inverse_curvature_on_tables_that_sum_to_zero():
    """By the bordered matrix of the curvature, with no identity of Woodbury's."""
    rng = np.random.default_rng(1)
    shares, masses, penalty = rng.dirichlet(np.ones(12)), rng.uniform(10.0, 1e4, 7), 30.0
    effects = EffectTransform([2, 3, 2], rng.choice(np.arange(1, 12), 7, replace=False)).matrix()
    curvature = (effects.T * masses) @ effects + penalty * np.diag(1.0 / shares)
    bordered = np.block([[curvature, np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]])
    inverse = np.linalg.inv(bordered)[:12, :12]
    sums = np.vstack([np.eye(12), np.kron(np.eye(2), np.ones(6))])
    found = foreseen_squares(effects, masses, shares, penalty, sums, np.empty((0, 12)))
    assert found == pytest.approx(np.einsum("ij,jk,ik->i", sums, inverse, sums), rel=1e-9)


def test_along_functions_that_are_free_only_the_reports_speak():
    """Where they speak of single attributes alone, the errors of these are those of their averages."""
    rng = np.random.default_rng(2)
    shares, effects = rng.dirichlet(np.ones(6)), EffectTransform([2, 3]).matrix()
    masses = np.array([1e5, 1e5, 1e5, 0.0, 0.0])  # second attribute, first one, pairs
    singles = np.vstack([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))])
    free = foreseen_squares(effects, masses, shares, 1e7, singles, singles)
    assert free == pytest.approx([0.5e-5] * 2 + [2e-5 / 3] * 3, rel=1e-2)
    assert (foreseen_squares(effects, masses, shares, 1e7, singles, np.empty((0, 6))) < 0.1 * free).all()


def test_errors_are_near_those_foreseen():
    """Forty collections, contained tables and others: the root mean square is within a sixth of the forecast.

    For tables in a view the one without the penalty is wrong by more: its square by half.
    """
    sizes, views = [2] * 6, [(0, 1, 2), (2, 3, 4), (0, 4, 5), (1, 3, 5)]
    release = MarginalRelease.of(sizes, views, 0.5)
    made, foreseen, unpenalized = [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        trait = rng.random((5000, 1))
        data = (trait + rng.random((5000, 6)) > rng.uniform(0.5, 1.5, 6)).astype(np.int64)
        found = release.estimate(release.randomize(data, rng=seed))
        for places in combinations(range(6), 2):
            table = found.marginal(places)
            exact = np.bincount(data[:, places] @ (2, 1), minlength=4).reshape(2, 2) / len(data)
            made.append(float(((table.value - exact) ** 2).mean()))
            foreseen.append(table.predicted_error**2)
            if table.contained:
                unpenalized.append((made[-1], table.unpenalized_error**2))
    assert np.mean(made) ** 0.5 == pytest.approx(np.mean(foreseen) ** 0.5, rel=1 / 6)
    ours, without = np.mean(unpenalized, axis=0)
    assert without > 1.5 * ours


def test_columns_in_any_order_and_many_cells():
    sizes = [3, 2, 4, 2, 2, 3, 3, 5]
    views = [(0, 1, 2), (2, 3, 4), (4, 5, 6), (0, 6, 7), (1, 3, 7)]
    release = MarginalRelease.of(sizes, views, 2.0)
    rng = np.random.default_rng(3)
    data = np.column_stack([rng.integers(0, size, 5000) for size in sizes])
    found = release.estimate(release.randomize(data, rng=3))
    assert found.marginal((2, 0)).predicted_error == pytest.approx(found.marginal((0, 2)).predicted_error)
    assert found.marginal((0, 1)).as_json()["predicted_error"] > 0.0
    large = found.marginal(range(8))
    assert large.predicted_error is None
    assert "standard error of a cell not computed" in str(large)
