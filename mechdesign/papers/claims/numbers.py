"""The numbers of a source next to ours, a row each: its tables, trends and figures.

Nothing of ours is called stated. A number is *stated* only as the source prints it: else it is ``lost in
the copy``, or the source has it ``as a formula``. It is *rebuilt* where the source's own formula gives
it, also by a method of the kind *published*. *Recorded* is what was derived or computed here before, and
*ours* what is computed now.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mechdesign.catalog.curves import CurvePoints, own_value
from mechdesign.catalog.figure_table import METHOD, FigureTable
from mechdesign.core.values import encode
from mechdesign.data.tidy import Columns, one_cell
from mechdesign.papers.claims.check import ClaimResult, ModelCheck
from mechdesign.papers.claims.claim import COMPARISONS, LOST, entries, kind_of
from mechdesign.papers.claims.judge import Series
from mechdesign.show.figure import Bars, Figure, Intervals, Line, Mark, Panel, Points, Surface

HEAD = ("quantity", "entry", "method")
NUMBERS = ("relation", "stated", "rebuilt", "recorded", "ours", "difference")
TAIL = ("verdict", "origin", "where")
"""Columns on either side of the parameters, and of the further numbers that a claim names."""

LOST_TEXT, FORMULA_TEXT = "lost in the copy", "as a formula"
ROUNDING = 1e-13
"""A smaller part of a number is the rounding of its last bits, and no difference."""

Row = dict[str, Any]


def source_numbers(check: ModelCheck, figures: Sequence[Figure] = ()) -> Columns:
    """Return the numbers of a source next to ours.

    Parameters
    ----------
    check : ModelCheck
        Of a model with the claims of its source.
    figures : sequence of Figure
        Those that the model declares, in their order; each point of each curve is a row, with nothing
        stated.

    Returns
    -------
    dict of lists
        Which quantity (of a list: which entry, from 0) by which method, the parameters in which claims
        differ, what is stated, rebuilt, recorded and ours, how far ours (or what is rebuilt) is from what is
        stated (or rebuilt), further numbers that claims name, the verdict, and where it stands in the source.
    """
    model = check.model
    published = {run.method for run in check.comparison.runs if run.kind == "published"}
    rows = [row for result in check.claims for row in _claimed(result, published)]
    beside = list(dict.fromkeys(name for result in check.claims for name in result.claim.beside))
    for table, figure in zip(model.figures, figures, strict=False):
        fixed = {name: one_cell(value) for name, value in CurvePoints(model, ()).fixed(table).items()}
        fixed |= {table.series: None} if table.series else {}  # the curve's name says it
        rows += [fixed | row for panel in figure.panels for row in _drawn(table, figure.title, panel)]
    known = (*HEAD, *NUMBERS, *beside, *TAIL)
    names = list(dict.fromkeys(name for row in rows for name in row if name not in known))
    for name in names:
        for row in rows:
            if name not in row:
                row[name] = one_cell(own_value(model.problem, name))
    order = [*HEAD, *names, *NUMBERS, *beside, *TAIL]
    used = [name for name in order if any(row.get(name) is not None for row in rows)]
    return {name: [row.get(name) for row in rows] for name in used}


def _claimed(result: ClaimResult, published: set[str]) -> Iterator[Row]:
    """Yield a row for each number that a claim is about; none for texts, truth values and claims in words."""
    claim = result.claim
    if claim.is_in_words:
        return
    base = {"where": claim.where, "quantity": claim.quantity, "method": claim.method, "origin": claim.origin}
    base |= {name: one_cell(value) for name, value in claim.at.items()}
    base |= {"verdict": result.verdict, "relation": claim.relation}
    is_published = claim.method in published
    if isinstance(result.found, Series):
        kind = "rebuilt" if is_published else "ours"
        for point, number in zip(result.found.points, result.found.numbers, strict=True):
            yield {**base, result.found.over: one_cell(point), kind: one_cell(number)}
    elif claim.relation in COMPARISONS and kind_of(claim.value) == "number":
        values = list(entries(claim.value))
        found = list(entries(encode(result.found)))
        found = found if len(found) == len(values) else [None] * len(values)
        for entry, (value, number) in enumerate(zip(values, found, strict=True)):
            one = {} if len(values) == 1 else {"entry": entry}
            yield {**base, **one, **_numbers(result, value, number, is_published)}


def _numbers(result: ClaimResult, value: Any, found: Any, is_published: bool) -> Row:
    """Return the columns of one number: whose it is decides in which it stands."""
    claim = result.claim
    beside = {name: one_cell(number) for name, number in result.beside.items()}
    if claim.is_of_formula:
        computed: Row = {"stated": FORMULA_TEXT, "rebuilt": value, "ours": found}
        return {**beside, **computed, "difference": _difference(computed) if claim.relation == "=" else None}
    if claim.is_printed and claim.stated is not None:  # the claim is about a distance from it, or a limit
        return {**beside, "stated": claim.stated}
    row: Row = {"rebuilt" if is_published else "ours": found}
    if claim.is_printed:
        row["stated"] = value
    elif claim.stated == LOST:
        row |= {"stated": LOST_TEXT, "rebuilt": value, "ours": found}
    else:
        row["recorded"] = value
    if claim.relation == "=":
        row["difference"] = _difference(row)
    return {**beside, **row}


def _difference(row: Row) -> float | None:
    """Return the last less the first of what is stated, rebuilt, recorded and ours, as far as it is there."""
    order: list[Any] = [row.get(name) for name in ("stated", "rebuilt", "recorded", "ours")]
    numbers = [float(number) for number in order if kind_of(number) == "number"]
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        return None
    difference = numbers[-1] - numbers[0]
    return 0.0 if abs(difference) <= ROUNDING * abs(numbers[0]) else difference


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
                "ours": y,
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
