"""A letter to the authors of a source: what holds, what does not, and what could not be decided, and why.

It is made from the claims of the models, and nothing is solved for it. A statement counts once, however many
points of it were checked.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from mechdesign.catalog.shipped import models
from mechdesign.core.errors import UnknownNameError, counted as number_of, suggestion
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.claim import MISPRINT, UNCHECKED, UNDECIDED
from mechdesign.papers.claims.findings import WORST, Statement, cited_by, findings, statements_of
from mechdesign.papers.claims.sources import UNNUMBERED, Item, sources, statements_on, tally
from mechdesign.papers.shown.findings import HEADINGS
from mechdesign.papers.shown.statements import escaped

MOST_COMMANDS = 3
"""Commands that repeat one entry; further models are counted."""


PREDICATES = {
    "holds": ("holds", "hold"),
    "refuted": ("does not hold as stated", "do not hold as stated"),
    MISPRINT: ("looks like a misprint", "look like misprints"),
    UNDECIDED: ("could not be decided", "could not be decided"),
}
"""What one statement, or several, of a verdict do."""


@dataclass(frozen=True)
class LetterEntry:
    """A statement in a letter: its place and words, and lines with a label each."""

    title: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LetterSection:
    """A part of a letter: its heading, a paragraph, and its entries."""

    heading: str
    opening: str
    entries: tuple[LetterEntry, ...] = ()


@dataclass(frozen=True)
class Letter:
    """What is to be said to the authors of a source.

    Attributes
    ----------
    cite : str
        The key of the source.
    items : sequence of Item
        What the source has; none for a source that is not listed item by item.
    statements : sequence of Statement
        Those of the source, and what was tried on it.
    """

    cite: str
    items: tuple[Item, ...]
    statements: tuple[Statement, ...]
    places: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Authors, year and title of the source."""
        return str(bibliography()[self.cite])

    def of(self, verdict: str, own: bool = False) -> list[Statement]:
        """Return the statements of a verdict: of the source, or those that are our ``own``."""
        return [each for each in self.statements if each.verdict == verdict and each.is_printed != own]

    @property
    def counts(self) -> str:
        """How many statements were checked, and with which result, in two sentences."""
        printed = [each for each in self.statements if each.is_printed]
        points = sum(len(each.judged) for each in printed)
        unchecked = len(self.of(UNCHECKED)) + len(self.unchecked_items)
        numbered = [(len(self.of(verdict)), *words) for verdict, words in PREDICATES.items()]
        numbers = [f"{number} {one if number == 1 else many}" for number, one, many in numbered if number]
        judged = len(printed) - len(self.of(UNCHECKED))
        were = "was" if judged == 1 else "were"
        text = f"{number_of(judged, 'statement')} {were} judged: {', '.join(numbers)}."
        text += f" {unchecked} {'was' if unchecked == 1 else 'were'} not checked." if unchecked else ""
        return f"{text} A statement counts once, however many of its points were computed ({points} in all)."

    @property
    def unchecked_items(self) -> list[Item]:
        """The items that state something that no claim decides."""
        return [item for item in self.items if item.verdict == "not checked"]

    @property
    def opening(self) -> str:
        """The first paragraph."""
        return (
            "Dear authors, we have gone through your text statement by statement, and recomputed what can be "
            "computed. Where a sentence can be read in several ways, the reading most favorable to it was "
            "tried first. Each entry names the command that repeats it. We may have misread you: then a "
            "sentence from you is enough to put it right."
        )

    def sections(self) -> list[LetterSection]:
        """Return the parts of the letter that are not empty."""
        refuted, misprints, undecided = (self.of(verdict) for verdict in ("refuted", MISPRINT, UNDECIDED))
        tried = self.of("refuted", own=True)
        unchecked = [
            LetterEntry(self._title(each), (("Why", each.first.claim.reason),)) for each in self.of(UNCHECKED)
        ]
        unchecked += [
            LetterEntry(f"{item.place}: {item.title}", (("Why", item.why),)) for item in self.unchecked_items
        ]
        parts = [
            LetterSection("What holds", self._holding()),
            LetterSection(
                "What does not hold as stated",
                "None of the readings that were tried makes these true. Most entries say what holds instead.",
                tuple(map(self._refuted, refuted)),
            ),
            LetterSection(
                "What looks like a misprint",
                "The derivation around these has another formula, and with it they are right.",
                tuple(map(self._misprint, misprints)),
            ),
            LetterSection(
                "What could not be decided",
                "These depend on something that was not at hand; each entry says what would decide it.",
                tuple(map(self._undecided, undecided)),
            ),
            LetterSection(
                "What was not checked", "These could be decided, and nothing here does.", tuple(unchecked)
            ),
            LetterSection(
                "What was tried beside",
                "The text does not state these; a reader might expect them, and they fail.",
                tuple(map(self._refuted, tried)),
            ),
        ]
        return [part for part in parts if part.entries or part.heading == "What holds"]

    def _holding(self) -> str:
        """Return the items all of whose statements hold, then those of which a part does, as a paragraph."""
        tallies = [(item, tally(item)) for item in self.items]
        whole = [item.place for item, counts in tallies if counts.outcome == "holds"]
        part = [
            f"{item.place} ({counts.printed['holds']} of {sum(counts.printed.values())})"
            for item, counts in tallies
            if counts.outcome != "holds" and counts.printed.get("holds")
        ]
        number = number_of(len(self.of("holds")), "statement")
        texts = [f"{number} of the text {'holds' if number.startswith('1 ') else 'hold'}."]
        texts += [f"All that was checked holds in: {', '.join(dict.fromkeys(whole))}."] if whole else []
        texts += [f"Some of what was checked holds in: {', '.join(dict.fromkeys(part))}."] if part else []
        own = len(self.of("holds", own=True))
        if own:
            follow = (
                "statement that follows from the text, or was tried on it, holds"
                if own == 1
                else ("statements that follow from the text, or were tried on it, hold")
            )
            texts.append(f"Besides, {own} {follow}.")
        return " ".join(texts)

    def place(self, statement: Statement) -> str:
        """Return the item of the source that a statement stands in, or an empty text."""
        return self.places.get((statement.first.model.slug, statement.first.number), "")

    def _title(self, statement: Statement) -> str:
        return title_of(self.place(statement), statement).replace(f"{self.cite}, ", "")

    def _refuted(self, statement: Statement) -> LetterEntry:
        claim = statement.first.claim
        computed = statement.first.witness if claim.witness else ""
        lines = [("What was computed", computed), ("Why", claim.reason), _readings(statement)]
        return _entry(self._title(statement), statement, lines)

    def _misprint(self, statement: Statement) -> LetterEntry:
        return _entry(self._title(statement), statement, [("Why", statement.first.claim.reason)])

    def _undecided(self, statement: Statement) -> LetterEntry:
        claim = statement.first.claim
        figures = f", {statement.first.witness}" if claim.witness else ""
        lines = [("Why", claim.reason), ("What would decide it", claim.decided_by)]
        lines += [
            ("As read here", f"{claim.outcome}{figures}" if claim.outcome else ""),
            _readings(statement),
        ]
        return _entry(self._title(statement), statement, lines)


