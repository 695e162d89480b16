"""What no unbiased private mechanism for a mean can do better, whatever its form."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.mean.optimal.design import ChannelDesign
from mechdesign.families.mean.optimal.generation import refined
from mechdesign.families.mean.optimal.grids import Array, default_inputs, symmetric_grid

LIMITS = (1e-3, 16.0)
"""Between these epsilons linear programs tell the patterns apart."""

QUICK = 9
"""Inputs of the bound that every certificate shows: a fraction of a second."""

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

    def design(count: int) -> ChannelDesign:
        if criterion == "worst":
            return ChannelDesign(epsilon, symmetric_grid(count), criterion, between=False)
        grid = np.concatenate([[-1.0], middles(count - 2), [1.0]])
        weights = np.concatenate([[0.0], np.full(count - 2, 1.0 / (count - 2)), [0.0]])
        return ChannelDesign(epsilon, grid, criterion, weights)

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


@lru_cache(maxsize=256)
def quick_bound(epsilon: float, criterion: Literal["worst", "average"] = "worst") -> float:
    """Return a lower bound for every unbiased epsilon-private mechanism on [0, 1], in a fraction of a second.

    The larger one of :func:`any_mechanism_bound` with few inputs, where it can be had, and
    :func:`two_input_bound`.

    Examples
    --------
    >>> 0.99 < quick_bound(1.0) < 0.998 and quick_bound(50.0) > 0.0
    True
    """
    found = two_input_bound(epsilon, criterion)
    if LIMITS[0] <= epsilon <= LIMITS[1]:
        try:
            found = max(found, any_mechanism_bound(epsilon, criterion, QUICK))
        except MethodError:  # the linear program gave up, which epsilons above 10 can cause
            return found
    return found


def two_input_bound(epsilon: float, criterion: Literal["worst", "average"] = "worst") -> float:
    """Return the bound from two inputs alone, for every epsilon.

    The ratio r of the two distributions of a report lies in [1 / E, E], E = e^epsilon, and has the mean 1
    under the second one; so E[(r - 1)^2] <= (E - 1) (1 - 1 / E) = 4 sinh(epsilon / 2)^2. By the inequality
    of Cauchy and Schwarz (Hammersley, Chapman and Robbins), (x - x')^2 <= Var(Y | x') E[(r - 1)^2]. The
    other input is the farther end of [0, 1]; the square of its distance is 7/12 on average.

    Examples
    --------
    >>> round(two_input_bound(1.0), 3), round(two_input_bound(1.0, "average"), 3)
    (0.921, 0.537)
    """
    if epsilon >= 700.0:
        return 0.0
    power = math.expm1(epsilon) * -math.expm1(-epsilon) * (1.0 + 2.0**-48)
    return (1.0 if criterion == "worst" else 7.0 / 12.0) / power * (1.0 - 2.0**-48)
