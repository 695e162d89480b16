"""Cross tables: shares over several attributes, as a list of cells or as a grid on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.text import table
from mechdesign.core.tidy import Columns, Tidy, grid, stacked

WIDEST = 100
"""Characters of a line beyond which a grid is a list of cells."""


class CrossTable(Tidy):
    """Shares of the cells of a table over attributes.

    A subclass has ``attributes``, the ``labels`` of each axis and ``value``, one axis an attribute.
    """

    attributes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What the shares are of."""
        return " x ".join(self.attributes)

    def grid(self) -> Columns:
        """Return the estimates as they stand on paper: the last attribute across, the others down.

        Raises
        ------
        ParameterError
            For a table over a single attribute.
        """
        own: Any = self
        names = [*self.attributes, *(f"given {name}" for name in getattr(self, "given", ()))]
        if len(names) < 2:
            raise ParameterError(
                "grid", f"'{self.title}' is not a cross table", "name two attributes or more"
            )
        return grid(names, own.labels, own.value)

    def grid_text(self, widest: int | None = WIDEST) -> str:
        """Return the grid as text; empty for a table over one attribute, or one that is too wide."""
        own: Any = self
        if np.ndim(own.value) < 2:
            return ""
        columns = self.grid()
        rows = [[_text(value) for value in row] for row in zip(*columns.values(), strict=True)]
        text = table(list(columns), rows)
        return text if widest is None or len(text.partition("\n")[0]) <= widest else ""


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.5f}"
    return str(value)


class CrossTables(Tidy):
    """Cross tables one under the other.

    A subclass has them in ``found``.
    """

    found: Sequence[CrossTable]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.found))

    def tidy(self, level: float = 0.95) -> Columns:
        """Return all of them as columns, a row for each cell."""
        return stacked(each.tidy(level) for each in self.found)
