"""Rivals that release tables: FC one of all attributes, AM all of k attributes, Uni the uniform one.

FC collects the full contingency table through one oracle (Zhang 2019, section 3.2.3). AM collects all k-way
marginals, each from a group of users of its own (section 3.2.4). Uni, the uniform table, asks nobody; whoever
is worse learned nothing (section 3.4.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError
from mechdesign.core.validation import user_count
from mechdesign.exact.randomness import Rng, bit_source, numpy_generator
from mechdesign.families.marginals.papers.rivals.base import (
    Array,
    CellOracle,
    Codes,
    Rival,
    RivalSetting,
    cell_numbers,
    gibibytes,
    spaced,
)


@dataclass(frozen=True)
class UniformTables:
    """Equal cells."""

    setting: RivalSetting

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return equal cells, one axis an attribute."""
        shape = [self.setting.sizes[attribute] for attribute in self.setting.places(attributes)]
        return np.full(shape, 1.0 / np.prod(shape))


class UniformAnswer(Rival):
    """Uni: answers without any data.

    Examples
    --------
    >>> rival = UniformAnswer([2, 2], 1.0, 2)
    >>> rival.predicted_error((0, 1), 100, np.array([[0.7, 0.1], [0.1, 0.1]]))  # 0.52 - 1/4
    0.27
    """

    name: ClassVar[str] = "Uni"

    def certificates(self) -> tuple[Certificate, ...]:
        figures = {"epsilon": self.setting.epsilon, "true_epsilon": 0.0}
        return (Certificate("privacy", True, True, figures, note="nothing is reported"),)

    def randomize(self, codes: Any, rng: Rng = None) -> None:
        """Check the users' values, and report nothing."""
        self.setting.people(codes)

    def estimate(self, reports: None) -> UniformTables:
        return UniformTables(self.setting)

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the squared distance of the people's table; without it the largest possible one."""
        cells = self.setting.cells(self.setting.places(attributes))
        squares = 1.0 if table is None else float((table**2).sum())
        return round(squares - 1.0 / cells, 15)


MOST_JOINT_CELLS = 1 << 16
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
        places = self.setting.places(attributes)
        others = tuple(axis for axis in range(self.setting.attributes) if axis not in places)
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
        cells = math.prod(self.setting.sizes)
        if cells <= MOST_JOINT_CELLS:
            return None
        return (
            f"a table of {spaced(cells)} cells, {gibibytes(cells)}, and as many bits a report; at most "
            f"{spaced(MOST_JOINT_CELLS)} cells are held: drop attributes, or take views (MarginalRelease)"
        )

    @cached_property
    def oracle(self) -> CellOracle:
        """The oracle of the whole table."""
        return self.oracle_for(math.prod(self.setting.sizes))

    def certificates(self) -> tuple[Certificate, ...]:
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
        return self.oracle.draw(self._cells(codes), bit_source(rng))

    def estimate(self, reports: NDArray[Any]) -> FullTable:
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
        cells = self.setting.cells(self.setting.places(attributes))
        return self.oracle.summed_variance(cells) / user_count(users)


MOST_CELLS = 1 << 26
"""More cells of all tables together are refused: half a GiB."""

MOST_TABLES = 1 << 18
"""More tables are refused; each needs a group of users."""

