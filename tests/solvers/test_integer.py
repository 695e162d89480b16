"""Zero-one programs against trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from mechdesign.solvers.integer import BinaryProgram, solve_binary


def program(costs, rows, limits, fixed=None) -> BinaryProgram:
    fixed = np.zeros(len(costs), dtype=bool) if fixed is None else np.array(fixed)
    rows = csr_array(np.array(rows, dtype=float))
    return BinaryProgram(np.array(costs, dtype=float), rows, np.array(limits, dtype=float), fixed)


@pytest.mark.parametrize("seed", range(8))
def test_it_finds_what_trying_everything_finds(seed):
    rng = np.random.default_rng(seed)
    count, height = 8, 6
    costs, rows = rng.integers(0, 5, count), rng.integers(-1, 3, (height, count))
    limits, fixed = rng.integers(0, 3, height), rng.random(count) < 0.2
    feasible = [
        np.array(x)
        for x in product((0, 1), repeat=count)
        if (rows @ x >= limits).all() and (np.array(x) >= fixed).all()
    ]
    result = solve_binary(program(costs, rows, limits, fixed))
    if not feasible:
        assert result.status == "infeasible"
        assert result.variables.size == 0
        assert result.message
        return
    assert result.status == "optimal"
    assert (rows @ result.variables >= limits).all()
    assert (result.variables >= fixed).all()
    assert costs @ result.variables == min(costs @ x for x in feasible)


def test_what_cannot_be_is_infeasible_with_a_reason():
    result = solve_binary(program([1, 1], [[1, 1]], [3]))
    assert (result.status, result.variables.size) == ("infeasible", 0)
    assert result.message


def test_variables_that_occur_nowhere_stay_where_they_are():
    result = solve_binary(program([0, 1, 0], [[0, 1, 0]], [1], [True, False, False]))
    assert result.variables.tolist() == [True, True, False]
