"""The parts of a design: what a person is asked jointly, and the exact mechanism that reports it."""

from __future__ import annotations

import itertools
import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.codec import Codes
from mechdesign.collect.estimate import project_to_simplex
from mechdesign.collect.report_scores import counted_tables, relative_likelihoods
from mechdesign.core.errors import MethodError, ParameterError, RowError
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.values import Counter, PrivacyVerdict
from mechdesign.data.intake import Coded, Values
from mechdesign.exact.bits import as_texts
from mechdesign.exact.numbers import text_of
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.survey.questions import Question, Questions
from mechdesign.primitives.combine import PIECE
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle, of_sets, supported_tables

if TYPE_CHECKING:
    from mechdesign.families.survey.combined_estimates import Evidence, Law, TableReports
    from mechdesign.families.survey.group_scores import ChannelScores

Array = NDArray[np.float64]
Answers = Sequence[NDArray[Any]]
"""To each question the numbers of the categories, or the places in [0, 1] of a number."""

SKIPPED = 2
"""The category of a number that was skipped, after those of its two ends."""

WRITTEN = re.compile(r"0|[1-9][0-9]{0,17}|x[0-9a-f]*", re.ASCII)
"""How a number or a set is written in the text of a survey: in one way only."""


class SurveyPart(Sealed):
    """Some questions, and the mechanism that reports the answers to them together.

    Parameters
    ----------
    questions : Questions
    places : sequence of int, or int
        The numbers of the questions, increasing.
    mechanism : CollectingMechanism
        Of the family that offers the kind; each kind says which fit.

    Attributes
    ----------
    sizes : tuple of int
        How many categories each question has.
    """

    kind: ClassVar[str]
    mechanism: CollectingMechanism

    def __init__(self, questions: Questions, places: Sequence[int] | int, mechanism: Any) -> None:
        self.places = places_of(questions, np.atleast_1d(places).tolist())
        self.sizes = tuple(questions[place].size for place in self.places)
        self._require_fit(questions[self.places[0]], mechanism)
        self.mechanism = mechanism

    @abstractmethod
    def _require_fit(self, question: Question, mechanism: Any) -> None:
        """Refuse a mechanism that does not report the questions, of which the first one is given."""

    @property
    def epsilon(self) -> float:
        """Part of its user's budget that it takes."""
        return self.audit().epsilon

    def audit(self) -> PrivacyVerdict:
        """Return the exact audit of the mechanism."""
        return self.mechanism.audit()

    def aggregator(self) -> Counter:
        """Return an empty counter of its reports."""
        return self.mechanism.aggregator()

    @abstractmethod
    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str] | Coded:
        """Return a report for each user, as a text without ':' and '|'; coded where they are few."""

    @abstractmethod
    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        """Return reports from their texts, as the counter takes them; refuse impossible ones."""

    @abstractmethod
    def tables(self, read: Any, place: int) -> tuple[Array, Array | None]:
        """Return scores and likelihoods, both (n, k), of reports that were read, about one of its questions.

        Of a number reported for its mean the scores are its values, (n, 1), and there are no likelihoods.
        """

    def pairs(self, read: Any, first: int, second: int) -> Array:
        """Return scores (n, k_1, k_2) of pairs of categories of two of its questions."""
        raise MethodError(
            "scores", f"a part of kind '{self.kind}' has one question", "name two of another part"
        )

    def evidence_in(
        self, counter: Any, places: Sequence[int], information: float
    ) -> TableReports | OrderedReports | None:
        """Return the information in counted reports about the table of some of its questions, or None.

        Parameters
        ----------
        counter : Counter
        places : sequence of int
        information : float
            What one report was planned to tell.
        """
        return None

    def as_json(self) -> dict[str, Any]:
        """Return questions and mechanism as plain values."""
        return {
            "questions": list(self.places),
            "type": self.mechanism.type,
            "content": self.mechanism.content(),
        }