Attributes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AllTables:
    """The estimated tables, and how many users each comes from."""

    setting: RivalSetting
    tables: Mapping[Attributes, Array]
    users: Mapping[Attributes, int]

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return the marginal from all tables that have its attributes, weighted by their users."""
        places = self.setting.places(attributes, self.setting.order)
        total, people = np.zeros([self.setting.sizes[item] for item in places]), 0
        if len(places) == self.setting.order:
            holders = [places] if places in self.tables else []
        else:
            holders = [holder for holder in self.tables if set(places) <= set(holder)]
        if not holders:
            raise DataError(
                "AM", f"no user reported a table with attributes {list(places)}", "collect from more"
            )
        for holder in holders:
            others = tuple(axis for axis, item in enumerate(holder) if item not in places)
            total += self.users[holder] * self.tables[holder].sum(axis=others)
            people += self.users[holder]
        return total / people


class AllMarginals(Rival):
    r"""AM: the users are split evenly over all k-way tables, and each reports the user's cell of one.

    (3.2) states :math:`2^k \binom dk \mathrm{Var}_0`. Exactly, for a table of K cells and a group of g of n
    users: the oracle's noise with g users, and :math:`(1 - \sum M^2)(n - g) / (g (n - 1))` because the
    group is a sample of them.

    Examples
    --------
    >>> AllMarginals([2] * 32, 0.5, 8)
    Traceback (most recent call last):
    ...
    mechdesign.core.errors.ParameterError: AM: C(32, 8) = 10 518 300 tables, 20 GiB, and a group of users ...
    """

    name: ClassVar[str] = "AM"

    def why_not(self) -> str | None:
        d, k = self.setting.attributes, self.setting.order
        count = math.comb(d, k)
        cells = elementary(self.setting.sizes, k)
        if count <= MOST_TABLES and cells <= MOST_CELLS:
            return None
        return (
            f"C({d}, {k}) = {spaced(count)} tables, {gibibytes(cells)}, and a group of users for each; "
            f"at most {spaced(MOST_TABLES)} tables and {gibibytes(MOST_CELLS)} are held: ask for a lower "
            "order, or take views (MarginalRelease)"
        )

    @cached_property
    def groups(self) -> list[Attributes]:
        """The attributes of each group's table."""
        return list(combinations(range(self.setting.attributes), self.setting.order))

    @cached_property
    def oracles(self) -> dict[int, CellOracle]:
        """The oracle for each number of cells."""
        sizes = {self.setting.cells(group) for group in self.groups}
        return {cells: self.oracle_for(cells) for cells in sorted(sizes)}

    def certificates(self) -> tuple[Certificate, ...]:
        return tuple(oracle.certificate() for oracle in self.oracles.values())

    def oracle_of(self, group: Attributes) -> CellOracle:
        """Return the oracle of a group."""
        return self.oracles[self.setting.cells(group)]

    @property
    def group_count(self) -> int:
        """Number of groups that users are split into."""
        return len(self.groups)

    def group_oracle(self, group: int) -> CellOracle:
        """Return the oracle of a group by its number."""
        return self.oracle_of(self.groups[group])

    def cells_of(self, codes: Codes, groups: Codes) -> Codes:
        """Return the cell that each person reports, given the numbers of their groups."""
        cells = np.zeros(len(codes), dtype=np.int64)
        attributes, sizes = np.array(self.groups)[groups], np.array(self.setting.sizes)
        for place in range(self.setting.order):
            attribute = attributes[:, place]
            cells = cells * sizes[attribute] + codes[np.arange(len(codes)), attribute]
        return cells

    def answers(self, counts: Mapping[int, Codes], users: Codes) -> AllTables:
        """Return the estimates from counts of support of each group; groups without users are omitted."""
        tables, people = {}, {}
        for number, counted in counts.items():
            group = self.groups[number]
            shape = [self.setting.sizes[item] for item in group]
            people[group] = int(users[number])
            tables[group] = self.oracle_of(group).estimate(counted, people[group]).reshape(shape)
        return AllTables(self.setting, tables, people)

    def group_users(self, users: int) -> Codes:
        """Return the number of users of each group: as equal as possible."""
        count = len(self.groups)
        if users < count:
            raise DataError(
                self.name,
                f"{spaced(users)} users for {spaced(count)} tables",
                f"at least {spaced(count)} are needed",
            )
        return users // count + (np.arange(count) < users % count)

    def _cells(self, codes: Any, rng: Rng) -> list[Codes]:
        """Return the cells of the people of each group; who is in which is drawn evenly."""
        people = self.setting.people(codes)
        ends = np.cumsum(self.group_users(len(people)))[:-1]
        shuffled = numpy_generator(rng, "groups").permutation(len(people))
        parts = zip(self.groups, np.split(shuffled, ends), strict=True)
        return [cell_numbers(people[rows], self.setting.sizes, group) for group, rows in parts]

    def randomize(self, codes: Any, rng: Rng = None) -> list[NDArray[Any]]:
        cells, source = self._cells(codes, rng), bit_source(rng)
        pairs = zip(self.groups, cells, strict=True)
        return [self.oracle_of(group).draw(numbers, source) for group, numbers in pairs]

    def estimate(self, reports: Sequence[NDArray[Any]]) -> AllTables:
        pairs = zip(self.groups, reports, strict=True)
        return self._answer(
            [self.oracle_of(group).count(part) for group, part in pairs], [len(part) for part in reports]
        )

    def simulate(self, codes: Any, rng: Rng = None) -> AllTables:
        """Return an answer of the same distribution without drawing each report."""
        cells, generator = self._cells(codes, rng), numpy_generator(rng, self.name)
        counts = []
        for group, numbers in zip(self.groups, cells, strict=True):
            oracle = self.oracle_of(group)
            counts.append(oracle.simulate(np.bincount(numbers, minlength=oracle.cells), generator))
        return self._answer(counts, [len(numbers) for numbers in cells])

    def _answer(self, counts: Sequence[Codes], users: Sequence[int]) -> AllTables:
        tables = {}
        for group, counted, people in zip(self.groups, counts, users, strict=True):
            shape = [self.setting.sizes[item] for item in group]
            tables[group] = self.oracle_of(group).estimate(counted, people).reshape(shape)
        return AllTables(self.setting, tables, dict(zip(self.groups, users, strict=True)))

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the expected squared error: noise of the groups that are asked, and of sampling them."""
        return self.error_of_groups(attributes, self.group_users(user_count(users)), table)

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the expected squared error of a marginal, given how many users each group has."""
        places = self.setting.places(attributes, self.setting.order)
        n, cells = int(users.sum()), self.setting.cells(places)
        respondents, noise = 0, 0.0
        for group, people in zip(self.groups, users.tolist(), strict=True):
            if set(places) <= set(group):
                respondents += people
                noise += people * self.oracle_of(group).summed_variance(cells)
        spread = 1.0 - (1.0 / cells if table is None else float((table**2).sum()))
        if not respondents:
            return math.inf
        return noise / respondents**2 + spread * sampled(n, respondents)


def sampled(users: int, respondents: int) -> float:
    """Return the variance of the share among ``respondents`` of all users, over that of one user.

    Examples
    --------
    >>> sampled(100, 1), sampled(100, 100)
    (1.0, 0.0)
    """
    return (users - respondents) / (respondents * (users - 1)) if users > 1 else 0.0


def elementary(sizes: Sequence[int], order: int) -> int:
    """Return the sum, over all subsets of ``order`` sizes, of their product.

    Examples
    --------
    >>> elementary([2, 3, 4], 2)
    26
    """
    sums = [1] + [0] * order
    for size in sizes:
        for place in range(order, 0, -1):
            sums[place] += size * sums[place - 1]
    return sums[order]
