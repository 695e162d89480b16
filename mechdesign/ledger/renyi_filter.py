"""A limit for collections that are chosen one after the other, epsilons included, after a look at results.

The law of the sum of privacy losses holds for epsilons that are fixed beforehand. Where the next epsilon, or
whether there is one, depends on earlier reports, a Renyi filter holds (Feldman, Zrnic 2021):
with an order a that is fixed beforehand, collections go on while the sum of their Renyi divergences is at
most B, and all together have epsilon and delta when

    B <= epsilon - ln((a - 1) / a) + (ln delta + ln a) / (a - 1)

(Canonne, Kamath, Steinke 2020, proposition 12). Collections may also go on while the sum of the epsilons is
within the limit: whoever is beyond that is within the other one, and so has this delta.

Where mechanisms promise pairs of epsilon and delta, the sums of these are a third account. It uses the same
delta as the filter, so that only one of the two is open to a group: the one in which more collections like
the first have room, which no result can influence, or the pairs where the filter has no room for the first.
A collection that needs a delta uses the same delta, too: someone who chose between it and the filter after
a look at results could use it twice. So a group whose filter is open takes none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from mechdesign.audit.losses import LARGEST, LossCurve, Losses, losses_of
from mechdesign.collect.base import Randomizer
from mechdesign.core.guarantee import Exact, Guarantee
from mechdesign.core.values import changed
from mechdesign.exact.randomness import float_down, float_up
from mechdesign.families.shuffle.promise import profile
from mechdesign.ledger.account import PROMISES, Collected, guarantee_of, promised_pair

DIGITS = 40
"""Significant digits of divergences and budgets; the last one is rounded up, or down."""
ORDERS = np.geomspace(1.01, 2000.0, 4000)
"""Orders among which the one of a limit is chosen, all above 1."""
TAIL = 1e-12
THE_SUM = "the sum"
FILTER = "a Renyi filter"
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

    Doubles choose the order; its budget is rounded down.

    Examples
    --------
    >>> limit = filter_of(11.0, 1e-6)
    >>> pure_cost(0.1, limit.order) * 365 <= limit.budget
    True
    """
    budgets = epsilon - np.log1p(-1.0 / ORDERS) + (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1.0)
    order = float(ORDERS[int(np.argmax(budgets / ORDERS))])
    return Filter(order, _budget(epsilon, delta, order))


def _budget(epsilon: float, delta: float, order: float) -> float:
    """Return epsilon - ln((a - 1) / a) + (ln delta + ln a) / (a - 1), rounded down."""
    a, down, up = Decimal(order), _context(ROUND_FLOOR), _context(ROUND_CEILING)
    gain = down.next_minus(down.ln(down.divide(a, up.subtract(a, 1))))
    numerator = down.add(down.next_minus(down.ln(Decimal(delta))), down.next_minus(down.ln(a)))
    less = up.subtract(a, 1) if numerator > 0 else down.subtract(a, 1)
    budget = down.add(down.add(Decimal(epsilon), gain), down.divide(numerator, less))
    return float_down(Fraction(budget))


@lru_cache(maxsize=4096)
def pure_cost(epsilon: float, order: float) -> float:
    """Return the Renyi divergence of binary randomized response, the largest of all reports of this epsilon.

    It is rounded up, and never above order epsilon^2 / 2, which bounds it as well.

    Examples
    --------
    >>> 0.0 < pure_cost(1e-12, 2.0) <= 1.0000001e-24, pure_cost(0.0, 2.0)
    (True, 0.0)
    """
    if epsilon == 0.0:
        return 0.0
    # its ln is about order (order - 1) epsilon^2 / 2: twice as many digits as epsilon has zeros are lost
    lost = max(0, -2 * math.floor(math.log10(epsilon)))
    up, down = _context(ROUND_CEILING, lost), _context(ROUND_FLOOR, lost)
    a, exact = Decimal(order), Decimal(epsilon)
    powers = (up.multiply(a, exact), up.multiply(up.subtract(1, a), exact))
    above = up.add(*(up.next_plus(up.exp(power)) for power in powers))
    below = down.add(1, down.next_minus(down.exp(exact)))
    logarithm = max(Decimal(0), up.next_plus(up.ln(up.divide(above, below))))
    simple = Fraction(order) * Fraction(epsilon) ** 2 / 2
    return float_up(min(simple, Fraction(up.divide(logarithm, down.subtract(a, 1)))))


def losses_to(bound: Callable[[float], float], reach: float, exponent: int, end: float) -> Losses:
    """Return the law of :func:`losses_of` for a mechanism that has no delta from an epsilon ``end`` on.

    So it has no mass at infinity.
    """
    last = math.ceil(Fraction(end) / Fraction(2) ** exponent) + 1
    return losses_of(lambda epsilon: 0.0 if epsilon >= end else bound(epsilon), reach, exponent, last)


@lru_cache(maxsize=64)
def shuffled_cost(users: int, size: int, epsilon: float, order: float) -> float:
    """Return an upper bound of the Renyi divergence of shuffled reports, from their proven deltas."""
    bound = profile(users, Randomizer(epsilon, size), TAIL)
    reach = epsilon
    while reach > 1e-9 and bound(reach / 2.0) <= TAIL:
        reach /= 2.0
    law = losses_to(bound, reach, math.floor(math.log2(reach / PLACES)), epsilon)
    up, down = _context(ROUND_CEILING), _context(ROUND_FLOOR)
    a, step, mean = Decimal(order), Decimal(law.step), Decimal(0)
    ends = {True: up.multiply(up.subtract(a, 1), step), False: down.multiply(down.subtract(a, 1), step)}
    for place in np.flatnonzero(law.mass > 0.0).tolist():
        number = law.first + place
        power = up.next_plus(up.exp(up.multiply(number, ends[number >= 0])))
        mean = up.add(mean, up.multiply(Decimal(float(law.mass[place])), power))
    logarithm = up.add(up.next_plus(up.ln(mean)), up.multiply(2, Decimal(law.error)))
    cost = up.divide(max(Decimal(0), logarithm), down.subtract(a, 1))
    return min(float_up(Fraction(cost)), pure_cost(epsilon, order))


