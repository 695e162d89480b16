"""The results of a survey: requests for shares, cross tables and means by group, estimates, and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import AttributeMeans, FrequencyEstimate, ListedEstimate, MeanEstimate
from mechdesign.core.errors import (
    ParameterError,
    UnknownNameError,
    counted,
    percent_with_margin,
    printable,
    suggestion,
)
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import require_keys
from mechdesign.core.values import changed
from mechdesign.data.tidy import (
    ERRORS,
    OF_ANSWERED,
    TIDY,
    Columns,
    Quantiles,
    Tidy,
    cross_layout,
    grids_text,
)
from mechdesign.exact.numbers import text_of
from mechdesign.families.survey.questions import Questions
from mechdesign.show.tables import table

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure, Panel

MOST_CELLS = 1 << 16
"""Cells of a requested table: what a frequency oracle can report."""


@dataclass(frozen=True)
class Request:
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
        >>> age = Question("age", "number", low=0, high=9)
        >>> questions = Questions([age, Question("sex", labels=("f", "m"))])
        >>> Request("group means", (0, 1), 0).name(questions), Request("question", (1,)).name(questions)
        ('age by sex', 'sex')
        """
        if self.number is None:
            return " x ".join(questions[place].name for place in self.places)
        return f"{questions[self.number].name} by {questions[self.group].name}"

    @property
    def subject(self) -> int:
        """The number whose means are wanted, else the first question."""
        return self.places[0] if self.number is None else self.number

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
        document: dict[str, Any] = {"kind": self.kind, "questions": list(self.places)}
        return document if self.number is None else {**document, "number": self.number}


def singles(questions: Questions) -> tuple[Request, ...]:
    """Return every question alone."""
    return tuple(Request("question", (place,)) for place in range(len(questions)))


def table_request(questions: Questions, value: Any, where: str = "tables") -> Request:
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
    means = [questions[place].name for place in places if questions[place].is_number]
    if means:
        remedy = "give the question bins, or ask for group_means"
        raise ParameterError(where, f"'{means[0]}' is a number without bins", remedy)
    result = Request("table", tuple(places))
    _require_cells(questions, result, where)
    return result


def means_request(questions: Questions, value: Any, where: str = "group_means") -> Request:
    """Return the means of a number by the categories of another question: ``{number = , by = }``."""
    if not isinstance(value, Mapping):
        raise ParameterError(where, f"expected a table, got {text_of(value)}", _EXAMPLE)
    require_keys(where, value, ("number", "by", "importance", "error"))
    for key in ("number", "by"):
        if key not in value:
            raise ParameterError(where, f"'{key}' is missing", _EXAMPLE)
    number, group = (questions.place(value[key], where) for key in ("number", "by"))
    if questions[number].is_number and questions[number].skip:
        remedy = "ask it without skip = true, or in bins"
        raise ParameterError(where, f"'{value['number']}' may be skipped", remedy)
    if not questions[number].is_mean:
        raise ParameterError(where, f"'{value['number']}' is not a number without bins", "name a number")
    if questions[group].is_number:
        raise ParameterError(where, f"'{value['by']}' has no categories", "name a question with labels")
    result = Request("group means", tuple(sorted((number, group))), number)
    _require_cells(questions, result, where)
    return result


_EXAMPLE = 'write [{ number = "age", by = "sex" }]'


def requests_of(questions: Questions, document: Sequence[Any]) -> tuple[Request, ...]:
    """Return the requested tables and group means of the output of :meth:`Request.as_json`, checked."""
    requests = []
    for item in document:
        names = [questions[place].name for place in item["questions"]]
        number = item.get("number")
        if number is None:
            requests.append(table_request(questions, names))
        else:
            (group,) = (place for place in item["questions"] if place != number)
            statement = {"number": questions[number].name, "by": questions[group].name}
            requests.append(means_request(questions, statement))
    return tuple(requests)


