"""The exact audit of metric privacy: p_xy <= e^(epsilon d(x, x')) p_x'y for every pair of inputs.

Distances are the floats given, taken as exact rationals; logarithms and exponentials are rational
bounds to 48 digits. Double precision only chooses what is compared exactly, with margins that cover
its rounding.

Pairs that shorter steps imply (:func:`mechdesign.audit.pairs.needed_pairs`) are not judged. For every
r >= 0, if p_x <= e^(r d) p_x' in every column and for every needed pair, then so it is for all pairs, by
multiplying along the steps. With r = epsilon this is the verdict. The least r of all pairs, the true
epsilon, is therefore also that of the needed pairs: the largest ln(w_xy / w_x'y) / d(x, x') over them,
infinite where a positive weight faces a zero or where two rows at distance 0 differ.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.pairs import distances, needed_pairs, require_pairs
from mechdesign.audit.triples import Triples, batches, ranked
from mechdesign.audit.verdict import UNIT, PrivacyAudit
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_epsilon
from mechdesign.core.values import frozen_value, kept, kept_after
from mechdesign.exact.exponential import exp_lower, float_up, log_ratio, true_bound
from mechdesign.exact.numbers import double
from mechdesign.exact.weights import Weights, require_channel, weight_matrix

Floats = NDArray[np.float64]
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
        Those of :func:`mechdesign.audit.pairs.needed_pairs`.
    """

    weights: Weights = kept(lambda name, value: require_channel(value))
    distance: Floats = kept_after(lambda channel, name, value: require_distance(value, len(channel.weights)))
    pairs: Pairs = kept_after(lambda channel, name, value: require_pairs(value, len(channel.weights)))

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
            found = np.flatnonzero((self.weights[first] == high) & (self.weights[second] == low))
            if len(found):
                return {"input": first, "other": second, "report": int(found[0])}
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
