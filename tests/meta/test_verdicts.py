"""Verdicts on sources stand in claims only: tables of pages are printed from them, not written by hand."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from mechdesign.catalog import models
from mechdesign.core.errors import ParameterError
from mechdesign.papers.claims.evidence import kind_of_evidence
from mechdesign.papers.claims.findings import claims_of
from mechdesign.papers.shown.blocks import BLOCK, OVERVIEW, with_tables
from tests.support.documents import ROOT, pages
from tests.support.failures import assert_each
from tests.support.links import FENCED, anchors

DOCS = ROOT / "docs"
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
WORDS = re.compile(
    r"^\W*(holds?|derived here|not checked)\b|\b(?<!not )(refuted|misprints?|not decidable)\b|[\s:]holds?$"
)
"""A verdict in a cell: at its beginning or end, or a word that nothing else is called by."""


def rows_by_hand(text: str) -> list[str]:
    """Return the rows with a verdict of the tables of a page that are not printed from claims."""
    rows = ROW.findall(BLOCK.sub("", OVERVIEW.sub("", FENCED.sub("", text))))
    return [row for row in rows if any(WORDS.search(cell.strip()) for cell in CELL.split(row)[1:-1])]


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS)) if page.is_relative_to(DOCS) else page.name


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_tables_of_claims_are_those_of_the_models(page):
    """To correct them: ``python -m tests.documented_outputs --update --claims``."""
    text = page.read_text(encoding="utf-8")
    assert with_tables(text) == text
    assert len(re.findall("^<!-- claims", text, re.MULTILINE)) == len(BLOCK.findall(text)), (
        "a comment is not understood"
    )


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_verdict_is_written_by_hand(page):
    assert not rows_by_hand(page.read_text(encoding="utf-8"))


TABLE = """
| statement | verdict |
|---|---|
| theorem 1 | {} |
"""


@pytest.mark.parametrize(
    ("cell", "is_one"),
    [
        ("holds", True),
        ("**refuted**: 0.7", True),
        ("a misprint", True),
        ("not checked: lost", True),
        ("two rows: hold", True),
        ("who holds the data", False),
        ("a property, whether it holds, how", False),
    ],
)
def test_a_verdict_by_hand_is_found(cell, is_one):
    assert bool(rows_by_hand(TABLE.format(cell))) is is_one
    assert not rows_by_hand(f"<!-- claims in mean -->{TABLE.format(cell)}<!-- end of claims -->")


def test_a_table_of_claims_is_written_between_its_comments():
    page = (
        "Text\n<!-- claims of zhou2019 in response at eq. (4) -->\nformer row\n<!-- end of claims -->\nText\n"
    )
    new = with_tables(page)
    assert "former row" not in new
    assert new.count("\n| ") > 1
    assert with_tables(new) == new
    assert new.startswith("Text\n<!-- claims of zhou2019 in response at eq. (4) -->\n| statement |")
    ours = with_tables(page.replace(" at eq. (4)", " with ours"))
    assert "derived here" in ours
    assert "derived here" not in with_tables(page.replace(" at eq. (4)", ""))


@pytest.mark.parametrize("head", ["in nothing", "of nobody2020", "in response at theorem 99"])
def test_a_table_of_nothing_is_an_error(head):
    with pytest.raises(ParameterError, match="claims: no "):
        with_tables(f"<!-- claims {head} -->\n<!-- end of claims -->")


def has_its_evidence(slug):
    """Pages, headings, tests and models that claims and their readings name exist."""
    for finding in claims_of(slug):
        readings = [piece for reading in finding.claim.reading_records for piece in reading.evidence]
        for piece in (*finding.claim.evidence, *readings):
            kind, place = kind_of_evidence("evidence", piece), f"{slug}, claim {finding.number}: {piece}"
            if kind == "page":
                page, _, heading = piece.partition("#")
                assert (DOCS / page).is_file(), place
                assert not heading or heading in anchors(DOCS / page), place
            if kind == "test":
                path, _, name = piece.partition("::")
                assert (ROOT / path).is_file(), place
                assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), place
            if kind == "command":
                named = re.findall(r"\b[a-z]+/\w+\b(?!\.)", piece)
                assert set(named) <= set(models()), place


def test_evidence_exists():
    assert_each({slug: partial(has_its_evidence, slug) for slug in models()})
