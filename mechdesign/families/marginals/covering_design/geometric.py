"""``covering-design`` by constructions: geometries, triple systems, and what is made of smaller coverings."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.covering_design.designs import Bits, Wholes, designs
from mechdesign.families.marginals.covering_design.found import found_coverings
from mechdesign.families.marginals.covering_design.plan import RULES, SizeTable, members, splits, tables
from mechdesign.families.marginals.covering_design.problem import MOST_BLOCKS, CoveringDesign, outcome

Sets = list[int]
"""Blocks as integers: the bit of each point."""


class Builder:
    """Makes the coverings that the tables promise; parts that occur several times are made once."""

    def __init__(self, points: int, order: int, block: int) -> None:
        self.tables = tables(points, order, block)
        self.points = points
        self.made: dict[tuple[int, int, int], Sets] = {}

    def blocks(self, points: int, order: int, block: int) -> Sets:
        """Return blocks of at most ``block`` of the points 0 .. points - 1."""
        key = (points, order, block)
        if key not in self.made:
            table = self.tables[order]
            if order == 0:
                self.made[key] = [(1 << min(points, block)) - 1]
            elif points < order:
                self.made[key] = []
            else:
                rule = RULES[table.rule[points, block]]
                self.made[key] = getattr(self, f"_{rule}")(table, points, block)
        return self.made[key]

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
            group = found_coverings()[points, order, detail].group
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
        found = []
        for row in rows:
            kept = np.flatnonzero(row).tolist()
            if len(kept) > block:
                found += self.placed(self.blocks(len(kept), table.order, block), kept)
            elif len(kept) >= table.order:
                found.append(as_set(kept))
        return found

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
        second, found = points - first, []
        for part in range(table.order + 1):
            if part > first or table.order - part > second:
                continue
            sizes = splits(
                self.tables[part].size[first, : block + 1],
                self.tables[table.order - part].size[second, : block + 1],
            )
            left = int(sizes[block].argmin())
            others = self.blocks(second, table.order - part, block - left)
            found += [one | other << first for one in self.blocks(first, part, left) for other in others]
        return found

    def _double(self, table: SizeTable, points: int, block: int) -> Sets:
        half = points // 2
        found = [one << shift for shift in (0, half) for one in self.blocks(half, 3, 4)]
        for pairs in one_factorisation(half):
            found += [one | other << half for one in pairs for other in pairs]
        return found

    def _found(self, table: SizeTable, points: int, block: int) -> Sets:
        covering = found_coverings()[points, table.order, int(table.detail[points, block])]
        return [as_set(one) for one in covering.blocks()]

    def _fewer(self, table: SizeTable, points: int, block: int) -> Sets:
        every = (1 << points) - 1
        kept = [one & every for one in self.blocks(points + 1, table.order, block)]
        return [one for one in kept if one.bit_count() >= table.order]

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
    found = np.array([members_of(one) for one in rows], dtype=np.int64).reshape(-1, block)
    ordered: Wholes = found[np.lexsort(found.T[::-1])]
    return ordered


def construct(problem: CoveringDesign) -> tuple[Wholes, str]:
    """Return the blocks of the best construction, and its name."""
    parameters = (problem.points, problem.order, problem.block)
    builder = Builder(*parameters)
    return full_rows(builder.blocks(*parameters), problem.points, problem.block), builder.rule(*parameters)


def run(problem: CoveringDesign) -> Outcome:
    """Build the best covering that the rules give."""
    blocks, name = construct(problem)
    return outcome(problem, blocks, name)


def why_not(problem: CoveringDesign) -> str | None:
    """Return why the covering would be too large, or None."""
    size = tables(problem.points, problem.order, problem.block)[-1].size[problem.points, problem.block]
    if size > MOST_BLOCKS:
        return f"its covering has {size:.0f} blocks, more than {MOST_BLOCKS} that can be written down"
    return None
