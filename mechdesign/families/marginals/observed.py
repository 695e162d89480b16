"""What the views say: every effect that one of them has, averaged, with its precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import reduce
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.effect_transform import EffectTransform, contrasts
from mechdesign.families.marginals.effects import EffectSpace

Array = NDArray[np.float64]
View = tuple[int, ...]

FLOOR = 1e-4
"""Estimated shares of single attributes are moved up to this before their product is a reference."""


class Observed:
    """The averaged effects of the unbiased tables of some views: the best linear unbiased estimates.

    Parameters
    ----------
    views : sequence of tuple of int
    tables : sequence of array
    sizes : sequence of int
        Of all attributes.
    precision : (m,) array
        One over the variance of a cell of each view.

    Examples
    --------
    >>> said = Observed([(0, 1), (1,)], [np.eye(2) / 2, np.array([0.75, 0.25])], [2, 2], np.ones(2))
    >>> said.single(1).round(4), said.tie(0, 1) > said.tie(0, 0)
    (array([0.6667, 0.3333]), True)
    """

    def __init__(
        self, views: Sequence[View], tables: Sequence[Array], sizes: Sequence[int], precision: Array
    ) -> None:
        self._space = EffectSpace(views, sizes, precision)
        self.sizes = tuple(sizes)
        self.values, self.mass = self._space.average(tables), self._space.mass
        self.effects = [effect for effect in self._space.starts if effect]
        self._starts = self._space.starts
        self._members = np.zeros((len(self.effects), len(sizes)), dtype=np.bool_)
        for row, effect in enumerate(self.effects):
            self._members[row, list(effect)] = True
        self._latest: dict[View, tuple[EffectTransform, NDArray[np.int64]]] = {}

    def again(self, tables: Sequence[Array], precision: Array) -> Self:
        """Return the estimates from other reports of the same views."""
        other = copy(self)
        other._space = self._space.reweighted(precision)
        other.values, other.mass = other._space.average(tables), other._space.mass
        return other

    def error(self, places: Sequence[int]) -> float:
        """Return the expected sum of squared errors of a marginal, from the noise of the averaged effects.

        It is what :func:`~mechdesign.families.marginals.errors.effect_errors` says, from the precision that
        is here already; effects that no view has add nothing.
        """
        whole, error = math.prod(self.sizes[place] for place in places), 0.0
        for count in range(1, len(places) + 1):
            for effect in combinations(sorted(places), count):
                if effect in self._starts:
                    own = math.prod(self.sizes[place] for place in effect)
                    error += own / whole * float((1.0 / self.mass[self._coordinates(effect)]).sum())
        return error

    def _coordinates(self, effect: View) -> NDArray[np.int64]:
        count = math.prod(self.sizes[place] - 1 for place in effect)
        return np.arange(self._starts[effect], self._starts[effect] + count)

    def has(self, effect: View) -> bool:
        """Return whether a view has the effect of some attributes, which increase."""
        return effect in self._starts

    def single(self, attribute: int) -> Array:
        """Return the estimated shares of an attribute's values; even ones when no view has it."""
        size = self.sizes[attribute]
        shares = np.full(size, 1.0 / size)
        if (attribute,) in self._starts:
            shares += self.values[self._coordinates((attribute,))] @ contrasts(size)[1:]
        return shares

    def reference(self, places: Sequence[int]) -> Array:
        """Return the product of the estimated single shares, flat, made positive."""
        singles = [np.maximum(self.single(place), FLOOR) for place in places]
        found: Array = reduce(np.multiply.outer, [shares / shares.sum() for shares in singles]).ravel()
        return found

    def tie(self, first: int, second: int) -> float:
        """Return the dependence of two attributes in units of its noise: 1 on average without any."""
        effect = (min(first, second), max(first, second))
        if first == second or effect not in self._starts:
            return 0.0
        chosen = self._coordinates(effect)
        return float((self.values[chosen] ** 2 * self.mass[chosen]).mean())

    def within(self, places: View) -> tuple[EffectTransform, NDArray[np.int64]]:
        """Return the transform to the effects among some attributes, and which coordinates these are here.

        Parameters
        ----------
        places : tuple of int
            Increasing; the axes of the table that the transform is for.
        """
        if places not in self._latest:  # the latest is kept: it is what the parts of the users ask for too
            self._latest.clear()
            self._latest[places] = self.effects_within(places)
        return self._latest[places]

    def effects_within(self, places: View) -> tuple[EffectTransform, NDArray[np.int64]]:
        """Return the same, made again."""
        shape = tuple(self.sizes[place] for place in places)
        strides = {place: math.prod(shape[axis + 1 :]) for axis, place in enumerate(places)}
        outside = np.ones(len(self.sizes), dtype=np.bool_)
        outside[list(places)] = False
        inside = np.flatnonzero(~self._members[:, outside].any(axis=1))
        chosen, source = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for row in inside.tolist():
            steps = [np.arange(1, self.sizes[place]) * strides[place] for place in self.effects[row]]
            chosen.append(reduce(np.add.outer, steps).ravel())
            source.append(self._coordinates(self.effects[row]))
        return EffectTransform(shape, np.concatenate(chosen)), np.concatenate(source)

    def replaced(self, places: NDArray[np.int64], values: Array) -> Self:
        """Return the same with other averages of some coordinates."""
        other = copy(self)
        other.values = self.values.copy()
        other.values[places] = values
        return other
