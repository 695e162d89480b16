"""The curve R(q) = q theta(q): what it costs to serve the cheapest share q of the users, per unit of epsilon.

A menu with non-increasing epsilon costs the integral of epsilon dR. For any convex curve below R the cost is
at least the integral of epsilon along that curve (epsilon is a mixture of indicators of [0, q]), which
makes a separable problem and a proven bound. Tangents lie below a convex piece, a chord below a concave one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.contract.allocation import ROUNDING, UNIT, Costs
from mechdesign.families.contract.privacy_contract_continuous.densities import Density, Piece
from mechdesign.solvers.isotonic import increasing_blocks

Array = NDArray[np.float64]

LEAST_SHARE = 1e-13
"""Cells with fewer users than this share are merged."""

CLEAR_SHARE = 1e-8
"""From this share on the slope of a cell is known to eight digits: enough to see where it falls."""

LEAST_TYPE = 1e-9
"""Types below this part of the highest are merged: together they cost next to nothing."""

STEEPEST = 1e12
"""Tangents steeper than this many times the highest type say nothing that a chord does not."""

NODES = 20_000
"""Tangent points for the bound, over all pieces."""


def nodes(density: Density, size: int, least_share: float = LEAST_SHARE) -> Array:
    """Return about ``size`` increasing types: quantiles, equally spaced ones, the upper tail, all breaks.

    Neighbours hold at least ``LEAST_SHARE`` of the users, so that differences of the cdf mean something, and
    none but
    the lowest is below ``LEAST_TYPE`` of the highest.
    """
    third = size // 3
    spaced = np.linspace(density.low, density.high, size - 2 * third)
    tail = 1.0 - np.geomspace(LEAST_SHARE, 0.5, third)
    shares = np.concatenate([np.linspace(0.0, 1.0, third + 2), tail])
    breaks = [piece.high for piece in density.pieces()[:-1]]
    places = np.unique(np.concatenate([density.quantile(shares), spaced, breaks]))
    lowest = max(density.low, LEAST_TYPE * density.high)
    inside = places[(places > lowest) & (places < density.high)]
    kept = [density.low]
    reached, below = 0.0, density.cdf(inside).tolist()
    for theta, share in zip(inside.tolist(), below, strict=True):
        if reached + least_share <= share <= 1.0 - least_share:
            kept.append(theta)
            reached = share
    return np.array([*kept, density.high])


def minorant(density: Density, size: int = NODES) -> Costs:
    """Return a convex curve below R as shares of users and slopes, the slopes ironed.

    The shares of all corners are raised by the rounding of the cdf: where R is steep, a curve through points
    that are off by this rounding would lie above it.

    Examples
    --------
    >>> from mechdesign.families.contract.privacy_contract_continuous.densities import density_of
    >>> costs = minorant(density_of({"name": "uniform", "low": 5.0, "high": 15.0}), 400)
    >>> round(float(costs.weights @ costs.prices), 6)  # R(1) = high
    15.0
    """
    places = nodes(density, size)
    corners = [np.array([[0.0, 0.0]])]
    for piece in density.pieces():
        corners.append(_below(density, piece, places[(places >= piece.low) & (places <= piece.high)]))
    points = np.concatenate(corners)
    order = np.argsort(points[:, 0], kind="stable")
    shares, heights = points[order, 0], points[order, 1]
    shares = np.where(shares > 0.0, shares + density.rounding, 0.0)
    last = float(np.interp(1.0, shares, heights))
    shares, heights = np.append(shares[shares < 1.0], 1.0), np.append(heights[shares < 1.0], last)
    starts = np.flatnonzero(np.diff(shares, prepend=-1.0))  # of corners on top of each other, the lowest
    shares, heights = shares[starts], np.minimum.reduceat(heights, starts)
    widths = np.diff(shares)
    return _ironed(widths, np.diff(heights) / widths)


def _ironed(widths: Array, slopes: Array) -> Costs:
    starts = increasing_blocks(slopes, widths)
    sums = np.add.reduceat(widths * slopes, starts) / np.add.reduceat(widths, starts)
    prices = np.repeat(np.maximum.accumulate(sums), np.diff(np.append(starts, len(slopes))))
    ratios = np.cumsum(widths * slopes)[prices > 0] / np.cumsum(widths * prices)[prices > 0]
    positive = prices > 0  # what costs nothing adds no error to a lower bound
    slack = ROUNDING * len(prices) * UNIT
    return Costs(widths[positive], prices[positive], min(1.0, float(ratios.min())) * (1.0 - slack))


def _below(density: Density, piece: Piece, places: Array) -> Array:
    """Return corners (q, height) of a curve below R on one piece."""
    shares = density.cdf(places)
    heights = shares * places
    ends = np.array([[shares[0], heights[0]], [shares[-1], heights[-1]]])
    if piece.shape == "concave":
        return ends
    slopes = density.virtual_cost(places, "right")
    if np.isfinite(slopes[-1]):
        slopes[-1] = density.virtual_cost(places[-1:], "left")[0]
    slopes = np.maximum.accumulate(slopes)
    usable = slopes <= STEEPEST * density.high
    if usable.sum() < 2:
        return np.array([[shares[0], heights[0]], [shares[-1], shares[-1] * piece.low]])
    q, r, v = shares[usable], heights[usable], slopes[usable]
    rising = np.diff(v) > 0
    crossing = np.where(
        rising, (r[:-1] - r[1:] + v[1:] * q[1:] - v[:-1] * q[:-1]) / np.where(rising, np.diff(v), 1.0), q[1:]
    )
    crossing = np.clip(crossing, q[:-1], q[1:])
    corners = np.column_stack([crossing, r[:-1] + v[:-1] * (crossing - q[:-1])])
    if usable[-1]:
        return np.concatenate([ends[:1], corners, ends[1:]])
    last = np.array([[shares[-1], r[-1] + v[-1] * (shares[-1] - q[-1])]])
    return np.concatenate([ends[:1], corners, last])


def ironed_virtual_cost(density: Density, theta: Array, size: int = NODES) -> Array:
    """Return the ironed virtual cost at any types: v itself outside the ironed intervals, constant inside.

    Examples
    --------
    >>> from mechdesign.families.contract.privacy_contract_continuous.densities import density_of
    >>> uniform = density_of({"name": "uniform", "low": 5.0, "high": 15.0})
    >>> ironed_virtual_cost(uniform, np.array([5.0, 10.0, 15.0]))
    array([ 5., 15., 25.])
    """
    pieces = density.pieces()
    if len(pieces) == 1 and pieces[0].shape == "convex":
        return density.virtual_cost(theta)
    places = nodes(density, size, CLEAR_SHARE)
    shares = density.cdf(places)
    slopes = np.diff(shares * places) / np.diff(shares)
    starts = increasing_blocks(slopes, np.diff(shares))
    ends = np.append(starts[1:], len(slopes))
    result = density.virtual_cost(theta)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end - start > 1:
            level = (shares[end] * places[end] - shares[start] * places[start]) / (
                shares[end] - shares[start]
            )
            result = np.where((theta >= places[start]) & (theta <= places[end]), level, result)
    return result
