"""Collectors: a collecting mechanism is codec x kernel x scores.

The *codec* (:mod:`mechdesign.collect.codec`) says what is asked and gives every answer a code. The *kernel*
(:mod:`mechdesign.collect.kernel`) holds the integer weights of the reports of each code and draws from
them: what is audited is what is drawn. The *scores* (:mod:`mechdesign.collect.scores` for
frequencies) say what a report stands for. From the three come client, recipe, server, reader, table
operations, forecast and intervals.

A mechanism that needs more than that of one part is an :class:`AnswerMechanism`: it has a codec and its own
way to draw. Oracles count support and not reports; bits and real numbers are summed, not counted; the
reports of several attributes are packed bits or pairs of a view and a report.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.codec import Choice, Codec, Codes, Labels
from mechdesign.collect.collecting import (
    ANYWAY,
    CLIP,
    Column,
    Operation,
    Option,
    Settings,
    column_operations,
    marked,
)
from mechdesign.collect.kernel import Recipe, plain_report, rng_alone
from mechdesign.collect.server import Server, on_table, require_users, whole_rows
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, EstimationError, ParameterError, RowError, counted, margin_text
from mechdesign.core.validation import user_count
from mechdesign.core.values import USERS, EstimateT_co, Forecast, changed, frozen_value, json_object
from mechdesign.data.frames import is_table
from mechdesign.data.intake import Coded, Intake, Source, Values
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.exact.numbers import require_no_mask
from mechdesign.exact.randomness import BITS, BitSource, Rng, bit_source
from mechdesign.show.tables import table, to_error

if TYPE_CHECKING:
    from mechdesign.collect.estimate import FrequencyEstimate
    from mechdesign.collect.kernel import Answer, Kernel, Steps
    from mechdesign.collect.report_scores import ReportScores
    from mechdesign.collect.scores import Scores
    from mechdesign.show.figure import Figure


class AnswerMechanism(CollectingMechanism[EstimateT_co]):
    """A mechanism whose client is a codec and a rule that draws a report for a code.

    A subclass has ``labels``, or a codec of its own; it says how a report is drawn (``draw``), how it
    stands in a table (``written``), and how a client draws it (``_client_steps``).

    Class attributes
    ----------------
    quantity : str
        What is estimated, for people.
    may_fail : bool
        Whether there are surveys from whose reports nothing can be estimated: such are refused, unless the
        option ``anyway`` is set.
    """

    users_alike: ClassVar[bool] = True
    quantity: ClassVar[str] = "the frequencies of the answers"
    may_fail: ClassVar[bool] = True
    labels: Labels

    @cached_property
    def codec(self) -> Codec:
        """Questions and codes of answers; by default one of several categories."""
        return Choice(self.labels)

    @abstractmethod
    def forecast(self, users: int = USERS) -> Forecast:
        """Return whether there can be an estimate, and the standard error with this many users."""

    def draw(self, codes: Any, source: BitSource) -> Any:
        """Return a report for the code of each answer, where a client draws it so."""
        raise self._no_recipe()

    def _reports_of(self, codes: Any, source: BitSource) -> Any:
        """Return the reports of all users, drawn in pieces where that is faster."""
        return self.draw(codes, source)

    def written(self, reports: Any) -> Values:
        """Return reports as they stand in a table: by default as they are drawn."""
        column: Values = reports
        return column

    @property
    def _report_text(self) -> str:
        """Content of a column of reports."""
        return "a report"

    def _client_steps(self) -> Steps:
        """Return how a report is drawn for a code, as plain values."""
        raise self._no_recipe()

    # Client

    @rng_alone
    def randomize(
        self, answers: Any, rng: Rng = None, anyway: bool = False, clip: bool = False
    ) -> NDArray[Any]:
        """Return one report for each answer.

        Parameters
        ----------
        answers : array of labels or numbers, series or data frame
        rng : None, int or numpy Generator
            None, the default, draws from the operating system; give a seed only in simulations.
        anyway : bool
            Whether to collect although nothing can be estimated from the reports.
        clip : bool
            Whether numbers outside of the range are moved to its nearest end instead of refused.

        Returns
        -------
        array
            Labels where the mechanism has names for its reports, else as it draws them.

        Raises
        ------
        DataError
            For an answer that is none, naming its row.
        EstimationError
            When nothing can be estimated from the reports, unless ``anyway``.
        """
        if is_table(answers):
            return on_table(self, "randomize", answers, rng=rng, anyway=anyway, clip=clip)
        if not anyway:
            self.require_estimable()
        codes = self.codec.codes(answers, clip)
        return self._named(self._reports_of(codes, self.source(rng)))

    def _named(self, reports: Any) -> NDArray[Any]:
        """Return reports by the names that they have."""
        named: NDArray[Any] = reports
        return named

    def _client(self, answers: Values, settings: Settings, rng: Rng) -> Values:
        """Return the reports of one block of a table."""
        clip = bool(settings["clip"])
        if clip:
            settings.count(*self.codec.moved(answers))
        return self.written(self._reports_of(self.codec.codes(answers, clip), bit_source(rng)))

    def recipe(self) -> Recipe:
        name = self.data_columns[0] if self.data_columns and self.codec.single else None
        column = marked(name or self.codec.report_word, self.survey_digest)
        return Recipe(self.codec.questions(name), (column,), self._client_steps(), self.codec.single)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        codes = self.codec.codes([answer])
        return plain_report(self.written(self._reports_of(codes, source)))

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        takes = Column(self.codec.word, self.codec.content, any_name=True)
        options = (*((ANYWAY,) if self.may_fail else ()), *((CLIP,) if self.codec.clips else ()))
        return column_operations(self, takes, self._report_text, self._client, options, self.quantity)

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        return self.codec.bare()

    def _is_value(self, text: str) -> bool:
        return self.codec.is_answer(text)

    def _require_missing(self, rule: str) -> None:
        if rule == "category":
            self.codec.require_missing(self.type)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        if len(ranges) > 1:
            raise ParameterError("range", f"{counted(len(ranges), 'range')} for one column", "give one")
        if not ranges:
            return super().for_data(intake)
        return super(AnswerMechanism, self._within(*ranges[0])).for_data(intake).replaced(about=self.about)

    def _within(self, low: float, high: float) -> Self:
        """Return the mechanism for numbers of this range."""
        raise ParameterError("range", f"a {self.type} takes no numbers", "omit it")


class Collector(AnswerMechanism[EstimateT_co]):
    """A collecting mechanism with finitely many reports: codec x kernel x scores.

    The *codec* turns answers into codes. The *kernel* holds integer weights out of 2**62 for the reports
    of each code, and draws them: what is audited is what is drawn. Reports have numbers from 0, so that a
    server counts them; *scores* say what a report stands for; a subclass makes its estimate of the counts.
    """

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The integer weights, and how a report is drawn."""

    @abstractmethod
    def estimate_from_counts(self, counts: Codes, population: bool = False) -> EstimateT_co:
        """Return the estimate from the number of times each report was made."""

    def certificates(self) -> tuple[Certificate, ...]:
        sums = Certificate("normalization", True, True, {"row_sum": f"2**{BITS}", **self._sum_figures()})
        return self.audit().certificate(), sums

    def _sum_figures(self) -> Mapping[str, float]:
        """Return figures of the weights that stand in the certificate of their sums."""
        return {}

    def draw(self, codes: Codes, source: BitSource) -> Codes:
        """Return the number of a report for each code: one uniform integer each."""
        size = self.kernel.block
        if len(codes) <= size:
            return self.kernel.draw(codes, source.integers(len(codes)))
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), size):
            part = codes[start : start + size]
            reports[start : start + size] = self.kernel.draw(part, source.integers(len(part)))
        return reports

    def _client_steps(self) -> Steps:
        return self.kernel.client_steps()

    # Server

    @cached_property
    def report_labels(self) -> Labels:
        """Names of the reports; by default their numbers."""
        return Labels(self.kernel.reports)

    @property
    def counters(self) -> int:
        """Number of counters that the server keeps: one a report."""
        return self.kernel.reports

    def possible_reports(self) -> NDArray[np.bool_]:
        """Return the reports that are possible."""
        return self.kernel.possible

    @property
    def _report_text(self) -> str:
        return f"one of {self.report_labels.abridged()}"

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
        names = self.report_labels.names
        return Coded(np.array(names), reports) if names else reports

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        from mechdesign.collect.report_scores import counted_scores

        return (counted_scores(self, reports),)

    def count(self, reports: Codes) -> Codes:
        """Return the count of each report."""
        return np.bincount(reports, minlength=self.counters).astype(np.int64)

    def _named(self, reports: Codes) -> NDArray[Any]:
        return self.report_labels.decode(reports)

    def aggregator(self) -> Aggregator[EstimateT_co]:
        return Aggregator(self)


