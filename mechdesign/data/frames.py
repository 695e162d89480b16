"""Data frames of any library, in and out, by narwhals; and results as columns, one tidy row an estimate.

narwhals is a thin layer over pandas, polars, pyarrow, Modin and cuDF: written in Python alone, without
dependencies, and it imports none of them. The interchange protocol ``__dataframe__`` was considered: its
libraries advise against it, it has no indices and no way back to the user's kind of frame. Arrow's C stream
has one kind of frame only, and needs pyarrow on either side. Nothing here is imported before a frame comes.

A cross table of shares is printed as a grid, and has the same columns as a list of its cells.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError, RowError, suggestion
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.tables import ROWS, Block, Coded, Values, is_gap
from mechdesign.core.text import NumberText, counted, encode, html_table, table, to_error

if TYPE_CHECKING:
    from mechdesign.data.intake import MissingRule
    from mechdesign.show.figure import Figure

PANDAS = "pandas"
BACKENDS = (PANDAS, "polars", "pyarrow")
"""Kinds of data frames that results can be had as."""

PLAIN = ("builtins", "numpy", "mechdesign")
"""Where the classes live that no data frame has."""

SIGNS = ("columns", "column_names", "to_numpy")
"""What every data frame or series has one of."""

Mask = NDArray[np.bool_]


def _narwhals() -> Any:
    """Return the package, imported when it is first needed."""
    try:
        import narwhals.stable.v2 as narwhals
    except ImportError:
        raise MissingPackageError(
            "data frame", "needs narwhals", "pip install narwhals, or give arrays"
        ) from None
    return narwhals


def is_table(thing: Any) -> bool:
    """Whether a thing is a data frame or a series of any library.

    Examples
    --------
    >>> is_table([1, 2]), is_table(np.zeros(3)), is_table({"age": [1]})
    (False, False, False)
    """
    kind = type(thing)
    if kind.__module__.partition(".")[0] in PLAIN or not any(hasattr(kind, name) for name in SIGNS):
        return False
    narwhals = _narwhals()
    known = narwhals.dependencies
    if known.is_into_dataframe(thing) or known.is_into_series(thing):
        return True
    if isinstance(narwhals.from_native(thing, pass_through=True), narwhals.LazyFrame):
        raise DataError("data frame", "is lazy", "collect it first")
    return False


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str = PANDAS) -> Any:
    """Return columns as a data frame of a library.

    Raises
    ------
    ParameterError
        For a kind of frame that is not known.
    MissingPackageError
        When its library is not installed.
    """
    if backend not in BACKENDS:
        raise ParameterError("backend", f"no '{backend}'", suggestion(str(backend), BACKENDS))
    narwhals = _narwhals()
    try:
        frame = narwhals.from_dict(dict(columns), backend=backend)
    except ImportError:
        others = ", ".join(f'"{name}"' for name in BACKENDS if name != backend)
        raise MissingPackageError(
            "to_frame", f"needs {backend}", f"install {backend}, or name one of {others}"
        ) from None
    return frame.to_native()


class FrameTable:
    """A data frame or a series as a source of blocks.

    A series is a table of one column. Names of columns are texts here.

    Parameters
    ----------
    native : data frame or series
        Of pandas, polars, pyarrow or another library that narwhals knows.
    missing : MissingRule
        What to do with rows without a value.

    Raises
    ------
    DataError
        When two columns have one name.
    """

    name = "data frame"

    def __init__(self, native: Any, missing: MissingRule) -> None:
        narwhals = _narwhals()
        try:
            frame = narwhals.from_native(native, eager_only=True, allow_series=True)
        except (TypeError, ValueError) as error:  # narwhals' own are of these
            raise DataError(self.name, f"cannot be read ({error})", "give arrays") from None
        self.is_series = isinstance(frame, narwhals.Series)
        self.name = "series" if self.is_series else "data frame"
        self.narwhals, self.missing = narwhals, missing
        self.index = narwhals.maybe_get_index(frame)
        if self.is_series:
            self._columns = {str(frame.name) if frame.name is not None else "value": frame}
        else:
            self._columns = {
                str(name): column for name, column in zip(frame.columns, frame.iter_columns(), strict=True)
            }
        self.backend = frame.implementation
        self.row_numbers: list[NDArray[np.int64]] = []
        self._start = 0
        self._rows: NDArray[np.int64] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all its columns."""
        return tuple(self._columns)

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns, ``ROWS`` at a time, without those that are to be dropped."""
        self.row_numbers = []
        chosen = {name: self._columns[name] for name in columns}
        size = len(next(iter(chosen.values()), ()))
        if not size:
            raise DataError(self.name, "has no rows", "give one row per user")
        for start in range(0, size, ROWS):
            self._start, self._rows = start, None
            pairs = {
                name: self._values(name, column[start : start + ROWS]) for name, column in chosen.items()
            }
            block: Block = {name: values for name, (values, _) in pairs.items()}
            masks = {name: mask for name, (_, mask) in pairs.items()}
            try:
                block, self._rows = self.missing.apply(block, masks)
            except RowError as error:
                raise error.moved(self.name, start + error.row) from None
            count = min(ROWS, size - start)
            left = np.arange(count) if self._rows is None else self._rows
            self.row_numbers.append(left + start)
            if len(left):
                yield block

    def row(self, number: int) -> int:
        """Return the row, counted from 1, of a row of the latest block, counted from 0."""
        return self._start + 1 + (number if self._rows is None else int(self._rows[number]))

    def _values(self, name: str, column: Any) -> tuple[Values, Mask]:
        """Return the values of a column, and where there are none."""
        narwhals, kind = self.narwhals, column.dtype
        if isinstance(kind, (narwhals.List, narwhals.Array, narwhals.Struct)):
            raise DataError(f"{self.name}: column '{name}'", "holds lists", "give one value a row")
        empty = column.is_null()
        if kind.is_float():
            empty = empty | column.is_nan().fill_null(True)
        missing: Mask = np.asarray(empty.to_numpy(), dtype=np.bool_)
        if isinstance(kind, (narwhals.Categorical, narwhals.Enum)):
            return _coded(column.cast(narwhals.String).to_list()), missing
        if isinstance(kind, narwhals.String):
            return _coded(column.to_list()), missing
        if kind.is_numeric() and not kind.is_decimal():
            filled = column.fill_null(0) if missing.any() else column
            return np.asarray(filled.to_numpy()), missing
        values = column.to_list()
        if isinstance(kind, narwhals.Boolean) and not missing.any():
            return np.array(values, dtype=np.bool_), missing
        return _objects(values), missing | np.array([is_gap(value) for value in values], dtype=np.bool_)

    def like(self, columns: Mapping[str, Values], in_order: bool) -> Any:
        """Return columns as the same kind of frame; as a series when it was one and there is one column.

        Parameters
        ----------
        columns : mapping
        in_order : bool
            Whether row after row belongs to the rows that were read: then a pandas frame has their index.
        """
        plain = {name: _plain(values) for name, values in columns.items()}
        frame = self.narwhals.from_dict(plain, backend=self.backend)
        native = frame[next(iter(plain))].to_native() if self._is_alone(plain) else frame.to_native()
        if in_order and self.index is not None and self.row_numbers:
            native.index = self.index[np.concatenate(self.row_numbers)]
        return native

    def _is_alone(self, columns: Mapping[str, Any]) -> bool:
        """Whether a column is given back as a series."""
        return self.is_series and len(columns) == 1


def _coded(texts: Sequence[Any]) -> Coded:
    """Return texts as numbers of distinct ones; the empty text where there is none."""
    places: dict[str, int] = {}
    codes = [places.setdefault(text if isinstance(text, str) else "", len(places)) for text in texts]
    return Coded(_objects(list(places)), np.array(codes, dtype=np.int64))


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _plain(values: Values) -> Any:
    """Return a column as every library takes it: arrays of numbers, lists of texts."""
    array = np.asarray(values)
    return array if array.dtype.kind in "biuf" else array.tolist()


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
