"""The server for sampled attributes: exact sums by attribute, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mechdesign.core.errors import DataError
from mechdesign.mechanisms.labels import Labels
from mechdesign.mechanisms.mean.estimates import AttributeMeans

if TYPE_CHECKING:
    from mechdesign.mechanisms.mean.attributes import AttributeSampling


class AttributeAggregator:
    """Exact sums of reports by attribute: add, merge, estimate.

    Examples
    --------
    >>> from mechdesign.mechanisms.mean import Harmony
    >>> mechanism = Harmony(epsilon=1.0, attributes=2)
    >>> sums = mechanism.aggregator()
    >>> sums.update(mechanism.randomize([[0.0, 1.0]], rng=1))
    >>> sums.users
    1
    >>> sums.estimate()
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: reports: nobody reported attribute '1'; give more users, or leave it out
    """

    def __init__(self, mechanism: AttributeSampling) -> None:
        self.mechanism = mechanism
        self.tally = mechanism.inner.tally(mechanism.size)

    @property
    def users(self) -> int:
        """How many users reported."""
        return int(self.tally.counts().sum()) // self.mechanism.per_user

    def update(self, reports: Any) -> None:
        """Add records; nothing is added when one of them is impossible."""
        array = np.asarray(reports)
        if array.dtype.names is None or not {"attribute", "report"} <= set(array.dtype.names):
            raise DataError(
                "reports: expected records with the fields 'attribute' and 'report', as randomize "
                "returns them"
            )
        if array.ndim != 1 or len(array) % self.mechanism.per_user:
            raise DataError(
                f"reports: {array.size} records are not {self.mechanism.per_user} for each user; "
                "add whole users"
            )
        groups = Labels(self.mechanism.size).encode(array["attribute"].astype(np.int64), "reports: attribute")
        self.tally.add(self.tally.check(np.ascontiguousarray(array["report"])), groups)

    def merge(self, other: AttributeAggregator) -> None:
        """Add the sums of another machine; both must belong to the same mechanism."""
        if other.mechanism.fingerprint != self.mechanism.fingerprint:
            raise DataError(
                "aggregator: the other one belongs to a different mechanism; merge sums of one mechanism only"
            )
        self.tally.merge(other.tally)

    def estimate(self, population: bool = False) -> AttributeMeans:
        """Return the means of all attributes with standard errors.

        Raises
        ------
        DataError
            When there are no reports, or none of some attribute, naming it.
        """
        mechanism, counts, users = self.mechanism, self.tally.counts(), self.users
        if users == 0:
            raise DataError("reports: there are none; give at least one user's reports")
        names = mechanism.labels.shown()
        missing = np.flatnonzero(counts == 0).tolist()
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise DataError(
                f"reports: nobody reported attribute '{names[missing[0]]}'{more}; give more users, "
                "or leave it out"
            )
        pairs = [
            mechanism.column_estimate(self.tally.moments(group), users, population)
            for group in range(mechanism.size)
        ]
        values, errors = mechanism.ranges.from_inner(np.array(pairs), mechanism.inner.domain)
        return AttributeMeans(values, errors, counts, users, tuple(names), population)

    def as_json(self) -> dict[str, Any]:
        """Return the exact sums as whole numbers, with the mechanism's fingerprint."""
        return {"mechanism": self.mechanism.fingerprint, "sums": self.tally.as_json()}

    @classmethod
    def from_json(cls, mechanism: AttributeSampling, document: Mapping[str, Any]) -> Self:
        """Restore sums that :meth:`as_json` gave, for the same mechanism."""
        if document.get("mechanism") != mechanism.fingerprint:
            raise DataError(
                "aggregator: the sums belong to a different mechanism; load the one they were made with"
            )
        restored = cls(mechanism)
        restored.tally.restore(document["sums"])
        return restored
