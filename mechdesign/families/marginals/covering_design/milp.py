"""``covering-design`` as an integer program: a zero-one variable for each block; for small cases.

minimise sum_B x_B with sum of x_B over the blocks B that contain S >= 1 for every subset S. Two kinds of rows
help the solver and exclude no covering: all blocks number at least the proven bound, and those that contain
a point at least the bound of what remains without it, C(d-1, k-1, l-1). One block may be fixed, since points
can be renamed.

The relaxation proves nothing new: with x the same for all blocks it attains C(d, k) / C(l, k), which
Schoenheim's bound rounds up again and again. Hence the bound that is reported is the proven one, and the
solver's word "optimal" is a note.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals.covering_design.bounds import lower_bound
from mechdesign.families.marginals.covering_design.problem import CoveringDesign, outcome
from mechdesign.families.marginals.covering_design.subsets import Subsets, Wholes, places

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_CANDIDATES = 500
"""Zero-one variables."""

NODES = 100
"""Nodes of the search tree."""


def run(problem: CoveringDesign, nodes: int = NODES) -> Outcome:
    """Solve the integer program.

    Parameters
    ----------
    problem : CoveringDesign
    nodes : int
        Nodes of the solver's tree.
    """
    from scipy import sparse

    from mechdesign.solvers.integer import BinaryProgram, solve_binary

    points, order, block = problem.points, problem.order, problem.block
    candidates = places(points, block)
    count = len(candidates)
    least = lower_bound(points, order, block)[0]
    through = lower_bound(points - 1, order - 1, block - 1)[0] if order > 1 else 1
    parts: list[csr_array] = [
        _incidence(Subsets(points, order).of_blocks(candidates), math.comb(points, order)),
        _incidence(candidates, points),
        sparse.csr_array(np.ones((1, count))),
    ]
    rows = sparse.csr_array(sparse.vstack(parts))
    limits = np.concatenate([np.ones(math.comb(points, order)), np.full(points, through), [least]])
    program = BinaryProgram(np.ones(count), rows, limits.astype(np.float64), np.arange(count) == 0)
    result = solve_binary(program, nodes)
    if result.status not in ("optimal", "feasible"):
        return Outcome(status=result.status, solver=result.solver, message=result.message)
    found = outcome(problem, candidates[result.variables], result.solver)
    return changed(found, notes={**found.notes, "solver_says": result.status})


def _incidence(rows: Wholes, count: int) -> csr_array:
    """Return the matrix with a row for each subset (or point) and a column for each block that has it."""
    from scipy import sparse

    columns = np.repeat(np.arange(len(rows)), rows.shape[1])
    return sparse.csr_array((np.ones(rows.size), (rows.ravel(), columns)), shape=(count, len(rows)))


def why_not(problem: CoveringDesign) -> str | None:
    """Return why there are too many candidates, or None."""
    count = math.comb(problem.points, problem.block)
    if count > MOST_CANDIDATES:
        return f"{count} blocks to choose from are too many; {MOST_CANDIDATES} at most"
    return None
