"""The methods of ``randomized-response``: the table, the closed form, the staircase program; and figures.

The first method of the table that applies is the default. ``figures`` shows, for two answers, the polygon of
private channels (figures 1 and 5), and the cells of the channel.

**Closed form** for the probability of a true report, any number of answers, any (epsilon, delta). With the
prior sorted descending and S_k the sum of its k largest entries,

    u*(pi, eps, delta) = delta + (1 - delta) max_k  e^eps S_k / (e^eps + k - 1).

Proof sketch (docs/families/response.md has it in full). Let m_j = min_i p_ij, M = sum_j m_j. Entry by entry,
p_ii <= min(e^eps m_i + delta, 1 - M + m_i). For fixed M the right side is concave and piecewise linear in m_i
with its kink at t = (1 - M - delta) / (e^eps - 1), so the most likely answers are filled to t first; between
full fillings, M = k t, the bound is linear in M. (Where t < 0, that is 1 - M < delta, the right side is
1 - M + m_i, which gives at most delta + (1 - delta) S_1.) Set by set is stricter, so the bound holds for both
notions; (1 - delta) P_0 + delta I attains it for both. For n = 2 these are eqs. (4) and (15) of Zhou, Lu,
Wu (2019).

**Staircase**: mutual information as the utility, an exact linear program over staircase columns.
I(answer; report) is convex in the channel, so maximizing it is not a convex program; its maximum is at
an extreme point. But it is a sum over reports of mu(column), mu(p) = sum_i pi_i p_i log2(p_i / (pi . p)),
and mu is convex and positively homogeneous: splitting a column into extreme rays, the patterns s in
{1, e^eps}^n, never lowers it. So the maximum is the linear program (Kairouz, Oh, Viswanath 2016, th. 4)

    maximize sum_s theta_s mu(s)   subject to   sum_s theta_s s = 1,   theta >= 0,

over all 2^n patterns. It has n rows, so an optimal basis uses at most n patterns: n reports suffice.
Dual: prices y with y . s >= mu(s) for all s. Any y becomes feasible by adding the largest
(mu(s) - y . s) / sum(s) to every price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.response import (
    extended_response as convex_program,
    extreme_points,
    interior_point,
    linear_program,
    noise,
)
from mechdesign.families.response.linear_program import polished
from mechdesign.families.response.parameters import pattern_information
from mechdesign.families.response.randomized_response import RandomizedResponse
from mechdesign.primitives.kary_channel import KaryChannel
from mechdesign.solvers.statement import statement_method

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure, Line

DENSE_LIMIT = 1024
"""Up to this many answers the channel is a plain (n, n) array; above, a structured KaryChannel."""


def best_count(problem: RandomizedResponse) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]], float]:
    """Return the number of answers to keep, all answers by falling prior, and the optimum u*."""
    order = np.argsort(-problem.prior, kind="stable")
    sums = np.cumsum(problem.prior[order], dtype=np.longdouble)
    # e^eps S / (e^eps + k - 1), divided through by e^eps so that nothing overflows
    others = np.arange(problem.size, dtype=np.float64) * math.exp(-problem.epsilon)
    values = (sums / (1.0 + others)).astype(np.float64)
    count = int(np.argmax(values)) + 1
    return count, order, problem.delta + (1.0 - problem.delta) * float(values[count - 1])


def solve_closed_form(problem: RandomizedResponse) -> Outcome:
    """Evaluate the closed form and build its channel."""
    count, order, optimum = best_count(problem)
    structured = KaryChannel(problem.size, order[:count].astype(np.int64), problem.epsilon, problem.delta)
    channel = structured.dense() if problem.size <= DENSE_LIMIT else structured
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=optimum,
        bound_source="the closed form's proof",
        solver="closed form",
        notes={"kept_answers": count},
        realisation=structured,
    )


def why_no_closed_form(problem: RandomizedResponse) -> str | None:
    """Return why the closed form does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not isinstance(problem.utility, str) or problem.utility != "truth":
        return "it is for the utility 'truth'"
    if problem.distance is not None:
        return "it is for plain, not for metric privacy"
    return None