class Aggregator(Server[Collector[Any]], Generic[EstimateT_co]):
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

    def __init__(self, mechanism: Collector[EstimateT_co]) -> None:
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


class FrequencyMechanism(Collector["FrequencyEstimate"]):
    """A mechanism whose reports are categories and whose server estimates frequencies."""

    def _client_steps(self) -> Steps:
        return {**self.kernel.client_steps(), "labels": self.report_labels.as_json()}

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        """The probabilities in floating point: row x for answer x."""
        rows = np.stack([self.kernel.row(code) for code in range(self.labels.size)])
        return np.ldexp(rows.astype(np.float64), -BITS)

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """What each report stands for.

        Raises
        ------
        EstimationError
            When the reports do not determine the frequencies; the text names answers that are reported alike.
        """

    def forecast(self, users: int = USERS) -> Forecast:
        """Return whether frequencies can be estimated, and the standard error with this many users.

        Given the answers, a category's estimate has the average over users of the variance of its score given
        the answer, linear in their frequencies: the largest is attained when all give the same answer.

        Examples
        --------
        >>> import numpy as np
        >>> from mechdesign.primitives import FiniteChannel, PrivacyTarget
        >>> channel = FiniteChannel.from_floats(np.eye(2) / 2 + 0.25, PrivacyTarget(1.2))
        >>> print(channel.forecast(100))
        frequencies: can be estimated; with 100 users the standard error of a share is 0.0866 ...
        """
        count = user_count(users)
        try:
            scores = self.scores
        except EstimationError as error:
            reason = str(error.changed(where=""))
            return Forecast("frequencies", count, possible=False, reason=reason)
        return Forecast.of_shares(
            count,
            math.sqrt(scores.largest_variance() / count),
            math.sqrt(scores.typical_variance() / count),
            "if all answers are equally frequent",
        )

    def estimate_from_counts(self, counts: Codes, population: bool = False) -> FrequencyEstimate:
        """Return unbiased frequency estimates from the counts of reports."""
        require_no_mask(counts, "counts")
        same = self.labels is self.report_labels  # of millions of categories
        alike = same or self.labels.shown() == self.report_labels.shown()
        reported = counts / counts.sum() if alike else None
        return self.scores.frequencies(counts, tuple(self.labels.shown()), population, reported)

    def figures(self) -> list[Figure]:
        """Return the channel as coloured cells, and the errors over the number of users."""
        from mechdesign.show.panels import MOST_HEAT, channel_figures

        if max(self.labels.size, self.report_labels.size) > MOST_HEAT:
            return super().figures()
        cells = channel_figures(self.channel, self.labels.shown(), self.report_labels.shown())
        return cells + super().figures()

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
        return frequency_operations(super().operations())


