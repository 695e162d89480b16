"""The questions of a survey: their names, kinds, possible answers, and how answers become numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from math import fsum, isfinite
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.codec import Codes, Domain, Labels
from mechdesign.core.errors import DataError, ParameterError, RowError, UnknownNameError, counted, suggestion
from mechdesign.core.validation import in_range, number, one_of, require_keys
from mechdesign.data.intake import MISSING_CATEGORY, Coded
from mechdesign.exact.numbers import mask_of, text_of
from mechdesign.families.survey.bins import OPEN_ENDS, bins_of, moved_to_ends
from mechdesign.show.tables import edge_texts
from mechdesign.work.records import dataclass

NO_ANSWER = "no answer"
"""The category of users who skip a question that may be skipped."""

ABSENT = ("", NO_ANSWER, MISSING_CATEGORY)
"""Texts that stand for a skipped question, unless they are among its labels."""


def with_gaps(values: Any) -> Any:
    """Return data with None in the place of masked entries: for columns whose entries may be missing.

    Examples
    --------
    >>> import numpy.ma
    >>> with_gaps(numpy.ma.array(["no", "yes"], mask=[True, False])).tolist()
    [None, 'yes']
    """
    mask = mask_of(values)
    if mask is None or not mask.any():
        return values
    column = np.empty(len(mask), dtype=object)
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    column[:] = [None if gap else value for gap, value in zip(mask.tolist(), listed, strict=True)]
    return column


def with_words(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column in which truth values are the words ``False`` and ``True``, as labels are words.

    Examples
    --------
    >>> with_words(np.array([True, False])).tolist(), with_words(np.array([3, 4])).tolist()
    (['True', 'False'], [3, 4])
    """
    if column.dtype.kind == "b":
        return column.astype(str)
    if column.dtype.kind != "O":
        return column
    listed = [str(item) if isinstance(item, (bool, np.bool_)) else item for item in column.tolist()]
    result = np.empty(len(listed), dtype=object)
    result[:] = listed
    return result


