"""The best independent answers to several questions at given prices: an exact dynamic program over budgets.

best_j[b] = max over g of best_(j-1)[b - g] + price_j told_j[g]: after the last question best_m[G] is the
largest price that any division of epsilon among the questions can have, on the menu.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.survey.design.menu import Menu

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
    found: dict[int, int] = {}
    for row in range(len(places) - 1, -1, -1):
        taken = int(steps[row, total])
        if taken:
            found[places[row]] = taken
        total -= taken
    return found
