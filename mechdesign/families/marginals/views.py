"""Views, sets of attributes whose tables are released together: what is known beforehand, and their effects.

How far the tables of views disagree, how large a table may be, which marginals the views contain (counted
exactly), which frequency oracles can report the cells of a view, and the error that is to be expected of a
marginal from the precision of the views that share in it.

**Effects** are coordinates of overlapping tables in which consistency is separable. Along every axis of a
table stands an orthonormal basis whose first vector is constant (Helmert's). The coefficients that are
constant along all axes but those of a set B are the effect of B, the part of the marginal on B that no
smaller marginal tells. Two views are consistent exactly when each effect that both have is the same in their
marginals. So the nearest consistent tables in weighted squares average each coefficient by itself, view i
with the weight p_i / C_i, C_i being the number of its cells in a cell of B.

:class:`Observed` holds every effect that one of the views has, averaged, with its precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import reduce
from itertools import combinations, product
from math import comb
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.validation import integer
from mechdesign.exact.numbers import plain_int
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle, cell_variance
from mechdesign.solvers.least_squares import EffectTransform, contrasts

Array = NDArray[np.float64]
View = tuple[int, ...]

MOST_CELLS = 1 << 24
"""Tables with more cells are refused unless a limit is given: 128 MiB of doubles."""


def residual(views: Sequence[Sequence[int]], tables: Sequence[NDArray[np.floating]]) -> float:
    """Return the largest difference between two views in a cell of a marginal that both have.

    Parameters
    ----------
    views : sequence of tuple of int
    tables : sequence of array
        Each of the shape of its attributes' sizes.

    Examples
    --------
    >>> residual([(0, 1), (1,)], [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([4.0, 5.0])])
    1.0
    """
    worst, members = 0.0, [set(view) for view in views]
    for first, view in enumerate(views):
        for second in range(first):
            here = _marginal(tables[first], view, members[second])
            there = _marginal(tables[second], views[second], members[first])
            worst = max(worst, float(np.abs(here - there).max()))
    return worst


def _marginal(table: NDArray[np.floating], view: Sequence[int], attributes: set[int]) -> Array:
    """Return the marginal of a table on those of its attributes that are kept."""
    dropped = tuple(axis for axis, attribute in enumerate(view) if attribute not in attributes)
    summed: Array = table.sum(axis=dropped, dtype=np.float64)
    return summed


def check_views(views: Any, attributes: int) -> list[View]:
    """Return views as tuples of increasing numbers of attributes, or raise ParameterError."""
    if isinstance(views, (str, bytes)) or not isinstance(views, Sequence) or not views:
        raise ParameterError("views", "expected a list of lists of attributes, at least one")
    read = []
    for number, view in enumerate(views):
        members = tuple(plain_int(f"views: view {number}", item) for item in view)
        if not members or list(members) != sorted(set(members)):
            raise ParameterError("views", f"view {number} is not a list of increasing attributes: {members}")
        if members[0] < 0 or members[-1] >= attributes:
            raise ParameterError(
                "views",
                f"view {number} names attribute {members[-1] if members[0] >= 0 else members[0]}",
                f"there are 0 to {attributes - 1}",
            )
        read.append(members)
    return read


def require_cells(attributes: Sequence[int], sizes: Sequence[int], most_cells: int = MOST_CELLS) -> View:
    """Return the attributes, or raise ParameterError when their table would need too much memory."""
    read = tuple(integer("attributes", item, 0, len(sizes) - 1) for item in attributes)
    if not read or len(set(read)) != len(read):
        raise ParameterError("attributes", f"expected different attributes, at least one, got {read}")
    cells = math.prod(sizes[attribute] for attribute in read)
    if cells > most_cells:
        raise ParameterError(
            "marginal",
            f"{len(read)} attributes have {cells} cells ({memory(cells)}), {most_cells} "
            f"({memory(most_cells)}) are allowed",
            "ask for fewer attributes, or allow more",
        )
    return read


def memory(cells: int) -> str:
    """Return the memory that ``cells`` doubles take, in words.

    Examples
    --------
    >>> memory(1 << 24)
    '128 MiB'
    """
    size = 8 * cells
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >> power:
            return f"{-(-size >> power)} {unit}"
    return counted(size, "byte")


MOST_SUBSETS = 1_000_000
"""Orders that need more subsets to be looked at are not looked at."""


def covered_order(views: Sequence[View], attributes: int) -> int:
    """Return the largest k for which every k attributes lie in a view together, as far as it was counted.

    Orders with more than a million subsets of views are not counted; the answer then is a lower bound.

    Examples
    --------
    >>> covered_order([(0, 1), (1, 2), (0, 2)], 3), covered_order([(0, 1), (2,)], 3), covered_order([(0,)], 2)
    (2, 1, 0)
    """
    if any(len(view) == attributes for view in views):
        return attributes
    order = 0
    while order < attributes:
        following = order + 1
        needed = comb(attributes, following)
        within = sum(comb(len(view), following) for view in views)
        if within < needed or within > MOST_SUBSETS:
            break
        if len({subset for view in views for subset in combinations(view, following)}) < needed:
            break
        order = following
    return order


def effect_variance(oracle: Oracle) -> float:
    """Return users times the variance of a table's coordinates other than its sum, the cells being even.

    For any two cells it is variance less covariance. The scores of the k-ary response and of subsets
    sum to 1, so the covariance is -v/(D - 1); those of two independent bits, a draw of users apart, have
    none, and the draw gives -1/D^2, which also stands for the other oracles, whose supports are pairwise
    nearly independent.
    """
    variance, cells = cell_variance(oracle), oracle.labels.size
    if oracle._fixed_support:
        return variance * cells / (cells - 1)
    return variance + 1.0 / cells**2


def noisiest_variance(oracle: Oracle) -> float:
    """Return users times the largest variance that the estimated share of a cell can have."""
    own, other = oracle.support_shares()
    worst = max(share * (1 - share) for share in (own, other))
    return float(worst / (own - other) ** 2) + 0.25


def require_oracle(number: int, oracle: object, cells: int) -> Oracle:
    """Return an oracle that fits a view of ``cells`` cells, or raise ParameterError."""
    where = f"oracles: view {number}"
    if not isinstance(oracle, Oracle):
        raise ParameterError(where, f"{type(oracle).__name__} is not a frequency oracle of this package")
    if isinstance(oracle, KaryResponse) and (oracle.delta or not oracle.keeps_all):
        raise ParameterError(where, "the k-ary response has delta > 0 or keeps some answers only")
    own, other = oracle.support_shares()
    if own <= other:
        raise ParameterError(where, "its reports contain no information about the answers", "raise epsilon")
    if oracle.labels.size != cells:
        raise ParameterError(where, f"is for {oracle.labels.size} cells, the view has {cells}")
    if oracle.labels.names is not None:
        raise ParameterError(where, "has labels of its own", "leave them out, cells are numbers")
    return oracle


def effect_errors(
    attributes: Sequence[int], views: Sequence[View], sizes: Sequence[int], precision: Sequence[float]
) -> float:
    """Return the expected sum of squared errors of a marginal from the noise of the views that share in it.

    The effect of a set B of attributes, averaged over the views i that contain B, contributes
    prod_{b in B} (c_b - 1) / (C_B sum_i p_i / C_i), where C_B and C_i are the cells of the marginal and of
    the view in a cell of B, and p_i one over the variance of a cell. Effects that no view has add nothing.

    Parameters
    ----------
    attributes : sequence of int
    views : sequence of tuple of int
    sizes : sequence of int
    precision : sequence of float
        p_i; 0 for a view without reports.

    Examples
    --------
    >>> effect_errors((0,), [(0, 1), (0, 2)], [2, 2, 2], [1.0, 1.0])  # the mean of two sums of two cells
    1.0
    """
    cells = [float(np.prod([sizes[a] for a in view])) for view in views]
    inside = [set(view) for view in views]
    whole = float(np.prod([sizes[a] for a in attributes]))
    error = 0.0
    for count in range(1, len(attributes) + 1):
        for effect in combinations(attributes, count):
            own, free = float(np.prod([sizes[a] for a in effect])), np.prod([sizes[a] - 1 for a in effect])
            chosen = set(effect)
            sure = sum(
                p * own / c for p, c, view in zip(precision, cells, inside, strict=True) if chosen <= view
            )
            if sure > 0.0:
                error += float(free) * own / (whole * sure)
    return error


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
                within = int(np.prod([shape[axis] for axis in axes if chosen[axis]], dtype=np.int64))
                scales[(slice(None), *where)] = (cells / within) ** 0.5
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
        averaged = self._average(self._turned(vector, back=False), total)
        return self._turned(averaged[self._index] / self._scale, back=True)

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
    >>> observed = Observed([(0, 1), (1,)], [np.eye(2) / 2, np.array([0.75, 0.25])], [2, 2], np.ones(2))
    >>> observed.single(1).round(4), observed.tie(0, 1) > observed.tie(0, 0)
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

        It is what :func:`~mechdesign.families.marginals.views.effect_errors` says, from the precision that
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
        joint: Array = reduce(np.multiply.outer, [shares / shares.sum() for shares in singles]).ravel()
        return joint

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
