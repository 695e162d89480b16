"""Tests of uniformity, and the one by collisions among true categories and uniform dummies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.promise import OutOfReachError, Promise, remedy
from mechdesign.core.forecast import Forecast
from mechdesign.core.validation import in_range, integer
from mechdesign.families.shuffle.dummies import Dummies
from mechdesign.families.shuffle.flips import require_sent
from mechdesign.families.shuffle.noise import Allowed
from mechdesign.families.shuffle.tasks import MOST_CATEGORIES, Array, HistogramProtocol
from mechdesign.families.shuffle.uniformity_protocols import (
    ERROR,
    LEAST_ERROR,
    DistanceForecast,
    UniformityVerdict,
    collision_moments,
    found_distance,
)
from mechdesign.show.figure import Figure

ROUGHLY = 4
"""Binary digits of the users and the epsilon that a refusal names: each is a calibration."""


class UniformityProtocol(HistogramProtocol):
    """A test whether users' categories are uniform.

    Parameters
    ----------
    promise, calibration, categories, labels, noise
        As in :class:`HistogramProtocol`.
    error : float
        From 1e-9 to below 1/2: the largest chance to reject uniform categories, and to miss the distance
        that is stated.
    """

    quantity: ClassVar[str] = "uniformity"
    _lacking: ClassVar[str] = "noise"
    """What the test would do without, in pictures."""
    _in_memory: ClassVar[bool] = False
    """Whether all messages together have to fit into memory."""

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        error: float = ERROR,
        **noise: Any,
    ) -> None:
        super().__init__(promise, calibration, categories, labels, **noise)
        self.error = in_range("error", error, LEAST_ERROR, 0.5, high_open=True)
        if self._in_memory:
            require_sent(promise.users * self.mean_messages)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
        error: float = ERROR,
        *,
        local_cap: float | None = None,
    ) -> Self:
        """Return the one with about the least noise, or say what it would take to find any distance.

        Raises
        ------
        OutOfReachError
            When no distance is sure to be found.
        """
        size, allowed = (
            integer("categories", categories, 2, MOST_CATEGORIES),
            Allowed(max_messages, local_cap),
        )

        def possible(other: Promise) -> bool:
            try:
                noise = cls._hiding.fitting(other, size, allowed)
                return cls._of(noise, "exact", labels, error=error).rmse <= 1.0
            except OutOfReachError:
                return False

        noise = cls._hiding.fitting(promise, size, allowed)
        found = cls._of(noise, "exact", labels, error=error)
        if found.rmse > 1.0:
            way = remedy(promise, possible, ROUGHLY)
            raise OutOfReachError(
                "no distance from uniform is sure to be found", remedy=f"{way}, or a larger error"
            )
        return found._keeping(allowed)

    def setting(self) -> dict[str, Any]:
        """Return the categories, their names, and the probability of a wrong answer."""
        return {**super().setting(), "error": self.error}

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the distance that is found, or that there is none."""
        reason = "even a single category for all may be missed; give more users, or a larger epsilon"
        return DistanceForecast(self.quantity, self.promise.users, self.rmse <= 1.0, self.rmse, reason=reason)

    def figures(self) -> list[Figure]:
        """Return the distance that is found next to the one without noise, which nobody could hide among."""
        bare = min(found_distance(self.promise.users, self.labels.size, 0, self.error), 1.0)
        return self._beside("distance from uniform that is found", f"the same without {self._lacking}", bare)

    def verdict(self, pairs: float, expected: float, variance: float, messages: int) -> UniformityVerdict:
        """Return the answer for ``pairs`` pairs of equal categories, by Cantelli's inequality."""
        excess = max(0.0, pairs - expected)
        return UniformityVerdict(
            pairs,
            expected,
            expected + math.sqrt(variance * (1.0 / self.error - 1.0)),
            variance / (variance + excess**2),
            self.rmse,
            self.error,
            self.promise.users,
            messages,
        )


class UniformityDump(UniformityProtocol):
    """Every user sends what ``hist-dump`` sends; the analyzer counts pairs of equal messages.

    When users' categories are independent and uniform, so are all messages, and any two pairs collide
    independently: mean and variance of the number of collisions are exact, whatever the number of dummies.

    Parameters
    ----------
    promise, calibration, categories, labels, trials, dummy
        As in ``hist-dump``.
    error : float
        As in :class:`UniformityProtocol`.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021) for the task; the collisions take the place of their statistic,
    and Cantelli's inequality that of asymptotic constants.

    Examples
    --------
    >>> protocol = UniformityDump.calibrated(Promise(100_000, 1.0, 1e-6), 100)
    >>> round(protocol.rmse, 3)
    0.032
    """

    type: ClassVar[str] = "uniformity-dump"
    _lacking: ClassVar[str] = "dummies"
    noise: Dummies
    _hiding = Dummies

    def variance_of(self, count: Array) -> Array:
        """Return the variance of the dummies of a category, whoever holds it."""
        return np.full(len(count), self.noise.variance)

    @cached_property
    def rmse(self) -> float:
        """Objective of its problem: the least total variation distance that is sure to be found."""
        return found_distance(self.promise.users, self.labels.size, self._most_dummies, self.error)

    @property
    def _most_dummies(self) -> int:
        """A number of dummies that is exceeded with at most half of the error."""
        trials, chance = self.promise.users * self.noise.trials, float(self.noise.chance)
        reach = math.sqrt(trials * chance * (1.0 - chance) * (2.0 / self.error - 1.0))
        return min(trials, math.ceil(trials * chance + reach))

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> UniformityVerdict:
        """Return the verdict: whether there are too many collisions."""
        collisions = sum(count * (count - 1) // 2 for count in sums.tolist())
        expected, variance = collision_moments(messages, self.labels.size)
        return self.verdict(float(collisions), expected, variance, messages)
