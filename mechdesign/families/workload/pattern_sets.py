"""Patterns to begin with, and ``linear-queries`` with a group of translations, by base sets and translates.

**Thresholds of a Gaussian field whose second moments are those of the spectral dual.**
The dual's optimum asks for the moments of the law of patterns with weights w/(pi.v)^2: mass, mean and second
moments. A pair of types is in the set together with a known probability; the correlation of two normal
variables whose thresholds give it is found by bisection of Plackett's integral.

**Base sets for the cube: unions of few cosets of a linear code whose checks are queried.**
A set of types that depends on h parities of the bits alone has all of its spectrum on the 2^h characters that
these parities span. Where all of them are asked for, nothing of a report is spent on what nobody asks. With a
share of 1/2^h of the types near 1/(E + 1) such sets come close to the trace bound.

**Groups of translations: a handful of base sets and all their translates.**
Where the types are a cycle or the corners of a cube and translating them leaves the Gram matrix G as it is, M
of a set and all its translates has the characters as eigenvectors: m = |z^|^2 / n. The master program is

    minimise  sum g / m   subject to  m = A w,  sum w = 1,  w >= 0

over one eigenvalue per character, and the dual has one number per character, so that 1024 types take seconds.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Outcome
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import DualPrices, shaken
from mechdesign.families.workload.patterns import Array, Sets, Translations, columns_of
from mechdesign.families.workload.query_outcomes import Bound, best_bound, infeasible, outcome, trace_bound
from mechdesign.families.workload.simple_reports import best_subset_size, cell_sets
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.descent import descend
from mechdesign.solvers.interior import Weighing, minimised
from mechdesign.solvers.linear import solve_equality_form

Labels = NDArray[np.int64]

MOST_KINDS = 40

MOST_PATTERNS = 8
"""Patterns per type that one partition adds to a search, at most."""


def partitions_of(problem: LinearQueries) -> list[tuple[str, Labels]]:
    """Return the partitions of the types into blocks, named, the finest last.

    Examples
    --------
    >>> problem = LinearQueries(workload={"name": "prefix", "size": 6}, epsilon=1.0)
    >>> [name for name, _ in partitions_of(problem)]
    ['2 blocks', '4 blocks', '6 blocks']
    """
    sizes = _sizes(problem)
    named = problem.queries.named is not None and problem.queries.definition["name"] == "marginals"
    levels = [[1, size] if named else _levels(size) for size in sizes]
    chosen = list(itertools.product(*levels))
    if named:
        order = int(problem.queries.definition["order"])
        whole = tuple(sizes)
        chosen = [part for part in chosen if sum(count > 1 for count in part) == order or part == whole]
    chosen = sorted((part for part in chosen if math.prod(part) > 1), key=math.prod)[-MOST_KINDS:]
    places = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    partitions = []
    for part in chosen:
        blocks = [place * count // size for place, count, size in zip(places, part, sizes, strict=True)]
        partitions.append((f"{'x'.join(map(str, part))} blocks", np.ravel_multi_index(tuple(blocks), part)))
    return partitions


def _sizes(problem: LinearQueries) -> tuple[int, ...]:
    """Return the numbers of values of the attributes; one attribute where the types are no table."""
    if problem.queries.named is not None and "sizes" in problem.queries.definition:
        return tuple(int(size) for size in problem.queries.definition["sizes"])
    return (problem.queries.size,)


def _levels(size: int) -> list[int]:
    """Return 1, 2, 4, ... and the size itself."""
    powers = [1 << level for level in range(size.bit_length())]
    return [count for count in powers if count < size] + [size]


def block_patterns(problem: LinearQueries) -> Sets:
    """Return the patterns of subset selection of blocks of neighbouring types, where they are few.

    Examples
    --------
    >>> patterns = block_patterns(LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=6.0))
    >>> patterns.astype(int).tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    power, most = math.exp(problem.epsilon), MOST_PATTERNS * problem.queries.size
    patterns = [np.zeros((0, problem.queries.size), dtype=bool)]
    for _, labels in partitions_of(problem):
        cells = int(labels.max()) + 1
        if math.comb(cells, best_subset_size(cells, power)) <= most:
            patterns.append(cell_sets(cells, power)[0][:, labels])
    return np.vstack(patterns)


