"""The links of Markdown pages: where they point, and whether that is there. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.documents import ROOT, pages

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```\s*?$", re.DOTALL | re.MULTILINE)
OUTSIDE = ("http://", "https://", "mailto:")
NAMED = re.compile(
    r"(?<![\w/.-])(?:benchmarks|docs|examples|models|tests)/[\w/.-]+\.(?:bib|md|py|svg|toml)\b"
)
"""A file of the checkout, called by its path."""

DEEPEST = 3
"""The documentation gives headings an anchor down to this level (``myst_heading_anchors``)."""


def linked_pages() -> list[Path]:
    """Return README, the documentation, and the other pages for readers of the checkout."""
    return [
        *pages(),
        *(ROOT / name for name in ("CONTRIBUTING.md", "examples/README.md", "models/README.md")),
    ]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings: lower case, hyphens for spaces, no punctuation."""
    found = {text for level, text in HEADING.findall(prose(page)) if len(level) <= DEEPEST}
    return {re.sub(r"[^\w\s-]", "", text.lower()).replace(" ", "-") for text in found}


def broken(page: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a page, and with the files that it calls by their paths."""
    for target in LINK.findall(CODE.sub("", prose(page))):
        if target.startswith(OUTSIDE):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: no such heading"
    for name in NAMED.findall(prose(page)):
        if not (ROOT / name).exists() and not (page.parent / name).exists():
            yield f"{name}: named, and not there"
