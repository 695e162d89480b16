"""The best joint report about several questions at given prices: a knapsack over what the report costs.

A product of sets of d_j of k_j categories has the share t = exp(-kappa), kappa = sum ln(k_j/d_j), of all
answers. Its price is rho(kappa)^2 sum_j c_j (k_j - d_j)/(d_j (k_j - 1)), c_j the price of an effective share:
the gains add up, and kappa alone says what they are worth. A dynamic program finds the largest sum of gains
for each kappa on a grid. With kappa rounded down, question by question, it bounds the price of every product;
the sets that are found are judged by their exact kappa.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.problems.survey.design.information import certainty

Array = NDArray[np.float64]

BEYOND = 6.0
"""A product with kappa above epsilon + 6 is worth less than its parts: rho falls faster than gains grow."""

LARGEST_KAPPA = 11.0
"""The logarithm of the most cells that a report is made of, about 2^16."""


@dataclass(frozen=True)
class Bundle:
    """Sets of the questions that are asked jointly: sizes by question, and the price."""

    sets: dict[int, int]
    price: float


def best_bundles(
    sizes: Sequence[int], prices: Array, epsilon: float, cells: int, count: int = 1
) -> tuple[list[Bundle], float]:
    """Return the products of sets of largest price, and a bound of the price of every product.

    Parameters
    ----------
    sizes : sequence of int
        The categories of each question.
    prices : (m,) array
        For the effective share of each question; questions with price 0 are not asked.
    epsilon : float
    cells : int
        Of the grid of kappa.
    count : int
        How many products, of different kappa, at most.
    """
    most = min(epsilon + BEYOND, max(LARGEST_KAPPA, math.log(max(sizes))))
    width = most / cells
    best = np.full(cells + 1, -np.inf)
    best[0] = 0.0
    chosen: list[tuple[int, list[tuple[int, int]], NDArray[np.int16]]] = []
    for place in np.flatnonzero(prices > 0.0).tolist():
        options = _options(sizes[place], float(prices[place]), most, width)
        table = np.full((len(options) + 1, cells + 1), -np.inf)
        table[0] = best
        for row, (shift, gain, _) in enumerate(options, 1):
            table[row, shift:] = best[: cells + 1 - shift] + gain
        pick = table.argmax(axis=0)
        chosen.append((place, [(shift, size) for shift, _, size in options], pick.astype(np.int16)))
        best = table[pick, np.arange(cells + 1)]
    grid = width * np.arange(cells + 1)
    worth = certainty(epsilon, np.exp(-grid)) ** 2
    priced = np.where(np.isfinite(best), best, 0.0) * worth
    bound = float(priced.max()) * (1.0 + 1e-8)  # what the rounding in _options may cost
    found = []
    for bucket in _peaks(priced, count):
        sets = _read_back(chosen, bucket)
        if sets:
            found.append(Bundle(sets, bundle_price(sizes, prices, epsilon, sets)))
    return sorted(found, key=lambda bundle: -bundle.price), bound


def bundle_price(sizes: Sequence[int], prices: Array, epsilon: float, sets: dict[int, int]) -> float:
    """Return the exact price of a product.

    Examples
    --------
    >>> round(bundle_price([2, 2], np.array([1.0, 1.0]), 2.0, {0: 1, 1: 1}), 6)
    0.756399
    """
    share = math.prod(size / sizes[place] for place, size in sets.items())
    gains = sum(
        prices[place] * (sizes[place] - size) / (size * (sizes[place] - 1.0)) for place, size in sets.items()
    )
    return float(certainty(epsilon, share) ** 2 * gains)


def _options(size: int, price: float, most: float, width: float) -> list[tuple[int, float, int]]:
    """Return the sets of a question: what they take of the grid, their gain, their size."""
    found = []
    for number in range(1, size):
        kappa = math.log(size / number)
        if kappa <= most:
            # Rounded down, but not for what rounding of the logarithm itself puts below a node.
            shift = math.floor(kappa / width + 1e-9)
            found.append((shift, price * (size - number) / (number * (size - 1.0)), number))
    return found


def _peaks(priced: Array, count: int) -> list[int]:
    """Return the places of the largest values, a twentieth of the grid apart at least."""
    found: list[int] = []
    distance = max(1, len(priced) // 20)
    left = priced.copy()
    for _ in range(count):
        place = int(left.argmax())
        if left[place] <= 0.0:
            break
        found.append(place)
        left[max(0, place - distance) : place + distance + 1] = 0.0
    return found


def _read_back(
    chosen: Sequence[tuple[int, list[tuple[int, int]], NDArray[np.int16]]], bucket: int
) -> dict[int, int]:
    sets: dict[int, int] = {}
    for place, options, pick in reversed(chosen):
        row = int(pick[bucket])
        if row:
            shift, size = options[row - 1]
            sets[place] = size
            bucket -= shift
    return sets
