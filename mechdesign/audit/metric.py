"""The exact audit of metric privacy: p_xy <= e^(epsilon d(x, x')) p_x'y for every pair of inputs.

Logarithms in double precision settle every entry that is clearly inside; whatever is within 1e-9
of its limit is decided with integers and a rational lower bound of the exponential. Distances are
the floats given, taken as exact rationals.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import LARGEST, exp_lower, float_up, log_ratio

if TYPE_CHECKING:
    from mechdesign.audit.channel import PrivacyAudit, Weights

MARGIN = 1e-9
"""Width of the band that is decided exactly; logarithms of 62-bit integers are off by less than 1e-13."""


def audit_metric_channel(weights: Weights, epsilon: float, distance: NDArray[np.float64]) -> PrivacyAudit:
    """Audit metric privacy exactly; see :func:`mechdesign.audit.audit_channel`."""
    from mechdesign.audit.channel import PrivacyAudit

    digits, witness = true_metric_epsilon(weights, distance)
    holds, least, violation = True, Fraction(0), {}
    for first, second, report in _close_calls(weights, _limits(epsilon, distance)):
        excess = _excess(weights, epsilon, distance, first, second, report)
        if excess > least:
            holds, least = False, excess
            violation = {"input": first, "other": second, "reports": [report]}
    least_delta = least / (1 << 62)
    return PrivacyAudit(
        epsilon=epsilon,
        delta=0.0,
        true_epsilon=float_up(digits),
        true_epsilon_digits=digits,
        epsilon_witness=witness,
        least_delta=0.0 if holds else float_up(least_delta),
        least_delta_exact=least_delta,
        delta_witness=violation,
        entry_delta=0.0 if holds else float_up(least_delta),
        holds=holds,
        metric=True,
    )


def true_metric_epsilon(weights: Weights, distance: NDArray[np.float64]) -> tuple[Decimal, dict[str, int]]:
    """Return the least epsilon per unit of distance to many digits, and what attains it."""
    best, witness = Decimal(0), {}
    seen: dict[tuple[int, int, float], Decimal] = {}
    for first, second, report in _largest_rates(weights, distance):
        high, low = int(weights[first, report]), int(weights[second, report])
        key = (high, low, float(distance[first, second]))
        if key not in seen:
            seen[key] = _rate(*key)
        if seen[key] > best:
            best, witness = seen[key], {"input": first, "other": second, "report": report}
    return best, witness


def _rate(high: int, low: int, separation: float) -> Decimal:
    if low == 0 or separation == 0:
        return Decimal("inf") if high > low else Decimal(0)
    from decimal import ROUND_CEILING, Context

    return Context(prec=48, rounding=ROUND_CEILING).divide(log_ratio(high, low), Decimal(separation))


def _excess(
    weights: Weights, epsilon: float, distance: NDArray[np.float64], first: int, second: int, report: int
) -> Fraction:
    """Return w_xy - E w_x'y for the rational lower bound E of e^(epsilon d), exactly."""
    exponential = exp_lower(Fraction(epsilon) * Fraction(float(distance[first, second])))
    return int(weights[first, report]) - exponential * int(weights[second, report])


def _limits(epsilon: float, distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return epsilon d, capped like the bound of the exponential, so that no limit is infinite."""
    with np.errstate(over="ignore"):
        limits: NDArray[np.float64] = np.minimum(epsilon * distance, LARGEST)
    return limits


def _log_weights(weights: Weights) -> NDArray[np.float64]:
    logs = np.full(weights.shape, -np.inf)
    np.log(weights, out=logs, where=weights > 0)
    return logs


def _close_calls(weights: Weights, limits: NDArray[np.float64]) -> Iterator[tuple[int, int, int]]:
    """Yield every (x, x', y) with ln(w_xy / w_x'y) above its limit less the margin."""
    logs = _log_weights(weights)
    for first in range(len(weights)):
        positive = np.flatnonzero(weights[first] > 0)
        excess = logs[first, positive] - logs[:, positive] - limits[first][:, None]
        excess[first] = -np.inf
        scale = 1.0 + np.minimum(limits[first], LARGEST)[:, None]
        for second, column in np.argwhere(excess > -MARGIN * scale).tolist():
            yield first, second, int(positive[column])


def _largest_rates(weights: Weights, distance: NDArray[np.float64]) -> Iterator[tuple[int, int, int]]:
    """Yield the (x, x', y) whose rate ln(w_xy / w_x'y) / d is within the margin of the largest."""
    candidates: list[tuple[Any, NDArray[np.int64], int]] = []
    best = 0.0
    for first in range(len(weights)):
        positive = np.flatnonzero(weights[first] > 0)
        more, less = weights[first, positive], weights[:, positive]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # exact differences: a ratio that exceeds 1 by one unit of 2**62 still counts
            steps = np.log1p(np.maximum(more - less, 0) / less)
            rates = steps / distance[first][:, None]
        rates[np.isnan(rates)] = 0.0
        rates[first] = 0.0
        top = float(rates.max(initial=0.0))
        if top >= best * (1 - MARGIN) and top > 0:
            best = max(best, top)
            places = np.argwhere(rates >= top * (1 - MARGIN) if np.isfinite(top) else np.isinf(rates))
            places[:, 1] = positive[places[:, 1]]
            candidates.append((top, places, first))
    for top, places, first in candidates:
        if top >= best * (1 - MARGIN):
            for second, report in places.tolist():
                yield first, second, report
