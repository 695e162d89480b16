"""Questions drafted from a file's columns: by their types alone, or with a look at users' values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mechdesign.core.errors import MissingPackageError
from mechdesign.core.tables import Coded, Values
from mechdesign.data.formats import PARQUET
from mechdesign.data.intake import MISSING_CATEGORY
from mechdesign.data.reading import FileTable, pyarrow_module
from mechdesign.exact.numbers import number_of_text
from mechdesign.families.survey.question_checks import NO_ANSWER

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
        found = values.values[values.codes] if isinstance(values, Coded) else np.asarray(values)
        self.floating = self.floating or any(isinstance(item, float) for item in found[:FIRST].tolist())
        array = found.astype(str)
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
    found: dict[str, Any] = {"name": name, "labels": labels}
    if seen.numeric and len(labels) > 2:
        found["kind"] = "ordered"
    if seen.missing or NO_ANSWER in seen.counts:
        found["skip"] = True
    remarks = (
        ['kind = "ordered" if the answers have an order'] if not seen.numeric and len(labels) > 2 else []
    )
    if min(seen.counts.values()) < RARE:
        remarks.append(f"a label of fewer than {RARE} rows can point to a person: merge labels")
    return DraftQuestion(name, found, "values", tuple(remarks))


def _order(text: str) -> tuple[float, str]:
    found = number_of_text(text)
    return (math.inf if found is None else float(found), text)


def _number(name: str, seen: _Seen) -> dict[str, Any]:
    low, high = outward(seen.low, seen.high)
    result: dict[str, Any] = {"name": name, "range": [low, high]}
    if seen.missing:  # a mean has no category for those who skip
        result |= {"bins": np.linspace(low, high, 5).tolist(), "skip": True}
    return result


def _number_remarks(seen: _Seen) -> tuple[str, ...]:
    if seen.missing:
        return ("some skip it, so it is asked in bins: a mean has no category for them",)
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
