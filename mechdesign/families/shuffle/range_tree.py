"""Counts of ranges: a user sends the user's node of a binary tree on every level, among uniform dummies."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.operations import UNMARKED, Operation, Option, Settings
from mechdesign.collect.recipes import Steps
from mechdesign.core.errors import DataError, UnknownNameError
from mechdesign.core.forecast import Forecast
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value
from mechdesign.families.shuffle.estimates import TotalEstimate
from mechdesign.families.shuffle.range_estimate import RangeEstimate, most_parts
from mechdesign.families.shuffle.rows import Rows, RowsProtocol

MOST_CATEGORIES = 1 << 16

FIRST = Option("first", "text", "the first category of the range")
LAST = Option("last", "text", "its last category")


@frozen_value()
class TreeRows(Rows):
    """The node with the user's category, for each level of a binary tree over the categories."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The nodes of each level."""
        return level_sizes(self.size)

    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        """Return the nodes of these categories on level row + 1."""
        node: NDArray[np.int64] = values >> (self.rows - 1 - row)
        return node

    def own_of(self, row: int) -> Steps:
        """Return the user's cell of a row, as plain values."""
        return {"shift": self.rows - 1 - row}


class RangeTree(RowsProtocol):
    """Every user sends, for each level of a binary tree over the categories, the node with the own category.

    Every range is made up of at most 2 (L - 1) nodes, L = ceil(log2 categories); the number of all users is
    known.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact"}
    categories : int
        In their order; from 2 to 2**16.
    labels : sequence of str, optional
    trials, cell : int
        As in :class:`Rows`.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Pagh, Velingker (2021), range counting, with dummies on each level and
    the divergence of all levels together instead of a split of epsilon.

    Examples
    --------
    >>> from mechdesign.collect.promise import Promise
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
        """Return the largest variance of a range."""
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
            found: Any = analyze.run(sources, settings)
            value, error = found.count(first, last)
            users, limits = self.promise.users, found.limits(first, last)
            return TotalEstimate(value, error, users, "count", found.messages, limits, found.notes)

        summary = "how many users hold a category from the first to the last one"
        count = Operation("count", summary, analyze.takes, (), run, (FIRST, LAST, UNMARKED), several=True)
        return encode, shuffle, analyze, count

    def _place(self, text: str | None, name: str) -> int:
        if text is None:
            return 0 if name == "first" else self.labels.size - 1
        shown = list(self.labels.shown())
        if text not in shown:
            raise UnknownNameError(name, f"{text!r} is not a category", f"give one, such as {shown[0]!r}")
        return shown.index(text)


def level_sizes(categories: int) -> tuple[int, ...]:
    """Return the number of nodes of each level below the root.

    Examples
    --------
    >>> level_sizes(5)
    (2, 4, 8)
    """
    size = integer("categories", categories, 2, MOST_CATEGORIES)
    return tuple(2 << level for level in range((size - 1).bit_length()))
