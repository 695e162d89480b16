"""The unbiased epsilon-private channel for a number with the least worst variance, as one function."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.mean.grid import GridMean
from mechdesign.families.mean.optimal.design import ChannelDesign
from mechdesign.families.mean.optimal.generation import Generated, generate_columns, refined
from mechdesign.families.mean.optimal.grids import Array, default_inputs, symmetric_grid
from mechdesign.families.mean.optimal.ladder import ladder

LIMITS = (1e-3, 16.0)
"""Between these epsilons linear programs tell the patterns apart."""

ACCURACY = 5e-6
"""The relative gap to which channels are solved."""


def solved(epsilon: float, accuracy: float = ACCURACY) -> Generated:
    """Return the columns of the channel with the least worst variance on the default grid of inputs.

    It starts from the rungs of the ladder on both sides, where they have the same grid.

    Raises
    ------
    MethodError
        When the linear program fails.
    """
    size, known = default_inputs(epsilon), ladder()

    def design(count: int) -> ChannelDesign:
        return ChannelDesign(epsilon, symmetric_grid(count), "worst")

    below = known.below(epsilon)
    inside = float(known.epsilons[0]) <= epsilon <= float(known.epsilons[-1])
    near = [known.rung(place) for place in (below, below + 1) if inside and place < len(known.epsilons)]
    near = [rung for rung in near if rung.patterns.shape[1] == size]
    if not near:
        return refined(design, size, accuracy)
    last = design(size)
    last.begin()
    for rung in near:
        last.add(rung.outputs, rung.patterns)
    return generate_columns(last, accuracy)


def channel_of(grid: Array, small: float, found: Generated) -> tuple[Array, Array]:
    """Return the channel (n, m) and the m output values on [-1, 1], increasing, of symmetric columns.

    Columns with the same output are added up: privacy and all moments stay what they are.
    """
    weights = np.where(found.patterns, 1.0, small) * found.amounts[:, None]
    outputs = np.concatenate([found.outputs, -found.outputs])
    columns = np.vstack([weights, weights[:, ::-1]])
    values, place = np.unique(outputs, return_inverse=True)
    channel = np.zeros((len(grid), len(values)))
    np.add.at(channel.T, place, columns)
    return channel, values


def deployed(found: Generated, epsilon: float, promised: float) -> GridMean:
    """Return the mechanism of columns found for one epsilon, exactly private at the promised one."""
    size = found.patterns.shape[1]
    channel, values = channel_of(symmetric_grid(size), math.exp(-epsilon), found)
    return GridMean.from_floats(channel, np.linspace(0.0, 1.0, size), (values + 1.0) / 2.0, promised)


def on_ladder(epsilon: float) -> int | None:
    """Return the number of the rung of exactly this epsilon; None where there is none."""
    place = ladder().below(epsilon)
    return place if place >= 0 and float(ladder().epsilons[place]) == epsilon else None


@lru_cache(maxsize=256)
def _solution(epsilon: float) -> Generated | None:
    place = on_ladder(epsilon)
    if place is not None:
        return ladder().rung(place)
    if not LIMITS[0] <= epsilon <= LIMITS[1]:
        return None
    try:
        return solved(epsilon)
    except MethodError:  # the linear program gave up, which epsilons above 10 can cause
        return None


@lru_cache(maxsize=256)
def _mechanism(epsilon: float, promised: float) -> GridMean | None:
    found = _solution(epsilon)
    return None if found is None else deployed(found, epsilon, promised)


def best_channel(
    epsilon: float, low: float = -1.0, high: float = 1.0, promised: float | None = None
) -> GridMean | None:
    """Return the exactly private mechanism with the least worst variance; None outside epsilon = 0.001 .. 16.

    Parameters
    ----------
    epsilon : float
        For which it is designed.
    low, high : float
        The range of the values.
    promised : float, optional
        The epsilon that is certified, where it is less by a rounding.

    Examples
    --------
    >>> mechanism = best_channel(1.0, 0.0, 10.0)
    >>> mechanism.audit().holds, round(mechanism.worst_variance() / 25, 3)
    (True, 3.992)
    """
    found = _mechanism(float(epsilon), float(epsilon if promised is None else promised))
    return None if found is None else GridMean(found.channel, found.outputs, low, high, found.displacement)


def worst_variance_of(epsilon: float) -> float:
    """Return the worst variance of :func:`best_channel` on [-1, 1]; infinite where there is none.

    Examples
    --------
    >>> round(worst_variance_of(1.0), 3), worst_variance_of(20.0)
    (3.992, inf)
    """
    place = on_ladder(epsilon)
    if place is not None:
        return float(ladder().variances[place])
    found = _mechanism(float(epsilon), float(epsilon))
    return math.inf if found is None else 4.0 * found.worst_variance()
