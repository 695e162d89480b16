"""The master program of patterns: their best weights, what epsilon is worth at these, and the pricing.

**Weights, by a primal-dual interior-point method.**
minimise  tr(G M(w)^-1)   subject to  w >= 0,  sum w_y z_y = 1,      M(w) = sum w_y z_y z_y^T

The objective depends on w through the D entries of M only, so every Newton system of K unknowns is reduced to
one of D by Woodbury's identity. Where reversing the types leaves G as it is, patterns stand for themselves
and their mirror image, M is block-diagonal over even and odd vectors, and D is halved.

**What epsilon is worth for weighed patterns, from what the patterns in use are priced at.**
**Statement.** Let the patterns v_s in {1, E}^n have the weights c_s with sum c_s v_s = 1, and let M, B = F~
M^-1 be as in :mod:`mechdesign.families.workload.workload_bound`. With pi, c, B and mu kept,

    L(E) = 2 tr(B F~') - pi.diag(G) - sum_s c_s (|B v_s|^2 / (pi.v_s) - mu.v_s) - 1.mu

is the Lagrangian, and the optimum has the derivative L'(E) where it has one.

*Proof sketch.* tr(F~ M^-1 F~') is the maximum over B of 2 tr(B F~') - tr(B M B'), and M = sum c_s v_s
v_s'/(pi.v_s). So the optimum is a saddle point of L: least over c >= 0, largest over B and mu. No set of
patterns depends on E, so E moves L alone (envelope theorem). For the worst type the optimum is largest over
pi as well.

At an optimum a pattern in use is worth what it costs, |B v_s|^2 = (mu.v_s)(pi.v_s), with equality in the
inequality that proves the bound. The mu that comes closest to all these equations is the dual solution
where the patterns in use determine one, so the channel determines the multipliers.

**Pricing: patterns v with abs(Bv)^2 > (mu.v)(pi.v) at some dual numbers.**
By exchange of one type at a time: such patterns enter the master program; where there are none, nothing is
proven. The bound is checked elsewhere.

**Exact pricing, for one or two queries: the best patterns are those of cells of n intervals or discs.**
With c_u(s) = 2 s.b_u - |s|^2 pi_u - mu_u, |Bv|^2/(pi.v) - mu.v is the maximum over estimates s of the sum of
v_u c_u(s). At the best pattern a type is in the set exactly when c_u(s) > 0: an interval of s for one query
(2n + 1 cells at most), a disc for two (n^2 - n + 2 cells at most). Every cell has a corner, or is bounded by
a single circle. :mod:`mechdesign.families.workload.workload_bound` proves what is left.

**Two queries whose plane has symmetries: reflections and exchanges that permute the types.**
A signed permutation R of the two queries is a symmetry if each type u has a type s(u) of the same share with
W~_s(u) = R W~_u. Some optimum has them all (the program is convex: average over the group), and multipliers
with mu_s(u) = mu_u and B_s(u) = R B_u: on a grid of 10 x 10 these are 40 numbers in place of 300. A report
stands for its images.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.patterns import (
    Array,
    OrbitValue,
    Sets,
    Translations,
    columns_of,
    patterns_from,
    pseudo_inverse,
)
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.interior import ProgramState, minimised

CLOSE = 1e-11
"""Complementarity, as a part of the objective, at which the method stops."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Blocks of orthonormal columns in which the moment matrix is block-diagonal."""

    blocks: tuple[Array, ...]

    @classmethod
    def of(cls, centered: Array, population: Array) -> Basis:
        """Return even and odd vectors where reversal is a symmetry, else a single block."""
        size = len(population)
        tolerance = 1e-12 * float(np.abs(centered).max())
        mirrored = np.abs(centered - centered[::-1, ::-1]).max() <= tolerance
        if not mirrored or np.abs(population - population[::-1]).max() > 1e-15:
            return cls((np.eye(size),))
        half = size // 2
        even, odd = np.zeros((size, size - half)), np.zeros((size, half))
        for place in range(half):
            even[[place, -1 - place], place] = np.sqrt(0.5)
            odd[[place, -1 - place], place] = (np.sqrt(0.5), -np.sqrt(0.5))
        if size % 2:
            even[half, half] = 1.0
        return cls((even, odd))

    @property
    def is_mirrored(self) -> bool:
        """Whether a pattern stands for its mirror image as well."""
        return len(self.blocks) == 2

    def moment(self, parts: list[Array]) -> Array:
        """Return the matrix with these blocks."""
        whole = sum(
            (block @ part @ block.T for block, part in zip(self.blocks, parts, strict=True)),
            np.zeros((len(self.blocks[0]),) * 2),
        )
        return np.asarray(whole)


