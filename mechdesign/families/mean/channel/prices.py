"""The multipliers of the best channel for a number, as prices of privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.core.prices import Binding
from mechdesign.core.problem import Problem
from mechdesign.families.mean.channel.problem import MeanChannel
from mechdesign.families.mean.optimal.generation import Generated
from mechdesign.families.mean.optimal.worth import lagrangian_of, priced_entries

QUARTER = 0.25
"""Variances on [0, 1] are a quarter of those on [-1, 1]."""


@dataclass(frozen=True, eq=False)
class MeanPrices:
    """The last master program of column generation, with the problem that it solved."""

    problem: MeanChannel
    found: Generated

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian at another epsilon, the inputs kept; a grid of outputs moves along."""
        assert isinstance(problem, MeanChannel)
        old, new = self.problem.output_grid(), problem.output_grid()
        stretch = 1.0 if old is None or new is None else float(new[-1] / old[-1])
        return QUARTER * lagrangian_of(self.found, problem.epsilon, stretch)

    def binding(self) -> Sequence[Binding]:
        """Return for each input by how much a larger e^epsilon for it alone would lower the criterion.

        Per unit of e^epsilon the criterion falls by the sum of all prices.
        """
        epsilon = self.problem.epsilon
        entries = priced_entries(self.found, epsilon) * self.found.patterns
        entries = (entries + entries[:, ::-1]) / 2.0  # of the column and its mirror image
        prices = -QUARTER * math.exp(-epsilon) * entries.sum(axis=0)
        rows = (entries < 0.0).sum(axis=0)
        return [
            Binding(f"privacy of the number {knot:g}", price, count, "e^epsilon")
            for knot, price, count in zip(
                self.problem.knots().tolist(), prices.tolist(), rows.tolist(), strict=True
            )
        ]
