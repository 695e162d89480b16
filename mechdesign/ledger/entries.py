"""A table of collections for a ledger: a row for each, with mechanism file, group and number of answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import numpy as np

from mechdesign.collect.base import load_mechanism
from mechdesign.core.errors import DataError, MechDesignError, RowError
from mechdesign.core.validation import integer
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import Block, MissingRule
from mechdesign.exact.numbers import number_of_text
from mechdesign.ledger.account import Collected
from mechdesign.ledger.ledger import Entry, collected_of, entry_of

MECHANISM, GROUP, TIMES = "mechanism", "group", "times"
MOST_TIMES = 10**9


def entries_of(path: str | os.PathLike[str]) -> list[tuple[str, Entry]]:
    """Return the groups and collections of a table, in the order of its rows; each mechanism is read once.

    Parameters
    ----------
    path : path
        CSV, Excel, Parquet or JSON lines, with the columns ``mechanism`` (a file written by build) and
        ``group``, and ``times`` where participants answer another number of times than once.

    Raises
    ------
    DataError
        When a column is missing.
    RowError
        For the row whose mechanism or number cannot be used.
    """
    table = open_table(path, MissingRule())
    for name in (MECHANISM, GROUP):
        if table.columns.count(name) != 1:
            raise DataError(os.fspath(path), f"no column '{name}'", "give the columns mechanism and group")
    columns = [MECHANISM, GROUP, *([TIMES] if TIMES in table.columns else [])]
    result: list[tuple[str, Entry]] = []
    mechanisms = cache(load_mechanism)

    @cache
    def entry(file: str, times: int) -> Entry:
        mechanism = mechanisms(file)
        collected: Collected = collected_of(mechanism, file, times)
        return entry_of(collected, mechanism.fingerprint, file, mechanism.about.id)

    for block in _complete(table.blocks(columns)):
        lists = [np.asarray(block[name]).tolist() for name in columns]
        for row in zip(*lists, strict=True):
            file, group = str(row[0]), str(row[1])
            try:
                result.append((group, entry(file, _times(row[2]) if len(row) > 2 else 1)))
            except MechDesignError as error:
                raise RowError(os.fspath(path), len(result), str(error)) from None
    return result


def _complete(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks; of a row without a value, the error says what a row needs."""
    try:
        yield from blocks
    except RowError as error:
        raise error.changed(remedy="give mechanism, group and times in each row") from None


def _times(value: object) -> int:
    number = number_of_text(value) if isinstance(value, str) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return integer(TIMES, value if number is None else number, 1, MOST_TIMES)
