"""Fake vectors: flipped indicator vectors, the user's own and some of nobody, each one message."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass, binomial, mixture, pair_divergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import CountLimits, two_kinds
from mechdesign.mechanisms.shuffle.draws import flags
from mechdesign.mechanisms.shuffle.dummies import require_trials
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.flips import MOST_FLIP, Flips
from mechdesign.mechanisms.shuffle.noise import Allowed, Messages
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy
from mechdesign.mechanisms.shuffle.tasks import Array, HistogramProtocol

WORD = 32
"""Bits of a vector in each column of a message."""

MOST_FAKES = 1 << 10
MOST_CELLS = 1 << 13
"""Larger vectors are refused: every user sends several of them whole."""

PART = 1 << 22
"""Bits that are drawn or counted at a time."""


@dataclass(frozen=True)
class FakeVectors(Flips):
    """The indicator vector of the category and ``fakes`` vectors of 0, each bit flipped."""

    fakes: int

    def __post_init__(self) -> None:
        self.check("fakes", 1, MOST_FAKES)
        super().__post_init__()
        integer("categories", self.size, 2, MOST_CELLS)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return few fakes, a power of two or the most allowed, and about the least noise."""
        most = allowed.most(MOST_FAKES)
        require_cells(size)
        quarter, fakes = TOTAL // 4, 1  # more flips lose more than they hide
        while fakes <= most:
            made = partial(cls, promise, size, fakes=fakes)
            flip = least_passing(partial(_is_private, made), 1, quarter)
            if flip is not None:
                return made(flip)
            fakes = min(2 * fakes, most) if fakes < most else most + 1
        way = remedy(promise, lambda other: cls(other, size, quarter, most).holds)
        raise OutOfReachError(
            f"{most} fakes of each of {promise.honest_users} users are too few; {way}, or more messages"
        )

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise with the paper's k and q (1 - q)."""
        require_cells(size)
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
        law = binomial(self.promise.honest_users * self.fakes, q)
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
    hiding = FakeVectors
    one_each: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The words of a vector."""
        return tuple(f"word_{place}" for place in range(self.noise.words))

    def variance_of(self, count: Array) -> Array:
        """Return the variance of the flips of a category, whoever holds it."""
        return np.full(len(count), self.noise.variance)

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many vectors have each bit."""
        size, rows = self.labels.size, max(1, PART // (self.noise.words * WORD))
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, len(messages), rows):
            words = np.ascontiguousarray(messages[start : start + rows].astype("<u4"))
            cells = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :size]
            total += cells.sum(axis=0, dtype=np.int64)
        return total

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the unbiased counts; the intervals are exact."""
        chance = self.noise.chance
        q = float(chance)
        value = (sums - messages * q) / (1.0 - 2.0 * q)
        law = two_kinds(messages, 1 - chance, chance)
        return self.counts(value, messages, CountLimits(sums, value, self.promise.users, law))


def _is_private(made: Any, flip: int) -> bool:
    private: bool = made(flip).holds
    return private


def require_cells(categories: int) -> None:
    """Raise OutOfReachError for more categories than vectors may have bits."""
    if categories > MOST_CELLS:
        raise OutOfReachError(f"it is for at most {MOST_CELLS} categories; take another protocol")


def _with_bit(law: Mass, chance: Fraction) -> Mass:
    return mixture([(1 - chance, law), (chance, law.shifted(1))])
