"""Testing whether categories are uniform: collisions among true categories and uniform dummies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.figure import Figure, Panel
from mechdesign.core.forecast import Forecast
from mechdesign.core.marks import Bars, Mark, Reference
from mechdesign.core.validation import in_range
from mechdesign.mechanisms.shuffle.hist_dump import HistDump, fewest_dummies
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, remedy

ERROR = 0.05
"""The chance of either wrong answer, where none is given."""

LEAST_ERROR = 1e-9
"""Smaller chances are refused: no number of users that is allowed here would do."""

ROUGHLY = 4
"""Binary digits of the users and the epsilon that a refusal names: each is a calibration."""


@dataclass(frozen=True, repr=False)
class UniformityVerdict:
    """The answer of the test.

    Attributes
    ----------
    collisions, expected, threshold : float
        Pairs of messages with the same category; how many there are on average when the users' categories
        are uniform; above how many uniformity is rejected.
    significance : float
        At least as many collisions come from uniform categories with at most this chance.
    distance : float
        The total variation distance that is found with a chance of at least 1 - error.
    error : float
    users, messages : int

    Examples
    --------
    >>> print(UniformityVerdict(120.0, 100.0, 110.0, 0.01, 0.3, 0.05, 50, 60))
    NOT uniform: 120 collisions, 100 expected, rejected above 110; chance at most 0.01 if uniform
    a distance of 0.3 from uniform is found with chance 0.95; 50 users, 60 messages
    """

    collisions: float
    expected: float
    threshold: float
    significance: float
    distance: float
    error: float
    users: int
    messages: int

    @property
    def rejected(self) -> bool:
        """Whether the categories are told not to be uniform."""
        return self.collisions > self.threshold

    def __repr__(self) -> str:
        return f"UniformityVerdict({'rejected' if self.rejected else 'not rejected'}, {self.users} users)"

    def __str__(self) -> str:
        answer = "NOT uniform" if self.rejected else "uniform is not rejected"
        found = (
            f"a distance of {self.distance:.4g} from uniform is found with chance {1.0 - self.error:g}"
            if self.distance <= 1.0
            else "no distance from uniform is sure to be found by so few users"
        )
        return (
            f"{answer}: {self.collisions:.10g} collisions, {self.expected:.10g} expected, rejected above "
            f"{self.threshold:.10g}; chance at most {self.significance:.3g} if uniform\n"
            f"{found}; {self.users} users, {self.messages} messages"
        )

    def figures(self) -> list[Figure]:
        """Return the collisions beside those of uniform categories, and above how many these are rejected."""
        marks: list[Mark] = [
            Bars(x=[0, 1], y=[self.collisions, self.expected]),
            Reference(value=self.threshold, label="rejected above"),
        ]
        names = ("the messages", "uniform, on average")
        panel = Panel("categories", "pairs of messages with the same category", marks, x_names=names)
        return [Figure(f"Are the categories of {self.users} users uniform?", [panel])]

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {**vars(self), "rejected": self.rejected}


@dataclass(frozen=True)
class DistanceForecast(Forecast):
    """A forecast of which distances a test finds."""

    def __str__(self) -> str:
        if not self.possible:
            return f"{self.quantity}: CANNOT be tested: {self.reason}"
        return (
            f"{self.quantity}: can be tested; with {self.users} users a total variation distance of "
            f"{self.largest:.4g} is found"
        )


class UniformityDump(HistDump):
    """Every user sends what :class:`HistDump` sends; the analyzer counts pairs of equal messages.

    When users' categories are independent and uniform, so are all messages, and any two pairs collide
    independently: mean and variance of the number of collisions are exact, whatever the number of dummies.

    Parameters
    ----------
    promise, calibration, categories, labels, trials, dummy
        As in :class:`HistDump`.
    error : float
        From 1e-9 to below 1/2: the largest chance to reject uniform categories, and to miss the distance
        that is stated.

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
    quantity: ClassVar[str] = "uniformity"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        trials: int,
        dummy: int,
        error: float = ERROR,
    ) -> None:
        super().__init__(promise, calibration, categories, labels, trials=trials, dummy=dummy)
        self.error = in_range("error", error, LEAST_ERROR, 0.5, high_open=True)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
        error: float = ERROR,
    ) -> Self:
        """Return the one with about the fewest dummies whose divergence is proven to be small enough."""
        made: Callable[..., Self] = partial(
            cls, calibration="exact", categories=categories, labels=labels, error=error
        )

        def fitting(other: Promise) -> dict[str, int]:
            return fewest_dummies(made, other, max_messages)

        def possible(other: Promise) -> bool:
            try:
                return made(other, **fitting(other)).rmse <= 1.0
            except OutOfReachError:
                return False

        found = made(promise, **fitting(promise))
        if found.rmse > 1.0:
            way = remedy(promise, possible, ROUGHLY)
            raise OutOfReachError(f"no distance from uniform is sure to be found; {way}, or a larger error")
        return found

    def setting(self) -> dict[str, Any]:
        """Return the categories, their names, and the chance of a wrong answer."""
        return {**super().setting(), "error": self.error}

    @cached_property
    def rmse(self) -> float:
        """What its problem minimises: the least total variation distance that is sure to be found."""
        return found_distance(self.promise.users, self.labels.size, self._most_dummies, self.error)

    @property
    def _most_dummies(self) -> int:
        """A number of dummies that is exceeded with at most half of the error."""
        trials, chance = self.promise.users * self.trials, float(self.chance)
        reach = math.sqrt(trials * chance * (1.0 - chance) * (2.0 / self.error - 1.0))
        return min(trials, math.ceil(trials * chance + reach))

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the distance that is found, or that there is none."""
        reason = "even a single category for all may be missed; give more users, or a larger epsilon"
        return DistanceForecast(self.quantity, self.promise.users, self.rmse <= 1.0, self.rmse, reason=reason)

    def figures(self) -> list[Figure]:
        """Return the distance that is found beside the one without dummies, which nobody could hide among."""
        bare = found_distance(self.promise.users, self.labels.size, 0, self.error)
        return self._beside("distance from uniform that is found", "the same without dummies", min(bare, 1.0))

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> Any:
        """Return the verdict: whether there are too many collisions."""
        collisions = sum(count * (count - 1) // 2 for count in sums.tolist())
        expected, variance = collision_moments(messages, self.labels.size)
        excess = max(0.0, collisions - expected)
        return UniformityVerdict(
            float(collisions),
            expected,
            expected + math.sqrt(variance * (1.0 / self.error - 1.0)),
            variance / (variance + excess**2),
            self.rmse,
            self.error,
            self.promise.users,
            messages,
        )


def collision_moments(messages: int, categories: int) -> tuple[float, float]:
    """Return mean and variance of the number of pairs of equal categories among uniform ones.

    Examples
    --------
    >>> collision_moments(3, 2)
    (1.5, 0.75)
    """
    pairs = messages * (messages - 1) // 2
    return pairs / categories, pairs * (categories - 1) / categories**2


def found_distance(users: int, categories: int, dummies: int, error: float) -> float:
    """Return the least distance from uniform that is found with chance 1 - error; infinite beyond 1.

    With a distance a the excess e = sum p^2 - 1/d is at least 4 a^2 / d (Cauchy and Schwarz), and the
    variance of the collisions at most
    n^2 (1/d + e) / 2 + n^3 (e/d + e^(3/2)) + n m / d + m n^2 e / d + m^2 / (2 d).

    Parameters
    ----------
    users, categories, dummies : int
        n, d, m.
    error : float

    Examples
    --------
    >>> found_distance(10**9, 10, 0, 0.05) < 0.001
    True
    """
    d, n, m = float(categories), float(users), float(dummies)
    _, variance = collision_moments(users + dummies, categories)
    allowed = math.sqrt(variance * (1.0 / error - 1.0))
    return least_distance(
        users, categories, allowed, error, lambda e: n * m / d + m * n * n * e / d + m * m / (2.0 * d)
    )


def least_distance(
    users: int, categories: int, allowed: float, error: float, extra: Callable[[float], float]
) -> float:
    """Return the least distance at which the expected excess of collisions is found despite its spread.

    Parameters
    ----------
    users, categories : int
    allowed : float
        By how much the collisions may exceed their mean before uniformity is rejected.
    error : float
        Half of it is the largest chance to miss the distance; the other half is for what ``extra`` assumes.
    extra : callable
        From the excess e = sum p^2 - 1/d to a bound of the variance that noise adds to that of the users'
        own collisions, which is at most n^2 (1/d + e) / 2 + n^3 (e/d + e^(3/2)).
    """
    d, n = float(categories), float(users)

    def found(distance: float) -> bool:
        e = 4.0 * distance**2 / d
        spread = n * n * (1.0 / d + e) / 2.0 + n**3 * (e / d + e**1.5) + extra(e)
        gap = n * (n - 1.0) / 2.0 * e - allowed
        return gap > 0.0 and gap * gap >= spread * (2.0 / error - 1.0)

    if not found(1.0):
        return math.inf
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if found(middle) else (middle, high)
    return high