class TablePart(SurveyPart):
    """Answers as one cell of a table, reported through a frequency oracle.

    A number that is asked for its mean enters as one of two categories, low and high: it is rounded at random
    to one of them, so that the mean stays.

    The mechanism is a k-ary response or a subset selection, for as many categories as the table has cells;
    the last question runs fastest.
    """

    kind: ClassVar[str] = "table"
    mechanism: Oracle
    oracle = FormerAttribute("mechanism")

    def _require_fit(self, question: Question, mechanism: Any) -> None:
        if not isinstance(mechanism, KaryResponse) and not has_type(mechanism, "subset-selection"):
            raise ParameterError("designs", f"a {mechanism.type} does not report tables of a survey")
        if mechanism.labels.size != math.prod(self.sizes):
            what = f"an oracle of {mechanism.labels.size} categories for {math.prod(self.sizes)} cells"
            raise ParameterError("designs", what)

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str] | Coded:
        cell = np.zeros(len(answers[self.places[0]]), dtype=np.int64)
        for place, size in zip(self.places, self.sizes, strict=True):
            cell *= size
            cell += categories_of(questions, place, answers, source)
        return texts_by_number(self.mechanism.written(self.mechanism.draw(cell, source)))

    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        named = isinstance(self.mechanism, KaryResponse) and self.mechanism.labels.names is not None
        return self.mechanism.read(texts if named else whole_numbers(texts))

    def _cells(self, read: Any) -> tuple[Array, Array | None]:
        """Return scores and likelihoods of the cells of the whole table."""
        if isinstance(self.mechanism, KaryResponse):
            return counted_tables(self.mechanism, read)
        return supported_tables(self.mechanism, read)

    def tables(self, read: Any, place: int) -> tuple[Array, Array | None]:
        values, likelihood = self._cells(read)
        if len(self.places) == 1 or likelihood is None:
            return values, likelihood
        axes = tuple(axis + 1 for axis, other in enumerate(self.places) if other != place)
        shape = (len(values), *self.sizes)
        return values.reshape(shape).sum(axis=axes), relative_likelihoods(
            likelihood.reshape(shape).mean(axis=axes)
        )

    def pairs(self, read: Any, first: int, second: int) -> Array:
        values = self._cells(read)[0].reshape(-1, *self.sizes)
        axes = [self.places.index(place) for place in (first, second)]
        others = tuple(axis + 1 for axis in range(len(self.places)) if axis not in axes)
        table: Array = values.sum(axis=others)
        return table if axes[0] < axes[1] else table.transpose(0, 2, 1)

    def evidence_in(self, counter: Any, places: Sequence[int], information: float) -> TableReports:
        from mechdesign.families.survey.combined_estimates import TableReports

        counts, oracle = np.asarray(counter.counts), self.mechanism
        table = np.asarray(oracle.supports(counts, counter.users)).reshape(self.sizes)
        rest = tuple(axis for axis, place in enumerate(self.places) if place not in places)
        supports: Codes = table.sum(axis=rest).ravel()
        size = oracle.labels.size // len(supports)

        def law(cells: int) -> Law:
            result = oracle.supported(cells * size)
            assert result is not None
            return result

        return TableReports(counter.users, supports, law, information, size)


class SetPart(SurveyPart):
    """Answers to several questions, reported as one product of sets.

    The mechanism is a set response with an attribute for each question: a product of sets, no cross tables.
    """

    kind: ClassVar[str] = "sets"
    mechanism: Any
    response = FormerAttribute("mechanism")

    def _require_fit(self, question: Question, mechanism: Any) -> None:
        shape = mechanism.sets
        if mechanism.attributes.sizes != self.sizes or shape.kind != "product" or mechanism.tables:
            raise ParameterError("designs", "a set response for other questions", "rebuild it")

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        codes = np.stack([categories_of(questions, place, answers, source) for place in self.places], axis=1)
        texts: list[str] = np.asarray(as_texts(self.mechanism.draw(codes, source))).tolist()
        return texts

    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        sets: NDArray[Any] = self.mechanism.read(whole_numbers(texts))
        return sets

    def tables(self, read: Any, place: int) -> tuple[Array, Array | None]:
        values, likelihood = self.mechanism.attribute_tables(read, self.places.index(place))
        return values, likelihood

    def pairs(self, read: Any, first: int, second: int) -> Array:
        axes = (self.places.index(place) for place in (first, second))
        values: Array = self.mechanism.pair_tables(read, *axes)
        return values

    def evidence_in(self, counter: Any, places: Sequence[int], information: float) -> TableReports:
        from mechdesign.families.survey.combined_estimates import TableReports

        axis = self.places.index(places[0])
        supports: Codes = np.asarray(counter.counts)[self.mechanism.layout.places[(axis,)]]
        size, width = self.sizes[axis], self.mechanism.sets.widths[axis]
        share = Fraction(self.mechanism.include, TOTAL)
        own = share + (1 - share) * Fraction(width, size)
        return TableReports(
            counter.users, supports, lambda cells: of_sets(own, size, width, cells), information
        )


class NumberPart(SurveyPart):
    """A number, reported for its mean by a mechanism of inputs on a grid, with the range of the question."""

    kind: ClassVar[str] = "number"
    mechanism: Any
    mean = FormerAttribute("mechanism")

    def _require_fit(self, question: Question, mechanism: Any) -> None:
        if not question.is_mean:
            raise ParameterError("designs", f"question '{question.name}' is not asked for its mean")
        if mechanism.domain != question.domain:
            raise ParameterError("designs", f"a range other than that of question '{question.name}'")

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        unit = answers[self.places[0]]
        pieces = [
            self.mechanism.draw(unit[start : start + PIECE], source) for start in range(0, len(unit), PIECE)
        ]
        return np.concatenate(pieces).astype(str).tolist() if pieces else []

    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        reports: NDArray[Any] = self.mechanism.tally().check(whole_numbers(texts))
        return reports

    def tables(self, read: Any, place: int) -> tuple[Array, Array | None]:
        return self.mechanism.report_values(read)[:, None], None


