"""Ironed virtual costs, the optimal epsilons for them, and the bound that proves it.

Everything rests on one identity and one inequality (docs/families/contract.md). Under incentive
compatibility the least payments for non-increasing epsilons cost  sum_i H_i eps_i  with
H_1 + ... + H_i = theta_i L_i,  L_i the users of the types up to i. And a non-increasing eps >= 0 is a
non-negative combination of the indicators of the first i types, so for any other costs c_i

    sum_i H_i eps_i >= kappa sum_i l_i c_i eps_i,    kappa = min_i (theta_i L_i) / (l_1 c_1 + ... + l_i c_i).

With c the ironed virtual costs kappa is 1 (up to rounding, which is why it is computed), and the
problem on the right is separable: its Lagrangian dual is the bound.

The rows of the contract problem as they stand on paper, and the bound that weak duality proves from them.

Variables are (epsilon, payment), 2k of them. For multipliers y >= 0 of rows A z <= d and free ones w of
rows E z = f, every feasible menu has

    sum l_i loss(eps_i) >= -y.d - w.f + sum_i min over eps_i of (l_i loss(eps_i) + g_i eps_i) + sum_i min over
    p_i of h_i p_i

with (g, h) = A'y + E'w, the minima over any box that is known to contain the menu. The solver's multipliers
are used; its objective is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.contract.noise import LAPLACE, UNIT_VARIANCE, NumberNoise
from mechdesign.families.contract.population import Population
from mechdesign.solvers.least_squares import increasing_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]

UNIT = 2.0**-53

ROUNDING = 64
"""Units in the last place by which a term of the Lagrangian may be off in double precision."""

FARTHEST = 600.0
"""Multipliers from e^-600 to e^600 are searched."""

MAX_TURNS = 200


@dataclass(frozen=True, eq=False)
class Costs:
    """Cost of a unit of epsilon for each type: users ``weights``, unit costs ``prices`` (non-decreasing).

    ``factor`` is kappa: the true cost of a menu is at least ``factor * weights @ (prices * epsilon)``.
    """

    weights: Array
    prices: Array
    factor: float


@dataclass(frozen=True, eq=False)
class EpsilonLimits:
    """Floor and cap of epsilon."""

    low: float = 0.0
    high: float = math.inf


@dataclass(frozen=True, eq=False)
class Allocation:
    """Optimal epsilons and the multiplier that proves it."""

    epsilon: Array
    multiplier: float


def virtual_costs(people: Population) -> Array:
    """Return H_i / l_i = theta_i + (theta_i - theta_{i-1}) L_{i-1} / l_i, shape (k,).

    Examples
    --------
    >>> people = Population(np.array([1.0, 2.0, 2.1]), np.array([100.0, 1.0, 100.0]), np.zeros(3))
    >>> virtual_costs(people).round(3)
    array([  1.   , 102.   ,   2.201])
    """
    below = people.cumulative - people.counts
    return people.types + np.diff(people.types, prepend=0.0) * below / people.counts


def ironed_costs(people: Population) -> Costs:
    """Return the ironed virtual costs of a population: slopes of the convex minorant of (L_i, theta_i L_i).

    Examples
    --------
    >>> people = Population(np.array([1.0, 2.0, 2.1]), np.array([100.0, 1.0, 100.0]), np.zeros(3))
    >>> ironed_costs(people).prices.round(6)
    array([1.      , 3.189109, 3.189109])
    """
    own = virtual_costs(people)
    starts = increasing_blocks(own, people.counts)
    sizes = np.diff(np.append(starts, len(people.types)))
    # Averages of positive numbers; differences of cumulative costs would lose the digits of small blocks.
    averages = np.add.reduceat(people.counts * own, starts) / np.add.reduceat(people.counts, starts)
    slopes = np.maximum.accumulate(np.where(sizes == 1, own[starts], averages))
    prices = np.repeat(slopes, sizes)
    ratios = people.types * people.cumulative / np.cumsum(people.counts * prices)
    return Costs(people.counts, prices, min(1.0, float(ratios.min())) * (1.0 - 2 * (len(prices) + 4) * UNIT))


def own_costs(people: Population) -> Costs:
    """Return the costs with complete information: every user is paid theta epsilon."""
    return Costs(people.counts, people.types, 1.0)


def best_within_budget(costs: Costs, noise: NumberNoise, budget: float, limits: EpsilonLimits) -> Allocation:
    """Minimise sum weights loss(epsilon) subject to weights @ (prices * epsilon) <= budget and the limits.

    The budget must allow the floor. For Laplace noise without limits this is the closed form.
    """
    if noise is LAPLACE and limits.low == 0.0 and limits.high == math.inf:
        scale = budget / math.fsum(costs.weights * np.cbrt(costs.prices) ** 2)
        return Allocation(scale / np.cbrt(costs.prices), 2.0 / scale**3)

    def surplus(epsilon: Array) -> float:
        return math.fsum(costs.weights * costs.prices * epsilon) / budget - 1.0

    return _balanced(costs, noise, limits, surplus)


def for_error(costs: Costs, noise: NumberNoise, error: float, limits: EpsilonLimits) -> Allocation:
    """Minimise weights @ (prices * epsilon) subject to sum weights loss(epsilon) <= error and the limits.

    The error must be one that the cap allows.
    """
    if noise is LAPLACE and limits.low == 0.0 and limits.high == math.inf:
        scale = math.sqrt(math.fsum(costs.weights * np.cbrt(costs.prices) ** 2) / error)
        return Allocation(scale / np.cbrt(costs.prices), 2.0 / scale**3)

    def surplus(epsilon: Array) -> float:
        return 1.0 - math.fsum(costs.weights * noise.loss(epsilon)) / error

    # At the cap, the largest multiplier that still leads there proves most; at the floor, any large one.
    at_cap = 0.0
    if limits.high < math.inf:
        just_below = np.array([math.nextafter(limits.high, 0.0)])
        at_cap = float(noise.slope(just_below)[0]) / (UNIT_VARIANCE * float(costs.prices[-1]))
    return _balanced(costs, noise, limits, surplus, at_cap, math.exp(0.5 * FARTHEST))


def shadow_prices(
    people: Population,
    information: str,
    noise: NumberNoise,
    limits: EpsilonLimits,
    budget: float | None,
    error: float,
) -> Array | None:
    """Return the worth of a unit of epsilon for each type at the optimum, the proof that a menu is optimal.

    Parameters
    ----------
    budget : float or None
        Money for all; without it the payments are minimised that reach ``error``.

    Returns
    -------
    (k,) array or None
        None where participation costs are not the highest for the highest type, or nothing is affordable.
    """
    if information == "incomplete" and people.cost[-1] < people.cost.max():
        return None
    costs = own_costs(people) if information == "complete" else ironed_costs(people)
    if budget is None:
        return for_error(costs, noise, error, limits).multiplier * costs.prices
    fixed = people.counts @ people.cost if information == "complete" else people.users * people.cost[-1]
    left = budget - float(fixed)
    return best_within_budget(costs, noise, left, limits).multiplier * costs.prices if left > 0.0 else None


def least_error(
    costs: Costs, noise: NumberNoise, budget: float, limits: EpsilonLimits, multiplier: float
) -> float:
    """Return a proven lower bound of the error that any menu within the budget has.

    For mu >= 0: sum w loss(eps) >= sum w min over eps of (loss(eps) + mu price eps) - mu budget / factor.
    """
    terms = _lagrangian_terms(costs, noise, limits, multiplier)
    paid = multiplier * budget / costs.factor
    return math.fsum(terms) - paid - ROUNDING * UNIT * (math.fsum(terms) + paid)


def least_cost(
    costs: Costs, noise: NumberNoise, error: float, limits: EpsilonLimits, multiplier: float
) -> float:
    """Return a proven lower bound of the cost of any menu with at most this error."""
    if multiplier == 0.0:
        return 0.0
    terms = _lagrangian_terms(costs, noise, limits, multiplier)
    slack = ROUNDING * UNIT * (math.fsum(terms) + error)
    return costs.factor * (math.fsum(terms) - error - slack) / multiplier


def _lagrangian_terms(costs: Costs, noise: NumberNoise, limits: EpsilonLimits, multiplier: float) -> Array:
    prices = multiplier * costs.prices
    epsilon = _minimisers(noise, limits, prices)
    return costs.weights * (noise.loss(epsilon) + (prices * epsilon if multiplier > 0.0 else 0.0))


def _minimisers(noise: NumberNoise, limits: EpsilonLimits, prices: Array) -> Array:
    """Return the minimisers of loss(eps) + price eps within the limits."""
    if not prices.any():
        return np.full_like(prices, limits.high)
    return np.clip(noise.epsilon_at(prices), limits.low, limits.high)


def _balanced(
    costs: Costs,
    noise: NumberNoise,
    limits: EpsilonLimits,
    surplus: Callable[[Array], float],
    at_cap: float = 0.0,
    at_floor: float | None = None,
) -> Allocation:
    """Find the multiplier at which the surplus, decreasing in it, changes its sign.

    Regula falsi (Illinois) on the logarithm, bisected now and then; the two minimisers at the ends of the
    final bracket are mixed so that the surplus is not positive: both minimise the same Lagrangian. Where the
    cap or the floor alone decides, ``at_cap`` and ``at_floor`` (by default the least that leads to the floor)
    are the multipliers.
    """
    if limits.high < math.inf and surplus(np.full_like(costs.prices, limits.high)) <= 0.0:
        return Allocation(np.full_like(costs.prices, limits.high), at_cap)
    starts = np.flatnonzero(np.diff(costs.prices, prepend=-1.0))
    distinct, sizes = costs.prices[starts], np.diff(np.append(starts, len(costs.prices)))

    def at(place: float) -> Array:
        best = _minimisers(noise, limits, math.exp(place) * distinct)
        return np.repeat(np.minimum.accumulate(best), sizes)  # as it is but for the last bit

    left, right = -1.0, 1.0
    while surplus(at(left)) <= 0.0 and left > -FARTHEST:
        left = max(2.0 * left, -FARTHEST)
    while surplus(at(right)) > 0.0 and right < FARTHEST:
        if (at(right) <= limits.low).all():  # the floor alone decides
            return Allocation(at(right), math.exp(right) if at_floor is None else at_floor)
        right = min(2.0 * right, FARTHEST)
    ends = [surplus(at(left)), surplus(at(right))]
    for turn in range(MAX_TURNS):
        middle = (
            0.5 * (left + right)
            if turn % 3 == 2
            else (left * ends[1] - right * ends[0]) / (ends[1] - ends[0])
        )
        if not left < middle < right:
            middle = 0.5 * (left + right)
        if not left < middle < right:
            break
        value = surplus(at(middle))
        if value > 0.0:
            left, ends = middle, [value, 0.5 * ends[1] if turn % 3 else ends[1]]
        else:
            right, ends = middle, [0.5 * ends[0] if turn % 3 else ends[0], value]
        if value == 0.0:
            break
    return Allocation(_mixed(at(left), at(right), surplus), math.exp(right))


def _mixed(rich: Array, poor: Array, surplus: Callable[[Array], float]) -> Array:
    """Return the mixture of a menu with positive surplus and one without that has none."""
    above, below = surplus(rich), surplus(poor)
    if above <= 0.0 or above == below:
        return poor
    share = -below / (above - below)
    return poor + share * (rich - poor)


Entries = list[tuple[NDArray[np.int64], NDArray[np.int64], Array]]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Linear rows on (epsilon, payment)."""

    upper: csr_array
    upper_limits: Array
    equal: csr_array
    equal_limits: Array


