"""What a rule does on a slot, as certificates; and a small slot to try an auction's settings on."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.exact.numbers import rational
from mechdesign.families.auction.audit.auctions import coverage, individual_rationality, truthfulness
from mechdesign.families.auction.rules import Rule, all_rules, amounts, misreports
from mechdesign.families.auction.slot_rules import UNIT, Slot, bid_prices, checked_bids, slot_of

if TYPE_CHECKING:
    from mechdesign.families.auction.online import OnlineAuction


TrialSettings = tuple[float, float, float | None, bool, int]
"""Epsilon, tradeoff, reserve price, whether backlogs count, and the number of tasks."""


def slot_certificates(slot: Slot, rule: str, scope: str = "") -> tuple[Certificate, ...]:
    """Return coverage, individual rationality and truthfulness of a rule on a slot without obstacle.

    Their notes state ``scope``: that the slot is another one than that in use.
    """
    return _certified(slot, all_rules()[rule], scope)


def _certified(slot: Slot, used: Rule, scope: str) -> tuple[Certificate, ...]:
    award = used.decide(slot)
    payments = dict(zip(award.winners, amounts(award), strict=True))
    paid = [payments.get(user, Fraction(0)) * UNIT for user in range(slot.users)]
    costs = [price * UNIT for price in slot.prices]
    return (
        coverage(slot.able, slot.requirements, award.winners, scope),
        individual_rationality(costs, paid, award.winners, scope),
        truthfulness(misreports(used, slot, payments), used.argument, UNIT, used.aside, scope),
    )


def trial_certificates(auction: OnlineAuction) -> tuple[Certificate, ...]:
    """Return what an auction's rule does on its trial slot; the same settings are tried once."""
    queues = auction.policy == "online" and auction.participation > 0
    return _tried(
        auction.rule, (auction.epsilon, auction.tradeoff, auction.reserve, queues, len(auction.tasks))
    )


@lru_cache(maxsize=256)
def _tried(rule: Rule, settings: TrialSettings) -> tuple[Certificate, ...]:
    return _certified(trial_slot(*settings), rule, "checked on one random slot")


def trial_slot(epsilon: float, tradeoff: float, reserve: float | None, queues: bool, tasks: int) -> Slot:
    """Return a small slot, always the same for the same settings, with weights of both signs."""
    rng = np.random.default_rng(5)
    users, count = 6, min(3, tasks)
    able = rng.random((users, count)) < 0.6
    able[np.arange(users), rng.integers(0, count, users)] = True
    needs = np.minimum(1 + np.arange(count) % 2, able.sum(axis=0) - 1).astype(np.int64)
    top = 4.0 if reserve is None else min(reserve, 4.0)
    bids = checked_bids(rng.uniform(0.2, 1.0, (users, 2)) * top / (1.0 + epsilon))
    prices = bid_prices(bids, rational("epsilon", epsilon))
    money = rational("tradeoff", tradeoff) * UNIT
    shares = (0, 2, 0, 1, 0, 0) if queues else (0,) * users
    backlog = [money * price * share for price, share in zip(prices, shares, strict=True)]
    return slot_of(prices, able, needs, tradeoff, backlog, reserve)
