"""``auction-slot`` as an integer program through pulp, with Vickrey-Clarke-Groves payments."""

from __future__ import annotations

from dataclasses import replace

from mechdesign.core.errors import MethodError
from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.auction import vcg
from mechdesign.problems.auction.slot.problem import AuctionSlot, obstacle, outcome, rounded_down


def run(problem: AuctionSlot) -> Outcome:
    """Solve the slot with and without each winner; what the solver proposes is proven in whole numbers."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    try:
        award = vcg.award(problem.slot)
    except MethodError as error:
        return Outcome("failed", solver="pulp, proven", message=str(error))
    source = "whole multipliers of the linear relaxation and dynamic programming"
    bound = (rounded_down(problem.slot.value(award.winners)), source)
    found = outcome(problem, award, "milp", "pulp, proven", bound)
    return replace(found, notes={"integer_programs": 1 + len(award.winners)})


def why_not(problem: AuctionSlot) -> str | None:
    """Say that the slot is too large, if so."""
    return vcg.too_many_entries(problem.slot) or None


METHOD = Method(
    name="milp",
    problem=AuctionSlot,
    kind="numeric",
    preference=20,
    summary="integer program with Vickrey-Clarke-Groves payments",
    run=run,
    why_not=why_not,
)
