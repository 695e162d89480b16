"""What the source of a model states at single points of a figure, as open markers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mechdesign.catalog.curves import own_value
from mechdesign.catalog.figure_table import Axis, FigureTable
from mechdesign.catalog.load import Model
from mechdesign.papers.claims.claim import MISPRINT, UNDECIDED, VERDICT_WORDS, Claim, kind_of
from mechdesign.show.figure import Points

STYLES = {"holds": 3, "refuted": 6, MISPRINT: 5, UNDECIDED: 4}
"""Markers that curves of the first styles do not have."""


def stated_points(model: Model, table: FigureTable, axis: Axis, fixed: Mapping[str, Any]) -> list[Points]:
    """Return the claims of the source that give a number of this figure at a value of its axis.

    They are those that are printed, with ``=``, about a quantity and a method that are drawn, and with all
    other parameters as in the figure; and the printed numbers next to which such quantities are shown.
    """
    found: dict[str, list[tuple[float, float]]] = {verdict: [] for verdict in STYLES}
    for claim in model.claims:
        place = _place(model, table, axis, fixed, claim)
        if place is not None and _is_drawn(table, claim):
            number = float(claim.value if claim.stated is None else claim.stated)
            if np.isfinite(number) and (table.y_scale == "linear" or number > 0):
                found[claim.verdict].append((place, number))
    others = {verdict: VERDICT_WORDS.get(verdict, verdict) for verdict in STYLES if verdict != "holds"}
    labels = {verdict: f"stated in the source, {words}" for verdict, words in others.items()}
    labels["holds"] = "stated in the source"
    return [
        Points(
            x=[place for place, _ in points],
            y=[number for _, number in points],
            open=True,
            label=labels[verdict],
            series=STYLES[verdict],
        )
        for verdict, points in found.items()
        if points
    ]


def _is_drawn(table: FigureTable, claim: Claim) -> bool:
    """Whether a claim is a printed number of what the figure shows."""
    is_beside = claim.stated is not None and not set(claim.beside.values()).isdisjoint(table.y)
    number = claim.stated if is_beside else claim.value
    return (
        claim.is_printed
        and (is_beside or (not claim.is_of_formula and claim.relation == "=" and claim.quantity in table.y))
        and (claim.method is None or claim.method in table.methods)
        and kind_of(number) == "number"
        and np.ndim(number) == 0
    )


def _place(
    model: Model, table: FigureTable, axis: Axis, fixed: Mapping[str, Any], claim: Claim
) -> float | None:
    """Return where on the axis a claim stands; None where it is about other parameters."""
    others = {name: value for name, value in claim.at.items() if name != table.x}
    for name, value in others.items():
        if name == table.series:
            if value not in model.sweep[name]:
                return None
        elif name not in fixed or fixed[name] != value:
            return None
    if table.series and table.series not in others:
        others[table.series] = own_value(model.problem, table.series)
        if others[table.series] not in model.sweep[table.series]:
            return None
    for name, value in fixed.items():
        if name not in others and own_value(model.problem, name) != value:
            return None
    own = claim.at.get(table.x, own_value(model.problem, table.x))
    values = model.sweep[table.x]
    if own in values:
        return axis.numbers[values.index(own)]
    is_number = isinstance(own, (int, float)) and not axis.is_named and not isinstance(own, bool)
    low, high = min(axis.numbers), max(axis.numbers)
    return float(own) if is_number and low <= float(own) <= high else None
