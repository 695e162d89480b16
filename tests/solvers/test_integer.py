"""Zero-one programs against trying everything."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

from mechdesign.solvers import integer, integer as pulp_models
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


class Silent:
    """A solver that notes its options and is not there."""

    options: ClassVar[list[list[str]]] = []

    def __init__(self, **options):
        self.options.append(sorted(options))

    def available(self):
        return False


def test_cbc_gets_no_option_for_threads(monkeypatch):
    """The option ``threads 1`` made CBC pause for ten seconds now and then; by default it uses one thread."""
    pulp = pytest.importorskip("pulp")
    monkeypatch.setattr(Silent, "options", [])
    monkeypatch.setattr(pulp, "COIN_CMD", Silent)
    monkeypatch.setattr(pulp, "PULP_CBC_CMD", Silent, raising=False)
    assert pulp_models.cbc(pulp, maxNodes=10) is None
    assert pulp_models.cbc(pulp, gapRel=0.01, timeLimit=5.0) is None
    assert Silent.options == [["maxNodes", "msg"]] * 2 + [["gapRel", "msg", "timeLimit"]] * 2


SMALL = program([1, 1], [[1, 1]], [1])
MIXED = MixedProgram(np.ones(1), [[(0, 1.0)]], [0.5], np.zeros(1), np.ones(1), np.zeros(1, dtype=bool))


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", ["cbc", "highs"])
def test_each_solver_that_is_there_is_enough(solver, monkeypatch):
    """PuLP 3 has CBC, PuLP 4 has only HiGHS, and both give what the other gives."""
    with pulp_models.pulp_module() as pulp:
        has_cbc, comes_with_cbc = pulp_models.cbc(pulp) is not None, hasattr(pulp, "PULP_CBC_CMD")
    assert has_cbc or not comes_with_cbc, "CBC comes with PuLP 3"
    if solver == "cbc" and not comes_with_cbc:
        solver = "highs"
    if solver == "highs":
        monkeypatch.setattr(integer, "cbc", lambda *_, **__: None)
    result = solve_binary(program([3, 2, 2], [[1, 1, 0], [1, 0, 1]], [1, 1]))
    assert (result.status, result.variables.tolist()) == ("optimal", [True, False, False])
    assert solve_binary(program([1, 1], [[1, 1]], [3])).status == "infeasible"
    assert result.solver == {"cbc": "PULP_CBC_CMD", "highs": "HiGHS"}[solver]
    mixed = solve_mixed(MIXED)
    assert (mixed.status, mixed.variables.tolist()) == ("optimal", [0.5])


@pytest.mark.everywhere
def test_the_bound_that_highs_states_has_the_sign_of_the_gains():
    """PuLP 3 hands HiGHS a minimisation of the negative gains, PuLP 4 the maximisation itself."""
    result = solve_mixed(MixedProgram(np.array([3.0, 2.0]), [[(0, 2.0), (1, 2.0)]], [3.0], *CUBE))
    assert result.variables.tolist() == [1.0, 0.0]
    assert result.stated == pytest.approx(3.0)


CUBE = (np.zeros(2), np.ones(2), np.ones(2, dtype=bool))


class PanicException(BaseException):
    """What a solver written in Rust raises; it does not derive from Exception."""


@pytest.mark.everywhere
@pytest.mark.parametrize("error", [TypeError("'list' object\nis not"), PanicException("index"), OSError()])
def test_a_release_of_pulp_that_differs_again_is_a_failure_in_one_line(error, monkeypatch):
    def changed(*_, **__):
        raise error

    pulp = pytest.importorskip("pulp")
    monkeypatch.setattr(pulp.LpProblem, "setObjective", changed)
    for result in (solve_binary(SMALL), solve_mixed(MIXED)):
        assert (result.status, result.variables.size) == ("failed", 0)
        assert result.message.startswith(f"PuLP {pulp.__version__}: {type(error).__name__}")
        assert "\n" not in result.message
    monkeypatch.setattr(pulp.LpProblem, "setObjective", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_binary(SMALL)


def interrupted(*_, **__):
    raise KeyboardInterrupt
