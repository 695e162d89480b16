"""Impossible parameters: each gives one line that names the field, what is wrong and the remedy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
import mechdesign.solvers.solve as solve_module
from mechdesign.core.errors import MechDesignError, MethodError, ParameterError, UnknownNameError

GOOD = {"prior": [0.5, 0.3, 0.2], "epsilon": 1.0}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"prior": [0.5, -0.1, 0.6]}, "prior: entry 1 is negative (-0.1); give probabilities >= 0"),
        ({"prior": [0.5, 0.3, 0.3]}, "prior: sums to 1.1, not 1; divide by the sum or correct an entry"),
        ({"prior": []}, "prior: is empty; give at least one number"),
        ({"prior": [0.5, math.nan, 0.5]}, "prior: has NaN at index 1; give numbers"),
        ({"prior": [0.5, math.inf]}, "prior: is infinite at index 1; give finite numbers"),
        ({"prior": [[0.5, 0.5]]}, "prior: expected a list, got 2 dimension(s)"),
        ({"prior": ["a", "b"]}, "prior: entry 0: expected a number, got 'a'"),
        ({"prior": [True, False]}, "prior: entry 0: expected a number, got True"),
        ({"prior": 0.5}, "prior: expected a list"),
        ({"epsilon": -0.5}, "epsilon: -0.5 is negative; give a number >= 0"),
        ({"epsilon": math.inf}, "epsilon: is infinite, which means no privacy; give a finite number"),
        ({"epsilon": math.nan}, "epsilon: is NaN; give a number"),
        ({"epsilon": "1_0"}, "epsilon: expected a number, got '1_0'; write a decimal or a quotient of two"),
        ({"epsilon": True}, "epsilon: expected a number, got True"),
        ({"delta": 1.0}, "delta: 1 is outside [0, 1)"),
        ({"delta": -0.1}, "delta: -0.1 is outside [0, 1)"),
        ({"delta": math.nan}, "delta: is NaN"),
        ({"utility": [[1.0, 0.0], [0.0, 1.0]]}, "utility: has 2 rows for 3 answers; give"),
        (
            {"utility": [[1.0], [1.0, 2.0], [3.0]]},
            "utility: expected a matrix (a list of rows of equal length)",
        ),
        ({"utility": [[1.0], [math.nan], [3.0]]}, "utility: has NaN at index 1, 0"),
        ({"utility": [[1.0], [math.inf], [3.0]]}, "utility: is infinite at index 1, 0"),
        ({"utility": [1.0, 2.0, 3.0]}, "utility: expected a matrix"),
        ({"utility": [[], [], []]}, "utility: is empty"),
        ({"utility": "thruth"}, "utility: 'thruth' is not a choice; did you mean 'truth'?"),
        ({"notion": "entrywise"}, "notion: 'entrywise' is not a choice; did you mean 'entry-wise'?"),
        ({"notion": "set-wise"}, "notion: 'set-wise' is not a choice; it is called 'ldp' now"),
        ({"distance": "lines"}, "distance: 'lines' is not a choice; did you mean 'line'?"),
        ({"distance": "line", "delta": 0.1}, "delta: metric privacy is defined here for delta = 0 only"),
        ({"distance": [[0.0, 1.0], [1.0, 0.0]]}, "distance: has shape 2 x 2 for 3 answers"),
        ({"distance": [[0.0, 1, 2], [1, 0.0, -3], [2, -3, 0.0]]}, "distance: entry (1, 2) is negative"),
        ({"distance": [[0.0, 1, 2], [1, 0.0, 3], [2, 4, 0.0]]}, "entries (1, 2) and (2, 1) differ"),
        ({"distance": [[0.0, 1, 2], [1, 5.0, 3], [2, 3, 0.0]]}, "distance: entry 1 of the diagonal is not 0"),
        ({"distance": [[0.0, 1, 2], [1, math.inf, 3], [2, 3, 0.0]]}, "distance: is infinite at index 1, 1"),
        ({"labels": ["a", "b"]}, "labels: 2 names for 3 categories; give one name each"),
        ({"labels": ["a", "b", "b"]}, "labels: 'b' appears twice; names must differ"),
        ({"labels": ["a", "b", ""]}, "labels: every name must be a non-empty text"),
        ({"labels": "abc"}, "labels: expected a list of names"),
        ({"labels": 3}, "labels: expected a list of names"),
        ({"report_labels": ["x"]}, "report_labels: 1 name for 3 categories"),
    ],
)
def test_an_impossible_parameter_is_refused(changes, text):
    with pytest.raises(ParameterError) as caught:
        md.RandomizedResponse(**{**GOOD, **changes})
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, MechDesignError)
    assert isinstance(caught.value, ValueError)


def test_a_prior_within_the_rounding_of_decimals_is_normalised():
    problem = md.RandomizedResponse(prior=[1 / 3 + 3e-10, 1 / 3, 1 / 3], epsilon=1.0)
    assert math.fsum(problem.prior) == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(ParameterError, match=r"sums to 1.00000001"):
        md.RandomizedResponse(prior=[1 / 3 + 1e-8, 1 / 3, 1 / 3], epsilon=1.0)


def test_a_problem_is_frozen_and_keeps_its_own_copy():
    prior = np.array([0.5, 0.5])
    problem = md.RandomizedResponse(prior=prior, epsilon=1.0)
    prior[0] = 0.9
    assert problem.prior.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        problem.prior[0] = 0.9
    with pytest.raises(AttributeError):
        problem.epsilon = 3.0


def test_unknown_methods_and_methods_that_do_not_apply():
    problem = md.RandomizedResponse(**GOOD)
    with pytest.raises(UnknownNameError, match="no method 'closed_form'; did you mean 'closed-form'"):
        md.solve(problem, "closed_form")
    with pytest.raises(MethodError, match="'staircase' does not apply: it is for the utility"):
        md.solve(problem, "staircase")
    with pytest.raises(TypeError, match="expected a problem, got dict"):
        md.solve({"prior": [0.5, 0.5]})


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"utility": "absolute-loss"}, {"closed-form": "utility 'truth'", "staircase": "mutual-information"}),
        ({"distance": "line"}, {"closed-form": "metric"}),
        ({"utility": "mutual-information"}, {"lp": "not linear", "convex": "not a convex program"}),
        ({"utility": "mutual-information", "delta": 0.1}, {"staircase": "patterns"}),
        ({"prior": [0.2] * 5}, {"extreme-points": "the limit is 4 answers"}),
        ({"epsilon": 60.0}, {"convex": "accuracy", "extreme-points": "distinguish extreme points"}),
        ({"epsilon": 1e-6}, {"extreme-points": "distinguish extreme points"}),
        ({"prior": [1 / 100] * 100}, {"convex": "too many for a declarative model"}),
    ],
)
def test_each_method_says_in_one_sentence_why_it_does_not_apply(changes, reasons):
    problem = md.RandomizedResponse(**{**GOOD, **changes})
    for method in md.methods_of(md.RandomizedResponse):
        if method.name in reasons:
            assert reasons[method.name] in method.why_not(problem)
        else:
            assert "\n" not in (method.why_not(problem) or "")


def test_where_no_method_is_left_the_reasons_are_listed(monkeypatch):
    exact = [method for method in md.methods_of(md.RandomizedResponse) if method.kind != "heuristic"]
    monkeypatch.setattr(solve_module, "methods_of", lambda problem_class: tuple(exact))
    problem = md.RandomizedResponse(prior=[1 / 8] * 8, epsilon=1.0, delta=0.1, utility="mutual-information")
    with pytest.raises(MethodError, match=r"no method applies .closed-form: .*; staircase: .*; lp: "):
        md.solve(problem)
