"""Cross tables: shares over several attributes, as a list of cells or as a grid on paper."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted, json_object, table
from mechdesign.data.frames import Columns, Tidy, cross_layout, stacked, with_question
from mechdesign.show.figure import Figure
from mechdesign.show.panels import table_figures

Array = NDArray[np.float64]

ERRORS = ", standard errors"
"""How the title of a grid of standard errors ends."""

WIDEST, LONGEST = 100, 60
"""Characters of a line, and rows, beyond which a grid is printed as a list of cells."""


class CrossTable(Tidy):
    """Shares of the cells of a table over attributes.

    A subclass has ``attributes``, the ``labels`` of each axis and ``value``, one axis an attribute.
    """

    attributes: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name of the shares in the table."""
        return " x ".join(self.attributes)

    def _axes(self) -> list[str]:
        return [*self.attributes, *(f"given {name}" for name in getattr(self, "given", ()))]

    def grid(self) -> Columns:
        """Return the estimates as they stand on paper: the last attribute across, the others down.

        Raises
        ------
        ParameterError
            For a table over a single attribute.
        """
        return next(iter(self.grids().values()))

    def grids(self) -> dict[str, Columns]:
        """Return the grid of the estimates and, where each cell has one, that of the standard errors."""
        own: Any = self
        axes = self._axes()
        if len(axes) < 2:
            raise ParameterError("grid", f"'{self.title}' is a single attribute", "name two or more")
        result = {self.title: cross_layout(axes, own.labels, own.value)}
        errors = getattr(self, "standard_error", None)
        if errors is not None and np.shape(errors) == np.shape(own.value):
            result[f"{self.title}{ERRORS}"] = cross_layout(axes, own.labels, errors)
        return result

    def grid_text(self) -> str:
        """Return all grids as text, each under its title."""
        return "\n\n".join(f"{title}\n{_text(columns)}" for title, columns in self.grids().items())

    def _short_grid(self) -> str:
        """Return the grid of the estimates; empty over a single attribute, and where it is too large."""
        if len(self._axes()) < 2:
            return ""
        text = _text(self.grid())
        is_short = len(text.partition("\n")[0]) <= WIDEST and text.count("\n") <= LONGEST
        return text if is_short else ""


def _text(columns: Columns) -> str:
    rows = [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return table(list(columns), rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.5f}"
    return str(value)


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable(CrossTable):
    """Unbiased estimates of the cells of one table; they need neither be >= 0 nor agree with others.

    Attributes
    ----------
    attributes : tuple of str
    labels : tuple of tuple of str
        The names of the values on each axis.
    shape : tuple of int
    cells : FrequencyEstimate
        The same flat, the last attribute fastest, with errors and limits.
    """

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...]
    cells: FrequencyEstimate

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the intervals may cover less often than stated: why."""
        return self.cells.notes

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the cells as columns, a row each; see :meth:`Tidy.tidy`."""
        return with_question(self.cells.tidy(level), self.title)

    @property
    def value(self) -> Array:
        """The estimates, one axis an attribute."""
        return self.cells.value.reshape(self.shape)

    @property
    def standard_error(self) -> Array:
        """Their standard errors."""
        return self.cells.standard_error.reshape(self.shape)

    @property
    def users(self) -> int:
        """Number of users who reported about it."""
        return self.cells.users

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the ends of confidence intervals; see :meth:`FrequencyEstimate.interval`."""
        low, high = self.cells.interval(level, simultaneous)
        return low.reshape(self.shape), high.reshape(self.shape)

    def _described(self) -> str:
        """Return the title of a picture and of a text."""
        return self.title

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        title = f"{self._described()}: {counted(self.users, 'report')}"
        return table_figures(title, self.attributes, self.labels, self.value, self.interval())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.attributes)}: {self.cells!r})"

    def __str__(self) -> str:
        return f"{self._described()}\n{self.cells}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        about = {"attributes": list(self.attributes), "shape": list(self.shape)}
        return json_object({**about, **self.cells.as_json()})


class CrossTables(Tidy):
    """Several cross tables, one under the other: of the single attributes, or the requested ones.

    Class attributes
    ----------------
    listed : str
        Their name among the plain values.
    """

    listed: ClassVar[str] = "tables"

    @abstractmethod
    def _tables(self) -> Sequence[Any]:
        """Return the tables."""

    def as_json(self) -> dict[str, Any]:
        """Return all of them as plain values."""
        return {self.listed: [each.as_json() for each in self._tables()]}

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._tables()))

    def tidy(self, level: float = 0.95) -> Columns:
        """Return all of them as columns, a row for each cell."""
        return stacked(each.tidy(level) for each in self._tables())

    def grids(self) -> dict[str, Columns]:
        """Return the grids of all of them, by their titles."""
        return {title: columns for each in self._tables() for title, columns in each.grids().items()}

    def grid_text(self) -> str:
        """Return the grids of all of them as text."""
        return "\n\n".join(each.grid_text() for each in self._tables())


@dataclass(frozen=True, eq=False, repr=False)
class AskedTables(CrossTables):
    """The requested tables; each subclass has the type of one mechanism's tables.

    Attributes
    ----------
    tables : tuple of CrossTable
    """

    tables: tuple[Any, ...]

    def _tables(self) -> Sequence[Any]:
        return self.tables

    def figures(self) -> list[Figure]:
        """Return the pictures of all of them."""
        return [figure for each in self.tables for figure in each.figures()]
