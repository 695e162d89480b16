"""The integer weights of patterns: from floating point to integers out of 2**62, and their exact audit.

**Audit.**
No matrix of types and reports is needed: the ratio of a report's two weights is all that privacy depends on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit, class_audit
from mechdesign.collect.kernel import Kernel, Steps
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.validation import double_epsilon
from mechdesign.exact.numbers import frozen, wholes
from mechdesign.exact.randomness import BITS, TOTAL, exp_lower, exp_written
from mechdesign.families.workload.patterns import (
    Array,
    ChannelValue,
    OrbitWeights,
    Sets,
    Translations,
    columns_of,
    pattern_tables,
)

Weights = NDArray[np.int64]


def blank_weights(sets: Sets, low: Any, high: Any) -> Weights:
    """Return 2**62 less the weights of each type: the weights of the blank report, shape (n,).

    Parameters
    ----------
    sets : (K, n) array of bool
    low, high : (K,) int arrays
        The weight of a report for a type outside of its set, and in it.

    Raises
    ------
    CertificateError
        When a weight is negative, or those of a type sum to more than 2**62.
    """
    low, high = wholes("low", low, 1), wholes("high", high, 1)
    if sets.ndim != 2 or low.shape != high.shape or low.shape != sets.shape[:1] or not sets.size:
        raise CertificateError("channel", "sets and weights do not belong together")
    if min(int(low.min()), int(high.min())) < 0 or max(int(low.max()), int(high.max())) > TOTAL:
        raise CertificateError("channel", "a weight is negative or exceeds 2**62")
    inside = sets.astype(np.int64)
    halves = ((low & 0x7FFFFFFF, high & 0x7FFFFFFF), (low >> 31, high >> 31))  # of 31 bits: no sum overflows
    bottoms, tops = ((int(outer.sum()) + (inner - outer) @ inside).tolist() for outer, inner in halves)
    blanks = [TOTAL - (top << 31) - bottom for bottom, top in zip(bottoms, tops, strict=True)]
    if min(blanks) < 0:
        row = blanks.index(min(blanks))
        raise CertificateError("channel", f"row {row} sums to more than 2**62")
    return np.array(blanks, dtype=np.int64)


def audit_patterns(low: Weights, high: Weights, blank: Weights, epsilon: float) -> ClassAudit:
    """Audit pattern weights exactly: high <= e^epsilon low for every report, and for the blank one.

    Examples
    --------
    >>> low, high = np.array([2**60, 2**60]), np.array([3 * 2**60, 3 * 2**60])
    >>> audit = audit_patterns(low, high, np.array([0, 0]), 1.0)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (False, 1.098612)
    """
    promised = double_epsilon(epsilon)
    bound, holds = exp_lower(promised), True
    pairs = list(zip(low.tolist(), high.tolist(), range(len(low)), strict=True))
    pairs.append((min(blank.tolist()), max(blank.tolist()), len(low)))
    worst, place = Fraction(1), -1
    for first, second, report in pairs:
        small, large = min(first, second), max(first, second)
        if large == 0:
            continue
        holds = holds and large * bound.denominator <= bound.numerator * small
        if small == 0:
            worst, place = Fraction(0), report
            break
        if large * worst.denominator > worst.numerator * small:
            worst, place = Fraction(large, small), report
    witness = {} if place < 0 else {"report": place}
    types = len(blank)
    return class_audit(promised, worst or None, holds, witness, types * (types - 1))


RESERVE = 1e-9
"""The part of all reports that are blank at least: it absorbs every rounding error."""

FEW = 64
"""Up to this many users a client goes through all reports, as a single device does."""

RARE = 1e-6
"""Patterns that are reported more rarely than this are dropped."""

REPAIRS = 20
"""Steps of the repair: a weight that wants to vanish falls to a tenth: each step gains a digit at least."""

DIGITS = 30
"""Leading binary digits of a weight that are kept: those beyond differ between processors, as solvers round.
What is cut off, some 1e-9 of all reports, joins the blank report: a sum of patterns is private as well."""

MOST_STEPS, LEAST_STEP, LARGEST_EXPONENT = 200, 1e-9, 700.0
"""Newton steps to the nearest weights, the least part of a step, and the largest exponent of a double."""

CLOSE = 1e-11
"""By how much the probabilities of a type may miss 1 before rounding: a hundredth of the blank reports."""


@dataclass(frozen=True, eq=False)
class PatternWeights(Kernel):
    """Sets of types, and the integer weights of their reports.

    Parameters
    ----------
    sets : (K, n) array of bool
    low, high : (K,) int64 array
        Weights out of 2**62 for types outside of the set and in it.
    """

    sets: Sets
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @cached_property
    def blank(self) -> NDArray[np.int64]:
        """The weights of the blank report, one per type; it closes every sum to 2**62."""
        return frozen(blank_weights(self.sets, self.low, self.high))

    @property
    def reports(self) -> int:
        """Number of reports, the blank one included as the last one."""
        return len(self.sets) + 1

    def row(self, code: int) -> NDArray[np.int64]:
        """Return the weights of all reports for a type, blank last."""
        return np.append(np.where(self.sets[:, code], self.high, self.low), self.blank[code])

    def draw(self, codes: NDArray[np.int64], uniform: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the report for each type and drawn integer.

        A single device goes through all reports, always to the end; for many users at once the sums of a type
        are made once and searched.
        """
        reports = np.empty(len(codes), dtype=np.int64)
        if not len(codes):
            return reports
        order = np.argsort(codes, kind="stable")
        kinds, starts = np.unique(codes[order], return_index=True)
        for kind, users in zip(kinds.tolist(), np.split(order, starts[1:]), strict=True):
            ends = np.cumsum(self.row(kind))
            if len(codes) <= FEW:
                reports[users] = (ends[None, :] <= uniform[users, None]).sum(axis=1)
            else:
                reports[users] = np.searchsorted(ends, uniform[users], side="right")
        return reports

    @property
    def most_blank(self) -> float:
        """The largest probability of the blank report."""
        return float(self.blank.max()) / 2.0**BITS

    def client_steps(self) -> Steps:
        """Return how a report is drawn, as plain values for clients; the blank report is what is left."""
        return {"step": "patterns", **pattern_tables(self.sets, self.low, self.high)}

    def value(self, population: Array) -> ChannelValue:
        """Return the errors of the very numbers that are sampled from."""
        return ChannelValue(self.channel, population)

    @cached_property
    def channel(self) -> Array:
        """The probabilities in floating point, shape (reports, n)."""
        weights = np.where(self.sets, self.high[:, None], self.low[:, None])
        return frozen(np.ldexp(np.vstack([weights, self.blank]).astype(np.float64), -BITS))


