"""The server of a survey: a counter for each part of each design, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.text import counted
from mechdesign.core.values import Counter
from mechdesign.families.survey.estimates import results_of
from mechdesign.families.survey.results import SurveyResults

if TYPE_CHECKING:
    from mechdesign.families.survey.survey import Survey

REMEDY = "use the mechanism file the reports were made with"


class SurveyCounts(Server["Survey"]):
    """Counts of the reports of a survey: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, Survey
    >>> asked = [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))]
    >>> survey = Survey.of(asked, epsilon=2.0)
    >>> here, there = survey.aggregator(), survey.aggregator()
    >>> here.update(survey.randomize({"smokes": ["no"] * 30, "sex": ["f"] * 30}, rng=1))
    >>> there.update(survey.randomize({"smokes": ["yes"] * 20, "sex": ["m"] * 20}, rng=2))
    >>> here.merge(there); here.users
    50
    """

    kept: ClassVar[str] = "counts"

    def __init__(self, mechanism: Survey) -> None:
        super().__init__(mechanism)
        self.counters: list[list[Counter]] = [
            [part.aggregator() for part in design.parts] for design in mechanism.designs
        ]

    @property
    def reports(self) -> list[int]:
        """Number of counted reports of each design."""
        return [counters[0].users for counters in self.counters]

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return sum(self.reports)

    def _count(self, reports: Any) -> None:
        """Count reports, one text a user; nothing is counted when one of them is impossible."""
        fresh = type(self)(self.mechanism)
        designs, payloads = self._parsed(reports)
        for number, counters in enumerate(fresh.counters):
            rows = np.flatnonzero(designs == number)
            if not len(rows):
                continue
            columns = self._split(payloads, rows, len(counters))
            for part, counter, column in zip(
                self.mechanism.designs[number].parts, counters, columns, strict=True
            ):
                try:
                    counter.update(part.read(np.array(column)))
                except RowError as error:
                    raise error.changed(where="reports", row=int(rows[error.row])) from None
        self._merge(fresh)

    def _parsed(self, reports: Any) -> tuple[NDArray[np.int64], list[str]]:
        """Return the numbers of the designs and the rest of each text."""
        listed = np.asarray(reports)
        if listed.ndim != 1 or (len(listed) and not isinstance(listed.tolist()[0], str)):
            raise DataError("reports", "expected one text a user, as randomize returns them", REMEDY)
        heads, payloads = [], []
        for text in listed.tolist():
            head, _, payload = text.partition(":") if isinstance(text, str) else ("", "", "")
            heads.append(head)
            payloads.append(payload)
        known = {str(number): number for number in range(self.mechanism.count)}
        designs = np.array([known.get(head, -1) for head in heads], dtype=np.int64)
        if (designs < 0).any():
            row = int(np.argmax(designs < 0))
            what = f"'{str(listed[row])[:40]}' names no design of this survey"
            raise RowError("reports", row, what, REMEDY)
        return designs, payloads

    @staticmethod
    def _split(payloads: list[str], rows: NDArray[np.int64], count: int) -> list[list[str]]:
        """Return the texts of each part; refuse a row that has more or fewer of them."""
        found = [payloads[row].split("|") for row in rows.tolist()]
        for row, texts in zip(rows.tolist(), found, strict=True):
            if len(texts) != count:
                what = f"has {counted(len(texts), 'part')}, its design {count}"
                raise RowError("reports", row, what, REMEDY)
        return [[texts[place] for texts in found] for place in range(count)]

    def _merge(self, other: Self) -> None:
        for own, added in zip(self.counters, other.counters, strict=True):
            for counter, more in zip(own, added, strict=True):
                counter.merge(more)

    def estimate(self, population: bool = False) -> SurveyResults:
        """Return every requested result from all counted reports."""
        self.require_some()
        return results_of(self.mechanism, self, population)

    def _written(self) -> dict[str, Any]:
        return {"designs": [[counter.as_json() for counter in counters] for counters in self.counters]}

    def _read(self, document: Mapping[str, Any]) -> None:
        given: Any = document.get("designs")
        shape = [len(counters) for counters in self.counters]
        found = [len(item) if isinstance(item, list) else -1 for item in given or ()]
        if found != shape:
            raise DataError("aggregator", "the counts are damaged", "count the reports again")
        read: list[list[Counter]] = []
        for design, counters, items in zip(self.mechanism.designs, self.counters, given, strict=True):
            restored: list[Counter] = []
            for part, counter, item in zip(design.parts, counters, items, strict=True):
                kind: Any = type(counter)
                restored.append(kind.from_json(part.mechanism, item))
            if len({counter.users for counter in restored}) > 1:
                raise DataError("aggregator", "the counts are damaged", "count the reports again")
            read.append(restored)
        self.counters = read
