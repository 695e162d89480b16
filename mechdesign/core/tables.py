"""Tables in blocks, so that no file has to fit into memory; columns as arrays, and data frames in partitions.

A mask of numpy is never lost, and an error says what is not a column. Frames of Dask are counted partition by
partition where they are, and the results merged in a tree; nothing of Dask is imported before there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, RowError
from mechdesign.core.text import counted

FEW = 8
"""Up to this many values, counting the rows of one value at a time is faster than counting all at once."""

ROWS = 1 << 18
"""Rows of a block: a multiple of the pieces in which mechanisms draw, so that blocks leave no trace."""


class Coded:
    """A column with few distinct values: ``values[codes]``, so that each value is looked at once only.

    Parameters
    ----------
    values : (k,) array
        The distinct values.
    codes : (n,) int array
        Which of them each row has.

    Examples
    --------
    >>> column = Coded(np.array(["no", "yes"]), np.array([1, 0, 1]))
    >>> len(column), np.asarray(column).tolist()
    (3, ['yes', 'no', 'yes'])
    """

    def __init__(self, values: NDArray[Any], codes: NDArray[Any]) -> None:
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return Coded(self.values, self.codes[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array: NDArray[Any] = self.values[self.codes]
        return array if dtype is None else array.astype(dtype)

    def rows_of_each(self) -> NDArray[np.int64]:
        """Return how many rows have each value.

        Examples
        --------
        >>> Coded(np.array(["no", "yes", "never"]), np.array([1, 0, 1])).rows_of_each()
        array([1, 2, 0])
        """
        if len(self.values) > FEW:
            return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)
        counts = [np.count_nonzero(self.codes == place) for place in range(len(self.values))]
        return np.array(counts, dtype=np.int64)


Values = NDArray[Any] | Coded
Block = Mapping[str, Values]
"""Columns by name, all of the same length."""


class Source(Protocol):
    """A table that is read in blocks, any number of times."""

    @property
    def name(self) -> str:
        """Name of the source in errors: the path of a file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all its columns."""

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns, ``ROWS`` at a time."""

    def row(self, number: int) -> int:
        """Return the row of the file, counted from 1, of a row of the latest block, counted from 0."""


def length(block: Block) -> int:
    """Return the number of rows of a block."""
    return len(next(iter(block.values()), ()))


REMEDY = "leave such rows out: values[~mask]"
UNTOUCHED = "a report is never empty: use what randomize returned"

