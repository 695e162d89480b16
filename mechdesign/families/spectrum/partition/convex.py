"""The same programs written down once more, for a conic solver: K(Q | x) in full, its zeros included.

It shares nothing with ``linear-program`` but the sets, and how weights are completed. No bound is proven
here, so no optimum is claimed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.partition.problem import SpectrumPartition, completed, infeasible, released

MOST_ENTRIES = 8000
"""Places times sets; beyond it a conic solver takes long."""

NEGLIGIBLE = 1e-8
"""The least weight that is kept: an interior point method leaves all of them positive."""

MARGIN = 1e-9
"""Part of cap and delta that stays unused: what the solver leaves of the inequalities then breaks none."""

LEAST_DELTA, LARGEST_EPSILON = 1e-3, 3.0
"""Beyond them the part that stays unused is below what the solver leaves, which e^epsilon magnifies."""


def run(problem: SpectrumPartition) -> Outcome:
    """Solve the program with cvxpy."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    nothing = infeasible(problem, "cvxpy")
    if nothing is not None:
        return nothing
    inside = problem.family.T.astype(np.float64)
    channel: Any
    if problem.notion == "cloak":
        weights = cvxpy.Variable((1, len(problem.family)), nonneg=True)
        channel = cvxpy.multiply(inside, np.ones((problem.size, 1)) @ weights)
        rows: list[Any] = []
    else:
        channel = cvxpy.Variable(inside.shape, nonneg=True)
        rows = [cvxpy.multiply(1.0 - inside, channel) == 0.0, *_promise(problem, channel)]
    rows.append(cvxpy.sum(channel, axis=1) == 1.0)
    lost = np.outer(problem.masses, problem.losses)
    scale = float(lost.sum()) or 1.0
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(lost / scale, channel))), rows)
    found = solve_convex(program)
    if found.status not in ("optimal", "feasible") or channel.value is None:
        status = "infeasible" if found.status == "infeasible" else "failed"
        return Outcome(status=status, solver=found.solver, message=found.message)  # type: ignore[arg-type]
    value = inside * np.maximum(channel.value, 0.0)
    if problem.notion == "cloak":
        value = inside * completed(problem.family, np.asarray(weights.value).ravel(), NEGLIGIBLE)
    value /= 1.0 if problem.notion == "cloak" else value.sum(axis=1, keepdims=True)
    return Outcome(status="feasible", variables=released(problem.family, value), solver=found.solver)


def _promise(problem: SpectrumPartition, channel: Any) -> list[Any]:
    """Return the constraints of the notion."""
    import cvxpy

    if problem.notion == "cap":
        cap = problem.cap * (1.0 - MARGIN)
        joint = cvxpy.multiply(problem.masses[:, None] @ np.ones((1, channel.shape[1])), channel)
        told = cvxpy.reshape(cvxpy.sum(joint, axis=0), (1, channel.shape[1]), order="C")
        return [joint <= cap * (np.ones((problem.size, 1)) @ told)]
    assert problem.epsilon is not None
    assert problem.delta is not None
    factor = math.exp(problem.epsilon)
    first, second = problem.pairs.T
    over = cvxpy.pos(channel[first] - factor * channel[second])
    return [cvxpy.sum(over, axis=1) <= problem.delta * (1.0 - MARGIN)]


def why_not(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.notion == "partition":
        return "a partition is not a convex choice"
    unused = problem.cap * (1.0 - MARGIN) < problem.masses.max() if problem.notion == "cap" else False
    if problem.notion == "slack":
        unused = (problem.delta or 0.0) < LEAST_DELTA or (problem.epsilon or 0.0) > LARGEST_EPSILON
    if unused:
        return "cap, delta or epsilon leaves no room for what a conic solver leaves of the inequalities"
    entries = problem.size * len(problem.family) * (1 if problem.notion != "slack" else 4)
    if entries > MOST_ENTRIES:
        return f"{entries} entries of the channel and its slacks are more than {MOST_ENTRIES}"
    return None
