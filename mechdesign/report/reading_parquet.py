"""Parquet files in blocks, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mechdesign.core.errors import DataError
from mechdesign.core.tables import ROWS, Coded, Values
from mechdesign.report.missing import Mask
from mechdesign.report.reading import FileTable, Raw, pyarrow_module


class ParquetTable(FileTable):
    """A Parquet file."""

    def _columns(self) -> tuple[str, ...]:
        parquet = pyarrow_module("parquet", self.name)
        try:
            with parquet.ParquetFile(self.path) as file:
                return tuple(file.schema_arrow.names)
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error}); check the path") from None
        except ValueError as error:
            raise DataError(f"{self.name}: is not a Parquet file ({error})") from None

    def _raw(self, columns: Sequence[str]) -> Iterator[Raw]:
        parquet = pyarrow_module("parquet", self.name)
        try:
            with parquet.ParquetFile(self.path, pre_buffer=False) as file:
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
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error}); check the path") from None
        except ValueError as error:
            raise DataError(f"{self.name}: is not a Parquet file ({error})") from None

    def _values(self, name: str, column: Any) -> tuple[Values, Mask]:
        import pyarrow

        kind = column.type
        if pyarrow.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        missing: Mask = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            return self._texts(column.fill_null(""), missing)
        plain = (pyarrow.types.is_integer, pyarrow.types.is_floating)
        if any(test(kind) for test in plain):
            if column.null_count:
                column = column.fill_null(0)
            return column.to_numpy(zero_copy_only=False), missing
        values = column.to_pylist()
        if any(isinstance(value, (list, dict)) for value in values):
            raise DataError(f"{self.name}: column '{name}' holds lists; give one value a row")
        table = np.empty(len(values), dtype=object)
        table[:] = values
        if pyarrow.types.is_boolean(kind) and not missing.any():
            return table.astype(np.bool_), missing
        return table, missing

    def _texts(self, column: Any, missing: Mask) -> tuple[Coded, Mask]:
        coded = column.dictionary_encode()
        words = coded.dictionary.to_pylist()
        gone = np.array([word in self.missing.codes for word in words], dtype=np.bool_)
        table = np.empty(len(words), dtype=object)
        table[:] = words
        codes = coded.indices.to_numpy(zero_copy_only=False)
        return Coded(table, codes), missing | gone[codes] if gone.any() else missing
