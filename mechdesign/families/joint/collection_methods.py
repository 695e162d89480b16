"""Methods of the problem ``joint-collection``: formulas, and boxes with monotone bounds.

**Closed form, where all noise is drawn again: a single report, or promises that R single ones already keep.**
Any two reports of a user have a covariance >= 0 (both come from the kept bit), so the variance of the mean of
R is at least that of one divided by R; and one report with likelihood ratio E has at least 4 E / (E - 1)^2,
which q = 1/2, p = 1/(E + 1), f = 0 attain (Wang et al. 2017).

**Branch and bound over boxes of (p/q, (1-q)/(1-p)).**
The variance rises in h = f/2, x = p/q and y = (1-q)/(1-p); the least h that keeps the promises falls in x and
y. So in a box no h below that of its upper corner will do, and the variance is at least that of this h at its
lower corner. Boxes that cannot hold anything better than what was found, by more than a tolerance, are
dropped; the others are cut into four. Of a single report only q* and p* matter, so that f = 0 loses nothing:
then y = 1 / (E x), and the boxes are intervals of x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.joint.collection import (
    SAFETY,
    JointCollection,
    impossible,
    probabilities,
    variance,
)
from mechdesign.families.joint.one_bit import TWO, least_bit_variance

Array = NDArray[np.float64]


def value_lower_bound(problem: JointCollection) -> float:
    """Return a lower bound of the value: all reports' ratio bounds it, and so does one report's divided by R.

    Examples
    --------
    >>> round(value_lower_bound(JointCollection(attributes=[2, 2], epsilon=2.0)), 6)
    3.682694
    >>> round(value_lower_bound(JointCollection(attributes=[2, 2], epsilon=2.0, two_valued="one-hot")), 6)
    14.730778
    """
    ratios, reports = (problem.ratio, problem.report_ratio), problem.reports_per_user
    several, single = (
        max(least(ratios[0]), least(ratios[1]) / reports) for least in (_least_variance, least_bit_variance)
    )
    return (problem.one_hot_bits * several + TWO * problem.alone * single) * (1.0 - SAFETY)


def _least_variance(ratio: float) -> float:
    """Return 4 E / (E - 1)^2: no unbiased estimate from data of this likelihood ratio has less variance.

    Examples
    --------
    >>> _least_variance(3.0)
    3.0
    """
    return 4.0 / (ratio - 2.0 + 1.0 / ratio)


def closed_form(problem: JointCollection) -> Outcome:
    """Return redraw = 0, keep = 1/2 and add = 1/(E + 1) with E that of one report on one attribute.

    One bit for two values is flipped once with 1/(E + 1), with E that of all reports, and reported as it is;
    with a separate limit of a report it is drawn for each with the E of one.
    """
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="formula", message=reason)
    chance, variables = 1.0 / (problem.report_ratio + 1.0), {}
    if problem.one_hot_bits:
        variables = {"redraw": 0.0, "keep": 0.5, "add": chance}
    if problem.alone:
        fresh = {"bit_redraw": 0.0, "bit_keep": 1.0 - chance}
        variables |= _permanent_bit(problem) if _one_limit(problem) else fresh
    return Outcome(
        status="optimal",
        variables=variables,
        bound=value_lower_bound(problem),
        bound_source="the likelihood ratio of one report",
        solver="formula",
    )


def _one_limit(problem: JointCollection) -> bool:
    """Whether a report alone has no limit of its own."""
    return problem.report_ratio == problem.ratio


def _permanent_bit(problem: JointCollection) -> dict[str, float]:
    """Return the bit that is flipped once and is every report of the user."""
    return {"bit_redraw": 2.0 / (problem.ratio + 1.0), "bit_keep": 1.0}


def why_not_closed_form(problem: JointCollection) -> str | None:
    """Return why the method does not apply, or None."""
    single = problem.reports_per_user == 1 or (not problem.one_hot_bits and _one_limit(problem))
    enough = (
        problem.report_epsilon is not None
        and problem.reports_per_user * problem.report_epsilon <= problem.epsilon
    )
    if single or enough or impossible(problem) is not None:
        return None
    return "several reports that together reveal more than epsilon need noise that is kept"


TOLERANCE = 1e-5
"""Boxes that could only be better by less than this part are dropped."""

ROUNDING = 1e-9
"""More than the roundings of a bound, relative; the least h is a difference from 1/2."""

MOST_EACH = 25.0
"""The largest epsilon of one attribute: above, variances are below 1e-11 and lost in rounding."""

MOST_BOXES = 1 << 19
MOST_LEVELS = 60


@dataclass(frozen=True)
class BoxSearch:
    """Boxes of one or two unknowns, with monotone bounds.

    Attributes
    ----------
    low, high : (unknowns, 1) array
        Where it begins.
    best_of : callable
        The least variance at points of boxes, and the unknowns there.
    bounds : callable
        A lower bound of the variance in each box.
    cut : callable
        The parts of all boxes.
    """

    low: Array
    high: Array
    best_of: Callable[[Array, Array], tuple[float, tuple[float, ...]]]
    bounds: Callable[[Array, Array], Array]
    cut: Callable[[Array, Array], tuple[Array, Array]]

    def run(self) -> Optimum:
        """Drop boxes that cannot be better, cut the others; the bound is what no box can beat."""
        best, boxes, levels = np.inf, 0, 0
        place: tuple[float, ...] = (0.0,) * len(self.low)
        low, high, left = self.low, self.high, np.inf
        while low.shape[1] and levels < MOST_LEVELS:
            boxes, levels = boxes + low.shape[1], levels + 1
            least, where = self.best_of(low, high)
            if least < best:
                best, place = least, where
            bounds = self.bounds(low, high)
            keep = bounds < best * (1.0 - TOLERANCE)
            if 4 * int(keep.sum()) > MOST_BOXES:
                left = float(bounds[keep].min())
                break
            low, high = self.cut(low[:, keep], high[:, keep])
        else:
            left = np.inf if not low.shape[1] else float(self.bounds(low, high).min())
        proven = min(best * (1.0 - TOLERANCE), left) * (1.0 - ROUNDING)
        return Optimum(best, proven, place, {"boxes": boxes, "levels": levels})


@dataclass(frozen=True)
class Optimum:
    """The least variance of a bit, its lower bound, where it is, and the work."""

    best: float
    proven: float
    place: tuple[float, ...]
    notes: Mapping[str, int]


def branch_and_bound(problem: JointCollection) -> Outcome:
    """Search all boxes; the bound is what no box that was dropped or is left can beat."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="branch and bound", message=reason)
    variables: dict[str, float] = {}
    value, proven, notes = 0.0, 0.0, {"boxes": 0, "levels": 0}
    if problem.one_hot_bits:
        optimum = _one_hot_search(problem).run()
        value, proven = problem.one_hot_bits * optimum.best, problem.one_hot_bits * optimum.proven
        x, y = optimum.place
        q, p = probabilities(x, y)
        flip = float(problem.least_flip(np.float64(x), np.float64(y)))
        variables, notes = {"redraw": 2.0 * flip, "keep": q, "add": p}, dict(optimum.notes)
    if problem.alone:
        optimum = _bit_search(problem).run()
        value += TWO * problem.alone * optimum.best
        proven += TWO * problem.alone * optimum.proven
        (x,) = optimum.place
        flip = float(problem.least_bit_flip(np.float64(x)))
        variables |= {"bit_redraw": 2.0 * flip, "bit_keep": 1.0 / (1.0 + x)}
        notes = {name: notes[name] + number for name, number in optimum.notes.items()}
    return Outcome(
        status="optimal" if value * (1.0 - problem.optimal_within) <= proven else "feasible",
        variables=variables,
        bound=proven,
        bound_source="branch and bound",
        solver="branch and bound",
        notes=notes,
    )


