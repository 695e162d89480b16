"""Rows without a value: refused, left out, or counted as a category; and how many there were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import RowError
from mechdesign.core.numbers import number_of_text
from mechdesign.core.tables import Block, Coded, Values
from mechdesign.core.text import counted
from mechdesign.core.validation import one_of
from mechdesign.mechanisms.intake import MISSING, MISSING_CATEGORY

Mask = NDArray[np.bool_]

EMPTY_REPORT = "a report is never empty: use the file that randomize wrote, as other programs left it out"


@dataclass
class MissingRule:
    """Treatment of rows without a value, and the number of rows that were treated.

    An empty field of a CSV file, a null or NaN of a Parquet file are missing; so are the ``codes``.

    Attributes
    ----------
    rule : {"refuse", "drop", "category"}
    codes : tuple of str
        Texts that stand for a missing value, such as NA.
    category : bool
        Whether missing values can be a category here, for the remedy that errors name.
    word : str
        The category in which missing values are counted.
    reports : bool
        Whether the columns hold reports, which are never empty.
    rows : int
        How many rows were dropped or given the category ``missing``.

    Examples
    --------
    >>> rule = MissingRule("drop")
    >>> block, kept = rule.apply({"x": np.array(["a", ""])}, {"x": np.array([False, True])})
    >>> block["x"].tolist(), kept.tolist(), rule.rows
    (['a'], [0], 1)
    """

    rule: str = "refuse"
    codes: tuple[str, ...] = ()
    category: bool = False
    word: str = MISSING_CATEGORY
    reports: bool = False
    rows: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        one_of("missing", self.rule, MISSING)
        numbers = (number_of_text(code) for code in self.codes)
        self._numbers = frozenset(number for number in numbers if number is not None)

    def is_missing(self, value: Any) -> bool:
        """Return whether a text or a number of a table stands for no value.

        Examples
        --------
        >>> rule = MissingRule("drop", ("NA", "-9"))
        >>> [rule.is_missing(value) for value in ("", "NA", "-9.0", -9, "na", 9)]
        [True, True, True, True, False, False]
        """
        if not isinstance(value, str):
            return value in self._numbers
        if value == "" or value in self.codes:
            return True
        return bool(self._numbers) and number_of_text(value) in self._numbers

    def in_numbers(self, numbers: NDArray[Any]) -> Mask:
        """Return which of some numbers are codes for missing values."""
        found: Mask = np.isin(numbers, sorted(self._numbers))
        return found

    def apply(
        self, block: Mapping[str, Values], missing: Mapping[str, Mask]
    ) -> tuple[Block, NDArray[np.int64] | None]:
        """Return the block that is left, and the numbers of its rows when some were dropped.

        Raises
        ------
        RowError
            When values are missing and the rule is to refuse them.
        """
        found = {name: mask for name, mask in missing.items() if mask.any()}
        if not found:
            return block, None
        if self.rule == "refuse":
            name = min(found, key=lambda column: int(np.argmax(found[column])))
            count = int(found[name].sum())
            more = f" ({count} such rows here)" if count > 1 else ""
            row, what = int(np.argmax(found[name])), f"is missing{more}"
            raise RowError(f"column '{name}'", row, what, EMPTY_REPORT if self.reports else self._remedy)
        affected = np.logical_or.reduce(list(found.values()))
        self.rows += int(affected.sum())
        if self.rule == "category":
            return {name: _filled(values, found.get(name)) for name, values in block.items()}, None
        kept = np.flatnonzero(~affected)
        return {name: values[kept] for name, values in block.items()}, kept

    @property
    def _remedy(self) -> str:
        remedy = "leave such rows out with --missing drop"
        return f"{remedy}, or count them with --missing category" if self.category else remedy

    def said(self) -> str:
        """Return the treatment of rows in a few words; empty when there were none."""
        if not self.rows:
            return ""
        if self.reports:
            return f"{counted(self.rows, 'row')} without a report dropped: right only if none was sent there"
        if self.rule == "category" and self.word != MISSING_CATEGORY:
            verb = "row skips" if self.rows == 1 else "rows skip"
            return f"{self.rows} {verb} a question: counted there as '{self.word}'"
        done = "dropped" if self.rule == "drop" else f"counted as '{MISSING_CATEGORY}'"
        return f"{counted(self.rows, 'row')} without a value {done}"


def _filled(values: Values, mask: Mask | None) -> Values:
    """Return the values as texts and objects, with the word for missing in its places."""
    if mask is None:
        return values
    if isinstance(values, Coded):
        table = np.append(values.values.astype(object), MISSING_CATEGORY)
        return Coded(table, np.where(mask, len(table) - 1, values.codes))
    column = values.astype(object)
    column[mask] = MISSING_CATEGORY
    return column
