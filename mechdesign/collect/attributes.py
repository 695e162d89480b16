"""Categorical attributes: their values, names and labels, and the cells of tables over some of them.

A table over attributes a < b < c has one cell a combination of values; flat, the last attribute runs fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.labels import Codes, Labels
from mechdesign.collect.recipes import AskedChoice
from mechdesign.collect.sealed import Sealed
from mechdesign.core.columns import require_no_mask
from mechdesign.core.errors import DataError, ParameterError, UnknownNameError, suggestion
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.data.frames import FrameTable, is_table
from mechdesign.data.missing import MissingRule
from mechdesign.exact.numbers import plain, shown

MOST_ATTRIBUTES = 10_000
MOST_VALUES = 1 << 20


class Attributes(Sealed):
    """d categorical attributes.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each attribute, at least 2.
    names : sequence of str, optional
        Unique names; without names the attributes are called by their numbers, from 0.
    labels : sequence, optional
        For each attribute the names of its values, or None where they are the numbers from 0.
    field : str
        What errors call the sizes.

    Examples
    --------
    >>> people = Attributes([2, 3], ["smokes", "age"], [["no", "yes"], None])
    >>> people.encode([["no", 2], ["yes", 0]])
    array([[0, 2],
           [1, 0]])
    >>> people.positions(["age", "smokes"]), people.cells((0, 1)), people.cell_of([[1, 0]], (0, 1))
    ((1, 0), 6, array([3]))
    """

    def __init__(
        self,
        sizes: Sequence[int],
        names: Sequence[str] | None = None,
        labels: Sequence[Sequence[str] | None] | None = None,
        field: str = "sizes",
    ) -> None:
        self.sizes = _sizes(sizes, field)
        if len(self.sizes) > MOST_ATTRIBUTES:
            raise ParameterError(
                field, counted(len(self.sizes), "attribute"), f"give at most {MOST_ATTRIBUTES}"
            )
        self._names = Labels(len(self.sizes), names, "names")
        if labels is not None and not isinstance(labels, (list, tuple)):
            raise ParameterError("labels", f"expected a list of lists, or None for each, got {shown(labels)}")
        given = [None] * len(self.sizes) if labels is None else list(labels)
        if len(given) != len(self.sizes):
            raise ParameterError(
                "labels",
                f"{counted(len(given), 'list')} for {counted(len(self.sizes), 'attribute')}",
                "give one each, or None",
            )
        self.labels = tuple(
            Labels(size, texts, f"labels: attribute '{name}'")
            for size, texts, name in zip(self.sizes, given, self.shown(), strict=True)
        )

    @property
    def count(self) -> int:
        """The number d of attributes."""
        return len(self.sizes)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the attributes; None when they are numbers."""
        return self._names.names

    def shown(self) -> list[str]:
        """Return a text for every attribute: its name, or its number."""
        return self._names.shown()

    def choices(self) -> tuple[AskedChoice, ...]:
        """Return the questions that a client asks: one choice per attribute."""
        return tuple(AskedChoice.of(*pair) for pair in zip(self.labels, self.shown(), strict=True))

    def positions(self, wanted: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of attributes given by name or by number, in the order given.

        Raises
        ------
        UnknownNameError
            For an attribute that does not exist, with the closest name.
        ParameterError
            For an attribute that appears twice, or none at all.
        """
        if isinstance(wanted, str) or not isinstance(wanted, Iterable):
            raise ParameterError("marginal", f"expected a list of attributes, got {shown(wanted)}")
        found = tuple(self._position(item) for item in wanted)
        if not found:
            raise ParameterError("marginal", "names no attribute", "give at least one")
        for place in found:
            if found.count(place) > 1:
                raise ParameterError(
                    "marginal", f"attribute '{self.shown()[place]}' appears twice", "name it once"
                )
        return found

    def _position(self, item: Any) -> int:
        known = self.shown()
        if isinstance(item, str):
            if item not in known:
                raise UnknownNameError("marginal", f"no attribute '{item}'", suggestion(item, known))
            return known.index(item)
        number = plain(item)
        if not isinstance(number, int) or not 0 <= number < self.count:
            raise UnknownNameError(
                "marginal",
                f"no attribute {shown(item)}",
                f"give names, or numbers from 0 to {self.count - 1}",
            )
        return number

    def shape(self, view: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes of the attributes of a view."""
        return tuple(self.sizes[place] for place in view)

    def cells(self, view: Sequence[int]) -> int:
        """Return the number of cells of the table over these attributes."""
        return math.prod(self.shape(view))

    def cell_of(self, codes: Any, view: Sequence[int]) -> Codes:
        """Return the flat number of the cell of each user, the view's last attribute running fastest.

        Parameters
        ----------
        codes : (n, d) int array
        view : sequence of int
        """
        table = np.asarray(codes)
        cell = np.zeros(len(table), dtype=np.int64)
        for place in view:
            cell *= self.sizes[place]
            cell += table[:, place]
        return cell

    def encode(self, columns: Any, narrow: bool = False) -> Codes:
        """Return the numbers of users' values, shape (n, d).

        Parameters
        ----------
        columns : mapping, data frame, or (n, d) array or rows
            A mapping from the names of the attributes to columns, or one row a user in the attributes' order.
        narrow : bool
            Whether an array of smaller whole numbers is returned as it is and not copied to 64 bits.

        Raises
        ------
        DataError
            For rows of unequal length, a missing column, or a value outside its attribute's, naming its row.
        """
        if is_table(columns):
            return self._encode_columns(self._of_table(FrameTable(columns, MissingRule())))
        if isinstance(columns, Mapping):
            return self._encode_columns(self._by_name(columns))
        require_no_mask(columns, "data")
        if isinstance(columns, np.ndarray) and columns.dtype.names is not None:
            return self._encode_columns(self._by_name({name: columns[name] for name in columns.dtype.names}))
        array = columns if isinstance(columns, np.ndarray) else _rows(columns, self.count)
        if array.ndim != 2 or array.shape[1] != self.count:
            shape = " x ".join(map(str, array.shape))
            raise DataError("data", f"expected one row of {self.count} values per user, got an array {shape}")
        if array.dtype.kind in "iu":
            self._require_inside(array)
            if all(labels.names is None for labels in self.labels):
                return array if narrow and array.itemsize < 8 else array.astype(np.int64, copy=False)
        return self._encode_columns([array[:, place] for place in range(self.count)])

    def _require_inside(self, array: NDArray[Any]) -> None:
        """Leave integers inside their ranges to be taken as they are; say which one is not."""
        for place, labels in enumerate(self.labels):
            if labels.names is None:
                labels.encode(array[:, place], f"attribute '{self.shown()[place]}'")

    def _by_name(self, columns: Mapping[str, Any]) -> list[Any]:
        self._require(columns)
        return [columns[name] for name in self.shown()]

    def _require(self, known: Iterable[str]) -> None:
        for name in self.shown():
            if name not in known:
                raise DataError("data", f"no column '{name}'", suggestion(name, map(str, known)))

    def _of_table(self, table: FrameTable) -> list[Any]:
        """Return the attributes' columns of a data frame; a row without a value is refused."""
        names = self.shown()
        self._require(table.columns)
        blocks = list(table.blocks(names))
        return [np.concatenate([np.asarray(block[name]) for block in blocks]) for name in names]

    def _encode_columns(self, columns: Sequence[Any]) -> Codes:
        parts = [
            labels.encode(column, f"attribute '{name}'")
            for labels, column, name in zip(self.labels, columns, self.shown(), strict=True)
        ]
        lengths = {len(part) for part in parts}
        if len(lengths) > 1:
            raise DataError("data", "columns of unequal length", "give one value a user and attribute")
        return np.stack(parts, axis=1)

    def decode(self, codes: Codes) -> dict[str, NDArray[Any]]:
        """Return columns by the attributes' names, as labels where there are any, from numbers (n, d)."""
        return {
            name: labels.decode(codes[:, place])
            for place, (name, labels) in enumerate(zip(self.shown(), self.labels, strict=True))
        }

    def as_json(self) -> dict[str, Any]:
        """Return sizes, names and labels as plain values."""
        named = [None if labels.names is None else list(labels.names) for labels in self.labels]
        return {
            "sizes": list(self.sizes),
            "names": None if self.names is None else list(self.names),
            "labels": None if all(texts is None for texts in named) else named,
        }

    def __repr__(self) -> str:
        named = [f"{name}: {size}" for name, size in zip(self.shown(), self.sizes, strict=True)]
        more = f", ... {self.count} in all" if len(named) > 6 else ""
        return f"Attributes({', '.join(named[:6])}{more})"


def _sizes(sizes: Any, field: str) -> tuple[int, ...]:
    if isinstance(sizes, (str, bytes, Mapping)) or not isinstance(sizes, Iterable):
        raise ParameterError(field, f"expected a list of integers, got {shown(sizes)}")
    read = tuple(
        integer(f"{field}: attribute {place}", size, 2, MOST_VALUES) for place, size in enumerate(sizes)
    )
    if not read:
        raise ParameterError(field, "is empty", "give the number of values of at least one attribute")
    return read


def _rows(rows: Any, width: int) -> NDArray[Any]:
    """Return rows as an array of objects; refuse rows of unequal length, naming the first."""
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise DataError("data", f"expected one row of {width} values per user, got {shown(rows)}")
    listed = [list(row) if isinstance(row, Iterable) and not isinstance(row, str) else [row] for row in rows]
    for number, row in enumerate(listed):
        if len(row) != width:
            raise DataError(
                "data", f"row {number + 1} has {counted(len(row), 'value')} for {width} attributes"
            )
    array = np.empty((len(listed), width), dtype=object)
    for number, row in enumerate(listed):
        array[number] = row
    return array
