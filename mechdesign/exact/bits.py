"""Bits of reports: sets of categories as packed bytes; loops over words of bits that numba can compile.

Category 0 is the highest bit of the first byte of a set. In a table a set is the text of an ``x`` and two
hexadecimal digits a byte: the letter keeps programs from taking it for a number.

A loop takes random numbers that were drawn before, in the same order and number as the arrays of numpy that
stand next to it, so that with it and without it every report is the same. ``MECHDESIGN_KERNELS`` decides:
``auto``, the default, compiles once numpy has worked for about as long as that takes, so that a short program
does not wait for a compiler; ``on`` compiles at once, ``off`` never. Numbers of 64 bits are kept apart from
signed ones: numba makes a float of a sum of both.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError, RowError
from mechdesign.exact.numbers import text_of

Packed = NDArray[np.uint8]

WORDS, BLOCK = 32, 1 << 18
"""Words of 64 bits of a row, at least, and of a block, when members are counted."""

DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
NO_DIGIT = 255
DIGIT_OF = np.full(256, NO_DIGIT, dtype=np.uint8)
DIGIT_OF[DIGITS] = np.arange(16)
DIGIT_OF[np.frombuffer(b"ABCDEF", dtype=np.uint8)] = np.arange(10, 16)


def width(categories: int) -> int:
    """Return the number of bytes of a set."""
    return (categories + 7) // 8


def padding(categories: int) -> int:
    """Return the bits of the last byte that stand for no category, as a mask."""
    return (1 << (8 * width(categories) - categories)) - 1


def member_counts(packed: Packed, categories: int) -> NDArray[np.int64]:
    """Return the number of sets that contain each category.

    Examples
    --------
    >>> member_counts(np.array([[0b10100000], [0b10000000]], dtype=np.uint8), 3)
    array([2, 0, 1])
    """
    bytes_each = packed.shape[1]
    together = 8 // math.gcd(bytes_each, 8)  # this many sets fill whole words
    together *= -(-8 * WORDS // (together * bytes_each))
    whole = len(packed) - len(packed) % together
    counts = np.unpackbits(packed[whole:], axis=1).sum(axis=0, dtype=np.int64)
    words = np.ascontiguousarray(packed[:whole]).reshape(-1, together * bytes_each).view(np.uint64)
    rows = max(1, BLOCK // max(1, words.shape[1]))
    for start in range(0, len(words), rows):
        for weight, plane in _planes(words[start : start + rows]):
            ones = np.unpackbits(plane.view(np.uint8)).reshape(together, 8 * bytes_each)
            counts += weight * ones.sum(axis=0, dtype=np.int64)
    result: NDArray[np.int64] = counts[:categories]
    return result


def unpacked_members(packed: Packed, categories: int, place: int | None = None) -> NDArray[np.bool_]:
    """Return which sets contain each category, (n, categories); with the number of one, (n, 1).

    Examples
    --------
    >>> sets = np.array([[0b10100000], [0b10000000]], dtype=np.uint8)
    >>> unpacked_members(sets, 3).astype(int).tolist(), unpacked_members(sets, 3, 2).ravel().tolist()
    ([[1, 0, 1], [1, 0, 0]], [True, False])
    """
    if place is None:
        return np.unpackbits(packed, axis=1, count=categories).view(np.bool_)
    result: NDArray[np.bool_] = (packed[:, [place >> 3]] & (128 >> (place & 7))) != 0
    return result


def _planes(words: NDArray[np.uint64]) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Add up the bits of each column; yield the digits of the sums, from the lowest, with their weights.

    Three numbers of one weight become one of that weight and a carry: a full adder for each bit.
    """
    level, weight = words, 1
    while len(level):
        carries = []
        while len(level) > 1:
            third = len(level) // 3
            if not third:
                first, second = level[:1], level[1:]
                carries.append(first & second)
                level = first ^ second
                break
            first, second, last = (level[part * third : (part + 1) * third] for part in range(3))
            odd = first ^ second
            carries.append((first & second) | (odd & last))
            odd ^= last
            rest = level[3 * third :]
            level = np.concatenate([odd, rest]) if len(rest) else odd
        yield weight, level
        level, weight = np.concatenate(carries) if carries else level[:0], 2 * weight


def as_texts(packed: Packed) -> NDArray[np.str_]:
    """Return the text of each set.

    Examples
    --------
    >>> as_texts(np.array([[0b10100000, 255]], dtype=np.uint8)).tolist()
    ['xa0ff']
    """
    rows, columns = packed.shape
    letters = np.empty((rows, 1 + 2 * columns), dtype=np.uint32)
    letters[:, 0] = ord("x")
    letters[:, 1::2] = DIGITS[packed >> 4]
    letters[:, 2::2] = DIGITS[packed & 15]
    return letters.view(f"<U{1 + 2 * columns}").ravel()


