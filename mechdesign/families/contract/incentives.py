"""Exact judges of a contract menu: individual rationality, incentive compatibility, budget, monotonicity.

A menu is numbers: for each type theta_i an item (epsilon_i, payment_i). A user of type theta who takes
item j gets ``payment_j - theta epsilon_j - cost``. A type that does not buy has the item (0, 0), worth 0 and
without the cost. Floats are taken as the rational numbers they are; there is no tolerance.

All pairs (type, item) are compared through the upper envelope of the lines theta -> payment_j - theta
epsilon_j,
in O(k log k) operations on integers instead of k (k - 1) comparisons.

A lower bound that no contract menu can beat, from one shadow price a type; knows no way to find prices.

Let s_i >= 0 be any prices, L(eps) the variance of a report, and g(s) the least L(eps) + s eps over the
epsilons that may be sold. Individual rationality and incentive compatibility make epsilon non-increasing and
cost at least theta_j for each unit that the first j types sell: with L_j their users and c the participation
cost of the highest type,

    paid >= F + sum_j R_j (eps_j - eps_{j+1}),   R_j = theta_j L_j,   F = L_k c_k,   eps_{k+1} = 0.

With S_j = l_1 s_1 + ... + l_j s_j and rho = max_j S_j / R_j the prices are worth at most what is paid:
sum l_i s_i eps_i = sum_j S_j (eps_j - eps_{j+1}) <= rho (paid - F). Hence, for every menu,

    error >= sum l_i g(s_i) - rho (paid - F)    and    paid >= F + (sum l_i g(s_i) - error) / rho.

With known types everybody is paid theta_i eps_i + c_i: then F = sum l_i c_i and rho = max_i s_i / theta_i.
The prices may come from anywhere, a file included: bad ones make a low bound, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.validation import one_of
from mechdesign.exact.numbers import Number, plain, plain_array, plain_real, rational, text_of

SINGLE = "there is a single type, so nothing is compared"
"""Why a certificate about pairs of types does not hold."""

Numbers = Sequence[int | float | Fraction | Decimal] | NDArray[np.float64]


def rationals(field: str, values: Any) -> list[Number]:
    """Return a list of finite plain numbers of exactly the values given.

    Examples
    --------
    >>> rationals("payment", [np.int8(1), Decimal("0.1"), 2.5])
    [1, Fraction(1, 10), 2.5]
    """
    entries = plain_array(field, values, 1).tolist()
    kinds = set(map(type, entries))
    if not kinds <= {int} and not (kinds == {float} and all(map(math.isfinite, entries))):
        entries = [_finite(f"{field}: entry {place}", entry) for place, entry in enumerate(entries)]
    return entries  # type: ignore[no-any-return]


def _finite(field: str, value: Any) -> Number:
    number = plain_real(field, value)
    if isinstance(number, float) and math.isinf(number):
        raise ParameterError(field, "is infinite", "give a finite number")
    return number


@dataclass(frozen=True)
class ScaledMenu:
    """Rational numbers as integers over one common denominator."""

    values: list[int]
    denominator: int


def scaled(field: str, numbers: Numbers) -> ScaledMenu:
    """Return finite numbers exactly as integers over a common denominator.

    Examples
    --------
    >>> scaled("types", [0.5, 3])
    ScaledMenu(values=[1, 6], denominator=2)
    """
    pairs = [number.as_integer_ratio() for number in rationals(field, numbers)]
    denominator = lcm(*{bottom for _, bottom in pairs}) if pairs else 1
    return ScaledMenu([top * (denominator // bottom) for top, bottom in pairs], denominator)


def nonnegative(field: str, numbers: Numbers) -> list[Number]:
    """Return plain numbers >= 0, or raise ParameterError naming the entry."""
    exact = rationals(field, numbers)
    for place, number in enumerate(exact):
        if number < 0:
            raise ParameterError(field, f"entry {place} ({text_of(number)}) is negative", "give numbers >= 0")
    return exact


def as_float(number: Fraction) -> float:
    """Return the nearest float of a rational number, infinite where it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@dataclass(frozen=True)
