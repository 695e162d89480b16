"""Two queries whose plane has symmetries: reflections and exchanges that permute the types.

A signed permutation R of the two queries is a symmetry if each type u has a type s(u) of the same share with
W~_s(u) = R W~_u. Some optimum has them all (the program is convex: average over the group), and multipliers
with mu_s(u) = mu_u and B_s(u) = R B_u: on a grid of 10 x 10 these are 40 numbers in place of 300. A report
stands for its images.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.value import Array, Sets

Places = NDArray[np.int64]

SAME = 1e-10
"""Points that are that close, as a part of the largest coordinate, count as the same."""


@dataclass(frozen=True, eq=False)
class Reflections:
    """A group of symmetries.

    Attributes
    ----------
    moved : (g, n) int array
        Where each type goes.
    maps : (g, 2, 2) array
        Where the estimates go, signed permutations; the identity first.
    """

    moved: Places
    maps: Array

    @classmethod
    def of(cls, rows: Array, shares: Array) -> Reflections:
        """Return all symmetries of two queries, shape (2, n), and shares.

        Examples
        --------
        >>> square = np.array([[-1.0, 1.0, -1.0, 1.0], [-1.0, -1.0, 1.0, 1.0]])
        >>> len(Reflections.of(square, np.full(4, 0.25)).maps)
        8
        >>> len(Reflections.of(square, np.array([0.2, 0.2, 0.3, 0.3])).maps)
        2
        """
        size = float(np.abs(rows).max())
        found, maps = [], []
        for order, signs in itertools.product(((0, 1), (1, 0)), itertools.product((1.0, -1.0), repeat=2)):
            turn = np.diag(signs)[:, order]
            image, target = turn @ rows, np.empty(rows.shape[1], dtype=np.int64)
            target[_sorted(image / size, shares)] = _sorted(rows / size, shares)
            same = np.abs(rows[:, target] - image).max() <= SAME * size
            if same and np.abs(shares[target] - shares).max() <= SAME:
                found.append(target)
                maps.append(turn)
        return cls(np.array(found), np.array(maps))

    @cached_property
    def basis(self) -> Array:
        """Vectors (mu, B) that the group leaves as they are: columns of 1, -1 and 0, disjoint; (3n, k)."""
        size, kinds = self.moved.shape[1], np.abs(self.maps).argmax(axis=1)
        whole = np.array([[0, *(1 + kind)] for kind in kinds])  # where mu and each query go
        signs = np.array([[1.0, *turn.sum(axis=0)] for turn in self.maps])
        seen, found = np.zeros(3 * size, dtype=bool), []
        for number in range(3 * size):
            part, place = divmod(number, size)
            if not seen[number]:
                column = np.zeros(3 * size)
                np.add.at(column, whole[:, part] * size + self.moved[:, place], signs[:, part])
                seen[whole[:, part] * size + self.moved[:, place]] = True
                if column.any():
                    found.append(np.sign(column))
        return np.array(found).T

    def alike(self, places: Array) -> Places:
        """Return numbers of kinds: of estimates, then of pairs of a type and an estimate, type by type.

        The estimates, shape (m, 2), are all images of some.
        """
        count, size = len(places), self.moved.shape[1]
        turned = np.empty((len(self.maps), count), dtype=np.int64)
        scale = np.abs(places).max()
        for row, turn in zip(turned, self.maps, strict=True):
            row[_sorted((places @ turn.T).T / scale)] = _sorted(places.T / scale)
        pairs = self.moved[:, :, None] * count + turned[:, None, :]
        own = np.unique(turned.min(axis=0), return_inverse=True)[1].ravel()
        both = np.unique(pairs.min(axis=0).reshape(size * count), return_inverse=True)[1].ravel()
        return np.concatenate([own, own.max() + 1 + both])

    def first(self, places: Array) -> Sets:
        """Return the estimates, shape (m, 2), that are first among their images, ties included."""
        ahead = np.array([1.0, np.sqrt(2.0) - 1.0 + 1e-3])
        own = places @ ahead
        others = np.max([places @ turn.T @ ahead for turn in self.maps], axis=0)
        found: Sets = own >= others - 1e-9 * np.abs(own).max(initial=0.0)
        return found

    def images(self, sets: Sets, weights: Array) -> tuple[Sets, Array]:
        """Return all images of patterns, with even parts of their weights."""
        found = np.zeros((len(self.maps), *sets.shape), dtype=bool)
        for image, target in zip(found, self.moved, strict=True):
            image[:, target] = sets
        return found.reshape(-1, sets.shape[1]), np.tile(weights / len(self.maps), len(self.maps))


def _sorted(*rows: Array) -> Places:
    """Return the order of columns by their numbers; equal ones by their place."""
    return np.lexsort(np.round(np.vstack(rows), 8) + 0.0)
