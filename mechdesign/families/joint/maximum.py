"""The most likely joint distribution, with a proof of how far it can be from the maximum.

The mean log-likelihood is concave in the distribution P. With G(v) the mean likelihood ratio of cell v, the
mean log-likelihood of any other distribution exceeds that of P by at most log max G (Jensen): so max G - 1 is
the stopping rule. A solution has few cells above 0, some hundred of thousands. So each step is Newton's on a
working set of cells, those above 0 and those with the largest ratios, under P >= 0 alone: minimising the mean
of -log sum_v P(v) Pr[T | v] plus the sum of P over P >= 0 makes the sum 1. The curvature may come from a part
of the reports; the ratios never do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.joint.likelihood import Likelihood
from mechdesign.solvers.least_squares import nonnegative_quadratic

Array = NDArray[np.float64]
Progress = Callable[[int, float], None]

ROUNDING = 1.0 + 2.0**-40
"""The computed largest ratio times this is an upper bound of the true one: sums of at most 2**12 blocks."""

WARM_STEPS = 8
"""Expectation steps before the first working set."""

NEWCOMERS = 60
"""Cells that may enter the working set in a step; the first working set has twice as many."""

CURVATURE_REPORTS = 30_000
"""Distinct reports that the curvature is taken from."""

GONE = 1e-12
"""Cells with less than this part of the largest probability leave the working set."""

SUFFICIENT = 1e-4
MOST_STEPS = 200


@dataclass(frozen=True)
class LikelihoodMaximum:
    """A distribution and the proof of how likely it is.

    Attributes
    ----------
    distribution : (cells,) array
        Non-negative, sums to 1.
    value : float
        Negative log-likelihood per user.
    ratio : float
        The largest mean likelihood ratio, rounded up: 1 at the maximum.
    steps : int
        Steps that were taken.
    """

    distribution: Array
    value: float
    ratio: float
    steps: int

    @property
    def bound(self) -> float:
        """A lower bound of the negative log-likelihood per user of every distribution."""
        return self.value - math.log(max(1.0, self.ratio))


def judged(model: Likelihood, distribution: Array, steps: int = 0) -> LikelihoodMaximum:
    """Return a distribution with its value and its proven distance from the maximum."""
    densities = model.densities(distribution)
    if not (densities > 0.0).all():
        return LikelihoodMaximum(distribution, math.inf, math.inf, steps)
    ratio = float(model.ratios(densities).max()) * ROUNDING
    return LikelihoodMaximum(distribution, model.value(densities), ratio, steps)


def most_likely(
    model: Likelihood,
    gap: float = 1e-6,
    start: Array | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> LikelihoodMaximum:
    """Return a distribution whose largest mean likelihood ratio is at most 1 + gap.

    Parameters
    ----------
    model : Likelihood
    gap : float
        > 0.
    start : (cells,) array, optional
        Where to begin; the uniform distribution by default.
    rng : numpy Generator, optional
        Chooses the reports that the curvature is taken from, when there are many.
    progress : callable, optional
        Called with the step and the current gap.

    Returns
    -------
    Maximum
        With the smallest gap that was reached, should the steps not suffice.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> found = most_likely(model)
    >>> found.distribution.round(4).tolist(), found.ratio - 1.0 < 1e-6
    ([0.625, 0.375], True)
    """
    generator = np.random.default_rng(0) if rng is None else rng
    point = _warm(model) if start is None else start
    densities = model.densities(point)
    best, least = point, math.inf
    for step in range(MOST_STEPS):
        ratios = model.ratios(densities)
        largest = float(ratios.max()) * ROUNDING
        if largest < least:
            best, least = point, largest
        if progress is not None:
            progress(step, largest - 1.0)
        if largest <= 1.0 + gap:
            # with densities from the point, not carried from step to step
            maximum = judged(model, point, step)
            if maximum.ratio <= 1.0 + gap:
                return maximum
            densities = model.densities(point)
        moved = _newton_step(model, point, densities, ratios, generator)
        if moved is None:
            point = point * ratios / (point @ ratios)
            densities = model.densities(point)
        else:
            point, densities = moved
    return judged(model, best, MOST_STEPS)


def is_unique(model: Likelihood, distribution: Array, most: int = 2000) -> bool | None:
    """Return whether no other distribution is as likely, as far as rounding can tell; None if too many cells.

    All maxima give every report the same chance, and have mass only where the mean likelihood ratio is 1:
    there is only one where the reports' chances in these cells are independent.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 1, 0]]), np.array([5]), [3], 0.75, 0.25)
    >>> is_unique(model, np.array([0.5, 0.5, 0.0]))  # the first two values explain this report equally well
    False
    """
    ratios = model.ratios(model.densities(distribution))
    cells = np.flatnonzero((ratios > 1.0 - 1e-5) | (distribution > 1e-9))
    if len(cells) > most:
        return None
    if len(cells) > len(model.counts):
        return False
    reports = np.argsort(-model.counts, kind="stable")[: max(4000, 2 * len(cells))]
    rows = model.columns(cells, np.sort(reports))
    return bool(np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=0)) == len(cells))


def _warm(model: Likelihood) -> Array:
    """Return some expectation steps from the uniform distribution, kept to the most likely cells.

    Newton's steps need all mass in the working set: mass outside of it would have to go in one step.
    """
    point = np.full(model.cells, 1.0 / model.cells)
    for _ in range(WARM_STEPS):
        point = point * model.ratios(model.densities(point))
    largest = np.argsort(-point, kind="stable")[: 2 * NEWCOMERS]
    sparse = np.zeros_like(point)
    sparse[largest] = point[largest] / point[largest].sum()
    return sparse


def working_set(point: Array, ratios: Array) -> NDArray[np.int64]:
    """Return the cells that a step may change: those above 0, and the most promising others."""
    inside = np.flatnonzero(point > GONE * point.max())
    promising = np.argsort(-ratios, kind="stable")[:NEWCOMERS]
    return np.union1d(inside, promising[ratios[promising] > 1.0])


def _newton_step(
    model: Likelihood, point: Array, densities: Array, ratios: Array, rng: np.random.Generator
) -> tuple[Array, Array] | None:
    """Return the next distribution and its densities, or None when no step along Newton's direction helps."""
    cells = working_set(point, ratios)
    reports = np.arange(len(densities))
    if len(reports) > CURVATURE_REPORTS:
        reports = np.sort(rng.choice(len(densities), CURVATURE_REPORTS, replace=False))
    weights = model.counts / densities**2
    scale = weights.sum() / weights[reports].sum() / model.users
    rows = model.columns(cells, reports) * np.sqrt(weights[reports] * scale)[:, None]
    curvature = rows.T @ rows
    slopes = 1.0 - ratios
    target = np.zeros_like(point)
    try:
        target[cells] = nonnegative_quadratic(curvature, slopes[cells] - curvature @ point[cells])
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    direction = target - point
    return _shortened(model, point, direction, densities, float(slopes @ direction))


def _shortened(
    model: Likelihood, point: Array, direction: Array, densities: Array, slope: float
) -> tuple[Array, Array] | None:
    """Return point and densities after the first halving that lowers the objective enough; None after thirty.

    The target is >= 0, so that nothing is cut off on the way but rounding errors.
    """
    here = -float(model.counts @ np.log(densities)) / model.users + float(point.sum())
    change, length = model.densities(direction), 1.0
    for _ in range(30):
        there = densities + length * change
        if (there > 0.0).all():
            moved = np.maximum(point + length * direction, 0.0)
            value = -float(model.counts @ np.log(there)) / model.users + float(moved.sum())
            if value <= here + SUFFICIENT * length * min(slope, 0.0):
                total: float = float(moved.sum())
                return moved / total, there / total
        length /= 2.0
    return None
