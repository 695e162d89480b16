"""The bins of a number: what they are called, so that no two share a number, and which are open at an end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mechdesign.collect.codec import Domain, as_floats
from mechdesign.data.intake import NUMBERS_FOR_MISSING
from mechdesign.show.tables import edge_texts
from mechdesign.work.records import dataclass

OPEN_ENDS = ("", "low", "high", "both")
"""Which end bins also hold what is beyond the range."""


@dataclass(frozen=True)
class Bin:
    """The name of a bin by its parts, for every language.

    Attributes
    ----------
    kind : {"single", "between", "half_open", "below", "above"}
        One whole number; from low to high, both included; from low to below high; below high; low or more.
    low, high : str
    """

    kind: str
    low: str
    high: str

    def __str__(self) -> str:
        if self.kind == "half_open":
            return f"{self.low} to below {self.high}"
        alone = {"single": self.low, "below": f"below {self.high}", "above": f"{self.low} or more"}
        return alone.get(self.kind, f"{self.low} to {self.high}")


def bins_of(edges: Sequence[float], open_ends: str = "") -> tuple[Bin, ...]:
    """Return the bins between increasing edges, named so that no two share a number.

    A number at an edge is in the bin above it, and the last edge in the last bin. Between edges that are
    whole numbers the numbers are taken for whole ones, as ages are: 29.5 is 29.

    Parameters
    ----------
    edges : sequence of float
    open_ends : {"", "low", "high", "both"}
        Which end bins also hold what is beyond the range.

    Examples
    --------
    >>> [str(each) for each in bins_of([18, 30, 31, 70])]
    ['18 to 29', '30', '31 to 70']
    >>> [str(each) for each in bins_of([0, 1.5, 3])], [str(each) for each in bins_of([18, 30, 70], "both")]
    (['0 to below 1.5', '1.5 to 3'], ['below 30', '30 or more'])
    """
    whole = all(float(edge).is_integer() for edge in edges)
    texts = tuple(str(int(edge)) for edge in edges) if whole else edge_texts(edges)
    result = []
    for place, (low, high) in enumerate(pairwise(texts)):
        first, last = place == 0, place == len(texts) - 2
        if first and open_ends in ("low", "both"):
            result.append(Bin("below", low, high))
        elif last and open_ends in ("high", "both"):
            result.append(Bin("above", low, high))
        elif last:
            result.append(Bin("between", low, high))
        elif whole and int(high) - 1 == int(low):
            result.append(Bin("single", low, low))
        elif whole:
            result.append(Bin("between", low, str(int(high) - 1)))
        else:
            result.append(Bin("half_open", low, high))
    return tuple(result)


def moved_to_ends(column: Any, domain: Domain, open_ends: str) -> Any:
    """Return numbers of which those beyond an open end are at that end.

    Usual codes for missing values, such as 999, stay where they are further from the range than it is wide,
    or negative where it is not: they are refused as what is outside of it. An age of 77 is taken for one.

    Examples
    --------
    >>> moved_to_ends(np.array([10, 77, 999, -9]), Domain(18, 70), "both").tolist()
    [18.0, 70.0, 999.0, -9.0]
    """
    if not open_ends:
        return column
    values = as_floats(column, 1, "values")
    far = (values > domain.high + domain.width) | (values < domain.low - domain.width)
    codes = np.isin(values, list(NUMBERS_FOR_MISSING)) & (far | ((values < 0.0) & (domain.low >= 0.0)))
    low = domain.low if open_ends in ("low", "both") else -np.inf
    high = domain.high if open_ends in ("high", "both") else np.inf
    return np.where(codes, values, np.clip(values, low, high))
