"""Files of SPSS (``.sav``, ``.zsav``) and Stata (``.dta``), by pyreadstat: labels, codes for no answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mechdesign.core.errors import DataError, MissingPackageError
from mechdesign.data.identifiers import is_person_column
from mechdesign.data.survey_tools.export import TIMES, Export, ExportColumn, plain_text
from mechdesign.exact.numbers import text_of

SPSS = (".sav", ".zsav", ".por")
STATA = (".dta",)
SUFFIXES = (*SPSS, *STATA)

DATES = re.compile(
    r"(?:[AEJS]?DATE|DATETIME|YMDHMS|MTIME|TIME|DTIME|QYR|MOYR|WKYR|WKDAY|MONTH)[0-9.]*|%-?[0-9]*t.*"
)
"""Formats of dates and times in both programs."""


def _pyreadstat(name: str) -> Any:
    try:
        import pyreadstat
    except ImportError:
        remedy = "install mechdesign[statistics], or save it as CSV"
        raise MissingPackageError(name, "a file of SPSS or Stata needs pyreadstat", remedy) from None
    return pyreadstat


def read_export(path: str, name: str) -> Export:
    """Return the columns and rows of a file of SPSS or Stata.

    Raises
    ------
    DataError
        When it cannot be read.
    MissingPackageError
        Without pyreadstat.
    """
    package = _pyreadstat(name)
    suffix = Path(path).suffix.lower()
    tool = "Stata" if suffix in STATA else "SPSS"
    if not Path(path).is_file():
        raise DataError(name, "file not found", "check the path")
    read = {".dta": package.read_dta, ".por": package.read_por}.get(suffix, package.read_sav)
    options: dict[str, Any] = {} if suffix == ".por" else {"user_missing": True}
    try:
        data, about = read(path, output_format="dict", **options)
    except (package.ReadstatError, package.PyreadstatError, ValueError, OSError) as error:
        words = " ".join(str(error).split())
        raise DataError(name, f"is not a file of {tool} ({words})", "save it again, or as CSV") from None
    items = [_item(column, data[column], about) for column in about.column_names]
    rows = max((len(item.cells) for item in items), default=0)
    _ticks(items, getattr(about, "mr_sets", None) or {})
    export = Export(tool, items, rows)
    export.person = next((item for item in items if is_person_column(item.name)), None)
    return export


def _item(column: str, values: Any, about: Any) -> ExportColumn:
    cells = [_text(value) for value in values]
    index = about.column_names.index(column)
    text = about.column_labels[index] or ""
    item = ExportColumn(column, cells, plain_text(text))
    labels = about.variable_value_labels.get(column, {})
    for span in about.missing_ranges.get(column, ()):
        if isinstance(span["lo"], str):
            item.missing.codes.add(span["lo"].strip())
        else:
            item.missing.ranges.append((float(span["lo"]), float(span["hi"])))
    item.missing.codes.update(map(str, about.missing_user_values.get(column, ())))
    named = {_text(code): plain_text(str(label)) for code, label in labels.items()}
    item.labels = {code: label for code, label in named.items() if not item.missing.has(code)}
    unlabelled = [cell for cell in item.distinct if cell not in item.labels and not item.missing.has(cell)]
    if item.labels and not unlabelled:
        is_scale = getattr(about, "variable_measure", {}).get(column) == "ordinal"
        item.kind = "ordered" if is_scale else "choice"
    elif item.labels:  # labels of some numbers only, as of the ends of a scale or of codes for no answer
        item.labels = {}
    if DATES.fullmatch(about.original_variable_types.get(column, "")):
        item.dropped = TIMES
    return item


def _ticks(items: list[ExportColumn], sets: dict[str, Any]) -> None:
    """Recognize the ticks of the multiple response sets of SPSS."""
    for name, table in sets.items():
        members = [item for item in items if item.name in table["variable_list"]]
        if not table["is_dichotomy"] or len(members) < 2:
            continue
        counted = text_of(table["counted_value"])
        for item in members:
            item.kind, item.group, item.labels = "tick", name.lstrip("$"), {}
            item.option = item.text or item.name
            item.group_text = plain_text(table["label"] or "")
            item.cells = ["1" if cell == counted else "0" if cell else "" for cell in item.cells]


def _text(value: Any) -> str:
    """Return a value as a text; numbers without a point where they are whole."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value).strip()
