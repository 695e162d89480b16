"""Workloads: the linear queries that an analyst asks, by name or as a matrix, with their Gram matrix.

A query is a row q of numbers, one per type; its answer for a population with shares p is q.p. The Gram matrix
sum over queries of weight x q q^T is all that the error depends on, and for the large workloads it has a
closed form: no row is ever written down to design a mechanism.

Workloads with a name are cumulative distributions, ranges, marginals, parities, means, and events.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted, suggestion
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.validation import finite_array, in_range, integer
from mechdesign.core.values import dependent_field, frozen_value, value_field
from mechdesign.exact.numbers import frozen
from mechdesign.families.workload.workload_bound import Enclosure, is_positive

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


MOST_TYPES = 1 << 12
"""More types are refused: the Gram matrix and its factors would not fit into memory."""

FACTOR_ROWS = 4
"""Queries per type up to which bounds are proven with the queries themselves."""

LARGEST_ENTRY = 1e75
"""The largest number of a matrix: squares and their products are numbers of the bounds."""

LIGHTEST = 1e-100
"""The least that the largest weight may be: its square is a number of the bounds."""

MOST_ENTRIES = 1 << 25
"""Entries of a matrix of queries that is written down: 256 MiB."""


@frozen_value(eq=False)
class Workload:
    """Linear queries about n types.

    Parameters
    ----------
    definition : mapping or (p, n) array
        ``{"name": "prefix", "size": 8}`` or the rows themselves.
    weights : (p,) array, optional
        How much the squared error of each query counts; 1 by default.

    Raises
    ------
    ParameterError
        When the name is unknown, an argument is missing, every query is constant, or a weight is negative.

    Examples
    --------
    >>> workload = Workload({"name": "prefix", "size": 4})
    >>> workload.rows.astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    >>> workload.names
    ['<= 0', '<= 1', '<= 2']
    """

    definition: Any = value_field(
        lambda name, value: value if isinstance(value, Mapping) else query_matrix(value)
    )
    named: Named | None = attrs.field(
        init=False,
        default=attrs.Factory(lambda workload: named_workload(workload.definition), takes_self=True),
    )
    weights: Any = dependent_field(
        lambda workload, name, value: None if value is None else _weights(value, workload.count), default=None
    )

    def __attrs_post_init__(self) -> None:
        if self.size > MOST_TYPES:
            raise ParameterError(
                "workload",
                f"{self.size} types need matrices of {self.size}^2 numbers",
                f"use at most {MOST_TYPES} types, for instance wider bins",
            )
        if self.size < 2:
            raise ParameterError("workload", "has one type", "give at least two types")
        _require_information(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Workload, (self.definition, self.weights)

    given = FormerAttribute("definition")

    @property
    def size(self) -> int:
        """Number of types n."""
        return self.named.size if self.named is not None else int(self.definition.shape[1])

    @property
    def count(self) -> int:
        """Number of queries p."""
        return self.named.count if self.named is not None else int(self.definition.shape[0])

    @property
    def is_listed(self) -> bool:
        """Whether the queries are few enough to be written down, one row each."""
        return self.count * self.size <= MOST_ENTRIES

    @cached_property
    def rows(self) -> Array:
        """The queries without weights, shape (p, n)."""
        if self.named is None:
            rows: Array = self.definition
            return frozen(rows)
        if not self.is_listed:
            raise ParameterError(
                "workload",
                f"{counted(self.count, 'query')} about {self.size} types are too many to be listed",
                "estimate the shares of the types and ask single queries of them",
            )
        return frozen(self.named.rows())

    @cached_property
    def names(self) -> list[str]:
        """A name for each query."""
        if self.named is not None:
            return self.named.names()
        return [f"query {number}" for number in range(self.count)]

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix sum of weight x q q^T, shape (n, n)."""
        if self.weights is None and self.named is not None and self.named.gram is not None:
            return frozen(self.named.gram())
        rows = self.rows if self.weights is None else self.rows * np.sqrt(self.weights)[:, None]
        gram: Array = rows.T @ rows
        return frozen(gram)

    @cached_property
    def gram_error(self) -> Array:
        """An upper bound of the rounding errors of :attr:`gram`, entry by entry; 0 for integers."""
        if self.weights is None and self._is_whole:
            return frozen(np.zeros((self.size, self.size)))
        size = (
            np.abs(self.rows) if self.weights is None else np.abs(self.rows) * np.sqrt(self.weights)[:, None]
        )
        bound: Array = (self.count + 8) * 2.0**-51 * (size.T @ size)
        return frozen(bound)

    @cached_property
    def factor(self) -> tuple[Array, Array]:
        """Rows F with F'F = G, or a little less, and a bound of their rounding errors; shape (r, n) each.

        The weighted queries themselves where they are not many more than the types; else a Cholesky factor of
        the Gram matrix, made a little smaller until it is proven that its queries have no larger error.
        """
        smaller = None if self.count <= FACTOR_ROWS * self.size else self._cholesky()
        if smaller is not None:
            return frozen(smaller), frozen(np.zeros_like(smaller))
        rows = self.rows if self.weights is None else self.rows * np.sqrt(self.weights)[:, None]
        error = np.zeros_like(rows) if self.weights is None else np.abs(rows) * 2.0**-51
        return frozen(rows), frozen(error)

    def _cholesky(self) -> Array | None:
        """Return rows whose error is proven to be no larger, as many as types; None where none are found."""
        level = float(np.trace(self.gram)) / self.size
        for digits in range(12, 1, -1):
            raised = (1.0 - 10.0**-digits) * (self.gram + level)
            try:
                factor: Array = np.asarray(np.linalg.cholesky(raised)).T
            except np.linalg.LinAlgError:
                return None
            if is_dominated(factor, self.gram, self.gram_error):
                return factor
        return None

    @cached_property
    def _is_whole(self) -> bool:
        if self.named is not None and self.named.gram is not None:
            return float(self.gram.max()) < 2.0**52
        rows = self.rows
        return bool((rows == np.rint(rows)).all()) and float((np.abs(rows).T @ np.abs(rows)).max()) < 2.0**52

    def centered(self, population: Array) -> Array:
        """Return the Gram matrix of the queries less their averages over the population."""
        average = self.gram @ population
        centered: Array = self.gram - average[:, None] - average[None, :] + float(population @ average)
        return (centered + centered.T) / 2.0

    def as_json(self) -> Any:
        """Return the source of the workload, as plain values."""
        return dict(self.definition) if self.named is not None else self.definition.tolist()


