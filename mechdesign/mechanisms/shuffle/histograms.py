"""What protocols for histograms have in common: a user holds one of d categories, all are counted."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.forecast import Forecast
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.intervals import Limits
from mechdesign.mechanisms.labels import Labels
from mechdesign.mechanisms.oracles.draws import below
from mechdesign.mechanisms.shuffle.base import Messages, Protocol
from mechdesign.mechanisms.shuffle.draws import bits
from mechdesign.mechanisms.shuffle.estimates import HistogramEstimate
from mechdesign.mechanisms.shuffle.promise import Promise

MOST_CATEGORIES = 1 << 20
"""More categories are refused."""


class HistogramProtocol(Protocol):
    """A protocol that counts the users of each category.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
        From 2 to 2**20.
    labels : sequence of str, optional
    """

    quantity: ClassVar[str] = "histogram"
    value_text: ClassVar[str] = "a category"
    sensitivity: ClassVar[float] = 2.0

    def __init__(
        self, promise: Promise, calibration: str, categories: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(promise, calibration)
        self.labels = Labels(integer("categories", categories, 2, MOST_CATEGORIES), labels)

    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user holds one category or another",
        "event": "many messages for the one, few for the other",
    }

    def setting(self) -> dict[str, Any]:
        """Return the number of categories and their names."""
        names = None if self.labels.names is None else list(self.labels.names)
        return {"categories": self.labels.size, "labels": names}

    @property
    def holds(self) -> bool:
        """Whether the promise is proven."""
        return self.least_delta <= self.promise.delta

    def is_value(self, text: str) -> bool:
        """Whether a text is one of the categories."""
        return text in self.labels.shown()

    def read_values(self, values: Any) -> NDArray[np.int64]:
        """Return the numbers of people's categories."""
        read = self.labels.encode(values, "values")
        if len(read) > self.promise.users:
            raise DataError(
                f"values: {len(read)} for a protocol of {self.promise.users} users; build it for all of them"
            )
        return read

    @property
    def tally_size(self) -> int:
        """One sum for each category."""
        return self.labels.size

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A message is a category."""
        return (self.labels.size,)

    one_each: ClassVar[bool] = True

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many messages each category has."""
        return np.bincount(messages[:, 0], minlength=self.labels.size).astype(np.int64)

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the errors for the users it was made for, of an empty category and at its largest."""
        held = np.array([0.0, self.promise.users / 2.0, float(self.promise.users)])
        largest = max(self.rmse, math.sqrt(float(self.variance_of(held).max())))
        return Forecast(
            "the histogram", self.promise.users, True, largest, self.rmse, "for a category that nobody holds"
        )

    @abstractmethod
    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate of categories that so many users hold."""

    def squares_at(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean squared error of categories that so many users hold."""
        return self.variance_of(count)

    def unbiased(
        self, value: NDArray[np.floating[Any]], messages: int, limits: Limits | None = None
    ) -> HistogramEstimate:
        """Return the estimate for these unbiased counts, with errors by what they say."""
        doubles = value.astype(np.float64)
        held = np.clip(doubles, 0.0, float(self.promise.users))
        errors = np.sqrt(self.variance_of(held))
        names = tuple(self.labels.shown())
        return HistogramEstimate(doubles, errors, names, self.promise.users, messages, limits=limits)


def with_dummies(
    values: NDArray[np.int64], trials: int, weight: int, alphabet: int, source: BitSource
) -> NDArray[np.int64]:
    """Return each user's value, followed by a uniform dummy for each trial that succeeds.

    Parameters
    ----------
    values : (n,) int array
    trials : int
        Of each user.
    weight : int
        Out of 2**62, the chance that a trial succeeds.
    alphabet : int
        Dummies are uniform below this number.
    source : BitSource

    Examples
    --------
    >>> from mechdesign.core.randomness import bit_source
    >>> with_dummies(np.array([7, 8]), 1, TOTAL, 1, bit_source(1))
    array([7, 0, 8, 0])
    """
    added = bits(len(values) * trials, weight, source).reshape(-1, trials).sum(axis=1)
    messages = np.empty(len(values) + int(added.sum()), dtype=np.int64)
    own = np.arange(len(values)) + np.cumsum(added) - added
    is_own = np.zeros(len(messages), dtype=np.bool_)
    is_own[own] = True
    messages[own] = values
    messages[~is_own] = below(alphabet, len(messages) - len(own), source)
    return messages


def responses(values: NDArray[np.int64], other: int, alphabet: int, source: BitSource) -> NDArray[np.int64]:
    """Return randomized responses: every other symbol with the chance other / 2**62, else the own one.

    Examples
    --------
    >>> from mechdesign.core.randomness import bit_source
    >>> responses(np.array([1, 1, 1]), 1, 3, bit_source(1))
    array([1, 1, 1])
    """
    own = TOTAL - (alphabet - 1) * other
    beyond = source.integers(len(values)) - (own - other)
    # What is below own - other keeps the symbol; the rest are equal shares, one a symbol.
    result: NDArray[np.int64] = np.where(beyond < 0, values, np.maximum(beyond, 0) // other)
    return result
