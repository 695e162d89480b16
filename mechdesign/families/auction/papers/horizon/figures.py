"""Pictures of a horizon: payments, users who stay and backlogs over time (figures 5.2 and 5.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.auction.horizon.play import play
from mechdesign.families.auction.horizon.problem import AuctionHorizon
from mechdesign.families.auction.papers.horizon.quantities import PATIENCE
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line, Reference

NAMES = {"online": "online", "static": "static", "forced": "forced to keep shares in each slot"}


def figures(problem: AuctionHorizon, solution: Solution[Any]) -> list[Figure]:
    """Return the policies slot by slot, when a user leaves who loses 20 slots in a row."""
    policies = ["online", "static", *(["forced"] if problem.participation > 0 else [])]
    played = {policy: play(problem, policy, PATIENCE) for policy in policies}
    slots = np.arange(1, problem.slots + 1)
    paid = [Line(x=slots, y=np.cumsum(one.payments), label=NAMES[policy]) for policy, one in played.items()]
    there = [Line(x=slots, y=one.left, label=NAMES[policy]) for policy, one in played.items()]
    bound = problem.tradeoff * problem.reserve + problem.participation
    queues = [
        Line(x=slots, y=played["online"].largest_backlog, label="online"),
        Reference(value=bound, label="proven bound", series=3),
    ]
    panels = [
        Panel("slot", "paid in all slots so far", paid, title="Payments"),
        Panel(
            "slot", "users still present", there, title=f"A user who loses {PATIENCE} slots in a row leaves"
        ),
        Panel("slot", "largest backlog (slots)", queues, title="Backlogs"),
    ]
    caption = (
        "The static auction takes the cheapest users until the others have left; the online one keeps all."
    )
    return [Figure("The auction over time", panels, caption)]
