"""Payments that keep every promise exactly: epsilons on a dyadic grid, payments rounded up to one.

Given non-increasing epsilons, the least payments with IR and IC follow from the neighbours' rows alone:

    payment_i >= payment_{i+1} + theta_i (eps_i - eps_{i+1})            type i does not take item i + 1
    payment_{i+1} >= payment_i - theta_{i+1} (eps_i - eps_{i+1})        type i + 1 does not take item i

Both increments are computed without error (products of two floats as an unevaluated sum of two), the
first is rounded up and the second down. Where the grid is too coarse for the two, neighbours share an
item, the average over their users. Every epsilon and payment is then a float, an integer times a power
of two, and the exact audit passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.contract.incentives import scaled

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVEL_BITS, BITS = 53, 52
"""Epsilons are integers below 2**53 times a power of two, payments below 2**52: exact as floats."""

ATTEMPTS = 24
"""Most attempts: a rounding that misses the budget is scaled down a little and tried again."""


@dataclass(frozen=True)
class Posted:
    """Items that can be promised: one epsilon and payment a type, and the exact total of all payments."""

    epsilon: Array
    payment: Array
    total: Fraction


@dataclass(frozen=True)
class Rules:
    """Constraints on the payments of one menu.

    Parameters
    ----------
    types, counts : (k,) array
        Types strictly increasing, counts positive.
    cost : (k,) array
        Participation cost of each type.
    information : {"incomplete", "complete"}
        With complete information every type is paid for its own item alone.
    low, high : float
        Floor and cap of epsilon.
    printed : bool
        Pay by theorem 4.3.12's recursion from the top type, whatever the epsilons are.
    """

    types: Array
    counts: Array
    cost: Array
    information: str = "incomplete"
    low: float = 0.0
    high: float = math.inf
    printed: bool = False


def post_within_budget(rules: Rules, epsilon: Array, budget: float) -> Posted | None:
    """Round a menu so that its exact cost keeps the budget; None when even its floor does not.

    Examples
    --------
    >>> rules = Rules(np.array([1.0, 2.1]), np.array([10.0, 10.0]), np.zeros(2))
    >>> posted = post_within_budget(rules, np.array([4.0, 2.0]), 104.0)
    >>> posted.total <= 104, posted.payment.round(9)
    (True, array([6.2, 4.2]))
    """
    # Every step of the payments is rounded up by at most a unit: leave room for that many.
    scale, limit = 1.0 - (len(epsilon) - 1) * 2.0 ** (1 - BITS), Fraction(budget)
    for attempt in range(ATTEMPTS):
        posted = post(rules, epsilon * scale)
        if posted.total <= limit:
            return posted
        fixed = float(rules.counts @ rules.cost)
        shrink = max(0.0, (budget - fixed) / max(float(posted.total) - fixed, math.ulp(budget)))
        scale *= (
            min(shrink, 1.0) * (1.0 - 2.0 ** (2 * attempt - 51)) if attempt else min(shrink, 1.0 - 2.0**-52)
        )
    floor = post(rules, np.full_like(epsilon, rules.low)) if rules.low > 0 else None
    return floor if floor is not None and floor.total <= limit else None


def post_enough(rules: Rules, epsilon: Array, enough: Callable[[Array], bool]) -> Posted | None:
    """Round a menu so that ``enough(epsilon)`` holds after rounding; None when even the cap is not enough."""
    scale = 1.0
    for attempt in range(ATTEMPTS):
        posted = post(rules, epsilon * scale)
        if enough(posted.epsilon):
            return posted
        scale *= 1.0 + 2.0 ** (2 * attempt - 51)
    return None


def post(rules: Rules, epsilon: Array) -> Posted:
    """Round epsilons to the grid and pay for them, all inequalities exact."""
    clipped = np.clip(epsilon, rules.low, rules.high)
    shift = LEVEL_BITS - math.frexp(float(clipped.max()))[1]
    levels = np.rint(np.ldexp(clipped, shift)).astype(np.int64)
    low = math.ceil(Fraction(rules.low) * Fraction(2) ** shift)
    high = math.floor(Fraction(min(rules.high, float(2 * clipped.max()))) * Fraction(2) ** shift)
    levels = np.clip(levels, max(low, 1), max(low, high, 1))  # nobody's epsilon is rounded to none at all
    unit = BITS - 1 - math.frexp(_most_paid(rules, clipped))[1]
    paid = _payments(rules, levels, unit - shift, unit)
    total = _weighted_sum(rules.counts, paid) / Fraction(2) ** unit
    return Posted(
        np.ldexp(levels.astype(np.float64), -shift), np.ldexp(paid.astype(np.float64), -unit), total
    )


def _most_paid(rules: Rules, epsilon: Array) -> float:
    """Return an upper bound of all payments and, where they are added up, of the sums of increments."""
    cost = float(rules.cost.max())
    if (rules.cost == cost).all() or rules.information == "complete":
        return math.fsum(rules.types * abs(np.diff(epsilon, append=0.0))) + cost
    return float(rules.types[-1] * epsilon.max()) + cost


def _weighted_sum(weights: Array, amounts: Integers) -> Fraction:
    """Return the exact sum of weights * amounts."""
    if (weights == np.rint(weights)).all() and weights.sum() < 2.0**36:  # both halves fit in 64 bits
        whole = weights.astype(np.int64)
        return Fraction((int(whole @ (amounts >> 26)) << 26) + int(whole @ (amounts & 0x3FFFFFF)))
    counts = scaled("counts", weights)
    return Fraction(sum(map(int.__mul__, counts.values, amounts.tolist())), counts.denominator)


def _payments(rules: Rules, levels: Integers, shift: int, unit: int) -> Integers:
    """Return the payments for these levels; neighbours that cannot be told apart share one, in place."""
    private = rules.information == "incomplete" and len(levels) > 1
    if private and not rules.printed:
        _share_items(rules, levels, shift)
    own = _rounded_up(rules.types, levels, shift) + np.ceil(np.ldexp(rules.cost, unit)).astype(np.int64)
    if not private:
        return own
    steps = levels[:-1] - levels[1:]
    up = _rounded_up(rules.types[:-1], steps, shift)
    if rules.printed or (rules.cost == rules.cost[-1]).all():
        return _from_the_top(own[-1], up)
    return _least_payments(own, up, -_rounded_up(rules.types[1:], -steps, shift))


def _from_the_top(last: np.int64, up: Integers) -> Integers:
    """Return last + the sum of the steps from each type to the top one."""
    later: Integers = np.append(np.cumsum(up[::-1])[::-1], np.int64(0))
    return later + last


def _least_payments(own: Integers, up: Integers, down: Integers) -> Integers:
    """Return the least payments >= own with up_i <= payment_i - payment_{i+1} <= down_i (up <= down)."""
    falls = np.concatenate([[0], np.cumsum(down)])
    forward = np.maximum.accumulate(own + falls) - falls
    rises = np.concatenate([[0], np.cumsum(up)])
    return np.asarray(np.maximum.accumulate((forward + rises)[::-1])[::-1] - rises)


def _rounded_up(types: Array, steps: Integers, shift: int) -> Integers:
    """Return ceil(types * steps * 2**shift) exactly, at most 2**62 in size; steps below 2**53 in size."""
    factor = steps.astype(np.float64)
    product = types * factor
    error = _product_error(types, factor, product)
    whole = np.ceil(np.ldexp(product, shift))
    exact = np.ldexp(product, shift) == whole
    whole = np.clip(whole, -(2.0**62), 2.0**62)
    return np.asarray(whole.astype(np.int64) + (exact & (error > 0)))


def _product_error(left: Array, right: Array, product: Array) -> Array:
    """Return left * right - fl(left * right), exact by Dekker's and Veltkamp's splitting."""
    left_high, right_high = _high_half(left), _high_half(right)
    left_low, right_low = left - left_high, right - right_high
    crossed = ((left_high * right_high - product) + left_high * right_low) + left_low * right_high
    return crossed + left_low * right_low


def _high_half(numbers: Array) -> Array:
    folded = 134217729.0 * numbers  # 2**27 + 1
    return folded - (folded - numbers)


def _share_items(rules: Rules, levels: Integers, shift: int) -> None:
    """Give neighbours that no payment on the grid separates one item, in place, until all are separated.

    The shared level is the average over the users, so that a type with few users that is hardly another one
    does not pull the epsilon of that one's many users.
    """
    steps = levels[:-1] - levels[1:]
    close = (steps != 0) & (
        _rounded_up(rules.types[:-1], steps, shift) > -_rounded_up(rules.types[1:], -steps, shift)
    )
    close |= steps < 0
    groups = _Groups({}, {}, {}, set())
    for place in np.flatnonzero(close).tolist():
        waiting = [place]
        while waiting:
            place = waiting.pop()
            if place not in groups.joined and not _separated(rules.types, levels, place, shift):
                first, last = groups.join(rules.counts, levels, place)
                waiting += [outer for outer in (first - 1, last) if 0 <= outer < len(levels) - 1]
    for first, last in groups.last.items():
        levels[first : last + 1] = levels[first]


@dataclass(frozen=True)
class _Groups:
    """Runs of types that share an item: their ends and users; levels are up to date at the ends only."""

    first: dict[int, int]  # by the last type
    last: dict[int, int]  # by the first type
    users: dict[int, float]  # by the first type
    joined: set[int]

    def join(self, counts: Array, levels: Integers, place: int) -> tuple[int, int]:
        """Join what ends at this place with what begins after it; return the ends of the new run."""
        self.joined.add(place)
        first, last = self.first.pop(place, place), self.last.pop(place + 1, place + 1)
        lower = self.users.pop(first, float(counts[first]))
        upper = self.users.pop(place + 1, float(counts[place + 1]))
        fall = int(levels[place] - levels[place + 1])
        levels[first] = levels[last] = int(levels[place + 1]) + round(fall * (lower / (lower + upper)))
        self.first[last], self.last[first], self.users[first] = first, last, lower + upper
        return first, last


def _separated(types: Array, levels: Integers, place: int, shift: int) -> bool:
    """Whether a payment on the grid keeps both types at this place and the next from the other's item."""
    step = int(levels[place] - levels[place + 1])
    if step <= 0:
        return step == 0
    weight = Fraction(2) ** shift * step
    return math.ceil(Fraction(float(types[place])) * weight) <= math.floor(
        Fraction(float(types[place + 1])) * weight
    )
