"""AUT: a test of uniformity from bits among fair coins, one count for each category."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.shuffle_rows import rows_divergence
from mechdesign.core.randomness import TOTAL
from mechdesign.core.validation import integer
from mechdesign.mechanisms.shuffle.histograms import MOST_CATEGORIES
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy
from mechdesign.mechanisms.shuffle.rows import MOST_TRIALS, RowsProtocol
from mechdesign.mechanisms.shuffle.uniformity import ERROR
from mechdesign.mechanisms.shuffle.uniformity_bits import Array, UniformityBits, that_finds


class AUT(UniformityBits, RowsProtocol):
    """Every user sends for each category a bit, and ``trials`` times a fair coin with some chance.

    Two data sets that differ in a user differ in two bits, each hidden among the coins of its category.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact"}
    categories : int
    labels : sequence of str, optional
    trials : int
        Of each user for each category.
    cell : int
        Out of 2**62, half the chance that a trial adds a coin: the chance that it adds a 1.
    error : float
        From 1e-9 to below 1/2: the largest chance to reject uniform categories, and to miss the distance that
        is stated.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021), by way of the survey, section 4.4.3: PUT with binomial noise.

    Examples
    --------
    >>> protocol = AUT.calibrated(Promise(20_000, 1.0, 1e-6), 20)
    >>> round(protocol.rmse, 3), round(protocol.mean_messages, 2)
    (0.062, 20.15)
    """

    type: ClassVar[str] = "aut"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        trials: int,
        cell: int,
        error: float = ERROR,
    ) -> None:
        sizes = (2,) * integer("categories", categories, 2, MOST_CATEGORIES)
        RowsProtocol.__init__(
            self, promise, calibration, categories, labels, sizes=sizes, trials=trials, cell=cell
        )
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
        """Return the one with about the fewest coins whose divergence is proven to be small enough."""
        made: Callable[..., Self] = partial(
            cls, calibration="exact", categories=categories, labels=labels, error=error
        )
        most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages // categories - 1)
        if most < 1:
            raise OutOfReachError(f"it needs {2 * categories} messages a user; allow as many")

        def fitting(other: Promise) -> dict[str, int]:
            def enough(given: Promise, trials: int, cell: int) -> bool:
                return _delta(given, trials, cell) <= given.delta

            trials = least_passing(lambda count: enough(other, count, TOTAL // 2), 1, most, 40)
            if trials is None:
                way = remedy(other, lambda given: enough(given, most, TOTAL // 2))
                raise OutOfReachError(
                    f"coins are too few, {most} of each of {other.honest_users} users a category; {way}, or "
                    "more messages"
                )
            cell = least_passing(lambda weight: enough(other, trials, weight), 1, TOTAL // 2)
            assert cell is not None  # the largest weight passed above
            return {"trials": trials, "cell": cell}

        return that_finds(lambda other: made(other, **fitting(other)), promise)

    @cached_property
    def least_delta(self) -> float:
        """The divergence when the bits of two categories change at once."""
        return _delta(self.promise, self.trials, self.cell)

    proof = "the bits of two categories, each among the honest users' fair coins"

    @cached_property
    def largest_noise(self) -> tuple[float, float]:
        """Of the largest number of coins of a category, by Bernstein's inequality for all categories."""
        mean = 2.0 * self.mean_dummies
        level = math.log(2.0 * self.labels.size / self.error)
        reach = level / 3.0 + math.sqrt(level * level / 9.0 + 2.0 * level * mean)
        coins = min(float(self.promise.users * self.trials), math.ceil(mean + reach))
        return coins / 4.0, coins * (coins - 1.0) / 8.0

    def noisy_counts(self, sums: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return the ones less half the coins; how many coins there are is seen.

        Of m fair coins the centred sum has the variance m/4 and the fourth moment (3 m^2 - 2 m)/16.
        """
        self.require_rows(sums)
        pairs = sums.reshape(-1, 2).astype(np.float64)
        coins = pairs.sum(axis=1) - self.promise.users
        return pairs[:, 1] - coins / 2.0, coins / 4.0, coins * (coins - 1.0) / 8.0

    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        """Return the bits of a category."""
        own: NDArray[np.int64] = (values == row).astype(np.int64)
        return own

    def parameters(self) -> dict[str, Any]:
        """Return the number of trials and the weight of a coin that is 1."""
        return RowsProtocol.parameters(self)


def _delta(promise: Promise, trials: int, cell: int) -> float:
    """Return the divergence of two bits among coins; a coin is 1 with cell / 2**62, and as often 0."""
    honest = promise.honest_users * trials
    return rows_divergence(honest, 2 * Fraction(cell, TOTAL), 2, promise.epsilon, promise.delta)
