"""Frequencies from reports: the estimate with its errors, and counts that can be merged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import EstimationError, RowError
from mechdesign.core.randomness import BitSource, Rng, bit_source
from mechdesign.core.tables import Coded, Values
from mechdesign.core.text import counted
from mechdesign.mechanisms.estimate import ListedEstimate
from mechdesign.mechanisms.labels import Codes, Labels
from mechdesign.mechanisms.report_counts import ReportMechanism

if TYPE_CHECKING:
    from mechdesign.core.figure import Figure
    from mechdesign.mechanisms.intervals import Limits
    from mechdesign.mechanisms.operations import Operation, Settings

Array = NDArray[np.float64]

REMEDY = (
    "the best channel for a prior never reports its rarest answers: to estimate frequencies build with an "
    "even prior (the same number for every answer) or, made for that, the problem 'frequency-oracle'; a much "
    "larger epsilon can also work, and build states whether it does"
)
"""What helps where a mechanism for plain privacy reports several answers the same way."""


@dataclass(frozen=True, repr=False)
class FrequencyEstimate(ListedEstimate):
    """Unbiased estimates of the frequencies of the true answers.

    Attributes
    ----------
    value : (n,) array
        Estimated frequencies; they sum to 1 but may lie outside [0, 1] by chance.
    standard_error : (n,) array
    users : int
        How many reported.
    categories : tuple of str
    population : bool
        False: the truth is the share among the users who reported. True: the share in the
        population they were drawn from at random, which adds the variance of that draw.
    covariance : (n, n) array or None
        None for large structured channels.
    limits : Limits, optional
        What the mechanism makes intervals from; normal ones by default.
    notes : tuple of str
        Where the intervals may cover less often than stated: why.
    reported : (n,) array or None
        The shares among the reports, where these are categories: what would be believed without an estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    >>> reports = mechanism.randomize([0] * 3000 + [1] * 1000, rng=1)
    >>> low, high = mechanism.estimate(reports).interval(0.99)
    >>> bool(low[0] < 0.75 < high[0])
    True
    """

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "categories"
    digits: ClassVar[str] = ".5f"
    error_digits: ClassVar[str] = ".2g"
    most: ClassVar[int | None] = 60

    value: Array
    standard_error: Array
    categories: tuple[str, ...]
    population: bool = False
    covariance: Array | None = None
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    reported: Array | None = field(default=None, repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.categories

    def projected(self) -> Array:
        """Return the nearest probability vector (Euclidean projection): biased, but in [0, 1]."""
        return project_to_simplex(self.value)

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals; the shares among the reports are faint next to them."""
        from mechdesign.mechanisms.interval_figures import SHARE

        title = f"Estimated shares of {counted(self.users, 'user')}"
        return self._drawn(title, "answer", "share", naive=self.reported, possible=SHARE)


def project_to_simplex(vector: Array) -> Array:
    """Return the Euclidean projection on the probability simplex.

    Examples
    --------
    >>> project_to_simplex(np.array([0.5, 0.7, -0.2]))
    array([0.4, 0.6, 0. ])
    """
    descending = np.sort(vector)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(vector) + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    projected: Array = np.maximum(vector - excess[last], 0.0)
    return projected


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
    """Return what categories are called within a sentence."""
    shown = labels.shown()
    return shown if labels.names is None else [f'"{name}"' for name in shown]


def _joined(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


class FrequencyMechanism(ReportMechanism[FrequencyEstimate]):
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
        from mechdesign.mechanisms.collecting import column_operations
        from mechdesign.mechanisms.operations import ANYWAY, Column
        from mechdesign.mechanisms.simplex import with_simplex

        takes = Column("answer", f"one of {_abridged(self.labels)}", any_name=True)
        wanted = "the frequencies of the answers"
        randomize, estimate = column_operations(
            self, takes, self.report_text, self._client, (ANYWAY,), wanted
        )
        return randomize, with_simplex(estimate)

    def _client(self, answers: Values, settings: Settings, rng: Rng) -> Values:
        return self.written(self.draw(self.labels.encode(answers), bit_source(rng)))

    @property
    def report_text(self) -> str:
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
        """Return how often each report was made."""
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
