"""The tables ``[[claim]]`` of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from mechdesign.catalog.load import check_keys
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
    if "quantity" not in entry:
        raise ModelFileError(f"{path}: [{place}] quantity", "is missing", "give one")
    try:
        return Claim(**entry)
    except MechDesignError as error:
        raise error.inside(f"{path}: [{place}]").as_a(ModelFileError) from None
