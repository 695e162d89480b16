"""Categories by name: from answers to numbers and back, with errors that name the row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.sealed import Sealed
from mechdesign.core.columns import array_of, dimensions_of, gap_remedy, is_gap, names_reports
from mechdesign.core.errors import DataError, ParameterError, RowError, suggestion
from mechdesign.core.tables import Coded
from mechdesign.core.text import counted
from mechdesign.data.codes import missing_hint
from mechdesign.exact.numbers import shown

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
            raise ParameterError(field, f"expected a list of names, got {shown(names)}")
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
                    f"{shown(name)} has a line break or a control character, which a table cannot hold",
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
                distinct: Codes = self.encode(values.values, what)
                return distinct.take(values.codes)
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
            found = np.fromiter(map(numbers.get, listed, repeat(-1)), dtype=np.int64, count=len(listed))
            if any(issubclass(kind, (bool, float)) for kind in set(map(type, listed))):  # True equals 1
                found[[isinstance(value, (bool, float)) for value in listed]] = -1
            self._refuse(array, found < 0, what)
            return found
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
            return f"give integers from 0 to {self.size - 1}{missing}"
        text = str(value)
        whole = WHOLE_NUMBER.fullmatch(text)
        if whole and whole.group(1) in self.names:
            return f"write {whole.group(1)} without a point: a column with gaps becomes one of decimals"
        if not isinstance(value, str) and text in self.names:
            return f"give strings: '{text}'"
        hint = suggestion(text, self.names)
        return hint if hint.startswith("did you mean") else f"{hint}{missing}"

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the categories of the given numbers, as names where there are names."""
        return codes if self.names is None else np.array(self.names)[codes]

    def shown(self) -> list[str]:
        """Return a text for every category."""
        return [str(number) for number in range(self.size)] if self.names is None else list(self.names)


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
