"""The rule of algorithms 5.2 and 5.3, next to those that decide a slot: to be run, and audited."""

from __future__ import annotations

from mechdesign.families.auction.papers import published
from mechdesign.families.auction.rules import Rule
from mechdesign.families.auction.slot_audit import Money
from mechdesign.families.auction.slot_rules import Slot


def _paid(slot: Slot, user: int) -> Money | None:
    chosen = published.selected(slot)
    if chosen is None or user not in [winner for winner, _ in chosen]:
        return None
    return published.payment(slot, user)


RULES = {
    "published": Rule("published", published.award, "", _paid, published.too_many_users, by_ratio=True),
}
