"""Counts of ranges: how many users hold a category from one to another, for all pairs.

A user sends the user's node of a binary tree on every level, among uniform dummies (``RangeTree``). The
analyzer adds up the nodes that a range is made of (``RangeEstimate``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import UNMARKED, Operation, Option, Settings
from mechdesign.collect.intervals import Limits, tail_of
from mechdesign.collect.kernel import Steps
from mechdesign.core.errors import DataError, UnknownNameError, counted
from mechdesign.core.validation import integer
from mechdesign.core.values import Forecast, frozen_value
from mechdesign.families.shuffle.count_limits import Group, NoiseLimits, Sum
from mechdesign.families.shuffle.dummies import CounterRows, RowsProtocol
from mechdesign.families.shuffle.tasks import CategoryCounts, TotalEstimate

Array = NDArray[np.float64]

NodeDummies = tuple[int, Fraction]
"""Trials and chance of the dummies of a node, whose number is binomial."""

SHOWN = 32
"""Number of ranges that are printed."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class RangeEstimate(CategoryCounts):
    """Counts of dyadic ranges, from which those of all ranges are added up.

    ``value`` and ``standard_error`` are of the cumulative counts: how many users hold a category or one
    before it.

    Attributes
    ----------
    nodes : tuple of (2**level,) array
        Of the levels 1 .. L: the counts of neighbouring ranges of equal length.
    node_error : float
        The standard error of each.
    names : sequence of str
        The categories in their order.
    users, messages : int
    noise : (trials, chance)
        Of the dummies of a node, whose number is binomial; nodes of one level share their trials.
    notes : tuple of str

    Examples
    --------
    >>> halves, quarters = np.array([6.0, 4.0]), np.array([1.0, 5.0, 4.0, 0.0])
    >>> dummies = (18, Fraction(1, 3))
    >>> estimate = RangeEstimate.of((halves, quarters), 2.0, ("0", "1", "2", "3"), 10, 10, dummies)
    >>> estimate.count(0, 1), estimate.count(0, 2), estimate.count(0, 3)
    ((6.0, 2.0), (10.0, 2.82...), (10.0, 0.0))
    >>> estimate.value, estimate.standard_error
    (array([ 1.,  6., 10., 10.]), array([2.        , 2.        , 2.82842712, 0.        ]))
    """

    thing: ClassVar[str] = "up to"
    kind_of_counts: ClassVar[str] = "cumulative counts"
    axis: ClassVar[str] = "category, with all before it"
    json_key: ClassVar[str] = "up_to"

    nodes: tuple[Array, ...]
    node_error: float
    noise: NodeDummies

    @classmethod
    def of(
        cls,
        nodes: tuple[Array, ...],
        node_error: float,
        names: Sequence[str],
        users: int,
        messages: int,
        noise: NodeDummies,
        notes: tuple[str, ...] = (),
    ) -> RangeEstimate:
        """Return the estimate of these nodes, with the cumulative counts that they add up to."""
        value, parts = _first_leaves(nodes, len(names)), _parts_of_first(len(names))
        value[-1] = users  # all hold some category
        errors = {size: _dummies(size, noise).deviation for size in set(parts.tolist())}
        error = np.array([errors[size] for size in parts.tolist()])
        return cls(
            value, error, users, names, messages, notes, nodes=nodes, node_error=node_error, noise=noise
        )

    def count(self, first: int, last: int) -> tuple[float, float]:
        """Return the number of users with a category in this range, and its standard error."""
        size = len(self.names)
        low, high = integer("first", first, 0, size - 1), integer("last", last, 0, size - 1)
        if (low, high) == (0, size - 1):
            return float(self.users), 0.0
        parts = self._parts(low, high)
        value = math.fsum(float(self.nodes[level - 1][place]) for level, place in parts)
        return value, self._noise(parts).deviation

    def limits(self, first: int, last: int) -> Limits:
        """Return the limits of a range's interval, from the exact distribution of its dummies."""
        whole = (first, last) == (0, len(self.names) - 1)
        noise = self._noise([] if whole else self._parts(first, last))
        return NoiseLimits(noise, noise.mean)

    def _parts(self, low: int, high: int) -> list[tuple[int, int]]:
        return list(dyadic(low, high + 1, len(self.nodes))) if low <= high else []

    def _noise(self, parts: list[tuple[int, int]]) -> Sum:
        """Return the distribution of the dummies of nodes: those of one level are binomial together."""
        trials, chance = self.noise
        counts = Counter(level for level, _ in parts)
        return Sum(tuple(Group.bits(trials, count * chance) for count in counts.values()))

    def _names(self) -> Sequence[str]:
        return [f"up to {name}" for name in self.names]

    def _ends(self, level: float, together: int = 1) -> tuple[Array, Array]:
        parts, ends = _parts_of_first(len(self.names)), {}
        for size in set(parts.tolist()):
            noise = _dummies(size, self.noise)
            ends[size] = NoiseLimits(noise, noise.mean).distances(tail_of(level, together))
        down, up = np.array([ends[size] for size in parts.tolist()]).T
        return self.value - down, self.value + up

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.names), 'category')}, {counted(self.users, 'user')}"
        return f"RangeEstimate({sizes}, +- {self.node_error:.3g} a part)"

    def _printed(self) -> tuple[NDArray[np.int64], str]:
        size = len(self.value)
        places = np.unique(np.linspace(0, size - 1, min(SHOWN, size)).round().astype(int))
        return places, f"\n{len(places)} of {counted(size, 'category')}" if len(places) < size else ""


