"""Every verdict on the sources: the claims of the shipped models, by source and statement.

Several claims may be about one statement of a source, each on other data: such a statement counts once.
Nothing is solved here, and all of it is what ``mechdesign check`` finds again: a verdict, a witness or a
reading that comes out otherwise fails the check. The tables of the documentation and the commands
``mechdesign findings`` and ``mechdesign sources`` are made from the same statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import attrs

from mechdesign.catalog.shipped import models, models_folder
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.check import stated, subject
from mechdesign.papers.claims.claim import MISPRINT, UNCHECKED, UNDECIDED, Claim, kind_of
from mechdesign.papers.claims.recorded import recorded_document
from mechdesign.papers.claims.witness import witness_text

if TYPE_CHECKING:
    from mechdesign.catalog.load import Model

WORST = ("refuted", MISPRINT, UNDECIDED, UNCHECKED, "holds")
"""The verdicts of a statement with several claims: it has the first of these that one of them has."""


@dataclass(frozen=True, eq=False)
class ClaimedModel:
    """What a model file says of its source.

    Attributes
    ----------
    slug : str
    source : mapping
        ``cite`` and ``where``.
    sweep : sequence of str
        The swept parameters.
    claims : sequence of mapping
        The tables ``[[claim]]``.
    """

    slug: str
    source: Mapping[str, Any]
    sweep: Sequence[str]
    claims: Sequence[Mapping[str, Any]]

    def numbers(self, key: str, value: object) -> list[int]:
        """Return the numbers, from 1, of the claims that have this value."""
        usual = CLAIM_DEFAULTS[key]
        return [number for number, table in enumerate(self.claims, 1) if table.get(key, usual) == value]


@dataclass(frozen=True, eq=False)
class Finding:
    """A claim with its model and its place among the model's claims, from 1.

    Attributes
    ----------
    model : ClaimedModel
    number : int
    claim : Claim
    """

    model: ClaimedModel | Model
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
        """Statement with its subject: ``static_left at generator = redrawn: stated <= 0.5``; or in words.

        A number of ours is not called stated: it is tried, or a limit next to the number that is printed.
        """
        claim, number = self.claim, stated(self.claim, self.over)
        if claim.is_in_words:
            return claim.text
        if claim.is_printed and kind_of(claim.stated) == "number":
            return f"{subject(claim)}: {number}, where the source states {claim.stated:g}"
        if claim.is_of_formula:
            return f"{subject(claim)}: {number} by the formula of the source"
        return f"{subject(claim)}: {'stated' if claim.is_printed else 'tried'} {number}"

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
            "text": self.claim.text,
            "evidence": claim["evidence"],
            "command": self.command,
        }


@dataclass(frozen=True)
class Statement:
    """A statement of a source, or one that was tried here, with the claims that are its points.

    Attributes
    ----------
    points : sequence of Finding
        At least one.
    """

    points: tuple[Finding, ...]

    @cached_property
    def judged(self) -> tuple[Finding, ...]:
        """The points that count: those that the source prints, or all where it prints none."""
        printed = tuple(point for point in self.points if point.claim.is_printed)
        return printed or self.points

    @property
    def is_printed(self) -> bool:
        """Whether the source states it."""
        return self.judged[0].claim.is_printed

    @property
    def verdict(self) -> str:
        """The worst verdict of the points that count."""
        return next(verdict for verdict in WORST if self.deciding(verdict))

    @property
    def first(self) -> Finding:
        """The first point with the verdict of the statement."""
        return self.deciding(self.verdict)[0]

    def deciding(self, verdict: str) -> list[Finding]:
        """Return the points that count and have a verdict."""
        return [point for point in self.judged if point.claim.verdict == verdict]

    @property
    def text(self) -> str:
        """In words: the text of the first claim that has one, else its name, else what is compared."""
        words = next((point.claim.text for point in self.judged if point.claim.text), "")
        return words or self.first.claim.statement or self.first.statement

    @property
    def is_worded(self) -> bool:
        """Whether a claim has its words, and not a quantity alone."""
        return bool(self.first.claim.statement) or any(point.claim.text for point in self.judged)

    @property
    def name(self) -> str:
        """The statement in words as ``text``, but its place where no claim has words."""
        return self.text if self.is_worded or not self.where else self.where

    @property
    def where(self) -> str:
        """Its place in the source."""
        return self.first.claim.where

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose claims are its points, each once."""
        return tuple(dict.fromkeys(point.model.slug for point in self.points))

    @property
    def evidence(self) -> tuple[str, ...]:
        """The evidence of its claims, each piece once."""
        return tuple(dict.fromkeys(piece for point in self.judged for piece in point.claim.evidence))


