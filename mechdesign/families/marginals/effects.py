"""Tables of overlapping views in coordinates in which their consistency is separable: effects.

Along every axis of a table stands an orthonormal basis whose first vector is constant (Helmert's). The
coefficients that are constant along all axes but those of a set B are the effect of B, the part of the
marginal on B that no smaller marginal tells. Two views are consistent exactly when each effect that both have
is the same in their marginals. So the nearest consistent tables in weighted squares average each coefficient
by itself, view i with the weight p_i / C_i, C_i being the number of its cells in a cell of B.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.marginals.views import View

Array = NDArray[np.float64]


def helmert(size: int) -> Array:
    """Return an orthonormal basis as rows, the first one constant.

    Examples
    --------
    >>> helmert(2).round(3)
    array([[ 0.707,  0.707],
           [ 0.707, -0.707]])
    """
    basis = np.zeros((size, size))
    basis[0] = size**-0.5
    for row in range(1, size):
        basis[row, :row], basis[row, row] = 1.0, -float(row)
        basis[row] /= (row * (row + 1.0)) ** 0.5
    return basis


class EffectSpace:
    """All tables of some views, as one vector, and its projection on those that are consistent.

    Parameters
    ----------
    views : sequence of tuple of int
    sizes : sequence of int
    weights : (m,) array
        Positive: one over the variance of a cell of each view.

    Attributes
    ----------
    coordinates : int
        How many coordinates all effects of all views have.
    starts : dict
        The first coordinate of each effect, by its attributes; that of the total, (), is 0.
    mass : (coordinates,) array
        The sum of weights that tell of each coordinate: one over the variance of their average.

    Examples
    --------
    >>> space = EffectSpace([(0, 1), (1,)], [2, 2], np.ones(2))
    >>> first, second = space.split(space.project(space.join([np.eye(2), np.array([2.0, 0.0])])))
    >>> first.sum(axis=0).round(9), second.round(9)
    (array([1.66666667, 0.33333333]), array([1.66666667, 0.33333333]))
    """

    def __init__(self, views: Sequence[View], sizes: Sequence[int], weights: Array) -> None:
        self.shapes = [tuple(sizes[attribute] for attribute in view) for view in views]
        members: dict[tuple[int, ...], list[int]] = {}
        for place, shape in enumerate(self.shapes):
            members.setdefault(shape, []).append(place)
        self.groups: list[tuple[slice, tuple[int, ...], list[int]]] = []
        self.length = 0
        for shape, places in members.items():
            size = int(np.prod(shape)) * len(places)
            self.groups.append((slice(self.length, self.length + size), shape, places))
            self.length += size
        self._bases = {size: helmert(size) for size in set(sizes)}
        self._number_effects(views, sizes)
        self._weigh(weights)

    def reweighted(self, weights: Array) -> Self:
        """Return the same with other weights of the views."""
        other = copy(self)
        other._weigh(weights)
        return other

    def _weigh(self, weights: Array) -> None:
        """Give every coefficient the weight of its view."""
        trust = np.empty(self.length)
        for part, shape, places in self.groups:
            trust[part] = np.repeat(weights[places], int(np.prod(shape)))
        self.weights, self._pull = trust, trust / self._scale
        self.mass: Array = np.bincount(self._index, trust / self._scale**2, self.coordinates).astype(
            np.float64
        )

    def _number_effects(self, views: Sequence[View], sizes: Sequence[int]) -> None:
        """Give every coefficient the number of its effect's coordinate, and its scale."""
        index, scale = np.empty(self.length, dtype=np.int64), np.empty(self.length)
        starts: dict[View, int] = {(): 0}
        self.coordinates = 1
        for part, shape, places in self.groups:
            cells, axes = int(np.prod(shape)), range(len(shape))
            numbers = index[part].reshape(len(places), *shape)
            scales = scale[part].reshape(len(places), *shape)
            for chosen in product((False, True), repeat=len(shape)):
                where = tuple(slice(1, None) if inside else 0 for inside in chosen)
                block = tuple(shape[axis] - 1 for axis in axes if chosen[axis])
                kept = int(np.prod([shape[axis] for axis in axes if chosen[axis]], dtype=np.int64))
                scales[(slice(None), *where)] = (cells / kept) ** 0.5
                order = np.arange(int(np.prod(block, dtype=np.int64))).reshape(block)
                for row, place in enumerate(places):
                    effect = tuple(views[place][axis] for axis in axes if chosen[axis])
                    if effect not in starts:
                        starts[effect] = self.coordinates
                        self.coordinates += order.size
                    numbers[(row, *where)] = starts[effect] + order
        self.starts, self._index, self._scale = starts, index, scale

    def join(self, tables: Sequence[Array]) -> Array:
        """Return the tables as one vector."""
        parts = [np.ravel(tables[place]) for _, _, places in self.groups for place in places]
        return np.concatenate(parts).astype(np.float64)

    def split(self, vector: Array) -> list[Array]:
        """Return the tables of a vector, in the order of the views."""
        tables: list[Array] = [np.empty(0)] * len(self.shapes)
        for part, shape, places in self.groups:
            for place, table in zip(places, vector[part].reshape(len(places), *shape), strict=True):
                tables[place] = table.copy()
        return tables

    def average(self, tables: Sequence[Array]) -> Array:
        """Return the coordinates of all effects, each averaged over the views that have it.

        The effect B begins at ``starts[B]``; ``mass`` has one over the variance of each average.
        """
        return self._average(self._turned(self.join(tables), back=False), None)

    def project(self, vector: Array, total: float | None = None) -> Array:
        """Return the nearest consistent tables, of the given total where one is given."""
        made = self._average(self._turned(vector, back=False), total)
        return self._turned(made[self._index] / self._scale, back=True)

    def _average(self, coefficients: Array, total: float | None) -> Array:
        """Return the averaged coordinates of the effects of the marginals."""
        averaged: Array = np.bincount(self._index, self._pull * coefficients, self.coordinates) / self.mass
        if total is not None:
            averaged[0] = total
        return averaged

    def _turned(self, vector: Array, back: bool) -> Array:
        """Return the vector in the basis of effects, or back from it."""
        turned = np.empty_like(vector)
        for part, shape, places in self.groups:
            block = vector[part]
            for size in reversed(shape):  # the last axis is turned and moves to the front of the others
                basis = self._bases[size] if back else self._bases[size].T
                rows = (block.reshape(-1, size) @ basis).reshape(len(places), -1, size)
                block = rows.transpose(0, 2, 1)
            turned[part] = block.ravel()
        return turned
