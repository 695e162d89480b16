"""Public columns that stay beside the reports: what is known of everybody, such as the department."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mechdesign.collect.collecting import mark_in, require_columns
from mechdesign.core.errors import ParameterError, counted
from mechdesign.data.intake import Block, length

MOST_VALUES = 1000
"""Different values of a column that are counted; one with more singles people out."""

FEW = 5
"""A group of fewer people is named."""


class BesidePublic:
    """A table of answers whose public columns are put beside the reports that are drawn of it.

    Parameters
    ----------
    source : Source
    public : sequence of str
        Columns that nothing protects.
    private : sequence of str
        Columns of answers: none of them can be public.

    Raises
    ------
    ParameterError
        For a column of answers, or of reports.
    """

    def __init__(self, source: Any, public: Sequence[str], private: Sequence[str]) -> None:
        self.source, self.public = source, tuple(dict.fromkeys(public))
        require_columns(source, self.public)
        for name in self.public:
            if name in private:
                raise ParameterError(
                    "--public", f"'{name}' is a column of private answers", "name another column, or omit it"
                )
            if mark_in(name):
                raise ParameterError("--public", f"'{name}' holds reports", "name a column of public values")
        self._waiting: list[Block] = []
        self._groups: dict[str, dict[str, int]] = {name: {} for name in self.public}
        self.rows = 0

    @property
    def name(self) -> str:
        """Name of the source in errors."""
        return str(self.source.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that can be answers: public ones are none."""
        return tuple(name for name in self.source.columns if name not in self.public)

    def row(self, number: int) -> int:
        """Return the row of the file of a row of the latest block."""
        return int(self.source.row(number))

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the answers, and keep the public columns of the same rows."""
        both = [name for name in self.public if name in columns]
        if both:
            raise ParameterError(
                "--public", f"'{both[0]}' is a column of private answers", "name another column, or omit it"
            )
        for block in self.source.blocks([*columns, *self.public]):
            self._waiting.append({name: block[name] for name in self.public})
            yield {name: block[name] for name in columns}

    def beside(self, reports: Iterator[Block]) -> Iterator[Block]:
        """Yield the reports with the public columns of their rows."""
        for block in reports:
            public = self._waiting.pop(0)
            if length(public) != length(block):
                raise ParameterError("--public", "this operation does not give a row for each row", "omit it")
            for name, values in public.items():
                self._count(name, np.asarray(values))
            self.rows += length(block)
            yield {**block, **public}

    def _count(self, name: str, values: Any) -> None:
        groups = self._groups[name]
        if len(groups) > MOST_VALUES:
            return
        for value, number in zip(*np.unique(values.astype(str), return_counts=True), strict=True):
            groups[str(value)] = groups.get(str(value), 0) + int(number)

    def warning(self) -> str:
        """Return the line that says what is not protected, with the smallest group of each column."""
        parts = []
        for name, groups in self._groups.items():
            if len(groups) > MOST_VALUES:
                parts.append(f"'{name}' has more than {MOST_VALUES} values and may single people out")
                continue
            value = min(groups, key=lambda key: groups[key])
            small = (
                f", which singles {'it' if groups[value] == 1 else 'them'} out" if groups[value] < FEW else ""
            )
            parts.append(f"'{name}' (smallest group: {counted(groups[value], 'row')} with '{value}'{small})")
        return f"not protected, written as they are: {'; '.join(parts)}"
