"""Lower bounds for every private mechanism, in rationals from prices: whatever the prices are, they hold.

Let every mechanism have sum_S p_S eta_S <= P for some prices p_S = W_S c_S^2. Then by Cauchy and Schwarz

    sum W_S / eta_S >= (sum W_S c_S)^2 / sum W_S c_S^2 eta_S >= (sum W_S c_S)^2 / P,

and c_S = 1/eta_S of an optimal mixture makes it an equality. P comes from all sets of answers where these are
few, else from the total information: sum_S dim_S eta_S <= sinh(epsilon/2)^2, or from entropy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from mechdesign.exact.exponential import exp_upper, float_down
from mechdesign.families.survey.limit.effects import Effects

DIGITS = 40
"""Binary digits of prices."""


def factors(values: Sequence[float]) -> list[Fraction]:
    """Return numbers > 0 as rationals of few digits, relative to the largest; any such are prices.

    Examples
    --------
    >>> [str(number) for number in factors([4.0, 1.0])]
    ['1', '1/4']
    """
    top = max(values)
    return [Fraction(max(1, round(value / top * 2**DIGITS)), 2**DIGITS) for value in values]


def prices(effects: Effects, given: Sequence[Fraction]) -> list[Fraction]:
    """Return p = W c^2 of each kind, for the average eta of its parts."""
    return [weight * c * c for weight, c in zip(effects.weights, given, strict=True)]


def bound_from(effects: Effects, given: Sequence[Fraction], most: Fraction) -> float:
    """Return (sum W c)^2 / P, rounded down, for a proven P."""
    total = sum((weight * c for weight, c in zip(effects.weights, given, strict=True)), Fraction(0))
    return float_down(total * total / most)


def most_information(epsilon: float) -> Fraction:
    """Return an upper bound of sinh(epsilon / 2)^2 = (E - 1)^2 / (4 E): of the sum of dim_S eta_S.

    By Parseval the sum over all S but the empty one is, for a set of the share t, (E - 1)^2 t (1 - t) /
    (1 + (E - 1) t)^2, which is largest at t = 1 / (E + 1).

    Examples
    --------
    >>> round(float(most_information(2.0)), 6), round(math.sinh(1.0) ** 2, 6)
    (1.381098, 1.381098)
    """
    power = exp_upper(epsilon)
    return (power - 1) ** 2 / (4 * power)


def information_bound(effects: Effects, epsilon: float) -> float:
    """Return the bound from the total information: the least sum of W / eta with eta <= 1 and that total.

    Where no eta reaches 1 it is (sum_S sqrt(W_S dim_S))^2 / sinh(epsilon/2)^2. For every mu >= 0 the sum is
    at least that of the least W / eta + mu dim eta over eta <= 1, W + mu dim or 2 sqrt(W mu dim), less
    mu sinh(epsilon/2)^2. No eta exceeds 1, because a report says no more than the answer itself. Of a kind of
    m parts the sum of dim eta is m dim times the average eta.

    Examples
    --------
    >>> from mechdesign.families.survey.limit.effects import effects_of
    >>> pair = effects_of([2, 2], {(0,): Fraction(1), (1,): Fraction(1)})
    >>> information_bound(pair, 1.0), information_bound(pair, 9.0)
    (7.365388753662338, 1.0)
    """
    total = [dim * len(kind) for dim, kind in zip(effects.dimensions, effects.members, strict=True)]
    most = most_information(epsilon)
    pairs = list(zip(effects.weights, total, strict=True))
    mu = _multiplier(pairs, float(most))
    found = -mu * most
    for weight, dim in pairs:
        found += weight + mu * dim if weight >= mu * dim else 2 * _root(weight * mu * dim)
    return float_down(found)


def _multiplier(pairs: Sequence[tuple[Fraction, int]], most: float) -> Fraction:
    """Return the mu that makes the bound largest, nearly: parts with the largest W / dim reach 1 first."""
    ordered = sorted(pairs, key=lambda pair: pair[0] / pair[1], reverse=True)
    left = most
    for place, (weight, dim) in enumerate(ordered):
        root = math.fsum(math.sqrt(float(w) * d) for w, d in ordered[place:]) / left
        if float(weight) < root * root * dim:
            return Fraction(root * root)
        left -= dim
        if left <= 0.0:
            return weight / dim
    return Fraction(0)


def _root(value: Fraction) -> Fraction:
    """Return a rational number below the square root, with as many binary digits as doubles and more.

    Examples
    --------
    >>> float(_root(Fraction(9, 4)))
    1.5
    """
    shift = 64 + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    scaled = (value.numerator << (2 * shift)) // value.denominator
    return Fraction(math.isqrt(scaled), 1 << shift)