def has_type(mechanism: object, word: str) -> bool:
    """Whether a mechanism is of the class with this type word, or of one that derives from it.

    The families that a survey's mechanisms come from are not imported to know that.

    Examples
    --------
    >>> has_type(KaryResponse.of(2, 1.0), "kary-response"), has_type(KaryResponse.of(2, 1.0), "set-response")
    (True, False)
    """
    return any(vars(kind).get("type") == word for kind in type(mechanism).__mro__)


FEW_TEXTS = 1 << 12
"""Different texts up to which reports are kept as numbers of these."""


def texts_by_number(written: Values) -> list[str] | Coded:
    """Return reports as texts: coded where they are names, or whole numbers of a short range from 0.

    Examples
    --------
    >>> texts_by_number(np.array([1, 0, 1])).values.tolist(), texts_by_number(np.array(["x2a"]))
    (['0', '1'], ['x2a'])
    """
    if isinstance(written, Coded):
        return Coded(written.values.astype(str), written.codes)
    if written.dtype.kind in "iu" and len(written) and written.min() >= 0 and written.max() < FEW_TEXTS:
        return Coded(np.arange(int(written.max()) + 1).astype(str), written)
    texts: list[str] = written.astype(str).tolist()
    return texts


def joined_texts(start: str, columns: Sequence[list[str] | Coded]) -> tuple[list[str], Codes]:
    """Return the different texts of the reports of all parts, between '|', and which of them each user has.

    Examples
    --------
    >>> columns = [Coded(np.array(["0", "1"]), np.array([1, 0, 1])), Coded(np.array(["7"]), np.zeros(3, int))]
    >>> texts, codes = joined_texts("2:", columns)
    >>> texts, codes.tolist()
    (['2:0|7', '2:1|7'], [1, 0, 1])
    >>> joined_texts("0:", [["3", "x2a"]])[0]
    ['0:3', '0:x2a']
    """
    coded = [column for column in columns if isinstance(column, Coded)]
    if len(coded) == len(columns) and math.prod(len(column.values) for column in coded) <= FEW_TEXTS:
        codes = np.zeros(len(coded[0]), dtype=np.int64)
        for column in coded:
            codes = codes * len(column.values) + column.codes
        words = itertools.product(*(column.values.tolist() for column in coded))
        return [start + "|".join(row) for row in words], codes
    listed = (np.asarray(column).tolist() if isinstance(column, Coded) else column for column in columns)
    texts = [start + "|".join(row) for row in zip(*listed, strict=True)]
    return texts, np.arange(len(texts))


def categories_of(questions: Questions, place: int, answers: Answers, source: BitSource) -> Codes:
    """Return the categories of the answers to a question; a number is rounded at random to one of its ends.

    The chance of the upper end is the place of the number in [0, 1], up to 2**-62. No answer is the category
    after the ends; an integer is drawn for it all the same.
    """
    if not questions[place].is_number:
        return answers[place]
    unit = answers[place]
    skipped = np.isnan(unit)
    part = np.where(skipped, 0.0, unit)
    threshold = np.minimum(part * float(TOTAL), float(TOTAL)).astype(np.int64)
    codes = (source.integers(len(unit)) < threshold).astype(np.int64)
    codes[skipped] = SKIPPED
    return codes


def whole_numbers(texts: NDArray[np.str_]) -> NDArray[Any]:
    """Return texts of digits as integers; if one is a set of cells (x and hex digits), all as they are.

    Raises
    ------
    RowError
        For a text that is not written as a survey writes it: with zeros in front, a sign, capitals.

    Examples
    --------
    >>> whole_numbers(np.array(["3", "12"])), whole_numbers(np.array(["x2a"]))
    (array([ 3, 12]), array(['x2a'], dtype='<U3'))
    >>> whole_numbers(np.array(["3", "012"]))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.RowError: reports: row 2: '012' is neither the number of a report nor a set; ...
    """
    with suppress(ValueError, OverflowError):
        numbers = texts.astype(np.int64)
        if (numbers.astype(str) == texts).all():
            return numbers
    listed: list[str] = texts.tolist()
    for row, text in enumerate(listed):
        if not WRITTEN.fullmatch(text):
            what = f"{text_of(text)} is neither the number of a report nor a set"
            raise RowError("reports", row, what, "use the mechanism file the reports were made with")
    return texts


