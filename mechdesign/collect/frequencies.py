"""Mechanisms whose reports are categories, from which a server estimates frequencies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.labels import Codes, Labels
from mechdesign.collect.report_counts import ReportMechanism
from mechdesign.core.errors import EstimationError, RowError
from mechdesign.core.tables import Coded, Values
from mechdesign.exact.randomness import BitSource, Rng, bit_source

if TYPE_CHECKING:
    from mechdesign.collect.frequency_estimate import FrequencyEstimate  # noqa: F401 (in quotes below)
    from mechdesign.collect.operations import Operation, Settings

REMEDY = (
    "the best channel for a prior never reports its rarest answers: to estimate frequencies build with an "
    "even prior (the same number for every answer) or, made for that, the problem 'frequency-oracle'; a much "
    "larger epsilon can also work, and build states whether it does"
)
"""What helps where a mechanism for plain privacy reports several answers the same way."""


SINGULAR = 1e-10
"""A channel whose smallest singular value is below this part of the largest counts as singular."""


def reported_alike(names: Sequence[str], blank: bool) -> EstimationError:
    """Return the error for answers that have the same reports; blank: because no report says anything."""
    shown = ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
    nothing = "with epsilon = 0 and delta = 0 reports contain no information; build with epsilon > 0"
    return EstimationError(
        "channel",
        f"{len(names)} answers ({shown}) lead to the same reports, so their frequencies cannot be separated",
        nothing if blank else REMEDY,
    )


MOST_EXPLAINED = 12
"""The most answers or reports for which every probability is put in words."""


def _of_thousand(share: float) -> str:
    number = round(1000.0 * float(share))
    if share == 1.0:
        return "all"
    return "none" if share == 0.0 else "fewer than 1" if number == 0 else f"about {number}"


def _quoted(labels: Labels) -> list[str]:
    """Return the names of categories as they stand within a sentence."""
    shown = labels.shown()
    return shown if labels.names is None else [f'"{name}"' for name in shown]


def _joined(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


class FrequencyMechanism(ReportMechanism["FrequencyEstimate"]):
    """A mechanism whose reports are categories and whose server estimates frequencies."""

    labels: Labels
    report_labels: Labels

    @property
    @abstractmethod
    def channel(self) -> NDArray[np.float64]:
        """The probabilities in floating point: row x for answer x."""

    def explained(self) -> tuple[str, ...]:
        """Return how answers become reports, by the thousand; of a long list the first few."""
        if max(self.labels.size, self.report_labels.size) > MOST_EXPLAINED:
            count = f"{self.labels.size} possible answers"
            return (
                f"One of {count} goes in, one of {self.report_labels.size} reports comes out, at random.",
            )
        answers, reports = _quoted(self.labels), _quoted(self.report_labels)
        lines = [
            "An answer is replaced by a report that is drawn at random; the answer itself is not stored."
        ]
        for answer, row in zip(answers, self.channel, strict=True):
            parts = [
                f"{_of_thousand(share)} report {report}" for report, share in zip(reports, row, strict=True)
            ]
            lines.append(f"Of 1000 users whose answer is {answer}, {_joined(parts)}.")
        return tuple(lines)

    def operations(self) -> tuple[Operation, ...]:
        """Return ``randomize`` and ``estimate``."""
        from mechdesign.collect.collecting import column_operations
        from mechdesign.collect.operations import ANYWAY, Column
        from mechdesign.collect.simplex import with_simplex

        takes = Column("answer", f"one of {_abridged(self.labels)}", any_name=True)
        wanted = "the frequencies of the answers"
        randomize, estimate = column_operations(
            self, takes, self._report_text, self._client, (ANYWAY,), wanted
        )
        return randomize, with_simplex(estimate)

    def _client(self, answers: Values, settings: Settings, rng: Rng) -> Values:
        return self.written(self.draw(self.labels.encode(answers), bit_source(rng)))

    @property
    def _report_text(self) -> str:
        """Content of a column of reports."""
        return f"one of {_abridged(self.report_labels)}"

    def read(self, reports: Any) -> Codes:
        """Return the numbers of reports; refuse a report that no answer can produce."""
        codes = self.report_labels.encode(reports, "reports")
        possible = self.possible_reports()
        if possible.all():
            return codes
        impossible = ~possible[codes]
        if impossible.any():
            row = int(np.argmax(codes == codes[impossible].min()))
            name = self.report_labels.shown()[codes[row]]
            raise RowError(
                "reports",
                row,
                f"no answer can cause the report '{name}' under this mechanism",
                "use the mechanism file the reports were made with",
            )
        return codes

    def written(self, reports: Codes) -> Values:
        """Return reports as they stand in a table: by name where they have names."""
        return Coded(np.array(self.report_labels.names), reports) if self.report_labels.names else reports

    @property
    def counters(self) -> int:
        """Number of counters that the server keeps: one a report."""
        return self.report_labels.size

    def count(self, reports: Codes) -> Codes:
        """Return the count of each report."""
        return np.bincount(reports, minlength=self.counters).astype(np.int64)

    @abstractmethod
    def draw(self, codes: Codes, source: BitSource) -> Codes:
        """Return the number of a report for the number of each answer."""

    def _named(self, reports: Codes) -> NDArray[Any]:
        return self.report_labels.decode(reports)


def _abridged(labels: Labels) -> str:
    """Return the categories in a few words."""
    if labels.names is None:
        return f"0 to {labels.size - 1}"
    shown = ", ".join(labels.names[:6])
    return shown if labels.size <= 6 else f"{shown}, ... {labels.size} in all"
