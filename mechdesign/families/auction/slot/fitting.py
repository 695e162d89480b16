"""A lower bound from the greedy rule itself, by dual fitting: no linear program is solved.

With multipliers y >= 0 of the tasks, every set that covers what is needed weighs at least y.r + sum_i
min(0, w_i - sum_{j of i} y_j). The greedy rule suggests y_j: the ratio at which task j was closed, divided
by the harmonic number of the largest number of open tasks that a user has.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mechdesign.families.auction import greedy
from mechdesign.families.auction.slot_rules import Slot

FINE = 1 << 30


def harmonic(count: int) -> float:
    """Return 1 + 1/2 + ... + 1/count.

    Examples
    --------
    >>> harmonic(2)
    1.5
    """
    return sum(1.0 / number for number in range(1, count + 1))


def largest_gain(slot: Slot) -> int:
    """Return the largest number of open tasks of a user of phase 2."""
    needs = np.array(greedy.remaining(slot, greedy.preselected(slot)))
    return int(slot.able[:, needs > 0].sum(axis=1).max(initial=0))


def fitted_bound(slot: Slot) -> float:
    """Return a proven lower bound of the objective, at least the part 1/H of phase 2's value.

    All sums are of whole numbers.
    """
    ahead = greedy.preselected(slot)
    needs = greedy.remaining(slot, ahead)
    covering = greedy.Covering(slot, needs, greedy.competing(slot, ahead))
    divisor = math.ceil(max(1.0, harmonic(largest_gain(slot))) * FINE)
    prices = [0] * len(needs)
    for stage in greedy.covering_choices(covering):
        for task in slot.tasks[stage.user]:
            if stage.needs[task] > 0:
                prices[task] = slot.weights[stage.user] * FINE // (stage.gain * divisor)
    total = sum(price * need for price, need in zip(prices, needs, strict=True))
    outside = set(ahead)
    for user in slot.admitted.nonzero()[0].tolist():
        if user not in outside:
            total += min(0, slot.weights[user] - sum(prices[task] for task in slot.tasks[user]))
    total += sum(slot.weights[user] for user in ahead)
    return float(np.nextafter(float(Fraction(total, slot.scale)), -np.inf))
