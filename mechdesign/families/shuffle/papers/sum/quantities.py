"""Further numbers of a protocol for sums: its messages, and what others reach without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.papers.comparison import figures_of, fitting, multiple
from mechdesign.families.shuffle.papers.sum.printed import normal_rmse, recursive_rmse, unary_rmse
from mechdesign.families.shuffle.sum.problem import ShuffleSum


def quantities(problem: ShuffleSum, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is the two-point mechanism of Duchi et al. without a shuffler, at its worst;
    ``laplace_rmse`` one Laplace number by a trusted server; ``over_...`` the value as a multiple of it, of
    another protocol's as well. ``normal_rmse`` is the error when users' numbers are normal,
    ``normal_over_...`` it as a multiple of that of another one, ``printed_rm`` three messages of the
    recursive protocol by its paper's defaults, ``printed_rr`` ten unary bits that share epsilon.
    """
    found = figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users) / (2.0 * math.tanh(problem.epsilon / 2.0)),
            "laplace_rmse": math.sqrt(2.0) / problem.epsilon,
        },
    )
    built = problem.built(solution.variables)
    own = normal_rmse(built)
    others = {
        "local": found["local_rmse"],
        "printed_rm": recursive_rmse(problem.users, problem.epsilon, problem.delta),
        "printed_rr": unary_rmse(problem.users, problem.epsilon, problem.delta),
    }
    if own is not None:
        found["normal_rmse"] = own
        for name, protocol in fitting(problem, built).items():
            error = normal_rmse(protocol)
            if error is not None:
                others[name] = error
        found |= {f"normal_over_{name}": multiple(own, error) for name, error in others.items()}
    return found
