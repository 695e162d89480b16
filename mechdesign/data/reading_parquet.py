"""Parquet files in blocks, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mechdesign.core.errors import DataError
from mechdesign.core.tables import ROWS, Coded, Values
from mechdesign.data.arrow import missing_in, numbers_of
from mechdesign.data.intake import Mask
from mechdesign.data.reading import FileTable, Raw, pyarrow_module, require_short

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
