"""What a private report says of tables, and lower bounds for every private mechanism, in rationals.

A table consists of parts: for each set S of questions the part that only S has, with its weight W_S. A way to
ask is a set T of answers with the share t of all: a product, a match, cells or any set. Its reports say as
much of a part S as answers in clear from a share eta_S of the users. Questions that are alike have the same
share in a best mixture, since users can be asked in every order; they are one *kind* of part.

The bounds follow from prices, and hold whatever these are: p_S = W_S c_S^2 with sum_S p_S eta_S <= P for
every mechanism give sum W_S / eta_S >= (sum W_S c_S)^2 / P. P comes from all sets of answers where these are
few, else from the total information or from entropy. See docs/families/survey_limit.md for the proofs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.exact.numbers import text_of
from mechdesign.exact.randomness import exp_upper, float_down
from mechdesign.primitives.oracle import share_in

Part = tuple[int, ...]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """The parts of all requested tables, by kinds.

    Attributes
    ----------
    sizes : tuple of int
        The number of answers of each question.
    members : tuple of tuple of tuple of int
        The parts of each kind, each as increasing numbers of questions.
    dimensions : tuple of int
        The dimension of one part of each kind.
    weights : tuple of Fraction
        W: the sum over the parts of a kind, and over the requested tables that contain them, of weight times
        dimension / cells; the error of n users is the sum of W / eta over the kinds, divided by n.
    """

    sizes: tuple[int, ...]
    members: tuple[tuple[Part, ...], ...]
    dimensions: tuple[int, ...]
    weights: tuple[Fraction, ...]

    @property
    def singles(self) -> bool:
        """Whether tables of single questions are wanted only."""
        return all(len(part) == 1 for kind in self.members for part in kind)

    @cached_property
    def totals(self) -> list[int]:
        """Number of dimensions of all parts of each kind."""
        return [dim * len(kind) for dim, kind in zip(self.dimensions, self.members, strict=True)]

    @cached_property
    def each_weight(self) -> Array:
        """The weights as doubles."""
        return np.array([float(weight) for weight in self.weights])

    def group(self, kind: int) -> tuple[int, ...]:
        """Return the questions of a kind of single questions."""
        return tuple(place for part in self.members[kind] for place in part)


def effects_of(sizes: Sequence[int], tables: Mapping[Part, Fraction]) -> Effects:
    """Return the parts of tables with weights.

    Examples
    --------
    >>> effects = effects_of([2, 2, 3], {(0,): Fraction(1), (1,): Fraction(1), (2,): Fraction(3)})
    >>> effects.members, [str(weight) for weight in effects.weights]
    ((((0,), (1,)), ((2,),)), ['1', '2'])
    """
    each: dict[Part, Fraction] = {}
    for table, weight in tables.items():
        cells = math.prod(sizes[place] for place in table)
        for count in range(1, len(table) + 1):
            for part in combinations(table, count):
                each[part] = each.get(part, Fraction(0)) + weight * _dimension(sizes, part) / cells
    kinds: dict[object, list[Part]] = {}
    alone = all(len(part) == 1 for part in each)
    for part, weight in sorted(each.items(), key=lambda item: (len(item[0]), item[0])):
        kinds.setdefault((sizes[part[0]], weight) if alone else part, []).append(part)
    members = tuple(tuple(parts) for parts in kinds.values())
    return Effects(
        tuple(sizes),
        members,
        tuple(_dimension(sizes, parts[0]) for parts in members),
        tuple(sum((each[part] for part in parts), Fraction(0)) for parts in members),
    )


def _dimension(sizes: Sequence[int], part: Part) -> int:
    return math.prod(sizes[place] - 1 for place in part)


Column = Mapping[str, Any]


def kind_information(effects: Effects, epsilon: float, column: Column) -> Array:
    """Return eta of each kind of part, averaged over its parts: similar questions change places at random.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.families.survey.limit_bounds import effects_of
    >>> effects = effects_of([2, 2], {(0,): Fraction(1), (1,): Fraction(1)})
    >>> kind_information(effects, 2.0, {"widths": [1, 1]}).round(6)  # both: rho^2
    array([0.378200])
    """
    if "cells" in column:
        each = _of_cells(effects, epsilon, column["questions"], column["cells"])
    elif "answers" in column:
        each = _of_any(effects, epsilon, column["answers"])
    elif "matches" in column:
        each = _of_matches(effects, epsilon, column["widths"], column["matches"])
    else:
        each = _of_product(effects, epsilon, column["widths"])
    return np.array([math.fsum(each[part] for part in kind) / len(kind) for kind in effects.members])


def _of_product(effects: Effects, epsilon: float, widths: Sequence[int]) -> dict[Part, float]:
    """Return eta of a product of subsets: rho^2 times the product of (k - d)/(d (k - 1))."""
    pairs = list(zip(effects.sizes, widths, strict=True))
    square = share_in(epsilon, math.prod(d / k for k, d in pairs)) ** 2
    alone = [square * (k - d) / (d * (k - 1)) / square for k, d in pairs]
    return {part: square * math.prod(alone[i] for i in part) for kind in effects.members for part in kind}


def _of_cells(effects: Effects, epsilon: float, questions: Sequence[int], width: int) -> dict[Part, float]:
    """Return eta of ``width`` scattered cells of the table of some questions: the same for all its parts."""
    cells = math.prod(effects.sizes[place] for place in questions)
    eta = share_in(epsilon, width / cells) ** 2 * (cells - width) / (width * (cells - 1))
    return {part: eta if set(part) <= set(questions) else 0.0 for kind in effects.members for part in kind}


def _of_matches(effects: Effects, epsilon: float, widths: Sequence[int], least: int) -> dict[Part, float]:
    """Return eta of the answers with at least ``least`` entries in their subsets of these widths.

    Given that the answer is in T, let b_j say whether the j-th one matches: |proj_S 1_T|^2 / t^2 is the
    square of the mean of the product of b_j - p_j over S, divided by the product of p_j (1 - p_j).
    """
    p = [width / size for width, size in zip(widths, effects.sizes, strict=True)]
    places = [place for place, share in enumerate(p) if share < 1.0]
    tail = _tail([p[place] for place in places], least)
    rho, result = share_in(epsilon, tail), {}
    known: dict[tuple[float, ...], float] = {}
    for kind in effects.members:
        for part in kind:
            if not set(part) <= set(places):
                result[part] = 0.0
                continue
            shares = tuple(p[place] for place in part)
            if shares not in known:
                rest = [p[place] for place in places if place not in part]
                mean = math.fsum(
                    math.prod((1.0 - q) * q if i in hit else -q * (1.0 - q) for i, q in enumerate(shares))
                    * _tail(rest, least - len(hit))
                    for count in range(len(shares) + 1)
                    for hit in combinations(range(len(shares)), count)
                )
                known[shares] = (rho * mean / tail) ** 2 / math.prod(q * (1.0 - q) for q in shares)
            result[part] = known[shares] / math.prod(effects.sizes[place] - 1 for place in part)
    return result


def _tail(shares: Sequence[float], least: int) -> float:
    """Return the probability that at least ``least`` of the independent events happen."""
    if least <= 0:
        return 1.0
    law = np.zeros(len(shares) + 1)
    law[0] = 1.0
    for share in shares:
        law[1:] = law[1:] * (1.0 - share) + law[:-1] * share
        law[0] *= 1.0 - share
    return float(math.fsum(law[least:]))


def _of_any(effects: Effects, epsilon: float, answers: Sequence[int]) -> dict[Part, float]:
    """Return eta of any set of answers, given by their numbers, the last question fastest."""
    table = np.zeros(math.prod(effects.sizes))
    table[list(answers)] = 1.0
    held, whole = table.reshape(effects.sizes), float(len(answers))
    rho, result = share_in(epsilon, whole / table.size), {}
    for kind in effects.members:
        for part in kind:
            left = held - 0.0
            for axis in range(len(effects.sizes)):
                mean = left.mean(axis=axis, keepdims=True)
                left = left - mean if axis in part else np.broadcast_to(mean, left.shape)
            t = whole / table.size
            dimension = math.prod(effects.sizes[place] - 1 for place in part)
            result[part] = rho**2 * float((left**2).mean()) / (t * t * dimension)
    return result


def checked_column(effects: Effects, column: Any) -> Column:
    """Return a way to ask, or raise ParameterError for one that is none."""
    sizes = effects.sizes
    if not isinstance(column, Mapping):
        raise ParameterError("sets", f"expected tables, got {text_of(column)}")
    keys = set(column)
    if keys in ({"widths"}, {"widths", "matches"}):
        fits = len(column["widths"]) == len(sizes) and all(
            1 <= width <= size for width, size in zip(column["widths"], sizes, strict=True)
        )
        narrowed = sum(width < size for width, size in zip(column["widths"], sizes, strict=True))
        fits = fits and narrowed >= column.get("matches", 1) >= 1
    elif keys == {"questions", "cells"}:
        fits = 1 <= column["cells"] < math.prod(sizes[place] for place in column["questions"])
    else:
        fits = keys == {"answers"} and 0 < len(set(column["answers"])) < math.prod(sizes)
    if not fits:
        raise ParameterError("sets", f"{text_of(dict(column))} is not a set of answers to these questions")
    return column


DIGITS = 40
"""Binary digits of prices."""


def factors(values: Sequence[float]) -> list[Fraction]:
    """Return numbers > 0 as rationals of few digits, relative to the largest; any such are prices.

    Examples
    --------
    >>> [str(number) for number in factors([4.0, 1.0])]
    ['1', '1/4']
    """
    top = max(values)
    return [Fraction(max(1, round(value / top * 2**DIGITS)), 2**DIGITS) for value in values]


def prices(effects: Effects, value: Sequence[Fraction]) -> list[Fraction]:
    """Return p = W c^2 of each kind, for the average eta of its parts."""
    return [weight * c * c for weight, c in zip(effects.weights, value, strict=True)]


def bound_from(effects: Effects, value: Sequence[Fraction], most: Fraction) -> float:
    """Return (sum W c)^2 / P, rounded down, for a proven P."""
    total = sum((weight * c for weight, c in zip(effects.weights, value, strict=True)), Fraction(0))
    return float_down(total * total / most)


def most_information(epsilon: float) -> Fraction:
    """Return an upper bound of sinh(epsilon / 2)^2 = (E - 1)^2 / (4 E): of the sum of dim_S eta_S.

    By Parseval the sum over all S but the empty one is, for a set of the share t, (E - 1)^2 t (1 - t) /
    (1 + (E - 1) t)^2, which is largest at t = 1 / (E + 1).

    Examples
    --------
    >>> round(float(most_information(2.0)), 6), round(math.sinh(1.0) ** 2, 6)
    (1.381098, 1.381098)
    """
    power = exp_upper(epsilon)
    return (power - 1) ** 2 / (4 * power)


def information_bound(effects: Effects, epsilon: float) -> float:
    """Return the bound from the total information: the least sum of W / eta with eta <= 1 and that total.

    Where no eta reaches 1 it is (sum_S sqrt(W_S dim_S))^2 / sinh(epsilon/2)^2. For every mu >= 0 the sum is
    at least that of the least W / eta + mu dim eta over eta <= 1, W + mu dim or 2 sqrt(W mu dim), less
    mu sinh(epsilon/2)^2. No eta exceeds 1, because a report says no more than the answer itself. Of a kind of
    m parts the sum of dim eta is m dim times the average eta.

    Examples
    --------
    >>> from mechdesign.families.survey.limit_bounds import effects_of
    >>> pair = effects_of([2, 2], {(0,): Fraction(1), (1,): Fraction(1)})
    >>> information_bound(pair, 1.0), information_bound(pair, 9.0)
    (7.365388753662338, 1.0)
    """
    most = most_information(epsilon)
    pairs = list(zip(effects.weights, effects.totals, strict=True))
    mu = _multiplier(pairs, float(most))
    bound = -mu * most
    for weight, dim in pairs:
        bound += weight + mu * dim if weight >= mu * dim else 2 * _root(weight * mu * dim)
    return float_down(bound)


def _multiplier(pairs: Sequence[tuple[Fraction, int]], most: float) -> Fraction:
    """Return the mu that makes the bound largest, nearly: parts with the largest W / dim reach 1 first."""
    ordered = sorted(pairs, key=lambda pair: pair[0] / pair[1], reverse=True)
    left = most
    for place, (weight, dim) in enumerate(ordered):
        root = math.fsum(math.sqrt(float(w) * d) for w, d in ordered[place:]) / left
        if float(weight) < root * root * dim:
            return Fraction(root * root)
        left -= dim
        if left <= 0.0:
            return weight / dim
    return Fraction(0)


def _root(value: Fraction) -> Fraction:
    """Return a rational number below the square root, with as many binary digits as doubles and more.

    Examples
    --------
    >>> float(_root(Fraction(9, 4)))
    1.5
    """
    shift = 64 + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    scaled = (value.numerator << (2 * shift)) // value.denominator
    return Fraction(math.isqrt(scaled), 1 << shift)


PIECES = 96
"""Cells of the free ratio, on each of which a bound is taken."""

MULTIPLIERS, FINER = 16, 4
"""Values of mu per round, and further rounds between the best one's neighbors; each value gives a bound."""

