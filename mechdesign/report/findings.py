"""Findings: every refuted claim of the shipped models by source, as the models record it; nothing is solved.

What stands here is what ``mechdesign check`` finds again: a verdict or a witness that it does not find fails
the check. The page of the documentation and the command ``mechdesign findings`` are made from the same list.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mechdesign.catalog.bibliography import bibliography
from mechdesign.catalog.check import stated, subject
from mechdesign.catalog.claim import Claim
from mechdesign.catalog.load import load_model, models
from mechdesign.catalog.model import Model
from mechdesign.catalog.witness import witness_text

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#$~|^])")
"""Characters that Markdown or mathematics in it would take for its own."""


@dataclass(frozen=True)
class Finding:
    """A refuted claim: its model, its place among the model's claims (from 1), the claim.

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
        """What is stated of what: ``static_left at generator = redrawn: stated <= 0.5``."""
        return f"{subject(self.claim)}: stated {stated(self.claim, self.over)}"

    @property
    def witness(self) -> str:
        """The figures that refute it, as text."""
        return witness_text(self.claim.witness, self.over)

    @property
    def command(self) -> str:
        """The command that finds it again."""
        return f"mechdesign check {self.model.slug}"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``mechdesign findings --json``."""
        claim = self.claim.as_dict()
        keys = ("quantity", "relation", "value", "at", "method", "origin", "where", "witness")
        return {
            "source": self.cite,
            "model": self.model.slug,
            "claim": self.number,
            **{key: claim[key] for key in keys},
            "over": self.over,
            "reason": self.claim.reason,
            "instead": self.claim.instead,
            "command": self.command,
        }


def findings(family: str | None = None) -> list[Finding]:
    """Return the refuted claims of the shipped models, or of one family, by source and model.

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
        if claim.verdict == "refuted"
    ]
    return sorted(found, key=lambda finding: (finding.source, finding.model.slug, finding.number))


def findings_text(found: Sequence[Finding], width: int | None = None) -> str:
    """Return findings for a terminal: sources, models, and under them a paragraph for each claim."""
    lines: list[str] = []
    for source, of_source in groupby(found, key=lambda finding: finding.source):
        lines += [*([""] if lines else []), _filled(source, width, "")]
        for slug, of_model in groupby(of_source, key=lambda finding: finding.model.slug):
            lines.append(f"  {slug}")
            lines += [_filled(_paragraph(finding), width, "    ") for finding in of_model]
    count = len(found)
    slugs = {finding.model.slug for finding in found}
    lines += ["", f"{count} refuted claims of {len(slugs)} models; mechdesign check MODEL finds them again"]
    return "\n".join(lines)


def findings_page(found: Sequence[Finding]) -> str:
    """Return findings as Markdown: a section for each source, a subsection for each model."""
    parts: list[str] = []
    for source, of_source in groupby(found, key=lambda finding: finding.source):
        parts.append(f"## {escaped(source)}")
        for slug, of_model in groupby(of_source, key=lambda finding: finding.model.slug):
            listed = list(of_model)
            parts.append(f"### {escaped(listed[0].model.title)}")
            parts.append(f"`{listed[0].command}`")
            parts.append("\n".join(_item(slug, finding) for finding in listed))
    return "\n\n".join(parts) + "\n"


def _item(slug: str, finding: Finding) -> str:
    claim = finding.claim
    where = f", {escaped(claim.where)}" if claim.where else ""
    parts = [
        f"- **{escaped(slug)}, claim {finding.number}**{where}{_whose(claim)}. {escaped(finding.statement)}.",
        f"*Witness:* {escaped(finding.witness)}.",
        f"*Why:* {escaped(claim.reason)}.",
    ]
    if claim.instead:
        parts.append(f"*Instead:* {escaped(claim.instead)}.")
    return "\n  ".join(parts)


def _paragraph(finding: Finding) -> str:
    claim = finding.claim
    place = f"{claim.where}{_whose(claim)}".removeprefix("; ")
    where = f" ({place})" if place else ""
    instead = f"; instead: {claim.instead}" if claim.instead else ""
    return f"claim {finding.number}{where}: {finding.statement}; {finding.witness}; {claim.reason}{instead}"


def _whose(claim: Claim) -> str:
    """Say of a statement that nobody printed that it was only tried."""
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
