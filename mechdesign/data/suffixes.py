"""The names that files for mechanisms, data and results have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mechdesign.core.errors import ParameterError

PARQUET = (".parquet", ".pq")
"""Names of files that are Parquet; all others are CSV."""

MECHANISM = (".json",)
"""Names of mechanism files."""

JSON_LINES = (".jsonl", ".ndjson")
"""Names of files with a JSON object a line."""

DATA = (".csv", *PARQUET)
"""Names of files for data and reports, which the commands read again."""

RESULTS = (*DATA, ".xlsx", ".json")
"""Names of files for results."""


def require_suffix(path: str, known: Sequence[str], option: str = "-o") -> None:
    """Raise ParameterError for a file whose name does not say what it is to hold.

    Examples
    --------
    >>> require_suffix("t.csv", RESULTS)
    >>> require_suffix("t.xls", RESULTS)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: -o t.xls: no format '.xls'; name it .csv, .parquet, .xlsx or .json
    """
    suffix = Path(path).suffix.lower()
    if path == "-" or suffix in known:  # the standard output has an error of its own
        return
    text = [item for item in known if item != ".pq"]
    remedy = text[0] if len(text) == 1 else f"{', '.join(text[:-1])} or {text[-1]}"
    what = f"no format '{suffix}'" if suffix else "has no extension"
    raise ParameterError(f"{option} {path}", what, f"name it {remedy}")