def in_order(sets: Sets, amounts: Array) -> tuple[Sets, Array]:
    """Return each pattern once, in the order of its bits: a mechanism does not depend on how it was found.

    Examples
    --------
    >>> in_order(np.array([[1, 0], [0, 1], [1, 0]], dtype=bool), np.array([0.25, 0.5, 0.25]))[1].tolist()
    [0.5, 0.5]
    """
    order = np.lexsort((amounts, *sets.T[::-1]))
    sets, amounts = sets[order], amounts[order]
    first = np.flatnonzero(np.append(True, (sets[1:] != sets[:-1]).any(axis=1)))
    return sets[first], np.add.reduceat(amounts, first)


def feasible_patterns(sets: Sets, amounts: Array, exponential: float) -> tuple[Sets, Array]:
    """Return the patterns that matter with weights c >= 0, sum c v = 1 restored by the least reweighting.

    Where these patterns leave no such weights near by, one of each type alone is added: with all of those the
    rest can always be made up for.

    Parameters
    ----------
    sets : (K, n) array of bool
    amounts : (K,) array
        The probability of each report for a type outside of its set.
    exponential : float
        e^epsilon.

    Raises
    ------
    ParameterError
        When no such weights are found: the probabilities were far from summing to 1.
    """
    sets, amounts = in_order(sets, amounts)
    columns = columns_of(sets, exponential)
    share = amounts * columns.mean(axis=1)
    used = share > min(RARE, 0.01 * float(share.max()))
    start, sets, columns, amounts = amounts, sets[used], columns[used], amounts[used]
    for _ in range(REPAIRS):
        missing = 1.0 - columns.T @ amounts
        if float(np.abs(missing).max()) <= CLOSE:
            break
        moved = columns * amounts[:, None]
        step = columns @ np.linalg.lstsq(columns.T @ moved, missing, rcond=1e-14)[0]
        amounts = amounts * np.maximum(1.0 + step, 0.1)
    if float(np.abs(1.0 - columns.T @ amounts).max()) > CLOSE:
        size = sets.shape[1]
        start = np.append(start[used], np.full(size, float(start[used].mean())))
        sets, start = in_order(np.vstack([sets, np.eye(size, dtype=bool)]), start)
        columns, amounts = columns_of(sets, exponential), start
        while True:  # what vanishes is dropped, until all that is left matters
            amounts = _nearest(columns, amounts)
            used = amounts > RARE * float(amounts.max())
            if used.all():
                break
            sets, columns, amounts = sets[used], columns[used], amounts[used]
    missing = 1.0 - columns.T @ amounts
    if float(np.abs(missing).max()) > CLOSE:
        raise ParameterError(
            "patterns",
            f"the probabilities of a type miss 1 by {float(np.abs(missing).max()):.3g}",
            "give weights c with sum c v = 1 over patterns v of 1 and e^epsilon",
        )
    return sets, amounts