SIMPLEX = Option("simplex", "flag", "also give the nearest frequencies that are >= 0 and sum to 1 (biased)")

MOST_ROWS = 60


@frozen_value()
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
    category  on simplex  estimate  std error      margin
    --------  ----------  --------  ---------  ----------
    a            0.85000   0.90000    0.10000  ±20 points
    b            0.15000   0.20000    0.10000  ±20 points
    c            0.00000  -0.10000    0.10000  ±20 points
    """

    estimate: FrequencyEstimate

    def __str__(self) -> str:
        columns = (self.estimate.projected(), self.estimate.value, self.estimate.standard_error)
        margins = [margin_text(margin, True) for margin in self.estimate.margins().tolist()]
        rows = [
            [name, *(to_error(number + 0.0, figures[2], ".5f") for number in figures), margin]
            for name, margin, *figures in zip(self.estimate.categories, margins, *columns, strict=True)
        ]
        more = f"\n... and {len(rows) - MOST_ROWS} more categories" if len(rows) > MOST_ROWS else ""
        header = ["category", "on simplex", "estimate", "std error", "margin"]
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


def frequency_operations(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations with an option of ``estimate`` that gives the projection as well."""
    randomize, estimate = operations

    def run(sources: Sequence[Source], settings: Settings) -> Any:
        frequencies: FrequencyEstimate = estimate.run(sources, settings)
        return OnSimplex(frequencies) if settings["simplex"] else frequencies

    return randomize, changed(estimate, run=run, options=(*estimate.options, SIMPLEX))
