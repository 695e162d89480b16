"""Priors and distances of answers, by name or by numbers.

Priors have an entropy, and a report gives information, in bits. Model files name uniform, zipf, geometric and
seeded random priors, and counts of a survey.

Distances are for metric privacy. A spanner is a few pairs of answers from which all distances follow: the
distances over the pairs of a spanner are those of all pairs up to a small factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted, suggestion
from mechdesign.core.validation import finite_array, in_range, integer

Array = NDArray[np.float64]

MAX_SIZE = 100_000_000


def uniform(size: int) -> Array:
    """Return equal probabilities.

    Examples
    --------
    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    count = integer("prior.size", size, 1, MAX_SIZE)
    return np.full(count, 1.0 / count)


def zipf(size: int, exponent: float = 1.0) -> Array:
    """Return probabilities proportional to 1 / rank^exponent.

    Examples
    --------
    >>> zipf(3).round(4)
    array([0.5455, 0.2727, 0.1818])
    """
    count = integer("prior.size", size, 1, MAX_SIZE)
    power = in_range("prior.exponent", exponent, 0.0, 100.0)
    raw = np.arange(1, count + 1, dtype=np.float64) ** -power
    return _normalised(raw)


def geometric(size: int, ratio: float) -> Array:
    """Return probabilities proportional to ratio^rank, 0 < ratio <= 1.

    Examples
    --------
    >>> geometric(3, 0.5).round(4)
    array([0.5714, 0.2857, 0.1429])
    """
    count = integer("prior.size", size, 1, MAX_SIZE)
    factor = in_range("prior.ratio", ratio, 0.0, 1.0, low_open=True)
    return _normalised(factor ** np.arange(count, dtype=np.float64))


def dirichlet(size: int, seed: int, concentration: float = 1.0) -> Array:
    """Return a random prior from a symmetric Dirichlet distribution, repeatable by its seed."""
    count = integer("prior.size", size, 1, MAX_SIZE)
    alpha = in_range("prior.concentration", concentration, 0.0, 1e9, low_open=True)
    generator = np.random.default_rng(integer("prior.seed", seed, 0))
    return _normalised(generator.gamma(alpha, size=count) + np.finfo(float).tiny)


LARGEST_COUNT = 1e100
"""Larger counts have sums beyond double precision."""


def counts(counts: Any, extra: float = 0.0) -> Array:
    """Return probabilities proportional to counts, each enlarged by ``extra``.

    Examples
    --------
    >>> counts([3, 0, 1], extra=0.5).round(4)
    array([0.6364, 0.0909, 0.2727])
    """
    numbers = finite_array("prior.counts", counts, 1)
    more = in_range("prior.extra", extra, 0.0, 1e300)
    if (numbers < 0).any():
        raise ParameterError(
            "prior.counts", f"entry {int(np.argmax(numbers < 0))} is negative", "give counts >= 0"
        )
    if max(float(numbers.max()), more) > LARGEST_COUNT:
        raise ParameterError(
            "prior.counts", f"a count or extra is above {LARGEST_COUNT:g}", "divide all by it"
        )
    if not (numbers + more).any():
        raise ParameterError("prior.counts", "are all 0", "give at least one count, or extra > 0")
    return _normalised(numbers + more)


def _normalised(raw: Array) -> Array:
    # The second division removes the rounding of the first: sums of a million terms are exact enough.
    once = raw / raw.sum()
    twice: Array = once / float(np.sum(once, dtype=np.longdouble))
    return twice


GENERATORS: Mapping[str, Callable[..., Any]] = {
    "uniform": uniform,
    "zipf": zipf,
    "geometric": geometric,
    "dirichlet": dirichlet,
    "counts": counts,
}


SMALLEST = 1e-280
"""Probabilities of reports below this are not divided by."""

TINY = float(np.finfo(np.float64).tiny)


def mutual_information_bits(prior: Array, channel: Array) -> float:
    """Return I(answer; report) = sum_ij pi_i p_ij log2(p_ij / q_j) with q = pi P.

    Examples
    --------
    >>> round(mutual_information_bits(np.array([0.5, 0.5]), np.eye(2)), 12)
    1.0
    >>> mutual_information_bits(np.array([5e-324, 1.0]), np.array([[0.7, 0.3], [0.3, 0.7]])) >= 0.0
    True
    """
    plain = prior @ channel >= SMALLEST
    return float(pattern_information(prior, channel[:, plain]).sum()) + _of_rare_reports(
        prior, channel[:, ~plain]
    )


