"""Data frames of any library, in and out, by narwhals; partitions of Dask.

narwhals is a thin layer over pandas, polars, pyarrow, Modin and cuDF: written in Python alone, without
dependencies, and it imports none of them. The interchange protocol ``__dataframe__`` was considered: its
libraries advise against it, it has no indices and no way back to the user's kind of frame. Arrow's C stream
has one kind of frame only, and needs pyarrow on either side. Nothing here is imported before a frame comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import (
    DataError,
    MissingPackageError,
    ParameterError,
    RowError,
    suggestion,
)
from mechdesign.data.intake import ROWS, Block, Coded, Values, is_gap

if TYPE_CHECKING:
    from mechdesign.data.intake import MissingRule

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


def is_partitioned(thing: Any) -> bool:
    """Whether a thing is a data frame or a series of Dask.

    Examples
    --------
    >>> is_partitioned([1, 2])
    False
    """
    return type(thing).__module__.partition(".")[0].startswith("dask") and hasattr(thing, "to_delayed")


def merge_partitions(frame: Any, function: Callable[..., Any], merge: Callable[..., Any], shared: Any) -> Any:
    """Return the merged results of all partitions of a Dask frame, merged in a tree where they are.

    Parameters
    ----------
    frame : Dask data frame or series
    function, merge : callable
        ``function(shared, partition)`` and ``merge(shared, *results)``.
    shared : object
        What all pieces need.
    """
    import dask as module

    from mechdesign.work.parallel import FAN

    dask: Any = module
    common = dask.delayed(shared, pure=False, traverse=False)
    level = [dask.delayed(function, pure=False)(common, part) for part in frame.to_delayed()]
    while len(level) > 1:
        groups = [level[start : start + FAN] for start in range(0, len(level), FAN)]
        level = [dask.delayed(merge, pure=False)(common, *group) for group in groups]
    return level[0].compute()
