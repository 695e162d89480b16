"""The classes of designs that are chosen from, and the design of each that is worth most at given prices.

Products of sets: a knapsack over what the report costs, kappa = sum ln(k_j/d_j); gains add up, and kappa
alone says what they are worth. With kappa rounded down, question by question, it bounds the price of every
product; the sets of the best path are judged by their exact kappa (docs/families/survey.md, "The bound").

Independent answers: an exact dynamic program over budgets, best_j[b] = max over g of best_(j-1)[b - g] +
price_j I_j[g], I the information on the menu.

A survey with cross tables or group means adds joint reports of whole tables as candidates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.survey.design_mixtures import Column
from mechdesign.families.survey.design_setting import Ask, Menu, SurveySetting, SurveyTarget, certainty
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.results import MOST_CELLS

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
    places = tuple(np.flatnonzero(prices > 0.0).tolist())
    if math.prod(sizes[place] for place in places) <= MOST_LISTED:
        best, chosen = _listed_peaks(tuple(sizes), places, prices, epsilon, cells, count)
    else:
        best, chosen = _grid_peaks(sizes, places, prices, epsilon, cells, count)
    bundles = [Bundle(sets, bundle_price(sizes, prices, epsilon, sets)) for sets in chosen if sets]
    bound = best * (1.0 + 1e-8)  # what the rounding in _options may cost
    return sorted(bundles, key=lambda bundle: -bundle.price), bound


def _grid_peaks(
    sizes: Sequence[int], places: Sequence[int], prices: Array, epsilon: float, cells: int, count: int
) -> tuple[float, list[dict[int, int]]]:
    """Return the largest price on the grid, and the products at its peaks: by a knapsack."""
    most = largest_kappa(sizes, epsilon)
    width = most / cells
    options = {
        place: [
            (shift, float(prices[place]) * gain, size)
            for shift, gain, size in _options(sizes[place], most, width)
        ]
        for place in places
    }
    best, chosen = _knapsack(options, cells)
    grid = width * np.arange(cells + 1)
    worth = certainty(epsilon, np.exp(-grid)) ** 2
    priced = np.where(np.isfinite(best), best, 0.0) * worth
    return float(priced.max()), [_read_back(chosen, bucket) for bucket in _peaks(priced, count)]


MOST_LISTED = 1 << 14
"""Products of sets that are listed: up to so many that takes less time than the knapsack on its grid."""


def _listed_peaks(
    sizes: tuple[int, ...], places: tuple[int, ...], prices: Array, epsilon: float, cells: int, count: int
) -> tuple[float, list[dict[int, int]]]:
    """Return what :func:`_grid_peaks` returns, from a list of all products.

    Gains are added in the knapsack's order, and of products with equal prices the one is taken that the
    knapsack finds: the results are the same to the last bit.
    """
    listed = _all_products(sizes, places, epsilon, cells)
    gains = np.zeros(1)
    for place, each in zip(places, listed.gains, strict=True):
        gains = np.add.outer(float(prices[place]) * each, gains).ravel()
    if listed.fitting is not None:
        gains = gains[listed.fitting]
    priced = gains * listed.worth
    best, chosen = float(priced.max()), []
    distance = max(1, (cells + 1) // 20)
    left = priced.copy()
    for _ in range(count):
        largest = left.max()
        if largest <= 0.0:
            break
        ties = np.flatnonzero(left == largest)
        number = int(ties[np.lexsort((-gains[ties], listed.buckets[ties]))[0]]) if len(ties) > 1 else ties[0]
        chosen.append(listed.sets(number))
        left[np.abs(listed.buckets - listed.buckets[number]) <= distance] = 0.0
    return best, chosen


@dataclass(frozen=True, eq=False)
class _Products:
    """All products of sets of some questions, the sets of the last question changing slowest.

    Attributes
    ----------
    places : tuple of int
        The questions; each is not asked, or asked with one of its sets.
    set_sizes, gains : tuple
        Of each question: the sizes of its sets and their eta over rho^2, both 0 first, for not asking it.
    fitting : (F,) array or None
        The products within the grid; None where all are.
    buckets, worth : (F,) array
        Their places on the grid of kappa, and rho^2 there.
    """

    places: tuple[int, ...]
    set_sizes: tuple[list[int], ...]
    gains: tuple[Array, ...]
    fitting: NDArray[np.int64] | None
    buckets: NDArray[np.int64]
    worth: Array

    def sets(self, number: int) -> dict[int, int]:
        """Return the sizes of the sets of a product that fits, by question, the last question first."""
        rest = int(number if self.fitting is None else self.fitting[number])
        sizes: dict[int, int] = {}
        for place, options in zip(self.places, self.set_sizes, strict=True):
            rest, row = divmod(rest, len(options))
            if row:
                sizes[place] = options[row]
        return dict(reversed(sizes.items()))


@lru_cache(maxsize=64)
def _all_products(sizes: tuple[int, ...], places: tuple[int, ...], epsilon: float, cells: int) -> _Products:
    """Return the products of some questions on the grid of kappa: at every round of prices the same."""
    most = largest_kappa(sizes, epsilon)
    width = most / cells
    set_sizes, gains = [], []
    buckets = np.zeros(1, dtype=np.int64)
    for place in places:
        shifts, etas, numbers = zip((0, 0.0, 0), *_options(sizes[place], most, width), strict=True)
        set_sizes.append(list(numbers))
        gains.append(np.array(etas))
        buckets = np.add.outer(np.array(shifts, dtype=np.int64), buckets).ravel()
    inside = buckets <= cells
    fitting = None if inside.all() else np.flatnonzero(inside)
    buckets = buckets[inside]
    worth = certainty(epsilon, np.exp(-(width * buckets))) ** 2
    return _Products(places, tuple(set_sizes), tuple(gains), fitting, buckets, worth)


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
    sums, is_more = np.empty(cells + 1), np.empty(cells + 1, dtype=np.bool_)
    chosen: Chosen = []
    within = 1  # no products of the questions so far reach this place of the grid
    for place, listed in options.items():
        values, pick = best.copy(), np.zeros(cells + 1, dtype=np.int16)
        for row, (shift, gain, _) in enumerate(listed, 1):
            count = min(within, cells + 1 - shift)
            reached, rows = values[shift : shift + count], pick[shift : shift + count]
            more = np.add(best[:count], gain, out=sums[:count])
            better = np.greater(more, reached, out=is_more[:count])
            np.maximum(reached, more, out=reached)
            np.maximum(rows, better.view(np.int8) * np.int16(row), out=rows)  # rows come in rising order
        chosen.append((place, [(shift, size) for shift, _, size in listed], pick))
        best = values
        within = min(cells + 1, within + max((shift for shift, _, _ in listed), default=0))
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
            candidate = Bundle(sets, planned_price(sizes, gains, epsilon, sets))
            best = max(best, candidate, key=lambda bundle: bundle.price)
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


def division(menu: Menu, prices: Array, places: Sequence[int]) -> tuple[Array, NDArray[np.int64]]:
    """Return the largest price for each total of steps, and the steps of each question.

    Parameters
    ----------
    menu : Menu
    prices : (m,) array
        For the information about each question.
    places : sequence of int
        The questions that may be asked.

    Returns
    -------
    best : (G + 1,) array
    steps : (len(places), G + 1) int array
        Steps of the last question, where the questions up to it have the column's number of steps.
    """
    count = len(menu.budgets)
    best = np.zeros(count)
    steps = np.zeros((len(places), count), dtype=np.int64)
    rest = _rests(count)
    for row, place in enumerate(places):
        table = np.append(best, -np.inf)[rest]
        table += prices[place] * menu.information[place]
        steps[row] = table.argmax(axis=1)
        best = table[np.arange(count), steps[row]]
    return best, steps


@lru_cache(maxsize=4)
def _rests(count: int) -> NDArray[np.int64]:
    """Return what each total of steps (rows) leaves when a question takes some (columns); -1 for too many."""
    return np.maximum(np.subtract.outer(np.arange(count), np.arange(count)), -1)


def read_back(steps: NDArray[np.int64], places: Sequence[int], total: int) -> dict[int, int]:
    """Return the steps of each question that is asked, for a total.

    Examples
    --------
    >>> read_back(np.array([[0, 1, 1], [0, 0, 1]]), [4, 7], 2)
    {7: 1, 4: 1}
    """
    steps_of: dict[int, int] = {}
    for row in range(len(places) - 1, -1, -1):
        taken = int(steps[row, total])
        if taken:
            steps_of[places[row]] = taken
        total -= taken
    return steps_of


MOST_SETS = 4096
"""Sets of questions that are listed; with more only those that requested tables make up."""


def views_of(questions: Questions, targets: Sequence[SurveyTarget], epsilon: float) -> list[tuple[Ask, ...]]:
    """Return joint reports of whole tables: of all sets of questions, or of what requested tables make up.

    Each is a design of its own, by the best frequency oracle; where group means are wanted also by k-ary
    response, whose reports they need.
    """
    joint = [target.request.places for target in targets if len(target.request.places) > 1]
    if not joint:
        return []
    means = any(target.request.number is not None for target in targets)
    count = len(questions)
    if 2**count <= MOST_SETS:
        sets = {
            places
            for size in range(2, count + 1)
            for places in combinations(range(count), size)
            if _cells(questions, places) <= MOST_CELLS
        }
    else:
        sets = _unions(questions, joint)
    views: list[tuple[Ask, ...]] = []
    for places in sorted(sets):
        views.append((Ask("table", places, epsilon),))
        if means:
            views.append((Ask("cells", places, epsilon),))
    return views


def _unions(questions: Questions, joint: Sequence[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return the wanted tables, with one more question, and unions of two, where they are not too large."""
    tables = set(joint)
    tables |= {tuple(sorted({*one, place})) for one in joint for place in range(len(questions))}
    tables |= {tuple(sorted({*one, *other})) for one, other in combinations(joint, 2)}
    fitting = sorted(
        (places for places in tables if _cells(questions, places) <= MOST_CELLS),
        key=lambda places: (places not in joint, _cells(questions, places)),
    )
    return set(fitting[: max(MOST_SETS, len(joint))])