@dataclass(frozen=True, eq=False)
class Weighted:
    """The weights w of the columns, with the multipliers mu of sum w z = 1 and the inverse of M."""

    weights: Array
    multiplier: Array
    inverse: Array
    value: float
    complementarity: float
    steps: int


class Master:
    """The program for fixed columns.

    Parameters
    ----------
    columns : (K, n) array
        Patterns z with pi.z = 1.
    centered : (n, n) array
        The centered Gram matrix.
    population : (n,) array
    basis : Basis
    """

    def __init__(self, columns: Array, centered: Array, population: Array, basis: Basis) -> None:
        self.basis, self.population = basis, population
        self.parts = [columns @ block for block in basis.blocks]
        self.grams = [block.T @ centered @ block for block in basis.blocks]
        even = basis.blocks[0]
        self.left = self.parts[0].T  # the constraint, in coordinates of the even block
        self.right = even.T @ np.ones(len(population))

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature at these weights; None where M is singular."""
        value, slopes = 0.0, np.zeros(len(weights))
        inverses: list[Array] = []
        turned: list[tuple[Array, Array]] = []
        for part, gram in zip(self.parts, self.grams, strict=True):
            moment = (part * weights[:, None]).T @ part
            try:
                factor = np.linalg.cholesky(moment)
            except np.linalg.LinAlgError:
                return None
            root = np.linalg.solve(factor, np.eye(len(factor)))  # M^-1 = root^T root
            levels, turn = np.linalg.eigh(root @ gram @ root.T)
            inverse = np.asarray(root.T @ root)
            inverses.append(inverse)
            turned.append((np.asarray(part @ root.T @ turn), levels))
            value += float(np.sum(gram * inverse))
            slopes -= np.einsum("kn,kn->k", part @ (inverse @ gram @ inverse), part)
        return ProgramState(value, slopes, partial(_factor, turned), inverses)

    def best_weights(self, accuracy: float = CLOSE) -> Weighted:
        """Return the optimal weights and multipliers."""
        solution = minimised(self, len(self.parts[0]), accuracy)
        whole = self.basis.moment(solution.state.more)
        even = self.basis.blocks[0]
        return Weighted(
            solution.weights,
            -(even @ solution.multiplier),
            whole,
            solution.state.value,
            solution.complementarity,
            solution.steps,
        )


def _factor(turned: list[tuple[Array, Array]]) -> Array:
    """Return F with F'F the Hessian of tr(G M^-1) in the weights.

    With M^-1 = T T' and M^-1 G M^-1 = T Diag(l) T' the entry of two columns with the coordinates a = T'z and
    b is sum over i <= j of (l_i + l_j) c_ij^2 a_i a_j b_i b_j, c_ij^2 = 2 off the diagonal.
    """
    factors = []
    for part, levels in turned:
        first, last, twice = _pairs(len(levels))
        rows, scale = part.T.copy(), np.sqrt(np.maximum(levels[first] + levels[last], 0.0)) * twice
        factors.append(rows[first] * rows[last] * scale[:, None])
    return np.vstack(factors)


@lru_cache(maxsize=32)
def _pairs(size: int) -> tuple[Places, Places, Array]:
    """Return the pairs i <= j, and the root of how often each counts."""
    first, last = np.triu_indices(size)
    return first, last, np.where(first == last, 1.0, np.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class PatternWorth:
    """Patterns with their best weights, and the multipliers that belong to them.

    Parameters
    ----------
    centered : (n, n) array
        The Gram matrix G~ of the queries less their averages over the population.
    population : (n,) array
    epsilon : float
        That the weights are best for.
    sets : (K, n) array of bool
    amounts : (K,) array
        The weights c; with a group those of every translate.
    group : Translations, optional
        Each pattern stands for all its translates.

    Examples
    --------
    >>> rows = np.array([[0.5, -0.5]])  # the share of one of two types, by randomized response
    >>> response = PatternWorth(rows.T @ rows, np.full(2, 0.5), 1.0, np.eye(2, dtype=bool),
    ...                         np.full(2, 1.0 / (1.0 + math.e)))
    >>> round(response.lagrangian(1.0), 9)  # E / (E - 1)^2
    0.920673595
    >>> slope = (response.lagrangian(1.001) - response.lagrangian(0.999)) / 0.002
    >>> round(slope, 4), round(-math.e * (math.e + 1) / (math.e - 1) ** 3, 4)
    (-1.9923, -1.9923)
    """

    centered: Array
    population: Array
    epsilon: float
    sets: Sets
    amounts: Array
    group: Translations | None = None

    @cached_property
    def form(self) -> Array:
        """B'B."""
        columns = self._columns(self.epsilon)
        masses = columns @ self.population
        if self.group is None:
            moment = (columns * (self.amounts / masses)[:, None]).T @ columns
            inverse = pseudo_inverse((moment + moment.T) / 2.0)
        else:
            inverse = OrbitValue(self.group, columns * self.amounts[:, None]).inverse
        form: Array = inverse @ self.centered @ inverse
        return form

    @cached_property
    def multiplier(self) -> Array:
        """The prices mu of the equations sum c_s v_s = 1."""
        columns = self._columns(self.epsilon)
        squares, masses = self._earned(columns)
        if self.group is not None:  # every type has the same price, and all prices add up to the value
            return np.full(len(self.population), float(self.amounts @ (squares / masses)))
        roots = np.sqrt(self.amounts / masses)
        multiplier = np.linalg.lstsq(columns * roots[:, None], roots * squares / masses, rcond=1e-9)[0]
        return np.asarray(multiplier, dtype=np.float64)

    def _columns(self, epsilon: float) -> Array:
        return columns_of(self.sets, math.exp(epsilon))

    def _earned(self, columns: Array) -> tuple[Array, Array]:
        """Return |Bv|^2 and pi.v of each pattern."""
        return np.einsum("kn,kn->k", columns @ self.form, columns), columns @ self.population

    @cached_property
    def _each(self) -> Array:
        """How often each pattern counts."""
        copies = 1 if self.group is None else self.group.size
        weights: Array = copies * self.amounts
        return weights

    def lagrangian(self, epsilon: float) -> float:
        """Return the Lagrangian at another epsilon."""
        earned, _ = self._totals(self.epsilon)
        now, paid = self._totals(epsilon)
        own = float(self.population @ np.diag(self.centered))
        return 2.0 * earned - own - now + paid - float(self.multiplier.sum())

    def _totals(self, epsilon: float) -> tuple[float, float]:
        """Return the worth and the cost of all patterns."""
        columns = self._columns(epsilon)
        squares, masses = self._earned(columns)
        return float(self._each @ (squares / masses)), float(self._each @ (columns @ self.multiplier))

    def by_type(self) -> Array:
        """Return by how much a larger e^epsilon for each type alone lowers the error, shape (n,).

        Per unit of e^epsilon for all types the error falls by the sum.
        """
        columns = self._columns(self.epsilon)
        squares, masses = self._earned(columns)
        slopes = (2.0 * columns @ self.form - (squares / masses)[:, None] * self.population) / masses[:, None]
        worth: Array = self._each @ np.where(self.sets, slopes - self.multiplier, 0.0)
        return worth


