"""Results as columns: one tidy row an estimate, for spreadsheets, data frames and notebooks."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from mechdesign.core.text import NumberText, counted, encode, html_table
from mechdesign.data.frames import PANDAS, frame_of
from mechdesign.exact.texts import to_error

TIDY = ("question", "category", "estimate", "standard_error", "low", "high")
"""The columns of every tidy table; others may follow."""

MOST_SHOWN = 60
"""Rows that a notebook shows."""

Columns = dict[str, list[Any]]
"""Columns by name, of equal length."""


class Tidy(ABC):
    """A result that is a table with one row an estimate."""

    @abstractmethod
    def tidy(self, level: float = 0.95) -> Columns:
        """Return the estimates as columns of plain values, a row each.

        Parameters
        ----------
        level : float
            Of the confidence intervals, in (0, 1).

        Returns
        -------
        dict of lists
            ``question``, ``category``, ``estimate``, ``standard_error``, ``low`` and ``high``, the ends of
            the interval; then what else is known. None stands where there is nothing.
        """

    def to_frame(self, backend: str = PANDAS, level: float = 0.95) -> Any:
        """Return the estimates as a data frame, a row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Which kind of data frame.
        level : float
            Of the confidence intervals, in (0, 1).

        Raises
        ------
        MissingPackageError
            When the library of that data frame is not installed.
        """
        return frame_of(self.tidy(level), backend)

    def _repr_html_(self) -> str:
        every = self.tidy()
        columns = _to_errors(every, MOST_SHOWN)
        used = [name for name, values in columns.items() if any(value not in (None, "") for value in values)]
        rows = list(zip(*(columns[name] for name in used), strict=True))
        rest = max(0, len(every["estimate"]) - MOST_SHOWN)
        notes = [*([f"... and {rest} more rows"] if rest else []), *getattr(self, "notes", ())]
        return html_table(f"{type(self).__name__}: {self._reporters()}", used, rows, notes)

    def _reporters(self) -> str:
        users = getattr(self, "users", None)
        return "" if users is None else counted(users, "user")


def tidy_columns(
    question: str | Sequence[str],
    categories: Sequence[str],
    estimate: Any,
    standard_error: Any = None,
    interval: tuple[Any, Any] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Columns:
    """Return a tidy table; arrays are read in the order of their cells, single values stand in every row.

    Examples
    --------
    >>> tidy_columns("smoker", ["no", "yes"], [0.75, 0.25])["category"]
    ['no', 'yes']
    >>> tidy_columns("age", ["mean"], 41.5, 0.5, (40.5, 42.5))["low"]
    [40.5]
    """
    low, high = (None, None) if interval is None else interval
    given = {"estimate": estimate, "standard_error": standard_error, "low": low, "high": high, **(more or {})}
    rows = len(categories)
    questions = [question] * rows if isinstance(question, str) else list(question)
    columns: Columns = {"question": questions, "category": list(categories)}
    return columns | {name: _column(values, rows) for name, values in given.items()}


def _to_errors(columns: Columns, most: int) -> Columns:
    """Return the first rows with numbers as text, digits down to their standard errors."""
    first = {name: values[:most] for name, values in columns.items()}
    for name in ("estimate", "low", "high"):
        first[name] = [
            NumberText(to_error(value, error)) if isinstance(value, float) and error else value
            for value, error in zip(first[name], first["standard_error"], strict=True)
        ]
    return first


def _column(values: Any, rows: int) -> list[Any]:
    flat = np.asarray(values).ravel().tolist()
    flat = flat * rows if len(flat) == 1 else flat
    if len(flat) != rows:
        raise ValueError(f"{counted(len(flat), 'value')} for {rows} rows")
    return [None if isinstance(value, float) and math.isnan(value) else value for value in flat]


def stacked(tables: Iterable[Columns]) -> Columns:
    """Return tables one under the other; None where a table has no such column.

    Examples
    --------
    >>> stacked([{"a": [1]}, {"a": [2], "b": [3]}])
    {'a': [1, 2], 'b': [None, 3]}
    """
    parts = list(tables)
    names = list(dict.fromkeys(name for part in parts for name in part))
    sizes = [len(next(iter(part.values()), [])) for part in parts]
    return {
        name: [
            value for part, size in zip(parts, sizes, strict=True) for value in part.get(name, [None] * size)
        ]
        for name in names
    }


def one_cell(value: Any) -> Any:
    """Return a value as one cell of a table: a list or a mapping as its JSON text.

    Examples
    --------
    >>> one_cell([1, 2]), one_cell(0.5), one_cell("a")
    ('[1, 2]', 0.5, 'a')
    """
    plain = encode(value)
    return json.dumps(plain) if isinstance(plain, (list, dict)) else plain


def with_question(columns: Columns, question: str) -> Columns:
    """Return a tidy table in which estimates without a question have this one."""
    return {**columns, "question": [name or question for name in columns["question"]]}


def cross_layout(attributes: Sequence[str], labels: Sequence[Sequence[str]], value: Any) -> Columns:
    """Return a cross table as it stands on paper: the last attribute across, the others down.

    Parameters
    ----------
    attributes : sequence of str
        Two or more.
    labels : sequence of sequence of str
        The values of each.
    value : array
        One axis an attribute.

    Examples
    --------
    >>> cross_layout(["smoker", "city"], [["no", "yes"], ["Graz", "Wien"]], [[0.4, 0.3], [0.2, 0.1]])
    {'smoker': ['no', 'yes'], 'city: Graz': [0.4, 0.2], 'city: Wien': [0.3, 0.1]}
    """
    *down, across = attributes
    rows = list(product(*labels[:-1]))
    table = np.asarray(value).reshape(len(rows), len(labels[-1]))
    columns: Columns = {name: [row[place] for row in rows] for place, name in enumerate(down)}
    return columns | {
        f"{across}: {label}": table[:, place].tolist() for place, label in enumerate(labels[-1])
    }
