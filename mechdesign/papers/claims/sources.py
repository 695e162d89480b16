"""The items of the sources, ``models/sources/*.toml``: each with its place in the software and its verdict.

An item is a numbered theorem, definition, problem, algorithm, table or figure of a source, or an experiment
or a component (a mechanism, protocol or method). Its verdict is not written down: it is counted from the
claims of the models that speak of it. An item without such a claim says why it has none.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

from mechdesign.catalog.shipped import SOURCES, models, models_folder, read_toml
from mechdesign.core.errors import ModelFileError, UnknownNameError, suggestion
from mechdesign.papers.claims.claim import Claim
from mechdesign.papers.claims.findings import WORST, Finding, Statement, cited_by, claims_of, statements_of
from mechdesign.papers.claims.recorded import recorded_document

KINDS = (
    *("theorem", "lemma", "corollary", "property", "definition", "problem", "observation"),
    *("algorithm", "table", "figure", "experiment", "component"),
)
"""What an item can be; the first ten are numbered in their source."""

UNNUMBERED = ("experiment", "component")
"""Kinds of items that have a section for their place."""

UNCLAIMED = ("described", "not checked")
"""Verdicts of items without a claim: nothing is stated that could fail, or it is and no claim checks it."""

ALL = "*"
"""In place of words: every claim of a model."""

METHOD = "method "
"""Words that begin so are the name of a method: the claims about its solution."""

SOURCE_KEYS = ("cite", "note", "sections", "bare", "complete", "item")
COMPLETE_KEYS = ("kinds", "numbers")


@dataclass(frozen=True)
class Item:
    """One item of a source.

    Attributes
    ----------
    kind, place, title : str
        ``theorem``, ``theorem 2``, a few words. The place of an experiment or a component is a section.
    section : str
        The number of the section that it stands in, or empty where the copy has lost the headings.
    claims : mapping
        Model to words: the claims of the model whose ``where`` has these words speak of the item. ``"*"`` is
        every claim of the model, ``"method lasso"`` those about the solution of a method.
    models : sequence of str
        Further models, whose claims do not count.
    problems, methods, mechanisms, operations, pages : sequence of str
        Where it is in the software: ``mean-interval``, ``mean-interval/published``, ``censoring-interval``,
        ``joint-response/remember``, ``families/mean.md#methods``.
    verdict, why : str
        Only of an item without a claim: one of ``UNCLAIMED``, and the reason.
    """

    kind: str
    place: str
    title: str
    section: str = ""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    verdict: str = ""
    why: str = ""

    @property
    def number(self) -> str:
        """The place without the kind: ``6.13`` of ``figure 6.13``."""
        return self.place.removeprefix(f"{self.kind} ")

    @property
    def all_models(self) -> tuple[str, ...]:
        """The models that the item names, each once."""
        return tuple(dict.fromkeys([*self.claims, *self.models]))

    def reached(self) -> Iterator[tuple[str, int, Claim]]:
        """Yield model, number (from 1) and claim of the claims that speak of this item."""
        for finding in self.findings():
            yield finding.model.slug, finding.number, finding.claim

    def findings(self) -> Iterator[Finding]:
        """Yield the claims that speak of this item, with their models."""
        for slug, phrases in self.claims.items():
            for finding in claims_of(slug):
                if any(speaks_of(finding.claim, words) for words in phrases):
                    yield finding

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of this item: claims that are points of one statement are one."""
        return statements_of(self.findings())

    @cached_property
    def tally(self) -> VerdictTally:
        """The numbers of its statements by verdict."""
        return tally_of(self.statements)


@dataclass(frozen=True)
class VerdictTally:
    """Numbers of statements by verdict: first those of the source, then our own."""

    printed: Mapping[str, int]
    own: Mapping[str, int]

    @property
    def outcome(self) -> str:
        """The worst that is known of the source's statements; ``derived`` where all are our own."""
        if not self.printed:
            return "derived" if self.own else "none"
        return next(verdict for verdict in WORST if self.printed.get(verdict))


@dataclass(frozen=True)
class SourceDocument:
    """A source with all its items.

    Attributes
    ----------
    cite : str
        Its key in the bibliography.
    items : sequence of Item
    complete : mapping
        Kinds to the numbers that items of these kinds have in the source, all of them.
    sections : sequence of str
        Its sections, as far as the copy has their headings.
    bare : mapping
        The sections without an item, and why they have none.
    note : str
        What is special about the inventory of this source.
    """

    cite: str
    items: tuple[Item, ...]
    complete: Mapping[tuple[str, ...], tuple[str, ...]]
    sections: tuple[str, ...] = ()
    bare: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def tally(item: Item) -> VerdictTally:
    """Count the verdicts of the statements that an item makes.

    Examples
    --------
    >>> theorem = next(item for item in source("liu2023").items if item.place == "theorem 1")
    >>> tally(theorem).outcome
    'holds'
    """
    return item.tally


def tally_of(statements: Iterable[Statement]) -> VerdictTally:
    """Count the verdicts of statements, those of a source and our own."""
    printed: dict[str, int] = {}
    own: dict[str, int] = {}
    for statement in statements:
        counts = printed if statement.is_printed else own
        counts[statement.verdict] = counts.get(statement.verdict, 0) + 1
    return VerdictTally(printed, own)


