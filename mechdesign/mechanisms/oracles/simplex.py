"""Estimated frequencies with their projection on the simplex beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mechdesign.core.text import table
from mechdesign.mechanisms.frequencies import FrequencyEstimate

MOST_ROWS = 60


@dataclass(frozen=True)
class OnSimplex:
    """An estimate and the nearest frequencies that are >= 0 and sum to 1 (norm-sub).

    The projection lowers the total squared error of every estimate whose truth lies on the simplex, and is
    biased: standard errors and intervals stay those of the unbiased estimate.

    Parameters
    ----------
    estimate : FrequencyEstimate

    Examples
    --------
    >>> import numpy as np
    >>> estimate = FrequencyEstimate(np.array([0.9, 0.2, -0.1]), np.full(3, 0.1), 100, ("a", "b", "c"))
    >>> print(OnSimplex(estimate))
    100 reports
    category  on simplex  estimate  std.error
    --------  ----------  --------  ---------
    a            0.85000   0.90000    0.10000
    b            0.15000   0.20000    0.10000
    c            0.00000  -0.10000    0.10000
    """

    estimate: FrequencyEstimate

    def __str__(self) -> str:
        columns = (self.estimate.projected(), self.estimate.value, self.estimate.standard_error)
        rows = [
            [name, *(f"{number + 0.0:.5f}" for number in figures)]
            for name, *figures in zip(self.estimate.categories, *columns, strict=True)
        ]
        more = f"\n... and {len(rows) - MOST_ROWS} more categories" if len(rows) > MOST_ROWS else ""
        header = ["category", "on simplex", "estimate", "std.error"]
        return f"{self.estimate.users} reports\n{table(header, rows[:MOST_ROWS])}{more}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values, with ``simplex`` for the projection."""
        return {**self.estimate.as_json(), "simplex": self.estimate.projected()}
