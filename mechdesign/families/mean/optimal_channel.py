"""The unbiased epsilon-private channel for a number with the least worst variance, and what epsilon is worth.

**The ladder.** The file ``ladder.npy`` next to this module holds solved channels at a ladder of epsilons,
where column generation starts at other ones. For each rung it has the columns of a solution on the default
grid of inputs: outputs t, patterns w and amounts theta of :mod:`.column_generation`, and the worst variance
of the mechanism that they make. Nothing is trusted: a mechanism made from a rung is repaired and audited in
exact arithmetic, and a solution that starts from one proves its own bound. ``python -m
benchmarks.mean_ladder`` writes the file.

**What epsilon is worth**, from the prices of the patterns. Let columns (t_j, w_j) with amounts theta_j be a
best mechanism, and l, s, c the multipliers that prove it (:mod:`.column_generation`), f_x(t) = c_x t^2 -
s_x t - l_x. With all of these kept,

    L(q) = sum_x (l_x + s_x x) - constant + sum_j theta_j sum_x w_jx(q) f_x(t_j),      q = e^-eps,

is the Lagrangian, and the optimum moves at its rate where the optimum has a derivative.

*Proof sketch.* theta >= 0 and the real outputs t_j are the variables, and neither set depends on q. L is
what the constraints sum theta w = 1 and sum theta t w = x leave of the weighed second moments, and for the
worst case the weights c are multipliers as well. At the optimum it is a saddle point, so only the entries
w_jx = q of the patterns move it (envelope theorem). Outputs of a grid that moves with epsilon are moved
along.

By symmetry a column also stands for its mirror image, which has the same prices: amounts count twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.families.mean.grid import GridMean

if TYPE_CHECKING:
    from mechdesign.families.mean.column_generation import Array, ChannelDesign, Generated

FILE = Path(__file__).with_name("ladder.npy")


@dataclass(frozen=True, eq=False)
class Ladder:
    """Solutions in order of epsilon.

    Attributes
    ----------
    epsilons, variances : (L,) array
        The rungs, and the worst variance of one report on [-1, 1].
    starts : (L + 1,) int array
        Where the columns of each rung begin.
    outputs, amounts : (C,) array
        Of all columns of all rungs.
    patterns : uint8 array
        The bits of all patterns, rung by rung.
    bytes : (L + 1,) int array
        Where the bits of each rung begin.
    """

    epsilons: Array
    variances: Array
    starts: NDArray[np.int64]
    outputs: Array
    amounts: Array
    patterns: NDArray[np.uint8]
    bytes: NDArray[np.int64]

    def below(self, epsilon: float) -> int:
        """Return the number of the largest rung that is at most epsilon; -1 where there is none."""
        return int(np.searchsorted(self.epsilons, epsilon * (1.0 + 2.0**-50), side="right")) - 1

    def rung(self, place: int) -> Generated:
        """Return the solution of a rung."""
        from mechdesign.families.mean.column_generation import Generated, default_inputs

        part = slice(self.starts[place], self.starts[place + 1])
        inputs = default_inputs(float(self.epsilons[place]))
        count = int(self.starts[place + 1] - self.starts[place])
        bits = np.unpackbits(
            self.patterns[self.bytes[place] : self.bytes[place + 1]], count=count * inputs
        ).reshape(count, inputs)
        value = float(self.variances[place])
        return Generated(
            self.outputs[part], bits.astype(np.bool_), self.amounts[part], value, 0.0, 0, "ladder"
        )


@cache
def ladder() -> Ladder:
    """Return the ladder of the file.

    Examples
    --------
    >>> rungs = ladder()
    >>> round(float(rungs.variances[rungs.below(1.0)]), 3), rungs.below(0.01)
    (3.992, -1)
    """
    arrays = np.load(FILE, allow_pickle=False)  # one record, so that reading it imports nothing for archives
    return Ladder(*(arrays[name] for name in Ladder.__dataclass_fields__))


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
    from mechdesign.families.mean.column_generation import (
        ChannelDesign,
        default_inputs,
        generate_columns,
        refined,
        symmetric_grid,
    )

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


def channel_of(grid: Array, small: float, generated: Generated) -> tuple[Array, Array]:
    """Return the channel (n, m) and the m output values on [-1, 1], increasing, of symmetric columns.

    Columns with the same output are added up: privacy and all moments stay what they are.
    """
    weights = np.where(generated.patterns, 1.0, small) * generated.amounts[:, None]
    outputs = np.concatenate([generated.outputs, -generated.outputs])
    columns = np.vstack([weights, weights[:, ::-1]])
    values, place = np.unique(outputs, return_inverse=True)
    channel = np.zeros((len(grid), len(values)))
    np.add.at(channel.T, place, columns)
    return channel, values


def deployed(generated: Generated, epsilon: float, promised: float) -> GridMean:
    """Return the mechanism of columns generated for one epsilon, exactly private at the promised one."""
    from mechdesign.families.mean.column_generation import symmetric_grid

    size = generated.patterns.shape[1]
    channel, values = channel_of(symmetric_grid(size), math.exp(-epsilon), generated)
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
    generated = _solution(epsilon)
    return None if generated is None else deployed(generated, epsilon, promised)


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
    mechanism = _mechanism(float(epsilon), float(epsilon if promised is None else promised))
    if mechanism is None:
        return None
    return GridMean(mechanism.channel, mechanism.outputs, low, high, mechanism.displacement)


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
    mechanism = _mechanism(float(epsilon), float(epsilon))
    return math.inf if mechanism is None else 4.0 * mechanism.worst_variance()


def best_variance(epsilon: float) -> float | None:
    """Return the worst-case variance of :func:`best_mechanism` on [0, 1]; None where there is none.

    Examples
    --------
    >>> round(4 * best_variance(1.0), 3)
    3.992
    """
    variance = worst_variance_of(epsilon)
    return variance / 4.0 if math.isfinite(variance) else None


def best_mechanism(epsilon: float, low: float = -1.0, high: float = 1.0) -> GridMean | None:
    """Return the solved mechanism for values in [low, high]; None outside epsilon = 0.001 .. 16.

    Examples
    --------
    >>> mechanism = best_mechanism(1.0, 0.0, 10.0)
    >>> mechanism.audit().holds, round(mechanism.worst_variance() / 25, 3)
    (True, 3.992)
    """
    return best_channel(epsilon, low, high)


STEP = 1e-4
"""How far epsilon is moved in the Lagrangian, as a part of it."""


def priced_entries(generated: Generated, epsilon: float, stretch: float = 1.0) -> Array:
    """Return theta_j w_jx f_x(t_j) for each column and input, at an epsilon.

    Parameters
    ----------
    generated : Generated
        With prices.
    epsilon : float
    stretch : float
        By what factor the outputs move.

    Raises
    ------
    MethodError
        Where the solution has no prices.
    """
    prices = generated.prices
    if prices is None:
        raise MethodError("mean-channel", "a stored solution has no prices", "solve it for its epsilon")
    column = (stretch * generated.outputs)[:, None]
    values = (prices.curve * column - prices.slope) * column - prices.level
    entries: Array = 2.0 * generated.amounts[:, None] * values
    return entries * np.where(generated.patterns, 1.0, math.exp(-epsilon))


def lagrangian_of(generated: Generated, epsilon: float, stretch: float = 1.0) -> float:
    """Return the Lagrangian on [-1, 1] at an epsilon; see :func:`priced_entries`.

    Examples
    --------
    >>> generated = solved(1.0)
    >>> abs(lagrangian_of(generated, 1.0) / generated.value - 1.0) < 1e-6
    True
    >>> slope = (lagrangian_of(generated, 1.001) - lagrangian_of(generated, 0.999)) / 0.002
    >>> near = (solved(1.02).value - solved(0.98).value) / 0.04
    >>> round(slope, 1), round(near, 1)
    (-8.1, -8.1)
    """
    from mechdesign.families.mean.column_generation import symmetric_grid

    prices = generated.prices
    entries = priced_entries(generated, epsilon, stretch)  # refuses where there are none
    assert prices is not None
    grid = symmetric_grid(generated.patterns.shape[1])
    own = math.fsum(prices.level) + float(prices.slope @ grid)
    return own - generated.constant + math.fsum(entries.ravel().tolist())


@lru_cache(maxsize=256)
def variance_slope(epsilon: float) -> float:
    """Return the derivative of the least worst variance on [-1, 1] in epsilon, on the default inputs.

    Examples
    --------
    >>> round(variance_slope(1.0), 1)
    -8.1
    """
    generated, step = solved(epsilon), STEP * epsilon
    above, below = (lagrangian_of(generated, at) for at in (epsilon + step, epsilon - step))
    return (above - below) / (2.0 * step)
