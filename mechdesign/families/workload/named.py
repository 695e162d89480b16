"""The workloads that have a name: cumulative distributions, ranges, marginals, parities, means, events."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range, integer

Array = NDArray[np.float64]
Group = Literal["none", "cycle", "cube"]

LARGEST = 1 << 24
"""Types of a named workload before any matrix is made; the limit on types is checked after that."""


@dataclass(frozen=True)
class Named:
    """A workload by its name.

    Attributes
    ----------
    size, count : int
        Number of types and of queries.
    rows : callable
        Makes the (p, n) matrix of queries.
    names : callable
        Makes a name for each query.
    gram : callable or None
        Makes the exact Gram matrix without the rows, where it has a closed form.
    group : {"none", "cycle", "cube"}
        The translations of the types that leave the Gram matrix as it is.
    ordered : bool
        Whether the queries are a cumulative distribution: monotone answers, quantiles.
    """

    size: int
    count: int
    rows: Callable[[], Array]
    names: Callable[[], list[str]]
    gram: Callable[[], Array] | None = None
    group: Group = "none"
    ordered: bool = False


def _size(value: Any, field: str = "size") -> int:
    return integer(f"workload: {field}", value, 2, LARGEST)


def _sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ParameterError("workload: sizes", "expected a list of integers", "for instance [4, 4]")
    sizes = tuple(_size(item, f"sizes[{place}]") for place, item in enumerate(value))
    if math.prod(sizes) > LARGEST:
        raise ParameterError(
            "workload: sizes", f"{math.prod(sizes)} types are too many", "drop an attribute or merge values"
        )
    return sizes


def prefix_rows(size: int) -> Array:
    """Return the cumulative queries without the last one, which is constant.

    Examples
    --------
    >>> prefix_rows(3)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return np.tri(size - 1, size)


def range_rows(size: int) -> Array:
    """Return all ranges [i, j], shape (size (size + 1) / 2, size)."""
    first, last = np.triu_indices(size)
    place = np.arange(size)
    rows: Array = ((place >= first[:, None]) & (place <= last[:, None])).astype(np.float64)
    return rows


def prefix(size: Any) -> Named:
    """Return the shares of at most i, for i = 0 .. size - 2: a cumulative distribution."""
    n = _size(size)

    def gram() -> Array:
        place = np.arange(n)
        inner: Array = n - 1.0 - np.maximum(place[:, None], place).astype(np.float64)
        return inner

    return Named(
        n,
        n - 1,
        lambda: prefix_rows(n),
        lambda: [f"<= {level}" for level in range(n - 1)],
        gram,
        ordered=True,
    )


def likert(size: Any) -> Named:
    """Return the shares of at most each level of a rating scale: a prefix workload of 3 to 11 levels."""
    n = integer("workload: size", size, 2, 32)
    return prefix(n)