JUMPS = 20
"""Steps to the maximum of the tangent, at most."""

FLIPS = 60
"""Exchanges of one start, at most."""

CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class DualPrices:
    """Dual numbers B and mu, scaled so that tr B W~' = 1.mu.

    Parameters
    ----------
    directions : (r, n) array
        B.
    multiplier : (n,) array
    rows : (r, n) array
        The centered queries W~.
    population : (n,) array
    power : float
        E = e^epsilon.
    """

    directions: Array
    multiplier: Array
    rows: Array
    population: Array
    power: float

    @classmethod
    def of(cls, bound: WorkloadBound, rows: Array, power: float) -> DualPrices:
        """Return the numbers of a bound, scaled, which leaves it as it is."""
        factor = float(np.sum(bound.directions * rows)) / float(bound.multiplier.sum())
        directions, multiplier = bound.directions * factor, bound.multiplier * factor**2
        return cls(directions, multiplier, rows, bound.population, power)

    def between(self, bound: WorkloadBound, share: float) -> DualPrices:
        """Return the numbers between these and those of a bound."""
        other = DualPrices.of(bound, self.rows, self.power)
        directions = (1.0 - share) * self.directions + share * other.directions
        multiplier = (1.0 - share) * self.multiplier + share * other.multiplier
        return DualPrices(directions, multiplier, self.rows, self.population, self.power)

    @property
    def form(self) -> Array:
        """The matrix B'B."""
        form: Array = self.directions.T @ self.directions
        return form

    def ratios(self, sets: Sets) -> Array:
        """Return |Bv|^2 / ((mu.v)(pi.v)) for each set; infinite where mu.v is not positive."""
        columns = columns_of(sets, self.power)
        top = np.maximum(np.einsum("kn,kn->k", columns @ self.form, columns), 0.0)
        mass = columns @ self.multiplier
        with np.errstate(over="ignore"):  # infinite where weights differ by more than doubles divide
            ratios: Array = top / np.maximum(mass * (columns @ self.population), 1e-300)
        ratios[mass <= 0.0] = np.inf
        return ratios

    def climbed(self, sets: Sets) -> Sets:
        """Return local maxima of |Bv|^2 - (mu.v)(pi.v) under the exchange of one type, one per start."""
        form, mu, pi = self.form, self.multiplier, self.population
        step = self.power - 1.0
        sets = self._jumped(sets, form)
        active = np.arange(len(sets))
        columns = columns_of(sets, self.power)
        applied, masses, shares = columns @ form, columns @ mu, columns @ pi
        fixed = step**2 * (np.diag(form) - mu * pi)
        for _ in range(FLIPS):
            signs = np.where(sets[active], -step, step)
            linear = 2.0 * applied[active] - shares[active, None] * mu - masses[active, None] * pi
            gains = signs * linear + fixed
            best = gains.argmax(axis=1)
            rows = np.arange(len(active))
            better = gains[rows, best] > 1e-12 * np.abs(masses[active] * shares[active])
            if not better.any():
                break
            active, best, moved = active[better], best[better], signs[rows, best][better]
            sets[active, best] = ~sets[active, best]
            applied[active] += moved[:, None] * form[best]
            masses[active] += moved * mu[best]
            shares[active] += moved * pi[best]
        return sets

    def _jumped(self, sets: Sets, form: Array) -> Sets:
        """Maximise the tangent of the convex |Bv|^2/(pi.v) - mu.v over all patterns, repeatedly."""
        for _ in range(JUMPS):
            columns = columns_of(sets, self.power)
            applied, shares = columns @ form, columns @ self.population
            squares = np.einsum("kn,kn->k", applied, columns) / shares
            slopes = (2.0 * applied - squares[:, None] * self.population) / shares[:, None] - self.multiplier
            moved = slopes > 0.0
            proper = moved.any(axis=1) & ~moved.all(axis=1)
            moved[~proper] = sets[~proper]
            if (moved == sets).all():
                break
            sets = moved
        return sets.copy()

    def worst_of_all(self, count: int) -> tuple[Sets, float]:
        """Return the patterns with the largest ratios among all of them, and the largest ratio."""
        size = len(self.population)
        worst: list[Sets] = []
        tops: list[Array] = []
        for first in range(0, 1 << size, CHUNK):
            sets = patterns_from(first, min(first + CHUNK, 1 << size), size)
            ratios = self.ratios(sets)
            chosen = np.argsort(-ratios)[:count]
            worst.append(sets[chosen])
            tops.append(ratios[chosen])
        together, values = np.vstack(worst), np.concatenate(tops)
        order = np.argsort(-values)[:count]
        return together[order], float(values[order[0]])


