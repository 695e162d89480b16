"""Pictures of a survey: who is asked what, how good each result will be, and its cross tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.core.errors import printable
from mechdesign.core.text import counted
from mechdesign.core.values import USERS
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars, Heat, Line, Mark, Polygon
from mechdesign.show.panels import MOST_NAMES, MOST_PANELS, axis_names

if TYPE_CHECKING:
    from mechdesign.families.survey.survey import Survey

MARGIN = 0.44
"""Half the width of a question's box; questions are 1 apart."""

ORDINALS = ("first", "second", "third", "fourth", "fifth")

GAP = 0.06
"""The part of a band's height that stays free."""

Asked = tuple[tuple[int, ...], ...]


def survey_figures(survey: Survey) -> list[Figure]:
    """Return figures of the plan of questions, and of the expected errors with the planned users."""
    return [_asked(survey), _errors(survey)]


def _asked(survey: Survey) -> Figure:
    """Return a band for each choice of questions, as high as its share, with a box for each report."""
    marks: list[Mark] = []
    named: set[int] = set()
    bands, top = shares_of(survey), 100.0
    several = any(len(parts) > 1 for parts, _ in bands)
    for parts, share in bands:
        bottom = top - 100.0 * share
        for number, places in enumerate(parts):
            kind = min(number, len(ORDINALS) - 1)
            label = f"{ORDINALS[kind]} report" if several and kind not in named else ""
            named.add(kind)
            marks += _boxes(places, bottom, top - GAP * (top - bottom), kind, label)
        top = bottom
    panel = Panel(
        "question",
        "users (%)",
        marks,
        x_names=axis_names(survey.questions.names),
        y_limits=(0.0, 100.0),
    )
    caption = (
        "A band is what some of the users report, as high as their share. A box, or boxes that a line "
        "connects, are one report of all its questions; other questions are not reported."
    )
    return Figure("Which users are asked which questions", [panel], caption)


def _boxes(places: Sequence[int], bottom: float, top: float, kind: int, label: str) -> Iterator[Mark]:
    """Yield the boxes of a report, and lines between those that are apart."""
    ends = list(_runs(places))
    for number, (first, last) in enumerate(ends):
        left, right = first - MARGIN, last + MARGIN
        corners = ([left, right, right, left], [bottom, bottom, top, top])
        yield Polygon(*corners, label="" if number else label, series=kind)
    middle = (bottom + top) / 2.0
    for (_, end), (start, _) in pairwise(ends):
        yield Line([end + MARGIN, start - MARGIN], [middle, middle], series=kind)


def shares_of(survey: Survey) -> list[tuple[Asked, float]]:
    """Return the questions that are reported together, with their shares; the largest first."""
    found: dict[Asked, float] = {}
    for number, design in enumerate(survey.designs):
        asked = tuple(sorted(part.places for part in design.parts))
        found[asked] = found.get(asked, 0.0) + survey.share(number)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of the places that follow each other.

    Examples
    --------
    >>> list(_runs([0, 1, 3]))
    [(0, 1), (3, 3)]
    """
    start = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or places[end] != places[end - 1] + 1:
            yield places[start], places[end - 1]
            start = end


def _errors(survey: Survey) -> Figure:
    """Return the standard errors: of shares in percentage points, and of means in their units."""
    users = survey.users or USERS
    errors = survey.errors(users)
    shares: dict[str, float] = {}
    means: dict[str, float] = {}
    for (name, error), wanted in zip(errors.items(), survey.wanted, strict=True):
        is_mean = wanted.number is not None or survey.questions[wanted.places[0]].is_mean
        if np.isfinite(error):
            (means if is_mean else shares)[name] = error
    panels = []
    for found, factor, unit in ((shares, 100.0, "percentage points"), (means, 1.0, "units of the number")):
        if found:
            chosen = dict(sorted(found.items(), key=lambda item: -item[1])[:MOST_NAMES])
            bars = Bars(x=np.arange(len(chosen)), y=[factor * error for error in chosen.values()])
            panels.append(
                Panel("result", f"standard error ({unit})", [bars], x_names=axis_names(list(chosen)))
            )
    caption = (
        "Of shares it is the root mean square over the categories. Errors fall with the square root of "
        "the number of users."
    )
    return Figure(f"Expected standard errors with {counted(users, 'user')}", panels, caption)


Array = NDArray[np.float64]
Axes = tuple[tuple[str, tuple[str, ...]], ...]
"""The questions of a table with their categories."""

EXPLAINED = "Cells are estimates without bias: where few answered so, one can be below 0."


def cross_figures(title: str, axes: Axes, found: FrequencyEstimate) -> list[Figure]:
    """Return a table over two or more questions as coloured cells, the last two down and across.

    With more questions there is a panel for each combination of the others' categories; where these are too
    many, the picture of the cells as a list.

    Examples
    --------
    >>> from mechdesign.collect import KaryResponse
    >>> cells = KaryResponse.of(4, 3.0).estimate([0, 1, 2, 3, 3] * 40)
    >>> (figure,) = cross_figures("sex x smokes", (("sex", ("f", "m")), ("smokes", ("no", "yes"))), cells)
    >>> [panel.title for panel in figure.panels], figure.panels[0].y_names
    (['share', 'standard error'], ('f', 'm'))
    """
    shape = tuple(len(names) for _, names in axes)
    count = prod(shape[:-2])
    if count > MOST_PANELS:
        return found.figures()
    values = np.asarray(found.value).reshape(count, *shape[-2:])
    if count == 1:
        errors = np.asarray(found.standard_error).reshape(shape[-2:])
        panels = [_panel(axes, values[0], "share"), _panel(axes, errors, "standard error")]
    else:
        given = [
            ", ".join(f"{name}: {printable(label)}" for (name, _), label in zip(axes, labels, strict=False))
            for labels in product(*(names for _, names in axes[:-2]))
        ]
        panels = [_panel(axes, one, "share", title) for one, title in zip(values, given, strict=True)]
    return [Figure(f"{title}: {counted(found.users, 'report')}", panels, EXPLAINED)]


def _panel(axes: Axes, values: Array, label: str, title: str = "") -> Panel:
    (down, rows), (across, columns) = axes[-2:]
    cells: Any = [Heat(values=values, label=label)]
    x_names, y_names = axis_names(columns), axis_names(rows)
    return Panel(across, down, cells, title=title or label, x_names=x_names, y_names=y_names)
