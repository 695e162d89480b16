"""The tables of statements of a source: what they name as a claim is one of the models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mechdesign.catalog import load_model, models

DOCS = Path(__file__).parents[2] / "docs"
TABLES = {"papers/marginals_statements.md": "marginals", "families/auction.md": "auction"}
HEAD = "| statement | claim | verdict |"
NAME = re.compile(r"`([^`]+)`")


def rows(page: str) -> list[list[str]]:
    """Return the cells of all tables of statements of a page."""
    found = []
    for block in (DOCS / page).read_text(encoding="utf-8").split(HEAD)[1:]:
        lines = block.strip("\n").split("\n\n")[0].split("\n")[1:]
        found += [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return found


def claims_of(family: str) -> dict[str, set[str]]:
    """Return the quantities that are claimed, by model; without a prefix where it has one."""
    named = {}
    for slug in models(family):
        quantities = {claim.quantity for claim in load_model(slug).claims}
        name = slug.removeprefix(f"{family}/")
        named[name] = named[name.removeprefix("zhang2019_")] = quantities
    return named


@pytest.mark.parametrize("page", TABLES)
def test_every_row_names_claims_that_exist_or_says_why_there_is_none(page):
    claims = claims_of(TABLES[page])
    table = rows(page)
    assert len(table) > 20
    for row in table:
        assert len(row) == 3, row
        text = row[1]
        if text.startswith("none: "):
            continue
        current: set[str] = set()
        names = NAME.findall(text)
        assert names, f"no claim and no reason: {row}"
        for name in names:
            if name in claims:
                current = claims[name]
            else:
                assert name in current | {"published", "thesis-rule"}, f"{name}: {row}"


@pytest.mark.parametrize("page", TABLES)
def test_every_refuted_statement_has_a_refuted_claim(page):
    """A verdict 'refuted' in the table is one that check finds in a model of that row."""
    family = TABLES[page]
    refuted: dict[str, set[str]] = {}
    for slug in models(family):
        found = {claim.quantity for claim in load_model(slug).claims if claim.verdict == "refuted"}
        name = slug.removeprefix(f"{family}/")
        refuted[name] = refuted[name.removeprefix("zhang2019_")] = found
    for statement, claim, verdict in rows(page):
        if not re.search(r"\brefuted\b", verdict):
            continue
        named = NAME.findall(claim)
        models_named = [name for name in named if name in refuted]
        assert any(refuted[model] & set(named) for model in models_named), (statement, verdict)
