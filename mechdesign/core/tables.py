"""Tables in blocks: what flows between data files and mechanisms, so that no file has to fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FEW = 8
"""Up to this many values, counting the rows of one value at a time is faster than counting all at once."""

ROWS = 1 << 18
"""Rows of a block: a multiple of the pieces in which mechanisms draw, so that blocks leave no trace."""


class Coded:
    """A column with few distinct values: ``values[codes]``, so that each value is looked at once only.

    Parameters
    ----------
    values : (k,) array
        The distinct values.
    codes : (n,) int array
        Which of them each row has.

    Examples
    --------
    >>> column = Coded(np.array(["no", "yes"]), np.array([1, 0, 1]))
    >>> len(column), np.asarray(column).tolist()
    (3, ['yes', 'no', 'yes'])
    """

    def __init__(self, values: NDArray[Any], codes: NDArray[Any]) -> None:
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return Coded(self.values, self.codes[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array: NDArray[Any] = self.values[self.codes]
        return array if dtype is None else array.astype(dtype)

    def rows_of_each(self) -> NDArray[np.int64]:
        """Return how many rows have each value.

        Examples
        --------
        >>> Coded(np.array(["no", "yes", "never"]), np.array([1, 0, 1])).rows_of_each()
        array([1, 2, 0])
        """
        if len(self.values) > FEW:
            return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)
        counts = [np.count_nonzero(self.codes == place) for place in range(len(self.values))]
        return np.array(counts, dtype=np.int64)


Values = NDArray[Any] | Coded
Block = Mapping[str, Values]
"""Columns by name, all of the same length."""


class Source(Protocol):
    """A table that is read in blocks, any number of times."""

    @property
    def name(self) -> str:
        """Name of the source in errors: the path of a file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all its columns."""

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns, ``ROWS`` at a time."""

    def row(self, number: int) -> int:
        """Return the row of the file, counted from 1, of a row of the latest block, counted from 0."""


class MemoryTable:
    """A source made of arrays.

    Examples
    --------
    >>> table = MemoryTable({"age": np.array([31, 47])})
    >>> table.columns, [len(block["age"]) for block in table.blocks(["age"])], table.row(1)
    (('age',), [2], 2)
    """

    def __init__(self, table: Block, name: str = "table") -> None:
        self.table, self.name = dict(table), name
        self._start = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all its columns."""
        return tuple(self.table)

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns, ``ROWS`` at a time."""
        size = len(next(iter(self.table.values()), ()))
        for start in range(0, size, ROWS):
            self._start = start
            yield {name: self.table[name][start : start + ROWS] for name in columns}

    def row(self, number: int) -> int:
        """Return the row, counted from 1, of a row of the latest block, counted from 0."""
        return self._start + number + 1


def length(block: Block) -> int:
    """Return the number of rows of a block."""
    return len(next(iter(block.values()), ()))


def regrouped(blocks: Iterable[Block], multiple: int) -> Iterator[Block]:
    """Yield the same rows in blocks of a multiple of this many; a remainder at the end comes last.

    Examples
    --------
    >>> parts = [{"x": np.arange(5)}, {"x": np.arange(5, 7)}]
    >>> [block["x"].tolist() for block in regrouped(parts, 3)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    if multiple == 1:
        yield from blocks
        return
    rest: dict[str, NDArray[Any]] = {}
    for block in blocks:
        joined = {
            name: np.concatenate([rest[name], values]) if rest else np.asarray(values)
            for name, values in block.items()
        }
        full = length(joined) // multiple * multiple
        if full:
            yield {name: values[:full] for name, values in joined.items()}
        rest = {name: values[full:] for name, values in joined.items()}
    if length(rest):
        yield rest
