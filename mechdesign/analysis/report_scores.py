"""What each report stands for: unbiased scores, and how likely each answer makes it.

For a report r the score s(r) is a vector with E[s(r) | answer j] = e_j, the unit vector of j (for a number:
E[s(r) | x] = x). An estimate is an average of scores, so that everything which takes averages of answers
takes averages of scores: sums over groups, weights, least squares. A score is no answer: one may be -1.4,
and to cut it off would bias every average.

The likelihood of a report is P(r | answer j), up to a factor that does not depend on j: what regressions
and tests of categories are made of.

Three kinds of collectors are read here, and combinations of them by design:

- finitely many reports that a server counts: the estimate from one report of each kind *is* its score,
  because estimates are linear in the counts;
- reports that support categories with the chances p of the own and q of another one: a category has the
  score (1 - q)/(p - q) where it is supported, else -q/(p - q). Given what is supported, no answer among the
  supported ones, and none among the others, is likelier than another; the ratio between the two is
  p (1 - q)/(q (1 - p)) for bits that are drawn apart, and that of a set with and without the answer else;
- numbers: the value of a report.

A survey draws a design, without looking at the answers. Given the design, a part's report about a table of
questions counts support by the categories of the question: the average over the other questions' categories
is the likelihood of these counts, since reports treat the cells of a category alike. What a report of a
design was planned to tell is its ``information``: the weighted average of the scores with these weights is
the survey's estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collector import Collector
from mechdesign.collect.oracle import Oracle
from mechdesign.core.errors import MethodError, counted
from mechdesign.exact.bits import read_sets
from mechdesign.exact.numbers import frozen

Array = NDArray[np.float64]

MOST_KEPT = 1 << 14
"""Entries of the tables of a mechanism that are remembered."""

MOST_ENTRIES = 1 << 27
"""A table of scores with more entries is refused: a gigabyte."""


@dataclass(frozen=True, eq=False)
class ReportScores:
    """The scores of reports about one question.

    Attributes
    ----------
    question : str
        Its name; empty where the mechanism has none.
    names : tuple of str
        The categories; of a number, one name.
    values : (n, k) array
        Unbiased scores. Rows without information are 0.
    information : (n,) array
        The weight of each report that the estimate gives it; 0 where the report says nothing.
    likelihood : (n, k) array or None
        The chance of the report for each answer, largest entry 1; 1 where the report says nothing. None for
        numbers.
    range : (low, high) or None
        Of a number.
    own_answers : tuple of str
        The columns of the likelihood, where these are other ones than those of the values: of queries.
    ends : (low, high) or None
        Of a number that may be skipped: its categories are the two ends, to one of which a report rounds it
        at random, and no answer.
    """

    question: str
    names: tuple[str, ...]
    values: Array
    information: Array
    likelihood: Array | None
    range: tuple[float, float] | None = None
    own_answers: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """The columns of the likelihood."""
        return self.own_answers or self.names

    @property
    def is_number(self) -> bool:
        """Whether the question asks for a number."""
        return self.range is not None

    @property
    def has_mean(self) -> bool:
        """Whether the mean of a number is estimated, of those who answered where it may be skipped."""
        return self.is_number or self.ends is not None

    def ratio(self) -> tuple[Array, Array]:
        """Return numerators (n, k) and denominators (n,) of scores, whose sums have the estimate as quotient.

        Denominators are 1, but for a number that may be skipped: there they estimate who answered.

        Examples
        --------
        >>> table = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        >>> names = ("rounded to 2", "rounded to 6", "no answer")
        >>> scores = ReportScores("hours", names, table, np.ones(3), None, ends=(2.0, 6.0))
        >>> above, below = scores.ratio()
        >>> above.ravel().tolist(), below.tolist()
        ([2.0, 6.0, 0.0], [1.0, 1.0, 0.0])
        """
        if self.ends is None:
            return self.values, np.ones(len(self.values))
        answered = self.values[:, :2]
        return answered @ np.array(self.ends)[:, None], answered.sum(axis=1)

    def __len__(self) -> int:
        return len(self.values)

    def mean(self) -> Array:
        """Return the estimate: the average of the scores by information.

        Examples
        --------
        >>> from mechdesign.collect.kary import KaryResponse
        >>> mechanism = KaryResponse.of(3, 2.0)
        >>> (scores,) = scores_of(mechanism, [0, 0, 1, 2])
        >>> bool(np.allclose(scores.mean(), mechanism.estimate([0, 0, 1, 2]).value))
        True
        """
        return np.asarray(self.information @ self.values / self.information.sum())


def scores_of(mechanism: Any, reports: Any) -> tuple[ReportScores, ...]:
    """Return the scores of reports, one entry for each question.

    Parameters
    ----------
    mechanism : Mechanism
        One that collects, with a linear estimate.
    reports : array
        As ``estimate`` takes them.

    Raises
    ------
    MethodError
        Where an estimate is no average of scores, or the table would be too large.
    DataError
        For an impossible report, naming its row.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
    >>> (scores,) = scores_of(KaryResponse.of(2, 1.0, labels=["no", "yes"]), ["yes", "no"])
    >>> scores.values.round(3)
    array([[-0.582,  1.582],
           [ 1.582, -0.582]])
    """
    if hasattr(mechanism, "split") and hasattr(mechanism, "questions"):
        return _survey_scores(mechanism, reports)
    if hasattr(mechanism, "inner") and hasattr(mechanism, "ranges"):
        return _sampled_scores(mechanism, reports)
    if hasattr(mechanism, "attributes") and (reader := _attribute_reader(mechanism)) is not None:
        return _attribute_scores(mechanism, reports, reader)
    name = mechanism.data_columns[0] if mechanism.data_columns else ""
    return (_single(mechanism, reports, name),)


def _single(mechanism: Any, reports: Any, name: str) -> ReportScores:
    """Return the scores of a mechanism of one question."""
    if hasattr(mechanism, "domain") and hasattr(mechanism, "tally"):
        values = number_values(mechanism, reports)
        ends = (mechanism.domain.low, mechanism.domain.high)
        return ReportScores(name, ("mean",), values[:, None], np.ones(len(values)), None, ends)
    if not isinstance(mechanism, (Collector, Oracle)):
        raise MethodError(
            "scores",
            f"the estimate of a {mechanism.type} is no average of one score a report",
            "use a mechanism of one answer, or a survey",
        )
    labels = tuple(map(str, mechanism.labels.shown()))
    read = mechanism.read(reports)
    _require_room(len(read), len(labels))
    values, likelihood = category_tables(mechanism, read)
    names = labels if values.shape[1] == len(labels) else _query_names(mechanism, read)
    return ReportScores(name, names, values, np.ones(len(read)), likelihood, own_answers=labels)


def _query_names(mechanism: Any, read: Any) -> tuple[str, ...]:
    """Return the names of the queries that a mechanism estimates instead of its categories."""
    unit = np.zeros(mechanism.counters, dtype=np.int64)
    unit[int(read[0]) if len(read) else 0] = 1
    return tuple(map(str, mechanism.estimate_from_counts(unit, population=True)._names()))


def _require_room(users: int, categories: int) -> None:
    if users * categories > MOST_ENTRIES:
        raise MethodError(
            "scores",
            f"{counted(users, 'report')} of {counted(categories, 'category')} make a table of "
            f"{users * categories:.2g} entries",
            f"give at most {max(1, MOST_ENTRIES // categories)} reports at a time",
        )


def category_tables(mechanism: Any, read: Any) -> tuple[Array, Array]:
    """Return scores and likelihoods, both (n, k), of reports that were read.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import SubsetSelection
    >>> oracle = SubsetSelection.of(4, 1.0, size=2)
    >>> scores, likelihood = category_tables(oracle, oracle.read(["xc0"]))
    >>> likelihood.round(3)  # the two supported answers are e times as likely
    array([[1.   , 1.   , 0.368, 0.368]])
    """
    if isinstance(mechanism, Collector):
        return _finite_tables(mechanism, read)
    return _support_tables(mechanism, read)


def _finite_tables(mechanism: Any, codes: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return both tables where reports are counted: one row is computed for each report that occurs."""
    if mechanism.counters * mechanism.labels.size <= MOST_KEPT:
        scores, chances = _every_report(mechanism)
        return scores[codes], chances[codes]
    distinct, place = np.unique(codes, return_inverse=True)
    scores, chances = _tables_of(mechanism, distinct)
    return scores[place.ravel()], chances[place.ravel()]