ACCURACY = 1e-3
"""Cells of t are halved until the largest bound is known to this part, or there are too many."""

MOST_CELLS = 600

LEAST = 1e-4
"""Sets with a smaller share than this part of 1/E are bounded together."""

ROUNDING = Fraction(1 + 2**-30)
"""Covers the rounding of sums of some thousand doubles, each with an error below 2^-50."""


@dataclass(frozen=True)
class AlikeQuestions:
    """Some questions that are alike: the number of answers, how many there are, and the price of one."""

    size: int
    count: int
    price: float


def gains(size: int, ratio: float, price: float, multipliers: Array) -> Array:
    """Return an upper bound of price chi^2 - mu KL over laws on k points, of ratios to the even law up to B.

    At the best law some ratios are B, at most one is any y, and the others are equal. On a piece of y both
    means are convex: chi^2 is at most its larger end, KL at least where its tangents in the ends meet.

    Parameters
    ----------
    size : int
    ratio : float
        B, at least 1.
    price : float
    multipliers : (m,) array
        mu >= 0.

    Returns
    -------
    (m,) array

    Examples
    --------
    >>> gains(2, 2.0, 1.0, np.array([0.0])).round(6)  # one answer is sure: chi^2 = 1
    array([1.])
    """
    return _worth(_pieces(size, min(ratio, float(size))), price, multipliers)


