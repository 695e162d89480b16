"""The documentation is ordered by task: what people look for is found; the first page says for whom it is."""

from __future__ import annotations

import re

import pytest

from tests.support.documents import ROOT
from tests.support.links import HEADING, LINK, prose

DOCS = ROOT / "docs"
TASKS = ("start", "tutorials", "howto")
"""The rooms of those who want to do something."""

SEARCHED = (
    "second wave",
    "compare groups",
    "multiple choice",
    "sample size",
    "auction",
    "words that people type",
)

ROOMS = {*TASKS, "explanation", "families", "papers", "reference", "project"}


def pages(*rooms: str) -> list:
    return sorted(page for room in rooms for page in (DOCS / room).glob("*.md"))


@pytest.mark.parametrize(
    "query", ["cross table", "pandas", "smartphone", "quantile", "median", "histogram", *SEARCHED]
)
def test_a_page_for_tasks_has_the_words_that_people_search_for(query):
    """The search of the site finds pages with all words, by their beginnings; pages for tasks come first."""
    found = [
        page for page in pages(*TASKS) if all(word in page.read_text().lower() for word in query.split())
    ]
    assert found
    if query in ("cross table", "quantile", "median", "histogram"):
        assert [page for page in found if query in HEADING.findall(prose(page))[0][1].lower()]


def test_the_search_puts_pages_for_tasks_before_modules():
    text = (DOCS / "_static" / "scorer.js").read_text(encoding="utf-8")
    bonus = dict(re.findall(r'\["([a-z/]+)", (-?\d+)\]', text))
    assert {f"{room}/" for room in TASKS} < set(bonus)
    assert min(int(bonus[f"{room}/"]) for room in TASKS) > 0 > int(bonus["reference/generated/"])


def test_every_page_is_in_a_room():
    rooms = {page.relative_to(DOCS).parts[0] for page in DOCS.rglob("*.md") if "_build" not in page.parts}
    assert rooms == {*ROOMS, "index.md"}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_screen_says_for_whom_it_is_not_with_the_measured_difference(page):
    first = (ROOT / page).read_text(encoding="utf-8").partition("\n## ")[0]
    assert "already hold" in first
    assert "OpenDP" in first
    (stated,) = re.findall(r"about (\d+) times", " ".join(first.split()))
    measured = (DOCS / "start" / "is_it_right.md").read_text(encoding="utf-8")
    (times,) = re.findall(r"^ +10,000 .* (\d+) times as large$", measured, re.MULTILINE)
    assert int(stated) == round(int(times), -1), "as the page that measures it shows"


def test_the_first_page_has_four_doors():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    doors = text.partition("{container} doors")[2].partition("::::")[0]
    assert len(LINK.findall(doors)) == 4


@pytest.mark.parametrize("page", pages("families"), ids=lambda page: page.stem)
def test_a_page_of_mathematics_says_first_how_to_use_it(page):
    paragraph = page.read_text(encoding="utf-8").split("\n\n")[1]
    assert paragraph.startswith("*This page is the mathematics.")
    assert any(target.startswith(("../howto/", "../tutorials/")) for target in LINK.findall(paragraph))


def test_the_guide_names_every_problem_of_the_toolkit_that_is_for_a_task():
    from mechdesign.families import problem_classes

    text = (DOCS / "start" / "which_problem.md").read_text(encoding="utf-8")
    assert [name for name in problem_classes() if f"`{name}`" not in text] == []
