"""Certificates: none holds with what is not finite, and an optimum names the set it is one of."""

from __future__ import annotations

import inspect
import math
from types import SimpleNamespace

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.certificate import Certificate, optimality
from mechdesign.core.problem import Method, Outcome, Problem
from mechdesign.families import problem_classes


@pytest.mark.parametrize("figure", [math.inf, -math.inf, math.nan, np.float64("inf"), np.float64("nan")])
@pytest.mark.parametrize("key", ["gap", "value", "bound", "shortfall", "relative_excess"])
def test_no_optimum_holds_with_a_figure_that_is_not_finite(key, figure):
    item = Certificate("optimality", True, False, {"value": 1.0, key: figure}, among="all menus")
    assert not item.holds
    assert f"{key} is not finite" in str(item)


def test_nothing_holds_with_nan_or_an_infinite_bound_and_other_infinities_may_stand():
    assert not Certificate("privacy", True, True, {"epsilon": math.nan}).holds
    assert not Certificate("accuracy", True, True, {"bound": math.inf}).holds
    assert Certificate("privacy", True, True, {"true_epsilon": math.inf, "delta": 0.1}).holds
    failing = Certificate("privacy", False, True, {"epsilon": 1.0, "true_epsilon": math.inf}, note="cut off")
    assert str(failing) == "privacy: FAILS (exact); epsilon = 1, true_epsilon = inf; cut off"


def outcome(value: float, bound: float | None) -> Outcome:
    return Outcome("optimal", {"channel": np.full((2, 2), 0.5), "told": value}, bound, "a claim")


class Told(md.RandomizedResponse):
    """A problem whose objective is whatever the variables say."""

    def objective(self, variables):
        """Return what was told."""
        return float(variables.get("told", 0.5))


class Unnamed(md.RandomizedResponse):
    """A problem that does not say among which mechanisms."""

    def among(self):
        """Return nothing."""
        return ""


PROBLEM = Told(prior=[0.5, 0.5], epsilon=1.0)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_value_that_is_not_finite_is_no_solution(value):
    method = Method("told", Told, "numeric", "", lambda problem: outcome(value, value))
    solution = md.solve(PROBLEM, method)
    assert solution.status == "failed"
    assert "beyond double precision" in solution.message
    assert solution.certificates == ()


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_a_bound_that_is_not_finite_proves_nothing(bound):
    method = Method("told", Told, "numeric", "", lambda problem: outcome(0.5, bound))
    solution = md.solve(PROBLEM, method)
    assert (solution.bound, solution.status, solution.broken) == (None, "feasible", ())
    assert "optimality: not claimed by this method" in str(solution)


def test_an_optimum_without_a_set_does_not_hold():
    solution = md.solve(Unnamed(prior=[0.5, 0.5], epsilon=1.0), "lp")
    (broken,) = solution.broken
    assert "names no set of mechanisms" in str(broken)


@pytest.mark.parametrize("kind", problem_classes().values(), ids=lambda kind: kind.name)
def test_every_problem_states_its_set(kind):
    own = "among" in vars(kind) and inspect.isfunction(kind.among) and kind.among is not Problem.among
    assert own or kind.compared_with


@pytest.mark.parametrize("tiny", [1e-300, 1e-310, 5e-324])
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("method", ["staircase", "extreme-points"])
def test_a_tiny_prior_has_a_finite_mutual_information(tiny, size, method):
    """It used to be infinite: the product of the prior with a report's probability vanished."""
    prior = [tiny, *[(1.0 - tiny) / (size - 1)] * (size - 1)]
    problem = md.RandomizedResponse(prior=prior, epsilon=1.0, utility="mutual-information")
    solution = md.solve(problem, method)
    expected = 0.0
    if size > 2:
        rest = md.RandomizedResponse(prior=prior[1:], epsilon=1.0, utility="mutual-information")
        expected = md.solve(rest, "staircase").value
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(expected, abs=1e-12)
    assert solution.bound >= solution.value
    assert all(item.holds for item in solution.certificates)


def test_the_optimum_on_a_grid_says_so_and_shows_what_no_mechanism_beats():
    """On five inputs the optimum is proven for these; a finer one is better, none below the bound."""
    coarse, fine = (md.solve(md.MeanChannel(epsilon=2.0, inputs=size)) for size in (5, 11))
    item = coarse.certificates[-1]
    assert fine.value < coarse.bound * (1 - 1e-3)
    assert item.holds
    assert item.among == "unbiased epsilon-private channels on the grid of 5 inputs with any outputs"
    assert item.figures["any_mechanism"] < fine.value < coarse.value
    assert item.figures["above_any"] == coarse.value / item.figures["any_mechanism"] - 1.0


def found(value, bound):
    gap = math.inf if bound is None else abs(value - bound)
    return SimpleNamespace(value=value, bound=bound, gap=gap, bound_source="duality")


def test_an_optimum_is_what_leaves_little():
    """The gap against the value by default; what is left and at stake may be said, and rounding allowed."""
    assert optimality(found(-2.0, -2.0 - 1.9e-6)).holds
    assert not optimality(found(-2.0, -2.0 - 2.1e-6)).holds
    assert not optimality(found(0.0, 1e-9)).holds
    assert optimality(found(2.0, 3.0), within=0.5).holds
    assert not optimality(found(2.0, 2.0), 0.2, 1.0, within=0.1).holds
    assert optimality(found(2.0, 2.0), 0.2, 1.0, within=0.1, slack=0.1).holds
    item = optimality(found(2.0, 3.0))
    assert (item.figures, item.note) == ({"value": 2.0, "bound": 3.0, "gap": 1.0}, "bound from duality")
    unproven = optimality(found(2.0, None), 0.0, within=math.inf, unproven={"value": 2.0})
    assert not unproven.holds
    assert (unproven.figures, unproven.note) == ({"value": 2.0}, "no bound is known")