def used(collected: Sequence[Collected], epsilon: Exact, delta: Exact, shuffled: bool) -> float:
    """Return the part of a limit that collections use, however they were chosen; above 1 beyond it.

    Parameters
    ----------
    collected : sequence of Collected
    epsilon, delta : number or str
        The limit, exactly.
    shuffled : bool
        Whether the limit is for what is known after the shufflers.

    Examples
    --------
    >>> used([Collected("m.json", 0.5, times=2)], 2.0, 0.0, False)
    0.5
    >>> round(used([Collected("m.json", 0.1, times=365)], 11.0, 1e-6, False), 3)
    0.993
    """
    return decided(collected, epsilon, delta, shuffled)[0]


def decided(
    collected: Sequence[Collected], epsilon: Exact, delta: Exact, shuffled: bool, filtered: bool = True
) -> tuple[float, str]:
    """Return the part of a limit that is used, and the account that says so.

    Parameters
    ----------
    collected : sequence of Collected
    epsilon, delta : number or str
        The limit, exactly.
    shuffled : bool
        Whether the limit is for what is known after the shufflers.
    filtered : bool
        Whether a Renyi filter may decide; without it only sums do.

    Examples
    --------
    >>> one = Collected.of("m.json", Guarantee("0.7"), promise=Guarantee("0.1", "0.3"))
    >>> decided([one], "0.1", "0.3", False)
    (1.0, 'the sum of what is promised')
    """
    if not collected:
        return 0.0, THE_SUM
    limit = Guarantee(epsilon, delta)
    if filtered and not _by_promises(collected[0], limit, shuffled):
        by_sum, by_filter = _by_sums(guarantee_of(collected), limit), _by_filter(collected, limit, shuffled)
        return (by_filter, FILTER) if by_filter < by_sum else (by_sum, THE_SUM)
    pure = _by_sums(guarantee_of(collected), changed(limit, delta=Fraction(0)))
    known = promised_pair(collected)
    if known is None:
        return _by_sums(guarantee_of(collected), limit), THE_SUM
    pairs = _by_pairs(known, limit)
    return (pairs, PROMISES) if pairs < pure else (pure, THE_SUM)


def account_of(
    collected: Sequence[Collected], epsilon: Exact, delta: Exact, shuffled: bool, filtered: bool = True
) -> str:
    """Return the account that the first collection of a group has fixed for the later ones.

    It is the filter (next to the sum of epsilons, where that is less), the sums of the promised pairs, or the
    sums of epsilon and delta.

    Examples
    --------
    >>> account_of([Collected("m.json", 0.1)], 2.0, 1e-6, False)
    'a Renyi filter'
    """
    limit = Guarantee(epsilon, delta)
    if not collected or limit.delta == 0:
        return THE_SUM
    first = changed(collected[0], times=1)
    if not filtered or _by_promises(first, limit, shuffled):
        return PROMISES if any(one.promise is not None for one in collected) else THE_SUM
    is_open = _by_filter([first], limit, shuffled) <= 1.0 and all(one.delta == 0.0 for one in collected)
    return FILTER if is_open else THE_SUM


def _by_promises(first: Collected, limit: Guarantee, shuffled: bool) -> bool:
    """Whether of collections like the first at least as many have room by what they promise."""
    by_filter = _by_filter([changed(first, times=1)], limit, shuffled)
    if by_filter > 1.0:  # the filter is never open: what it adds up only grows
        return first.delta == 0.0 < limit.delta
    pairs = first.promise
    if pairs is None or by_filter == 0.0:
        return False
    rooms = ((limit.epsilon, pairs.epsilon), (limit.delta, pairs.delta))
    return min(most // each for most, each in rooms if each) >= math.floor(1 / Fraction(by_filter))


def _by_sums(sums: Guarantee | None, limit: Guarantee) -> float:
    if sums is None or sums.delta > limit.delta:
        return math.inf
    return float_up(sums.epsilon / limit.epsilon)


def _by_pairs(sums: Guarantee | None, limit: Guarantee) -> float:
    """Return the larger part of the two numbers of a limit with a delta."""
    if sums is None or limit.delta == 0:
        return math.inf
    return float_up(max(sums.epsilon / limit.epsilon, sums.delta / limit.delta))


def _by_filter(collected: Sequence[Collected], limit: Guarantee, shuffled: bool) -> float:
    result = math.inf
    if limit.delta > 0 and all(one.delta == 0.0 and one.epsilon <= LARGEST for one in collected):
        chosen = filter_of(float_down(limit.epsilon), float_down(limit.delta))
        if chosen.budget > 0.0:
            costs = (one.times * Fraction(_cost(one, chosen.order, shuffled)) for one in collected)
            result = float_up(sum(costs, Fraction(0)) / Fraction(chosen.budget))
    return result


def _context(rounding: str, more: int = 0) -> Context:
    return Context(prec=DIGITS + more, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _cost(one: Collected, order: float, shuffled: bool) -> float:
    if shuffled and one.users:
        return shuffled_cost(one.users, one.size, one.epsilon, order)
    pure = pure_cost(one.epsilon, order)
    return pure if one.curve is None else min(pure, _curve_cost(one.curve, order))


@lru_cache(maxsize=4096)
def _curve_cost(curve: LossCurve, order: float) -> float:
    return curve.renyi(order)
