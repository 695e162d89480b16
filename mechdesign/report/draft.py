"""Write a commented model of a survey from the header of a file, a public codebook, and types or values.

Questions drafted from a file's columns: by their types alone, or with a look at users' values.

Read a public codebook: what each question may be answered with, known without a look at anybody's answers.

A codebook is a TOML file with tables ``[[questions]]``, as a survey file has them, or a CSV file. The CSV
file has a column ``name`` and any of the keys of a question: ``kind``, ``low`` and ``high``, ``bins``,
``spread``, ``skip``, ``importance``, ``error``, ``labels`` (separated by ``|``), and ``description``, which
becomes the text of the question. Where it has ``label`` instead, it has a line for each label.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mechdesign.catalog.shipped import BYTE_ORDER_MARK, toml_problem
from mechdesign.collect.collecting import require_commas, require_data
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    MissingPackageError,
    UnknownNameError,
    counted,
    option,
    printable,
    suggestion,
    unread,
)
from mechdesign.core.values import changed
from mechdesign.data.data_set import file_rows, open_table
from mechdesign.data.decimals import DecimalSigns
from mechdesign.data.intake import MISSING_CATEGORY, Coded, MissingRule, Values
from mechdesign.data.outputs import PARQUET
from mechdesign.data.reading import FileTable, pyarrow_module
from mechdesign.data.text_files import PLAIN, RECOGNIZED, FileForm
from mechdesign.exact.numbers import number_of_text
from mechdesign.families.survey.questions import NO_ANSWER, Question
from mechdesign.work.files import date_in, parse_toml, read_text

MOST_LABELS = 64
"""A column with more different texts is left out: names, addresses, numbers of people."""

FEW_NUMBERS = 12
"""A column with at most this many different numbers is taken for ordered categories."""

RARE = 10
"""A label that fewer rows have can point to a person."""

FIRST = 1000
"""Rows that tell whether a file states a column as numbers with a point."""

PLACEHOLDER = ["first answer", "second answer"]
PLACEHOLDER_RANGE = [0.0, 100.0]

Table = Mapping[str, Any]


@dataclass(frozen=True)
class DraftQuestion:
    """A question of a draft.

    Attributes
    ----------
    name : str
    table : mapping or None
        As a model states it; None where the column is left out.
    source : {"codebook", "type", "values"}
        Where it comes from.
    remarks : tuple of str
        Comments.
    """

    name: str
    table: Table | None
    source: str
    remarks: tuple[str, ...] = ()


def of_types(table: FileTable, columns: Sequence[str]) -> list[DraftQuestion]:
    """Return questions to be completed, from names and types alone: no row of the file is read."""
    types = _types(table)
    return [_of_type(name, types.get(name, "")) for name in columns]


def _types(table: FileTable) -> dict[str, str]:
    """Return the types of the columns as a Parquet file states them; a CSV file states none."""
    if table.path.suffix.lower() not in PARQUET:
        return {}
    try:
        schema = pyarrow_module("parquet", table.name).read_schema(table.path)
    except MissingPackageError:
        return {}
    return {item.name: str(item.type) for item in schema}


def _of_type(name: str, kind: str) -> DraftQuestion:
    if kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal")):
        remark = f"a column of numbers ({kind}): REPLACE the range by one that is known without the data"
        return DraftQuestion(name, {"name": name, "range": PLACEHOLDER_RANGE}, "type", (remark,))
    if kind == "bool":
        return DraftQuestion(name, {"name": name, "labels": ["False", "True"]}, "type")
    remarks = ("REPLACE the labels by all possible answers; of a number write range = [low, high] instead",)
    return DraftQuestion(name, {"name": name, "labels": PLACEHOLDER}, "type", remarks)


@dataclass
class _Seen:
    """The contents of a column: its values while they are few, and the range while all are numbers."""

    counts: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    many: bool = False
    rows: int = 0
    distinct: int = 0
    whole: bool = True
    floating: bool = False
    numeric: bool = True
    low: float = math.inf
    high: float = -math.inf

    def add(self, values: Values) -> None:
        """Look at a block, in which missing values have their word."""
        cells = values.values[values.codes] if isinstance(values, Coded) else np.asarray(values)
        self.floating = self.floating or any(isinstance(item, float) for item in cells[:FIRST].tolist())
        array = cells.astype(str)
        there = array != MISSING_CATEGORY
        self.missing += int((~there).sum())
        distinct, counts = np.unique(array[there], return_counts=True)
        self.rows, self.distinct = self.rows + int(there.sum()), self.distinct + len(distinct)
        for text, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            number = number_of_text(text)
            self.numeric = self.numeric and number is not None
            self.whole = self.whole and (number is None or number.is_integer())
            if number is not None:
                self.low, self.high = min(self.low, number), max(self.high, number)
            if text in self.counts or len(self.counts) <= MOST_LABELS:
                self.counts[text] = self.counts.get(text, 0) + count
            else:
                self.many = True

    @property
    def is_of_persons(self) -> bool:
        """Whether each row of a block has another text or whole number, as numbers of people have."""
        return self.many and self.distinct == self.rows and self.whole


def of_values(table: FileTable, columns: Sequence[str]) -> list[DraftQuestion]:
    """Return questions with labels and ranges read from users' values, which tells something of them.

    The table was opened with the rule ``category`` for missing values.
    """
    if not columns:
        return []
    seen = {name: _Seen() for name in columns}
    for block in table.blocks(list(columns)):
        for name in columns:
            seen[name].add(block[name])
    return [_of_seen(name, seen[name]) for name in columns]


def _of_seen(name: str, seen: _Seen) -> DraftQuestion:
    if len(seen.counts) < 2:
        return DraftQuestion(name, None, "values", ("fewer than two different values: nothing to ask",))
    if seen.is_of_persons:
        return DraftQuestion(name, None, "values", ("another value in every row: it identifies people",))
    if seen.numeric and (seen.floating or len(seen.counts) > FEW_NUMBERS):
        return DraftQuestion(name, _number(name, seen), "values", _number_remarks(seen))
    if len(seen.counts) > MOST_LABELS or seen.many:
        remark = f"more than {MOST_LABELS} different texts: no question; list the answers yourself to ask it"
        return DraftQuestion(name, None, "values", (remark,))
    labels = [text for text in sorted(seen.counts, key=_order) if text != NO_ANSWER]
    entry: dict[str, Any] = {"name": name, "labels": labels}
    if seen.numeric and len(labels) > 2:
        entry["kind"] = "ordered"
    if seen.missing or NO_ANSWER in seen.counts:
        entry["skip"] = True
    remarks = (
        ['kind = "ordered" if the answers have an order'] if not seen.numeric and len(labels) > 2 else []
    )
    if min(seen.counts.values()) < RARE:
        remarks.append(f"a label of fewer than {RARE} rows can point to a person: merge labels")
    return DraftQuestion(name, entry, "values", tuple(remarks))


def _order(text: str) -> tuple[float, str]:
    parsed = number_of_text(text)
    return (math.inf if parsed is None else float(parsed), text)


def _number(name: str, seen: _Seen) -> dict[str, Any]:
    low, high = outward(seen.low, seen.high)
    result: dict[str, Any] = {"name": name, "range": [low, high]}
    if seen.missing:
        result["skip"] = True
    return result


def _number_remarks(seen: _Seen) -> tuple[str, ...]:
    if seen.missing:
        return ("some skip it: its mean is that of those who answered; bins = [...] asks for a histogram",)
    return ("its mean is asked; bins = [...] asks for a histogram and quantiles",)


def outward(low: float, high: float) -> tuple[float, float]:
    """Return a range of round numbers around a range, which does not give away the ends.

    Examples
    --------
    >>> outward(17, 90), outward(0.03, 0.97), outward(-5, 1234)
    ((10.0, 90.0), (0.0, 1.0), (-1000.0, 2000.0))
    """
    width = high - low
    digits = math.floor(math.log10(width))
    step = 10.0**digits
    ends = (math.floor(low / step), math.ceil(high / step))
    first, second = (float(f"{end * step:.12g}") for end in ends)
    return first, second


LARGEST_CODEBOOK = 1 << 24
SEPARATOR = "|"
NUMBERS = ("low", "high", "spread", "importance", "error")
KEYS = ("name", "kind", "labels", "label", "bins", "skip", "description", *NUMBERS)
OF_MODELS = ("importance", "error")
DESCRIPTION = "description"
YES, NO = ("true", "yes", "1"), ("", "false", "no", "0")

Entry = dict[str, Any]


def read_codebook(path: str | os.PathLike[str], form: FileForm = PLAIN) -> dict[str, Entry]:
    r"""Return the questions of a codebook by name, each as a model states it, checked.

    Parameters
    ----------
    path : path
        TOML, or a table: CSV or an Excel workbook.
    form : FileForm
        What is stated about the form of a table.

    Raises
    ------
    DataError
        When the file cannot be read or has an invalid question; the message names file and question.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "codes.csv"
    >>> _ = place.write_text("name,labels,low,high\nsmokes,no|yes,,\nage,,18,90\n")
    >>> read_codebook(place)["age"]
    {'name': 'age', 'range': [18.0, 90.0]}
    """
    where = os.fspath(path)
    try:
        stated = _of_toml(path) if where.endswith(".toml") else _of_table(path, form)
    except OSError as error:
        raise DataError(where, unread(error), "check the path") from None
    except MechDesignError as error:
        raise (error if error.is_about(where) else error.within(where)) from None
    result: dict[str, Entry] = {}
    for item in stated:
        try:
            question = Question.from_json(item, (*OF_MODELS, DESCRIPTION))
        except MechDesignError as error:
            raise error.within(where) from None
        if question.name in result:
            raise DataError(where, f"question '{question.name}' appears twice", "name it once")
        result[question.name] = dict(item)
    if not result:
        raise DataError(where, "has no questions", "give a line, or a table [[questions]], for each")
    return result


def _of_toml(path: str | os.PathLike[str]) -> list[Entry]:
    text = ""
    try:
        text = read_text(path, LARGEST_CODEBOOK, DataError).removeprefix(BYTE_ORDER_MARK)
        document = parse_toml(text)
    except ValueError as error:
        if isinstance(error, MechDesignError):
            raise
        raise DataError(os.fspath(path), toml_problem(error, text)) from None
    if (date := date_in(document)) is not None:
        raise DataError(date[0], f"{date[1]} is a date or a time", "put it in quotes")
    parameters = document.get("parameters")
    result = document.get("questions", parameters.get("questions") if isinstance(parameters, dict) else None)
    if not isinstance(result, list) or not all(isinstance(item, dict) for item in result):
        raise DataError("questions", "are missing", "write a table [[questions]] for each")
    return result


def _of_table(path: str | os.PathLike[str], form: FileForm) -> list[Entry]:
    where = os.fspath(path)
    rows = file_rows(path, where, changed(form, sheet=""), LARGEST_CODEBOOK)
    header = [name.strip() for name in rows[0]] if rows else []
    stated = "" if form.decimal == RECOGNIZED else form.decimal
    decimals = DecimalSigns(where, stated, frozenset(), points=True)
    numeric = [place for place, name in enumerate(header) if name in (*NUMBERS, "bins")]
    for row in rows[1:]:
        for place in numeric:
            if place < len(row):
                edges = decimals.plain(header[place], row[place].split(SEPARATOR))
                row[place] = SEPARATOR.join(edges)
    for name in header:
        if name not in KEYS:
            raise UnknownNameError("codebook", f"no column '{name}'", suggestion(name, KEYS))
    if "name" not in header:
        raise DataError("codebook", "has no column 'name'", "name the questions as the data do")
    entries: dict[str, Entry] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) != len(header):
            raise DataError(
                f"line {number}", f"{counted(len(row), 'field')}, the header has {len(header)}", "correct it"
            )
        cells = {key: cell.strip() for key, cell in zip(header, row, strict=True) if cell.strip()}
        item = _question(cells, f"line {number}")
        before = entries.get(cells.get("name", ""))
        if before is not None and "label" in cells:
            before["labels"] = [*before.get("labels", []), cells["label"]]
            continue
        if before is not None:
            raise DataError(f"line {number}", f"question '{cells['name']}' appears twice", "name it once")
        entries[cells.get("name", f"line {number}")] = item
    return list(entries.values())


def _question(value: Mapping[str, str], where: str) -> Entry:
    """Return the table of a line of a codebook."""
    result: Entry = {key: value[key] for key in ("name", "kind", DESCRIPTION) if key in value}
    if "labels" in value:
        result["labels"] = [label.strip() for label in value["labels"].split(SEPARATOR)]
    if "label" in value:
        result["labels"] = [value["label"]]
    ends = [_entry_number(value, key, where) for key in ("low", "high")]
    if ends != [None, None]:
        if None in ends:
            raise DataError(where, "has one end of a range", "give low and high")
        result["range"] = ends
    if "bins" in value:
        edges = value["bins"].split(SEPARATOR)
        result["bins"] = [_entry_number({"bins": edge}, "bins", where) for edge in edges]
    for key in ("spread", *OF_MODELS):
        if key in value:
            result[key] = _entry_number(value, key, where)
    if "skip" in value:
        word = value["skip"].casefold()
        if word not in (*YES, *NO):
            raise DataError(where, f"skip: expected true or false, got '{value['skip']}'")
        result["skip"] = word in YES
    return result


def _entry_number(value: Mapping[str, str], key: str, where: str) -> float | None:
    if key not in value:
        return None
    parsed = number_of_text(value[key])
    if parsed is None:
        raise DataError(where, f"{key}: expected a number, got '{value[key]}'")
    return float(parsed)


LOOKING = (
    "PRIVACY: the users' answers were read for {}. The labels and ranges",
    "of these reveal something about people that epsilon does not cover: compare them with a public",
    "codebook (init --codebook), or draft from names and types alone (init --private).",
)

ORDER = ("name", "kind", "labels", "range", "bins", "spread", "skip", "importance", "error")


@dataclass(frozen=True)
class Draft:
    """A model of a survey that is to be completed.

    Attributes
    ----------
    data : str
        The file of people's data.
    questions : tuple of DraftQuestion
    unused : tuple of str
        Questions of the codebook that the file does not have.
    """

    data: str
    questions: tuple[DraftQuestion, ...]
    unused: tuple[str, ...] = ()

    def of_source(self, source: str) -> list[str]:
        """Return the names of the questions from a source."""
        return [item.name for item in self.questions if item.source == source and item.table is not None]

    @property
    def left_out(self) -> list[str]:
        """The columns that are not questions."""
        return [item.name for item in self.questions if item.table is None]

    @property
    def looked_at(self) -> list[str]:
        """The columns whose values were read."""
        return [item.name for item in self.questions if item.source == "values"]

    def text(self, title: str, epsilon: float, users: int, path: str) -> str:
        """Return the model file."""
        file, data = printable(os.path.basename(path)), printable(os.path.basename(self.data))
        built = f"{file.removesuffix('.toml')}.json"
        lines = [
            f"# A survey drafted from {data}. Check every question below, then:",
            f"#   mechdesign build {file} -o {built}",
            f"#   mechdesign randomize {built} {data} -o reports.csv",
            f"#   mechdesign estimate {built} reports.csv",
        ]
        if self.looked_at:
            lines += ["#", *(f"# {line}" for line in LOOKING)]
            lines = [line.format(_listed(self.looked_at)) for line in lines]
        lines += [
            *("", "[survey]"),
            f"title = {_toml(title)}",
            f"epsilon = {_toml(epsilon)}  # limits what each user reveals, over all questions together",
            f"users = {users}  # how many you expect to report; errors are forecast for them",
            *self._examples(),
        ]
        for item in self.questions:
            lines += ["", *_question_lines(item)]
        return "\n".join(lines) + "\n"

    def _examples(self) -> list[str]:
        """Return further possibilities as comments, with names of this survey."""
        questions = [item.table for item in self.questions if item.table is not None]
        tables = [item["name"] for item in questions if "labels" in item or "bins" in item]
        means = [item["name"] for item in questions if "range" in item and "bins" not in item]
        lines = ['# goal = "users"  # fewest users for the error = ... of each question; default: "mean"']
        if len(tables) > 1:
            lines.append(f"# tables = [{_toml(tables[:2])}]  # cross tables")
        if tables and means:
            pair = f"{{ number = {_toml(means[0])}, by = {_toml(tables[0])} }}"
            lines.append(f"# group_means = [{pair}]  # means by group")
        return lines


def _question_lines(item: DraftQuestion) -> list[str]:
    remarks = [f"# {remark}" for remark in item.remarks]
    if item.table is None:
        return [f"# {_toml(item.name)} is omitted", *remarks]
    table: Mapping[str, Any] = item.table
    words = [f"text = {_toml(printable(table[DESCRIPTION]))}"] if DESCRIPTION in table else []
    entries = [f"{key} = {_toml(table[key])}" for key in ORDER if key in table]
    return ["[[questions]]", *remarks, entries[0], *words, *entries[1:]]


def _toml(value: Any) -> str:
    r"""Return a value as TOML writes it.

    Examples
    --------
    >>> print(_toml(["a", 'b"']), _toml(True), _toml(0.5))
    ["a", "b\""] true 0.5
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _listed(names: Sequence[str], most: int = 6) -> str:
    text = [f"'{printable(name)}'" for name in names[:most]]
    return ", ".join(text) + (f" and {len(names) - most} more" if len(names) > most else "")


