"""``auction-slot`` by dynamic programming over what is still needed: proven optima, for small slots."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.auction import vcg
from mechdesign.problems.auction.slot.problem import AuctionSlot, obstacle, outcome


def run(problem: AuctionSlot) -> Outcome:
    """Find the best winners in whole numbers, and their Vickrey-Clarke-Groves payments."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = vcg.award_exactly(problem.slot)
    value = float(problem.slot.value(award.winners))
    return outcome(problem, award, "exact", "dynamic programming", (value, "dynamic programming, exact"))


def why_not(problem: AuctionSlot) -> str | None:
    """Say that there are too many states, if so."""
    count = vcg.states(problem.slot)
    if count > vcg.MOST_STATES:
        return f"{count} steps are too many for dynamic programming; {vcg.MOST_STATES} at most"
    return None


METHOD = Method(
    name="exact",
    problem=AuctionSlot,
    kind="analytic",
    preference=30,
    summary="dynamic programming with Vickrey-Clarke-Groves payments, for small slots",
    run=run,
    why_not=why_not,
)
