"""``auction-slot`` by algorithms 5.2 and 5.3 as printed: not truthful, kept to be refuted."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.families.auction.papers import published
from mechdesign.families.auction.slot.problem import AuctionSlot, obstacle, outcome


def decide_as_printed(problem: AuctionSlot) -> Outcome:
    """Decide the slot as printed."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = published.award(problem.slot)
    assert award is not None, "a slot without obstacle has a cover"
    return outcome(problem, award, "published", "algorithms 5.2 and 5.3 as printed")


def why_not(problem: AuctionSlot) -> str | None:
    """Return why the method takes too long, or None."""
    return published.too_many_users(problem.slot) or None


METHODS = (
    Method("published", AuctionSlot, "published", "algorithms 5.2 and 5.3 as printed: some misreports pay",
           decide_as_printed, why_not),
)  # fmt: skip
