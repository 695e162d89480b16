"""Mechanisms of one categorical answer: client, server with one counter a report, estimated frequencies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.client import rng_alone
from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.collecting import Operation, Option, Settings
from mechdesign.collect.reader import on_table
from mechdesign.collect.server import Server, require_users, whole_rows
from mechdesign.core.errors import DataError, EstimationError, MethodError, ParameterError, RowError
from mechdesign.core.tables import Coded, Source, Values
from mechdesign.core.text import counted, json_object, table, to_error
from mechdesign.core.values import USERS, EstimateT_co, Forecast
from mechdesign.data.frames import Columns, Tidy, is_table
from mechdesign.data.intake import MISSING_CATEGORY
from mechdesign.exact.randomness import BitSource, Rng, bit_source

if TYPE_CHECKING:
    from mechdesign.collect.client import Answer, Recipe, Steps
    from mechdesign.collect.collecting import Column
    from mechdesign.collect.estimate import FrequencyEstimate
    from mechdesign.show.figure import Figure


class CategoryMechanism(CollectingMechanism[EstimateT_co]):
    """A mechanism for answers that are categories."""

    users_alike: ClassVar[bool] = True
    labels: Labels

    @abstractmethod
    def forecast(self, users: int = USERS) -> Forecast:
        """Return whether frequencies can be estimated, and the standard error with this many users."""

    @rng_alone
    def randomize(self, answers: Any, rng: Rng = None, anyway: bool = False) -> NDArray[Any]:
        """Return one report for each answer.

        Parameters
        ----------
        answers : array of labels or numbers
        rng : None, int or numpy Generator
            None, the default, draws from the operating system; give a seed only in simulations.
        anyway : bool
            Whether to collect although no frequencies can be estimated from the reports.

        Returns
        -------
        array
            Labels where the mechanism has names for its reports, else as it draws them.

        Raises
        ------
        DataError
            For an answer that is not a category, naming its row.
        EstimationError
            When no frequencies can be estimated from the reports, unless ``anyway``.
        """
        if is_table(answers):
            return on_table(self, "randomize", answers, rng=rng, anyway=anyway)
        if not anyway:
            self.require_estimable()
        return self._named(self.draw(self.labels.encode(answers), self.source(rng)))

    def _named(self, reports: Any) -> NDArray[Any]:
        """Return reports by the names that they have."""
        named: NDArray[Any] = reports
        return named

    def draw(self, codes: Codes, source: BitSource) -> Any:
        """Return a report for the number of each answer, where a client draws it so."""
        raise _no_recipe(self.type)

    def written(self, reports: Any) -> Values:
        """Return reports as they stand in a table."""
        raise _no_recipe(self.type)

    def _client(self, answers: Values, settings: Settings, rng: Rng) -> Values:
        """Return the reports of one block of a table."""
        return self.written(self.draw(self.labels.encode(answers), bit_source(rng)))

    def _takes(self, name: str) -> Column:
        """Return the column of answers, with the categories in a few words."""
        from mechdesign.collect.collecting import Column

        return Column(name, f"one of {_abridged(self.labels)}", any_name=True)

    def _frequency_operations(self, report: str) -> tuple[Operation, ...]:
        """Return ``randomize`` and ``estimate`` of frequencies; ``report`` is what a report looks like."""
        from mechdesign.collect.collecting import ANYWAY, column_operations

        quantity = "the frequencies of the answers"
        randomize, estimate = column_operations(
            self, self._takes("answer"), report, self._client, (ANYWAY,), quantity
        )
        return randomize, with_simplex(estimate)

    def _client_steps(self) -> Steps:
        """Return how a report is drawn for the number of an answer, as plain values."""
        raise _no_recipe(self.type)

    def recipe(self) -> Recipe:
        from mechdesign.collect.client import AskedChoice, Recipe
        from mechdesign.collect.collecting import marked

        name = self.data_columns[0] if self.data_columns else None
        column = marked(name or "answer", self.survey_digest)
        return Recipe((AskedChoice.of(self.labels, name),), (column,), self._client_steps())

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        from mechdesign.collect.client import plain_report

        return plain_report(self.written(self.draw(self.labels.encode([answer]), source)))

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        return ((None, self.labels.size if self.labels.names is None else 0),)

    def _is_value(self, text: str) -> bool:
        return text in self.labels.shown()

    def _require_missing(self, rule: str) -> None:
        if rule == "category" and MISSING_CATEGORY not in (self.labels.names or ()):
            raise ParameterError(
                "missing", f"no category '{MISSING_CATEGORY}'", "build with that label, or drop such rows"
            )


def _no_recipe(kind: str) -> MethodError:
    from mechdesign.collect.client import no_recipe

    return no_recipe(kind)


class ReportMechanism(CategoryMechanism[EstimateT_co]):
    """A mechanism with finitely many reports, which have numbers from 0."""

    @property
    @abstractmethod
    def counters(self) -> int:
        """Number of counters that the server keeps: one a report."""

    @abstractmethod
    def possible_reports(self) -> NDArray[np.bool_]:
        """Return the reports that are possible."""

    @abstractmethod
    def read(self, reports: Any) -> Codes:
        """Return the numbers of reports; refuse a report that no answer can produce."""

    @abstractmethod
    def estimate_from_counts(self, counts: Codes, population: bool = False) -> EstimateT_co:
        """Return the estimate from the number of times each report was made."""

    def aggregator(self) -> Aggregator[EstimateT_co]:
        return Aggregator(self)


class Aggregator(Server[ReportMechanism[Any]], Generic[EstimateT_co]):
    """Counts of reports: add reports, merge with others, estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update([0, 1, 1]); there.update([0])
    >>> here.merge(there); here.counts
    array([2, 2])
    """

    def __init__(self, mechanism: ReportMechanism[EstimateT_co]) -> None:
        super().__init__(mechanism)
        self.counts: Codes = np.zeros(mechanism.counters, dtype=np.int64)

    @property
    def users(self) -> int:
        """Number of reports that were counted."""
        return int(self.counts.sum())

    def _count(self, reports: Any) -> None:
        if isinstance(reports, Coded):
            with suppress(DataError):  # said again below, with the row
                distinct = self.mechanism.read(reports.values)
                counts = self.counts.copy()
                np.add.at(counts, distinct, reports.rows_of_each())
                self.counts = counts
                return
        read = self.mechanism.read(reports)
        self.counts = self.counts + np.bincount(read, minlength=len(self.counts)).astype(np.int64)

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        self.counts = self.counts + other.counts

    def estimate(self, population: bool = False) -> EstimateT_co:
        """Return the estimates from all counted reports."""
        self.require_some()
        result: EstimateT_co = self._asked(self.mechanism.estimate_from_counts(self.counts, population))
        return result

    def _written(self) -> dict[str, Any]:
        return {"counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        require_users(sum(counts))
        self.counts = np.array(counts, dtype=np.int64)
        if (self.counts > 0)[~self.mechanism.possible_reports()].any():
            raise DataError(
                "aggregator", "counts of reports that no answer can cause", "count the reports again"
            )


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
    text = ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
    nothing = "with epsilon = 0 and delta = 0 reports contain no information; build with epsilon > 0"
    return EstimationError(
        "channel",
        f"{len(names)} answers ({text}) lead to the same reports, so their frequencies cannot be separated",
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
    text = labels.shown()
    return text if labels.names is None else [f'"{name}"' for name in text]


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
        return self._frequency_operations(self._report_text)

    @property
    def _report_text(self) -> str:
        """Content of a column of reports."""
        return f"one of {_abridged(self.report_labels)}"

    def read(self, reports: Any) -> Codes:
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
    text = ", ".join(labels.names[:6])
    return text if labels.size <= 6 else f"{text}, ... {labels.size} in all"


SIMPLEX = Option("simplex", "flag", "also give the nearest frequencies that are >= 0 and sum to 1 (biased)")

MOST_ROWS = 60


@dataclass(frozen=True)
class OnSimplex(Tidy):
    """An estimate and the nearest frequencies that are >= 0 and sum to 1 (norm-sub).

    The projection lowers the total squared error of every estimate whose truth lies on the simplex, and is
    biased: standard errors and intervals stay those of the unbiased estimate.

    Parameters
    ----------
    estimate : FrequencyEstimate

    Examples
    --------
    >>> import numpy as np
    >>> from mechdesign.collect import FrequencyEstimate
    >>> estimate = FrequencyEstimate(np.array([0.9, 0.2, -0.1]), np.full(3, 0.1), 100, ("a", "b", "c"))
    >>> print(OnSimplex(estimate))
    100 reports
    category  on simplex  estimate  std error
    --------  ----------  --------  ---------
    a            0.85000   0.90000    0.10000
    b            0.15000   0.20000    0.10000
    c            0.00000  -0.10000    0.10000
    """

    estimate: FrequencyEstimate

    def __str__(self) -> str:
        columns = (self.estimate.projected(), self.estimate.value, self.estimate.standard_error)
        rows = [
            [name, *(to_error(number + 0.0, figures[2], ".5f") for number in figures)]
            for name, *figures in zip(self.estimate.categories, *columns, strict=True)
        ]
        more = f"\n... and {len(rows) - MOST_ROWS} more categories" if len(rows) > MOST_ROWS else ""
        header = ["category", "on simplex", "estimate", "std error"]
        return f"{counted(self.estimate.users, 'report')}\n{table(header, rows[:MOST_ROWS])}{more}"

    def figures(self) -> list[Figure]:
        """Return the projection as bars, with the confidence intervals of the unbiased estimate."""
        from mechdesign.show.panels import SHARE, UNBIASED, interval_figures

        title = f"Estimated shares of {counted(self.estimate.users, 'report')}, none below 0"
        names, interval = self.estimate.categories, self.estimate.interval()
        projected = self.estimate.projected()
        return interval_figures(
            title, names, projected, interval, "answer", "share", possible=SHARE, interval_label=UNBIASED
        )

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return self.estimate.users

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the unbiased estimates as columns, with ``simplex`` for the projection."""
        return {**self.estimate.tidy(level), "simplex": self.estimate.projected().tolist()}

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values, with ``simplex`` for the projection."""
        return json_object({**self.estimate.as_json(), "simplex": self.estimate.projected()})


def with_simplex(estimate: Operation) -> Operation:
    """Return the operation ``estimate`` with an option that gives the projection as well."""

    def run(sources: Sequence[Source], settings: Settings) -> Any:
        frequencies: FrequencyEstimate = estimate.run(sources, settings)
        return OnSimplex(frequencies) if settings["simplex"] else frequencies

    return replace(estimate, run=run, options=(*estimate.options, SIMPLEX))