def _require_cells(questions: Questions, request: Request, where: str) -> None:
    cells = prod(request.shape(questions))
    if cells > MOST_CELLS:
        what = f"the table {request.name(questions)} has {cells} cells, more than {MOST_CELLS}"
        raise ParameterError(where, what, "omit a question, or merge answers")


Array = NDArray[np.float64]
Axes = tuple[tuple[str, tuple[str, ...]], ...]
"""The questions of a table with their categories."""

EXPLAINED = "Cells are estimates; one that is below 0 by chance is drawn as 0, and tables have it as it is."


def cross_figures(title: str, axes: Axes, estimate: FrequencyEstimate) -> list[Figure]:
    """Return a table over two or more questions as coloured cells, the last two down and across.

    With more questions there is a panel for each combination of the others' categories; where these are too
    many, the picture of the cells as a list.

    Examples
    --------
    >>> from mechdesign.primitives import KaryResponse
    >>> cells = KaryResponse.of(4, 3.0).estimate([0, 1, 2, 3, 3] * 40)
    >>> (figure,) = cross_figures("sex x smokes", (("sex", ("f", "m")), ("smokes", ("no", "yes"))), cells)
    >>> [panel.title for panel in figure.panels], figure.panels[0].y_names
    (['share', 'standard error'], ('f', 'm'))
    """
    from mechdesign.show.figure import Figure
    from mechdesign.show.panels import MOST_PANELS

    shape = tuple(len(names) for _, names in axes)
    count = prod(shape[:-2])
    if count > MOST_PANELS:
        return estimate.figures()
    values = np.clip(np.asarray(estimate.value), 0.0, 1.0).reshape(count, *shape[-2:])
    if count == 1:
        errors = np.asarray(estimate.standard_error).reshape(shape[-2:])
        panels = [_panel(axes, values[0], "share"), _panel(axes, errors, "standard error")]
    else:
        titles = [
            ", ".join(f"{name}: {printable(label)}" for (name, _), label in zip(axes, labels, strict=False))
            for labels in product(*(names for _, names in axes[:-2]))
        ]
        panels = [_panel(axes, one, "share", title) for one, title in zip(values, titles, strict=True)]
    return [Figure(f"{title}: {counted(estimate.users, 'report')}", panels, EXPLAINED)]


def _panel(axes: Axes, values: Array, label: str, title: str = "") -> Panel:
    from mechdesign.show.figure import Heat, Panel
    from mechdesign.show.panels import axis_names

    (down, rows), (across, columns) = axes[-2:]
    cells: Any = [Heat(values=values, label=label)]
    x_names, y_names = axis_names(columns), axis_names(rows)
    return Panel(across, down, cells, title=title or label, x_names=x_names, y_names=y_names)


HALF = 0.5
"""The margin of error of a share that may be anything."""


