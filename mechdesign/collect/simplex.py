"""Estimated frequencies with their projection on the simplex next to them, on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mechdesign.collect.operations import Operation, Option, Settings
from mechdesign.core.encoding import json_object
from mechdesign.core.tables import Source
from mechdesign.core.text import counted, table
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.exact.digits import to_error

if TYPE_CHECKING:
    from mechdesign.collect.frequency_estimate import FrequencyEstimate
    from mechdesign.show.figure import Figure

SIMPLEX = Option("simplex", "flag", "also give the nearest frequencies that are >= 0 and sum to 1 (biased)")

MOST_ROWS = 60


@dataclass(frozen=True)
class OnSimplex(Tidy):
    """An estimate and the nearest frequencies that are >= 0 and sum to 1 (norm-sub).

    The projection lowers the total squared error of every estimate whose truth lies on the simplex, and is
    biased: standard errors and intervals stay those of the unbiased estimate.

    Parameters
    ----------
    estimate : FrequencyEstimate

    Examples
    --------
    >>> import numpy as np
    >>> from mechdesign.collect import FrequencyEstimate
    >>> estimate = FrequencyEstimate(np.array([0.9, 0.2, -0.1]), np.full(3, 0.1), 100, ("a", "b", "c"))
    >>> print(OnSimplex(estimate))
    100 reports
    category  on simplex  estimate  std error
    --------  ----------  --------  ---------
    a            0.85000   0.90000    0.10000
    b            0.15000   0.20000    0.10000
    c            0.00000  -0.10000    0.10000
    """

    estimate: FrequencyEstimate

    def __str__(self) -> str:
        columns = (self.estimate.projected(), self.estimate.value, self.estimate.standard_error)
        rows = [
            [name, *(to_error(number + 0.0, figures[2], ".5f") for number in figures)]
            for name, *figures in zip(self.estimate.categories, *columns, strict=True)
        ]
        more = f"\n... and {len(rows) - MOST_ROWS} more categories" if len(rows) > MOST_ROWS else ""
        header = ["category", "on simplex", "estimate", "std error"]
        return f"{counted(self.estimate.users, 'report')}\n{table(header, rows[:MOST_ROWS])}{more}"

    def figures(self) -> list[Figure]:
        """Return the projection as bars, with the confidence intervals of the unbiased estimate."""
        from mechdesign.show.panels import SHARE, UNBIASED, interval_figures

        title = f"Estimated shares of {counted(self.estimate.users, 'report')}, none below 0"
        names, interval = self.estimate.categories, self.estimate.interval()
        projected = self.estimate.projected()
        return interval_figures(
            title, names, projected, interval, "answer", "share", possible=SHARE, said=UNBIASED
        )

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return self.estimate.users

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the unbiased estimates as columns, with ``simplex`` for the projection."""
        return {**self.estimate.tidy(level), "simplex": self.estimate.projected().tolist()}

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values, with ``simplex`` for the projection."""
        return json_object({**self.estimate.as_json(), "simplex": self.estimate.projected()})


def with_simplex(estimate: Operation) -> Operation:
    """Return the operation ``estimate`` with an option that gives the projection as well."""

    def run(sources: Sequence[Source], settings: Settings) -> Any:
        found: FrequencyEstimate = estimate.run(sources, settings)
        return OnSimplex(found) if settings["simplex"] else found

    return replace(estimate, run=run, options=(*estimate.options, SIMPLEX))
