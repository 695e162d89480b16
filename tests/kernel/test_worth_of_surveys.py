"""Multipliers of surveys: epsilon and wanted errors, against solving again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.fields import replace_parameters
from mechdesign.families.mean.optimal_channel import variance_slope
from mechdesign.families.workload.prefix import best_prefix_channel, error_slope
from mechdesign.solvers.sensitivity import sensitivity

YES_NO = ["no", "yes"]
CATEGORIES: list[dict[str, Any]] = [
    {"name": "smokes", "labels": YES_NO, "error": 0.01},
    {"name": "owns", "labels": YES_NO, "error": 0.02},
    {"name": "region", "labels": ["n", "e", "s", "w"], "error": 0.02},
]
MIXED: list[dict[str, Any]] = [
    CATEGORIES[0],
    {"name": "age", "range": [18, 90], "error": 1.0},
    {"name": "scale", "kind": "ordered", "labels": list("12345"), "error": 0.02, "cumulative": True},
]


def survey(questions: list[dict[str, Any]], epsilon: float, goal: str) -> md.SurveyDesign:
    """Return a survey of 20,000 users."""
    return md.SurveyDesign(questions=questions, epsilon=epsilon, users=20_000, goal=goal)


@pytest.mark.parametrize("questions", [CATEGORIES, MIXED])
@pytest.mark.parametrize("goal", ["mean", "worst", "users"])
@pytest.mark.parametrize("method", ["design", "split", "grid"])
def test_epsilon_is_worth_what_solving_again_gives(
    questions: list[dict[str, Any]], goal: str, method: str
) -> None:
    solution = md.solve(survey(questions, 1.0, goal), method=method)
    assert solution.prices is not None
    # designs with tiny shares are dropped after the prices are found: within the gap
    assert solution.prices.lagrangian(solution.problem) == pytest.approx(solution.value, rel=1e-5)
    worth = solution.sensitivity["epsilon"]
    assert worth.agrees is True
    assert worth.left is not None
    assert worth.slope == pytest.approx(worth.left.slope, rel=5e-3)


def test_budgets_that_are_divided_keep_their_proportion() -> None:
    solution = md.solve(survey(CATEGORIES, 10.0, "mean"), method="split")
    assert max(map(len, solution.variables["designs"])) == 3
    worth = solution.sensitivity["epsilon"]
    assert worth.agrees is True
    assert worth.left is not None
    assert worth.slope == pytest.approx(worth.left.slope, rel=1e-5)


def test_jumps_of_a_ladder_are_no_kink() -> None:
    # beside a table the number takes its channel from a ladder; a little less of epsilon is a rung less
    solution = md.solve(survey(MIXED, 6.0, "mean"), method="split")
    kinds = {part["kind"] for design in solution.variables["designs"] for part in design}
    assert kinds == {"table", "number"}
    worth = solution.sensitivity["epsilon"]
    assert not worth.is_kink
    several = [md.solve(survey(MIXED, epsilon, "mean"), method="split").value for epsilon in (5.0, 7.0)]
    assert worth.slope == pytest.approx((several[1] - several[0]) / 2.0, rel=0.15)


@pytest.mark.parametrize("goal", ["worst", "users", "epsilon"])
def test_a_wanted_error_is_worth_what_solving_again_gives(goal: str) -> None:
    problem = survey(CATEGORIES, 4.0 if goal == "epsilon" else 1.0, goal)
    solution = md.solve(problem, method="split")
    prices = {item.name: item.price for item in sensitivity(solution, seconds=0.0).binding}
    assert set(prices) == {"error of smokes", "error of owns", "error of region"}
    for place, question in enumerate(CATEGORIES):
        step = 1e-3 * float(question["error"])
        values = []
        for sign in (-1.0, 1.0):
            asked = [dict(item) for item in CATEGORIES]
            asked[place]["error"] += sign * step
            values.append(md.solve(replace_parameters(problem, {"questions": asked}), method="split").value)
        gained = (values[0] - values[1]) / (2.0 * step)
        assert prices[f"error of {question['name']}"] == pytest.approx(gained, rel=2e-2)


def test_the_largest_epsilon_that_may_be_changes_nothing() -> None:
    worth = md.solve(survey(CATEGORIES, 4.0, "epsilon")).sensitivity["epsilon"]
    assert worth.sentence() == "raising epsilon by 0.1 changes nothing"


def test_the_goal_names_what_is_bought() -> None:
    names = {
        "mean": "error relative to answers in clear",
        "worst": "largest standard error relative to the requested one",
        "users": "users needed",
    }
    for goal, name in names.items():
        solution = md.solve(survey(CATEGORIES[:2], 1.0, goal), method="one-question")
        assert (
            solution.sensitivity["epsilon"]
            .sentence()
            .startswith(f"raising epsilon by 0.1 lowers the {name} by ")
        )
        assert goal == "mean" or f"({name})" in str(solution)


def test_slopes_of_channels_are_those_of_differences() -> None:
    near = [best_prefix_channel(6, 2.0 + step) for step in (-0.01, 0.01)]
    assert near[0] is not None
    assert near[1] is not None
    assert error_slope(6, 2.0) == pytest.approx(
        (near[1].average_error - near[0].average_error) / 0.02, rel=1e-3
    )
    # about 4 / epsilon^2 for small epsilon
    assert variance_slope(0.1) == pytest.approx(-8.0 / 0.1**3, rel=1e-2)
    assert math.isfinite(float(np.float64(variance_slope(12.0))))
