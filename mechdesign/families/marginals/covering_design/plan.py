"""The smallest covering that the constructions give, by dynamic programming over all smaller parameters.

C(d, k, l) is the number of blocks for d points, order k, blocks of l. Rules, each proved on
the family's page:

- ``all``: l = k, every subset. ``one``: l = d, a single block. ``parts``: k = 1, blocks side by side.
- ``design``: a known design on D >= d points, the last D - d deleted. A block that keeps more than l points
  is replaced by a covering of its own; one that keeps fewer than k is dropped.
- ``groups``: m groups of points in place of the points of a covering of m points with blocks of j groups.
- ``product``: d = d1 + d2; for each s the blocks of C(d1, s, a) joined to each of C(d2, k - s, l - a).
- ``double``: k = 3, l = 4, d = 2 m with m even: two coverings of m points, and pairs of pairs of the same
  colour in two one-factorisations.
- ``found``: a covering that a search has found, kept by its group.
- ``fewer``: a covering of d + 1 points, one deleted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.marginals.covering_design.designs import Bits, CoveringBlocks, designs
from mechdesign.families.marginals.covering_design.found import found_coverings

Counts = NDArray[np.float64]

BEYOND = 4
"""Rows of the table above the requested number of points, for the rule ``fewer``."""

RULES = ("none", "all", "one", "parts", "design", "groups", "product", "double", "found", "fewer")


@dataclass(frozen=True, eq=False)
class SizeTable:
    """The best number of blocks for one order, and how it comes about.

    Attributes
    ----------
    size : (d + 1, l + 1) array
        Blocks by points and block size: 0 where there are fewer points than the order (nothing to
        cover), infinite where blocks are smaller than the order.
    rule : (d + 1, l + 1) array
        Place in ``RULES``.
    detail : (d + 1, l + 1) array
        The rule's number: of the design, of groups, of points in the first part.
    """

    order: int
    size: Counts
    rule: NDArray[np.int64]
    detail: NDArray[np.int64]

    def improve(self, points: int, sizes: Counts, rule: str, detail: int = 0) -> None:
        """Take what is smaller than what the row has so far."""
        better = sizes < self.size[points]
        self.size[points][better] = sizes[better]
        self.rule[points][better] = RULES.index(rule)
        self.detail[points][better] = detail


@lru_cache(maxsize=32)
def tables(points: int, order: int, block: int) -> tuple[SizeTable, ...]:
    """Return the tables for the orders 0 .. order, up to ``points`` points and blocks of size ``block``.

    Examples
    --------
    >>> found = tables(16, 3, 4)
    >>> found[3].size[16, 4], RULES[found[3].rule[16, 4]]
    (np.float64(140.0), 'design')
    """
    shape = (points + BEYOND + 1, block + 1)
    done = [SizeTable(0, np.ones(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64))]
    for size in range(1, order + 1):
        fresh = SizeTable(
            size, np.full(shape, math.inf), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        )
        fresh.size[:size] = 0.0
        done.append(fresh)
        known = _kept_points(designs(size, points), points + BEYOND)
        for row in range(size, points + BEYOND + 1):
            _fill(done, row, known)
        for row in range(points + BEYOND - 1, size - 1, -1):
            fresh.improve(row, fresh.size[row + 1], "fewer")
    return tuple(done)


def _fill(done: list[SizeTable], points: int, known: list[tuple[int, Counts]]) -> None:
    """Fill one row of the last table; the rows above it and the other tables are there."""
    table = done[-1]
    order, block = table.order, table.size.shape[1] - 1
    sizes = np.arange(block + 1)
    table.improve(points, np.where(sizes == order, float(math.comb(points, order)), math.inf), "all")
    table.improve(points, np.where(sizes >= points, 1.0, math.inf), "one")
    if order == 1:
        with np.errstate(divide="ignore"):
            table.improve(points, np.ceil(points / sizes), "parts")
        return
    for number, kept in known:
        if len(kept) > points:
            table.improve(points, _induced(table.size, kept[points], order), "design", number)
    for groups in range(order + 1, points):
        table.improve(points, _grouped(table.size[groups], points, groups), "groups", groups)
    for first in range(1, points // 2 + 1):
        table.improve(points, _product(done, first, points - first), "product", first)
    for width in range(order + 1, min(block, points) + 1):
        covering = found_coverings().get((points, order, width))
        if covering is not None:
            table.improve(points, np.where(sizes >= width, float(covering.count), math.inf), "found", width)
    if order == 3 and points % 4 == 0 and block >= 4:
        half = points // 2
        doubled = np.full(block + 1, math.inf)
        doubled[4] = 2 * table.size[half, 4] + (half - 1) * (half // 2) ** 2
        table.improve(points, doubled, "double")


def _kept_points(known: tuple[CoveringBlocks, ...], most: int) -> list[tuple[int, Counts]]:
    """Return for each design (its number) how many blocks keep s of the first p points: row p, column s."""
    return [(number, _kept(design)[: most + 1]) for number, design in enumerate(known)]


@cache
def _kept(design: CoveringBlocks) -> Counts:
    """Return how many blocks keep s of the first p points: row p, column s."""
    kept = np.cumsum(members(design), axis=1, dtype=np.int32)
    # One count for all rows: each has its own range of numbers.
    width = design.block + 1
    kept += np.arange(1, design.points + 1, dtype=np.int32) * width
    counts = np.bincount(kept.ravel(), minlength=(design.points + 1) * width)
    rows: Counts = counts.reshape(design.points + 1, width).astype(np.float64)
    rows[0] = 0.0
    return rows


@cache
def members(design: CoveringBlocks) -> Bits:
    """Return the membership matrix of a design, made once."""
    return design.make()


def _induced(size: Counts, kept: Counts, order: int) -> Counts:
    """Return the blocks for every block size, if blocks that kept too many points are covered in turn."""
    parts = np.flatnonzero(kept)
    parts = parts[parts >= order]
    if not np.isfinite(size[parts[parts < len(size)]][:, -1]).all() or parts[-1] >= len(size):
        return np.full(size.shape[1], math.inf)
    total = np.zeros(size.shape[1])
    for part in parts.tolist():
        total[:part] += kept[part] * size[part, :part]
        total[part:] += kept[part]
    return total


def _grouped(size: Counts, points: int, groups: int) -> Counts:
    """Return the blocks for every block size from a covering of groups, which are as equal as possible."""
    each, larger = divmod(points, groups)
    found = np.full(len(size), math.inf)
    joined = np.arange(1, len(size))
    needed = joined * each + np.minimum(joined, larger)
    fits = needed < len(size)
    np.minimum.at(found, needed[fits], size[joined[fits]])
    return found


def _product(done: list[SizeTable], first: int, second: int) -> Counts:
    """Return the blocks for every block size of the product of two parts."""
    order, block = done[-1].order, done[-1].size.shape[1] - 1
    total = np.zeros(block + 1)
    for part in range(order + 1):
        if part <= first and order - part <= second:
            total += splits(done[part].size[first], done[order - part].size[second]).min(axis=1)
    return total


def splits(first: Counts, second: Counts) -> Counts:
    """Return first[a] second[l - a] in row l and column a; infinite where a > l.

    Examples
    --------
    >>> splits(np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    array([[ 3., inf],
           [ 5.,  6.]])
    """
    block = len(first) - 1
    padded = np.concatenate([np.full(block, math.inf), second])
    table: Counts = first * padded[_rest(block)]
    return table


@lru_cache(maxsize=64)
def _rest(block: int) -> NDArray[np.int64]:
    """Return l - a + l_max in row l and column a."""
    sizes = np.arange(block + 1)
    rest: NDArray[np.int64] = sizes[:, None] - sizes + block
    return rest
