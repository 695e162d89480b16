"""Statuses of convex programs, and the next solver when one fails."""

from __future__ import annotations

import cvxpy
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.solvers import convex
from mechdesign.solvers.convex import solve_convex


def test_status_and_objective():
    x = cvxpy.Variable()
    result = solve_convex(cvxpy.Problem(cvxpy.Maximize(cvxpy.sqrt(x)), [x <= 4]))
    assert (result.status, result.solver) == ("optimal", "CLARABEL")
    assert result.objective == pytest.approx(2.0, abs=1e-8)


def test_infeasible_and_unbounded_are_statuses():
    x = cvxpy.Variable()
    assert solve_convex(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2, x <= 1])).status == "infeasible"
    assert solve_convex(cvxpy.Problem(cvxpy.Minimize(x))).status == "unbounded"


def test_the_next_solver_is_tried_and_named(monkeypatch):
    monkeypatch.setattr(convex, "PREFERRED", ("NO_SUCH_SOLVER", "SCS"))
    x = cvxpy.Variable()
    result = solve_convex(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2]))
    assert (result.status, result.solver) == ("optimal", "SCS")


def test_failure_of_all_says_what_each_said():
    x = cvxpy.Variable()
    result = solve_convex(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2]), solver="NO_SUCH_SOLVER")
    assert result.status == "failed"
    assert "NO_SUCH_SOLVER" in result.message


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_an_option_that_the_solver_does_not_know_is_named(solver):
    number = cvxpy.Variable()
    program = cvxpy.Problem(cvxpy.Minimize(number), [number >= 1.0])
    with pytest.raises(ParameterError, match=f"options nonsense: {solver} reports: .*nonsense"):
        solve_convex(program, solver, nonsense=1)
