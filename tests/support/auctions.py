"""Small random slots, and the slowest possible readings of the rules, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from mechdesign.families.auction.slot_rules import Slot


def small_slots(seed: int, count: int) -> Iterator[Slot]:
    """Yield slots without obstacle: up to 5 users and 3 tasks, ties and weights of both signs."""
    rng = np.random.default_rng(seed)
    while count:
        slot = drawn(rng)
        if not slot.obstacle():
            count -= 1
            yield slot


def drawn(rng: np.random.Generator) -> Slot:
    """Draw one slot, possible or not."""
    users, tasks = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    able = rng.random((users, tasks)) < 0.6
    able[np.arange(users), rng.integers(0, tasks, users)] = True
    needs = np.minimum(rng.integers(0, 3, tasks), able.sum(axis=0)).astype(np.int64)
    backlog = rng.integers(0, 7, users) if rng.random() < 0.7 else np.zeros(users, dtype=np.int64)
    reserve = int(rng.integers(4, 13)) if rng.random() < 0.8 else None
    forced = frozenset([int(rng.integers(users))]) if reserve and rng.random() < 0.1 else frozenset[int]()
    return Slot(
        tuple(rng.integers(0, 9, users).tolist()),
        able,
        needs,
        int(rng.integers(1, 4)),
        tuple(backlog.tolist()),
        1,
        reserve,
        forced,
    )


def changed(slot: Slot, user: int, price: int, tasks: tuple[bool, ...]) -> Slot:
    """Return the slot with another report of one user."""
    able = slot.able.copy()
    able[user] = tasks
    return replace(slot, prices=(*slot.prices[:user], price, *slot.prices[user + 1 :]), able=able)


def reports(slot: Slot, user: int, top: int) -> Iterator[tuple[int, tuple[bool, ...]]]:
    """Yield every price below ``top`` with every set of the user's tasks that is not empty."""
    own = slot.able[user].tolist()
    for tasks in product(*[(True, False) if task else (False,) for task in own]):
        if any(tasks):
            for price in range(top):
                yield price, tasks


def slow_winners(slot: Slot) -> list[int]:
    """Return the winners of the two-phase rule, read as it is written down."""
    admitted = [u for u in range(slot.users) if slot.reserve is None or slot.prices[u] <= slot.reserve]
    won = [u for u in admitted if slot.weights[u] <= 0 or u in slot.forced]
    while True:
        needs = slot.requirements - slot.able[won].sum(axis=0)
        ratios = []
        for user in admitted:
            gain = int((slot.able[user] & (needs > 0)).sum())
            if user not in won and gain:
                ratios.append((Fraction(slot.weights[user], gain), user))
        if not (needs > 0).any():
            return won
        won.append(min(ratios)[1])


def slow_payment(slot: Slot, user: int, top: int) -> int:
    """Return the largest price below ``top`` at which a user wins: by trying them all."""
    own = tuple(slot.able[user].tolist())
    wins = [price for price in range(top) if user in slow_winners(changed(slot, user, price, own))]
    return max(wins)


def least_weight(slot: Slot) -> int:
    """Return the weight of the best winners: by trying all sets."""
    admitted = slot.admitted.nonzero()[0].tolist()
    best = None
    for taken in product((False, True), repeat=len(admitted)):
        chosen = [user for user, take in zip(admitted, taken, strict=True) if take]
        if not (slot.forced & set(admitted)) <= set(chosen):
            continue
        if (slot.able[chosen].sum(axis=0) >= slot.requirements).all():
            weight = sum(slot.weights[user] for user in chosen)
            best = weight if best is None else min(best, weight)
    assert best is not None
    return best