def _nearest(columns: Array, amounts: Array) -> Array:
    """Return the weights with sum c v = 1 of the least relative entropy to ``amounts``.

    They are c = amounts exp(v.p) with the prices p that minimize sum c - sum p, which is convex. Newton steps
    are halved until the value falls.

    Examples
    --------
    >>> columns = columns_of(np.eye(2, dtype=bool), 3.0)
    >>> _nearest(columns, np.array([0.1, 0.9])).round(9).tolist()
    [0.25, 0.25]
    """
    prices = np.zeros(columns.shape[1])
    weights = amounts
    for _ in range(MOST_STEPS):
        gap = columns.T @ weights - 1.0
        if float(np.abs(gap).max()) <= CLOSE / 2.0:
            break
        step = np.linalg.lstsq(columns.T @ (columns * weights[:, None]), gap, rcond=1e-14)[0]
        value, size = float(weights.sum() - prices.sum()), 1.0
        while size > LEAST_STEP:
            trial = prices - size * step
            weights = amounts * np.exp(np.minimum(columns @ trial, LARGEST_EXPONENT))
            if float(weights.sum() - trial.sum()) <= value - 1e-4 * size * float(gap @ step):
                break
            size /= 2.0
        prices = trial
    return weights


def integer_weights(sets: Sets, amounts: Array, epsilon: float) -> PatternWeights:
    """Return integer weights with high <= e^epsilon low exactly, for weights c with sum c v = 1.

    The patterns come in the order of their bits.

    Examples
    --------
    >>> sets = np.eye(2, dtype=bool)
    >>> weights = integer_weights(sets, np.full(2, 1.0 / (1.0 + np.e)), 1.0)
    >>> bool((weights.row(0).sum() == 2**62) and weights.blank.max() < 2**34)
    True
    """
    bound = exp_written(epsilon)
    sets, amounts = in_order(sets, amounts)
    low = [_leading(int(amount * (1.0 - RESERVE) * TOTAL)) for amount in amounts.tolist()]
    high = [value * bound.numerator // bound.denominator for value in low]
    used = [place for place, value in enumerate(low) if value > 0]
    return PatternWeights(
        np.ascontiguousarray(sets[used]),
        np.array([low[place] for place in used], dtype=np.int64),
        np.array([high[place] for place in used], dtype=np.int64),
    )


def _leading(weight: int) -> int:
    """Return a weight with all but its leading digits 0."""
    beyond = max(weight.bit_length() - DIGITS, 0)
    return weight >> beyond << beyond


def integer_orbits(sets: Sets, amounts: Array, group: Translations, epsilon: float) -> OrbitWeights:
    """Return integer weights of base sets and all their translates, high <= e^epsilon low exactly."""
    weights = integer_weights(sets, amounts, epsilon)
    return OrbitWeights(weights.sets, weights.low, weights.high, group)
