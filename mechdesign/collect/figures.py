"""What pictures of mechanisms share: errors by users, channels, names on axes, several panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MechDesignError
from mechdesign.core.forecast import Forecast
from mechdesign.core.printable import printable
from mechdesign.core.values import changed
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Heat, Line, Mark

Array = NDArray[np.float64]

MOST_NAMES = 40
"""Axes with more names show numbers instead."""

LONGEST_NAME = 24

MOST_PANELS = 6
"""A picture has no more panels."""

MOST_HEAT = 120
"""Channels with more answers or reports are not drawn as cells."""

USERS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Numbers of users that errors are drawn for."""


def forecast_figures(shown: str, forecast: Callable[[int], Forecast | None]) -> list[Figure]:
    """Return the standard error that is to be expected over the number of users; none where there is none.

    Parameters
    ----------
    shown : str
        What the mechanism is, for the title.
    forecast : callable
        Of the mechanism.
    """
    found = [(users, _possible(forecast, users)) for users in USERS]
    there = [(users, item) for users, item in found if item is not None and item.largest]
    if len(there) < 2:
        return []
    users = [number for number, _ in there]
    marks: list[Mark] = [Line(x=users, y=[item.largest for _, item in there], label="at most", dots=True)]
    if all(item.typical for _, item in there):
        label = there[0][1].typical_data or "typical"
        marks.append(Line(x=users, y=[item.typical for _, item in there], label=label, dots=True))
    panel = Panel("users", f"standard error ({there[0][1].quantity})", marks, x_scale="log", y_scale="log")
    caption = f"{shown}: the standard error falls with the square root of the number of users."
    return [Figure("Users needed for a target error", [panel], caption)]


def _possible(forecast: Callable[[int], Forecast | None], users: int) -> Forecast | None:
    """Return the forecast; None where nothing can be estimated, or not from ``users`` users."""
    try:
        found = forecast(users)
    except MechDesignError:
        return None
    usable = found is not None and found.possible and found.users == users  # a protocol is for its own users
    return found if usable else None


def channel_figures(channel: Any, answers: Sequence[str], reports: Sequence[str]) -> list[Figure]:
    """Return a channel as coloured cells, a row for each true answer; nothing of large ones."""
    matrix = np.asarray(channel, dtype=np.float64)
    if max(matrix.shape) > MOST_HEAT:
        return []
    panel = Panel(
        "report",
        "true answer",
        [Heat(values=matrix, label="probability of the report")],
        x_names=axis_names(reports),
        y_names=axis_names(answers),
    )
    return [
        Figure(
            "Effect of the mechanism on an answer", [panel], "Each row is one answer; its entries sum to 1."
        )
    ]


def together(title: str, figures: Sequence[Figure]) -> list[Figure]:
    """Return one figure with the panels of all, each under its own title; none of none."""
    panels = [changed(panel, title=figure.title) for figure in figures for panel in figure.panels]
    return [Figure(title, panels)] if panels else []


def in_pictures(title: str, figures: Sequence[Figure]) -> list[Figure]:
    """Return the panels of all figures in as many pictures as they fill, a few panels each."""
    return [
        picture
        for start in range(0, len(figures), MOST_PANELS)
        for picture in together(title, figures[start : start + MOST_PANELS])
    ]


def axis_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names that fit on an axis: printable and short; none where they are too many.

    Examples
    --------
    >>> axis_names(["no", "a very long answer that nobody reads"])
    ('no', 'a very long answer th...')
    """
    if len(names) > MOST_NAMES:
        return ()
    texts = [printable(name) for name in names]
    return tuple(text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..." for text in texts)
