"""Pictures of cross tables of a survey: the shares and their standard errors as coloured cells."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.figures import MOST_PANELS, axis_names
from mechdesign.collect.frequency_estimate import FrequencyEstimate
from mechdesign.core.printable import printable
from mechdesign.core.text import counted
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Heat

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
