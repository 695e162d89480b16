"""A default by result, not by size: several quick methods are run, and the best result is taken."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from mechdesign.core.errors import MechDesignError
from mechdesign.core.method import Method, Outcome
from mechdesign.core.problem import Problem
from mechdesign.core.values import changed


def best_of(
    problem: Problem[Any],
    methods: Iterable[Method],
    realisation: Literal["value", "bound"] = "value",
) -> Outcome:
    """Return the best of what several methods find, with the best bound that any of them proves.

    Methods that do not apply or fail are left out. The notes say which one was taken (``taken``) and what the
    others found (``others``); of equally good ones the first is taken. Nothing is claimed that its own
    method does not: the status is checked against the bound as that of any outcome is.

    Parameters
    ----------
    problem : Problem
    methods : iterable of Method
        All choose from the class of mechanisms that the problem's bounds are for.
    realisation : {"value", "bound"}
        Whose realisation is kept: that of what was taken, or that of the best bound, where it is what the
        bound is proven from.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
    >>> found = best_of(problem, md.methods_of(problem)[1:])
    >>> round(problem.objective(found.variables), 9), found.notes["taken"]
    (0.584846863, 'lp')
    """
    outcomes: dict[str, Outcome] = {}
    for method in methods:
        if method.why_not(problem) is None:
            outcomes[method.name] = _run(problem, method)
    values = {
        name: problem.objective(outcome.variables)
        for name, outcome in outcomes.items()
        if outcome.status in ("optimal", "feasible")
    }
    values = {name: value for name, value in values.items() if math.isfinite(value)}
    if not values:
        return _nothing(outcomes)
    sign = -1.0 if problem.sense == "max" else 1.0
    taken = min(values, key=lambda name: sign * values[name])
    proven = {
        name: sign * outcome.bound
        for name, outcome in outcomes.items()
        if outcome.bound is not None and math.isfinite(outcome.bound)
    }
    chosen, notes = outcomes[taken], {"taken": taken}
    others = ", ".join(f"{name} {value:.6g}" for name, value in values.items() if name != taken)
    more: dict[str, Any] = {"notes": {**chosen.notes, **notes, **({"others": others} if others else {})}}
    if proven:
        bounded = outcomes[max(proven, key=lambda name: proven[name])]
        more |= {"bound": bounded.bound, "bound_source": bounded.bound_source}
        if realisation == "bound":
            more["realisation"] = bounded.realisation
    closed = [outcome for outcome in outcomes.values() if outcome.status == "optimal"]
    return changed(chosen, status="optimal" if closed else "feasible", **more)


def _run(problem: Problem[Any], method: Method) -> Outcome:
    """Run one method; an error of one does not take the others with it."""
    try:
        return method.run(problem)
    except Exception as error:
        text = str(error) if isinstance(error, MechDesignError) else f"{type(error).__name__}: {error}"
        return Outcome(status="failed", message=text)


def _nothing(outcomes: dict[str, Outcome]) -> Outcome:
    """Return why nothing was found: the first method that says that nothing exists, or all failures."""
    for outcome in outcomes.values():
        if outcome.status in ("infeasible", "unbounded"):
            return outcome
    texts = [f"{name}: {outcome.message}" for name, outcome in outcomes.items()]
    return Outcome(status="failed", message="; ".join(texts) or "no method applies")
