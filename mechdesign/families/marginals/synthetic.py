"""Synthetic rows: draws from a chain of views that has their marginals on every link exactly.

The maximum-entropy law over all attributes with the marginals of many overlapping views cannot be computed
when views overlap in circles. A part of it can: a junction tree. The first clique is a view. Every further
one is taken from a view V that meets an earlier clique K: given the attributes that V has in common with K,
the attributes of V that are new are drawn from V's conditional shares. Because the common attributes lie in
one earlier clique, and the tables are consistent, the rows have V's marginal on every clique exactly; the law
is that of maximum entropy with these marginals (a decomposable model), and other marginals are what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.core.text import counted
from mechdesign.core.validation import integer

Array = NDArray[np.float64]
View = tuple[int, ...]

MOST_ROWS = 10_000_000


@dataclass(frozen=True, eq=False)
class Link:
    """New attributes, drawn given earlier ones of the same view.

    Attributes
    ----------
    given, new : tuple of int
    chances : (cells of given, cells of new) array
        Rows sum to 1.
    """

    given: View
    new: View
    chances: Array

    @property
    def clique(self) -> View:
        """The attributes whose joint shares the rows have."""
        return tuple(sorted(self.given + self.new))


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticModel:
    """The distribution of synthetic rows.

    Attributes
    ----------
    links : tuple of Link
        In the order in which attributes are drawn.
    sizes : tuple of int
    """

    links: tuple[Link, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, views: Sequence[View], tables: Sequence[Array], sizes: Sequence[int]) -> Self:
        """Return the chain that keeps most of what the views tell, link by link.

        Of all views that meet an earlier clique the one is taken whose new attributes depend most on the
        common ones (largest mutual information).

        Parameters
        ----------
        views : sequence of tuple of int
        tables : sequence of array
            Consistent, non-negative, with sum 1.
        sizes : sequence of int

        Examples
        --------
        >>> model = SyntheticModel.of([(0, 1), (1, 2)], [np.eye(2) / 2, np.eye(2) / 2], [2, 2, 2])
        >>> model.cliques
        ((0, 1), (1, 2))
        """
        first = max(range(len(views)), key=lambda place: _dependence(tables[place]))
        links = [_link(views[first], tables[first], (), views[first])]
        done = set(views[first])
        while candidates := _candidates(views, [set(link.clique) for link in links], done):
            gains = [_information(_joint(views[place], tables[place], *sets)) for place, *sets in candidates]
            place, given, new = candidates[int(np.argmax(gains))]
            links.append(_link(views[place], tables[place], given, new))
            done.update(new)
        for rest in range(len(sizes)):
            if rest not in done:
                links.append(Link((), (rest,), np.full((1, sizes[rest]), 1.0 / sizes[rest])))
        return cls(tuple(links), tuple(sizes))

    @property
    def cliques(self) -> tuple[View, ...]:
        """The sets of attributes whose marginals the rows have exactly, in distribution."""
        return tuple(link.clique for link in self.links)

    def __repr__(self) -> str:
        return f"SyntheticModel({counted(len(self.sizes), 'attribute')}, cliques {list(self.cliques)[:8]})"

    def sample(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows, shape (rows, d)."""
        count = integer("rows", rows, 1, MOST_ROWS)
        table = np.zeros((count, len(self.sizes)), dtype=np.int64)
        for link in self.links:
            given = np.zeros(count, dtype=np.int64)
            for place in link.given:
                given = given * self.sizes[place] + table[:, place]
            limits = np.cumsum(link.chances, axis=1)
            limits /= limits[:, -1:]
            steps = (limits + np.arange(len(limits))[:, None]).ravel()
            cell = np.searchsorted(steps, given + rng.random(count), side="right")
            cell = np.minimum(cell - given * limits.shape[1], limits.shape[1] - 1)
            for place in reversed(link.new):
                cell, table[:, place] = np.divmod(cell, self.sizes[place])
        return table


def _candidates(
    views: Sequence[View], cliques: Sequence[set[int]], done: set[int]
) -> list[tuple[int, View, View]]:
    """Return views with new attributes: the most that each has in common with one clique, and what is new."""
    numbers = []
    for place, view in enumerate(views):
        new = tuple(attribute for attribute in view if attribute not in done)
        if new:
            common = max((clique & set(view) for clique in cliques), key=len)
            numbers.append((place, tuple(sorted(common)), new))
    return numbers


def _joint(view: View, table: Array, value: View, new: View) -> Array:
    """Return the joint shares of the cells of ``value`` (rows) and ``new`` (columns)."""
    needed = [place for place in view if place in value or place in new]
    summed = table.sum(axis=tuple(axis for axis, place in enumerate(view) if place not in needed))
    ordered = summed.transpose([needed.index(place) for place in value + new])
    rows = int(np.prod(ordered.shape[: len(value)], dtype=np.int64))
    joint: Array = np.maximum(ordered, 0.0).reshape(rows, -1)
    return joint


def _link(view: View, table: Array, value: View, new: View) -> Link:
    """Return the probabilities of new attributes given some; even ones where these never occur."""
    joint = _joint(view, table, value, new)
    sums = joint.sum(axis=1, keepdims=True)
    even = np.full_like(joint, 1.0 / joint.shape[1])
    return Link(value, new, np.divide(joint, sums, out=even, where=sums > 0.0))


def _information(joint: Array) -> float:
    """Return the mutual information of rows and columns, in nats."""
    even = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    ratio = np.divide(joint, even, out=np.ones_like(joint), where=joint > 0.0)
    return float((joint * np.log(ratio)).sum())


def _dependence(table: Array) -> float:
    """Return the total correlation of the attributes of a table, in nats."""
    gain = 0.0
    for axis in range(table.ndim - 1):
        rest = table.sum(axis=tuple(range(axis)))
        gain += _information(rest.reshape(rest.shape[0], -1))
    return gain
