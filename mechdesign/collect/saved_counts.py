"""Counts of reports that come from a file: a source that a server merges instead of reading rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mechdesign.core.errors import DataError
from mechdesign.core.tables import Block


class SavedCounts:
    """Saved counts of a server, in place of a table of reports; it has no rows.

    Parameters
    ----------
    name : str
        What errors call it: the path of a file.
    document : mapping
        What :meth:`~mechdesign.collect.server.Server.as_json` gave.
    question : str
        The column that was asked for, as far as it is known.

    Examples
    --------
    >>> SavedCounts("all.json", {}).columns
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: all.json: holds counts, and single reports are needed here; ...
    """

    def __init__(self, name: str, document: Mapping[str, Any], question: str = "") -> None:
        self.name, self.document, self.question = name, document, question

    @property
    def columns(self) -> tuple[str, ...]:
        """None: reports are counted, and single ones are gone."""
        raise self._no_rows()

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Raise DataError: there are no rows."""
        raise self._no_rows()

    def row(self, number: int) -> int:
        """Raise DataError: there are no rows."""
        raise self._no_rows()

    def _no_rows(self) -> DataError:
        return DataError(
            self.name, "holds counts, and single reports are needed here", "name files written by randomize"
        )
