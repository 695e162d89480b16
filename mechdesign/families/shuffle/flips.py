"""Flips: bits that are flipped now and then; one of a count, unary ones of a sum, vectors of a histogram.

Indicator vectors are shuffled bit by bit, or whole, with some of nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass, binomial_mass
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.errors import counted
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource, exp_lower, float_up, log_ratio
from mechdesign.families.shuffle.count_limits import Group, TwoKinds, two_kinds
from mechdesign.families.shuffle.divergence import mixture, pair_divergence
from mechdesign.families.shuffle.fair_coins import blanket_divergence, group_divergence, rows_divergence
from mechdesign.families.shuffle.kary_divergence import BinaryDivergence
from mechdesign.families.shuffle.noise import (
    LEAP,
    Allowed,
    Digit,
    Messages,
    Noise,
    chance,
    flags,
    flips_part,
    least_weight,
    least_within,
    part,
    require_sent,
)
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, remedy
from mechdesign.families.shuffle.tasks import CountProtocol, HistogramEstimate, HistogramProtocol, SumProtocol

MOST_FLIP = TOTAL // 2 - (1 << 20)
"""Above this a bit says next to nothing, and the estimate would lose its digits."""

MOST_BITS = 1 << 10
"""More bits of a number are refused."""

FINEST = 128
"""No more bits are tried when the precision is left open."""


@frozen_value()
class Flips(Noise):
    """Bits, each flipped with the probability flip / 2**62, from 1 to just below 2**61."""

    flip: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check_weight("flip", 1, MOST_FLIP)

    @property
    def chance(self) -> Fraction:
        """The probability of a flip."""
        return chance(self.flip)

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users, 1 - self.chance, self.chance)


@frozen_value()
class BitFlips(Flips):
    """One bit of each user."""

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        least = least_flip_weight(allowed.local_cap)
        return least_weight(partial(cls, promise, size), least, MOST_FLIP, 2, "bits")

    @cached_property
    def least_delta(self) -> float:
        """The better of two bounds: over all data of the others in ranges, and among fair coins."""
        if not self._among_coins:
            return 0.0
        return min(self._among_coins, self._over_all(self.promise.epsilon))

    @cached_property
    def _among_coins(self) -> float:
        q, others = self.chance, self.promise.honest_users - 1
        return blanket_divergence(others, 2 * q, 1 - q, q, self.promise.epsilon)

    @cached_property
    def _over_all(self) -> BinaryDivergence:
        return BinaryDivergence(self.promise.honest_users, self.local_epsilon, self.promise.delta)

    @property
    def quick_delta(self) -> float:
        """The better of the two, over the data next to their ends alone."""
        return min(self._among_coins, self._over_all.at_ends(self.promise.epsilon))

    @property
    def telling_delta(self) -> float:
        """The first of the two that is small enough, in the order of the time that they take."""
        if self._among_coins <= self.promise.delta:
            return self._among_coins
        return min(self._among_coins, self._over_all.until(self.promise.epsilon, self.promise.delta))

    proof = "binary responses over all data of the others"

    @property
    def local_epsilon(self) -> float:
        return float_up(log_ratio(TOTAL - self.flip, self.flip))

    def client_parts(self) -> list[Steps]:
        return [flips_part(1, "below", False, self.flip)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        return (values ^ flags(len(values), self.flip, source)).reshape(-1, 1)


class CntRR(CountProtocol):
    """Every user sends one bit, flipped with the probability flip / 2**62.

    Notes
    -----
    Source: Cheu, Smith, Ullman, Zeber, Zhilyaev (2019).

    Examples
    --------
    >>> protocol = CntRR.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> round(protocol.rmse, 1), round(CntRR.published(Promise(1_000_000, 0.9, 1e-6)).rmse, 1)
    (6.3, 24.5)
    """

    type: ClassVar[str] = "cnt-rr"
    noise: BitFlips
    _hiding = BitFlips


@frozen_value()
class UnaryFlips(Flips):
    """As many bits of each user as there are steps, as many ones as the number has."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.size - 1 > MOST_BITS:
            raise OutOfReachError(f"it is for at most {MOST_BITS} steps", remedy="give a smaller precision")

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise; with size 0 of about epsilon sqrt(n) / 10 steps."""
        steps = size - 1
        if not size:
            steps = max(1, min(FINEST, round(promise.epsilon * math.sqrt(promise.users) / 10.0)))
            steps = min(steps, allowed.max_messages or steps)
        return least_weight(partial(cls, promise, steps + 1), 1, MOST_FLIP, 2, digits=7)

    @cached_property
    def least_delta(self) -> float:
        """The divergence of all ones and all zeros of a user, among the coins of the others' bits."""
        trials = (self.promise.honest_users - 1) * self.most_messages
        return group_divergence(trials, self.chance, self.most_messages, self.promise.epsilon)

    proof = "all of a user's bits among fair coins; 1 and 0 are the worst pair of values"

    @property
    def sum_digits(self) -> Sequence[Digit]:
        steps, q = self.size - 1, self.chance
        flips = Group.bits(self.promise.users * steps, q).cumulants()[1:]
        return (Digit(steps, steps * q, 1 - 2 * q, 1, flips),)

    @property
    def rmse(self) -> float:
        """The flips' standard deviation, and rounding halfway between two steps."""
        q, steps = float(self.chance), self.size - 1
        flips = q * (1.0 - q) / (steps * (1.0 - 2.0 * q) ** 2)
        return math.sqrt(self.promise.users * (flips + 1.0 / (4.0 * steps * steps)))

    @property
    def most_messages(self) -> int:
        return self.size - 1

    @property
    def alphabets(self) -> tuple[int, ...]:
        return (2,)

    def client_parts(self) -> list[Steps]:
        return [flips_part(self.size - 1, "below", False, self.flip)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        bits = np.arange(self.size - 1) < values[:, None]
        flipped = bits.ravel() ^ flags(bits.size, self.flip, source).astype(np.bool_)
        return flipped.astype(np.int64).reshape(-1, 1)


class RSumRR(SumProtocol):
    """Every user sends one bit a step, as many ones as steps, each flipped with the probability flip / 2**62.

    Notes
    -----
    Source: Cheu, Smith, Ullman, Zeber, Zhilyaev (2019). The paper splits epsilon among the bits; the
    certificate takes all of a user's bits together.

    Examples
    --------
    >>> protocol = RSumRR.calibrated(Promise(100_000, 0.9, 1e-6), 20)
    >>> round(protocol.rmse, 1), protocol.most_messages
    (10.3, 20)
    """

    type: ClassVar[str] = "rsum-rr"
    noise: UnaryFlips
    _hiding = UnaryFlips


def least_flip_weight(local_cap: float | None) -> int:
    """Return the least weight of a flip that is private by itself at this epsilon; 1 without one.

    Examples
    --------
    >>> least_flip_weight(math.log(3.0)) / TOTAL
    0.25
    """
    return 1 if local_cap is None else max(1, math.ceil(TOTAL / (exp_lower(local_cap) + 1)))


WORD = 32
"""Bits of a vector in each column of a message."""

MOST_FAKES = 1 << 10
MOST_CELLS = 1 << 13
"""Larger vectors are refused: every user sends several of them whole."""

PART = 1 << 22
"""Bits that are drawn or counted at a time."""


@frozen_value()
class VectorFlips(Flips):
    """The indicator vector of the category, a message for each bit: two values differ in two of them."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        require_sent(self.promise.users * self.size)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        require_own_messages(size, allowed)
        return least_weight(partial(cls, promise, size), 1, MOST_FLIP, 2, "bits")

    @cached_property
    def least_delta(self) -> float:
        """The divergence of two bits among the coins of the other honest users' bits; 0 if locally private.

        A flipped bit is a fair coin with twice the chance; whose bits are not coins, and the own bits before
        they are flipped, may be known.
        """
        odds = Fraction(TOTAL - self.flip, self.flip)
        if odds**2 <= exp_lower(self.promise.epsilon):
            return 0.0
        others = self.promise.honest_users - 1
        return rows_divergence(others, 2 * self.chance, 2, self.promise.epsilon, self.promise.delta)

    proof = "two bits, each among the coins of the other honest users' bits of its category"

    @property
    def local_epsilon(self) -> float:
        return float_up(2 * log_ratio(TOTAL - self.flip, self.flip))

    @property
    def most_messages(self) -> int:
        return self.size

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the category, and one more when the bit is 1."""
        return (2 * self.size,)

    def client_parts(self) -> list[Steps]:
        return [flips_part(self.size, "equal", True, self.flip)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        size, parts = self.size, []
        rows, names = max(1, PART // size), 2 * np.arange(size, dtype=np.int64)
        for start in range(0, len(values), rows):
            part = values[start : start + rows]
            bits = flags(len(part) * size, self.flip, source).reshape(-1, size)
            bits[np.arange(len(part)), part] ^= 1
            parts.append((names + bits).reshape(-1, 1))
        return np.concatenate(parts)


class HistRR(HistogramProtocol):
    """Every user sends the indicator vector of the category bit by bit, each flipped: attribute fragments.

    A bit is that of :class:`CntRR`; each category has a shuffler of its own. Two values differ in two bits.
    Its sums are pairs, as every user has to send a bit of each category.

    Notes
    -----
    Source: Erlingsson, Feldman, Mironov, Raghunathan, Song, Talwar, Thakurta (2020), attribute fragmenting;
    the survey, section 4.2.

    Examples
    --------
    >>> protocol = HistRR.calibrated(Promise(100_000, 0.9, 1e-6), 20)
    >>> round(protocol.rmse, 1), round(HistRR.published(Promise(100_000, 0.9, 1e-6), 20).rmse, 1)
    (9.6, 52.1)
    """

    type: ClassVar[str] = "hist-rr"
    noise: VectorFlips
    _hiding = VectorFlips

    @property
    def _tally_size(self) -> int:
        return 2 * self.labels.size

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        pairs = sums.reshape(-1, 2)
        self._require_sent(pairs.sum(axis=1), 1, what="bit")
        estimate: HistogramEstimate = super()._estimate_of(pairs[:, 1], messages)
        return estimate


@frozen_value()
class FakeVectors(Flips):
    """The indicator vector of the category and ``fakes`` vectors of 0, each bit flipped."""

    fakes: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check("fakes", 1, MOST_FAKES)
        super().__attrs_post_init__()
        integer("categories", self.size, 2, MOST_CELLS)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return few fakes, a power of two or the most allowed, and about the least noise."""
        most = allowed.most(MOST_FAKES)
        require_vectors(size)
        quarter, fakes = TOTAL // 4, 1  # more flips lose more than they hide
        while fakes <= most:
            build = partial(cls, promise, size, fakes=fakes)
            flip = least_within(partial(_delta_of, build), promise.delta, 1, quarter, leap=LEAP)
            if flip is not None:
                return build(flip)
            fakes = min(2 * fakes, most) if fakes < most else most + 1
        way = remedy(promise, lambda other: cls(other, size, quarter, most).holds)
        raise OutOfReachError(
            f"{most} fakes of each of {promise.honest_users} users are too few",
            remedy=f"{way}{', or more messages' if most < MOST_FAKES else ''}",
        )

    def parameters(self) -> dict[str, Any]:
        return {"fakes": self.fakes, "flip": self.flip}

    @property
    def words(self) -> int:
        """The columns of a message."""
        return -(-self.size // WORD)

    @cached_property
    def least_delta(self) -> float:
        """The divergence of two counts of the fakes' ones, the own bits flipped and added.

        The fake vectors alone are the noise, so that it holds whatever the others hold.
        """
        q = self.chance
        law = binomial_mass(self.promise.honest_users * self.fakes, q)
        held, free = _with_bit(law, 1 - q), _with_bit(law, q)
        return pair_divergence((held, free), (free, held), self.promise.epsilon)

    proof = "two counts of the fakes' ones with the own bits added"

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users * (1 + self.fakes), 1 - self.chance, self.chance)

    @property
    def most_messages(self) -> int:
        return 1 + self.fakes

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Words of up to 32 bits, the first category in the lowest one."""
        rest = self.size - WORD * (self.words - 1)
        return (1 << WORD,) * (self.words - 1) + (1 << rest,)

    def client_parts(self) -> list[Steps]:
        shape = {"size": self.size, "vectors": 1 + self.fakes, "words": self.words}
        return [part("vectors", **shape, flip=whole_hex(self.flip))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        size, each = self.size, 1 + self.fakes
        rows, parts = max(1, PART // (size * each)), []
        for start in range(0, len(values), rows):
            part = values[start : start + rows]
            cells = flags(len(part) * each * size, self.flip, source).reshape(-1, size)
            cells[np.arange(len(part)) * each, part] ^= 1
            parts.append(self._packed(cells))
        return np.concatenate(parts)

    def _packed(self, cells: NDArray[np.uint8]) -> Messages:
        padded = np.zeros((len(cells), self.words * WORD), dtype=np.uint8)
        padded[:, : cells.shape[1]] = cells
        packed = np.packbits(padded, axis=1, bitorder="little")
        return packed.view("<u4").astype(np.int64)


class HistFlip(HistogramProtocol):
    """Every user sends the indicator vector of the category and ``fakes`` vectors of 0, each bit flipped.

    Its messages are whole vectors, of which the analyzer counts the bits.

    Notes
    -----
    Source: Cheu and Zhilyaev (2022). The fake vectors alone are the noise of the certificate, so that it
    holds whatever the others hold.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = HistFlip.calibrated(promise, 100)
    >>> protocol.noise.fakes, round(protocol.rmse, 1), round(HistFlip.published(promise, 100).rmse, 1)
    (1, 10.0, 33.6)
    """

    type: ClassVar[str] = "hist-flip"
    noise: FakeVectors
    _hiding = FakeVectors
    _one_each: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"word_{place}" for place in range(self.noise.words))

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        size, rows = self.labels.size, max(1, PART // (self.noise.words * WORD))
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, len(messages), rows):
            words = np.ascontiguousarray(messages[start : start + rows].astype("<u4"))
            cells = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :size]
            total += cells.sum(axis=0, dtype=np.int64)
        return total


def _delta_of(build: Callable[[int], Any], weight: int) -> float:
    return float(build(weight).least_delta)


def require_vectors(categories: int) -> None:
    """Raise OutOfReachError for more categories than vectors may have bits."""
    if categories > MOST_CELLS:
        raise OutOfReachError(f"it is for at most {MOST_CELLS} categories", remedy="take another protocol")


def _with_bit(law: Mass, chance: Fraction) -> Mass:
    return mixture([(1 - chance, law), (chance, law.shifted(1))])


def require_own_messages(size: int, allowed: Allowed) -> None:
    """Raise OutOfReachError where a message for each category is not allowed."""
    if allowed.max_messages is not None and allowed.max_messages < size:
        raise OutOfReachError(f"it needs {counted(size, 'message')} per user", remedy="allow as many")
