"""The interval as a declarative geometric program (cvxpy), with a bound from the geometric dual.

For a given mean both values are posynomials in a and b. The worst mean of a range is a maximum of
infinitely many posynomials; it is reached by exchange: solve for a few means, add the worst mean of
the solution, until no mean is worse than those at hand. Every program on the way is a relaxation.

Bound. For any weights w_k >= 0 that sum to 1 the inequality of the arithmetic and geometric means
gives, term by term, sum_k c_k a^p_k b^q_k >= K a^P b^Q with K = prod (c_k/w_k)^w_k, P = sum w_k p_k >= 0
and Q = sum w_k q_k >= 0, and that is at least K s^(P + Q), s = 1/(e^eps - 1) the least offset. The weights
are taken from the solver's point, the bound is not: it holds whatever they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mechdesign.core.method import Outcome
from mechdesign.families.mean.interval import offsets
from mechdesign.families.mean.interval.inward import rounded_inward
from mechdesign.families.mean.interval.problem import MeanInterval

ROUNDS = 20
"""Exchange steps; two are enough wherever the parabola's vertex moves little."""

SAFETY = 2.0**-44
"""More than the roundings of the bound, relative."""


@dataclass(frozen=True)
class Term:
    """One monomial: coefficient a^first b^second."""

    coefficient: float
    first: int
    second: int

    def at(self, a: Any, b: Any) -> Any:
        """Return the monomial at numbers or cvxpy variables."""
        result = self.coefficient
        if self.first:
            result = result * a**self.first
        return result * b**self.second if self.second else result


def posynomial(problem: MeanInterval, mean: float) -> list[Term]:
    """Return the terms of the value at one mean, in a and b.

    (mean + a) (rest + k a + l b) with rest = 1 - mean, k = 0, l = 1, all times m, for the self-normalized
    estimator and rest = m - mean, k = m - 1, l = m for the scaled one.
    """
    m = problem.attributes
    if problem.scaled:
        factor, rest, by_a, by_b = 1.0, m - mean, m - 1.0, float(m)
    else:
        factor, rest, by_a, by_b = float(m), 1.0 - mean, 0.0, 1.0
    terms = [
        Term(factor * mean * rest, 0, 0),
        Term(factor * (rest + mean * by_a), 1, 0),
        Term(factor * mean * by_b, 0, 1),
        Term(factor * by_a, 2, 0),
        Term(factor * by_b, 1, 1),
    ]
    return [term for term in terms if term.coefficient > 0.0]


def dual_bound(terms: list[Term], a: float, b: float, least: float) -> float:
    """Return the geometric dual bound for a, b >= least with the weights of the point (a, b)."""
    parts = [term.at(a, b) for term in terms]
    total, lowest = math.fsum(parts), math.log(least)
    logarithm = 0.0
    for term, part in zip(terms, parts, strict=True):
        weight = part / total
        if weight > 0.0:
            logarithm += weight * (math.log(term.coefficient / weight) + (term.first + term.second) * lowest)
    return math.exp(logarithm - SAFETY * (1.0 + 4.0 * abs(lowest)))


def run(problem: MeanInterval, solver: str | None = None) -> Outcome:
    """Solve by exchange over the means and round the interval inward."""
    import cvxpy

    from mechdesign.solvers.convex import solve_convex

    least = offsets.least_offset(problem.epsilon)
    scale = max(least, 1.0)
    means = list(dict.fromkeys(problem.means))
    for _ in range(ROUNDS):
        a, b, top = (cvxpy.Variable(pos=True, name=name) for name in ("a", "b", "top"))
        rows = [sum(term.at(a, b) for term in posynomial(problem, mean)) / scale**2 <= top for mean in means]
        program = cvxpy.Problem(cvxpy.Minimize(top), [*rows, a >= least, b >= least])
        result = solve_convex(program, solver, gp=True)
        if result.status not in ("optimal", "feasible"):
            return Outcome(status=result.status, solver=result.solver, message=result.message)
        first, second = float(a.value), float(b.value)
        worst = offsets.worst_mean(first, second, problem.means, problem.attributes, problem.scaled)
        covered = max(_at(problem, first, second, mean) for mean in means)
        if _at(problem, first, second, worst) <= covered * (1.0 + SAFETY):
            break
        means.append(worst)
    width = 1.0 / (1.0 + first + second)
    interval = rounded_inward(problem, first * width, (1.0 + first) * width, second * width)
    if interval is None:
        return Outcome(status="failed", solver=result.solver, message="the solver's interval has no width")
    return Outcome(
        status="optimal",
        variables={"interval": list(interval)},
        bound=max(dual_bound(posynomial(problem, mean), first, second, least) for mean in means),
        bound_source="the geometric dual",
        solver=f"cvxpy {result.solver}",
        notes={"means": means},
    )


def _at(problem: MeanInterval, a: float, b: float, mean: float) -> float:
    return offsets.value_at(a, b, mean, problem.attributes, problem.scaled)


def why_not(problem: MeanInterval) -> str | None:
    """Return why the geometric program does not apply, or None."""
    if problem.delta > 0.0:
        return "with delta > 0 the constraints bound posynomials from below, as no geometric program can"
    if problem.notion == "one-sided":
        return "the optimum b = 0 lies outside the positive numbers of a geometric program"
    if problem.epsilon == 0.0:
        return "at epsilon = 0 there is no finite offset"
    if offsets.least_offset(problem.epsilon) < 1e-12:
        return "the offsets are below the accuracy of the solver; the closed form is exact"
    return None
