"""Tables of counts of cells: what a server keeps of several attributes, and the table that it estimates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mechdesign.collect.attributes import Attributes
from mechdesign.collect.codec import Codes
from mechdesign.collect.estimate import Array, FrequencyEstimate
from mechdesign.collect.server import MechanismT, Server, require_users, whole_rows
from mechdesign.core.errors import DataError
from mechdesign.core.text import counted, json_object
from mechdesign.data.frames import Columns, CrossTable, with_question
from mechdesign.exact.numbers import plain, text_of

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable(CrossTable):
    """Unbiased estimates of the cells of one table; they need neither be >= 0 nor agree with others.

    Attributes
    ----------
    attributes : tuple of str
    labels : tuple of tuple of str
        The names of the values on each axis.
    shape : tuple of int
    cells : FrequencyEstimate
        The same flat, the last attribute fastest, with errors and limits.
    """

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...]
    cells: FrequencyEstimate

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the intervals may cover less often than stated: why."""
        return self.cells.notes

    def tidy(self, level: float = 0.95) -> Columns:
        return with_question(self.cells.tidy(level), self.title)

    @property
    def value(self) -> Array:
        """The estimates, one axis an attribute."""
        return self.cells.value.reshape(self.shape)

    @property
    def standard_error(self) -> Array:
        """Their standard errors."""
        return self.cells.standard_error.reshape(self.shape)

    @property
    def users(self) -> int:
        """Number of users who reported about it."""
        return self.cells.users

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the ends of confidence intervals; see :meth:`FrequencyEstimate.interval`."""
        low, high = self.cells.interval(level, simultaneous)
        return low.reshape(self.shape), high.reshape(self.shape)

    def _described(self) -> str:
        """Return the title of a picture and of a text."""
        return self.title

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        from mechdesign.show.panels import table_figures

        title = f"{self._described()}: {counted(self.users, 'report')}"
        return table_figures(title, self.attributes, self.labels, self.value, self.interval())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.attributes)}: {self.cells!r})"

    def __str__(self) -> str:
        return f"{self._described()}\n{self.cells}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        about = {"attributes": list(self.attributes), "shape": list(self.shape)}
        return json_object({**about, **self.cells.as_json()})


class CellCounts(Server[MechanismT]):
    """One counter per cell that reports can name, and the number of users; a subclass estimates."""

    def __init__(self, mechanism: MechanismT, counters: int) -> None:
        super().__init__(mechanism)
        self.users = 0
        self.counts: Codes = np.zeros(counters, dtype=np.int64)

    @abstractmethod
    def _added(self, reports: Any) -> tuple[Codes, int]:
        """Return the increments of the counters and the number of reports; refuse impossible reports."""

    @abstractmethod
    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError if this many reports cannot produce the counters."""

    def _count(self, reports: Any) -> None:
        self._add(*self._added(reports))

    def _add(self, counts: Codes, users: int) -> None:
        require_users(self.users + users)
        self.counts = self.counts + counts
        self.users += users

    def _merge(self, other: Self) -> None:
        self._add(other.counts, other.users)

    def _written(self) -> dict[str, Any]:
        return {"users": self.users, "counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        users = plain(document.get("users"))
        if not isinstance(users, int) or users < 0:
            users_text = text_of(document.get("users"))
            raise DataError("aggregator", f"{users_text} is not a number of users", "count the reports again")
        require_users(users)
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        self._require_counts(counts, users)
        self.users, self.counts = users, np.array(counts, dtype=np.int64)


def asked_attributes(texts: Sequence[str] | None, attributes: Attributes) -> list[tuple[int, ...]]:
    """Return the attributes that each text lists; every single attribute without a text."""
    if not texts:
        return [(place,) for place in range(attributes.count)]
    known = attributes.shown()  # a name may hold commas when it stands alone
    lists = [[text] if text in known else [part.strip() for part in text.split(",")] for text in texts]
    return [attributes.positions(names) for names in lists]