Array = NDArray[np.float64]

MAX_ANSWERS = 16


def solve_staircase(problem: RandomizedResponse) -> Outcome:
    """Solve the staircase program and turn its basis into a channel."""
    from mechdesign.solvers.linear import solve_equality_form

    patterns = all_patterns(problem.size, math.exp(problem.epsilon))
    information = pattern_information(problem.prior, patterns)
    unit = float(information.max())  # the tolerances of a solver are absolute
    if unit <= 0.0:
        return _nothing(problem)
    values = information / unit
    shares, prices = solve_equality_form(values, patterns, np.ones(problem.size))
    used = np.argsort(-shares, kind="stable")[: problem.reports]
    channel = np.zeros((problem.size, problem.reports))
    channel[:, : len(used)] = patterns[:, used] * np.maximum(shares[used], 0.0)
    final, notes = polished(problem, channel)
    return Outcome(
        status="optimal",
        variables={"channel": final},
        bound=math.nextafter(unit * _proven_bound(values, patterns, prices), math.inf),
        bound_source="feasible prices of the dual over all patterns",
        solver="HiGHS simplex",
        notes=notes,
    )


def _nothing(problem: RandomizedResponse) -> Outcome:
    """Return a channel that tells nothing, where e^eps is 1 to the last digit or the answer is certain."""
    channel = np.zeros((problem.size, problem.reports))
    channel[:, 0] = 1.0
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=2.0 * problem.epsilon**2 if (problem.prior > 0.0).sum() > 1 else 0.0,
        bound_source="a report changes probabilities by at most e^epsilon",
        solver="formula",
    )


def all_patterns(size: int, exponential: float) -> Array:
    """Return the patterns in {1, e^eps}^n as columns; the constant one stands for both constant ones."""
    numbers = np.arange(max(1, (1 << size) - 1))
    bits = (numbers >> np.arange(size)[:, None]) & 1
    patterns: Array = np.where(bits == 1, exponential, 1.0)
    return patterns


def _proven_bound(values: Array, patterns: Array, prices: Array) -> float:
    """Return sum y after making the prices feasible, enlarged by what rounding may have lost."""
    size = len(prices)
    masses = patterns.sum(axis=0)
    lost = (size + 8) * 2.0**-51 * (np.abs(values) + np.abs(prices) @ patterns + masses)
    shift = max(0.0, float(((values - prices @ patterns + lost) / masses).max()))
    return (
        math.fsum(prices.tolist()) + size * shift * (1.0 + 2.0**-50) + 2.0**-50 * float(np.abs(prices).sum())
    )


def why_no_staircase(problem: RandomizedResponse) -> str | None:
    """Return why the staircase program does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if problem.is_linear:
        return "it is for the utility 'mutual-information'"
    if problem.delta > 0 or problem.distance is not None:
        return "its patterns are those of plain epsilon privacy, without delta or distance"
    if problem.size > MAX_ANSWERS:
        return f"{problem.size} answers have 2^{problem.size} patterns; the limit is {MAX_ANSWERS} answers"
    if problem.epsilon > 30:
        return "e^epsilon is too large for its coefficients"
    return None


def from_statement(problem: RandomizedResponse, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the channel of a statement, repaired so that it is private exactly."""
    return {"channel": polished(problem, np.asarray(values["channel"]))[0]}


