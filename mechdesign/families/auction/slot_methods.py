"""The methods of ``auction-slot``: the first one that applies is the default, and the rule that is built.

Each is truthful as a rule of its own: which one decides a season is fixed when the auction is built, not by
the bids of its slots.
"""

from __future__ import annotations

from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.exact.exponential import float_down
from mechdesign.families.auction import greedy, vcg
from mechdesign.families.auction.greedy import fitted_bound
from mechdesign.families.auction.slot import AuctionSlot, obstacle, outcome

MOST_ENTRIES = 20_000
"""With more users times tasks, the bound comes from the greedy prices and not from a linear program."""


def two_phases(problem: AuctionSlot) -> Outcome:
    """Decide by the greedy rule, and bound what any winners would cost.

    The rule is truthful, fast, and within a logarithmic factor of the best.
    """
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = greedy.award(problem.slot)
    bound = (fitted_bound(problem.slot), "the greedy prices by weak duality")
    if problem.slot.able.size <= MOST_ENTRIES:
        bound = max(bound, (vcg.objective_lower_bound(problem.slot, award.winners), "the linear relaxation"))
    return outcome(problem, award, "greedy", "two-phase greedy", bound)


def why_not_greedy(problem: AuctionSlot) -> str | None:
    """Return why the slot is too large for the greedy rule, or None."""
    return None if problem.slot.obstacle() else greedy.too_much_work(problem.slot) or None


def milp(problem: AuctionSlot) -> Outcome:
    """Solve the slot with and without each winner; what pulp proposes is proven in integers."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    try:
        award = vcg.award(problem.slot)
    except MethodError as error:
        return Outcome("failed", solver="pulp, proven", message=str(error))
    source = "whole multipliers of the linear relaxation and dynamic programming"
    bound = (float_down(problem.slot.value(award.winners)), source)
    solved = outcome(problem, award, "milp", "pulp, proven", bound)
    return changed(solved, notes={"integer_programs": 1 + len(award.winners)})


def exact(problem: AuctionSlot) -> Outcome:
    """Find the best winners in integers by what is still needed, and their payments."""
    refused = obstacle(problem)
    if refused is not None:
        return refused
    award = vcg.award_exactly(problem.slot)
    bound = (float_down(problem.slot.value(award.winners)), "dynamic programming, exact")
    return outcome(problem, award, "exact", "dynamic programming", bound)


METHODS = (
    Method("exact", AuctionSlot, "analytic",
           "dynamic programming with Vickrey-Clarke-Groves payments, for small slots",
           exact, lambda problem: vcg.too_many_states(problem.slot) or None),
    Method("milp", AuctionSlot, "numeric", "integer program with Vickrey-Clarke-Groves payments",
           milp, lambda problem: vcg.too_many_entries(problem.slot) or None),
    Method("greedy", AuctionSlot, "heuristic",
           "two-phase greedy with critical payments: truthful in bids and tasks", two_phases, why_not_greedy),
)  # fmt: skip