def absent_in(column: NDArray[Any], labels: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Return where there is no answer: empty, None, NaN or a word for it that is not a label."""
    words = [word for word in ABSENT if word not in labels]
    if column.dtype.kind in "iub":
        return np.zeros(len(column), dtype=bool)
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind == "U":
        return np.isin(column, words)
    listed = column.tolist()
    return np.array([item is None or item != item or item in words for item in listed], dtype=bool)


def labels_of(where: str, value: Any, skip: bool) -> tuple[str, ...]:
    """Return the possible answers of a question."""
    if not value:
        example = 'labels = ["no", "yes"]'
        raise ParameterError(f"{where}: labels", "are missing", f"list the possible answers: {example}")
    names = Labels(len(value), list(value), f"{where}: labels").names
    assert names is not None
    if len(names) < 2:
        raise ParameterError(f"{where}: labels", f"only '{names[0]}'", "give at least two answers")
    for word in (NO_ANSWER, MISSING_CATEGORY):
        if skip and word in names:
            raise ParameterError(f"{where}: labels", f"'{word}' is the category of skipping", "drop it")
    return names


def range_of(where: str, low: Any, high: Any, bins: Sequence[float]) -> tuple[Domain, tuple[float, ...]]:
    """Return the range of a number and the edges of its bins."""
    if low is None or high is None:
        raise ParameterError(f"{where}: range", "is missing", "give the range: range = [0, 100]")
    try:
        domain = Domain(low, high)
    except ParameterError as error:
        raise error.within(where) from None
    edges = tuple(number(f"{where}: bins", edge) for edge in bins)
    if edges:
        if any(first >= second for first, second in pairwise(edges)) or len(edges) < 3:
            raise ParameterError(f"{where}: bins", "do not increase, or are fewer than 3 edges", "sort")
        ends = edges[0], edges[-1], domain.low, domain.high
        if ends[:2] != ends[2:]:
            what = "go from {} to {}, not from {} to {}".format(*edge_texts(ends))
            raise ParameterError(f"{where}: bins", what, "let them start and end with the range")
    return domain, edges


def stated_list(where: str, key: str, document: Mapping[str, Any]) -> Sequence[Any]:
    """Return a list that a model states; an empty one where it does not."""
    value = document.get(key) or ()
    if not isinstance(value, (list, tuple)):
        raise ParameterError(f"{where}: {key}", f"expected a list, got {text_of(value)}")
    return value


def require_cumulative(where: str, cumulative: Any, ordered: bool, planned: bool) -> None:
    """Refuse cumulative shares where categories have no order, or are planned at other than even answers."""
    if not isinstance(cumulative, bool):
        raise ParameterError(f"{where}: cumulative", "expected true or false")
    if cumulative and not ordered:
        raise ParameterError(f"{where}: cumulative", "its answers have no order", 'set kind = "ordered"')
    if cumulative and planned:
        remedy = "omit frequencies, or cumulative"
        raise ParameterError(f"{where}: cumulative", "is planned at even answers only", remedy)


Array = NDArray[np.float64]
Kind = Literal["categorical", "ordered", "number"]
KINDS: tuple[str, ...] = get_args(Kind)


def rating_scores(where: str, value: Sequence[Any], kind: str, labels: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of the labels of an ordered question, checked; none where none are stated."""
    if not value:
        return ()
    if kind != "ordered":
        raise ParameterError(f"{where}: scores", "are for ordered questions", 'set kind = "ordered"')
    if len(value) != len(labels):
        what = f"{counted(len(value), 'number')} for {counted(len(labels), 'label')}"
        raise ParameterError(f"{where}: scores", what, "give one for each label")
    scores = tuple(number(f"{where}: scores", each) for each in value)
    if len(set(scores)) < 2:
        raise ParameterError(f"{where}: scores", "are all equal", "give numbers that differ")
    return scores


KEYS = (
    "name",
    "kind",
    "labels",
    "range",
    "bins",
    "open_ends",
    "spread",
    "skip",
    "frequencies",
    "cumulative",
    "scores",
)
"""What a model states of a question itself."""

MOST_QUESTIONS = 1000


@dataclass(frozen=True)
class _Asked:
    """The fields of a question, checked, as it keeps them."""

    name: str
    kind: str
    labels: tuple[str, ...]
    low: float | None
    high: float | None
    bins: tuple[float, ...]
    spread: float | None
    skip: bool
    frequencies: tuple[float, ...]
    cumulative: bool
    scores: tuple[float, ...]
    open_ends: str


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Question(_Asked):
    """One question of a survey.

    Parameters
    ----------
    name : str
        Also the column of the file that holds the answers.
    kind : {"categorical", "ordered", "number"}
        Ordered categories also have a cumulative distribution, a median and quartiles.
    labels : sequence of str
        The possible answers of a categorical or ordered question.
    low, high : float
        The range of a number.
    bins : sequence of float
        Edges, increasing from low to high: the number is then asked as a histogram, not for its mean.
    spread : float, optional
        The planned standard deviation of a number, in its units; that of even values by default.
    skip : bool
        Whether a user may leave it out: a category of its own. A number that may be left out is estimated as
        the mean of those who answered.
    frequencies : sequence of float
        Planned shares of the categories, in their order, that of skipping last; even ones by default. They
        decide what is planned, not what is estimated.
    cumulative : bool
        Whether the cumulative shares of an ordered question are wanted, not those of its categories: they
        decide its error and how it is reported. Estimated are both.
    scores : sequence of float
        Numbers of the labels of an ordered question, whose mean is then estimated, too; where the labels are
        numbers themselves, these are taken.
    open_ends : {"", "low", "high", "both"}
        Which end bins also hold numbers beyond the range: ``60 or more`` in the place of ``60 to 70``.

    Examples
    --------
    >>> Question("age", "number", low=18, high=90).spread
    20.784609690826528
    >>> Question("age", "number", low=18, high=90, bins=(18, 30, 60, 90)).categories
    ('18 to 29', '30 to 59', '60 to 90')
    """

    def __init__(
        self,
        name: str,
        kind: str = "categorical",
        labels: Sequence[str] = (),
        low: float | None = None,
        high: float | None = None,
        bins: Sequence[float] = (),
        spread: float | None = None,
        skip: bool = False,
        frequencies: Sequence[float] = (),
        cumulative: bool = False,
        scores: Sequence[float] = (),
        open_ends: str = "",
    ) -> None:
        text: Any = name
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise ParameterError("name", f"expected the name of a question, got {text_of(text)}")
        where = f"question '{name}'"
        one_of(f"{where}: kind", kind, KINDS)
        if not isinstance(skip, bool):
            raise ParameterError(f"{where}: skip", "expected true or false")
        if kind == "number":
            if labels:
                remedy = "give range, and optionally bins"
                raise ParameterError(f"{where}: labels", "a number has none", remedy)
            domain, bins = range_of(where, low, high, bins)
            width = domain.width / 12.0**0.5 if spread is None else spread
            spread = in_range(f"{where}: spread", width, 0.0, domain.half, low_open=True)
            low, high = domain.low, domain.high
        else:
            if low is not None or high is not None or bins or spread is not None:
                raise ParameterError(where, "range, bins and spread are for numbers", 'set kind = "number"')
            labels = labels_of(where, labels, skip)
        one_of(f"{where}: open_ends", open_ends, OPEN_ENDS)
        if open_ends and not bins:
            raise ParameterError(f"{where}: open_ends", "are of bins, and there are none", "give bins")
        if frequencies:
            if kind == "number" and not bins:
                raise ParameterError(f"{where}: frequencies", "a mean has none", "give spread, or bins")
            frequencies = [in_range(f"{where}: frequencies", share, 0.0, 1.0) for share in frequencies]
        super().__init__(
            name,
            kind,
            tuple(labels),
            low,
            high,
            tuple(bins),
            spread,
            skip,
            tuple(frequencies),
            cumulative,
            rating_scores(where, scores, kind, labels),
            open_ends,
        )
        if self.frequencies:
            self._check_frequencies(f"{where}: frequencies")
        require_cumulative(where, cumulative, self.is_ordered, bool(self.frequencies))

    def _check_frequencies(self, where: str) -> None:
        shares = self.frequencies
        if len(shares) != self.size:
            listed = ", ".join(self.categories[:4]) + (", ..." if self.size > 4 else "")
            what = f"{counted(len(shares), 'share')} for {self.size} categories"
            raise ParameterError(where, what, f"order: {listed}")
        if abs(fsum(shares) - 1.0) > 1e-6:
            raise ParameterError(where, f"add up to {fsum(shares):g}", "give shares that add up to 1")
        if max(shares) == 1.0:
            raise ParameterError(where, "are certain: nothing can be learned", "give shares below 1")

    # What it is

    @property
    def is_mean(self) -> bool:
        """Whether the mean of a number is asked for that everybody gives."""
        return self.is_number and not self.skip

    @property
    def is_number(self) -> bool:
        """Whether the mean of a number is asked for, not the frequencies of categories.

        One that may be skipped has three categories: the two ends, to which it is rounded at random, and no
        answer.
        """
        return self.kind == "number" and not self.bins

    @property
    def is_ordered(self) -> bool:
        """Whether its categories have an order."""
        return self.kind == "ordered" or bool(self.bins)

    @property
    def category_scores(self) -> tuple[float, ...]:
        """The numbers of the labels, of which a mean is estimated; none where they have none.

        Labels of an ordered question are numbers if all of them are written as such; those of another one if
        they are a scale as well: whole numbers in a row that begin at 0 or 1.

        Examples
        --------
        >>> [Question("stars", labels=labels).category_scores for labels in (("1", "2", "3"), ("7", "9"))]
        [(1.0, 2.0, 3.0), ()]
        >>> Question("mood", "ordered", ("bad", "good"), scores=(-1, 1)).category_scores
        (-1.0, 1.0)
        """
        if self.is_number and self.skip:
            return self.domain.low, self.domain.high
        if self.scores or self.bins or self.kind == "number":
            return self.scores
        try:
            values = tuple(float(label) for label in self.labels)
        except ValueError:
            return ()
        if not all(map(isfinite, values)) or len(set(values)) < 2:
            return ()
        is_scale = len(values) > 2 and values == tuple(values[0] + step for step in range(len(values)))
        return values if self.kind == "ordered" or (is_scale and values[0] in (0.0, 1.0)) else ()

    @cached_property
    def domain(self) -> Domain:
        """The range of a number."""
        assert self.low is not None
        assert self.high is not None
        return Domain(self.low, self.high)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories; of a number that is asked for its mean the two ends it is rounded to."""
        if self.is_number:
            ends = edge_texts((self.domain.low, self.domain.high))
            return (*ends, NO_ANSWER) if self.skip else ends
        named = self.labels or tuple(map(str, bins_of(self.bins, self.open_ends)))
        return (*named, NO_ANSWER) if self.skip else named

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def relative_spread(self) -> float:
        """The planned standard deviation of a number over half its range."""
        assert self.spread is not None
        return self.spread / self.domain.half

    @property
    def planned_match(self) -> float:
        """The probability that two users have the same answer, as planned: the sum of squared frequencies."""
        return fsum(share**2 for share in self.frequencies) if self.frequencies else 1.0 / self.size

    # Answers

    def encode(self, column: Any, clip: bool = False) -> Codes | Array:
        """Return the numbers of the categories of answers, or of a number without bins its place in [0, 1].

        Where such a number is skipped the place is NaN.

        Raises
        ------
        DataError
            For an answer that is not possible, with its row; also where one skips what may not be skipped.
        """
        what = f"question '{self.name}'"
        if self.is_mean:
            self._require_answers(column, what)
            return self.domain.to_unit(self.domain.check(column, clip))
        if self.kind != "number":
            return self._coded(column, what)
        column = column.values.take(column.codes) if isinstance(column, Coded) else np.asarray(column)
        absent = absent_in(column)
        if absent.any() and not self.skip:
            self._require_answers(column, what)
        if self.is_number:
            units = np.full(len(column), np.nan)
            units[~absent] = self.domain.to_unit(self._checked(column, absent, clip))
            return units
        codes = np.full(len(column), self.size - 1, dtype=np.int64)
        values = self._checked(column, absent, clip)
        inner = np.searchsorted(np.array(self.bins[1:-1]), values, side="right")
        codes[~absent] = inner
        return codes

    def _checked(self, column: Any, absent: NDArray[np.bool_], clip: bool) -> Array:
        """Return the numbers of those who answered; RowError for one that is not possible, with its row."""
        try:
            return self.domain.check(moved_to_ends(column[~absent], self.domain, self.open_ends), clip)
        except RowError as error:
            raise error.changed(row=int(np.flatnonzero(~absent)[error.row])) from None

    def _coded(self, column: Any, what: str) -> Codes:
        if isinstance(column, Coded):
            with suppress(DataError):  # said again below, with the row
                return self._coded(column.values, what).take(column.codes)
        array = with_words(np.asarray(column))
        absent = absent_in(array, self.labels)
        if absent.any():
            if not self.skip:
                self._require_answers(array, what)
            array = np.where(absent, NO_ANSWER, array.astype(object))
        return Labels(self.size, self.categories).encode(array, what)

    def _require_answers(self, column: Any, what: str) -> None:
        """Raise RowError where somebody skips a question that may not be skipped."""
        values = column.values.take(column.codes) if isinstance(column, Coded) else np.asarray(column)
        absent = absent_in(values, self.labels)
        if absent.any():
            remedy = "ask for an answer, or allow it with skip = true"
            raise RowError(what, int(np.argmax(absent)), "has no answer, which is not allowed", remedy)

    # File

    def as_json(self) -> dict[str, Any]:
        """Return the question as plain values, without what it does not use."""
        result: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == "number":
            result |= {"range": [self.low, self.high], "spread": self.spread}
            if self.bins:
                result["bins"] = list(self.bins)
        else:
            result["labels"] = list(self.labels)
        more = {
            "open_ends": self.open_ends,
            "skip": self.skip,
            "frequencies": list(self.frequencies),
            "cumulative": self.cumulative,
            "scores": list(self.scores),
        }
        return result | {key: value for key, value in more.items() if value}

    @classmethod
    def from_json(cls, document: Any, extra: Sequence[str] = ()) -> Question:
        """Return the question that :meth:`as_json`, or a model, describes, whatever it says at extra keys."""
        if not isinstance(document, Mapping):
            what = f"expected a table, got {text_of(document)}"
            raise ParameterError("questions", what, "give [[parameters.questions]]")
        name = document.get("name")
        where = f"question {text_of(name)}" if name else "questions"
        require_keys(where, document, (*KEYS, *extra))
        if not name:
            raise ParameterError(where, "one has no name", 'give it a name: name = "age"')
        ends = document.get("range")
        if ends is not None and (not isinstance(ends, (list, tuple)) or len(ends) != 2):
            raise ParameterError(f"{where}: range", f"expected two numbers, got {text_of(ends)}")
        if document.get("kind") == "several":
            what = "'several' is for files that state a survey at their top level"
            raise ParameterError(f"{where}: kind", what, "write [survey] and [[questions]]")
        low, high = (None, None) if ends is None else ends
        return cls(
            name,
            document.get("kind", "number" if ends is not None else "categorical"),
            tuple(stated_list(where, "labels", document)),
            low,
            high,
            tuple(stated_list(where, "bins", document)),
            document.get("spread"),
            document.get("skip", False),
            tuple(stated_list(where, "frequencies", document)),
            document.get("cumulative", False),
            tuple(stated_list(where, "scores", document)),
            document.get("open_ends", ""),
        )


class Questions(Sealed):
    """The questions of a survey, by name.

    Examples
    --------
    >>> age = Question("age", "number", low=0, high=100)
    >>> questions = Questions([Question("sex", labels=("f", "m")), age])
    >>> answers = questions.encode({"sex": ["m", "f"], "age": [25, 50]})
    >>> answers[0].tolist(), answers[1].tolist()
    ([1, 0], [0.25, 0.5])
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self.all = tuple(questions)
        if not 1 <= len(self.all) <= MOST_QUESTIONS:
            remedy = f"give at least one, at most {MOST_QUESTIONS}"
            raise ParameterError("questions", f"{len(self.all)} of them", remedy)
        for name in self.names:
            if self.names.count(name) > 1:
                raise ParameterError("questions", f"two are named '{name}'", "names must differ")

    @property
    def names(self) -> tuple[str, ...]:
        """The names."""
        return tuple(question.name for question in self.all)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each; 2 for a number that is asked for its mean."""
        return tuple(question.size for question in self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, place: int) -> Question:
        return self.all[place]

    def place(self, name: Any, where: str = "questions") -> int:
        """Return the number of a question; UnknownNameError with the closest name where there is none."""
        if name not in self.names:
            raise UnknownNameError(where, f"no question {text_of(name)}", suggestion(str(name), self.names))
        return self.names.index(name)

    def encode(self, data: Any, clip: bool = False) -> list[Codes | Array]:
        """Return the answers to each question as numbers.

        Parameters
        ----------
        data : mapping, data frame, or rows
            Columns by the names of the questions, or one row a user in their order.
        clip : bool
            Whether numbers outside their range are moved to its nearest end.
        """
        pairs = zip(self.all, self._columns(data), strict=True)
        result = [question.encode(column, clip) for question, column in pairs]
        if len({len(column) for column in result}) > 1:
            raise DataError("data", "columns of unequal length", "give one answer a user and question")
        return result

    def _columns(self, data: Any) -> list[Any]:
        if isinstance(data, Mapping) or hasattr(data, "columns"):
            known = [str(name) for name in (data.columns if hasattr(data, "columns") else data)]
            for name in self.names:
                if name not in known:
                    raise DataError("data", f"no column '{name}'", suggestion(name, known))
            return [with_gaps(data[name]) for name in self.names]
        rows = []
        for place, answers in enumerate(data):
            if isinstance(answers, str) or not isinstance(answers, Iterable):
                remedy = "give one answer to each question: a list"
                raise RowError("data", place, f"is {text_of(answers)}", remedy)
            rows.append([None if mask_of(entry) is not None else entry for entry in answers])
        for place, row in enumerate(rows):
            if len(row) != len(self):
                what = f"has {counted(len(row), 'answer')} to {counted(len(self), 'question')}"
                raise RowError("data", place, what)
        return [np.array([row[place] for row in rows], dtype=object) for place in range(len(self))]

    def as_json(self) -> list[dict[str, Any]]:
        """Return the questions as plain values."""
        return [question.as_json() for question in self.all]

    @classmethod
    def from_json(cls, document: Any) -> Questions:
        """Return the questions that :meth:`as_json`, or a model, describes."""
        if not isinstance(document, (list, tuple)):
            raise ParameterError("questions", f"expected a list of tables, got {text_of(document)}")
        return cls([Question.from_json(item) for item in document])
