"""What a rival says: any marginal with its exact predicted error, unbiased or as the nearest table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist
from typing import Any, ClassVar, Protocol

import numpy as np

from mechdesign.core.errors import ParameterError, listed
from mechdesign.core.validation import in_range
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, CrossTable, CrossTables, tidy_columns
from mechdesign.families.marginals.papers.rivals.base import (
    Array,
    Codes,
    Learned,
    RivalSetting,
    nearest_table,
)
from mechdesign.families.marginals.papers.rivals.encoded import DecodedMarginals
from mechdesign.families.marginals.papers.rivals.expectation import ProductReports
from mechdesign.primitives.attributes import Attributes
from mechdesign.show.figure import Bars, Figure, Panel
from mechdesign.show.panels import MOST_PANELS, together
from mechdesign.show.tables import table

SHOWN = 60
"""Cells that are printed."""

NEAREST = "the nearest table with cells of at least 0 and sum 1; on average its squared error is at most this"
LIKELIEST = "the likeliest table; the stated error is that of the unbiased estimate (--raw)"
DECODED = "made consistent and decoded from tables of bits; the stated error is that of the noise of the bits"


class Erring(Protocol):
    """Inputs of the estimates of a rival."""

    setting: RivalSetting

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the expected squared error of a marginal."""


