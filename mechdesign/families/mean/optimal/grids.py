"""Grids of inputs and of output values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEWEST, MOST = 21, 41
"""Limits of the default number of inputs: half a second and a few seconds. 61 take half a minute."""


def default_inputs(epsilon: float) -> int:
    """Return an odd number of inputs, 21 to 41, for which rounding costs about a percent up to epsilon = 5.

    Rounding costs at most h^2/4 for a step h, and the best variance falls about like e^(-3 eps/4) (measured),
    so the number grows like e^(3 eps/8) from epsilon = 3.

    Examples
    --------
    >>> [default_inputs(epsilon) for epsilon in (0.5, 3.0, 4.0, 5.0, 10.0)]
    [21, 21, 31, 41, 41]
    """
    wanted = (FEWEST - 1) * math.exp(min(3.0, 3.0 / 8.0 * max(0.0, epsilon - 3.0)))
    return min(MOST, 2 * math.ceil(wanted / 2.0 - 0.25) + 1)


def symmetric_grid(size: int) -> Array:
    """Return evenly spaced numbers from -1 to 1, symmetric to the last bit.

    Examples
    --------
    >>> symmetric_grid(3)
    array([-1.,  0.,  1.])
    """
    steps = np.arange(size, dtype=np.float64)
    grid: Array = (steps - steps[::-1]) / (size - 1)
    return grid


def largest_output(epsilon: float) -> float:
    """Return the larger of Duchi's and the piecewise mechanism's largest output, on the scale of [-1, 1]."""
    return 1.0 / math.tanh(epsilon / 4.0)
