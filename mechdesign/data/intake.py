"""Tables in blocks, and what a mechanism takes from them: its columns, and rows without a value.

No file has to fit into memory; an error says what is not a column. The table ``[data]`` of a model has the
columns, their ranges, and what to do with missing values.

A row without a value is refused, left out, or counted as a category, by a rule that also counts such rows.
Data of other programs have words and numbers that stand for a missing value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError, RowError, Wording, counted, option
from mechdesign.core.validation import one_of
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import has_mask, number_of_text, require_no_mask

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

    def converted(self, convert: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """Return what each row's value becomes; each value is converted once.

        A value that no row has may be refused: it may come from a row that was dropped.

        Raises
        ------
        DataError
            When ``convert`` refuses the value of some row.

        Examples
        --------
        >>> Coded(np.array(["1", "2"]), np.array([1, 0, 1])).converted(lambda values: values.astype(int))
        array([2, 1, 2])
        """
        with suppress(DataError):
            return convert(self.values).take(self.codes)
        used = self.rows_of_each() > 0
        some = convert(self.values[used])
        table = np.zeros(len(used), dtype=some.dtype)
        table[used] = some
        return table.take(self.codes)


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


def length(block: Block) -> int:
    """Return the number of rows of a block."""
    return len(next(iter(block.values()), ()))


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Return data as a plain array; refuse masked entries, single values and generators.

    Parameters
    ----------
    values : array or sequence
    what : str
        The name in errors: answers, values, reports.

    Raises
    ------
    RowError
        For the first row with a masked entry: numpy keeps the mask apart from the values, which must not
        be used there.
    DataError
        For a single value, or something that is read only once.

    Examples
    --------
    >>> array_of(["no", "yes"], "answers").tolist()
    ['no', 'yes']
    >>> array_of("no", "answers")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: answers: expected a list with a value for each user, got 'no'; ...
    """
    if type(values) is np.ndarray and values.dtype.kind != "O":
        return values
    require_no_mask(values, what)
    if isinstance(values, (str, bytes, int, float)) or values is None:
        raise _not_a_list(what, repr(values)[:40], f"give a list: [{repr(values)[:40]}]")
    if isinstance(values, Iterator):
        raise _not_a_list(what, f"a {type(values).__name__}", "give a list: list(...)")
    if isinstance(values, (dict, set, frozenset)):
        raise _not_a_list(what, f"a {type(values).__name__}", "give a list in the order of the users")
    array = np.asarray(values)
    if array.dtype.kind == "U" and array.ndim == 1 and "nan" in array:
        return _texts_with_gaps(values, array)
    return array


def _texts_with_gaps(values: Any, array: NDArray[Any]) -> NDArray[Any]:
    """Return texts with None where numpy has written ``nan`` for an entry that is not a text."""
    gaps = [not isinstance(value, str) and is_gap(value) for value in values]
    if not any(gaps):
        return array
    texts = array.astype(object)
    texts[gaps] = None
    return texts


def is_gap(value: Any) -> bool:
    """Return whether an entry of a column stands for no value: None, NaN, NaT, what is masked, pandas' NA.

    Examples
    --------
    >>> is_gap(None), is_gap(float("nan")), is_gap(np.datetime64("NaT", "D")), is_gap(0), is_gap("")
    (True, True, True, False, False)
    """
    if value is None:
        return True
    if isinstance(value, (str, int)):
        return False
    pandas = sys.modules.get("pandas")
    if pandas is not None and value is pandas.NA:
        return True
    if isinstance(value, (float, Decimal, np.generic)) or (pandas is not None and value is pandas.NaT):
        return bool(value != value)
    return has_mask(value)


def _not_a_list(what: str, value: str, remedy: str) -> DataError:
    return DataError(what, f"expected a list with a value for each user, got {value}", remedy)


def dimensions_of(array: NDArray[Any]) -> str:
    """Return the shape of an array in words.

    Examples
    --------
    >>> dimensions_of(np.zeros((2, 3)))
    'an array of 2 dimensions'
    """
    return f"an array of {counted(array.ndim, 'dimension')}" if array.ndim else "a single value; give a list"


MISSING = ("refuse", "drop", "category")
"""What to do with a row without a value: refuse the file, leave the row out, or count it as a category."""

MISSING_CATEGORY = "missing"
"""The category that stands for a missing answer."""


def _names(field: str, names: object) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(field, f"expected a list of names that are not empty, got {names!r}")
    if not all(name.isprintable() for name in names):
        raise ParameterError(field, f"{names!r} has a name that cannot be printed", "rename the column")
    if len(set(names)) != len(names):
        raise ParameterError(field, "a name appears twice", "names must differ")
    return tuple(names)


