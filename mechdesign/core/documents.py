"""TOML and JSON from files that anybody may have written, and whole numbers beyond those of a double.

A line of TOML such as ``a.a.a = 1`` makes a table for every dot, and the parser keeps all beginnings of the
name; brackets in brackets are a call in a call. So depth and number of tables are counted before parsing.

Readers of JSON in other languages round every number to a double, so a whole number beyond 2**53 is written
as a string of its decimal digits. A string of at least 16 digits is therefore a number; a text that looks
like one, such as a label of digits, is written with ``=`` before it, and so is one that begins with such
signs. Both ways are inverse to each other, whatever the content.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

MOST_DEPTH = 100
"""Tables and lists in each other; no document of this package has more than ten."""
MOST_ITEMS = 200_000
"""Keys, tables and lists of a TOML document; its numbers are limited by the size of the file only."""
MOST_LISTS = 2_000_000
"""Objects and lists of a JSON document."""

TOKEN = re.compile(
    r"""\"{3}|'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|["']|\#[^\n]*|[0-9eE+\-_.,\ \t\r\n]{2,}|[\[\]{}=,.\n]"""
)
LONG_TEXT = re.compile(r'(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL)
JSON_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{}]', re.DOTALL)
DEEP_NUMBERS = re.compile(rf"(?:\.[^.,\n]*){{{MOST_DEPTH}}}")


def date_in(value: Any, place: str = "") -> tuple[str, str] | None:
    """Return the place and the text of a date or a time in a document; None without any.

    TOML has them without quotes, and nothing here takes one.

    Examples
    --------
    >>> date_in(parse_toml("model.source = {at = [1979-05-27]}"))
    ('[model] source at 1', '1979-05-27')
    """
    if isinstance(value, dict):
        items: Any = ((f"{place} {key}" if place else f"[{key}]", item) for key, item in value.items())
    elif isinstance(value, list):
        items = ((f"{place} {number}", item) for number, item in enumerate(value, start=1))
    else:  # of the module datetime, which takes time to import
        is_date = hasattr(value, "isoformat") and not isinstance(value, str)
        return (place, str(value)) if is_date else None
    return next((date for key, item in items if (date := date_in(item, key)) is not None), None)


class WrittenNumber(float):
    """The double next to a number in a text that has more digits than a double, with the text.

    It is a double like any other; an epsilon is read from the text. See :func:`written_float`.
    """

    text: str

    def __reduce__(self) -> tuple[Any, ...]:
        return written_float, (self.text,)


def written_float(text: str) -> float:
    """Return the double of a text; one with the text where the double's own decimal is another number.

    Examples
    --------
    >>> type(written_float("0.1")) is float, written_float("1.09861228866810969").text
    (True, '1.09861228866810969')
    """
    number = float(text)
    if not math.isfinite(number) or Decimal(text.replace("_", "")) == Decimal(repr(number)):
        return number
    result = WrittenNumber(number)
    result.text = text.replace("_", "")
    return result


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    r"""Return the content of a TOML document; its decimals are what ``parse_float`` makes of their text.

    Raises
    ------
    ValueError
        When it is not valid, or too deep or too large to be parsed in bounded memory.

    Examples
    --------
    >>> parse_toml("a.b = [1, 2]")
    {'a': {'b': [1, 2]}}
    >>> parse_toml("a." * 200 + "a = 1")
    Traceback (most recent call last):
        ...
    ValueError: tables and lists are nested more than 100 deep
    """
    import tomllib  # a mechanism file is JSON

    if sum(map(text.count, "[{=")) > MOST_ITEMS:
        raise ValueError(f"it has more than {MOST_ITEMS} keys, tables and lists")
    _require_shallow_toml(text)
    try:
        with _digits_bounded():
            return tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise ValueError("tables and lists are nested too deep") from None


