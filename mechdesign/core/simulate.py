"""``simulate``: a solution's mechanism on simulated users, where the problem's source has a simulation."""

from __future__ import annotations

import numpy as np

from mechdesign.core.discovery import companion
from mechdesign.core.errors import MethodError
from mechdesign.core.solution import Solution


def simulate(solution: Solution, users: int, repetitions: int, rng: np.random.Generator) -> dict[str, float]:
    """Return measurements of a solution's mechanism on simulated users.

    The problem's package, or its folder in a home, holds it: ``simulation.py`` with a function
    ``simulation(problem, solution, users, repetitions, rng)``.

    Parameters
    ----------
    solution : Solution
    users, repetitions : int
    rng : numpy Generator

    Raises
    ------
    MethodError
        When the problem has none.

    Examples
    --------
    >>> import mechdesign as md, numpy as np
    >>> solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))
    >>> sorted(simulate(solution, 1000, 2, np.random.default_rng(1)))
    ['measured_utility', 'standard_error']
    """
    function = companion(type(solution.problem), "simulation")
    if function is None:
        raise MethodError(
            solution.problem.name, "no simulation is defined for this problem", "drop the table 'simulation'"
        )
    measured: dict[str, float] = function(solution.problem, solution, users, repetitions, rng)
    return measured
