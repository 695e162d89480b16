"""Codecs: what people are asked, and the code of an answer; categories by name, numbers of a range.

A codec is the first of the three parts of a collecting mechanism (:mod:`mechdesign.collect.collector`): it
turns answers into the codes that the kernel draws for. Errors name the row.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any, ClassVar
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.kernel import Asked, AskedChoice, AskedNumber
from mechdesign.core.errors import DataError, ParameterError, RowError, Wording, counted, suggestion
from mechdesign.core.validation import finite_array, number
from mechdesign.core.values import frozen_value, value_field
from mechdesign.data.intake import (
    MISSING_CATEGORY,
    NUMBERS_FOR_MISSING,
    Coded,
    array_of,
    dimensions_of,
    is_gap,
    missing_hint,
)
from mechdesign.exact.numbers import (
    gap_remedy,
    names_reports,
    number_of_text,
    numbers_of_texts,
    plain,
    text_of,
)
from mechdesign.show.tables import edge_texts, outside_text, range_text

Codes = NDArray[np.int64]

WHOLE_NUMBER = re.compile(r"([+-]?[0-9]{1,18})(?:\.0*)?", re.ASCII)
"""How a code may be written in a text file."""


class Labels(Sealed):
    """The categories of an alphabet: names, or just the numbers 0 .. size-1.

    Parameters
    ----------
    size : int
    names : sequence of str, optional
        Unique names without line breaks and control characters; without names the categories are the
        numbers themselves.
    field : str
        What errors call the names.

    Examples
    --------
    >>> Labels(2, ["no", "yes"]).encode(["yes", "no", "yes"])
    array([1, 0, 1])
    """

    def __init__(self, size: int, names: Sequence[object] | None = None, field: str = "labels") -> None:
        self.size = size
        self.names: tuple[str, ...] | None = None
        if names is None:
            return
        if isinstance(names, (str, bytes, Mapping)) or not isinstance(names, Iterable):
            raise ParameterError(field, f"expected a list of names, got {text_of(names)}")
        # A subclass of str counts as the text that it is, whatever it says it equals.
        read = tuple(str.__str__(name) if issubclass(type(name), str) else "" for name in list(names))
        if len(read) != size:
            raise ParameterError(
                field, f"{counted(len(read), 'name')} for {size} categories", "give one name each"
            )
        if "" in read:
            raise ParameterError(field, "every name must be a non-empty text", "put quotes around numbers")
        for name in read:
            if _breaks_a_line(name):
                raise ParameterError(
                    field,
                    f"{text_of(name)} has a line break or a control character, which a table cannot hold",
                    "replace it by a space",
                )
        self.names = read
        if len(set(self.names)) != size:
            double = next(name for name in self.names if self.names.count(name) > 1)
            raise ParameterError(field, f"'{double}' appears twice", "names must differ")

    def encode(self, values: Any, what: str = "answers") -> Codes:
        """Return the numbers of the given categories.

        Raises
        ------
        DataError
            For a category that does not exist, naming the first row (counted from 1) and the remedy.
        """
        if isinstance(values, Coded):
            with suppress(DataError):  # said again below, with the row
                by_value: Codes = values.converted(lambda distinct: self.encode(distinct, what))
                return by_value
        array = array_of(values, what)
        if array.ndim != 1:
            raise DataError(what, f"expected one column of values, got {dimensions_of(array)}")
        return (
            self._encode_names(array, what) if self.names is not None else self._encode_numbers(array, what)
        )

    def _encode_numbers(self, array: NDArray[Any], what: str) -> Codes:
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        if array.dtype.kind in "OUS":
            array = _numbers_from_text(array, what)
        if array.dtype.kind == "f":
            self._refuse(array, ~((array >= 0) & (array < self.size)) | (array != np.floor(array)), what)
        elif array.dtype.kind == "b":
            raise DataError(what, "are booleans", f"give integers from 0 to {self.size - 1}, or set labels")
        elif array.dtype.kind not in "iu":
            raise DataError(what, f"expected integers from 0 to {self.size - 1}")
        codes = array.astype(np.int64, copy=False)
        if int(codes.view(np.uint64).max()) >= self.size:  # as such numbers, negative ones are the largest
            self._refuse(array, (codes < 0) | (codes >= self.size), what)
        return codes

    def _encode_names(self, array: NDArray[Any], what: str) -> Codes:
        assert self.names is not None
        if array.dtype.kind in "iu":  # labels may be digits
            array = array.astype(str)
        if array.dtype.kind != "U":  # texts of any length, or something that is not a string at all
            numbers: dict[Any, int] = {name: number for number, name in enumerate(self.names)}
            numbers |= {int(name): number for name, number in numbers.items() if _is_plain_integer(name)}
            listed = array.tolist()
            result = np.fromiter(map(numbers.get, listed, repeat(-1)), dtype=np.int64, count=len(listed))
            if any(issubclass(kind, (bool, float)) for kind in set(map(type, listed))):  # True equals 1
                result[[isinstance(value, (bool, float)) for value in listed]] = -1
            self._refuse(array, result < 0, what)
            return result
        known = np.array(self.names)
        order = np.argsort(known)
        places = np.minimum(np.searchsorted(known, array, sorter=order), self.size - 1)
        codes: Codes = order[places].astype(np.int64)
        self._refuse(array, known[codes] != array, what)
        return codes

    def _refuse(self, array: NDArray[Any], wrong: NDArray[np.bool_], what: str) -> None:
        if not wrong.any():
            return
        row = int(np.argmax(wrong))
        value = array[row].item() if isinstance(array[row], np.generic) else array[row]
        count = int(wrong.sum())
        more = f" ({count} such values)" if count > 1 else ""
        if is_gap(value):
            raise _missing(what, row, more)
        hint = "" if names_reports(what) else missing_hint(value)
        raise RowError(what, row, f"unknown category {value!r}{more}", self._remedy(value, hint))

    def _remedy(self, value: Any, missing: str) -> str:
        """Return what to do about a value that is not a category, or stands for a missing one."""
        if self.names is None:
            return f"give integers from 0 to {self.size - 1}" + missing
        text = str(value)
        whole = WHOLE_NUMBER.fullmatch(text)
        if whole and whole.group(1) in self.names:
            return f"write {whole.group(1)} without a point: a column with gaps becomes one of decimals"
        if not isinstance(value, str) and text in self.names:
            return f"give strings: '{text}'"
        hint = suggestion(text, self.names)
        return hint if hint.startswith("did you mean") else hint + missing

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the categories of the given numbers, as names where there are names."""
        return codes if self.names is None else np.array(self.names)[codes]

    def shown(self) -> list[str]:
        """Return a text for every category."""
        return [str(number) for number in range(self.size)] if self.names is None else list(self.names)

    def abridged(self) -> str:
        """Return the categories in a few words.

        Examples
        --------
        >>> Labels(9).abridged(), Labels(2, ["no", "yes"]).abridged()
        ('0 to 8', 'no, yes')
        """
        if self.names is None:
            return f"0 to {self.size - 1}"
        text = ", ".join(self.names[:6])
        return text if self.size <= 6 else f"{text}, ... {self.size} in all"

    def as_json(self) -> list[str] | None:
        """Return the names as plain values; None where categories are numbers."""
        return None if self.names is None else list(self.names)


