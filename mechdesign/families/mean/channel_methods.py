"""The methods of ``mean-channel``: column generation, and one linear program that shares no code with it.

**Column generation** takes seconds, allows any output values, and proves its bound. ``MeanPrices`` are the
multipliers of its last master program, as prices of privacy.

**The linear program** needs a grid of outputs and has one extra variable per column:
minimise z over p, l with sum_y p_xy = 1, sum_y t_y p_xy = x, l_y <= p_xy <= e^eps l_y and, for every cut
point v between two inputs, the interpolated second moment at v minus v^2 <= z. Neither symmetry nor
patterns are used. Cut points are added where the solution's variance exceeds z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.problem import Method, Outcome, Problem
from mechdesign.families.mean.channel import MeanChannel
from mechdesign.families.mean.column_generation import (
    Array,
    ChannelDesign,
    Generated,
    default_inputs,
    refined,
    symmetric_grid,
)
from mechdesign.families.mean.optimal_channel import LIMITS, channel_of, lagrangian_of, priced_entries, solved
from mechdesign.solvers.sensitivity import Binding
from mechdesign.solvers.statement import statement_method

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram

QUARTER = 0.25
"""Variances on [0, 1] are a quarter of those on [-1, 1]."""


@dataclass(frozen=True, eq=False)
class MeanPrices:
    """The last master program of column generation, with the problem that it solved."""

    problem: MeanChannel
    generated: Generated

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian at another epsilon, the inputs kept; a grid of outputs moves along."""
        assert isinstance(problem, MeanChannel)
        old, new = self.problem.output_grid(), problem.output_grid()
        stretch = 1.0 if old is None or new is None else float(new[-1] / old[-1])
        return QUARTER * lagrangian_of(self.generated, problem.epsilon, stretch)

    def binding(self) -> Sequence[Binding]:
        """Return for each input by how much a larger e^epsilon for it alone would lower the criterion.

        Per unit of e^epsilon the criterion falls by the sum of all prices.
        """
        epsilon = self.problem.epsilon
        entries = priced_entries(self.generated, epsilon) * self.generated.patterns
        entries = (entries + entries[:, ::-1]) / 2.0  # of the column and its mirror image
        prices = -QUARTER * math.exp(-epsilon) * entries.sum(axis=0)
        rows = (entries < 0.0).sum(axis=0)
        return [
            Binding(f"privacy of the number {knot:g}", price, count, "e^epsilon")
            for knot, price, count in zip(
                self.problem.knots().tolist(), prices.tolist(), rows.tolist(), strict=True
            )
        ]


def hat_weights(grid: Array) -> Array:
    """Return the average over [-1, 1] of each input's share in the rounding: what second moments weigh.

    Examples
    --------
    >>> hat_weights(np.array([-1.0, 0.0, 1.0]))
    array([0.25, 0.5 , 0.25])
    """
    widths = np.diff(grid)
    weights: Array = (np.append(widths, 0.0) + np.append(0.0, widths)) / 4.0
    return weights


def solve_by_columns(problem: MeanChannel, accuracy: float = MeanChannel.optimal_within / 2.0) -> Outcome:
    """Solve on a coarse grid, refine to the requested one, and make the channel exactly private."""
    if problem.epsilon == 0.0:
        return Outcome(
            status="infeasible",
            solver="column generation",
            message="at epsilon = 0 no report is unbiased; give a larger epsilon",
        )
    criterion, outputs = problem.criterion, problem.output_grid()
    positive = None if outputs is None else outputs[outputs >= 0.0]

    def design(size: int) -> ChannelDesign:
        grid = symmetric_grid(size)
        weights = hat_weights(grid) if criterion == "average" else None
        return ChannelDesign(problem.epsilon, grid, criterion, weights, outputs=positive)

    grid = problem.grid()
    usual = criterion == "worst" and outputs is None and len(grid) == default_inputs(problem.epsilon)
    generated = solved(problem.epsilon, accuracy) if usual else refined(design, len(grid), accuracy)
    channel, values = channel_of(grid, math.exp(-problem.epsilon), generated)
    mechanism = problem.deployable(channel, (values + 1.0) / 2.0)
    notes: dict[str, Any] = {"rounds": generated.rounds, "before_repair": generated.value / 4.0}
    return Outcome(
        status="optimal" if generated.value - generated.bound <= accuracy * generated.value else "feasible",
        variables={"channel": mechanism.channel.channel, "output_values": mechanism.outputs},
        bound=generated.bound / 4.0,
        bound_source="weak duality, the prices checked for every pattern"
        + (" and every real output" if outputs is None else " and output of the grid"),
        solver=f"column generation, {generated.solver}",
        notes=notes,
        prices=MeanPrices(problem, generated),
    )


def why_no_columns(problem: MeanChannel) -> str | None:
    """Return why column generation does not apply, or None."""
    if 0.0 < problem.epsilon < LIMITS[0]:
        return "below epsilon = 0.001 the patterns differ by less than the solver sees; use Duchi's mechanism"
    if problem.epsilon > LIMITS[1]:
        return "above epsilon = 16 probabilities are below the solver's accuracy; use the piecewise mechanism"
    return None


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


def solve_linear_program(problem: MeanChannel, accuracy: float = 1e-7) -> Outcome:
    """Solve, add cut points where the variance is exceeded, and make the channel exactly private."""
    from mechdesign.solvers.linear import LinearPrices, solve_linear
    from mechdesign.solvers.sensitivity import current_starts, kept_starts

    grid, outputs = problem.grid(), problem.output_grid()
    assert outputs is not None
    n, m = len(grid), len(outputs)
    constant = 1.0 / 3.0 if problem.criterion == "average" else 0.0
    points = grid.copy() if problem.criterion == "worst" else np.zeros(0)
    bound, starts = 0.0, current_starts()
    starts = {} if starts is None else starts
    for _ in range(ROUNDS):
        program = _program(problem, grid, outputs, points)
        with kept_starts(starts):  # cuts come last: the basis before them is still dual feasible
            result = solve_linear(program, "interior-point")
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


def why_no_linear_program(problem: MeanChannel) -> str | None:
    """Return why the linear program does not apply, or None."""
    if problem.outputs is None:
        return "it needs a grid of output values; give outputs, for instance 101"
    entries = len(problem.knots()) * problem.outputs
    if entries > LARGEST:
        return f"the channel has {entries} entries, more than {LARGEST}: it would take minutes"
    if not 1e-3 <= problem.epsilon <= 8.0:
        return "outside epsilon = 0.001 .. 8 its coefficients differ too much for the solver"
    return None


METHODS = (
    Method("columns", MeanChannel, "numeric",
           "column generation over two-valued patterns, exact pricing over all real outputs",
           solve_by_columns, why_no_columns),
    Method("lp", MeanChannel, "numeric", "one linear program on grids of inputs and outputs",
           solve_linear_program, why_no_linear_program),
    statement_method(MeanChannel),
)  # fmt: skip
