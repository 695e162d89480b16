"""The best mechanism for a mean at a given epsilon, and what no mechanism can do better."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.core.solve import solve
from mechdesign.mechanisms.mean import GridMean
from mechdesign.problems.mean.channel.columns import why_not
from mechdesign.problems.mean.channel.design import Design
from mechdesign.problems.mean.channel.generation import refined
from mechdesign.problems.mean.channel.patterns import Array
from mechdesign.problems.mean.channel.problem import MeanChannel, default_inputs, symmetric_grid

ACCURACY = 1e-5
"""Relative accuracy of the lower bound for any mechanism; stopping early only makes it smaller."""


@lru_cache(maxsize=256)
def any_mechanism_bound(
    epsilon: float, criterion: Literal["worst", "average"] = "worst", inputs: int | None = None
) -> float:
    """Return a lower bound of the variance of every unbiased epsilon-private mechanism on [0, 1].

    Outputs may be anything; only the inputs are restricted. "worst": a mechanism for all of [0, 1] is
    one for the grid, and its worst case is at least that over the grid. "average": the middles of equal
    cells, shifted together by u, cover [0, 1] as u runs over a cell; the constraint on the multipliers
    does not depend on where the inputs are; and the bound is linear in u but for the term -x^2, whose
    average is that over [0, 1]. So the bound with the inputs at the middles, and the two ends with weight 0,
    holds for the average.

    Parameters
    ----------
    epsilon : float
        From 0.001 to 16.
    criterion : {"worst", "average"}
    inputs : int, optional
        Number of inputs; more make the bound larger.

    Examples
    --------
    >>> 0.99 < any_mechanism_bound(1.0, inputs=11) < 1.0
    True
    """
    size = default_inputs(epsilon) if inputs is None else inputs

    def design(count: int) -> Design:
        if criterion == "worst":
            return Design(epsilon, symmetric_grid(count), criterion, between=False)
        grid = np.concatenate([[-1.0], middles(count - 2), [1.0]])
        weights = np.concatenate([[0.0], np.full(count - 2, 1.0 / (count - 2)), [0.0]])
        return Design(epsilon, grid, criterion, weights)

    return refined(design, max(size, 3), ACCURACY).bound / 4.0


def middles(size: int) -> Array:
    """Return the middles of equal cells of [-1, 1].

    Examples
    --------
    >>> middles(4)
    array([-0.75, -0.25,  0.25,  0.75])
    """
    steps = np.arange(size, dtype=np.float64)
    result: Array = (steps - steps[::-1]) / size
    return result


@lru_cache(maxsize=64)
def _best(epsilon: float) -> tuple[float, GridMean] | None:
    problem = MeanChannel(epsilon=epsilon)
    if epsilon == 0.0 or why_not(problem) is not None:
        return None
    try:
        solution = solve(problem, "columns")
    except MethodError:  # the linear program gave up, which epsilons above 10 can cause
        return None
    return (solution.value, solution.mechanism()) if solution.found else None


def best_variance(epsilon: float) -> float | None:
    """Return the worst-case variance of :func:`best_mechanism` on [0, 1]; None where there is none.

    Examples
    --------
    >>> round(4 * best_variance(1.0), 3)
    3.992
    """
    found = _best(float(epsilon))
    return None if found is None else found[0]


def best_mechanism(epsilon: float, low: float = -1.0, high: float = 1.0) -> GridMean | None:
    """Return the solved mechanism for values in [low, high]; None outside epsilon = 0.001 .. 16.

    Examples
    --------
    >>> mechanism = best_mechanism(1.0, 0.0, 10.0)
    >>> mechanism.audit().holds, round(mechanism.worst_variance() / 25, 3)
    (True, 3.992)
    """
    found = _best(float(epsilon))
    return None if found is None else GridMean(found[1].channel, found[1].outputs, low, high)
