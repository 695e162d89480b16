"""The server of a survey: a counter for each part of each design, mergeable in any order, and the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import FrequencyEstimate, MeanEstimate
from mechdesign.collect.frequency_limits import implausible, quantile_ends
from mechdesign.collect.intervals import NormalLimits, tail_of
from mechdesign.collect.scores import few_users
from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.text import counted
from mechdesign.core.values import Counter
from mechdesign.families.survey.combined_estimates import (
    NOBODY,
    CombinedLimits,
    Evidence,
    Law,
    MixedLimits,
    ScaledLimits,
    Unknown,
    evidence,
    group_means,
)
from mechdesign.families.survey.parts import NumberPart, OrderedPart, SetPart, SurveyPart, TablePart
from mechdesign.families.survey.questions import Question
from mechdesign.families.survey.results import Axes, Quantiles, Request, SurveyResult, SurveyResults

if TYPE_CHECKING:
    from mechdesign.families.survey.survey import Survey

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class TableReports:
    """Information about a table in the reports of one part.

    Attributes
    ----------
    users : int
    supports : (n,) int array
        How much the reports support each cell of the table.
    law : callable
        From a number of these cells to the moments of how much one report supports them.
    information : float
    """

    users: int
    supports: Codes
    law: Callable[[int], Law]
    information: float

    def each(self) -> Evidence:
        """Return the evidence of the share of each cell."""
        return evidence(self.supports, self.users, [self.law(1)], self.information)

    def sums(self, count: int) -> Evidence:
        """Return the evidence of the cumulative shares of the first ``count`` cells."""
        laws = [self.law(step) for step in range(1, count + 1)]
        return evidence(np.cumsum(self.supports)[:count], self.users, laws, self.information)


@dataclass(frozen=True)
class OrderedReports:
    """Information about its question in the reports of an ordered part."""

    part: OrderedPart
    counts: Codes
    information: float

    def each(self) -> Evidence:
        """Return the evidence of the share of each category."""
        return self.part.evidence(self.counts, np.eye(self.part.sizes[0], dtype=bool), self.information)

    def sums(self, count: int) -> Evidence:
        """Return the evidence of the cumulative shares of the first ``count`` categories."""
        rows = np.tri(count, self.part.sizes[0], dtype=bool)
        return self.part.evidence(self.counts, rows, self.information)


def results_of(survey: Survey, counts: SurveyCounts, population: bool) -> SurveyResults:
    """Return all requested results from the counts of a server."""
    results = tuple(_result(survey, counts, request, population) for request in survey.requests)
    return SurveyResults(results, counts.users, survey.epsilon, population, survey.delta)


def _result(survey: Survey, counts: SurveyCounts, request: Request, population: bool) -> SurveyResult:
    name, question = request.name(survey.questions), survey.questions[request.places[0]]
    if request.number is not None:
        domain = survey.questions[request.number].domain
        means = group_means(survey, counts, request, table_reports(survey, counts, request))
        return SurveyResult(name, request, replace(means, possible=(domain.low, domain.high)))
    if len(request.places) == 1 and question.is_mean:
        ends = (question.domain.low, question.domain.high)
        return SurveyResult(name, request, replace(_mean(survey, counts, request, population), possible=ends))
    sample = None if population else counts.users
    evidence_sources: list[TableReports | OrderedReports] = [
        *table_reports(survey, counts, request),
        *_ordered_reports(survey, counts, request),
    ]
    names = _cell_names(survey, request)
    if not evidence_sources:
        return SurveyResult(name, request, _unknown_shares(names, population))
    cells = _shares([item.each() for item in evidence_sources], names, sample)
    if len(request.places) > 1:
        return SurveyResult(name, request, cells, axes=_axes(survey, request))
    if not question.is_ordered:
        return SurveyResult(name, request, cells)
    ordered = _cumulative(evidence_sources, question, sample)
    quartiles = None if question.skip else quantiles(ordered, question.categories[-1])
    return SurveyResult(name, request, cells, ordered, quartiles)


def _informative_parts(
    survey: Survey, counts: SurveyCounts, request: Request
) -> Iterator[tuple[SurveyPart, Any, float]]:
    """Yield the parts that tell something and have reports, with their counters and the information."""
    for design, counters in zip(survey.designs, counts.counters, strict=True):
        for part, counter in zip(design.parts, counters, strict=True):
            information = survey.part_information(request, part)
            if information > 0.0 and counter.users > 0:
                yield part, counter, information


def table_reports(survey: Survey, counts: SurveyCounts, request: Request) -> list[TableReports]:
    """Return the information about the table of some questions in the reports of all designs."""
    result = []
    for part, counter, information in _informative_parts(survey, counts, request):
        if isinstance(part, TablePart):
            supports = part.supports(np.asarray(counter.counts), counter.users, request.places)
            result.append(TableReports(counter.users, supports, _law(part, len(supports)), information))
        elif isinstance(part, SetPart):
            supports = part.supports(np.asarray(counter.counts), request.places[0])
            result.append(
                TableReports(counter.users, supports, partial(part.law, request.places[0]), information)
            )
    return result


def _ordered_reports(survey: Survey, counts: SurveyCounts, request: Request) -> list[OrderedReports]:
    """Return the counts of the ordered parts that are about a question."""
    return [
        OrderedReports(part, np.asarray(counter.counts), information)
        for part, counter, information in _informative_parts(survey, counts, request)
        if isinstance(part, OrderedPart)
    ]


def _law(part: TablePart, cells: int) -> Callable[[int], Law]:
    """Return the distributions for numbers of cells of a table; each cell is several cells of the part's."""
    size = part.oracle.labels.size // cells
    return lambda number: part.law(number * size)


