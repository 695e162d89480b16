"""What the models of the family show, and the example."""

import runpy
from pathlib import Path

import mechdesign as md
from mechdesign.core.values import changed
from mechdesign.papers.claims.check import check_model

EXAMPLE = Path(__file__).parents[3] / "examples" / "30_mean_choice.py"


def test_a_failing_certificate_is_a_problem_unless_the_model_says_that_it_fails():
    model = md.load_model("mean/rcp2023_one_sided")
    assert check_model(model).passed
    unclaimed = changed(
        model, claims=tuple(claim for claim in model.claims if claim.quantity != "certificate.privacy")
    )
    assert any("privacy: FAILS" in text for text in check_model(unclaimed).problems)


def test_the_finding_about_the_printed_optimum_comes_out_of_compare():
    check = check_model(md.load_model("mean/rcp2023_single"))
    text = str(check)
    assert "true_epsilon = inf" in text
    assert "witness input = 0, other = 1, report = 0" in text
    refuted = [result for result in check.claims if result.verdict == "refuted"]
    assert [result.claim.quantity for result in refuted] == [
        "value",
        "certificate.privacy",
        "widened_epsilon",
    ]
    undecided = [result.claim.quantity for result in check.claims if result.verdict == "not-decidable"]
    assert undecided[:3] == ["widened_slope_2", "widened_slope_1", "widened_slope_1"]
    assert set(undecided[3:]) == {"given_users_value", ""}, "whose users, and the inflection point in words"


def test_the_example_runs():
    runpy.run_path(str(EXAMPLE), run_name="__main__")
