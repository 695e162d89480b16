"""Findings: every refuted claim once, with its witness, for the documentation, the terminal and programs."""

from __future__ import annotations

import json
import re
import runpy
from functools import cache
from pathlib import Path

import pytest

from mechdesign.catalog import Claim, load_model, models
from mechdesign.catalog.bibliography import bibliography
from mechdesign.cli import main
from mechdesign.report.findings import Finding, escaped, findings, findings_page, findings_text

DOCS = Path(__file__).parents[2] / "docs"
ENTRY = re.compile(r"^- \*\*(\S+), claim (\d+)\*\*", re.MULTILINE)


@cache
def refuted() -> list[tuple[str, int, Claim]]:
    """Return model, number and claim of all refuted claims, read without the report."""
    return [
        (slug, number, claim)
        for slug in models()
        for number, claim in enumerate(load_model(slug).claims, 1)
        if claim.verdict == "refuted"
    ]


@cache
def page_of_all() -> str:
    return findings_page(findings())


def test_the_page_has_every_refuted_claim_exactly_once():
    page = page_of_all()
    listed = [(slug.replace("\\", ""), int(number)) for slug, number in ENTRY.findall(page)]
    assert len(refuted()) > 100
    assert sorted(listed) == sorted((slug, number) for slug, number, _ in refuted())


def test_every_entry_says_where_what_witness_and_why():
    entries = dict(zip(ENTRY.findall(page_of_all()), _entries(page_of_all()), strict=True))
    for slug, number, claim in refuted():
        text = entries[escaped(slug), str(number)]
        assert escaped(claim.reason) in text
        assert escaped(claim.where) in text
        assert escaped(claim.instead) in text
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


@pytest.mark.parametrize("slug", models())
def test_the_source_of_a_claim_is_in_the_bibliography(slug):
    assert {claim.cite for claim in load_model(slug).claims} <= {"", *bibliography()}


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
    assert (DOCS / "findings.md").read_text(encoding="utf-8").count("<!-- findings -->") == 1
    assert "(findings.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert "(docs/findings.md)" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_build_puts_them_in_their_page_and_in_no_other():
    put = runpy.run_path(str(DOCS / "conf.py"))["add_findings"]
    page, other = ["before <!-- findings --> after"], ["<!-- findings -->"]
    put(None, "findings", page)
    put(None, "index", other)
    assert page == [f"before {page_of_all()} after"]
    assert other == ["<!-- findings -->"]


def test_texts_are_shown_as_they_are():
    assert escaped("q*(1-p*) < x_1 $2^18$ [a|b] `c`") == (r"q\*(1-p\*) \< x\_1 \$2\^18\$ \[a\|b\] \`c\`")


def test_in_the_terminal(capsys):
    assert main(["findings", "contract"]) == 0
    text = capsys.readouterr().out
    number = sum(slug.startswith("contract/") for slug, _, _ in refuted())
    assert text.count("    claim ") == number
    assert f"{number} refuted claims of" in text
    assert "theta = 1, own_item = 0, better_item = 2, gain = 1.9061" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    assert findings_text([]).endswith("0 refuted claims of 0 models; mechdesign check MODEL finds them again")


def test_for_programs(capsys):
    assert main(["findings", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["claim"]) for row in rows] == [
        (finding.model.slug, finding.number) for finding in findings()
    ]
    assert all(row["witness"] and row["reason"] and row["command"].endswith(row["model"]) for row in rows)


def test_an_unknown_family_is_one_line(capsys):
    assert main(["findings", "nothing"]) == 2
    assert capsys.readouterr().err == (
        "mechdesign: findings: no models in family 'nothing'; mechdesign list shows all\n"
    )