POINTS = 24
HALVINGS, FEW, PAIRS = 40, 256, 1 << 13
"""Halvings of the interval of a correlation, half as many beyond a few types; pairs that are halved together:
their tables stay in the cache."""

LEAST, MOST = 1e-6, 1.0 - 1e-6


def field_sets(
    mass: float, first: Array, second: Array, power: float, count: int, rng: np.random.Generator
) -> Sets:
    """Return patterns drawn from the field, shape (count, n).

    Parameters
    ----------
    mass, first, second : float, (n,) array, (n, n) array
        Moments of the law of patterns v in {1, E}^n.
    power : float
        E = e^epsilon.
    count : int
    rng : numpy Generator
    """
    single = np.clip((first / mass - 1.0) / (power - 1.0), 0.01, 0.99)
    both = (second / mass - 1.0 - (power - 1.0) * (single[:, None] + single)) / (power - 1.0) ** 2
    threshold = -_normal_quantiles(single)  # a type is in the set when its variable exceeds this
    correlation = tetrachoric(threshold, both)
    levels, turn = np.linalg.eigh(correlation)
    root = turn * np.sqrt(np.maximum(levels, 0.0))
    root /= np.sqrt((root**2).sum(axis=1, keepdims=True))
    field = rng.standard_normal((count, len(root))) @ root.T - threshold
    mean = float(single.sum())
    sizes = np.floor(mean + rng.random(count)).astype(int)
    return top_entries(field, np.clip(sizes, 1, len(root) - 1))