def _of_rare_reports(prior: Array, channel: Array) -> float:
    """Return the information of reports that are too rare to divide by their probabilities."""
    joint = prior[:, None] * channel
    averages = np.broadcast_to(joint.sum(axis=0), joint.shape)
    positive = joint > 0
    entries, shares = channel[positive], averages[positive]
    return float((joint[positive] * (np.log2(entries) - np.log2(shares))).sum())


def entropy_bits(prior: Array) -> float:
    """Return the entropy of the prior, which no report can tell more than; exact to the last digits.

    Examples
    --------
    >>> round(entropy_bits(np.array([0.5, 0.5])), 12), entropy_bits(np.array([1e-300, 1.0])) < 1e-296
    (1.0, True)
    """
    ordered = np.sort(prior)
    others = ordered[:-1][ordered[:-1] > 0.0]
    missing = min(math.fsum(others.tolist()), 1.0)
    largest = -(1.0 - missing) * math.log1p(-missing) if missing < 1.0 else 0.0
    return math.fsum([*(-others * np.log2(others)).tolist(), largest / math.log(2.0)])


def pattern_information(prior: Array, patterns: Array) -> Array:
    """Return what each column s tells in bits: sum_i pi_i s_i log2(s_i / pi.s).

    With t_i = s_i/(pi.s) - 1, of mean 0, this is pi.s times the mean of (1 + t) log(1 + t) - t. That is
    never negative, so nothing cancels, however small the shares are.

    Examples
    --------
    >>> information = pattern_information(np.array([1e-170, 1.0]), np.array([[3.0], [1.0]]))
    >>> round(float(information[0]) / 1e-170, 9)  # (3 log 3 - 2) / log 2
    1.86949742
    """
    averages = prior @ patterns
    relative = np.empty_like(patterns)
    for place, row in enumerate(patterns):  # the differences are exact where entries are equal
        relative[place] = (prior @ (row - patterns)) / averages
    information: Array = averages * (prior @ _divergence(relative)) / math.log(2.0)
    return information


def _divergence(change: Array) -> Array:
    """Return (1 + t) log(1 + t) - t, which is about t^2/2 near 0; t is at least -1."""
    small = np.abs(change) < 1e-3
    t = np.where(small, change, 0.0)
    series = t * t * (1 / 2 - t * (1 / 6 - t * (1 / 12 - t * (1 / 20 - t / 30))))
    ratio = np.where(small, 1.0, np.maximum(1.0 + change, 0.0))
    divergence: Array = np.where(small, series, ratio * np.log(np.maximum(ratio, TINY)) - (ratio - 1.0))
    return divergence


