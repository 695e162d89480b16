"""Mutual information as the utility: an exact linear program over staircase columns.

I(answer; report) is convex in the channel, so maximising it is not a convex program; its maximum is at
an extreme point. But it is a sum over reports of mu(column), mu(p) = sum_i pi_i p_i log2(p_i / (pi . p)),
and mu is convex and positively homogeneous: splitting a column into extreme rays, the patterns s in
{1, e^eps}^n, never lowers it. So the maximum is the linear program (Kairouz, Oh, Viswanath 2016, th. 4)

    maximise sum_s theta_s mu(s)   subject to   sum_s theta_s s = 1,   theta >= 0,

over all 2^n patterns. It has n rows, so an optimal basis uses at most n patterns: n reports suffice.
Dual: prices y with y . s >= mu(s) for all s. Any y becomes feasible by adding the largest
(mu(s) - y . s) / sum(s) to every price.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.response.randomized_response.information import pattern_information
from mechdesign.families.response.randomized_response.polish import polished
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

Array = NDArray[np.float64]

MAX_ANSWERS = 16


def run(problem: RandomizedResponse) -> Outcome:
    """Solve the staircase program and turn its basis into a channel."""
    from mechdesign.solvers.linear import solve_equality_form

    patterns = all_patterns(problem.size, math.exp(problem.epsilon))
    found = pattern_information(problem.prior, patterns)
    unit = float(found.max())  # the tolerances of a solver are absolute
    if unit <= 0.0:
        return _nothing(problem)
    values = found / unit
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


def why_not(problem: RandomizedResponse) -> str | None:
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
