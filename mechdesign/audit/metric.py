"""The exact audit of metric privacy: p_xy <= e^(epsilon d(x, x')) p_x'y for every pair of inputs.

Distances are the floats given, taken as exact rationals; logarithms and exponentials are rational
bounds to 48 digits. Double precision only chooses what is compared exactly, with margins that cover
its rounding. Exact comparisons are made once for each distinct triple (distance, weight, weight).

Pairs that shorter steps imply (:func:`mechdesign.audit.metric.needed_pairs`) are not judged. For every
r >= 0, if p_x <= e^(r d) p_x' in every column and for every needed pair, then so it is for all pairs, by
multiplying along the steps. With r = epsilon this is the verdict. The least r of all pairs, the true
epsilon, is therefore also that of the needed pairs: the largest ln(w_xy / w_x'y) / d(x, x') over them,
infinite where a positive weight faces a zero or where two rows at distance 0 differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import UNIT, PrivacyAudit
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_epsilon, finite_array
from mechdesign.core.values import dependent_field, frozen_value, value_field
from mechdesign.exact.numbers import double, doubles, wholes
from mechdesign.exact.randomness import (
    Weights,
    exp_lower,
    float_up,
    log_ratio,
    require_channel,
    true_bound,
    weight_matrix,
)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEAREST = 4
"""Nearest inputs by way of which detours are tried first; on a line they settle almost every pair."""


def needed_pairs(matrix: Floats) -> NDArray[np.int64]:
    """Return the ordered pairs (i, k) whose privacy rows are not implied by others, shape (pairs, 2).

    A pair is implied when some j has d(i, j) + d(j, k) <= d(i, k) with both steps shorter than d(i, k): then
    p_i <= e^(eps d(i, j)) p_j <= e^(eps (d(i, j) + d(j, k))) p_k, and by induction on the distance the pairs
    that are left out follow from those that are kept. The floats are taken as the exact numbers they
    are, and so is their sum.

    Parameters
    ----------
    matrix : (n, n) array
        Finite distances >= 0 of any real dtype; the diagonal is not looked at.

    Raises
    ------
    ParameterError
        For a matrix that is not square, NaN, an infinite or negative distance, or one that is not a double.

    Examples
    --------
    >>> places = np.arange(4.0)
    >>> needed_pairs(abs(places[:, None] - places)).tolist()
    [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    """
    matrix = distances(matrix)
    if matrix.shape[0] != matrix.shape[1]:
        raise ParameterError("distance", f"has shape {matrix.shape}", "give a square matrix")
    implied = _by_way_of_near_inputs(matrix)
    np.fill_diagonal(implied, True)
    pairs = []
    for first, row in enumerate(implied):
        open_ = np.flatnonzero(~row)
        if len(open_):
            left = ~_is_detour(matrix[first][:, None], matrix[:, open_], matrix[first, open_]).any(axis=0)
            pairs += [(first, second) for second in open_[left].tolist()]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def distances(matrix: Any) -> Floats:
    """Return distances of any real dtype as the frozen float64 matrix that they are, or refuse them."""
    exact = finite_array("distance", matrix, 2)
    if float(exact.min()) < 0:
        row, column = (int(index) for index in np.argwhere(exact < 0)[0])
        raise ParameterError("distance", f"is negative at index {row}, {column}", "give distances >= 0")
    return exact


def require_pairs(pairs: Any, size: int) -> NDArray[np.int64]:
    """Return pairs of inputs below ``size`` as a frozen int64 array of shape (pairs, 2), or refuse them."""
    exact = wholes("pairs", pairs, 2)
    if exact.shape[1] != 2 or (exact.size and not 0 <= int(exact.min()) <= int(exact.max()) < size):
        raise ParameterError("pairs", f"a pair is none of two inputs 0 .. {size - 1}", "use needed_pairs")
    return exact


def _by_way_of_near_inputs(matrix: Floats) -> Mask:
    """Return which pairs have a detour by way of one of the inputs nearest to the first."""
    implied = np.zeros(matrix.shape, dtype=bool)
    away = np.where(matrix > 0, matrix, np.inf)
    np.fill_diagonal(away, np.inf)
    count = min(NEAREST, len(matrix) - 1)
    nearest = np.argsort(away, axis=1, kind="stable")[:, :count]
    for middle in nearest.T:
        step = np.take_along_axis(matrix, middle[:, None], axis=1)
        implied |= _is_detour(step, matrix[middle], matrix)
    return implied


def _is_detour(one: Floats, two: Floats, whole: Floats) -> Mask:
    """Return whether one + two <= whole exactly, with both steps shorter than the whole.

    Rounding is monotone: a rounded sum below the whole means an exact sum below it (and then both
    steps, being >= 0, are shorter), a rounded sum above it an exact sum above. When the two are equal
    the sign of what the sum lost decides, which is found exactly (Knuth's two-sum).
    """
    with np.errstate(over="ignore"):
        total = one + two
    result: Mask = total < whole
    equal = np.nonzero(total == whole)
    first, second = (np.broadcast_to(step, total.shape)[equal] for step in (one, two))
    goal = total[equal]
    back = goal - first
    lost = (first - (goal - back)) + (second - back)
    result[equal] = (lost <= 0) & (first < goal) & (second < goal)
    return result


Int64s = NDArray[np.int64]
Index = NDArray[np.int64]

BATCH = 1 << 20
"""Entries that are looked at together."""


def batches(count: int, width: int) -> Iterator[slice]:
    """Yield slices of ``count`` rows of this width; each slice has about BATCH entries."""
    size = max(1, BATCH // width)
    for start in range(0, count, size):
        yield slice(start, start + size)


def ranked(weights: Int64s) -> tuple[Int64s, Int64s]:
    """Return the distinct weights, rising, and the number of every weight among them."""
    weights = wholes("channel", weights, 2)
    values, codes = np.unique(weights, return_inverse=True)
    return values, codes.reshape(weights.shape).astype(np.int64)


class Triples:
    """A growing set of (d(x, x'), w_xy, w_x'y).

    Weights and distances are numbered by rank; a triple is one integer as long as 63 bits hold it.

    Parameters
    ----------
    values, codes : int64 arrays
        Those of :func:`ranked`.
    """

    def __init__(self, values: Int64s, codes: Int64s) -> None:
        self.values, self.codes = wholes("values", values, 1), wholes("codes", codes, 2)
        self.parts: list[tuple[Floats, Index]] = []

    def add(self, separations: Floats, inputs: Index, others: Index, reports: Index) -> None:
        """Add the triples of these entries."""
        apart = doubles("distance", separations, 1)
        first, second, columns = (wholes("index", index, 1) for index in (inputs, others, reports))
        ratios = self.codes[first, columns] * len(self.values) + self.codes[second, columns]
        self.parts.append(_distinct(apart, ratios))

    def by_distance(self) -> Iterator[tuple[float, list[int], list[int]]]:
        """Yield every distance with the distinct pairs of weights at it, as two lists."""
        if not self.parts:
            return
        separations, ratios = _distinct(*(np.concatenate(side) for side in zip(*self.parts, strict=True)))
        highs = self.values[ratios // len(self.values)].tolist()
        lows = self.values[ratios % len(self.values)].tolist()
        starts = np.flatnonzero(np.diff(separations, prepend=-1.0))
        ends = [*starts[1:].tolist(), len(separations)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            yield float(separations[start]), highs[start:end], lows[start:end]


def _distinct(separations: Floats, ratios: Index) -> tuple[Floats, Index]:
    """Return the distinct pairs, sorted by separation."""
    steps, ranks = np.unique(separations, return_inverse=True)
    most = int(ratios.max(initial=0)) + 1
    if most * len(steps) < 1 << 63:
        keys = np.unique(ranks * most + ratios)
        return steps[keys // most], keys % most
    order = np.lexsort((ratios, ranks))
    ranks, ratios = ranks[order], ratios[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(ranks) != 0) | (np.diff(ratios) != 0)
    return steps[ranks[new]], ratios[new]


Pairs = NDArray[np.int64]

SLACK = 2.0**-44
"""Relative margin of every comparison of floats; what they compute is off by less than 2**-46."""

CAP = 50.0
"""Exponents are capped here in double precision: e^50 exceeds 2**62, so every larger factor says the same."""


def audit_metric_channel(weights: Weights, epsilon: float, distance: Floats) -> PrivacyAudit:
    """Audit metric privacy exactly; see :func:`mechdesign.audit.audit_channel`."""
    weights, epsilon = require_channel(weights), double_epsilon(epsilon)
    distance = require_distance(distance, len(weights))
    channel = MetricChannel(weights, distance, needed_pairs(distance))
    digits, witness = channel.true_epsilon()
    holds = channel.holds(epsilon)
    excess, violation = (Fraction(0), {}) if holds else _largest_excess(weights, epsilon, distance)
    least = excess / (1 << 62)
    return PrivacyAudit(
        proof=Proof(
            Guarantee(epsilon, distance=UNIT),
            true_bound(digits, epsilon, holds),
            pairs=len(distance) * (len(distance) - 1),
        ),
        witness=witness,
        true_epsilon_digits=digits,
        least_delta_exact=least,
        delta_witness=violation,
        entry_delta=float_up(least),
    )


def require_distance(distance: Any, size: int) -> Floats:
    """Return a finite distance >= 0 for every pair of inputs as a frozen float64 matrix, or refuse it."""
    matrix = distances(distance)
    if matrix.shape != (size, size):
        raise ParameterError(
            "distance", f"has shape {matrix.shape} for {size} inputs", f"give {size} x {size}"
        )
    return matrix


@frozen_value(eq=False)
class MetricChannel:
    """A channel of integer weights next to the pairs of inputs that have to be judged.

    Parameters
    ----------
    weights : (n, m) int64 array
    distance : (n, n) array
    pairs : (pairs, 2) int array
        Those of :func:`mechdesign.audit.metric.needed_pairs`.
    """

    weights: Weights = value_field(lambda name, value: require_channel(value))
    distance: Floats = dependent_field(
        lambda channel, name, value: require_distance(value, len(channel.weights))
    )
    pairs: Pairs = dependent_field(lambda channel, name, value: require_pairs(value, len(channel.weights)))

    @cached_property
    def apart(self) -> Floats:
        """Distance of every pair."""
        separations: Floats = self.distance[self.pairs[:, 0], self.pairs[:, 1]]
        return separations

    @cached_property
    def steps(self) -> Floats:
        """Largest w_xy / w_x'y - 1 over the reports y of every pair, at least 0, off by 3 roundings."""
        steps = np.zeros(len(self.pairs))
        for part in batches(len(self.pairs), self.weights.shape[1]):
            steps[part] = np.fmax.reduce(relative_steps(self.weights, self.pairs[part]), axis=1, initial=0.0)
        return steps

    def holds(self, epsilon: float) -> bool:
        """Return whether every needed pair satisfies its inequality, decided with integers where close."""
        epsilon = double_epsilon(epsilon)
        with np.errstate(over="ignore"):
            rises = np.expm1(np.minimum(epsilon * self.apart, CAP))
        if (self.steps > rises * (1 + SLACK)).any():
            return False
        close = np.flatnonzero((self.steps > 0) & (self.steps >= rises * (1 - SLACK)))
        parts = batches(len(close), self.weights.shape[1])
        return all(_within(self._triples(close[part], rises * (1 - SLACK)), epsilon) for part in parts)

    def true_epsilon(self) -> tuple[Decimal, dict[str, int]]:
        """Return the least epsilon per unit of distance to many digits, and what attains it.

        Of equal distances only the largest ratio, found by exact cross-multiplication, is given a
        logarithm.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rates = np.where(self.steps > 0, np.log1p(self.steps) / self.apart, 0.0)
        largest = float(rates.max(initial=0.0))
        if not self.steps.any():
            return Decimal(0), {}
        # a few units of the least float are taken off for rates among the subnormal numbers
        close = np.flatnonzero((self.steps > 0) & (rates >= largest * (1 - SLACK) - 1e-320))
        best, winner = Decimal(0), (0.0, 0, 0)
        for separation, highs, lows in self._triples(close, self.steps * (1 - SLACK)).by_distance():
            high, low = _largest_ratio(highs, lows)
            digits = rate(high, low, separation)
            if digits > best:
                best, winner = digits, (separation, high, low)
        return best, self._place(*winner)

    @cached_property
    def ranks(self) -> tuple[Weights, Weights]:
        """The distinct weights, rising, and the number of every weight among them."""
        return ranked(self.weights)

    def _triples(self, numbers: Weights, floors: Floats) -> Triples:
        """Return the distinct triples of the chosen pairs whose relative step is at least the floor."""
        triples = Triples(*self.ranks)
        for part in batches(len(numbers), self.weights.shape[1]):
            some = numbers[part]
            ratios = relative_steps(self.weights, self.pairs[some])
            places, reports = np.nonzero(ratios >= floors[some][:, None])
            ends = self.pairs[some[places]]
            triples.add(self.apart[some[places]], ends[:, 0], ends[:, 1], reports)
        return triples

    def _place(self, separation: float, high: int, low: int) -> dict[str, int]:
        """Return the first input, other and report with these weights at this distance."""
        for first, second in self.pairs[self.apart == separation].tolist():
            places = np.flatnonzero((self.weights[first] == high) & (self.weights[second] == low))
            if len(places):
                return {"input": first, "other": second, "report": int(places[0])}
        raise AssertionError("the weights that attain the true epsilon are in the channel")


def _within(triples: Triples, epsilon: float) -> bool:
    """Return whether w_xy <= E w_x'y for every triple, E the rational lower bound of e^(epsilon d)."""
    for separation, highs, lows in triples.by_distance():
        bound = exp_lower(Fraction(epsilon) * Fraction(separation))
        top, bottom = bound.numerator, bound.denominator
        if any(high * bottom > top * low for high, low in zip(highs, lows, strict=True)):
            return False
    return True


def relative_steps(weights: Weights, pairs: Pairs) -> Floats:
    """Return w_xy / w_x'y - 1 for every pair and report; NaN for 0 / 0, infinite for a zero that is faced.

    The differences are exact, so a ratio that exceeds 1 by one unit of 2**62 still counts.
    """
    weights = weight_matrix(weights)
    pairs = require_pairs(pairs, len(weights))
    less = weights[pairs[:, 1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = (weights[pairs[:, 0]] - less) / less
    return ratios


def rate(high: int, low: int, separation: float) -> Decimal:
    """Return an upper bound of ln(high / low) / separation to 47 digits; high is more than low."""
    step = double("distance", separation)
    if low == 0 or step == 0:
        return Decimal("inf")
    return Context(prec=48, rounding=ROUND_CEILING).divide(log_ratio(high, low), Decimal(step))


def _largest_ratio(highs: list[int], lows: list[int]) -> tuple[int, int]:
    best = (0, 1)
    for high, low in zip(highs, lows, strict=True):
        if high * best[1] > best[0] * low:
            best = (high, low)
    return best


def _largest_excess(weights: Weights, epsilon: float, distance: Floats) -> tuple[Fraction, dict[str, Any]]:
    """Return the largest w_xy - E w_x'y over all pairs, E the rational bound of e^(epsilon d), and where.

    All pairs count, not only the needed ones: an implied inequality may be missed by more than those
    that imply it.
    """
    weights, epsilon = weight_matrix(weights), double_epsilon(epsilon)
    distance = require_distance(distance, len(weights))
    with np.errstate(over="ignore"):
        rises = np.expm1(np.minimum(epsilon * distance, CAP))
    best, ceilings = 0.0, np.zeros(distance.shape)
    for first in range(len(weights)):
        rough, slack = _rough_excess(weights, rises, first)
        best = max(best, float((rough - slack).max()))
        ceilings[first] = (rough + slack).max(axis=1)
    triples = Triples(*ranked(weights))
    for first in np.flatnonzero((ceilings >= best).any(axis=1)).tolist():
        rough, slack = _rough_excess(weights, rises, first)
        others, reports = np.nonzero(rough + slack >= best)
        inputs = np.full(len(others), first)
        triples.add(distance[first, others], inputs, others, reports)
    worst, winner = Fraction(0), (0.0, 0, 0)
    for separation, highs, lows in triples.by_distance():
        bound = exp_lower(Fraction(epsilon) * Fraction(separation))
        top, bottom = bound.numerator, bound.denominator
        excesses = [high * bottom - top * low for high, low in zip(highs, lows, strict=True)]
        excess = max(excesses)
        if Fraction(excess, bottom) > worst:
            number = excesses.index(excess)
            worst, winner = Fraction(excess, bottom), (separation, highs[number], lows[number])
    every = np.argwhere(~np.eye(len(weights), dtype=bool))
    place = MetricChannel(weights, distance, every)._place(*winner)
    return worst, {"input": place["input"], "other": place["other"], "reports": [place["report"]]}


def _rough_excess(weights: Weights, rises: Floats, first: int) -> tuple[Floats, Floats]:
    """Return (w_xy - w_x'y) - (E - 1) w_x'y for one input x in double precision, and its margin.

    The integer difference is exact and either term is off by less than SLACK of itself. (E is rational
    and below the exponential by less than 2**-80 units, and a positive difference is at least 1.)
    """
    differences = weights[first] - weights
    products = rises[first][:, None] * weights
    rough = differences - products
    slack = SLACK * (np.abs(differences) + products)
    rough[first] = -np.inf
    return rough, slack
