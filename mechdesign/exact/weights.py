"""Integer weights on their way into an audit: a matrix of integers, rows that sum to 2**62."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.numbers import plain_int, rational, wholes
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


def weight(field: str, value: Any, low: int = 1, high: int = TOTAL - 1) -> int:
    """Return a weight out of 2**62 as a plain integer, or raise CertificateError."""
    try:
        read = plain_int(field, value)
    except ParameterError as error:
        raise error.as_a(CertificateError) from None
    if not low <= read <= high:
        raise CertificateError(field, f"{read} is not from {low} to {high}")
    return read


def view_weights(count: int, shares: Sequence[Any] | None) -> tuple[int, ...]:
    """Return shares as positive integers that sum to 2**62: the largest remainders are rounded up."""
    exact = [Fraction(1)] * count if shares is None else [rational("shares", share) for share in shares]
    if len(exact) != count:
        raise ParameterError("shares", f"{len(exact)} for {count} views", "give one each")
    if min(exact) <= 0:
        raise ParameterError("shares", "must be positive", "omit views that no user reports")
    parts = [share * TOTAL / sum(exact) for share in exact]
    rounded = [math.floor(part) for part in parts]
    order = sorted(range(count), key=lambda place: rounded[place] - parts[place])
    for place in order[: TOTAL - sum(rounded)]:
        rounded[place] += 1
    if min(rounded) < 1:
        raise ParameterError("shares", "one is below 2**-62 of all", "leave that view out")
    return tuple(rounded)
