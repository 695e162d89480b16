"""The rows of the contract problem as they stand on paper, and the bound that weak duality proves from them.

Variables are (epsilon, payment), 2k of them. For multipliers y >= 0 of rows A z <= d and free ones w of
rows E z = f, every feasible menu has

    sum l_i loss(eps_i) >= -y.d - w.f + sum_i min over eps_i of (l_i loss(eps_i) + g_i eps_i) + sum_i min over
    p_i of h_i p_i

with (g, h) = A'y + E'w, the minima over any box that is known to contain the menu. The solver's multipliers
are used; its objective is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.noise import NumberNoise
from mechdesign.families.contract.allocation import ROUNDING, UNIT, EpsilonLimits
from mechdesign.families.contract.population import Population

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]
Entries = list[tuple[NDArray[np.int64], NDArray[np.int64], Array]]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Linear rows on (epsilon, payment)."""

    upper: csr_array
    upper_limits: Array
    equal: csr_array
    equal_limits: Array


def all_rows(people: Population, information: str, budget: float | None) -> LinearRows:
    """Return the program exactly as stated: budget, k IR rows and, with private types, k (k - 1) IC rows.

    Examples
    --------
    >>> people = Population(np.array([1.0, 2.0, 3.0]), np.ones(3), np.zeros(3))
    >>> all_rows(people, "incomplete", 10.0).upper.shape
    (10, 6)
    """
    size, theta = len(people.types), people.types
    own = np.arange(size)
    entries: Entries = []
    limits = [np.zeros(0)]
    start = 0
    if budget is not None:
        entries.append((np.zeros(size, dtype=np.int64), size + own, people.counts))
        limits.append(np.array([budget]))
        start = 1
    entries += [(start + own, own, theta), (start + own, size + own, -np.ones(size))]
    limits.append(-people.cost)
    start += size
    if information == "incomplete":
        i, j = np.nonzero(~np.eye(size, dtype=bool))
        place, ones = start + np.arange(len(i)), np.ones(len(i))
        entries += [
            (place, i, theta[i]),
            (place, j, -theta[i]),
            (place, size + i, -ones),
            (place, size + j, ones),
        ]
        limits.append(np.zeros(len(i)))
    bounds = np.concatenate(limits)
    return LinearRows(_matrix(entries, len(bounds), size), bounds, _matrix([], 0, size), np.zeros(0))


def reduced_rows(people: Population, information: str, budget: float | None) -> LinearRows:
    """Return the reduced program of lemmas 4.3.8-4.3.10: one IR row, k - 1 local IC rows, monotone epsilon.

    With participation costs that are not the highest for the highest type more than one IR row can
    bind; then all IR rows and both neighbours' IC rows are kept, which is still linear in k.
    """
    if information == "complete":
        return all_rows(people, information, budget)
    size, theta = len(people.types), people.types
    own, low = np.arange(size), np.arange(size - 1)
    upper: Entries = []
    limits: list[Array] = [np.zeros(0)]
    start = 0
    if budget is not None:
        upper.append((np.zeros(size, dtype=np.int64), size + own, people.counts))
        limits.append(np.array([budget]))
        start = 1
    ones = np.ones(size - 1)
    if people.cost[-1] >= people.cost.max():
        upper += [(start + low, low + 1, ones), (start + low, low, -ones)]
        limits.append(np.zeros(size - 1))
        local = [
            (low, low, theta[:-1]),
            (low, low + 1, -theta[:-1]),
            (low, size + low, -ones),
            (low, size + low + 1, ones),
            (np.array([size - 1]), np.array([size - 1]), theta[-1:]),
            (np.array([size - 1]), np.array([2 * size - 1]), np.array([-1.0])),
        ]
        fixed = np.append(np.zeros(size - 1), -people.cost[-1])
        bounds = np.concatenate(limits)
        return LinearRows(_matrix(upper, len(bounds), size), bounds, _matrix(local, size, size), fixed)
    upper += [(start + own, own, theta), (start + own, size + own, -np.ones(size))]
    limits.append(-people.cost)
    start += size
    for first, second, price in ((low, low + 1, theta[:-1]), (low + 1, low, theta[1:])):
        place = start + low
        upper += [
            (place, first, price),
            (place, second, -price),
            (place, size + first, -ones),
            (place, size + second, ones),
        ]
        limits.append(np.zeros(size - 1))
        start += size - 1
    bounds = np.concatenate(limits)
    return LinearRows(_matrix(upper, len(bounds), size), bounds, _matrix([], 0, size), np.zeros(0))


def _matrix(entries: Entries, rows: int, size: int) -> csr_array:
    from scipy.sparse import csr_array

    if not entries:
        return csr_array((rows, 2 * size))
    places = [np.concatenate([entry[part] for entry in entries]) for part in (0, 1)]
    values = np.concatenate([entry[2] for entry in entries])
    return csr_array((values, (places[0], places[1])), shape=(rows, 2 * size))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Prices of the rows by a solver: ``upper`` >= 0, ``equal`` free, ``error`` for the error row."""

    upper: Array
    equal: Array
    error: float = 1.0


def weak_duality(
    people: Population,
    rows: LinearRows,
    noise: NumberNoise,
    limits: EpsilonLimits,
    spent: float,
    value: Multipliers,
    allowed: float | None = None,
    private: bool = True,
) -> float:
    """Return the proven lower bound from any multipliers.

    Parameters
    ----------
    spent : float
        All menus that matter pay at most this in total: the budget, or the cost of a menu already found.
    allowed : float, optional
        The bound on the error sum where the payments are the objective.
    private : bool
        Whether the types are private: then payments do not increase with the type.
    """
    size = len(people.types)
    worth = rows.upper.T @ value.upper + rows.equal.T @ value.equal
    prices, pay = worth[:size], worth[size:]
    price = 1.0 if allowed is None else value.error
    pay = pay if allowed is None else pay + people.counts
    # With private types payments do not increase, so the first i types are paid at least L_i p_i.
    most_paid = spent / (people.cumulative if private else people.counts)
    ceiling = np.minimum(limits.high, most_paid / people.types)
    epsilon = _minimisers(people, noise, limits, prices, price, ceiling)
    terms = price * people.counts * noise.loss(epsilon) + prices * epsilon
    low_pay = np.where(pay > 0, pay * people.types * limits.low, pay * most_paid)
    fixed = [*(-value.upper * rows.upper_limits), *(-value.equal * rows.equal_limits)]
    if allowed is not None:
        fixed.append(-price * allowed)
    everything = [*terms.tolist(), *low_pay.tolist(), *fixed]
    dot = float(
        (abs(rows.upper).T @ value.upper + abs(rows.equal).T @ abs(value.equal))
        @ np.append(ceiling, most_paid)
    )
    slack = ROUNDING * UNIT * (math.fsum(map(abs, everything)) + dot)
    return math.fsum(everything) - slack


def _minimisers(
    people: Population, noise: NumberNoise, limits: EpsilonLimits, prices: Array, price: float, ceiling: Array
) -> Array:
    """Return the minimisers of price l loss(eps) + prices eps over [limits.low, ceiling]."""
    if price == 0.0:
        return np.where(prices > 0, max(limits.low, np.finfo(float).tiny), ceiling)
    costly = prices > 0
    best = ceiling.copy()
    best[costly] = noise.epsilon_at(prices[costly] / (price * people.counts[costly]))
    return np.clip(best, min(limits.low, float(ceiling.min())), ceiling)