@dataclass(frozen=True)
class GroupShares:
    """The shares of the categories of one question of a table within each group of the others.

    Attributes
    ----------
    of : str
        The question whose shares these are.
    groups, categories : tuple of str
        Names of the groups and of the categories.
    estimate : FrequencyEstimate
        A share for each group and category, the categories running fastest.
    """

    of: str
    groups: tuple[str, ...]
    categories: tuple[str, ...]
    estimate: FrequencyEstimate

    def grid(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the shares and their margins of error, a row a group."""
        shape = len(self.groups), len(self.categories)
        return self.estimate.value.reshape(shape), self.estimate.margins(level).reshape(shape)

    def __str__(self) -> str:
        rows = [
            [
                group,
                *(percent_with_margin(*pair) if pair[1] < HALF else "-" for pair in zip(*row, strict=True)),
            ]
            for group, *row in zip(self.groups, *self.grid(), strict=True)
        ]
        head = f"{self.of} in percent of each row ({OF_ANSWERED}), with margins of error"
        return f"{head}\n{table(['', *self.categories], rows)}{self.estimate._noted()}"

    def as_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {
            "of": self.of,
            "groups": list(self.groups),
            "of_categories": list(self.categories),
            **self.estimate.as_json(),
        }


@dataclass(frozen=True)
class SurveyResult:
    """One result of a survey.

    Attributes
    ----------
    name : str
    request : Request
    estimate : FrequencyEstimate, MeanEstimate or AttributeMeans
    cumulative : FrequencyEstimate or None
        Of an ordered question the shares up to each category.
    quantiles : Quantiles or None
    axes : tuple
        Of a cross table its questions with their categories.
    answered : FrequencyEstimate or None
        Of a question that may be skipped, the shares of those who answered.
    mean : MeanEstimate or None
        Of a rating, among those who answered.
    groups : tuple of GroupShares
        Of a cross table the percentages of its rows, and of its columns: of those who answered.
    """

    name: str
    request: Request
    estimate: FrequencyEstimate | MeanEstimate | AttributeMeans
    cumulative: FrequencyEstimate | None = None
    quantiles: Quantiles | None = None
    axes: Axes = ()
    answered: FrequencyEstimate | None = None
    mean: MeanEstimate | None = None
    groups: tuple[GroupShares, ...] = ()

    wanted = FormerAttribute("request")

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals; of a cross table its cells in colours."""
        if self.axes and isinstance(self.estimate, FrequencyEstimate):
            return cross_figures(self.name, self.axes, self.estimate)
        return [changed(figure, title=self.name) for figure in self.estimate.figures()]

    def grids(self) -> dict[str, Columns]:
        """Return the grids of a cross table: the last question across, the others down."""
        names, labels = [name for name, _ in self.axes], [texts for _, texts in self.axes]
        result = {
            self.name: cross_layout(names, labels, self.estimate.value),
            f"{self.name}{ERRORS}": cross_layout(names, labels, self.estimate.standard_error),
        }
        for group in self.groups:
            shares, _ = group.grid()
            others = " x ".join(name for name in names if name != group.of)
            title = f"{group.of} by {others}"
            columns = (group.groups, group.categories)
            result[title] = cross_layout([others, group.of], columns, shares)
            errors = group.estimate.standard_error
            result[f"{title}{ERRORS}"] = cross_layout([others, group.of], columns, errors)
        return result

    def __str__(self) -> str:
        head = f"{self.name}\n{self.estimate}"
        more = [] if self.answered is None else [f"{OF_ANSWERED}, {self.answered}"]
        more += [str(part) for part in (self.mean, self.quantiles, *self.groups) if part is not None]
        return "\n".join([head, *more])

    def rows(self, level: float = 0.95) -> Iterator[tuple[str, str, float, float, float, float]]:
        """Yield (result, category, estimate, standard error, low, high); cumulative shares as 'up to ...'."""
        more = [(group.estimate, "") for group in self.groups]
        own = (self.estimate, ""), (self.cumulative, UP_TO), (self.answered, f"{OF_ANSWERED}: ")
        for estimate, prefix in (*own, (self.mean, ""), *more):
            if estimate is None:
                continue
            low, high = estimate.interval(level)
            names = estimate._names() if isinstance(estimate, ListedEstimate) else ("mean",)
            columns = (np.atleast_1d(item) for item in (estimate.value, estimate.standard_error, low, high))
            for name, *numbers in zip(names, *columns, strict=True):
                value, error, below, above = map(float, numbers)
                text = up_to(name) if prefix is UP_TO else f"{prefix}{name}"
                yield self.name, text, value, error, below, above

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        result: dict[str, Any] = {"name": self.name, "kind": self.request.kind, **self.estimate.as_json()}
        if self.cumulative is not None:
            result["cumulative"] = self.cumulative.as_json()
        if self.quantiles is not None:
            result["quantiles"] = self.quantiles.as_json()
        if self.answered is not None:
            result["answered"] = self.answered.as_json()
        if self.mean is not None:
            result["mean"] = self.mean.as_json()
        if self.groups:
            result["groups"] = [group.as_json() for group in self.groups]
        return result


UP_TO = "up to "


def up_to(category: str) -> str:
    """Return what a cumulative share is of; of a range of numbers the upper end says it.

    Examples
    --------
    >>> up_to("fair"), up_to("18 to 29"), up_to("0 to below 1.5")
    ('up to fair', 'up to 29', 'below 1.5')
    """
    ends = re.fullmatch(r"-?[\d.]+ to (below )?(-?[\d.]+)", category)
    if ends is None:
        return f"{UP_TO}{category}"
    return f"{ends[1] or UP_TO}{ends[2]}"


@dataclass(frozen=True)
class SurveyResults(Tidy):
    """All results of a survey, by name.

    Attributes
    ----------
    results : tuple of SurveyResult
    users : int
        How many reports there are: of as many users, if each sent one.
    epsilon, delta : float
        What each of them gives away at most, over all questions together.
    population : bool
    """

    results: tuple[SurveyResult, ...]
    users: int
    epsilon: float
    population: bool = False
    delta: float = 0.0

    def __getitem__(self, name: str) -> FrequencyEstimate | MeanEstimate | AttributeMeans:
        return self.result(name).estimate

    def result(self, name: str) -> SurveyResult:
        """Return a result by name; UnknownNameError with the closest name where there is none."""
        known = {result.name: result for result in self.results}
        if name not in known:
            raise UnknownNameError("results", f"no result '{name}'", suggestion(name, known))
        return known[name]

    @property
    def value(self) -> dict[str, Any]:
        """The estimates by name."""
        return {result.name: result.estimate.value for result in self.results}

    @property
    def standard_error(self) -> dict[str, Any]:
        """The standard errors by name."""
        return {result.name: result.estimate.standard_error for result in self.results}

    def interval(self, level: float = 0.95) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the ends of confidence intervals by name."""
        ends = {result.name: result.estimate.interval(level) for result in self.results}
        return {name: end[0] for name, end in ends.items()}, {name: end[1] for name, end in ends.items()}

    def rows(self, level: float = 0.95) -> list[tuple[str, str, float, float, float, float]]:
        """Return one row for each estimate: result, category, estimate, standard error, low, high."""
        return [row for result in self.results for row in result.rows(level)]

    def tidy(self, level: float = 0.95) -> Columns:
        """Return all results as columns, a row for each estimate."""
        rows = self.rows(level)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(TIDY)
        return {name: list(column) for name, column in zip(TIDY, columns, strict=True)}

    def grids(self) -> dict[str, Columns]:
        """Return the cross tables as on paper: shares with their errors, then percentages of each row.

        Raises
        ------
        ParameterError
            For a survey without a cross table.
        """
        crossed = [result for result in self.results if result.axes]
        if not crossed:
            remedy = 'state one in the survey, such as tables = [["age", "sex"]], and build again'
            raise ParameterError("--grid", "the survey has no cross table", remedy)
        grids: dict[str, Columns] = {}
        for result in crossed:
            grids |= result.grids()
        return grids

    def grid_text(self) -> str:
        """Return the grids of all cross tables as text."""
        return grids_text(self.grids())

    @property
    def ledger(self) -> str:
        """Epsilon of a report, and of several of one user, as text."""
        guarantee = Guarantee(self.epsilon, self.delta).in_short
        return (
            f"each report gives away {guarantee}, over all questions together; a user for "
            "whom k reports were drawn has given away k times that"
        )

    def figures(self) -> list[Figure]:
        """Return all results with their intervals, a few panels a picture, then the cross tables."""
        from mechdesign.show.panels import in_pictures

        alone = [figure for result in self.results if not result.axes for figure in result.figures()]
        crossed = [figure for result in self.results if result.axes for figure in result.figures()]
        return [*in_pictures(f"Results of {counted(self.users, 'report')}", alone), *crossed]

    def __str__(self) -> str:
        parts = [f"{counted(self.users, 'report')}; {self.ledger}"]
        return "\n\n".join([*parts, *map(str, self.results)])

    def as_json(self) -> dict[str, Any]:
        """Return all results as plain values."""
        return {
            "users": self.users,
            "epsilon": self.epsilon,
            **({"delta": self.delta} if self.delta else {}),
            "population": self.population,
            "results": [result.as_json() for result in self.results],
        }
