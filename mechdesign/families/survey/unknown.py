"""Estimates without reports: the interval is all that is possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NOBODY = "no user was asked: the interval is all that is possible"


@dataclass(frozen=True)
class Unknown:
    """Limits where nothing is known: the whole range."""

    value: Array
    low: float
    high: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances to the ends of the range."""
        return self.value - self.low, self.high - self.value

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return True: nothing is excluded."""
        return np.ones(np.shape(difference), dtype=bool)
