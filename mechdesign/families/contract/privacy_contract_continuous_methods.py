"""The methods of ``privacy-contract-continuous``: the first one that applies is the default.

The closed form is eps(theta) = G v(theta)^(-1/3) with the ironed virtual cost v. The discretized method
takes the continuum as many types: the finite problem on a grid, solved by any of its methods.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.noise import LAPLACE
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solve import solve
from mechdesign.core.text import counted
from mechdesign.families.contract.allocation import Costs, best_within_budget, least_error
from mechdesign.families.contract.payments import Rules, post, post_within_budget
from mechdesign.families.contract.population import Population
from mechdesign.families.contract.privacy_contract import PrivacyContract
from mechdesign.families.contract.privacy_contract_continuous import (
    PrivacyContractContinuous,
    minorant,
    nodes,
)

Array = NDArray[np.float64]

ROOM = 1.0 - 2.0**-48
"""The part of the budget that is spent, so that it is also kept after multiplying by a number of users."""


def continuum_in_closed_form(problem: PrivacyContractContinuous) -> Outcome:
    """Evaluate the formula at the middle quantile of each cell and scale it to the budget."""
    people = problem.population(nodes(problem.types, problem.cells)[1:])
    middles = problem.types.quantile(np.cumsum(people.counts) - 0.5 * people.counts)
    prices = np.maximum.accumulate(problem.ironed_virtual_cost(middles))
    if too_small(problem):
        return infeasible(problem)
    own = Costs(people.counts, prices, 1.0)
    left = problem.budget - problem.participation_cost
    best_epsilon = best_within_budget(own, problem.noise_model, left, problem.limits).epsilon
    # The menu's own cost, cell by cell, differs a little from the formula's; scale epsilon to the budget.
    increments = np.diff(np.cumsum(people.counts) * people.types, prepend=0.0)
    scale = left / math.fsum(increments * best_epsilon)
    return posted_outcome(
        problem,
        people,
        best_epsilon * scale,
        "closed form" if problem.noise_model is LAPLACE else "root of the budget",
    )


def posted_outcome(
    problem: PrivacyContractContinuous, people: Population, epsilon: Array, solver: str
) -> Outcome:
    """Post the menu exactly and prove the bound for the continuum."""
    limits = problem.limits
    rules = Rules(people.types, people.counts, people.cost, low=limits.low, high=limits.high)
    posted = post_within_budget(rules, epsilon, problem.budget * ROOM)
    if posted is None:
        return infeasible(problem)
    bound = continuum_bound(problem)
    value = math.fsum(people.counts * problem.noise_model.loss(posted.epsilon))
    return Outcome(
        status="optimal" if value - bound <= problem.optimal_within * value else "feasible",
        variables={"types": people.types, "epsilon": posted.epsilon, "payment": posted.payment},
        bound=bound,
        bound_source="a convex curve below q theta(q), Lagrangian dual",
        solver=solver,
    )


def continuum_bound(problem: PrivacyContractContinuous) -> float:
    """Return a lower bound of the error of any menu for the continuum.

    Where the curve ends below R(1) = high, the rest is a jump that at least the floor of epsilon pays for.
    """
    curve = minorant(problem.types)
    jump = max(0.0, problem.types.high * (1.0 - 1e-9) - math.fsum(curve.weights * curve.prices))
    left = problem.budget - problem.participation_cost - problem.limits.low * jump
    multiplier = best_within_budget(curve, problem.noise_model, left, problem.limits).multiplier
    bound = least_error(curve, problem.noise_model, left, problem.limits, multiplier)
    free = max(0.0, 1.0 - math.fsum(curve.weights) - 1e-9)  # users that the curve counts as costing nothing
    return bound + free * float(problem.noise_model.loss(np.array([problem.limits.high]))[0])


def too_small(problem: PrivacyContractContinuous) -> bool:
    """Whether the budget cannot pay for participation and the floor of epsilon."""
    floor = problem.limits.low * problem.types.high
    left = problem.budget * ROOM - problem.participation_cost
    return left <= 0 or left < floor


def infeasible(problem: PrivacyContractContinuous) -> Outcome:
    """Return an infeasible outcome with the budget that would be enough."""
    top = np.array([problem.types.high])
    cost = np.array([problem.participation_cost])
    floor = problem.limits.low
    if floor > 0:
        least = float(post(Rules(top, np.ones(1), cost), np.full(1, floor)).total) / ROOM
        text = (
            f"budget: {problem.budget:g} per user does not pay for epsilon >= {floor:g}; the "
            f"least budget that does is {least!r}"
        )
    else:
        least = problem.participation_cost
        text = (
            f"budget: {problem.budget:g} per user is used up by the participation cost; it "
            f"must exceed {least!r}"
        )
    return Outcome("infeasible", message=text, notes={"least_budget": least})


def finite_problem(problem: PrivacyContractContinuous, cells: int) -> PrivacyContract:
    """Return the finite problem in which every user of a cell has the type of its upper end.

    Its menus are feasible for the continuum, so its optimum is an upper bound; it falls to the continuum's
    as the cells shrink.
    """
    people = problem.population(nodes(problem.types, cells)[1:])
    return PrivacyContract(
        types=people.types,
        counts=people.counts,
        budget=problem.budget,
        noise=problem.noise,
        epsilon_min=problem.epsilon_min,
        epsilon_max=problem.epsilon_max,
        participation_cost=problem.participation_cost,
    )


def solve_discretized(
    problem: PrivacyContractContinuous, cells: int | None = None, method_for_finite: str | None = None
) -> Outcome:
    """Solve the finite problem.

    Parameters
    ----------
    cells : int, optional
        ``problem.cells`` by default.
    method_for_finite : str, optional
        Method for the finite problem; by default the reduced conic program for up to 300 cells, then the
        closed form.
    """
    size = problem.cells if cells is None else cells
    if too_small(problem):
        return infeasible(problem)
    finite = finite_problem(problem, size)
    chosen = method_for_finite or (
        "reduced-program" if size <= MAX_CONIC and isinstance(problem.noise, str) else "closed-form"
    )
    answer = solve(finite, chosen)
    if not answer.found:
        return Outcome(answer.status, message=answer.message, notes=answer.notes)
    return posted_outcome(
        problem,
        finite.population,
        np.asarray(answer.variables["epsilon"]),
        f"{chosen} on {counted(size, 'type')}: {answer.solver}",
    )


MAX_CONIC = 300


METHODS = (
    Method("closed-form", PrivacyContractContinuous, "analytic",
           "ironed virtual cost theta + H/h (section 4.4 with its signs corrected)",
           continuum_in_closed_form),
    Method("discretized", PrivacyContractContinuous, "numeric",
           "finite problem on a grid of types; converges from above", solve_discretized),
)  # fmt: skip