def _one_hot_search(problem: JointCollection) -> BoxSearch:
    """Return the search for the one-hot bits: of a single report only q* and p* matter, a curve."""
    high = np.ones((2, 1))
    if problem.reports_per_user > 1:
        return BoxSearch(np.zeros((2, 1)), high, partial(_best_of, problem), partial(_bounds, problem), _cut)
    low = np.array([[1.0 / problem.report_ratio], [0.0]])
    return BoxSearch(
        low,
        high,
        lambda low, high: _best_of(problem, *_on_curve(problem, low, high)),
        partial(_single_bounds, problem),
        _halved,
    )


def _bit_search(problem: JointCollection) -> BoxSearch:
    """Return the search for one bit that says two values: intervals of x = (1-keep)/keep."""

    def value(flip_at: Array, x: Array) -> Array:
        return _variance(problem, problem.least_bit_flip(flip_at) * (1.0 - ROUNDING), x, x)

    def best_of(low: Array, high: Array) -> tuple[float, tuple[float, ...]]:
        points = np.concatenate([low[0], (low[0] + high[0]) / 2.0])
        values = _variance(problem, problem.least_bit_flip(points), points, points)
        number = int(np.argmin(values))
        return float(values[number]), (float(points[number]),)

    def bounds(low: Array, high: Array) -> Array:
        return value(high[0], low[0])

    return BoxSearch(np.zeros((1, 1)), np.ones((1, 1)), best_of, bounds, _halved)