Mask = NDArray[np.bool_]


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Return data as a plain array; refuse masked entries, single values and generators.

    Parameters
    ----------
    values : array or sequence
    what : str
        The name in errors: answers, values, reports.

    Raises
    ------
    RowError
        For the first row with a masked entry: numpy keeps the mask apart from the values, which must not
        be used there.
    DataError
        For a single value, or something that is read only once.

    Examples
    --------
    >>> array_of(["no", "yes"], "answers").tolist()
    ['no', 'yes']
    >>> array_of("no", "answers")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: answers: expected a list with a value for each user, got 'no'; ...
    """
    if type(values) is np.ndarray and values.dtype.kind != "O":
        return values
    require_no_mask(values, what)
    if isinstance(values, (str, bytes, int, float)) or values is None:
        raise _not_a_list(what, repr(values)[:40], f"give a list: [{repr(values)[:40]}]")
    if isinstance(values, Iterator):
        raise _not_a_list(what, f"a {type(values).__name__}", "give a list: list(...)")
    if isinstance(values, (dict, set, frozenset)):
        raise _not_a_list(what, f"a {type(values).__name__}", "give a list in the order of the users")
    array = np.asarray(values)
    if array.dtype.kind == "U" and array.ndim == 1 and "nan" in array:
        return _texts_with_gaps(values, array)
    return array


def _texts_with_gaps(values: Any, array: NDArray[Any]) -> NDArray[Any]:
    """Return texts with None where numpy has written ``nan`` for an entry that is not a text."""
    gaps = [not isinstance(value, str) and is_gap(value) for value in values]
    if not any(gaps):
        return array
    texts = array.astype(object)
    texts[gaps] = None
    return texts


def is_gap(value: Any) -> bool:
    """Return whether an entry of a column stands for no value: None, NaN, NaT, what is masked, pandas' NA.

    Examples
    --------
    >>> is_gap(None), is_gap(float("nan")), is_gap(np.datetime64("NaT", "D")), is_gap(0), is_gap("")
    (True, True, True, False, False)
    """
    if value is None:
        return True
    if isinstance(value, (str, int)):
        return False
    pandas = sys.modules.get("pandas")
    if pandas is not None and value is pandas.NA:
        return True
    if isinstance(value, (float, Decimal, np.generic)) or (pandas is not None and value is pandas.NaT):
        return bool(value != value)
    return _has_mask(value)


def gap_remedy(what: str, remedy: str) -> str:
    """Return what to do about a missing entry: of a report, use the one that was made.

    Reports that are left out by their value make estimates wrong.

    Examples
    --------
    >>> gap_remedy("answers", "omit it"), gap_remedy("reports", "omit it")
    ('omit it', 'a report is never empty: use what randomize returned')
    """
    return UNTOUCHED if names_reports(what) else remedy


def names_reports(what: str) -> bool:
    """Return whether data with this name in errors are reports."""
    return what.startswith(("reports", "messages"))


def _not_a_list(what: str, value: str, remedy: str) -> DataError:
    return DataError(what, f"expected a list with a value for each user, got {value}", remedy)


def require_no_mask(values: Any, what: str) -> None:
    """Raise RowError for the first row of data with a masked entry, where the data have a mask.

    Examples
    --------
    >>> import numpy.ma
    >>> require_no_mask(numpy.ma.array([3, 1, 2], mask=[False, True, False]), "answers")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.RowError: answers: row 2: is missing; leave such rows out: values[~mask]
    """
    mask = mask_of(values)
    if mask is not None and mask.any():
        count = int(mask.sum())
        more = f" ({count} such rows here)" if count > 1 else ""
        raise RowError(what, int(np.argmax(mask)), f"is missing{more}", gap_remedy(what, REMEDY))


def mask_of(values: Any) -> Mask | None:
    """Return which rows of data have a masked entry; None where nothing can be masked.

    Masked arrays are recognized, sequences of them, and sequences and arrays of objects that hold
    ``numpy.ma.masked``.
    """
    masked = sys.modules.get("numpy.ma")  # where nothing has imported it, there is no masked array
    if masked is None:
        return None
    if isinstance(values, masked.MaskedArray):
        return _rows_of(masked.getmaskarray(values))
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "O":
            return None
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        return None
    nested = (masked.MaskedArray, np.ndarray, list, tuple)
    if not any(issubclass(kind, nested) for kind in set(map(type, values))):
        return None
    return np.array([_has_mask(entry) for entry in values], dtype=np.bool_)


def is_masked(values: Any) -> bool:
    """Return whether data are a masked array, whatever its mask, or hold masked entries."""
    masked = sys.modules.get("numpy.ma")
    if masked is None or isinstance(values, masked.MaskedArray):
        return masked is not None
    return _has_mask(values)


def _has_mask(entry: Any) -> bool:
    mask = mask_of(entry)
    return mask is not None and bool(mask.any())


def _rows_of(mask: NDArray[Any]) -> Mask:
    """Return which rows of the mask of an array, of any shape and of records as well, are set."""
    whole = np.ascontiguousarray(mask)
    rows = len(whole) if mask.ndim else 1
    flat: Mask = (
        whole.reshape(-1).view(np.bool_).reshape(rows, -1) if whole.size else np.zeros((rows, 0), bool)
    )
    return np.asarray(flat.any(axis=1))


def dimensions_of(array: NDArray[Any]) -> str:
    """Return the shape of an array in words.

    Examples
    --------
    >>> dimensions_of(np.zeros((2, 3)))
    'an array of 2 dimensions'
    """
    return f"an array of {counted(array.ndim, 'dimension')}" if array.ndim else "a single value; give a list"


FAN = 8
"""Results that are merged at a time."""


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

    dask: Any = module
    common = dask.delayed(shared, pure=False, traverse=False)
    level = [dask.delayed(function, pure=False)(common, part) for part in frame.to_delayed()]
    while len(level) > 1:
        groups = [level[start : start + FAN] for start in range(0, len(level), FAN)]
        level = [dask.delayed(merge, pure=False)(common, *group) for group in groups]
    return level[0].compute()
