"""Results as columns, one tidy row an estimate; cross tables as grids.

A cross table of shares is printed as a grid, and has the same columns as a list of its cells.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mechdesign.core.errors import (
    ParameterError,
    counted,
)
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.values import encode, frozen_value
from mechdesign.data.frames import PANDAS, frame_of
from mechdesign.show.tables import NumberText, html_table, table, to_error
from mechdesign.work.records import dataclass

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

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
    numbers = {
        "estimate": estimate,
        "standard_error": standard_error,
        "low": low,
        "high": high,
        **(more or {}),
    }
    rows = len(categories)
    questions = [question] * rows if isinstance(question, str) else list(question)
    columns: Columns = {"question": questions, "category": list(categories)}
    return columns | {name: _column(values, rows) for name, values in numbers.items()}


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


OF_ANSWERED = "of those who answered"


@frozen_value()
class Quantiles:
    """The answers at quantiles of an ordered question or of a number, with intervals.

    Attributes
    ----------
    levels : tuple of float
    category, low, high : tuple of str or float
        The first category at which the estimated distribution reaches the level, and between which
        categories it lies with 95 % confidence; of numbers the middle of the bin, and ends of bins.
    answered : bool
        Whether they are those of the users who answered, not of all.

    Examples
    --------
    >>> print(Quantiles((0.5,), ("fair",), ("bad",), ("fair",)))
    quantile      category  95% low  95% high
    ------------  --------  -------  --------
    0.5 (median)  fair      bad      fair
    """

    levels: tuple[float, ...]
    category: tuple[Any, ...]
    low: tuple[Any, ...]
    high: tuple[Any, ...]
    answered: bool = False

    @property
    def rows(self) -> list[list[str]]:
        """A row of texts for each level."""
        texts = (
            [_quantile_text(value) for value in values] for values in (self.category, self.low, self.high)
        )
        return [
            [f"{level:g}{' (median)' * (level == 0.5)}", *row]
            for level, row in zip(self.levels, zip(*texts, strict=True), strict=True)
        ]

    def __str__(self) -> str:
        header = ["quantile", "value" if self._are_numbers else "category", "95% low", "95% high"]
        text = table(header, self.rows)
        return f"{OF_ANSWERED}\n{text}" if self.answered else text

    @property
    def _are_numbers(self) -> bool:
        return not any(isinstance(value, str) for value in self.category)

    def as_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {
            "levels": list(self.levels),
            "category": list(self.category),
            "low": list(self.low),
            "high": list(self.high),
            "answered": self.answered,
        }


def _quantile_text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


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


ERRORS = ", standard errors"
"""How the title of a grid of standard errors ends."""

WIDEST, LONGEST = 100, 60
"""Characters of a line, and rows, beyond which a grid is printed as a list of cells."""


class CrossTable(Tidy):
    """Shares of the cells of a table over attributes.

    A subclass has ``attributes``, the ``labels`` of each axis and ``value``, one axis an attribute.
    """

    attributes: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name of the shares in the table."""
        return " x ".join(self.attributes)

    def _axes(self) -> list[str]:
        return [*self.attributes, *(f"given {name}" for name in getattr(self, "given", ()))]

    def grid(self) -> Columns:
        """Return the estimates as they stand on paper: the last attribute across, the others down.

        Raises
        ------
        ParameterError
            For a table over a single attribute.
        """
        return next(iter(self.grids().values()))

    def grids(self) -> dict[str, Columns]:
        """Return the grid of the estimates and, where each cell has one, that of the standard errors."""
        own: Any = self
        axes = self._axes()
        if len(axes) < 2:
            raise ParameterError("grid", f"'{self.title}' is a single attribute", "name two or more")
        result = {self.title: cross_layout(axes, own.labels, own.value)}
        errors = getattr(self, "standard_error", None)
        if errors is not None and np.shape(errors) == np.shape(own.value):
            result[f"{self.title}{ERRORS}"] = cross_layout(axes, own.labels, errors)
        return result

    def grid_text(self) -> str:
        """Return all grids as text, each under its title."""
        return grids_text(self.grids())

    def _short_grid(self) -> str:
        """Return the grid of the estimates; empty over a single attribute, and where it is too large."""
        if len(self._axes()) < 2:
            return ""
        text = _text(self.grid())
        is_short = len(text.partition("\n")[0]) <= WIDEST and text.count("\n") <= LONGEST
        return text if is_short else ""


def grids_text(grids: Mapping[str, Columns]) -> str:
    """Return grids as text, each under its title."""
    return "\n\n".join(f"{title}\n{_text(columns)}" for title, columns in grids.items())


def _text(columns: Columns) -> str:
    rows = [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return table(list(columns), rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.5f}"
    return str(value)


class CrossTables(Tidy):
    """Several cross tables, one under the other: of the single attributes, or the requested ones.

    Class attributes
    ----------------
    listed : str
        Their name among the plain values.
    """

    listed: ClassVar[str] = "tables"

    @abstractmethod
    def _tables(self) -> Sequence[Any]:
        """Return the tables."""

    def as_json(self) -> dict[str, Any]:
        """Return all of them as plain values."""
        return {self.listed: [each.as_json() for each in self._tables()]}

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._tables()))

    def tidy(self, level: float = 0.95) -> Columns:
        return stacked(each.tidy(level) for each in self._tables())

    def grids(self) -> dict[str, Columns]:
        """Return the grids of all of them, by their titles."""
        return {title: columns for each in self._tables() for title, columns in each.grids().items()}

    def grid_text(self) -> str:
        """Return the grids of all of them as text."""
        return "\n\n".join(each.grid_text() for each in self._tables())


@dataclass(frozen=True, eq=False, repr=False)
class AskedTables(CrossTables):
    """The requested tables; each subclass has the type of one mechanism's tables.

    Attributes
    ----------
    tables : tuple of CrossTable
    """

    found = FormerAttribute("tables")

    tables: tuple[Any, ...]

    def _tables(self) -> Sequence[Any]:
        return self.tables

    def figures(self) -> list[Figure]:
        """Return the pictures of all of them."""
        return [figure for each in self.tables for figure in each.figures()]
