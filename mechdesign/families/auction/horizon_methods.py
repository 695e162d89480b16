"""The methods of ``auction-horizon``: the first one that applies is the default.

For small horizons, one integer program over all slots: a covering program with a variable for each user in
each slot. Otherwise the online rule plays one slot at a time.

Horizons of any size: prices of users' shares, winners at these prices, and a bound in whole numbers.

With a price m_i >= 0 for each selection of user i the slots come apart, and for any prices p_tj >= 0 of the
tasks besides, every selection that covers all tasks and gives each user its W slots costs at least

    W sum_i m_i + sum_t [ sum_j p_tj r_tj + sum_i min(0, c_ti - m_i - sum of p_tj over the tasks j of i) ]

(weak duality, x in [0, 1]). The prices m come from the linear relaxation, of all slots or of as many as fit
into one program; the prices p of a slot from its own relaxation at the prices m. Both are rounded to whole
numbers of a unit, costs are rounded down, and the sum is exact.

The selection is made with knowledge of all slots: the better one of the online rule's and of a rounded
relaxation, each without those whom neither a task nor their own share needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.auction.greedy import Covering, covering_choices
from mechdesign.families.auction.horizon import AuctionHorizon, Instance
from mechdesign.families.auction.slot_rules import slot_of
from mechdesign.solvers.covering import branch
from mechdesign.solvers.integer import BinaryProgram, solve_binary
from mechdesign.solvers.linear import LinearProgram, solve_linear
from mechdesign.solvers.statement import statement_method
from mechdesign.work.bars import progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def program_of(instance: Instance, wins: float) -> BinaryProgram:
    """Return the program; variable slot * users + user, and the rows of users' shares are the last ones."""
    from scipy import sparse

    slots, users = instance.costs.shape
    rows = [
        sparse.csr_array(
            sparse.block_diag([sparse.csr_array(able.T.astype(np.float64)) for able in instance.able])
        )
    ]
    limits = [instance.needs.ravel().astype(np.float64)]
    if wins:
        rows.append(sparse.csr_array(sparse.hstack([sparse.eye_array(users)] * slots)))
        limits.append(np.full(users, float(wins)))
    return BinaryProgram(
        instance.costs.ravel().copy(),
        sparse.csr_array(sparse.vstack(rows)),
        np.concatenate(limits),
        np.zeros(users * slots, dtype=np.bool_),
    )


MOST_VARIABLES = 600

NODES = 150
"""Linear programs that may be solved to prove the optimum."""


def best_selection(problem: AuctionHorizon, nodes: int = NODES) -> Outcome:
    """Solve the integer program, and prove a bound by a tree of our own.

    Parameters
    ----------
    problem : AuctionHorizon
    nodes : int
        Linear programs of the tree.
    """
    program = program_of(problem.instance, problem.wins)
    result = solve_binary(program)
    if result.status not in ("optimal", "feasible"):
        return Outcome(result.status, solver=result.solver, message=result.message)
    proof = branch(program, result.variables, nodes)
    selected = proof.variables.reshape(problem.slots, problem.users).astype(np.int64)
    value = problem.objective({"selected": selected})
    met = value - proof.bound <= 1e-9 * value
    return Outcome(
        status="optimal" if met else "feasible",
        variables={"selected": selected},
        bound=proof.bound,
        bound_source="linear relaxations of a tree",
        solver=result.solver,
        notes={"nodes": proof.nodes, "solver_says": result.status},
    )


def why_not_best_selection(problem: AuctionHorizon) -> str | None:
    """Return why there are too many variables, or None."""
    count = problem.slots * problem.users
    if count > MOST_VARIABLES:
        return f"{count} slots times users are too many; the limit is {MOST_VARIABLES}"
    return None


def online(problem: AuctionHorizon) -> Outcome:
    """Play all slots, one at a time; there is no bound, since the rule knows nothing of the optimum.

    Only that everybody must have won often enough at the end is enforced: who can no longer afford to lose a
    slot wins whatever it costs.
    """
    played = problem.by_deadline
    return Outcome(
        status="feasible",
        variables={"selected": played.selected.astype(np.int64)},
        solver="online two-phase greedy",
        notes={"largest_backlog": float(played.largest_backlog.max())},
    )