def _worth(laws: _Laws, price: float, multipliers: Array) -> Array:
    """Return the bound of :func:`gains` over all laws."""
    chi, entropy = laws
    worth: Array = (price * chi - multipliers[:, None] * entropy).max(axis=1)
    return np.maximum(worth, 0.0)  # the even law


_Laws = tuple[Array, Array]
"""At both ends of ranges of y, of all numbers of points that are B: chi^2, and the tangents of KL."""


@cache
def _turns() -> Array:
    """Return 1 - cos at the ends of the ranges, which are narrow near both ends."""
    return 1.0 - np.cos(np.linspace(0.0, math.pi, PIECES + 1))


@lru_cache(maxsize=128)
def _pieces(size: int, top: float) -> _Laws:
    """Return the laws on ``size`` points with ratios up to this one, by the number of those that are B.

    No ratio is above the size, so that small shares and questions alike ask for the same ones.
    """
    chis, entropies = [], []
    for full in range(min(size - 1, math.floor(size / top)) + 1):
        others, left = size - full - 1, max(0.0, size - full * top)
        low, high = (left / (others + 1), min(top, left)) if others else (left, left)
        if low > top:  # the others cannot all be this large
            continue
        ends = low + (high - low) * _turns() / 2.0
        middles = (ends[1:] + ends[:-1]) / 2.0
        rest, x = (np.maximum(left - y, 0.0) / max(1, others) for y in (ends, middles))
        chi = (full * top**2 + ends * ends + others * rest**2) / size - 1.0
        entropy = (full * top * math.log(top) + _entropy(middles) + others * _entropy(x)) / size
        slope = np.zeros_like(middles)  # of KL by y; where the law is a single one, and at the ends, 0
        if others:
            inside = (x > 0.0) & (middles > 0.0)
            slope[inside] = np.log(middles[inside] / x[inside]) / size
        chis += [chi[:-1], chi[1:]]
        entropies += [entropy + slope * (end - middles) for end in (ends[:-1], ends[1:])]
    return np.concatenate(chis), np.concatenate(entropies)


