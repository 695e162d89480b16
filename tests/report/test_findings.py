"""Findings: every refuted and every undecided claim once, for documentation, terminal and programs."""

from __future__ import annotations

import json
import re
import runpy
from functools import cache, partial
from pathlib import Path

import pytest

from mechdesign.catalog import load_model, models
from mechdesign.cli import main
from mechdesign.papers.claims import Claim
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.claim import UNDECIDED
from mechdesign.papers.claims.findings import (
    Finding,
    counted,
    escaped,
    findings,
    findings_page,
    findings_text,
    statements,
    undecided_page,
)
from tests.support.failures import assert_each

DOCS = Path(__file__).parents[2] / "docs"
REFUTED = {"verdict": "refuted", "reason": "no"}
ENTRY = re.compile(r"^- \*\*(\S+), claim (\d+)\*\*", re.MULTILINE)


@cache
def refuted(verdict: str = "refuted") -> list[tuple[str, int, Claim]]:
    """Return model, number and claim of all claims of a verdict, read without the report."""
    return [
        (slug, number, claim)
        for slug in models()
        for number, claim in enumerate(load_model(slug).claims, 1)
        if claim.verdict == verdict
    ]


@cache
def page_of_all() -> str:
    return findings_page(findings())


@cache
def page_of_undecided() -> str:
    return undecided_page(findings(verdict=UNDECIDED))


@pytest.mark.parametrize(
    ("page", "verdict", "least"), [(page_of_all, "refuted", 70), (page_of_undecided, UNDECIDED, 50)]
)
def test_the_page_has_every_claim_of_a_verdict_exactly_once(page, verdict, least):
    listed = [(slug.replace("\\", ""), int(number)) for slug, number in ENTRY.findall(page())]
    assert len(refuted(verdict)) > least
    assert sorted(listed) == sorted((slug, number) for slug, number, _ in refuted(verdict))


def test_every_undecided_entry_says_why_what_would_decide_it_and_what_was_tried():
    entries = dict(zip(ENTRY.findall(page_of_undecided()), _entries(page_of_undecided()), strict=True))
    for slug, number, claim in refuted(UNDECIDED):
        text = entries[escaped(slug), str(number)]
        assert f"*Why it cannot be decided:* {escaped(claim.reason)}." in text
        assert f"*Decided by:* {escaped(claim.decided_by)}." in text
        assert f"*As read here:* {claim.outcome}" in text
        assert all(escaped(reading) in text for reading in claim.readings)
        assert "*Witness:*" not in text


def has_its_readings(slug):
    """Of every printed claim that is refuted and of every one that is undecided: a sentence at least."""
    for number, claim in enumerate(load_model(slug).claims, 1):
        if claim.verdict == UNDECIDED or (claim.verdict == "refuted" and claim.origin == "paper"):
            assert claim.readings, f"{slug}, claim {number}"
            assert all(len(reading) > 15 for reading in claim.readings), f"{slug}, claim {number}"
            assert len(set(claim.readings)) == len(claim.readings), f"{slug}, claim {number}"


def test_the_most_charitable_readings_are_recorded():
    assert_each({slug: partial(has_its_readings, slug) for slug in models()})


def test_claims_that_refute_one_statement_count_once():
    def of(number, **given):
        return Finding(
            load_model("response/zhou2019_survey"), number, Claim("value", 0.9, **REFUTED, **given)
        )

    rule, other = {"statement": "the rule"}, {"statement": "another"}
    assert statements([of(1), of(2)]) == 2
    assert statements([of(1, **rule), of(2, **rule), of(3, **other)]) == 2
    assert statements([of(1, **rule), of(2, cite="duchi2018", **rule)]) == 2, "of two sources"
    assert counted([of(1, **rule), of(2, **rule), of(3, origin="derived")], [of(4)]) == (
        "1 statement of the sources is refuted, and 1 that was tried here only, by 3 claims of 1 model; "
        "1 statement is not decidable here (1 claim)"
    )
    one_rule = [found for found in findings("contract") if found.claim.statement.startswith("theorem 4.3.12")]
    assert len({found.model.slug for found in one_rule}) > 1
    assert statements(one_rule) == 1


