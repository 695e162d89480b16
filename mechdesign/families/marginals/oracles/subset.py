"""Subset selection: report k categories, likelier a set with the user's own (Ye, Barg 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.labels import Codes
from mechdesign.collect.moments import Moments, of_sets
from mechdesign.collect.recipes import Steps, whole_hex
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Values
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.exact.draw.dense import dense_subsets, is_dense, share_of
from mechdesign.exact.draw.draws import packed_subsets
from mechdesign.exact.draw.packed import as_texts, member_counts, read_sets, set_sizes, width
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.oracles.design import BlockDesign, BlockOracle

BLOCK = 1 << 19
"""Entries of a table of membership that are drawn at a time."""

DENSE_BLOCK = 1 << 22
"""Bits of sets that are drawn at a time where sets are large."""


class SubsetSelection(BlockOracle):
    """Report k of the D categories: the user's own and k - 1 others with weight include, else k others.

    Which others is uniform; the weight is out of T = 2**62. A set that holds the own category is
    include (D - k) / ((T - include) k) times as likely as one that does not.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    size : int
        k, from 1 to D - 1.
    include : int
        A weight out of 2**62.
    labels : sequence of str, optional

    Notes
    -----
    Source: Ye, Barg (2018), eq. (7); Wang et al. (2016).

    Examples
    --------
    >>> oracle = SubsetSelection.of(6, 1.0, size=2)
    >>> oracle.audit().holds, round(oracle.variance(), 6)
    (True, 2.399634)
    """

    type: ClassVar[str] = "subset-selection"
    _fixed_support: ClassVar[bool] = True
    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]] = (
        "a set with both",
        "a set with the first only",
        "a set with the second only",
        "a set with neither",
    )

    def __init__(
        self, categories: int, epsilon: float, size: int, include: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.size = integer("size", size, 1, self.labels.size - 1)
        self._set_design(subset_design(self.labels.size, self.size), include)

    @classmethod
    def of(cls, categories: int, epsilon: float, size: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        count = integer("categories", categories, 2)
        chosen = integer("size", size, 1, count - 1)
        return cls(count, epsilon, chosen, subset_design(count, chosen).largest_weight(epsilon), labels)

    def parameters(self) -> dict[str, int]:
        """Return k."""
        return {"size": self.size}

    def supported(self, cells: int) -> tuple[Moments, Moments]:
        """Return the moments of how many of ``cells`` categories are in the set."""
        return of_sets(self.support_shares()[0], self.labels.size, self.size, cells)

    @property
    def report_bits(self) -> int:
        """The bits that number all sets of this size."""
        return (math.comb(self.labels.size, self.size) - 1).bit_length()

    @property
    def _report_text(self) -> str:
        """Content of a column of reports."""
        digits = 2 * width(self.labels.size)
        return f"'x' and {digits} hexadecimal digits: a bit a category, {self.size} of them 1"

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return packed sets, shape (n, bytes), for the number of each category."""
        reports = np.empty((len(codes), width(self.labels.size)), dtype=np.uint8)
        dense = is_dense(self.labels.size, self.size)
        entries = DENSE_BLOCK if dense else BLOCK
        rows = 1 << max(0, (entries // self.labels.size).bit_length() - 1)
        for start in range(0, len(codes), rows):
            part = codes[start : start + rows]
            drawn = self._dense if dense and len(part) > 1 else self._one_by_one
            reports[start : start + rows] = drawn(part, source)
        return reports

    def _one_by_one(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return sets as a client draws them."""
        drawn = np.empty((len(codes), width(self.labels.size)), dtype=np.uint8)
        included = source.integers(len(codes)) < self.include
        for own in (True, False):
            where = np.flatnonzero(included == own)
            part = codes[where]
            sets = packed_subsets(part, self.labels.size, self.size - own, source)
            if own:
                sets[np.arange(len(where)), part >> 3] |= np.right_shift(128, part & 7).astype(np.uint8)
            drawn[where] = sets
        return drawn

    def _dense(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return sets of many members, many sets at a time."""
        included = source.integers(len(codes)) < self.include
        share = share_of(self.labels.size, self.size)
        sets = dense_subsets(codes, self.size - included.astype(np.int64), self.labels.size, share, source)
        bit = np.where(included, np.right_shift(128, codes & 7), 0).astype(np.uint8)
        sets[np.arange(len(codes)), codes >> 3] |= bit
        return sets[:, : width(self.labels.size)]

    def _client_steps(self) -> Steps:
        """Return categories, k and the weight."""
        shape = {"categories": self.labels.size, "size": self.size}
        return {"step": "subset", **shape, "include": whole_hex(self.include)}

    def read(self, reports: Any) -> NDArray[Any]:
        """Return packed sets, from those or from texts; refuse sets of another size."""
        packed = read_sets(reports, self.labels.size)
        sizes = set_sizes(packed)
        if (sizes != self.size).any():
            row = int(np.argmax(sizes != self.size))
            raise RowError(
                "reports",
                row,
                f"a set of {int(sizes[row])} categories, not of {self.size}",
                "use the mechanism file the reports were made with",
            )
        return packed

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return the number of sets that contain each category."""
        return member_counts(reports, self.labels.size)

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError unless the counts add up to k a report."""
        if sum(counts) != self.size * users:
            raise DataError(
                "aggregator",
                f"the counts are damaged: not {counted(self.size, 'category')} a report",
                "count the reports again",
            )

    def written(self, reports: NDArray[Any]) -> Values:
        """Return the texts of packed sets."""
        return as_texts(reports)


def subset_design(categories: int, size: int) -> BlockDesign:
    """Return the design of all subsets of k of D categories: k/D of them hold a category.

    Examples
    --------
    >>> subset_design(3, 2)  # six times half of the three sets, of which two hold a category, one holds two
    BlockDesign(blocks=6, through=4, both=2)
    """
    others = categories - 1
    return BlockDesign(categories * others, size * others, size * (size - 1))
