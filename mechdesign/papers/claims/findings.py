"""Findings: what the shipped models refute, by source, and apart what cannot be decided; nothing is solved.

Several claims may refute one statement of a source, each on other data: such a statement counts once.

All of it is what ``mechdesign check`` finds again: a verdict or a witness that it does not find fails
the check. The page of the documentation and the command ``mechdesign findings`` are made from the same list.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mechdesign.catalog.load import load_model
from mechdesign.catalog.model import Model
from mechdesign.catalog.shipped import models
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.check import decided_text, stated, subject
from mechdesign.papers.claims.claim import UNDECIDED, VERDICT_WORDS, Claim
from mechdesign.papers.claims.witness import witness_text

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#$~|^])")
"""Characters that Markdown or mathematics in it would take for its own."""


@dataclass(frozen=True)
class Finding:
    """A claim that is refuted or not decidable: its model, its place among the model's claims (from 1), it.

    Attributes
    ----------
    model : Model
    number : int
    claim : Claim
    """

    model: Model
    number: int
    claim: Claim

    @property
    def cite(self) -> str:
        """The key of the source: the claim's own or the model's."""
        return self.claim.cite or str(self.model.source.get("cite", ""))

    @property
    def source(self) -> str:
        """Authors, year and title of the source, or its key where the bibliography does not have it."""
        reference = bibliography().get(self.cite)
        return str(reference) if reference else self.cite

    @property
    def over(self) -> str | None:
        """The swept parameter of a trend."""
        return self.claim.over or next(iter(self.model.sweep)) if self.claim.is_trend else None

    @property
    def statement(self) -> str:
        """Statement with its subject: ``static_left at generator = redrawn: stated <= 0.5``."""
        if self.claim.is_in_words:
            return self.claim.text
        return f"{subject(self.claim)}: stated {stated(self.claim, self.over)}"

    @property
    def witness(self) -> str:
        """The figures that refute it, as text."""
        return witness_text(self.claim.witness, self.over)

    @property
    def counted_as(self) -> tuple[str, ...]:
        """Key that is equal for claims that count as one: their source and statement, else their place."""
        words = self.claim.statement
        return (self.cite, words) if words else (self.cite, self.model.slug, str(self.number))

    @property
    def command(self) -> str:
        """The command that finds it again."""
        return f"mechdesign check {self.model.slug}"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``mechdesign findings --json``."""
        claim = self.claim.as_dict()
        keys = ("quantity", "relation", "value", "at", "method", "origin", "where", "witness", "verdict")
        return {
            "source": self.cite,
            "model": self.model.slug,
            "claim": self.number,
            **{key: claim[key] for key in keys},
            "outcome": self.claim.expected,
            "over": self.over,
            "reason": self.claim.reason,
            "instead": self.claim.instead,
            "readings": claim["readings"],
            "decided_by": self.claim.decided_by,
            "statement": self.claim.statement,
            "command": self.command,
        }


def findings(family: str | None = None, verdict: str = "refuted") -> list[Finding]:
    """Return the claims of a verdict in the shipped models, or in those of one family, by source and model.

    Parameters
    ----------
    family : str, optional
    verdict : {"refuted", "not-decidable"}

    Examples
    --------
    >>> first = findings("auction")[0]
    >>> first.model.slug, first.witness
    ('auction/accuracy', 'found 29')
    """
    found = [
        Finding(model, number, claim)
        for model in map(load_model, models(family))
        for number, claim in enumerate(model.claims, 1)
        if claim.verdict == verdict
    ]
    return sorted(found, key=lambda finding: (finding.source, finding.model.slug, finding.number))


def statements(found: Sequence[Finding]) -> int:
    """Return the number of distinct statements: claims that are parts of one statement count once."""
    return len({finding.counted_as for finding in found})


def counted(found: Sequence[Finding], undecided: Sequence[Finding] = ()) -> str:
    """Return in a sentence how many statements, and claims of how many models, are refuted or undecided.

    Examples
    --------
    >>> counted([])
    '0 statements of the sources are refuted, by 0 claims of 0 models'
    """
    printed = [finding for finding in found if finding.claim.origin == "paper"]
    tried = [finding for finding in found if finding.claim.origin != "paper"]
    slugs = {finding.model.slug for finding in found}
    text = f"{_are(statements(printed), 'statement', ' of the sources')} refuted"
    if tried:
        were = "was" if statements(tried) == 1 else "were"
        text += f", and {statements(tried)} that {were} tried here only"
    text += f", by {_number(len(found), 'claim')} of {_number(len(slugs), 'model')}"
    if undecided:
        words = VERDICT_WORDS[UNDECIDED]
        text += f"; {_are(statements(undecided), 'statement')} {words} ({_number(len(undecided), 'claim')})"
    return text


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _are(count: int, word: str, whose: str = "") -> str:
    return f"{_number(count, word)}{whose} {'is' if count == 1 else 'are'}"


