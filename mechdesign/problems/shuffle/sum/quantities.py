"""Further numbers of a protocol for sums: its messages, and what others reach without a shuffler."""

from __future__ import annotations

import math
from typing import Any

from mechdesign.core.problem import Candidate
from mechdesign.problems.shuffle.candidates import figures_of
from mechdesign.problems.shuffle.sum.problem import ShuffleSum


def quantities(problem: ShuffleSum, solution: Candidate) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models beside this one.

    ``local_rmse`` is the two-point mechanism of Duchi et al. without a shuffler, at its worst;
    ``laplace_rmse`` one Laplace number by a trusted server; ``over_...`` the value as a multiple of it.
    """
    return figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users) / (2.0 * math.tanh(problem.epsilon / 2.0)),
            "laplace_rmse": math.sqrt(2.0) / problem.epsilon,
        },
    )
