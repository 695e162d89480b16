"""What parameters are worth: multipliers against differences, kinks, conflicts."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog import load_model
from mechdesign.cli import main
from mechdesign.families.response import ExtendedResponse
from mechdesign.solvers.sensitivity import sensitivity
from mechdesign.solvers.solve import methods_of
from tests.support.shipped import loaded, mentioning

LARGEST = 60
"""Answers or types of the models that are solved seven times here."""

SLOW = (
    "contract/better_noise",
    "deployed/microsoft_one_bit_mean",
    "mean/best_channel",
    "mean/best_channel_grids",
    "survey/census_with_age",
    "survey/fifty_likert",
    "survey/household",
    "survey/sensitive",
    "workload/bits_three_way",
)
"""Left to ``solve --sensitivity``: each takes a tenth of a second or more, seven times."""

PRICED = {
    "randomized-response": ("lp", "convex"),
    "privacy-contract": ("reduced-program", "full-program"),
    "spectrum-partition": ("linear-program",),
    "mean-channel": ("lp", "columns"),
    "linear-queries": ("all-columns", "symmetric", "closed-form"),
    "survey-design": ("split", "grid"),
}


def priced() -> list[tuple[str, str]]:
    """Return the models with a method that hands its multipliers on."""
    found = []
    for slug in mentioning(rf"problem\s*=\W*({'|'.join(PRICED)})\b"):
        problem = loaded(slug).problem
        if problem.name not in PRICED or slug in SLOW:
            continue
        size = getattr(problem, "size", None) or len(getattr(problem, "types", ()))
        if size > LARGEST:
            continue
        for method in methods_of(problem):
            if method.name in PRICED.get(problem.name, ()) and method.why_not(problem) is None:
                found.append((slug, method.name))
    return found


@pytest.mark.parametrize(("slug", "method"), priced())
def test_multipliers_and_differences_agree(slug: str, method: str) -> None:
    solution = md.solve(load_model(slug).problem, method=method)
    assert solution.found
    for worth in solution.sensitivity.worths:
        assert worth.agrees in (True, None), (worth, worth.left, worth.right, worth.slope)


def test_slope_of_randomized_response_is_that_of_the_formula() -> None:
    solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0), method="lp")
    worth = solution.sensitivity["epsilon"]
    exact = math.e / (1.0 + math.e) ** 2  # the derivative of e^eps / (1 + e^eps)
    assert worth.slope == pytest.approx(exact, rel=1e-7)
    assert worth.left is not None
    assert abs(worth.left.slope - exact) <= worth.left.error
    assert worth.sentence() == "raising epsilon by 0.1 raises the expected utility by 0.0197"


def test_a_kink_is_reported_as_a_range() -> None:
    # below epsilon = log 2 it is best to report the likeliest answer always; above, to keep both others
    solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.25, 0.25], epsilon=math.log(2.0)), method="lp")
    worth = solution.sensitivity["epsilon"]
    assert worth.is_kink
    assert worth.range == pytest.approx((0.0, 0.25), abs=1e-6)
    assert "lowering epsilon by 0.1 changes nothing" in worth.sentence()
    assert worth.sentence().endswith("the optimum has a kink here")


def test_budget_of_a_contract_has_the_price_of_its_formula() -> None:
    # value = K / budget^2, so its derivative is -2 value / budget
    problem = md.PrivacyContract(types=[1, 2, 3], counts=[100, 100, 100], budget=1000.0)
    for method in ("closed-form", "reduced-program", "full-program"):
        solution = md.solve(problem, method=method)
        worth = solution.sensitivity["budget"]
        assert worth.range[0] == pytest.approx(-2.0 * solution.value / 1000.0, rel=1e-5)
    binding = md.solve(problem, method="full-program").sensitivity.binding
    assert [item.name for item in binding] == ["budget"]


def test_custom_constraints_have_prices() -> None:
    problem = ExtendedResponse(
        prior=[0.5, 0.3, 0.2],
        epsilon=1.0,
        own_constraints=lambda channel: [channel[2, 2] >= 0.5, channel[0, 0] >= 0.01],
    )
    solution = md.solve(problem)
    prices = {item.name: item.price for item in solution.sensitivity.binding}
    assert "custom constraint 1" not in prices
    relaxed = ExtendedResponse(
        prior=[0.5, 0.3, 0.2], epsilon=1.0, own_constraints=lambda channel: [channel[2, 2] >= 0.49]
    )
    gained = (md.solve(relaxed).value - solution.value) / 0.01
    assert prices["custom constraint 0"] == pytest.approx(gained, rel=1e-3)


def test_conflicting_custom_constraints_are_named() -> None:
    problem = ExtendedResponse(
        prior=[0.5, 0.3, 0.2],
        epsilon=1.0,
        own_constraints=lambda channel: [channel[1, 1] >= 0.1, channel[0, 0] >= 0.9, channel[1, 0] <= 0.2],
    )
    found = md.solve(problem).sensitivity
    assert found.conflict == ("custom constraint 1", "custom constraint 2", "epsilon")
    for name in found.conflict:  # irreducible: without any of them there is a channel
        assert md.solve(problem.without([name])).found


def test_conflicting_limits_of_a_contract_are_named() -> None:
    problem = md.PrivacyContract(
        types=[1, 2], counts=[10, 10], budget=30.0, epsilon_min=1.0, participation_cost=0.01
    )
    assert md.solve(problem).sensitivity.conflict == ("budget", "epsilon_min")
    problem = md.PrivacyContract(types=[1, 2], counts=[10, 10], target_error=0.01, epsilon_max=0.5)
    assert md.solve(problem).sensitivity.conflict == ("target_error", "epsilon_max")


@pytest.mark.parametrize(
    "given",
    [
        {"target_error": 0.01, "epsilon_max": 0.5, "epsilon_min": 0.1, "participation_cost": 0.2},
        {"budget": 1.0, "participation_cost": 1.0, "epsilon_min": 0.5, "epsilon_max": 3.0},
        {"budget": 5.0, "minimum_buyers": 15, "participation_cost": 0.5, "epsilon_min": 0.4},
    ],
)
def test_the_rest_of_a_conflict_can_be_kept(given: dict[str, Any]) -> None:
    problem = md.PrivacyContract(types=[1, 2], counts=[10, 10], **given)
    conflict = md.solve(problem).sensitivity.conflict
    alone = problem.without([name for name in problem.droppable() if name not in conflict])
    assert md.solve(alone).status == "infeasible"
    for name in conflict:
        assert md.solve(alone.without([name])).found


def test_a_survey_names_what_its_users_are_too_few_for() -> None:
    questions = [{"name": "smokes", "labels": ["no", "yes"], "error": 0.01}]
    for epsilon, users, said in ((1.0, 9_000, "these conflict"), (1.0, 100, "this cannot be kept: users")):
        problem = md.SurveyDesign(questions=questions, epsilon=epsilon, users=users, goal="epsilon")
        assert str(md.solve(problem).sensitivity).startswith(said)
    assert str(md.solve(md.SurveyDesign(questions=questions, epsilon=0.0)).sensitivity).endswith("epsilon")


@pytest.mark.parametrize("slug", ["shuffle/counting", "marginals/covering_calm"])
def test_no_derivative_has_a_reason_in_one_line(slug: str) -> None:
    problem = load_model(slug).problem
    said = str(md.solve(problem).sensitivity)
    why = "has no parameter whose derivative is computed; compare with a sweep"
    assert said == f"the optimum of {problem.name} {why}"


def test_nothing_to_drop_has_a_reason() -> None:
    problem = md.LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=0.0)
    said = "no constraint of this problem can be dropped; see the message above"
    assert str(md.solve(problem).sensitivity) == said


def test_no_time_leaves_the_multipliers() -> None:
    solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0), method="lp")
    found = sensitivity(solution, seconds=0.0)
    assert [worth.parameter for worth in found.worths] == ["epsilon", "delta"]
    assert found["epsilon"].sides == ()
    assert found["epsilon"].agrees is None
    assert found["epsilon"].slope is not None
    assert found["delta"].sentence().startswith("not known")


def test_solutions_with_prices_are_pickled_and_written() -> None:
    problem = md.RandomizedResponse(prior=[0.6, 0.4], epsilon=1.0)
    for method in ("lp", "convex"):
        solution = pickle.loads(pickle.dumps(md.solve(problem, method=method)))
        written: dict[str, Any] = solution.sensitivity.as_dict()
        assert written["parameters"][0]["agrees"] is True
        assert written["binding"]


def test_wrong_multipliers_do_not_agree() -> None:
    solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0), method="lp")
    prices: Any = solution.prices
    prices.result.upper_multipliers[:] = np.roll(prices.result.upper_multipliers, 1)
    assert solution.sensitivity["epsilon"].agrees is False


def test_the_command_prints_and_writes_what_parameters_are_worth(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["solve", "response/zhou2019_survey", "--method", "lp", "--sensitivity"]
    assert main(line) == 0
    assert "raising delta by 0.01 raises the expected utility by 0.002" in capsys.readouterr().out
    assert main([*line, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["sensitivity"]
    assert [item["parameter"] for item in written["parameters"]] == ["epsilon", "delta"]
    assert all(item["agrees"] for item in written["parameters"])
    assert {item["name"] for item in written["binding"]} == {"delta", "privacy of report dissatisfied"}
