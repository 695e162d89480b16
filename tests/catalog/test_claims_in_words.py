"""Claims in words, readings that were tried, and the verdicts that a quantity alone does not give."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mechdesign.catalog import load_model
from mechdesign.catalog.shipped import models_folder
from mechdesign.core.errors import ModelFileError, ParameterError
from mechdesign.core.values import changed
from mechdesign.papers.claims import Claim, check_model
from mechdesign.papers.claims.check import claim_line
from mechdesign.papers.claims.claim import MISPRINT, UNCHECKED, UNDECIDED
from mechdesign.papers.claims.reading import read_claims

SURVEY = load_model("response/zhou2019_survey")  # its value is 0.83
WORDS = {"text": "the optimum is a vertex", "evidence": ["families/response.md#vertices"]}
REFUTED = {"quantity": "value", "value": 0.9, "verdict": "refuted", "reason": "it is 0.83"}


def checked(**claim):
    return check_model(changed(SURVEY, claims=(Claim(**claim),)))


def test_a_claim_in_words_keeps_its_verdict_and_computes_nothing():
    check = checked(**WORDS, where="section 3")
    assert check.passed
    assert check.claims[0].verdict == "holds"
    assert check.claims[0].shown == "-"
    assert "the optimum is a vertex (paper, section 3): holds" in check.text()
    assert claim_line(Claim(**WORDS)) == "the optimum is a vertex (paper; holds)"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ({"text": "a vertex"}, "evidence: a claim in words needs one"),
        ({"text": " "}, "quantity: is missing"),
        ({**WORDS, "value": 3}, "value: is for claims about a quantity"),
        ({**WORDS, "at": {"epsilon": 1.0}}, "at: is for claims about a quantity"),
        ({**WORDS, "evidence": "families/mean.md"}, "evidence: the evidence is not a list"),
        ({**WORDS, "evidence": ["I saw it"]}, "evidence: 'I saw it' is not evidence"),
        ({**WORDS, "verdict": "refuted"}, "reason: a refuted claim needs one"),
        ({**WORDS, "verdict": MISPRINT, "reason": "no"}, "instead: a misprint needs one"),
        ({**WORDS, "verdict": UNDECIDED, "reason": "lost"}, "decided_by: a claim that is not decidable"),
        ({"text": "fast", "verdict": UNCHECKED}, "reason: a claim that is not checked needs one"),
        ({**WORDS, "verdict": UNCHECKED, "reason": "no"}, "evidence: is for claims with a verdict"),
        ({"quantity": "value", "value": 1, "verdict": UNCHECKED}, "'not-checked' is for claims in words"),
        ({"quantity": "value", "value": 1, "stated": "lost"}, "stated: is lost, so that the source"),
        ({"quantity": "value", "value": 1, "stated": 2, "origin": "derived"}, "the origin is 'derived'"),
        ({"quantity": "value", "value": 1, "beside": {"a": 3}}, "beside: is not a table of quantities"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(claim, text):
    with pytest.raises(ParameterError, match=re.escape(text)):
        Claim(**claim)


def test_a_misprint_is_computed_as_refuted_and_is_not_called_so():
    claim = {**REFUTED, "verdict": MISPRINT, "instead": "0.83", "witness": {"found": 0.83}}
    check = checked(**claim)
    assert check.passed
    assert check.claims[0].verdict == MISPRINT
    found = checked(**{**claim, "value": 0.83, "tolerance": 1e-9})
    assert not found.passed
    assert found.claims[0].verdict == "holds"


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        ({"text": "as it stands", "outcome": "refuted"}, ""),
        ({"text": "as it stands", "outcome": "refuted", "found": 0.83}, ""),
        (
            {"text": "as it stands", "outcome": "refuted", "found": 0.84},
            "states found = 0.84; recomputed 0.83",
        ),
        ({"text": "at least", "outcome": "refuted", "relation": ">=", "value": 0.9}, ""),
        ({"text": "without delta", "outcome": "refuted", "at": {"delta": 0.0}, "found": 0.8}, ""),
        (
            {"text": "to a tenth", "outcome": "refuted", "tolerance": 0.1},
            "in the reading 'to a tenth' it is holds, recorded as refuted",
        ),
        ({"text": "by hand", "outcome": "refuted", "evidence": ["source: section 2"]}, ""),
    ],
)
def test_the_readings_of_a_refuted_claim_are_computed(reading, text):
    check = checked(**REFUTED, readings=[reading], witness={"found": 0.83})
    assert check.passed == (not text)
    assert text in "".join(check.problems)


def test_a_claim_in_words_may_have_a_reading_that_is_computed():
    reading = {
        "text": "at least 0.9",
        "outcome": "refuted",
        "quantity": "value",
        "relation": ">=",
        "value": 0.9,
    }
    claim = {**WORDS, "verdict": "refuted", "reason": "no", "readings": [reading]}
    assert checked(**claim).passed
    assert not checked(**{**claim, "readings": [{**reading, "value": 0.8}]}).passed


@pytest.mark.parametrize(
    ("readings", "text"),
    [
        (
            [{"text": "small delta", "outcome": "holds"}],
            "'small delta' holds, and then the claim is not refuted",
        ),
        ([{"text": "small delta"}], "'None' is not an outcome of 'small delta'"),
        ([{"outcome": "refuted"}], "a reading needs its text"),
        ([{"text": "a", "outcome": "refuted", "vlaue": 3}], "unknown key 'vlaue'"),
        ([{"text": "a", "outcome": "refuted"}, {"text": "b", "outcome": "refuted"}], "compute the same"),
        ([{"text": "a", "outcome": "refuted", "value": "x", "relation": "<="}], "readings: 'a': relation"),
        (
            [{"text": "a", "outcome": "refuted", "value": 1, "evidence": ["source: x"]}],
            "has evidence and a quantity",
        ),
    ],
)
def test_readings_that_make_no_sense_are_refused(readings, text):
    with pytest.raises(ParameterError, match=re.escape(text)):
        Claim(**REFUTED, readings=readings)


def test_a_file_with_a_refuted_statement_without_readings_is_refused():
    with pytest.raises(ModelFileError, match="a refuted claim of the source needs them"):
        read_claims(Path("x.toml"), [REFUTED])
    assert read_claims(Path("x.toml"), [{**REFUTED, "origin": "derived"}])
    with pytest.raises(ModelFileError, match=r"\[claim 1\] readings: 'as printed' has no outcome"):
        read_claims(Path("x.toml"), [{**REFUTED, "readings": ["as printed"]}])
    assert read_claims(
        Path("x.toml"), [{**REFUTED, "readings": [{"text": "as printed", "outcome": "refuted"}]}]
    )


def test_the_examples_of_the_page_on_model_files_are_claims():
    page = (models_folder() / "README.md").read_text(encoding="utf-8")
    block = page.split("One example of each:")[1].split("```toml")[1].split("```")[0]
    claims = read_claims(Path("README.md"), tomllib.loads(block)["claim"])
    assert {claim.verdict for claim in claims} == {"holds", "refuted", MISPRINT, UNDECIDED, UNCHECKED}
    assert any(claim.is_in_words for claim in claims)
    assert any(claim.stated == "lost" for claim in claims)
    assert any(claim.beside for claim in claims)