@dataclass(frozen=True, eq=False, repr=False)
class RivalEstimate(CrossTable):
    """An estimated marginal.

    Attributes
    ----------
    attributes : tuple of str
    value : array
        Shares, one axis an attribute.
    standard_error : float
        The root of the mean over the cells of the expected squared error of the unbiased estimate.
    users : int
    labels : tuple of tuple of str
        The values of each attribute.
    notes : tuple of str
        What was done to the unbiased estimate.
    """

    attributes: tuple[str, ...]
    value: Array
    standard_error: float
    users: int
    labels: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def total_squared_error(self) -> float:
        """The expected sum of squared errors over all cells."""
        return self.standard_error**2 * self.value.size

    def figures(self) -> list[Figure]:
        """Return the shares; there are no intervals, for the error is one of all cells together."""
        names = [", ".join(cell) for cell in product(*self.labels)]
        flat = self.value.ravel().tolist()
        panel = Panel("cell", "share", [Bars(x=list(range(len(flat))), y=flat)], x_names=names)
        return [Figure(f"{' x '.join(self.attributes)}: {self.users} reports", [panel])]

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the shares as columns, a row for each cell; the error is one of all cells together."""
        names = [", ".join(cell) for cell in product(*self.labels)]
        return tidy_columns(self.title, names, self.value, self.standard_error)

    def __repr__(self) -> str:
        return f"RivalEstimate({listed(self.attributes)}: {self.value.size} cells)"

    def __str__(self) -> str:
        flat, rows = self.value.ravel(), []
        for cell in range(min(len(flat), SHOWN)):
            places = np.unravel_index(cell, self.value.shape)
            names = [texts[int(place)] for texts, place in zip(self.labels, places, strict=True)]
            rows.append([*names, f"{flat[cell]:.5f}"])
        more = f"\n... and {len(flat) - SHOWN} more cells (--json prints all)" if len(flat) > SHOWN else ""
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        error = f"predicted standard error of a cell {self.standard_error:.2g}"
        return f"{self.users} reports; {error}\n{table([*self.attributes, 'estimate'], rows)}{more}{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return json_object(
            {
                "attributes": list(self.attributes),
                "labels": [list(names) for names in self.labels],
                "users": self.users,
                "value": self.value,
                "standard_error": self.standard_error,
                "total_squared_error": self.total_squared_error,
                "notes": list(self.notes),
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class RivalMarginals(CrossTables):
    """Collected data, from which any marginal of at most the rival's order can be had.

    Attributes
    ----------
    attributes : Attributes
    rival : object
        Whose formulas give the errors.
    answers : object
        The unbiased estimates.
    group_users : (G,) int array
        How many users each group has.
    population : bool
        Whether the users are a draw from the population of interest.
    """

    listed: ClassVar[str] = "marginals"

    attributes: Attributes
    rival: Erring
    answers: Learned
    group_users: Codes
    population: bool = False

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return int(self.group_users.sum())

    def marginal(self, attributes: Sequence[Any], raw: bool = False) -> RivalEstimate:
        """Return the marginal over attributes given by name or number, in this order.

        Parameters
        ----------
        attributes : sequence of str or int
        raw : bool
            Whether to give the unbiased estimate, whose cells need not be shares.

        Raises
        ------
        UnknownNameError
            For an attribute that does not exist.
        ParameterError
            For an attribute that appears twice, or more attributes than what was collected answers.
        DataError
            When nobody reported what is needed.
        """
        places = self.attributes.positions(attributes)
        value, notes = self._table(tuple(sorted(places)), raw)
        turned = np.transpose(value, np.argsort(np.argsort(places)))
        text, labels = self.attributes.shown(), self.attributes.labels
        return RivalEstimate(
            tuple(text[place] for place in places),
            turned,
            self.standard_error_of(places),
            self.users,
            tuple(tuple(labels[place].shown()) for place in places),
            notes,
        )

    def _table(self, places: tuple[int, ...], raw: bool) -> tuple[Array, tuple[str, ...]]:
        """Return the table of increasing attributes, and what was done to it."""
        if isinstance(self.answers, DecodedMarginals):
            if raw:
                raise ParameterError(
                    "raw",
                    "tables decoded from consistent tables of bits have no unbiased form",
                    "omit it",
                )
            return self.answers.marginal(places), (DECODED,)
        if isinstance(self.answers, ProductReports):
            if raw:
                return self.answers.unbiased(places), ()
            return self.answers.marginal(places), (LIKELIEST,)
        unbiased = self.answers.marginal(places)
        return (unbiased, ()) if raw else (nearest_table(unbiased), (NEAREST,))

    def standard_error_of(self, places: Sequence[int]) -> float:
        """Return the root mean squared error of a cell of the unbiased estimate."""
        view = tuple(sorted(places))
        cells = self.rival.setting.cells(view)
        total = self.rival.error_of_groups(view, self.group_users)
        if self.population:  # who is among the users: at most that of even shares
            total += (1.0 - 1.0 / cells) / self.users
        return float((total / cells) ** 0.5)

    def _tables(self) -> list[RivalEstimate]:
        return [self.marginal((place,)) for place in range(self.attributes.count)]

    @property
    def value(self) -> list[Array]:
        """The shares of the values of each attribute by itself."""
        return [estimate.value for estimate in self._tables()]

    @property
    def standard_error(self) -> list[float]:
        """The error of a cell of each attribute by itself."""
        return [self.standard_error_of((place,)) for place in range(self.attributes.count)]

    def interval(self, level: float = 0.95) -> tuple[list[Array], list[Array]]:
        """Return the ends of normal intervals around the unbiased shares of each attribute by itself.

        The error is that of all its cells together, so their coverage is not certified for any one cell.
        """
        inside = in_range("level", level, 0.0, 1.0, low_open=True, high_open=True)
        deviations = NormalDist().inv_cdf(0.5 + inside / 2.0)
        raw = [self.marginal((place,), raw=True) for place in range(self.attributes.count)]
        reach = [deviations * estimate.standard_error for estimate in raw]
        ends = list(zip(raw, reach, strict=True))
        return [one.value - far for one, far in ends], [one.value + far for one, far in ends]

    def figures(self) -> list[Figure]:
        """Return the shares of each attribute by itself, of the first six."""
        alone = self._tables()[:MOST_PANELS]
        title = f"Estimated shares of {self.users} users"
        return together(title, [figure for estimate in alone for figure in estimate.figures()])

    def __repr__(self) -> str:
        return f"RivalMarginals({self.users} reports, {self.attributes!r})"

    def as_json(self) -> dict[str, Any]:
        return json_object({"users": self.users, **super().as_json()})
