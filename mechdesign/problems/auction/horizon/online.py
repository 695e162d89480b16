"""``auction-horizon`` by the online rule, which sees one slot at a time.

Only that everybody must have won often enough at the end is enforced: who can no longer afford to lose a slot
wins whatever it costs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.auction.horizon.play import play
from mechdesign.problems.auction.horizon.problem import AuctionHorizon


def run(problem: AuctionHorizon) -> Outcome:
    """Play all slots; the bound is none, since it knows nothing of the optimum."""

    def due(slot: int, selected: NDArray[np.bool_], idle: NDArray[np.int64]) -> Iterable[int]:
        lacking = problem.wins - selected.sum(axis=0)
        found: list[int] = np.flatnonzero(lacking >= problem.slots - slot).tolist()
        return found

    played = play(problem, "online", forced=due, paying=False)
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