def _require_shallow_toml(text: str) -> None:
    """Raise ValueError for a document that nests too deep.

    Where the tokens cannot go on, the parser cannot either: it raises an error there, and what comes after
    that place does not matter. Every level takes a bracket or a dot, so that most documents have too few of
    them, wherever they stand, to nest too deep.
    """
    if sum(map(text.count, "[{.")) < MOST_DEPTH:
        return
    place = dots = key = deep = items = 0
    waiting: list[int] = []  # how deep the key of each open bracket is
    while match := TOKEN.search(text, place):
        token, place = match.group(), match.end()
        if token in ('"', "'"):
            return  # a text that is not closed
        if token in ('"""', "'''"):
            place = _end_of_long_text(text, place, token)
            if place < 0:
                return
        elif token == ".":
            dots += 1
            items += 1
        elif token == "=":
            key, dots = dots + 1, 0
        elif token in ("[", "{"):
            waiting.append(max(1, key))
            deep, key, dots = deep + waiting[-1], 0, 0
        elif token in ("]", "}"):
            deep -= waiting.pop() if waiting else 0
            key = dots = 0
        elif token in (",", "\n"):
            key = dots = 0
        elif token[0] not in "\"'#":  # numbers, or bare keys of digits
            if "," in token or "\n" in token:
                if DEEP_NUMBERS.search(token) or dots + token.count(".") > MOST_DEPTH > len(token):
                    dots = MOST_DEPTH
                else:
                    dots, key = re.split("[,\n]", token)[-1].count("."), 0
            else:
                dots += token.count(".")
        if deep + dots >= MOST_DEPTH:
            raise ValueError(f"tables and lists are nested more than {MOST_DEPTH} deep")
        if items > MOST_ITEMS:
            raise ValueError(f"it has more than {MOST_ITEMS} keys, tables and lists")


def _end_of_long_text(text: str, place: int, quotes: str) -> int:
    if quotes == "'''":
        end = text.find(quotes, place)
        more = text[end + 3 : end + 5]  # up to two quotes at the end are part of the text
        return end if end < 0 else end + 3 + len(more) - len(more.lstrip("'"))
    match = LONG_TEXT.match(text, place)
    return match.end() if match else -1


def parse_json(text: str) -> Any:
    """Return the content of a JSON document; its numbers are finite.

    Raises
    ------
    ValueError
        When it is not valid, or too deep or too large to be parsed in bounded memory.

    Examples
    --------
    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json("[" * 200 + "]" * 200)
    Traceback (most recent call last):
        ...
    ValueError: objects and lists are nested more than 100 deep
    >>> parse_json("1e999")
    Traceback (most recent call last):
        ...
    ValueError: 1e999 is too large for a number
    """
    if text.count("[") + text.count("{") > MOST_LISTS:
        raise ValueError(f"it has more than {MOST_LISTS} objects and lists")
    depth = 0
    for match in JSON_TOKEN.finditer(text):
        letter = text[match.start()]
        if letter in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise ValueError(f"objects and lists are nested more than {MOST_DEPTH} deep")
        elif letter in "]}":
            depth -= 1
    with _digits_bounded():
        return json.loads(text, parse_constant=_refused, parse_float=_finite)


@contextmanager
def _digits_bounded() -> Iterator[None]:
    """Say in plain words that an integer has more digits than Python reads."""
    try:
        yield
    except ValueError as error:
        if "set_int_max_str_digits" in str(error):
            raise ValueError("a number has too many digits") from None
        raise


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


EXACT = 1 << 53
"""The largest whole number up to which doubles hold all of them."""

NUMBER = re.compile(r"-?[0-9]{16,4000}", re.ASCII)
LIKE_A_NUMBER = re.compile(r"=*-?[0-9]{16,}", re.ASCII)


def file_values(value: Any) -> Any:
    """Return plain values as they stand in a file.

    Examples
    --------
    >>> file_values({"total": 1 << 62, "size": 3, "labels": ["no", "1234567890123456"]})
    {'total': '4611686018427387904', 'size': 3, 'labels': ['no', '=1234567890123456']}
    """
    if isinstance(value, dict):
        return {key: file_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [file_values(each) for each in value]
    if isinstance(value, str):
        return f"={value}" if LIKE_A_NUMBER.fullmatch(value) else value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        return str(int(value))
    return value


def plain_values(value: Any) -> Any:
    """Return the value that :func:`file_values` was given.

    Examples
    --------
    >>> plain_values(file_values({"total": 1 << 62, "labels": ["1234567890123456", "=x"]}))
    {'total': 4611686018427387904, 'labels': ['1234567890123456', '=x']}
    """
    if isinstance(value, dict):
        return {key: plain_values(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain_values(each) for each in value]
    if isinstance(value, str) and LIKE_A_NUMBER.fullmatch(value):
        return value[1:] if value.startswith("=") else int(value) if NUMBER.fullmatch(value) else value
    return value