def _stated(people: Population, budget: float | None, rational: bool = True) -> tuple[Entries, list[Array]]:
    """Return the rows of the budget and, if ``rational``, of IR: entries and limits."""
    own = np.arange(len(people.types))
    entries: Entries = []
    limits = [np.zeros(0)]
    if budget is not None:
        entries.append((np.zeros_like(own), len(own) + own, people.counts))
        limits.append(np.array([budget]))
    if rational:
        start = len(entries)
        entries += [(start + own, own, people.types), (start + own, len(own) + own, -np.ones(len(own)))]
        limits.append(-people.cost)
    return entries, limits


def _preferences(people: Population, start: int, own: Any, other: Any) -> Entries:
    """Return the entries of IC rows from ``start`` on: a type of ``own`` does not prefer that one's item."""
    size, theta = len(people.types), people.types[own]
    place, ones = start + np.arange(len(own)), np.ones(len(own))
    return [
        (place, own, theta),
        (place, other, -theta),
        (place, size + own, -ones),
        (place, size + other, ones),
    ]


def _rows(
    size: int, upper: Entries, limits: list[Array], equal: Sequence[Any] = (), fixed: Any = ()
) -> LinearRows:
    bounds, totals = np.concatenate(limits), np.asarray(fixed, dtype=np.float64)
    return LinearRows(_matrix(upper, len(bounds), size), bounds, _matrix(equal, len(totals), size), totals)


