"""Public codes of strings: from a text to a fixed number of bits, and back.

A code gives every symbol a word of bits, none the beginning of another and none of zeros alone. A text is
the words of its symbols one after the other, filled up with zeros. A string of bits is read symbol by
symbol until only zeros are left: since every word has a 1, that is the end of the text and nothing else, so
that two texts never share a code. Texts are brought into Unicode's composed normal form (NFC) before
they are coded: letters that look the same are the same.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.core.errors import ParameterError, RowError
from mechdesign.core.validation import integer
from mechdesign.data.intake import is_gap
from mechdesign.exact.numbers import text_of

Words = NDArray[np.uint64]

UTF8 = "utf-8"
"""The alphabet of all bytes but 0: any text, in Unicode's coding of 8 bits."""

LEAST_BITS, MOST_BITS = 2, 62
"""Bits of a text."""

MOST_SYMBOLS = 4096
LONGEST_WORD = 32

DEAD = -1
"""The state of bits that begin no text."""


def prefix_code(frequencies: Mapping[str, float], end: float) -> dict[str, str]:
    """Return Huffman's code of symbols with these frequencies: the fewest bits a text on average.

    Parameters
    ----------
    frequencies : mapping
        How often each symbol occurs in public texts of the language.
    end : float
        How often a text ends, in the same unit; the end has a word of zeros.

    Examples
    --------
    >>> prefix_code({"a": 5, "b": 2, "c": 1}, end=2)
    {'a': '1', 'b': '011', 'c': '010'}
    """
    if not frequencies or min([end, *frequencies.values()]) <= 0.0:
        raise ParameterError("frequencies", "expected numbers > 0, at least one symbol", "omit other symbols")
    heap: list[tuple[float, int, tuple[str, ...]]]
    heap = [(weight, place, (symbol,)) for place, (symbol, weight) in enumerate(frequencies.items())]
    heap.append((end, len(heap), ("",)))
    words = dict.fromkeys([*frequencies, ""], "")
    heapq.heapify(heap)
    place = len(heap)
    while len(heap) > 1:
        pair = sorted((heapq.heappop(heap), heapq.heappop(heap)), key=lambda entry: "" not in entry[2])
        for digit, (_, _, symbols) in zip("01", pair, strict=True):  # the branch of the end is that of 0
            words |= {symbol: digit + words[symbol] for symbol in symbols}
        heapq.heappush(heap, (pair[0][0] + pair[1][0], place, pair[0][2] + pair[1][2]))
        place += 1
    return {symbol: word for symbol, word in words.items() if symbol}


def alphabet_field(field: str, value: Any) -> str | dict[str, str]:
    """Return an alphabet: ``"utf-8"``, a text of different symbols, or a word of bits for each symbol.

    Raises
    ------
    ParameterError
        For anything else, naming the symbol.

    Examples
    --------
    >>> alphabet_field("alphabet", "abc")
    'abc'
    >>> alphabet_field("alphabet", "aba")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: alphabet: 'a' appears twice; name each symbol once
    """
    if value == UTF8:
        return UTF8
    if isinstance(value, str):
        return _symbols(field, value)
    if not isinstance(value, Mapping) or not value:
        hint = f"give '{UTF8}', a text of symbols, or a table of a word of bits for each symbol"
        raise ParameterError(field, f"{text_of(value)} is not an alphabet", hint)
    _symbols(field, list(value))
    words = {str(symbol): word for symbol, word in value.items()}
    for symbol, word in words.items():
        if not isinstance(word, str) or not word or set(word) - {"0", "1"} or len(word) > LONGEST_WORD:
            what = f"{text_of(word)} of {symbol!r} is not a word of 1 to {LONGEST_WORD} bits"
            raise ParameterError(field, what, "write one such as '0110'")
        if "1" not in word:
            raise ParameterError(
                field, f"the word of {symbol!r} has zeros only, the end of a text", "add a 1"
            )
    listed = sorted(words.items(), key=lambda entry: entry[1])
    for (first, word), (second, longer) in pairwise(listed):
        if longer.startswith(word):
            what = f"the word of {second!r} begins with that of {first!r}"
            raise ParameterError(field, what, "give words of which none begins another")
    return words


