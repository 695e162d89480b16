"""An estimated marginal as it is shown: shares of one distribution, and what is known of their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.cross_table import CrossTable
from mechdesign.collect.interval_figures import UNBIASED, table_figures
from mechdesign.core.encoding import json_object
from mechdesign.core.text import counted, listed, table
from mechdesign.data.tidy import Columns, tidy_columns
from mechdesign.exact.digits import to_error
from mechdesign.show.figure import Figure

if TYPE_CHECKING:
    from mechdesign.families.marginals.raw import RawMarginal

Array = NDArray[np.float64]

MOST_ROWS = 60
"""Cells that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEstimate(CrossTable):
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
    raw : callable, optional
        How the unbiased estimate of the same table is found, where a view contains it.
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
    raw: Callable[[], RawMarginal] | None = field(default=None, repr=False)

    @cached_property
    def predicted_error(self) -> float | None:
        """The root mean squared error of a cell of ``value`` that is to be expected; no bound.

        Noise and the penalty's bias together, for truths as far from independence as the penalty presumes;
        see :mod:`mechdesign.families.marginals.foreseen`. None for tables of many cells.
        """
        return self.foreseen()

    def figures(self) -> list[Figure]:
        """Return the shares, with the confidence intervals of the unbiased estimate where there is one.

        A table that no view contains has no confidence intervals: its lines are two expected errors of a
        cell long to either side.
        """
        interval, said = self._ends()
        title = f"{' x '.join(self.attributes)}: {counted(self.users, 'report')}"
        return table_figures(title, self.attributes, self.labels, self.value, interval, said)

    def _ends(self) -> tuple[tuple[Array, Array] | None, str]:
        """Return the intervals of a picture, and what they are."""
        if self.raw is not None:
            return self.raw().interval(), UNBIASED
        if self.predicted_error is None:
            return None, ""
        reach = 2.0 * self.predicted_error
        return (self.value - reach, self.value + reach), "range of two expected errors of a cell"

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the shares as columns, a row for each cell.

        There is no standard error of a share of one distribution: ``predicted_error`` is the root mean
        squared error that is to be expected of a cell, ``spread`` that over resampled reports.
        """
        names = [", ".join(cell) for cell in product(*self.labels)]
        more: dict[str, Any] = {"predicted_error": self.predicted_error}
        more |= {} if self.spread is None else {"spread": self.spread}
        return tidy_columns(self.title, names, self.value, more=more)

    def __repr__(self) -> str:
        kind = "contained" if self.contained else "reconstructed"
        return f"MarginalEstimate({listed(self.attributes)}: {counted(self.value.size, 'cell')}, {kind})"

    def __str__(self) -> str:
        cells = self._short_grid() if self.spread is None else ""
        return (
            f"{counted(self.users, 'report')}; "
            f"{self._error_text()}\n{cells or self._listed_cells()}{self._noted()}"
        )

    def _error_text(self) -> str:
        foreseen = "not computed" if self.predicted_error is None else f"{self.predicted_error:.2g}"
        return (
            f"penalty {self.penalty:g}; standard error of a cell {foreseen} (bias included), "
            f"without the penalty {self.unpenalized_error:.2g}"
        )

    def _noted(self) -> str:
        return "".join(f"\nnote: {note}" for note in self.notes)

    def _listed_cells(self) -> str:
        """Return a line for each cell, of a large table of the first ones."""
        flat = self.value.ravel()
        spread = None if self.spread is None else self.spread.ravel()
        rows, noise, numbers = [], self.predicted_error, [flat] if spread is None else [flat, spread]
        for cell in range(min(len(flat), MOST_ROWS)):
            places = np.unravel_index(cell, self.value.shape)
            names = [texts[int(place)] for texts, place in zip(self.labels, places, strict=True)]
            rows.append([*names, *(to_error(number[cell], noise, ".5f") for number in numbers)])
        rest = len(flat) - MOST_ROWS
        more = f"\n... and {rest} more cells (--json prints all)" if rest > 0 else ""
        header = [*self.attributes, "estimate", *([] if spread is None else ["spread"])]
        return f"{table(header, rows)}{more}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return json_object(
            {
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
        )