class MenuNumbers:
    """A menu in integers: utilities are counted in units of 1 / ``unit``."""

    types: list[int]
    epsilon: list[int]
    payment: list[int]
    cost: list[int]
    unit: int
    shown_types: Sequence[Any]
    type_scale: int

    def value(self, person: int, item: int) -> int:
        """Return the value of the item to the type, before the participation cost."""
        return self.payment[item] - self.types[person] * self.epsilon[item]

    def buys(self, person: int) -> bool:
        """Whether the type has an item other than (0, 0)."""
        return self.epsilon[person] != 0 or self.payment[person] != 0

    def utility(self, person: int) -> int:
        """Return the utility of the type with its own item."""
        return self.value(person, person) - self.cost[person] if self.buys(person) else 0

    def as_double(self, amount: int) -> float:
        """Return an amount of utility as the nearest float."""
        return as_float(Fraction(amount, self.unit))


def menu_numbers(
    types: Numbers, epsilon: Numbers, payment: Numbers, cost: Numbers | float = 0.0
) -> MenuNumbers:
    """Bring a menu to integers; ``cost`` is one participation cost a type, or one for all.

    Raises
    ------
    ParameterError
        When the lengths differ, an entry is not a finite number, or an epsilon is negative, naming the field.
    """
    types, epsilon = rationals("types", types), nonnegative("epsilon", epsilon)
    payment, size = rationals("payment", payment), len(types)
    if not size:
        raise ParameterError("types", "is empty", "give at least one type")
    single = plain(cost)
    costs = [single] * size if single is not None else rationals("participation_cost", cost)
    for field, numbers in (("epsilon", epsilon), ("payment", payment), ("participation_cost", costs)):
        if len(numbers) != size:
            raise ParameterError(
                field, f"has {counted(len(numbers), 'entry')} for {size} types", "give one per type"
            )
    theta, privacy = scaled("types", types), scaled("epsilon", epsilon)
    paid, spent = scaled("payment", payment), scaled("participation_cost", costs)
    unit = lcm(theta.denominator * privacy.denominator, paid.denominator, spent.denominator)
    lift = unit // (theta.denominator * privacy.denominator)
    return MenuNumbers(
        types=theta.values,
        epsilon=[value * lift for value in privacy.values],
        payment=[value * (unit // paid.denominator) for value in paid.values],
        cost=[value * (unit // spent.denominator) for value in spent.values],
        unit=unit,
        shown_types=types,
        type_scale=theta.denominator,
    )


def _individual_rationality(menu: MenuNumbers) -> Certificate:
    """Certify that every type gets at least 0; the witness is the type that gets the least."""
    utilities = [menu.utility(person) for person in range(len(menu.types))]
    worst = min(range(len(utilities)), key=utilities.__getitem__)
    witness = {
        "type": worst,
        "theta": menu.shown_types[worst],
        "utility": menu.as_double(utilities[worst]),
    }
    holds = utilities[worst] >= 0
    return Certificate(
        "individual_rationality",
        holds,
        True,
        {"least_utility": menu.as_double(utilities[worst])},
        {} if holds else witness,
    )


def incentive_compatibility(menu: MenuNumbers) -> Certificate:
    """Certify that no type gains by taking another type's item; the witness is the worst deviation.

    Examples
    --------
    >>> print(incentive_compatibility(menu_numbers([1, 2], [3.0, 1.0], [4.0, 2.0])))
    incentive_compatibility: holds (exact); worst_gain = 0
    >>> incentive_compatibility(menu_numbers([1, 2], [3.0, 1.0], [3.5, 2.0])).witness
    {'type': 0, 'theta': 1, 'own_item': 0, 'better_item': 1, 'gain': 0.5}
    """
    if len(menu.types) < 2:
        return Certificate("incentive_compatibility", False, True, note=SINGLE)
    envelope = upper_envelope(menu)
    if not envelope:
        return Certificate("incentive_compatibility", True, True, {"worst_gain": 0.0}, {}, "nothing is sold")
    worst, where, better = 0, -1, -1
    position = 0
    for person in sorted(range(len(menu.types)), key=menu.types.__getitem__):
        best = menu.value(person, envelope[position])
        while position + 1 < len(envelope):
            following = menu.value(person, envelope[position + 1])
            if following < best:
                break
            best, position = following, position + 1
        gain = best - menu.cost[person] - menu.utility(person)
        if gain > worst and envelope[position] != person:
            worst, where, better = gain, person, envelope[position]
    witness: dict[str, Any] = {}
    if where >= 0:
        witness = {
            "type": where,
            "theta": menu.shown_types[where],
            "own_item": where,
            "better_item": better,
            "gain": menu.as_double(worst),
        }
    return Certificate(
        "incentive_compatibility", worst <= 0, True, {"worst_gain": menu.as_double(worst)}, witness
    )


def upper_envelope(menu: MenuNumbers) -> list[int]:
    """Return the items that are best for some type, from low types to high ones (epsilon falls)."""
    order = sorted(
        (item for item in range(len(menu.types)) if menu.buys(item)),
        key=lambda item: (-menu.epsilon[item], -menu.payment[item]),
    )
    hull: list[int] = []
    for item in order:
        if hull and menu.epsilon[hull[-1]] == menu.epsilon[item]:
            continue  # the same epsilon for no more money
        while len(hull) > 1 and _is_covered(menu, hull[-2], hull[-1], item):
            hull.pop()
        hull.append(item)
    return hull


def _is_covered(menu: MenuNumbers, first: int, middle: int, last: int) -> bool:
    """Whether the middle line is nowhere above both others (slopes strictly between)."""
    left = (menu.payment[first] - menu.payment[middle]) * (menu.epsilon[middle] - menu.epsilon[last])
    right = (menu.payment[middle] - menu.payment[last]) * (menu.epsilon[first] - menu.epsilon[middle])
    return left >= right


def within_budget(counts: Numbers, payment: Numbers, budget: float | int | Fraction | Decimal) -> Certificate:
    """Certify that the payments of all users together do not exceed the budget.

    Examples
    --------
    >>> print(within_budget([10, 20], [1.5, 0.5], 25))
    budget: holds (exact); total_payment = 25, budget = 25, left = 0
    """
    users, paid = scaled("counts", nonnegative("counts", counts)), scaled("payment", payment)
    if len(users.values) != len(paid.values):
        raise ParameterError(
            "payment",
            f"has {counted(len(paid.values), 'entry')} for {counted(len(users.values), 'count')}",
            "give one per type",
        )
    units = sum(map(int.__mul__, users.values, paid.values))
    total = Fraction(units, users.denominator * paid.denominator)
    limit = rational("budget", budget)
    left = limit - total
    figures = {"total_payment": as_float(total), "budget": as_float(limit), "left": as_float(left)}
    return Certificate("budget", left >= 0, True, figures)


def monotonicity(types: Numbers, epsilon: Numbers) -> Certificate:
    """Certify that a higher type never sells more privacy; the witness is the first pair that does.

    Examples
    --------
    >>> monotonicity([1, 2, 3], [2.0, 1.0, 1.5]).witness
    {'lower_type': 2, 'higher_type': 3, 'lower_epsilon': 1.0, 'higher_epsilon': 1.5}
    """
    theta, levels = rationals("types", types), nonnegative("epsilon", epsilon)
    if len(theta) != len(levels):
        raise ParameterError(
            "epsilon",
            f"has {counted(len(levels), 'entry')} for {counted(len(theta), 'type')}",
            "give one per type",
        )
    if len(theta) < 2:
        return Certificate("monotonicity", False, True, note=SINGLE)
    # Of a type that occurs several times the largest epsilon counts, and then its least one.
    order = sorted(range(len(theta)), key=lambda place: (theta[place], -levels[place]))
    least: int | None = None  # the least epsilon of the types that are strictly lower
    for _, tied in groupby(order, key=theta.__getitem__):
        places = list(tied)
        high, low = places[0], places[-1]
        if least is not None and levels[high] > levels[least]:
            witness = {
                "lower_type": theta[least],
                "higher_type": theta[high],
                "lower_epsilon": levels[least],
                "higher_epsilon": levels[high],
            }
            return Certificate("monotonicity", False, True, {}, witness)
        least = low
    return Certificate("monotonicity", True, True)


def audit_menu(
    types: Numbers,
    counts: Numbers,
    epsilon: Numbers,
    payment: Numbers,
    budget: float | None = None,
    cost: Numbers | float = 0.0,
    information: str = "incomplete",
) -> tuple[Certificate, ...]:
    """Return the exact certificates of a menu.

    Parameters
    ----------
    types, counts : (k,) numbers
        Privacy preferences and how many users have them.
    epsilon, payment : (k,) numbers
        The item of each type; (0, 0) for a type that does not buy.
    budget : number, optional
        No budget certificate without one.
    cost : number or (k,) numbers
        Participation cost.
    information : {"incomplete", "complete"}
        With complete information a user is offered one item only: there is nothing to misreport.

    Returns
    -------
    tuple of Certificate
        Of a single type, nothing is certified about others: neither incentive compatibility nor monotonicity.
    """
    known = one_of("information", information, ("incomplete", "complete"))
    menu = menu_numbers(types, epsilon, payment, cost)
    certificates = [_individual_rationality(menu)]
    if known == "incomplete" and len(menu.types) > 1:
        certificates.append(incentive_compatibility(menu))
    if budget is not None:
        certificates.append(within_budget(counts, payment, budget))
    return (*certificates, monotonicity(types, epsilon)) if len(menu.types) > 1 else tuple(certificates)


Array = NDArray[np.float64]

UNIT = 2.0**-53

ROUNDING = 64
"""Units in the last place by which a variance, a product or a quotient may be off, generously."""

NARROW = 2.0**-38
"""How far apart, in parts of it, the two sides of a minimiser are when its search ends."""

TURNS = 54
"""Halvings of at most 665, the logarithm of the widest range of epsilon, down to less than ``NARROW``."""

LEAST, MOST = 1e-100, 1e100
"""The widest range of epsilon; the minimisers for prices from ``CHEAPEST`` to ``DEAREST`` lie in it."""

CHEAPEST, DEAREST = 1e-290, 1e290


@dataclass(frozen=True)
class Loss:
    """The variance of one report in units of 8, and minus its derivative, for epsilon in (0, reach]."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    reach: float


LOSSES = {
    "laplace": Loss(lambda e: e**-2.0, lambda e: 2.0 * e**-3.0, MOST),
    "duchi": Loss(
        lambda e: np.tanh(e / 2.0) ** -2.0 / 8.0,
        lambda e: np.cosh(e / 2.0) / np.sinh(e / 2.0) ** 3 / 8.0,
        100.0,
    ),
    "piecewise": Loss(
        lambda e: np.sinh(e / 4.0) ** -2.0 / 24.0,
        lambda e: np.cosh(e / 4.0) / np.sinh(e / 4.0) ** 3 / 48.0,
        100.0,
    ),
}
"""The three noises with a formula; a table of epsilons and variances is the fourth."""


@dataclass(frozen=True, eq=False)
class Sellers:
    """Sellers, and what they may be offered.

    Parameters
    ----------
    types, counts, cost : (k,) array
        Preferences increasing, users, and participation cost of each type.
    information : {"incomplete", "complete"}
    noise : str or mapping
        ``laplace``, ``duchi``, ``piecewise``, or a convex table ``{"epsilon": ..., "variance": ...}``.
    low, high : float
        Floor and cap of epsilon.
    """

    types: Array
    counts: Array
    cost: Array
    information: str = "incomplete"
    noise: str | Mapping[str, Any] = "laplace"
    low: float = 0.0
    high: float = math.inf


def least_menu_error(sellers: Sellers, prices: Array, budget: float) -> float:
    """Return a lower bound of sum counts L(epsilon) for every menu that is paid for by the budget.

    Parameters
    ----------
    sellers : Sellers
    prices : (k,) array
        Non-negative; the closer to the optimal multipliers, the closer the bound.
    budget : float

    Returns
    -------
    float
        Possibly negative infinity, where the prices prove nothing.

    Examples
    --------
    >>> sellers = Sellers(np.array([1.0, 2.0]), np.array([6.0, 1.0]), np.zeros(2))  # virtual costs 1 and 8
    >>> round(least_menu_error(sellers, np.array([2.0, 16.0]), 10.0), 8)  # the optimum: epsilon = (1, 1/2)
    10.0
    >>> round(least_menu_error(sellers, np.array([2.0, 2.0]), 10.0), 8)
    1.0
    """
    worth, rate, fixed = _dual(sellers, prices)
    if not math.isfinite(worth) or not math.isfinite(rate):
        return -math.inf
    spent = rate * max(0.0, budget - fixed)
    return worth - spent - _slack(sellers) * (worth + spent + rate * fixed)


def least_payment(sellers: Sellers, prices: Array, error: float) -> float:
    """Return a lower bound of the total payment of every menu with at most this sum of counts L(epsilon)."""
    worth, rate, fixed = _dual(sellers, prices)
    if not math.isfinite(worth) or not math.isfinite(rate):
        return -math.inf
    fixed *= 1.0 - _slack(sellers)
    left = worth - error - _slack(sellers) * (worth + error)
    return fixed if rate == 0.0 or left <= 0.0 else fixed + left / rate * (1.0 - _slack(sellers))


def _slack(sellers: Sellers) -> float:
    """Return the part of a sum of non-negative terms by which it may be off."""
    return 4.0 * (len(sellers.types) + ROUNDING) * UNIT


def _dual(sellers: Sellers, prices: Array) -> tuple[float, float, float]:
    """Return sum counts g(prices), the rate rho, and the fixed cost F."""
    counts, types = sellers.counts, sellers.types
    if prices.shape != types.shape:
        raise ParameterError(
            "prices", f"{len(prices)} for {counted(len(types), 'type')}", "give one per type"
        )
    if not ((prices >= 0.0) & (prices <= DEAREST)).all():
        return -math.inf, 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        worth = float(np.sum(counts * _least_sum(sellers, prices)))
        if sellers.information == "complete":
            return worth, float(np.max(prices / types)), math.fsum(counts * sellers.cost)
        users = np.cumsum(counts)
        rate = float(np.max(np.cumsum(counts * prices) / (types * users)))
    return worth, rate, float(users[-1] * sellers.cost[-1])


def _least_sum(sellers: Sellers, prices: Array) -> Array:
    """Return lower bounds of min L(epsilon) + price epsilon over the epsilons that may be sold."""
    if isinstance(sellers.noise, Mapping):
        return _least_of_table(sellers, prices)
    loss = LOSSES[sellers.noise]
    low, high = sellers.low, sellers.high
    unlimited = sellers.noise == "laplace" and high > MOST
    if high > loss.reach and not unlimited:
        return np.full_like(prices, -math.inf)
    distinct, place = np.unique(prices, return_inverse=True)
    left, right = _around(loss, distinct, max(low, LEAST), min(high, loss.reach))
    least: Array = loss.value(right) + distinct * left
    if unlimited:
        least[distinct < CHEAPEST] = 0.0  # epsilon costs next to nothing, and the variance tends to 0
    return least[place.ravel()]


def _around(loss: Loss, prices: Array, low: float, high: float) -> tuple[Array, Array]:
    """Return numbers within [low, high], the minimiser of L(epsilon) + price epsilon between them.

    The slope decreases, so the minimiser is where it falls below the price; the two sides are moved apart
    by more than the slope's rounding.
    """
    left, right = np.full_like(prices, math.log2(low)), np.full_like(prices, math.log2(high))
    for _ in range(TURNS):
        middle = 0.5 * (left + right)
        steep = loss.slope(np.exp2(middle)) > prices
        left, right = np.where(steep, middle, left), np.where(steep, right, middle)
    return (
        np.clip(np.exp2(left) * (1.0 - NARROW), low, high),
        np.clip(np.exp2(right) * (1.0 + NARROW), low, high),
    )


def _least_of_table(sellers: Sellers, prices: Array) -> Array:
    """Return the minimum over the nodes and the two limits: between nodes the line is straight."""
    assert isinstance(sellers.noise, Mapping)
    nodes = np.asarray(sellers.noise["epsilon"], dtype=np.float64)
    losses = np.asarray(sellers.noise["variance"], dtype=np.float64) / 8.0
    low, high = max(sellers.low, float(nodes[0])), min(sellers.high, float(nodes[-1]))
    inside = (nodes > low) & (nodes < high)
    ends = np.array([low, high])
    places = np.concatenate([ends, nodes[inside]])
    heights = np.concatenate([np.interp(ends, nodes, losses), losses[inside]])
    least = np.full_like(prices, math.inf)
    for epsilon, loss in zip(places.tolist(), heights.tolist(), strict=True):
        least = np.minimum(least, loss + prices * epsilon)
    return least
