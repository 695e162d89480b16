"""What a survey is to tell: each question alone, cross tables, and means of a number by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import require_keys
from mechdesign.exact.numbers import text_of
from mechdesign.families.survey.questions import Questions

MOST_CELLS = 1 << 16
"""Cells of a requested table: what a frequency oracle can report."""


@dataclass(frozen=True)
class Wanted:
    """One requested result.

    Attributes
    ----------
    kind : {"question", "table", "group means"}
    places : tuple of int
        The questions it is about, increasing; for group means the number is :attr:`number`.
    number : int or None
        The question whose mean is wanted by group.
    """

    kind: str
    places: tuple[int, ...]
    number: int | None = None

    def name(self, questions: Questions) -> str:
        """Return the name of the requested result.

        Examples
        --------
        >>> from mechdesign.families.survey.questions import Question
        >>> asked = Questions([Question("age", "number", low=0, high=9), Question("sex", labels=("f", "m"))])
        >>> Wanted("group means", (0, 1), 0).name(asked), Wanted("question", (1,)).name(asked)
        ('age by sex', 'sex')
        """
        if self.number is None:
            return " x ".join(questions[place].name for place in self.places)
        return f"{questions[self.number].name} by {questions[self.group].name}"

    @property
    def group(self) -> int:
        """The question that makes the groups of group means."""
        (result,) = (place for place in self.places if place != self.number)
        return result

    def shape(self, questions: Questions) -> tuple[int, ...]:
        """Return the sizes of its table."""
        return tuple(questions[place].size for place in self.places)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        found: dict[str, Any] = {"kind": self.kind, "questions": list(self.places)}
        return found if self.number is None else {**found, "number": self.number}


def singles(questions: Questions) -> tuple[Wanted, ...]:
    """Return every question alone."""
    return tuple(Wanted("question", (place,)) for place in range(len(questions)))


def wanted_table(questions: Questions, value: Any, where: str = "tables") -> Wanted:
    """Return a cross table of questions given by name.

    Raises
    ------
    ParameterError
        For an unknown question, fewer than two, one twice, a number without bins, or too many cells.
    """
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        raise ParameterError(where, f"expected two questions or more, got {text_of(value)}", "name them")
    places = sorted(questions.place(name, where) for name in value)
    if len(set(places)) < len(places):
        raise ParameterError(where, f"a question appears twice in {list(value)}", "name it once")
    means = [questions[place].name for place in places if questions[place].is_mean]
    if means:
        raise ParameterError(
            where,
            f"'{means[0]}' is a number without bins",
            "give the question bins, or ask for group_means",
        )
    result = Wanted("table", tuple(places))
    _require_cells(questions, result, where)
    return result


def wanted_means(questions: Questions, value: Any, where: str = "group_means") -> Wanted:
    """Return the means of a number by the categories of another question: ``{number = , by = }``."""
    if not isinstance(value, Mapping):
        raise ParameterError(where, f"expected a table, got {text_of(value)}", _EXAMPLE)
    require_keys(where, value, ("number", "by", "importance", "error"))
    for key in ("number", "by"):
        if key not in value:
            raise ParameterError(where, f"'{key}' is missing", _EXAMPLE)
    number, group = (questions.place(value[key], where) for key in ("number", "by"))
    if not questions[number].is_mean:
        raise ParameterError(where, f"'{value['number']}' is not a number without bins", "name a number")
    if questions[group].is_mean:
        raise ParameterError(where, f"'{value['by']}' has no categories", "name a question with labels")
    result = Wanted("group means", tuple(sorted((number, group))), number)
    _require_cells(questions, result, where)
    return result


_EXAMPLE = 'write [{ number = "age", by = "sex" }]'


def wanted_of(questions: Questions, document: Sequence[Any]) -> tuple[Wanted, ...]:
    """Return the requested tables and group means of the output of :meth:`Wanted.as_json`, checked."""
    found = []
    for item in document:
        names = [questions[place].name for place in item["questions"]]
        number = item.get("number")
        if number is None:
            found.append(wanted_table(questions, names))
        else:
            (group,) = (place for place in item["questions"] if place != number)
            given = {"number": questions[number].name, "by": questions[group].name}
            found.append(wanted_means(questions, given))
    return tuple(found)


def _require_cells(questions: Questions, wanted: Wanted, where: str) -> None:
    cells = 1
    for size in wanted.shape(questions):
        cells *= size
    if cells > MOST_CELLS:
        raise ParameterError(
            where,
            f"the table {wanted.name(questions)} has {cells} cells, more than {MOST_CELLS}",
            "omit a question, or merge answers",
        )
