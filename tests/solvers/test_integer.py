"""Zero-one programs against trying everything."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mechdesign.solvers import integer
from mechdesign.solvers.integer import BinaryProgram, MixedProgram, solve_binary, solve_mixed


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


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-9, 1e9, 1e300])
def test_costs_and_rows_may_have_any_scale(scale):
    """Costs of 1e-9 were all zero to the solver, and some programs had "no solution"."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        rows = (rng.random((3, 7)) < 0.6).astype(float)
        limits = np.minimum(rng.integers(1, 3, 3), rows.sum(axis=1))
        costs = rng.integers(1, 30, 7).astype(float)
        sets = [np.array(x) for x in product((0, 1), repeat=7) if (rows @ x >= limits).all()]
        least = min(costs @ x for x in sets)
        for a, b in ((scale, 1.0), (1.0, scale)):
            result = solve_binary(program(costs * a, rows * b, limits * b))
            assert result.status == "optimal"
            assert (rows @ result.variables >= limits).all()
            assert costs @ result.variables == least


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_mixed_programs_may_have_any_scale(scale):
    gains, one = np.array([3.0, 2.0, 2.0]), np.ones(3)
    rows = [[(0, 2.0), (1, 1.0), (2, 1.0)]]
    for a, b in ((scale, 1.0), (1.0, scale)):
        scaled = [[(place, value * b) for place, value in row] for row in rows]
        result = solve_mixed(MixedProgram(gains * a, scaled, [2.0 * b], np.zeros(3), one, one > 0))
        assert result.status == "optimal"
        assert result.variables.round(9).tolist() == [0.0, 1.0, 1.0]
        if result.stated is not None:
            assert result.stated == pytest.approx(4.0 * a, rel=1e-9)


def test_what_cannot_be_is_infeasible_with_a_reason():
    result = solve_binary(program([1, 1], [[1, 1]], [3]))
    assert (result.status, result.variables.size) == ("infeasible", 0)
    assert result.message


def test_variables_that_occur_nowhere_stay_where_they_are():
    result = solve_binary(program([0, 1, 0], [[0, 1, 0]], [1], [True, False, False]))
    assert result.variables.tolist() == [True, True, False]


def test_cbc_gets_no_option_for_threads(monkeypatch):
    """The option ``threads 1`` made CBC pause for ten seconds now and then; by default it uses one thread."""
    pulp, given = pytest.importorskip("pulp"), []
    monkeypatch.setattr(pulp, "COIN_CMD", lambda **options: given.append(options))
    monkeypatch.setattr(pulp, "PULP_CBC_CMD", lambda **options: given.append(options), raising=False)
    monkeypatch.setattr(integer, "pulp_highs", lambda *limits: SimpleNamespace(available=lambda: False))
    with suppress(AttributeError):  # nobody answers whether it is available
        integer._solver(10)
    integer._mixed_solver(0.01, 5.0)
    assert [sorted(options) for options in given] == [["maxNodes", "msg"], ["gapRel", "msg", "timeLimit"]]
