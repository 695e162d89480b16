"""Arrays of pyarrow from and to numpy's, by their buffers.

pyarrow's own ``to_numpy`` and ``array`` import pandas wherever it is installed, which takes as long as
reading millions of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def missing_of(array: Any) -> NDArray[np.bool_]:
    """Return where a column has no value, NaN included; by its buffers, as pyarrow.compute imports slowly.

    Examples
    --------
    >>> import pyarrow
    >>> missing_of(pyarrow.array(["a", None, "b", None])[1:]).tolist()
    [True, False, True]
    >>> missing_of(pyarrow.array([1.0, float("nan"), None])).tolist()
    [False, True, True]
    """
    count, bits = len(array), array.buffers()[0]
    if array.null_count == count or not array.null_count or bits is None:
        missing = np.full(count, array.null_count > 0)
    else:
        present = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
        missing = present[array.offset : array.offset + count] == 0
    return missing | np.isnan(numbers_of(array)) if str(array.type) in KINDS else missing


def texts_to_arrow(texts: Sequence[str]) -> Any:
    """Return texts as a column of pyarrow.

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
    ends = np.cumsum([0, *map(len, written)], dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(written))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(written), buffers)


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


def coded_texts(codes: NDArray[Any], texts: Sequence[str]) -> Any:
    """Return the text of each code as a column of pyarrow that keeps the codes, and each text once.

    Examples
    --------
    >>> coded_texts(np.array([1, 0, 1]), ["no", "yes"]).tolist()
    ['yes', 'no', 'yes']
    """
    import pyarrow

    whole = codes if codes.dtype.kind == "i" else codes.astype(np.int64)
    return pyarrow.DictionaryArray.from_arrays(whole_to_arrow(whole), texts_to_arrow(texts))
