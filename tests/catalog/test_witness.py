"""Witnesses of refuted claims: found again, or the check fails and says what is there now."""

from __future__ import annotations

import math
from functools import partial

import pytest

from mechdesign.catalog import load_model, models
from mechdesign.core.errors import ModelFileError, ParameterError
from mechdesign.core.values import changed
from mechdesign.papers.claims import Claim, check_model
from mechdesign.papers.claims.judge import Series
from mechdesign.papers.claims.witness import agrees, figures_of, lost, refutes, suggested
from mechdesign.papers.shown.checks import overview
from tests.support.failures import assert_each

SURVEY = load_model("response/zhou2019_survey")  # its value is 0.83
BID = load_model("auction/misreported_bid")
REFUTED = {"verdict": "refuted", "reason": "because"}


def checked(model, **claim):
    return check_model(changed(model, claims=(Claim(**{**REFUTED, **claim}),)))


@pytest.mark.parametrize("witness", [{"found": 0.83}, {"found": 0.8}])
def test_a_number_is_found_again_to_the_digits_that_are_written(witness):
    assert checked(SURVEY, quantity="value", value=0.9, witness=witness).passed


@pytest.mark.parametrize(
    ("witness", "text"),
    [
        ({"found": 0.831}, "its witness states found = 0.831; recomputed 0.83"),
        ({"found": 0.9}, "its witness states found = 0.9; recomputed 0.83"),
        ({"found": 1}, "its witness states found = 1; recomputed 0.83"),
        ({"found": "0.83"}, "its witness states found = 0.83"),
        ({"found": [0.83]}, "its witness states found = [0.83]"),
        ({"fuond": 0.83}, "its witness names 'fuond', which is not there; name one of found"),
        ({"kept_answers": 1}, "does not refute it; write witness = { found = 0.83 }"),
    ],
)
def test_a_witness_that_is_not_found_again_fails_the_check(witness, text):
    check = checked(SURVEY, quantity="value", value=0.9, witness=witness)
    assert not check.passed
    assert text in check.problems[0]
    assert "EXPECTED: its witness" in overview([check])
    assert "every verdict as recorded" not in overview([check])


def test_a_rounded_number_that_no_longer_refutes_is_no_witness():
    assert not checked(SURVEY, quantity="value", value=0.84, relation="<=", witness={"found": 0.83}).passed
    text = checked(SURVEY, quantity="value", value=0.8299, relation="<=", witness={"found": 0.8}).problems[0]
    assert "does not refute it; write witness = { found = 0.83 }" in text


def test_the_deviation_of_a_certificate_is_found_again():
    claim = {"quantity": "certificate.truthfulness", "value": True, "method": "published"}
    assert checked(BID, **claim, witness={"user": 2, "reported_tasks": [0], "gain": 2.0}).passed
    for wrong in ({"user": 3}, {"user": 2, "gain": 1.9}, {"user": 2.1}, {"reported_tasks": [0, 1]}):
        assert "its witness states" in checked(BID, **claim, witness=wrong).problems[0]
    assert "recomputed False" not in checked(BID, **claim, witness={"found": False}).problems[0]
    assert "'found', which is not there" in checked(BID, **claim, witness={"found": False}).problems[0]


def test_a_trend_is_refuted_by_the_points_that_break_it():
    model = changed(SURVEY, sweep={"delta": (0.0, 0.15, 0.5)})  # 0.8, 0.83, 0.9
    claim = {"quantity": "value", "relation": "decreasing"}
    assert checked(model, **claim, witness={"points": [0.0, 0.15], "found": [0.8, 0.83]}).passed
    for wrong, text in [
        ({"points": [0.0, 0.15], "found": [0.83, 0.8]}, "does not refute it"),
        ({"points": [0.0], "found": [0.8]}, "does not refute it"),
        ({"points": [0.0, 0.15], "found": [0.8]}, "does not refute it"),
        ({"found": [0.8, 0.83]}, "does not refute it"),
        ({"points": [0.0, 0.1], "found": [0.8, 0.83]}, "delta = 0.1, which is not in the sweep"),
        ({"points": [0.0, 0.15], "found": [0.8, 0.85]}, "its witness states 0.85 at delta = 0.15"),
    ]:
        assert text in checked(model, **claim, witness=wrong).problems[0]


