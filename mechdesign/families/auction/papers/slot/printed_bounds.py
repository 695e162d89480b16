"""Lemma 5.5.5 and theorem 5.5.6 of the source on one slot, by going through all sets of users.

With w_i = c_i - q_i / gamma, m = max q_i / gamma and n users: the lemma says M* <= P* + m n, where M* is the
least sum of w_i + m over covers and P* the least sum of payments minus q_i / gamma; the theorem says that the
rule's own sum P is at most 2 delta theta d H_d (P* + m n), with theta the most tasks of a user, d the sum of
the requirements and delta = max w_i / min (w_i + m). Payments cover costs, so the least sum of w_i over
covers, which stands for P* here, is not above it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.auction.slot.fitting import harmonic
from mechdesign.families.auction.slot.problem import AuctionSlot

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
    found: dict[str, Any] = {"lemma_slack": least + shift * users - shifted}
    smallest = float((weights + shift).min())
    if smallest <= 0.0:  # somebody who costs nothing: delta is not defined
        return found
    total, tasks = int(problem.requirements.sum()), max(len(tasks) for tasks in problem.tasks)
    factor = 2.0 * float(weights.max()) / smallest * tasks * total * harmonic(total)
    winners = np.asarray(solution.variables["winners"], dtype=np.int64)
    paid = math.fsum(np.asarray(solution.variables["payments"]).tolist())
    found["printed_bound"] = factor * (least + shift * users)
    found["printed_sum"] = paid - float(owed[winners].sum())
    found["printed_slack"] = found["printed_bound"] - found["printed_sum"]
    return found
