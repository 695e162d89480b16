"""``linear-queries`` for few types, over all patterns: the best weights, or one conic program.

**The conic program, by cvxpy: it shares no code with the other methods.**
Average: minimise tr T with [[Z w Z', R'], [R, T]] positive semidefinite and Z w = 1. Worst type: the joint
program in probabilities q_y and moments a_y = q_y V_y,

    minimise  t   subject to   sum_y v_yu |a_y|^2 / c_y - |W_u|^2 <= t,   V c = 1,   sum_y v_yu a_y = W_u.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.problem import Outcome
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import Basis, Master, Weighted
from mechdesign.families.workload.patterns import Array, Sets, columns_of
from mechdesign.families.workload.query_outcomes import Bound, best_bound, infeasible, lifted_bound, outcome
from mechdesign.families.workload.workload_bound import WorkloadBound, patterns_from
from mechdesign.solvers.convex import solve_convex

MOST_TYPES = 10


def all_sets(size: int) -> Sets:
    """Return every set of types but the empty one and the whole one, whose reports say nothing.

    Examples
    --------
    >>> all_sets(2).astype(int).tolist()
    [[1, 0], [0, 1]]
    """
    return patterns_from(1, (1 << size) - 1, size)


def one_of_each_pair(sets: Sets) -> Sets:
    """Return one set of each pair of mirror images."""
    packed = np.packbits(sets, axis=1)
    mirrored = np.packbits(sets[:, ::-1], axis=1)
    differs = packed != mirrored
    first = np.argmax(differs, axis=1)
    rows = np.arange(len(sets))
    halves: Sets = sets[~differs.any(axis=1) | (packed[rows, first] < mirrored[rows, first])]
    return halves


def with_mirror_images(sets: Sets, weights: Array) -> tuple[Sets, Array]:
    """Return the sets and their mirror images, each with half of the weight; once where they are the same."""
    alone = (sets == sets[:, ::-1]).all(axis=1)
    halves = np.where(alone, weights, weights / 2.0)
    return np.vstack([sets, sets[~alone][:, ::-1]]), np.concatenate([halves, halves[~alone]])


def weighted(problem: LinearQueries, sets: Sets, accuracy: float = 1e-12) -> tuple[Sets, Array, Weighted]:
    """Return the best weights c of these sets (and of their mirror images where that is a symmetry)."""
    shares, centered = problem.shares, problem.design_gram
    basis = Basis.of(centered, shares)
    if basis.is_mirrored:
        sets = one_of_each_pair(sets)
    columns = columns_of(sets, math.exp(problem.epsilon))
    best = Master(columns / (columns @ shares)[:, None], centered, shares, basis).best_weights(accuracy)
    weights = best.weights
    if basis.is_mirrored:
        sets, weights = with_mirror_images(sets, weights)
    amounts = weights / (columns_of(sets, math.exp(problem.epsilon)) @ shares)
    return sets, amounts, best


def all_columns(problem: LinearQueries) -> Outcome:
    """Return the optimum over all patterns, with the dual checked for all of them."""
    if problem.epsilon == 0.0:
        return infeasible("interior point")
    sets, amounts, best = weighted(problem, all_sets(problem.queries.size))
    used = amounts > 1e-9 * float(amounts.max())
    notes = {"patterns": int(used.sum()), "steps": best.steps}
    bound = lifted_bound(problem, best)
    return outcome(problem, sets[used], amounts[used], bound, "interior point", notes=notes)


def why_not_all_columns(problem: LinearQueries) -> str | None:
    """Return why not all patterns can be used, or None."""
    if problem.is_worst:
        return "it minimizes an average; for the worst type use cvxpy or populations"
    if problem.queries.size > MOST_TYPES:
        return f"2^{problem.queries.size} patterns are too many; use columns"
    return None


MOST_WORST = 6


def conic_program(problem: LinearQueries) -> Outcome:
    """Solve the conic program and prove its dual."""
    if problem.epsilon == 0.0:
        return infeasible("cvxpy")
    return _worst(problem) if problem.is_worst else _average(problem)


def closed(amounts: Array, patterns: Array) -> Array:
    """Return the weights c with the least relative change for which sum c v = 1 to the last digits.

    Examples
    --------
    >>> closed(np.array([0.25, 0.2501]), np.array([[3.0, 1.0], [1.0, 3.0]])).round(12).tolist()
    [0.25, 0.25]
    """
    missing = 1.0 - patterns.T @ amounts
    moved = patterns.T @ (patterns * amounts[:, None])
    corrected: Array = amounts * (1.0 + patterns @ np.linalg.lstsq(moved, missing, rcond=1e-14)[0])
    return corrected


def _average(problem: LinearQueries) -> Outcome:
    import cvxpy as cp

    shares, size = problem.shares, problem.queries.size
    sets = all_sets(size)
    patterns = columns_of(sets, math.exp(problem.epsilon))
    columns = (patterns / (patterns @ shares)[:, None]).T
    levels, vectors = np.linalg.eigh(problem.design_gram)
    positive = levels > 1e-13 * levels[-1]
    scale = float(levels[positive].sum())
    root = np.sqrt(levels[positive] / scale)[:, None] * vectors[:, positive].T
    weights = cp.Variable(columns.shape[1], nonneg=True)
    spread = cp.Variable((len(root), len(root)), symmetric=True)
    moment = columns @ cp.diag(weights) @ columns.T
    sums = columns @ weights == 1
    block = cp.bmat([[moment, root.T], [root, spread]]) >> 0
    program = cp.Problem(cp.Minimize(cp.trace(spread)), [sums, block])
    done = solve_convex(program)
    if weights.value is None:
        return Outcome(status="failed", solver=done.solver, message=done.message)
    positive_weights = np.maximum(np.asarray(weights.value), 0.0)
    dual = np.asarray(block.dual_value)
    outer = -2.0 * dual[size:, :size]  # B of the scaled root
    bound = _from_dual(problem, root, outer / 2.0, np.asarray(sums.dual_value), scale)
    amounts = positive_weights / (patterns @ shares)
    kept_sets = amounts > 1e-10 * float(amounts.max())
    amounts[kept_sets] = closed(amounts[kept_sets], patterns[kept_sets])
    best = best_bound(problem, bound)
    return outcome(
        problem, sets[kept_sets], amounts[kept_sets], best, f"cvxpy, {done.solver}", done.status == "optimal"
    )


def _from_dual(
    problem: LinearQueries, root: Array, outer: Array, sums: Array, scale: float
) -> list[WorkloadBound]:
    """Return the bounds of both signs of the multipliers: conventions differ between solvers."""
    shares, back = problem.shares, root.T @ np.linalg.inv(root @ root.T)
    bounds = []
    for sign in (1.0, -1.0):
        for other in (1.0, -1.0):
            directions = problem.directions(sign * back @ outer / math.sqrt(scale))
            bounds.append(WorkloadBound(shares, directions, other * sums))
    return bounds


def _worst(problem: LinearQueries) -> Outcome:
    import cvxpy as cp

    size = problem.queries.size
    levels, vectors = np.linalg.eigh(problem.queries.gram)
    positive = levels > 1e-10 * levels[-1]
    rows = np.sqrt(levels[positive])[:, None] * vectors[:, positive].T
    sets = all_sets(size)
    patterns = columns_of(sets, math.exp(problem.epsilon))
    amounts = cp.Variable(len(sets), nonneg=True)
    moments = cp.Variable((len(sets), len(rows)))
    squares = cp.Variable(len(sets), nonneg=True)
    largest = cp.Variable()
    limits = [
        cp.quad_over_lin(moments[report], amounts[report]) <= squares[report] for report in range(len(sets))
    ]
    errors = patterns.T @ squares - (rows**2).sum(axis=0) <= largest
    unbiased = moments.T @ patterns == rows
    program = cp.Problem(cp.Minimize(largest), [errors, unbiased, patterns.T @ amounts == 1, *limits])
    done = solve_convex(program)
    if amounts.value is None:
        return Outcome(status="failed", solver=done.solver, message=done.message)
    shares = np.maximum(np.asarray(errors.dual_value), 1e-9)
    shares = shares / shares.sum()
    averaged = LinearQueries(
        workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights, population=shares
    )
    kept_sets, first, dual = weighted(averaged, sets)
    bound = lifted_bound(averaged, dual)
    own = np.maximum(np.asarray(amounts.value), 0.0)
    used = own > 1e-10 * float(own.max())
    own[used] = closed(own[used], patterns[used])
    solver = f"cvxpy, {done.solver}"
    judged = [  # the best for the shares of the dual need not be the only one: the program's own as well
        _in_use(problem, kept_sets, first, bound, shares, solver),
        _in_use(problem, sets, own, bound, shares, solver),
    ]
    return min(judged, key=lambda item: problem.objective(item.variables))


def _in_use(
    problem: LinearQueries, sets: Sets, amounts: Array, bound: Bound | None, shares: Array, solver: str
) -> Outcome:
    """Return the outcome of the patterns that are used, with the estimates for a population."""
    used = amounts > 1e-10 * float(amounts.max())
    return outcome(problem, sets[used], amounts[used], bound, solver, population=shares)


def why_not_conic(problem: LinearQueries) -> str | None:
    """Return why the conic program is too large, or None."""
    most = MOST_WORST if problem.is_worst else MOST_TYPES
    if problem.queries.size > most:
        return f"2^{problem.queries.size} patterns are too many for a conic program; {most} types at most"
    return None