def title_of(place: str, statement: Statement) -> str:
    """Return a statement with the item that it stands in, unless it begins so itself."""
    name = statement.name
    return f"{place}: {name}" if place and not name.startswith(place) else name


def _readings(statement: Statement) -> tuple[str, str]:
    return "Readings tried", "; ".join(map(str, statement.first.claim.reading_records))


def _entry(title: str, statement: Statement, lines: list[tuple[str, str]]) -> LetterEntry:
    """Return an entry: its place and what is compared, these lines, then what holds and what shows it."""
    claim = statement.first.claim
    first = [("Where", "" if statement.name == claim.where else claim.where)]
    if not claim.is_in_words and not claim.text:
        first.append(("What was compared", statement.first.statement))
    every = [*first, *lines, *_ending(statement)]
    return LetterEntry(title, tuple((label, text) for label, text in every if text))


def _ending(statement: Statement) -> list[tuple[str, str]]:
    """Return the last lines of an entry: how many points, what holds instead, what shows it."""
    verdict = statement.verdict
    deciding = statement.deciding(verdict)
    lines = [("What holds instead", statement.first.claim.instead)]
    if len(statement.judged) > 1:
        lines.append(("Points", f"{len(deciding)} of {len(statement.judged)} that were checked"))
    models = list(dict.fromkeys(point.model.slug for point in deciding if not point.claim.is_in_words))
    shown = [f"mechdesign check {slug}" for slug in models[:MOST_COMMANDS]]
    if len(models) > MOST_COMMANDS:
        shown.append(f"and {number_of(len(models) - MOST_COMMANDS, 'model')} more")
    return [*lines, ("Shown by", ", ".join([*shown, *statement.evidence]))]


def letter(cite: str) -> Letter:
    """Return the letter to the authors of a source: one that is listed item by item, or that claims cite.

    Raises
    ------
    UnknownNameError
        For a source that no model has a claim of.

    Examples
    --------
    >>> letter("zhou2019").title
    'Yihui Zhou, Laifeng Lu, Zhenqiang Wu (2019). Study on utility optimization ...'
    """
    items = next((document.items for document in sources() if document.cite == cite), ())
    statements = tuple(statements_on(cite))
    if not statements:
        raise UnknownNameError("findings", f"no source '{cite}'", suggestion(cite, citation_keys()))
    places: dict[tuple[str, int], str] = {}
    for item in sorted(items, key=lambda item: item.kind in UNNUMBERED):
        for finding in item.findings():
            places.setdefault((finding.model.slug, finding.number), item.place)
    return Letter(cite, items, statements, places)


