r"""A limit for collections that are chosen one after the other, epsilons included, after a look at results.

The law of the sum of privacy losses holds for epsilons that are fixed beforehand. Where the next epsilon, or
whether there is one, depends on earlier reports, a Renyi filter holds (Feldman, Zrnic 2021):
with an order a that is fixed beforehand, collections go on while the sum of their Renyi divergences is at
most B, and all together have epsilon and delta when

    B <= epsilon - ln((a - 1) / a) + (ln delta + ln a) / (a - 1)

(Canonne, Kamath, Steinke 2020, proposition 12). Collections may also go on while the sum of the epsilons is
within the limit: whoever is beyond that is within the other one, and so has this delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from mechdesign.audit.account import LARGEST, Collected
from mechdesign.audit.exponential import float_up
from mechdesign.audit.losses import losses_to
from mechdesign.audit.shuffled import Randomizer, profile

SLACK = 1e-10
"""Sums are made larger, and limits smaller, by more than their rounding errors: this part of them."""
ORDERS = np.geomspace(1.01, 2000.0, 4000)
"""Orders among which the one of a limit is chosen, all above 1."""
TAIL = 1e-12
PLACES = 400


@dataclass(frozen=True)
class Filter:
    """The order and the budget that a limit has.

    Attributes
    ----------
    order : float
        Above 1.
    budget : float
        Above 0 where something can be collected.
    """

    order: float
    budget: float


@lru_cache(maxsize=64)
def filter_of(epsilon: float, delta: float) -> Filter:
    """Return the filter of a limit: the order depends on nothing else, and allows small reports most.

    Examples
    --------
    >>> found = filter_of(11.0, 1e-6)
    >>> pure_cost(0.1, found.order) * 365 <= found.budget
    True
    """
    budgets = epsilon - np.log1p(-1.0 / ORDERS) + (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1.0)
    best = int(np.argmax(budgets / ORDERS))
    return Filter(float(ORDERS[best]), float(budgets[best]) * (1.0 - SLACK) - SLACK)


def pure_cost(epsilon: float, order: float) -> float:
    """Return the Renyi divergence of binary randomized response, the largest of all reports of this epsilon.

    Examples
    --------
    >>> pure_cost(0.1, 10.0) <= 10.0 * 0.1**2 / 2
    True
    """
    if epsilon == 0.0:
        return 0.0
    # (e^(a eps) + e^((1 - a) eps)) / (1 + e^eps), its logarithm
    logarithm = np.logaddexp(order * epsilon, (1.0 - order) * epsilon) - np.logaddexp(0.0, epsilon)
    return float(logarithm / (order - 1.0)) * (1.0 + SLACK) + SLACK * epsilon * epsilon


@lru_cache(maxsize=64)
def shuffled_cost(users: int, size: int, epsilon: float, order: float) -> float:
    """Return an upper bound of the Renyi divergence of shuffled reports, from their proven deltas."""
    bound = profile(users, Randomizer(epsilon, size), TAIL)
    reach = epsilon
    while reach > 1e-9 and bound(reach / 2.0) <= TAIL:
        reach /= 2.0
    law = losses_to(bound, reach, math.floor(math.log2(reach / PLACES)), epsilon)
    points = (law.first + np.arange(len(law.mass), dtype=np.float64)) * law.step
    found = law.mass > 0.0
    terms = np.log(law.mass[found]) + (order - 1.0) * points[found]
    largest = float(terms.max())
    logarithm = largest + math.log(float(np.exp(terms - largest).sum())) + 2.0 * law.error + SLACK * SLACK
    return min(max(0.0, logarithm) / (order - 1.0) * (1.0 + SLACK) + SLACK * SLACK, pure_cost(epsilon, order))


def used(collected: Sequence[Collected], epsilon: float, delta: float, shuffled: bool) -> float:
    """Return the part of a limit that collections use, however they were chosen; above 1 beyond it.

    Parameters
    ----------
    collected : sequence of Collected
    epsilon, delta : float
        The limit.
    shuffled : bool
        Whether the limit is for what is known after the shufflers.

    Examples
    --------
    >>> used([Collected("m.json", 0.5, times=2)], 2.0, 0.0, False)
    0.5
    >>> round(used([Collected("m.json", 0.1, times=365)], 11.0, 1e-6, False), 3)
    0.993
    """
    if not collected:
        return 0.0
    found = math.inf
    if sum(Fraction(one.delta) * one.times for one in collected) <= delta:
        found = _part_of_sum(collected, epsilon)
    if delta > 0.0 and all(one.delta == 0.0 and one.epsilon <= LARGEST for one in collected):
        limit = filter_of(epsilon, delta)
        if limit.budget > 0.0:
            costs = (one.times * _cost(one, limit.order, shuffled) for one in collected)
            found = min(found, math.fsum(costs) / limit.budget)
    return found


def _part_of_sum(collected: Sequence[Collected], epsilon: float) -> float:
    if not all(math.isfinite(one.epsilon) for one in collected):
        return math.inf
    return float_up(sum(Fraction(one.epsilon) * one.times for one in collected) / Fraction(epsilon))


def _cost(one: Collected, order: float, shuffled: bool) -> float:
    if shuffled and one.users:
        return shuffled_cost(one.users, one.size, one.epsilon, order)
    return pure_cost(one.epsilon, order)
