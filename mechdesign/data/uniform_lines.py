r"""Columns of JSON lines that are all written alike, taken out of the bytes of many lines at once.

**Statement.** Let the first line be ``F0 v1 F1 v2 ... vk Fk`` with the values v and the fixed parts F between
them, the quotes of a text counted to the parts. In a block in which

1. no byte below 32 but one at the end of each line, and no quote behind a backslash, occurs,
2. each line has as many quotes as the first one, and
3. each line is ``F0 w1 F1 w2 ... wk Fk`` with values w that end where the quotes, or the line, say,

each line is one object with the names of the first line, each once. For by 1 and 2 every quote of a line is
one of the parts, so that no text w has a quote, and a text is one of JSON when its escapes are; and a w that
is no text is read by Python's own reader of JSON, in a list with all others of its column.

What is not of this form, right or wrong, is not judged here: the caller reads it line by line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.data.intake import Coded

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

QUOTE, COMMA, BACKSLASH, LINE_END = b'",\\\n'

PADDING = bytes(8)
"""Behind a block, so that eight bytes can be read at every place."""

LONGEST = 64
"""Bytes of texts that are compared eight at a time; a column with a longer one is cut into its texts."""

SLOTS = 1 << 13
"""Places for the different texts of a column in a block."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
MASKS = np.frombuffer(b"".join(b"\xff" * size + bytes(8 - size) for size in range(9)), dtype=np.uint64)
"""By the number of bytes of a word that count."""


def _no_number(word: str) -> float:
    raise ValueError(word)


_READER = json.JSONDecoder(parse_constant=_no_number)

TEXT, NUMBER = r'"((?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*)"', r"-?[0-9][0-9.eE+-]*"
PAIR = re.compile(rf"( *{TEXT} *: *)(?:{TEXT}|({NUMBER}))( *[,}}])")


