"""Picture of one slot: what the winners ask for, and what they are paid."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.families.auction.slot.problem import AuctionSlot
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars

MOST_WINNERS = 40


def figures(problem: AuctionSlot, solution: Solution[Any]) -> list[Figure]:
    """Return cost and payment of each winner; nothing of many or of none."""
    winners = np.asarray(solution.variables["winners"], dtype=np.int64)
    if not 0 < len(winners) <= MOST_WINNERS:
        return []
    bids = problem.bids[winners]
    places = np.arange(len(winners))
    marks = [
        Bars(x=places, y=bids[:, 0] + problem.epsilon * bids[:, 1], label="cost by its bid"),
        Bars(x=places, y=solution.variables["payments"], label="payment"),
    ]
    panel = Panel("winner", "money", marks, x_names=[str(user) for user in winners.tolist()])
    caption = "A payment is what the winner could at most have asked for and still have won."
    title = f"Costs and payments of the {counted(len(winners), 'winner')} among {len(problem.bids)} users"
    return [Figure(title, [panel], caption)]