def _cells(questions: Questions, places: Sequence[int]) -> int:
    return math.prod(questions[place].size for place in places)


GRIDS = (4000, 40_000, 400_000)
"""Cells of the grid of kappa: the first while designs are looked for, finer ones for bounds that need it."""

MOST_WORK = 100_000_000
"""Cells times sets of all questions: a few seconds. The finest grid has no more."""

MIXED_PARTS = 10
"""A joint report next to numbers that are answered alone takes a multiple of epsilon / 10."""

MOST_NUMBERS = 4
"""With at most this many numbers, every choice of those answered alone is tried; else all or none."""

SEVERAL = 3
"""Joint reports of different size that enter in one round."""


class Independent:
    """Independent answers: any division of epsilon among the questions, on the menu."""

    def __init__(self, setting: SurveySetting) -> None:
        self.setting = setting
        self.places = list(range(len(setting.questions)))

    def start(self) -> list[Column]:
        """Return every question alone, with all of epsilon."""
        menu = self.setting.menu
        last = len(menu.budgets) - 1
        return [(menu.ask(place, last),) for place in self.places]

    def __call__(self, prices: Array, enough: float) -> tuple[list[Column], float]:
        """Return the best division, and its price, which no division exceeds."""
        menu, count = self.setting.menu, len(self.setting.menu.budgets)
        best, steps = division(menu, prices, self.places)
        taken = read_back(steps, self.places, count - 1)
        column = tuple(menu.ask(place, step) for place, step in sorted(taken.items()))
        return [column] if column else [], float(best[-1])


