"""Views: sets of attributes as they are given, how far their tables disagree, how large a table may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.exact.numbers import plain_int

Array = NDArray[np.float64]
View = tuple[int, ...]

MOST_CELLS = 1 << 24
"""Tables with more cells are refused unless a limit is given: 128 MiB of doubles."""


def residual(views: Sequence[Sequence[int]], tables: Sequence[NDArray[np.floating]]) -> float:
    """Return the largest difference between two views in a cell of a marginal that both have.

    Parameters
    ----------
    views : sequence of tuple of int
    tables : sequence of array
        Each of the shape of its attributes' sizes.

    Examples
    --------
    >>> residual([(0, 1), (1,)], [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([4.0, 5.0])])
    1.0
    """
    worst, members = 0.0, [set(view) for view in views]
    for first, view in enumerate(views):
        for second in range(first):
            here = _marginal(tables[first], view, members[second])
            there = _marginal(tables[second], views[second], members[first])
            worst = max(worst, float(np.abs(here - there).max()))
    return worst


def _marginal(table: NDArray[np.floating], view: Sequence[int], kept: set[int]) -> Array:
    """Return the marginal of a table on those of its attributes that are kept."""
    dropped = tuple(axis for axis, attribute in enumerate(view) if attribute not in kept)
    summed: Array = table.sum(axis=dropped, dtype=np.float64)
    return summed


def check_views(views: Any, attributes: int) -> list[View]:
    """Return views as tuples of increasing numbers of attributes, or raise ParameterError."""
    if isinstance(views, (str, bytes)) or not isinstance(views, Sequence) or not views:
        raise ParameterError("views", "expected a list of lists of attributes, at least one")
    read = []
    for number, view in enumerate(views):
        members = tuple(plain_int(f"views: view {number}", item) for item in view)
        if not members or list(members) != sorted(set(members)):
            raise ParameterError("views", f"view {number} is not a list of increasing attributes: {members}")
        if members[0] < 0 or members[-1] >= attributes:
            raise ParameterError(
                "views",
                f"view {number} names attribute {members[-1] if members[0] >= 0 else members[0]}",
                f"there are 0 to {attributes - 1}",
            )
        read.append(members)
    return read


def require_cells(wanted: Sequence[int], sizes: Sequence[int], most_cells: int = MOST_CELLS) -> View:
    """Return the wanted attributes, or raise ParameterError when their table would need too much memory."""
    read = tuple(integer("wanted", item, 0, len(sizes) - 1) for item in wanted)
    if not read or len(set(read)) != len(read):
        raise ParameterError("wanted", f"expected different attributes, at least one, got {read}")
    cells = math.prod(sizes[attribute] for attribute in read)
    if cells > most_cells:
        raise ParameterError(
            "marginal",
            f"{len(read)} attributes have {cells} cells ({memory(cells)}), {most_cells} "
            f"({memory(most_cells)}) are allowed",
            "ask for fewer attributes, or allow more",
        )
    return read


def memory(cells: int) -> str:
    """Return the memory that ``cells`` doubles take, in words.

    Examples
    --------
    >>> memory(1 << 24)
    '128 MiB'
    """
    size = 8 * cells
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >> power:
            return f"{-(-size >> power)} {unit}"
    return counted(size, "byte")
