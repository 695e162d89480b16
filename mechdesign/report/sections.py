"""Results in sections, one a question: numbers, tables and a sentence, for the page and the workbook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.shrinkage import ShownShares, shrunk, top
from mechdesign.collect.base import Mechanism
from mechdesign.collect.estimate import FrequencyEstimate, MeanEstimate
from mechdesign.core.errors import decimals_of, margin_text, percent_with_margin
from mechdesign.core.values import changed
from mechdesign.data.about import QuestionText
from mechdesign.data.tidy import OF_ANSWERED, Quantiles
from mechdesign.report.phrases import ENGLISH, Phrases, name_text
from mechdesign.show.panels import ANYTHING, SHARE, axis_names

if TYPE_CHECKING:
    from mechdesign.show.figure import Bars, Figure, Intervals

Array = NDArray[np.float64]

MOST_DRAWN = 1000
"""Bars that a page draws: more are a plane of color, and take minutes."""

UNKNOWN = 0.5
"""The margin of error of a share that may be anything."""

MOST_ANSWERS = 3
"""Answers to a question that a sentence names."""

MOST_GROUPS = 6
"""Groups of a cross table that a sentence names."""

YES = "yes"
"""The answer that a tick stands for."""


@dataclass(frozen=True)
class ResultTable:
    """Estimates in rows, with what a reader needs of each.

    Attributes
    ----------
    caption : str
        Empty for the table that the section is about.
    unit : str
        What the estimates are: ``share``, ``users``, or anything else.
    answers : tuple of str
    numbers : dict of str to list
        ``estimate``, ``standard_error``, ``low``, ``high`` and more, by their names; None for gaps.
    """

    caption: str
    unit: str
    answers: tuple[str, ...]
    numbers: Mapping[str, Sequence[Any]]

    @property
    def is_share(self) -> bool:
        """Whether the estimates are shares."""
        return self.unit == "share"

    @property
    def margins(self) -> list[float | None]:
        """The margins of error: half the widths of the intervals."""
        return [
            (high - low) / 2.0 if isinstance(low, (int, float)) and isinstance(high, (int, float)) else None
            for low, high in zip(self.numbers["low"], self.numbers["high"], strict=True)
        ]

    def possible(self, users: int | None) -> tuple[float, float]:
        """Return the numbers that the truth can be."""
        ends = {"share": SHARE, "users": (0.0, float(users or math.inf))}
        return ends.get(self.unit, ANYTHING)


@dataclass(frozen=True)
class Grid:
    """Percentages of the rows of a table, with their margins of error.

    Attributes
    ----------
    caption : str
    rows, columns : tuple of str
    values, margins : array
        A row for each name; a margin of one half stands for a group that is too small.
    """

    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    margins: Array

    def texts(self) -> list[list[str]]:
        """Return the rows as texts, the name first."""
        pairs = zip(self.rows, self.values.tolist(), self.margins.tolist(), strict=True)
        return [
            [name, *(_percent(value, margin) for value, margin in zip(values, margins, strict=True))]
            for name, values, margins in pairs
        ]


def _percent(value: float, margin: float) -> str:
    return percent_with_margin(value, margin) if margin < UNKNOWN else "too few"


@dataclass(frozen=True)
class Section:
    """What is known about one question, one table, or one block of ticks.

    Attributes
    ----------
    name : str
        The name of the result.
    heading : str
        The question, word for word; else its name.
    sentence : str
        The result in words; empty where there is nothing to say.
    reports : int or None
        How many reports it rests on.
    tables : tuple of ResultTable
    grids : tuple of Grid
    quantiles : Quantiles or None
    figures : tuple of Figure
    notes : tuple of str
    """

    name: str
    heading: str
    sentence: str = ""
    reports: int | None = None
    tables: tuple[ResultTable, ...] = ()
    grids: tuple[Grid, ...] = ()
    quantiles: Quantiles | None = None
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def was_asked(self) -> bool:
        """Whether there is any report about it."""
        return self.reports is None or self.reports > 0


def sections_of(result: Any, mechanism: Mechanism, phrases: Phrases = ENGLISH) -> list[Section]:
    """Return the sections of a result, in the order in which the questions are asked.

    Parameters
    ----------
    result : estimate
        With ``tidy``; with ``results``, it has a section for each of them.
    mechanism : Mechanism
        Whose survey has the words of the questions.
    phrases : Phrases
        Of the sentences.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> duchi = Duchi(1.0, 0, 100).described(question="How old are you?")
    >>> (section,) = sections_of(duchi.estimate(duchi.randomize([30, 50] * 500, rng=1)), duchi)
    >>> section.heading, section.sentence[:12]
    ('How old are you?', 'The mean is ')
    """
    parts = getattr(result, "results", None)
    if parts is None:
        return [_with_many(_single(result, mechanism, phrases), result)] if hasattr(result, "tidy") else []
    return list(_survey_sections(parts, mechanism, phrases))


def _survey_sections(parts: Sequence[Any], mechanism: Mechanism, phrases: Phrases) -> Iterator[Section]:
    """Yield a section for each question or table; the ticks of one question are together."""
    texts = mechanism.about.questions
    blocks = {name: text for text in texts for name in text.parts}
    by_name = {part.name: part for part in parts}
    seen: set[str] = set()
    for part in parts:
        block = blocks.get(part.name)
        if block is None:
            yield _with_many(_of_part(part, mechanism, phrases), part.answered or part.estimate)
        elif block.name not in seen:
            seen.add(block.name)
            ticks = [by_name[name] for name in block.parts if name in by_name]
            yield _of_ticks(block, ticks, phrases)


def legible(figures: Sequence[Figure]) -> list[Figure]:
    """Return the pictures that a page can show: those without very many bars."""
    return [figure for figure in figures if all(len(mark.x) <= MOST_DRAWN for mark in _bars_of(figure))]


def _bars_of(figure: Figure) -> Iterator[Bars | Intervals]:
    from mechdesign.show.figure import Bars, Intervals

    for panel in figure.panels:
        yield from (mark for mark in panel.marks if isinstance(mark, (Bars, Intervals)))


MANY, FIRST = 20, 10
"""Categories above which the first ones are listed apart, and how many of them."""


def _with_many(section: Section, estimate: Any) -> Section:
    """Return a section with what helps to read many categories: the most frequent, and shares for pictures.

    The most frequent are those of the unbiased values, which stay in the table; the picture is of shares that
    are nearer to the truth in total.
    """
    from mechdesign.families.workload.estimate import QueryEstimate

    if isinstance(estimate, QueryEstimate) and estimate.users and estimate.mechanism.is_ordered:
        picture = shrunk(estimate)
        return replace(
            section, figures=(*section.figures, *picture.figures()[:1]), notes=_more(section, picture)
        )
    if not isinstance(estimate, FrequencyEstimate) or len(estimate.categories) <= MANY or not estimate.users:
        return section
    columns = estimate.tidy()
    names = [name for name, _, _ in top(estimate, FIRST)]
    places = [list(estimate.categories).index(name) for name in names]
    numbers = {key: [columns[key][place] for place in places] for key in _NUMBERS}
    first = ResultTable(f"the {FIRST} most frequent, by unbiased values", "share", tuple(names), numbers)
    picture = shrunk(estimate)
    return replace(
        section,
        tables=(first, *section.tables),
        figures=(*section.figures, *picture.figures()[:1]),
        notes=_more(section, picture),
    )


def _more(section: Section, picture: ShownShares) -> tuple[str, ...]:
    return (*section.notes, f"the picture of shown shares is {picture.notes[0]}")


# One question, or a table


def _single(result: Any, mechanism: Mechanism, phrases: Phrases) -> Section:
    about = mechanism.about
    column = mechanism.data_columns[0] if len(mechanism.data_columns) == 1 else ""
    heading = about.heading or column
    quantiles, mean = getattr(result, "quantiles", None), getattr(result, "mean", None)
    tables = list(tables_of(result))
    known = mean if isinstance(mean, MeanEstimate) else None
    if known is not None:
        tables += tables_of(known, "mean")
    return Section(
        heading,
        heading,
        sentence_of(result if known is None else known, quantiles, phrases),
        getattr(result, "users", None),
        tuple(tables),
        quantiles=quantiles if isinstance(quantiles, Quantiles) else None,
        figures=tuple(legible(result.figures() if hasattr(result, "figures") else ())),
        notes=tuple(getattr(result, "notes", ())),
    )


def _of_part(part: Any, mechanism: Mechanism, phrases: Phrases) -> Section:
    """Return the section of a result of a survey."""
    estimate, about = part.estimate, mechanism.about
    heading = (
        part.name if part.axes or part.request.number is not None else about.question_text(part.name).text
    )
    tables = list(tables_of(estimate))
    if part.answered is not None:
        tables += tables_of(part.answered, OF_ANSWERED)
    if part.mean is not None:
        tables += tables_of(part.mean, f"mean, {OF_ANSWERED}" if part.answered is not None else "mean")
    if part.cumulative is not None:
        tables += tables_of(part.cumulative, "up to each answer")
    grids = []
    for group in part.groups:
        values, margins = group.grid()
        caption = f"{group.of} in percent of each row, {OF_ANSWERED}"
        grids.append(Grid(caption, group.groups, group.categories, values, margins))
    figures = part.figures() if part.answered is None else part.answered.figures()
    if grids:
        figures = [_grid_figure(part.axes, grids[0])] if (grids[0].margins < UNKNOWN).any() else []
    known = [part.answered, part.mean, *(group.estimate for group in part.groups)]
    notes = [note for each in (estimate, *known) if each is not None for note in each.notes]
    return Section(
        part.name,
        heading,
        _survey_sentence(part, phrases),
        _reports(estimate),
        tuple(tables),
        tuple(grids),
        part.quantiles,
        tuple(_for_page(figure, heading, estimate, part.answered is not None) for figure in legible(figures)),
        tuple(dict.fromkeys(notes)),
    )


def _for_page(figure: Figure, heading: str, estimate: Any, of_answered: bool) -> Figure:
    """Return a figure under the heading of its section; of a mean over all of its range."""
    panels = [panel for panel in figure.panels if panel.title != "standard error"] or list(figure.panels)
    ends = getattr(estimate, "possible", ANYTHING)
    if of_answered:
        panels = [changed(panel, y_label=f"share {OF_ANSWERED}") for panel in panels]
    if isinstance(estimate, MeanEstimate) and np.isfinite(ends).all():
        panels = [changed(panel, y_limits=tuple(map(float, ends))) for panel in panels]
    return changed(figure, title=heading, panels=panels)


def _grid_figure(axes: Any, grid: Grid) -> Figure:
    """Return the percentages of the rows of a table as coloured cells, without groups that are too small."""
    from mechdesign.show.figure import Figure, Heat, Panel

    large = np.flatnonzero((grid.margins < UNKNOWN).all(axis=1))
    cells: Any = [
        Heat(values=np.round(100.0 * np.clip(grid.values[large], 0.0, 1.0)), label="percent of the row")
    ]
    names = [grid.rows[place] for place in large.tolist()]
    *others, (across, _) = axes
    label = " x ".join(name for name, _ in others)
    panel = Panel(across, label, cells, x_names=axis_names(grid.columns), y_names=axis_names(names))
    caption = f"Percent of each row: {grid.caption}. Numbers below 0 by chance are drawn as 0."
    return Figure(grid.caption, [panel], caption)


def _of_ticks(block: QuestionText, parts: Sequence[Any], phrases: Phrases) -> Section:
    """Return the section of a question with several answers: a row for each tick."""
    from mechdesign.show.panels import interval_figures

    names = dict(zip(block.parts, block.labels or block.parts, strict=False))
    labels = tuple(names[part.name] for part in parts)
    rows = [_tick(part.answered or part.estimate) for part in parts]
    numbers = {key: [row[key] for row in rows] for key in (*_NUMBERS, "reports")}
    table = ResultTable("", "share", labels, numbers)
    ends = numbers["low"], numbers["high"]
    figures = interval_figures(
        block.text or block.name, labels, numbers["estimate"], ends, "answer", "share", possible=SHARE
    )
    order = sorted(range(len(parts)), key=lambda place: -numbers["estimate"][place])[:3]
    most = [
        phrases.other.format(
            share=phrases.number(percent_with_margin(numbers["estimate"][place], margin)),
            answer=name_text(labels[place]),
        )
        for place in order
        if (margin := table.margins[place]) is not None and margin < UNKNOWN
    ]
    notes = [note for part in parts for note in (part.answered or part.estimate).notes]
    return Section(
        block.name,
        block.text or block.name,
        phrases.ticked.format(answers=", ".join(most)) if most else "",
        max((row["reports"] for row in rows), default=0),
        (table,),
        figures=tuple(figures),
        notes=tuple(dict.fromkeys(notes)),
    )


_NUMBERS = ("estimate", "standard_error", "low", "high")


def _tick(estimate: FrequencyEstimate) -> dict[str, Any]:
    """Return the row of one tick: the share of its answer "yes", else of the last one."""
    columns = estimate.tidy()
    categories = list(estimate.categories)
    place = categories.index(YES) if YES in categories else len(categories) - 1
    return {**{key: columns[key][place] for key in _NUMBERS}, "reports": estimate.users}


def _reports(estimate: Any) -> int | None:
    reports = getattr(estimate, "reports", None)
    if reports is not None and len(reports):
        return int(np.max(reports))
    users = getattr(estimate, "users", None)
    return None if users is None else int(users)


def tables_of(result: Any, caption: str = "", unit: str | None = None) -> Iterator[ResultTable]:
    """Yield the tables of an estimate: one for each question of its rows."""
    columns: Mapping[str, Sequence[Any]] = result.tidy()
    unit = unit_of(result) if unit is None else unit
    questions = list(map(str, columns["question"]))
    numeric = [name for name in columns if name not in ("question", "category")]
    for question in dict.fromkeys(questions):
        places = [place for place, name in enumerate(questions) if name == question]
        numbers = {name: [columns[name][place] for place in places] for name in numeric}
        answers = tuple(str(columns["category"][place] or "") for place in places)
        several = len(set(questions)) > 1
        yield ResultTable(caption or (question if several else ""), unit, answers, numbers)


def unit_of(result: Any) -> str:
    """Return what estimates are: ``share``, or what their pictures call them; empty where these differ."""
    if getattr(result, "is_share", False):
        return "share"
    figures = result.figures() if hasattr(result, "figures") else []
    labels = {panel.y_label for figure in figures for panel in figure.panels}
    return labels.pop() if len(labels) == 1 else ""


def units_of(result: Any) -> dict[str, str]:
    """Return the units of the estimates by the names of their questions; of all others by the empty name."""
    parts = getattr(result, "results", None)
    if parts is None:
        return {"": unit_of(result)}
    if parts and not hasattr(parts[0], "estimate"):  # waves
        return units_of(parts[0])
    return {part.name: unit_of(part.estimate) for part in parts}


def is_share_row(units: Mapping[str, str], question: str, category: str) -> bool:
    """Return whether a row of a tidy table is a share."""
    return units.get(question, units.get("", "")) == "share" and category != "mean"


# In words


def rounded(value: Any, error: Any, is_share: bool) -> str:
    """Return a number to two significant digits of its standard error, shares in percent.

    Examples
    --------
    >>> rounded(0.25123, 0.0123, True), rounded(75.4321, 0.72, False), rounded(1234.5, 160.0, False)
    ('25.1%', '75.43', '1230')
    >>> rounded(0.5, None, True), rounded(None, 0.1, False)
    ('50.0%', '-')
    """
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return "-"
    scale, unit = (100.0, "%") if is_share else (1.0, "")
    number = scale * value
    digits = decimals_of(scale * error) if isinstance(error, (int, float)) else None
    if digits is None:
        return f"{number:.1f}{unit}" if is_share else f"{number:.6g}"
    return f"{round(number, digits) + 0.0:.{max(0, digits)}f}{unit}"


def sentence_of(estimate: Any, quantiles: Any = None, phrases: Phrases = ENGLISH) -> str:
    """Return an estimate in one or two sentences; empty where it is too rough, or is none of the kinds.

    Examples
    --------
    >>> shares = FrequencyEstimate(np.array([0.35, 0.65]), np.array([0.036, 0.036]), 800, ("no", "yes"))
    >>> sentence_of(shares)
    '65% ±7 answered “yes”.'
    >>> sentence_of(MeanEstimate(41.32, 0.61, 800))
    'The mean is 41.3 ±1.2.'
    """
    words = ""
    if isinstance(estimate, FrequencyEstimate):
        words = _share_words(estimate, range(len(estimate.categories)), phrases)
    elif isinstance(estimate, MeanEstimate):
        words = phrases.mean.format(value=phrases.number(_mean_words(estimate)))
    return " ".join(filter(None, [words, _median_words(quantiles, phrases)]))


def _survey_sentence(part: Any, phrases: Phrases) -> str:
    """Return a result of a survey in words; empty where nobody was asked."""
    estimate = part.estimate
    if not _reports(estimate):
        return ""
    if part.groups:
        return _group_words(part.groups[0], phrases)
    if part.request.number is not None:
        return _means_words(estimate, phrases)
    if part.mean is not None:
        low, high = (phrases.number(f"{end:g}") for end in part.mean.possible)
        value = phrases.number(_mean_words(part.mean))
        head = phrases.mean_on_scale.format(value=value, low=low, high=high)
        return " ".join(filter(None, [head, _median_words(part.quantiles, phrases)]))
    words = sentence_of(part.answered or estimate, phrases=phrases)
    if part.answered is not None and words:
        words = phrases.among_answered(words)
    return " ".join(filter(None, [words, _median_words(part.quantiles, phrases)]))


def _share_words(estimate: FrequencyEstimate, places: Sequence[int], phrases: Phrases) -> str:
    margins = estimate.margins().tolist()
    order = sorted(places, key=lambda number: -float(estimate.value[number]))[:MOST_ANSWERS]
    if YES in estimate.categories and len(estimate.categories) == 2:
        order = [estimate.categories.index(YES)]
    clauses = [
        (phrases.answered if place == order[0] else phrases.other).format(
            share=_share(min(max(float(estimate.value[place]), 0.0), 1.0), margins[place], phrases),
            answer=name_text(estimate.categories[place]),
        )
        for place in order
        if margins[place] < UNKNOWN
    ]
    return f"{', '.join(clauses)}." if clauses else ""


def _share(share: float, margin: float, phrases: Phrases) -> str:
    return phrases.number(percent_with_margin(share, margin))


def _mean_words(estimate: MeanEstimate) -> str:
    margin = float(estimate.margins())
    return f"{rounded(float(estimate.value), margin, False)} {margin_text(margin, False)}"


def _means_words(estimate: Any, phrases: Phrases) -> str:
    """Return the means of groups in words."""
    rows = zip(estimate.names, estimate.value.tolist(), estimate.margins().tolist(), strict=True)
    clauses = [
        f"{name_text(name)}: "
        f"{phrases.number(f'{rounded(value, margin, False)} {margin_text(margin, False)}')}"
        for name, value, margin in rows
    ]
    more = "; ..." if len(clauses) > MOST_GROUPS else ""
    return phrases.means.format(values="; ".join(clauses[:MOST_GROUPS]) + more)


def _median_words(quantiles: Any, phrases: Phrases) -> str:
    if not isinstance(quantiles, Quantiles) or 0.5 not in quantiles.levels:
        return ""
    _, value, low, high = quantiles.rows[quantiles.levels.index(0.5)]
    interval = ""
    if low != high:
        template = phrases.interval_of_words if phrases.between in f"{low}{high}" else phrases.interval
        interval = template.format(low=name_text(low), high=name_text(high))
    return phrases.median.format(value=name_text(value), interval=interval)


def _group_words(group: Any, phrases: Phrases) -> str:
    """Return the most frequent answer of each group of a cross table in words."""
    values, margins = group.grid()
    clauses = []
    for name, shares, errors in zip(group.groups, values, margins, strict=True):
        place = int(np.argmax(shares))
        if errors[place] < UNKNOWN:
            share = _share(min(float(shares[place]), 1.0), float(errors[place]), phrases)
            answer = phrases.answered.format(share=share, answer=name_text(group.categories[place]))
            clauses.append(phrases.group.format(group=name_text(name), answer=answer))
    return phrases.sentence(clauses) if clauses and len(group.groups) <= MOST_GROUPS else ""
