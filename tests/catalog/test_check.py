"""Claims: verdicts, what makes a check fail, and sweeps with their simulation."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog import load_model, run_sweep, sweep_points
from mechdesign.catalog.load import quantity_of
from mechdesign.core.errors import MechDesignError, UnknownNameError
from mechdesign.core.fields import replace_parameters
from mechdesign.core.values import changed
from mechdesign.papers.claims import Claim, check_model
from mechdesign.papers.shown.checks import brief, claims_table, methods_table, overview, summary

SURVEY = load_model("response/zhou2019_survey")

UNDECIDED = {"verdict": "not-decidable", "reason": "the display is lost", "decided_by": "display (6)"}


def checked(**claim):
    return check_model(changed(SURVEY, claims=(Claim(**claim),)))


def test_a_claim_that_holds_and_one_that_is_refuted_as_recorded():
    assert checked(quantity="value", value=0.83, tolerance=1e-12).passed
    result = checked(quantity="value", value=0.9, verdict="refuted", reason="misprint")
    assert result.passed
    assert result.claims[0].verdict == "refuted"
    assert "misprint" in str(result.claims[0])


@pytest.mark.parametrize(
    "claim",
    [
        {"value": 0.84, "tolerance": 1e-3},
        {"value": 0.83, "tolerance": 1e-12, "verdict": "refuted", "reason": "no"},
        {"value": 0.84, "relation": ">="},
        {"value": 0.82, "relation": "<="},
        {"value": "inf"},
    ],
)
def test_a_flipped_verdict_fails_the_check(claim):
    result = checked(quantity="value", **claim)
    assert not result.passed
    assert "claim: value" in result.problems[0]
    assert "recorded as" in result.problems[0]


def test_claims_at_other_parameters_and_by_other_methods():
    assert checked(quantity="value", value=0.8, at={"delta": 0.0}, tolerance=1e-12).passed
    assert checked(quantity="value", value=0.83, method="lp", tolerance=1e-9).passed
    assert checked(quantity="extreme_points", value=8, method="extreme-points").passed
    assert not checked(quantity="value", value=0.83, at={"delta": 0.0}, tolerance=1e-12).passed


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ({"quantity": "valu", "value": 1}, "[claim 1] quantity: no 'valu'; did you mean 'value'?"),
        (
            {"quantity": "value", "value": [0.83]},
            "[claim 1] value: states a list of 1, but value is a single",
        ),
        ({"quantity": "value", "value": "0.83"}, "[claim 1] value: states a text, but value is a number"),
        (
            {"quantity": "value", "value": True},
            "[claim 1] value: states a truth value, but value is a number",
        ),
        (
            {"quantity": "channel", "value": [1.0, 0.0]},
            "[claim 1] value: states a list of 2, but channel is 2 x 2",
        ),
        (
            {"quantity": "certificate.privacy", "value": 1},
            "[claim 1] value: states a number, but certificate",
        ),
        (
            {"quantity": "value", "relation": "increasing"},
            "[claim 1] relation: 'increasing' is about a sweep",
        ),
        ({"quantity": "value", "value": 1, "at": {"epsilom": 1}}, "[claim 1] .*no parameter 'epsilom'"),
        ({"quantity": "value", "value": 1, "at": {"epsilon": -1}}, "[claim 1] .*epsilon: -1 is negative"),
        (
            {"quantity": "value", "value": 1, "method": "lpp"},
            "[claim 1] .*no method 'lpp'; did you mean 'lp'?",
        ),
    ],
)
def test_a_claim_that_cannot_be_checked_names_itself(claim, text):
    with pytest.raises(
        MechDesignError, match="response/zhou2019_survey: " + re.escape(text).replace(r"\.\*", ".*")
    ):
        checked(**claim)


def test_trends_are_found_along_the_sweep():
    swept = changed(SURVEY, sweep={"epsilon": (2.0, 0.1, 1.0), "delta": (0.0, 0.15)})

    def check(**claim):
        return check_model(changed(swept, claims=(Claim(**claim),)))

    rising = check(quantity="value", relation="non-decreasing", over="epsilon")
    (result,) = rising.claims
    assert rising.passed
    assert result.found.points == (0.1, 1.0, 2.0)
    values = [md.solve(replace_parameters(SURVEY.problem, {"epsilon": e})).value for e in (0.1, 1.0, 2.0)]
    assert list(result.found.numbers) == values
    plain = result.as_dict()
    assert plain["found"] == {"over": "epsilon", "points": [0.1, 1.0, 2.0], "numbers": values}
    assert (plain["relation"], plain["over"], plain["stated"]) == ("non-decreasing", "epsilon", None)
    assert "non-decreasing over epsilon (paper), computed 0.1: 0.83, 1: 0.83" in str(result)
    fixed = check(quantity="value", relation="increasing", over="epsilon", at={"prior": [0.5, 0.5]})
    assert fixed.passed
    assert not check(quantity="value", relation="increasing", over="epsilon").passed
    assert check(quantity="value", relation="largest-at", over="delta", value=0.15).passed
    with pytest.raises(MechDesignError, match=r"\[claim 1\] quantity: 'channel' is not a single number"):
        check(quantity="channel", relation="increasing", over="epsilon")


def test_a_trend_through_a_point_without_a_solution_is_unsettled():
    model = load_model("contract/limits")
    claim = Claim("value", relation="decreasing", over="budget")
    wide = changed(model, sweep={"budget": (100.0, 250.0, 400.0)}, claims=(claim,))
    (result,) = check_model(wide).claims
    assert result.verdict == "unsettled"
    assert result.found.startswith("budget = 100.0: ")
    assert not result.as_expected


def test_the_json_of_a_claim_has_its_relation_and_its_tolerance():
    (result,) = checked(quantity="value", value=0.9, relation="<=", relative_tolerance=0.01).claims
    plain = result.as_dict()
    assert set(plain) >= {"quantity", "stated", "found", "verdict", "as_expected", "relation"}
    assert (plain["relation"], plain["tolerance"], plain["relative_tolerance"]) == ("<=", 0.0, 0.01)
    assert "stated <= 0.9" in str(result)


def test_reasons_are_printed_for_what_is_wrong_as_recorded_only():
    shown = checked(quantity="value", value=0.9, verdict="refuted", reason="misprint")
    assert "value: misprint" in claims_table([shown])
    for claim in ({"value": 0.9}, {"value": 0.83, "tolerance": 1e-9}, {"value": 0.9, "reason": "why not"}):
        text = claims_table([checked(quantity="value", **claim)])
        assert "refuted, " not in text
        assert "why not" not in text


@pytest.mark.parametrize(
    ("claim", "recorded"),
    [
        ({"value": False}, True),
        ({"value": True, "verdict": "refuted", "reason": "not private"}, True),
        ({"value": True}, False),
        ({"value": False, "verdict": "refuted", "reason": "nobody says so"}, False),
        ({"value": False, "at": {"epsilon": 2.0}}, False),
        ({"value": False, "method": "published"}, False),
        ({"value": True, "outcome": "refuted", **UNDECIDED}, True),
        ({"value": True, "outcome": "holds", **UNDECIDED}, False),
    ],
)
def test_which_claims_record_that_a_certificate_fails(claim, recorded):
    model = load_model("mean/rcp2023_one_sided")
    check = check_model(changed(model, claims=(Claim("certificate.privacy", **claim),)))
    run = check.comparison.runs[0]
    assert check.recorded_failures(run) == ({"privacy"} if recorded else set())
    assert any("certificate of closed-form: privacy" in text for text in check.problems) is not recorded


@pytest.mark.parametrize(("value", "outcome"), [(0.9, "refuted"), (0.83, "holds")])
def test_what_is_not_decidable_is_shown_and_counted_apart(value, outcome):
    check = checked(quantity="value", value=value, tolerance=1e-9, outcome=outcome, **UNDECIDED)
    (result,) = check.claims
    assert check.passed
    assert (result.verdict, result.outcome, result.as_expected) == ("not-decidable", outcome, True)
    plain = result.as_dict()
    assert (plain["verdict"], plain["outcome"], plain["decided_by"]) == (
        "not-decidable", outcome, "display (6)",
    )  # fmt: skip
    assert "1 claim (0 refuted, 1 not decidable here): no problem" in summary([check])
    assert "every verdict as recorded" in summary([check])
    reason = f"the display is lost; as read here: {outcome}; would be decided by display (6)"
    assert f"not decidable here, response/zhou2019_survey, value: {reason}" in claims_table([check])
    assert f"computed 0.83: not decidable here; {reason}" in str(check)


@pytest.mark.parametrize(
    ("value", "outcome", "found"), [(0.83, "refuted", "holds"), (0.9, "holds", "refuted")]
)
def test_what_is_not_decidable_fails_when_the_computation_gives_another_outcome(value, outcome, found):
    check = checked(quantity="value", value=value, tolerance=1e-9, outcome=outcome, **UNDECIDED)
    assert not check.passed
    assert f"not decidable here, as read here: {found}  <-- recorded as {outcome}" in check.problems[0]
    assert f"not decidable here, here {found} (EXPECTED: {outcome})" in claims_table([check])
    assert "every verdict as recorded" not in summary([check])
    assert check.claims[0].remark == ""


def test_figures_of_what_is_not_decidable_are_found_again():
    claim = {"quantity": "value", "value": 0.9, "outcome": "refuted", **UNDECIDED}
    assert checked(**claim, witness={"found": 0.83}).passed
    assert "its witness states found = 0.84" in checked(**claim, witness={"found": 0.84}).problems[0]
    holding = {**claim, "value": 0.83, "tolerance": 1e-9, "outcome": "holds"}
    assert checked(**holding, witness={"found": 0.83}).passed
    assert "its witness states found = 0.9" in checked(**holding, witness={"found": 0.9}).problems[0]


def test_where_nothing_is_found_a_claim_is_unsettled_and_not_undecided():
    model = load_model("contract/limits")
    claim = Claim("value", relation="decreasing", over="budget", outcome="holds", **UNDECIDED)
    (result,) = check_model(changed(model, sweep={"budget": (100.0, 250.0)}, claims=(claim,))).claims
    assert (result.verdict, result.as_expected) == ("unsettled", False)


def test_the_summary_counts_what_fails_by_kind():
    survey = check_model(changed(SURVEY, methods=("closed-form", "lp", "convex", "extreme-points")))
    methods = ("closed-form", "branch-and-bound", "published")
    one_sided = changed(load_model("mean/rcp2023_one_sided"), methods=methods)
    text = summary([check_model(one_sided), survey])
    assert "2 models, 7 runs, 11 claims (0 refuted): no problem; methods agree;" in text
    assert "; 3 are recorded as not holding (privacy 3); every verdict as recorded" in text
    unrecorded = check_model(changed(one_sided, claims=()))
    text = summary([unrecorded])
    assert "2 problem(s)" in text
    assert "1 is recorded as not holding (privacy 1); 2 FAIL that should hold (privacy 2)" in text
    alone = check_model(changed(SURVEY, methods=("lp",)))
    assert "no problem; one method only; 3 certificates hold" in summary([alone])
    assert "methods agree on 1; one method only on 1" in summary([alone, survey])
    assert methods_table([alone]).splitlines()[2] == "response/zhou2019_survey: one method only"


def test_every_quantity_of_a_solution_can_be_claimed():
    solution = md.solve(SURVEY.problem)
    assert quantity_of(solution, "status") == "optimal"
    assert quantity_of(solution, "certificate.privacy") is True
    assert quantity_of(solution, "true_epsilon") == math.inf
    assert quantity_of(solution, "least_delta") <= 0.15
    assert quantity_of(solution, "kept_answers") == 1
    with pytest.raises(UnknownNameError):
        quantity_of(solution, "certificate.privaci")


def test_disagreeing_methods_and_failed_certificates_fail_the_check():
    result = check_model(SURVEY)
    assert result.passed
    lying = replace(result.comparison, disagreements=("lp and convex differ",))
    assert replace(result, comparison=lying).problems == ["disagreement: lp and convex differ"]
    worse = md.Method(
        "worse",
        type(SURVEY.problem),
        "numeric",
        "",
        lambda problem: md.Outcome("optimal", {"channel": np.eye(2)}, 1.0, "a claim"),
    )
    run = md.solve(SURVEY.problem, worse)  # the identity is not private: its mechanism is a mixed one
    assert run.residuals["privacy"] > 0.5
    short = replace(
        result.comparison, runs=(changed(run, bound=0.5, variables={"channel": np.full((2, 2), 0.5)}),)
    )
    assert any(
        "certificate of worse: optimality: FAILS" in text
        for text in replace(result, comparison=short).problems
    )


def test_a_sweep_runs_over_all_combinations_in_order():
    model = changed(SURVEY, sweep={"epsilon": (0.1, 1.0), "delta": (0.0, 0.15)})
    points = sweep_points(model)
    assert points == [{"epsilon": e, "delta": d} for e in (0.1, 1.0) for d in (0.0, 0.15)]
    rows = list(run_sweep(model))
    assert [row.parameters for row in rows] == points
    assert rows[1].solution.value == pytest.approx(0.83)
    assert {row.solution.method for row in run_sweep(model, "lp")} == {"lp"}


def test_a_sweep_with_an_impossible_value_names_the_table():
    with pytest.raises(
        MechDesignError, match=r"response/zhou2019_survey: \[sweep\] .*epsilon: -1 is negative"
    ):
        list(run_sweep(changed(SURVEY, sweep={"epsilon": (-1.0,)})))


@pytest.mark.parametrize("slug", ["response/zhou2019_figure4", "response/zhou2019_figure8"])
def test_the_measured_utility_of_the_figures_is_the_optimum(slug):
    """Figures 4 and 8: |measured - optimum| at most 10 standard errors at each of 18 points.

    The standard error is estimated from 20 repetitions (t with 19 degrees of freedom exceeds
    10 with chance 5e-9);
    where nothing is random it is 0 and the two are equal. The seed is the model's own.
    """
    model = load_model(slug)
    rows = list(
        run_sweep(changed(model, sweep={"epsilon": (0.1, 1.0, 3.0), "prior": model.sweep["prior"][::4]}))
    )
    assert len(rows) == 18
    for row in rows:
        miss = abs(row.measured["measured_utility"] - row.solution.value)
        assert miss <= 10 * row.measured["standard_error"] + 1e-12, row.parameters
    again = list(run_sweep(changed(model, sweep={"epsilon": (0.1,), "prior": model.sweep["prior"][:1]})))
    assert again[0].measured == rows[0].measured


def test_a_method_that_failed_fails_the_check():
    check = check_model(load_model("response/zhou2019_survey"))
    run = changed(check.comparison.runs[1], status="failed", message="gave up", bound=None)
    comparison = replace(check.comparison, runs=(check.comparison.runs[0], run))
    assert replace(check, comparison=comparison).problems == ["failed: lp: gave up"]


def test_the_brief_report_names_families_and_what_differs_only():
    checks = [check_model(load_model(slug)) for slug in ("contract/irregular", "response/zhou2019_survey")]
    text = brief(checks, 100)
    lines = text.splitlines()
    assert lines[0].split() == ["family", "models", "runs", "claims", "as", "recorded", "differs"]
    assert [line.split()[0] for line in lines[2:5]] == ["contract", "response", "all"]
    claims = sum(len(check.claims) for check in checks)
    assert lines[4].split()[1] == "2"
    assert lines[4].split()[3:] == [str(claims), str(claims), "0"]
    assert "nothing differs" in text
    assert re.search(r"known errors of the sources: \d+ claims? and \d+ certificates?;", text)
    assert not re.search(r"FAIL|fail|Traceback|contract/irregular", text)
    flipped = changed(checks[1].model, claims=(Claim("value", 0.84),))
    wrong = brief([checks[0], check_model(flipped)], 100)
    assert "1 problem, see below" in wrong
    assert "response/zhou2019_survey: claim: value" in wrong
    assert "nothing differs" not in wrong


def test_claims_about_parameters_that_were_changed_are_not_evaluated():
    changed = load_model("contract/three_types", {"budget": 500.0})
    assert changed.changed == ("budget",)
    check = check_model(changed)
    assert check.passed
    assert {result.verdict for result in check.claims} == {"not-evaluated"}
    assert {result.as_dict()["as_expected"] for result in check.claims} == {None}
    assert "16 claims are not evaluated: the source states them for another budget" in str(check)
    assert overview([check]).count("no claims") == 1
    assert "every verdict as recorded" not in summary([check])
    assert "16 claims are not evaluated" in brief([check])
    same = load_model("contract/three_types", {"budget": 1000, "data_range": 10.0})
    assert same.changed == ()
    assert all(result.is_evaluated for result in check_model(same).claims)


def test_a_claim_that_sets_the_changed_parameter_itself_is_evaluated():
    model = changed(load_model("mean/rcp2023_single", {"epsilon": 2.0}), methods=("closed-form",))
    at_five = Claim("value", 0.25, relation=">=", at={"epsilon": 5.0})
    trend = Claim("value", relation="decreasing", over="epsilon")
    plain = Claim("value", 1.1706735942077924, tolerance=1e-12)
    results = check_model(changed(model, claims=(at_five, trend, plain))).claims
    assert [result.verdict for result in results] == ["holds", "holds", "not-evaluated"]


def test_a_changed_certificate_that_fails_is_still_a_problem():
    """Only claims belong to the record; a certificate that should hold has to hold anywhere."""
    model = load_model("mean/rcp2023_one_sided", {"epsilon": 2.0})
    unrecorded = check_model(changed(model, claims=()))
    assert not unrecorded.passed
    assert any("privacy" in text for text in unrecorded.problems)


def test_claims_at_the_models_own_parameters_read_its_runs(monkeypatch):
    """A sweep that passes through the model's parameters does not solve there again; others are solved."""
    solved = []
    monkeypatch.setattr(
        "mechdesign.papers.claims.found.solve",
        lambda problem, method, **options: solved.append(problem.epsilon) or md.solve(problem, method),
    )
    own = SURVEY.problem.epsilon
    claims = [
        Claim(quantity="value", value=0.8, relation=">=", at={"epsilon": epsilon}, method=method)
        for epsilon in (own, own * (1.0 + 2.0**-52))
        for method in (None, "lp")
    ]
    result = check_model(changed(SURVEY, claims=tuple(claims)))
    assert len(result.claims) == 4
    assert own not in solved
    assert len(solved) == 2
    for claim, method in zip(result.claims, ("closed-form", "lp"), strict=False):
        assert claim.found == result.comparison[method].value


def test_the_method_that_solve_prefers_answers_at_the_models_own_parameters():
    """That is not always the first run: some methods defer to those after them."""
    model = load_model("location/planar_laplace")
    preferred = md.solve(model.problem)
    claim = Claim(quantity="value", value=0.0, relation=">=", at={"epsilon": model.problem.epsilon})
    result = check_model(changed(model, claims=(claim,)))
    assert result.claims[0].found == preferred.value
