"""The continuum as many types: the finite problem on a grid, solved by any of its methods."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.core.solve import solve
from mechdesign.core.text import counted
from mechdesign.families.contract.privacy_contract.problem import PrivacyContract
from mechdesign.families.contract.privacy_contract_continuous.closed_form import (
    infeasible,
    posted_outcome,
    too_small,
)
from mechdesign.families.contract.privacy_contract_continuous.curve import nodes
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous


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
