"""The distribution of penalized likelihood, with a proof of how near it is to the exact one.

::

    minimize   F(p) = -(1/n) sum_i ln sum_v p_v Pr[T_i | v] + tau KL(p || q),   tau = lambda / n

With G(v) the mean likelihood ratio of cell v at p, sum_v p_v G(v) = 1, and -ln x >= 1 - x, any other r has
F(r) >= F(p) - tau KL(p || q) + 1 - sum_v r_v G(v) + tau KL(r || q), which is least at s ~ q exp(G/tau):

    F(p) - F* <= tau KL(p || q) - 1 + tau ln sum_v q_v exp(G(v)/tau) = tau KL(p || s).

It is 0 exactly at the minimizer p*, where p = s. Since F(p) - F* >= tau KL(p || p*), p is within
sqrt(gap / (2 tau)) of p* in variation distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.joint.likelihood import Likelihood
from mechdesign.families.joint.moments import EffectMoments
from mechdesign.families.joint.small_newton import is_small, newton
from mechdesign.solvers.entropic import entropic_least_squares

Array = NDArray[np.float64]

DISTANCE = 1e-3
"""The variation distance from the exact minimizer that is asked for."""

STEPS = 40
INNER_STEPS = 400
"""Quasi-Newton steps for a quadratic model: what they reach is as good a direction."""

SUFFICIENT = 1e-4
STEEPER = 4.0
"""By this the curvature is raised when a step does not help."""

STEEPEST = STEEPER**8

LEAST = 1e-250
"""Smallest value of a share, so that it has a logarithm."""

ROUNDING = 2.0**-40
"""An upper bound of the relative error of a mean likelihood ratio."""


@dataclass(frozen=True, eq=False)
class Penalized:
    """A distribution and the proof of how near it is to the one of penalized likelihood.

    Attributes
    ----------
    distribution : (cells,) array
        Positive, sums to 1.
    value : float
        F: negative log-likelihood per user, plus tau times the relative entropy.
    gap : float
        An upper bound of F(p) - F*.
    penalty : float
        lambda.
    users : int
    steps : int
    """

    distribution: Array
    value: float
    gap: float
    penalty: float
    users: int
    steps: int
    slack: float = 0.0

    @property
    def distance(self) -> float:
        """An upper bound of the variation distance from the exact minimizer."""
        return min(1.0, math.sqrt(self.gap * self.users / (2.0 * self.penalty)))


def relative_entropy(shares: Array, reference: Array) -> float:
    """Return KL(p || q) in natural logarithms; infinite where q is 0 and p is not."""
    inside = shares > 0.0
    if (reference[inside] <= 0.0).any():
        return math.inf
    return float((shares[inside] * np.log(shares[inside] / reference[inside])).sum())


def judged_penalized(
    model: Likelihood, distribution: Array, reference: Array, penalty: float, steps: int = 0
) -> Penalized:
    """Return a distribution with its value and its proven distance from the minimum."""
    densities = model.densities(distribution)
    if not (densities > 0.0).all():
        return Penalized(distribution, math.inf, math.inf, penalty, model.users, steps)
    tau = penalty / model.users
    ratios = model.ratios(densities)
    exponents = np.log(reference) + ratios / tau
    top = float(exponents.max())
    best = exponents - top - math.log(float(np.exp(exponents - top).sum()))  # ln s
    inside = distribution > 0.0
    shares = distribution[inside]
    gap = tau * float((shares * (np.log(shares) - best[inside])).sum())
    slack = ROUNDING * (1.0 + float(ratios.max()))
    value = model.value(densities) + tau * relative_entropy(distribution, reference)
    return Penalized(distribution, value, max(gap, 0.0) + slack, penalty, model.users, steps, slack)


def penalized_likelihood(
    model: Likelihood,
    reference: Array,
    penalty: float,
    moments: EffectMoments | None = None,
    start: Array | None = None,
    distance: float = DISTANCE,
) -> Penalized:
    """Return a distribution that is proven to be near to the one of penalized likelihood.

    Every step minimizes a quadratic model of the likelihood, whose curvature is that of independent effects,
    plus the penalty itself; what it gives is approached until F falls enough.

    Parameters
    ----------
    model : Likelihood
    reference : (cells,) array
        q, positive with sum 1.
    penalty : float
        lambda > 0, in units of the log-likelihood of all users.
    moments : EffectMoments, optional
        Those of the model, where they are at hand.
    start : (cells,) array, optional
        A positive distribution; by default that of the quadratic model around the unbiased effects.
    distance : float
        Stop within this variation distance of the exact minimizer.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> found = penalized_likelihood(model, np.full(2, 0.5), 1e-6, distance=1e-5)
    >>> found.distribution.round(4).tolist(), found.gap < 1e-8  # lambda to 0: most likely
    ([0.625, 0.375], True)
    """
    known = EffectMoments(model) if moments is None else moments
    transform, tau = known.transform, penalty / model.users
    weights, multipliers = model.users / known.variance, None
    lengths = 1.0 / (model.cells * transform.squares)  # E E' is diagonal
    point = start
    if point is None:
        first = entropic_least_squares(transform, known.mean(model.counts), weights, reference, penalty)
        point, multipliers = first.shares, first.multipliers
    point = np.maximum(point, LEAST)
    best, steeper = judged_penalized(model, point, reference, penalty), 1.0
    for step in range(1, STEPS + 1):
        if best.distance <= distance or best.gap <= 2.0 * best.slack or steeper > STEEPEST:
            break
        densities = model.densities(point)
        slope = transform.forward(model.ratios(densities)) * lengths
        metric = steeper * weights
        target = transform.forward(point) + slope * model.users / metric
        near = min(1e-4, 0.1 * best.distance)
        fit = entropic_least_squares(
            transform, target, metric, reference, penalty, multipliers, near, INNER_STEPS
        )
        aim = np.maximum(fit.shares, LEAST)
        found = judged_penalized(model, aim, reference, penalty, step)
        if found.gap >= best.gap:
            moved = _shortened(model, point, aim, densities, reference, tau)
            if moved is None:
                steeper *= STEEPER
                continue
            found = judged_penalized(model, moved, reference, penalty, step)
        steeper = max(1.0, steeper / STEEPER)
        multipliers, point = fit.multipliers, found.distribution
        best = found if found.gap < best.gap else best
    if best.distance > distance and is_small(model):
        polished = newton(model, np.maximum(best.distribution, 1e-12), reference, tau)
        found = judged_penalized(model, polished, reference, penalty, best.steps)
        best = found if found.gap < best.gap else best
    return best


def _shortened(
    model: Likelihood, point: Array, target: Array, densities: Array, reference: Array, tau: float
) -> Array | None:
    """Return the point on the way to a target where F has fallen enough; None where none is found."""
    change = model.densities(target) - densities
    logs = np.log(point / reference)
    slope = -float(model.counts @ (change / densities)) / model.users
    slope += tau * float((target - point) @ logs)
    if slope >= 0.0:
        return None
    here, length = tau * float(point @ logs), 1.0
    for _ in range(30):
        moved = np.maximum(point + length * (target - point), LEAST)
        gain = np.log1p(length * change / densities)
        value = -float(model.counts @ gain) / model.users + tau * relative_entropy(moved, reference) - here
        if value <= SUFFICIENT * length * slope:
            total: float = float(moved.sum())
            return moved / total
        length /= 2.0
    return None
