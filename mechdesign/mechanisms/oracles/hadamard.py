"""Hadamard response: report a number whose parity with the own category is likelier even (Acharya et al.)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ReportClass
from mechdesign.audit.exponential import exp_lower
from mechdesign.core.errors import DataError
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import privacy_epsilon
from mechdesign.mechanisms.labels import Codes, Labels
from mechdesign.mechanisms.oracles.base import Shares, SupportOracle, weight

BLOCK = 1 << 16
"""Reports that are drawn at a time."""


class HadamardResponse(SupportOracle):
    """Report a number y below K, a power of two above D: one that the own row marks with even / 2**62.

    Row x + 1 of the Hadamard matrix of order K marks the half of all y with an even number of common binary
    digits; any two rows mark half of each other's. Reports have log2 K bits only.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    even : int
        A weight out of 2**62.
    labels : sequence of str, optional

    Notes
    -----
    Source: Acharya, Sun, Zhang (2019), section 3, the scheme for high privacy.

    Examples
    --------
    >>> oracle = HadamardResponse.of(6, 1.0)
    >>> oracle.order, oracle.report_bits, round(oracle.variance(), 6)  # ((e + 1)/(e - 1))^2
    (8, 3, 4.682694)
    """

    type: ClassVar[str] = "hadamard-response"
    most_categories: ClassVar[int] = 1 << 20

    def __init__(
        self, categories: int, epsilon: float, even: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.order = 1 << self.labels.size.bit_length()
        self.even = weight("even", even)
        self._require_private()

    @classmethod
    def of(cls, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        bound = exp_lower(privacy_epsilon(epsilon))
        return cls(categories, epsilon, math.floor(TOTAL * bound / (1 + bound)), labels)

    def weights(self) -> dict[str, int]:
        """Return the weight of the marked half."""
        return {"even": self.even}

    def support_shares(self) -> Shares:
        """Return the chance of the own half, and 1/2 for any other row's."""
        return Fraction(self.even, TOTAL), Fraction(1, 2)

    def report_classes(self) -> tuple[ReportClass, ...]:
        """Return the numbers by which of two rows mark them: a quarter of all in each class."""
        even, odd, quarter = self.even, TOTAL - self.even, self.order // 4
        return (
            ReportClass("a number that both rows mark", quarter, even, even),
            ReportClass("a number that the first row marks", quarter, even, odd),
            ReportClass("a number that the second row marks", quarter, odd, even),
            ReportClass("a number that neither row marks", quarter, odd, odd),
        )

    @property
    def report_bits(self) -> int:
        """The binary digits of a report."""
        return self.order.bit_length() - 1

    @property
    def report_text(self) -> str:
        """What stands in a column of reports."""
        return f"a number from 0 to {self.order - 1}"

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a number below K for the number of each category."""
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), BLOCK):
            row = codes[start : start + BLOCK] + 1
            wanted = source.integers(len(row)) >= self.even  # whether the parity is to be odd
            drawn = source.integers(len(row)) & (self.order - 1)
            wrong = is_odd(drawn & row) != wanted
            # Flipping the lowest digit of the row changes the parity: a bijection of the two halves.
            reports[start : start + BLOCK] = drawn ^ np.where(wrong, row & -row, 0)
        return reports

    def read(self, reports: Any) -> NDArray[Any]:
        """Return numbers below K, from those or from texts."""
        return Labels(self.order).encode(reports, "reports")

    @property
    def counters(self) -> int:
        """One a possible report."""
        return self.order

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return how often each number was reported."""
        return np.bincount(reports, minlength=self.order).astype(np.int64)

    def supports(self, counts: Codes, users: int) -> Codes:
        """Return how many reports each row marks: (users + transform) / 2."""
        return (users + hadamard_transform(counts)[1 : self.labels.size + 1]) // 2

    def require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError unless there are as many reports as users."""
        if sum(counts) != users:
            raise DataError(
                "aggregator: the counts are damaged: not as many reports as users; count the reports again"
            )


def is_odd(numbers: Codes) -> NDArray[np.bool_]:
    """Return whether a number below 2**32 has an odd number of binary digits 1.

    Examples
    --------
    >>> is_odd(np.array([0, 1, 3, 7]))
    array([False,  True, False,  True])
    """
    folded = numbers
    for shift in (16, 8, 4, 2, 1):
        folded = folded ^ (folded >> shift)
    odd: NDArray[np.bool_] = (folded & 1).astype(np.bool_)
    return odd


def hadamard_transform(counts: Codes) -> Codes:
    """Return sum_y (-1)^(common digits of x and y) counts_y for every x, in K log K exact steps.

    Examples
    --------
    >>> hadamard_transform(np.array([3, 1, 0, 0]))
    array([4, 2, 4, 2])
    """
    found, half = counts.copy(), 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return found
