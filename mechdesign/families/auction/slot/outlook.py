"""What solving and building say of the rule that decides every slot: how large a slot may be."""

from __future__ import annotations

import math

from mechdesign.core.remark import Remark
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.families.auction import OnlineAuction
from mechdesign.families.auction.slot.problem import AuctionSlot
from mechdesign.families.auction.vcg import MOST_ENTRIES, MOST_PROVEN, MOST_STATES


def outlook(
    problem: AuctionSlot, solution: Solution[OnlineAuction], users: int | None = None
) -> Remark | None:
    """Return the rule that is deployed, with its limit; None for one that is kept to be refuted."""
    rule = str(solution.realisation)
    needs = problem.requirements[problem.requirements > 0].tolist()
    if rule == "exact":
        most = MOST_STATES // math.prod(need + 1 for need in needs)
        limit = f"slots with these requirements and more than {counted(most, 'user')} are refused"
    elif rule == "milp":
        most = MOST_ENTRIES // max(1, len(needs))
        limit = f"slots with more than {most} users, or not proven in {MOST_PROVEN} steps, are refused"
    elif rule == "greedy":
        text = "each slot by rule 'greedy': truthful, for slots of any size, not always the best winners"
        return Remark(text, {"rule": rule, "best_winners": False, "most_users": None})
    else:
        return None
    text = f"each slot by rule '{rule}': truthful, the best winners; {limit} (--method greedy takes any size)"
    return Remark(text, {"rule": rule, "best_winners": True, "most_users": most})
