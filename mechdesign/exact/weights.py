"""Integer weights on their way into an audit: a matrix of integers, rows that sum to 2**62."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.numbers import wholes
from mechdesign.exact.randomness import TOTAL

Weights = NDArray[np.int64]


def weight_matrix(weights: Any) -> Weights:
    """Return a non-empty matrix of integers in [0, 2**62] as a frozen int64 array, or refuse it."""
    try:
        matrix = wholes("channel", weights, 2)
    except ParameterError as error:
        raise error.as_a(CertificateError) from None
    if matrix.size == 0:
        raise CertificateError("channel", "expected a non-empty matrix of 64-bit integers")
    if int(matrix.min()) < 0:
        row, column = np.argwhere(matrix < 0)[0]
        raise CertificateError("channel", f"the weight of report {column} in row {row} is negative")
    if int(matrix.max()) > TOTAL:
        row, column = np.argwhere(matrix > TOTAL)[0]
        raise CertificateError("channel", f"the weight of report {column} in row {row} exceeds 2**62")
    return matrix


def require_channel(weights: Any) -> Weights:
    """Return the matrix as a frozen channel of 62-bit weights, or raise CertificateError naming the row."""
    matrix = weight_matrix(weights)
    # Rows are added as two 31-bit halves: no sum of fewer than 2**32 of them can overflow.
    low, high = (matrix & 0x7FFFFFFF).sum(axis=1), (matrix >> 31).sum(axis=1)
    for row, (low_sum, high_sum) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        total = (high_sum << 31) + low_sum
        if total != TOTAL:
            raise CertificateError("channel", f"row {row} sums to {total}, not 2**62 = {TOTAL}")
    return matrix
