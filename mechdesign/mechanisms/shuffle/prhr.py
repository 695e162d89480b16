"""Histogram by Hadamard codewords: a message fits the own category, and few others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import blanket_divergence
from mechdesign.core.randomness import BITS, TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import CountLimits, Group, two_kinds
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import bits, checked_weight
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy

MOST_TRIALS = 1 << 12
MOST_CODEWORDS = 1 << 13
"""Of more categories the table of codewords would not fit into memory."""

MOST_ENTRIES = 40
RANKED = 1 << 13
"""Messages whose entries are brought into echelon form at a time."""

ROWS = 1 << 11
"""Messages that are compared with all codewords at a time."""


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
    >>> protocol.entries, round(protocol.mean_messages, 1), round(protocol.rmse, 2)
    (14, 70.9, 6.58)
    """

    type: ClassVar[str] = "prhr"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        entries: int,
        trials: int,
        dummy: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        integer("categories", categories, 2, MOST_CODEWORDS)
        self.entries = integer("entries", entries, 1, MOST_ENTRIES)
        self.trials = integer("trials", trials, 1, MOST_TRIALS)
        self.dummy = checked_weight("dummy", dummy, 1, TOTAL)
        self.length = 2 << (self.labels.size - 1).bit_length()
        self.digits = self.length.bit_length() - 1
        self.packed = BITS // self.digits  # entries in a column
        count = -(-self.entries // self.packed)
        self.columns = tuple(f"entries_{place}" for place in range(count))  # type: ignore[misc]

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with log2(users) entries, or the most entries that the messages allow.

        Each entry fewer halves the dummies, and doubles the error that the users' own messages make.
        """
        most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages - 1)
        require_codewords(categories)
        if most < 1:
            raise OutOfReachError("it needs 2 messages a user; allow as many")

        for entries in range(min(MOST_ENTRIES, (promise.users - 1).bit_length()), 0, -1):
            found = cls._with_entries(promise, categories, entries, most, labels)
            if found is not None:
                return found
        made = partial(cls, calibration="exact", categories=categories, labels=labels)
        way = remedy(promise, lambda other: made(other, entries=1, trials=most, dummy=TOTAL).holds)
        raise OutOfReachError(
            f"dummies are too few, {most} of each of {promise.honest_users} users; {way}, or more messages"
        )

    @classmethod
    def _with_entries(
        cls, promise: Promise, categories: int, entries: int, most: int, labels: Sequence[str] | None
    ) -> Self | None:
        made = partial(cls, promise, "exact", categories, labels, entries=entries)
        trials = least_passing(lambda count: made(trials=count, dummy=TOTAL).holds, 1, most, 40)
        if trials is None:
            return None
        dummy = least_passing(lambda weight: made(trials=trials, dummy=weight).holds, 1, TOTAL)
        assert dummy is not None  # the largest weight passed above
        return made(trials=trials, dummy=dummy)

    @classmethod
    def published(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with 36 ln(1/delta) / epsilon^2 dummies of each user and log2(users) entries."""
        require_codewords(categories)
        trials = math.ceil(
            36.0 * math.log(1.0 / promise.delta) / promise.epsilon**2 * promise.users / promise.honest_users
        )
        most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages - 1)
        if trials > most:
            raise OutOfReachError(f"its theorem wants {trials + 1} messages a user; allow them")
        entries = min(MOST_ENTRIES, (promise.users - 1).bit_length())
        return cls(promise, "published", categories, labels, entries=entries, trials=trials, dummy=TOTAL)

    def parameters(self) -> dict[str, Any]:
        """Return the entries of a message, the number of trials and the weight of a dummy."""
        return {"entries": self.entries, "trials": self.trials, "dummy": self.dummy}

    @property
    def chance(self) -> Fraction:
        """The chance that a trial adds a dummy."""
        return Fraction(self.dummy, TOTAL)

    @property
    def _fit(self) -> Fraction:
        """The chance that a message of another category, or a dummy, fits a category."""
        return Fraction(1, 1 << self.entries)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for messages that fit just one of two categories; the others are told."""
        alone = self._fit - self._fit**2  # two codewords have a quarter of the columns in common
        trials = self.promise.honest_users * self.trials
        chance, own = 2 * alone * self.chance, 1 - self._fit
        return blanket_divergence(trials, chance, own, Fraction(0), self.promise.epsilon)

    proof = "one message among the honest users' dummies that fit one of two categories"

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of a category that so many users hold."""
        fit = float(self._fit)
        messages = self.promise.users * self.mean_messages - count
        result: NDArray[np.float64] = messages * fit / (1.0 - fit)
        return result

    @property
    def rmse(self) -> float:
        """The standard deviation of a category that nobody holds."""
        return math.sqrt(float(self.variance_of(np.zeros(1))[0]))

    @property
    def least_messages(self) -> int:
        """The own message."""
        return 1

    @property
    def most_messages(self) -> int:
        """The own message and all dummies."""
        return 1 + self.trials

    @property
    def mean_messages(self) -> float:
        """One and the expected number of dummies."""
        return 1.0 + self.trials * float(self.chance)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Each entry is a column of the Hadamard matrix; several stand in one number."""
        rest = self.entries - self.packed * (len(self.columns) - 1)
        full = 1 << self.digits * self.packed
        return (full,) * (len(self.columns) - 1) + (1 << self.digits * rest,)

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        """The dummies."""
        return (Group.bits(self.promise.users * self.trials, self.chance),)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the own messages, then the dummies."""
        count = int(bits(len(values) * self.trials, self.dummy, source).sum())
        messages = np.empty((len(values) + count, len(self.columns)), dtype=np.int64)
        for place, size in enumerate(self.alphabets):  # powers of two
            messages[:, place] = source.integers(len(messages)) & (size - 1)
        numbers = values + 1
        lowest = numbers & -numbers
        for place in range(self.entries):
            column, shift = place // self.packed, self.digits * (place % self.packed)
            odd = np.bitwise_count(self._entry(messages[: len(values)], place) & numbers).astype(np.int64) & 1
            # one digit of j + 1 changed where it is odd: even again, and as likely as any codeword's entry
            messages[: len(values), column] ^= (odd * lowest) << shift
        return messages

    def _entry(self, messages: Messages, place: int) -> NDArray[np.int64]:
        column, shift = place // self.packed, self.digits * (place % self.packed)
        entry: NDArray[np.int64] = (messages[:, column] >> shift) & (self.length - 1)
        return entry

    @cached_property
    def _codewords(self) -> NDArray[np.uint64]:
        """For each column the set of categories whose codeword holds it, as bits."""
        size = self.labels.size
        numbers = np.arange(1, size + 1, dtype=np.int64)
        words = -(-size // 64)
        table = np.zeros((self.length, words), dtype=np.uint64)
        for column in range(self.length):
            padded = np.zeros(words * 64, dtype=np.uint8)
            padded[:size] = 1 - (np.bitwise_count(column & numbers) & 1)
            table[column] = np.packbits(padded, bitorder="little").view(np.uint64)
        return table

    one_each: ClassVar[bool] = False

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many messages each category fits; messages that fit none are dropped on the way."""
        if self.entries > self.digits:
            messages = self._deficient(messages)
        return self._fitting(messages)

    def _deficient(self, messages: Messages) -> Messages:
        """Return the messages whose entries do not span all vectors: the others fit no category."""
        kept = [messages[:0]]
        for start in range(0, len(messages), RANKED):
            part = messages[start : start + RANKED]
            columns = np.ascontiguousarray(part.T).T
            entries = [self._entry(columns, place) for place in range(self.entries)]
            kept.append(part[~spans_all(entries, self.digits)])
        return np.concatenate(kept)

    def _fitting(self, messages: Messages) -> NDArray[np.int64]:
        table, total = self._codewords, np.zeros(self.labels.size, dtype=np.int64)
        for start in range(0, len(messages), ROWS):
            part = messages[start : start + ROWS]
            fits = table[self._entry(part, 0)]
            for place in range(1, self.entries):
                fits &= table[self._entry(part, place)]
                if place % 3 == 2 and place >= table.shape[1].bit_length() + 3:
                    alive = fits.any(axis=1)
                    part, fits = part[alive], fits[alive]
            cells = np.unpackbits(np.ascontiguousarray(fits).view(np.uint8), axis=1, bitorder="little")
            total += cells[:, : self.labels.size].sum(axis=0, dtype=np.int64)
        return total

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts, given how many messages there are; the intervals are exact."""
        fit = float(self._fit)
        value = ((sums - messages * fit) / (1.0 - fit)).astype(np.float64)
        held = np.clip(value, 0.0, float(self.promise.users))
        errors = np.sqrt((messages - held) * fit / (1.0 - fit))
        names = tuple(self.labels.shown())
        limits = CountLimits(sums, value, self.promise.users, two_kinds(messages, 1, self._fit))
        notes = self.message_notes(messages)
        return HistogramEstimate(value, errors, names, self.promise.users, messages, notes, limits)


def spans_all(entries: Sequence[NDArray[np.int64]], digits: int) -> NDArray[np.bool_]:
    """Return which messages have entries that span all binary vectors of so many digits.

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
        raise OutOfReachError(f"it is for at most {MOST_CODEWORDS} categories; take another protocol")
