"""The methods of ``frequency-oracle``: the first one that applies is the default.

The default takes, of the oracles whose variance is nearly the least, the one with the shortest reports. Each
oracle is a method as well.

The last one is the linear program over all staircase channels: every subset may be a column, nothing is
symmetric. The columns of a private channel are mixtures of those that are 1 on a subset T and e^-epsilon off
it (Kairouz, Oh, Viswanath 2016). Its information is at most the sum of the columns' (convexity), so

    maximise  sum_T c_T I_T   subject to  sum_T c_T (1 on T, e^-epsilon off T) = 1 for every category,  c >= 0

bounds the average information of every private channel, and one over it the variance. The program knows
nothing of subset sizes or symmetry; that it does no better than subset selection keeps the formula honest.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals.frequency_oracle import (
    KINDS,
    SHORTEST,
    FrequencyOracle,
    OracleKind,
    candidate,
    impossible,
    kind_of,
    why_not,
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


WITHIN = 1.0 + 2.0**-40
"""Variances closer than this count as equal; of equally short reports those without a parameter are taken."""

MOST_HASHED = 10**11
"""Users times categories for which a server evaluates hash functions in minutes: with more, local hashing is
not taken for its short reports alone."""


def run_best(problem: FrequencyOracle) -> Outcome:
    """Take the shortest reports of all oracles, each with its best parameters, within ``max_excess``.

    Where that is not the oracle of least variance, the notes name the latter and what it differs by.
    """
    possible = [outcome for outcome in (candidate(problem, kind) for kind in KINDS) if outcome.variables]
    if not possible:
        return candidate(problem, kind_of(SHORTEST))
    values = {outcome.variables["oracle"]: problem.objective(outcome.variables) for outcome in possible}
    least = _shortest(possible, values, WITHIN * min(values.values()))
    quick = [outcome for outcome in possible if outcome is least or not _is_slow(problem, outcome)]
    most = (WITHIN + problem.max_excess) * min(values.values())
    taken = _shortest(quick, values, most)
    if taken.notes["report_bits"] == least.notes["report_bits"]:
        return least
    names = [outcome.variables["oracle"] for outcome in (taken, least)]
    alternative = {
        "least_variance": names[1],
        "its_report_bits": least.notes["report_bits"],
        "excess": values[names[0]] / values[names[1]] - 1.0,
    }
    return changed(taken, notes={**taken.notes, **alternative})


def _shortest(outcomes: list[Outcome], values: dict[str, float], most: float) -> Outcome:
    """Return the outcome with the shortest reports whose variance is at most ``most``."""
    fitting = [outcome for outcome in outcomes if values[outcome.variables["oracle"]] <= most]
    return min(fitting, key=lambda outcome: (outcome.notes["report_bits"], len(outcome.variables)))


def _is_slow(problem: FrequencyOracle, outcome: Outcome) -> bool:
    """Whether the server needs minutes for the reports of the planned users."""
    hashing = outcome.variables["oracle"] == "local-hashing"
    return hashing and problem.users * problem.categories > MOST_HASHED


def method_of(kind: OracleKind) -> Method:
    """Return the method of one oracle: its best parameters, next to the bound for every oracle."""
    return Method(
        name=kind.name,
        problem=FrequencyOracle,
        kind="analytic",
        summary=kind.summary,
        run=lambda problem: candidate(problem, kind),
        why_not=lambda problem: why_not(problem, kind),
    )


METHODS = (
    Method("best", FrequencyOracle, "analytic",
           "the shortest reports among the oracles within max_excess of the least variance", run_best),
    *map(method_of, KINDS),
    Method("staircase-lp", FrequencyOracle, "numeric", "linear program over all staircase channels",
           run_staircase, why_not_staircase),
)  # fmt: skip