def _entropy(r: Array) -> Array:
    return r * np.log(np.where(r > 0.0, r, 1.0))


@lru_cache(maxsize=1024)
def most_worth(questions: tuple[AlikeQuestions, ...], epsilon: float) -> float:
    """Return an upper bound of the sum of price times eta over all sets of answers.

    Examples
    --------
    >>> round(most_worth((AlikeQuestions(5, 50, 1.0),), 4.0), 3)  # 50 questions of 5 answers
    1.124
    """
    largest = max(item.price / (item.size - 1) for item in questions)
    excess = math.expm1(epsilon)
    start = LEAST / math.exp(epsilon)
    edges = np.exp(np.linspace(math.log(start), 0.0, 25)).tolist()
    edges[-1] = 1.0

    budgeted = lru_cache(maxsize=None)(partial(_budgeted, questions))  # of a cell, and of its first half

    def bound(a: float, b: float) -> float:
        rho = excess * b / (1.0 + excess * b)
        simple = largest * _total(a, b, excess)
        if rho * rho * largest * (1.0 / a - 1.0) <= 0.0:
            return 0.0
        return min(simple, rho * rho * budgeted(a))

    floor = largest * excess**2 * start  # all t up to the first edge: (E - 1)^2 t (1 - t)/(1 + (E - 1) t)^2
    heap = [(-bound(a, b), a, b) for a, b in pairwise(edges)]
    heapq.heapify(heap)
    for _ in range(MOST_CELLS):
        worst, a, b = heapq.heappop(heap)
        if math.log(b / a) < ACCURACY:
            heapq.heappush(heap, (worst, a, b))
            break
        middle = math.sqrt(a * b)
        heapq.heappush(heap, (max(worst, -bound(a, middle)), a, middle))
        heapq.heappush(heap, (max(worst, -bound(middle, b)), middle, b))
    return max(floor, -heap[0][0])


