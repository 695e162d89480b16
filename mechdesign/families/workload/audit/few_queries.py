"""Exact pricing for one or two queries: no pattern beats a bound, proven on the line or plane of estimates.

For B with one or two rows |Bv|^2/(pi.v) is the maximum of 2 s.Bv - |s|^2 pi.v over estimates s. So

    max over v in {1, E}^n of  |Bv|^2/(pi.v) - mu.v   =   max over s of  sum_u c_u(s) + (E - 1) max(0, c_u(s))

with c_u(s) = 2 s.b_u - |s|^2 pi_u - mu_u: a type is in the best pattern exactly when c_u(s) > 0, which is an
interval or a disc of s. On a box of estimates, and for any set V of types, the right-hand side is at most

    max over the box of sum_u v_u c_u(s)  +  (E - 1) sum_u m_u,

m_u = max(0, -c_u) on the box for u in V and max(0, c_u) for others; all is separable by coordinates. Boxes
cover the whole line or plane, and are halved where that is too much: so what is returned is proven, whatever
the boxes are. On the line they begin with all ends of intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.enclosure import UNIT, Enclosure

Array = NDArray[np.float64]

MOST_ROWS = 2
"""Queries for which the estimates can be gone through."""

MOST_BOXES = 400_000
"""Boxes that are looked at; what is left then is part of the bound."""

BLOCK = 1 << 21
"""Entries of a block of the (boxes, types) table."""


@dataclass(frozen=True, eq=False)
class _Terms:
    """Sums v.b, v.pi (from below and above) and v.mu of types, or the types themselves; (r, k), (k,) arrays.

    All errors of the inputs are in ``low``, ``high`` and ``slack``, which is added to what is computed.
    """

    slopes: Array
    low: Array
    high: Array
    offset: Array
    slack: Array

    def over(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return upper bounds of c on boxes and of -c there; low and high have shape (m, r, 1)."""
        slopes = self.slopes[None]
        peak = np.clip(slopes / self.low, low, high)
        top = _parabola(peak, slopes, self.low).sum(axis=1) - self.offset
        ends = np.minimum(_parabola(low, slopes, self.high), _parabola(high, slopes, self.high))
        bottom = ends.sum(axis=1) - self.offset
        at_top = self._rounding(peak) + self.slack
        with np.errstate(invalid="ignore"):
            at_bottom = self._rounding(np.maximum(np.abs(low), np.abs(high))) + self.slack
            below = np.where(np.isfinite(bottom), at_bottom - bottom, np.inf)
        return top + at_top, below

    def _rounding(self, places: Array) -> Array:
        with np.errstate(invalid="ignore"):
            sizes = 2.0 * np.abs(places * self.slopes[None]) + places**2 * self.high
        found: Array = 32.0 * UNIT * (sizes.sum(axis=1) + np.abs(self.offset))
        return found


def _parabola(places: Array, slopes: Array, curvature: Array) -> Array:
    with np.errstate(invalid="ignore"):
        found: Array = np.where(np.isfinite(places), 2.0 * places * slopes - places**2 * curvature, -np.inf)
    return found


def largest_excess(
    directions: Array, multiplier: Array, shares: Enclosure, power: float, tolerance: float
) -> float:
    """Return a proven upper bound of |Bv|^2/(pi.v) - mu.v over all patterns v in {1, E}^n.

    Parameters
    ----------
    directions : (1, n) or (2, n) array
        B, read as exact numbers.
    multiplier : (n,) array
        mu, read as exact numbers.
    shares : Enclosure of (n,)
        pi, all positive.
    power : float
        E.
    tolerance : float
        Boxes with at most this more than some pattern has, or than 0, are not halved further.

    Examples
    --------
    >>> pi = Enclosure.of(np.array([0.5, 0.5]))  # v = (1, E) and (E, 1) meet it, (1, 1) does not
    >>> b, mu = np.array([[1.0, -1.0]]), np.array([1.0, 1.0]) * 2.0 * (np.e - 1.0) ** 2 / (np.e + 1.0) ** 2
    >>> abs(largest_excess(b, mu, pi, np.e, 0.0)) < 1e-12
    True
    """
    types = _Terms(
        directions, np.nextafter(shares.low(), 0.0), shares.high(), multiplier, np.zeros(len(multiplier))
    )
    low, high = _first_boxes(directions, multiplier, shares.middle)
    excess, reached, seen = -np.inf, 0.0, 0
    step = max(1, BLOCK // len(multiplier))
    while len(low):
        parts = [
            _excess(types, low[start : start + step], high[start : start + step], power)
            for start in range(0, len(low), step)
        ]
        tops = np.concatenate([top for top, _ in parts])
        reached = max(reached, *(float(own.max()) for _, own in parts))
        seen += len(low)
        far = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1) & (tops > reached + tolerance)
        if seen + int(far.sum()) * 2 ** low.shape[1] > MOST_BOXES:
            far[:] = False
        excess = max(excess, float(tops[~far].max(initial=-np.inf)))
        low, high = _halved(low[far], high[far])
    return excess


