"""What a spectrum database remembers from slot to slot, saved whole or not at all.

A state belongs to the content of one database and is refused by another. It is on the disk before any answer
that it accounts for: what a crash can cost is an answer, never the budget's truth.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from mechdesign.collect.base import digest
from mechdesign.core.documents import parse_json
from mechdesign.core.errors import DataError, unread
from mechdesign.exact.numbers import plain_int
from mechdesign.families.spectrum.queries import STATUSES, Answer
from mechdesign.families.spectrum.registration import Registered
from mechdesign.work.files import read_text, whole_file

FORMAT = "mechdesign-spectrum-state"
VERSION = 2
"""Version 1 held widenings drawn around owners' places."""

LARGEST_FILE = 1 << 28


@dataclass
class State:
    """Slots answered, what users have spent, registrations since the database was built, the last slot.

    Attributes
    ----------
    slots : int
    spent : dict
        Epsilon per unit of distance by user, exact.
    reports : dict
        Digests of all reports of each user: sending one again tells nothing new, and is free.
    registered : dict
        For each channel whose registration changed since the database was built: the tiles now registered, or
        None where it is idle now.
    last : dict
        The digest of the last slot's queries, and its answers.
    """

    slots: int = 0
    spent: dict[str, Fraction] = field(default_factory=dict)
    reports: dict[str, set[str]] = field(default_factory=dict)
    registered: dict[str, Registered | None] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; fractions as texts."""
        return {
            "slots": self.slots,
            "spent": {user: str(amount) for user, amount in sorted(self.spent.items())},
            "reports": {user: sorted(reports) for user, reports in sorted(self.reports.items())},
            "registered": {
                name: None if item is None else item.as_json()
                for name, item in sorted(self.registered.items())
            },
            "last": self.last,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> State:
        """Read plain values.

        Examples
        --------
        >>> state = State(3, {"ann": Fraction(1, 2)}, {"ann": {"5f2b"}}, {"tv": None})
        >>> State.from_json(state.as_json()) == state
        True
        """
        return cls(
            slots=plain_int("slots", document["slots"]),
            spent={str(user): _amount(amount) for user, amount in document["spent"].items()},
            reports={str(user): set(map(str, reports)) for user, reports in document["reports"].items()},
            registered={
                str(name): None if item is None else Registered.of("registered", item)
                for name, item in document["registered"].items()
            },
            last=_last(document["last"]),
        )

    def copy(self) -> State:
        """Return a copy that can be changed."""
        reports = {user: set(sent) for user, sent in self.reports.items()}
        return State(self.slots, dict(self.spent), reports, dict(self.registered), dict(self.last))


def _amount(value: Any) -> Fraction:
    amount = Fraction(value)
    if amount < 0:
        raise ValueError("an amount spent is below 0")
    return amount


def _last(value: Any) -> dict[str, Any]:
    """Return the last slot: nothing, or a digest and complete answers."""
    last = dict(value)
    if not last:
        return last
    if set(last) != {"queries", "answers"} or not isinstance(last["queries"], str):
        raise ValueError("the last slot is not a digest and answers")
    if not isinstance(last["answers"], list):
        raise ValueError("the last answers are not a list")
    for row in last["answers"]:
        if not isinstance(row, list) or len(row) != len(fields(Answer)):
            raise ValueError("an answer of the last slot is incomplete")
        if not all(isinstance(text, str) for text in row[:3]) or row[2] not in STATUSES:
            raise ValueError("an answer of the last slot has no user, channel or status")
        for number in row[3:]:
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < math.inf:
                raise ValueError("an answer of the last slot has a number that is none")
    return last


def save_state(path: str | os.PathLike[str], state: State, fingerprint: str) -> None:
    """Write a state of the database with this fingerprint; on the disk, whole, when this returns.

    Nobody but its owner may read it: it holds what users have spent.
    """
    content = state.as_json()
    document = {"format": FORMAT, "version": VERSION, "database": fingerprint, "state": content}
    document["sha256"] = digest(fingerprint, content)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    with whole_file(path, DataError, durable=True, private=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def load_state(path: str | os.PathLike[str], fingerprint: str) -> State:
    """Return the state in a file, or an empty one where there is no file yet.

    Raises
    ------
    DataError
        When the file is not a state, was changed, or belongs to another database.
    """
    if not Path(path).exists():
        return State()
    advice = "name the state file of this database, or another path to start again"
    try:
        document = parse_json(read_text(path, LARGEST_FILE, DataError))
    except OSError as error:
        raise DataError(path, unread(error), advice) from None
    except (ValueError, RecursionError):
        raise DataError(path, "is not JSON", advice) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(path, "is not a state of a spectrum database", advice)
    if document.get("version") != VERSION:
        raise DataError(
            path,
            "is a state of an earlier release, which held draws around owners' places",
            "delete it and name another path to begin a new state",
        )
    if document.get("database") != fingerprint:
        raise DataError(path, "belongs to another database", advice)
    try:
        if document.get("sha256") != digest(fingerprint, document["state"]):
            raise DataError(path, "was changed after it was saved (sha256 differs)", advice)
        return State.from_json(document["state"])
    except DataError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(path, f"is damaged ({error!r})", advice) from None
