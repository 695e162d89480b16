"""Hadamard response: report a number whose parity with the own category is likelier even (Acharya et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.labels import Codes
from mechdesign.collect.recipes import Steps, whole_hex
from mechdesign.exact.draw.compiled import compiled
from mechdesign.exact.draw.compiled.loops import of_parity
from mechdesign.exact.draw.heads import below_weight, digits
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.oracles.design import BlockDesign, NumberedBlocks

BLOCK = 1 << 16
"""Reports that are drawn at a time."""

NANOSECONDS = 12
"""What numpy takes for a report, about."""


class HadamardResponse(NumberedBlocks):
    """Report a number y below K, a power of two above D: one that the user's row marks with even / 2**62.

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
    _weight_name: ClassVar[str] = "even"
    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]] = (
        "a number that both rows mark",
        "a number that the first row marks",
        "a number that the second row marks",
        "a number that neither row marks",
    )

    def __init__(
        self, categories: int, epsilon: float, even: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.order = 1 << self.labels.size.bit_length()
        self._set_design(hadamard_design(self.order), even)

    @classmethod
    def of(cls, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        return cls(categories, epsilon, hadamard_design(4).largest_weight(epsilon), labels)

    @property
    def even(self) -> int:
        """The weight of the half that the user's row marks."""
        return self.include

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a number below K for the number of each category."""
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), BLOCK):
            even = below_weight(self.even, len(codes[start : start + BLOCK]), source)
            drawn = digits(self.order.bit_length() - 1, len(even), source)
            row = codes[start : start + BLOCK].astype(drawn.dtype) + drawn.dtype.type(1)
            loop = compiled(of_parity, NANOSECONDS * len(row))
            if loop is None:
                reports[start : start + BLOCK] = self._with_parity(row, drawn, even)
            else:
                loop(row, even, drawn, reports[start : start + BLOCK])
        return reports

    @staticmethod
    def _with_parity(row: NDArray[Any], drawn: NDArray[Any], even: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the drawn numbers, those with the lowest digit of the row flipped whose parity is wrong.

        Flipping that digit changes the parity: a bijection of the two halves.
        """
        wrong = is_odd(drawn & row) == even
        reports: NDArray[Any] = drawn ^ (row & -row) * wrong
        return reports

    def _client_steps(self) -> Steps:
        """Return the order of the matrix and the weight."""
        return {"step": "parity", "order": self.order, "even": whole_hex(self.even)}

    def supports(self, counts: Codes, users: int) -> Codes:
        """Return the number of reports that each row supports: (users + transform) / 2."""
        return (users + hadamard_transform(counts)[1 : self.labels.size + 1]) // 2


def hadamard_design(order: int) -> BlockDesign:
    """Return the design whose blocks are the numbers below K, each of the rows that mark it."""
    return BlockDesign(order, order // 2, order // 4)


def is_odd(numbers: Codes) -> NDArray[np.bool_]:
    """Return whether a number >= 0 has an odd number of binary digits 1.

    Examples
    --------
    >>> is_odd(np.array([0, 1, 3, 7]))
    array([False,  True, False,  True])
    """
    odd: NDArray[np.bool_] = (np.bitwise_count(numbers) & 1).view(np.bool_)
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
