"""Divergences of two laws of counts, and the cumulants of responses.

Every divergence is rounded up: it is a proof, not an approximation. That of two independent counts does not
look at every pair of values.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from mechdesign.audit.mass import SLACK, UNIT, Array, Mass, compounded
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import exp_lower, float_down
from mechdesign.primitives.mean_limits import Cumulants

TINY = 1e-290
"""Smaller probabilities are moved to this or to 0, to the safe side, so that no quotient leaves its range;
and the sum grows by it, for what is less than the least double."""

MARGIN = 2.0**-50
"""Eight roundings: more than the quotient of two probabilities and what it is compared with have."""


def sorted_excess(top: Array, bottom: Array, top2: Array, bottom2: Array, factor: float) -> float:
    """Return an upper bound of the sum of the positive parts of top x top2 - factor * bottom x bottom2.

    For each value of the first count, the values of the second that count are those with the largest
    quotients of chances: sums from the largest on give all of them at once. Who is a rounding away from
    counting is counted as well, and what that may take away is added to the errors of the sums.

    Parameters
    ----------
    top, top2 : (n,), (m,) arrays
        Upper bounds of the chances of the two counts with one input.
    bottom, bottom2 : (n,), (m,) arrays
        Lower bounds of those with the other input.
    factor : float
        At most e^40.

    Examples
    --------
    >>> one, other = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    >>> round(sorted_excess(one, other, one, other, 2.0), 12)
    0.4375
    """
    top, top2 = np.maximum(top, TINY), np.maximum(top2, TINY)
    bottom, bottom2 = np.where(bottom < TINY, 0.0, bottom), np.where(bottom2 < TINY, 0.0, bottom2)
    with np.errstate(divide="ignore"):
        quotients = top2 / bottom2
    order = np.argsort(-quotients, kind="stable")
    rising = quotients[order][::-1]
    counted = len(top2) - np.searchsorted(rising, factor * bottom / top * (1.0 - MARGIN), side="left")
    wide = np.longdouble
    gains = np.concatenate([[wide(0)], np.cumsum(top2[order], dtype=wide)])[counted]
    losses = np.concatenate([[wide(0)], np.cumsum(bottom2[order], dtype=wide)])[counted]
    slack = 4.0 * MARGIN + 2.0 * (len(top) + len(top2) + 8) * float(np.finfo(wide).eps)
    excess = top * gains * (1.0 + slack) - factor * bottom * losses * (1.0 - slack)
    return float(np.sum(excess)) * (1.0 + MARGIN) + TINY


MOST_CELLS = 1 << 31
"""Products of two laws with more entries are refused."""

FEW_CELLS = 1 << 22
"""Products of two laws with more entries are not looked at entry by entry."""

CELLS = 1 << 20
"""Entries of a product of two laws that are looked at at a time."""

Divergence = float


def mixture(parts: list[tuple[Fraction, Mass]]) -> Mass:
    """Return the sum of laws by weights >= 0.

    Examples
    --------
    >>> from mechdesign.audit.mass import binomial_mass
    >>> fair = binomial_mass(1, Fraction(1, 2))
    >>> mixture([(Fraction(1, 4), fair), (Fraction(3, 4), fair.shifted(1))]).mass
    array([0.125, 0.5  , 0.375])
    """
    low = min(part.low for _, part in parts)
    size = max(part.low + len(part.mass) for _, part in parts) - low
    total, error, tail = np.zeros(size), 0.0, 0.0
    for weight, part in parts:
        total[part.low - low : part.low - low + len(part.mass)] += float(weight) * part.mass
        error = max(error, part.error)
        tail += float(weight) * part.tail * (1.0 + 4.0 * UNIT)
    return Mass(low, total, compounded(error, (len(parts) + 3) * UNIT), tail)


def hockey_stick(first: Mass, second: Mass, epsilon: float) -> Divergence:
    """Return an upper bound of sum_j (P(j) - e^epsilon Q(j))_+, rounded up.

    Examples
    --------
    >>> import math
    >>> flipped = mixture([(Fraction(1), Mass(0, np.array([0.25, 0.75])))])
    >>> kept = mixture([(Fraction(1), Mass(0, np.array([0.75, 0.25])))])
    >>> round(hockey_stick(kept, flipped, math.log(2.0)), 12)
    0.25
    """
    _, terms = excess_terms(first, second, epsilon)
    return min(1.0, positive_sum(terms) + first.tail)


def excess_terms(first: Mass, second: Mass, epsilon: float) -> tuple[int, Array]:
    """Return upper bounds of P(j) - e^epsilon Q(j) for all j from a number on, but for what is missing.

    Examples
    --------
    >>> low, terms = excess_terms(Mass(1, np.array([0.75, 0.25])), Mass(0, np.array([0.25, 0.75])), 0.0)
    >>> low, terms.round(9).tolist()
    (0, [-0.25, 0.0, 0.25])
    """
    low = min(first.low, second.low)
    size = max(first.low + len(first.mass), second.low + len(second.mass)) - low
    exponential = float_down(exp_lower(epsilon))
    return low, first.on(low, size).upper() - exponential * second.on(low, size).lower()


def positive_sum(beyond: Array) -> float:
    """Return the sum of the positive entries, rounded up.

    Examples
    --------
    >>> positive_sum(np.array([1.0, -5.0]))
    1.000000000000001
    """
    positive = beyond[beyond > 0.0]
    return float(np.sum(positive)) * (1.0 + (len(positive) + 8) * UNIT)


def shift_divergence(law: Mass, epsilon: float, by: int = 1) -> Divergence:
    """Return the worse divergence of a noise and the same noise moved by some units.

    Examples
    --------
    >>> from mechdesign.audit.mass import binomial_mass
    >>> noise = binomial_mass(100, Fraction(1, 2))
    >>> 1e-7 < shift_divergence(noise, 0.9) < 1e-6
    True
    """
    moved = law.shifted(by)
    return max(hockey_stick(moved, law, epsilon), hockey_stick(law, moved, epsilon))


def pair_divergence(first: tuple[Mass, Mass], second: tuple[Mass, Mass], epsilon: float) -> Divergence:
    """Return the divergence of two independent counts: P x P' against Q x Q', rounded up.

    Parameters
    ----------
    first, second : (Mass, Mass)
        The laws of the two counts under each of two inputs.
    epsilon : float
    """
    aligned = []
    for one, other in zip(first, second, strict=True):
        low = min(one.low, other.low)
        size = max(one.low + len(one.mass), other.low + len(other.mass)) - low
        aligned.append((one.on(low, size).upper(), other.on(low, size).lower()))
    (top, bottom), (top2, bottom2) = aligned
    if len(top) * len(top2) > MOST_CELLS:
        raise ParameterError(
            "noise", f"two counts of {len(top)} and {len(top2)} values are too many", "use less"
        )
    exponential = float_down(exp_lower(epsilon))
    tails = (first[0].tail + first[1].tail) * (1.0 + 4.0 * UNIT)
    if len(top) * len(top2) > FEW_CELLS:
        return min(1.0, sorted_excess(top, bottom, top2, bottom2, exponential) + tails)
    rows, total = max(1, CELLS // len(top2)), 0.0
    for start in range(0, len(top), rows):
        part = slice(start, start + rows)
        beyond = np.multiply.outer(top[part], top2) * (1.0 + SLACK)
        beyond -= np.multiply.outer(bottom[part], bottom2) * (exponential * (1.0 - SLACK))
        total += positive_sum(beyond)
    blocks = len(top) // rows + 2
    return min(1.0, total * (1.0 + blocks * UNIT) + tails)


@lru_cache(maxsize=256)
def response_cumulants(users: int, size: int, other: float) -> Cumulants:
    """Return the largest cumulants of a sum of k-ary responses with numbers from 0, over all inputs.

    Examples
    --------
    >>> response_cumulants(1, 2, 0.25)  # a bit with chance 1/4
    (0.1875, 0.09375, -0.0234375)
    """
    numbers = np.arange(size, dtype=np.float64)
    stay = 1.0 - size * other
    raw = [stay * numbers**power + other * float((numbers**power).sum()) for power in (1, 2, 3, 4)]
    mean = raw[0]
    second = raw[1] - mean**2
    third = raw[2] - 3.0 * mean * raw[1] + 2.0 * mean**3
    fourth = raw[3] - 4.0 * mean * raw[2] + 6.0 * mean**2 * raw[1] - 3.0 * mean**4 - 3.0 * second**2
    return users * float(second.max()), users * float(np.abs(third).max()), users * float(fourth.max())
