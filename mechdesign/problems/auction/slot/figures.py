"""Picture of one slot: what users ask for, and what the winners are paid."""

from __future__ import annotations

import numpy as np

from mechdesign.core.figure import Figure, Panel
from mechdesign.core.marks import Bars
from mechdesign.core.problem import Candidate
from mechdesign.problems.auction.slot.problem import AuctionSlot

MOST_USERS = 120
MOST_NAMES = 40


def figures(problem: AuctionSlot, solution: Candidate) -> list[Figure]:
    """Return costs and payments by user; nothing of many users."""
    if len(problem.bids) > MOST_USERS:
        return []
    cost = problem.bids[:, 0] + problem.epsilon * problem.bids[:, 1]
    users = np.arange(len(cost))
    won = np.zeros(len(cost), dtype=bool)
    won[np.asarray(solution.variables["winners"], dtype=np.int64)] = True
    paid = np.asarray(solution.variables["payments"], dtype=np.float64)
    marks = [
        Bars(x=users, y=np.where(won, cost, 0.0), label="cost of a winner"),
        Bars(x=users, y=np.where(won, 0.0, cost), label="cost of a loser"),
        Bars(x=users, y=paid, label="payment"),
    ]
    panel = Panel(
        "user", "money", marks, x_names=[str(user) for user in users] if len(users) <= MOST_NAMES else ()
    )
    caption = "A payment is what the winner could at most have asked for and still have won."
    return [Figure("Costs and payments of one slot", [panel], caption)]
