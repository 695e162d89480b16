"""What a slot costs, and how far the greedy rule can be from the best winners."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.auction import greedy
from mechdesign.families.auction.papers.slot.printed_bounds import printed_bounds
from mechdesign.families.auction.slot.fitting import harmonic, largest_gain
from mechdesign.families.auction.slot.problem import AuctionSlot


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
    found: dict[str, Any] = {
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
            found["phase_two_ratio"] = (solution.value - base) / (solution.bound - base)
    return found