def distance_matrix(distance: str | Array, size: int) -> Array:
    """Return the (n, n) matrix of a distance given as "line", a matrix or points in the plane.

    Raises
    ------
    ParameterError
        For a wrong shape, a negative or asymmetric entry, or a diagonal that is not zero.

    Examples
    --------
    >>> distance_matrix("line", 3)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if isinstance(distance, str):
        if distance != "line":
            raise ParameterError("distance", f"'{distance}' is not a choice", suggestion(distance, ["line"]))
        places = np.arange(size, dtype=np.float64)
        line: Array = np.abs(places[:, None] - places)
        return line
    if distance.shape == (size, size) and _looks_like_matrix(distance, size):
        return _checked(distance)
    if distance.shape == (size, 2):
        return _between_points(distance)
    raise ParameterError(
        "distance",
        f"has shape {distance.shape[0]} x {distance.shape[1]} for {size} answers",
        f"give {size} x {size}, {counted(size, 'point')} (x, y), or 'line'",
    )


LONGEST_STEP = 1e100
"""The squares of longer steps are beyond double precision."""

MOST_PLACES = 4096
"""Places of a generated grid; all their distances are computed."""


def grid(rows: int, columns: int, step: float = 1.0) -> Array:
    """Return the places (x, y) of a grid, shape (rows columns, 2): x changes first.

    Examples
    --------
    >>> grid(2, 3, 0.5).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]
    """
    high, wide = (integer(f"distance.{name}", n, 1) for name, n in (("rows", rows), ("columns", columns)))
    if high * wide > MOST_PLACES:
        raise ParameterError(
            "distance", f"{high} x {wide} places are more than {MOST_PLACES}", "give a coarser grid"
        )
    apart = in_range("distance.step", step, 0.0, LONGEST_STEP, low_open=True)
    up, across = np.divmod(np.arange(high * wide), wide)
    places: Array = np.column_stack([across, up]) * apart
    return places


DISTANCES_GENERATORS: Mapping[str, Callable[..., Any]] = {"grid": grid}


def _looks_like_matrix(distance: Array, size: int) -> bool:
    return size != 2 or (not distance.diagonal().any() and bool(distance[0, 1] == distance[1, 0]))


def _checked(matrix: Array) -> Array:
    if (matrix < 0).any():
        row, column = np.argwhere(matrix < 0)[0]
        raise ParameterError("distance", f"entry ({row}, {column}) is negative", "give distances >= 0")
    if matrix.diagonal().any():
        raise ParameterError(
            "distance", f"entry {int(np.argmax(matrix.diagonal() != 0))} of the diagonal is not 0"
        )
    if (matrix != matrix.T).any():
        row, column = np.argwhere(matrix != matrix.T)[0]
        raise ParameterError(
            "distance", f"entries ({row}, {column}) and ({column}, {row}) differ", "give a symmetric matrix"
        )
    return matrix


def _between_points(points: Array) -> Array:
    """Return Euclidean distances rounded down, so that a certificate also holds for the true distance."""
    size = len(points)
    matrix = np.zeros((size, size))
    ratios = [[float(number).as_integer_ratio() for number in place] for place in points]
    unit = max((bottom for place in ratios for _, bottom in place), default=1)  # each is a power of two
    whole = [[top * (unit // bottom) for top, bottom in place] for place in ratios]
    for first in range(size):
        for second in range(first):
            across, up = (a - b for a, b in zip(whole[first], whole[second], strict=True))
            square = across * across + up * up
            length = math.hypot(across / unit, up / unit)
            while _is_longer(length, square, unit):
                length = math.nextafter(length, 0.0)
            matrix[first, second] = matrix[second, first] = length
    return matrix


def _is_longer(length: float, square: int, unit: int) -> bool:
    """Whether a length is above the root of a square that is counted in units of ``1 / unit**2``."""
    top, bottom = length.as_integer_ratio()
    return (top * unit) ** 2 > square * bottom**2


ROUNDING = 1e-12
"""A way that is longer than the distance by no more than this part is as long."""


def spanner(distance: Array, stretch: float) -> NDArray[np.int64]:
    """Return pairs i < j so that every distance is at least its shortest way over them / (1 + stretch).

    The greedy spanner: pairs are looked at by rising distance, and kept where no way over those kept so far
    is short enough (Althoefer et al., 1993). Which pairs are kept need not be exact: they say which
    constraints are written down, not what is proven.

    Parameters
    ----------
    distance : (n, n) array
        Symmetric, > 0 off the diagonal.
    stretch : float
        > 0.

    Examples
    --------
    >>> places = np.arange(4.0)
    >>> spanner(abs(places[:, None] - places), 0.1).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    size = len(distance)
    first, second = np.triu_indices(size, 1)
    order = np.argsort(distance[first, second], kind="stable")
    ways = np.full((size, size), np.inf)
    np.fill_diagonal(ways, 0.0)
    pairs = []
    for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True):
        length = float(distance[i, j])
        if ways[i, j] > (1.0 + stretch) * length:
            pairs.append((i, j))
            np.minimum(ways, ways[:, [i]] + (length + ways[j]), out=ways)
            np.minimum(ways, ways[:, [j]] + (length + ways[i]), out=ways)
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def inner_lengths(distance: Array, edges: NDArray[np.int64]) -> Array:
    """Return lengths of the edges, at most their distances, over which every way has at most its distance.

    Every pair has a shortest way over the edges, longer than its distance by some factor; each edge of the
    way is divided by this factor or a larger one. So privacy over the edges with these lengths is privacy
    for all pairs.

    Parameters
    ----------
    distance : (n, n) array
        Symmetric, > 0 off the diagonal.
    edges : (Q, 2) int array
        Of a spanner.

    Examples
    --------
    >>> triangle = np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> inner_lengths(triangle, np.array([[0, 1], [1, 2]])).tolist()
    [1.5, 1.5]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    size = len(distance)
    first, second = edges.T
    graph = csr_array((distance[first, second], (first, second)), shape=distance.shape)
    ways, before = shortest_path(graph, directed=False, return_predecessors=True)
    longer = np.maximum(ways / np.where(np.eye(size, dtype=bool), 1.0, distance), 1.0)
    longer[longer <= 1.0 + ROUNDING] = 1.0
    divisors = np.ones((size, size))
    start, end = np.nonzero(longer > 1.0)
    at = end
    while len(at):
        previous = before[start, at]
        np.maximum.at(divisors, (previous, at), longer[start, end])
        going = previous != start
        start, end, at = start[going], end[going], previous[going]
    divisors = np.maximum(divisors, divisors.T)
    lengths: Array = distance[first, second] / divisors[first, second]
    return lengths
