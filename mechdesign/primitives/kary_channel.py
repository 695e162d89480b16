"""A k-ary response in floating point, as methods make it: parameters, and its matrix where that is small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.values import frozen_value

Array = NDArray[np.float64]

MAX_DENSE = 20_000
"""Matrices of more rows are refused: they would take gigabytes."""


@frozen_value(eq=False)
class KaryChannel:
    """A k-ary response in floating point: p_ij = (1 - delta) q_ij + delta [i = j].

    q is randomized response on the kept answers, with e^eps / (e^eps + k - 1) for the delegate of i
    and 1 / (e^eps + k - 1) for every other kept answer. A kept answer is its own delegate; the
    delegate of all others is the first kept one.

    Parameters
    ----------
    size : int
        Number of answers n.
    kept : (k,) int array
        The answers that are reported, the shared delegate first.
    epsilon, delta : float

    Examples
    --------
    >>> import numpy as np
    >>> channel = KaryChannel(3, np.array([2, 0]), epsilon=math.log(3))
    >>> np.asarray(channel).round(6)
    array([[0.75, 0.  , 0.25],
           [0.25, 0.  , 0.75],
           [0.25, 0.  , 0.75]])
    """

    size: int
    kept: NDArray[np.int64]
    epsilon: float
    delta: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.size, self.size

    @property
    def low(self) -> float:
        """Probability, before the share delta, of a kept answer that is not the delegate."""
        return math.exp(-self.epsilon) * self.high

    @property
    def high(self) -> float:
        """Probability, before the share delta, of the delegate: 1 - (k - 1) low."""
        return 1.0 / (1.0 + (len(self.kept) - 1) * math.exp(-self.epsilon))

    def diagonal(self) -> Array:
        """Return p_ii for every answer, shape (n,)."""
        values = np.full(self.size, self.delta)
        values[self.kept] = (1.0 - self.delta) * self.high + self.delta
        return values

    def dense(self) -> Array:
        """Return the (n, n) matrix; refuse sizes that would not fit in memory."""
        if self.size > MAX_DENSE:
            raise ParameterError(
                "channel", f"a dense matrix of {self.size} x {self.size} is too large", "use the structure"
            )
        matrix = np.zeros((self.size, self.size))
        matrix[:, self.kept] = (1.0 - self.delta) * self.low
        delegates = np.full(self.size, self.kept[0])
        delegates[self.kept] = self.kept
        rows = np.arange(self.size)
        matrix[rows, delegates] = (1.0 - self.delta) * self.high
        matrix[rows, rows] += self.delta
        return matrix

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.dense() if dtype is None else self.dense().astype(dtype)

    def as_json(self) -> dict[str, Any]:
        """Return the structure as plain values."""
        return {
            "structure": "k-ary response",
            "size": self.size,
            "kept": self.kept.tolist(),
            "delegate": int(self.kept[0]),
            "high": self.high,
            "low": self.low,
            "delta": self.delta,
        }
