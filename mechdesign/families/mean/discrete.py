"""The piecewise mechanism on a grid: private exactly, and a little better at small epsilon.

M output cells of equal width and a window of w of them. Input i = 0 .. M - w makes the window start at
cell i: every cell in the window has weight about E lo, every other cell weight lo. So any ratio is at most E.

Unbiasedness. The window of input i is symmetric about cell i + (w - 1)/2, hence the mean cell is affine in
i: a report is an affine image of the input. Inputs between are rounded at random (:class:`GridMean`).

Integers. lo = ceil((2**62 + w^2)/(M + w(E - 1))) for the rational lower bound E of e^eps. What the cells
outside leave, I = 2**62 - (M - w) lo, is at most w E lo - w^2; each cell of the window gets floor(I/w) and
the one at its place w//2 the rest r < w: floor(I/w) + r <= E lo - w + r < E lo. The rest moves the mean
cell of all inputs by the same amount, so it stays affine.

As M grows this becomes the continuous mechanism with a window of the share w/M; M = 2, w = 1 is Duchi's. So
the best (M, w) is at least as good as Duchi's at every epsilon. A coarse grid often beats the continuous
mechanism: at epsilon = 4, 12 cells have worst-case variance 0.159, piecewise 0.241, the hybrid 0.219.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Array
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import as_written, integer, privacy_epsilon
from mechdesign.exact.randomness import TOTAL, exp_lower, exp_written
from mechdesign.families.mean.grid import GridMean
from mechdesign.primitives.finite import FiniteChannel, PrivacyTarget

LARGEST = 64
"""Numbers of cells tried by default; more gain little and make the file larger."""


class DiscretePiecewise(GridMean):
    """The piecewise mechanism on a finite grid, with an exact certificate.

    Parameters
    ----------
    epsilon : float
    low, high : float
        The range of the values, [-1, 1] by default.
    cells, window : int, optional
        Output cells M and cells w of the window; by default the pair with the least worst-case
        variance among up to 64 cells.
    for_double : bool
        Whether it keeps the double epsilon, as in files of former releases, instead of the decimal.

    Examples
    --------
    >>> mechanism = DiscretePiecewise(epsilon=1.0)
    >>> mechanism.audit().holds, mechanism.worst_variance() < 4.683
    (True, True)
    >>> estimate = mechanism.estimate(mechanism.randomize([0.5] * 4000, rng=7))
    >>> abs(estimate.value - 0.5) < 4 * estimate.standard_error
    True
    """

    type: ClassVar[str] = "discrete-piecewise"

    def __init__(
        self,
        epsilon: float,
        low: float = -1.0,
        high: float = 1.0,
        cells: int | None = None,
        window: int | None = None,
        *,
        for_double: bool = False,
    ) -> None:
        eps = privacy_epsilon(epsilon)
        self.cells, self.window = _shape(eps, cells, window)
        exact = as_written(eps)
        self.exact_epsilon = None if for_double or exact == Fraction(eps) else exact
        bound = exp_lower(eps if self.exact_epsilon is None else exact)
        channel = FiniteChannel(piecewise_weights(eps, self.cells, self.window, bound), PrivacyTarget(eps))
        scaled = GridMean.scaled(channel, np.arange(self.cells) - (self.cells - 1) / 2.0, low, high)
        super().__init__(channel, scaled.outputs, low, high)

    def content(self) -> dict[str, Any]:
        """Return epsilon, the range and the shape; they determine the weights."""
        shape = {"cells": self.cells, "window": self.window}
        exact = {} if self.exact_epsilon is None else {"exact_epsilon": str(self.exact_epsilon)}
        return {"epsilon": self.epsilon, **exact, "low": self.domain.low, "high": self.domain.high, **shape}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        names = ("epsilon", "low", "high", "cells", "window")
        return cls(*(content[name] for name in names), for_double="exact_epsilon" not in content)


def _shape(epsilon: float, cells: int | None, window: int | None) -> tuple[int, int]:
    if cells is None:
        if window is not None:
            raise ParameterError("cells", "is missing", "give both cells and window, or neither")
        best = best_shape(epsilon)
        return best[1], best[2]
    size = integer("cells", cells, 2, 1024)
    if window is not None:
        return size, integer("window", window, 1, size - 1)
    return size, int(worst_variances(np.array([epsilon]), size)[:, 0].argmin()) + 1


def piecewise_weights(
    epsilon: float, cells: int, window: int, bound: Fraction | None = None
) -> NDArray[np.int64]:
    """Return the integer weights (M - w + 1, M) of the module's statement, for a bound of e^epsilon.

    Examples
    --------
    >>> weights = piecewise_weights(math.log(3), 2, 1)
    >>> (weights / 2**62).round(9)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    bound = exp_written(epsilon) if bound is None else bound
    low = math.ceil((TOTAL + window**2) / (cells + window * (bound - 1)))
    high, rest = divmod(TOTAL - (cells - window) * low, window)
    if high <= low:
        raise ParameterError(
            "epsilon",
            f"{epsilon:g} leaves no room between 62-bit weights, so that the variance is infinite",
            "give a larger epsilon",
        )
    weights = np.full((cells - window + 1, cells), low, dtype=np.int64)
    for start in range(cells - window + 1):
        weights[start, start : start + window] = high
        weights[start, start + window // 2] += rest
    return weights


@lru_cache(maxsize=256)
def best_shape(epsilon: float) -> tuple[float, int, int]:
    """Return (worst-case variance on [-1, 1], M, w) of the best grid with up to 64 cells.

    Examples
    --------
    >>> best_shape(0.1)[1:]
    (2, 1)
    """
    rows, columns = np.tril_indices(LARGEST - 1)
    cells, window = rows + 2, columns + 1  # (2, 1), (3, 1), (3, 2), (4, 1), ...
    small = float(np.exp(-np.array([epsilon]))[0])  # as worst_variances has it, to the last bit
    variances = _worst_of_shapes(small, cells, window)
    best = int(variances.argmin())
    return float(variances[best]), int(cells[best]), int(window[best])


def _worst_of_shapes(small: Array | float, cells: NDArray[np.int64], window: NDArray[np.int64]) -> Array:
    """Return the worst-case variance on [-1, 1], rounding to the grid included; arguments are broadcast.

    In cells from the middle, with z = i - (M - w)/2 the centre of the window and q the outer probability,
    E[t] = q (e^eps - 1) w z and E[t^2] = q (e^eps - 1)(w z^2 + w(w^2 - 1)/12) + q M(M^2 - 1)/12. The estimate
    of z/reach divides t by q (e^eps - 1) w reach, so its second moment is level + steep z^2 at the knots
    z = -reach, -reach + 1, ..., reach, and is interpolated between them. By symmetry z >= 0 is enough. On a
    segment [a, a + 1] the variance is level + steep (a^2 + (2 a + 1)(z - a)) - (z / reach)^2, a concave
    quadratic, largest at z = steep (2 a + 1) reach^2 / 2 or at the nearer end.

    Parameters
    ----------
    small : array or float
        e^-epsilon.
    """
    reach = (cells - window) / 2.0
    outer = 1.0 / (cells * small + window * (1.0 - small))  # q e^eps
    excess, flat = outer * (1.0 - small), outer * small * cells * (cells**2 - 1) / 12.0
    scale = (excess * window * reach) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        level = (excess * window * (window**2 - 1) / 12.0 + flat) / scale
        steep = excess * window / scale
        first = np.where(reach % 1.0 > 0.0, reach % 1.0 - 1.0, 0.0)
        steps = np.arange(math.ceil(reach.max()) + 1)
        starts = first + steps.reshape(-1, *np.ones(np.ndim(level), dtype=np.int64))
        peak = np.clip(steep * (2.0 * starts + 1.0) * reach**2 / 2.0, starts, starts + 1.0)
        value = level + steep * (starts**2 + (2.0 * starts + 1.0) * (peak - starts)) - (peak / reach) ** 2
    worst: Array = np.where(starts < reach - 0.5, value, -np.inf).max(axis=0)
    return np.where(np.isfinite(worst), worst, math.inf)


def least_variances(epsilons: Array) -> Array:
    """Return the worst-case variance on [-1, 1] of the best grid for each epsilon, all at once.

    Examples
    --------
    >>> least = least_variances(np.array([0.1, 4.0]))
    >>> bool(abs(least[1] / best_shape(4.0)[0] - 1.0) < 1e-12)
    True
    """
    rows = [worst_variances(epsilons, cells).min(axis=0) for cells in range(2, LARGEST + 1)]
    least: Array = np.min(rows, axis=0)
    return least


def worst_variances(epsilons: Array, cells: int) -> Array:
    """Return the worst-case variance for each window 1 to M - 1, in rows, and each epsilon, in columns.

    Examples
    --------
    >>> worst_variances(np.array([1.0]), 5).round(6).tolist()
    [[8.598536], [4.902644], [6.105066], [20.418303]]
    """
    small = np.exp(-np.asarray(epsilons, dtype=np.float64))
    shapes = [(np.array(cells), np.array(window)) for window in range(1, cells)]
    return np.stack([_worst_of_shapes(small, *shape) for shape in shapes])