METHODS = (
    Method("closed-form", RandomizedResponse, "analytic",
           "keep the k most likely answers, k by the n-ary formula", solve_closed_form, why_no_closed_form),
    Method("geometric", RandomizedResponse, "analytic",
           "truncated geometric channel and its best remap, for metric privacy on a line",
           noise.truncated_geometric, noise.why_no_geometric),
    Method("staircase", RandomizedResponse, "numeric",
           "exact maximum of the mutual information by a linear program over staircase columns",
           solve_staircase, why_no_staircase),
    Method("interior-point", RandomizedResponse, "numeric",
           "metric privacy on hundreds of places, column by column, bound by weak duality",
           interior_point.run, interior_point.why_not, defers=interior_point.defers),
    Method("lp", RandomizedResponse, "numeric", "compact linear program through HiGHS, bound by weak duality",
           linear_program.run, linear_program.why_not),
    Method("convex", RandomizedResponse, "numeric",
           "declarative cvxpy model, accepts custom convex constraints and concave utilities",
           convex_program.run, convex_program.why_not),
    Method("extreme-points", RandomizedResponse, "numeric",
           "all extreme points of the polytope of channels, n <= 4",
           extreme_points.run, extreme_points.why_not),
    Method("planar-remapped", RandomizedResponse, "heuristic",
           "planar Laplace noise, each observed point mapped to the best report",
           noise.remapped, noise.why_no_noise),
    Method("planar-laplace", RandomizedResponse, "heuristic",
           "planar Laplace noise, each observed point moved to the nearest location",
           noise.nearest, noise.why_not_nearest),
    statement_method(RandomizedResponse, most=4000),
)  # fmt: skip


def figures(problem: RandomizedResponse, solution: Solution[Any]) -> list[Figure]:
    """Return the polygon with the optimum and its level line where it is one, and the channel as cells."""
    from mechdesign.show.panels import MOST_HEAT, channel_figures

    if max(problem.size, problem.reports) > MOST_HEAT:
        return []
    channel = np.asarray(solution.variables["channel"], dtype=np.float64)
    answers = [str(number) for number in range(problem.size)] if problem.labels is None else problem.labels
    reports = [str(number) for number in range(problem.reports)]
    if problem.report_labels is not None:
        reports = list(problem.report_labels)
    elif problem.labels is not None and problem.reports == problem.size:
        reports = list(problem.labels)
    cells = channel_figures(channel, answers, reports)
    is_polygon = (problem.size, problem.reports) == (2, 2) and problem.is_linear and not problem.is_extended
    return (
        [_polygon(problem, channel), *cells]
        if is_polygon and extreme_points.why_not(problem) is None
        else cells
    )


def _polygon(problem: RandomizedResponse, channel: Array) -> Figure:
    from mechdesign.show.figure import Figure, Panel, Points, Polygon

    corners = extreme_points.extreme_points(problem)[:, [0, 1], [0, 1]]
    middle = corners.mean(axis=0)
    order = np.argsort(np.arctan2(corners[:, 1] - middle[1], corners[:, 0] - middle[0]))
    x, y = corners[order].T
    best = np.array([channel[0, 0], channel[1, 1]])
    weights = problem.weights()
    slope = np.array([weights[0, 0] - weights[0, 1], weights[1, 1] - weights[1, 0]])
    marks = [
        Polygon(x=x, y=y, label="private channels", series=0),
        Points(x=x, y=y, label="corners", series=0),
        *_level_line(slope, best, solution_value(weights, channel)),
        Points(x=[best[0]], y=[best[1]], label="chosen channel", series=3),
    ]
    panel = Panel(
        "probability of a true report, first answer",
        "probability of a true report, second answer",
        marks,
        x_limits=(-0.03, 1.03),
        y_limits=(-0.03, 1.03),
        equal_aspect=True,
    )
    caption = (
        f"All channels for two answers that are private at epsilon = {problem.epsilon:g}, delta = "
        f"{problem.delta:g}. Along the line expected utility is the same; no private channel is beyond it."
    )
    return Figure("The private channels for two answers", [panel], caption)


def solution_value(weights: Array, channel: Array) -> float:
    """Return the expected utility of a channel."""
    return float((weights * channel).sum())


def _level_line(slope: Array, best: Array, value: float) -> list[Line]:
    """Return the channels in the unit square that are as good as the chosen one; none where all are."""
    from mechdesign.show.figure import Line

    if not slope.any():
        return []
    along = np.array([-slope[1], slope[0]]) / np.hypot(*slope)
    steps = []
    for place, direction in zip(best, along, strict=True):
        if direction:
            steps.append(sorted(((0.0 - place) / direction, (1.0 - place) / direction)))
    low, high = max(step[0] for step in steps), min(step[1] for step in steps)
    ends = np.array([best + low * along, best + high * along])
    return [Line(x=ends[:, 0], y=ends[:, 1], label=f"expected utility {value:.4g}", series=1)]
