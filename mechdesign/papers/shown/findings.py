"""The claims that do not hold or cannot be decided, one after the other, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from mechdesign.core.errors import counted as number_of
from mechdesign.papers.claims.check import decided_text
from mechdesign.papers.claims.claim import MISPRINT, UNDECIDED, Claim
from mechdesign.papers.claims.findings import Finding, statements
from mechdesign.papers.shown.statements import verdict_words

HEADINGS = {"refuted": "Refuted", MISPRINT: "Misprints", UNDECIDED: "Not decidable here"}
"""The verdicts that are listed, in their order, with the headings above them."""


def counted(claims: Iterable[Finding]) -> str:
    """Return in a sentence how many statements of how many models are refuted, misprinted or undecided.

    Examples
    --------
    >>> counted([])
    'no statement is refuted, misprinted or undecided'
    """
    claims = list(claims)
    parts = []
    for verdict in HEADINGS:
        own = [finding for finding in claims if finding.claim.verdict == verdict]
        printed = [finding for finding in own if finding.claim.is_printed]
        tried = [finding for finding in own if not finding.claim.is_printed]
        if printed:
            parts.append(_part(printed, f"of the sources {_words(verdict, statements(printed))}"))
        if tried:
            parts.append(_part(tried, f"that {'was' if statements(tried) == 1 else 'were'} only tried here"))
    if not parts:
        return "no statement is refuted, misprinted or undecided"
    slugs = {finding.model.slug for finding in claims}
    return f"{'; '.join(parts)}; in {number_of(len(slugs), 'model')}"


def _words(verdict: str, number: int) -> str:
    if verdict == MISPRINT:
        return "is a misprint" if number == 1 else "are misprints"
    return f"{'is' if number == 1 else 'are'} {verdict_words(verdict)}"


def _part(claims: Sequence[Finding], whose: str) -> str:
    return f"{number_of(statements(claims), 'statement')} {whose} ({number_of(len(claims), 'claim')})"


def findings_text(claims: Sequence[Finding], width: int | None = None) -> str:
    """Return findings for a terminal: their number, then sources, models, and a paragraph for each claim.

    Parameters
    ----------
    claims : sequence of Finding
    width : int, optional
        The longest line; by default lines are as long as they come.
    """
    lines = [_filled(f"{counted(claims)}; mechdesign check MODEL finds them again", width, "")]
    for verdict, heading in HEADINGS.items():
        own = [finding for finding in claims if finding.claim.verdict == verdict]
        if own:
            lines += ["", f"{heading}:", "", *_listed(own, width)]
    return "\n".join(lines)


def _listed(claims: Sequence[Finding], width: int | None) -> list[str]:
    lines: list[str] = []
    for source, of_source in groupby(claims, key=lambda finding: finding.source):
        lines += [*([""] if lines else []), _filled(source, width, "")]
        for slug, of_model in groupby(of_source, key=lambda finding: finding.model.slug):
            lines.append(f"  {slug}")
            lines += [_filled(_paragraph(finding), width, "    ") for finding in of_model]
    return lines


def _paragraph(finding: Finding) -> str:
    claim = finding.claim
    place = f"{claim.where}{_whose(claim)}".removeprefix("; ")
    where = f" ({place})" if place else ""
    parts = [f"claim {finding.number}{where}: {finding.statement}"]
    if claim.witness or (claim.verdict == "refuted" and not claim.is_in_words):
        parts.append(finding.witness)
    parts.append(claim.reason)
    if claim.verdict == UNDECIDED:
        parts += [f"as read here: {claim.outcome}"] if claim.outcome else []
        parts.append(decided_text(claim))
    if claim.instead:
        parts.append(f"instead: {claim.instead}")
    if claim.readings:
        parts.append(f"readings tried: {'; '.join(map(str, claim.reading_records))}")
    if claim.evidence:
        parts.append(f"shown by {', '.join(claim.evidence)}")
    return "; ".join(parts)


def _whose(claim: Claim) -> str:
    """Return a remark for a statement that nobody printed: it was only tried."""
    return "" if claim.is_printed else "; tried here, not printed in the source"


def _filled(text: str, width: int | None, indent: str) -> str:
    if width is None:
        return indent + text
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
