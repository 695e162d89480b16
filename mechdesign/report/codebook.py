"""Read a public codebook: what each question may be answered with, known without a look at anybody's answers.

A codebook is a TOML file with tables ``[[questions]]``, as a model has them under ``[parameters]``, or a CSV
file. The CSV file has a column ``name`` and any of the keys of a question: ``kind``, ``low`` and ``high``,
``bins``, ``spread``, ``skip``, ``importance``, ``error``, ``labels`` (separated by ``|``), and
``description``, which becomes a comment. Where it has ``label`` instead, it has a line for each label.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from typing import Any

from mechdesign.core.documents import date_in, parse_toml
from mechdesign.core.errors import DataError, MechDesignError, UnknownNameError, suggestion, unread
from mechdesign.core.text import counted
from mechdesign.exact.numbers import number_of_text
from mechdesign.families.survey.questions import Question
from mechdesign.work.files import read_text

LARGEST_CODEBOOK = 1 << 24
SEPARATOR = "|"
NUMBERS = ("low", "high", "spread", "importance", "error")
KEYS = ("name", "kind", "labels", "label", "bins", "skip", "description", *NUMBERS)
OF_MODELS = ("importance", "error")
DESCRIPTION = "description"
YES, NO = ("true", "yes", "1"), ("", "false", "no", "0")

Table = dict[str, Any]


def read_codebook(path: str | os.PathLike[str]) -> dict[str, Table]:
    r"""Return the questions of a codebook by name, each as a model states it, checked.

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
        text = read_text(path, LARGEST_CODEBOOK, DataError)
        stated = _of_toml(text) if where.endswith(".toml") else _of_csv(text)
    except OSError as error:
        raise DataError(where, unread(error), "check the path") from None
    except (ValueError, csv.Error) as error:
        if isinstance(error, MechDesignError):
            raise error.within(where) from None
        raise DataError(where, f"is not a codebook ({error})", "give CSV or TOML in UTF-8") from None
    except MechDesignError as error:
        raise error.within(where) from None
    result: dict[str, Table] = {}
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


def _of_toml(text: str) -> list[Table]:
    document = parse_toml(text)
    if (date := date_in(document)) is not None:
        raise DataError(date[0], f"{date[1]} is a date or a time", "put it in quotes")
    parameters = document.get("parameters")
    result = document.get("questions", parameters.get("questions") if isinstance(parameters, dict) else None)
    if not isinstance(result, list) or not all(isinstance(item, dict) for item in result):
        raise DataError("questions", "are missing", "write a table [[questions]] for each")
    return result


def _of_csv(text: str) -> list[Table]:
    rows = list(csv.reader(text.removeprefix("\ufeff").splitlines(), strict=True))
    header = [name.strip() for name in rows[0]] if rows else []
    for name in header:
        if name not in KEYS:
            raise UnknownNameError("codebook", f"no column '{name}'", suggestion(name, KEYS))
    if "name" not in header:
        raise DataError("codebook", "has no column 'name'", "name the questions as the data do")
    found: dict[str, Table] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) != len(header):
            raise DataError(
                f"line {number}", f"{counted(len(row), 'field')}, the header has {len(header)}", "correct it"
            )
        given = {key: cell.strip() for key, cell in zip(header, row, strict=True) if cell.strip()}
        item = _question(given, f"line {number}")
        before = found.get(given.get("name", ""))
        if before is not None and "label" in given:
            before["labels"] = [*before.get("labels", []), given["label"]]
            continue
        if before is not None:
            raise DataError(f"line {number}", f"question '{given['name']}' appears twice", "name it once")
        found[given.get("name", f"line {number}")] = item
    return list(found.values())


def _question(value: Mapping[str, str], where: str) -> Table:
    """Return the table of a line of a codebook."""
    result: Table = {key: value[key] for key in ("name", "kind", DESCRIPTION) if key in value}
    if "labels" in value:
        result["labels"] = [label.strip() for label in value["labels"].split(SEPARATOR)]
    if "label" in value:
        result["labels"] = [value["label"]]
    ends = [_number(value, key, where) for key in ("low", "high")]
    if ends != [None, None]:
        if None in ends:
            raise DataError(where, "has one end of a range", "give low and high")
        result["range"] = ends
    if "bins" in value:
        edges = value["bins"].split(SEPARATOR)
        result["bins"] = [_number({"bins": edge}, "bins", where) for edge in edges]
    for key in ("spread", *OF_MODELS):
        if key in value:
            result[key] = _number(value, key, where)
    if "skip" in value:
        word = value["skip"].casefold()
        if word not in (*YES, *NO):
            raise DataError(where, f"skip: expected true or false, got '{value['skip']}'")
        result["skip"] = word in YES
    return result


def _number(value: Mapping[str, str], key: str, where: str) -> float | None:
    if key not in value:
        return None
    found = number_of_text(value[key])
    if found is None:
        raise DataError(where, f"{key}: expected a number, got '{value[key]}'")
    return float(found)
