"""Mixtures of ways to ask: the best shares, and what a method hands back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Outcome
from mechdesign.families.survey.limit.effects import Effects
from mechdesign.solvers.reciprocals import ErrorTerms, allocate

if TYPE_CHECKING:
    from mechdesign.families.survey.limit.problem import SurveyLimit

Array = NDArray[np.float64]

CLOSE = 1e-9
"""The relative gap at which no further column is looked for."""

ROUNDS = 200

DROPPED = 1e-9
"""Smaller shares are left out where the others say as much."""

COLUMNS_AT_ONCE = 8
"""Columns that are added in a round."""


def nothing() -> Outcome:
    """Return that there is no answer at epsilon = 0."""
    message = "with epsilon = 0 reports contain no information; give a larger epsilon"
    return Outcome(status="infeasible", solver="columns", message=message)


def _split(effects: Effects, table: Array) -> Array:
    """Return the best shares of these columns, (columns, kinds); every kind has to be told by one."""
    from scipy.sparse import csr_array

    weights = np.array([float(weight) for weight in effects.weights])
    return allocate(ErrorTerms(weights, csr_array(table.T))).shares


def grown_columns(
    effects: Effects, table: Array, more: Callable[[Array], Array | None]
) -> tuple[Array, Array]:
    """Return columns and shares: those given, and those that are asked for at the prices so far.

    ``more(prices)`` returns further columns, (new, kinds), best first, or None.
    """
    weights = np.array([float(weight) for weight in effects.weights])
    shares = _split(effects, table)
    for _ in range(ROUNDS):
        told = shares @ table
        prices, value = weights / told**2, float((weights / told).sum())
        found = more(prices)
        if found is None or float((found @ prices).max()) <= value * (1.0 + CLOSE):
            break
        keep = shares > 1e-12
        table = np.concatenate([table[keep], found])
        shares = _split(effects, table)
    return table, shares


def best(effects: Effects, table: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the columns of the best mixture, out of many, and their shares."""
    start = [int(np.argmax(table[:, kind])) for kind in range(table.shape[1])]
    used = np.unique([*start, int(np.argmax(table.min(axis=1)))])
    weights = np.array([float(weight) for weight in effects.weights])
    shares = _split(effects, table[used])
    for _ in range(ROUNDS):
        told = shares @ table[used]
        prices, value = weights / told**2, float((weights / told).sum())
        worth = table @ prices
        order = np.argsort(-worth, kind="stable")[:COLUMNS_AT_ONCE]
        fresh = order[worth[order] > value * (1.0 + CLOSE)]
        fresh = np.setdiff1d(fresh, used)
        if not len(fresh):
            break
        used = np.concatenate([used[shares > 1e-12], fresh])
        shares = _split(effects, table[used])
    kept = shares > DROPPED
    return used[kept], shares[kept] / shares[kept].sum()


def outcome(
    problem: SurveyLimit,
    columns: Sequence[Any],
    shares: Array,
    bound: float,
    source: str,
    notes: dict[str, float] | None = None,
    solver: str = "columns",
) -> Outcome:
    """Return the mixture; ``optimal`` where its value meets the bound."""
    variables = {"sets": list(columns), "shares": shares / shares.sum()}
    value = problem.objective(variables)
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source=source,
        solver=solver,
        notes=notes or {},
    )