def _excess(types: _Terms, low: Array, high: Array, power: float) -> tuple[Array, Array]:
    """Return upper bounds on boxes, for the set V that is positive in the middle, and its own excess."""
    lows, highs = low[:, :, None], high[:, :, None]
    above, below = types.over(lows, highs)
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(low), np.where(np.isfinite(high), (low + high) / 2.0, low), high)
    middle = np.where(np.isfinite(middle), middle, 0.0)[:, :, None]
    value = _parabola(middle, types.slopes[None], types.high).sum(axis=1) - types.offset
    chosen = (value > 0.0) & np.isfinite(below)
    missed = np.maximum(np.where(chosen, below, above), 0.0).sum(axis=1)
    pattern = np.where(chosen, power, 1.0)
    count = pattern.shape[1]
    rounding = 2.0 * (count + 4.0) * UNIT
    sums = np.stack([pattern @ row for row in types.slopes], axis=0)  # (r, m)
    spread = np.stack([pattern @ np.abs(row) for row in types.slopes], axis=0) * rounding
    mass, mass_spread = pattern @ types.offset, (pattern @ np.abs(types.offset)) * rounding
    whole = _Terms(
        sums,
        (pattern @ types.low) * (1.0 - rounding),
        (pattern @ types.high) * (1.0 + rounding),
        mass,
        mass_spread,
    )
    best = _peak(whole, spread, low.T, high.T)
    found: Array = best + (power - 1.0) * missed * (1.0 + 2.0 * rounding)
    own: Array = (sums**2).sum(axis=0) / whole.high - mass
    return found + 4.0 * UNIT * (np.abs(found) + np.abs(mass)), own


def _peak(whole: _Terms, spread: Array, low: Array, high: Array) -> Array:
    """Return upper bounds of 2 s.Bv - |s|^2 pi.v - mu.v on one box per pattern; arrays (r, m)."""
    peak = np.clip(whole.slopes / whole.low, low, high)
    reach = np.abs(peak) + spread / whole.low
    value = 2.0 * peak * whole.slopes - peak**2 * whole.low
    error = 2.0 * reach * spread + 32.0 * UNIT * (2.0 * reach * np.abs(whole.slopes) + reach**2 * whole.high)
    found: Array = (value + error).sum(axis=0) - whole.offset + whole.slack
    return found + 32.0 * UNIT * np.abs(whole.offset)


def _first_boxes(directions: Array, multiplier: Array, shares: Array) -> tuple[Array, Array]:
    """Return boxes that cover all estimates, shape (m, r) each; infinite ones where no type is positive."""
    middle = directions / shares
    reach = np.sqrt(np.maximum((middle**2).sum(axis=0) - multiplier / shares, 0.0))
    if len(directions) == 1:
        ends = np.unique(np.concatenate([middle[0] - reach, middle[0] + reach]))
        ends = np.concatenate([[-np.inf], ends, [np.inf]])[:, None]
        return ends[:-1], ends[1:]
    wide = reach + 1e-6 * (np.abs(middle) + reach) + 1e-300
    first, last = (middle - wide).min(axis=1), (middle + wide).max(axis=1)
    inf = np.inf
    low = [[-inf, -inf], [last[0], -inf], [first[0], -inf], [first[0], last[1]], [first[0], first[1]]]
    high = [[first[0], inf], [inf, inf], [last[0], first[1]], [last[0], inf], [last[0], last[1]]]
    return np.array(low), np.array(high)


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the boxes halved in every coordinate."""
    for place in range(low.shape[1]):
        middle = (low[:, place] + high[:, place]) / 2.0
        below, above = high.copy(), low.copy()
        below[:, place], above[:, place] = middle, middle
        low, high = np.vstack([low, above]), np.vstack([below, high])
    return low, high
