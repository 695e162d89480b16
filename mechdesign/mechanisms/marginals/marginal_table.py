"""An estimated marginal as it is shown: shares of one distribution, and what is known of their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.figure import Figure, Panel
from mechdesign.core.marks import Bars
from mechdesign.core.text import listed, table
from mechdesign.mechanisms.figures import axis_names

Array = NDArray[np.float64]

MOST_ROWS = 60
"""Cells that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEstimate:
    """An estimated marginal: positive, with sum 1, the sum of cells of one distribution.

    Attributes
    ----------
    attributes : tuple of str
    value : array
        Shares, one axis an attribute.
    unpenalized_error : float
        Root mean squared error of a cell of the unbiased average of the views, at even data: before the
        penalty and before signs are minded.
    contained : bool
        Whether a view contains it; if not, the error is that of the effects that views have.
    penalty : float
        lambda.
    gap : float
        How far at most the minimized function is above its minimum.
    distance : float
        How far at most the table is from the exact minimizer's, in variation distance.
    users : int
    labels : tuple of tuple of str
        The values of each attribute.
    together : tuple of str
        The attributes of the distribution that it is summed from.
    spread : array, optional
        Standard deviations of the shares over resampled reports, where asked for. They do not know of bias.
    notes : tuple of str
    foreseen : callable, optional
        How :attr:`predicted_error` is found, when it is asked for.
    """

    attributes: tuple[str, ...]
    value: Array
    unpenalized_error: float
    contained: bool
    penalty: float
    gap: float
    distance: float
    users: int
    labels: tuple[tuple[str, ...], ...]
    together: tuple[str, ...]
    spread: Array | None = None
    notes: tuple[str, ...] = ()
    foreseen: Callable[[], float | None] = field(default=lambda: None, repr=False)

    @cached_property
    def predicted_error(self) -> float | None:
        """The root mean squared error of a cell of ``value`` that is to be expected; no bound.

        Noise and the penalty's bias together, for truths as far from independence as the penalty presumes;
        see :mod:`mechdesign.mechanisms.marginals.foreseen`. None for tables of many cells.
        """
        return self.foreseen()

    def figures(self) -> list[Figure]:
        """Return the shares; intervals are those of the unbiased estimate, with ``raw``."""
        names = [", ".join(cell) for cell in product(*self.labels)]
        marks = [Bars(x=np.arange(self.value.size), y=self.value.ravel(), label="estimated share")]
        panel = Panel("cell", "share", marks, x_names=axis_names(names))
        return [Figure(f"{' x '.join(self.attributes)}: {self.users} reports", [panel])]

    def __repr__(self) -> str:
        kind = "contained" if self.contained else "reconstructed"
        return f"MarginalEstimate({listed(self.attributes)}: {self.value.size} cells, {kind})"

    def __str__(self) -> str:
        flat = self.value.ravel()
        spread = None if self.spread is None else self.spread.ravel()
        rows = []
        for cell in range(min(len(flat), MOST_ROWS)):
            places = np.unravel_index(cell, self.value.shape)
            names = [texts[int(place)] for texts, place in zip(self.labels, places, strict=True)]
            rows.append([*names, f"{flat[cell]:.5f}", *([] if spread is None else [f"{spread[cell]:.5f}"])])
        rest = len(flat) - MOST_ROWS
        more = f"\n... and {rest} more cells (--json prints all)" if rest > 0 else ""
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        foreseen = "not computed" if self.predicted_error is None else f"{self.predicted_error:.2g}"
        said = (
            f"penalty {self.penalty:g}; standard error of a cell {foreseen} (bias included), "
            f"without the penalty {self.unpenalized_error:.2g}"
        )
        header = [*self.attributes, "estimate", *([] if spread is None else ["spread"])]
        return f"{self.users} reports; {said}\n{table(header, rows)}{more}{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return {
            "attributes": list(self.attributes),
            "labels": [list(names) for names in self.labels],
            "users": self.users,
            "value": self.value,
            "predicted_error": self.predicted_error,
            "unpenalized_error": self.unpenalized_error,
            "spread": self.spread,
            "contained": self.contained,
            "penalty": self.penalty,
            "gap": self.gap,
            "distance": self.distance,
            "together": list(self.together),
            "notes": list(self.notes),
        }
