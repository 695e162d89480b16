"""Codecs of sets: the items that a user has of a list, and keys with a value each.

A cell of a table holds names between separators, ``bread;milk``, or a JSON list; keys with values are
``bread=4;milk=2.5`` or a JSON object. An empty set is ``[]``, and ``{}``: an empty cell is a missing value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codec, Codes, Domain, Labels
from mechdesign.collect.kernel import AskedChoice, AskedNumber
from mechdesign.core.errors import DataError, RowError, counted, suggestion
from mechdesign.core.values import frozen_value
from mechdesign.data.intake import Coded, is_gap
from mechdesign.exact.numbers import number_of_text, text_of

NONE = -1
"""What fills the rows of smaller sets."""
SHOWN = 24
SAMPLED = "set(s) of more than {} items, of which some were sampled"


@frozen_value()
class AskedItems(AskedChoice):
    """An answer that is a list of items, or, with a range, of keys with a number each.

    Examples
    --------
    >>> AskedItems("basket", 3, None, 2).as_json()
    {'name': 'basket', 'size': 3, 'labels': None, 'most': 2}
    >>> AskedItems("ratings", 3, None, 2, Domain(0.0, 5.0)).examples()[:2]
    [{}, {'1': 1.25}]
    """

    most: int = 1
    domain: Domain | None = None

    def as_json(self) -> dict[str, Any]:
        ends = {} if self.domain is None else {"low": self.domain.low, "high": self.domain.high}
        return {**super().as_json(), "most": self.most, **ends}

    def examples(self) -> list[Any]:
        names = [str(place) for place in range(self.size)] if self.labels is None else list(self.labels)
        plain: list[Any] = list(range(self.size)) if self.labels is None else names
        sizes = [min(row % (self.most + 1), self.size) for row in range(SHOWN)]
        places = [[(7 * row + item) % self.size for item in range(size)] for row, size in enumerate(sizes)]
        if self.domain is None:
            return [[plain[place] for place in each] for each in places]
        low, width = self.domain.low, self.domain.width
        return [
            {names[place]: low + width * ((row + turn) % 5) / 4.0 for turn, place in enumerate(each)}
            for row, each in enumerate(places)
        ]


class Items(Codec):
    """The items that a user has, of a list; the code of a set is a row of their numbers, filled with -1.

    Parameters
    ----------
    labels : Labels
        The list.
    most : int
        The most items of a set.
    separator : str
        What stands between items in a cell.

    Examples
    --------
    >>> codec = Items(Labels(3, ["bread", "milk", "tea"]), 2)
    >>> codec.codes(["tea;bread", "[]", ["milk"]])
    array([[ 0,  2],
           [-1, -1],
           [ 1, -1]])
    """

    word, report_word = "items", "items"
    clips = True

    def __init__(self, labels: Labels, most: int, separator: str = ";") -> None:
        self.labels, self.most, self.separator = labels, most, separator
        self._numbers = {name: number for number, name in enumerate(labels.shown())}

    def codes(self, answers: Any, clip: bool = False) -> Codes:
        sets = self._sets(answers)
        widest = max(map(len, sets), default=0)
        if not clip and widest > self.most:
            row = next(row for row, each in enumerate(sets) if len(each) > self.most)
            raise RowError(
                "answers",
                row,
                f"{counted(len(sets[row]), 'item')}, and a set has at most {self.most}",
                "correct it, or sample the items of larger sets",
                "clip",
            )
        codes = np.full((len(sets), max(widest, 1)), NONE, dtype=np.int64)
        for row, each in enumerate(sets):
            codes[row, : len(each)] = each
        return codes

    def _sets(self, answers: Any) -> list[list[int]]:
        """Return the sorted numbers of the items of each set."""
        if isinstance(answers, Coded):
            distinct = [self._set(value, row) for row, value in enumerate(answers.values.tolist())]
            return [distinct[code] for code in answers.codes.tolist()]
        return [self._set(value, row) for row, value in enumerate(as_rows(answers))]

    def _set(self, value: Any, row: int) -> list[int]:
        return sorted({self._number(item, row) for item in self._listed(value, row)})

    def _listed(self, value: Any, row: int) -> list[Any]:
        """Return the items of a cell as they are written."""
        if is_gap(value):
            raise missing_set(value, row, "[]")
        if isinstance(value, str):
            text = value.strip()
            if text.startswith("["):
                return list(parsed(text, list, row))
            if text:
                return [part.strip() for part in text.split(self.separator)]
        elif isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
            return list(value)
        elif self.labels.names is None and isinstance(value, int) and not isinstance(value, bool):
            return [value]
        raise missing_set(value, row, "[]")

    def _number(self, item: Any, row: int) -> int:
        """Return the number of an item."""
        text = str(item) if isinstance(item, (int, np.integer)) and not isinstance(item, bool) else item
        number = self._numbers.get(text) if isinstance(text, str) else None
        if number is None:
            few = self.labels.names is not None
            remedy = (
                suggestion(str(item), self._numbers)
                if few
                else f"give numbers from 0 to {self.labels.size - 1}"
            )
            raise RowError("answers", row, f"{text_of(item)} is not an item of the list", remedy)
        return number

    def moved(self, answers: Any) -> tuple[str, int]:
        return SAMPLED.format(self.most), sum(len(each) > self.most for each in self._sets(answers))

    @property
    def content(self) -> str:
        return f"items between '{self.separator}', or a JSON list, of {self.labels.abridged()}"

    def questions(self, name: str | None = None) -> tuple[AskedChoice | AskedNumber, ...]:
        return (AskedItems(name, self.labels.size, self.labels.names, self.most),)

    def examples(self, count: int) -> NDArray[Any]:
        texts = [self.separator.join(each) or "[]" for each in self._examples(count)]
        return np.array(texts)

    def _examples(self, count: int) -> list[list[str]]:
        """Return sets of every size in turn."""
        names = self.labels.shown()
        sizes = [min(row % (self.most + 1), len(names)) for row in range(count)]
        return [[names[(row + item) % len(names)] for item in range(size)] for row, size in enumerate(sizes)]

    def is_answer(self, text: str) -> bool:
        parts = [part.strip() for part in text.split(self.separator)]
        return text.startswith("[") or all(part in self._numbers for part in parts)


class KeyValues(Items):
    """Keys with a number each, of a list of keys; the code of a pair is a row of keys and one of numbers.

    Parameters
    ----------
    labels : Labels
        The keys.
    most : int
    domain : Domain
        The range of the values.
    separator : str

    Examples
    --------
    >>> codec = KeyValues(Labels(2, ["bread", "milk"]), 2, Domain(0.0, 5.0))
    >>> keys, values = codec.codes(["milk=2.5;bread=5", "{}", {"milk": 1}])
    >>> keys.tolist(), values.tolist()
    ([[0.0, 1.0], [-1.0, -1.0], [1.0, -1.0]], [[5.0, 2.5], [0.0, 0.0], [1.0, 0.0]])
    """

    word, report_word = "pairs", "pairs"

    def __init__(self, labels: Labels, most: int, domain: Domain, separator: str = ";") -> None:
        super().__init__(labels, most, separator)
        self.domain = domain

    def codes(self, answers: Any, clip: bool = False) -> NDArray[Any]:
        """Return an array of shape (2, n, k): keys, and their values moved into the range if ``clip``."""
        listed = answers.values[answers.codes].tolist() if isinstance(answers, Coded) else as_rows(answers)
        rows = [self._pairs(value, row, clip) for row, value in enumerate(listed)]
        widest = max(map(len, rows), default=0)
        if not clip and widest > self.most:
            row = next(row for row, each in enumerate(rows) if len(each) > self.most)
            what = f"{counted(len(rows[row]), 'key')}, and a user has at most {self.most}"
            raise RowError("answers", row, what, "correct it, or sample the keys of larger sets", "clip")
        codes = np.zeros((2, len(rows), max(widest, 1)))
        codes[0] = NONE
        for row, each in enumerate(rows):
            for place, pair in enumerate(each):
                codes[:, row, place] = pair
        return codes

    def _pairs(self, value: Any, row: int, clip: bool) -> list[tuple[int, float]]:
        """Return the keys of a cell in order, with their values."""
        if isinstance(value, str) and value.strip().startswith("{"):
            pairs = list(parsed(value.strip(), dict, row).items())
        elif isinstance(value, str) and value.strip():
            pairs = [self._split(part, row) for part in value.strip().split(self.separator)]
        elif isinstance(value, Mapping):
            pairs = list(value.items())
        else:
            raise missing_set(value, row, "{}")
        result: dict[int, float] = {}
        for key, written in pairs:
            number = self._number(key, row)
            if number in result:
                raise RowError("answers", row, f"the key {text_of(key)} appears twice", "give each key once")
            result[number] = self._value(key, written, row, clip)
        return sorted(result.items())

    def _split(self, part: str, row: int) -> tuple[str, str]:
        key, sign, value = part.rpartition("=")
        if not sign:
            raise RowError("answers", row, f"{text_of(part.strip())} has no value", "write key=value")
        return key.strip(), value.strip()

    def _value(self, key: Any, written: Any, row: int, clip: bool) -> float:
        number = number_of_text(written) if isinstance(written, str) else written
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)) or number != number:
            raise RowError(
                "answers",
                row,
                f"the value {text_of(written)} of {text_of(key)} is not a number",
                "correct it",
            )
        low, high = self.domain.low, self.domain.high
        if not low <= number <= high and not clip:
            what = f"the value {number:g} of {text_of(key)} is outside [{low:g}, {high:g}]"
            raise RowError("answers", row, what, "correct it, or move values to the nearest end", "clip")
        return float(min(max(number, low), high))

    def moved(self, answers: Any) -> tuple[str, int]:
        keys, _ = self.codes(answers, clip=True)
        return SAMPLED.format(self.most), int(((keys != NONE).sum(axis=1) > self.most).sum())

    def questions(self, name: str | None = None) -> tuple[AskedChoice | AskedNumber, ...]:
        return (AskedItems(name, self.labels.size, self.labels.names, self.most, self.domain),)

    @property
    def content(self) -> str:
        return f"key=value between '{self.separator}', or a JSON object, of {self.labels.abridged()}"

    def examples(self, count: int) -> NDArray[Any]:
        ends = (f"{self.domain.low:g}", f"{self.domain.high:g}")
        texts = [
            self.separator.join(f"{key}={ends[(row + place) % 2]}" for place, key in enumerate(each)) or "{}"
            for row, each in enumerate(self._examples(count))
        ]
        return np.array(texts)

    def is_answer(self, text: str) -> bool:
        return text.startswith("{") or "=" in text


def as_rows(answers: Any) -> list[Any]:
    """Return answers as a list: of an array, a series or any sequence that is not one text."""
    if isinstance(answers, (str, bytes, Mapping)) or not isinstance(answers, Iterable):
        raise DataError(
            "answers", f"expected one set per user, got {text_of(answers)}", "give a list of sets"
        )
    return answers.tolist() if isinstance(answers, np.ndarray) else list(answers)


def parsed(text: str, kind: type, row: int) -> Any:
    """Return a JSON list or object of a cell."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise RowError("answers", row, f"{text_of(text)} is not JSON", "correct it") from None
    if not isinstance(value, kind):
        raise RowError("answers", row, f"{text_of(text)} is of another kind", "correct it")
    return value


def missing_set(value: Any, row: int, empty: str) -> RowError:
    """Return the error for a cell without a set."""
    if is_gap(value) or value == "":
        return RowError(
            "answers", row, "is missing", f"write {empty} where a user has nothing, or omit the row"
        )
    return RowError("answers", row, f"{text_of(value)} is not a set", "give a list, or a text of items")
