"""``mean-channel`` on an output grid as one linear program, one extra variable a column; the second way.

minimise z over p, l with sum_y p_xy = 1, sum_y t_y p_xy = x, l_y <= p_xy <= e^eps l_y and, for every cut
point v between two inputs, the interpolated second moment at v minus v^2 <= z. Neither symmetry nor
patterns are used. Cut points are added where the solution's variance exceeds z.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.mean.channel.columns import hat_weights
from mechdesign.families.mean.channel.problem import MeanChannel
from mechdesign.families.mean.optimal.patterns import Array

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram

LARGEST = 6_000
"""Channels of more entries take minutes."""

ROUNDS = 20


def _program(problem: MeanChannel, grid: Array, outputs: Array, points: Array) -> LinearProgram:
    """Return the program over (p row by row, l, z): maximise -z, or minus the average second moment."""
    from scipy import sparse

    from mechdesign.solvers.linear import LinearProgram

    n, m = len(grid), len(outputs)
    power = math.exp(problem.epsilon)
    rows, cells = sparse.eye_array(n), sparse.eye_array(n * m)
    least = sparse.kron(np.ones((n, 1)), sparse.eye_array(m))
    nothing = sparse.csr_array((n * m, 1))
    private = sparse.vstack(
        [sparse.hstack([-cells, least, nothing]), sparse.hstack([cells, -power * least, nothing])]
    )
    second = np.kron(_shares(grid, points), outputs**2)
    cuts = sparse.csr_array(np.hstack([second, np.zeros((len(points), m)), -np.ones((len(points), 1))]))
    none = sparse.csr_array((n, m + 1))
    sums = sparse.hstack([sparse.kron(rows, np.ones((1, m))), none])
    means = sparse.hstack([sparse.kron(rows, outputs[None, :]), none])
    objective = np.zeros(n * m + m + 1)
    if problem.criterion == "worst":
        objective[-1] = -1.0
    else:
        objective[: n * m] = -np.kron(hat_weights(grid), outputs**2)
    blocks = np.concatenate([np.repeat(np.arange(n), m), np.full(m + 1, -1)])
    return LinearProgram(
        objective=objective,
        upper_rows=sparse.csr_array(sparse.vstack([private, cuts])),
        upper_limits=np.concatenate([np.zeros(2 * n * m), points**2]),
        equal_rows=sparse.csr_array(sparse.vstack([sums, means])),
        equal_limits=np.concatenate([np.ones(n), grid]),
        low=np.zeros(n * m + m + 1),
        high=np.concatenate([np.ones(n * m + m), [float((outputs**2).max())]]),
        blocks=blocks,
        block_totals=np.ones(n),
        block_tight=np.ones(n, dtype=np.bool_),
    )


def _program_of(points: Array, problem: MeanChannel) -> LinearProgram:
    outputs = problem.output_grid()
    assert outputs is not None
    return _program(problem, problem.grid(), outputs, points)


def _shares(grid: Array, points: Array) -> Array:
    left = np.clip(np.searchsorted(grid, points, side="right") - 1, 0, len(grid) - 2)
    share = (points - grid[left]) / (grid[left + 1] - grid[left])
    shares = np.zeros((len(points), len(grid)))
    index = np.arange(len(points))
    shares[index, left], shares[index, left + 1] = 1.0 - share, share
    return shares


def run(problem: MeanChannel, accuracy: float = 1e-7) -> Outcome:
    """Solve, add cut points where the variance is exceeded, and make the channel exactly private."""
    from mechdesign.solvers.linear import LinearPrices, solve_linear

    grid, outputs = problem.grid(), problem.output_grid()
    assert outputs is not None
    n, m = len(grid), len(outputs)
    constant = 1.0 / 3.0 if problem.criterion == "average" else 0.0
    points = grid.copy() if problem.criterion == "worst" else np.zeros(0)
    bound = 0.0
    for _ in range(ROUNDS):
        result = solve_linear(_program(problem, grid, outputs, points), "interior-point")
        if result.status != "optimal" or result.bound is None:
            return Outcome(status=result.status, solver=result.solver, message=result.message)
        bound = (-result.bound - constant) / 4.0
        channel = result.variables[: n * m].reshape(n, m)
        moments, level = channel @ outputs**2, float(result.variables[-1])
        slopes = np.diff(moments) / np.diff(grid)
        peaks = np.clip(slopes / 2.0, grid[:-1], grid[1:])
        exceeded = np.interp(peaks, grid, moments) - peaks**2 > level * (1.0 + accuracy)
        if problem.criterion == "average" or not exceeded.any():
            break
        points = np.append(points, peaks[exceeded])
    mechanism = problem.deployable(channel, (outputs + 1.0) / 2.0)
    return Outcome(
        status="optimal",
        variables={"channel": mechanism.channel.channel, "output_values": mechanism.outputs},
        bound=bound,
        bound_source="weak duality with the solver's multipliers",
        solver=result.solver,
        notes={"cut_points": len(points)},
        prices=LinearPrices(result, partial(_program_of, points), -1.0, 0.25, (("privacy", 2 * n * m),)),
    )


def why_not(problem: MeanChannel) -> str | None:
    """Return why the linear program does not apply, or None."""
    if problem.outputs is None:
        return "it needs a grid of output values; give outputs, for instance 101"
    entries = len(problem.knots()) * problem.outputs
    if entries > LARGEST:
        return f"the channel has {entries} entries, more than {LARGEST}: it would take minutes"
    if not 1e-3 <= problem.epsilon <= 8.0:
        return "outside epsilon = 0.001 .. 8 its coefficients differ too much for the solver"
    return None
