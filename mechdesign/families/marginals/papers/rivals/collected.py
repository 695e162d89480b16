"""How a rival's users report: one of many groups each, or all attributes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import RowError
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.papers.rivals.base import Learned, RivalSetting
from mechdesign.families.marginals.papers.rivals.cells import Array, CellOracle, Codes
from mechdesign.families.marginals.papers.rivals.expectation import ExpectationMaximization

GROUP, REPORT = "group", "report"

BETWEEN = "."
"""Between the numbers of a report about all attributes."""

PIECE = 1 << 20
"""Bits of reports that are drawn at a time."""


class Grouped(Protocol):
    """A rival whose users are split into groups, each of which reports the cell of one table."""

    setting: RivalSetting

    @property
    def group_count(self) -> int:
        """Number of groups that users are split into."""

    def group_oracle(self, group: int) -> CellOracle:
        """Return the oracle of a group."""

    def cells_of(self, codes: Codes, groups: Codes) -> Codes:
        """Return the cell that each person reports."""

    def answers(self, counts: Mapping[int, Codes], users: Codes) -> Learned:
        """Return the estimates from counts of support of each group."""

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the expected squared error of a marginal."""

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificates of privacy."""


Drawn = tuple[Codes, NDArray[Any]]
"""The groups of some users, and their reports as they stand in a table."""


@dataclass(frozen=True, eq=False)
class SplitCollection:
    """Each user's client draws one of the groups uniformly, and reports the user's cell of the group's table.

    The draw does not depend on the data. Given how many users each group has, who is in which is a random
    sample: the errors of a rival, which suppose that, hold for the numbers that came.
    """

    rival: Grouped

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return self.rival.group_count

    def draw(self, codes: Codes, source: BitSource) -> Iterator[Drawn]:
        """Yield groups and reports of pieces of the users."""
        widest = max(self.rival.group_oracle(0).cells, 1)
        step = max(1, PIECE // widest)
        for start in range(0, len(codes), step):
            people = codes[start : start + step]
            groups = (source.integers(len(people)) % self.group_count).astype(np.int64)
            yield groups, self._reports(self.rival.cells_of(people, groups), groups, source)

    def _reports(self, cells: Codes, groups: Codes, source: BitSource) -> NDArray[Any]:
        """Return the reports: numbers where all oracles report numbers, else texts."""
        kinds: dict[int, list[int]] = {}
        for group in np.unique(groups).tolist():
            kinds.setdefault(id(self.rival.group_oracle(group).mechanism), []).append(group)
        written: list[tuple[Codes, NDArray[Any]]] = []
        for members in kinds.values():
            oracle = self.rival.group_oracle(members[0])
            rows = np.flatnonzero(np.isin(groups, members))
            drawn = oracle.draw(cells[rows], source)
            written.append((rows, np.asarray(oracle.mechanism.written(drawn))))
        if all(values.dtype.kind in "iu" for _, values in written):
            return _placed(len(cells), written, np.dtype(np.int64))
        texts = [(rows, values.astype(str)) for rows, values in written]
        return _placed(len(cells), texts, max(values.dtype for _, values in texts))


@dataclass(frozen=True, eq=False)
class ProductCollection:
    """Everybody reports every attribute, each with a part of epsilon: the numbers, separated by points."""

    rival: ExpectationMaximization
    group_count: int = 1

    def draw(self, codes: Codes, source: BitSource) -> Iterator[Drawn]:
        """Yield groups, which are all 0, and reports of pieces of the users."""
        step = max(1, PIECE // len(self.rival.oracles))
        for start in range(0, len(codes), step):
            people = codes[start : start + step]
            columns = [
                oracle.draw(people[:, place], source) for place, oracle in enumerate(self.rival.oracles)
            ]
            rows = np.column_stack(columns).tolist()
            texts = np.array([BETWEEN.join(map(str, row)) for row in rows], dtype=np.str_)
            yield np.zeros(len(people), dtype=np.int64), texts

    def read(self, reports: Any) -> Codes:
        """Return the numbers that were reported, shape (n, d), or raise RowError naming the row."""
        sizes = self.rival.setting.sizes
        rows = []
        for number, report in enumerate(np.asarray(reports).tolist()):
            parts = str(report).split(BETWEEN)
            if len(parts) != len(sizes) or not all(part.isdecimal() and part.isascii() for part in parts):
                raise RowError(
                    "reports", number, f"'{report}' is not {len(sizes)} numbers with points between"
                )
            values = [int(part) for part in parts]
            if any(value >= size for value, size in zip(values, sizes, strict=True)):
                raise RowError("reports", number, f"'{report}' has a value that its attribute has not")
            rows.append(values)
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))


def _placed(count: int, parts: Sequence[tuple[Codes, NDArray[Any]]], form: np.dtype[Any]) -> NDArray[Any]:
    """Return one array from parts that stand in given rows."""
    made = np.zeros(count, dtype=form)
    for rows, values in parts:
        made[rows] = values
    return made
