"""``auction-slot`` as an integer program through pulp, with Vickrey-Clarke-Groves payments."""

from __future__ import annotations

from dataclasses import replace

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.auction import vcg
from mechdesign.problems.auction.slot.problem import AuctionSlot, obstacle, outcome

MOST_ENTRIES = 20_000
"""Users times tasks; each winner costs one more integer program."""


NODES = 300
"""Linear programs that may be solved to prove the optimum."""


def run(problem: AuctionSlot) -> Outcome:
    """Solve the slot with and without each winner; the bound is our own, not the solver's."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = vcg.award(problem.slot)
    bound = (vcg.lower_bound(problem.slot, award.winners, NODES), "linear relaxations of a tree")
    found = outcome(problem, award, "milp", "pulp", bound)
    return replace(found, notes={"integer_programs": 1 + len(award.winners)})


def why_not(problem: AuctionSlot) -> str | None:
    """Say that the slot is too large, if so."""
    if problem.slot.able.size > MOST_ENTRIES:
        return f"{problem.slot.able.size} users times tasks are too many; {MOST_ENTRIES} at most"
    return None


METHOD = Method(
    name="milp",
    problem=AuctionSlot,
    kind="numeric",
    preference=20,
    summary="integer program with Vickrey-Clarke-Groves payments",
    run=run,
    why_not=why_not,
)