def draft(
    data: str,
    columns: Sequence[str] = (),
    codebook: str | None = None,
    private: bool = False,
    form: FileForm = PLAIN,
) -> Draft:
    """Return the draft of a survey for a file.

    Parameters
    ----------
    data : str
        CSV with a header line, or Parquet.
    columns : sequence of str
        What is to be asked; all columns by default.
    codebook : str, optional
        Questions in it are taken from it; their values are not read.
    private : bool
        Whether names and types have to do for the others: no row of the file is read.
    form : FileForm
        What is stated about the form of the files; a codebook has that of the data unless it shows its own.

    Raises
    ------
    DataError
        For a file, a column or a codebook that cannot be used.
    """
    table = open_table(data, MissingRule("category"), form=form)
    names = list(columns) or list(table.columns)
    require_commas(table)
    require_data(table, names)
    known = {} if codebook is None else read_codebook(codebook, form)
    rest = [name for name in names if name not in known]
    proposed = of_types(table, rest) if private else of_values(table, rest)
    by_name = {item.name: item for item in proposed}
    questions = [by_name.get(name) or DraftQuestion(name, known[name], "codebook") for name in names]
    if all(item.table is None for item in questions):
        raise DataError(
            data, "no column can be a question", "write a codebook, or name columns with " + option("column")
        )
    unused = tuple(name for name in known if name not in names)
    return Draft(data, tuple(questions), unused)
