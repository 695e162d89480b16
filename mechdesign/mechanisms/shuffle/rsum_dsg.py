"""Sum with discrete Laplace noise that all users make together, hidden by split-mix."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.randomness import BitSource
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import Promise
from mechdesign.mechanisms.shuffle.secure_noise import SecureNoise
from mechdesign.mechanisms.shuffle.split_mix import ring_sums
from mechdesign.mechanisms.shuffle.sums import MOST_STEPS, SumProtocol


class RSumDSG(SumProtocol):
    """Every user adds a part of discrete Laplace noise to the number of steps, and splits it into shares.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2020).

    Examples
    --------
    >>> protocol = RSumDSG.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> protocol.precision, protocol.shares, round(protocol.rmse, 2)
    (1000, 6, 1.65)
    """

    type: ClassVar[str] = "rsum-dsg"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        precision: int,
        *,
        ratio: int,
        depth: int,
        shares: int,
        modulus: int,
    ) -> None:
        super().__init__(promise, calibration, precision)
        largest = promise.users * self.precision
        self.noise = SecureNoise(promise, self.precision, largest, ratio, depth, shares, modulus)

    @classmethod
    def calibrated(cls, promise: Promise, precision: int = 0, max_messages: int | None = None) -> Self:
        """Return the one with the least noise and the fewest shares; sqrt(n) steps where none are given."""
        steps = precision or min(MOST_STEPS, math.isqrt(promise.users - 1) + 1)
        noise = SecureNoise.fitting(promise, steps, promise.users * steps, max_messages)
        return cls(promise, "exact", steps, **noise.parameters())

    def parameters(self) -> dict[str, Any]:
        """Return the noise's ratio and depth, the shares and the modulus."""
        return self.noise.parameters()

    @property
    def shares(self) -> int:
        """The shares of a user."""
        return self.noise.shares

    @property
    def least_delta(self) -> float:
        """What mixing and the tables cost; the noise itself is private with delta 0."""
        return self.noise.least_delta

    @property
    def is_computed(self) -> bool:
        """Whether the distance of the shares is proven here; else the theorem of split-mix is believed."""
        return self.noise.is_proven

    @property
    def proof(self) -> str:
        """What the certificate rests on."""
        return self.noise.proof

    @property
    def rmse(self) -> float:
        """The worst over all data: the noise, and rounding halfway between two steps."""
        return math.sqrt(self.noise.deviation**2 + self.promise.users / 4.0) / self.precision

    @property
    def most_messages(self) -> int:
        """The shares."""
        return self.noise.shares

    @cached_property
    def alphabets(self) -> tuple[int, ...]:
        """A share is a number of Z_q."""
        return (self.noise.modulus,)

    def encode_piece(self, values: NDArray[np.float64], source: BitSource) -> Messages:
        """Return the shares of steps and noise."""
        return self.noise.encode(self.steps(values, source), source)

    @property
    def modulus(self) -> int:
        """The number q of the ring Z_q."""
        return self.noise.modulus

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sum in Z_q."""
        return ring_sums(messages[:, 0], self.noise.modulus)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the noisy sum, with limits by the law of the noise and of rounding halfway between steps."""
        value = self.noise.centred(int(sums[0])) / self.precision
        limits = self.noise.limits(1.0 / self.precision, self.promise.users)
        return TotalEstimate("sum", value, self.rmse, self.promise.users, messages, limits)
