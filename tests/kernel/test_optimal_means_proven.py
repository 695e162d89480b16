"""``optimal`` means proven, and bounds are cut at what is trivially known, whatever a method says."""

from __future__ import annotations

import math
from typing import ClassVar

import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Problem
from mechdesign.core.values import changed


class Loss(Problem):
    """An error that is to be small; a number is all that a method finds."""

    name = "error"
    sense = "min"
    value_name = "squared error"
    compared_with = "all numbers"
    trivial: ClassVar[float | None] = 0.0

    def objective(self, variables):
        """Return the number."""
        return variables["x"]

    def residuals(self, variables):
        """Return nothing."""
        return {}

    def certificates(self, solution):
        """Return optimality."""
        return (self.optimality(solution),)


class Chance(Loss):
    """A probability that is to be large."""

    sense = "max"
    value_name = "probability"
    trivial: ClassVar[float | None] = 1.0


def found(problem, value: float, bound: float | None, source: str = "a proof") -> md.Solution:
    outcome = md.Outcome("optimal", {"x": value}, bound, source if bound is not None else "")
    return md.solve(problem, md.Method("told", type(problem), "numeric", "", lambda _: outcome))


@pytest.mark.parametrize(
    ("bound", "source", "status"),
    [
        (2.0, "a proof", "optimal"),
        (2.0 - 1e-6, "a proof", "optimal"),
        (2.0 - 3e-6, "a proof", "feasible"),
        (1.0, "a proof", "feasible"),
        (2.0, "", "feasible"),
        (None, "", "feasible"),
        (math.nan, "a proof", "feasible"),
        (math.inf, "a proof", "feasible"),
        (-math.inf, "a proof", "feasible"),
    ],
)
def test_an_optimum_needs_a_bound_that_somebody_proves_and_that_is_close(bound, source, status):
    solution = found(Loss(), 2.0, bound, source)
    assert solution.status == status
    assert solution.claims_optimality == (status == "optimal")
    assert all(item.holds for item in solution.certificates)


@pytest.mark.parametrize("wrong", [{"bound": None}, {"bound": math.nan}, {"bound_source": ""}])
def test_a_solution_that_is_optimal_without_proof_cannot_be_made(wrong):
    solution = found(Loss(), 2.0, 2.0)
    with pytest.raises(MethodError, match="says 'optimal' without a proven bound"):
        changed(solution, **wrong)


def test_bounds_are_cut_at_what_is_trivially_known():
    solution = found(Loss(), 2.0, -30.0)
    assert (solution.bound, solution.bound_source) == (0.0, "squared error is at least 0")
    assert "-30" not in str(solution)
    assert "at most 2 from the optimum" in str(solution)
    assert found(Chance(), 0.5, 7.0).bound == 1.0
    assert found(Chance(), 0.5, 0.75).bound == 0.75
    assert found(Loss(), 2.0, 1.5).bound_source == "asserted by the method: a proof"


def test_every_error_is_known_to_be_at_least_zero():
    from mechdesign.families import problem_classes

    signed = {"auction-slot"}  # costs less backlogs
    for name, kind in problem_classes().items():
        if kind.sense == "min" and name not in signed:
            assert kind.trivial is not None, name
            assert kind.trivial >= 0.0, name
