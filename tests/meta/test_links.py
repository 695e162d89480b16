"""Links between the pages and to files of the checkout lead somewhere; every family says what holds."""

from __future__ import annotations

import re

import pytest

from mechdesign.families import families, problem_classes
from tests.support.documents import ROOT
from tests.support.links import HEADING, LINK, anchors, broken, linked_pages, prose

FAMILIES = [family.__name__.rpartition(".")[2] for family in families()]


@pytest.mark.parametrize("page", linked_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert list(broken(page)) == []


def test_there_are_links_to_check():
    assert sum(len(LINK.findall(prose(page))) for page in linked_pages()) > 100


def test_a_broken_link_is_found(tmp_path):
    other = tmp_path / "other.md"
    other.write_text("# Title\n\n## What's new, in `2`\n\n```\n# no heading\n```\n")
    assert anchors(other) == {"title", "whats-new-in-2"}
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#whats-new-in-2) [b](other.md#no-heading) [c](gone.md) ![d](gone.svg) `[x](y)`\n"
        "[e](https://example.org/gone) [f](#here) examples/99_gone.py tests/test_examples.py\n\n"
        "```\n[g](gone.md)\n```\n\n## Here\n"
    )
    assert list(broken(page)) == [
        "other.md#no-heading: no such heading",
        "gone.md: no such file",
        "gone.svg: no such file",
        "examples/99_gone.py: named, and not there",
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_says_what_its_sources_claim_and_what_holds(family):
    found = [
        heading
        for room in ("families", "papers")
        for page in sorted((ROOT / "docs" / room).glob(f"{family}*.md"))
        for _, heading in HEADING.findall(prose(page))
        if re.search(r"(claim|state).* holds?$", heading)
    ]
    assert found


def test_the_first_page_leads_to_every_page_of_the_documentation():
    first = ROOT / "docs" / "index.md"
    entries = re.findall(r"^([a-z]+/[\w*]+)$", first.read_text(encoding="utf-8"), re.MULTILINE)
    new = [first, *(page for entry in entries for page in sorted(first.parent.glob(f"{entry}.md")))]
    reached = set(new)
    while new:
        page = new.pop()
        for target in LINK.findall(prose(page)):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.is_relative_to(ROOT / "docs") and file not in reached:
                reached.add(file)
                new.append(file)
    wanted = {page for page in linked_pages() if page.is_relative_to(ROOT / "docs")}
    assert wanted <= reached, sorted(str(page.relative_to(ROOT)) for page in wanted - reached)


@pytest.mark.parametrize("problem", problem_classes().values(), ids=list(problem_classes()))
def test_the_reference_names_every_problem(problem):
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert f"`~{problem.__module__}.{problem.__name__}`" in text
