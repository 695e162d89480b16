"""Histogram by Hadamard codewords: a message fits the user's category, and few others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.recipes import Steps, whole_hex
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import BITS, TOTAL, BitSource
from mechdesign.families.shuffle.client import bits, part
from mechdesign.families.shuffle.count_limits import CountLimits, two_kinds
from mechdesign.families.shuffle.dummies import MOST_TRIALS, Dummies
from mechdesign.families.shuffle.estimates import HistogramEstimate
from mechdesign.families.shuffle.fair_coins import blanket_divergence
from mechdesign.families.shuffle.noise import Allowed, Messages, fewest_dummies, too_few
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.tasks import Array, HistogramProtocol

MOST_CODEWORDS = 1 << 13
"""Of more categories the table of codewords would not fit into memory."""

MOST_ENTRIES = 40
RANKED = 1 << 13
"""Messages whose entries are brought into echelon form at a time."""

ROWS = 1 << 11
"""Messages that are compared with all codewords at a time."""


@frozen_value()
class Codewords(Dummies):
    """Random entries of the category's codeword, and ``trials`` times any entries with dummy / 2**62.

    The codeword of category j are the columns c of the Hadamard matrix with an even number of common binary
    digits of c and j + 1: half of all columns, and a quarter in common with any other codeword.
    """

    entries: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        require_codewords(self.size)
        self.check("entries", 1, MOST_ENTRIES)
        super().__attrs_post_init__()

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise with log2(users) entries, or the most entries that the messages allow.

        Each entry fewer halves the dummies, and doubles the error that the users' own messages make.
        """
        require_codewords(size)
        most = allowed.most(MOST_TRIALS)
        for entries in range(min(MOST_ENTRIES, (promise.users - 1).bit_length()), 0, -1):
            noise = fewest_dummies(partial(cls, promise, size, entries=entries), most)
            if noise is not None:
                return noise
        too_few(promise, most, MOST_TRIALS, lambda other: cls(other, size, most, TOTAL, 1).holds)

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return 36 ln(1/delta) / epsilon^2 dummies of each user and log2(users) entries."""
        require_codewords(size)
        trials = math.ceil(
            36.0 * math.log(1.0 / promise.delta) / promise.epsilon**2 * promise.users / promise.honest_users
        )
        most = MOST_TRIALS if allowed.max_messages is None else min(MOST_TRIALS, allowed.max_messages - 1)
        if trials > most:
            raise OutOfReachError(f"its theorem requires {trials + 1} messages per user", remedy="allow them")
        return cls(promise, size, trials, TOTAL, min(MOST_ENTRIES, (promise.users - 1).bit_length()))

    def parameters(self) -> dict[str, Any]:
        """Return the entries of a message, the number of trials and the weight of a dummy."""
        return {"entries": self.entries, "trials": self.trials, "dummy": self.dummy}

    @property
    def length(self) -> int:
        """The columns of the Hadamard matrix."""
        return 2 << (self.size - 1).bit_length()

    @property
    def digits(self) -> int:
        """The binary digits of a column's number."""
        return self.length.bit_length() - 1

    @property
    def packed(self) -> int:
        """Number of entries in one number."""
        return BITS // self.digits

    @property
    def numbers(self) -> int:
        """The numbers of a message."""
        return -(-self.entries // self.packed)

    @property
    def fit(self) -> Fraction:
        """The probability that a message of another category, or a dummy, fits a category."""
        return Fraction(1, 1 << self.entries)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for messages that fit just one of two categories; the others are told."""
        alone = self.fit - self.fit**2  # two codewords have a quarter of the columns in common
        trials = self.promise.honest_users * self.trials
        chance, own = 2 * alone * self.chance, 1 - self.fit
        return blanket_divergence(trials, chance, own, Fraction(0), self.promise.epsilon)

    proof = "one message among the honest users' dummies that fit one of two categories"

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Each entry is a column of the Hadamard matrix; several stand in one number."""
        rest = self.entries - self.packed * (self.numbers - 1)
        full = 1 << self.digits * self.packed
        return (full,) * (self.numbers - 1) + (1 << self.digits * rest,)

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        numbers = {"entries": self.entries, "digits": self.digits, "each": self.packed}
        widths = [(most - 1).bit_length() for most in self.alphabets]
        return [part("entries", **numbers, widths=widths, trials=self.trials, weight=whole_hex(self.dummy))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the user's messages, then the dummies."""
        count = int(bits(len(values) * self.trials, self.dummy, source).sum())
        messages = np.empty((len(values) + count, self.numbers), dtype=np.int64)
        for place, size in enumerate(self.alphabets):  # powers of two
            messages[:, place] = source.integers(len(messages)) & (size - 1)
        numbers = values + 1
        lowest = numbers & -numbers
        for place in range(self.entries):
            column, shift = place // self.packed, self.digits * (place % self.packed)
            odd = np.bitwise_count(self.entry(messages[: len(values)], place) & numbers).astype(np.int64) & 1
            # one digit of j + 1 changed where it is odd: even again, and as likely as any codeword's entry
            messages[: len(values), column] ^= (odd * lowest) << shift
        return messages

    def entry(self, messages: Messages, place: int) -> NDArray[np.int64]:
        """Return an entry of each message: a column of the Hadamard matrix."""
        column, shift = place // self.packed, self.digits * (place % self.packed)
        entry: NDArray[np.int64] = (messages[:, column] >> shift) & (self.length - 1)
        return entry


class PRHR(HistogramProtocol):
    """Every user sends random entries of the category's codeword, and ``trials`` times perhaps any entries.

    The codeword of category j are the columns c of the Hadamard matrix with an even number of common binary
    digits of c and j + 1: half of all columns, and a quarter in common with any other codeword.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Pagh, Velingker (2021), private-coin protocol.

    Examples
    --------
    >>> protocol = PRHR.calibrated(Promise(10_000, 1.0, 1e-6), 100)
    >>> protocol.noise.entries, round(protocol.mean_messages, 1), round(protocol.rmse, 2)
    (14, 70.9, 6.58)
    """

    type: ClassVar[str] = "prhr"
    _one_each: ClassVar[bool] = False
    noise: Codewords
    _hiding = Codewords

    @property
    def columns(self) -> tuple[str, ...]:
        """The numbers with the entries."""
        return tuple(f"entries_{place}" for place in range(self.noise.numbers))

    def variance_of(self, count: Array) -> Array:
        """Return the variance of a category that ``count`` users hold."""
        fit = float(self.noise.fit)
        messages = self.promise.users * self.mean_messages - count
        result: Array = messages * fit / (1.0 - fit)
        return result

    @cached_property
    def _codewords(self) -> NDArray[np.uint64]:
        """For each column the set of categories whose codeword holds it, as bits."""
        size = self.labels.size
        numbers = np.arange(1, size + 1, dtype=np.int64)
        words = -(-size // 64)
        table = np.zeros((self.noise.length, words), dtype=np.uint64)
        for column in range(self.noise.length):
            padded = np.zeros(words * 64, dtype=np.uint8)
            padded[:size] = 1 - (np.bitwise_count(column & numbers) & 1)
            table[column] = np.packbits(padded, bitorder="little").view(np.uint64)
        return table

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of messages that each category fits; messages that fit none are dropped."""
        if self.noise.entries > self.noise.digits:
            messages = self._deficient(messages)
        return self._fitting(messages)

    def _deficient(self, messages: Messages) -> Messages:
        """Return the messages whose entries do not span all vectors: the others fit no category."""
        batches = [messages[:0]]
        for start in range(0, len(messages), RANKED):
            part = messages[start : start + RANKED]
            columns = np.ascontiguousarray(part.T).T
            entries = [self.noise.entry(columns, place) for place in range(self.noise.entries)]
            batches.append(part[~spans_all(entries, self.noise.digits)])
        return np.concatenate(batches)

    def _fitting(self, messages: Messages) -> NDArray[np.int64]:
        table, total = self._codewords, np.zeros(self.labels.size, dtype=np.int64)
        for start in range(0, len(messages), ROWS):
            part = messages[start : start + ROWS]
            fits = table[self.noise.entry(part, 0)]
            for place in range(1, self.noise.entries):
                fits &= table[self.noise.entry(part, place)]
                if place % 3 == 2 and place >= table.shape[1].bit_length() + 3:
                    alive = fits.any(axis=1)
                    part, fits = part[alive], fits[alive]
            cells = np.unpackbits(np.ascontiguousarray(fits).view(np.uint8), axis=1, bitorder="little")
            total += cells[:, : self.labels.size].sum(axis=0, dtype=np.int64)
        return total

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts, given how many messages there are; the intervals are exact."""
        fit = float(self.noise.fit)
        value = ((sums - messages * fit) / (1.0 - fit)).astype(np.float64)
        held = np.clip(value, 0.0, float(self.promise.users))
        errors = np.sqrt((messages - held) * fit / (1.0 - fit))
        limits = CountLimits(sums, value, self.promise.users, two_kinds(messages, 1, self.noise.fit))
        return self.counts(value, messages, limits, errors, self._message_notes(messages))


def spans_all(entries: Sequence[NDArray[np.int64]], digits: int) -> NDArray[np.bool_]:
    """Return the messages whose entries span all binary vectors of ``digits`` digits.

    Such a message fits no category: its number would be orthogonal to everything. Gaussian elimination, one
    entry after the other, of many messages at a time.

    Parameters
    ----------
    entries : sequence of (n,) int array
        Each below 2**digits, digits up to 16.
    digits : int

    Examples
    --------
    >>> spans_all([np.array([1, 1, 0]), np.array([3, 1, 2]), np.array([2, 0, 1])], 2)
    array([ True, False,  True])
    """
    rank = np.zeros(len(entries[0]), dtype=np.uint8)
    rows: list[tuple[NDArray[np.uint16], NDArray[np.uint16]]] = []
    for entry in entries:
        rest = entry.astype(np.uint16)
        part = np.empty_like(rest)
        for pivot, multiple in rows:  # the row is multiple * pivot: taken off where the pivot's digit is 1
            np.bitwise_and(rest, pivot, out=part)
            np.multiply(part, multiple, out=part)
            np.bitwise_xor(rest, part, out=rest)
        pivot = rest & (~rest + np.uint16(1))  # its lowest digit
        rank += pivot > 0
        rows.append((pivot, rest // np.maximum(pivot, 1)))
    full: NDArray[np.bool_] = rank == digits
    return full


def require_codewords(categories: int) -> None:
    """Raise OutOfReachError for more categories than the table of codewords may have."""
    if categories > MOST_CODEWORDS:
        raise OutOfReachError(
            f"it is for at most {MOST_CODEWORDS} categories", remedy="take another protocol"
        )
