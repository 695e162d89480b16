"""What the online rule and the two baselines make of the same slots, next to what can be proven about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.solution import Solution
from mechdesign.families.auction.horizon.play import play
from mechdesign.families.auction.horizon.problem import AuctionHorizon

PATIENCE = 20
"""Slots that a user loses in a row before it leaves, as for figure 5.2."""


def quantities(problem: AuctionHorizon, solution: Solution[Any]) -> dict[str, Any]:
    """Return payments, costs, shares, backlogs and who stays: online, static and forced policy.

    ``*_paid`` is what the center pays per slot (definition 5.2.3 of the source) and ``*_cost`` what its
    winners cost, both with all users there; ``paid_saved`` and ``saved`` are the parts of them that the
    online policy saves compared with the forced one, which pays forced users the reserve price. ``*_left`` is
    the share of users who are still there at the end when losing 20 slots in a row makes one leave.
    ``backlog_bound`` is gamma times the largest cost
    plus D, and ``share_bound`` what follows for everybody's share of the slots. ``drift_bound`` is n (1 +
    D^2) / (2 gamma), by which a best online decision in each slot costs more than the best on average.
    ``drift_slack`` is by how much the inequality (5.10) on the drift of the backlogs holds in the slot in
    which it comes closest to failing. Where a method has a bound, ``price_of_not_knowing`` is what the online
    rule costs, with everybody's share made sure of by the end, over that bound of the best cost.
    """
    online, static = play(problem, "online"), play(problem, "static")
    share, gamma, slots = problem.participation, problem.tradeoff, problem.slots
    longest = gamma * problem.reserve + share
    found: dict[str, Any] = {
        "online_paid": float(online.payments.mean()),
        "static_paid": float(static.payments.mean()),
        "online_cost": float(online.costs.mean()),
        "static_cost": float(static.costs.mean()),
        "online_left": _left(problem, "online"),
        "static_left": _left(problem, "static"),
        "least_share": float(online.selected.mean(axis=0).min()),
        "share_bound": share - longest / slots,
        "largest_backlog": float(online.largest_backlog.max()),
        "backlog_bound": longest,
        "drift_slack": _drift_slack(online.selected, share),
        "drift_bound": problem.users * (1.0 + share * share) / (2.0 * gamma),
    }
    if share > 0:
        forced = play(problem, "forced")
        for what, amounts in (("paid", forced.payments), ("cost", forced.costs)):
            found[f"forced_{what}"] = float(amounts.mean())
        found["paid_saved"] = 1.0 - found["online_paid"] / found["forced_paid"]
        found["saved"] = 1.0 - found["online_cost"] / found["forced_cost"]
    if solution.bound:
        deadline = play(problem, "deadline", paying=False)
        found["offline_cost"] = solution.value / slots
        found["price_of_not_knowing"] = float(deadline.costs.sum()) / solution.bound
    return found


def _left(problem: AuctionHorizon, policy: str) -> float:
    return float(play(problem, policy, PATIENCE, paying=False).left[-1]) / problem.users


def _drift_slack(selected: NDArray[np.bool_], share: float) -> float:
    """Return the least of n (D^2 + 1) / 2 + sum q D - sum q x - (L(t + 1) - L(t)) over the slots."""
    backlog = np.zeros(selected.shape[1])
    least = math.inf
    for won in selected:
        after = np.maximum(backlog - won, 0.0) + share
        drift = float((after**2 - backlog**2).sum()) / 2.0
        bound = len(won) * (share * share + 1.0) / 2.0 + float((backlog * (share - won)).sum())
        least, backlog = min(least, bound - drift), after
    return least