# Shares


def _shares(parts: Sequence[Evidence], names: tuple[str, ...], sample: int | None) -> FrequencyEstimate:
    limits = CombinedLimits(parts, sample)
    value, errors = limits.value, limits.standard_error()
    reports = sum(part.users for part in parts)
    notes = few_users(reports) + implausible(names, value, errors, 0.0, 1.0)
    return FrequencyEstimate(value, errors, reports, names, sample is None, None, limits, notes)


def _axes(survey: Survey, request: Request) -> Axes:
    listed = (survey.questions[place] for place in request.places)
    return tuple((question.name, question.categories) for question in listed)


def _cell_names(survey: Survey, request: Request) -> tuple[str, ...]:
    lists = [survey.questions[place].categories for place in request.places]
    return tuple(", ".join(labels) for labels in product(*lists))


def _unknown_shares(names: tuple[str, ...], population: bool) -> FrequencyEstimate:
    even = np.full(len(names), 1.0 / len(names))
    limits = Unknown(even, 0.0, 1.0)
    return FrequencyEstimate(even, np.full(len(names), 0.5), 0, names, population, None, limits, (NOBODY,))


def _cumulative(
    reports: Sequence[TableReports | OrderedReports], question: Question, value: int | None
) -> FrequencyEstimate:
    """Return the shares up to each category but the last one, or the last one before ``no answer``."""
    count = question.size - 1
    return _shares([item.sums(count) for item in reports], question.categories[:count], value)


def quantiles(ordered: FrequencyEstimate, last: str, levels: Sequence[float] = QUARTERS) -> Quantiles:
    """Return the categories of quantiles, with intervals by inverted tests.

    The estimate is made increasing first; the intervals are those of :func:`quantile_ends`.
    """
    limits, tail = ordered.limits or NormalLimits(ordered.standard_error), tail_of(0.95)
    names = [*ordered.categories, last]
    increasing = np.append(np.maximum.accumulate(ordered.value), np.inf)
    category = tuple(names[int(np.argmax(increasing >= level))] for level in levels)
    ends = [quantile_ends(ordered.value, limits, level, tail) for level in levels]
    early, late = (tuple(names[place] for place in places) for places in zip(*ends, strict=True))
    return Quantiles(tuple(levels), category, early, late)


# Numbers