def places_of(questions: Questions, places: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of questions, checked: increasing, and those of questions that there are."""
    result = tuple(places)
    if not result or list(result) != sorted(set(result)) or not 0 <= result[0] <= result[-1] < len(questions):
        raise ParameterError("designs", f"{list(result)} are not increasing numbers of questions")
    return result


Cells = NDArray[np.bool_]


class OrderedPart(SurveyPart):
    """An ordered question, reported by the channel of patterns that is best for its cumulative shares.

    The mechanism answers the workload ``prefix`` of as many types as the question has categories.

    Examples
    --------
    >>> from mechdesign.primitives.combine import QuestionForm, question_kind
    >>> questions = Questions([Question("health", "ordered", ("bad", "fair", "good"), cumulative=True)])
    >>> part = OrderedPart(questions, 0, question_kind("ordered").mechanism(QuestionForm((3,)), 1.0, 1.0))
    >>> part.audit().holds, round(part.noise(True, np.full(3, 1 / 3)), 3)
    (True, 2.907)
    """

    kind: ClassVar[str] = "ordered"
    mechanism: Any
    release = FormerAttribute("mechanism")

    def _require_fit(self, question: Question, mechanism: Any) -> None:
        queries = mechanism.workload
        if not question.is_ordered:
            raise ParameterError("designs", f"question '{question.name}' has no order")
        named = (
            queries.named and queries.definition["name"] in ("prefix", "likert") and queries.weights is None
        )
        if not named or queries.size != question.size or not hasattr(mechanism.value, "channel"):
            raise ParameterError("designs", f"queries other than those of question '{question.name}'")

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        texts: list[str] = self.mechanism.draw(answers[self.places[0]], source).astype(str).tolist()
        return texts

    def read(self, texts: NDArray[np.str_]) -> Codes:
        codes: Codes = self.mechanism.read(whole_numbers(texts))
        return codes

    def noise(self, cumulative: bool, shares: Array) -> float:
        """Return the variance of one report, summed over the cumulative shares or over the categories.

        Parameters
        ----------
        cumulative : bool
        shares : (k,) array
            The shares of the categories for which it is expected.
        """
        return float(shares @ (self._cumulative if cumulative else self._single))

    @property
    def channel(self) -> Any:
        """The channel in floating point, with its best estimator."""
        return self.mechanism.value

    @cached_property
    def _cumulative(self) -> Array:
        return self._errors(np.tri(self.sizes[0] - 1, self.sizes[0]))

    @cached_property
    def _single(self) -> Array:
        return self._errors(np.eye(self.sizes[0]))

    def _errors(self, queries: Array) -> Array:
        """Return the variance of a report of each category, summed over the answers to queries."""
        return np.asarray(self.channel.query_errors(queries).sum(axis=1))

    def tables(self, read: Any, place: int) -> tuple[Array, Array | None]:
        return counted_tables(self.mechanism, read)

    def evidence_in(self, counter: Any, places: Sequence[int], information: float) -> OrderedReports:
        return OrderedReports(self.channel, np.asarray(counter.counts), information)


@dataclass(frozen=True, eq=False)
class OrderedReports:
    """Information about its question in the reports of an ordered part.

    The moments of a score depend on the category; those of users in a set, and of the others, are averages at
    the estimated shares.
    """

    channel: Any
    counts: Codes
    information: float

    def scores(self) -> ChannelScores:
        """Return the scores of contrasts of categories."""
        from mechdesign.families.survey.group_scores import ChannelScores

        shares, value = self.channel.shares_from(self.counts), self.channel
        return ChannelScores(int(self.counts.sum()), shares, self.information, value.channel, value.solver)

    def each(self) -> Evidence:
        """Return the evidence of the share of each category."""
        return self._of(np.eye(self.channel.channel.shape[1], dtype=bool))

    def sums(self, count: int) -> Evidence:
        """Return the evidence of the cumulative shares of the first ``count`` categories."""
        return self._of(np.tri(count, self.channel.channel.shape[1], dtype=bool))

    def _of(self, cells: Cells) -> Evidence:
        from mechdesign.families.survey.combined_estimates import Evidence

        users, value = int(self.counts.sum()), self.channel
        shares = value.shares_from(self.counts)
        scores = cells.astype(np.float64) @ value.solver
        moments = [scores**power @ value.channel for power in (2, 3, 4)]
        likely = (project_to_simplex(shares) * users + 1.0) / (users + len(shares))
        own, other = (_averaged(moments, side * likely) for side in (cells, ~cells))
        return Evidence(users, cells @ shares, own, other, np.zeros(len(cells)), self.information)


def _averaged(moments: Sequence[Array], weights: Array) -> Array:
    """Return the averages of moments (n, k) at weights (n, k), one row each."""
    total = weights.sum(axis=1)
    return np.stack([(moment * weights).sum(axis=1) / total for moment in moments])
