"""Every item of the sources with its verdict and its place in the software: for terminal, page and programs.

The page of the documentation and the command ``mechdesign sources`` are made from the same list; the verdicts
are counted from the claims of the models, and nothing is solved.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.claim import MISPRINT, UNCHECKED, UNDECIDED
from mechdesign.papers.claims.sources import KINDS, UNCLAIMED, UNNUMBERED, Item, SourceDocument, tally
from mechdesign.papers.shown.statements import escaped, tally_text, verdict_words
from mechdesign.show.tables import table

PLURALS = {"corollary": "corollaries", "property": "properties"}

OUTCOMES = {
    "holds": "all hold",
    "refuted": "refuted",
    MISPRINT: "misprint",
    UNDECIDED: "not decidable",
    "derived": "derived here",
    **{word: word for word in UNCLAIMED},
}
"""The column of an item in an overview, by its outcome."""


def outcome(item: Item) -> str:
    """Return a key of ``OUTCOMES``: the worst verdict of an item's statements, or that it makes none."""
    found = item.verdict or tally(item).outcome
    return verdict_words(found) if found == UNCHECKED else found


def verdict_text(item: Item) -> str:
    """Return the verdict of an item in words.

    Examples
    --------
    >>> verdict_text(Item("table", "table 1", "symbols", verdict="described", why="a list"))
    'described: a list'
    """
    if item.verdict:
        return f"{item.verdict}: {item.why}"
    return tally_text(tally(item))


def place_text(item: Item) -> str:
    """Return the place of an item, with the kind of what has no number: ``section 2.3 (experiment)``."""
    return f"{item.place} ({item.kind})" if item.kind in UNNUMBERED else item.place


def counted(found: Sequence[SourceDocument]) -> str:
    """Return in a sentence or two how many items there are, of which kinds, and with which verdicts."""
    items = [item for each in found for item in each.items]
    by_kind = {kind: sum(item.kind == kind for item in items) for kind in KINDS}
    kinds = ", ".join(_number(count, kind) for kind, count in by_kind.items() if count)
    by_outcome = {key: sum(outcome(item) == key for item in items) for key in OUTCOMES}
    claimed = sum(by_outcome[key] for key in OUTCOMES if key not in UNCLAIMED)
    return (
        f"{_number(len(items), 'item')} of {_number(len(found), 'source')}: {kinds}. "
        f"{claimed} of them make statements: of {by_outcome['holds']} every statement of the source holds, "
        f"of {by_outcome['refuted']} at least one is refuted, of {by_outcome[MISPRINT]} at least one is a "
        f"misprint and none refuted, of {by_outcome[UNDECIDED]} at least one is not decidable here and none "
        f"worse, and of {by_outcome['derived']} all statements were derived here. "
        f"{by_outcome['described']} are described and state nothing to check, and "
        f"{by_outcome['not checked']} are not checked, with the reason."
    )


def _number(count: int, word: str) -> str:
    return f"{count} {word if count == 1 else PLURALS.get(word, word + 's')}"


def overview(found: Sequence[SourceDocument], width: int | None = None) -> str:
    """Return a table of sources, how many items each has by outcome, and the same in words."""
    header, *rows = _overview(found)
    return "\n".join([table(header, rows), "", *_filled(counted(found), width, "", "")])


def _overview(found: Sequence[SourceDocument]) -> list[list[str]]:
    rows = [_row(each.cite, each.items) for each in found]
    every = _row("all", [item for each in found for item in each.items])
    return [["source", "items", *OUTCOMES.values()], *rows, every]


def _row(name: str, items: Sequence[Item]) -> list[str]:
    outcomes = [outcome(item) for item in items]
    return [name, str(len(items)), *(str(outcomes.count(key)) for key in OUTCOMES)]


def source_text(found: SourceDocument, width: int | None = None) -> str:
    """Return the items of a source for a terminal: place and title, then the verdict, then the software."""
    lines = [*_filled(reference(found), width, ""), *_filled(found.note, width, ""), ""]
    for item in found.items:
        lines += _filled(f"{place_text(item)}: {item.title}", width, "")
        lines += _filled(verdict_text(item), width, "  ")
        where = "; ".join(f"{name} {', '.join(names)}" for name, names in software(item).items())
        lines += _filled(where, width, "  ") if where else []
    return "\n".join(lines)


def software(item: Item) -> dict[str, tuple[str, ...]]:
    """Return where an item is in the software, by what it is there; without what it is not."""
    places = {
        "models": item.all_models,
        "problems": item.problems,
        "methods": item.methods,
        "mechanisms": item.mechanisms,
        "operations": item.operations,
        "pages": item.pages,
    }
    return {
        name.removesuffix("s") if len(names) == 1 else name: names for name, names in places.items() if names
    }


def reference(found: SourceDocument) -> str:
    """Return authors, year and title of a source."""
    return str(bibliography()[found.cite])


def source_rows(found: Iterable[SourceDocument]) -> list[dict[str, Any]]:
    """Return the JSON objects of ``mechdesign sources --json``, one an item."""
    return [
        {
            "source": each.cite,
            "kind": item.kind,
            "place": item.place,
            "title": item.title,
            "section": item.section,
            "outcome": outcome(item),
            "why": item.why,
            "claims": [
                {"model": slug, "claim": number, "origin": claim.origin, "verdict": claim.verdict}
                for slug, number, claim in item.reached()
            ],
            "models": list(item.all_models),
            **{
                name: list(getattr(item, name))
                for name in ("problems", "methods", "mechanisms", "operations", "pages")
            },
        }
        for each in found
        for item in each.items
    ]


def items_page(found: Iterable[SourceDocument]) -> str:
    """Return all items as Markdown: a section with a table for each source."""
    parts = []
    for each in found:
        parts += [f"## {escaped(reference(each))}", escaped(each.note)]
        head = ["| item | what | verdict | in the software |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *map(_line, each.items)]))
    return "\n\n".join(parts) + "\n"


def overview_page(found: Sequence[SourceDocument]) -> str:
    """Return the table of sources by outcome as Markdown."""
    header, *rows = _overview(found)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(item: Item) -> str:
    places = []
    for name, names in software(item).items():
        text = map(_link if name.startswith("page") else _code, names)
        places.append(f"{name} {', '.join(text)}")
    cells = [escaped(place_text(item)), escaped(item.title), escaped(verdict_text(item)), "; ".join(places)]
    return f"| {' | '.join(cells)} |"


def _code(name: str) -> str:
    return f"`{name}`"


def _link(page: str) -> str:
    stem = page.partition("#")[0].removesuffix(".md").rpartition("/")[2]
    return f"[{stem.replace('_', ' ')}](../{page})"  # from docs/papers


def _filled(text: str, width: int | None, indent: str, hanging: str = "  ") -> list[str]:
    if width is None:
        return [indent + text]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