def _total(a: float, b: float, excess: float) -> float:
    """Return the largest (E - 1)^2 t (1 - t) / (1 + (E - 1) t)^2 on [a, b]: it rises up to 1/(E + 1)."""
    t = min(max(1.0 / (excess + 2.0), a), b)
    return excess**2 * t * (1.0 - t) / (1.0 + excess * t) ** 2


def _budgeted(questions: Sequence[AlikeQuestions], share: float) -> float:
    """Return the least over mu of mu ln(1/t) + the sum of the questions' gains."""
    budget, scale = math.log(1.0 / share), max(item.price for item in questions)
    best, multipliers = math.inf, scale * np.exp(np.linspace(-9.0, 3.0, MULTIPLIERS))
    steps = np.arange(MULTIPLIERS) / (MULTIPLIERS - 1)
    pieces = [_pieces(item.size, min(1.0 / share, float(item.size))) for item in questions]
    for _ in range(1 + FINER):
        totals = multipliers * budget
        for item, laws in zip(questions, pieces, strict=True):
            totals += item.count * _worth(laws, item.price / (item.size - 1), multipliers)
        best, place = min(best, float(totals.min())), int(totals.argmin())
        low, high = multipliers[max(0, place - 1)], multipliers[min(len(multipliers) - 1, place + 1)]
        multipliers = low * (high / low) ** steps
    return best


def entropy_bound(effects: Effects, epsilon: float, information: Array) -> float:
    """Return the bound by entropy at the prices of a mixture, from its information on each kind of part."""
    multipliers = factors((1.0 / information).tolist())
    each = prices(effects, multipliers)
    questions = tuple(
        AlikeQuestions(effects.sizes[kind[0][0]], len(kind), float(price) / len(kind) * (1.0 + 2.0**-40))
        for kind, price in zip(effects.members, each, strict=True)
    )
    most = Fraction(most_worth(questions, epsilon)) * ROUNDING
    return bound_from(effects, multipliers, most)


def bounds_of(effects: Effects, epsilon: float, information: Array) -> dict[str, float]:
    """Return the bounds for every private mechanism that do not go through all sets."""
    bounds = {"the total information, sinh(epsilon/2)^2": information_bound(effects, epsilon)}
    if effects.singles:
        bounds["the entropy of sets, at the prices of the mixture"] = entropy_bound(
            effects, epsilon, information
        )
    return bounds


def tables_below(part: Part) -> list[Part]:
    """Return the tables over some of the questions of a part, and the one over none."""
    return [table for count in range(len(part) + 1) for table in combinations(part, count)]


def answer_masks(sizes: Sequence[int], table: Part) -> list[int]:
    """Return the answers in each cell of a table, as bits."""
    places = np.indices(sizes).reshape(len(sizes), -1)
    cell = np.zeros(places.shape[1], dtype=np.int64)
    for place in table:
        cell = cell * sizes[place] + places[place]
    bits = [0] * math.prod(sizes[place] for place in table)
    for answer, number in enumerate(cell.tolist()):
        bits[number] |= 1 << answer
    return bits
