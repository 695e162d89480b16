"""Exact pricing for one or two queries: the best patterns are those of cells of n intervals or discs.

With c_u(s) = 2 s.b_u - |s|^2 pi_u - mu_u, |Bv|^2/(pi.v) - mu.v is the maximum over estimates s of the sum of
v_u c_u(s). At the best pattern a type is in the set exactly when c_u(s) > 0: an interval of s for one query
(2n + 1 cells at most), a disc for two (n^2 - n + 2 cells at most). Every cell has a corner, or is bounded by
a single circle. :mod:`mechdesign.families.workload.audit.few_queries` proves what is left.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.linear_queries.pricing import DualPrices
from mechdesign.families.workload.linear_queries.reflections import Reflections
from mechdesign.families.workload.value import Array, Sets, columns_of

Types = NDArray[np.int64]

BLOCK = 1 << 14


def cell_patterns(prices: DualPrices, group: Reflections | None = None) -> Sets:
    """Return the patterns of all cells, distinct, without the empty and the whole one; some image of each."""
    places, open_types = _line(prices) if len(prices.directions) == 1 else _plane(prices)
    if group is not None:  # a crossing of two circles for all its images
        told = group.first(places) | (open_types[:, 0] == open_types[:, -1])
        places, open_types = places[told], open_types[told]
    found = []
    for first in range(0, len(places), BLOCK):
        part, types = places[first : first + BLOCK], open_types[first : first + BLOCK]
        values = 2.0 * part @ prices.directions - (part**2).sum(axis=1)[:, None] * prices.population
        sets = values > prices.multiplier
        rows = np.arange(len(sets))
        for sides in itertools.product((False, True), repeat=types.shape[1]):
            for column, side in zip(types.T, sides, strict=True):
                sets[rows, column] = side
            found.append(np.unique(sets, axis=0))
    sets = np.unique(np.vstack(found), axis=0)
    return np.asarray(sets[sets.any(axis=1) & ~sets.all(axis=1)])


def violations(prices: DualPrices, group: Reflections | None = None) -> tuple[Sets, Array, Array]:
    """Return the patterns that violate a bound, their estimates, shape (k, r), and by how much.

    Only where the pattern is that of its own estimate: the others violate it less than their neighbours.
    """
    sets = cell_patterns(prices, group)
    columns = columns_of(sets, prices.power)
    applied, masses = columns @ prices.directions.T, columns @ prices.population
    places = applied / masses[:, None]
    excess = (applied**2).sum(axis=1) / masses - columns @ prices.multiplier
    values = 2.0 * places @ prices.directions - (places**2).sum(axis=1)[:, None] * prices.population
    own = ((values > prices.multiplier) == sets).all(axis=1) & (excess > 0.0)
    if not own.any():
        own = excess > 0.0
    if group is not None:
        own &= group.first(places)
    return np.asarray(sets[own]), np.asarray(places[own]), np.asarray(excess[own])


def cell_estimates(prices: DualPrices, count: int) -> Array:
    """Return the estimates of the patterns that violate a bound most; shape (at most count, r)."""
    _, places, excess = violations(prices)
    found: Array = places[np.argsort(-excess)[:count]]
    return found


def _discs(prices: DualPrices) -> tuple[Array, Array]:
    """Return centres, shape (r, n), and radii of where each type is positive; 0 where nowhere."""
    centres = prices.directions / prices.population
    squares = (centres**2).sum(axis=0) - prices.multiplier / prices.population
    return centres, np.sqrt(np.maximum(squares, 0.0))


def _line(prices: DualPrices) -> tuple[Array, Types]:
    """Return all ends of intervals, shape (m, 1), and whose they are: the type is in the set on one side."""
    centres, radii = _discs(prices)
    ends = np.concatenate([centres[0] - radii, centres[0] + radii])
    middles = np.unique(ends)
    middles = (middles[1:] + middles[:-1]) / 2.0  # where several types have the same end
    types = np.concatenate([np.tile(np.arange(len(radii)), 2), np.zeros(len(middles), dtype=np.int64)])
    return np.concatenate([ends, middles])[:, None], types[:, None]


def _plane(prices: DualPrices) -> tuple[Array, Types]:
    """Return all crossings of two circles and the tops of all circles, shape (m, 2), and whose they are."""
    centres, radii = _discs(prices)
    first, last = np.triu_indices(len(radii), 1)
    apart = centres[:, last] - centres[:, first]
    distance = np.hypot(*apart)
    meet = (distance > 0.0) & (distance <= radii[first] + radii[last])
    meet &= distance >= np.abs(radii[first] - radii[last])
    first, last, apart, distance = first[meet], last[meet], apart[:, meet] / distance[meet], distance[meet]
    along = (distance**2 + radii[first] ** 2 - radii[last] ** 2) / (2.0 * distance)
    across = np.sqrt(np.maximum(radii[first] ** 2 - along**2, 0.0))
    turned = np.array([-apart[1], apart[0]])
    base = centres[:, first] + along * apart
    tops = centres + np.array([[0.0], [1.0]]) * radii
    alone = np.arange(len(radii))
    types = np.vstack([np.column_stack([first, last])] * 2 + [np.column_stack([alone, alone])])
    return np.hstack([base + across * turned, base - across * turned, tops]).T, types
