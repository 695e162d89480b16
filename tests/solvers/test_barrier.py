"""The interior point method agrees with the simplex method; rows may be equations."""

import numpy as np
import pytest
import scipy.sparse as sparse

from mechdesign.solvers.highs import GrowingProgram, packed


@pytest.mark.parametrize("exactly", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_values_and_multipliers_are_those_of_the_simplex_method(seed, exactly):
    rng = np.random.default_rng(seed)
    gains = rng.uniform(-0.5, 2.0, size=40)
    dense = (rng.uniform(size=(30, 40)) < 0.2).astype(float)
    dense[:4] = 0.0
    dense[np.arange(40) % 4, np.arange(40)] = 1.0
    fixed = np.arange(30) < exactly
    values, prices = packed(gains, sparse.csc_array(dense), fixed, 20.0)
    simplex = GrowingProgram()
    simplex.columns(gains)
    for row in range(30):
        columns = np.flatnonzero(dense[row])
        simplex.row(columns, np.ones(len(columns)), exactly=bool(fixed[row]))
    assert simplex.solve(20.0)
    best = float(gains @ simplex.values)
    assert gains @ values == pytest.approx(best, rel=2e-3)
    assert prices.sum() == pytest.approx(best, rel=2e-3)
    assert (gains - prices @ dense).max() <= 1e-5
    assert (prices[~fixed] >= -1e-9).all()


def test_a_row_that_is_an_equation_holds_where_nothing_is_worth_it():
    rows = sparse.csc_array(np.ones((1, 3)))
    values, prices = packed(np.array([-2.0, -1.0, -3.0]), rows, np.array([True]), 10.0)
    assert values == pytest.approx([0.0, 1.0, 0.0], abs=1e-3)
    assert prices == pytest.approx([-1.0], abs=1e-3)


def test_too_little_time_is_no_crash():
    rng = np.random.default_rng(0)
    dense = sparse.csc_array((rng.uniform(size=(400, 900)) < 0.1).astype(float))
    found = packed(rng.uniform(size=900), dense, np.zeros(400, dtype=bool), 0.0)
    assert found is None or len(found[1]) == 400
