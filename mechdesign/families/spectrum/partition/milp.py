"""The best partition by an integer program, of which the solution alone is taken; proven where tight.

The bound is that of all channels of the notion "cloak". On a line it is the optimum; on a grid it may be
below the best partition, and then nothing is claimed.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.judging import rounded_down
from mechdesign.families.spectrum.partition.duality import repaired
from mechdesign.families.spectrum.partition.linear_program import cloak_program
from mechdesign.families.spectrum.partition.problem import (
    SpectrumPartition,
    channels_over,
    infeasible,
    released,
)
from mechdesign.solvers.integer import BinaryProgram, solve_binary

MOST_SETS = 4000
"""Beyond it an integer program takes minutes."""


def run(problem: SpectrumPartition) -> Outcome:
    """Solve set partitioning and compare with the bound of the relaxation."""
    from scipy.sparse import csr_array, vstack

    nothing = infeasible(problem, "integer program")
    if nothing is not None:
        return nothing
    costs = (problem.family @ problem.masses) * problem.losses
    rows = csr_array(problem.family.T.astype(np.float64))
    ones = np.ones(problem.size)
    both = csr_array(vstack([rows, -rows]))
    program = BinaryProgram(costs, both, np.concatenate([ones, -ones]), np.zeros(len(costs), dtype=np.bool_))
    found = solve_binary(program)
    if not found.variables.size:
        return Outcome(status=found.status, solver=found.solver, message=found.message)
    sets = problem.family[found.variables]
    variables = released(sets, sets.T.astype(np.float64))
    relaxed = cloak_program(problem, costs)
    exact = repaired(problem, -relaxed.equal_multipliers)
    bound = rounded_down(exact.bound, problem.objective_scale())
    tight = problem.objective(variables) - bound <= problem.optimal_within * problem.objective_scale()
    return Outcome(
        status="optimal" if tight else "feasible",
        variables=variables,
        bound=bound,
        bound_source=f"weak duality in integers, for {channels_over(problem)}",
        solver=found.solver,
        notes={"stated_status": found.status},
    )


def why_not(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.notion != "partition":
        return f"the notion '{problem.notion}' allows more than partitions"
    if len(problem.family) > MOST_SETS:
        return f"{len(problem.family)} sets are more than {MOST_SETS}"
    return None
