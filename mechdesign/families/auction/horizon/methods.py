"""The methods of ``auction-horizon``: the first one that applies is the default."""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.families.auction.horizon.milp import best_selection, why_not_best_selection
from mechdesign.families.auction.horizon.play import play
from mechdesign.families.auction.horizon.problem import AuctionHorizon


def online(problem: AuctionHorizon) -> Outcome:
    """Play all slots, one at a time; there is no bound, since the rule knows nothing of the optimum.

    Only that everybody must have won often enough at the end is enforced: who can no longer afford to lose a
    slot wins whatever it costs.
    """
    played = play(problem, "deadline", paying=False)
    return Outcome(
        status="feasible",
        variables={"selected": played.selected.astype(np.int64)},
        solver="online two-phase greedy",
        notes={"largest_backlog": float(played.largest_backlog.max())},
    )


METHODS = (
    Method("milp", AuctionHorizon, "numeric", "integer program over all slots, for small horizons",
           best_selection, why_not_best_selection),
    Method("online", AuctionHorizon, "heuristic",
           "the online rule, slot after slot, with a deadline for every user's share", online),
)  # fmt: skip
