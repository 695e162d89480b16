"""Coverings by constructions: geometries, triple systems, and what is composed of smaller coverings.

C(d, k, l) is the number of blocks for d points, order k, blocks of l. The smallest covering that the
constructions give is planned by dynamic programming over all smaller parameters (:func:`tables`), then built
(:class:`Builder`). Rules, each proved on the family's page:

- ``all``: l = k, every subset. ``one``: l = d, a single block. ``parts``: k = 1, blocks side by side.
- ``design``: a known design on D >= d points, the last D - d deleted. A block that keeps more than l points
  is replaced by a covering of its own; one that keeps fewer than k is dropped.
- ``groups``: m groups of points in place of the points of a covering of m points with blocks of j groups.
- ``product``: d = d1 + d2; for each s the blocks of C(d1, s, a) joined to each of C(d2, k - s, l - a).
- ``double``: k = 3, l = 4, d = 2 m with m even: two coverings of m points, and pairs of pairs of the same
  colour in two one-factorisations.
- ``found``: a covering that a search brought to light, by its group.
- ``fewer``: a covering of d + 1 points, one deleted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.families.marginals.covering_design import MOST_BLOCKS, CoveringDesign, outcome
from mechdesign.families.marginals.known_coverings import (
    Bits,
    CoveringBlocks,
    Wholes,
    designs,
    known_coverings,
)

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
    >>> sizes = tables(16, 3, 4)
    >>> sizes[3].size[16, 4], RULES[sizes[3].rule[16, 4]]
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
        most = points + BEYOND
        counts = [_blocks_by_size(design)[: most + 1] for design in designs(size, points)]
        for row in range(size, most + 1):
            _fill(done, row, counts)
        for row in range(most - 1, size - 1, -1):
            fresh.improve(row, fresh.size[row + 1], "fewer")
    return tuple(done)


def _fill(done: list[SizeTable], points: int, design_counts: list[Counts]) -> None:
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
    for number, block_counts in enumerate(design_counts):
        if len(block_counts) > points:
            table.improve(points, _induced(table.size, block_counts[points], order), "design", number)
    for groups in range(order + 1, points):
        table.improve(points, _grouped(table.size[groups], points, groups), "groups", groups)
    for first in range(1, points // 2 + 1):
        table.improve(points, _product(done, first, points - first), "product", first)
    for width in range(order + 1, min(block, points) + 1):
        covering = known_coverings().get((points, order, width))
        if covering is not None:
            table.improve(points, np.where(sizes >= width, float(covering.count), math.inf), "found", width)
    if order == 3 and points % 4 == 0 and block >= 4:
        half = points // 2
        doubled = np.full(block + 1, math.inf)
        doubled[4] = 2 * table.size[half, 4] + (half - 1) * (half // 2) ** 2
        table.improve(points, doubled, "double")


@cache
def _blocks_by_size(design: CoveringBlocks) -> Counts:
    """Return how many blocks keep s of the first p points: row p, column s."""
    remaining = np.cumsum(members(design), axis=1, dtype=np.int32)
    # One count for all rows: each has its own range of numbers.
    width = design.block + 1
    remaining += np.arange(1, design.points + 1, dtype=np.int32) * width
    counts = np.bincount(remaining.ravel(), minlength=(design.points + 1) * width)
    rows: Counts = counts.reshape(design.points + 1, width).astype(np.float64)
    rows[0] = 0.0
    return rows


@cache
def members(design: CoveringBlocks) -> Bits:
    """Return the membership matrix of a design, made once."""
    return design.make()


def _induced(size: Counts, block_counts: Counts, order: int) -> Counts:
    """Return the blocks for every block size, if blocks with too many points are covered in turn."""
    parts = np.flatnonzero(block_counts)
    parts = parts[parts >= order]
    if parts[-1] >= len(size) or not np.isfinite(size[parts, -1]).all():
        return np.full(size.shape[1], math.inf)
    total = np.zeros(size.shape[1])
    for part in parts.tolist():
        total[:part] += block_counts[part] * size[part, :part]
        total[part:] += block_counts[part]
    return total


def _grouped(size: Counts, points: int, groups: int) -> Counts:
    """Return the blocks for every block size from a covering of groups, which are as equal as possible."""
    each, larger = divmod(points, groups)
    least = np.full(len(size), math.inf)
    joined = np.arange(1, len(size))
    needed = joined * each + np.minimum(joined, larger)
    fits = needed < len(size)
    np.minimum.at(least, needed[fits], size[joined[fits]])
    return least


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


Sets = list[int]
"""Blocks as integers: the bit of each point."""


class Builder:
    """Makes the coverings that the tables promise; parts that occur several times are made once."""

    def __init__(self, points: int, order: int, block: int) -> None:
        self.tables = tables(points, order, block)
        self.points = points
        self.coverings: dict[tuple[int, int, int], Sets] = {}

    def blocks(self, points: int, order: int, block: int) -> Sets:
        """Return blocks of at most ``block`` of the points 0 .. points - 1."""
        key = (points, order, block)
        if key not in self.coverings:
            table = self.tables[order]
            if order == 0:
                self.coverings[key] = [(1 << min(points, block)) - 1]
            elif points < order:
                self.coverings[key] = []
            else:
                rule = RULES[table.rule[points, block]]
                self.coverings[key] = getattr(self, f"_{rule}")(table, points, block)
        return self.coverings[key]

    def rule(self, points: int, order: int, block: int) -> str:
        """Return in a few words where the covering comes from."""
        table = self.tables[order]
        rule, detail = RULES[table.rule[points, block]], int(table.detail[points, block])
        if rule == "design":
            design = designs(order, self.points)[detail]
            return (
                design.name if design.points == points else f"{design.name}, {design.points - points} deleted"
            )
        if rule == "found":
            group = known_coverings()[points, order, detail].group
            if group.startswith("="):  # generators, too long to be read
                return "orbits of a group that a search found"
            return "blocks that a search found" if group == "1" else f"orbits of the group {group}"
        words = {
            "all": "all subsets",
            "one": "one block",
            "parts": "blocks side by side",
            "groups": f"{detail} groups of points",
            "product": f"product of {detail} and {points - detail} points",
            "double": f"doubling of {points // 2} points",
        }
        if rule == "fewer":
            return f"one point fewer than: {self.rule(points + 1, order, block)}"
        return words[rule]

    # Rules

    def _all(self, table: SizeTable, points: int, block: int) -> Sets:
        return [as_set(subset) for subset in combinations(range(points), block)]

    def _one(self, table: SizeTable, points: int, block: int) -> Sets:
        return [(1 << points) - 1]

    def _parts(self, table: SizeTable, points: int, block: int) -> Sets:
        return [as_set(range(start, min(start + block, points))) for start in range(0, points, block)]

    def _design(self, table: SizeTable, points: int, block: int) -> Sets:
        design = designs(table.order, self.points)[table.detail[points, block]]
        return self._induced(table, members(design)[:, :points], block)

    def _induced(self, table: SizeTable, rows: Bits, block: int) -> Sets:
        blocks = []
        for row in rows:
            members = np.flatnonzero(row).tolist()
            if len(members) > block:
                blocks += self.placed(self.blocks(len(members), table.order, block), members)
            elif len(members) >= table.order:
                blocks.append(as_set(members))
        return blocks

    def _groups(self, table: SizeTable, points: int, block: int) -> Sets:
        count = int(table.detail[points, block])
        each, larger = divmod(points, count)
        joined = max(
            size for size in range(table.order, count + 1) if size * each + min(size, larger) <= block
        )
        groups = [as_set(range(group, points, count)) for group in range(count)]
        return [
            sum(groups[group] for group in members_of(chosen))
            for chosen in self.blocks(count, table.order, joined)
        ]

    def _product(self, table: SizeTable, points: int, block: int) -> Sets:
        first = int(table.detail[points, block])
        second, blocks = points - first, []
        for part in range(table.order + 1):
            if part > first or table.order - part > second:
                continue
            sizes = splits(
                self.tables[part].size[first, : block + 1],
                self.tables[table.order - part].size[second, : block + 1],
            )
            left = int(sizes[block].argmin())
            others = self.blocks(second, table.order - part, block - left)
            blocks += [one | other << first for one in self.blocks(first, part, left) for other in others]
        return blocks

    def _double(self, table: SizeTable, points: int, block: int) -> Sets:
        half = points // 2
        blocks = [one << shift for shift in (0, half) for one in self.blocks(half, 3, 4)]
        for pairs in one_factorisation(half):
            blocks += [one | other << half for one in pairs for other in pairs]
        return blocks

    def _found(self, table: SizeTable, points: int, block: int) -> Sets:
        covering = known_coverings()[points, table.order, int(table.detail[points, block])]
        return [as_set(one) for one in covering.blocks()]

    def _fewer(self, table: SizeTable, points: int, block: int) -> Sets:
        every = (1 << points) - 1
        shortened = [one & every for one in self.blocks(points + 1, table.order, block)]
        return [one for one in shortened if one.bit_count() >= table.order]

    def placed(self, blocks: Sets, where: list[int]) -> Sets:
        """Return the blocks with point i moved to the i-th of these places."""
        return [as_set(where[point] for point in members_of(one)) for one in blocks]


def as_set(points: Iterable[int]) -> int:
    """Return a set of points as a whole number."""
    return sum(1 << point for point in points)


def members_of(one: int) -> list[int]:
    """Return the points of a set in rising order."""
    return [point for point in range(one.bit_length()) if one >> point & 1]


def one_factorisation(points: int) -> list[Sets]:
    """Return points - 1 colours of the pairs of an even number of points; each colour meets every point once.

    Examples
    --------
    >>> [len(colour) for colour in one_factorisation(6)]
    [3, 3, 3, 3, 3]
    """
    turning = points - 1
    return [
        [1 << turning | 1 << start]
        + [1 << (start + i) % turning | 1 << (start - i) % turning for i in range(1, points // 2)]
        for start in range(turning)
    ]


def full_rows(blocks: Sets, points: int, block: int) -> Wholes:
    """Return the blocks as rows of exactly ``block`` points, filled up, each set once and in order."""
    rows = set()
    for one in blocks:
        lacking = block - one.bit_count()
        point = 0
        while lacking:
            if not one >> point & 1:
                one |= 1 << point
                lacking -= 1
            point += 1
        rows.add(one)
    members = np.array([members_of(one) for one in rows], dtype=np.int64).reshape(-1, block)
    ordered: Wholes = members[np.lexsort(members.T[::-1])]
    return ordered


def construct(problem: CoveringDesign) -> tuple[Wholes, str]:
    """Return the blocks of the best construction, and its name."""
    parameters = (problem.points, problem.order, problem.block)
    builder = Builder(*parameters)
    return full_rows(builder.blocks(*parameters), problem.points, problem.block), builder.rule(*parameters)


def run_constructions(problem: CoveringDesign) -> Outcome:
    """Build the best covering that the rules give."""
    blocks, name = construct(problem)
    return outcome(problem, blocks, name)


def why_not_constructed(problem: CoveringDesign) -> str | None:
    """Return why the covering would be too large, or None."""
    size = tables(problem.points, problem.order, problem.block)[-1].size[problem.points, problem.block]
    if size > MOST_BLOCKS:
        return f"its covering has {size:.0f} blocks, more than {MOST_BLOCKS} that can be written down"
    return None
