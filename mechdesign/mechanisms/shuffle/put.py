"""PUT: a test of uniformity from counts with discrete Laplace noise, hidden by split-mix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.randomness import BitSource
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.promise import LEAST_DELTA, LEAST_EPSILON, OutOfReachError, Promise
from mechdesign.mechanisms.shuffle.secure_noise import SecureNoise
from mechdesign.mechanisms.shuffle.uniformity import ERROR
from mechdesign.mechanisms.shuffle.uniformity_bits import Array, UniformityBits, that_finds


class PUT(UniformityBits):
    """Every user adds part of discrete Laplace noise to the bit of each category, and splits it into shares.

    Two data sets that differ in a user differ in two counts; each is private with half of epsilon and delta.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact"}
    categories : int
    labels : sequence of str, optional
    ratio, depth, shares, modulus : int
        Of :class:`SecureNoise`, for half of epsilon and delta.
    error : float
        As in :class:`AUT`.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021), by way of the survey, section 4.4.3.

    Examples
    --------
    >>> protocol = PUT.calibrated(Promise(20_000, 1.0, 1e-6), 20)
    >>> round(protocol.rmse, 3), protocol.most_messages
    (0.061, 140)
    """

    type: ClassVar[str] = "put"
    halves = True
    columns: ClassVar[tuple[str, ...]] = ("category", "share")

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        ratio: int,
        depth: int,
        shares: int,
        modulus: int,
        error: float = ERROR,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        self.noise = SecureNoise(_half(promise), 1, promise.users, ratio, depth, shares, modulus)
        self.check_test(error)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
        error: float = ERROR,
    ) -> Self:
        """Return the one with the least noise and the fewest shares."""
        most = None if max_messages is None else max_messages // categories
        if most is not None and most < 1:
            raise OutOfReachError(f"it needs at least {categories} messages a user; allow as many")

        made: Callable[..., Self] = partial(
            cls, calibration="exact", categories=categories, labels=labels, error=error
        )

        def fitting(other: Promise) -> dict[str, int]:
            return SecureNoise.fitting(_half(other), 1, other.users, most).parameters()

        return that_finds(lambda other: made(other, **fitting(other)), promise)

    def parameters(self) -> dict[str, Any]:
        """Return the noise's ratio and depth, the shares and the modulus."""
        return self.noise.parameters()

    @property
    def least_delta(self) -> float:
        """What mixing and the tables cost for two counts; the noise itself is private with delta 0."""
        return min(1.0, 2.0 * self.noise.least_delta)

    @property
    def is_computed(self) -> bool:
        """Whether the distance of the shares is proven here; else the theorem of split-mix is believed."""
        return self.noise.is_proven

    @property
    def proof(self) -> str:
        """What the certificate rests on."""
        return f"two counts, each with half of epsilon: {self.noise.proof}"

    @cached_property
    def largest_noise(self) -> tuple[float, float]:
        """The same for all categories: Var n^2 = k4 + 2 k2^2, of the cumulants of two Polya variables."""
        a, shape = float(self.noise.alpha), self.noise.shape
        second = 2.0 * shape * a / (1.0 - a) ** 2
        fourth = 2.0 * shape * a * (1.0 + 4.0 * a + a * a) / (1.0 - a) ** 4
        return second, fourth + 2.0 * second**2

    @property
    def most_messages(self) -> int:
        """The shares of each category."""
        return self.labels.size * self.noise.shares

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A category, and a number of Z_q."""
        return (self.labels.size, self.noise.modulus)

    @property
    def tally_size(self) -> int:
        """The sum in Z_q and the number of shares of each category."""
        return 2 * self.labels.size

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the shares of bit and noise for each category."""
        parts = []
        for category in range(self.labels.size):
            shares = self.noise.encode((values == category).astype(np.int64), source)
            parts.append(np.hstack([np.full_like(shares, category), shares]))
        return np.concatenate(parts)

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sums in Z_q, in two halves of the digits so that nothing overflows, and the numbers."""
        size, where = self.labels.size, messages[:, 0]
        low, high = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        np.add.at(low, where, messages[:, 1] & 0xFFFFFFF)
        np.add.at(high, where, messages[:, 1] >> 28)
        sums = [(int(h) * 2**28 + int(part)) % self.noise.modulus for h, part in zip(high, low, strict=True)]
        return np.concatenate([np.array(sums, dtype=np.int64), np.bincount(where, minlength=size)])

    @property
    def modulus(self) -> int:
        """The number of elements of the ring."""
        return self.noise.modulus

    def noisy_counts(self, sums: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return the sums as numbers around the true counts, with the moments of the noise of all users."""
        size, sent = self.labels.size, self.promise.users * self.noise.shares
        wrong = np.flatnonzero(sums[size:] != sent)
        if len(wrong):
            raise DataError(
                f"messages: category {int(wrong[0])} has {int(sums[size + wrong[0]])} shares, and "
                f"{self.promise.users} users send {sent}; give those of all users"
            )
        counts = np.array([float(self.noise.centred(total)) for total in sums[:size].tolist()])
        noise, square = self.largest_noise
        return counts, np.full(size, noise), np.full(size, square)


def _half(promise: Promise) -> Promise:
    """Return the promise for each of two counts."""
    if promise.epsilon < 2.0 * LEAST_EPSILON or promise.delta < 2.0 * LEAST_DELTA:
        raise ParameterError("epsilon: half of it, or of delta, is too small for a count; give larger ones")
    return replace(promise, epsilon=promise.epsilon / 2.0, delta=promise.delta / 2.0)
