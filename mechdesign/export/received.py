"""What a server receives: messages of pages, checked in shape and fingerprint before they are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.export.page import require_no_shuffler
from mechdesign.mechanisms.about import other_owner
from mechdesign.mechanisms.base import Mechanism
from mechdesign.mechanisms.recipes import DIGITS, Recipe, Steps

FORMAT = "mechdesign-report"
VERSION = 1
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}")
SURVEY = re.compile(r"([0-9]{1,9}):((?:[0-9]{1,19}|x[0-9a-f]*)(?:\|(?:[0-9]{1,19}|x[0-9a-f]*))*)", re.ASCII)
PACKED = re.compile(r"x((?:[0-9a-f]{2})*)")


class Receiver:
    """Checks the messages of the clients of a mechanism.

    Examples
    --------
    >>> from mechdesign.mechanisms.kary import KaryResponse
    >>> mechanism = KaryResponse.of(3, 1.0)
    >>> receiver = Receiver(mechanism)
    >>> column = receiver.recipe.columns[0]
    >>> message = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint}
    >>> receiver.rows({**message, "rows": [{column: 2}]}) == [{column: 2}]
    True
    >>> receiver.rows({**message, "rows": [{column: 3}]})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: message: 3 is not a report of this mechanism; ...
    """

    def __init__(self, mechanism: Mechanism) -> None:
        require_no_shuffler(mechanism)
        self.mechanism = mechanism
        self.fingerprint, self.recipe = mechanism.fingerprint, mechanism.recipe()

    def rows(self, message: Any) -> list[dict[str, Any]]:
        """Return the rows of a message.

        Raises
        ------
        DataError
            For anything that is not one report of this mechanism.
        """
        if not isinstance(message, dict) or (message.get("format"), message.get("version")) != (
            FORMAT,
            VERSION,
        ):
            raise DataError("message", f"is not a {FORMAT} of version {VERSION}", "use the exported client")
        if message.get("fingerprint") != self.fingerprint:
            raise DataError("message", "is of another mechanism", "reload the page of this survey")
        if message.get("survey", "") != self.mechanism.about.id:
            owner = other_owner(self.mechanism, message.get("survey"), self.fingerprint)
            raise DataError("message", f"is of {owner}", "reload the page of this survey")
        rows = message.get("rows")
        columns = set(self.recipe.columns)
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and set(row) == columns for row in rows
        ):
            raise DataError("message", "has other columns than the reports of this mechanism", "export again")
        values = [[row[name] for name in self.recipe.columns] for row in rows]
        if not _is_report(self.recipe, values):
            shown = values[0][-1] if len(values) == 1 else f"a list of {counted(len(values), 'row')}"
            raise DataError("message", f"{shown!r:.100} is not a report of this mechanism", "export again")
        return rows

    def token(self, message: Any) -> str:
        """Return the token of a message, or raise DataError: one report is taken for each."""
        token = message.get("token") if isinstance(message, dict) else None
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise DataError("message", "has no token", "open the page with the link that was sent")
        return token


def _is_report(recipe: Recipe, rows: Sequence[Sequence[Any]]) -> bool:
    steps = recipe.steps
    if steps["step"] == "sample":
        size = range(len(recipe.inputs))
        drawn = [row[0] for row in rows]
        different = len(rows) == steps["per_user"] == len(set(map(repr, drawn)))
        return different and all(_below(row[0], size) and _fits(steps["each"], row[1]) for row in rows)
    if len(rows) != 1:
        return False
    if steps["step"] == "view":
        view, report = rows[0]
        known = _below(view, range(len(steps["views"])))
        return known and _fits(steps["oracles"][steps["oracle_of_view"][view]], report)
    return _fits(steps, rows[0][0])


def _below(value: Any, numbers: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in numbers


def _fits(steps: Steps, report: Any) -> bool:
    """Whether a value is a report of a step: of the right kind, and within its range."""
    kind = steps["step"]
    if steps.get("labels") is not None:
        return isinstance(report, str) and report in steps["labels"]
    if kind in ("bits", "joint"):
        return _packed(report, steps["size"] if kind == "bits" else sum(steps["sizes"]), None)
    if kind == "sets":
        return _packed(report, sum(size for size, _ in steps["factors"]), None)
    if kind == "survey":
        return _is_survey(steps, report)
    if kind == "subset":
        return _packed(report, steps["categories"], steps["size"])
    if kind == "events":
        return _below(report, range(1 << 53)) and _names_slots(steps, report)
    return _below(report, range(_reports(steps)))


def _is_survey(steps: Steps, report: Any) -> bool:
    """Whether a text is the number of a design and a report of each of its parts."""
    found = SURVEY.fullmatch(report) if isinstance(report, str) else None
    if found is None or int(found.group(1)) >= len(steps["designs"]):
        return False
    parts, texts = steps["designs"][int(found.group(1))], found.group(2).split("|")
    read = [int(text) if text.isdigit() else text for text in texts]
    return len(parts) == len(read) and all(
        _fits(part["draw"], one) for part, one in zip(parts, read, strict=True)
    )


def _names_slots(steps: Steps, report: int) -> bool:
    """Whether a number is the blank report, or one that names different slots."""
    slots, left = int(steps["slots"]), report - 1
    for named in steps["named"]:
        if 0 <= left < slots**named:
            return len({left // slots**place % slots for place in range(named)}) == int(named)
        left -= slots**named
    return report == 0


def _reports(steps: Steps) -> int:
    """Return how many reports there are of a step whose reports are numbers."""
    kind = steps["step"]
    if kind in ("row", "grid"):
        return len(steps["rows"][0]) // DIGITS
    if kind == "kary":
        return int(steps["size"])
    if kind == "patterns":
        return len(steps["sets"]) + 1
    if kind == "orbits":
        return len(steps["sets"]) * int(steps["types"]) + 1
    if kind == "parity":
        return int(steps["order"])
    if kind == "hash":
        return int(steps["prime"] * (steps["prime"] - 1) * steps["buckets"])
    if kind == "hyperplane":
        return int((steps["field"] ** steps["digits"] - 1) // (steps["field"] - 1))
    return 2


def _packed(report: Any, size: int, members: int | None) -> bool:
    """Whether a text holds ``size`` bits, of which ``members`` are 1 (any number of them for None)."""
    found = PACKED.fullmatch(report) if isinstance(report, str) else None
    if found is None or len(found.group(1)) != 2 * ((size + 7) // 8):
        return False
    number = int(found.group(1) or "0", 16)
    return not number % (1 << -size % 8) and (members is None or number.bit_count() == members)