def findings_text(
    found: Sequence[Finding], width: int | None = None, undecided: Sequence[Finding] = ()
) -> str:
    """Return findings for a terminal: sources, models, and under them a paragraph for each claim.

    Parameters
    ----------
    found : sequence of Finding
        What is refuted.
    width : int, optional
        The longest line; by default lines are as long as they come.
    undecided : sequence of Finding
        What is not decidable; it comes after the others, under a heading of its own.
    """
    lines = _listed(found, width)
    if undecided:
        heading = VERDICT_WORDS[UNDECIDED].capitalize()
        lines += [*([""] if lines else []), f"{heading}:", "", *_listed(undecided, width)]
    lines += ["", _filled(f"{counted(found, undecided)}; mechdesign check MODEL finds them again", width, "")]
    return "\n".join(lines)


def _listed(found: Sequence[Finding], width: int | None) -> list[str]:
    lines: list[str] = []
    for source, of_source in groupby(found, key=lambda finding: finding.source):
        lines += [*([""] if lines else []), _filled(source, width, "")]
        for slug, of_model in groupby(of_source, key=lambda finding: finding.model.slug):
            lines.append(f"  {slug}")
            lines += [_filled(_paragraph(finding), width, "    ") for finding in of_model]
    return lines


def findings_page(
    found: Sequence[Finding], level: int = 2, item: Callable[[Finding], str] | None = None
) -> str:
    """Return findings as Markdown: a section for each source, a subsection for each model.

    Parameters
    ----------
    found : sequence of Finding
    level : int
        Of the headings of sources.
    item : callable, optional
        The text of one of them; by default as a refuted claim is shown.
    """
    parts: list[str] = []
    for source, of_source in groupby(found, key=lambda finding: finding.source):
        parts.append(f"{'#' * level} {escaped(source)}")
        for _, of_model in groupby(of_source, key=lambda finding: finding.model.slug):
            listed = list(of_model)
            parts.append(f"{'#' * (level + 1)} {escaped(listed[0].model.title)}")
            parts.append(f"`{listed[0].command}`")
            parts.append("\n".join(map(item or _refuted_item, listed)))
    return "\n\n".join(parts) + "\n"


def undecided_page(found: Sequence[Finding]) -> str:
    """Return claims that are not decidable as Markdown, one level deeper than findings."""
    return findings_page(found, 3, _undecided_item)


def _refuted_item(finding: Finding) -> str:
    claim = finding.claim
    parts = [_head(finding), f"*Witness:* {escaped(finding.witness)}.", f"*Why:* {escaped(claim.reason)}."]
    if claim.instead:
        parts.append(f"*Instead:* {escaped(claim.instead)}.")
    return "\n  ".join([*parts, *_readings(claim)])


def _undecided_item(finding: Finding) -> str:
    claim = finding.claim
    parts = [_head(finding), f"*Why it cannot be decided:* {escaped(claim.reason)}."]
    parts.append(f"*Decided by:* {escaped(claim.decided_by)}.")
    figures = f", {escaped(finding.witness)}" if claim.witness else ""
    parts.append(f"*As read here:* {claim.outcome}{figures}.")
    return "\n  ".join([*parts, *_readings(claim)])


def _head(finding: Finding) -> str:
    claim = finding.claim
    where = f", {escaped(claim.where)}" if claim.where else ""
    place = f"**{escaped(finding.model.slug)}, claim {finding.number}**"
    return f"- {place}{where}{_whose(claim)}. {escaped(finding.statement)}."


def _readings(claim: Claim) -> list[str]:
    return [f"*Readings tried:* {escaped('; '.join(map(str, claim.tried)))}."] if claim.readings else []


def _paragraph(finding: Finding) -> str:
    claim = finding.claim
    place = f"{claim.where}{_whose(claim)}".removeprefix("; ")
    where = f" ({place})" if place else ""
    parts = [f"claim {finding.number}{where}: {finding.statement}"]
    if claim.witness or claim.verdict == "refuted":
        parts.append(finding.witness)
    parts.append(claim.reason)
    if claim.verdict == UNDECIDED:
        parts += [f"as read here: {claim.outcome}", decided_text(claim)]
    if claim.instead:
        parts.append(f"instead: {claim.instead}")
    if claim.readings:
        parts.append(f"readings tried: {'; '.join(map(str, claim.tried))}")
    return "; ".join(parts)


def _whose(claim: Claim) -> str:
    """Return a remark for a statement that nobody printed: it was only tried."""
    return "" if claim.origin == "paper" else "; tried here, not printed in the source"


def escaped(text: str) -> str:
    r"""Return a plain text as Markdown shows it unchanged.

    Examples
    --------
    >>> print(escaped("H_i * 2 < 3"))
    H\_i \* 2 \< 3
    """
    return MARKDOWN.sub(r"\\\1", text)


def _filled(text: str, width: int | None, indent: str) -> str:
    if width is None:
        return indent + text
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
