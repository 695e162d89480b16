"""The exact audit of a channel of patterns: a report has one weight in a set of types, another elsewhere.

No matrix of types and reports is needed: the ratio of a report's two weights is all that privacy depends on.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit, class_audit
from mechdesign.core.errors import CertificateError
from mechdesign.core.validation import privacy_epsilon
from mechdesign.exact.exponential import exp_lower
from mechdesign.exact.numbers import wholes
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.workload.value import Sets

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
    found = [TOTAL - (top << 31) - bottom for bottom, top in zip(bottoms, tops, strict=True)]
    if min(found) < 0:
        row = found.index(min(found))
        raise CertificateError("channel", f"row {row} sums to more than 2**62")
    return np.array(found, dtype=np.int64)


def audit_patterns(low: Weights, high: Weights, blank: Weights, epsilon: float) -> ClassAudit:
    """Audit pattern weights exactly: high <= e^epsilon low for every report, and for the blank one.

    Examples
    --------
    >>> low, high = np.array([2**60, 2**60]), np.array([3 * 2**60, 3 * 2**60])
    >>> audit = audit_patterns(low, high, np.array([0, 0]), 1.0)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (False, 1.098612)
    """
    promised = privacy_epsilon(epsilon)
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
