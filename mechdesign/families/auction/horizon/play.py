"""A horizon slot after slot by one of the policies, without knowledge of what comes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.numbers import rational
from mechdesign.families.auction import greedy
from mechdesign.families.auction.horizon.problem import AuctionHorizon
from mechdesign.families.auction.slot_rules import UNIT, Slot, bid_prices, slot_of
from mechdesign.work.bars import progress

Wholes = NDArray[np.int64]

QUEUED = ("online", "deadline")
"""The policies that look at backlogs."""


@dataclass(frozen=True, eq=False)
class Played:
    """Result of playing all slots.

    Attributes
    ----------
    selected : (slots, users) array of bool
    costs, payments : (slots,) array
        Of the winners of each slot.
    left : (slots,) int array
        How many users are there after each slot.
    largest_backlog : (slots,) array
        After each slot.
    missing : int
        Winners that tasks lacked because users had left.
    """

    selected: NDArray[np.bool_]
    costs: NDArray[np.float64]
    payments: NDArray[np.float64]
    left: Wholes
    largest_backlog: NDArray[np.float64]
    missing: int


def play(
    problem: AuctionHorizon,
    policy: str,
    patience: int | None = None,
    paying: bool = True,
) -> Played:
    """Decide one slot after the other by the two-phase greedy rule.

    Parameters
    ----------
    problem : AuctionHorizon
    policy : {"online", "static", "forced", "deadline"}
        ``deadline`` is the online one, but who can no longer afford to lose a slot wins whatever it asks.
    patience : int, optional
        A user leaves after losing this many slots in a row.
    paying : bool
        Whether payments are computed.
    """
    instance, share = problem.instance, rational("participation", problem.participation)
    epsilon = rational("epsilon", problem.epsilon)
    slots, users = instance.costs.shape
    selected = np.zeros((slots, users), dtype=np.bool_)
    costs, payments, longest = np.zeros(slots), np.zeros(slots), np.zeros(slots)
    left, idle = np.zeros(slots, dtype=np.int64), np.zeros(users, dtype=np.int64)
    backlog = [0] * users  # in parts of a slot
    part, parts = share.numerator, share.denominator
    exact = lru_cache(maxsize=None)(lambda count: Fraction(count, parts))
    here = np.arange(users)
    missing = 0
    wait = math.ceil(1 / share) - 1 if share else slots
    for number in progress(range(slots), slots, policy):
        must = set(np.flatnonzero(idle >= wait).tolist()) if policy == "forced" else set()
        if policy == "deadline":
            must = set(np.flatnonzero(problem.wins - selected.sum(axis=0) >= slots - number).tolist())
        able = instance.able[number, here]
        needs = np.minimum(instance.needs[number], able.sum(axis=0))
        missing += int((instance.needs[number] - needs).sum())
        slot = slot_of(
            bid_prices(instance.bids[number, here], epsilon),
            able,
            needs,
            problem.tradeoff,
            [exact(backlog[user] if policy in QUEUED else 0) for user in here.tolist()],
            problem.reserve,
            frozenset(place for place, user in enumerate(here.tolist()) if user in must),
        )
        winners = _winners(slot, paying)
        chosen = here[list(winners.winners)]
        selected[number, chosen] = True
        costs[number] = float(slot.cost(winners.winners))
        payments[number] = float(sum(winners.payments) * UNIT) if paying else math.nan
        won = set(chosen.tolist())
        for user in here.tolist():
            backlog[user] = (max(backlog[user] - parts, 0) if user in won else backlog[user]) + part
        idle[here] += 1
        idle[chosen] = 0
        if patience is not None:
            here = here[idle[here] < patience]
        left[number] = len(here)
        longest[number] = max((backlog[user] for user in here.tolist()), default=0) / parts
    return Played(selected, costs, payments, left, longest, missing)


def _winners(slot: Slot, paying: bool) -> greedy.Award:
    return greedy.award(slot) if paying else greedy.Award(greedy.winners(slot), ())
