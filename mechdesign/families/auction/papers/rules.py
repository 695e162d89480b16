"""Algorithms 5.2 and 5.3 as printed, in rational arithmetic, as a rule to be run, audited and refuted.

Two things go wrong. At a stage where the winner's own tasks are closed already, the printed payment is its
backlog over gamma, at which it would not win there. And as soon as some weight is negative, more tasks make
its ratio less attractive, so that it may pay to hide some. ("argmax" in line 3 of algorithm 5.2 is a
misprint of argmin.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechdesign.families.auction.rules import Money, Rule
from mechdesign.families.auction.slot_rules import Slot

MOST_USERS = 300
"""The direct reading takes cubic time."""


def too_many_users(slot: Slot) -> str:
    """Return why the direct reading is not for this slot; empty if it is."""
    if slot.users <= MOST_USERS:
        return ""
    return f"{slot.users} users are more than {MOST_USERS} for the direct reading; use rule 'greedy'"


@dataclass(frozen=True)
class PublishedAward:
    """Winners, and their payments in units that need not be whole."""

    winners: tuple[int, ...]
    payments: tuple[Fraction, ...]


def selected(slot: Slot, without: int | None = None) -> list[tuple[int, tuple[bool, ...]]] | None:
    """Return the users chosen by algorithm 5.2, and the tasks open before each; None where it is stuck.

    Parameters
    ----------
    slot : Slot
    without : int, optional
        The user whom algorithm 5.3 leaves out.
    """
    needs = slot.requirements.copy()
    left = [user for user in slot.admitted.nonzero()[0].tolist() if user != without]
    chosen = []
    while needs.any():
        open_tasks = needs > 0
        gains = slot.able[:, open_tasks].sum(axis=1).tolist()
        able = [user for user in left if gains[user]]
        if not able:
            return None
        user = able[0]
        for other in able[1:]:  # the first one of equals
            if slot.weights[other] * gains[user] < slot.weights[user] * gains[other]:
                user = other
        chosen.append((user, tuple(open_tasks.tolist())))
        left.remove(user)
        needs = np.maximum(needs - slot.able[user], 0)
    return chosen


def _gain(slot: Slot, user: int, open_tasks: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    return int((slot.able[user] & open_tasks).sum())


def payment(slot: Slot, user: int) -> Fraction:
    """Return the payment of a winner by algorithm 5.3, in units; irreplaceable: the reserve price."""
    chosen = selected(slot, user)
    if chosen is None:
        assert slot.reserve is not None
        return Fraction(slot.reserve)
    best = Fraction(0)
    for other, before in chosen:
        open_tasks = np.array(before)
        part = Fraction(_gain(slot, user, open_tasks), _gain(slot, other, open_tasks))
        best = max(best, (part * slot.weights[other] + slot.offsets[user]) / slot.slope)
    return best


def award(slot: Slot) -> PublishedAward | None:
    """Return winners and payments as printed; None where the loop of algorithm 5.2 would not end."""
    chosen = selected(slot)
    if chosen is None:
        return None
    winners = tuple(user for user, _ in chosen)
    return PublishedAward(winners, tuple(payment(slot, user) for user in winners))


def _paid(slot: Slot, user: int) -> Money | None:
    chosen = selected(slot)
    if chosen is None or user not in [winner for winner, _ in chosen]:
        return None
    return payment(slot, user)


RULES = {
    "published": Rule("published", award, "", _paid, too_many_users, by_ratio=True),
}
