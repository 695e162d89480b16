"""Noise of bounded support on a line: the center of a window is the place plus truncated Laplace noise.

The noise is u in {-w, ..., w} with probability proportional to r^|u|, r = e^(-epsilon / distance), and Q is
the window [x + u - w, x + u + w] cut to the map. Within the support probabilities at places d <= distance
apart differ by at most e^epsilon, so all that delta has to pay for is the mass of the last ``distance``
steps. Without the cut and with steps that are small, half the window is (D / epsilon) ln(1 + (e^epsilon - 1)
/ (2 delta)).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.partition.problem import SpectrumPartition, infeasible, released

Array = NDArray[np.float64]

TINY = 1e-9
"""Below it epsilon is 0 in the formulas, which makes no difference in double precision."""

LONGEST = 1000.0
"""Half a window at most, in steps."""


def half_window(epsilon: float, delta: float, distance: float) -> float:
    """Return half the length of the window for real noise: (D / epsilon) ln(1 + (e^epsilon - 1) / (2 delta)).

    Examples
    --------
    >>> round(half_window(1.0, 0.1345, 1.0), 3), round(half_window(1e-9, 0.125, 1.0), 3)
    (2.0, 4.0)
    """
    if epsilon < TINY:
        return distance / (2.0 * delta)
    return distance / epsilon * math.log1p(math.expm1(epsilon) / (2.0 * delta))


def least_window(epsilon: float, delta: float, distance: float) -> float:
    """Return a length that the window of every invariant mechanism exceeds.

    Let Q have the law nu of the place's position in it. The first j runs of length D from either end have at
    most m_j = delta (e^(epsilon j) - 1) / (e^epsilon - 1) of nu in all: shifted by D the first leaves Q, and
    the first j become the first j - 1, so m_j <= e^epsilon m_(j-1) + delta. A window of at most (n - 1) D is
    covered by n - 1 such runs, floor((n - 1) / 2) from one end and the others from the other one, which have
    to hold all of nu. So the window exceeds (n - 1) D for the least n at which they can: returned is that (n
    - 1) D.

    Examples
    --------
    >>> least_window(1.0, 0.1345, 1.0)
    3.0
    """

    def held(runs: int) -> float:
        return delta * (runs if epsilon < TINY else math.expm1(epsilon * runs) / math.expm1(epsilon))

    count = 1
    while held(count // 2) + held(count - count // 2) < 1.0:
        count += 1
    return (count - 1) * distance


def _noise(epsilon: float, delta: float, distance: int) -> Array:
    """Return the probabilities of u = -w, ..., w for the least w with a mass of at most delta at its end.

    Examples
    --------
    >>> _noise(0.0, 0.25, 1)
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    """
    width = 0
    while True:
        steps = np.abs(np.arange(-width, width + 1))
        weights = np.exp(-epsilon / distance * steps)
        law: Array = weights / weights.sum()
        if float(law[-distance:].sum()) <= delta:
            return law
        width += 1


def run(problem: SpectrumPartition) -> Outcome:
    """Return the channel of the window cut to the map."""
    nothing = infeasible(problem, "formula")
    if nothing is not None:
        return nothing
    assert problem.epsilon is not None
    assert problem.delta is not None
    law = _noise(problem.epsilon, problem.delta, problem.distance)
    width, size = len(law) // 2, problem.size
    places = {row.tobytes(): number for number, row in enumerate(problem.family)}
    channel = np.zeros((size, len(problem.family)))
    points = np.arange(size)
    for x in range(size):
        for u, probability in enumerate(law.tolist(), -width):
            window = (points >= x + u - width) & (points <= x + u + width)
            channel[x, places[window.tobytes()]] += probability
    return Outcome(status="feasible", variables=released(problem.family, channel), solver="formula")


def why_not(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.notion != "slack" or not problem.on_line:
        return "it is for the notion 'slack' on a line"
    if problem.delta == 0:
        return "it needs delta > 0"
    if problem.least > 0 or problem.count > 1:
        return "windows at the ends of the map may be too small for least and count"
    if half_window(problem.epsilon or 0.0, problem.delta or 0.0, problem.distance) > LONGEST:
        return f"half its window is longer than {LONGEST:g} steps; the whole map hides the place"
    return None
