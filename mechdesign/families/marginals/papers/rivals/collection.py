"""How a rival collects: what users report, the server that counts it, and the commands on tables.

Users report in one of many groups each (:class:`SplitCollection`), or all attributes at once
(:class:`ProductCollection`). The server counts the reports of every group, mergeable in any order. Tables:
users' columns in, ``group`` and ``report`` out; marginals from them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Labels
from mechdesign.collect.collecting import (
    ANYWAY,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Option,
    Settings,
    collect,
    estimated,
    marked,
)
from mechdesign.collect.collector import Aggregator
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.server import Server, require_users, whole_rows
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, RowError
from mechdesign.data.intake import Block, Source
from mechdesign.data.tidy import AskedTables
from mechdesign.exact.numbers import plain
from mechdesign.exact.randomness import BitSource, bit_source
from mechdesign.families.marginals.oracles.support import CellCounts, asked_attributes
from mechdesign.families.marginals.papers.rivals.answers import RivalEstimate, RivalMarginals
from mechdesign.families.marginals.papers.rivals.base import Array, CellOracle, Codes, Learned, RivalSetting
from mechdesign.families.marginals.papers.rivals.expectation import ExpectationMaximization
from mechdesign.primitives.attributes import MARGINAL, AttributeMechanism, encoded, people, with_reports

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
            draws = oracle.draw(cells[rows], source)
            written.append((rows, np.asarray(oracle.mechanism.written(draws))))
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
    result = np.zeros(count, dtype=form)
    for rows, values in parts:
        result[rows] = values
    return result


GroupCounts = Aggregator[FrequencyEstimate] | CellCounts[Any]


class CollectedRival(AttributeMechanism[RivalMarginals]):
    """What counts and tables use of a rival's mechanism."""

    collection: SplitCollection | ProductCollection

    @abstractmethod
    def draw(self, codes: Codes, source: BitSource) -> Iterator[Drawn]:
        """Yield groups and reports of pieces of the users, given the numbers of their values (n, d)."""

    @abstractmethod
    def answered(self, answers: Learned, group_users: Codes, population: bool) -> RivalMarginals:
        """Return the estimate of what was counted."""


