"""Pictures of the plan of a survey: which users are asked which questions, and the expected errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.errors import counted
from mechdesign.core.values import USERS
from mechdesign.families.survey.part_plans import PlannedSurvey

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure, Mark

MARGIN = 0.44
"""Half the width of a question's box; questions are 1 apart."""

ORDINALS = ("first", "second", "third", "fourth", "fifth")

GAP = 0.06
"""The part of a band's height that stays free."""

Bands = tuple[tuple[int, ...], ...]


def survey_figures(survey: PlannedSurvey) -> list[Figure]:
    """Return figures of the plan of questions, and of the expected errors with the planned users."""
    return [_questions_figure(survey), _errors(survey)]


def _questions_figure(survey: PlannedSurvey) -> Figure:
    """Return a band for each choice of questions, as high as its share, with a box for each report."""
    from mechdesign.show.figure import Figure, Panel
    from mechdesign.show.panels import axis_names

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
    names = axis_names(survey.questions.names)
    panel = Panel("question", "users (%)", marks, x_names=names, y_limits=(0.0, 100.0))
    caption = (
        "A band is what some of the users report, as high as their share. A box, or boxes that a line "
        "connects, are one report of all its questions; other questions are not reported."
    )
    return Figure("Which users are asked which questions", [panel], caption)


def _boxes(places: Sequence[int], bottom: float, top: float, kind: int, label: str) -> Iterator[Mark]:
    """Yield the boxes of a report, and lines between those that are apart."""
    from mechdesign.show.figure import Line, Polygon

    ends = list(_runs(places))
    for number, (first, last) in enumerate(ends):
        left, right = first - MARGIN, last + MARGIN
        corners = ([left, right, right, left], [bottom, bottom, top, top])
        yield Polygon(*corners, label="" if number else label, series=kind)
    middle = (bottom + top) / 2.0
    for (_, end), (start, _) in pairwise(ends):
        yield Line([end + MARGIN, start - MARGIN], [middle, middle], series=kind)


def shares_of(survey: PlannedSurvey) -> list[tuple[Bands, float]]:
    """Return the questions that are reported together, with their shares; the largest first."""
    shares: dict[Bands, float] = {}
    for number, parts in enumerate(survey.split.branches):
        reports = tuple(sorted(part.places for part in parts))
        shares[reports] = shares.get(reports, 0.0) + survey.share(number)
    return sorted(shares.items(), key=lambda item: (-item[1], item[0]))


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of the places that follow each other.

    Examples
    --------
    >>> list(_runs([0, 1, 3]))
    [(0, 1), (3, 3)]
    """
    for _, pairs in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        run = [place for _, place in pairs]
        yield run[0], run[-1]


def _errors(survey: PlannedSurvey) -> Figure:
    """Return the standard errors: of shares in percentage points, and of means in their units."""
    from mechdesign.show.figure import Bars, Figure, Panel
    from mechdesign.show.panels import MOST_NAMES, axis_names

    users = survey.users or USERS
    errors = survey.errors(users)
    shares: dict[str, float] = {}
    means: dict[str, float] = {}
    for (name, error), request in zip(errors.items(), survey.requests, strict=True):
        if np.isfinite(error):
            (means if survey.questions[request.subject].is_number else shares)[name] = error
    panels = []
    for errors_of, factor, unit in (shares, 100.0, "percentage points"), (means, 1.0, "units of the number"):
        if errors_of:
            chosen = dict(sorted(errors_of.items(), key=lambda item: -item[1])[:MOST_NAMES])
            bars = Bars(x=np.arange(len(chosen)), y=[factor * error for error in chosen.values()])
            names = axis_names(list(chosen))
            panels.append(Panel("result", f"standard error ({unit})", [bars], x_names=names))
    caption = (
        "Of shares it is the root mean square over the categories. Errors fall with the square root of "
        "the number of users."
    )
    return Figure(f"Expected standard errors with {counted(users, 'user')}", panels, caption)
