"""AUT and PUT: uniformity from the noisy count of every category, each with noise of its own.

Every user sends for each category whether it is the own one, hidden as ``cnt-bn`` (AUT) or ``cnt-sgm`` (PUT)
hide a bit. With noise n_j that is symmetric, independent and of known moments, the noisy counts give

    P = (sum_j (c_j + n_j - n/d)^2 + n^2/d - n - sum_j v_j) / 2,    v_j = Var n_j,

an unbiased estimate of the pairs of users with the same category. For uniform categories its variance is

    n (n - 1) (d - 1) / (2 d^2) + (n/d) (1 - 1/d) sum_j v_j + sum_j Var(n_j^2) / 4,

for the covariances of the three parts of the square vanish: noise has mean and third moment 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.figure import Figure
from mechdesign.core.forecast import Forecast
from mechdesign.core.validation import in_range
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, remedy
from mechdesign.mechanisms.shuffle.uniformity import (
    LEAST_ERROR,
    ROUGHLY,
    DistanceForecast,
    UniformityVerdict,
    collision_moments,
    found_distance,
    least_distance,
)

MOST_MESSAGES = 1 << 27
"""More messages of all users together are refused: they would not fit into memory."""

Array = NDArray[np.float64]

TestT = TypeVar("TestT", bound="UniformityBits")


class UniformityBits(HistogramProtocol):
    """A test of uniformity by a noisy count for each category."""

    quantity: ClassVar[str] = "uniformity"
    error: float

    def check_test(self, error: float) -> None:
        """Check the error, and that all messages together fit into memory."""
        self.error = in_range("error", error, LEAST_ERROR, 0.5, high_open=True)
        sent = self.promise.users * self.mean_messages
        if sent > MOST_MESSAGES:
            raise OutOfReachError(
                f"it sends {sent:.3g} messages in all, at most {MOST_MESSAGES}; "
                "give fewer users or categories"
            )

    @property
    @abstractmethod
    def largest_noise(self) -> tuple[float, float]:
        """Var n_j and Var(n_j^2), exceeded by no category with a chance of at least 1 - error / 2."""

    @abstractmethod
    def noisy_counts(self, sums: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return for each category the noisy count, Var n_j and Var(n_j^2)."""

    def setting(self) -> dict[str, Any]:
        """Return the categories, their names, and the chance of a wrong answer."""
        return {**super().setting(), "error": self.error}

    def variance_of(self, count: Array) -> Array:
        """Return the variance of the noisy count of a category, whoever holds it."""
        return np.full(len(count), self.largest_noise[0])

    @cached_property
    def rmse(self) -> float:
        """What its problem minimises: the least total variation distance that is sure to be found."""
        users, size = self.promise.users, self.labels.size
        noise, square = self.largest_noise

        def extra(excess: float) -> float:
            return noise * (users + users * users * excess) + size * square / 4.0

        variance = _null_variance(users, size, size * noise, size * square)
        allowed = math.sqrt(variance * (1.0 / self.error - 1.0))
        return least_distance(users, size, allowed, self.error, extra)

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the distance that is found, or that there is none."""
        reason = "even a single category for all may be missed; give more users, or a larger epsilon"
        return DistanceForecast(self.quantity, self.promise.users, self.rmse <= 1.0, self.rmse, reason=reason)

    def figures(self) -> list[Figure]:
        """Return the distance that is found beside the one without noise."""
        bare = found_distance(self.promise.users, self.labels.size, 0, self.error)
        return self._beside("distance from uniform that is found", "the same without noise", min(bare, 1.0))

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> UniformityVerdict:
        """Return the verdict: whether too many pairs of users seem to have the same category."""
        users, size = self.promise.users, self.labels.size
        counts, noise, square = self.noisy_counts(sums)
        centred = float(((counts - users / size) ** 2).sum())
        pairs = (centred + users * users / size - users - float(noise.sum())) / 2.0
        expected, _ = collision_moments(users, size)
        variance = _null_variance(users, size, float(noise.sum()), float(square.sum()))
        excess = max(0.0, pairs - expected)
        return UniformityVerdict(
            pairs,
            expected,
            expected + math.sqrt(variance * (1.0 / self.error - 1.0)),
            variance / (variance + excess**2),
            self.rmse,
            self.error,
            users,
            messages,
        )


def _null_variance(users: int, size: int, noise: float, square: float) -> float:
    """Return the variance of P for uniform categories, for the sums of Var n_j and of Var(n_j^2)."""
    _, own = collision_moments(users, size)
    return own + users / size * (1.0 - 1.0 / size) * noise + square / 4.0


def that_finds(made: Callable[[Promise], TestT], promise: Promise) -> TestT:
    """Return a calibrated test, or say what it would take for one that finds any distance.

    Raises
    ------
    OutOfReachError
        When no distance is sure to be found.
    """

    def possible(other: Promise) -> bool:
        try:
            return made(other).rmse <= 1.0
        except OutOfReachError:
            return False

    found = made(promise)
    if found.rmse > 1.0:
        way = remedy(promise, possible, ROUGHLY)
        raise OutOfReachError(f"no distance from uniform is sure to be found; {way}, or a larger error")
    return found
