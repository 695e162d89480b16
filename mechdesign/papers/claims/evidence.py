"""The readings of a source that were tried for a claim, each with its outcome; and what evidence can be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from mechdesign.core.errors import ParameterError, suggestion
from mechdesign.core.values import encode, frozen_value

COMPARED = (
    *("quantity", "value", "relation", "tolerance", "relative_tolerance"),
    *("method", "options", "over", "at"),
)
"""Keys that say what is computed and what it is compared with; a claim in words alone has none of them."""

READING_KEYS = ("text", "outcome", "found", "evidence", *COMPARED)
READING_OUTCOMES = ("holds", "refuted")

EVIDENCE = {
    "page": re.compile(r"(families|papers|explanation|howto|reference|tutorials|project)/\w+\.md(#[\w-]+)?"),
    "test": re.compile(r"tests/[\w/]+\.py(::\w+)?"),
    "command": re.compile(r"mechdesign \S.*"),
    "place": re.compile(r"source: \S.*"),
}
"""The forms of a piece of evidence: ``families/mean.md#methods``, ``tests/contract/test_models.py::test_it``,
``mechdesign check contract/irregular``, ``source: the line after (4.43)``."""


@frozen_value()
class Reading:
    """A reading of a statement that was tried.

    Attributes
    ----------
    text : str
        The reading, a sentence.
    outcome : str
        Whether the statement ``holds`` or is ``refuted`` in this reading; empty where only a sentence is
        recorded.
    found : number, list, text or truth value, optional
        What is computed, to the digits that are written; ``check`` has to find it again.
    evidence : sequence of str
        What shows the outcome where nothing is computed.
    compared : mapping
        The keys of the claim that are others in this reading. The keys of ``at`` are added to the claim's.
    """

    text: str
    outcome: str = ""
    found: Any = None
    evidence: Sequence[str] = ()
    compared: Mapping[str, Any] = attrs.field(factory=dict)

    def __str__(self) -> str:
        found = "" if self.found is None else f" ({encode(self.found)})"
        return f"{self.text}: {self.outcome}{found}" if self.outcome else self.text

    @property
    def is_computed(self) -> bool:
        """Whether ``check`` computes its outcome; not where only a sentence or other evidence is recorded."""
        return bool(self.outcome) and not self.evidence


def reading(entry: str | Mapping[str, Any]) -> Reading:
    """Return a reading from the entry of a model file: a sentence or a table.

    Raises
    ------
    ParameterError
        For a key that readings do not have, or an outcome that is none.

    Examples
    --------
    >>> str(reading({"text": "with ln for log", "outcome": "refuted", "found": 0.71}))
    'with ln for log: refuted (0.71)'
    """
    if isinstance(entry, str) and entry.strip():
        return Reading(entry)
    if not isinstance(entry, Mapping):
        raise ParameterError("readings", "is not a list of sentences", 'write it as ["as printed: 0.71"]')
    for key in entry:
        if key not in READING_KEYS:
            raise ParameterError("readings", f"unknown key '{key}'", suggestion(key, READING_KEYS))
    text, outcome = entry.get("text"), entry.get("outcome")
    if not isinstance(text, str) or not text.strip():
        raise ParameterError("readings", "a reading needs its text", "state it in a sentence")
    if outcome not in READING_OUTCOMES:
        what = f"'{outcome}' is not an outcome of '{text}'"
        raise ParameterError("readings", what, "write holds or refuted")
    evidence = entry.get("evidence", ())
    require_evidence("readings", evidence)
    compared = {key: entry[key] for key in COMPARED if key in entry}
    if evidence and compared:
        raise ParameterError("readings", f"'{text}' has evidence and a quantity", "give one of them")
    return Reading(text, outcome, entry.get("found"), tuple(evidence), compared)


def readings_of(entries: Sequence[str | Mapping[str, Any]], is_in_words: bool) -> tuple[Reading, ...]:
    """Return the readings of a claim in their order.

    Parameters
    ----------
    entries : sequence of str or mapping
    is_in_words : bool
        Whether the claim has no quantity: then nothing is computed in its own reading.
    """
    records = tuple(map(reading, entries))
    own = [each.text for each in records if each.is_computed and not each.compared]
    if own and is_in_words:
        raise ParameterError(
            "readings", f"'{own[0]}' has no evidence", "give evidence, or a quantity and value"
        )
    if len(own) > 1:
        raise ParameterError(
            "readings",
            f"'{own[0]}' and '{own[1]}' compute the same, the claim itself",
            "give what differs (quantity, value, at, ...), or evidence",
        )
    return records


def require_evidence(key: str, evidence: Any) -> None:
    """Refuse what is not a list of pieces of evidence.

    Examples
    --------
    >>> require_evidence("evidence", ["families/mean.md#methods", "source: the proof of lemma 2"])
    """
    if not isinstance(evidence, (list, tuple)):
        raise ParameterError(key, "the evidence is not a list", 'write it as ["families/mean.md"]')
    for piece in evidence:
        kind_of_evidence(key, piece)


def kind_of_evidence(key: str, piece: Any) -> str:
    """Return which of the forms a piece of evidence has: page, test, command or place.

    Examples
    --------
    >>> kind_of_evidence("evidence", "mechdesign check contract/irregular")
    'command'
    """
    for kind, form in EVIDENCE.items():
        if isinstance(piece, str) and form.fullmatch(piece):
            return kind
    forms = "families/page.md#heading, tests/file.py::test, mechdesign COMMAND, or source: PLACE"
    raise ParameterError(key, f"{piece!r} is not evidence", f"write {forms}")
