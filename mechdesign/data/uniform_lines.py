r"""Columns of lines that are all written alike, taken out of the bytes of many lines at once: JSON and CSV.

**CSV.** A block of whole lines in which no quote, no NUL and no carriage return occurs, and each line has as
many delimiters as the header, is a table: its cells are the bytes between these.

**Texts.** A text is read as numbers of eight bytes. No text has a NUL byte, so that equal numbers are equal
texts of the same length. The numbers lead to a place in a table, which has the code of the text that was seen
there. Each text is then compared with the one of its code: the table only says where to look.

**JSON.** Let the first line be ``F0 v1 F1 v2 ... vk Fk`` with the values v and the fixed parts F between
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
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.data.intake import Coded

QUOTE, COMMA, LINE_END = b'",\n'

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Numbers = NDArray[np.uint64]

LONGEST = 64
"""Bytes of texts that are compared eight at a time; a column with a longer one is cut into its texts."""

PADDING = bytes(2 * LONGEST)
"""Behind a block, so that the bytes of a text can be read at every place."""

MOST = 1 << 10
"""Different texts up to which they are looked for in a table."""

BITS = 18
"""The table has two to the power of this many places."""

ROUNDS = 4
"""How often the texts of a block that are not in the table are added to it."""

FACTORS = np.array(
    [[(0x9E3779B97F4A7C15 * (16 * seed + 2 * place + 1)) % 2**64 for place in range(8)] for seed in range(8)],
    dtype=np.uint64,
)
"""Odd numbers that eight bytes are multiplied with, by what is tried first and by their place."""

MASKS = np.frombuffer(b"".join(b"\xff" * size + bytes(8 - size) for size in range(9)), dtype=np.uint64)
"""By the number of bytes of a word that count."""


@cache
def _masks(count: int) -> Numbers:
    """Return what so many numbers of a text are masked with, by its length in bytes."""
    rows = [b"\xff" * size + bytes(8 * count - size) for size in range(8 * count + 1)]
    return np.frombuffer(b"".join(rows), dtype=np.uint64).reshape(-1, count)


class ByteBlock:
    """A block of bytes without NUL as single bytes, and as the eight bytes from each place on."""

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.padded = np.frombuffer(block + PADDING, dtype=np.uint8)
        self.letters: Bytes = self.padded[: len(block)]
        size = len(self.padded) - 7
        self.words: Numbers = np.ndarray((size,), dtype=np.uint64, buffer=self.padded, strides=(1,))

    def words_of(self, starts: Places, lengths: Places) -> list[Numbers]:
        """Return the texts as numbers of eight bytes each, none of them longer than ``LONGEST``."""
        count = max(1, -(-int(lengths.max()) // 8))
        if count == 1:
            return [self.words[starts] & MASKS.take(lengths)]
        fetched = self._fetched(starts, count)
        fetched &= _masks(count).take(lengths, axis=0)
        return list(fetched.T)

    def _fetched(self, places: Places, count: int) -> Numbers:
        """Return that many numbers of eight bytes from each place on, in a row: faster than one by one."""
        size = len(self.padded) - 8 * count + 1
        pieces = np.ndarray((size,), dtype=f"V{8 * count}", buffer=self.padded, strides=(1,))
        return pieces[places].view(np.uint64).reshape(len(places), count)

    def have(self, part: bytes, places: Places) -> bool:
        """Whether these bytes stand at all of these places, none of which is before the block."""
        if int(places.max()) + len(part) > len(self.block):
            return False
        whole = len(part) // 8
        known = np.frombuffer(part[: 8 * whole], dtype=np.uint64)
        if whole:
            fetched = self._fetched(places, whole)
            if any((fetched[:, number] != known[number]).any() for number in range(whole)):
                return False
        rest = part[8 * whole :]
        if not rest:
            return True
        word = np.frombuffer(rest.ljust(8, b"\0"), dtype=np.uint64)
        return not ((self.words[places + 8 * whole] & MASKS[len(rest)]) != word).any()

    def cut(self, starts: Places, ends: Places, separator: int) -> bytes:
        """Return the bytes between these places, each followed by a separator."""
        steps = np.zeros(len(self.letters) + 1, dtype=np.int8)
        steps[starts] += 1
        steps[ends + 1] -= 1
        inside = np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)
        letters = self.letters.copy()
        letters[ends] = separator
        return letters[inside].tobytes()


class NumberedTexts:
    """The different texts of a column, in the order of their codes, from block to block.

    Attributes
    ----------
    written : list of bytes
        The texts so far.
    are_many : bool
        Whether they are too many or too long, so that they are not looked for.

    Examples
    --------
    >>> texts, block = NumberedTexts(), ByteBlock(b"yes no yes")
    >>> codes = texts.codes(block, np.array([0, 4, 7]), np.array([3, 2, 3]))
    >>> [texts.written[code] for code in codes]
    [b'yes', b'no', b'yes']
    """

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.are_many = False
        self._known: NDArray[np.uint64] = np.zeros((8, 0), dtype=np.uint64)
        self._sizes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._codes, self._factors = np.zeros(1 << BITS, dtype=np.int64), FACTORS[0]

    def codes(self, block: ByteBlock, starts: Places, lengths: Places) -> Places | None:
        """Return the code of each text; None where they are many, or one is long."""
        if self.are_many or int(lengths.max()) > LONGEST:
            return None
        words = block.words_of(starts, lengths)
        for _ in range(ROUNDS):
            codes: Places = self._codes.take(self._slots(words))
            new = np.flatnonzero(self._differ(words, codes)) if self.written else np.arange(len(starts))
            if not len(new):
                return codes
            if not self._learn(block, starts, lengths, words, new):
                break
        self.are_many = True
        return None

    def _slots(self, words: list[Numbers]) -> Places:
        mixed = words[0] * self._factors[0]
        for word, factor in zip(words[1:], self._factors[1:], strict=False):
            mixed += word * factor  # nothing where a text ends before: it has its place in every block
        mixed >>= np.uint64(64 - BITS)
        slots: Places = mixed.view(np.int64)
        return slots

    def _differ(self, words: list[Numbers], codes: Places) -> NDArray[np.bool_]:
        different: NDArray[np.bool_] = self._known[0].take(codes) != words[0]
        for word, known in zip(words[1:], self._known[1:], strict=False):
            different |= known.take(codes) != word
        if len(words) < self._sizes.max():  # a text that begins like the known one, which is longer
            different |= self._sizes.take(codes) > len(words)
        return different

    def _learn(
        self, block: ByteBlock, starts: Places, lengths: Places, words: list[Numbers], new: Places
    ) -> bool:
        """Add texts of these rows, one for each place of the table; return whether they are still few."""
        row_of = np.full(1 << BITS, -1, dtype=np.int64)
        row_of[self._slots([word.take(new) for word in words])] = new
        rows = row_of[row_of >= 0]
        if len(self.written) + len(rows) > MOST:
            return False
        spans = zip(starts.take(rows).tolist(), lengths.take(rows).tolist(), strict=True)
        self.written += [block.block[start : start + size] for start, size in spans]
        padded = b"".join(text.ljust(LONGEST, b"\0") for text in self.written)
        self._known = np.ascontiguousarray(np.frombuffer(padded, dtype=np.uint64).reshape(-1, 8).T)
        self._sizes = np.array([-(-len(text) // 8) for text in self.written])
        for self._factors in FACTORS:
            slots = self._slots(list(self._known))
            if len(np.unique(slots)) == len(slots):
                self._codes = np.zeros(1 << BITS, dtype=np.int64)
                self._codes[slots] = np.arange(len(slots))
                return True
        return False


class CellBlock(ByteBlock):
    r"""Whole lines of CSV in which each cell is written as it is.

    Examples
    --------
    >>> block = CellBlock.of(b"ann,no\nbob,yes\n", 2, ord(","))
    >>> block.texts(*block.column(1)), CellBlock.of(b'ann,"no"\n', 2, ord(","))
    (['no', 'yes'], None)
    """

    def __init__(self, block: bytes, ends: Places) -> None:
        super().__init__(block)
        self.ends = ends

    @classmethod
    def of(cls, block: bytes, width: int, delimiter: int) -> CellBlock | None:
        """Return the cells of lines in UTF-8; None where one may be none, or a line has more or fewer."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if b'"' in block or b"\0" in block or b"\r" in block:
            return None
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                return None
        letters = np.frombuffer(block, dtype=np.uint8)
        line_ends, delimiters = letters == LINE_END, letters == delimiter
        if width == 1:
            return None if delimiters.any() else cls(block, np.flatnonzero(line_ends).reshape(-1, 1))
        ends = np.flatnonzero(line_ends | delimiters)
        if len(ends) % width:
            return None
        by_line: Places = ends.reshape(-1, width)
        if np.count_nonzero(line_ends) != len(by_line) or not line_ends.take(by_line[:, -1]).all():
            return None
        return cls(block, by_line)

    def column(self, place: int) -> tuple[Places, Places]:
        """Return where the cells of a column begin and end."""
        ends = np.ascontiguousarray(self.ends[:, place])
        if place:
            return self.ends[:, place - 1] + 1, ends
        starts = np.empty_like(ends)
        starts[0] = 0
        starts[1:] = self.ends[:-1, -1]
        starts[1:] += 1
        return starts, ends

    def texts(self, starts: Places, ends: Places) -> list[str]:
        """Return the cells of a column."""
        return self.cut(starts, ends, LINE_END).decode().split("\n")[:-1]


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

    def columns(
        self, block: bytes, names: Sequence[str], known: dict[str, NumberedTexts] | None = None
    ) -> dict[str, Coded | list[Any]] | None:
        """Return some columns of lines that all have this form; None where one may not have it.

        Numbers are a list of Python's own.

        Parameters
        ----------
        block : bytes
            Whole lines, each with its end.
        names : sequence of str
        known : dict, optional
            The texts of the columns in the blocks before, to which those of this one are added.
        """
        known = {} if known is None else known
        lines = _LineBlock.of(block)
        spans = None if lines is None else self._spans(lines)
        if lines is None or spans is None:
            return None
        result: dict[str, Coded | list[Any]] = {}
        for name, is_text, (starts, ends) in zip(self.names, self.texts, spans, strict=True):
            column: Coded | list[Any] | None
            if is_text and (name in names or lines.has_escapes):
                column = lines.texts(starts, ends, known.get(name) or known.setdefault(name, NumberedTexts()))
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
        if lines.quotes != each * len(lines.ends):
            return None
        # Where each line has its parts, it has at least so many quotes: then none has more.
        quotes = lines.quotes_by_line(each) if len(self.names) > 1 and each else None
        place, number = lines.starts, 0
        spans: list[tuple[Places, Places]] = []
        for part, following in zip(self.parts, [*self.parts[1:], b""], strict=True):
            if not lines.have(part, place):
                return None
            if not following:
                return spans
            place, number = place + len(part), number + part.count(b'"')
            inner = following.find(b'"')
            if following is self.parts[-1] or quotes is None:
                ends = lines.ends + 1 - len(following)
            else:
                ends = quotes[:, number] - inner
            if (ends < place).any():
                return None
            spans.append((place, ends))
            place = ends
        return None