@frozen_value()
class Intake:
    """The columns a mechanism was built for, and what to do with missing values.

    Attributes
    ----------
    columns : tuple of str
        In the order of the mechanism's attributes; empty when the user is to name them.
    missing : {"refuse", "drop", "category"}

    Examples
    --------
    >>> Intake(("age",), "drop").as_json()
    {'columns': ['age'], 'missing': 'drop'}
    """

    columns: tuple[str, ...] = value_field(_names, default=())
    missing: str = value_field(partial(one_of, known=MISSING), default="refuse")

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {"columns": list(self.columns), "missing": self.missing}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Intake:
        """Return the settings that :meth:`as_json` gave; anything else is refused."""
        if set(document) != {"columns", "missing"} or not isinstance(document["columns"], list):
            raise ParameterError("data", "expected columns and a rule for missing values", "rebuild it")
        return cls(tuple(document["columns"]), document["missing"])


READ_AS_MISSING = frozenset(
    [
        *("", ".", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
        *("None", "null", "NULL", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    ]
)
"""Words that R, pandas, SAS or SPSS read as a missing value, unless they are told not to."""

OTHERS = frozenset(["-", "--", "---", "?", "*", "/", "na", "n.a.", "none", "missing", "unknown", "refused"])
"""Other words for it that people write."""

NUMBERS_FOR_MISSING = frozenset(
    float(sign * number)
    for number in (7, 8, 9, *(int(d * n) for d in "789" for n in (2, 3, 4, 5)))
    for sign in (1, -1)
) | {-1.0, -2.0}
"""Numbers that questionnaires use for no answer: -1, -9, 99, 999, -8888 and the like."""


def missing_hint(value: Any) -> str:
    """Return what to add to a remedy where a value may stand for a missing one; empty elsewhere.

    Examples
    --------
    >>> missing_hint("N/A").shell, missing_hint("12a")
    ("; if it stands for a missing value, --missing-code 'N/A'", '')
    >>> missing_hint("N/A")
    '; if it stands for a missing value, give None'
    """
    if not isinstance(value, str):
        return ""
    bare = value.strip()
    if bare not in READ_AS_MISSING and bare.casefold() not in OTHERS and not bare.isalpha():
        return ""
    plain = bare.isalnum() and bare == value
    text = Wording("give None", f"--missing-code {value if plain else repr(value)}")
    return "; if it stands for a missing value, " + text


Mask = NDArray[np.bool_]

EMPTY_REPORT = "a report is never empty: use the file that randomize wrote, as other programs left it out"


class FileMessages(Protocol):
    """Reads the messages of clients among the lines of a file."""

    def rows_in_file(self, message: Any) -> list[dict[str, Any]]:
        """Return the rows of a message; else DataError is raised."""


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
    messages : callable, optional
        Returns what reads the messages of clients, for a file that has some; without one, any rows of theirs
        are taken.
    optional : frozenset of str
        The columns of people's data that have a category for missing values; set by the operation that reads
        them. A row that lacks only such values is not dropped.
    rows : int
        How many rows were dropped or, by the rule ``category``, given the category for missing values.
    filled : int
        By the rule ``drop``: how many rows were kept, and lack a value of an optional column.

    Examples
    --------
    >>> rule = MissingRule("drop")
    >>> block, kept = rule.apply({"x": np.array(["a", ""])}, {"x": np.array([False, True])})
    >>> block["x"].tolist(), kept.tolist(), rule.rows
    (['a'], [0], 1)
    >>> rule = MissingRule("drop", optional=frozenset("x"))
    >>> block, kept = rule.apply({"x": np.array(["a", ""])}, {"x": np.array([False, True])})
    >>> block["x"].tolist(), kept, rule.tally
    (['a', 'missing'], None, (0, 1))
    """

    rule: str = "refuse"
    codes: tuple[str, ...] = ()
    category: bool = False
    word: str = MISSING_CATEGORY
    reports: bool = False
    optional: frozenset[str] = frozenset()
    blank: frozenset[str] = frozenset()
    messages: Callable[[], FileMessages] | None = field(default=None, repr=False, compare=False)
    rows: int = field(default=0, init=False)
    filled: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        one_of("missing", self.rule, MISSING)
        numbers = (number_of_text(code) for code in self.codes)
        self._numbers = frozenset(number for number in numbers if number is not None)

    def with_messages(self, reader: Callable[[], FileMessages]) -> MissingRule:
        """Return this rule; one for reports has the messages of clients read, where a file has some."""
        self.messages = reader if self.reports else None
        return self

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
        result: Mask = np.isin(numbers, sorted(self._numbers))
        return result

    def apply(
        self, block: Mapping[str, Values], missing: Mapping[str, Mask]
    ) -> tuple[Block, NDArray[np.int64] | None]:
        """Return the block that is left, and the numbers of its rows when some were dropped.

        Raises
        ------
        RowError
            When values are missing and the rule is to refuse them.
        """
        gaps = {name: mask for name, mask in missing.items() if mask.any() and name not in self.blank}
        if not gaps:
            return block, None
        if self.rule == "refuse":
            name = min(gaps, key=lambda column: int(np.argmax(gaps[column])))
            count = int(gaps[name].sum())
            more = f" ({count} such rows here)" if count > 1 else ""
            row, what = int(np.argmax(gaps[name])), f"is missing{more}"
            raise RowError(f"column '{name}'", row, what, EMPTY_REPORT if self.reports else self._remedy)
        if self.rule == "category":
            self.rows += int(_any(gaps.values()).sum())
            return {name: _filled(values, gaps.get(name)) for name, values in block.items()}, None
        return self._without(block, gaps)

    def _without(
        self, block: Mapping[str, Values], gaps: Mapping[str, Mask]
    ) -> tuple[Block, NDArray[np.int64] | None]:
        """Drop the rows that lack a value which they need; others get the category for missing values."""
        optional = {name: mask for name, mask in gaps.items() if name in self.optional}
        needed = [mask for name, mask in gaps.items() if name not in optional]
        filled = {name: _filled(values, optional.get(name)) for name, values in block.items()}
        if not needed:
            self.filled += int(_any(optional.values()).sum())
            return filled, None
        affected = _any(needed)
        self.rows += int(affected.sum())
        if optional:
            self.filled += int((_any(optional.values()) & ~affected).sum())
        complete = np.flatnonzero(~affected)
        return {name: values[complete] for name, values in filled.items()}, complete

    @property
    def tally(self) -> tuple[int, int]:
        """How many rows were treated, and filled: what a worker reports."""
        return self.rows, self.filled

    def add(self, tally: tuple[int, int]) -> None:
        """Add the rows of a worker."""
        self.rows, self.filled = self.rows + tally[0], self.filled + tally[1]

    @property
    def _remedy(self) -> str:
        remedy = "leave such rows out with " + option("missing", "drop")
        return remedy + ", or count them with " + option("missing", "category") if self.category else remedy

    def note(self) -> str:
        """Return the treatment of rows in a few words; empty when there were none."""
        if self.rule == "category":
            return self._counted(self.rows)
        if self.reports and self.rows:
            return f"{counted(self.rows, 'row')} without a report dropped: right only if none was sent there"
        dropped = f"{counted(self.rows, 'row')} without a value dropped" if self.rows else ""
        return "; ".join(filter(None, (dropped, self._counted(self.filled))))

    def _counted(self, rows: int) -> str:
        """Return that rows were counted with a category for missing values."""
        if not rows:
            return ""
        if self.word != MISSING_CATEGORY:
            verb = "row skips" if rows == 1 else "rows skip"
            return f"{rows} {verb} a question: counted there as '{self.word}'"
        return f"{counted(rows, 'row')} without a value counted as '{MISSING_CATEGORY}'"


def let_lack(source: object, columns: Iterable[str], blank: Iterable[str] = ()) -> None:
    """Note that these columns of a source need no value: they have a category for it.

    Parameters
    ----------
    source : Source
    columns : iterable of str
    blank : iterable of str
        Columns in which an empty cell is an answer: nothing was ticked.
    """
    rule = getattr(source, "missing", None)
    if isinstance(rule, MissingRule):
        rule.optional, rule.blank = frozenset(columns), frozenset(blank)


def _any(masks: Iterable[Mask]) -> Mask:
    result: Mask = np.logical_or.reduce(list(masks))
    return result


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


LONGEST = 200
"""Characters beyond which texts are not kept in numpy's arrays of fixed width."""

MESSAGE_FORMAT = "mechdesign-report"
"""What the message of a client says of itself, as ``format``."""

INTEGERS = range(-(1 << 63), 1 << 63)


def texts(values: list[str]) -> NDArray[Any]:
    """Return texts as an array; numpy's texts have a fixed width and drop trailing NULs, others do not.

    Examples
    --------
    >>> texts(["yes", "no"])
    array(['yes', 'no'], dtype='<U3')
    """
    unusual = max(map(len, values), default=0) > LONGEST or "\0" in "".join(values)
    return np.array(values, dtype=object if unusual else None)


def plain_column(values: Sequence[Any]) -> Values:
    """Return plain values as integers, numbers or texts; what is missing (None) does not count.

    Examples
    --------
    >>> plain_column([3, 1]), plain_column([3, None]), plain_column([3, "x2a"])
    (array([3, 1]), array([ 3., nan]), array(['3', 'x2a'], dtype='<U3'))
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and None not in values and all(value in INTEGERS for value in values):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else _double(value) for value in values])
    return texts(["" if value is None else str(value) for value in values])


def _double(value: float) -> float:
    """Return a number as a double; infinity for an integer that is beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
