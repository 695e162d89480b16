"""Histogram by a count-min sketch: public hash functions, a row of counters each, the least one counts.

Histogram by Hadamard codewords: a message fits the user's category, and few others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import plain_int, prime_from
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, SystemSource
from mechdesign.families.shuffle.count_limits import NoiseLimits, TwoKinds, two_kinds
from mechdesign.families.shuffle.dummies import MOST_TRIALS, CounterRows, Dummies, RowsProtocol
from mechdesign.families.shuffle.fair_coins import blanket_divergence
from mechdesign.families.shuffle.noise import Allowed, Messages, bits, fewest_dummies, part, too_few
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.tasks import Array, HistogramEstimate, HistogramProtocol
from mechdesign.primitives.hashing import AffineFamily, collision

MOST_ROWS = 64
MOST_SEED = 1 << 62
MOST_BUCKETS = 1 << 24
"""More counters of a row are refused."""


@frozen_value()
class SketchRows(CounterRows):
    """The own bucket of each of ``hashes`` public hash functions, which follow from ``seed``."""

    hashes: int = value_field(plain_int)
    buckets: int = value_field(plain_int)
    seed: int = value_field(plain_int, default=0)

    def __attrs_post_init__(self) -> None:
        self.check("hashes", 1, MOST_ROWS)
        integer("categories", self.size, 2, MOST_BUCKETS)
        self.check("buckets", 2, min(prime_from(self.size), MOST_BUCKETS))
        self.check("seed", 0, MOST_SEED)
        super().__attrs_post_init__()

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.buckets,) * self.hashes

    @cached_property
    def family(self) -> AffineFamily:
        """The hash functions."""
        return AffineFamily(prime_from(self.size), self.buckets)

    @cached_property
    def functions(self) -> list[int]:
        """The number of each row's function."""
        return [public_seed(self.seed, row, self.family.seeds) for row in range(self.hashes)]

    @property
    def collision(self) -> float:
        """The probability that two categories share a bucket."""
        return float(collision(self.family.prime, self.buckets))

    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        return self.family.buckets_of(np.array(self.functions[row], dtype=np.int64), values)

    def own_of(self, row: int) -> Steps:
        shape = {"prime": self.family.prime, "buckets": self.buckets}
        return {"seed": int(self.functions[row]), **shape}

    @classmethod
    def shaped(cls, promise: Promise, size: int, trials: int, cell: int) -> Self:
        """Return the noise with the paper's rows, and its buckets where fewer never collide."""
        rows = max(1, math.ceil(math.log(2.0 * size)))
        buckets = min(prime_from(size), 2 * promise.users, MOST_BUCKETS)
        return cls(promise, size, trials, cell, rows, buckets)

    def parameters(self) -> dict[str, Any]:
        shape = {"hashes": self.hashes, "buckets": self.buckets, "seed": self.seed}
        return {**shape, "trials": self.trials, "cell": self.cell}


class PUCM(RowsProtocol):
    """Every user sends one bucket for each of some public hash functions, and uniform dummies for each.

    A category is counted by the least of its buckets, less what the least of as many noises is on average.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
    labels : sequence of str, optional
    hashes, buckets : int
        Rows and the cells of each; as many buckets as the prime next to the categories collide never.
    seed : int, optional
        Of the public hash functions; drawn by the system where none is given, and kept in the file. The error
        that is stated is that over their draw: users' categories must not depend on it.
    trials, cell : int
        As in :class:`CounterRows`.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Pagh, Velingker (2021), public-coin protocol.

    Examples
    --------
    >>> protocol = PUCM.calibrated(Promise(100_000, 1.0, 1e-6), 1024)
    >>> protocol.noise.rows, protocol.noise.buckets, round(protocol.rmse, 1), round(protocol.mean_messages, 1)
    (8, 1031, 10.1, 32.0)
    """

    type: ClassVar[str] = "pucm"
    public_seeds: ClassVar[tuple[str, ...]] = ("seed",)

    noise: SketchRows
    _hiding = SketchRows

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        seed: int | None = None,
        **noise: Any,
    ) -> None:
        public = int(SystemSource().integers(1)[0]) if seed is None else seed
        super().__init__(promise, calibration, categories, labels, seed=public, **noise)

    @cached_property
    def _least(self) -> tuple[float, float]:
        return minimum_moments(self.noise.law, self.noise.rows)

    @cached_property
    def _square(self) -> float:
        """A bound of the mean squared error over the public hash functions, for all data."""
        mean, variance = self._least
        chance = self.noise.collision
        if chance == 0.0:
            return variance
        return variance + upper_square(self.noise.law, self.noise.rows, mean, self.promise.users * chance)

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full(len(count), self._square)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of any category; a bound of it where buckets collide."""
        return math.sqrt(self._square)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the least counter of each category, less what the least noise is on average."""
        self._require_rows(sums)
        numbers = np.arange(self.labels.size, dtype=np.int64)
        least = np.min(
            [
                sums[start + self.noise.own_cell(numbers, row)]
                for row, start in enumerate(self.noise.starts.tolist())
            ],
            axis=0,
        )
        value, chance = least - self._least[0], self.noise.collision
        noise = LeastOfRows(self.noise.law, self.noise.rows, self.promise.users, self.promise.users * chance)
        limits = NoiseLimits(noise, np.full(len(value), self._least[0]))
        return self.counts(value, messages, limits, notes=self._message_notes(messages))


