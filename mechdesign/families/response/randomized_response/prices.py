"""The multipliers of the compact linear program, as prices of privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Problem
from mechdesign.core.values import frozen_value
from mechdesign.families.response.randomized_response import metric
from mechdesign.families.response.randomized_response.problem import RandomizedResponse
from mechdesign.families.response.randomized_response.rows import compact_program

if TYPE_CHECKING:
    from mechdesign.core.prices import Binding
    from mechdesign.solvers.linear import LinearResult

Array = NDArray[np.float64]


@frozen_value(eq=False)
class ChannelPrices:
    """Variables and multipliers of HiGHS for a response problem."""

    problem: RandomizedResponse
    result: LinearResult

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the expected utility less what the multipliers charge for the rows of another problem."""
        from mechdesign.solvers.linear import lagrangian

        assert isinstance(problem, RandomizedResponse)
        gains, offset = problem.centred_weights()
        found = lagrangian(compact_program(problem, gains), self.result)
        return None if found is None else found + offset

    def binding(self) -> Sequence[Binding]:
        """Return the prices of privacy for each report, and of delta over all pairs of answers.

        The rows are p_ij <= e^eps p_i'j + t; a price is per unit of t.
        """
        from mechdesign.core.prices import Binding

        problem, prices = self.problem, self.result.upper_multipliers
        n, m, distance = problem.size, problem.reports, problem.distances()
        shrink: Array = np.full(n * (n - 1), np.exp(-problem.epsilon))
        if distance is not None:
            pairs = metric.needed_pairs(distance)
            shrink = np.exp(-problem.epsilon * distance[pairs[:, 0], pairs[:, 1]])
        elif problem.delta == 0 or problem.notion != "ldp":
            return self._of_reports(np.exp(-problem.epsilon) * prices[n * m :].reshape(n, m))
        count = len(shrink) * m
        found = self._of_reports(shrink[:, None] * prices[:count].reshape(len(shrink), m))
        excess = prices[count:] if distance is None else prices[:0]
        return [*found, Binding("delta", float(excess.sum()), int((excess > 0).sum()))]

    def _of_reports(self, prices: Array) -> list[Binding]:
        from mechdesign.core.prices import Binding

        problem = self.problem
        same = problem.labels if problem.reports == problem.size else None
        names = problem.report_labels or same or range(problem.reports)
        return [
            Binding(f"privacy of report {name}", float(column.sum()), int((column > 0).sum()))
            for name, column in zip(names, prices.T, strict=True)
        ]
