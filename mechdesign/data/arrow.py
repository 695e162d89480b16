"""Arrays of pyarrow from and to numpy's, by their buffers.

pyarrow's own ``to_numpy`` and ``array`` import pandas wherever it is installed, which takes as long as
reading millions of rows.

Plain values as columns of a table: what a file of JSON lines, and a message of a client, are read as.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.tables import Coded, Values

KINDS = {"double": "float64", "float": "float32", "halffloat": "float16"}
"""Types of pyarrow that numpy calls otherwise."""


def numbers_of(array: Any) -> NDArray[Any]:
    """Return a column of whole or floating-point numbers; what stands where there is none is not defined.

    Examples
    --------
    >>> import pyarrow
    >>> numbers_of(pyarrow.array([1.5, 2.5, 3.5])[1:])
    array([2.5, 3.5])
    """
    kind = str(array.type)
    dtype = np.dtype(KINDS.get(kind, kind))
    if not len(array) or array.buffers()[1] is None:
        return np.zeros(len(array), dtype=dtype)
    values: NDArray[Any] = np.frombuffer(array.buffers()[1], dtype=dtype)
    return values[array.offset : array.offset + len(array)]


def longest_text(array: Any) -> int:
    """Return the bytes of the longest text of a column, 0 where there is none.

    Examples
    --------
    >>> import pyarrow
    >>> longest_text(pyarrow.array(["a", "bcd", None])), longest_text(pyarrow.array([], "string"))
    (3, 0)
    """
    kinds = {"string": np.int32, "large_string": np.int64}
    if not len(array) or array.null_count or str(array.type) not in kinds:
        import pyarrow.compute  # takes longer than a short file

        return pyarrow.compute.max(pyarrow.compute.binary_length(array)).as_py() or 0
    ends = np.frombuffer(array.buffers()[1], dtype=kinds[str(array.type)])
    return int(np.diff(ends[array.offset : array.offset + len(array) + 1]).max())


def missing_in(array: Any) -> NDArray[np.bool_]:
    """Return where a column lacks a value; NaN counts as missing.

    pyarrow's own ``is_null`` is of a module that takes longer to import than a million rows to count.

    Examples
    --------
    >>> import pyarrow
    >>> missing_in(pyarrow.array([1.5, None, float("nan")])), missing_in(pyarrow.nulls(1))
    (array([False,  True,  True]), array([ True]))
    >>> missing_in(pyarrow.array(["a", None, "b", None])[1:])
    array([ True, False,  True])
    """
    if str(array.type) in KINDS:
        missing: NDArray[np.bool_] = np.isnan(numbers_of(array)) | _unset(array)
        return missing
    return _unset(array)


def _unset(array: Any) -> NDArray[np.bool_]:
    """Return where the bits that mark the values of a column are not set."""
    bits = array.buffers()[0]
    if not array.null_count or bits is None:
        return np.full(len(array), array.null_count > 0)
    places = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    missing: NDArray[np.bool_] = places[array.offset : array.offset + len(array)] == 0
    return missing


def texts_to_arrow(texts: Sequence[str], large: bool = False) -> Any:
    """Return texts as a column of pyarrow; a large one holds 2 GiB of text and more.

    Raises
    ------
    UnicodeEncodeError
        For a text with half a character.

    Examples
    --------
    >>> texts_to_arrow(["a", "", "bc"]).tolist()
    ['a', '', 'bc']
    """
    import pyarrow

    written = [text.encode("utf-8") for text in texts]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64 if large else np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(written))]
    kind = pyarrow.large_string() if large else pyarrow.string()
    return pyarrow.Array.from_buffers(kind, len(written), buffers)


def whole_to_arrow(values: NDArray[Any]) -> Any:
    """Return whole or floating-point numbers as a column of pyarrow.

    Examples
    --------
    >>> whole_to_arrow(np.array([3, 4], dtype=np.uint8)).tolist()
    [3, 4]
    """
    import pyarrow

    data = np.ascontiguousarray(values)
    buffers = [None, pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(data.dtype), len(data), buffers)


def spread(codes: NDArray[Any], texts: Sequence[str], large: bool = False) -> Any:
    """Return the text of each code as a column of pyarrow, put together outside of Python.

    Examples
    --------
    >>> spread(np.array([1, 0, 1]), ["no", "yes"]).tolist()
    ['yes', 'no', 'yes']
    """
    import pyarrow

    whole = codes if codes.dtype.kind == "i" else codes.astype(np.int64)
    dictionary = pyarrow.DictionaryArray.from_arrays(whole_to_arrow(whole), texts_to_arrow(texts, large))
    return dictionary.dictionary_decode()


def coded_texts(codes: NDArray[Any], texts: Sequence[str]) -> Any:
    """Return the texts that some code stands for as a dictionary, and the column of numbers in it.

    A text that no row has is left out: it may come from a row that was dropped.

    Examples
    --------
    >>> coded_texts(np.array([2, 0, 2]), ["no", "once", "yes"]).dictionary.tolist()
    ['no', 'yes']
    """
    import pyarrow

    used = Coded(np.array(texts, dtype=object), codes).rows_of_each() > 0
    places = (np.cumsum(used, dtype=np.int32) - np.int32(1)).take(codes)
    found = [text for text, has_rows in zip(texts, used.tolist(), strict=True) if has_rows]
    return pyarrow.DictionaryArray.from_arrays(whole_to_arrow(places), texts_to_arrow(found))


def joined(codes: NDArray[Any], texts: Sequence[str]) -> memoryview:
    """Return the texts of all codes one after the other, in UTF-8.

    Examples
    --------
    >>> bytes(joined(np.array([1, 0, 1]), ["no,", "yes,"]))
    b'yes,no,yes,'
    """
    column = spread(codes, texts, large=True)
    ends = np.frombuffer(column.buffers()[1], dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return memoryview(column.buffers()[2] or b"")[ends[0] : ends[-1]]


LONGEST = 200
"""Characters beyond which texts are not kept in numpy's arrays of fixed width."""

MESSAGE_FORMAT = "mechdesign-report"
"""What the message of a client says of itself, as ``format``."""

INTEGERS = range(-(1 << 63), 1 << 63)


def texts(values: list[str]) -> NDArray[Any]:
    """Return texts as an array; numpy's texts have a fixed width and drop trailing NULs, others do not.

    Examples
    --------
    >>> texts(["yes", "no"])
    array(['yes', 'no'], dtype='<U3')
    """
    unusual = max(map(len, values), default=0) > LONGEST or any("\0" in value for value in values)
    return np.array(values, dtype=object if unusual else None)


def plain_column(values: Sequence[Any]) -> Values:
    """Return plain values as integers, numbers or texts; what is missing (None) does not count.

    Examples
    --------
    >>> plain_column([3, 1]), plain_column([3, None]), plain_column([3, "x2a"])
    (array([3, 1]), array([ 3., nan]), array(['3', 'x2a'], dtype='<U3'))
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and None not in values and all(value in INTEGERS for value in values):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else float(value) for value in values])
    return texts(["" if value is None else str(value) for value in values])
