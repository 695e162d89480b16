"""The best joint report about several questions at given prices: a knapsack over what the report costs.

A product of sets of d_j of k_j categories has the share t = exp(-kappa), kappa = sum ln(k_j/d_j), of all
answers. Its price is rho(kappa)^2 sum_j c_j (k_j - d_j)/(d_j (k_j - 1)), c_j the price of an effective share:
the gains add up, and kappa alone says what they are worth. A dynamic program finds the largest sum of gains
for each kappa on a grid. With kappa rounded down, question by question, it bounds the price of every product;
the sets that are found are judged by their exact kappa.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.survey.design_setting import certainty

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
    most = largest_kappa(sizes, epsilon)
    width = most / cells
    options = {
        place: [
            (shift, float(prices[place]) * gain, size)
            for shift, gain, size in _options(sizes[place], most, width)
        ]
        for place in np.flatnonzero(prices > 0.0).tolist()
    }
    best, chosen = _knapsack(options, cells)
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


def largest_kappa(sizes: Sequence[int], epsilon: float) -> float:
    """Return the largest kappa that a product is made of."""
    return min(epsilon + BEYOND, max(LARGEST_KAPPA, math.log(max(sizes))))


Option = tuple[int, float, int]
"""What a set takes of the grid of kappa, what it gains, and its size."""

Chosen = list[tuple[int, list[tuple[int, int]], NDArray[np.int16]]]


def _knapsack(options: Mapping[int, Sequence[Option]], cells: int) -> tuple[Array, Chosen]:
    """Return the largest sum of gains for each total of kappa, and the sets that attain it."""
    best = np.full(cells + 1, -np.inf)
    best[0] = 0.0
    chosen: Chosen = []
    for place, listed in options.items():
        found, pick = best.copy(), np.zeros(cells + 1, dtype=np.int16)
        for row, (shift, gain, _) in enumerate(listed, 1):
            more = best[: cells + 1 - shift] + gain
            better = more > found[shift:]
            np.copyto(found[shift:], more, where=better)
            np.copyto(pick[shift:], row, where=better)
        chosen.append((place, [(shift, size) for shift, _, size in listed], pick))
        best = found
    return best, chosen


def _options(size: int, most: float, width: float) -> list[Option]:
    """Return the sets of a question: what they take of the grid, eta over rho^2, their size."""
    result = []
    for number in range(1, size):
        kappa = math.log(size / number)
        if kappa <= most:
            # Rounded down, but not for what rounding of the logarithm itself puts below a node.
            shift = math.floor(kappa / width + 1e-9)
            result.append((shift, (size - number) / (number * (size - 1.0)), number))
    return result


def _peaks(priced: Array, count: int) -> list[int]:
    """Return the places of the largest values, a twentieth of the grid apart at least."""
    result: list[int] = []
    distance = max(1, len(priced) // 20)
    left = priced.copy()
    for _ in range(count):
        place = int(left.argmax())
        if left[place] <= 0.0:
            break
        result.append(place)
        left[max(0, place - distance) : place + distance + 1] = 0.0
    return result


def _read_back(chosen: Chosen, bucket: int) -> dict[int, int]:
    sets: dict[int, int] = {}
    for place, options, pick in reversed(chosen):
        row = int(pick[bucket])
        if row:
            shift, size = options[row - 1]
            sets[place] = size
            bucket -= shift
    return sets


# Planned frequencies


@dataclass(frozen=True)
class Gain:
    """Worth of an effective share of a question: price x eta / (even - eta (even - spread))."""

    price: float
    even: float
    spread: float

    def of(self, eta: float) -> float:
        """Return the worth of an effective share, at most 1."""
        share = min(eta, 1.0)
        return self.price * share / (self.even - share * (self.even - self.spread))


INTERVALS = 16
"""Parts of the range of kappa to begin with."""

CLOSE = 1e-6
"""The relative gap between the best product and the bound at which no interval is halved any more."""

MOST_HALVED = 400


def best_planned(
    sizes: Sequence[int], gains: Sequence[Gain], epsilon: float, cells: int
) -> tuple[list[Bundle], float]:
    """Return the product of sets that is worth most at planned frequencies, and a bound for every product.

    What a question gains is not a multiple of rho^2 then. On an interval of kappa rho is at most that of its
    lower end, at which gains add up; the interval with the largest bound is halved until the bound is met.
    """
    most = largest_kappa(sizes, epsilon)
    edges = np.linspace(0.0, most, INTERVALS + 1).tolist()
    best = Bundle({}, 0.0)
    queue: list[tuple[float, float, float]] = []

    def look(low: float, high: float) -> None:
        nonlocal best
        bound, sets = _on_interval(sizes, gains, epsilon, (low, high), cells)
        if sets:
            found = Bundle(sets, planned_price(sizes, gains, epsilon, sets))
            best = max(best, found, key=lambda bundle: bundle.price)
        heappush(queue, (-bound, low, high))

    for low, high in pairwise(edges):
        look(low, high)
    for _ in range(MOST_HALVED):
        bound, low, high = queue[0]
        if -bound <= best.price * (1.0 + CLOSE) or high - low < most / cells:
            break
        heappop(queue)
        look(low, (low + high) / 2.0)
        look((low + high) / 2.0, high)
    return [best] if best.sets else [], max(-queue[0][0], best.price) * (1.0 + 1e-8)


def _on_interval(
    sizes: Sequence[int], gains: Sequence[Gain], epsilon: float, ends: tuple[float, float], cells: int
) -> tuple[float, dict[int, int]]:
    """Return a bound of the worth of products with kappa between the ends, and a product."""
    low, high = ends
    square, width = float(certainty(epsilon, math.exp(-low))) ** 2, high / cells
    options = {
        place: [
            (shift, gain.of(square * eta), size) for shift, eta, size in _options(sizes[place], high, width)
        ]
        for place, gain in enumerate(gains)
        if gain.price > 0.0
    }
    best, chosen = _knapsack(options, cells)
    bucket = int(best.argmax())
    return float(best[bucket]), _read_back(chosen, bucket)


def planned_price(
    sizes: Sequence[int], gains: Sequence[Gain], epsilon: float, sets: Mapping[int, int]
) -> float:
    """Return the exact worth of a product at planned frequencies.

    Examples
    --------
    >>> round(planned_price([2, 2], [Gain(1.0, 1.0, 1.0)] * 2, 2.0, {0: 1, 1: 1}), 6)
    0.756399
    """
    share = math.prod(size / sizes[place] for place, size in sets.items())
    square = float(certainty(epsilon, share)) ** 2
    return math.fsum(
        gains[place].of(square * (sizes[place] - size) / (size * (sizes[place] - 1.0)))
        for place, size in sets.items()
    )
