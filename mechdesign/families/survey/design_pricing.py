"""The classes of designs that are chosen from, and the design of each that gives most at given prices.

The best independent answers to several questions come from an exact dynamic program over budgets:
best_j[b] = max over g of best_(j-1)[b - g] + price_j told_j[g]: after the last question best_m[G] is the
largest price that any division of epsilon among the questions can have, on the menu.

A survey with cross tables or group means adds joint reports of whole tables as candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.survey.design_bundles import Bundle, Gain, best_bundles, best_planned
from mechdesign.families.survey.design_mixtures import Column
from mechdesign.families.survey.design_setting import Ask, Menu, SurveySetting, SurveyTarget
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.results import MOST_CELLS

Array = NDArray[np.float64]


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
    window = np.subtract.outer(np.arange(count), np.arange(count))  # total, what this question takes
    reachable = window >= 0
    for row, place in enumerate(places):
        gains = prices[place] * menu.told[place]
        table = np.where(reachable, best[np.maximum(window, 0)] + gains, -np.inf)
        steps[row] = table.argmax(axis=1)
        best = table[np.arange(count), steps[row]]
    return best, steps


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
    joint = [target.wanted.places for target in targets if len(target.wanted.places) > 1]
    if not joint:
        return []
    means = any(target.wanted.number is not None for target in targets)
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

    among = "independent answers to any number of questions, with budgets in steps of epsilon / 200"

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


class Joint(Independent):
    """Independent answers, products of sets, both mixed, and whole tables where cross tables are wanted."""

    among = (
        "independent answers, joint reports of products of sets, numbers answered next to a joint report, "
        "and joint reports of whole tables"
    )

    def __init__(self, setting: SurveySetting) -> None:
        super().__init__(setting)
        questions = setting.questions
        self.numbers = [place for place in self.places if questions[place].is_mean]
        self.views = views_of(questions, setting.targets, setting.epsilon)
        self.told = np.array([setting.told(column) for column in self.views])
        alone = setting.targets[: len(questions)]
        self.even = np.array([1.0 if target.is_mean else target.even for target in alone])
        self.spread = np.array([1.0 if target.is_mean else target.spread for target in alone])
        options = sum(size - 1 for size in questions.sizes)
        self.grids = tuple(dict.fromkeys(min(cells, max(GRIDS[1], MOST_WORK // options)) for cells in GRIDS))
        self.planned = not all(target.is_even for target in alone)

    def start(self) -> list[Column]:
        """Return every question alone, and the requested tables."""
        wanted = {target.wanted.places for target in self.setting.targets}
        return super().start() + [column for column in self.views if column[0].places in wanted]

    def __call__(self, prices: Array, enough: float) -> tuple[list[Column], float]:
        """Return the best designs of each kind, and a bound of the price of every one."""
        found, bound = super().__call__(prices, enough)
        shares = prices[: len(self.places)]
        for alone in self._alone():
            columns, most = self._mixed(prices, shares, alone, enough)
            found += columns
            bound = max(bound, most)
        if len(self.views):
            worth = self.told @ prices
            best = np.argsort(-worth)[:SEVERAL]
            found += [self.views[place] for place in best]
            bound = max(bound, float(worth[best[0]]))
        return found, bound

    def _alone(self) -> list[tuple[int, ...]]:
        """Return the sets of numbers that are answered alone next to a joint report."""
        if len(self.numbers) > MOST_NUMBERS:
            return [(), tuple(self.numbers)]
        return [
            chosen for size in range(len(self.numbers) + 1) for chosen in combinations(self.numbers, size)
        ]

    def _mixed(
        self, prices: Array, shares: Array, alone: Sequence[int], enough: float
    ) -> tuple[list[Column], float]:
        """Return joint reports of all but some numbers, which share the rest of epsilon, and their bound."""
        menu = self.setting.menu
        joint = shares.copy()
        joint[list(alone)] = 0.0
        best, steps = division(menu, prices, list(alone))
        last = len(menu.budgets) - 1
        found: list[Column] = []
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
            found += [(*asks, self._ask(bundle, step)) for bundle in bundles]
        return found, bound

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
