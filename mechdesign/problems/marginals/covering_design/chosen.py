"""Points of known designs that a search chose: their blocks cut down to these points are a small covering.

``chosen.txt`` has a line for each: the order, the points that are kept, and the name of the design (see
:mod:`~mechdesign.problems.marginals.covering_design.designs`). The rule ``design`` keeps the first points of
a design; these are points of which few blocks contain many. A line proves nothing: what is built from it is
audited as every other covering.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from mechdesign.problems.marginals.covering_design.designs import Bits, designs

Counts = NDArray[np.float64]

FILE = "chosen.txt"


@dataclass(frozen=True)
class ChosenPoints:
    """Points of a design that are kept.

    Attributes
    ----------
    order : int
        The design's blocks cover every ``order`` points.
    kept : tuple of int
        Points of the design.
    design : str
        The name of the design.
    """

    order: int
    kept: tuple[int, ...]
    design: str

    def members(self) -> Bits:
        """Return the design's membership matrix, kept points only, in the order of ``kept``."""
        largest = max(self.kept)
        found = next(one for one in designs(self.order, largest) if one.name == self.design)
        rows: Bits = found.make()[:, list(self.kept)]
        return rows


@cache
def chosen_points() -> tuple[ChosenPoints, ...]:
    """Return all lines of the file.

    Examples
    --------
    >>> {chosen.order for chosen in chosen_points()}
    {3}
    """
    found = []
    for line in files(__package__).joinpath(FILE).read_text(encoding="ascii").splitlines():
        numbers, design = line.split(" of ", 1)
        order, *kept = (int(number) for number in numbers.split())
        found.append(ChosenPoints(order, tuple(kept), design))
    return tuple(found)


@cache
def kept_sizes(chosen: ChosenPoints) -> Counts:
    """Return the number of blocks that keep 0, 1, 2 and so on of the points."""
    counts: Counts = np.bincount(chosen.members().sum(axis=1)).astype(np.float64)
    return counts
