"""What the analyzer of ranges says: how many users hold a category from one to another, of any two."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.figure import Figure
from mechdesign.core.printable import printable
from mechdesign.core.text import counted
from mechdesign.core.tidy import Columns, Tidy, tidy_columns
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import Group, NoiseLimits, Sum
from mechdesign.mechanisms.interval_figures import interval_figures
from mechdesign.mechanisms.intervals import Limits, NormalLimits, tail_of
from mechdesign.mechanisms.shuffle.estimates import count_table

Array = NDArray[np.float64]

SHOWN = 32
"""Number of ranges that are printed."""


@dataclass(frozen=True, repr=False, eq=False)
class RangeEstimate(Tidy):
    """Counts of dyadic ranges, from which those of all ranges are added up.

    Attributes
    ----------
    nodes : tuple of (2**level,) array
        Of the levels 1 .. L: the counts of neighbouring ranges of equal length.
    node_error : float
        The standard error of each.
    names : sequence of str
        The categories in their order.
    users, messages : int
    noise : (trials, chance), optional
        Of the dummies of a node, whose number is binomial; nodes of one level share their trials.
    notes : tuple of str

    Examples
    --------
    >>> halves, quarters = np.array([6.0, 4.0]), np.array([1.0, 5.0, 4.0, 0.0])
    >>> estimate = RangeEstimate((halves, quarters), 2.0, ("0", "1", "2", "3"), 10, 10)
    >>> estimate.count(0, 1), estimate.count(1, 2), estimate.count(0, 3)
    ((6.0, 2.0), (9.0, 2.82...), (10.0, 0.0))
    """

    nodes: tuple[Array, ...]
    node_error: float
    names: Sequence[str]
    users: int
    messages: int
    noise: tuple[int, Fraction] | None = None
    notes: tuple[str, ...] = ()

    def count(self, first: int, last: int) -> tuple[float, float]:
        """Return the number of users with a category in this range, and its standard error."""
        size = len(self.names)
        low, high = integer("first", first, 0, size - 1), integer("last", last, 0, size - 1)
        if (low, high) == (0, size - 1):
            return float(self.users), 0.0
        parts = self._parts(low, high)
        value = math.fsum(float(self.nodes[level - 1][place]) for level, place in parts)
        noise = self._noise(parts)
        error = self.node_error * math.sqrt(len(parts)) if noise is None else noise.deviation
        return value, error

    def limits(self, first: int, last: int) -> Limits:
        """Return the limits of a range's interval, from the exact distribution of its dummies."""
        _, error = self.count(first, last)
        noise = self._noise(self._parts(first, last)) if error else None
        return NormalLimits(error) if noise is None else NoiseLimits(noise, noise.mean)

    def _parts(self, low: int, high: int) -> list[tuple[int, int]]:
        return list(dyadic(low, high + 1, len(self.nodes))) if low <= high else []

    def _noise(self, parts: list[tuple[int, int]]) -> Sum | None:
        """Return the distribution of the dummies of nodes: those of one level are binomial together."""
        if self.noise is None:
            return None
        trials, chance = self.noise
        counts = Counter(level for level, _ in parts)
        return Sum(tuple(Group.bits(trials, count * chance) for count in counts.values()))

    def cumulative(self) -> tuple[Array, Array]:
        """Return for each category how many users hold it or one before, and the standard errors."""
        found = [self.count(0, last) for last in range(len(self.names))]
        return np.array([value for value, _ in found]), np.array([error for _, error in found])

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return intervals of the cumulative counts, each of this level in (0, 1) for itself."""
        value, error = self.cumulative()
        if self.noise is None:
            down, up = NormalLimits(error).distances(tail_of(level))
            return value - down, value + up
        # up to a category there is at most one node of a level: their number says all of the law
        last = len(self.names) - 1
        sizes = [len(self._parts(0, place)) if place < last else 0 for place in range(last + 1)]
        trials, chance = self.noise
        ends = {}
        for size in set(sizes):
            noise = Sum((Group.bits(size * trials, chance),))
            ends[size] = NoiseLimits(noise, noise.mean).distances(tail_of(level))
        down, up = np.array([ends[size] for size in sizes]).T
        return value - down, value + up

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the cumulative counts as columns: how many hold a category or one before it."""
        value, error = self.cumulative()
        names = [f"up to {name}" for name in self.names]
        return tidy_columns("", names, value, error, self.interval(level))

    def figures(self) -> list[Figure]:
        """Return the cumulative counts with their intervals."""
        title = f"Estimated cumulative counts of {self.users} users"
        value, _ = self.cumulative()
        return interval_figures(
            title,
            self.names,
            value,
            self.interval(),
            "category, with all before it",
            "users",
            possible=(0.0, float(self.users)),
        )

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.names), 'category')}, {counted(self.users, 'user')}"
        return f"RangeEstimate({sizes}, +- {self.node_error:.3g} a part)"

    def __str__(self) -> str:
        value, error = self.cumulative()
        places = np.unique(np.linspace(0, len(value) - 1, min(SHOWN, len(value))).round().astype(int))
        text = count_table("up to", self.names, places, value, error, self.interval())
        more = f"\n{len(places)} of {counted(len(value), 'category')}" if len(places) < len(value) else ""
        notes = "".join(f"\nnote: {printable(note)}" for note in self.notes)
        return f"{text}{more}\n{counted(self.users, 'user')}, {counted(self.messages, 'message')}{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the cumulative counts as plain values."""
        value, error = self.cumulative()
        low, high = self.interval()
        return {
            "names": list(self.names),
            "up_to": value.tolist(),
            "standard_error": error.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "users": self.users,
            "messages": self.messages,
            "notes": list(self.notes),
        }


def dyadic(low: int, high: int, levels: int) -> Iterator[tuple[int, int]]:
    """Yield the fewest nodes (level, place) of a binary tree that make up low .. high - 1; not the root.

    Level l has 2**l nodes of 2**(levels - l) leaves each.

    Examples
    --------
    >>> list(dyadic(1, 7, 3))
    [(3, 1), (3, 6), (2, 1), (2, 2)]
    """
    level = levels
    while low < high and level > 0:
        if low & 1:
            yield level, low
            low += 1
        if high & 1:
            high -= 1
            yield level, high
        if level == 1 and low < high:  # two halves are left
            yield 1, 0
            yield 1, 1
            return
        low, high, level = low >> 1, high >> 1, level - 1


def most_parts(levels: int) -> int:
    """Return the largest number of nodes that a range takes; all categories together take none.

    Examples
    --------
    >>> [most_parts(levels) for levels in (1, 2, 3, 4)]
    [1, 2, 4, 6]
    """
    return max(1, 2 * (levels - 1))
