"""Open a data file as a table in blocks, by its name."""

from __future__ import annotations

import os
from pathlib import Path

from mechdesign.data.formats import JSON_LINES, PARQUET
from mechdesign.data.intake import MissingRule
from mechdesign.data.reading import FileTable


def open_table(
    path: str | os.PathLike[str],
    missing: MissingRule | None = None,
    name: str | None = None,
    suffix: str | None = None,
) -> FileTable:
    r"""Return the table in a file of CSV, Parquet, or JSON lines (``.jsonl``, ``.ndjson``).

    Parameters
    ----------
    path : path
    missing : MissingRule, optional
        What to do with rows without a value; they are refused by default.
    name, suffix : str, optional
        What errors call it, and which format it has; by default as the path says.

    Raises
    ------
    DataError
        When the file cannot be read, is empty, or is not what its name says.
    MissingPackageError
        For Parquet without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> place = Path(tempfile.mkdtemp()) / "ages.csv"
    >>> _ = place.write_text("age\n31\n47\n")
    >>> table = open_table(place)
    >>> table.columns, [block["age"].values.tolist() for block in table.blocks(["age"])]
    (('age',), [['31', '47']])
    """
    rule = MissingRule() if missing is None else missing
    ending = Path(path).suffix.lower() if suffix is None else suffix
    if ending in PARQUET:  # what reads the other formats is not imported
        from mechdesign.data.reading_parquet import ParquetTable

        return ParquetTable(path, rule, name)
    if ending in JSON_LINES:
        from mechdesign.data.reading_json import JsonTable

        return JsonTable(path, rule, name)
    from mechdesign.data.reading_csv import CsvTable

    return CsvTable(path, rule, name)