def _are_first(chosen: Sequence[int], group: Sequence[int]) -> bool:
    """Whether the chosen members of a group are its first ones."""
    members = [place for place in group if place in chosen]
    return members == list(group[: len(members)])


class Joint(Independent):
    """Independent answers, products of sets, both mixed, and whole tables where cross tables are wanted."""

    def __init__(self, setting: SurveySetting) -> None:
        super().__init__(setting)
        questions = setting.questions
        self.numbers = [place for place in self.places if questions[place].is_mean]
        self.views = views_of(questions, setting.targets, setting.epsilon)
        self.view_information = np.array([setting.information(column) for column in self.views])
        alone = setting.targets[: len(questions)]
        self.even = np.array([1.0 if target.is_mean else target.even for target in alone])
        self.spread = np.array([1.0 if target.is_mean else target.spread for target in alone])
        options = sum(size - 1 for size in questions.sizes)
        self.grids = tuple(dict.fromkeys(min(cells, max(GRIDS[1], MOST_WORK // options)) for cells in GRIDS))
        self.planned = not all(target.is_even for target in alone)

    def start(self) -> list[Column]:
        """Return every question alone, and the requested tables."""
        tables = {target.request.places for target in self.setting.targets}
        return super().start() + [column for column in self.views if column[0].places in tables]

    def __call__(self, prices: Array, enough: float) -> tuple[list[Column], float]:
        """Return the best designs of each kind, and a bound of the price of every one."""
        designs, bound = super().__call__(prices, enough)
        shares = prices[: len(self.places)]
        for alone in self._alone():
            columns, most = self._mixed(prices, shares, alone, enough)
            designs += columns
            bound = max(bound, most)
        if len(self.views):
            worth = self.view_information @ prices
            best = np.argsort(-worth)[:SEVERAL]
            designs += [self.views[place] for place in best]
            bound = max(bound, float(worth[best[0]]))
        return designs, bound

    def _alone(self) -> list[tuple[int, ...]]:
        """Return the sets of numbers that are answered alone next to a joint report.

        Numbers that are alike have the same price: of those the first ones stand for any as many.
        """
        if len(self.numbers) > MOST_NUMBERS:
            return [(), tuple(self.numbers)]
        alike = [[place for place in group if place in self.numbers] for group in self.setting.groups]
        every = (
            chosen for size in range(len(self.numbers) + 1) for chosen in combinations(self.numbers, size)
        )
        return [chosen for chosen in every if all(_are_first(chosen, group) for group in alike)]

    def _mixed(
        self, prices: Array, shares: Array, alone: Sequence[int], enough: float
    ) -> tuple[list[Column], float]:
        """Return joint reports of all but some numbers, which share the rest of epsilon, and their bound."""
        menu = self.setting.menu
        joint = shares.copy()
        joint[list(alone)] = 0.0
        best, steps = division(menu, prices, list(alone))
        last = len(menu.budgets) - 1
        designs: list[Column] = []
        bound = 0.0
        for part in range(1, MIXED_PARTS + 1) if alone else [MIXED_PARTS]:
            step = last * part // MIXED_PARTS
            epsilon, rest = float(menu.budgets[step]), float(best[last - step])
            for cells in self.grids:
                bundles, most = self._bundles(joint, epsilon, cells, 1 if alone else SEVERAL)
                if most + rest <= enough:
                    break
            bound = max(bound, most + rest)
            beside = read_back(steps, list(alone), last - step)
            asks = tuple(menu.ask(place, taken) for place, taken in sorted(beside.items()))
            designs += [(*asks, self._ask(bundle, step)) for bundle in bundles]
        return designs, bound

    def _bundles(self, prices: Array, epsilon: float, cells: int, count: int) -> tuple[list[Bundle], float]:
        """Return the best products of sets at prices of the information, and a bound of every one."""
        sizes = self.setting.questions.sizes
        if not self.planned:
            return best_bundles(sizes, prices / self.even, epsilon, cells, count)
        listed = zip(prices.tolist(), self.even.tolist(), self.spread.tolist(), strict=True)
        return best_planned(sizes, [Gain(*numbers) for numbers in listed], epsilon, cells)

    def _ask(self, bundle: Bundle, step: int) -> Ask:
        """Return the part of a product: a table where every set is one category, or of one question."""
        epsilon = float(self.setting.menu.budgets[step])
        places = tuple(sorted(bundle.sets))
        if len(places) == 1:
            return self.setting.menu.ask(places[0], step)
        sizes = tuple(bundle.sets[place] for place in places)
        return Ask("cells", places, epsilon) if set(sizes) == {1} else Ask("sets", places, epsilon, sizes)