def shaken(sets: Sets, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the sets with this share of their entries flipped at random."""
    flipped: Sets = sets ^ (rng.random(sets.shape) < share)
    return flipped


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
        matrices, maps = [], []
        for order, signs in itertools.product(((0, 1), (1, 0)), itertools.product((1.0, -1.0), repeat=2)):
            turn = np.diag(signs)[:, order]
            image, target = turn @ rows, np.empty(rows.shape[1], dtype=np.int64)
            target[_sorted(image / size, shares)] = _sorted(rows / size, shares)
            same = np.abs(rows[:, target] - image).max() <= SAME * size
            if same and np.abs(shares[target] - shares).max() <= SAME:
                matrices.append(target)
                maps.append(turn)
        return cls(np.array(matrices), np.array(maps))

    @cached_property
    def basis(self) -> Array:
        """Vectors (mu, B) that the group leaves as they are: columns of 1, -1 and 0, disjoint; (3n, k)."""
        size, kinds = self.moved.shape[1], np.abs(self.maps).argmax(axis=1)
        whole = np.array([[0, *(1 + kind)] for kind in kinds])  # where mu and each query go
        signs = np.array([[1.0, *turn.sum(axis=0)] for turn in self.maps])
        seen, vectors = np.zeros(3 * size, dtype=bool), []
        for number in range(3 * size):
            part, place = divmod(number, size)
            if not seen[number]:
                column = np.zeros(3 * size)
                np.add.at(column, whole[:, part] * size + self.moved[:, place], signs[:, part])
                seen[whole[:, part] * size + self.moved[:, place]] = True
                if column.any():
                    vectors.append(np.sign(column))
        return np.array(vectors).T

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
        first: Sets = own >= others - 1e-9 * np.abs(own).max(initial=0.0)
        return first

    def images(self, sets: Sets, weights: Array) -> tuple[Sets, Array]:
        """Return all images of patterns, with even parts of their weights."""
        images = np.zeros((len(self.maps), *sets.shape), dtype=bool)
        for image, target in zip(images, self.moved, strict=True):
            image[:, target] = sets
        return images.reshape(-1, sets.shape[1]), np.tile(weights / len(self.maps), len(self.maps))


def _sorted(*rows: Array) -> Places:
    """Return the order of columns by their numbers; equal ones by their place."""
    return np.lexsort(np.round(np.vstack(rows), 8) + 0.0)


Types = NDArray[np.int64]

BLOCK = 1 << 14


def cell_patterns(prices: DualPrices, group: Reflections | None = None) -> Sets:
    """Return the patterns of all cells, distinct, without the empty and the whole one; some image of each."""
    places, open_types = _line(prices) if len(prices.directions) == 1 else _plane(prices)
    if group is not None:  # a crossing of two circles for all its images
        representative = group.first(places) | (open_types[:, 0] == open_types[:, -1])
        places, open_types = places[representative], open_types[representative]
    patterns = []
    for first in range(0, len(places), BLOCK):
        part, types = places[first : first + BLOCK], open_types[first : first + BLOCK]
        values = 2.0 * part @ prices.directions - (part**2).sum(axis=1)[:, None] * prices.population
        sets = values > prices.multiplier
        rows = np.arange(len(sets))
        for sides in itertools.product((False, True), repeat=types.shape[1]):
            for column, side in zip(types.T, sides, strict=True):
                sets[rows, column] = side
            patterns.append(np.unique(sets, axis=0))
    sets = np.unique(np.vstack(patterns), axis=0)
    return np.asarray(sets[sets.any(axis=1) & ~sets.all(axis=1)])


def violations(prices: DualPrices, group: Reflections | None = None) -> tuple[Sets, Array, Array]:
    """Return the patterns that violate a bound, their estimates, shape (k, r), and by how much.

    Only where the pattern is that of its own estimate: the others violate it less than their neighbours.
    """
    sets = cell_patterns(prices, group)
    columns = columns_of(sets, prices.power)
    applied, masses = columns @ prices.directions.T, columns @ prices.population
    places = applied / masses[:, None]
    excess = (applied**2).sum(axis=1) / masses - columns @ prices.multiplier
    values = 2.0 * places @ prices.directions - (places**2).sum(axis=1)[:, None] * prices.population
    own = ((values > prices.multiplier) == sets).all(axis=1) & (excess > 0.0)
    if not own.any():
        own = excess > 0.0
    if group is not None:
        own &= group.first(places)
    return np.asarray(sets[own]), np.asarray(places[own]), np.asarray(excess[own])


def cell_estimates(prices: DualPrices, count: int) -> Array:
    """Return the estimates of the patterns that violate a bound most; shape (at most count, r)."""
    _, places, excess = violations(prices)
    estimates: Array = places[np.argsort(-excess)[:count]]
    return estimates


def _discs(prices: DualPrices) -> tuple[Array, Array]:
    """Return centres, shape (r, n), and radii of where each type is positive; 0 where nowhere."""
    centres = prices.directions / prices.population
    squares = (centres**2).sum(axis=0) - prices.multiplier / prices.population
    return centres, np.sqrt(np.maximum(squares, 0.0))


def _line(prices: DualPrices) -> tuple[Array, Types]:
    """Return all ends of intervals, shape (m, 1), and whose they are: the type is in the set on one side."""
    centres, radii = _discs(prices)
    ends = np.concatenate([centres[0] - radii, centres[0] + radii])
    middles = np.unique(ends)
    middles = (middles[1:] + middles[:-1]) / 2.0  # where several types have the same end
    types = np.concatenate([np.tile(np.arange(len(radii)), 2), np.zeros(len(middles), dtype=np.int64)])
    return np.concatenate([ends, middles])[:, None], types[:, None]


def _plane(prices: DualPrices) -> tuple[Array, Types]:
    """Return all crossings of two circles and the tops of all circles, shape (m, 2), and whose they are."""
    centres, radii = _discs(prices)
    first, last = np.triu_indices(len(radii), 1)
    apart = centres[:, last] - centres[:, first]
    distance = np.hypot(*apart)
    meet = (distance > 0.0) & (distance <= radii[first] + radii[last])
    meet &= distance >= np.abs(radii[first] - radii[last])
    first, last, apart, distance = first[meet], last[meet], apart[:, meet] / distance[meet], distance[meet]
    along = (distance**2 + radii[first] ** 2 - radii[last] ** 2) / (2.0 * distance)
    across = np.sqrt(np.maximum(radii[first] ** 2 - along**2, 0.0))
    turned = np.array([-apart[1], apart[0]])
    base = centres[:, first] + along * apart
    tops = centres + np.array([[0.0], [1.0]]) * radii
    alone = np.arange(len(radii))
    types = np.vstack([np.column_stack([first, last])] * 2 + [np.column_stack([alone, alone])])
    return np.hstack([base + across * turned, base - across * turned, tops]).T, types
