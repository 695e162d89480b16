"""What the two convex programs share: scaling, solving, exact pricing of the answer, and the proven bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.mechanisms.contract_payments import post_enough, post_within_budget
from mechdesign.problems.contract.allocation import UNIT
from mechdesign.problems.contract.closed_form import UNLIMITED, infeasible, outcome_of, rules_of
from mechdesign.problems.contract.population import Population
from mechdesign.problems.contract.problem import OPTIMALITY, PrivacyContract
from mechdesign.problems.contract.rows import Multipliers, Rows, weak_duality
from mechdesign.solvers.separable import SeparableProgram, solve_separable

Array = NDArray[np.float64]
RowMaker = Callable[[Population, str, float | None], Rows]

CONE_FORMS = {"laplace": "inverse-square", "duchi": "coth-square", "piecewise": "inverse-sinh"}
"""Which named function of the solver layer is V / V-unit for each noise."""

FUNCTION_UNIT = {"laplace": 1.0, "duchi": 8.0, "piecewise": 8.0}
"""loss(eps) = function(eps) / unit."""


def solve_rows(problem: PrivacyContract, make_rows: RowMaker) -> Outcome:
    """Solve the program with these rows and price its epsilons exactly."""
    people, limits = problem.population, problem.limits
    if not _can_pay(problem):
        return infeasible(problem)
    level, money = _scales(problem)
    scaled = Population(people.types / people.types.mean(), people.counts / people.users, people.cost / money)
    budget = None if problem.budget is None else problem.budget / (money * people.users)
    rows = make_rows(scaled, problem.information, budget)
    name = problem.noise_model.name
    reference = float(problem.noise_model.loss(np.array([level]))[0])
    unit = FUNCTION_UNIT[name] * reference
    allowed = None if problem.target_error is None else problem.error_allowed() / (people.users * reference)
    program = SeparableProgram(
        function=CONE_FORMS[name],
        scale=level,
        weights=scaled.counts / unit,
        linear=np.zeros(len(scaled.counts)) if allowed is None else scaled.counts,
        upper_rows=rows.upper,
        upper_limits=rows.upper_limits,
        equal_rows=rows.equal,
        equal_limits=rows.equal_limits,
        low=limits.low / level,
        high=limits.high / level,
        limit=allowed,
    )
    answer = solve_separable(program)
    if answer.status == "infeasible":
        return infeasible(problem)
    if not len(answer.x):
        return Outcome("failed", solver=answer.solver, message=answer.message)
    posted = _priced(problem, answer.x * level)
    if posted is None:
        return infeasible(problem)
    # Back to the units of the problem: rows of epsilon and payment are scaled by level and money.
    original = make_rows(people, problem.information, problem.budget)
    worth = people.users * reference if allowed is None else people.users * money
    given = Multipliers(
        answer.upper_multipliers * worth / _row_units(original.upper, rows.upper, level, money),
        answer.equal_multipliers * worth / _row_units(original.equal, rows.equal, level, money),
        answer.price * money / reference if allowed is not None else 1.0,
    )
    total = float(posted.total) if problem.budget is None else problem.budget
    bound = weak_duality(
        people, original, problem.noise_model, limits, total * (1 + 4 * UNIT), given,
        None if allowed is None else problem.error_allowed(),
    )
    value = problem.objective({"epsilon": posted.epsilon, "payment": posted.payment})
    proven = value - bound <= OPTIMALITY * value
    return outcome_of(
        problem,
        posted,
        status="optimal" if proven else "feasible",
        bound=bound,
        bound_source="weak duality over the rows",
        solver=answer.solver,
        message=answer.message,
    )


def _row_units(original, scaled, level, money):  # type: ignore[no-untyped-def]
    raise NotImplementedError
