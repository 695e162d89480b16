"""Patterns to begin with: blocks of types, thresholds of a Gaussian field, cosets of a linear code.

**Thresholds of a Gaussian field whose second moments are those of the spectral dual.**
The dual's optimum asks for the moments of the law of patterns with weights w/(pi.v)^2: mass, mean and second
moments. A pair of types is in the set together with a known probability; the correlation of two normal
variables whose thresholds give it is found by bisection of Plackett's integral.

**Base sets for the cube: unions of few cosets of a linear code whose checks are queried.**
A set of types that depends on h parities of the bits alone has all of its spectrum on the 2^h characters that
these parities span. Where all of them are asked for, nothing of a report is spent on what nobody asks. With a
share of 1/2^h of the types near 1/(E + 1) such sets come close to the trace bound.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.patterns import Array, Sets
from mechdesign.families.workload.simple_reports import best_subset_size, cell_sets

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
    named = problem.queries.named is not None and problem.queries.given["name"] == "marginals"
    levels = [[1, size] if named else _levels(size) for size in sizes]
    chosen = list(itertools.product(*levels))
    if named:
        order = int(problem.queries.given["order"])
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
    if problem.queries.named is not None and "sizes" in problem.queries.given:
        return tuple(int(size) for size in problem.queries.given["sizes"])
    return (problem.queries.size,)


def _levels(size: int) -> list[int]:
    """Return 1, 2, 4, ... and the size itself."""
    powers = [1 << level for level in range(size.bit_length())]
    return [count for count in powers if count < size] + [size]


def block_patterns(problem: LinearQueries) -> Sets:
    """Return the patterns of subset selection of blocks of neighbouring types, where they are few.

    Examples
    --------
    >>> found = block_patterns(LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=6.0))
    >>> found.astype(int).tolist()
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
HALVINGS = 40
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
    >>> found = tetrachoric(np.zeros(2), np.array([[0.5, 1 / 3], [1 / 3, 0.5]]))  # 1/4 + asin(r)/(2 pi)
    >>> round(float(found[0, 1]), 9)
    0.5
    """
    from scipy.special import ndtr

    size = len(threshold)
    first, last = np.triu_indices(size, 1)
    a, b = threshold[first], threshold[last]
    start = ndtr(-a) * ndtr(-b)
    target = both[first, last] - start
    nodes, weights = leggauss(POINTS)
    squares, product = a**2 + b**2, 2.0 * a * b
    low, high = np.full(len(a), -1.0), np.full(len(a), 1.0)
    for _ in range(HALVINGS):
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
    matrix = np.eye(size)
    matrix[first, last] = matrix[last, first] = (low + high) / 2.0
    return matrix


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
    >>> found = spans(np.array([0, 1, 1, 0, 1, 0, 0, 0], dtype=bool), 1, 20, np.random.default_rng(0))
    >>> sorted(set(found[:, 0].tolist()))
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
