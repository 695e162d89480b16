"""The spectral dual of 65 types and more: pairs on a grid, halved by mirror images, grown from few types.

**The same dual, with fewer unknowns.**
:mod:`mechdesign.families.workload.query_outcomes` states the dual: nu and delta in R^n, and alpha_uw >= 0
for pairs of types. For an order of types alpha is smooth: far types are never in a small set together. So
alpha = P A P' off the diagonal, A >= 0 a matrix of at most 256 x 256 levels and P >= 0 the linear
interpolation between them: the identity up to 256 types. Every A >= 0 gives an alpha >= 0, and is proven as
any other point of the dual is. The slope in A is P'HP for the slope H in alpha.

**Halves.** Where the reversal of the types leaves the problem as it is, nu, delta and alpha may be averaged
with their mirror images (the dual is concave and symmetric). Matrices that reversal leaves as they are split
into a block of even and one of odd vectors: a step costs a quarter.

**Scale.** At the optimum the linear form -(E + 1) delta + alpha 1 is small next to its parts, so that alpha
is about E delta / n. In units of E/n the quasi-Newton steps need some hundred iterations at any epsilon; in
units of 1 they stop far from the optimum from epsilon = 5 on. The dual is homogeneous: delta has the mean 1
at each start.

**Growth.** The dual of half as many types, each the average of two neighbours, is stretched to all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import Basis
from mechdesign.families.workload.patterns import Array
from mechdesign.families.workload.query_outcomes import (
    FLAT,
    REFUSED,
    RIDGE,
    Bound,
    Dual,
    SpectralDual,
    best_bound,
    trace_bound,
)
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.descent import descend

FEWEST = 16
"""Types from which the dual is grown."""

MOST_LEVELS = 256
"""Rows of the grid of pairs, at most."""

MOST_OPEN = 320
"""Types in no order up to which each pair has an unknown of its own; beyond, all pairs have the same."""

STEPS = ((64, 240), (160, 300), (320, 80), (640, 60))
"""Quasi-Newton steps up to each number of types; 45 beyond."""

FEWEST_STEPS = 45
TOLERANCE = 1e-11

ROUNDS, LITTLE = 6, 5e-4
"""How often the steps begin again without a memory, while they raise the bound by this part: they stop where
the next point is outside of the domain."""

LEVELS = 60
"""Values of alpha, the same for all pairs, that are compared before the first step."""


@dataclass(frozen=True)
class Halves:
    """Even and odd vectors of n types where reversal is a symmetry; else all vectors in one block.

    Examples
    --------
    >>> halves = Halves(3, True)
    >>> even, odd = halves.blocks(np.diag([1.0, 2.0, 1.0]))
    >>> even.round(9).tolist(), odd.round(9).tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [[1.0]])
    >>> np.diag(halves.whole([even, odd])).round(9).tolist()
    [1.0, 2.0, 1.0]
    """

    size: int
    mirrored: bool

    @classmethod
    def of(cls, centered: Array, population: Array) -> Halves:
        """Return the halves of a problem."""
        return cls(len(population), Basis.of(centered, population).is_mirrored)

    def parts(self, rows: Array) -> list[Array]:
        """Return rows in coordinates of each block, shapes (K, n - n//2) and (K, n//2)."""
        if not self.mirrored:
            return [rows]
        half = self.size // 2
        first, last = rows[:, :half], rows[:, ::-1][:, :half]
        even = (first + last) * math.sqrt(0.5)
        if self.size % 2:
            even = np.hstack([even, rows[:, half : half + 1]])
        return [even, (first - last) * math.sqrt(0.5)]

    def even(self, vector: Array) -> Array:
        """Return the coordinates of a vector that reversal leaves as it is, in the first block."""
        coordinates: Array = self.parts(vector[None, :])[0][0]
        return coordinates

    def back(self, vector: Array) -> Array:
        """Return the vector with these coordinates in the first block."""
        if not self.mirrored:
            return vector
        half = self.size // 2
        first = vector[:half] * math.sqrt(0.5)
        return np.concatenate([first, vector[half:], first[::-1]])

    def blocks(self, matrix: Array) -> list[Array]:
        """Return the blocks of a symmetric matrix that reversal leaves as it is."""
        return [self.parts(part.T)[number].T for number, part in enumerate(self.parts(matrix))]

    def whole(self, blocks: list[Array]) -> Array:
        """Return the matrix with these blocks."""
        if not self.mirrored:
            return blocks[0]
        even, odd = blocks
        size, half = self.size, self.size // 2
        near, far = (even[:half, :half] + odd) / 2.0, (even[:half, :half] - odd) / 2.0
        matrix = np.empty((size, size))
        matrix[:half, :half], matrix[:half, size - half :] = near, far[:, ::-1]
        matrix[size - half :, :half], matrix[size - half :, size - half :] = far[::-1], near[::-1, ::-1]
        if size % 2:
            side = even[:half, half] * math.sqrt(0.5)
            matrix[:half, half] = matrix[half, :half] = side
            matrix[size - half :, half] = matrix[half, size - half :] = side[::-1]
            matrix[half, half] = even[half, half]
        return matrix

    def averaged(self, values: Array) -> Array:
        """Return a vector or a matrix averaged with its mirror image."""
        if not self.mirrored:
            return values
        image = values[::-1] if values.ndim == 1 else values[::-1, ::-1]
        averaged: Array = (values + image) / 2.0
        return averaged


def interpolation(size: int, levels: int) -> Array:
    """Return the matrix that interpolates ``levels`` values to ``size`` places, with entries >= 0.

    Examples
    --------
    >>> interpolation(4, 2).tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    """
    if levels == size:
        return np.eye(size)
    matrix, rows = np.zeros((size, levels)), np.arange(size)
    place = np.clip((rows + 0.5) / size * levels - 0.5, 0.0, levels - 1.0)
    low = np.minimum(place.astype(int), max(levels - 2, 0))
    matrix[rows, low] = 1.0 - (place - low)
    matrix[rows, np.minimum(low + 1, levels - 1)] += place - low
    return matrix


def overlaps(size: int, parts: int) -> Array:
    """Return which part of each of ``size`` equal intervals of a line is in each of ``parts`` intervals.

    Examples
    --------
    >>> overlaps(3, 2).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    ends, own = np.arange(size + 1) * parts, np.arange(parts + 1) * size  # in units of 1 / (size parts)
    last = np.minimum(ends[1:, None], own[None, 1:])
    first = np.maximum(ends[:-1, None], own[None, :-1])
    return np.asarray(np.maximum(last - first, 0) / parts)


@dataclass(frozen=True, eq=False)
class PairedPoint:
    """A point of the dual: nu, delta, and the levels A of alpha."""

    nu: Array
    delta: Array
    levels: Array

    def stretched(self, dual: PairedDual) -> PairedPoint:
        """Return the same profile over the types of another dual."""
        before, size = len(self.nu), len(dual.population)
        along = interpolation(size, before)
        ratio, delta = along @ (self.nu / self.delta), along @ self.delta
        grid = interpolation(dual.grid.shape[1], len(self.levels))
        mean = float(delta.mean())
        nu = (ratio * delta - float(np.mean(ratio * delta))) / mean
        return PairedPoint(nu, delta / mean, grid @ self.levels @ grid.T * (before / size / mean))


class PairedDual:
    """The dual of one workload, population and epsilon, with pairs on a grid.

    Parameters
    ----------
    centered : (n, n) array
        The centered Gram matrix.
    population : (n,) array
    epsilon : float
    grid : (n, m) array
        P >= 0; the identity gives each pair its own unknown.

    Examples
    --------
    >>> problem = LinearQueries(workload={"name": "prefix", "size": 16}, epsilon=8.0)
    >>> dual = PairedDual(problem.centered, problem.shares, 8.0, np.eye(16))
    >>> round(dual.bound(dual.improved(dual.start(), 200)), 4)
    0.0277
    """

    def __init__(self, centered: Array, population: Array, epsilon: float, grid: Array) -> None:
        self.population, self.grid, self.power = population, grid, math.exp(epsilon)
        self.size, self.own = len(population), float(population @ np.diag(centered))
        self.halves = Halves.of(centered, population)
        self.is_open = grid.shape[0] == grid.shape[1]
        self.upper = np.triu_indices(grid.shape[1], 1 if self.is_open else 0)
        self.unit = self.power / self.size
        self._prepare(centered)

    def _prepare(self, centered: Array) -> None:
        """Find roots R of the blocks of the Gram matrix, without the direction of the population."""
        scale = float(np.trace(centered))
        outside = np.eye(self.size) - self.population[:, None]
        raised = centered / scale + RIDGE / self.size * (outside.T @ outside)
        spectra = [np.linalg.eigh(block) for block in self.halves.blocks(centered / scale)]
        top = max(float(values[-1]) for values, _ in spectra)
        if sum(int((values > FLAT * top).sum()) for values, _ in spectra) < self.size - 1:
            spectra = [np.linalg.eigh(block) for block in self.halves.blocks(raised)]
        self.roots = []
        for number, (values, vectors) in enumerate(spectra):
            first = 1 if number == 0 else 0  # the least of the even ones is the direction of the population
            self.roots.append(np.sqrt(np.maximum(values[first:], 0.0))[:, None] * vectors[:, first:].T)
        self.scale = scale

    def start(self) -> PairedPoint:
        """Return the best point with the same delta/pi for all types and the same alpha for all pairs."""
        size, levels = self.size, self.grid.shape[1]
        same = np.ones((levels, levels)) - (np.eye(levels) if self.is_open else 0.0)
        delta = self.population * size
        points = [
            PairedPoint(np.zeros(size), delta, same * (level * self.unit))
            for level in np.append(0.0, np.geomspace(0.01, 2.0, LEVELS))
        ]
        return min(points, key=lambda point: self._lowered(self._packed(point))[0])

    def improved(self, point: PairedPoint, steps: int, tolerance: float = TOLERANCE) -> PairedPoint:
        """Return a better point."""
        low = np.concatenate([np.full(2 * self.size, -np.inf), np.zeros(len(self.upper[0]))])
        return self._read(descend(self._lowered, self._packed(point), low, steps, tolerance))

    def bound(self, point: PairedPoint) -> float:
        """Return the bound of a point, in floating point."""
        return self.scale * math.exp(-self._lowered(self._packed(point))[0]) - self.own

    def whole(self, point: PairedPoint) -> Dual:
        """Return the point with an alpha for each pair of types."""
        return Dual(point.nu, point.delta, self._alpha(point))

    def _alpha(self, point: PairedPoint) -> Array:
        alpha = point.levels.copy() if self.is_open else self.grid @ point.levels @ self.grid.T
        np.fill_diagonal(alpha, 0.0)
        return np.maximum((alpha + alpha.T) / 2.0, 0.0)

    def _packed(self, point: PairedPoint) -> Array:
        return np.concatenate([point.nu, point.delta, point.levels[self.upper] / self.unit])

    def _read(self, point: Array) -> PairedPoint:
        size, levels = self.size, np.zeros((self.grid.shape[1],) * 2)
        levels[self.upper] = np.maximum(point[2 * size :], 0.0) * self.unit
        levels = levels + np.triu(levels, 1).T
        nu, delta, levels = map(self.halves.averaged, (point[:size], point[size : 2 * size], levels))
        return PairedPoint(nu - nu.mean(), delta, levels)

    def _lowered(self, packed: Array) -> tuple[float, Array]:
        """Return minus the logarithm of the bound, and its gradient."""
        point, power, shares = self._read(packed), self.power, self.population
        alpha, refused = self._alpha(point), (REFUSED, np.zeros_like(packed))
        linear = alpha.sum(axis=1) - (power + 1.0) * point.delta
        constant = power * float(point.delta.sum()) - float(alpha.sum()) / 2.0
        if constant <= 0.0:
            return refused
        cross = np.outer(point.nu, shares) / 2.0
        form = cross + cross.T - alpha / 2.0 - np.outer(linear, linear) / (4.0 * constant)
        form[np.diag_indices(self.size)] += point.delta
        blocks, nuclear, inner = self.halves.blocks(form), 0.0, []
        for root, block in zip(self.roots, blocks, strict=True):
            levels, turn = np.linalg.eigh(root @ block @ root.T)
            if levels[0] <= 0.0:
                return refused
            nuclear += float(np.sqrt(levels).sum())
            turned = (turn.T @ root) / np.sqrt(np.sqrt(levels))[:, None]
            inner.append(turned.T @ turned)
        even = self.halves.even(shares)
        try:
            slope = np.linalg.solve(blocks[0], even)
        except np.linalg.LinAlgError:
            return refused
        share = float(even @ slope)
        if share >= 0.0:
            return refused
        inner = [part / nuclear for part in inner]
        inner[0] = inner[0] - np.outer(slope, slope) / share
        gamma = self.halves.whole(inner)
        return -(2.0 * math.log(nuclear) + math.log(-share)), -self._slopes(gamma, linear, constant)

    def _slopes(self, gamma: Array, linear: Array, constant: float) -> Array:
        """Return the gradient of the logarithm of the bound, from its gradient in K."""
        bent = gamma @ linear
        curved = float(linear @ bent) / (4.0 * constant**2)
        by_nu = gamma @ self.population
        by_delta = np.diag(gamma) + (self.power + 1.0) * bent / (2.0 * constant) + self.power * curved
        by_pair = -gamma - (bent[:, None] + bent[None, :]) / (2.0 * constant) - curved
        np.fill_diagonal(by_pair, 0.0)
        if not self.is_open:
            by_pair = self.grid.T @ by_pair @ self.grid
            by_pair[np.diag_indices(len(by_pair))] /= 2.0
        by_level = self.halves.averaged(by_pair)[self.upper] * self.unit
        return np.concatenate([by_nu - by_nu.mean(), by_delta, by_level])


@dataclass(frozen=True, eq=False)
class PairedBound:
    """A bound with the moments of the law of patterns that its dual asks for."""

    bound: Bound
    proven: float
    mass: float
    first: Array
    second: Array


LINES = ("prefix", "likert", "ranges")
"""Workloads about an order of the types."""


ALIKE = 0.1
"""Own queries have an order where neighbouring types differ by at most this part as much as any two."""


def is_about_an_order(problem: LinearQueries) -> bool:
    """Whether neighbouring types are alike: by the name of the queries, or by the distances of the types."""
    if problem.queries.named is not None:
        return problem.queries.definition["name"] in LINES
    gram = problem.centered
    squares, products = gram.diagonal(), gram.diagonal(1)
    between_neighbours = float((squares[:-1] + squares[1:] - 2.0 * products).mean())
    between_any = 2.0 * float(squares.mean() - gram.mean())
    return between_neighbours <= ALIKE * between_any


def paired_bound(problem: LinearQueries) -> PairedBound:
    """Return the bound of the dual with pairs, or the trace bound where that proves more.

    Examples
    --------
    >>> problem = LinearQueries(workload={"name": "prefix", "size": 96}, epsilon=6.0)
    >>> round(paired_bound(problem).proven, 2)  # without pairs nothing above 0 is proven
    4.73
    """
    dual, point = _ascent(problem.centered, problem.shares, problem.epsilon, is_about_an_order(problem))
    whole = dual.whole(point)
    solver = SpectralDual(problem.centered, problem.shares, problem.epsilon, True)
    matrix, multiplier = solver.multipliers(whole)
    own = WorkloadBound(problem.shares, problem.directions(matrix), multiplier, whole.delta, whole.alpha)
    rivals: list[Bound] = [own]
    if isinstance(problem.population, str):
        rivals.append(trace_bound(problem))
    bound = best_bound(problem, rivals) or own
    return PairedBound(bound, problem.proven(bound), *solver.moments(whole))


def _ascent(
    centered: Array, population: Array, epsilon: float, ordered: bool
) -> tuple[PairedDual, PairedPoint]:
    """Return the dual and its best point; for an order begun with half as many types."""
    size = len(population)
    if ordered:
        grid = interpolation(size, min(size, MOST_LEVELS))
    else:
        grid = np.eye(size) if size <= MOST_OPEN else np.ones((size, 1))
    dual = PairedDual(centered, population, epsilon, grid)
    if ordered and size >= 2 * FEWEST:
        joined = overlaps(size, size // 2) * population[:, None]
        shares = joined.sum(axis=0)
        means = joined / shares
        point = _ascent(means.T @ centered @ means, shares, epsilon, True)[1].stretched(dual)
    else:
        point = dual.start()
    steps = next((steps for most, steps in STEPS if size <= most), FEWEST_STEPS)
    for _ in range(ROUNDS):
        before, point = dual.bound(point), dual.improved(point, steps)
        if dual.bound(point) - before <= LITTLE * abs(before):
            break
    return dual, point
