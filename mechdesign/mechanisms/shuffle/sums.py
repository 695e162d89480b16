"""What protocols for sums have in common: a user holds a number in [0, 1], rounded at random to steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, RowError
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.mean.values import as_floats
from mechdesign.mechanisms.shuffle.base import Protocol
from mechdesign.mechanisms.shuffle.promise import Promise

MOST_STEPS = 1 << 20
"""More steps are refused."""


class SumProtocol(Protocol):
    """A protocol that adds up numbers in [0, 1].

    A number x becomes a whole number of steps next to x precision, at random so that its mean is x. That is a
    mixture of two whole numbers, so the divergence of neighbouring data is at most that for whole numbers.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    precision : int
        The steps from 0 to 1, from 1 to 2**20.
    """

    quantity: ClassVar[str] = "sum"
    value_text: ClassVar[str] = "a number from 0 to 1"
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's number is 1 or 0",
        "event": "a large noisy sum",
    }

    def __init__(self, promise: Promise, calibration: str, precision: int) -> None:
        super().__init__(promise, calibration)
        self.precision = integer("precision", precision, 1, MOST_STEPS)

    def setting(self) -> dict[str, Any]:
        """Return the precision."""
        return {"precision": self.precision}

    @property
    def holds(self) -> bool:
        """Whether the promise is proven."""
        return self.least_delta <= self.promise.delta

    def read_values(self, values: Any) -> NDArray[np.float64]:
        """Return people's numbers, each from 0 to 1."""
        read = as_floats(values, 1, "values")
        wrong = ~((read >= 0.0) & (read <= 1.0))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise RowError("values", row, f"{read[row]:g} is outside [0, 1]", "rescale or correct it")
        if len(read) > self.promise.users:
            raise DataError(
                f"values: {len(read)} for a protocol of {self.promise.users} users; build it for all of them"
            )
        return read

    def steps(self, values: NDArray[np.float64], source: BitSource) -> NDArray[np.int64]:
        """Return whole numbers of steps from 0 to the precision, right on average."""
        scaled = values * self.precision
        whole = np.floor(scaled)
        up = source.integers(len(values)) < ((scaled - whole) * TOTAL).astype(np.int64)
        return np.minimum(whole.astype(np.int64) + up, self.precision)

    @property
    def tally_size(self) -> int:
        """One sum."""
        return 1
