"""The methods of ``joint-distribution``: the first one that applies is the default."""

from __future__ import annotations

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.joint.distribution import GAP, JointDistribution, no_penalty, outcome
from mechdesign.families.joint.likelihood import climb
from mechdesign.families.joint.maximum import most_likely
from mechdesign.families.joint.penalized import penalized_likelihood

MOST_NUMBERS = 400_000
"""Numbers of the matrix of reports by cells."""


def convex_program(problem: JointDistribution) -> Outcome:
    """Maximise the mean of ln(A P), less the penalty, over the simplex; A has a row of chances a report."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    model = problem.model
    rows = model.columns(np.arange(model.cells), np.arange(len(model.counts)))
    point = cvxpy.Variable(model.cells, nonneg=True)
    gain = (model.counts / model.users) @ cvxpy.log(rows @ point)
    if problem.penalty:
        entropy = cvxpy.sum(cvxpy.rel_entr(point, problem.shares_drawn_to))
        gain -= problem.penalty / model.users * entropy
    result = solve_convex(cvxpy.Problem(cvxpy.Maximize(gain), [cvxpy.sum(point) == 1.0]))
    if result.status == "failed" or point.value is None:
        return Outcome(status="failed", solver=result.solver, message=result.message)
    return outcome(problem, np.maximum(point.value, 0.0), result.solver)


def why_not_convex(problem: JointDistribution) -> str | None:
    """Return why the method does not apply, or None."""
    numbers = len(problem.model.counts) * problem.model.cells
    if numbers > MOST_NUMBERS:
        return f"its matrix has {numbers} numbers; the limit is {MOST_NUMBERS}"
    return None


MOST_STEPS = 5_000
WORK = 4e9
"""Multiplications that are spent, roughly; the steps are limited by it."""


def expectation_maximization(problem: JointDistribution) -> Outcome:
    """Climb until the gap is small; ``feasible`` where the steps do not suffice."""
    model = problem.model
    steps = max(1, min(MOST_STEPS, int(WORK / _work(problem))))
    start = np.full(model.cells, 1.0 / model.cells)
    distribution, taken, _ = climb(model, start, steps, gap=GAP / 2.0)
    return outcome(problem, distribution, "expectation maximisation", {"steps": taken})


def _work(problem: JointDistribution) -> float:
    model = problem.model
    tables = model.cells * (len(model.first) + len(model.second))
    return float(tables + len(model.counts) * model.second.shape[1])


NEAR = 1e-4
"""The variation distance from the exact minimizer that is asked for."""


def proximal_newton(problem: JointDistribution) -> Outcome:
    """Return a distribution that is proven to be near to the minimizer of the penalized likelihood.

    Quadratic models of the likelihood in the effects, with the penalty as it is.
    """
    nearest = penalized_likelihood(problem.model, problem.shares_drawn_to, problem.penalty, distance=NEAR)
    return outcome(problem, nearest.distribution, "proximal Newton", {"steps": nearest.steps})


def why_no_effects(problem: JointDistribution) -> str | None:
    """Return why the method does not apply (nothing is penalized), or None."""
    return None if problem.penalty else "there is no penalty"


def active_set(problem: JointDistribution) -> Outcome:
    """Return a distribution whose largest mean likelihood ratio is at most 1 + 1e-6.

    Newton's method on a working set of cells: some ten steps, whatever the noise.
    """
    maximum = most_likely(problem.model, gap=GAP / 2.0)
    return outcome(problem, maximum.distribution, "active-set Newton", {"steps": maximum.steps})


METHODS = (
    Method("proximal-newton", JointDistribution, "numeric",
           "penalized likelihood: quadratic models in the effects, each solved by its dual",
           proximal_newton, why_no_effects),
    Method("active-set", JointDistribution, "numeric",
           "Newton's method on the cells above 0 and the most promising others", active_set, no_penalty),
    Method("convex", JointDistribution, "numeric",
           "the convex program by an interior-point solver, for few cells", convex_program, why_not_convex),
    Method("em", JointDistribution, "numeric",
           "expectation maximisation from uniform, until the gap is 1e-6 or the steps run out",
           expectation_maximization, no_penalty),
)  # fmt: skip
