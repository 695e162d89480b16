"""The joint distribution of penalized likelihood: computed, proven near to the exact one, penalty chosen.

**The proof.**
::

    minimize   F(p) = -(1/n) sum_i ln sum_v p_v Pr[T_i | v] + tau KL(p || q),   tau = lambda / n

With G(v) the mean likelihood ratio of cell v at p, sum_v p_v G(v) = 1, and -ln x >= 1 - x, any other r has
F(r) >= F(p) - tau KL(p || q) + 1 - sum_v r_v G(v) + tau KL(r || q), which is least at s ~ q exp(G/tau):

    F(p) - F* <= tau KL(p || q) - 1 + tau ln sum_v q_v exp(G(v)/tau) = tau KL(p || s).

It is 0 exactly at the minimizer p*, where p = s. Since F(p) - F* >= tau KL(p || p*), p is within
sqrt(gap / (2 tau)) of p* in variation distance.

**Small tables.**
Where few cells are held and the penalty is small, quadratic models of independent effects approach the
minimum slowly. With A the chances of the reports by cell, c their shares and F(p) = -c'ln(A p) + tau KL(p, q)
a step solves for u = dp / sqrt(p) on the plane where the cells still sum to 1. In these coordinates the
curvature is at least tau in every direction.

**The penalty.**
Four parts of the users are left out in turn. The others' reports give effects, a reference q (even shares, or
the product of their own shares of single attributes) and, for each lambda, the distribution that minimizes
the quadratic form of the penalized likelihood; it is judged by how far it is from the effects of those who
were left out, in their weights. A reference from all users would leak, and make lambda too large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import number_of_text, text_of
from mechdesign.families.joint.likelihood import EffectMoments, Likelihood
from mechdesign.solvers.least_squares import entropic_least_squares

Array = NDArray[np.float64]

MOST_CELLS = 256
"""Larger tables are left to the quadratic models: the curvature is a matrix of cells by cells."""

MOST_ENTRIES = 1 << 24
"""Of the probabilities of all reports by cell."""

NEWTON_STEPS = 200
INSIDE = 0.9
"""A step goes at most this part of the way to the border."""

FALL = 1e-4
"""The part of the predicted fall that a step has to keep."""


def is_small(model: Likelihood) -> bool:
    """Return whether the curvature of a table fits into memory, and soon enough into time."""
    return model.cells <= MOST_CELLS and model.cells * len(model.counts) <= MOST_ENTRIES


def newton(model: Likelihood, start: Array, reference: Array, tau: float) -> Array:
    """Return about the distribution of penalized likelihood; whoever calls judges it.

    Parameters
    ----------
    model : Likelihood
        A small one.
    start, reference : (cells,) array
        Positive distributions.
    tau : float
        The penalty for each user, > 0.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> newton(model, np.full(2, 0.5), np.full(2, 0.5), 1e-9).round(6).tolist()
    [0.625, 0.375]
    """
    chances = np.column_stack([model.densities(row) for row in np.eye(model.cells)])
    shares = model.counts / model.users
    point: Array = start / start.sum()

    def value(cells: Array) -> float:
        entropy = float(cells @ np.log(cells / reference))
        return tau * entropy - float(shares @ np.log(chances @ cells))

    here = value(point)
    for _ in range(NEWTON_STEPS):
        density = chances @ point
        gradient = tau * (np.log(point / reference) + 1.0) - chances.T @ (shares / density)
        roots = np.sqrt(point)
        scaled = (chances * roots) * (np.sqrt(shares) / density)[:, None]
        curvature = scaled.T @ scaled + tau * np.eye(len(point))
        both = np.linalg.solve(curvature, np.column_stack([roots * gradient, roots]))
        step = roots * (both[:, 1] * (roots @ both[:, 0]) / (roots @ both[:, 1]) - both[:, 0])
        slope = float(gradient @ step)
        if slope > -1e-16 * max(1.0, abs(here)):
            break
        down = step < 0.0
        length = min(1.0, INSIDE * float((-point[down] / step[down]).min())) if down.any() else 1.0
        while length > 1e-12:
            moved = point + length * step
            there = value(moved)
            if there <= here + FALL * length * slope:
                break
            length /= 2.0
        else:
            break
        point, here = moved / moved.sum(), there
    return point


DISTANCE = 1e-3
"""The variation distance from the exact minimizer that is asked for."""

QUADRATIC_STEPS = 40
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
    >>> fit = penalized_likelihood(model, np.full(2, 0.5), 1e-6, distance=1e-5)
    >>> fit.distribution.round(4).tolist(), fit.gap < 1e-8  # lambda to 0: most likely
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
    for step in range(1, QUADRATIC_STEPS + 1):
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
        judged = judged_penalized(model, aim, reference, penalty, step)
        if judged.gap >= best.gap:
            moved = _shortened(model, point, aim, densities, reference, tau)
            if moved is None:
                steeper *= STEEPER
                continue
            judged = judged_penalized(model, moved, reference, penalty, step)
        steeper = max(1.0, steeper / STEEPER)
        multipliers, point = fit.multipliers, judged.distribution
        best = judged if judged.gap < best.gap else best
    if best.distance > distance and is_small(model):
        polished = newton(model, np.maximum(best.distribution, 1e-12), reference, tau)
        judged = judged_penalized(model, polished, reference, penalty, best.steps)
        best = judged if judged.gap < best.gap else best
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


PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
LARGEST = {3.0: 1024}
"""Tables with more cells are not tried with these penalties: what they ask for is slow to find."""

CROSS_VALIDATED = "cross-validated"
LEAST_PENALTY, MOST_PENALTY = 1e-9, 1e9

REFERENCES = ("uniform", "product")
FOLDS = 4

ROUGH = 1e-3
"""Largest distance of compared fits from their minimum, in units of the log-likelihood."""

PATIENCE = 2
"""Smaller penalties are not tried after this many in a row that predict worse."""


@dataclass(frozen=True)
class PenaltyChoice:
    """A penalty and a reference.

    Attributes
    ----------
    penalty : float
        lambda.
    reference : str
        ``"uniform"`` or ``"product"``, of the estimated shares of single attributes.
    """

    penalty: float
    reference: str


def joint_penalty(value: Any) -> float | None:
    """Return lambda; None for cross-validation, which is the default.

    Examples
    --------
    >>> joint_penalty("10"), joint_penalty("cross-validated")
    (10.0, None)
    """
    if value is None or value == CROSS_VALIDATED:
        return None
    number = number_of_text(value) if isinstance(value, str) else value
    if number is None:
        raise ParameterError(
            "penalty", f"{text_of(value)} is neither a number nor '{CROSS_VALIDATED}'", "give one of them"
        )
    return in_range("penalty", number, LEAST_PENALTY, MOST_PENALTY)


def reference_of(moments: EffectMoments, mean: Array, name: str) -> Array:
    """Return the reference of a name, from mean coordinates."""
    if name == "uniform":
        cells = moments.model.cells
        return np.full(cells, 1.0 / cells)
    return moments.reference(mean)


def best_penalty(
    model: Likelihood,
    moments: EffectMoments,
    penalties: Sequence[float] | None = None,
    references: Sequence[str] = REFERENCES,
) -> PenaltyChoice:
    """Return the penalty and the reference that predict users who were left out best.

    Parameters
    ----------
    model : Likelihood
    moments : EffectMoments
        Those of the model.
    penalties : sequence of float, optional
        Falling.
    references : sequence of str

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([600, 400]), [2], 0.75, 0.25)
    >>> best_penalty(model, EffectMoments(model), references=["uniform"]).penalty <= 30.0
    True
    """
    if penalties is None:
        penalties = [each for each in PENALTIES if model.cells <= LARGEST.get(each, model.cells)]
    pairs = [(name, penalty) for name in references for penalty in penalties]
    if len(pairs) == 1 or model.users < FOLDS:
        name, penalty = pairs[0]
        return PenaltyChoice(penalty, name)
    split = []
    for part in _parts(model.counts):
        rest = model.counts - part
        split.append((moments.mean(rest), moments.mean(part), float(rest.sum()) / model.users))
    scores: dict[tuple[str, float], float] = {}
    for name in references:
        for penalty, score in zip(penalties, _path(model, moments, split, penalties, name), strict=False):
            scores[name, penalty] = score
    name, penalty = min(scores, key=lambda pair: scores[pair])
    return PenaltyChoice(penalty, name)


def _path(
    model: Likelihood,
    moments: EffectMoments,
    split: Sequence[tuple[Array, Array, float]],
    penalties: Sequence[float],
    name: str,
) -> Iterator[float]:
    """Yield for falling penalties how badly the others predict those left out, until it only gets worse."""
    transform, weights = moments.transform, model.users / moments.variance
    references = [reference_of(moments, others, name) for others, _, _ in split]
    starts: list[Array | None] = [None] * len(split)
    best, worse = math.inf, 0
    for penalty in penalties:
        score = 0.0
        for place, (others, own, share) in enumerate(split):
            fit = entropic_least_squares(
                transform,
                others,
                share * weights,
                references[place],
                penalty,
                starts[place],
                math.sqrt(ROUGH / (2.0 * penalty)),
            )
            starts[place] = fit.multipliers
            miss = transform.forward(fit.shares) - own
            score += (1.0 - share) * float(weights @ miss**2)
        yield score
        worse = worse + 1 if score > best else 0
        best = min(best, score)
        if worse == PATIENCE:
            return


def _parts(counts: Array) -> list[Array]:
    """Return how many users with each report fall into each part, drawn without a look at the reports."""
    users = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    part = np.random.default_rng(0).permutation(np.arange(len(users)) % FOLDS)
    return [
        np.bincount(users[part == fold], minlength=len(counts)).astype(np.float64) for fold in range(FOLDS)
    ]
