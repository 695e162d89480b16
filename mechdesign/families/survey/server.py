"""The server of a survey: a counter for each part of each design, mergeable in any order, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import FrequencyEstimate, MeanEstimate
from mechdesign.collect.intervals import NormalLimits, quantile_ends, tail_of
from mechdesign.collect.scores import few_users, implausible
from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError, RowError, counted
from mechdesign.core.values import Counter
from mechdesign.data.tidy import Quantiles
from mechdesign.families.survey.combined_estimates import (
    NOBODY,
    CombinedLimits,
    Evidence,
    MixedLimits,
    ScaledLimits,
    TableReports,
    Unknown,
    evidence,
    group_means,
)
from mechdesign.families.survey.derived_results import (
    QUARTERS,
    answered_quantiles,
    answered_shares,
    group_names,
    group_shares,
    rating_mean,
    response_shares,
)
from mechdesign.families.survey.group_scores import CellScores
from mechdesign.families.survey.part_plans import PlannedSurvey
from mechdesign.families.survey.parts import NumberPart, OrderedReports, SurveyPart
from mechdesign.families.survey.questions import Question
from mechdesign.families.survey.results import (
    Axes,
    GroupShares,
    Request,
    SurveyResult,
    SurveyResults,
)

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


def results_of(survey: PlannedSurvey, counts: SurveyCounts, population: bool) -> SurveyResults:
    """Return all requested results from the counts of a server."""
    results = tuple(_result(survey, counts, request, population) for request in survey.requests)
    return SurveyResults(results, counts.users, survey.epsilon, population, survey.delta)


def _result(survey: PlannedSurvey, counts: SurveyCounts, request: Request, population: bool) -> SurveyResult:
    name, question = request.name(survey.questions), survey.questions[request.places[0]]
    if request.number is not None:
        domain = survey.questions[request.number].domain
        means = group_means(survey.questions, counts.users, request, table_reports(survey, counts, request))
        return SurveyResult(name, request, replace(means, possible=(domain.low, domain.high)))
    if len(request.places) == 1 and question.is_mean:
        ends = (question.domain.low, question.domain.high)
        return SurveyResult(name, request, replace(_mean(survey, counts, request, population), possible=ends))
    sample = None if population else counts.users
    evidence_sources = table_reports(survey, counts, request)
    axes = tuple((item.name, item.categories) for item in map(survey.questions.__getitem__, request.places))
    names = tuple(", ".join(labels) for labels in product(*(labels for _, labels in axes)))
    if not evidence_sources:
        even, half = np.full(len(names), 1.0 / len(names)), np.full(len(names), 0.5)
        unknown = FrequencyEstimate(
            even, half, 0, names, population, None, Unknown(even, 0.0, 1.0), (NOBODY,)
        )
        return SurveyResult(name, request, unknown)
    if question.is_number and len(request.places) == 1:
        return _skipped_number(name, request, question, [item.scores() for item in evidence_sources])
    cells = _shares([item.each() for item in evidence_sources], names, sample)
    scores = [item.scores() for item in evidence_sources]
    if len(request.places) > 1:
        return SurveyResult(
            name, request, cells, axes=axes, groups=_groups(survey, request, axes, scores, sample)
        )
    answered = answered_shares(question, scores, sample)
    mean = rating_mean(question, scores, sample)
    if not question.is_ordered:
        return SurveyResult(name, request, cells, answered=answered, mean=mean)
    count = question.size - 1  # up to each category but the last one, or the last one before "no answer"
    ordered = _shares([item.sums(count) for item in evidence_sources], question.categories[:count], sample)
    if question.skip:
        quartiles = answered_quantiles(question, scores, sample)
    else:
        quartiles = quantiles(ordered, question.categories[-1])
    return SurveyResult(name, request, cells, ordered, quartiles, answered=answered, mean=mean)


def _skipped_number(
    name: str, request: Request, question: Question, scores: Sequence[CellScores]
) -> SurveyResult:
    """Return the share of those who answered, and their mean, of a number that may be skipped.

    The intervals are for the population: that a number is rounded at random is part of the sampling.
    """
    return SurveyResult(
        name, request, response_shares(question, scores), mean=rating_mean(question, scores, None)
    )


def _groups(
    survey: PlannedSurvey, request: Request, axes: Axes, scores: Sequence[CellScores], sample: int | None
) -> tuple[GroupShares, ...]:
    """Return the percentages of rows, which are all questions but the last, and those of columns."""
    questions = [survey.questions[place] for place in request.places]
    result = []
    for axis in (len(axes) - 1, 0):
        estimate = group_shares(axes, questions, scores, sample, axis)
        if estimate is not None:
            groups, categories = group_names(axes, questions, axis)
            result.append(GroupShares(questions[axis].name, tuple(groups), tuple(categories), estimate))
    return tuple(result)


def _informative_parts(
    survey: PlannedSurvey, counts: SurveyCounts, request: Request
) -> Iterator[tuple[SurveyPart, Any, float]]:
    """Yield the parts that tell something and have reports, with their counters and the information."""
    for parts, counters in zip(survey.split.branches, counts.counters, strict=True):
        for part, counter in zip(parts, counters, strict=True):
            information = survey.part_information(request, part)
            if information > 0.0 and counter.users > 0:
                yield part, counter, information


def table_reports(survey: PlannedSurvey, counts: SurveyCounts, request: Request) -> list[Any]:
    """Return the information about the table of some questions in the reports of all designs."""
    parts = _informative_parts(survey, counts, request)
    sources = (part.evidence_in(counter, request.places, information) for part, counter, information in parts)
    informative = [source for source in sources if source is not None]
    return sorted(informative, key=lambda source: isinstance(source, OrderedReports))


# Shares


def _shares(parts: Sequence[Evidence], names: tuple[str, ...], sample: int | None) -> FrequencyEstimate:
    limits = CombinedLimits(parts, sample)
    value, errors = limits.value, limits.standard_error()
    reports = sum(part.users for part in parts)
    notes = few_users(reports) + implausible(names, value, errors, 0.0, 1.0)
    return FrequencyEstimate(value, errors, reports, names, sample is None, None, limits, notes)


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


def _mean(survey: PlannedSurvey, counts: SurveyCounts, request: Request, population: bool) -> MeanEstimate:
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
        return replace(own[0][0], population=population)
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


class SurveyCounts(Server[PlannedSurvey]):
    """Counts of the reports of a survey: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> questions = [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))]
    >>> survey = SurveyMechanism.of(questions, epsilon=2.0)
    >>> here, there = survey.aggregator(), survey.aggregator()
    >>> here.update(survey.randomize({"smokes": ["no"] * 30, "sex": ["f"] * 30}, rng=1))
    >>> there.update(survey.randomize({"smokes": ["yes"] * 20, "sex": ["m"] * 20}, rng=2))
    >>> here.merge(there); here.users
    50
    """

    kept: ClassVar[str] = "counts"

    def __init__(self, mechanism: PlannedSurvey) -> None:
        super().__init__(mechanism)
        self.counters: list[list[Counter]] = mechanism.split.counters()

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
        designs, payloads = self.parsed(reports)
        for number, counters in enumerate(fresh.counters):
            rows = np.flatnonzero(designs == number)
            if not len(rows):
                continue
            parts, fields = self.mechanism.split.branches[number], [payloads[row].split("|") for row in rows]
            for row, texts in zip(rows.tolist(), fields, strict=True):
                if len(texts) != len(parts):
                    what = f"has {counted(len(texts), 'part')}, its design {len(parts)}"
                    raise RowError("reports", row, what, REMEDY)
            for part, counter, column in zip(parts, counters, zip(*fields, strict=True), strict=True):
                try:
                    counter.update(part.read(np.array(column)))
                except RowError as error:
                    raise error.changed(where="reports", row=int(rows[error.row])) from None
        self._merge(fresh)

    def parsed(self, reports: Any) -> tuple[NDArray[np.int64], list[str]]:
        """Return the numbers of the designs and the rest of each text."""
        listed = np.asarray(reports)
        if listed.ndim != 1 or (len(listed) and not isinstance(listed.tolist()[0], str)):
            raise DataError("reports", "expected one text a user, as randomize returns them", REMEDY)
        pairs = [text.partition(":") if isinstance(text, str) else ("", "", "") for text in listed.tolist()]
        known = {str(number): number for number in range(self.mechanism.count)}
        designs = np.array([known.get(head, -1) for head, _, _ in pairs], dtype=np.int64)
        if (designs < 0).any():
            row = int(np.argmax(designs < 0))
            what = f"'{str(listed[row])[:40]}' names no design of this survey"
            raise RowError("reports", row, what, REMEDY)
        return designs, [payload for _, _, payload in pairs]

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
        damaged = DataError("aggregator", "the counts are damaged", "count the reports again")
        shape = [len(counters) for counters in self.counters]
        if [len(item) if isinstance(item, list) else -1 for item in designs or ()] != shape:
            raise damaged
        read: list[list[Counter]] = []
        for parts, counters, items in zip(self.mechanism.split.branches, self.counters, designs, strict=True):
            kinds: Any = map(type, counters)
            restored = [
                kind.from_json(part.mechanism, item)
                for kind, part, item in zip(kinds, parts, items, strict=True)
            ]
            if len({counter.users for counter in restored}) > 1:
                raise damaged
            read.append(restored)
        self.counters = read
