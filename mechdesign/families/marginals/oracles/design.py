"""Frequency oracles of a block design: categories are points, and a report is a block, a set of points.

Of b blocks r go through each point and lambda through each two, whichever they are. With a weight w out of
T = 2**62 the block is uniform among those through the own point, else among the others, so that one through
it is w (b - r) / ((T - w) r) times as likely as one that is not. The chances of support, the audit and the
best weight follow from b, r and lambda; a design adds only which blocks there are. In a symmetric design of
v points b is v, and r is the size k of a block (Park, Nam, Lee 2023).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ReportClass
from mechdesign.collect.labels import Codes, Labels
from mechdesign.collect.oracle import Shares
from mechdesign.core.errors import DataError
from mechdesign.exact.exponential import exp_written
from mechdesign.exact.randomness import TOTAL
from mechdesign.exact.weights import weight
from mechdesign.families.marginals.oracles.base import SupportOracle


@dataclass(frozen=True)
class BlockDesign:
    """Number of blocks, in all, through each point and through each two points; up to a common factor.

    Examples
    --------
    >>> fano = BlockDesign(7, 3, 1)
    >>> fano.support_shares(Fraction(3, 4))  # 3/4 * 1/3 + 1/4 * 2/4
    (Fraction(3, 4), Fraction(3, 8))
    """

    blocks: int
    through: int
    both: int

    def support_shares(self, through: Fraction) -> Shares:
        """Return how likely a block is through the own and through another point, given the former."""
        beside = Fraction(self.through - self.both, self.blocks - self.through)
        return through, through * Fraction(self.both, self.through) + (1 - through) * beside

    def largest_weight(self, epsilon: float) -> int:
        """Return the largest weight of the blocks through the user's point that keeps the guarantee."""
        inside = self.through * exp_written(epsilon)
        return math.floor(TOTAL * inside / (inside + self.blocks - self.through))

    def classes(self, include: int, names: Sequence[str]) -> tuple[ReportClass, ...]:
        """Return the blocks by which of two points they go through: both, the first, the second, neither."""
        inside, outside = include * (self.blocks - self.through), (TOTAL - include) * self.through
        one, neither = self.through - self.both, self.blocks - 2 * self.through + self.both
        sides = ((inside, inside), (inside, outside), (outside, inside), (outside, outside))
        counts = (self.both, one, one, neither)
        return tuple(
            ReportClass(name, count, *side) for name, count, side in zip(names, counts, sides, strict=True)
        )


class BlockOracle(SupportOracle):
    """Base class of the oracles of a block design.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    design : BlockDesign
    include : int
        The weight, out of 2**62, of the blocks through the own point.
    labels : sequence of str, optional
    """

    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]]
    """What blocks through both of two points, the first, the second and neither are called."""
    _weight_name: ClassVar[str] = "include"

    def _set_design(self, design: BlockDesign, include: int) -> None:
        self.design, self.include = design, weight(self._weight_name, include)
        self._require_private()

    def weights(self) -> dict[str, int]:
        """Return the weight of the blocks through the user's point."""
        return {self._weight_name: self.include}

    def support_shares(self) -> Shares:
        """Return the probabilities that the own and another category are in the block."""
        return self.design.support_shares(Fraction(self.include, TOTAL))

    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the blocks by which of two categories they hold."""
        return self.design.classes(self.include, self._kinds_of_blocks)


class NumberedBlocks(BlockOracle):
    """Base class of the oracles whose blocks have numbers: the server counts how often each is reported."""

    @property
    def report_bits(self) -> int:
        """The bits that number all blocks."""
        return (self.design.blocks - 1).bit_length()

    @property
    def _report_text(self) -> str:
        """Content of a column of reports."""
        return f"a number from 0 to {self.design.blocks - 1}"

    def read(self, reports: Any) -> NDArray[Any]:
        """Return numbers of blocks, from those or from texts."""
        return Labels(self.design.blocks).encode(reports, "reports")

    @property
    def counters(self) -> int:
        """One per block."""
        return self.design.blocks

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return the count of each block among the reports."""
        return np.bincount(reports, minlength=self.counters).astype(np.int64)

    @abstractmethod
    def supports(self, counts: Codes, users: int) -> Codes:
        """Return the number of reported blocks through each point."""

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError unless there are as many reports as users."""
        if sum(counts) != users:
            raise DataError(
                "aggregator",
                "the counts are damaged: not as many reports as users",
                "count the reports again",
            )
