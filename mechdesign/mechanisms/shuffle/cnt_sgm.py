"""Counting with discrete Laplace noise that all users make together, hidden by split-mix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError
from mechdesign.core.randomness import BitSource
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.counts import CountProtocol
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import Promise
from mechdesign.mechanisms.shuffle.secure_noise import SecureNoise
from mechdesign.mechanisms.shuffle.split_mix import LEAST_SHARES, ring_sums


class CntSGM(CountProtocol):
    """Every user adds a small part of discrete Laplace noise to the bit, and splits the result into shares.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact"}
    ratio, depth, shares, modulus : int
        Of :class:`SecureNoise`.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021) for the noise; Balle, Bell, Gascon, Nissim (2020) for the shares.
    Sent as one message each, bit and noise would not be private at all: :func:`visible_noise_delta`.

    Examples
    --------
    >>> protocol = CntSGM.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> round(protocol.rmse, 2), protocol.shares
    (1.52, 6)
    """

    type: ClassVar[str] = "cnt-sgm"

    def __init__(
        self, promise: Promise, calibration: str, ratio: int, depth: int, shares: int, modulus: int
    ) -> None:
        super().__init__(promise, calibration)
        if shares == 1:
            delta = visible_noise_delta(promise.honest_users, promise.epsilon)
            raise CertificateError(
                f"shares: 1 leaves bit and noise visible in each message, which is not private: whether any "
                f"message is 1 tells so much that delta is at least {delta:.3g}; use {LEAST_SHARES} or more"
            )
        self.noise = SecureNoise(promise, 1, promise.users, ratio, depth, shares, modulus)

    @classmethod
    def calibrated(cls, promise: Promise, max_messages: int | None = None) -> Self:
        """Return the one with the least noise and the fewest shares."""
        return cls(
            promise, "exact", **SecureNoise.fitting(promise, 1, promise.users, max_messages).parameters()
        )

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

    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "a noisy count of at least the true one",
    }

    @property
    def rmse(self) -> float:
        """The standard deviation of the noise of all users: unbiased, and the same for all data."""
        return self.noise.deviation

    @property
    def most_messages(self) -> int:
        """The shares."""
        return self.noise.shares

    @cached_property
    def alphabets(self) -> tuple[int, ...]:
        """A share is a number of Z_q."""
        return (self.noise.modulus,)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the shares of bit and noise."""
        return self.noise.encode(values, source)

    @property
    def modulus(self) -> int:
        """The number q of the ring Z_q."""
        return self.noise.modulus

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sum in Z_q."""
        return ring_sums(messages[:, 0], self.noise.modulus)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the noisy count, with limits by the law of the noise."""
        value = self.noise.centred(int(sums[0]))
        return TotalEstimate(
            "count", float(value), self.rmse, self.promise.users, messages, self.noise.limits(1.0)
        )


def visible_noise_delta(users: int, epsilon: float) -> float:
    """Return how large delta is at least when every user sends bit plus Polya noise as one message.

    All other users hold 0. The event is that no message is 1. A user who holds 0 sends no 1 with the chance
    a = Pr[noise != 1], one who holds 1 with b = Pr[noise != 0]: delta >= a^(n - 1) (a - e^epsilon b).

    Parameters
    ----------
    users : int
    epsilon : float

    Examples
    --------
    >>> round(visible_noise_delta(100, 0.9), 3), round(visible_noise_delta(10_000, 0.9), 3)
    (0.651, 0.666)
    """
    ratio, r = math.exp(-epsilon), 1.0 / users
    k = np.arange(1, max(64, math.ceil(60.0 / epsilon)), dtype=np.float64)
    single = (1.0 - ratio) ** r * np.concatenate([[1.0], np.cumprod((r + k - 1.0) / k * ratio)])
    not_zero = 1.0 - float((single * single).sum())
    not_one = 1.0 - float((single[1:] * single[:-1]).sum())
    return max(0.0, not_one ** (users - 1) * (not_one - math.exp(epsilon) * not_zero))
