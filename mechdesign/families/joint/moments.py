"""Effects of the joint table from one-hot reports: unbiased estimates with their variances.

The debiased bits of an attribute, brought to the sum 1, have coordinates: 1, and one for each row of
Helmert's basis. A product of coordinates over attributes is an unbiased estimate of that coordinate of the
joint table (:mod:`mechdesign.collect.effect_transform`), and its mean over users is had like the
likelihood, from two parts of the attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.effect_transform import EffectTransform, contrasts
from mechdesign.families.joint.likelihood import Likelihood, parts

Array = NDArray[np.float64]

FLOOR = 1e-4
"""Estimated shares of single attributes are moved up to this before their product is a reference."""


class EffectMoments:
    """Means and variances of the effects' coordinates over users.

    Parameters
    ----------
    model : Likelihood

    Attributes
    ----------
    transform : EffectTransform
        From a joint table to the coordinates.
    variance : (cells - 1,) array
        Of a user's coordinate: that over the users, with one user more who is anywhere with the same chance.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> moments = EffectMoments(model)
    >>> moments.mean(model.counts).round(4)  # of 0.7 and 0.3: (0.7 - 0.3) / sqrt 2
    array([0.2828])
    """

    def __init__(self, model: Likelihood) -> None:
        self.model, self.transform = model, EffectTransform(model.sizes)
        split = parts(model.sizes)
        first, second = model.groups
        self._first = self._scores(first, model.sizes[:split])
        self._second = self._scores(second, model.sizes[split:])
        mean = self.mean(model.counts)
        square = self._averaged(self._first**2, self._second**2, model.counts)
        spread = np.maximum(square - mean**2, 0.0)
        self.variance: Array = (model.users * spread + self._at_even_data()) / (model.users + 1.0)

    def _scores(self, groups: NDArray[np.uint8], sizes: Sequence[int]) -> Array:
        """Return the products of coordinates of each group of bits, the last attribute fastest."""
        model, rows, start = self.model, np.ones((len(groups), 1)), 0
        reports = model.chances.shape[1] - 1
        debiased = (groups / reports - model.other) / (model.own - model.other)
        for size in sizes:
            turned = np.ones((len(groups), size))
            turned[:, 1:] = debiased[:, start : start + size] @ contrasts(size)[1:].T
            rows = (rows[:, :, None] * turned[:, None, :]).reshape(len(groups), -1)
            start += size
        return rows

    def _averaged(self, first: Array, second: Array, counts: Array) -> Array:
        from scipy.sparse import csr_matrix

        weights = counts / counts.sum()
        table = csr_matrix(
            (weights, (self.model.place_1, self.model.place_2)), shape=(len(first), len(second))
        )
        found: Array = np.asarray(first.T @ (table @ second)).ravel()[1:]
        return found

    def _at_even_data(self) -> Array:
        """Return the second moments where all cells are equally frequent, for one report of each bit."""
        own, other = self.model.own, self.model.other
        true, false = (share * (1.0 - share) / (own - other) ** 2 for share in (own, other))
        axes = [
            np.concatenate([[1.0], np.full(size - 1, (1.0 + true + (size - 1) * false) / size)])
            for size in self.model.sizes
        ]
        found: Array = reduce(np.multiply.outer, axes).ravel()[1:]
        return found

    def mean(self, counts: Array) -> Array:
        """Return the mean coordinates of the users, ``counts`` of whom sent each distinct report."""
        return self._averaged(self._first, self._second, counts)

    def reference(self, mean: Array) -> Array:
        """Return the product of the single attributes' shares, made positive, from mean coordinates."""
        sizes = self.model.sizes
        table = np.concatenate([[1.0], mean]).reshape(sizes)
        singles = []
        for axis, size in enumerate(sizes):
            place = tuple(slice(1, None) if other == axis else 0 for other in range(len(sizes)))
            shares = np.maximum(1.0 / size + table[place] @ contrasts(size)[1:], FLOOR)
            singles.append(shares / shares.sum())
        found: Array = reduce(np.multiply.outer, singles).ravel()
        return found
