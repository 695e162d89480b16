"""Programs over zero-one variables through pulp; only the solution is taken from the solver, never its bound.

An integer solver's "optimal" rests on a tree of linear programs in floating point that nobody else sees. So
the caller checks the solution and proves a bound of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Status

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class BinaryProgram:
    """Minimise ``costs . x`` with ``rows x >= limits`` over x in {0, 1}^N.

    Parameters
    ----------
    costs : (N,) array
    rows : sparse (R, N)
    limits : (R,) array
    fixed : (N,) array of bool
        The variables that are known to be 1.
    """

    costs: NDArray[np.float64]
    rows: csr_array
    limits: NDArray[np.float64]
    fixed: NDArray[np.bool_]


@dataclass(frozen=True)
class BinaryResult:
    """What the solver returned.

    ``status`` is ``optimal`` where the solver says so (a claim, not a proof), ``feasible`` where it stopped
    at a limit with a solution, ``infeasible``, or ``failed``. ``variables`` is empty without a solution.
    """

    status: Status
    variables: NDArray[np.bool_]
    solver: str
    message: str


def solve_binary(program: BinaryProgram, nodes: int = 2000) -> BinaryResult:
    """Solve with CBC, which comes with pulp, within a number of nodes: the same program, the same answer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> program = BinaryProgram(np.ones(3), rows, np.ones(2), np.zeros(3, dtype=bool))
    >>> solve_binary(program).variables.tolist()
    [False, True, False]
    """
    import pulp

    count = len(program.costs)
    model = pulp.LpProblem("binary", pulp.LpMinimize)
    variables = [
        pulp.LpVariable(f"x{place}", int(program.fixed[place]), 1, pulp.LpInteger) for place in range(count)
    ]
    model.setObjective(pulp.LpAffineExpression(list(zip(variables, program.costs.tolist(), strict=True))))
    rows: Any = program.rows
    for row, limit in enumerate(program.limits.tolist()):
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        terms = zip(rows.indices[entries].tolist(), rows.data[entries].tolist(), strict=True)
        model.addConstraint(
            pulp.LpAffineExpression([(variables[place], value) for place, value in terms]) >= limit
        )
    solver = pulp.PULP_CBC_CMD(msg=False, threads=1, maxNodes=nodes, timeLimit=None)
    model.solve(solver)
    words: dict[int, Status] = {
        pulp.LpSolutionOptimal: "optimal",
        pulp.LpSolutionIntegerFeasible: "feasible",
        pulp.LpSolutionInfeasible: "infeasible",
    }
    status = words.get(model.sol_status, "failed")
    values = [variable.varValue for variable in variables]
    if status not in ("optimal", "feasible") or None in values:
        text = f"CBC ended with: {pulp.LpSolution[model.sol_status]}"
        return BinaryResult(
            "infeasible" if status == "infeasible" else "failed", np.zeros(0, dtype=np.bool_), "CBC", text
        )
    return BinaryResult(status, np.array(values) > 0.5, "CBC", "")
