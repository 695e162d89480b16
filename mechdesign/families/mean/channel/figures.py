"""Pictures of the best channel for a number: its cells, and its variance over the number (figure 2.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.mean.channel.problem import MeanChannel
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line


def figures(problem: MeanChannel, solution: Solution[Any]) -> list[Figure]:
    """Return figures of the report of each number and of its variance."""
    channel = np.asarray(solution.variables["channel"], dtype=np.float64)
    outputs = np.asarray(solution.variables["output_values"], dtype=np.float64)
    knots = np.asarray(problem.knots(), dtype=np.float64)
    numbers = np.linspace(0.0, 1.0, 201)
    mixed = np.array([np.interp(numbers, knots, column) for column in channel.T]).T
    variance = mixed @ outputs**2 - (mixed @ outputs) ** 2
    order = np.argsort(outputs)
    steps = np.repeat(outputs[order], 2)[1:]
    reported = [
        Line(x=steps, y=np.repeat(np.cumsum(channel[row, order]), 2)[:-1], label=f"number {knots[row]:.3g}")
        for row in (0, len(knots) // 2, len(knots) - 1)
    ]
    panels = [
        Panel(
            "number of a user, in [0, 1]",
            "variance of its report",
            [Line(x=numbers, y=variance, label="solved channel")],
            title="Variance",
        ),
        Panel("value", "probability of a report of at most this", reported, title="Reports"),
    ]
    caption = "Between the inputs of the grid a user is rounded to one of its neighbours at random."
    return [Figure("The best channel for a number", panels, caption)]
