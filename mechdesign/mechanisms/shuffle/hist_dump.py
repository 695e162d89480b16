"""Histogram by dummies: true categories, hidden among uniform ones that some users add."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.blanket import blanket_divergence
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import Group, NoiseLimits, Sum
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import checked_weight
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol, with_dummies
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy

MOST_TRIALS = 1 << 12
"""No user adds more dummies."""


class HistDump(HistogramProtocol):
    """Every user sends the true category, and ``trials`` times a uniform one with the chance dummy / 2**62.

    Notes
    -----
    Source: Li, Guo, Liu, Wang, Qin (2022), pureDUMP, with the number of dummies of a user made random. For
    two categories it is :class:`CntBN`.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = HistDump.calibrated(promise, 1000)
    >>> round(protocol.rmse, 2), round(protocol.mean_messages, 3)
    (7.09, 1.05)
    """

    type: ClassVar[str] = "hist-dump"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        trials: int,
        dummy: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        self.trials = integer("trials", trials, 1, MOST_TRIALS)
        self.dummy = checked_weight("dummy", dummy, 1, TOTAL)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with about the fewest dummies whose divergence is proven to be small enough."""
        made: Callable[..., Self] = partial(cls, calibration="exact", categories=categories, labels=labels)
        return made(promise, **fewest_dummies(made, promise, max_messages))

    @classmethod
    def published(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Return the one with the constants of the paper: 14 d ln(2/delta) / epsilon^2 + 1 dummies in all."""
        if promise.epsilon > 1.0:
            raise OutOfReachError("its theorem is for epsilon up to 1; give a smaller one")
        total = 14.0 * categories * math.log(2.0 / promise.delta) / promise.epsilon**2 + 1.0
        trials = math.ceil(total / promise.honest_users)
        most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages - 1)
        if trials > most:
            raise OutOfReachError(
                f"its theorem wants {trials + 1} messages a user; allow them, or give more users"
            )
        return cls(promise, "published", categories, labels, trials=trials, dummy=TOTAL)

    def parameters(self) -> dict[str, Any]:
        """Return the number of trials and the weight of a dummy."""
        return {"trials": self.trials, "dummy": self.dummy}

    @property
    def chance(self) -> Fraction:
        """The chance that a trial adds a dummy."""
        return Fraction(self.dummy, TOTAL)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for one true category among the dummies that stand for either of two."""
        trials, chance = self.promise.honest_users * self.trials, 2 * self.chance / self.labels.size
        return blanket_divergence(trials, chance, Fraction(1), Fraction(0), self.promise.epsilon)

    proof = "one message among the honest users' dummies for either category"

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the dummies of a category, whoever holds it."""
        share, dummies = 1.0 / self.labels.size, self.promise.users * self.trials * float(self.chance)
        return np.full(len(count), dummies * share * (1.0 - share))

    @property
    def rmse(self) -> float:
        """The standard deviation of the dummies of a category: unbiased, and the same for all data."""
        return math.sqrt(float(self.variance_of(np.zeros(1))[0]))

    @property
    def least_messages(self) -> int:
        """The true category."""
        return 1

    @property
    def most_messages(self) -> int:
        """The true category and all dummies."""
        return 1 + self.trials

    @property
    def mean_messages(self) -> float:
        """One and the expected number of dummies."""
        return 1.0 + self.trials * float(self.chance)

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        """The dummies."""
        return (Group.bits(self.promise.users * self.trials, self.chance),)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each user the category, then the dummies."""
        return with_dummies(values, self.trials, self.dummy, self.labels.size, source).reshape(-1, 1)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> HistogramEstimate:
        """Return the counts less the expected dummies, given how many dummies there are in all."""
        dummies = messages - self.promise.users
        share = 1.0 / self.labels.size
        errors = np.full(self.labels.size, math.sqrt(dummies * share * (1.0 - share)))
        names = tuple(self.labels.shown())
        noise = Sum((Group.bits(dummies, Fraction(1, self.labels.size)),))
        return HistogramEstimate(
            (sums - dummies * share).astype(np.float64),
            errors,
            names,
            self.promise.users,
            messages,
            self.message_notes(messages),
            NoiseLimits(noise, np.full(self.labels.size, dummies * share)),
        )


def fewest_dummies(
    made: Callable[..., HistDump], promise: Promise, max_messages: int | None
) -> dict[str, int]:
    """Return the fewest trials, and about the least weight of a dummy, whose divergence is small enough.

    Raises
    ------
    OutOfReachError
        When the messages that are allowed are too few.
    """
    most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages - 1)
    if most < 1:
        raise OutOfReachError("it needs 2 messages a user; allow as many")
    trials = least_passing(lambda count: made(promise, trials=count, dummy=TOTAL).holds, 1, most, 40)
    if trials is None:
        way = remedy(promise, lambda other: made(other, trials=most, dummy=TOTAL).holds)
        raise OutOfReachError(
            f"dummies are too few, {most} of each of {promise.honest_users} users; {way}, or more messages"
        )
    dummy = least_passing(lambda weight: made(promise, trials=trials, dummy=weight).holds, 1, TOTAL)
    assert dummy is not None  # the largest weight passed above
    return {"trials": trials, "dummy": dummy}
