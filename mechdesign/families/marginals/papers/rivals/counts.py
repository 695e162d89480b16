"""The server of a rival that collects: counts of the reports of every group, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mechdesign.collect.collecting import collect
from mechdesign.collect.counts import require_users, whole_rows
from mechdesign.collect.frequency_estimate import FrequencyEstimate
from mechdesign.collect.labels import Labels
from mechdesign.collect.operations import Settings
from mechdesign.collect.report_counts import Aggregator
from mechdesign.collect.server import Server
from mechdesign.collect.several_columns import with_reports
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Source
from mechdesign.exact.numbers import plain
from mechdesign.families.marginals.oracles.server import SupportCounts
from mechdesign.families.marginals.papers.rivals.answers import RivalMarginals
from mechdesign.families.marginals.papers.rivals.cells import Codes
from mechdesign.families.marginals.papers.rivals.collected import (
    GROUP,
    REPORT,
    Grouped,
    ProductCollection,
    SplitCollection,
)

if TYPE_CHECKING:
    from mechdesign.families.marginals.papers.rivals.mechanism import MarginalRival

GroupCounts = Aggregator[FrequencyEstimate] | SupportCounts


class RivalCounts(Server["MarginalRival"]):
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

    def __init__(self, mechanism: MarginalRival) -> None:
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
        """Count the reports of a table with columns of groups and of reports."""
        collect([source], lambda table: with_reports(table, GROUP, settings, self.mechanism), self.add)

    def add(self, groups: Any, reports: Any) -> None:
        """Count the reports of some users, given the numbers of their groups."""
        collection = self.mechanism.collection
        numbers = Labels(collection.group_count).encode(groups, "reports: group")
        if isinstance(collection, ProductCollection):
            self._add_rows(collection.read(reports))
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

    def _add_rows(self, codes: Codes) -> None:
        found, counts = np.unique(codes, axis=0, return_counts=True)
        for row, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.rows[tuple(row)] = self.rows.get(tuple(row), 0) + count

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