_KIND: Any = Claim  # type checkers take the classes of frozen_value for dataclasses
CLAIM_DEFAULTS: Mapping[str, Any] = {
    item.name: item.default.factory() if isinstance(item.default, attrs.Factory) else item.default  # type: ignore[arg-type]
    for item in attrs.fields(_KIND)
}
"""What a claim has where its table does not say otherwise."""


def claims_document(model: Model) -> dict[str, Any]:
    """Return what findings take from a model: its source, its swept parameters, and its claims as tables."""
    claims = [
        {key: value for key, value in vars(claim).items() if not _is_usual(key, value)}
        for claim in model.claims
    ]
    return {"source": dict(model.source), "sweep": list(model.sweep), "claim": claims}


def _is_usual(key: str, value: Any) -> bool:
    usual = CLAIM_DEFAULTS[key]
    return type(value) is type(usual) and bool(value == usual)


@cache
def claimed_model(slug: str) -> ClaimedModel:
    """Return what a shipped model says of its source; a model that is not recorded so is loaded."""

    def loaded() -> dict[str, Any]:
        from mechdesign.catalog.load import load_model

        return claims_document(load_model(slug))

    document = recorded_document(models_folder() / f"{slug}.toml", loaded)
    return ClaimedModel(slug, document["source"], document["sweep"], document["claim"])


@cache
def finding_of(slug: str, number: int) -> Finding:
    """Return a claim of a shipped model by its number, from 1."""
    model = claimed_model(slug)
    return Finding(model, number, Claim(**model.claims[number - 1]))


def claims_of(slug: str) -> tuple[Finding, ...]:
    """Return the claims of a shipped model, in order; each is made once."""
    return tuple(finding_of(slug, number) for number in range(1, len(claimed_model(slug).claims) + 1))


def cited_by(slug: str) -> set[str]:
    """Return the keys of the sources of a shipped model's claims."""
    model = claimed_model(slug)
    usual = str(model.source.get("cite", ""))
    return {str(table.get("cite", "")) or usual for table in model.claims}


def findings(family: str | None = None, verdict: str = "refuted") -> list[Finding]:
    """Return the claims of a verdict in the shipped models, or in those of one family, by source and model.

    Parameters
    ----------
    family : str, optional
    verdict : {"refuted", "misprint", "not-decidable", "not-checked", "holds"}

    Examples
    --------
    >>> {found.claim.verdict for found in findings("location")}
    {'refuted'}
    """
    listed = [
        finding_of(slug, number)
        for slug in models(family)
        for number in claimed_model(slug).numbers("verdict", verdict)
    ]
    return sorted(listed, key=lambda finding: (finding.source, finding.model.slug, finding.number))


def statements_of(
    found: Iterable[Finding], key: Callable[[Finding], tuple[Any, ...]] = lambda finding: finding.counted_as
) -> list[Statement]:
    """Return the statements that claims are about, in the order of their first claims.

    Examples
    --------
    >>> rows = statements_of(claims_of("response/zhou2019_survey"))
    >>> {row.verdict for row in rows}
    {'holds'}
    """
    points: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in found:
        points.setdefault(key(finding), []).append(finding)
    return [Statement(tuple(each)) for each in points.values()]


def statements(found: Sequence[Finding]) -> int:
    """Return the number of distinct statements: claims that are parts of one statement count once."""
    return len({finding.counted_as for finding in found})
