"""``auction-slot`` by dynamic programming over what is still needed: proven optima, for small slots."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.auction import vcg
from mechdesign.problems.auction.slot.problem import AuctionSlot, obstacle, outcome, rounded_down


def run(problem: AuctionSlot) -> Outcome:
    """Find the best winners in whole numbers, and their Vickrey-Clarke-Groves payments."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = vcg.award_exactly(problem.slot)
    bound = (rounded_down(problem.slot.value(award.winners)), "dynamic programming, exact")
    return outcome(problem, award, "exact", "dynamic programming", bound)


def why_not(problem: AuctionSlot) -> str | None:
    """Say that there are too many states, if so."""
    return vcg.too_many_states(problem.slot) or None


METHOD = Method(
    name="exact",
    problem=AuctionSlot,
    kind="analytic",
    preference=30,
    summary="dynamic programming with Vickrey-Clarke-Groves payments, for small slots",
    run=run,
    why_not=why_not,
)
