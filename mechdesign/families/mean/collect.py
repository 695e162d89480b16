"""The server for sampled attributes: exact sums by attribute, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import BinomialLimits
from mechdesign.collect.labels import Labels
from mechdesign.collect.mean_estimates import AttributeMeans
from mechdesign.collect.operations import Settings
from mechdesign.collect.plausible import implausible
from mechdesign.collect.score import FEWEST, MAY_MISS, ColumnLimits
from mechdesign.collect.server import Server
from mechdesign.collect.tally import Codes
from mechdesign.core.errors import DataError
from mechdesign.core.tables import Source
from mechdesign.families.mean.attribute_tables import count_records

if TYPE_CHECKING:
    from mechdesign.families.mean.attributes import AttributeSampling


class AttributeAggregator(Server["AttributeSampling"]):
    """Exact sums of reports by attribute: add, merge, estimate.

    Examples
    --------
    >>> from mechdesign.families.mean import Harmony
    >>> mechanism = Harmony(epsilon=1.0, attributes=2)
    >>> sums = mechanism.aggregator()
    >>> sums.update(mechanism.randomize([[0.0, 1.0]], rng=1))
    >>> sums.users
    1
    >>> sums.estimate().reports
    array([1, 0])
    """

    kept: ClassVar[str] = "sums"
    merged: ClassVar[str] = "sums of one mechanism"
    unit: ClassVar[str] = "users"
    nothing: ClassVar[str] = "give at least one user's reports"

    def __init__(self, mechanism: AttributeSampling) -> None:
        super().__init__(mechanism)
        self.tally = mechanism.inner.tally(mechanism.size)

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return int(self.tally.counts().sum()) // self.mechanism.per_user

    def _count(self, reports: Any) -> None:
        """Add records; nothing is added when one of them is impossible."""
        array = np.asarray(reports)
        if array.dtype.names is None or not {"attribute", "report"} <= set(array.dtype.names):
            raise DataError(
                "reports",
                "expected records with the fields 'attribute' and 'report', as randomize returns them",
            )
        if array.ndim != 1 or len(array) % self.mechanism.per_user:
            raise DataError(
                "reports",
                f"{array.size} records are not {self.mechanism.per_user} for each user",
                "add whole users",
            )
        groups = Labels(self.mechanism.size).encode(array["attribute"], "reports: attribute")
        self.tally.add(self.tally.check(np.ascontiguousarray(array["report"])), groups)

    def count_table(self, source: Source, settings: Settings) -> None:
        """Add the records of a table with columns of attributes and of reports."""
        count_records(self.mechanism, source, settings, self._count)

    def receive(self, source: Source, settings: Settings) -> None:
        """Count the records of one user, who reports different attributes."""
        super().receive(source, settings)
        if (self.tally.counts() > 1).any():
            raise DataError(source.name, "names an attribute twice", "send one report of each attribute")

    def _merge(self, other: Self) -> None:
        self.tally.merge(other.tally)

    def estimate(self, population: bool = False) -> AttributeMeans:
        """Return the means of all attributes with standard errors and, where they are weak, notes.

        Raises
        ------
        DataError
            When there are no reports.
        """
        mechanism, counts, users = self.mechanism, self.tally.counts(), self.users
        self.require_some()
        columns = [self.tally.moments(group) for group in range(mechanism.size)]
        values, inner = mechanism.column_values(columns, users, population)
        unknown = (counts == 0) & (mechanism.estimator == "self-normalized")
        factor = mechanism.ranges.width / mechanism.inner.domain.width
        limits = ColumnLimits(inner, factor, unknown, mechanism.ranges.width / 2.0)
        values = mechanism.ranges.low + (values - mechanism.inner.domain.low) * factor
        names = tuple(mechanism.labels.shown())
        errors = limits.standard_error()
        notes = self._notes(counts, unknown, isinstance(inner, BinomialLimits))
        worst = factor * mechanism.worst_errors(counts, users)
        notes += implausible(names, values, worst, mechanism.ranges.low, mechanism.ranges.high, counts)
        ends = (mechanism.ranges.low, mechanism.ranges.high)
        return AttributeMeans(values, errors, users, counts, names, population, limits, notes, possible=ends)

    def _notes(self, counts: Codes, unknown: NDArray[np.bool_], exact: bool) -> tuple[str, ...]:
        """Return which intervals tell nothing, and which may cover less often than stated."""
        mechanism = self.mechanism
        expected = counts
        if mechanism.estimator == "scaled":
            expected = np.full(mechanism.size, self.users * mechanism.per_user / mechanism.size)
        few = ~unknown & (expected < FEWEST) & (not exact)
        texts = (
            (unknown, "no user reported {}: the interval is the whole range, the value its middle"),
            (few, f"fewer than {FEWEST} reports of {{}}: {MAY_MISS}"),
        )
        return tuple(text.format(self._named(which)) for which, text in texts if which.any())

    def _named(self, which: NDArray[np.bool_]) -> str:
        """Return the names of attributes, a few of them if there are many."""
        names, places = self.mechanism.labels.shown(), np.flatnonzero(which).tolist()
        more = f" and {len(places) - 4} more" if len(places) > 4 else ""
        return ", ".join(f"'{names[place]}'" for place in places[:4]) + more

    def _written(self) -> dict[str, Any]:
        return {"sums": self.tally.as_json()}

    def _read(self, document: Mapping[str, Any]) -> None:
        self.tally.restore(document.get("sums"))
        if int(self.tally.counts().sum()) % self.mechanism.per_user:
            raise DataError(
                "aggregator",
                f"the sums are damaged: not {self.mechanism.per_user} reports for each user",
                "add the reports again",
            )
