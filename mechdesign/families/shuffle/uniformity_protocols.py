"""What a test of uniformity says, and what distance from uniform it finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mechdesign.core.encoding import json_object
from mechdesign.core.forecast import Forecast
from mechdesign.core.notebook import TextInNotebooks
from mechdesign.core.text import counted
from mechdesign.core.values import frozen_value
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars, Mark, Reference

ERROR = 0.05
"""The probability of either wrong answer, where none is given."""

LEAST_ERROR = 1e-9
"""Smaller probabilities are refused: no number of users that is allowed here would do."""


@dataclass(frozen=True, repr=False)
class UniformityVerdict(TextInNotebooks):
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
    NOT uniform: 120 collisions, 100 expected, rejected above 110; probability at most 0.01 if uniform
    a distance of 0.3 from uniform is found with probability 0.95; 50 users, 60 messages
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
            f"a distance of {self.distance:.4g} from uniform is found with probability {1.0 - self.error:g}"
            if self.distance <= 1.0
            else "no distance from uniform is sure to be found by so few users"
        )
        return (
            f"{answer}: {self.collisions:.10g} collisions, {self.expected:.10g} expected, rejected above "
            f"{self.threshold:.10g}; probability at most {self.significance:.3g} if uniform\n"
            f"{found}; {counted(self.users, 'user')}, {counted(self.messages, 'message')}"
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
        return json_object({**vars(self), "rejected": self.rejected})


@frozen_value()
class DistanceForecast(Forecast):
    """A forecast of which distances a test finds."""

    def __str__(self) -> str:
        if not self.possible:
            return f"{self.quantity}: CANNOT be tested: {self.reason}"
        return (
            f"{self.quantity}: can be tested; with {self.users} users a total variation distance of "
            f"{self.largest:.4g} is found"
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


def null_variance(users: int, size: int, noise: float, square: float) -> float:
    """Return the variance of P for uniform categories, for the sums of Var n_j and of Var(n_j^2)."""
    _, own = collision_moments(users, size)
    return own + users / size * (1.0 - 1.0 / size) * noise + square / 4.0


def found_distance(users: int, categories: int, dummies: int, error: float) -> float:
    """Return the least distance from uniform that is found with probability 1 - error; infinite beyond 1.

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