def test_every_entry_says_where_what_witness_and_why():
    entries = dict(zip(ENTRY.findall(page_of_all()), _entries(page_of_all()), strict=True))
    for slug, number, claim in refuted():
        text = entries[escaped(slug), str(number)]
        assert escaped(claim.reason) in text
        assert escaped(claim.where) in text
        assert escaped(claim.instead) in text
        assert all(escaped(reading) in text for reading in claim.readings)
        assert "*Witness:*" in text
        assert "none recorded" not in text


def _entries(page: str) -> list[str]:
    return [text.split("\n\n")[0] for text in page.split("\n- ")[1:]]


def test_sources_are_those_of_the_bibliography_and_each_has_one_section():
    page = page_of_all()
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert set(headings) <= {escaped(str(entry)) for entry in bibliography().values()}
    assert {finding.cite for finding in findings()} <= set(bibliography())


def has_sources(slug):
    assert {claim.cite for claim in load_model(slug).claims} <= {"", *bibliography()}


def test_the_source_of_a_claim_is_in_the_bibliography():
    assert_each({slug: partial(has_sources, slug) for slug in models()})


def test_a_claim_of_another_source_stands_there():
    model = load_model("response/zhou2019_survey")
    claim = Claim("value", 0.9, verdict="refuted", reason="no", cite="duchi2018", where="section 3")
    own = Finding(model, 1, claim)
    other = Finding(model, 2, Claim("value", 0.8, verdict="refuted", reason="no", origin="derived"))
    page = findings_page([own, other])
    assert page.index("Duchi") < page.index("claim 1") < page.index("Zhou") < page.index("claim 2")
    assert page.count("tried here, not printed in the source") == 1
    assert "none recorded" in page


def test_the_page_of_the_documentation_has_a_place_for_them_and_is_linked():
    text = (DOCS / "papers" / "findings.md").read_text(encoding="utf-8")
    assert [text.count(f"<!-- {place} -->") for place in ("counts", "findings", "undecided")] == [1, 1, 1]
    assert "(papers/findings.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert "(docs/papers/findings.md)" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_build_puts_them_in_their_page_and_in_no_other():
    put = runpy.run_path(str(DOCS / "conf.py"))["add_findings"]
    page, other = ["<!-- counts -->, <!-- findings -->, <!-- undecided -->"], ["<!-- findings -->"]
    put(None, "papers/findings", page)
    put(None, "index", other)
    numbers = counted(findings(), findings(verdict=UNDECIDED))
    assert page == [f"{numbers}., {page_of_all()}, {page_of_undecided()}"]
    assert other == ["<!-- findings -->"]


def test_texts_are_shown_as_they_are():
    assert escaped("q*(1-p*) < x_1 $2^18$ [a|b] `c`") == (r"q\*(1-p\*) \< x\_1 \$2\^18\$ \[a\|b\] \`c\`")


def test_in_the_terminal(capsys):
    assert main(["findings", "contract"]) == 0
    text = capsys.readouterr().out
    number, left = (
        sum(slug.startswith("contract/") for slug, _, _ in refuted(verdict))
        for verdict in ("refuted", UNDECIDED)
    )
    assert left > 0
    above, below = text.split("Not decidable here:")
    assert (above.count("    claim "), below.count("    claim ")) == (number, left)
    assert f"by {number} claims of" in " ".join(below.split())
    assert f"not decidable here ({left} claim{'s' * (left > 1)})" in " ".join(below.split())
    assert "theta = 1, own_item = 0, better_item = 2, gain = 1.9061" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    assert findings_text([]).endswith("by 0 claims of 0 models; mechdesign check MODEL finds them again")


def test_for_programs(capsys):
    assert main(["findings", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    both = [*findings(), *findings(verdict=UNDECIDED)]
    assert [(row["model"], row["claim"]) for row in rows] == [
        (finding.model.slug, finding.number) for finding in both
    ]
    assert all(row["reason"] and row["command"].endswith(row["model"]) for row in rows)
    assert all(row["witness"] for row in rows if row["verdict"] == "refuted")
    assert all(row["decided_by"] and row["outcome"] for row in rows if row["verdict"] == UNDECIDED)
    assert {row["verdict"] for row in rows} == {"refuted", UNDECIDED}


def test_an_unknown_family_is_one_line(capsys):
    assert main(["findings", "nothing"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "mechdesign: findings: no family 'nothing'; known: auction, contract, deployed, incentives"
    )
    assert said.count("\n") == 1
