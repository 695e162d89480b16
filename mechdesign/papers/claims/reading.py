"""The tables ``[[claim]]`` of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from mechdesign.catalog.shipped import check_keys
from mechdesign.core.errors import MechDesignError, ModelFileError
from mechdesign.papers.claims.claim import Claim

_KIND: Any = Claim  # type checkers take the classes of frozen_value for dataclasses
CLAIM_KEYS = tuple(field.name for field in attrs.fields(_KIND))


def read_claims(path: Path, entries: Sequence[Any]) -> list[Claim]:
    """Return the claims of a model file, in order.

    Raises
    ------
    ModelFileError, UnknownNameError
        Naming the file, the claim and what is wrong with it.
    """
    return [_claim(path, number, entry) for number, entry in enumerate(entries)]


def _claim(path: Path, number: int, entry: Mapping[str, Any]) -> Claim:
    place = f"claim {number + 1}"
    if not isinstance(entry, dict):
        raise ModelFileError(path, f"[{place}] is not a table", "write it under [[claim]]")
    check_keys(path, place, entry, CLAIM_KEYS)
    try:
        if not any(str(entry.get(key, "")) for key in ("quantity", "text")):
            raise ModelFileError(
                "quantity", "is missing", "give one, or state the claim in words: text = ..."
            )
        claim = Claim(**entry)
        require_readings(claim)
        return claim
    except MechDesignError as error:
        raise error.inside(f"{path}: [{place}]").as_a(ModelFileError) from None


def require_readings(claim: Claim) -> None:
    """Refuse a printed statement that is refuted and has no reading, or one without an outcome.

    Raises
    ------
    ModelFileError
    """
    if claim.verdict != "refuted" or not claim.is_printed:
        return
    if not claim.readings:
        raise ModelFileError(
            "readings",
            "a refuted claim of the source needs them",
            "state what was tried, the most charitable first",
        )
    for each in claim.reading_records:
        if not each.outcome:
            raise ModelFileError(
                "readings",
                f"'{each.text}' has no outcome, which a reading of a refuted claim needs",
                'write { text = "...", outcome = "refuted" }, with what is computed or with evidence',
            )
