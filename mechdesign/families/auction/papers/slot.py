"""What the source says of ``auction-slot``: algorithms 5.2 and 5.3 as printed, bounds, and what a slot costs.

Lemma 5.5.5 and theorem 5.5.6 are computed on one slot, by going through all sets of users. With
w_i = c_i - q_i / gamma, m = max q_i / gamma and n users: the lemma says M* <= P* + m n, where M* is the
least sum of w_i + m over covers and P* the least sum of payments minus q_i / gamma; the theorem says that the
rule's own sum P is at most 2 delta theta d H_d (P* + m n), with theta the most tasks of a user, d the sum of
the requirements and delta = max w_i / min (w_i + m). Payments cover costs, so the least sum of w_i over
covers, which stands for P* here, is not above it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.auction import greedy
from mechdesign.families.auction.greedy import harmonic, largest_gain
from mechdesign.families.auction.papers import rules as published
from mechdesign.families.auction.slot import AuctionSlot, obstacle, outcome


def decide_as_printed(problem: AuctionSlot) -> Outcome:
    """Decide the slot as printed."""
    if (refused := obstacle(problem)) is not None:
        return refused
    award = published.award(problem.slot)
    assert award is not None, "a slot without obstacle has a cover"
    return outcome(problem, award, "published", "algorithms 5.2 and 5.3 as printed")


def why_not(problem: AuctionSlot) -> str | None:
    """Return why the method takes too long, or None."""
    return published.too_many_users(problem.slot) or None


METHODS = (
    Method("published", AuctionSlot, "published", "algorithms 5.2 and 5.3 as printed: some misreports pay",
           decide_as_printed, why_not),
)  # fmt: skip


MOST_USERS = 12
"""With at most this many users, all sets of users are examined."""


def printed_bounds(problem: AuctionSlot, solution: Solution[Any]) -> dict[str, Any]:
    """Return the slack of both inequalities; negative where they fail, nothing for large slots.

    ``lemma_slack`` is P* + m n - M*; ``printed_bound`` the right side of the theorem, ``printed_sum`` its
    left side P for the winners and payments of the solution, and ``printed_slack`` their difference.
    """
    users = len(problem.bids)
    if users > MOST_USERS:
        return {}
    owed = np.zeros(users) if problem.backlog is None else problem.backlog / problem.tradeoff
    weights = problem.bids @ np.array([1.0, problem.epsilon]) - owed
    shift = float(owed.max())
    sets = (np.arange(1 << users)[:, None] >> np.arange(users)) & 1
    covers = sets[(sets @ problem.slot.able.astype(np.int64) >= problem.requirements).all(axis=1)]
    least, shifted = float((covers @ weights).min()), float((covers @ (weights + shift)).min())
    bounds: dict[str, Any] = {"lemma_slack": least + shift * users - shifted}
    smallest = float((weights + shift).min())
    if smallest <= 0.0:  # somebody who costs nothing: delta is not defined
        return bounds
    total, tasks = int(problem.requirements.sum()), max(len(tasks) for tasks in problem.tasks)
    factor = 2.0 * float(weights.max()) / smallest * tasks * total * harmonic(total)
    winners = np.asarray(solution.variables["winners"], dtype=np.int64)
    paid = math.fsum(np.asarray(solution.variables["payments"]).tolist())
    bounds["printed_bound"] = factor * (least + shift * users)
    bounds["printed_sum"] = paid - float(owed[winners].sum())
    bounds["printed_slack"] = bounds["printed_bound"] - bounds["printed_sum"]
    return bounds


def quantities(problem: AuctionSlot, solution: Solution[Any]) -> dict[str, Any]:
    """Return costs, payments, their ratio, and the ratio to the bound next to the proven one.

    ``phase_two_ratio`` is the weight of the winners that phase 2 chose over the bound of what they cover;
    ``harmonic`` is what it never exceeds. In a small slot the inequalities of the source are also there, see
    ``printed_bounds``.
    """
    winners = np.asarray(solution.variables["winners"]).tolist()
    slot = problem.slot
    cost = float(slot.cost(winners))
    paid = math.fsum(np.asarray(solution.variables["payments"]).tolist())
    values: dict[str, Any] = {
        "count": len(winners),
        "cost": cost,
        "total_payment": paid,
        "overpayment": paid / cost if cost > 0 else math.nan,
        "essential_users": int(slot.essential.sum()),
        "harmonic": harmonic(largest_gain(slot)),
        **printed_bounds(problem, solution),
    }
    if solution.bound is not None:
        base = float(slot.value(greedy.preselected(slot)))
        if solution.bound > base:
            values["phase_two_ratio"] = (solution.value - base) / (solution.bound - base)
    return values
