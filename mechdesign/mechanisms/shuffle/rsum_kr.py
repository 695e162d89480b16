"""Sum by k-ary randomized response: one rounded number a user."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import float_up, log_ratio
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import checked_weight
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.hist_kr import least_other, most_other, published_share, response_delta
from mechdesign.mechanisms.shuffle.histograms import responses
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing
from mechdesign.mechanisms.shuffle.sums import SumProtocol
from mechdesign.mechanisms.sum_limits import WorstLimits, response_cumulants

FINEST = 1 << 12
"""No more steps are tried when the precision is left open."""


class RSumKR(SumProtocol):
    """Every user sends the number of steps, or another one with the chance other / 2**62 each.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2019).

    Examples
    --------
    >>> protocol = RSumKR.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> protocol.precision, round(protocol.rmse, 1)
    (31, 27.9)
    """

    type: ClassVar[str] = "rsum-kr"

    def __init__(self, promise: Promise, calibration: str, precision: int, *, other: int) -> None:
        super().__init__(promise, calibration, precision)
        self.other = checked_weight("other", other, 1, most_other(self.precision + 1))
        self.own = TOTAL - self.precision * self.other

    @classmethod
    def calibrated(cls, promise: Promise, precision: int = 0, local_cap: float | None = None) -> Self:
        """Return the one with about the least noise; with precision 0 also of about the best precision.

        The chance of another number that is needed hardly depends on how many there are, unless it is what
        makes a report private by itself: then a few numbers are best.
        """
        if precision:
            return cls._with_precision(promise, precision, local_cap)
        first = cls._with_precision(promise, 8, local_cap)
        found = [cls._with_precision(promise, best_precision(promise.users, first.other / TOTAL), local_cap)]
        if local_cap is not None:
            found += [cls._with_precision(promise, steps, local_cap) for steps in range(1, 8)]
        return min(found, key=lambda protocol: protocol.rmse)

    @classmethod
    def _with_precision(cls, promise: Promise, precision: int, local_cap: float | None) -> Self:
        made = partial(cls, promise, "exact", precision)
        size = precision + 1
        least, most = least_other(local_cap, size), most_other(size)
        other = (
            None
            if least > most
            else least_passing(lambda weight: made(other=weight).holds, least, most, end=TOTAL // size)
        )
        if other is None:
            raise OutOfReachError("epsilon is too small for weights of 62 digits; give a larger one")
        return made(other=other)

    @classmethod
    def published(cls, promise: Promise, precision: int = 0) -> Self:
        """Return the one with the constants of the paper and its precision, a cube root."""
        steps = precision
        if not steps:
            log = math.log(2.0 / promise.delta)
            steps = max(1, round(np.cbrt(3.0 * promise.honest_users * promise.epsilon**2 / (28.0 * log))))
        share = published_share(promise, steps + 1)
        other = min(most_other(steps + 1), math.ceil(share * TOTAL / (steps + 1)))
        return cls(promise, "published", steps, other=other)

    def parameters(self) -> dict[str, Any]:
        """Return the weight of another number."""
        return {"other": self.other}

    @cached_property
    def least_delta(self) -> float:
        """That of k-ary responses."""
        return response_delta(self.promise, Fraction(self.own, TOTAL), Fraction(self.other, TOTAL))

    proof = "blanket of fair coins between any two numbers, all other messages told"

    @property
    def local_epsilon(self) -> float:
        """ln(own / other), rounded up."""
        return float_up(log_ratio(self.own, self.other))

    @property
    def rmse(self) -> float:
        """The root of users times the largest variance of one report."""
        return math.sqrt(self.promise.users * worst_variance(self.precision, self.other / TOTAL))

    @property
    def most_messages(self) -> int:
        """One."""
        return 1

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A message is a number of steps."""
        return (self.precision + 1,)

    def encode_piece(self, values: NDArray[np.float64], source: BitSource) -> Messages:
        """Return the responses."""
        steps = self.steps(values, source)
        return responses(steps, self.other, self.precision + 1, source).reshape(-1, 1)

    @property
    def most_added(self) -> int:
        """The largest number."""
        return self.precision

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sum of the numbers."""
        return np.array([int(messages.sum())], dtype=np.int64)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased sum."""
        users, steps, other = self.promise.users, self.precision, Fraction(self.other, TOTAL)
        offset = users * other * steps * (steps + 1) / 2
        value = float((int(sums[0]) - offset) / (1 - (steps + 1) * other) / steps)
        unit = 1.0 / float((1 - (steps + 1) * other) * steps)
        response = response_cumulants(users, steps + 1, float(other))
        limits = WorstLimits.of([(response, unit)], users, steps, unit)
        return TotalEstimate("sum", value, self.rmse, users, messages, limits)


def worst_variance(precision: int, other: float) -> float:
    """Return the largest variance of a report's unbiased number over all x in [0, 1].

    With g = 1 - (k + 1) w the variance at x k = X + f is
    (g (X^2 + 2 X f + f) + w sum v^2 - (g (X + f) + w sum v)^2) / (g k)^2, concave in f.

    Parameters
    ----------
    precision : int
        k.
    other : float
        w.

    Examples
    --------
    >>> worst_variance(2, 0.0)  # rounding alone, halfway between two steps
    0.0625
    """
    numbers = np.arange(precision, dtype=np.float64)
    gain = 1.0 - (precision + 1) * other
    mean = other * precision * (precision + 1) / 2.0
    square = other * precision * (precision + 1) * (2 * precision + 1) / 6.0
    part = np.clip(((2.0 * numbers + 1.0) / 2.0 - mean) / gain - numbers, 0.0, 1.0)
    second = gain * (numbers**2 + 2.0 * numbers * part + part) + square
    variance = second - (gain * (numbers + part) + mean) ** 2
    return float(variance.max()) / (gain * precision) ** 2


def best_precision(users: int, other: float) -> int:
    """Return the precision of least error when each other number has this chance."""
    most = min(FINEST, int(0.5 / other) + 1)
    errors = [worst_variance(steps, other) for steps in range(1, most + 1) if (steps + 1) * other < 0.9]
    return 1 + int(np.argmin(errors)) if errors else 1
