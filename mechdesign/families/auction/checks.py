"""What an online auction asks of the names of tasks and users, and how it tells bids from others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.numbers import shown
from mechdesign.families.auction.records import Bid
from mechdesign.families.auction.state import is_name


def task_names_of(tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the tasks, checked."""
    given: object = tasks
    if not isinstance(given, (list, tuple)) or not given:
        raise ParameterError("tasks", "expected a list of at least one name")
    for name in given:
        if not isinstance(name, str) or not name or not name.isprintable() or set(name) & set(" ;,"):
            raise ParameterError(
                "tasks", f"{shown(name)} is not a name", "use a string without spaces, ';' and ','"
            )
    if len(set(given)) != len(given):
        raise ParameterError("tasks", "a name appears twice", "names must differ")
    return tuple(given)


def user_names(bids: Mapping[str, Bid]) -> list[str]:
    """Return the names of the users in order."""
    for name in bids:
        if not is_name(name):
            raise DataError("bids", f"{shown(name)} is not a name of a user", "give a string")
    if not bids:
        raise DataError("bids", "there are none", "a slot needs users")
    return sorted(bids)


def bids_digest(names: Sequence[str], bids: Mapping[str, Bid], needs: Sequence[int]) -> str:
    """Return a digest of the bids of a slot and of its requirements."""
    rows = [
        [name, float(bids[name].sensing), float(bids[name].privacy), sorted(bids[name].tasks)]
        for name in names
    ]
    text = json.dumps([rows, list(needs)])
    return sha256(text.encode()).hexdigest()
