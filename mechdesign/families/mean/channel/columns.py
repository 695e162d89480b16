"""``mean-channel`` by column generation: seconds, any output values, and a bound that is proven."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.mean.channel.prices import MeanPrices
from mechdesign.families.mean.channel.problem import MeanChannel
from mechdesign.families.mean.optimal.channel import LIMITS, channel_of, solved
from mechdesign.families.mean.optimal.design import ChannelDesign
from mechdesign.families.mean.optimal.generation import refined
from mechdesign.families.mean.optimal.grids import default_inputs, symmetric_grid
from mechdesign.families.mean.optimal.patterns import Array


def hat_weights(grid: Array) -> Array:
    """Return the average over [-1, 1] of each input's share in the rounding: what second moments weigh.

    Examples
    --------
    >>> hat_weights(np.array([-1.0, 0.0, 1.0]))
    array([0.25, 0.5 , 0.25])
    """
    widths = np.diff(grid)
    weights: Array = (np.append(widths, 0.0) + np.append(0.0, widths)) / 4.0
    return weights


def run(problem: MeanChannel, accuracy: float = MeanChannel.optimal_within / 2.0) -> Outcome:
    """Solve on a coarse grid, refine to the wanted one, and make the channel exactly private."""
    if problem.epsilon == 0.0:
        return Outcome(
            status="infeasible",
            solver="column generation",
            message="at epsilon = 0 no report is unbiased; give a larger epsilon",
        )
    criterion, outputs = problem.criterion, problem.output_grid()
    positive = None if outputs is None else outputs[outputs >= 0.0]

    def design(size: int) -> ChannelDesign:
        grid = symmetric_grid(size)
        weights = hat_weights(grid) if criterion == "average" else None
        return ChannelDesign(problem.epsilon, grid, criterion, weights, outputs=positive)

    grid = problem.grid()
    usual = criterion == "worst" and outputs is None and len(grid) == default_inputs(problem.epsilon)
    found = solved(problem.epsilon, accuracy) if usual else refined(design, len(grid), accuracy)
    channel, values = channel_of(grid, math.exp(-problem.epsilon), found)
    mechanism = problem.deployable(channel, (values + 1.0) / 2.0)
    notes: dict[str, Any] = {"rounds": found.rounds, "before_repair": found.value / 4.0}
    return Outcome(
        status="optimal" if found.value - found.bound <= accuracy * found.value else "feasible",
        variables={"channel": mechanism.channel.channel, "output_values": mechanism.outputs},
        bound=found.bound / 4.0,
        bound_source="weak duality, the prices checked for every pattern"
        + (" and every real output" if outputs is None else " and output of the grid"),
        solver=f"column generation, {found.solver}",
        notes=notes,
        prices=MeanPrices(problem, found),
    )


def why_not(problem: MeanChannel) -> str | None:
    """Return why column generation does not apply, or None."""
    if 0.0 < problem.epsilon < LIMITS[0]:
        return "below epsilon = 0.001 the patterns differ by less than the solver sees; use Duchi's mechanism"
    if problem.epsilon > LIMITS[1]:
        return "above epsilon = 16 probabilities are below the solver's accuracy; use the piecewise mechanism"
    return None
