"""The sources item by item, for documentation, terminal and programs."""

from __future__ import annotations

import json
import re
import runpy
from functools import cache
from pathlib import Path

from mechdesign.cli import main
from mechdesign.papers.claims.sources import Item, sources, tally
from mechdesign.papers.shown.sources import (
    OUTCOMES,
    counted,
    items_page,
    outcome,
    overview_page,
    place_text,
    source_rows,
    verdict_text,
)
from mechdesign.papers.shown.statements import escaped

DOCS = Path(__file__).parents[2] / "docs"
PLACES = ("counts", "overview", "items")


@cache
def page() -> str:
    return items_page(sources())


def sections() -> dict[str, list[list[str]]]:
    """Return the cells of the table of each section of the page, by heading."""
    found = {}
    for part in page().split("## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")][1:]
        found[part.splitlines()[0]] = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
        ]
    return found


def test_the_page_has_a_row_for_every_item():
    tables = list(sections().values())
    assert [len(rows) for rows in tables] == [len(found.items) for found in sources()]
    for rows, found in zip(tables, sources(), strict=True):
        assert [row[0] for row in rows] == [escaped(place_text(item)) for item in found.items]
        assert {len(row) for row in rows} == {4}
        assert all(row[1] and row[2] for row in rows), "a title and a verdict"


def test_verdicts_are_those_of_the_claims():
    rows = [row for rows in sections().values() for row in rows]
    items = [item for found in sources() for item in found.items]
    for row, item in zip(rows, items, strict=True):
        refuted = re.match(r"(?:\d+ holds?, )?(\d+) refuted", row[2])
        assert (int(refuted[1]) if refuted else 0) == tally(item).printed.get("refuted", 0), item.place
        assert (row[2].split(":")[0] in ("described", "not checked")) == (not item.claims), item.place
        assert item.claims or row[2] == f"{escaped(item.verdict)}: {escaped(item.why)}"


def test_verdicts_in_words():
    def text(**claims):
        return verdict_text(Item("theorem", "theorem 1", "x", claims=claims))

    irregular = "contract/irregular"
    assert text(**{irregular: ("theorem 4.3.12",)}) == "1 refuted"
    assert (
        text(
            **{
                irregular: (
                    "theorem 4.3.12",
                    "ironing: H/lambda = (1, 102, 2.201) pools types 2 and 3",
                )
            }
        )
        == "1 refuted; derived here: 1 holds"
    )
    assert text(**{irregular: ("lemma 4.3.10",)}) == "1 not decidable here; derived here: 1 holds"
    assert text(**{"contract/own_item": ("eq. (4.23)", "lemma 4.3.8")}) == "1 holds, 1 not decidable here"


def test_the_numbers_add_up():
    found = sources()
    items = [item for each in found for item in each.items]
    text = counted(found)
    assert text.startswith(f"{len(items)} items of {len(found)} sources: ")
    kinds = text.partition(": ")[2].partition(". ")[0].split(", ")
    assert sum(int(kind.split()[0]) for kind in kinds) == len(items)
    last = overview_page(found).splitlines()[-1]
    numbers = [int(cell) for cell in last.strip("| ").split(" | ")[1:]]
    assert numbers[0] == sum(numbers[1:]) == len(items)
    assert len(numbers) == 1 + len(OUTCOMES)
    assert "2 corollaries" in text


def test_the_page_of_the_documentation_has_a_place_for_them_and_is_linked():
    text = (DOCS / "papers" / "sources.md").read_text(encoding="utf-8")
    assert [text.count(f"<!-- {place} -->") for place in PLACES] == [1, 1, 1]
    assert "(papers/sources.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert "(../papers/sources.md)" in (DOCS / "reference" / "python.md").read_text(encoding="utf-8")


def test_the_build_puts_them_in_their_page_and_in_no_other():
    put = runpy.run_path(str(DOCS / "conf.py"))["add_sources"]
    own, other = ["<!-- counts --> <!-- overview --> <!-- items -->"], ["<!-- items -->"]
    put(None, "papers/sources", own)
    put(None, "papers/findings", other)
    assert own == [f"{counted(sources())} {overview_page(sources())} {page()}"]
    assert other == ["<!-- items -->"]


def test_in_the_terminal(capsys):
    assert main(["sources"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    for found in sources():
        row = next(line.split() for line in text.splitlines() if line.startswith(found.cite))
        assert [int(cell) for cell in row[1:]] == [
            len(found.items),
            *(sum(outcome(item) == key for item in found.items) for key in OUTCOMES),
        ]
    assert counted(sources()) in " ".join(text.split())
    assert main(["sources", "zhou2019"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    heads = re.findall(r"^(figure \d|theorem \d): ", text, re.MULTILINE)
    assert heads.count("theorem 1") == 1
    assert [head for head in heads if head.startswith("figure")] == [f"figure {n}" for n in range(1, 9)]


def test_for_programs(capsys):
    assert main(["sources", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == source_rows(sources())
    assert len(rows) == sum(len(found.items) for found in sources())
    assert all(row["claims"] or row["why"] for row in rows)
    assert {row["outcome"] for row in rows} <= set(OUTCOMES)
    assert {"holds", "refuted", "not-decidable", "derived", "described"} <= {row["outcome"] for row in rows}
    assert main(["sources", "chu2022", "--json"]) == 0
    assert {row["source"] for row in json.loads(capsys.readouterr().out)} == {"chu2022"}


def test_an_unknown_source_is_one_line(capsys):
    assert main(["sources", "liu"]) == 2
    assert capsys.readouterr().err.startswith("mechdesign: source: no 'liu'; ")