def ranges(size: Any) -> Named:
    """Return the shares of all ranges i .. j."""
    n = _size(size)

    def gram() -> Array:
        place = np.arange(n, dtype=np.float64)
        inner: Array = (np.minimum(place[:, None], place) + 1.0) * (n - np.maximum(place[:, None], place))
        return inner

    def names() -> list[str]:
        return [f"{first} to {last}" for first in range(n) for last in range(first, n)]

    return Named(n, n * (n + 1) // 2, lambda: range_rows(n), names, gram)


def cyclic_ranges(size: Any) -> Named:
    """Return the shares of all arcs of a circle of types: hours of a day, directions."""
    n = _size(size)

    def arcs() -> list[tuple[int, int]]:
        return [(start, length) for length in range(1, n) for start in range(n)]

    def rows() -> Array:
        start, length = np.array(arcs()).T
        within: Array = ((np.arange(n) - start[:, None]) % n < length[:, None]).astype(np.float64)
        return within

    def names() -> list[str]:
        return [f"{length} from {start}" for start, length in arcs()]

    def gram() -> Array:
        length = np.arange(1, n)[:, None]
        apart = np.arange(n)
        both = np.maximum(0, length - apart) + np.maximum(0, length - (n - apart))
        both[:, 0] = length[:, 0]
        shared = both.sum(axis=0).astype(np.float64)
        within: Array = shared[(apart[:, None] - apart) % n]
        return within

    return Named(n, n * (n - 1), rows, names, gram, group="cycle")


def histogram(size: Any) -> Named:
    """Return the share of each type."""
    n = _size(size)
    return Named(
        n,
        n,
        lambda: np.eye(n),
        lambda: [f"= {level}" for level in range(n)],
        lambda: np.eye(n),
        group="cycle",
    )


def marginals(sizes: Any, order: Any) -> Named:
    """Return the cells of all marginals of ``order`` attributes with these numbers of values."""
    numbers = _sizes(sizes)
    ways = integer("workload: order", order, 1, len(numbers))
    n = math.prod(numbers)
    subsets = list(itertools.combinations(range(len(numbers)), ways))

    def cells() -> NDArray[np.int64]:
        return np.array(np.unravel_index(np.arange(n), numbers)).T

    def rows() -> Array:
        kinds = cells()
        blocks = []
        for subset in subsets:
            shape = [numbers[place] for place in subset]
            number = np.ravel_multi_index(tuple(kinds[:, list(subset)].T), shape)
            blocks.append(np.equal.outer(np.arange(math.prod(shape)), number).astype(np.float64))
        return np.vstack(blocks)

    def names() -> list[str]:
        queries = []
        for subset in subsets:
            for values in itertools.product(*(range(numbers[place]) for place in subset)):
                queries.append(", ".join(f"x{place} = {v}" for place, v in zip(subset, values, strict=True)))
        return queries

    def gram() -> Array:
        kinds = cells()
        agree = np.zeros((n, n), dtype=np.int64)
        for column in kinds.T:
            agree += np.equal.outer(column, column)
        table = np.array([math.comb(count, ways) for count in range(len(numbers) + 1)], dtype=np.float64)
        queries: Array = table[agree]
        return queries

    count = sum(math.prod(numbers[place] for place in subset) for subset in subsets)
    group: Group = "cube" if set(numbers) == {2} else "none"
    return Named(n, count, rows, names, gram, group=group)


def parities(bits: Any, order: Any) -> Named:
    """Return the parities (values 1 and -1) of every set of 1 to ``order`` bits."""
    d = integer("workload: bits", bits, 1, 24)
    most = integer("workload: order", order, 1, d)
    sets = [chosen for ways in range(1, most + 1) for chosen in itertools.combinations(range(d), ways)]

    def rows() -> Array:
        bit = np.array(np.unravel_index(np.arange(1 << d), [2] * d)).T
        return np.array([1.0 - 2.0 * (bit[:, list(chosen)].sum(axis=1) % 2) for chosen in sets])

    def names() -> list[str]:
        return ["parity of " + ", ".join(f"x{place}" for place in chosen) for chosen in sets]

    return Named(1 << d, len(sets), rows, names, group="cube")


def means(sizes: Any, *, low: Any = 0.0, high: Any = 1.0) -> Named:
    """Return the mean of each coordinate on a grid of equally spaced values in [low, high]."""
    numbers = _sizes(sizes)
    least = in_range("workload: low", low, -1e100, 1e100)
    most = in_range("workload: high", high, least, 1e100, low_open=True)

    def rows() -> Array:
        axes = [np.linspace(least, most, size) for size in numbers]
        return np.array([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])

    def names() -> list[str]:
        return [f"mean of x{place}" for place in range(len(numbers))]

    return Named(math.prod(numbers), len(numbers), rows, names)


def events(slots: Any, most: Any, *, names: Any = None) -> Named:
    """Return the mean number of events in each slot, for users with at most ``most`` events.

    The types are the slots of a user's events, those with fewer events first, as in ``event-counts``.
    """
    count = integer("workload: slots", slots, 2, 64)
    largest = integer("workload: most", most, 1, 3)
    if names is not None and (
        not isinstance(names, Sequence) or isinstance(names, str) or len(names) != count
    ):
        raise ParameterError("workload: names", f"expected a list of {count} names", "give one per slot")
    labels = [str(number) for number in range(count)] if names is None else [str(name) for name in names]

    def rows() -> Array:
        states = [
            state
            for total in range(largest + 1)
            for state in itertools.combinations_with_replacement(range(count), total)
        ]
        return np.array([[state.count(slot) for state in states] for slot in range(count)], dtype=np.float64)

    return Named(math.comb(count + largest, largest), count, rows, lambda: list(labels))


def _grid(sizes: Any, part: Callable[[int], Array], gram: Callable[[int], Array], word: str) -> Named:
    numbers = _sizes(sizes)
    if len(numbers) != 2:
        raise ParameterError(
            "workload: sizes", f"expected two sizes, got {len(numbers)}", "for instance [4, 4]"
        )

    def rows() -> Array:
        products: Array = np.kron(part(numbers[0]), part(numbers[1])).astype(np.float64)
        return products

    def names() -> list[str]:
        counts = [len(part(size)) for size in numbers]
        return [f"{word} {i}, {j}" for i in range(counts[0]) for j in range(counts[1])]

    def both() -> Array:
        products: Array = np.kron(gram(numbers[0]), gram(numbers[1])).astype(np.float64)
        return products

    count = len(part(numbers[0])) * len(part(numbers[1])) if max(numbers) <= 256 else LARGEST
    return Named(math.prod(numbers), count, rows, names, both)


def grid_prefix(sizes: Any) -> Named:
    """Return the shares of x <= i and y <= j on a grid: the two-dimensional cumulative distribution."""

    def gram(size: int) -> Array:
        place = np.arange(size)
        inner: Array = size - np.maximum(place[:, None], place).astype(np.float64)
        return inner

    return _grid(sizes, lambda size: np.tri(size), gram, "up to")


def grid_ranges(sizes: Any) -> Named:
    """Return the shares of all rectangles of a grid."""

    def gram(size: int) -> Array:
        place = np.arange(size, dtype=np.float64)
        inner: Array = (np.minimum(place[:, None], place) + 1.0) * (size - np.maximum(place[:, None], place))
        return inner

    return _grid(sizes, range_rows, gram, "ranges")


NAMED: Mapping[str, Callable[..., Named]] = {
    "prefix": prefix,
    "likert": likert,
    "ranges": ranges,
    "cyclic-ranges": cyclic_ranges,
    "histogram": histogram,
    "marginals": marginals,
    "parities": parities,
    "means": means,
    "events": events,
    "grid-prefix": grid_prefix,
    "grid-ranges": grid_ranges,
}
"""Every named workload by its name in files."""
