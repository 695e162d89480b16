"""What a server receives: messages of clients, which the reader of ``estimate`` itself has to take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.core.numbers import shown
from mechdesign.core.plain_columns import plain_column
from mechdesign.core.tables import MemoryTable
from mechdesign.core.text import counted
from mechdesign.export.page import require_no_shuffler
from mechdesign.mechanisms.about import other_owner
from mechdesign.mechanisms.base import Mechanism
from mechdesign.mechanisms.operations import Settings
from mechdesign.mechanisms.server import new_server

FORMAT = "mechdesign-report"
VERSION = 1
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}")
RETRY = re.compile(r"[0-9a-f]{32}")


class Receiver:
    """Checks the messages of the clients of a mechanism.

    A message is taken when its rows are one report that ``estimate`` counts: an empty server of the mechanism
    reads them, in the way in which it reads files.

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
    mechdesign.core.errors.DataError: message: 3 is not a report of this mechanism (unknown category 3); ...
    """

    def __init__(self, mechanism: Mechanism) -> None:
        require_no_shuffler(mechanism)
        new_server(mechanism)  # refused at once where nothing counts
        self.mechanism = mechanism
        self.fingerprint, self.recipe = mechanism.fingerprint, mechanism.recipe()

    def rows(self, message: Any) -> list[dict[str, Any]]:
        """Return the rows of a message.

        Raises
        ------
        DataError
            For anything that is not one report of this mechanism.
        """
        self._require_own(message)
        rows = message.get("rows")
        columns = set(self.recipe.columns)
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and set(row) == columns for row in rows
        ):
            raise DataError("message", "has other columns than the reports of this mechanism", "export again")
        self._require_counted(rows)
        return rows

    def token(self, message: Any) -> str:
        """Return the token of a message, or raise DataError: one report is taken for each."""
        token = message.get("token") if isinstance(message, dict) else None
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise DataError("message", "has no token", "open the page with the link that was sent")
        return token

    def retry(self, message: Any) -> bytes | None:
        """Return the random number of a message, which stays when it is sent again; None without one."""
        number = message.get("retry") if isinstance(message, dict) else None
        if number is None:
            return None
        if not isinstance(number, str) or not RETRY.fullmatch(number):
            raise DataError("message", "its number is not 32 hex digits", "use the exported client")
        return bytes.fromhex(number)

    def _require_own(self, message: Any) -> None:
        """Raise DataError unless a value is a message of a client of this mechanism, whatever its rows."""
        if (
            not isinstance(message, dict)
            or message.get("format") != FORMAT
            or type(message.get("version")) is not int
            or message["version"] != VERSION
        ):
            raise DataError("message", f"is not a {FORMAT} of version {VERSION}", "use the exported client")
        if message.get("fingerprint") != self.fingerprint:
            raise DataError("message", "is of another mechanism", "reload the page of this survey")
        if message.get("survey", "") != self.mechanism.about.id:
            owner = other_owner(self.mechanism, message.get("survey"), self.fingerprint)
            raise DataError("message", f"is of {owner}", "reload the page of this survey")

    def _require_counted(self, rows: Sequence[dict[str, Any]]) -> None:
        """Raise DataError unless a server counts the rows as one report."""
        table = {name: [row[name] for row in rows] for name in self.recipe.columns}
        if not rows or not all(self._is_plain(value) for values in table.values() for value in values):
            raise self._refused(rows, "not a value that a client sends")
        columns = {name: plain_column(values) for name, values in table.items()}
        try:
            new_server(self.mechanism).receive(MemoryTable(columns, "message"), Settings())
        except MechDesignError as error:
            raise self._refused(rows, error.what) from None

    def _is_plain(self, value: Any) -> bool:
        """Whether a value is written as clients write it: an integer, or a text that is not a number.

        A table may hold 3 as "3" or 3.0, and a set in capitals, as other programs have written it; a message
        has one way to write a report, so that equal ones are counted together.
        """
        if self.recipe.steps.get("labels") is not None:
            return type(value) is str
        if type(value) is not str:
            return type(value) is int
        return not _spells_a_number(value) and (value[:1] != "x" or value == value.lower())

    def _refused(self, rows: Sequence[dict[str, Any]], why: str) -> DataError:
        last = self.recipe.columns[-1]
        report = shown(rows[0][last]) if len(rows) == 1 else f"a list of {counted(len(rows), 'row')}"
        return DataError(
            "message", f"{report} is not a report of this mechanism ({why:.200})", "export again"
        )


def _spells_a_number(text: str) -> bool:
    """Whether a text would be read as a number.

    Examples
    --------
    >>> _spells_a_number("03"), _spells_a_number("0:3"), _spells_a_number("x03")
    (True, False, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True