def _mean(survey: Survey, counts: SurveyCounts, request: Request, population: bool) -> MeanEstimate:
    """Return the mean of a number from its own reports and from the bits in tables, by planned weights.

    With several designs the interval is for the population, which is wider than that for the given users.
    """
    question = survey.questions[request.places[0]]
    domain = question.domain
    own: list[tuple[MeanEstimate, float]] = []
    for part, counter, information in _informative_parts(survey, counts, request):
        if isinstance(part, NumberPart):
            alone = counter.users == counts.users and not population
            own.append((counter.estimate(population=not alone), information))
    bits = [_upper(item) for item in table_reports(survey, counts, request)]
    if not own and not bits:
        middle, limits = domain.middle, Unknown(np.array(domain.middle), domain.low, domain.high)
        return MeanEstimate(middle, domain.half, 0, population, limits, (NOBODY,))
    if len(own) == 1 and not bits:
        estimate = own[0][0]
        return MeanEstimate(
            estimate.value,
            estimate.standard_error,
            estimate.users,
            population,
            estimate.limits,
            estimate.notes,
        )
    if not own:
        shared = CombinedLimits(bits)
        value, error = domain.low + domain.width * shared.value[0], domain.width * shared.standard_error()[0]
        scaled = ScaledLimits(shared, domain.width)
        reports = sum(part.users for part in bits)
        return MeanEstimate(float(value), float(error), reports, population, scaled, few_users(reports))
    return _mixed(own, bits, question, population)


def _upper(reports: TableReports) -> Evidence:
    """Return the evidence of the share of the upper of two categories."""
    return evidence(reports.supports[1:], reports.users, [reports.law(1)], reports.information)


def _mixed(
    own: Sequence[tuple[MeanEstimate, float]], bits: Sequence[Evidence], question: Question, population: bool
) -> MeanEstimate:
    domain = question.domain
    bounds = [ScaledLimits(CombinedLimits([part]), domain.width) for part in bits]
    values = [estimate.value for estimate, _ in own]
    values += [domain.low + domain.width * float(part.value[0]) for part in bits]
    errors = [estimate.standard_error for estimate, _ in own]
    errors += [domain.width * float(bound.limits.standard_error()[0]) for bound in bounds]
    planned = [estimate.users * information for estimate, information in own]
    planned += [part.users * part.information for part in bits]
    reports = sum(estimate.users for estimate, _ in own) + sum(part.users for part in bits)
    weights = np.array(planned, dtype=np.float64) / sum(planned)
    parts: list[Any] = [*(estimate.limits for estimate, _ in own), *bounds]
    limits = MixedLimits(np.array(values), weights, np.array(errors), parts)
    error = float(limits.standard_error())
    return MeanEstimate(limits.value, error, reports, population, limits, few_users(reports))


REMEDY = "use the mechanism file the reports were made with"


class SurveyCounts(Server["Survey"]):
    """Counts of the reports of a survey: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, Survey
    >>> questions = [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))]
    >>> survey = Survey.of(questions, epsilon=2.0)
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
        fields = [payloads[row].split("|") for row in rows.tolist()]
        for row, texts in zip(rows.tolist(), fields, strict=True):
            if len(texts) != count:
                what = f"has {counted(len(texts), 'part')}, its design {count}"
                raise RowError("reports", row, what, REMEDY)
        return [[texts[place] for texts in fields] for place in range(count)]

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
        designs: Any = document.get("designs")
        shape = [len(counters) for counters in self.counters]
        lengths = [len(item) if isinstance(item, list) else -1 for item in designs or ()]
        if lengths != shape:
            raise DataError("aggregator", "the counts are damaged", "count the reports again")
        read: list[list[Counter]] = []
        for design, counters, items in zip(self.mechanism.designs, self.counters, designs, strict=True):
            restored: list[Counter] = []
            for part, counter, item in zip(design.parts, counters, items, strict=True):
                kind: Any = type(counter)
                restored.append(kind.from_json(part.mechanism, item))
            if len({counter.users for counter in restored}) > 1:
                raise DataError("aggregator", "the counts are damaged", "count the reports again")
            read.append(restored)
        self.counters = read
