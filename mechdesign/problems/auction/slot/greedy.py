"""``auction-slot`` by the two-phase greedy rule: truthful, fast, within a logarithmic factor of the best."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.auction import greedy
from mechdesign.mechanisms.auction.vcg import lower_bound
from mechdesign.problems.auction.slot.fitting import fitted_bound
from mechdesign.problems.auction.slot.problem import AuctionSlot, obstacle, outcome

MOST_ENTRIES = 20_000
"""With more users times tasks, the bound comes from the greedy prices and not from a linear program."""


def run(problem: AuctionSlot) -> Outcome:
    """Decide the slot, and bound what any winners would cost."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = greedy.award(problem.slot)
    bound = (fitted_bound(problem.slot), "the greedy prices by weak duality")
    if problem.slot.able.size <= MOST_ENTRIES:
        bound = max(bound, (lower_bound(problem.slot, award.winners), "the linear relaxation"))
    return outcome(problem, award, "greedy", "two-phase greedy", bound)


def why_not(problem: AuctionSlot) -> str | None:
    """Say that the slot is too large, if so."""
    return None if problem.slot.obstacle() else greedy.too_much_work(problem.slot) or None


METHOD = Method(
    name="greedy",
    problem=AuctionSlot,
    kind="heuristic",
    preference=10,
    summary="two-phase greedy with critical payments: truthful in bids and tasks",
    run=run,
    why_not=why_not,
)
