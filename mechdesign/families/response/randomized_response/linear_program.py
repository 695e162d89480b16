"""The compact linear program: one auxiliary variable a column instead of a row for every pair of answers."""

from __future__ import annotations

import math
from typing import Literal

from mechdesign.core.method import Outcome
from mechdesign.families.response.randomized_response.polish import polished
from mechdesign.families.response.randomized_response.problem import RandomizedResponse
from mechdesign.families.response.randomized_response.rows import compact_program, row_count

MAX_ROWS = 2_000_000
"""Programs with more privacy rows than this would take hours."""

MAX_METRIC_ROWS = 400_000
"""Programs of metric privacy with more rows take minutes, and ``interior-point`` takes seconds."""

SIMPLEX_ROWS = 3_000
"""Up to this many rows the dual simplex is quick and exact; above, the interior point with crossover."""


def run(
    problem: RandomizedResponse, algorithm: Literal["simplex", "interior-point"] | None = None
) -> Outcome:
    """Solve the program with HiGHS, prove the bound from its multipliers, and repair the channel."""
    from mechdesign.families.response.randomized_response.prices import ChannelPrices
    from mechdesign.solvers.linear import solve_linear

    gains, offset = problem.centred_weights()
    program = compact_program(problem, gains)
    chosen = algorithm or ("simplex" if row_count(problem) <= SIMPLEX_ROWS else "interior-point")
    result = solve_linear(program, chosen)
    if result.status != "optimal":
        return Outcome(status=result.status, solver=result.solver, message=result.message)
    n, m = problem.size, problem.reports
    channel, notes = polished(problem, result.variables[: n * m].reshape(n, m))
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=shifted(result.bound, offset),
        bound_source="weak duality with the solver's multipliers",
        solver=result.solver,
        notes=notes,
        prices=ChannelPrices(problem, result),
    )


def shifted(bound: float | None, offset: float) -> float | None:
    """Return the bound plus the offset, rounded up."""
    return None if bound is None else math.nextafter(bound + offset + 2.0**-50 * abs(offset), math.inf)


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why the linear program does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not problem.is_linear:
        return "the utility is not linear in the channel"
    rows = row_count(problem) if problem.size <= 2000 else 2 * problem.size * problem.reports
    most = MAX_ROWS if problem.distance is None else MAX_METRIC_ROWS
    if rows > most:
        return f"it would have {rows} privacy rows, more than {most}"
    return None
