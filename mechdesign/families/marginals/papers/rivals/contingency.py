"""FC: the full contingency table through one oracle (Zhang 2019, section 3.2.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.validation import user_count
from mechdesign.exact.randomness import Rng, bit_source, numpy_generator
from mechdesign.families.marginals.papers.rivals.base import (
    Rival,
    RivalSetting,
    cell_numbers,
    gibibytes,
    spaced,
)
from mechdesign.families.marginals.papers.rivals.cells import Array, CellOracle, Codes

MOST_CELLS = 1 << 16
"""Larger tables are refused: a report has a bit per cell."""

BLOCK = 1 << 24
"""Bits of reports that are held at a time."""


@dataclass(frozen=True, eq=False)
class FullTable:
    """The estimated contingency table, shape (c_1, ..., c_d)."""

    setting: RivalSetting
    table: Array

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return the sums over all other attributes."""
        kept = self.setting.wanted(attributes)
        others = tuple(axis for axis in range(self.setting.attributes) if axis not in kept)
        summed: Array = self.table.sum(axis=others)
        return summed


class FullContingency(Rival):
    r"""FC: every user reports a cell of the table of all attributes.

    Any marginal has the summed variance :math:`2^d \mathrm{Var}_0` of (3.1); exactly, for people who are
    given, :math:`(2^d \cdot 4 e^\varepsilon / (e^\varepsilon - 1)^2 + 1) / n` with unary encoding.

    Examples
    --------
    >>> rival = FullContingency([2] * 8, 0.5, 3)
    >>> round(1e4 * rival.predicted_error((0, 1, 2), 10**4), 3) == round(rival.oracle.summed_variance(), 3)
    True
    >>> FullContingency([2] * 32, 0.5, 3)
    Traceback (most recent call last):
    ...
    mechdesign.core.errors.ParameterError: FC: a table of 4 294 967 296 cells, 32 GiB, and as many ...
    """

    name: ClassVar[str] = "FC"

    def why_not(self) -> str | None:
        """Return why the table would be too large, or None."""
        cells = math.prod(self.setting.sizes)
        if cells <= MOST_CELLS:
            return None
        return (
            f"a table of {spaced(cells)} cells, {gibibytes(cells)}, and as many bits a report; at most "
            f"{spaced(MOST_CELLS)} cells are held: drop attributes, or take views (MarginalRelease)"
        )

    @cached_property
    def oracle(self) -> CellOracle:
        """The oracle of the whole table."""
        return self.oracle_for(math.prod(self.setting.sizes))

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the exact certificate of a report."""
        return (self.oracle.certificate(),)

    @property
    def group_count(self) -> int:
        """Number of groups that users are split into."""
        return 1

    def group_oracle(self, group: int) -> CellOracle:
        """Return the oracle of the one group."""
        return self.oracle

    def cells_of(self, codes: Codes, groups: Codes) -> Codes:
        """Return the cell that each person reports."""
        return cell_numbers(codes, self.setting.sizes, range(self.setting.attributes))

    def answers(self, counts: Mapping[int, Codes], users: Codes) -> FullTable:
        """Return the estimates from counts of support of each group."""
        return self._answer(counts[0], int(users[0]))

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the expected squared error of a marginal, given how many users each group has."""
        return self.predicted_error(attributes, int(users[0]), table)

    def _cells(self, codes: Any) -> Codes:
        return cell_numbers(self.setting.people(codes), self.setting.sizes, range(self.setting.attributes))

    def randomize(self, codes: Any, rng: Rng = None) -> NDArray[Any]:
        """Return one report a person, about the user's cell."""
        return self.oracle.draw(self._cells(codes), bit_source(rng))

    def estimate(self, reports: NDArray[Any]) -> FullTable:
        """Return the estimated table."""
        return self._answer(self.oracle.count(reports), len(reports))

    def release(self, codes: Any, rng: Rng = None) -> FullTable:
        """Draw and count reports in blocks, so that they need not fit in memory together."""
        cells, source = self._cells(codes), bit_source(numpy_generator(rng) if isinstance(rng, int) else rng)
        rows = max(1, BLOCK // self.oracle.cells)
        counts = sum(
            self.oracle.count(self.oracle.draw(cells[start : start + rows], source))
            for start in range(0, len(cells), rows)
        )
        return self._answer(counts, len(cells))

    def simulate(self, codes: Any, rng: Rng = None) -> FullTable:
        """Return an answer of the same distribution without drawing each bit of each report."""
        cells = self._cells(codes)
        people = np.bincount(cells, minlength=self.oracle.cells)
        return self._answer(self.oracle.simulate(people, numpy_generator(rng, self.name)), len(cells))

    def _answer(self, counts: Any, users: int) -> FullTable:
        return FullTable(self.setting, self.oracle.estimate(counts, users).reshape(self.setting.sizes))

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the expected squared error, which is the same whatever the people's table is."""
        cells = self.setting.cells(self.setting.wanted(attributes))
        return self.oracle.summed_variance(cells) / user_count(users)
