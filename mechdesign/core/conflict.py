"""Why a problem is infeasible: a set of constraints that conflict, of which dropping any resolves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mechdesign.core.errors import MechDesignError
from mechdesign.core.problem import Problem


def conflicting(problem: Problem[Any], infeasible: Callable[[Problem[Any]], bool]) -> tuple[str, ...]:
    """Return constraints that conflict, each needed for it, by a deletion filter.

    One constraint after the other is dropped; where the rest is still infeasible it stays dropped. What is
    left is irreducible: without any one of its members the problem can be solved. Constraints that a problem
    cannot drop are part of the problem and are not named.

    Parameters
    ----------
    problem : Problem
        An infeasible one.
    infeasible : callable
        Whether a problem is infeasible.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.PrivacyContract(
    ...     types=[1, 2], counts=[10, 10], budget=30.0, epsilon_min=1.0, participation_cost=0.1)
    >>> conflicting(problem, lambda other: md.solve(other).status == "infeasible")
    ('budget', 'epsilon_min')
    """
    kept = list(problem.droppable())
    for name in problem.droppable():
        rest = [other for other in kept if other != name]
        if is_still(problem, rest, infeasible):
            kept = rest
    return tuple(kept)


def is_still(problem: Problem[Any], kept: Iterable[str], infeasible: Callable[[Problem[Any]], bool]) -> bool:
    """Whether the problem is infeasible with only these of its constraints; not where it cannot be stated."""
    dropped = [name for name in problem.droppable() if name not in set(kept)]
    try:
        return infeasible(problem.without(dropped))
    except MechDesignError:
        return False
