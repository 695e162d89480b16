"""The methods of ``frequency-oracle``, the last one a linear program that checks the formulas of the others.

The program is over all staircase channels. Every subset may be a column, nothing is symmetric. The columns of
a private channel are mixtures of those that are 1 on a subset T and e^-epsilon off it (Kairouz, Oh, Viswanath
2016). Its information is at most the sum of the columns' (convexity), so

    maximise  sum_T c_T I_T   subject to  sum_T c_T (1 on T, e^-epsilon off T) = 1 for every category,  c >= 0

bounds the average information of every private channel, and one over it the variance. The program knows
nothing of subset sizes or symmetry; that it does no better than subset selection keeps the formula honest.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.marginals.frequency_oracle import (
    KINDS,
    FrequencyOracle,
    impossible,
    method_of,
    run_best,
)

MOST_CATEGORIES = 10
LEAST_EPSILON, LARGEST_EPSILON = 1e-3, 12.0


def run_staircase(problem: FrequencyOracle) -> Outcome:
    """Solve the program with HiGHS, and take the size of the subsets that most of the information is in."""
    from scipy.sparse import csr_array

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="HiGHS simplex", message=reason)
    columns, gains, sizes = staircase_columns(problem.categories, problem.epsilon)
    number = len(gains)
    program = LinearProgram(
        objective=gains,
        upper_rows=csr_array((0, number)),
        upper_limits=np.zeros(0),
        equal_rows=csr_array(columns),
        equal_limits=np.ones(problem.categories),
        low=np.zeros(number),
        high=np.full(number, math.exp(problem.epsilon)),  # no column is scaled beyond entries of 1
    )
    result = solve_linear(program)
    if result.status != "optimal" or result.bound is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    shares = np.bincount(sizes, weights=result.variables * gains, minlength=problem.categories)
    size = int(np.argmax(shares))
    variables = {"oracle": "subset-selection", "size": size}
    bound = 1.0 / result.bound
    value = problem.objective(variables)
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source="weak duality of the program over all staircase columns",
        solver=result.solver,
        notes={"columns": number},
    )


def staircase_columns(
    categories: int, epsilon: float
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], np.ndarray, np.ndarray]:
    """Return all columns, shape (D, N), their information averaged over the categories, and subset sizes.

    For a column r and a category v, with m the mean of r over the other categories: (r_v - m)^2 / m.
    """
    members = (np.arange(1 << categories)[None, :] >> np.arange(categories)[:, None] & 1).astype(float)
    sizes = members.sum(axis=0).astype(np.int64)
    proper = (sizes > 0) & (sizes < categories)  # the constant column says nothing; it is 1 on all
    keep = np.append(np.flatnonzero(proper), (1 << categories) - 1)
    columns = np.where(members[:, keep] > 0, 1.0, math.exp(-epsilon))
    others = (columns.sum(axis=0) - columns) / (categories - 1)
    return columns, ((columns - others) ** 2 / others).mean(axis=0), sizes[keep]


def why_not_staircase(problem: FrequencyOracle) -> str | None:
    """Return why the program does not apply, or None."""
    if impossible(problem) is not None:
        return None
    if problem.categories > MOST_CATEGORIES:
        return f"it has a column for every subset; at most {MOST_CATEGORIES} categories"
    if not LEAST_EPSILON <= problem.epsilon <= LARGEST_EPSILON:
        return f"its numbers are too far apart; epsilon from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}"
    if problem.max_report_bits is not None:
        return "it does not limit the bits of reports"
    return None


METHODS = (
    Method("best", FrequencyOracle, "analytic",
           "the shortest reports among the oracles within max_excess of the least variance", run_best),
    *map(method_of, KINDS),
    Method("staircase-lp", FrequencyOracle, "numeric", "linear program over all staircase channels",
           run_staircase, why_not_staircase),
)  # fmt: skip