def _symbols(field: str, symbols: Sequence[Any]) -> str:
    if len(symbols) < 1 or len(symbols) > MOST_SYMBOLS:
        raise ParameterError(field, f"{len(symbols)} symbols", f"give 1 to {MOST_SYMBOLS}")
    for symbol in symbols:
        if not isinstance(symbol, str) or len(symbol) != 1:
            raise ParameterError(field, f"{text_of(symbol)} is not one symbol", "give single characters")
        if unicodedata.normalize("NFC", symbol) != symbol or unicodedata.combining(symbol):
            what = f"{symbol!r} is not in composed form (NFC)"
            raise ParameterError(field, what, "give the composed character")
        if not symbol.isprintable():
            raise ParameterError(field, f"{symbol!r} cannot be printed", "omit it")
    seen = list(symbols)
    if len(set(seen)) != len(seen):
        double = next(symbol for symbol in seen if seen.count(symbol) > 1)
        raise ParameterError(field, f"{double!r} appears twice", "name each symbol once")
    return "".join(seen)


def _breaks_a_text(symbol: str) -> bool:
    """Whether a character is a control character, a line or paragraph separator, or half a surrogate pair."""
    return unicodedata.category(symbol) in ("Cc", "Cs", "Zl", "Zp")


def bits_of_length(alphabet: str | Mapping[str, str], length: int) -> int:
    """Return the bits that a text of so many symbols needs at most; of UTF-8, so many bytes.

    Examples
    --------
    >>> bits_of_length("abcdefghijklmnopqrstuvwxyz", 8), bits_of_length("utf-8", 5)
    (40, 40)
    """
    if isinstance(alphabet, str):
        return length * (8 if alphabet == UTF8 else len(alphabet).bit_length())
    return length * max(map(len, alphabet.values()))