def _variance(problem: JointCollection, h: Array, x: Array, y: Array) -> Array:
    """Return the variance of a bit, infinite where reports say nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = variance(h, x, y, problem.reports_per_user)
    return np.where((h < 0.5) & (x < 1.0) & (y < 1.0), variances, np.inf)


def _least_flip(problem: JointCollection, x: Array, y: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        flips: Array = np.nan_to_num(problem.least_flip(x, y), nan=0.0)
    return flips


def _best_of(problem: JointCollection, low: Array, high: Array) -> tuple[float, tuple[float, ...]]:
    """Return the least variance at the boxes' lower corners, lower edges and middles, and where it is."""
    middle = (low + high) / 2.0
    points = np.concatenate(
        [low, middle, np.stack([low[0], middle[1]]), np.stack([middle[0], low[1]])], axis=1
    )
    values = _variance(problem, _least_flip(problem, *points), *points)
    number = int(np.argmin(values))
    return float(values[number]), (float(points[0, number]), float(points[1, number]))


def _bounds(problem: JointCollection, low: Array, high: Array) -> Array:
    """Return a lower bound of the variance in each box."""
    flip = np.minimum(_least_flip(problem, *high), 0.5) * (1.0 - ROUNDING)
    return _variance(problem, flip, *low)


def _cut(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the quarters of all boxes."""
    middle = (low + high) / 2.0
    lows, highs = [], []
    for first in (0, 1):
        for second in (0, 1):
            side = np.array([first, second])[:, None] == 1
            lows.append(np.where(side, middle, low))
            highs.append(np.where(side, high, middle))
    return np.concatenate(lows, axis=1), np.concatenate(highs, axis=1)


def _on_curve(problem: JointCollection, low: Array, high: Array) -> tuple[Array, Array]:
    """Return points x, y = 1 / (E x) with f = 0, as boxes of no width."""
    x = (low[0] + high[0]) / 2.0
    points = np.stack([x, np.minimum(1.0, (1.0 + ROUNDING) / (problem.report_ratio * x))])
    return points, points


def _single_bounds(problem: JointCollection, low: Array, high: Array) -> Array:
    """Return a lower bound of x / ((1-x)(1-y)) with y = 1 / (E x) for x in each interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        least = low[0] / ((1.0 - low[0]) * (1.0 - 1.0 / (problem.report_ratio * high[0])))
    return np.where(low[0] < 1.0, least, np.inf)


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the halves of all intervals of x."""
    middle = (low + high) / 2.0
    return np.concatenate([low, middle], axis=1), np.concatenate([middle, high], axis=1)


def why_not_branch_and_bound(problem: JointCollection) -> str | None:
    """Return why doubles are too coarse for the search, or None.

    Examples
    --------
    >>> why_not_branch_and_bound(JointCollection(attributes=[2, 2], epsilon=60.0, reports_per_user=2))
    'epsilon is 30 for each attribute, too large for doubles; at most 25 each for several reports'
    """
    each = problem.epsilon / len(problem.attributes)
    if each <= MOST_EACH:
        return None
    return (
        f"epsilon is {each:g} for each attribute, too large for doubles; "
        f"at most {MOST_EACH:g} each for several reports"
    )


METHODS = (
    Method("closed-form", JointCollection, "analytic",
           "fresh noise alone: keep = 1/2, add = 1/(e^(epsilon/d) + 1)",
           closed_form, why_not_closed_form),
    Method("branch-and-bound", JointCollection, "numeric",
           "monotone bounds on boxes of add/keep and (1-keep)/(1-add), for any number of reports",
           branch_and_bound, why_not_branch_and_bound),
)  # fmt: skip
