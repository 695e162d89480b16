"""Local search: one block fewer, then single points are exchanged until everything is covered again.

A step takes an uncovered subset at random and looks at every block that lacks one point of it: which of the
block's other points is best given up for that point? The exchange that leaves the fewest subsets uncovered
is made, even if that is more than before; a block rests for a few steps then. The neighbours are those of
Nurmela and Ostergard (1993), only those that help the chosen subset; the memory is that of tabu search.
"""

from __future__ import annotations

import numpy as np

from mechdesign.families.marginals.covering_design.subsets import Subsets, Wholes, places, without_redundant

REST = 2
"""Steps for which a block is left alone after an exchange, at most; 1 and 4 found larger coverings."""

STEP = 300
"""What a step costs besides the subsets that are looked at, in the time that one of them takes."""


def improved(
    blocks: Wholes, subsets: Subsets, enough: int, effort: int, rng: np.random.Generator
) -> tuple[Wholes, int]:
    """Return a covering of fewer blocks where one is found, and the effort that it took.

    Parameters
    ----------
    blocks : (m, l) array
        A covering.
    subsets : Subsets
    enough : int
        A proven lower bound: the search ends at this number of blocks.
    effort : int
        How many subsets of changed blocks are looked at, about; a step counts for ``STEP`` of them besides.
        No clock decides, so the same problem has the same answer.
    rng : numpy Generator
    """
    best, left = without_redundant(blocks, subsets), effort
    while len(best) > enough and left > 0:
        search = _Search(_without_one(best, subsets), subsets, rng)
        made = search.run(left)
        left -= made
        if search.holes.size:
            break
        best = without_redundant(search.blocks, subsets)
    return best, effort - left


def _without_one(blocks: Wholes, subsets: Subsets) -> Wholes:
    """Leave out the block that covers the fewest subsets alone."""
    ranks = subsets.of_blocks(blocks)
    times = np.bincount(ranks.ravel(), minlength=subsets.count)
    own = (times[ranks] == 1).sum(axis=1)
    return np.delete(blocks, int(own.argmin()), axis=0)


class _Search:
    """Blocks, how often they cover each subset, and the exchange of single points."""

    def __init__(self, blocks: Wholes, subsets: Subsets, rng: np.random.Generator) -> None:
        self.blocks, self.subsets, self.rng = blocks.copy(), subsets, rng
        size = blocks.shape[1]
        self.times = subsets.times_covered(blocks)
        self.members = np.zeros((subsets.points, len(blocks)), dtype=np.bool_)
        np.put_along_axis(self.members, blocks.T, True, axis=0)
        others = np.array([[i for i in range(size) if i != place] for place in range(size)])
        self.parts = others[:, places(size - 1, subsets.order - 1)]
        self.halves = subsets.halves(blocks[:, self.parts])  # what is left of a block without each point
        self.rested = np.full(len(blocks), -REST - 1)
        self.rest = min(REST, len(blocks) // 4)

    @property
    def holes(self) -> Wholes:
        """The ranks of the uncovered subsets."""
        return np.flatnonzero(self.times == 0)

    def run(self, effort: int) -> int:
        """Exchange until everything is covered or the effort is spent; return what was spent."""
        spent, step = 0, 0
        while spent < effort:
            holes = self.holes
            if not holes.size:
                break
            step += 1
            wanted = self.subsets.every[holes[self.rng.integers(len(holes))]]
            has = self.members[wanted]
            inside = has.sum(axis=0)
            rows = np.flatnonzero(inside == self.subsets.order - 1)
            awake = rows[self.rested[rows] < step - self.rest]
            rows = awake if awake.size else rows
            spent += STEP + len(self.times) // 16
            if rows.size:
                spent += self._best_exchange(rows, wanted, wanted[has[:, rows].argmin(axis=0)], step)
            else:
                self._approach(wanted, inside, step)
        return spent

    def _best_exchange(self, rows: Wholes, wanted: Wholes, lacking: Wholes, step: int) -> int:
        """Make the exchange in these rows that leaves the fewest uncovered; return what looking took."""
        blocks = self.blocks[rows]
        is_wanted = np.zeros(self.subsets.points, dtype=np.bool_)
        is_wanted[wanted] = True
        row, place = np.nonzero(~is_wanted[blocks])
        halves = self.halves[rows[row], place]
        out = self.subsets.joined(halves, blocks[row, place])
        new = self.subsets.joined(halves, lacking[row])
        worse = (self.times[out] == 1).sum(axis=1) - (self.times[new] == 0).sum(axis=1)
        best = np.flatnonzero(worse == worse.min())
        chosen = int(best[self.rng.integers(len(best))])
        self.times[out[chosen]] -= 1
        self.times[new[chosen]] += 1
        self._replace(int(rows[row[chosen]]), int(place[chosen]), int(lacking[row[chosen]]), step)
        return out.size * self.subsets.cost

    def _approach(self, wanted: Wholes, inside: Wholes, step: int) -> None:
        """No block lacks just one point: give one of the nearest a point more."""
        nearest = np.flatnonzero(inside == inside.max())
        row = int(nearest[self.rng.integers(len(nearest))])
        lacking = wanted[~self.members[wanted, row]]
        spare = np.flatnonzero(~np.isin(self.blocks[row], wanted))
        place, point = int(self.rng.choice(spare)), int(self.rng.choice(lacking))
        halves = self.halves[[row], place]
        self.times[self.subsets.joined(halves, self.blocks[row, [place]])[0]] -= 1
        self.times[self.subsets.joined(halves, np.array([point]))[0]] += 1
        self._replace(row, place, point, step)

    def _replace(self, row: int, place: int, point: int, step: int) -> None:
        self.members[self.blocks[row, place], row] = False
        self.members[point, row] = True
        self.blocks[row, place] = point
        self.halves[row] = self.subsets.halves(self.blocks[row][self.parts])
        self.rested[row] = step
