"""What a source prints, as numbers next to what is found: its tables, trends and figures, a row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mechdesign.catalog.curves import CurvePoints, own_value
from mechdesign.catalog.figure_table import METHOD, FigureTable
from mechdesign.catalog.model import Model
from mechdesign.core.text import encode
from mechdesign.data.frames import Columns, one_cell
from mechdesign.papers.claims.check import ClaimResult, ModelCheck
from mechdesign.papers.claims.claim import COMPARISONS, entries, kind_of
from mechdesign.papers.claims.judge import Series
from mechdesign.show.figure import Bars, Figure, Intervals, Line, Mark, Panel, Points, Surface

HEAD = ("quantity", "entry", "method")
TAIL = ("relation", "printed", "found", "verdict", "origin", "where")
"""Columns on either side of the parameters."""

Row = dict[str, Any]


def source_numbers(check: ModelCheck, figures: Sequence[Figure] = ()) -> Columns:
    """Return the numbers of a source next to those that were found.

    Parameters
    ----------
    check : ModelCheck
        Of a model, whose claims are what the source prints.
    figures : sequence of Figure
        Those that the model declares, in their order; each point of each curve is a row, with nothing
        printed.

    Returns
    -------
    dict of lists
        Which quantity (of a list: which entry, from 0) by which method, the parameters in which claims
        differ, what is printed, what was found, the verdict, and where it stands in the source.
    """
    model = check.model
    rows = [row for result in check.claims for row in _claimed(model, result)]
    for table, figure in zip(model.figures, figures, strict=False):
        fixed = {name: one_cell(value) for name, value in CurvePoints(model, ()).fixed(table).items()}
        fixed |= {table.series: None} if table.series else {}  # the curve's name says it
        rows += [fixed | row for panel in figure.panels for row in _drawn(table, figure.title, panel)]
    known = (*HEAD, *TAIL)
    names = list(dict.fromkeys(name for row in rows for name in row if name not in known))
    for name in names:
        for row in rows:
            if name not in row:
                row[name] = one_cell(own_value(model.problem, name))
    order = [*HEAD, *names, *TAIL]
    used = [name for name in order if any(row.get(name) is not None for row in rows)]
    return {name: [row.get(name) for row in rows] for name in used}


def _claimed(model: Model, result: ClaimResult) -> Iterator[Row]:
    """Yield a row for each number that a claim is about; none for texts and truth values."""
    claim = result.claim
    base = {"where": claim.where, "quantity": claim.quantity, "method": claim.method, "origin": claim.origin}
    base |= {name: one_cell(value) for name, value in claim.at.items()}
    base |= {"verdict": result.verdict, "relation": claim.relation}
    if isinstance(result.found, Series):
        for point, number in zip(result.found.points, result.found.numbers, strict=True):
            yield {**base, result.found.over: one_cell(point), "found": one_cell(number)}
    elif claim.relation in COMPARISONS and kind_of(claim.value) == "number":
        printed = list(entries(claim.value))
        found = list(entries(encode(result.found)))
        found = found if len(found) == len(printed) else [None] * len(printed)
        for entry, (stated, number) in enumerate(zip(printed, found, strict=True)):
            one = {} if len(printed) == 1 else {"entry": entry}
            yield {**base, **one, "printed": stated, "found": number}


def _drawn(table: FigureTable, title: str, panel: Panel) -> Iterator[Row]:
    """Yield a row for each point of a panel; what the source states is among the claims already."""
    axis = "method" if table.x == METHOD else table.x
    for mark in panel.marks:
        if isinstance(mark, Points) and mark.open:
            continue
        for x, more, y in _points(mark):
            place = panel.x_names[round(x)] if panel.x_names else x
            series = {} if more is None else {table.series: more}
            yield {
                "where": f"figure: {title}",
                "quantity": mark.label or panel.y_label,
                axis: one_cell(place),
                **series,
                "found": y,
            }


def _points(mark: Mark) -> Iterator[tuple[float, float | None, float]]:
    """Yield x, the second axis of a surface, and y of the numbers of a mark."""
    if isinstance(mark, Surface):
        for row, up in enumerate(np.asarray(mark.y).tolist()):
            for column, across in enumerate(np.asarray(mark.x).tolist()):
                yield across, up, float(np.asarray(mark.z)[row][column])
    elif isinstance(mark, (Line, Points, Bars, Intervals)):
        numbers = zip(np.asarray(mark.x).tolist(), np.asarray(mark.y).tolist(), strict=True)
        yield from ((x, None, y) for x, y in numbers if np.isfinite(y))
