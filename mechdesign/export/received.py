"""What a server receives: messages of clients, which the reader of ``estimate`` itself has to take."""

from __future__ import annotations

import re
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.server import new_server
from mechdesign.core.documents import parse_distinct
from mechdesign.core.errors import DataError
from mechdesign.export.messages import MessageReader
from mechdesign.export.page import require_no_shuffler

TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}")
RETRY = re.compile(r"[0-9a-f]{32}")


class Receiver:
    """Checks the messages of the clients of a mechanism.

    A message is taken when its rows are one report that ``estimate`` counts: an empty server of the mechanism
    reads them, in the way in which it reads files.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
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
        self.recipe = mechanism.recipe()
        self._reader = MessageReader(mechanism)

    def parsed(self, body: bytes) -> Any:
        """Return the content of a message as ``estimate`` reads a line of a file.

        Raises
        ------
        DataError
            For what is not JSON in UTF-8, is too deep or too large, or has a key twice.
        """
        try:
            return parse_distinct(body.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DataError("message", f"is not JSON ({error})", "use the exported client") from None

    def rows(self, message: Any) -> list[dict[str, Any]]:
        """Return the rows of a message.

        Raises
        ------
        DataError
            For anything that is not one report of this mechanism.
        """
        return self._reader.rows(message)

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
