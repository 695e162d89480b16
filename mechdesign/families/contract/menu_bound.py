"""A lower bound that no contract menu can beat, from one shadow price a type; knows no way to find prices.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted

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