def _parts_of_first(size: int) -> NDArray[np.int64]:
    """Return for each leaf the number of nodes that make up all leaves up to it; none for all leaves."""
    parts = np.bitwise_count(np.arange(1, size + 1, dtype=np.int64)).astype(np.int64)
    parts[-1] = 0
    return parts


def _first_leaves(nodes: Sequence[Array], size: int) -> Array:
    """Return for each of the first leaves the sum of all leaves up to it: at most one node of a level."""
    ends, value = np.arange(1, size + 1, dtype=np.int64), np.zeros(size)
    for shift, counts in zip(range(len(nodes) - 1, -1, -1), nodes, strict=True):
        places = ends >> shift
        value += np.where(places & 1, counts[places - 1], 0.0)
    return value


def _dummies(parts: int, noise: NodeDummies) -> Sum:
    """Return the distribution of the dummies of this many nodes, of a level each."""
    trials, chance = noise
    return Sum((Group.bits(parts * trials, chance),))


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


MOST_CATEGORIES = 1 << 16

FIRST = Option("first", "text", "the first category of the range")
LAST = Option("last", "text", "its last category")


@frozen_value()
class TreeRows(CounterRows):
    """The node with the user's category, for each level of a binary tree over up to 2**16 categories."""

    @property
    def sizes(self) -> tuple[int, ...]:
        size = integer("categories", self.size, 2, MOST_CATEGORIES)
        return tuple(2 << level for level in range((size - 1).bit_length()))

    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        node: NDArray[np.int64] = values >> (self.rows - 1 - row)
        return node

    def own_of(self, row: int) -> Steps:
        return {"shift": self.rows - 1 - row}


class RangeTree(RowsProtocol):
    """Every user sends, for each level of a binary tree over the categories, the node with the own category.

    Every range is made up of at most 2 (L - 1) nodes, L = ceil(log2 categories); the number of all users is
    known.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Pagh, Velingker (2021), range counting, with dummies on each level and
    the divergence of all levels together instead of a split of epsilon.

    Examples
    --------
    >>> from mechdesign.families.shuffle.promise import Promise
    >>> protocol = RangeTree.calibrated(Promise(10_000, 1.0, 1e-6), 64)
    >>> protocol.noise.rows, round(protocol.rmse, 1), round(protocol.mean_messages, 2)
    (6, 46.5, 8.75)
    """

    type: ClassVar[str] = "range-tree"
    quantity: ClassVar[str] = "counts of ranges"
    sensitivity: ClassVar[float] = 1.0
    _curator: ClassVar[str] = "Laplace noise of a curator, one range"
    _value_text: ClassVar[str] = "a category, in their order"

    noise: TreeRows
    _hiding = TreeRows

    def variance_of(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full(len(count), most_parts(self.noise.rows) * self.noise.cell_variance)

    @property
    def rmse(self) -> float:
        """The largest standard error of a range: unbiased, and the same for all data."""
        return math.sqrt(most_parts(self.noise.rows) * self.noise.cell_variance)

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the errors for the users it was made for, of a single node and of the worst range."""
        return Forecast(
            self.quantity,
            self.promise.users,
            True,
            self.rmse,
            math.sqrt(self.noise.cell_variance),
            "for half of the categories",
            of="the count of a range",
        )

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> RangeEstimate:
        """Return the nodes less their expected dummies."""
        self._require_rows(sums)
        nodes = np.split(sums - self.noise.mean_dummies, self.noise.starts[1:].tolist())
        names = tuple(self.labels.shown())
        users = self.promise.users
        error, notes = math.sqrt(self.noise.cell_variance), self._message_notes(messages)
        noise = (users * self.noise.trials, self.noise.chance)
        return RangeEstimate.of(tuple(nodes), error, names, users, messages, noise, notes)

    def operations(self) -> tuple[Operation, ...]:
        """Return ``encode``, ``shuffle``, ``analyze`` and ``count``, which is about one range."""
        encode, shuffle, analyze = super().operations()

        def run(sources: Any, settings: Settings) -> TotalEstimate:
            first, last = (self._place(settings[name], name) for name in ("first", "last"))
            if first > last:
                raise DataError("first", "comes after the last category", "swap them")
            estimate: Any = analyze.run(sources, settings)
            value, error = estimate.count(first, last)
            users, limits = self.promise.users, estimate.limits(first, last)
            return TotalEstimate(value, error, users, "count", estimate.messages, limits, estimate.notes)

        summary = "how many users hold a category from the first to the last one"
        count = Operation("count", summary, analyze.takes, (), run, (FIRST, LAST, UNMARKED), several=True)
        return encode, shuffle, analyze, count

    def _place(self, text: str | None, name: str) -> int:
        if text is None:
            return 0 if name == "first" else self.labels.size - 1
        names = list(self.labels.shown())
        if text not in names:
            raise UnknownNameError(name, f"{text!r} is not a category", f"give one, such as {names[0]!r}")
        return names.index(text)