def all_rows(people: Population, information: str, budget: float | None) -> LinearRows:
    """Return the program exactly as stated: budget, k IR rows and, with private types, k (k - 1) IC rows.

    Examples
    --------
    >>> people = Population(np.array([1.0, 2.0, 3.0]), np.ones(3), np.zeros(3))
    >>> all_rows(people, "incomplete", 10.0).upper.shape
    (10, 6)
    """
    size = len(people.types)
    entries, limits = _stated(people, budget)
    if information == "incomplete":
        own, other = np.nonzero(~np.eye(size, dtype=bool))
        entries += _preferences(people, sum(map(len, limits)), own, other)
        limits.append(np.zeros(len(own)))
    return _rows(size, entries, limits)


def reduced_rows(people: Population, information: str, budget: float | None) -> LinearRows:
    """Return the reduced program of lemmas 4.3.8-4.3.10: one IR row, k - 1 local IC rows, monotone epsilon.

    With participation costs that are not the highest for the highest type more than one IR row can
    bind; then all IR rows and both neighbours' IC rows are kept, which is still linear in k.
    """
    if information == "complete":
        return all_rows(people, information, budget)
    size, low = len(people.types), np.arange(len(people.types) - 1)
    is_simple = bool(people.cost[-1] >= people.cost.max())
    entries, limits = _stated(people, budget, rational=not is_simple)
    none = np.zeros(size - 1)
    if not is_simple:
        for own, other in ((low, low + 1), (low + 1, low)):
            entries += _preferences(people, sum(map(len, limits)), own, other)
            limits.append(none)
        return _rows(size, entries, limits)
    start, ones, last = sum(map(len, limits)), np.ones(size - 1), np.array([size - 1])
    entries += [(start + low, low + 1, ones), (start + low, low, -ones)]
    local = _preferences(people, 0, low, low + 1)
    local += [(last, last, people.types[-1:]), (last, size + last, np.array([-1.0]))]
    return _rows(size, entries, [*limits, none], local, np.append(none, -people.cost[-1]))


def _matrix(entries: Sequence[Any], rows: int, size: int) -> csr_array:
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
    epsilon = _least_lagrangian(people, noise, limits, prices, price, ceiling)
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


def _least_lagrangian(
    people: Population, noise: NumberNoise, limits: EpsilonLimits, prices: Array, price: float, ceiling: Array
) -> Array:
    """Return the minimisers of price l loss(eps) + prices eps over [limits.low, ceiling]."""
    if price == 0.0:
        return np.where(prices > 0, max(limits.low, np.finfo(float).tiny), ceiling)
    costly = prices > 0
    best = ceiling.copy()
    best[costly] = noise.epsilon_at(prices[costly] / (price * people.counts[costly]))
    return np.clip(best, min(limits.low, float(ceiling.min())), ceiling)
