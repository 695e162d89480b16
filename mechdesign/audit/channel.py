"""The exact privacy audit of a finite channel with integer weights.

A channel is an integer matrix W: row x holds the weights of the reports of input x and sums to
2**62. All verdicts compare integers with a rational lower bound of e^epsilon; there is no tolerance.

Set-wise delta for a pair (x, x') is the sum over reports y of max(0, w_xy - e^eps w_x'y). As w_xy is
an integer, w_xy > E w_x'y exactly when w_xy > floor(E w_x'y): the set that attains the sum is found
with 64-bit comparisons, and only the totals over that set need large integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import exp_lower, float_up, log_ratio
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.randomness import TOTAL

Weights = NDArray[np.int64]

SHOWN_SET = 12
"""A witness set of reports is listed up to this many members."""


@dataclass(frozen=True)
class PrivacyAudit:
    """What an exact audit found.

    Attributes
    ----------
    epsilon : float
        The wanted epsilon.
    delta : float
        The wanted delta.
    true_epsilon : float
        The least epsilon with delta = 0, rounded up; infinite when an input excludes a report that
        another one can make. Per unit of distance for metric privacy.
    true_epsilon_digits : Decimal
        The same to many digits, still an upper bound.
    epsilon_witness : mapping
        ``input``, ``other``, ``report`` that attain it.
    least_delta : float
        The least set-wise delta for the wanted epsilon, rounded up.
    least_delta_exact : Fraction
        The same for the rational lower bound of e^epsilon.
    delta_witness : mapping
        ``input``, ``other``, ``reports`` that attain it.
    entry_delta : float
        The least entry-wise delta for the wanted epsilon, rounded up: never above ``least_delta``, and
        equal to it for two reports.
    holds : bool
        Whether the wanted (epsilon, delta) holds, set-wise unless ``notion`` says otherwise.
    metric : bool
        Whether epsilon is per unit of distance.
    notion : str
        ``"set-wise"`` (the standard definition) or ``"entry-wise"``.
    """

    epsilon: float
    delta: float
    true_epsilon: float
    true_epsilon_digits: Decimal
    epsilon_witness: Mapping[str, Any]
    least_delta: float
    least_delta_exact: Fraction
    delta_witness: Mapping[str, Any]
    entry_delta: float
    holds: bool
    metric: bool = False
    notion: str = "set-wise"
    figures: Mapping[str, Any] = field(default_factory=dict)

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        figures: dict[str, Any] = {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}
        if self.delta > 0 or self.least_delta > 0:
            figures |= {"delta": self.delta, "least_delta": self.least_delta, "entry_delta": self.entry_delta}
        figures |= self.figures
        by_delta = self.delta > 0 and self.least_delta > 0
        witness = self.delta_witness if by_delta else self.epsilon_witness
        note = "epsilon per unit of distance" if self.metric else ""
        if self.notion == "entry-wise":
            note = "entry by entry, as in the paper; set by set it needs least_delta"
        return Certificate("privacy", self.holds, True, figures, witness, note)

    def details(self) -> dict[str, Any]:
        """Return everything the audit found, the true epsilon to 40 digits and both readings of delta."""
        digits = self.true_epsilon_digits
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "notion": self.notion,
            "true_epsilon_digits": str(digits if digits.is_infinite() else _shortened(digits)),
            "epsilon_witness": dict(self.epsilon_witness),
            "least_delta_set_wise": self.least_delta,
            "least_delta_entry_wise": self.entry_delta,
            "delta_witness": dict(self.delta_witness),
        }

    def __str__(self) -> str:
        return str(self.certificate())

    def __repr__(self) -> str:
        return f"PrivacyAudit({self})"


def _shortened(digits: Decimal) -> Decimal:
    """Return the number rounded up to 40 decimals."""
    context = Context(prec=80, rounding=ROUND_CEILING)
    return digits.quantize(Decimal("1e-40"), context=context).normalize(context)


def audit_channel(
    weights: Weights,
    epsilon: float,
    delta: float = 0.0,
    distance: NDArray[np.float64] | None = None,
    notion: str = "set-wise",
) -> PrivacyAudit:
    """Audit a finite channel exactly.

    Parameters
    ----------
    weights : (n, m) int64 array
        Row weights, each row summing to 2**62.
    epsilon, delta : float
        What is wanted; the floats are taken as the exact numbers they are.
    distance : (n, n) array, optional
        For metric privacy: p_xy <= e^(epsilon d(x, x')) p_x'y for every pair (delta must be 0).
    notion : {"set-wise", "entry-wise"}
        Which reading of delta decides.

    Returns
    -------
    PrivacyAudit

    Raises
    ------
    CertificateError
        When the matrix is no channel: a negative weight or a row that does not sum to 2**62.

    Examples
    --------
    >>> import numpy as np
    >>> half, quarter = 2**61, 2**60
    >>> audit = audit_channel(np.array([[3 * quarter, quarter], [quarter, 3 * quarter]]), 1.0)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (False, 1.098612)
    """
    require_channel(weights)
    if distance is not None:
        from mechdesign.audit.metric import audit_metric_channel

        if delta > 0:
            raise ParameterError("delta: metric privacy is defined here for delta = 0 only; set delta = 0")
        return audit_metric_channel(weights, epsilon, distance)
    digits, epsilon_witness = true_epsilon(weights)
    bound = exp_lower(epsilon)
    least, delta_witness = set_wise_delta(weights, bound)
    entry = entry_wise_delta(weights, bound)
    decisive = entry if notion == "entry-wise" else least
    return PrivacyAudit(
        epsilon=epsilon,
        delta=delta,
        true_epsilon=float_up(digits),
        true_epsilon_digits=digits,
        epsilon_witness=epsilon_witness,
        least_delta=float_up(least),
        least_delta_exact=least,
        delta_witness=delta_witness,
        entry_delta=float_up(entry),
        holds=decisive <= Fraction(delta),
        notion=notion,
    )


def channel_holds(weights: Weights, epsilon: float, delta: float = 0.0, notion: str = "set-wise") -> bool:
    """Return the verdict of :func:`audit_channel` without distances, and nothing else."""
    require_channel(weights)
    bound = exp_lower(epsilon)
    # every summand of the set-wise delta is 0 exactly when the largest one is
    if delta == 0.0 or notion == "entry-wise":
        return entry_wise_delta(weights, bound) <= Fraction(delta)
    return set_wise_delta(weights, bound)[0] <= Fraction(delta)


def require_channel(weights: Weights) -> None:
    """Raise CertificateError, naming the row, unless the matrix is a channel of 62-bit weights."""
    if weights.ndim != 2 or weights.size == 0 or weights.dtype != np.int64:
        raise CertificateError("channel: expected a non-empty matrix of 64-bit integers")
    if (weights < 0).any():
        row, column = np.argwhere(weights < 0)[0]
        raise CertificateError(f"channel: the weight of report {column} in row {row} is negative")
    if (weights > TOTAL).any():
        row, column = np.argwhere(weights > TOTAL)[0]
        raise CertificateError(f"channel: the weight of report {column} in row {row} exceeds 2**62")
    # Rows are added as two 31-bit halves: no sum of fewer than 2**32 of them can overflow.
    low, high = (weights & 0x7FFFFFFF).sum(axis=1), (weights >> 31).sum(axis=1)
    for row, (low_sum, high_sum) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        total = (high_sum << 31) + low_sum
        if total != TOTAL:
            raise CertificateError(f"channel: row {row} sums to {total}, not 2**62 = {TOTAL}")


def true_epsilon(weights: Weights) -> tuple[Decimal, dict[str, int]]:
    """Return the least epsilon of a channel to many digits, and the inputs and report that attain it."""
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


def entry_wise_delta(weights: Weights, exponential: Fraction) -> Fraction:
    """Return max over reports y and inputs x, x' of (w_xy - E w_x'y) / 2**62, at least 0."""
    highs, lows = weights.max(axis=0).tolist(), weights.min(axis=0).tolist()
    worst = max(high - exponential * low for high, low in zip(highs, lows, strict=True))
    return max(Fraction(0), Fraction(worst) / TOTAL)


def thresholds(weights: Weights, exponential: Fraction) -> Weights:
    """Return floor(E w), capped at 2**62, for every weight: w' > E w exactly when w' > floor(E w)."""
    values, positions = np.unique(weights, return_inverse=True)
    top, bottom = exponential.numerator, exponential.denominator
    floors = np.array([min(value * top // bottom, TOTAL) for value in values.tolist()], dtype=np.int64)
    return floors[positions].reshape(weights.shape)


def set_wise_delta(weights: Weights, exponential: Fraction) -> tuple[Fraction, dict[str, Any]]:
    """Return the largest hockey-stick divergence between two rows, exactly, with the pair and the set."""
    floors = thresholds(weights, exponential)
    if not (weights.max(axis=0) > floors.min(axis=0)).any():
        return Fraction(0), {}
    size = weights.shape[0]
    gained = np.zeros((size, size), dtype=np.int64)  # over the set: the sum of w_xy
    given = np.zeros((size, size), dtype=np.int64)  # over the set: the sum of w_x'y
    for other in range(size):
        inside = weights > floors[other]
        gained[:, other] = np.where(inside, weights, 0).sum(axis=1)
        given[:, other] = np.where(inside, weights[other], 0).sum(axis=1)
    # Above 2**62 only reports with w_x'y = 0 are in a set, so a larger factor changes nothing.
    rough = gained - float(min(exponential, Fraction(TOTAL))) * given
    # The rough value is off by at most a few ulps of numbers below 2**62.
    slack = 16 * math.ulp(float(TOTAL))
    best, pair = Fraction(0), (0, 0)
    for first, second in np.argwhere(rough >= rough.max() - slack).tolist():
        exact = int(gained[first, second]) - exponential * int(given[first, second])
        if exact > best:
            best, pair = exact, (first, second)
    reports = np.flatnonzero(weights[pair[0]] > floors[pair[1]]).tolist()
    witness: dict[str, Any] = {"input": pair[0], "other": pair[1], "reports": reports[:SHOWN_SET]}
    if len(reports) > SHOWN_SET:
        witness["and_more_reports"] = len(reports) - SHOWN_SET
    return best / TOTAL, witness