def test_a_trend_that_needs_all_points_is_not_refuted_by_some():
    claim = Claim("value", relation="u-shaped", over="epsilon", **REFUTED)
    assert not refutes(changed(claim, witness={"points": [1, 2, 3], "found": [3.0, 1.0, 2.0]}))
    assert refutes(changed(claim, witness={"points": [1, 2, 3], "found": [3.0, 2.0, 1.0]}))


def test_a_verdict_that_flips_is_told_before_its_witness():
    check = checked(SURVEY, quantity="value", value=0.83, tolerance=1e-9, witness={"found": 0.83})
    assert "recorded as refuted" in check.problems[0]


@pytest.mark.parametrize(
    ("recorded", "found", "same"),
    [
        (0.1, 0.1499, True),
        (0.1, 0.1501, False),
        (1.25e-05, 1.2549e-05, True),
        (1.25e-05, 1.256e-05, False),
        (2.0, 2.04, True),
        (2, 2.04, False),
        (2, 2.0, True),
        ("inf", float("inf"), True),
        ("inf", 1e300, False),
        (True, 1, False),
        ([1.0, [2.0]], [1.01, [2.01]], True),
        ([1.0, 2.0], [1.0], False),
        ("all", "all", True),
        ("all", "none", False),
    ],
)
def test_digits(recorded, found, same):
    assert agrees(recorded, found) is same


def test_what_to_write_is_suggested():
    result = checked(SURVEY, quantity="value", value=0.9).claims[0]
    assert result.lacks_witness
    assert result.as_dict()["suggested_witness"] == "witness = { found = 0.83 }"
    series = Series("epsilon", (1.0, 2.0), (0.123456789, 0.1))
    trend = Claim("value", relation="increasing", **REFUTED)
    assert suggested(trend, {"found": series}) == (
        "witness = { points = [1.0, 2.0], found = [0.12346, 0.1] }"
    )


def test_a_claim_that_holds_has_no_witness():
    with pytest.raises(ParameterError, match=r"^witness: is for refuted claims"):
        Claim("value", 0.83, witness={"found": 0.83})
    with pytest.raises(ParameterError, match=r"^instead: is for refuted claims"):
        Claim("value", 0.83, instead="another")
    with pytest.raises(ParameterError, match=r"^witness: is not a table"):
        Claim("value", 0.9, witness=0.83, **REFUTED)


def test_a_bad_witness_in_a_file_is_one_line(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        '[model]\ntitle = "own"\nproblem = "randomized-response"\n[parameters]\nprior = [0.2, 0.8]\n'
        'epsilon = 0.1\n[[claim]]\nquantity = "value"\nvalue = 0.83\nwitness = { found = 0.8 }\n'
    )
    with pytest.raises(ModelFileError, match=r"\[claim 1\] witness: is for refuted claims"):
        load_model(str(path))


def carries_its_witnesses(slug):
    model = load_model(slug)
    for number, claim in enumerate(model.claims):
        if claim.verdict != "refuted" or claim.is_in_words:
            continue
        over = {"over": claim.over or next(iter(model.sweep))} if claim.is_trend else {}
        place = f"{slug}, claim {number + 1} ({claim.quantity}): 'check --json' prints the witness to write"
        assert refutes(changed(claim, **over)), place
        assert claim.reason.strip(), place


def test_every_refuted_claim_of_a_shipped_model_carries_its_witness():
    assert_each({slug: partial(carries_its_witnesses, slug) for slug in models()})


def test_figures_name_the_certificate_of_the_claim_only():
    check = check_model(BID)
    solution = check.comparison.runs[0]
    claim = Claim("certificate.coverage", True)
    assert "gain" not in figures_of(claim, True, solution)
    assert lost(claim, {}) == ""


def test_a_recorded_point_stands_for_the_one_that_rounds_to_it():
    claim = Claim(
        "value",
        relation="increasing",
        over="epsilon",
        verdict="refuted",
        reason="it falls",
        witness={"points": [0.69315, 1.3863], "found": [0.9, 0.8]},
    )
    found = Series("epsilon", (math.log(2), math.log(4)), (0.9, 0.8))
    assert lost(claim, {"found": found}) == ""
    other = Series("epsilon", (0.7, math.log(4)), (0.9, 0.8))
    assert "which is not in the sweep" in lost(claim, {"found": other})