def read_sets(reports: Any, categories: int) -> Packed:
    """Return reports as packed bits: an (n, bytes) array of uint8 as it is, texts decoded.

    Raises
    ------
    DataError
        For anything else, or bits that stand for no category, naming the row.
    """
    raw = np.asarray(reports)
    if raw.dtype == np.uint8 and raw.ndim == 2:
        packed = raw
        if packed.shape[1] != width(categories):
            raise DataError(
                "reports",
                f"{packed.shape[1]} bytes each, {width(categories)} are expected for {categories} categories",
                "use the mechanism file the reports were made with",
            )
    else:
        packed = _decoded(raw, categories)
    if len(packed) and padding(categories):
        wrong = (packed[:, -1] & padding(categories)) > 0
        if wrong.any():
            row = int(np.argmax(wrong))
            raise RowError("reports", row, f"has a bit beyond the {categories} categories", "correct it")
    return packed


def _decoded(column: NDArray[Any], categories: int) -> Packed:
    if column.ndim != 1:
        raise DataError("reports", f"expected one column, got an array of {column.ndim} dimensions")
    length = 1 + 2 * width(categories)
    if not len(column):
        return np.zeros((0, width(categories)), dtype=np.uint8)
    listed = column.tolist()
    for row, text in enumerate(listed):
        if not isinstance(text, str) or len(text) != length or text[0] != "x" or not text.isascii():
            raise RowError(
                "reports",
                row,
                f"{text_of(text)} is not a report",
                f"expected 'x' and {length - 1} hex digits",
            )
    letters = np.array(listed, dtype=f"S{length}").view(np.uint8).reshape(len(listed), length)
    digits = DIGIT_OF[letters[:, 1:]]
    wrong = (digits == NO_DIGIT).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise RowError(
            "reports", row, f"{text_of(listed[row])} is not a report", "a letter is not a hex digit"
        )
    return (digits[:, 0::2] * 16 + digits[:, 1::2]).astype(np.uint8)


Codes = NDArray[np.int64]
Words = NDArray[np.uint64]


def settle_bits(draws: Words, undecided: Words, places: Codes, result: Words, digit: bool) -> int:
    """Compare a binary digit of each number with the limit's; return how many words have an open bit.

    ``places`` are those of the words on the list, empty for all words in order.
    """
    left = 0
    everywhere = len(places) == 0
    for number in range(len(draws)):
        before = undecided[number]
        if digit:
            place = number if everywhere else places[number]
            result[place] |= before & ~draws[number]
            after = before & draws[number]
        else:
            after = before & ~draws[number]
        undecided[number] = after
        if after:
            left += 1
    return left


def shortened(undecided: Words, places: Codes, still: Words, left: Codes) -> None:
    """Write the words that have an open bit, and their places, into two shorter arrays."""
    at = 0
    everywhere = len(places) == 0
    for number in range(len(undecided)):
        if undecided[number]:
            still[at] = undecided[number]
            left[at] = number if everywhere else places[number]
            at += 1


VARIABLE = "MECHDESIGN_KERNELS"
CHOICES = ("auto", "on", "off")

PATIENCE = 1_500_000_000
"""Nanoseconds of numpy's work before a compiler is worth its time."""

Loop = TypeVar("Loop", bound=Callable[..., Any])


class _Spent:
    """How long numpy has worked in this process, by rough estimates, on what could have been compiled."""

    nanoseconds = 0


def compiled(loop: Loop, work: int) -> Loop | None:
    """Return a loop compiled, or None where numpy is to do its work.

    Parameters
    ----------
    loop : callable
        A function over arrays, such as :func:`settle_bits`.
    work : int
        About how many nanoseconds numpy takes for what is to be done now.

    Raises
    ------
    ParameterError
        For another word in ``MECHDESIGN_KERNELS``.

    Examples
    --------
    >>> from mechdesign.exact.bits import settle_bits
    >>> compiled(settle_bits, work=1000) is None  # too little to start a compiler for
    True
    """
    named = os.environ.get(VARIABLE, "") or "auto"
    if named not in CHOICES:
        raise ParameterError(VARIABLE, f"expected {', '.join(CHOICES)}, got {text_of(named)}", "unset it")
    if named == "off":
        return None
    if named == "auto" and _Spent.nanoseconds < PATIENCE:
        _Spent.nanoseconds += work
        return None
    result: Loop | None = _machine_code(loop)
    return result


@cache
def _machine_code(loop: Any) -> Any:
    """Return a loop compiled by numba; None without it. What was compiled once is read from its cache."""
    try:
        import numba as module
    except ImportError:
        return None
    numba: Any = module
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # no folder for the cache can be written to
        return numba.njit(**options)(loop)
