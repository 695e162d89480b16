"""The parts of a design: what a person is asked jointly, and the exact mechanism that reports it."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.codec import Codes
from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Moments, Oracle, of_sets
from mechdesign.core.errors import ParameterError, RowError
from mechdesign.core.values import Counter, PrivacyVerdict
from mechdesign.exact.bits import as_texts
from mechdesign.exact.numbers import text_of
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.marginals.oracles.blocks import SubsetSelection
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean.grid import GridMean
from mechdesign.families.survey.questions import Questions

Array = NDArray[np.float64]
Answers = Sequence[NDArray[Any]]
"""To each question the numbers of the categories, or the places in [0, 1] of a number."""

WRITTEN = re.compile(r"0|[1-9][0-9]{0,17}|x[0-9a-f]*", re.ASCII)
"""How a number or a set is written in the text of a survey: in one way only."""

Law = tuple[Moments, Moments]
"""Moments of how many of some cells a report supports: for users in one of them, and for the others."""


class SurveyPart(Sealed):
    """Some questions, and the mechanism that reports the answers to them together.

    Attributes
    ----------
    places : tuple of int
        The numbers of the questions, increasing.
    sizes : tuple of int
        How many categories each has.
    """

    kind: ClassVar[str]
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    mechanism: CollectingMechanism

    @property
    def epsilon(self) -> float:
        """Part of its user's budget that it takes."""
        result: float = self.audit().epsilon
        return result

    def audit(self) -> PrivacyVerdict:
        """Return the exact audit of the mechanism."""
        return self.mechanism.audit()

    def aggregator(self) -> Counter:
        """Return an empty counter of its reports."""
        return self.mechanism.aggregator()

    @abstractmethod
    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        """Return a report for each user, as a text without ':' and '|'."""

    @abstractmethod
    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        """Return reports from their texts, as the counter takes them; refuse impossible ones."""

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

    Parameters
    ----------
    questions : Questions
    places : sequence of int
    oracle : KaryResponse or SubsetSelection
        For as many categories as the table has cells; the last question runs fastest.
    """

    kind: ClassVar[str] = "table"

    def __init__(self, questions: Questions, places: Sequence[int], oracle: Oracle) -> None:
        self.places = places_of(questions, places)
        self.sizes = tuple(questions[place].size for place in self.places)
        if not isinstance(oracle, (KaryResponse, SubsetSelection)):
            raise ParameterError("designs", f"a {oracle.type} does not report tables of a survey")
        if oracle.labels.size != math.prod(self.sizes):
            raise ParameterError(
                "designs", f"an oracle of {oracle.labels.size} categories for {math.prod(self.sizes)} cells"
            )
        self.mechanism = self.oracle = oracle

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        """Return a report of the cell of each user."""
        cell = np.zeros(len(answers[self.places[0]]), dtype=np.int64)
        for place, size in zip(self.places, self.sizes, strict=True):
            cell *= size
            cell += categories_of(questions, place, answers, source)
        written = np.asarray(self.oracle.written(self.oracle.draw(cell, source)))
        texts: list[str] = written.astype(str).tolist()
        return texts

    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        """Return reports from their texts."""
        named = isinstance(self.oracle, KaryResponse) and self.oracle.labels.names is not None
        return self.oracle.read(texts if named else whole_numbers(texts))

    def law(self, cells: int) -> Law:
        """Return the moments of how many of ``cells`` of its cells a report supports."""
        result = self.oracle.supported(cells)
        assert result is not None
        return result

    def cells(self, wanted: Sequence[int]) -> int:
        """Return the number of cells of the table over some of its questions."""
        return math.prod(self.sizes[self.places.index(place)] for place in wanted)

    def supports(self, counts: Codes, users: int, wanted: Sequence[int]) -> Codes:
        """Return the number of cells that reports support within each cell of some questions' table."""
        table = np.asarray(self.oracle.supports(counts, users)).reshape(self.sizes)
        rest = tuple(axis for axis, place in enumerate(self.places) if place not in wanted)
        summed: Codes = table.sum(axis=rest).ravel()
        return summed


class SetPart(SurveyPart):
    """Answers to several questions, reported as one product of sets.

    Parameters
    ----------
    questions : Questions
    places : sequence of int
    response : SetResponse
        Of a ProductSet, with an attribute for each question and no cross tables.
    """

    kind: ClassVar[str] = "sets"

    def __init__(self, questions: Questions, places: Sequence[int], response: SetResponse) -> None:
        self.places = places_of(questions, places)
        self.sizes = tuple(questions[place].size for place in self.places)
        shape = response.sets
        if response.attributes.sizes != self.sizes or not isinstance(shape, ProductSet) or response.tables:
            raise ParameterError("designs", "a set response for other questions", "rebuild it")
        self.mechanism = self.response = response
        self.widths = shape.widths

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        """Return the sets of each user."""
        codes = np.stack([categories_of(questions, place, answers, source) for place in self.places], axis=1)
        texts: list[str] = np.asarray(as_texts(self.response.draw(codes, source))).tolist()
        return texts

    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        """Return sets from their texts."""
        return self.response.read(whole_numbers(texts))

    def law(self, place: int, cells: int) -> Law:
        """Return the moments of how many of ``cells`` categories of a question the set holds."""
        axis = self.places.index(place)
        share = Fraction(self.response.include, TOTAL)
        size, width = self.sizes[axis], self.widths[axis]
        return of_sets(share + (1 - share) * Fraction(width, size), size, width, cells)

    def supports(self, counts: Codes, place: int) -> Codes:
        """Return the number of sets that contain each category of a question."""
        held: Codes = counts[self.response.layout.places[(self.places.index(place),)]]
        return held


class NumberPart(SurveyPart):
    """A number, reported for its mean.

    Parameters
    ----------
    questions : Questions
    place : int
    mechanism : GridMean
        With the range of the question.
    """

    kind: ClassVar[str] = "number"

    def __init__(self, questions: Questions, place: int, mechanism: GridMean) -> None:
        self.places = places_of(questions, [place])
        question = questions[place]
        if not question.is_mean:
            raise ParameterError("designs", f"question '{question.name}' is not asked for its mean")
        if mechanism.domain != question.domain:
            raise ParameterError("designs", f"a range other than that of question '{question.name}'")
        self.sizes = (question.size,)
        self.mechanism = self.mean = mechanism

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        """Return a report of the number of each user."""
        unit = answers[self.places[0]]
        piece = 1 << 16
        parts = [self.mean.draw(unit[start : start + piece], source) for start in range(0, len(unit), piece)]
        return np.concatenate(parts).astype(str).tolist() if parts else []

    def read(self, texts: NDArray[np.str_]) -> NDArray[Any]:
        """Return reports from their texts."""
        return self.mean.tally().check(whole_numbers(texts))


def categories_of(questions: Questions, place: int, answers: Answers, source: BitSource) -> Codes:
    """Return the categories of the answers to a question; a number is rounded at random to one of its ends.

    The chance of the upper end is the place of the number in [0, 1], up to 2**-62.
    """
    if not questions[place].is_mean:
        return answers[place]
    unit = answers[place]
    threshold = np.minimum(unit * float(TOTAL), float(TOTAL)).astype(np.int64)
    rounded: Codes = (source.integers(len(unit)) < threshold).astype(np.int64)
    return rounded


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