def citation_keys() -> list[str]:
    """Return the keys of all sources that claims are about, first those that are listed item by item."""
    listed = [document.cite for document in sources()]
    others = {cite for slug in models() for cite in cited_by(slug)} & set(bibliography())
    return list(dict.fromkeys([*listed, *sorted(others)]))


def letter_text(message: Letter, width: int | None = None) -> str:
    """Return a letter for a terminal."""
    lines = [
        *_filled(message.title, width),
        "",
        *_filled(message.counts, width),
        "",
        *_filled(message.opening, width),
    ]
    for section in message.sections():
        number = f" ({len(section.entries)})" if section.entries else ""
        lines += ["", f"{section.heading}{number}", "", *_filled(section.opening, width)]
        for place, entry in enumerate(section.entries, 1):
            lines += ["", *_filled(f"{place}. {entry.title}", width, "", "   ")]
            for label, text in entry.lines:
                lines += _filled(f"{label}: {text}", width, "   ", "     ")
    return "\n".join(lines)


def letter_page(message: Letter, level: int = 2) -> str:
    """Return a letter as Markdown, its sections under headings of this level."""
    parts = [escaped(message.counts), escaped(message.opening)]
    for section in message.sections():
        parts += [f"{'#' * level} {section.heading}", escaped(section.opening)]
        parts += _items(section)
    return "\n\n".join(parts) + "\n"


def _items(section: LetterSection) -> list[str]:
    return [_item(place, entry) for place, entry in enumerate(section.entries, 1)]


def _item(place: int, entry: LetterEntry) -> str:
    lines = [f"{place}. **{escaped(entry.title)}**"]
    lines += [f"   - *{label}:* {escaped(text)}" for label, text in entry.lines]
    return "\n".join(lines)


OVERVIEW = ("source", "statements", "hold", "do not hold", "misprints", "not decidable", "not checked")
"""The columns of the table of sources."""


def overview_page(letters: Sequence[Letter]) -> str:
    """Return a table of sources, and under it a line for each statement that does not hold, as Markdown."""
    lines = [f"| {' | '.join(OVERVIEW)} |", "|---" * len(OVERVIEW) + "|"]
    for each in letters:
        name, *numbers = overview_row(each)
        lines.append(f"| {' | '.join([f'[{escaped(each.title)}](findings_{name}.md)', *numbers])} |")
    parts = ["\n".join(lines)]
    for each in letters:
        failing = [*each.of("refuted"), *each.of(MISPRINT)]
        if failing:
            parts.append(f"### {escaped(each.title)}")
            parts.append("\n".join(f"- {escaped(_brief(each, statement))}" for statement in failing))
    return "\n\n".join(parts) + "\n"


def overview_row(message: Letter) -> list[str]:
    """Return the key of a source, and the numbers of its statements: all, then by verdict."""
    counts = {verdict: len(message.of(verdict)) for verdict in WORST}
    counts[UNCHECKED] += len(message.unchecked_items)
    order = ("holds", "refuted", MISPRINT, UNDECIDED, UNCHECKED)
    return [message.cite, str(sum(counts.values())), *(str(counts[verdict]) for verdict in order)]


def _brief(message: Letter, statement: Statement) -> str:
    """Return a statement that does not hold, and what holds instead, as one line."""
    text = title_of(message.place(statement), statement)
    text += " (misprint)" if statement.verdict == MISPRINT else ""
    instead = statement.first.claim.instead
    return f"{text}. Instead: {instead}." if instead else f"{text}."


def others_page(level: int = 2) -> str:
    """Return what does not hold, or could not be decided, of sources without a page, as Markdown."""
    listed = [letter(document.cite) for document in sources()]
    known = {point for each in listed for statement in each.statements for point in statement.points}
    left = [each for verdict in HEADINGS for each in findings(verdict=verdict) if each not in known]
    parts = []
    for cite in sorted({finding.cite for finding in left}):
        own = Letter(cite, (), tuple(statements_of(each for each in left if each.cite == cite)))
        parts.append(f"{'#' * level} {escaped(own.title)}")
        for section in own.sections():
            if section.entries:
                parts += [f"{'#' * (level + 1)} {section.heading}", *_items(section)]
    return "\n\n".join(parts) + "\n"


def _filled(text: str, width: int | None, indent: str = "", hanging: str = "") -> list[str]:
    if width is None:
        return [indent + text]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=hanging or indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
