"""Columns of users' data as arrays: a mask of numpy is never lost, and what is not a column is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, RowError
from mechdesign.core.text import counted

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


def with_gaps(values: Any) -> Any:
    """Return data with None in the place of masked entries: for columns whose entries may be missing.

    Examples
    --------
    >>> import numpy.ma
    >>> with_gaps(numpy.ma.array(["no", "yes"], mask=[True, False])).tolist()
    [None, 'yes']
    """
    mask = mask_of(values)
    if mask is None or not mask.any():
        return values
    column = np.empty(len(mask), dtype=object)
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    column[:] = [None if gap else value for gap, value in zip(mask.tolist(), listed, strict=True)]
    return column


def dimensions_of(array: NDArray[Any]) -> str:
    """Return the shape of an array in words.

    Examples
    --------
    >>> dimensions_of(np.zeros((2, 3)))
    'an array of 2 dimensions'
    """
    return f"an array of {counted(array.ndim, 'dimension')}" if array.ndim else "a single value; give a list"