Array = NDArray[np.float64]
Wholes = NDArray[np.int64]

MOST_TOGETHER = 100_000
"""Users times slots of the program that the prices of shares come from."""

AT_ONCE = 2000
"""Users times slots whose prices of tasks come from one program."""

BITS = 40
"""Costs and prices are below 2**BITS units."""

NEAR = 1e-6
"""A part this near to 1 is a selection; the least weight of others, as a part of the largest cost."""


@dataclass(frozen=True)
class Relaxed:
    """A relaxation solved: multipliers >= 0 of its rows, and its variables; empty where the solver failed."""

    prices: Array
    variables: Array


def shares_of(problem: AuctionHorizon) -> tuple[Array, Array | None]:
    """Return a price >= 0 for each user's selections, and the selections of a relaxation of all slots.

    Without selections where only some of the slots fit into the program that the prices come from.
    """
    slots, users, instance = problem.slots, problem.users, problem.instance
    count = min(slots, max(1, MOST_TOGETHER // users))
    chosen = np.unique(np.linspace(0, slots - 1, count).astype(np.int64))
    some = replace(
        instance, costs=instance.costs[chosen], able=instance.able[chosen], needs=instance.needs[chosen]
    )
    program = program_of(some, problem.wins * len(chosen) / slots)
    answer = relaxed(program.costs, program.rows, program.limits)
    prices = answer.prices[-users:] if problem.wins else np.zeros(users)
    is_whole = len(chosen) == slots and len(answer.variables) > 0
    return prices, answer.variables.reshape(slots, users) if is_whole else None


def relaxed(costs: Array, rows: csr_array, limits: Array) -> Relaxed:
    """Return the relaxation of the cheapest x with ``rows x >= limits`` and x in [0, 1]."""
    from scipy.sparse import csr_array

    count = len(costs)
    none, zeros = csr_array((0, count)), np.zeros(count)
    answer = solve_linear(LinearProgram(-costs, -rows, -limits, none, np.zeros(0), zeros, np.ones(count)))
    if answer.status != "optimal":
        return Relaxed(np.zeros(len(limits)), np.zeros(0))
    return Relaxed(answer.upper_multipliers, answer.variables)


def task_prices(problem: AuctionHorizon, shares: Array) -> Array:
    """Return a price >= 0 for each winner of each task in each slot, at given prices of shares."""
    prices = np.zeros(problem.instance.needs.shape)
    several = max(1, AT_ONCE // problem.users)
    starts = range(0, problem.slots, several)
    for start in progress(starts, len(starts), "prices"):
        slots = range(start, min(start + several, problem.slots))
        prices[slots.start : slots.stop] = _prices_of(problem.instance, shares, slots)
    return prices


def _prices_of(instance: Instance, shares: Array, slots: range) -> Array:
    """Return the prices of these slots, each a program of its own; solved as one, they take less time."""
    from scipy.sparse import block_diag, csr_array

    rows = csr_array(block_diag([instance.able[slot].T.astype(np.float64) for slot in slots]))
    costs = (instance.costs[slots.start : slots.stop] - shares).ravel()
    needs = instance.needs[slots.start : slots.stop].astype(np.float64)
    answer = relaxed(costs, rows, needs.ravel())
    if not len(answer.variables) and len(slots) > 1:  # one of them fails: the others need not
        return np.vstack(
            [_prices_of(instance, shares, slots[place : place + 1]) for place in range(len(slots))]
        )
    return answer.prices.reshape(needs.shape)


def horizon_bound(problem: AuctionHorizon, shares: Array, tasks: Array) -> Fraction:
    """Return a lower bound of the cost of every selection, exactly, from any prices >= 0.

    Examples
    --------
    >>> problem = AuctionHorizon(users=4, tasks=1, slots=3, epsilon=1.0, value_range=0.3, participation=0.5)
    >>> free = horizon_bound(problem, np.zeros(4), np.zeros((3, 1)))
    >>> paid = horizon_bound(problem, problem.instance.costs.min(axis=0), np.zeros((3, 1)))
    >>> free, bool(paid <= 2 * problem.instance.costs.min(axis=0).sum())
    (Fraction(0, 1), True)
    """
    instance = problem.instance
    largest = max(float(instance.costs.max()), float(shares.max()), float(tasks.max()))
    shift = BITS - max(math.frexp(largest)[1], -900)
    costs, own, prices = (_units(numbers, shift) for numbers in (instance.costs, shares, tasks))
    total = problem.wins * sum(own.tolist())
    for slot in range(problem.slots):
        needs = zip(prices[slot].tolist(), instance.needs[slot].tolist(), strict=True)
        total += sum(price * need for price, need in needs)
        worth = costs[slot] - own - instance.able[slot] @ prices[slot]
        total += int(np.minimum(worth, 0).sum())  # below 10**4 users times 10**3 tasks times 2**BITS
    return Fraction(total) / Fraction(2) ** shift


def _units(numbers: Array, shift: int) -> Wholes:
    """Return numbers >= 0 in units of 2**-shift, rounded down."""
    return np.floor(np.ldexp(np.maximum(numbers, 0.0), shift)).astype(np.int64)


def rounded(problem: AuctionHorizon, parts: Array) -> NDArray[np.bool_]:
    """Return a selection that covers all tasks and gives everybody its slots, near one of a relaxation."""
    instance = problem.instance
    selected: NDArray[np.bool_] = parts > 1.0 - NEAR
    least = NEAR * float(instance.costs.max())
    none = [Fraction(0)] * problem.users
    for slot in range(problem.slots):
        has = instance.able[slot][selected[slot]].sum(axis=0, dtype=np.int64)
        needs = np.maximum(instance.needs[slot] - has, 0)
        weights = np.maximum(instance.costs[slot] * (1.0 - parts[slot]), least)
        case = slot_of([0] * problem.users, instance.able[slot], needs, 1.0, none)
        stages = covering_choices(Covering(case, needs.tolist(), np.where(selected[slot], np.inf, weights)))
        selected[slot, [stage.user for stage in stages]] = True
    for user in np.flatnonzero(selected.sum(axis=0) < problem.wins).tolist():
        dear = instance.costs[:, user] * (1.0 - parts[:, user])
        order = np.argsort(np.where(selected[:, user], np.inf, dear), kind="stable")
        selected[order[: problem.wins - int(selected[:, user].sum())], user] = True
    return selected


def _thinned(problem: AuctionHorizon, selected: NDArray[np.bool_]) -> None:
    """Leave out, in place and the dearest first, those whom neither a task nor their share needs."""
    instance = problem.instance
    wins = selected.sum(axis=0)
    slots, users = np.nonzero(selected)
    has = np.einsum("tn,tnk->tk", selected.astype(np.int64), instance.able.astype(np.int64))
    for place in np.argsort(-instance.costs[slots, users], kind="stable").tolist():
        slot, user = int(slots[place]), int(users[place])
        left = has[slot] - instance.able[slot, user]
        if wins[user] > problem.wins and (left >= instance.needs[slot]).all():
            selected[slot, user] = False
            has[slot] = left
            wins[user] -= 1


def by_prices(problem: AuctionHorizon) -> Outcome:
    """Price the users' shares, bound every selection at these prices, and take the best of two selections."""
    shares, parts = shares_of(problem)
    bound = horizon_bound(problem, shares, task_prices(problem, shares))
    selections = [problem.by_deadline.selected.copy()]
    selections += [] if parts is None else [rounded(problem, parts)]
    for selected in selections:
        _thinned(problem, selected)
    best = min(selections, key=lambda selected: problem.objective({"selected": selected}))
    variables = {"selected": best.astype(np.int64)}
    value, lowest = problem.objective(variables), math.nextafter(float(bound), -math.inf)
    return Outcome(
        status="optimal" if value - lowest <= problem.optimal_within * value else "feasible",
        variables=variables,
        bound=lowest,
        bound_source="weak duality in whole numbers, slot by slot at prices of users' shares",
        solver="prices of shares",
    )


METHODS = (
    Method("milp", AuctionHorizon, "numeric", "integer program over all slots, for small horizons",
           best_selection, why_not_best_selection),
    Method("online", AuctionHorizon, "heuristic",
           "the online rule, slot after slot, with a deadline for every user's share", online),
    Method("prices", AuctionHorizon, "numeric",
           "prices of users' shares, with a bound, for horizons of any size", by_prices),
    statement_method(AuctionHorizon, most=400),
)  # fmt: skip
