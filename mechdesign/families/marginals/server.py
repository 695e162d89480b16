"""The server of a marginal release: records of reports, and a counter for each view, mergeable in any order.

A record is the number of the view and the report's bytes, of equal width whatever the view's oracle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.attributes import with_reports
from mechdesign.collect.categories import Aggregator
from mechdesign.collect.codec import Labels
from mechdesign.collect.collecting import Settings, collect
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.oracle import Oracle
from mechdesign.collect.server import CellCounts, Server
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Source, Values
from mechdesign.core.text import counted
from mechdesign.exact.randomness import bit_source
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.penalized import read_penalty

if TYPE_CHECKING:
    from mechdesign.families.marginals.release import MarginalRelease

VIEW, REPORT = "view", "report"


@dataclass(frozen=True)
class Drawn:
    """The reports of some users: their views, and for each distinct oracle its rows and reports.

    Attributes
    ----------
    views : (n,) int array
    parts : list of (int, int array, array)
        The first view with that oracle, which of the users, and what the oracle drew.
    """

    views: NDArray[np.int64]
    parts: list[tuple[int, NDArray[np.int64], NDArray[Any]]]


class Layout(Sealed):
    """Layout of the reports of oracles in records ``(view, report)``: bytes, filled up with zeros.

    Parameters
    ----------
    oracles : sequence
        One a view.
    """

    def __init__(self, oracles: Sequence[Oracle]) -> None:
        self.views = Labels(len(oracles))
        distinct = {id(oracle): _form(oracle) for oracle in oracles}
        self.forms = tuple(distinct[id(oracle)] for oracle in oracles)
        self.width = max(form.itemsize for form in self.forms)
        self.dtype = np.dtype([(VIEW, np.int32), (REPORT, np.uint8, (self.width,))])

    def packed(self, view: int, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bytes of reports of a view, shape (n, width)."""
        size = self.forms[view].itemsize
        table = np.zeros((len(reports), self.width), dtype=np.uint8)
        table[:, :size] = np.ascontiguousarray(reports).view(np.uint8).reshape(len(reports), size)
        return table

    def unpacked(self, view: int, table: NDArray[np.uint8], rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the reports of a view from their bytes; refuse bytes beyond the report's."""
        form = self.forms[view]
        beyond = table[:, form.itemsize :].any(axis=1)
        if beyond.any():
            row = int(rows[np.argmax(beyond)])
            raise RowError("reports", row, "is too long for its view", "use the mechanism it was made with")
        flat = np.ascontiguousarray(table[:, : form.itemsize]).view(form.base)
        return flat.reshape(len(table), *form.shape)

    def read(self, reports: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the views and the bytes of records, checked as far as all views have it in common."""
        array = np.asarray(reports)
        if array.dtype.names is None or set(array.dtype.names) != {VIEW, REPORT} or array.ndim != 1:
            raise DataError(
                "reports",
                f"expected records with the fields '{VIEW}' and '{REPORT}', as randomize returns them",
            )
        form = array.dtype[REPORT]
        if form.base != np.uint8 or form.shape != (self.width,):
            raise DataError(
                "reports",
                f"reports of {form.itemsize} bytes, not {self.width}",
                "use the mechanism they were made with",
            )
        return self.views.encode(array[VIEW], "reports: view"), array[REPORT]


def _form(oracle: Oracle) -> np.dtype[Any]:
    """Return the dtype of one report, which several numbers may make up."""
    draws = oracle.draw(np.zeros(1, dtype=np.int64), bit_source(0))
    return np.dtype((draws.dtype, draws.shape[1:]))


class MarginalAggregator(Server["MarginalRelease"]):
    """Counts of the reports of every view: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals import MarginalRelease
    >>> release = MarginalRelease.of([2, 3, 2], [(0, 1), (1, 2)], epsilon=2.0)
    >>> here, there = release.aggregator(), release.aggregator()
    >>> here.update(release.randomize([[0, 2, 1]] * 30, rng=1))
    >>> there.update(release.randomize([[1, 0, 1]] * 20, rng=2))
    >>> here.merge(there)
    >>> here.users, sum(here.reports)
    (50, 50)
    """

    def __init__(self, mechanism: MarginalRelease) -> None:
        super().__init__(mechanism)
        self.counters: list[Aggregator[FrequencyEstimate] | CellCounts[Any]] = [
            oracle.aggregator() for oracle in mechanism.oracles
        ]

    @property
    def reports(self) -> list[int]:
        """Number of counted reports of each view."""
        return [counter.users for counter in self.counters]

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return sum(self.reports)

    def _count(self, reports: Any) -> None:
        """Count records; nothing is counted when one of them is impossible."""
        views, table = self.mechanism.layout.read(reports)
        order = np.argsort(views, kind="stable")
        bounds = np.searchsorted(views[order], np.arange(len(self.counters) + 1)).tolist()
        rows = [order[start:stop] for start, stop in pairwise(bounds)]
        unpacked = {
            view: self.mechanism.layout.unpacked(view, table[which], which)
            for view, which in enumerate(rows)
            if len(which)
        }
        self.add(unpacked, {view: rows[view] for view in unpacked})

    def count_table(self, source: Source, settings: Settings) -> None:
        """Count the reports of a table with columns of views and of reports."""
        columns = partial(with_reports, first=VIEW, settings=settings, mechanism=self.mechanism)
        collect([source], columns, self.count_rows)

    def count_rows(self, views: Values, reports: Values) -> None:
        """Count the rows of a block: the numbers of views, and reports as they stand in tables."""
        numbers = Labels(len(self.counters)).encode(views, "reports: view")
        order = np.argsort(numbers, kind="stable")
        texts = np.asarray(reports)[order]
        bounds = np.searchsorted(numbers[order], np.arange(len(self.counters) + 1))
        rows: Mapping[int, NDArray[np.int64]] = {
            view: order[bounds[view] : bounds[view + 1]]
            for view in range(len(self.counters))
            if bounds[view] < bounds[view + 1]
        }
        self.add({view: texts[bounds[view] : bounds[view + 1]] for view in rows}, rows)

    def add(self, reports: Mapping[int, Any], rows: Mapping[int, NDArray[np.int64]]) -> None:
        """Count the reports of some views, which stand in these rows of the input."""
        fresh = {view: self.mechanism.oracles[view].aggregator() for view in reports}
        for view, counter in fresh.items():
            try:
                counter.update(reports[view])
            except RowError as error:
                where, row = f"{error.where}: view {view}", int(rows[view][error.row])
                raise error.changed(where=where, row=row) from None
        for view, counter in fresh.items():
            self.counters[view].merge(counter)

    def _merge(self, other: Self) -> None:
        for own, added in zip(self.counters, other.counters, strict=True):
            own.merge(added)  # type: ignore[arg-type]

    def estimate(
        self, population: bool = False, penalty: Any = None, parts: Sequence[MarginalAggregator] = ()
    ) -> ReleasedMarginals:
        """Return the release: any marginal, as a sum of the penalized distribution or unbiased.

        Parameters
        ----------
        population : bool
        penalty : float or "cross-validated", optional
            lambda of the penalized distribution, 30 by default.
        parts : sequence of MarginalAggregator
            For cross-validation: the counts of parts of these users, drawn without a look at their reports;
            together they are the counts of this one.
        """
        self.require_some()
        read = read_penalty(penalty)
        if read is None and len(parts) < 2:
            raise DataError(
                "penalty",
                "cross-validation needs the counts of parts of the users",
                "give their aggregators as parts, or a number",
            )
        if parts and sum(part.users for part in parts) != self.users:
            raise DataError(
                "parts", "do not make up the users that were counted", "give the counts of all parts"
            )
        counted = [(part._counted(), part.reports) for part in parts]
        return ReleasedMarginals.from_counts(
            self.mechanism, self._counted(), self.reports, population, read, counted
        )

    def _counted(self) -> list[NDArray[np.int64]]:
        return [np.asarray(counter.counts) for counter in self.counters]

    def _written(self) -> dict[str, Any]:
        return {
            "views": [counter.as_json() for counter in self.counters],
        }

    def _read(self, document: Mapping[str, Any]) -> None:
        parts = document.get("views")
        if not isinstance(parts, list) or len(parts) != len(self.counters):
            raise DataError(
                "aggregator",
                f"the counts are damaged: not {counted(len(self.counters), 'view')}",
                "count the reports again",
            )
        if not all(isinstance(part, Mapping) for part in parts):
            raise DataError(
                "aggregator", "the counts are damaged: a view has none", "count the reports again"
            )
        self.counters = [
            type(counter).from_json(counter.mechanism, part)
            for counter, part in zip(self.counters, parts, strict=True)
        ]
