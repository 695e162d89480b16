"""``auction-horizon`` by the online rule, which sees one slot at a time.

Only that everybody must have won often enough at the end is enforced: who can no longer afford to lose a slot
wins whatever it costs.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.auction.horizon.play import play
from mechdesign.problems.auction.horizon.problem import AuctionHorizon


def run(problem: AuctionHorizon) -> Outcome:
    """Play all slots; there is no bound, since it knows nothing of the optimum."""
    played = play(problem, "deadline", paying=False)
    return Outcome(
        status="feasible",
        variables={"selected": played.selected.astype(np.int64)},
        solver="online two-phase greedy",
        notes={"largest_backlog": float(played.largest_backlog.max())},
    )


METHOD = Method(
    name="online",
    problem=AuctionHorizon,
    kind="heuristic",
    preference=20,
    summary="the online rule, slot after slot, with a deadline for everybody's share",
    run=run,
)
