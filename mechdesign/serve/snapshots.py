"""Results by batches: what the owner sees changes with many reports at once, never with a single one.

Whoever sees estimates before and after a report came can compute this report, because each estimate is a sum
over reports. A report is randomized, so that it reveals no more than its epsilon; but who knows when a person
took part would know which report is theirs. Therefore results rest on a *snapshot*: all reports that were
there when it was made. The next one is made when as many new reports are there as the owner's least number,
so that two results that are shown differ by that many reports, too. When collecting ends, what is left comes
in once. Below the least number there is no snapshot, and everything that is shown or downloaded is one's.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import Settings, operation_of
from mechdesign.core.errors import DataError
from mechdesign.core.values import changed
from mechdesign.data.intake import plain_column
from mechdesign.export.messages import MemoryTable
from mechdesign.serve.place import Place, ServedSurvey
from mechdesign.serve.pool import Rows
from mechdesign.survey.waves import WaveEstimates, wave_estimates


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The results of the reports that were there at one time.

    Attributes
    ----------
    slug : str
        Of the survey.
    mechanism : Mechanism
    messages : list of list of dict
        The rows of each report, in random order.
    result : estimate
    day : date
        When it was made.
    is_last : bool
        Whether collecting had ended.
    """

    slug: str
    mechanism: Mechanism
    messages: list[Rows]
    result: Any
    day: date
    is_last: bool

    @property
    def count(self) -> int:
        """Number of reports."""
        return len(self.messages)


class Snapshots:
    """The latest snapshot of each survey of a place, kept in memory alone."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._latest: dict[str, Snapshot] = {}
        self._guards: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def of(self, survey: ServedSurvey) -> Snapshot | None:
        """Return the latest snapshot of a survey, a new one where it is due; None below the least number."""
        with self._guard:
            guard = self._guards.setdefault(survey.slug, threading.Lock())
        with guard:
            if not survey.is_shown:
                self._latest.pop(survey.slug, None)
                return None
            before = self._latest.get(survey.slug)
            if before is None or self._is_due(survey, before):
                self._latest[survey.slug] = before = snapshot_of(survey)
            return before

    def missing(self, survey: ServedSurvey) -> int:
        """Return how many reports the next snapshot needs."""
        before = self._latest.get(survey.slug)
        return max(0, survey.settings.least + (before.count if before else 0) - survey.count)

    def _is_due(self, survey: ServedSurvey, before: Snapshot) -> bool:
        """Whether enough reports came since; collecting that ended, and went on, has no second last one."""
        fresh = survey.count - before.count
        ended = survey.state == "ended" and not before.is_last
        return fresh >= survey.settings.least or (fresh > 0 and ended)

    def waves(self, survey: ServedSurvey) -> list[Snapshot]:
        """Return the waves up to this one that have results, the first one first; empty where it is alone."""
        own = survey.mechanism
        if own is None or not own.about.earlier:
            return []
        earlier = [wave.id for wave in own.about.earlier]
        snapshots = {}
        for other in self.place.surveys():
            identity = other.mechanism.about.id if other.mechanism is not None else ""
            if identity in earlier or other.slug == survey.slug:
                snapshot = self.of(other)
                if snapshot is not None:
                    snapshots[identity] = snapshot
        chain = [snapshots[identity] for identity in (*earlier, own.about.id) if identity in snapshots]
        return chain if len(chain) > 1 and chain[-1].slug == survey.slug else []


def snapshot_of(survey: ServedSurvey) -> Snapshot:
    """Return a snapshot of all reports of a survey; DataError below its least number."""
    mechanism = survey.mechanism
    if mechanism is None:
        raise DataError(survey.slug, "is not built", "build it first")
    messages, is_last = survey.reports(), survey.state == "ended"
    rows = [row for message in messages for row in message]
    return Snapshot(survey.slug, mechanism, messages, estimate_of(mechanism, rows), date.today(), is_last)


def estimate_of(mechanism: Mechanism, rows: Sequence[dict[str, Any]]) -> Any:
    """Return what ``estimate`` gives for rows of reports as clients send them.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(2, 1.0)
    >>> (column,) = mechanism.recipe().columns
    >>> estimate_of(mechanism, [{column: 1}] * 60 + [{column: 0}] * 40).users
    100
    """
    operation = operation_of(mechanism.operations(), "estimate", mechanism.type)
    columns = {name: plain_column([row[name] for row in rows]) for name in rows[0]}
    settings: Settings = operation.settings({})
    return operation.run([MemoryTable(columns, "reports")], settings)


def estimates_of_waves(chain: Sequence[Snapshot]) -> WaveEstimates:
    """Return the results of waves with their changes; a wave without a name is called as its address."""
    return wave_estimates([_with_name(wave) for wave in chain], [wave.result for wave in chain])


def _with_name(wave: Snapshot) -> Mechanism:
    about = wave.mechanism.about
    return wave.mechanism if about.wave else wave.mechanism.with_about(changed(about, wave=wave.slug))
