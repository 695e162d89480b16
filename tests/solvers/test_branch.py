"""Bounds by branching: never above the optimum, and the optimum where there are nodes enough."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from mechdesign.solvers.covering import branch
from mechdesign.solvers.integer import BinaryProgram


def drawn(rng: np.random.Generator) -> BinaryProgram:
    users, rows = int(rng.integers(4, 9)), int(rng.integers(1, 11))
    able = (rng.random((rows, users)) < 0.5).astype(np.float64)
    if rng.random() < 0.5:  # edges of a graph: odd circles are where the relaxation is loose
        able = np.zeros((rows, users))
        for row in able:
            row[rng.permutation(users)[:2]] = 1.0
    limits = np.minimum(rng.integers(1, 3, rows), able.sum(axis=1) - 1).clip(0)
    costs = rng.uniform(0.1, 2.0, users) if rng.random() < 0.7 else rng.integers(1, 4, users).astype(float)
    return BinaryProgram(costs, csr_array(able), limits, rng.random(users) < 0.1)


def least(program: BinaryProgram) -> float:
    best = np.inf
    for point in product((0.0, 1.0), repeat=len(program.costs)):
        taken = np.array(point)
        if (program.rows @ taken >= program.limits).all() and (taken >= program.fixed).all():
            best = min(best, float(program.costs @ taken))
    return best


def test_the_bound_is_below_the_least_cost_and_meets_it():
    rng = np.random.default_rng(2)
    gaps = 0
    for _ in range(60):
        program = drawn(rng)
        everybody = np.ones(len(program.costs), dtype=bool)
        best = least(program)
        one, many = branch(program, everybody, 1), branch(program, everybody, 500)
        assert one.bound <= best + 1e-12
        assert one.bound <= many.bound <= best + 1e-12
        assert many.bound == pytest.approx(best, abs=1e-8)
        assert float(program.costs @ many.variables) == pytest.approx(best, abs=1e-8)
        gaps += one.bound < best - 1e-6
    assert gaps > 3, "the relaxation alone does not do"
