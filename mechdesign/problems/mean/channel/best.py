"""The best mechanism for a mean at a given epsilon."""

from __future__ import annotations

from functools import lru_cache

from mechdesign.core.errors import MethodError
from mechdesign.core.solve import solve
from mechdesign.mechanisms.mean import GridMean
from mechdesign.problems.mean.channel.columns import why_not
from mechdesign.problems.mean.channel.problem import MeanChannel


@lru_cache(maxsize=64)
def _best(epsilon: float) -> tuple[float, GridMean] | None:
    problem = MeanChannel(epsilon=epsilon)
    if epsilon == 0.0 or why_not(problem) is not None:
        return None
    try:
        solution = solve(problem, "columns")
    except MethodError:  # the linear program gave up, which epsilons above 10 can cause
        return None
    return (solution.value, solution.mechanism()) if solution.found else None


def best_variance(epsilon: float) -> float | None:
    """Return the worst-case variance of :func:`best_mechanism` on [0, 1]; None where there is none.

    Examples
    --------
    >>> round(4 * best_variance(1.0), 3)
    3.992
    """
    found = _best(float(epsilon))
    return None if found is None else found[0]


def best_mechanism(epsilon: float, low: float = -1.0, high: float = 1.0) -> GridMean | None:
    """Return the solved mechanism for values in [low, high]; None outside epsilon = 0.001 .. 16.

    Examples
    --------
    >>> mechanism = best_mechanism(1.0, 0.0, 10.0)
    >>> mechanism.audit().holds, round(mechanism.worst_variance() / 25, 3)
    (True, 3.992)
    """
    found = _best(float(epsilon))
    return None if found is None else GridMean(found[1].channel, found[1].outputs, low, high)