def public_seed(seed: int, row: int, functions: int) -> int:
    """Return the number of a row's hash function: from a public seed, with no influence of anybody's data.

    Examples
    --------
    >>> 0 <= public_seed(0, 3, 1000) < 1000
    True
    """
    digest = hashlib.sha256(f"count-min {seed} {row}".encode()).digest()
    return int.from_bytes(digest) % functions


def minimum_moments(law: Mass, rows: int) -> tuple[float, float]:
    """Return mean and variance of the least of ``rows`` independent variables of a law.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.audit.mass import binomial_mass
    >>> minimum_moments(binomial_mass(1, Fraction(1, 2)), 2)
    (0.25, 0.1875)
    """
    tails = np.cumsum(law.mass[::-1])[::-1] ** rows
    mass = tails - np.append(tails[1:], 0.0)
    numbers = law.low + np.arange(len(mass), dtype=np.float64)
    mean = float((mass * numbers).sum()) / float(mass.sum())
    return mean, float((mass * (numbers - mean) ** 2).sum())


@dataclass(frozen=True, eq=False)
class LeastOfRows:
    """The least of some rows' dummies and colliding users, over the draw of the public functions.

    A row is at least its dummies. By Markov's inequality more than u users collide in it with at most the
    chance collisions / (u + 1), whoever they are, so that it reaches x with at most the chance
    Pr[dummies >= x - u] + collisions / (u + 1), for every u >= 0.

    Parameters
    ----------
    law : Mass
        Of the dummies of a cell.
    rows, users : int
    collisions : float
        How many users collide with a category in a row on average, at most.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.audit.mass import binomial_mass
    >>> noise = binomial_mass(100, Fraction(1, 2))
    >>> LeastOfRows(noise, 1, 100, 0.0).quantiles(0.025), LeastOfRows(noise, 4, 100, 0.5).quantiles(0.025)
    ((40, 60), (38, 56))
    """

    law: Mass
    rows: int
    users: int
    collisions: float

    def quantiles(self, tail: float) -> tuple[int, int]:
        """Return the smallest number not in the lower tail and the largest that may be in the upper one."""
        above = np.minimum(np.append(np.cumsum(self.law.mass[::-1])[::-1], 0.0), 1.0)
        below = 1.0 - above[1:] ** self.rows
        bottom = self.law.low + int(np.argmax(below > tail))
        low, high = bottom, self.law.low + len(self.law.mass) + self.users
        while low < high:  # the largest that is not rejected
            middle = (low + high + 1) // 2
            if self._reaches(middle, above) ** self.rows > tail:
                low = middle
            else:
                high = middle - 1
        return bottom, low

    def _reaches(self, number: int, above: Array) -> float:
        """Return a bound of the probability that a row is at least a number."""
        most = min(self.users, number - self.law.low)
        if most < 0:
            return 1.0
        users = np.arange(max(0, number - self.law.low - len(self.law.mass)), most + 1)
        noise = above[np.maximum(number - users - self.law.low, 0)]
        collided = np.minimum(1.0, self.collisions / (users + 1.0))
        return min(1.0, float((noise + np.where(users < self.users, collided, 0.0)).min()))


def upper_square(law: Mass, rows: int, centre: float, collisions: float) -> float:
    """Return a bound of E (X - centre)_+^2, X the least of rows of dummies and of users who collide.

    In each row ``collisions`` users collide on average, for all data: by Markov's inequality at most with the
    chance collisions / u there are u of them or more, so that a row exceeds x with at most the chance
    Pr[dummies > x - u] + collisions / u, for the best u of a few; rows are independent.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.audit.mass import binomial_mass
    >>> noise = binomial_mass(100, Fraction(1, 2))
    >>> 0.0 < upper_square(noise, 4, 50.0, 0.01) < 25.0
    True
    """
    deviation = math.sqrt(float((law.mass * (law.low + np.arange(len(law.mass)) - centre) ** 2).sum())) + 1.0
    tails = np.append(np.cumsum(law.mass[::-1])[::-1], 0.0)
    grid = centre + deviation * np.concatenate([np.linspace(0.0, 12.0, 481), 12.0 * 1.25 ** np.arange(1, 80)])
    exceeds = np.ones(len(grid))
    for share in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95):
        moved = share * (grid - centre) + 0.5
        places = np.clip(np.floor(grid - moved).astype(np.int64) + 1 - law.low, 0, len(tails) - 1)
        exceeds = np.minimum(exceeds, tails[places] + collisions / moved)
    places = np.clip(np.floor(grid).astype(np.int64) + 1 - law.low, 0, len(tails) - 1)
    exceeds = np.minimum(exceeds, tails[places] + min(1.0, collisions))
    squares = np.diff((grid - centre) ** 2)
    return float((exceeds[:-1] ** rows * squares).sum())


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

    def parameters(self) -> dict[str, Any]:
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

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users + dummies, 1, self.fit)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Each entry is a column of the Hadamard matrix; several stand in one number."""
        rest = self.entries - self.packed * (self.numbers - 1)
        full = 1 << self.digits * self.packed
        return (full,) * (self.numbers - 1) + (1 << self.digits * rest,)

    def client_parts(self) -> list[Steps]:
        numbers = {"entries": self.entries, "digits": self.digits, "each": self.packed}
        widths = [(most - 1).bit_length() for most in self.alphabets]
        return [part("entries", **numbers, widths=widths, trials=self.trials, weight=whole_hex(self.dummy))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
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
    A message counts for all categories whose codeword holds its entries.

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
        return tuple(f"entries_{place}" for place in range(self.noise.numbers))

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
