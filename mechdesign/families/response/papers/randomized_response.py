"""What Zhou, Lu and Wu (2019) state about ``randomized-response``: the simplex tableau, numbers, simulations.

**The tableau** of the binary problem, as sections 2.2.2 and 3.2.2 set it up. Variables x_1 = p_00, x_2 =
p_11 and six slacks; rows: two lower and two upper privacy limits, p_00 <= 1, p_11 <= 1. Columns are counted
from 1, as in the paper.

``quantities`` are the numbers of a channel that claims may name. ``simulation`` is a survey: the utility that
reports of users drawn from the prior really have (figures 4 and 8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.core.solution import Solution
from mechdesign.families.response.randomized_response import RandomizedResponse
from mechdesign.primitives.kary import KaryResponse

Array = NDArray[np.float64]

BASES_1 = ((1, 2, 3, 4, 7, 8), (1, 2, 4, 6, 7, 8), (1, 2, 3, 5, 7, 8))
"""Model I, delta = 0: the bases of the cases 1 to 3, eqs. (7) to (9)."""

BASES_2 = ((1, 2, 3, 4, 7, 8), (1, 2, 3, 4, 5, 8), (1, 2, 3, 4, 6, 7))
"""Model II, delta > 0: the same, eqs. (16) to (18)."""


def coefficients(epsilon: float) -> Array:
    """Return the 6 x 8 matrix A of both models."""
    power = math.exp(epsilon)
    rows = [[power, 1], [1, power], [1, power], [power, 1], [1, 0], [0, 1]]
    return np.hstack([np.array(rows), np.diag([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0])])


def right_side(epsilon: float, delta: float, printed: bool = False) -> Array:
    """Return b; as printed for model II the upper limits lack delta.

    Examples
    --------
    >>> right_side(0.0, 0.25).tolist(), right_side(0.0, 0.25, printed=True).tolist()
    ([0.75, 0.75, 1.25, 1.25, 1.0, 1.0], [0.75, 0.75, 1.0, 1.0, 1.0, 1.0])
    """
    upper = math.exp(epsilon) + (0.0 if printed else delta)
    return np.array([1.0 - delta, 1.0 - delta, upper, upper, 1.0, 1.0])


def basic_solution(epsilon: float, delta: float, basis: Sequence[int], printed: bool = False) -> Array:
    """Return (p_00, p_11) of the basic solution of a basis.

    Examples
    --------
    >>> basic_solution(0.1, 0.2, BASES_2[0]).round(3).tolist()
    [0.62, 0.62]
    """
    columns = [number - 1 for number in basis]
    solution = np.linalg.solve(coefficients(epsilon)[:, columns], right_side(epsilon, delta, printed))
    return np.array([solution[columns.index(0)], solution[columns.index(1)]])


def reduced_costs(epsilon: float, prior: Sequence[float] | Array, basis: Sequence[int]) -> Array:
    """Return the two reduced costs c_j - c_B B^-1 A_j of the columns outside a basis, in their order.

    A basic feasible solution is optimal when none of them is positive (theorem 1 of the paper).
    """
    matrix, costs = coefficients(epsilon), np.array([*prior, *[0.0] * 6])
    inside = [number - 1 for number in basis]
    outside = [column for column in range(8) if column not in inside]
    prices = np.linalg.solve(matrix[:, inside].T, costs[inside])
    reduced: Array = costs[outside] - prices @ matrix[:, outside]
    return reduced


def quantities(problem: RandomizedResponse, solution: Solution[Any]) -> dict[str, Any]:
    """Return the true epsilon, the least deltas and how many symbols are reported.

    For two answers also the simplex tableau of the paper: ``reduced_costs`` and ``basic_solutions`` of its
    three bases, and ``printed_solution``, that of the first basis with b as section 3.2.2 prints it.
    """
    mechanism = solution.mechanism()
    audit = mechanism.audit()
    numbers: dict[str, Any] = {
        "true_epsilon": audit.true_epsilon,
        "least_delta": audit.least_delta,
        "entry_delta": audit.entry_delta,
        "reported_symbols": int(mechanism.possible_reports().sum()),
    }
    if problem.distance is None and (problem.size, problem.reports) == (2, 2) and 0 < problem.epsilon < 300:
        numbers |= _tableau(problem)
    return numbers


def _tableau(problem: RandomizedResponse) -> dict[str, Any]:
    epsilon, delta = problem.epsilon, problem.delta
    bases = BASES_2 if delta > 0 else BASES_1
    return {
        "reduced_costs": np.array([reduced_costs(epsilon, problem.prior, basis) for basis in bases]),
        "basic_solutions": np.array([basic_solution(epsilon, delta, basis) for basis in bases]),
        "printed_solution": basic_solution(epsilon, delta, bases[0], printed=True),
    }


def simulation(
    problem: RandomizedResponse,
    solution: Solution[Any],
    users: int,
    repetitions: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return the measured utility of simulated users next to its standard error.

    Raises
    ------
    MethodError
        For a utility that is not a sum over users.
    """
    if not problem.is_linear:
        raise MethodError(
            problem.name, f"'{problem.utility}' is not an average over users", "drop the table 'simulation'"
        )
    mechanism = solution.mechanism()
    table = None if isinstance(mechanism, KaryResponse) else problem.utility_matrix()
    averages = []
    for _ in range(repetitions):
        answers = rng.choice(problem.size, size=users, p=problem.prior)
        names = mechanism.labels.decode(answers)
        reports = mechanism.report_labels.encode(mechanism.randomize(names, rng=rng, anyway=True), "reports")
        gained = (answers == reports) if table is None else table[answers, reports]
        averages.append(float(np.mean(gained)))
    spread = float(np.std(averages, ddof=1)) / math.sqrt(repetitions) if repetitions > 1 else math.nan
    return {"measured_utility": float(np.mean(averages)), "standard_error": spread}
