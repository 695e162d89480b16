"""The multipliers of linear queries: what epsilon is worth, and what privacy costs for each type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechdesign.core.prices import Binding
from mechdesign.core.problem import Problem
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.worth import PatternWorth

UNIT = "e^epsilon"


@dataclass(frozen=True, eq=False)
class QueryPrices:
    """The worth of the patterns of a solution, for the problem that was solved."""

    problem: LinearQueries
    worth: PatternWorth

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian at another epsilon; None for other queries."""
        assert isinstance(problem, LinearQueries)
        if not np.array_equal(problem.queries.gram, self.problem.queries.gram):
            return None
        return self.worth.lagrangian(problem.epsilon)

    def binding(self) -> Sequence[Binding]:
        """Return the price of privacy for each type; once for types that differ by a translation alone."""
        prices = self.worth.by_type().tolist()
        if self.worth.group is not None:
            return [Binding("privacy of all types", sum(prices), len(prices), UNIT)]
        return [Binding(f"privacy of type {place}", price, 1, UNIT) for place, price in enumerate(prices)]
