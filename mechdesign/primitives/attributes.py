"""Categorical attributes: names, labels and columns, and the cells of tables over some of them.

A table over attributes a < b < c has one cell a combination of values; flat, the last attribute runs fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.codec import Codec, Codes, Labels
from mechdesign.collect.collecting import (
    Column,
    Option,
    Settings,
    report_column,
    require_columns,
    require_data,
    side_by_side,
)
from mechdesign.collect.collector import AnswerMechanism
from mechdesign.collect.kernel import AskedChoice
from mechdesign.core.errors import DataError, ParameterError, UnknownNameError, counted, option, suggestion
from mechdesign.core.validation import integer
from mechdesign.core.values import EstimateT_co
from mechdesign.data.frames import FrameTable, is_table
from mechdesign.data.intake import MISSING_CATEGORY, Intake, MissingRule, Source, let_lack
from mechdesign.exact.numbers import plain, require_no_mask, text_of

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism

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
            raise ParameterError(
                "labels", f"expected a list of lists, or None for each, got {text_of(labels)}"
            )
        lists = [None] * len(self.sizes) if labels is None else list(labels)
        if len(lists) != len(self.sizes):
            raise ParameterError(
                "labels",
                f"{counted(len(lists), 'list')} for {counted(len(self.sizes), 'attribute')}",
                "give one each, or None",
            )
        self.labels = tuple(
            Labels(size, texts, f"labels: attribute '{name}'")
            for size, texts, name in zip(self.sizes, lists, self.shown(), strict=True)
        )

    @classmethod
    def of(cls, value: Any) -> Self:
        """Return attributes: as they are, or from the plain values of a file."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise ParameterError("attributes", f"expected Attributes, got a {type(value).__name__}")
        return cls(*(value[key] for key in ("sizes", "names", "labels")))

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

    def positions(self, attributes: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of attributes given by name or by number, in the order given.

        Raises
        ------
        UnknownNameError
            For an attribute that does not exist, with the closest name.
        ParameterError
            For an attribute that appears twice, or none at all.
        """
        if isinstance(attributes, str) or not isinstance(attributes, Iterable):
            raise ParameterError("marginal", f"expected a list of attributes, got {text_of(attributes)}")
        result = tuple(self._position(item) for item in attributes)
        if not result:
            raise ParameterError("marginal", "names no attribute", "give at least one")
        for place in result:
            if result.count(place) > 1:
                raise ParameterError(
                    "marginal", f"attribute '{self.shown()[place]}' appears twice", "name it once"
                )
        return result

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
                f"no attribute {text_of(item)}",
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
        raise ParameterError(field, f"expected a list of integers, got {text_of(sizes)}")
    read = tuple(
        integer(f"{field}: attribute {place}", size, 2, MOST_VALUES) for place, size in enumerate(sizes)
    )
    if not read:
        raise ParameterError(field, "is empty", "give the number of values of at least one attribute")
    return read


def _rows(rows: Any, width: int) -> NDArray[Any]:
    """Return rows as an array of objects; refuse rows of unequal length, naming the first."""
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise DataError("data", f"expected one row of {width} values per user, got {text_of(rows)}")
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


class Columns(Codec):
    """One of several categories in each of several columns; the codes of a user are a row.

    Parameters
    ----------
    attributes : Attributes
    narrow : bool
        Whether an array of smaller whole numbers is taken as it is and not copied to 64 bits.

    Examples
    --------
    >>> codec = Columns(Attributes([2, 3], ["smokes", "age"], [["no", "yes"], None]))
    >>> codec.codes([["yes", 2]]).tolist(), codec.examples(2)
    ([[1, 2]], [['no', 0], ['yes', 1]])
    """

    word = "columns"
    report_word = "report"
    single = False

    def __init__(self, attributes: Attributes, narrow: bool = False) -> None:
        self.attributes, self.narrow = attributes, narrow

    def codes(self, answers: Any, clip: bool = False) -> Codes:
        return self.attributes.encode(answers, self.narrow)

    @property
    def content(self) -> str:
        return people(self.attributes.shown()).content

    def questions(self, name: str | None = None) -> tuple[AskedChoice, ...]:
        pairs = zip(self.attributes.labels, self.attributes.shown(), strict=True)
        return tuple(AskedChoice.of(*pair) for pair in pairs)

    def examples(self, count: int) -> list[list[Any]]:
        numbers = range(count)
        return [
            [(labels.names or range(labels.size))[number % labels.size] for labels in self.attributes.labels]
            for number in numbers
        ]

    def bare(self) -> tuple[tuple[str | None, int], ...]:
        names = self.attributes.names or (None,) * self.attributes.count
        sizes = [labels.size if labels.names is None else 0 for labels in self.attributes.labels]
        return tuple(zip(names, sizes, strict=True))

    def require_missing(self, kind: str) -> None:
        if not any(MISSING_CATEGORY in (labels.names or ()) for labels in self.attributes.labels):
            raise ParameterError(
                "missing",
                f"no attribute has a category '{MISSING_CATEGORY}'",
                "build with that label, or drop such rows",
            )


class AttributeMechanism(AnswerMechanism[EstimateT_co]):
    """A mechanism that users report several categorical attributes to.

    Class attributes
    ----------------
    subject : str
        What takes no numbers, in the error for a range.
    """

    users_alike: ClassVar[bool] = False
    attributes: Attributes
    subject: ClassVar[str]

    @cached_property
    def codec(self) -> Codec:
        return Columns(self.attributes)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        if ranges:
            raise ParameterError("range", f"{self.subject} no numbers", "omit it")
        self._require_missing(intake.missing)
        if not intake.columns:
            return self.replaced(intake=intake)
        if len(intake.columns) != self.attributes.count:
            columns, count = len(intake.columns), self.attributes.count
            raise ParameterError("columns", f"{columns} names for {count} attributes", "name one each")
        content = self.content()
        content["attributes"]["names"] = list(intake.columns)
        return type(self).from_content(content).replaced(intake=intake, about=self.about)


MARGINAL = Option("marginal", "texts", "a marginal: attributes separated by commas; once for each")


def attribute_columns(
    mechanism: Mechanism, names: Sequence[str] | None, count: int, source: Source, settings: Settings
) -> list[str]:
    """Return the columns in the order of the attributes: those named, or those of the attributes' names.

    Parameters
    ----------
    mechanism : Mechanism
    names : sequence of str or None
        Of the attributes; None when they are numbers.
    count : int
        How many attributes there are.
    source : Source
    settings : Settings
        Its ``column`` comes first, then the columns the mechanism was built for.

    Raises
    ------
    DataError
        When the columns are not those of the attributes, or another number of them.
    """
    choice = settings["column"] or mechanism.data_columns or (names if names is not None else source.columns)
    columns = list(choice)
    require_data(source, columns)
    if names is not None:
        if set(names) != set(columns):
            raise DataError(
                source.name,
                f"the columns are {', '.join(columns)}, the mechanism's attributes {', '.join(names)}",
                "name these with " + option("column"),
            )
        return list(names)
    if len(columns) != count:
        raise DataError(
            source.name,
            f"{counted(len(columns), 'column')} for {counted(count, 'attribute')}",
            "name one each with " + option("column"),
        )
    return columns


def encoded(
    mechanism: AttributeMechanism[Any], sources: Sequence[Source], settings: Settings
) -> Iterator[Codes]:
    """Yield the numbers of users' values, (n, d) a block, one column an attribute.

    A mechanism whose reports do not allow any estimate is refused, unless the user sets ``anyway``.
    """
    if not settings["anyway"]:
        mechanism.require_estimable()
    (source,) = sources
    attributes = mechanism.attributes
    columns = attribute_columns(mechanism, attributes.names, attributes.count, source, settings)
    with_category = zip(columns, attributes.labels, strict=True)
    let_lack(source, (name for name, labels in with_category if MISSING_CATEGORY in (labels.names or ())))
    yield from side_by_side(
        source, columns, [partial(labels.encode, what="values") for labels in attributes.labels]
    )


def people(names: Sequence[str], what: str = "a value") -> Column:
    """Return the columns of an operation that reads one column per attribute."""
    more = ", ..." if len(names) > 6 else ""
    return Column("columns", f"{what} each: {', '.join(names[:6])}{more}", any_name=True)


def with_reports(source: Source, first: str, settings: Settings, mechanism: Mechanism) -> list[str]:
    """Return the columns of a table in which a column, as of groups, stands before the reports."""
    require_columns(source, [first])
    return [first, report_column(Without(source, first), settings, mechanism)]


class Without:
    """A source that hides a column, so that the reports are the only one left."""

    def __init__(self, source: Source, hidden: str) -> None:
        self.name, self.blocks, self.row = source.name, source.blocks, source.row
        self.columns = tuple(name for name in source.columns if name != hidden)


Array = NDArray[np.float64]
