"""The truncated geometric channel and its best remap: optimal on a line, for every prior.

With a = e^-eps the channel of Ghosh, Roughgarden and Sundararajan (2012) shows symbol s for answer i with
probability

    g_is = c_s a^|i - s|,    c_s = 1 / (1 + a) at both ends,  (1 - a) / (1 + a) between them,

and every symbol is turned into the report that is best given the symbol. No private channel does better when
the loss does not decrease with the distance between answer and report: docs/families/response.md has
the proof, by a dual solution whose value is that of the channel.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.core.text import counted
from mechdesign.families.response.randomized_response.linear_program import shifted
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

Array = NDArray[np.float64]

MAX_SIZE = 2048
"""Larger channels would hold more than four million numbers."""

UNDERFLOW = 745.0
"""The exponential of minus this is 0 in double precision."""


def geometric_channel(size: int, epsilon: float) -> Array:
    """Return the truncated geometric channel of ``size`` answers and as many symbols.

    Examples
    --------
    >>> geometric_channel(3, 0.6931471805599453).round(6).tolist()  # doctest: +NORMALIZE_WHITESPACE
    [[0.666667, 0.166667, 0.166667],
     [0.333333, 0.333333, 0.333333],
     [0.166667, 0.166667, 0.666667]]
    """
    if size == 1:
        return np.ones((1, 1))
    places = np.arange(size, dtype=np.float64)
    ratio = math.exp(-epsilon)
    scales = np.full(size, -math.expm1(-epsilon) / (1.0 + ratio))
    scales[[0, -1]] = 1.0 / (1.0 + ratio)
    channel: Array = np.exp(-epsilon * np.abs(places[:, None] - places)) * scales
    return channel


def run(problem: RandomizedResponse) -> Outcome:
    """Turn every symbol into the report with the largest expected utility."""
    seen = geometric_channel(problem.size, problem.epsilon)
    gains, offset = problem.centred_weights()
    expected = gains.T @ seen  # [report, symbol], nowhere positive
    best = expected.argmax(axis=0)
    channel = np.zeros((problem.size, problem.reports))
    np.add.at(channel.T, best, seen.T)
    lost = _rounded_up(problem, expected.max(axis=0))
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=shifted(lost, offset) if lost or offset else 0.0,
        bound_source="the proof of optimality for every prior",
        solver="closed form",
        notes={"kept_reports": len(np.unique(best))},
    )


def _rounded_up(problem: RandomizedResponse, losses: Array) -> float:
    """Return the sum of the losses, all <= 0, enlarged by what double precision may have lost.

    No terms cancel, so relative errors stay what they are: one unit a summand, the exponent's size in
    units from the exponential, and a dozen for the rest.
    """
    exponent = min(problem.epsilon * (problem.size - 1), UNDERFLOW)
    error = (problem.size + exponent + 16.0) * 2.0**-52
    total = math.fsum(losses.tolist())
    return (
        total * (1.0 - error) + 1e-300 if total else 0.0
    )  # a loss that underflows to 0 is above the true one


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why the remapped geometric channel does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not isinstance(problem.distance, str):
        return "it is for the distance 'line'"
    if not isinstance(problem.utility, str) or not problem.is_linear:
        return "it is for the utilities 'truth', 'absolute-loss' and 'squared-loss'"
    if problem.size > MAX_SIZE:
        return f"it would have {counted(problem.size, 'answer')}, more than {MAX_SIZE}"
    return None
