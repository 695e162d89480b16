"""Cross tables: shares of the cells of tables over attributes, as grids and as columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.text import table
from mechdesign.data.frames import Columns, Tidy, cross_layout, stacked

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure


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

    found = FormerAttribute("tables")

    tables: tuple[Any, ...]

    def _tables(self) -> Sequence[Any]:
        return self.tables

    def figures(self) -> list[Figure]:
        """Return the pictures of all of them."""
        return [figure for each in self.tables for figure in each.figures()]