class StringCode(Sealed):
    """A code of texts in a number of bits.

    Parameters
    ----------
    alphabet : str or mapping
        ``"utf-8"`` (bytes), a text of symbols (words of equal length, numbered from 1), or a word of bits for
        each symbol.
    bits : int
        The bits of every text; longer texts are refused.

    Examples
    --------
    >>> code = StringCode("abc", 6)
    >>> code.encode(["ab", "c"]).tolist(), code.decode(code.encode(["ab", "c"]))
    ([24, 48], ['ab', 'c'])
    >>> code.encode(["ad"])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.RowError: answers: row 1: 'ad' has 'd', which is not in the alphabet; ...
    """

    def __init__(self, alphabet: str | Mapping[str, str], bits: int) -> None:
        self.alphabet = alphabet_field("alphabet", alphabet)
        self.bits = integer("bits", bits, LEAST_BITS, MOST_BITS)
        if min(map(len, self.words.values())) > self.bits:
            raise ParameterError("bits", f"{self.bits} are fewer than a symbol has", "give more")

    @cached_property
    def words(self) -> dict[str, str]:
        """The word of bits of every symbol; of UTF-8, of every byte as the character of that number."""
        if isinstance(self.alphabet, dict):
            return self.alphabet
        if self.alphabet == UTF8:
            return {chr(byte): f"{byte:08b}" for byte in range(1, 256)}
        width = len(self.alphabet).bit_length()
        return {symbol: f"{place:0{width}b}" for place, symbol in enumerate(self.alphabet, start=1)}

    @property
    def is_utf8(self) -> bool:
        """Whether symbols are the bytes of UTF-8."""
        return self.alphabet == UTF8

    # From texts to codes

    def fault(self, text: Any) -> tuple[str, str] | None:
        """Return what is wrong with an answer and what to do; None for a text that has a code."""
        if not isinstance(text, str):
            return f"{text_of(text)} is not a text", "write answers as texts"
        word = self._bits_of(text)
        if word is not None and "1" in word and len(word) <= self.bits:
            return None
        quoted_text = text_of(text)
        if word is None:
            composed = unicodedata.normalize("NFC", text)
            odd = _breaks_a_text if self.is_utf8 else lambda symbol: symbol not in self.words
            strange = next(filter(odd, composed))
            what = f"{quoted_text} has {text_of(strange)}, which is not in the alphabet"
            return what, "spell it with its symbols, or build with a larger alphabet"
        if not word:
            return "an empty text is no answer", "omit it"
        return (
            f"{quoted_text} takes {len(word)} bits, the code has {self.bits}",
            "shorten it, or build with more bits",
        )

    def _bits_of(self, text: str) -> str | None:
        """Return the words of a text; None for a symbol without one."""
        composed = unicodedata.normalize("NFC", text)
        if self.is_utf8:
            if any(map(_breaks_a_text, composed)):
                return None
            composed = composed.encode().decode("latin-1")
        words = [self.words.get(symbol) for symbol in composed]
        return None if None in words else "".join(word for word in words if word)

    def encode(self, texts: Iterable[Any], what: str = "answers") -> Words:
        """Return the code of each text, the first bit the highest.

        Raises
        ------
        RowError
            For a symbol outside of the alphabet, a text that is too long or empty, naming the row.
        """
        listed = list(texts)
        codes: dict[Any, int] = {}
        for row, text in enumerate(listed):
            if isinstance(text, str) and text in codes:
                continue
            if is_gap(text):
                raise RowError(what, row, "is missing", "omit users without a value")
            wrong = self.fault(text)
            if wrong is not None:
                raise RowError(what, row, *wrong)
            codes[text] = int((self._bits_of(text) or "").ljust(self.bits, "0"), 2)
        return np.fromiter((codes[text] for text in listed), dtype=np.uint64, count=len(listed))

    # From codes to texts

    @cached_property
    def _walk(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The states that bits lead to, and in which of them a text may end.

        State 0 is the beginning of a symbol; the last one is that of zeros behind the end.
        """
        states: dict[str, int] = {"": 0}
        for word in self.words.values():
            for place in range(1, len(word)):
                states.setdefault(word[:place], len(states))
        last = len(states)
        whole = set(self.words.values())
        moves = np.full((last + 1, 2), DEAD, dtype=np.int64)
        moves[last, 0] = last
        for word, state in states.items():
            for digit in "01":
                ahead = word + digit
                if ahead in whole:
                    moves[state, int(digit)] = 0
                elif ahead in states:
                    moves[state, int(digit)] = states[ahead]
                elif "1" not in ahead:
                    moves[state, int(digit)] = last
        ends = np.array(["1" not in word for word in states] + [True])
        return moves, ends

    def are_possible(self, prefixes: Words, length: int) -> NDArray[np.bool_]:
        """Return which strings of ``length`` bits begin the code of a text; of all bits, which are one.

        Examples
        --------
        >>> StringCode("abc", 4).are_possible(np.arange(16, dtype=np.uint64), 4).nonzero()[0].tolist()
        [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
        """
        moves, ends = self._walk
        state = np.zeros(len(prefixes), dtype=np.int64)
        for place in range(length - 1, -1, -1):
            digit = (prefixes >> np.uint64(place) & np.uint64(1)).astype(np.int64)
            state = np.where(state == DEAD, DEAD, moves[state, digit])
        possible: NDArray[np.bool_] = state != DEAD
        if length == self.bits:
            possible &= ends[state] & (prefixes != 0)
            if self.is_utf8:
                possible[possible] = [self._read(code) is not None for code in prefixes[possible].tolist()]
        return possible

    def decode(self, codes: Words) -> list[str]:
        """Return the text of each code."""
        return [self._read(code) or "" for code in codes.tolist()]

    def _read(self, code: int) -> str | None:
        """Return the text of a code; None where it has none."""
        digits = f"{code:0{self.bits}b}".rstrip("0")
        symbols = {word: symbol for symbol, word in self.words.items()}
        text, word = [], ""
        for digit in digits.ljust(self.bits, "0"):
            word += digit
            if word in symbols:
                text.append(symbols[word])
                word = ""
        joined = "".join(text)
        if not self.is_utf8:
            return joined
        try:
            read = joined.encode("latin-1").decode()
        except UnicodeDecodeError:
            return None
        broken = any(map(_breaks_a_text, read)) or unicodedata.normalize("NFC", read) != read
        return None if broken else read

    def as_json(self) -> str | dict[str, str]:
        """Return the alphabet as plain values."""
        return self.alphabet
