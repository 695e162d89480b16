"""Indicator vectors of flipped bits: each bit shuffled by itself, or vectors whole, with some of nobody."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass, binomial_mass, mixture, pair_divergence
from mechdesign.collect.recipes import Steps, whole_hex
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.exact.exponential import exp_lower, float_up, log_ratio
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.client import flags, flips_part, part
from mechdesign.families.shuffle.count_limits import CountLimits, two_kinds
from mechdesign.families.shuffle.dummies import require_trials
from mechdesign.families.shuffle.estimates import HistogramEstimate
from mechdesign.families.shuffle.fair_coins import rows_divergence
from mechdesign.families.shuffle.flips import MOST_FLIP, BitFlips, Flips, require_sent
from mechdesign.families.shuffle.noise import Allowed, Messages, least_weight
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, least_within, remedy
from mechdesign.families.shuffle.tasks import Array, HistogramProtocol

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
        """Return about the least noise whose divergence is proven to be small enough."""
        _require_messages(size, allowed)
        return least_weight(partial(cls, promise, size), 1, MOST_FLIP, 2, "bits")

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise by the constants of ``cnt-rr``, half of epsilon and delta for each of two bits."""
        _require_messages(size, allowed)
        try:
            half = changed(promise, epsilon=promise.epsilon / 2.0, delta=promise.delta / 2.0)
        except ParameterError as error:
            raise OutOfReachError(
                f"half of epsilon or delta is too small ({error})", remedy="give a larger one"
            ) from None
        return cls(promise, size, BitFlips.printed(half, 2, Allowed()).flip)

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
        """The epsilon of a user's bits before they are shuffled: two of them differ."""
        return float_up(2 * log_ratio(TOTAL - self.flip, self.flip))

    @property
    def most_messages(self) -> int:
        """A bit for each category."""
        return self.size

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the category, and one more when the bit is 1."""
        return (2 * self.size,)

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        return [flips_part(self.size, "equal", True, self.flip)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return each user's bits, flipped."""
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

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
    labels : sequence of str, optional
    flip : int
        Out of 2**62, the chance that a bit is flipped; from 1 to just below 2**61.

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
        """The zeros and the ones of each category."""
        return 2 * self.labels.size

    def variance_of(self, count: Array) -> Array:
        """Return the variance of the flips of a category, whoever holds it."""
        return np.full(len(count), self.noise.variance)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        users, chance = self.promise.users, self.noise.chance
        pairs, q = sums.reshape(-1, 2), float(chance)
        self._require_sent(pairs.sum(axis=1), 1, "bits")
        ones = pairs[:, 1]
        value = (ones - users * q) / (1.0 - 2.0 * q)
        law = two_kinds(users, 1 - chance, chance)
        return self.counts(value, messages, CountLimits(ones, value, users, law))


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
        _require_cells(size)
        quarter, fakes = TOTAL // 4, 1  # more flips lose more than they hide
        while fakes <= most:
            build = partial(cls, promise, size, fakes=fakes)
            flip = least_within(partial(_delta_of, build), promise.delta, 1, quarter)
            if flip is not None:
                return build(flip)
            fakes = min(2 * fakes, most) if fakes < most else most + 1
        way = remedy(promise, lambda other: cls(other, size, quarter, most).holds)
        raise OutOfReachError(
            f"{most} fakes of each of {promise.honest_users} users are too few",
            remedy=f"{way}{', or more messages' if most < MOST_FAKES else ''}",
        )

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise with the paper's k and q (1 - q)."""
        _require_cells(size)
        exponential = math.exp(promise.epsilon)
        noise = ((exponential + 1.0) / (exponential - 1.0)) ** 2 * math.log(4.0 / promise.delta)
        fakes = max(1, math.ceil(132.0 / (5.0 * promise.honest_users) * noise))
        require_trials(fakes, allowed, MOST_FAKES)
        product = 33.0 / (5.0 * promise.honest_users * fakes) * noise
        flip = (1.0 - math.sqrt(max(0.0, 1.0 - 4.0 * product))) / 2.0
        return cls(promise, size, min(MOST_FLIP, math.ceil(flip * TOTAL)), fakes)

    def parameters(self) -> dict[str, Any]:
        """Return the number of fakes and the weight of a flip."""
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

    @property
    def variance(self) -> float:
        """The variance of the flips of a category, whoever holds it."""
        q = float(self.chance)
        vectors = self.promise.users * (1 + self.fakes)
        return vectors * q * (1.0 - q) / (1.0 - 2.0 * q) ** 2

    @property
    def most_messages(self) -> int:
        """The own vector and the fakes."""
        return 1 + self.fakes

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Words of up to 32 bits, the first category in the lowest one."""
        rest = self.size - WORD * (self.words - 1)
        return (1 << WORD,) * (self.words - 1) + (1 << rest,)

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        shape = {"size": self.size, "vectors": 1 + self.fakes, "words": self.words}
        return [part("vectors", **shape, flip=whole_hex(self.flip))]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each user the own vector and the fakes, flipped."""
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
        """The words of a vector."""
        return tuple(f"word_{place}" for place in range(self.noise.words))

    def variance_of(self, count: Array) -> Array:
        """Return the variance of the flips of a category, whoever holds it."""
        return np.full(len(count), self.noise.variance)

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of vectors with each bit."""
        size, rows = self.labels.size, max(1, PART // (self.noise.words * WORD))
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, len(messages), rows):
            words = np.ascontiguousarray(messages[start : start + rows].astype("<u4"))
            cells = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :size]
            total += cells.sum(axis=0, dtype=np.int64)
        return total

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        chance = self.noise.chance
        q = float(chance)
        value = (sums - messages * q) / (1.0 - 2.0 * q)
        law = two_kinds(messages, 1 - chance, chance)
        return self.counts(value, messages, CountLimits(sums, value, self.promise.users, law))


def _delta_of(build: Any, flip: int) -> float:
    delta: float = build(flip).least_delta
    return delta


def _require_cells(categories: int) -> None:
    """Raise OutOfReachError for more categories than vectors may have bits."""
    if categories > MOST_CELLS:
        raise OutOfReachError(f"it is for at most {MOST_CELLS} categories", remedy="take another protocol")


def _with_bit(law: Mass, chance: Fraction) -> Mass:
    return mixture([(1 - chance, law), (chance, law.shifted(1))])


def _require_messages(size: int, allowed: Allowed) -> None:
    if allowed.max_messages is not None and allowed.max_messages < size:
        raise OutOfReachError(f"it needs {counted(size, 'message')} per user", remedy="allow as many")