@dataclass(frozen=True)
class LineForm:
    r"""The fixed parts of lines of JSON, the names of their values, and which values are texts.

    Examples
    --------
    >>> form = LineForm.of(b'{"a": "x", "b": 1}')
    >>> form.parts, form.names, form.texts
    ((b'{"a": "', b'", "b": ', b'}\n'), ('a', 'b'), (True, False))
    >>> LineForm.of(b'{"a": [1]}') is None
    True
    """

    parts: tuple[bytes, ...]
    names: tuple[str, ...]
    texts: tuple[bool, ...]

    @classmethod
    def of(cls, line: bytes) -> LineForm | None:
        """Return the form of a line without its end; None where it is none of an object with plain values."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return None
        parts, names, texts, place, part = [], [], [], 1, "{"
        while text[:1] == "{" and (pair := PAIR.match(text, place)):
            head, name, own, _, tail = pair.groups()
            if "\\" in name:
                return None
            quote = "" if own is None else '"'
            parts.append(part + head + quote)
            names.append(name)
            texts.append(own is not None)
            part, place = quote + tail, pair.end()
            if tail.endswith("}"):
                break
        if not part.endswith("}") or place != len(text) or len(set(names)) < len(names):
            return None
        encoded = tuple(piece.encode() for piece in [*parts, part + "\n"])
        return cls(encoded, tuple(names), tuple(texts))

    def columns(self, block: bytes, names: Sequence[str]) -> dict[str, Coded | list[Any]] | None:
        """Return some columns of lines that all have this form; None where one may not have it.

        Numbers are a list of Python's own.

        Parameters
        ----------
        block : bytes
            Whole lines, each with its end.
        names : sequence of str
        """
        lines = _LineBlock.of(block)
        spans = None if lines is None else self._spans(lines)
        if lines is None or spans is None:
            return None
        result: dict[str, Coded | list[Any]] = {}
        for name, is_text, (starts, ends) in zip(self.names, self.texts, spans, strict=True):
            column: Coded | list[Any] | None
            if is_text and (name in names or lines.has_escapes):
                column = lines.texts(starts, ends)
            elif not is_text:
                column = lines.numbers(starts, ends)
            else:
                continue
            if column is None:
                return None
            result[name] = column
        return result

    def _spans(self, lines: _LineBlock) -> list[tuple[Places, Places]] | None:
        """Return where the values of each column begin and end, and None where a line has another form."""
        each = sum(part.count(b'"') for part in self.parts)
        quotes = lines.quotes_by_line(each)
        if quotes is None:
            return None
        place, number = lines.starts, 0
        spans: list[tuple[Places, Places]] = []
        for part, is_text, following in zip(
            self.parts, [*self.texts, None], [*self.parts[1:], b""], strict=True
        ):
            if not lines.have(part, place):
                return None
            if is_text is None:
                return spans
            place, number = place + len(part), number + part.count(b'"')
            inner = following.find(b'"')
            ends = lines.ends + 1 - len(following) if inner < 0 else quotes[:, number] - inner
            if (ends < place).any():
                return None
            spans.append((place, ends))
            place = ends
        return None


class _LineBlock:
    """A block of lines as numbers."""

    def __init__(self, block: bytes, letters: Bytes, ends: Places) -> None:
        self.block, self.letters, self.ends = block, letters, ends
        self.starts = np.concatenate([[0], ends[:-1] + 1])
        self.has_escapes = b"\\" in block
        size = len(letters) - len(PADDING) + 1
        self.words = np.ndarray((size,), dtype=np.uint64, buffer=letters, strides=(1,))

    @classmethod
    def of(cls, block: bytes) -> _LineBlock | None:
        """Return the lines of a block of texts in UTF-8 without control characters and quotes in quotes."""
        letters = np.frombuffer(block + PADDING, dtype=np.uint8)
        ends = np.flatnonzero(letters[: len(block)] == LINE_END)
        if not len(ends) or ends[-1] != len(block) - 1:
            return None
        if np.count_nonzero(letters[: len(block)] < 32) != len(ends) or b'\\"' in block:
            return None
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                return None
        return cls(block, letters, ends)

    def quotes_by_line(self, each: int) -> Places | None:
        """Return the places of the quotes, as many in each line; None where a line has more or fewer."""
        quotes = np.flatnonzero(self.letters == QUOTE)
        if len(quotes) != each * len(self.ends):
            return None
        by_line: Places = quotes.reshape(-1, each)
        if (by_line[:, 0] < self.starts).any() or (by_line[:, -1] > self.ends).any():
            return None
        return by_line

    def have(self, part: bytes, places: Places) -> bool:
        """Whether these bytes stand at all of these places."""
        if int(places.max()) + len(part) > len(self.block) or int(places.min()) < 0:
            return False
        for first in range(0, len(part), 8):
            piece = part[first : first + 8]
            word = np.frombuffer(piece.ljust(8, b"\0"), dtype=np.uint64)
            if ((self.words[places + first] & MASKS[len(piece)]) != word).any():
                return False
        return True

    def texts(self, starts: Places, ends: Places) -> Coded | None:
        """Return a column of texts between quotes; None for an escape that JSON does not know."""
        lengths = ends - starts
        most = int(lengths.max())
        distinct = self._distinct(starts, lengths) if most <= LONGEST else None
        if distinct is None:
            known: dict[bytes, int] = {}
            cut = self._cut(starts, ends, LINE_END).split(b"\n")[:-1]
            codes = np.fromiter((known.setdefault(word, len(known)) for word in cut), np.int64, len(cut))
            written = list(known)
        else:
            rows, codes = distinct
            pairs = zip(starts[rows].tolist(), ends[rows].tolist(), strict=True)
            written = [self.block[start:end] for start, end in pairs]
        table = np.empty(len(written), dtype=object)
        try:
            table[:] = [json.loads(b'"%s"' % word) if b"\\" in word else word.decode() for word in written]
        except ValueError:
            return None
        return Coded(table, codes)

    def _distinct(self, starts: Places, lengths: Places) -> tuple[Places, Places] | None:
        """Return a row of each different text, and which of them each row has; None where they are many."""
        words = []
        for first in range(0, max(1, int(lengths.max())), 8):
            places = np.minimum(starts + first, len(self.words) - 1)
            words.append(self.words[places] & MASKS.take(np.clip(lengths - first, 0, 8)))
        mixed = lengths.astype(np.uint64)
        for word in words:
            mixed = (mixed ^ word) * FACTOR
            mixed ^= mixed >> np.uint64(32)
        slots = (mixed & np.uint64(SLOTS - 1)).astype(np.int64)
        rows = np.full(SLOTS, -1, dtype=np.int64)
        rows[slots] = np.arange(len(slots))
        same = rows.take(slots)
        if any((column != column.take(same)).any() for column in (lengths, *words)):
            return None  # two texts in one place
        used = np.flatnonzero(rows >= 0)
        codes = np.empty(SLOTS, dtype=np.int64)
        codes[used] = np.arange(len(used))
        return rows[used], codes.take(slots)

    def numbers(self, starts: Places, ends: Places) -> list[Any] | None:
        """Return a column of numbers, as Python reads them; None where one of them is none."""
        try:
            column: list[Any] = _READER.decode((b"[%s]" % self._cut(starts, ends, COMMA)[:-1]).decode())
        except (ValueError, RecursionError):
            return None
        if len(column) != len(starts) or not {int, float}.issuperset(map(type, column)):
            return None
        if math.inf in column or -math.inf in column:
            return None
        return column

    def _cut(self, starts: Places, ends: Places, separator: int) -> bytes:
        """Return the bytes between these places, each followed by a separator."""
        steps = np.zeros(len(self.letters) + 1, dtype=np.int8)
        steps[starts] += 1
        steps[ends + 1] -= 1
        inside = np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)
        letters = self.letters.copy()
        letters[ends] = separator
        return letters[inside].tobytes()