@lru_cache(maxsize=8)
def _every_report(mechanism: Any) -> tuple[Array, Array]:
    """Return both tables of all possible reports, for those who draw reports again and again."""
    possible = np.flatnonzero(mechanism.possible_reports())
    parts = _tables_of(mechanism, possible)
    scores, chances = (np.zeros((mechanism.counters, part.shape[1])) for part in parts)
    scores[possible], chances[possible] = parts
    return frozen(scores), frozen(chances)


def _tables_of(mechanism: Any, reports: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return both tables of these reports, one row each: the estimate from one report, and its chances."""
    size = mechanism.labels.size
    chances = np.empty((len(reports), size))
    unit, rows = np.zeros(mechanism.counters, dtype=np.int64), []
    for code in reports.tolist():
        unit[code] = 1
        rows.append(np.asarray(mechanism.estimate_from_counts(unit, population=True).value))
        unit[code] = 0
    scores = np.stack(rows) if rows else np.zeros((0, size))
    for answer in range(size):
        chances[:, answer] = mechanism.kernel.row(answer)[reports]
    chances /= np.maximum(chances.max(axis=1, keepdims=True, initial=0.0), 1.0)
    return scores, chances


def _support_tables(oracle: Any, read: Any) -> tuple[Array, Array]:
    """Return both tables where a report supports categories."""
    tables: tuple[Array, Array] | None = oracle.report_tables(read)
    if tables is not None:
        return tables
    supported = supports_of(oracle, read)
    own, other = oracle.support_shares()
    gain = float(own - other)
    scores = (supported - float(other)) / gain
    ratio = float(weight_ratio(oracle))
    likelihood: Array = np.where(supported, 1.0, ratio)
    return np.asarray(scores, dtype=np.float64), likelihood


def weight_ratio(oracle: Any) -> float:
    """Return how likely an answer that a report does not support is, next to one that it supports.

    Where bits are drawn apart, the report has the bit of an answer j with p or 1 - p and that of another one
    with q or 1 - q: the products differ in the two bits only. Else all supported answers weigh the same.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import UnaryEncoding
    >>> round(weight_ratio(UnaryEncoding.optimised(5, 1.0)), 6)  # e^-1
    0.367879
    """
    own, other = oracle.support_shares()
    if hasattr(oracle, "keep") and hasattr(oracle, "add"):
        return float((1 - own) * other / (own * (1 - other)))
    size = oracle.labels.size
    if hasattr(oracle, "design"):
        design = oracle.design
        inside = own / design.through  # each block through the answer
        outside = (1 - own) / (design.blocks - design.through)
        return float(outside / inside)
    if hasattr(oracle, "family"):  # a bucket of its hash function
        return float((1 - own) / (oracle.family.buckets - 1) / own)
    raise MethodError("likelihood", f"not known for a {oracle.type} of {size} categories", "use scores")


def supports_of(oracle: Any, read: Any) -> NDArray[np.bool_]:
    """Return which categories each report supports, (n, k).

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import LocalHashing
    >>> oracle = LocalHashing.of(6, 1.0, buckets=3)
    >>> table = supports_of(oracle, oracle.read(list(range(40))))
    >>> counts = oracle.supports(oracle.count(oracle.read(list(range(40)))), 40)
    >>> bool((table.sum(axis=0) == counts).all())
    True
    """
    array, size = np.asarray(read), oracle.labels.size
    if array.ndim == 2:  # packed bits
        return np.unpackbits(array, axis=1, count=size).astype(bool)
    distinct, place = np.unique(array, return_inverse=True)
    rows = [
        np.asarray(oracle.supports(oracle.count(array_of_one), 1)) > 0
        for array_of_one in distinct.reshape(-1, 1)
    ]
    return np.stack(rows)[place.ravel()] if rows else np.zeros((0, size), dtype=bool)


def number_values(mechanism: Any, reports: Any) -> Array:
    """Return the unbiased value that each report of a number stands for.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> mechanism = Duchi(1.0, 0, 10)
    >>> reports = mechanism.randomize([2, 9, 5], rng=1)
    >>> bool(np.isclose(number_values(mechanism, reports).mean(), mechanism.estimate(reports).value))
    True
    """
    tally = mechanism.tally()
    checked = tally.check(reports)
    slope, offset = float(mechanism.slope), float(mechanism.offset)
    if hasattr(tally, "scores"):
        centred = np.array([float(score) for score in tally.scores])[np.asarray(checked)]
    else:
        centred = np.asarray(checked, dtype=np.float64) - tally.centre
    return np.asarray(slope * centred + offset)


# Several attributes


def _sampled_scores(mechanism: Any, reports: Any) -> tuple[ReportScores, ...]:
    """Return the scores where each user reports some of several numbers.

    Of a scaled estimator who did not draw a number says 0, counted from where scores are centred.
    """
    records, each = np.asarray(reports), mechanism.per_user
    counter = mechanism.aggregator()
    counter.update(records)  # refuses what is no report
    users = len(records) // each
    low, width = mechanism.ranges.low, mechanism.ranges.width
    inner, places = mechanism.inner, np.asarray(records["attribute"], dtype=np.int64)
    unit = (number_values(inner, np.ascontiguousarray(records["report"])) - inner.domain.low) / (
        inner.domain.width
    )
    result = []
    times = mechanism.size / each if mechanism.estimator == "scaled" else 1.0
    base = (float(inner.offset) - inner.domain.low) / inner.domain.width if times > 1.0 else 0.0
    for place, name in enumerate(mechanism.labels.shown()):
        rows = np.flatnonzero(places == place)
        values = np.full((users, 1), low[place] + width[place] * base)
        information = np.full(users, 1.0 if times > 1.0 else 0.0)
        values[rows // each, 0] = low[place] + width[place] * (base + times * (unit[rows] - base))
        information[rows // each] = 1.0
        ends = (float(low[place]), float(low[place] + width[place]))
        result.append(ReportScores(str(name), ("mean",), values, information, None, ends))
    return tuple(result)


def _attribute_reader(mechanism: Any) -> Any:
    """Return what turns the bits of one attribute into both tables; None where there is no such thing."""
    if hasattr(mechanism, "sets") and getattr(mechanism.sets, "kind", "") == "product":
        return lambda read, axis: _set_tables(mechanism, mechanism.attributes.sizes, read, axis)
    if hasattr(mechanism, "shares") and hasattr(mechanism, "bits"):
        return lambda read, axis: _bit_tables(mechanism, read, axis)
    return None


def _attribute_scores(mechanism: Any, reports: Any, reader: Any) -> tuple[ReportScores, ...]:
    """Return the scores of each attribute of a report of bits."""
    counter = mechanism.aggregator()
    counter.update(reports)  # refuses what is no report
    packed = read_sets(reports, counter_bits(mechanism))
    attributes = mechanism.attributes
    result = []
    for axis, name in enumerate(attributes.shown()):
        labels = tuple(map(str, attributes.labels[axis].shown()))
        values, likelihood = reader(packed, axis)
        result.append(ReportScores(str(name), labels, values, np.ones(len(packed)), likelihood))
    return tuple(result)


def counter_bits(mechanism: Any) -> int:
    """Return how many bits a report of several attributes has."""
    return sum(mechanism.attributes.sizes)


def _bit_tables(mechanism: Any, read: Any, axis: int) -> tuple[Array, Array]:
    """Return both tables of an attribute whose bits are drawn apart."""
    sizes = mechanism.attributes.sizes
    start = sum(sizes[:axis])
    bits = np.unpackbits(np.asarray(read), axis=1)[:, start : start + sizes[axis]].astype(bool)
    own, other = map(float, mechanism.shares)
    ratio = (1.0 - own) * other / (own * (1.0 - other))
    likelihood = np.where(bits, 1.0, ratio)
    values = (bits - other) / (own - other)
    values += (1.0 - values.sum(axis=1, keepdims=True)) / values.shape[1]  # the sum is 1: less noise
    return values, _scaled(likelihood)


# Surveys


def _survey_scores(survey: Any, reports: Any) -> tuple[ReportScores, ...]:
    """Return the scores of a survey's questions."""
    counts = survey.aggregator()
    designs, payloads = counts._parsed(np.asarray(reports))
    results = [_blank(survey, question, len(designs)) for question in range(len(survey.questions))]
    for number, parts in enumerate(survey.split.branches):
        rows = np.flatnonzero(designs == number)
        if not len(rows):
            continue
        fields = [payloads[row].split("|") for row in rows]
        for place, part in enumerate(parts):
            texts = np.array([field[place] for field in fields])
            for question in part.places:
                _fill(results[question], survey, part, part.read(texts), question, rows)
    return tuple(results)


def _blank(survey: Any, place: int, users: int) -> ReportScores:
    question = survey.questions[place]
    names = ("mean",) if question.is_mean else tuple(map(str, question.categories))
    ends = (question.domain.low, question.domain.high) if question.is_number else None
    skipped = ends is not None and not question.is_mean
    if skipped:
        names = (*(f"rounded to {name}" for name in names[:2]), *names[2:])
    _require_room(users, len(names))
    return ReportScores(
        question.name,
        names,
        np.zeros((users, len(names))),
        np.zeros(users),
        None if question.is_mean else np.ones((users, len(names))),
        None if skipped else ends,
        ends=ends if skipped else None,
    )


def _fill(scores: ReportScores, survey: Any, part: Any, read: Any, question: int, rows: Any) -> None:
    """Set the rows of one question that a part of a design tells about."""
    request = survey.requests[question]
    scores.information[rows] = survey.part_information(request, part)
    if part.kind == "number":
        scores.values[rows, 0] = number_values(part.mechanism, read)
        return
    values, likelihood = _part_tables(part, read, question)
    if scores.range is not None:  # rounded at random to one of its ends
        low, high = scores.range
        scores.values[rows, 0] = low + (high - low) * values[:, 1]
        return
    scores.values[rows] = values
    assert scores.likelihood is not None
    scores.likelihood[rows] = likelihood


def _part_tables(part: Any, read: Any, question: int) -> tuple[Array, Array]:
    """Return scores and likelihoods about one question of a part."""
    if part.kind == "sets":
        return _set_tables(part.mechanism, part.sizes, read, part.places.index(question))
    values, likelihood = category_tables(part.mechanism, read)
    if len(part.places) == 1:
        return values, likelihood
    axes = tuple(axis + 1 for axis, place in enumerate(part.places) if place != question)
    shape = (len(values), *part.sizes)
    marginal = values.reshape(shape).sum(axis=axes)
    return marginal, _scaled(likelihood.reshape(shape).mean(axis=axes))


def _set_tables(response: Any, sizes: Sequence[int], read: Any, axis: int) -> tuple[Array, Array]:
    """Return both tables of one question where a product of sets is reported."""
    cells = response.layout.places[(axis,)]
    bits = np.unpackbits(np.asarray(read), axis=1)[:, cells].astype(bool)
    size, width = sizes[axis], response.sets.widths[axis]
    share = response.include / (1 << 62)
    own = share + (1.0 - share) * width / size
    other = (width - own) / (size - 1)
    ratio = (1.0 - own) / (size - width) / (own / width) if width < size else 1.0
    return (bits - other) / (own - other), np.where(bits, 1.0, ratio)


def _scaled(likelihood: Array) -> Array:
    result: Array = likelihood / likelihood.max(axis=1, keepdims=True)
    return result


def combined(parts: Sequence[ReportScores]) -> ReportScores:
    """Return the scores of several files of reports to one question, one after the other."""
    first = parts[0]
    likelihood = [part.likelihood for part in parts if part.likelihood is not None]
    return replace(
        first,
        values=np.concatenate([part.values for part in parts]),
        information=np.concatenate([part.information for part in parts]),
        likelihood=np.concatenate(likelihood) if len(likelihood) == len(parts) else None,
    )