def statements_on(cite: str) -> list[Statement]:
    """Return the statements of a source and those that were tried on it, in the order of the source.

    They are what the claims say of which the items of the source speak, and then those of its other claims.

    Examples
    --------
    >>> len(statements_on("zhou2019")) > 30
    True
    """
    listed = [item for found in sources() if found.cite == cite for item in found.items]
    found = [finding for item in listed for finding in item.findings()]
    citing = [slug for slug in models() if cite in cited_by(slug)]
    found += [finding for slug in citing for finding in claims_of(slug) if finding.cite == cite]
    return statements_of(dict.fromkeys(found))


def speaks_of(claim: Claim, words: str) -> bool:
    """Tell whether the place of a claim has these words, whole: ``table 1`` is not in ``table 10``.

    Examples
    --------
    >>> speaks_of(Claim("value", 1.0, where="table 10, row 2"), "table 1")
    False
    """
    if words == ALL:
        return True
    if words.startswith(METHOD):
        return claim.method == words.removeprefix(METHOD)
    if words not in claim.where:
        return False
    return re.search(rf"(?<![\w.]){re.escape(words)}(?!\w|\.\d)", claim.where) is not None


def spanned(text: str) -> list[str]:
    """Return the numbers of a range; a single number and a name stand for themselves.

    Examples
    --------
    >>> spanned("6.1-6.3"), spanned("2.1.2"), spanned("LPRC-OTPM")
    (['6.1', '6.2', '6.3'], ['2.1.2'], ['LPRC-OTPM'])
    """
    first, _, last = text.partition("-")
    if not last or not text[0].isdigit():
        return [text]
    head, dot, low = first.rpartition(".")
    tail, _, high = last.rpartition(".")
    if head != tail or not (low.isdigit() and high.isdigit()) or int(low) >= int(high):
        raise ModelFileError("numbers", f"'{text}' is not a range", "write '6.1-6.14'")
    return [f"{head}{dot}{number}" for number in range(int(low), int(high) + 1)]


@cache
def sources() -> tuple[SourceDocument, ...]:
    """Return the sources that are listed item by item.

    Examples
    --------
    >>> [found.cite for found in sources()]
    ['chu2022', 'liu2023', 'wang2022', 'zhang2019', 'zhou2019']
    """
    paths = sorted((models_folder() / SOURCES).glob("*.toml"))
    return tuple(parse(path.stem, recorded_document(path, partial(read_toml, path))) for path in paths)


def source(cite: str) -> SourceDocument:
    """Return one of the sources by its key.

    Raises
    ------
    UnknownNameError
        For another key, with a suggestion.
    """
    known = {found.cite: found for found in sources()}
    if cite not in known:
        raise UnknownNameError(
            "source", f"no '{cite}'; {suggestion(cite, known)}", "mechdesign sources lists them"
        )
    return known[cite]


def parse(name: str, document: Mapping[str, Any]) -> SourceDocument:
    """Return a source from its file's content; any other key is an error that names it."""
    _check_keys(name, document, SOURCE_KEYS)
    items = tuple(_item(f"{name}: item {number}", entry) for number, entry in enumerate(document["item"], 1))
    complete: dict[tuple[str, ...], tuple[str, ...]] = {}
    for table in document.get("complete", []):
        _check_keys(f"{name}: [[complete]]", table, COMPLETE_KEYS)
        numbers = [number for text in table["numbers"] for number in spanned(text)]
        complete[tuple(table["kinds"])] = tuple(numbers)
    return SourceDocument(
        cite=str(document["cite"]),
        items=items,
        complete=complete,
        sections=tuple(number for text in document.get("sections", []) for number in spanned(text)),
        bare=dict(document.get("bare", {})),
        note=str(document.get("note", "")),
    )


def _item(where: str, entry: Mapping[str, Any]) -> Item:
    fields = [known.name for known in dataclasses.fields(Item)]
    _check_keys(where, entry, fields)
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    given["claims"] = {slug: tuple(words) for slug, words in entry.get("claims", {}).items()}
    for key in ("kind", "place", "title"):
        if not given.get(key):
            raise ModelFileError(f"{where}: {key}", "is missing", "give one")
    item = Item(**given)
    where = f"{where} ({item.place})"
    for value, choices in ((item.kind, KINDS), (item.verdict, ("", *UNCLAIMED))):
        if value not in choices:
            raise UnknownNameError(where, f"'{value}' is not a choice", suggestion(value, choices))
    claimed = bool(item.claims)
    if any(bool(text) == claimed for text in (item.verdict, item.why)):
        what = "its claims give the verdict; drop verdict and why" if claimed else "give verdict and why"
        raise ModelFileError(where, what)
    return item


def _check_keys(where: str, found: Mapping[str, Any], known: tuple[str, ...] | list[str]) -> None:
    for key in found:
        if key not in known:
            raise UnknownNameError(where, f"unknown key '{key}'", suggestion(key, known))


def loose_claims(cites: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Return the printed claims of these sources that no item speaks of: model, number and place.

    Parameters
    ----------
    cites : mapping
        Keys of the bibliography to a pattern: a claim of another source whose place has it counts as well.
    """
    reached = {
        (slug, number) for found in sources() for item in found.items for slug, number, _ in item.reached()
    }
    loose = []
    for finding in (each for slug in models() for each in claims_of(slug)):
        claim, place = finding.claim, (finding.model.slug, finding.number)
        its = any(finding.cite == key or re.search(words, claim.where) for key, words in cites.items())
        if claim.is_printed and its and place not in reached:
            loose.append((*place, claim.where))
    return loose
