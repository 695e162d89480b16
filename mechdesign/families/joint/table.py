"""A table of joint shares: the most likely ones, the unbiased ones, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.cross_table import CrossTable
from mechdesign.collect.frequency_limits import few_users
from mechdesign.collect.interval_figures import table_figures
from mechdesign.collect.intervals import Limits, tail_of
from mechdesign.core.encoding import json_object
from mechdesign.core.text import counted, table
from mechdesign.data.tidy import Columns, tidy_columns
from mechdesign.exact.digits import to_error
from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

MOST_ROWS = 60
"""Cells that are printed: those of the largest shares where there are more."""


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(CrossTable):
    """Shares of the cells of some attributes, on request given others, whose axes come last.

    Attributes
    ----------
    attributes, given : tuple of str
    values : tuple of tuple of str
        The names of the values on each axis.
    value : array
        The estimated shares: of penalized likelihood, or the most likely ones.
    spread : array or None
        Standard deviations of them over resampled users, if asked for; they know of no bias.
    unbiased, standard_error : array
        The unbiased estimates (for conditionals, quotients of two) and their standard errors; NaN where
        there are none.
    limits : Limits or None
        How far intervals around the unbiased estimates reach.
    users : int
    gap : float
        By how much at most the (penalized) log-likelihood per user of the joint distribution is below the
        maximum.
    unique : bool or None
        Whether no other joint distribution is as good; None where it was not examined.
    distance : float or None
        Of a penalized one: how far at most it is from the exact one, in variation distance.
    penalty : (float, str) or None
        lambda and the reference; None for the most likely distribution.
    """

    attributes: tuple[str, ...]
    given: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    value: Array
    spread: Array | None
    unbiased: Array
    standard_error: Array
    limits: Limits | None
    users: int
    gap: float
    unique: bool | None = None
    distance: float | None = None
    penalty: tuple[float, str] | None = None

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals: the shares that a score test does not reject."""
        tail = tail_of(level, 1)
        if self.limits is None:
            return self.unbiased, self.unbiased
        down, up = self.limits.distances(tail)
        return self.unbiased - down, self.unbiased + up

    def figures(self) -> list[Figure]:
        """Return the unbiased shares with their intervals."""
        axes = [*self.attributes, *(f"given {name}" for name in self.given)]
        title = f"{self.title}: {counted(self.users, 'report')}"
        return table_figures(title, axes, self.values, self.unbiased, self.interval())

    @property
    def title(self) -> str:
        """Name of the shares in the table."""
        head = " x ".join(self.attributes)
        return head if not self.given else f"{head} given {' x '.join(self.given)}"

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The names of the values on each axis."""
        return self.values

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the shares as columns, a row for each cell.

        ``standard_error``, ``low`` and ``high`` belong to ``unbiased``, which stands beside ``estimate``.
        """
        names = [", ".join(cell) for cell in product(*self.values)]
        more = {"unbiased": self.unbiased}
        more |= {} if self.spread is None else {"spread": self.spread}
        return tidy_columns(self.title, names, self.value, self.standard_error, self.interval(level), more)

    def __repr__(self) -> str:
        return (
            f"JointTable({self.title}: {counted(self.value.size, 'cell')}, {counted(self.users, 'report')})"
        )

    def __str__(self) -> str:
        low, high = self.interval()
        columns = [self.value, self.spread, self.unbiased, self.standard_error, low, high]
        first = "likeliest" if self.penalty is None else "estimate"
        names = [first, "spread", "unbiased", "std error", "95% low", "95% high"]
        shown = [
            (name, column.ravel()) for name, column in zip(names, columns, strict=True) if column is not None
        ]
        order = np.arange(self.value.size)
        if len(order) > MOST_ROWS:
            order = np.sort(np.argsort(-np.nan_to_num(self.value.ravel()), kind="stable")[:MOST_ROWS])
        cells = list(product(*self.values))
        errors = self.standard_error.ravel()
        rows = [
            [*cells[cell], *(_figure(column[cell], errors[cell]) for _, column in shown)]
            for cell in order.tolist()
        ]
        header = [*self.attributes, *(f"given {name}" for name in self.given), *(name for name, _ in shown)]
        rest = self.value.size - len(order)
        more = f"\n... and {rest} more cells of smaller shares" if rest else ""
        head = f"{self.title}: {counted(self.users, 'report')}, {self._proof()}"
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{head}{self._unique()}\n{table(header, rows)}{more}{notes}"

    def _proof(self) -> str:
        if self.penalty is None or self.distance is None:
            return f"log-likelihood within {self.gap:.1e} of the maximum"
        towards = {"uniform": "even shares", "product": "independence"}[self.penalty[1]]
        near = f"within {self.distance:.0e} of the exact one"
        return f"penalty {self.penalty[0]:g} towards {towards}, {near}"

    def _unique(self) -> str:
        if self.unique is not False:
            return ""
        return "\nother joint distributions are as likely: the reports do not distinguish all cells"

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the intervals may cover less often than stated: why."""
        return few_users(self.users)

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain values."""
        low, high = self.interval()
        return json_object(
            {
                "attributes": list(self.attributes),
                "given": list(self.given),
                "values": [list(names) for names in self.values],
                "users": self.users,
                "gap": self.gap,
                "unique": self.unique,
                "value": self.value,
                "spread": self.spread,
                "distance": self.distance,
                "penalty": None if self.penalty is None else self.penalty[0],
                "reference": None if self.penalty is None else self.penalty[1],
                "unbiased": self.unbiased,
                "standard_error": self.standard_error,
                "low": low,
                "high": high,
                "notes": list(self.notes),
            }
        )


def _figure(number: float, error: float) -> str:
    return "-" if np.isnan(number) else to_error(number, error, ".5f")
