"""What several mechanisms reveal about a user who answers all of them, also after shufflers.

The totals are those of :mod:`mechdesign.collect.totals`. Where the epsilons of later collections depend on
earlier results, see :mod:`mechdesign.ledger.renyi_filter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from mechdesign.audit.losses import PLACES, Losses, LossPart, losses_of
from mechdesign.collect import totals
from mechdesign.collect.base import Randomizer
from mechdesign.collect.totals import (
    PROMISES as PROMISES,
    Collected as Collected,
    Total as Total,
    guarantee_of as guarantee_of,
    own_part,
    promised_pair as promised_pair,
)
from mechdesign.core.guarantee import Exact
from mechdesign.families.shuffle.promise import profile

SEARCH = 40


def total(collected: Sequence[Collected], within: Exact = 0.0, shuffled: bool = False) -> Total:
    """Return the guarantee that is proven for all reports of a user together.

    Parameters
    ----------
    collected : sequence of Collected
    within : number or str
        The delta that the total may have; a double is taken as the decimal that it is written as.
    shuffled : bool
        Whether it is about what is known after the shufflers, rather than about the reports themselves.

    Examples
    --------
    >>> year = total([Collected("daily", 0.1, times=365)], within=1e-6)
    >>> year.epsilon, round(year.composed, 2), year.by
    (36.5, 10.31, 'distribution of the total loss')
    """
    return totals.total_of(collected, within, _part_after_shufflers if shuffled else own_part)


def _part_after_shufflers(one: Collected, cut: float) -> LossPart:
    if not one.users:
        return own_part(one, cut)
    bound, reach = _shuffled(one.users, Randomizer(one.epsilon, one.size), cut)
    own = math.floor(math.log2(reach / PLACES))

    def law(exponent: int, each: float) -> Losses:
        return losses_of(bound, reach, own).on(min(own, exponent)).times(one.times, each)

    return LossPart(one.times, reach / 7.0, law, one.delta)


@lru_cache(maxsize=64)
def _shuffled(users: int, randomizer: Randomizer, cut: float) -> tuple[Callable[[float], float], float]:
    """Return the proven bound of delta of shuffled reports, and an epsilon with next to no delta."""
    bound = profile(users, randomizer, cut)
    return bound, _reach(bound, randomizer.epsilon, cut)


def _reach(bound: Callable[[float], float], local: float, cut: float) -> float:
    """Return an epsilon with next to no delta: from the local one on, there is none."""
    low, high = 0.0, local * (1.0 + 1e-9)
    for _ in range(SEARCH):
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if bound(middle) <= cut else (middle, high)
        if high - low < 0.02 * high:
            break
    return high