def top_entries(values: Array, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Sets:
    """Return the sets of the largest entries of each row, as many as ``sizes`` says.

    Examples
    --------
    >>> top_entries(np.array([[0.3, 0.1, 0.2]]), np.array([2])).astype(int).tolist()
    [[1, 0, 1]]
    """
    order = np.argsort(-values, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(values.shape[1])[None, :], axis=1)
    sets: Sets = rank < sizes[:, None]
    return sets


def _normal_quantiles(shares: Array) -> Array:
    """Return the quantiles of the normal distribution."""
    from scipy.special import ndtri

    quantiles: Array = ndtri(shares)
    return quantiles


def tetrachoric(threshold: Array, both: Array) -> Array:
    """Return the correlations at which two normal variables exceed both thresholds with chance ``both``.

    Parameters
    ----------
    threshold : (n,) array
    both : (n, n) array

    Examples
    --------
    >>> normal = tetrachoric(np.zeros(2), np.array([[0.5, 1 / 3], [1 / 3, 0.5]]))  # 1/4 + asin(r)/(2 pi)
    >>> round(float(normal[0, 1]), 9)
    0.5
    """
    from scipy.special import ndtr

    size = len(threshold)
    first, last = np.triu_indices(size, 1)
    a, b = threshold[first], threshold[last]
    start = ndtr(-a) * ndtr(-b)
    target = both[first, last] - start
    middle, halvings = np.zeros(len(a)), HALVINGS if size <= FEW else HALVINGS // 2
    for begun in range(0, len(a), PAIRS):
        pairs = slice(begun, begun + PAIRS)
        middle[pairs] = _correlated(a[pairs], b[pairs], target[pairs], halvings)
    matrix = np.eye(size)
    matrix[first, last] = matrix[last, first] = middle
    return matrix


def _correlated(a: Array, b: Array, target: Array, halvings: int) -> Array:
    """Return the correlation r of each pair with ``target`` = integral of the normal density from 0 to r."""
    nodes, weights = leggauss(POINTS)
    squares, product = a**2 + b**2, 2.0 * a * b
    low, high = np.full(len(a), -1.0), np.full(len(a), 1.0)
    for _ in range(halvings):
        middle = (low + high) / 2.0
        end = np.arcsin(middle)
        angle = np.outer(end / 2.0, nodes + 1.0)
        sine = np.sin(angle)
        shape = np.exp(
            -(squares[:, None] - product[:, None] * sine) / (2.0 * np.maximum(1.0 - sine**2, 1e-12))
        )
        reached = (shape @ weights) * end / 2.0 / (2.0 * np.pi)
        above = reached > target
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.asarray((low + high) / 2.0)


def arcs(size: int) -> Sets:
    """Return all arcs of the circle of types of about half of its length, and all single types.

    Examples
    --------
    >>> arcs(3).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]]
    """
    place = np.arange(size)
    sets = [np.eye(size, dtype=bool)]
    for length in sorted({max(2, size // 4), (size + 1) // 2}):
        sets.append((place[None, :] - place[:, None]) % size < length)
    return np.unique(np.vstack(sets), axis=0)[::-1] if size > 3 else np.vstack(sets[:2])


TRIED = 24
"""Generators that are compared for each step of a span."""

Spans = NDArray[np.int64]


def spans(queried: NDArray[np.bool_], dimension: int, count: int, rng: np.random.Generator) -> Spans:
    """Return generators of random spans of characters, most of them asked for; shape (count, dimension).

    Parameters
    ----------
    asked : (n,) array of bool
        Which characters are asked for; n is a power of 2.
    dimension, count : int
    rng : numpy Generator

    Examples
    --------
    >>> patterns = spans(np.array([0, 1, 1, 0, 1, 0, 0, 0], dtype=bool), 1, 20, np.random.default_rng(0))
    >>> sorted(set(patterns[:, 0].tolist()))
    [1, 2, 4]
    """
    characters = np.flatnonzero(queried)
    generators = np.zeros((count, dimension), dtype=np.int64)
    spanned = np.zeros((count, 1), dtype=np.int64)
    rows = np.arange(count)
    for step in range(dimension):
        tried = rng.choice(characters, (count, TRIED if step else 1))
        moved = tried[:, :, None] ^ spanned[:, None, :]
        worth = queried[moved].sum(axis=2).astype(np.float64) + 0.5 * rng.random(tried.shape)
        worth[(moved == 0).any(axis=2)] = -1.0  # in the span already
        generators[:, step] = tried[rows, worth.argmax(axis=1)]
        spanned = np.hstack([spanned, spanned ^ generators[:, step, None]])
    return generators


def cosets(size: int, generators: Spans, number: int, rng: np.random.Generator) -> Sets:
    """Return sets of types: the union of this many cosets for each row of generators, drawn at random.

    Examples
    --------
    >>> cosets(8, np.array([[1, 2]]), 1, np.random.default_rng(0)).sum(axis=1).tolist()
    [2]
    """
    count, dimension = generators.shape
    checks = np.zeros((count, size), dtype=np.int64)
    types = np.arange(size)
    for step in range(dimension):
        checks += _parities(generators[:, step, None] & types) << step
    chosen = rng.permuted(np.tile(np.arange(1 << dimension), (count, 1)), axis=1)[:, :number]
    sets: Sets = (checks[:, None, :] == chosen[:, :, None]).any(axis=1)
    return sets


def _parities(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    bits = numbers.copy()
    for shift in (16, 8, 4, 2, 1):
        bits ^= bits >> shift
    return bits & 1


def code_sets(queried: NDArray[np.bool_], share: float, count: int, rng: np.random.Generator) -> Sets:
    """Return base sets of about this share of the types, shape (at most 4 count, n).

    Parameters
    ----------
    asked : (n,) array of bool
    share : float
        1/(E + 1).
    count : int
        Sets of each kind: one coset of the two nearest codes, and three cosets of the nearest one.
    rng : numpy Generator
    """
    size = len(queried)
    bits = size.bit_length() - 1
    sets = []
    for number in (1, 3):
        exact = np.log2(number / share)
        for dimension in sorted({int(np.floor(exact)), int(np.ceil(exact))}):
            if number < (1 << dimension) and dimension < bits and queried.any():
                sets.append(cosets(size, spans(queried, dimension, count, rng), number, rng))
    return np.unique(np.vstack(sets), axis=0) if sets else np.zeros((0, size), dtype=bool)


MOST_REPORTS = 1 << 20
"""Reports, translates included: the server keeps a counter for each."""

MOST_BASES = 640
"""Base sets that are kept."""

DRAWN, CODES = 600, 1500
"""Base sets that the master program begins with: of fields, and of each kind of codes on a cube."""

ROUNDS = 12
LIKELY, NEWEST = 100, 200
SINGLE = 1e-5
"""The share of the reports that make known what nobody asks for: the shares of single types."""

RIDGES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PERMUTED = 16
"""Copies of a base set of the cube with its bits in another order."""


@dataclass
class Symmetric:
    """The problem in the characters of its group."""

    problem: LinearQueries

    def __post_init__(self) -> None:
        named = self.problem.queries.named
        assert named is not None
        self.group = Translations(self.problem.queries.size, named.group)
        self.power = math.exp(self.problem.epsilon)
        self.levels = np.maximum(self.group.eigenvalues(self.problem.centered[0]), 0.0)
        self.levels[self.levels < 1e-10 * self.levels.max()] = 0.0
        self.levels[0] = 0.0
        queried = self.levels > 0.0
        self.support = np.flatnonzero(queried)
        # one of each pair of characters with equal eigenvalues
        half = np.arange(1, self.group.size) <= self.group.size // 2
        self.representatives = np.flatnonzero(queried & np.append(False, half | (self.group.kind == "cube")))
        twice = 2.0 - (2 * self.representatives == self.group.size) if self.group.kind == "cycle" else 1.0
        self.weights = self.levels[self.representatives] * twice

    @property
    def is_full(self) -> bool:
        """Whether every character is asked for; else single types make all shares known."""
        return len(self.support) == self.group.size - 1

    @property
    def single(self) -> Sets:
        """The base set of one type, shape (1, n)."""
        single: Sets = np.arange(self.group.size)[None, :] == 0
        return single

    # The bound

    def bound(self) -> tuple[WorkloadBound, Array]:
        """Return the dual with one alpha per class, and the eigenvalues of its form on the characters."""
        count = int(self.group.classes.max())
        start = np.zeros(count)
        for ridge in RIDGES:  # keeps the form positive on the characters that nobody asks about
            self.raised = np.maximum(self.levels, ridge * float(self.levels.mean()))
            start = descend(self._lowered, start, np.zeros(count), 500, 1e-13)
        return self._certificate(start)

    def _dual(self, alpha: Array) -> tuple[Array, Array, float, float, float]:
        """Return the row of alpha, the eigenvalues of K0, l, c0 and s, for delta = 1."""
        size = self.group.size
        row = np.append(0.0, alpha)[self.group.classes]
        whole = self.group.eigenvalues(row)
        linear = float(whole[0]) - (self.power + 1.0)
        constant = size * (self.power - float(whole[0]) / 2.0)
        form = 1.0 - whole / 2.0
        zero = float(form[0]) - linear**2 * size / (4.0 * constant) if constant > 0.0 else 1.0
        return row, form, linear, constant, -size * zero

    def _lowered(self, alpha: Array) -> tuple[float, Array]:
        _, form, linear, constant, scale = self._dual(alpha)
        inner = form[1:]
        if constant <= 0.0 or scale <= 0.0 or inner.min() <= 0.0:
            return 1e6, np.zeros_like(alpha)
        roots = np.sqrt(self.raised[1:] * inner)
        total, size = float(roots.sum()), self.group.size
        slopes = np.zeros(size)  # by the eigenvalues of alpha
        slopes[1:] = -roots / inner / 2.0 / total
        ratio = linear / (2.0 * constant)
        by_zero = -0.5 - size * ratio - size * size * ratio**2 / 2.0
        slopes[0] += by_zero * size / scale
        by_row = self.group.eigenvalues(slopes) if self.group.kind == "cube" else np.real(np.fft.fft(slopes))
        by_class = np.bincount(self.group.classes, weights=by_row)[1:]
        return -(2.0 * math.log(total) - math.log(scale)), -np.asarray(by_class, dtype=np.float64)

    def _certificate(self, alpha: Array) -> tuple[WorkloadBound, Array]:
        size = self.group.size
        row, form, _, _, scale = self._dual(alpha)
        inner = np.maximum(form, 1e-12)
        values = np.zeros(size)
        values[self.support] = np.sqrt(inner[self.support] / self.levels[self.support])
        matrix = self.group.matrix(self.group.first_row(values))
        pairs = self.group.matrix(row)
        bound = WorkloadBound(
            self.problem.shares,
            self.problem.directions(matrix),
            np.full(size, scale / size),
            np.ones(size),
            (pairs + pairs.T) / 2.0 if alpha.any() else None,
        )
        return bound, np.sqrt(np.where(inner > 0, self.levels / inner, 0.0))

    # The mechanism

    def spectra(self, sets: Sets) -> Array:
        """Return the eigenvalues of M of each set with its translates, one per representative character."""
        columns = columns_of(sets, self.power)
        scaled = columns / columns.mean(axis=1, keepdims=True)
        spectra: Array = self.group.spectrum(scaled)[:, self.representatives]
        return spectra

    def random_sets(self, moments: Array, count: int, rng: np.random.Generator) -> Sets:
        """Return base sets: thresholds of invariant Gaussian fields, arcs, sets by the number of ones."""
        size = self.group.size
        spectrum = np.sqrt(np.maximum(moments, 1e-6 * moments.max()))
        field = np.concatenate([self._field(spectrum**power, count // 2, rng) for power in (1.0, 1.4)])
        share = size / (1.0 + self.power)
        sizes = np.clip(np.floor(share + rng.random(len(field))).astype(np.int64), 1, size - 1)
        sets = [top_entries(field, sizes)]
        if self.group.kind == "cube":
            sets.append(self._radial())
        else:
            place = np.arange(size)
            lengths = np.unique(np.clip(np.rint(share * np.array([0.8, 0.9, 1.0, 1.1, 1.2])), 1, size - 1))
            sets.append(place[None, :] < lengths[:, None])
        return np.unique(np.vstack(sets), axis=0)

    def _field(self, spectrum: Array, count: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((count, self.group.size))
        if self.group.kind == "cycle":
            field: Array = np.real(np.fft.ifft(np.fft.fft(noise, axis=1) * spectrum, axis=1))
            return field
        row = self.group.first_row(spectrum)
        whole: Array = noise @ self.group.matrix(row)
        return whole

    def reordered(self, sets: Sets, rng: np.random.Generator) -> Sets:
        """Return the sets with the bits of the cube in other orders; none on a cycle."""
        if self.group.kind == "cycle":
            return sets[:0]
        bits = int(self.group.classes.max())
        shaped = sets.reshape(len(sets), *([2] * bits))
        orders = [rng.permutation(bits) + 1 for _ in range(PERMUTED)]
        return np.vstack([shaped.transpose(0, *order).reshape(len(sets), -1) for order in orders])

    def _radial(self) -> Sets:
        """Return sets of the cube that depend on the number of ones, or of agreeing chosen bits, alone."""
        bits = int(self.group.classes.max())
        ones = self.group.classes
        sets = []
        for kinds in itertools.islice(
            itertools.product((False, True), repeat=bits + 1), 1, (1 << bits + 1) - 1
        ):
            sets.append(np.array(kinds)[ones])
        return np.array(sets)

    def solved(self, sets: Sets, accuracy: float) -> tuple[Array, Array, float]:
        """Return weights and moments of base sets, and the average error."""
        solution = minimised(Weighing(self.spectra(sets), self.weights), len(sets), accuracy)
        moments = np.full(self.group.size, float(self.group.size))
        moments[self.representatives] = solution.state.more
        if self.group.kind == "cycle":
            moments[-self.representatives] = solution.state.more
        error = solution.state.value - float(self.levels.sum()) / self.group.size
        return solution.weights, moments, error

    def first(self, moments: Array, rng: np.random.Generator) -> Sets:
        """Return the base sets to begin with."""
        random = self.random_sets(moments, DRAWN, rng)
        if self.group.kind == "cycle":
            return random
        codes = code_sets(self.levels > 0.0, 1.0 / (1.0 + self.power), CODES, rng)
        return np.unique(np.vstack([random[:DRAWN], codes]), axis=0)

    def improved(self, sets: Sets, proven: float, gap: float, rng: np.random.Generator) -> tuple[Sets, Array]:
        """Return base sets with their weights, others found by local search added until the gap is small."""
        weights, moments, error = self.solved(sets, 1e-7)
        for _ in range(ROUNDS):
            used = weights > 1e-6 * weights.max()
            sets, weights = sets[used], weights[used]
            if error <= (1.0 + gap) * proven:
                break
            prices = self.prices(moments)
            likely = sets[np.argsort(-weights)[:LIKELY]]
            starts = np.vstack([likely, *(shaken(likely, share, rng) for share in (0.02, 0.1, 0.25))])
            reached = np.unique(prices.climbed(starts), axis=0)
            reached = reached[np.argsort(-prices.ratios(reached))[:NEWEST]]
            reached = np.vstack([reached, self.reordered(reached[:40], rng)])
            before, error_before = len(sets), error
            sets = np.unique(np.vstack([sets, reached]), axis=0)
            weights, moments, error = self.solved(sets, 1e-7)
            if len(sets) == before or error_before - error < max(1e-6 * error, 0.02 * (error - proven)):
                break
        return sets, weights

    def fewest(self, sets: Sets, weights: Array, rng: np.random.Generator) -> tuple[Sets, Array]:
        """Return weights with the same moments, of at most one base set more than there are characters."""
        if len(sets) <= len(self.representatives) + 1:
            return sets, weights
        rows = np.vstack([self.spectra(sets).T, np.ones(len(sets))])
        rows /= rows.max(axis=1, keepdims=True)
        try:
            corner, _ = solve_equality_form(-rng.random(len(sets)), rows, rows @ weights)
        except MethodError:
            return sets, weights
        used = corner > 0.0
        return sets[used], corner[used]

    def prices(self, moments: Array) -> DualPrices:
        """Return the dual numbers of the master program."""
        size = self.group.size
        rows = self.group.matrix(self.group.first_row(np.sqrt(self.levels)))
        directions = self.group.matrix(self.group.first_row(np.sqrt(self.levels) / moments))
        total = float((self.levels / moments).sum())
        multiplier = np.full(size, total / size)
        return DualPrices(directions, multiplier, rows, self.problem.shares, self.power)


def symmetric_reports(problem: LinearQueries, seed: int = 0, gap: float | None = None) -> Outcome:
    """Return base sets with all their translates, and the dual of the group.

    Parameters
    ----------
    problem : LinearQueries
    seed : int
        Of the base sets that are drawn.
    gap : float, optional
        The gap at which no more base sets are looked for, as a part of the bound: by default
        :attr:`LinearQueries.optimal_within`.
    """
    if problem.epsilon == 0.0:
        return infeasible("group of translations")
    rng = np.random.default_rng(seed)
    work = Symmetric(problem)
    bound, moments = work.bound()
    best = best_bound(problem, [bound, trace_bound(problem)])
    proven = -math.inf if best is None else problem.proven(best)
    close = problem.optimal_within if gap is None else gap
    sets, weights = work.improved(work.first(moments, rng), proven, close, rng)
    sets, weights = work.fewest(sets, weights, rng)
    chosen = np.argsort(-weights)[: min(MOST_BASES, max(8, MOST_REPORTS // work.group.size))]
    if len(chosen) < len(weights):
        sets = sets[chosen]
        if work.is_full:
            sets = np.unique(np.vstack([sets, work.single]), axis=0)
        weights, _, _ = work.solved(sets, 1e-8)
    used = weights > 1e-7 * weights.max()
    sets, weights = sets[used], weights[used]
    if not work.is_full:
        sets, weights = np.vstack([sets, work.single]), np.append(weights, SINGLE * weights.sum())
    return _written(problem, work, sets, weights, best)


def _written(
    problem: LinearQueries, work: Symmetric, sets: Sets, weights: Array, bound: Bound | None
) -> Outcome:
    """Return the outcome: base sets, and the probability of each translate for a type outside of it."""
    size = work.group.size
    amounts = weights / weights.sum() / columns_of(sets, work.power).mean(axis=1) / size
    notes = {"base_sets": len(sets), "reports": len(sets) * size + 1}
    group, kind = work.group, work.group.kind
    source = "group of translations"
    return outcome(problem, sets, amounts, bound, source, notes=notes, group=group, translations=kind)


def why_not_symmetric(problem: LinearQueries) -> str | None:
    """Return why there is no group, or None."""
    named = problem.queries.named
    if named is None or named.group == "none" or problem.weights is not None:
        return "it needs a named workload that translations of the types leave as it is: a cycle or a cube"
    if not isinstance(problem.population, str):
        return "it needs equal shares of all types"
    if problem.queries.size < 8:
        return "all patterns are few enough; use all-columns"
    return None
