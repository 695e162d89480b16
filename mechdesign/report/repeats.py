"""People who stand in several rows of data: each row becomes a report, and each report reveals epsilon.

A column that identifies people is one that is stated, or one with a name such as ``user_id`` that holds no
answers. Of one that is only recognized by its name, the first rows are looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mechdesign.core.errors import DataError, counted
from mechdesign.data.data_set import open_table
from mechdesign.data.identifiers import NAMELESS, identifier_or, is_person_column
from mechdesign.data.intake import Coded, MissingRule, Values
from mechdesign.data.text_files import PLAIN, FileForm

MOST_ROWS = 1 << 15
"""Rows of a recognized column that are looked at; of a stated one all are."""
FEWER_ROWS = 1 << 13
"""The same in a large file, which is to be read as fast as without a look."""
LARGE = 1 << 22
"""Bytes of a large file."""


class Repeats(NamedTuple):
    """What a column of identifiers says of the rows of a data set.

    Attributes
    ----------
    file, column : str
        The first file that has the column, and the column.
    rows, people : int
    most : int
        The rows of the person with the most of them.
    """

    file: str
    column: str
    rows: int
    people: int
    most: int

    def text(self, epsilon: float) -> tuple[str, str]:
        """Return what the repeats mean, and what to do."""
        what = f"{counted(self.rows, 'row')} of {_people(self.people)}, up to {self.most} of one"
        total = f"that person's reports have epsilon = {self.most * epsilon:g} in all, not {epsilon:g}"
        remedy = "keep one row per person, or add --repeated if this is meant"
        return f"{what}: {total}", remedy


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"


def repeats_in(
    paths: Sequence[str], answer_columns: Iterable[str], stated: str | None, form: FileForm = PLAIN
) -> Repeats | None:
    """Return how often people appear in some files of data; None where each appears once, or none is known.

    Parameters
    ----------
    paths : sequence of str
        People's data, whose rows are one data set.
    answer_columns : iterable of str
        The columns of answers, which identify nobody.
    stated : str, optional
        The column that identifies people.
    form : FileForm
        What is stated about the form of the files.

    Raises
    ------
    DataError
        When a file cannot be read, or has no column of the stated name.
    """
    counts: dict[str, int] = {}
    column, first = stated or "", ""
    others = set(answer_columns)
    for path in paths:
        table = open_table(path, MissingRule("category"), form=form)
        table.shows = table.needs_rows = False
        if not column:
            names = [name for name in table.columns if name not in others and is_person_column(name)]
            column = names[0] if names else ""
        if stated and stated not in table.columns:
            raise DataError(path, f"no column '{stated}'", "name a column that identifies people")
        if not column or table.columns.count(column) != 1:
            continue
        first = first or path
        limit = None if stated else FEWER_ROWS if os.path.getsize(path) > LARGE else MOST_ROWS
        for name, count in _counts(table.first_values(column, limit)):
            counts[name] = counts.get(name, 0) + count
    if not counts or max(counts.values()) == 1:
        return None
    return Repeats(first, column, sum(counts.values()), len(counts), max(counts.values()))


def _counts(pieces: Iterable[Values]) -> Iterator[tuple[str, int]]:
    """Yield the identifiers in pieces of a column with their numbers of rows."""
    for values in pieces:
        if isinstance(values, Coded):
            words, counts = (
                values.values.tolist(),
                np.bincount(values.codes, minlength=len(values.values)).tolist(),
            )
        else:
            words, counts = np.asarray(values).tolist(), [1] * len(values)
        for word, count in zip(words, counts, strict=True):
            name = identifier_or(str(word))
            if count and name not in NAMELESS:
                yield name, count
