"""What each report stands for: unbiased scores, and how likely each answer makes it.

For a report r the score s(r) is a vector with E[s(r) | answer j] = e_j, the unit vector of j (for a number:
E[s(r) | x] = x). An estimate is an average of scores, so that everything which takes averages of answers
takes averages of scores: sums over groups, weights, least squares. A score is no answer: one may be -1.4,
and to cut it off would bias every average.

The likelihood of a report is P(r | answer j), up to a factor that does not depend on j: what regressions
and tests of categories are made of.

``CollectingMechanism.report_scores`` gives both. Two kinds of mechanisms have them without a line of their
own; others say them themselves, or say that they have none:

- finitely many reports that a server counts (:func:`counted_scores`): the estimate from one report of each
  kind *is* its score, because estimates are linear in the counts;
- reports that support categories (:func:`mechdesign.primitives.oracle.supported_scores`): what is supported
  says it all, so that tables of more than :data:`MOST_ENTRIES` entries are not made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError, ParameterError, counted, suggestion
from mechdesign.exact.numbers import frozen

if TYPE_CHECKING:
    from mechdesign.collect.collector import Collector

Array = NDArray[np.float64]


class Supports(Protocol):
    """What reports support, in place of a table of their scores."""

    def column(self, place: int) -> Array:
        """Return the scores of one category."""

    def sums(self, weights: Array) -> Array:
        """Return the sums of weighed scores, one a category."""

    def squares(self, weights: Array, middle: Array) -> Array:
        """Return the sums of weighed squares about the middle, one a category."""


MOST_KEPT = 1 << 14
"""Entries of the tables of a mechanism that are remembered."""

MOST_ENTRIES = 1 << 27
"""The largest number of entries of a table of scores: a gigabyte."""


def without_scores(type_word: str) -> MethodError:
    """Return the error of a mechanism whose estimate is no average of scores."""
    return MethodError(
        "scores",
        f"the estimate of a {type_word} is no average of one score a report",
        "use a mechanism of one answer, or a survey",
    )


class WithScores:
    """What may have scores: a mechanism that collects."""

    type: ClassVar[str]

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        """Return what each report stands for, one entry for each question: unbiased scores, and likelihoods.

        Statistics of public groups, weights, regressions and tests are made of these. A mechanism whose
        estimate is an average of one score a report has them; the default is that there are none.

        Parameters
        ----------
        reports : array
            As :meth:`estimate` takes them.

        Raises
        ------
        MethodError
            Where the estimate is no average of scores.
        DataError
            For an impossible report, naming its row.
        """
        raise without_scores(self.type)

    def pair_scores(self, reports: Any, first: int, second: int) -> tuple[Array, Array]:
        """Return unbiased scores (n, k_1, k_2) of the pair of answers to two questions, and weights (n,).

        Each score has the mean 1 where these are the answers, else 0; of a number the axis is of length 1,
        and its value is the factor. Weights are 0 where a report says nothing about the pair.

        Parameters
        ----------
        reports : array
        first, second : int
            Places of different questions in :meth:`report_scores`.
        """
        raise MethodError(
            "scores", f"no report of a {self.type} says two answers of a user", "ask both in one survey"
        )


def counted_scores(mechanism: Collector[Any], reports: Any) -> ReportScores:
    """Return the scores of reports that a server counts.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> counted_scores(KaryResponse.of(2, 1.0, labels=["no", "yes"]), ["yes", "no"]).values.round(3)
    array([[-0.582,  1.582],
           [ 1.582, -0.582]])
    """
    labels = tuple(map(str, mechanism.labels.shown()))
    read = mechanism.read(reports)
    require_room(len(read), len(labels))
    values, likelihood = counted_tables(mechanism, read)
    names = labels if values.shape[1] == len(labels) else _query_names(mechanism, read)
    return ReportScores(
        question_of(mechanism), names, values, np.ones(len(read)), likelihood, own_answers=labels
    )


def question_of(mechanism: Any) -> str:
    """Return the name of the question of a mechanism of one answer; empty where it has none."""
    return str(mechanism.data_columns[0]) if mechanism.data_columns else ""


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
    support : Supports or None
        Of reports that support categories. Where there are so many that no table of them is made, ``values``
        has no column, and the scores are there alone.
    """

    question: str
    names: tuple[str, ...]
    values: Array
    information: Array
    likelihood: Array | None
    range: tuple[float, float] | None = None
    own_answers: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    support: Supports | None = None

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
        return len(self.information)

    def place(self, category: str) -> int:
        """Return the number of a category.

        Raises
        ------
        ParameterError
            For a category that there is not.
        """
        if category not in self.names:
            raise ParameterError(
                "category", f"no category '{category}'", suggestion(category, list(self.names))
            )
        return self.names.index(category)

    def column(self, place: int) -> Array:
        """Return the scores of one category, (n,)."""
        return self.support.column(place) if self.support and self.is_large else self.values[:, place]

    @property
    def is_large(self) -> bool:
        """Whether there are so many categories that no table of their scores is made."""
        return bool(self.values.shape[1] < len(self.names))

    def without_table(self) -> ReportScores:
        """Return the same with scores in pieces, where reports support categories."""
        if self.support is None:
            return self
        return replace(self, values=np.zeros((len(self), 0)), likelihood=None)

    def require_table(self) -> None:
        """Raise MethodError where the scores of all categories would make too large a table."""
        if self.is_large:
            users, categories = len(self), len(self.names)
            raise MethodError(
                "scores",
                f"{counted(users, 'report')} of {counted(categories, 'category')} make a table of "
                f"{users * categories:.2g} entries",
                "name a category, or give fewer reports at a time",
            )

    def mean(self) -> Array:
        """Return the estimate: the average of the scores by information.

        Examples
        --------
        >>> from mechdesign.primitives.kary import KaryResponse
        >>> mechanism = KaryResponse.of(3, 2.0)
        >>> (scores,) = mechanism.report_scores([0, 0, 1, 2])
        >>> bool(np.allclose(scores.mean(), mechanism.estimate([0, 0, 1, 2]).value))
        True
        """
        total = self.information.sum()
        if self.support is not None and self.is_large:
            return np.asarray(self.support.sums(self.information) / total)
        return np.asarray(self.information @ self.values / total)


def _query_names(mechanism: Any, read: Any) -> tuple[str, ...]:
    """Return the names of the queries that a mechanism estimates instead of its categories."""
    unit = np.zeros(mechanism.counters, dtype=np.int64)
    unit[int(read[0]) if len(read) else 0] = 1
    return tuple(map(str, mechanism.estimate_from_counts(unit, population=True)._names()))


def require_room(users: int, categories: int) -> None:
    """Raise MethodError where a table of so many entries would be too large."""
    if users * categories > MOST_ENTRIES:
        raise MethodError(
            "scores",
            f"{counted(users, 'report')} of {counted(categories, 'category')} make a table of "
            f"{users * categories:.2g} entries",
            f"give at most {max(1, MOST_ENTRIES // categories)} reports at a time",
        )


def counted_tables(mechanism: Collector[Any], codes: NDArray[np.int64]) -> tuple[Array, Array]:
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


def relative_likelihoods(likelihood: Array) -> Array:
    """Return likelihoods whose largest one of each report is 1."""
    result: Array = likelihood / likelihood.max(axis=1, keepdims=True)
    return result
