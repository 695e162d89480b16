"""Arrays of pyarrow from and to numpy's, by their buffers; Parquet files in blocks, by pyarrow.

pyarrow's own ``to_numpy`` and ``array`` import pandas wherever it is installed, which takes as long as
reading millions of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.data.intake import ROWS, Coded, Mask, Values
from mechdesign.data.reading import FileTable, Raw, pyarrow_module, require_short

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
    occurring = [text for text, has_rows in zip(texts, used.tolist(), strict=True) if has_rows]
    return pyarrow.DictionaryArray.from_arrays(whole_to_arrow(places), texts_to_arrow(occurring))


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


FREE, EACH = 32 << 20, 1 << 10
"""Bytes that the texts of a column may take in a row group: FREE, plus EACH for each row."""
MOST_BYTES = 1 << 30
"""Bytes that they may take in any case."""
MOST_COLUMNS = 100_000


class ParquetTable(FileTable):
    """A Parquet file.

    A file of a few kilobytes can hold texts that fill the memory: how much there is to unpack is looked at
    before, and texts are kept as numbers of a dictionary.
    """

    def _columns(self) -> tuple[str, ...]:
        parquet = pyarrow_module("parquet", self.name)
        try:
            with parquet.ParquetFile(self.path) as file:
                if file.metadata.num_columns > MOST_COLUMNS:
                    raise DataError(
                        self.name,
                        f"has {file.metadata.num_columns} columns, more than {MOST_COLUMNS}",
                        "keep those needed",
                    )
                self._schema = file.schema_arrow
                return tuple(self._schema.names)
        except DataError:
            raise
        except (OSError, ValueError) as error:
            raise self._refusal(error) from None

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        parquet = pyarrow_module("parquet", self.name)
        texts = self._require_plain(columns)
        try:
            with parquet.ParquetFile(
                self.path, pre_buffer=False, read_dictionary=texts, page_checksum_verification=True
            ) as file:
                self._require_bounded(file, set(texts))
                total, done = max(1, file.metadata.num_rows), 0
                for batch in file.iter_batches(ROWS, columns=list(columns), use_threads=False):
                    done += batch.num_rows
                    if not batch.num_rows:
                        continue
                    pairs = {name: self._values(name, batch.column(name)) for name in columns}
                    yield (
                        {name: values for name, (values, _) in pairs.items()},
                        {name: mask for name, (_, mask) in pairs.items()},
                        done / total,
                    )
        except DataError:
            raise
        except (OSError, ValueError) as error:
            raise self._refusal(error) from None

    def _refusal(self, error: Exception) -> DataError:
        """Return the error for what pyarrow says, in a line."""
        reason = " ".join(str(error).split())
        if "checksum" in reason or "CRC" in reason:
            return DataError(self.name, "is damaged: a checksum does not fit", "use a copy of it")
        if isinstance(error, OSError):
            return DataError(self.name, f"cannot be read ({reason})", "check the path")
        return DataError(self.name, f"is not a Parquet file ({reason})")

    def _require_plain(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of these that hold strings; refuse nested columns and those of bytes."""
        from pyarrow import types

        result, schema = [], self._schema
        for name in columns:
            kind = schema.field(schema.get_field_index(name)).type if name in schema.names else None
            if kind is not None and types.is_dictionary(kind):
                kind = kind.value_type
            if kind is None or _is_text(kind):
                result.append(name)
            elif types.is_nested(kind):
                raise DataError(self.name, f"column '{name}' holds lists", "give one value a row")
            elif (
                types.is_binary(kind)
                or types.is_large_binary(kind)
                or types.is_fixed_size_binary(kind)
                or (str(kind) == "binary_view")
            ):
                raise DataError(
                    self.name, f"column '{name}' contains bytes, not strings", "convert it to strings"
                )
        return result

    def _require_bounded(self, file: Any, columns: set[str]) -> None:
        """Refuse columns of texts that would take much more memory than their rows say."""
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            for place in range(group.num_columns):
                chunk = group.column(place)
                if chunk.path_in_schema not in columns:
                    continue
                size, most = chunk.total_uncompressed_size, min(MOST_BYTES, FREE + EACH * group.num_rows)
                if size > most:
                    raise DataError(
                        self.name,
                        f"column '{chunk.path_in_schema}' holds {size >> 20} MiB of text in "
                        f"{group.num_rows} rows",
                        "give shorter texts, or smaller row groups",
                    )

    def _values(self, name: str, column: Any) -> tuple[Values, Mask]:
        import pyarrow

        kind = column.type
        if pyarrow.types.is_dictionary(kind):
            if _is_text(kind.value_type):
                return self._texts(name, column)
            column, kind = column.cast(kind.value_type), kind.value_type
        missing: Mask = missing_in(column)
        if _is_text(kind):
            return self._texts(name, column.dictionary_encode())
        plain = (pyarrow.types.is_integer, pyarrow.types.is_floating)
        if any(test(kind) for test in plain):
            numbers = numbers_of(column)
            if self.missing.codes:
                missing = missing | (self.missing.in_numbers(numbers) & ~missing)
            return np.where(
                missing, numbers.dtype.type(0), numbers
            ) if column.null_count else numbers, missing
        values = column.to_pylist()
        table = np.empty(len(values), dtype=object)
        table[:] = values
        if pyarrow.types.is_boolean(kind) and not missing.any():
            return table.astype(np.bool_), missing
        return table, missing

    def _texts(self, name: str, coded: Any) -> tuple[Coded, Mask]:
        """Return texts as codes, with the empty text where there is none."""
        missing: Mask = missing_in(coded.indices)
        require_short(f"{self.name}: column '{name}'", coded.dictionary)
        words = ["" if word is None else word for word in coded.dictionary.to_pylist()]
        codes = numbers_of(coded.indices)
        if coded.indices.null_count:  # only then: a text that is not a category is looked for row by row
            words.append("")
            codes = np.where(missing, len(words) - 1, codes)
        is_code = self.missing.is_missing
        gone = np.array([word != "" and is_code(word) for word in words], dtype=np.bool_)
        table = np.empty(len(words), dtype=object)
        table[:] = words
        return Coded(table, codes), missing | gone[codes] if gone.any() else missing


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind)) or str(kind) == "string_view"
