"""Write a commented model of a survey from the header of a file, a public codebook, and types or values."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.collect.collecting import require_commas, require_data
from mechdesign.core.errors import DataError, printable
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import MissingRule
from mechdesign.report.codebook import DESCRIPTION, read_codebook
from mechdesign.report.drafted import DraftQuestion, of_types, of_values

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
            *("", "[model]"),
            f"title = {_toml(title)}",
            *('problem = "survey-design"', "", "[parameters]"),
            f"epsilon = {_toml(epsilon)}  # limits what each user reveals, over all questions together",
            f"users = {users}  # how many you expect to report; errors are forecast for them",
            *self._examples(),
        ]
        for item in self.questions:
            lines += ["", *_question(item)]
        return "\n".join(lines) + "\n"

    def _examples(self) -> list[str]:
        """Return further possibilities as comments, with names of this survey."""
        asked = [item.table for item in self.questions if item.table is not None]
        tables = [item["name"] for item in asked if "labels" in item or "bins" in item]
        means = [item["name"] for item in asked if "range" in item and "bins" not in item]
        lines = ['# goal = "users"  # fewest users for the error = ... of each question; default: "mean"']
        if len(tables) > 1:
            lines.append(f"# tables = [{_toml(tables[:2])}]  # cross tables")
        if tables and means:
            pair = f"{{ number = {_toml(means[0])}, by = {_toml(tables[0])} }}"
            lines.append(f"# group_means = [{pair}]  # means by group")
        return lines


def _question(item: DraftQuestion) -> list[str]:
    remarks = [f"# {remark}" for remark in item.remarks]
    if item.table is None:
        return [f"# {_toml(item.name)} is omitted", *remarks]
    table: Mapping[str, Any] = item.table
    if DESCRIPTION in table:
        remarks.insert(0, f"# {printable(table[DESCRIPTION])}")
    keys = [key for key in ORDER if key in table]
    return ["[[parameters.questions]]", *remarks, *(f"{key} = {_toml(table[key])}" for key in keys)]


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
    data: str, columns: Sequence[str] = (), codebook: str | None = None, private: bool = False
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

    Raises
    ------
    DataError
        For a file, a column or a codebook that cannot be used.
    """
    table = open_table(data, MissingRule("category"))
    wanted = list(columns) or list(table.columns)
    require_commas(table)
    require_data(table, wanted)
    known = {} if codebook is None else read_codebook(codebook)
    rest = [name for name in wanted if name not in known]
    proposed = of_types(table, rest) if private else of_values(table, rest)
    by_name = {item.name: item for item in proposed}
    found = [by_name.get(name) or DraftQuestion(name, known[name], "codebook") for name in wanted]
    if all(item.table is None for item in found):
        raise DataError(
            data, "no column can be a question", "write a codebook, or name columns with --column"
        )
    unused = tuple(name for name in known if name not in wanted)
    return Draft(data, tuple(found), unused)