def _breaks_a_line(name: str) -> bool:
    """Whether a name has a control character, a line or paragraph separator, or half a surrogate pair."""
    return not name.isprintable() and any(category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name)


def _is_plain_integer(text: str) -> bool:
    return WHOLE_NUMBER.fullmatch(text) is not None and str(int(text.split(".")[0])) == text


def _missing(what: str, row: int, more: str = "") -> RowError:
    return RowError(what, row, f"is missing{more}", gap_remedy(what, "omit users without a value"))


def _numbers_from_text(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return the integers that texts such as ``3`` or ``3.0`` stand for."""
    numbers: list[float] = []
    for row, value in enumerate(array.tolist()):
        if is_gap(value):
            raise _missing(what, row)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise RowError(what, row, f"{value!r} is not a number", "remove or recode it")
        if isinstance(value, str):
            match = WHOLE_NUMBER.fullmatch(value.strip(" \t"))
            if match is None:
                raise RowError(what, row, f"{value!r} is not a code", "give codes, or set labels")
            value = int(match.group(1))
        numbers.append(value)
    return np.array(numbers)


Array = NDArray[np.float64]
Area = tuple[float, float, float, float]


NARROWEST, WIDEST = 1e-70, 1e70


@frozen_value()
class Domain:
    """The range [low, high] of the values; mechanisms work on u = (x - low) / (high - low).

    Parameters
    ----------
    low, high : float
        Finite, low < high.

    Examples
    --------
    >>> Domain(-1.0, 1.0).to_unit(np.array([-1.0, 0.0, 1.0]))
    array([0. , 0.5, 1. ])
    """

    low: float = value_field(number)
    high: float = value_field(number)

    def __attrs_post_init__(self) -> None:
        low, high = self.low, self.high
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ParameterError(
                "low, high", f"[{low:g}, {high:g}] is not a finite range", "give two finite numbers"
            )
        if low >= high:
            raise ParameterError(
                "low, high", f"low = {low:g} is not below high = {high:g}", "give low < high"
            )
        if not NARROWEST <= high - low <= WIDEST:  # its fourth power is a number of the errors
            raise ParameterError(
                "low, high",
                f"the width of {range_text(low, high)} is not within {NARROWEST:g} and {WIDEST:g}",
                "rescale the values",
            )

    @property
    def width(self) -> float:
        """The length of the range."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """The centre of the range."""
        return self.low + self.half

    @property
    def half(self) -> float:
        """Half the length of the range."""
        return self.width / 2.0

    def check(self, values: Any, clip: bool = False) -> Array:
        """Return the values as one column of floats.

        Raises
        ------
        DataError
            For NaN, and without ``clip`` for a value outside the range, naming the first row
            (counted from 1) and the remedy.
        """
        column = as_floats(values, 1, "values")
        if column.size and not (column.min() >= self.low and column.max() <= self.high):
            self._refuse(column, clip)
        return column

    def _refuse(self, column: Array, clip: bool) -> None:
        missing = np.isnan(column)
        if missing.any():
            remedy = "omit users without a value"
            raise RowError("values", _first(missing), f"NaN{_more(missing)}", remedy)
        if clip:
            return
        outside = (column < self.low) | (column > self.high)
        row = _first(outside)
        remedy = "correct it, or move values to the nearest end"
        if column[row] in NUMBERS_FOR_MISSING:
            code = Wording("omit it", f"name it with --missing-code={column[row]:g}")
            remedy = code + " if it stands for a missing value, or move values to the nearest end"
        raise RowError(
            "values",
            row,
            f"{outside_text(column[row], self.low, self.high)}{_more(outside)}",
            remedy,
            "clip",
        )

    def to_unit(self, values: Array) -> Array:
        """Return (x - low) / width, moved to [0, 1] where rounding or the value lies outside."""
        unit: Array = np.asarray(values - self.low)
        unit /= self.width
        return np.clip(unit, 0.0, 1.0, out=unit)

    def scaled(self, values: Array, factor: float) -> Array:
        """Return (x - low) / width * factor of values in the range: the doubles of these operations.

        Examples
        --------
        >>> Domain(-1.0, 1.0).scaled(np.array([-1.0, 0.0, 1.0]), 8.0)
        array([0., 4., 8.])
        """
        result: Array = np.asarray(values - self.low)
        if math.frexp(self.width)[0] == 0.5:  # a power of two: one operation gives the same doubles
            result *= factor / self.width
        else:
            result /= self.width
            result *= factor
        return result


def as_floats(values: Any, dimensions: int, what: str) -> Array:
    """Return an array of doubles of this number of dimensions, or name the row that is not a number."""
    if isinstance(values, Coded) and dimensions == 1:
        with suppress(DataError):  # said again below, with the row
            return values.converted(lambda distinct: as_floats(distinct, 1, what))
    raw = array_of(values, what)
    if raw.ndim != dimensions:
        expected = "one column of numbers" if dimensions == 1 else "a table (users x attributes)"
        raise DataError(what, f"expected {expected}, got {dimensions_of(raw)}")
    if raw.dtype.kind in "iuf":
        floats: Array = raw.astype(np.float64, copy=False)
        return floats
    if raw.dtype.kind in "bc":
        word = "booleans" if raw.dtype.kind == "b" else "complex"
        raise DataError(what, f"are {word}", "give real numbers")
    listed = raw.ravel().tolist()
    columns = numbers_of_texts(listed)
    if columns is not None:
        return columns.reshape(raw.shape)
    numbers = np.empty(raw.size, dtype=np.float64)
    for place, value in enumerate(listed):
        parsed = number_of_text(value) if isinstance(value, str) else _number(value)
        if parsed is None:
            row = place // raw.shape[1] if raw.ndim == 2 else place
            if is_gap(value):
                raise RowError(what, row, "is missing", gap_remedy(what, "omit users without a value"))
            remedy = "correct or omit the row" + missing_hint(value)
            remedy = "use what randomize returned" if names_reports(what) else remedy
            raise RowError(what, row, f"{text_of(value)} is not a number", remedy)
        numbers[place] = parsed
    return numbers.reshape(raw.shape)


def _number(value: Any) -> float | None:
    plain_value = plain(value)
    try:
        return None if plain_value is None else float(plain_value)
    except OverflowError:
        return None


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.argmax(mask))


def _more(mask: NDArray[np.bool_]) -> str:
    count = int(mask.sum())
    return f" ({count} such values)" if count > 1 else ""


def checked_area(area: Any) -> Area:
    """Return (x_low, y_low, x_high, y_high) with low < high, or say what is wrong."""
    numbers = finite_array("area", area, 1)
    if len(numbers) != 4 or not (numbers[0] < numbers[2] and numbers[1] < numbers[3]):
        raise ParameterError(
            "area", f"{numbers.tolist()} is not [x_low, y_low, x_high, y_high] with low < high"
        )
    x_low, y_low, x_high, y_high = numbers.tolist()
    return x_low, y_low, x_high, y_high


class Codec(ABC):
    """What people are asked, and the code of an answer.

    Class attributes
    ----------------
    word, report_word : str
        What a column of answers, and one of reports, is called where nobody named it.
    clips : bool
        Whether answers outside of a range can be moved to its nearest end.
    single : bool
        Whether an answer is one value, and not one value for each of several columns.
    """

    word: str = "answer"
    report_word: str = "answer"
    clips: ClassVar[bool] = False
    single: ClassVar[bool] = True

    @abstractmethod
    def codes(self, answers: Any, clip: bool = False) -> NDArray[Any]:
        """Return the code of each answer, or raise DataError naming the row of the first that is none."""

    @property
    @abstractmethod
    def content(self) -> str:
        """What stands in a column of answers, for people."""

    @abstractmethod
    def questions(self, name: str | None = None) -> tuple[Asked, ...]:
        """Return what a client asks; ``name`` is the column of the survey's data."""

    @abstractmethod
    def examples(self, count: int) -> Any:
        """Return this many answers that the codec takes, of every kind there is, in turn."""

    def moved(self, answers: Any) -> tuple[str, int]:
        """Return what happens to answers out of range that are moved, and to how many; nothing by default."""
        return "", 0

    def bare(self) -> tuple[tuple[str | None, int], ...]:
        """Return each column's name, if it has one, and how many codes it takes; 0 for names."""
        return ()

    def is_answer(self, text: str) -> bool:
        """Whether a text can be an answer in a data file, and so hardly is the name of a column."""
        return number_of_text(text) is not None

    def require_missing(self, kind: str) -> None:
        """Raise ParameterError unless missing values have a category; ``kind`` is the type of mechanism."""
        raise ParameterError("missing", f"a {kind} has no category for missing values", "use 'drop'")


class Choice(Codec):
    """One of several categories.

    Examples
    --------
    >>> codec = Choice(Labels(2, ["no", "yes"]))
    >>> codec.codes(["yes", "no"]), codec.content, codec.is_answer("yes")
    (array([1, 0]), 'one of no, yes', True)
    >>> codec.examples(3).tolist()
    ['no', 'yes', 'no']
    """

    def __init__(self, labels: Labels, word: str = "answer") -> None:
        self.labels, self.word = labels, word

    def codes(self, answers: Any, clip: bool = False) -> Codes:
        return self.labels.encode(answers)

    @property
    def content(self) -> str:
        return f"one of {self.labels.abridged()}"

    def questions(self, name: str | None = None) -> tuple[AskedChoice, ...]:
        return (AskedChoice.of(self.labels, name),)

    def examples(self, count: int) -> NDArray[Any]:
        return self.labels.decode(np.arange(count) % self.labels.size)

    def bare(self) -> tuple[tuple[str | None, int], ...]:
        return ((None, self.labels.size if self.labels.names is None else 0),)

    def is_answer(self, text: str) -> bool:
        return text in self.labels.shown()

    def require_missing(self, kind: str) -> None:
        if MISSING_CATEGORY not in (self.labels.names or ()):
            raise ParameterError(
                "missing", f"no category '{MISSING_CATEGORY}'", "build with that label, or drop such rows"
            )


class Numbers(Codec):
    """A number of a range; its code is the number itself.

    Examples
    --------
    >>> codec = Numbers(Domain(0.0, 10.0))
    >>> codec.codes([2, 12], clip=True), codec.content
    (array([ 2., 10.]), 'a number from 0 to 10')
    >>> codec.moved([2, 12])
    ('value(s) moved to [0, 10]', 1)
    """

    report_word = "value"
    clips = True

    def __init__(self, domain: Domain, word: str = "value") -> None:
        self.domain, self.word = domain, word

    def codes(self, answers: Any, clip: bool = False) -> NDArray[Any]:
        column = self.domain.check(answers, clip)
        return np.clip(column, self.domain.low, self.domain.high) if clip else column

    def moved(self, answers: Any) -> tuple[str, int]:
        low, high = self.domain.low, self.domain.high
        column = self.domain.check(answers, True)
        outside = np.count_nonzero((column < low) | (column > high))
        return f"value(s) moved to {range_text(low, high)}", int(outside)

    @property
    def content(self) -> str:
        return "a number from {} to {}".format(*edge_texts((self.domain.low, self.domain.high)))

    def questions(self, name: str | None = None) -> tuple[AskedNumber, ...]:
        return (AskedNumber(name, self.domain.low, self.domain.high),)

    def examples(self, count: int) -> Array:
        return np.where(np.arange(count) % 2, self.domain.high, self.domain.low)
