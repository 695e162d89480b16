"""The exact privacy audit of a finite channel with integer weights.

A channel is an integer matrix W: row x holds the weights of the reports of input x and sums to
2**62. All verdicts compare integers with a rational lower bound of e^epsilon; there is no tolerance.

Set-wise delta for a pair (x, x') is the sum over reports y of max(0, w_xy - e^eps w_x'y). As w_xy is
an integer, w_xy > E w_x'y exactly when w_xy > floor(E w_x'y): the set that attains the sum is found
with 64-bit comparisons, and only the totals over that set need large integers.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import PrivacyAudit
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_delta, double_epsilon, one_of
from mechdesign.exact.numbers import rational, text_of
from mechdesign.exact.randomness import (
    TOTAL,
    Weights,
    exp_lower,
    exp_written,
    float_up,
    log_ratio,
    require_channel,
    true_bound,
    weight_matrix,
)

NOTIONS = ("ldp", "entry-wise")
"""The two readings of delta: over sets of reports, which is (epsilon, delta)-LDP, and entry by entry."""

FORMER_NOTIONS = {"set-wise": "ldp"}

SHOWN_SET = 12
"""A witness set of reports is listed up to this many members."""


def audit_channel(
    weights: Weights,
    epsilon: float,
    delta: float = 0.0,
    distance: NDArray[np.float64] | None = None,
    notion: str = "ldp",
    pairs: int | None = None,
) -> PrivacyAudit:
    """Audit a finite channel exactly.

    Parameters
    ----------
    weights : (n, m) int64 array
        Row weights, each row summing to 2**62.
    epsilon, delta : float
        What is wanted; the floats are taken as the exact numbers they are.
    distance : (n, n) array, optional
        For metric privacy: p_xy <= e^(epsilon d(x, x')) p_x'y for every pair (delta must be 0). Of any real
        dtype; finite and >= 0.
    notion : {"ldp", "entry-wise"}
        Which reading of delta decides: over sets of reports, (epsilon, delta)-local differential privacy, or
        entry by entry.
    pairs : int, optional
        How many ordered pairs of answers the rows stand for; by default their own.

    Returns
    -------
    PrivacyAudit

    Raises
    ------
    CertificateError
        When the matrix is not a channel: a negative weight or a row that does not sum to 2**62.
    ParameterError
        When epsilon, delta or a distance is not a finite number, or no double exactly.

    Examples
    --------
    >>> import numpy as np
    >>> half, quarter = 2**61, 2**60
    >>> audit = audit_channel(np.array([[3 * quarter, quarter], [quarter, 3 * quarter]]), 1.0)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (False, 1.098612)
    """
    weights = require_channel(weights)
    epsilon, delta = double_epsilon(epsilon), double_delta(delta)
    notion = one_of("notion", notion, NOTIONS, FORMER_NOTIONS)
    if distance is not None:
        if delta > 0:
            raise ParameterError(
                "delta", "metric privacy is defined here for delta = 0 only", "set delta = 0"
            )
        from mechdesign.audit.metric import audit_metric_channel  # distances are rare

        return audit_metric_channel(weights, epsilon, distance)
    digits, epsilon_witness = true_epsilon(weights)
    bound = exp_lower(epsilon)
    least, delta_witness = set_wise_delta(weights, bound)
    entry = entry_wise_delta(weights, bound)
    written = exp_written(epsilon) if delta > 0 and notion == "ldp" else bound
    also = least if written == bound else set_wise_delta(weights, written)[0]
    return PrivacyAudit(
        proof=Proof(
            Guarantee(epsilon, delta, notion),
            true_bound(digits, epsilon, entry == 0),
            entry if notion == "entry-wise" else least,
            ordered_pairs(len(weights)) if pairs is None else pairs,
            written_delta=also if notion == "ldp" else None,
        ),
        witness=epsilon_witness,
        true_epsilon_digits=digits,
        least_delta_exact=least,
        delta_witness=delta_witness,
        entry_delta=float_up(entry),
    )


def ordered_pairs(answers: int) -> int:
    """Return how many ordered pairs of answers a channel compares; none where it has a single answer."""
    return answers * (answers - 1)


def channel_holds(
    weights: Weights, epsilon: float, delta: float = 0.0, notion: str = "ldp", written: bool = False
) -> bool:
    """Return the verdict of :func:`audit_channel` without distances, and nothing else.

    ``written`` asks for the decimal that epsilon was written as, where that is below the double.
    """
    weights = require_channel(weights)
    delta, notion = double_delta(delta), one_of("notion", notion, NOTIONS, FORMER_NOTIONS)
    if not ordered_pairs(len(weights)):
        return False
    bound = exp_written(epsilon) if written else exp_lower(double_epsilon(epsilon))
    most = Fraction(delta)
    # every summand of the set-wise delta is 0 exactly when the largest one is
    if delta == 0.0 or notion == "entry-wise":
        return entry_wise_delta(weights, bound) <= most
    return set_wise_delta(weights, bound)[0] <= most


def true_epsilon(weights: Weights) -> tuple[Decimal, dict[str, int]]:
    """Return the least epsilon of a channel to many digits, and the inputs and report that attain it."""
    weights = weight_matrix(weights)
    low_rows, high_rows = weights.argmin(axis=0), weights.argmax(axis=0)
    best, where = Fraction(1), -1
    for report, (low_row, high_row) in enumerate(zip(low_rows.tolist(), high_rows.tolist(), strict=True)):
        high, low = int(weights[high_row, report]), int(weights[low_row, report])
        if high > 0 and low == 0:
            return Decimal("inf"), {"input": high_row, "other": low_row, "report": report}
        if low > 0 and Fraction(high, low) > best:
            best, where = Fraction(high, low), report
    if where < 0:
        return Decimal(0), {}
    witness = {"input": int(high_rows[where]), "other": int(low_rows[where]), "report": where}
    return log_ratio(best.numerator, best.denominator), witness


def _factor(exponential: Any) -> Fraction:
    """Return a bound of e^epsilon as a fraction; it is at least 1."""
    factor = rational("exponential", exponential)
    if factor < 1:
        raise ParameterError("exponential", f"{text_of(exponential)} is below 1", "give a bound of e^epsilon")
    return factor


def entry_wise_delta(weights: Weights, exponential: Fraction) -> Fraction:
    """Return max over reports y and inputs x, x' of (w_xy - E w_x'y) / 2**62, at least 0."""
    weights, exponential = weight_matrix(weights), _factor(exponential)
    highs, lows = weights.max(axis=0).tolist(), weights.min(axis=0).tolist()
    worst = max(high - exponential * low for high, low in zip(highs, lows, strict=True))
    return max(Fraction(0), Fraction(worst) / TOTAL)


def thresholds(weights: Weights, exponential: Fraction) -> Weights:
    """Return floor(E w), capped at 2**62, for every weight: w' > E w exactly when w' > floor(E w)."""
    weights, exponential = weight_matrix(weights), _factor(exponential)
    values, positions = np.unique(weights, return_inverse=True)
    top, bottom = exponential.numerator, exponential.denominator
    floors = np.array([min(value * top // bottom, TOTAL) for value in values.tolist()], dtype=np.int64)
    return floors[positions].reshape(weights.shape)


def set_wise_delta(weights: Weights, exponential: Fraction) -> tuple[Fraction, dict[str, Any]]:
    """Return the largest hockey-stick divergence between two rows, exactly, with the pair and the set."""
    weights, exponential = require_channel(weights), _factor(exponential)
    floors = thresholds(weights, exponential)
    if not (weights.max(axis=0) > floors.min(axis=0)).any():
        return Fraction(0), {}
    size = weights.shape[0]
    gained = np.zeros((size, size), dtype=np.int64)  # over the set: the sum of w_xy
    others = np.zeros((size, size), dtype=np.int64)  # over the set: the sum of w_x'y
    for other in range(size):
        inside = weights > floors[other]
        gained[:, other] = np.where(inside, weights, 0).sum(axis=1)
        others[:, other] = np.where(inside, weights[other], 0).sum(axis=1)
    # Above 2**62 only reports with w_x'y = 0 are in a set, so a larger factor changes nothing.
    rough = gained - float(min(exponential, Fraction(TOTAL))) * others
    # The rough value is off by at most a few ulps of numbers below 2**62.
    slack = 16 * math.ulp(float(TOTAL))
    best, pair = Fraction(0), (0, 0)
    for first, second in np.argwhere(rough >= rough.max() - slack).tolist():
        exact = int(gained[first, second]) - exponential * int(others[first, second])
        if exact > best:
            best, pair = exact, (first, second)
    reports = np.flatnonzero(weights[pair[0]] > floors[pair[1]]).tolist()
    witness: dict[str, Any] = {"input": pair[0], "other": pair[1], "reports": reports[:SHOWN_SET]}
    if len(reports) > SHOWN_SET:
        witness["and_more_reports"] = len(reports) - SHOWN_SET
    return best / TOTAL, witness