class _LineBlock(ByteBlock):
    """A block of lines as numbers."""

    def __init__(self, block: bytes) -> None:
        super().__init__(block)
        self.ends: Places = np.flatnonzero(self.letters == LINE_END)
        self.starts = np.concatenate([[0], self.ends[:-1] + 1])
        self.has_escapes = b"\\" in block

    @classmethod
    def of(cls, block: bytes) -> _LineBlock | None:
        """Return the lines of a block of texts in UTF-8 without control characters and quotes in quotes."""
        if not block.endswith(b"\n"):
            return None
        lines = cls(block)
        if np.count_nonzero(lines.letters < 32) != len(lines.ends) or (lines.has_escapes and b'\\"' in block):
            return None
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                return None
        return lines

    @property
    def quotes(self) -> int:
        """The number of quotes."""
        return int(np.count_nonzero(self.letters == QUOTE))

    def quotes_by_line(self, each: int) -> Places | None:
        """Return the places of the quotes, as many in each line; None where a line has more or fewer."""
        quotes = np.flatnonzero(self.letters == QUOTE)
        if len(quotes) != each * len(self.ends):
            return None
        by_line: Places = quotes.reshape(-1, each)
        if (by_line[:, 0] < self.starts).any() or (by_line[:, -1] > self.ends).any():
            return None
        return by_line

    def texts(self, starts: Places, ends: Places, known: NumberedTexts) -> Coded | None:
        """Return a column of texts between quotes; None for an escape that JSON does not know."""
        codes = known.codes(self, starts, ends - starts)
        written = known.written
        if codes is None:
            numbers: dict[bytes, int] = {}
            cut = self.cut(starts, ends, LINE_END).split(b"\n")[:-1]
            codes = np.fromiter((numbers.setdefault(word, len(numbers)) for word in cut), np.int64, len(cut))
            written = list(numbers)
        table = np.empty(len(written), dtype=object)
        try:
            table[:] = [json.loads(b'"%s"' % word) if b"\\" in word else word.decode() for word in written]
        except ValueError:
            return None
        return Coded(table, codes)

    def numbers(self, starts: Places, ends: Places) -> list[Any] | None:
        """Return a column of numbers, as Python reads them; None where one of them is none."""
        try:
            column: list[Any] = _READER.decode((b"[%s]" % self.cut(starts, ends, COMMA)[:-1]).decode())
        except (ValueError, RecursionError):
            return None
        if len(column) != len(starts) or not {int, float}.issuperset(map(type, column)):
            return None
        if math.inf in column or -math.inf in column:
            return None
        return column