def is_dominated(rows: Array, gram: Array, gram_error: Array) -> bool:
    """Whether F'F <= G + c 11' is proven for some c >= 0: queries F have no larger errors than those of G.

    Examples
    --------
    >>> is_dominated(0.999 * np.eye(2), np.eye(2), np.zeros((2, 2)))
    True
    """
    factor = Enclosure.of(rows)
    level = float(np.trace(gram)) / len(gram)
    raised = Enclosure.of(gram, gram_error) + Enclosure.of(np.full(gram.shape, level))
    return is_positive(raised - factor.transposed @ factor)


def query_matrix(value: Any) -> Array:
    """Return the queries of a matrix, a row each, or say what is wrong with it."""
    if isinstance(value, str):
        raise ParameterError(
            "workload", f"expected a table or a matrix, got {value!r}", f'write {{name = "{value}", ...}}'
        )
    _require_even_rows(value)
    rows = finite_array("workload", value, 2)
    largest = float(np.abs(rows).max(initial=0.0))
    if largest > LARGEST_ENTRY:
        raise ParameterError("workload", f"{largest:g} is too large", f"give at most {LARGEST_ENTRY:g}")
    if 0.0 < largest < 1.0 / LARGEST_ENTRY:
        raise ParameterError("workload", f"no entry is above {largest:g}", "multiply all by the same number")
    return rows


def _require_even_rows(rows: Any) -> None:
    """Raise ParameterError where a row has more or fewer entries than the first."""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Sized) for row in rows):
        return
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ParameterError(
                "workload",
                f"row {number} has {counted(len(row), 'entry')}, row 0 has {len(rows[0])}",
                "give every query one entry per type",
            )


def named_workload(workload: Any) -> Named | None:
    """Return the named workload that a table stands for; None for a matrix."""
    if not isinstance(workload, Mapping):
        return None
    name = workload.get("name")
    if name is None:
        raise ParameterError("workload", "'name' is missing", f"use {', '.join(sorted(NAMED))}")
    if not isinstance(name, str) or name not in NAMED:
        raise ParameterError("workload", f"unknown name '{name}'", suggestion(str(name), NAMED))
    arguments = {str(word): value for word, value in workload.items() if word != "name"}
    return _called(str(name), NAMED[str(name)], arguments)


def _called(name: str, function: Callable[..., Named], arguments: Mapping[str, Any]) -> Named:
    known = function.__kwdefaults__ or {}
    words = [*function.__code__.co_varnames[: function.__code__.co_argcount], *known]
    for word in arguments:
        if word not in words:
            raise ParameterError(f"workload: {name}", f"unknown argument '{word}'", f"use {', '.join(words)}")
    for word in words:
        if word not in known and word not in arguments:
            raise ParameterError(f"workload: {name}", f"'{word}' is missing", f"give {', '.join(words)}")
    return function(**arguments)


def _weights(value: Any, count: int) -> Array:
    weights = finite_array("weights", value, 1)
    if len(weights) != count:
        raise ParameterError(
            "weights", f"expected {counted(count, 'number')}, one per query, got {len(weights)}"
        )
    if (weights < 0.0).any():
        place = int(np.argmax(weights < 0.0))
        raise ParameterError(
            "weights", f"entry {place} is negative ({weights[place]:g})", "give numbers >= 0"
        )
    largest = float(weights.max())
    if largest < LIGHTEST:
        reason = "all are 0" if largest == 0.0 else f"none is above {largest:g}"
        raise ParameterError("weights", reason, "give at least one query a weight such as 1")
    return weights


def _require_information(workload: Workload) -> None:
    """Raise ParameterError where every query has one value for all types, so that nothing is asked."""
    gram = workload.gram
    spread = np.diag(gram) + gram[0, 0] - 2.0 * gram[0]
    if not (spread > 1e-12 * max(float(np.diag(gram).max()), 1e-300)).any():
        raise ParameterError(
            "workload", "every query is constant over the types", "ask queries that distinguish the types"
        )