class RivalCounts(Server["CollectedRival"]):
    """Counts of the reports of every group: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals.papers.rivals import MarginalRival
    >>> mechanism = MarginalRival.of("AM", [2, 3, 2], 2.0, 2)
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([[0, 2, 1]] * 30, rng=1))
    >>> there.update(mechanism.randomize([[1, 0, 1]] * 20, rng=2))
    >>> here.merge(there)
    >>> here.users
    50
    """

    def __init__(self, mechanism: CollectedRival) -> None:
        super().__init__(mechanism)
        self.groups: dict[int, GroupCounts] = {}
        self.rows: dict[tuple[int, ...], int] = {}

    @property
    def split(self) -> Grouped | None:
        """The rival whose users are split into groups; None where every user reports all attributes."""
        collection = self.mechanism.collection
        return collection.rival if isinstance(collection, SplitCollection) else None

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return sum(counter.users for counter in self.groups.values()) + sum(self.rows.values())

    def _count(self, reports: Any) -> None:
        """Count records with the fields ``group`` and ``report``; nothing is counted if one is impossible."""
        array = np.asarray(reports)
        if array.dtype.names is None or set(array.dtype.names) != {GROUP, REPORT} or array.ndim != 1:
            raise DataError(
                "reports",
                f"expected records with the fields '{GROUP}' and '{REPORT}', as randomize returns them",
            )
        self.add(array[GROUP], array[REPORT])

    def count_table(self, source: Source, settings: Settings) -> None:
        collect([source], lambda table: with_reports(table, GROUP, settings, self.mechanism), self.add)

    def add(self, groups: Any, reports: Any) -> None:
        """Count the reports of some users, given the numbers of their groups."""
        collection = self.mechanism.collection
        numbers = Labels(collection.group_count).encode(groups, "reports: group")
        if isinstance(collection, ProductCollection):
            rows, counts = np.unique(collection.read(reports), axis=0, return_counts=True)
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                self.rows[tuple(row)] = self.rows.get(tuple(row), 0) + count
            return
        order = np.argsort(numbers, kind="stable")
        there, starts = np.unique(numbers[order], return_index=True)
        fresh: dict[int, GroupCounts] = {}
        bounds = [*starts.tolist(), len(numbers)]
        for group, (start, stop) in zip(there.tolist(), pairwise(bounds), strict=True):
            rows = order[start:stop]
            fresh[group] = collection.rival.group_oracle(group).mechanism.aggregator()
            try:
                fresh[group].update(np.asarray(reports)[rows])
            except RowError as error:
                where, row = f"{error.where}: group {group}", int(rows[error.row])
                raise error.changed(where=where, row=row) from None
        self._add_groups(fresh)

    def _add_groups(self, fresh: Mapping[int, GroupCounts]) -> None:
        for group, counter in fresh.items():
            if group in self.groups:
                self.groups[group].merge(counter)  # type: ignore[arg-type]
            else:
                self.groups[group] = counter

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        restored = type(self).from_json(self.mechanism, other.as_json())  # a copy: the other stays as it is
        self._add_groups(restored.groups)
        for row, count in restored.rows.items():
            self.rows[row] = self.rows.get(row, 0) + count

    def estimate(self, population: bool = False) -> RivalMarginals:
        """Return the data that any marginal is estimated from."""
        self.require_some()
        collection = self.mechanism.collection
        if isinstance(collection, ProductCollection):
            table = np.repeat(np.array(list(self.rows)), list(self.rows.values()), axis=0)
            users = np.array([self.users])
            return self.mechanism.answered(collection.rival.estimate(table), users, population)
        users = np.zeros(collection.group_count, dtype=np.int64)
        for group, counter in self.groups.items():
            users[group] = counter.users
        counts: dict[int, Codes] = {group: counter.counts for group, counter in sorted(self.groups.items())}
        return self.mechanism.answered(collection.rival.answers(counts, users), users, population)

    def _written(self) -> dict[str, Any]:
        return {
            "groups": [[group, counter.as_json()] for group, counter in sorted(self.groups.items())],
            "rows": [[list(row), count] for row, count in sorted(self.rows.items())],
        }

    def _read(self, document: Mapping[str, Any]) -> None:
        collection = self.mechanism.collection
        groups, rows = document.get("groups"), document.get("rows")
        damaged = "aggregator: the counts are damaged"
        if not isinstance(groups, list) or not isinstance(rows, list):
            raise DataError(damaged, "not groups and rows", "count the reports again")
        if not all(isinstance(item, list) and len(item) == 2 for item in (*groups, *rows)):
            raise DataError(damaged, "not pairs", "count the reports again")
        if isinstance(collection, ProductCollection):
            for row, count in rows:
                (codes,) = whole_rows([row], len(collection.rival.oracles), 1)
                ((number,),) = whole_rows([[count]], 1, 1)
                read = collection.rival.setting.people(np.array([codes]))
                self.rows[tuple(read[0].tolist())] = number
        else:
            for group, part in groups:
                place = plain(group)
                if not isinstance(place, int) or not 0 <= place < collection.group_count:
                    raise DataError(
                        "aggregator", "the counts are damaged: no such group", "count the reports again"
                    )
                oracle: Any = collection.rival.group_oracle(place).mechanism
                self.groups[place] = type(oracle.aggregator()).from_json(oracle, part)
        require_users(self.users)


RAW = Option("raw", "flag", "unbiased estimates, whose cells may be negative")


@dataclass(frozen=True, eq=False, repr=False)
class RivalTables(AskedTables):
    """The marginals that were asked for, one under the other."""

    listed: ClassVar[str] = "marginals"

    tables: tuple[RivalEstimate, ...]


def rival_operations(mechanism: CollectedRival) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate``."""
    takes = people(mechanism.attributes.shown())
    reports = (
        Column(GROUP, "the number of the group, which is drawn without looking at the data"),
        Column(marked(REPORT, mechanism.survey_digest), "what the group reports"),
    )
    return (
        Operation(
            "randomize",
            "one private report for each row",
            (takes,),
            reports,
            partial(_randomized, mechanism),
            (COLUMN, ANYWAY, SEED),
            in_order=True,
        ),
        Operation(
            "estimate",
            "marginals over attributes, with predicted errors; every single attribute by default",
            reports,
            (),
            partial(_estimated, mechanism),
            (MARGINAL, RAW, POPULATION, UNMARKED),
            several=True,
        ),
    )


def _randomized(mechanism: CollectedRival, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for codes in encoded(mechanism, sources, settings):
        for groups, reports in mechanism.draw(codes, bits):
            yield {GROUP: groups, name: reports}


def _estimated(mechanism: CollectedRival, sources: Sequence[Source], settings: Settings) -> RivalTables:
    targets = asked_attributes(settings["marginal"], mechanism.attributes)
    marginals = estimated(mechanism, sources, settings)
    return RivalTables(tuple(marginals.marginal(places, raw=bool(settings["raw"])) for places in targets))
