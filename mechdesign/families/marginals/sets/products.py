"""Which products of subsets are worth most, when what is said about each attribute has a price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mechdesign.families.marginals.sets.response import SetResponse
from mechdesign.families.marginals.sets.shapes import ProductSet
from mechdesign.primitives.combine import QuestionForm, QuestionKind
from mechdesign.primitives.oracle import share_in

STEPS = 1200
"""Steps of the entropy that products are found by."""

BEYOND = 6.0
"""Products with an entropy beyond epsilon by more than this are worth next to nothing."""

BEST = 4
"""Products that are returned."""


def product_shares(sizes: Sequence[int], widths: Sequence[int], epsilon: float) -> list[float]:
    """Return eta of each attribute, rho^2 (k - d)/(d (k - 1)): a report is worth eta answers in clear.

    That of what some attributes have in common is rho^2 times the product of their factors.

    Parameters
    ----------
    sizes, widths : sequence of int
        k and d of each attribute; d = k where it is not asked.
    epsilon : float

    Examples
    --------
    >>> [round(share, 4) for share in product_shares([2, 4, 3], [1, 2, 3], 2.0)]
    [0.3782, 0.1261, 0.0]
    """
    part = math.prod(width / size for width, size in zip(widths, sizes, strict=True))
    square = share_in(epsilon, part) ** 2
    return [square * (k - d) / (d * (k - 1)) for k, d in zip(sizes, widths, strict=True)]


def best_products(sizes: Sequence[int], epsilon: float, prices: Sequence[float]) -> list[list[int]]:
    """Return the widths of the products with the largest sum of price times eta, best first.

    By dynamic programming over the entropy sum of ln(k / d), in steps, as whose order it comes.

    Parameters
    ----------
    sizes : sequence of int
    epsilon : float
    prices : sequence of float
        At least 0, one for each attribute.

    Examples
    --------
    >>> best_products([2, 2, 2], 2.0, [1.0, 1.0, 1.0])[0]  # two of the three are asked together
    [1, 1, 2]
    """
    step = (epsilon + BEYOND) / STEPS
    worth = np.full(STEPS + 1, -np.inf)
    worth[0] = 0.0
    choices = []
    for size, price in zip(sizes, prices, strict=True):
        best, chosen = worth.copy(), np.full(STEPS + 1, size, dtype=np.int64)
        for width in range(1, size):
            cost = round(math.log(size / width) / step)
            if cost > STEPS:
                continue
            gain = price * (size - width) / (width * (size - 1))
            tried = np.concatenate([np.full(cost, -np.inf), worth[: STEPS + 1 - cost] + gain])
            better = tried > best
            best[better], chosen[better] = tried[better], width
        choices.append(chosen)
        worth = best
    rho = np.array([share_in(epsilon, math.exp(-place * step)) for place in range(STEPS + 1)])
    distinct: dict[tuple[int, ...], None] = {}
    for place in np.argsort(-(rho**2) * worth, kind="stable")[: 4 * BEST].tolist():
        widths, left = list(sizes), place
        for attribute in range(len(sizes) - 1, -1, -1):
            widths[attribute] = int(choices[attribute][left])
            left -= round(math.log(sizes[attribute] / widths[attribute]) / step)
        if widths != list(sizes):
            distinct[tuple(widths)] = None
        if len(distinct) == BEST:
            break
    return [list(widths) for widths in distinct]


def match_share(size: int, count: int, least: int, epsilon: float) -> float:
    """Return eta of each of ``count`` attributes of k values, by sets that hold answers with enough matches.

    One value of each attribute is named. With h the number of matches and p = 1/k, eta (k - 1) is the square
    of rho (E[h / m | h >= least] - p), divided by p (1 - p).

    Examples
    --------
    >>> round(50 * match_share(2, 50, 35, 8.0), 4)  # products say 6.7843 at most
    7.4072
    """
    p = 1.0 / size
    law = [math.comb(count, hits) * p**hits * (1.0 - p) ** (count - hits) for hits in range(count + 1)]
    part = math.fsum(law[least:])
    if part <= 0.0 or least < 1:
        return 0.0
    tilt = math.fsum(chance * (hits / count - p) for hits, chance in enumerate(law) if hits >= least) / part
    return (share_in(epsilon, part) * tilt) ** 2 / (p * (1.0 - p) * (size - 1))


class SetsKind(QuestionKind):
    """A product of sets, one of each question of a survey.

    Examples
    --------
    >>> SetsKind().mechanism(QuestionForm((2, 3), sets=(1, 2)), 1.0, 1.0).audit().holds
    True
    """

    question_kind: ClassVar[str] = "sets"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> SetResponse:
        return SetResponse.of(form.sizes, promised, ProductSet(form.sets), tables=())

    def best_sets(self, sizes: Sequence[int], epsilon: float, prices: Sequence[float]) -> list[list[int]]:
        return best_products(sizes, epsilon, prices)
