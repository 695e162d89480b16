"""What the rivals share: checked attributes, an oracle for cells, a release and its error.

Made from sizes, epsilon and order, they randomize and estimate in memory with the exact oracles of this
package, and refuse what is too large. ``MarginalRival`` makes of those that collect locally a mechanism with
a file.

The oracle for the cells of a table is the thesis's adaptive one (:class:`CellOracle`): randomized response
while D - 2 < 3 e^epsilon, else optimised unary encoding (Zhang 2019, section 3.3.2). For both, a report
supports its own cell with probability p and any other one with q, so that the estimate of a cell is (share of
supporting reports - q) / (p - q).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.estimate import project_to_simplex
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.families.marginals.oracles import UnaryEncoding
from mechdesign.families.marginals.oracles.best import prefers_response
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle, Shares

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class CellOracle:
    """Reports about one of D cells, counted and estimated without intervals.

    Parameters
    ----------
    mechanism : KaryResponse or UnaryEncoding

    Examples
    --------
    >>> [type(CellOracle.adaptive(cells, 1.0).mechanism).__name__ for cells in (4, 64)]
    ['KaryResponse', 'UnaryEncoding']
    """

    mechanism: Oracle

    @classmethod
    @lru_cache(maxsize=8)
    def response(cls, cells: int, epsilon: float) -> CellOracle:
        """Return randomized response."""
        return cls(KaryResponse.of(cells, epsilon)).useful()

    @classmethod
    @lru_cache(maxsize=8)
    def adaptive(cls, cells: int, epsilon: float) -> CellOracle:
        """Return the oracle of the thesis's rule."""
        if prefers_response(cells, epsilon):
            return cls.response(cells, epsilon)
        return cls(UnaryEncoding.optimised(cells, epsilon)).useful()

    def useful(self) -> CellOracle:
        """Return it, or raise ParameterError where reports say nothing."""
        if self.own <= self.other:
            raise ParameterError("epsilon", "is so small that reports contain no information", "raise it")
        return self

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.mechanism.labels.size

    @property
    def is_unary(self) -> bool:
        """Whether a report is a set of cells, each decided on its own."""
        return isinstance(self.mechanism, UnaryEncoding)

    @cached_property
    def shares(self) -> Shares:
        """The probabilities p and q, exactly, for the integers that are drawn by."""
        return self.mechanism.support_shares()

    @property
    def own(self) -> float:
        """The probability p that a report supports the user's cell."""
        return float(self.shares[0])

    @property
    def other(self) -> float:
        """The probability q that it supports another one."""
        return float(self.shares[1])

    @property
    def gain(self) -> float:
        """The difference p - q, computed exactly before it is rounded."""
        return float(self.shares[0] - self.shares[1])

    def certificate(self) -> Certificate:
        """Return the exact certificate of privacy of one report."""
        return self.mechanism.certificates()[0]

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a report for each cell's number."""
        return self.mechanism.draw(codes, source)

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return the number of reports that support each cell."""
        return self.mechanism.count(reports)

    def simulate(self, people: Codes, generator: np.random.Generator) -> Codes:
        """Return counts of support drawn from their exact law, given how many people have each cell.

        The same distribution as counting drawn reports, in O(D) instead of O(n D): for simulations.
        """
        users = int(people.sum())
        if self.is_unary:
            own = generator.binomial(people, self.own)
            added: Codes = own + generator.binomial(users - people, self.other)
            return added
        truths = generator.binomial(people, self.gain)  # with p - q the truth, else a uniform cell
        guessed: Codes = truths + generator.multinomial(
            users - truths.sum(), np.full(self.cells, 1 / self.cells)
        )
        return guessed

    def estimate(self, counts: Codes, users: int) -> Array:
        """Return the unbiased estimates of the shares of people."""
        estimates: Array = (counts / users - self.other) / self.gain
        return estimates

    def summed_variance(self, cells: int | None = None) -> float:
        """Return users times the summed variance of a marginal table of ``cells`` cells, for fixed people.

        A cell of the marginal is the sum of D / ``cells`` cells. Whoever has it adds P (1 - P), the cells
        that he has not Q (1 - Q) each; so the sum does not depend on the data.

        Examples
        --------
        >>> oracle = CellOracle.adaptive(256, 0.5)
        >>> exact = 256 * 4 * np.exp(0.5) / np.expm1(0.5) ** 2 + 1
        >>> bool(abs(oracle.summed_variance(8) / exact - 1) < 1e-12)  # 2^d Var_0 of (3.1), and 1
        True
        """
        count = self.cells if cells is None else cells
        own, other = self.shares
        if self.is_unary:
            spread = own * (1 - own) + (self.cells - 1) * other * (1 - other)
        else:
            merged = self.cells // count
            high, low = own + (merged - 1) * other, merged * other
            spread = high * (1 - high) + (count - 1) * low * (1 - low)
        return float(spread / (own - other) ** 2)


LARGEST = 700.0
"""Above this epsilon there is no noise to speak of."""


class Learned(Protocol):
    """Estimates of the server: any marginal table, unbiased unless stated otherwise."""

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return the shares of people by the attributes' values, one axis an attribute."""


def nearest_table(estimate: Array) -> Array:
    """Return the nearest table that is >= 0 and sums to 1.

    Examples
    --------
    >>> nearest_table(np.array([[0.5, 0.75], [-0.25, 0.0]])).tolist()
    [[0.375, 0.625], [0.0, 0.0]]
    """
    return project_to_simplex(estimate.ravel()).reshape(estimate.shape)


def true_marginal(codes: Codes, sizes: Sequence[int], attributes: Sequence[int]) -> Array:
    """Return the shares of the people themselves.

    Examples
    --------
    >>> true_marginal(np.array([[0, 1], [0, 0], [1, 1], [0, 1]]), (2, 2), (1,)).tolist()
    [0.25, 0.75]
    """
    shape = tuple(sizes[attribute] for attribute in attributes)
    numbers = cell_numbers(codes, sizes, attributes)
    shares: Array = np.bincount(numbers, minlength=math.prod(shape)).reshape(shape) / len(codes)
    return shares


def cell_numbers(codes: Codes, sizes: Sequence[int], attributes: Sequence[int]) -> Codes:
    """Return the number of each person's cell in the table of some attributes, the last one fastest."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for attribute in attributes:
        numbers = numbers * sizes[attribute] + codes[:, attribute]
    return numbers


def gibibytes(numbers: int) -> str:
    """Return the memory that ``numbers`` numbers of 8 bytes take.

    Examples
    --------
    >>> gibibytes(2**32), gibibytes(2**17)
    ('32 GiB', '0.00098 GiB')
    """
    return f"{8 * numbers / 2**30:.2g} GiB"


def spaced(number: int) -> str:
    """Return a whole number with spaces between thousands; of a very large one only its size.

    Examples
    --------
    >>> spaced(10518300), spaced(2**100)
    ('10 518 300', '1.3e+30')
    """
    return f"{number:,}".replace(",", " ") if number < 10**15 else f"{number:.1e}"


@dataclass(frozen=True)
class RivalSetting:
    """Setting from which every rival is made.

    Parameters
    ----------
    sizes : sequence of int
        How many values each attribute has, at least 2 each.
    epsilon : float
        The promise of all that a person reports.
    order : int
        k, the number of attributes of each requested marginal.

    Raises
    ------
    ParameterError
        Naming the field.
    """

    sizes: tuple[int, ...]
    epsilon: float
    order: int

    @classmethod
    def of(cls, sizes: Sequence[int], epsilon: float, order: int) -> RivalSetting:
        """Return a checked setting."""
        if len(sizes) == 0:
            raise ParameterError("sizes", "expected a list of integers, one an attribute")
        read = tuple(integer(f"sizes[{place}]", size, 2, 1 << 20) for place, size in enumerate(sizes))
        promised = privacy_epsilon(epsilon)
        if not 2.0**-30 <= promised <= LARGEST:
            raise ParameterError("epsilon", f"{promised:g} is not from {2.0 ** (-30):.3g} to {LARGEST:g}")
        return cls(read, promised, integer("order", order, 1, len(read)))

    @property
    def attributes(self) -> int:
        """Number of attributes, d."""
        return len(self.sizes)

    def cells(self, attributes: Sequence[int]) -> int:
        """Return the number of cells of a table."""
        return math.prod(self.sizes[attribute] for attribute in attributes)

    def places(self, attributes: Sequence[int], most: int | None = None) -> tuple[int, ...]:
        """Return the attributes of a marginal, increasing and at most ``most``, or raise ParameterError."""
        limit = self.attributes - 1
        read = tuple(integer(f"attributes[{i}]", item, 0, limit) for i, item in enumerate(attributes))
        if not read or list(read) != sorted(set(read)):
            raise ParameterError("attributes", f"{list(read)} are not increasing", "name each once, in order")
        if most is not None and len(read) > most:
            raise ParameterError(
                "attributes",
                f"{len(read)} attributes, but what was collected answers {most} at most",
                f"collect with order = {len(read)}",
            )
        return read

    def people(self, codes: Any) -> Codes:
        """Return the values of all people, shape (n, d), or raise DataError naming row and attribute."""
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != self.attributes or len(array) == 0:
            raise DataError(
                "codes", f"expected a table of {self.attributes} columns, got shape {array.shape}"
            )
        if array.dtype.kind not in "iu":
            raise DataError("codes", "expected integers, the number of a value from 0")
        wrong = (array < 0) | (array >= np.array(self.sizes))
        if wrong.any():
            row, column = (int(place) for place in np.argwhere(wrong)[0])
            most = self.sizes[column] - 1
            raise DataError(
                "codes", f"row {row + 1}, attribute {column}: {array[row, column]} is not from 0 to {most}"
            )
        return array.astype(np.int64, copy=False)


class Rival(Sealed, ABC):
    """One way to release marginals, for comparison.

    Parameters
    ----------
    sizes, epsilon, order
        See :class:`Setting`.

    Raises
    ------
    ParameterError
        Where it cannot be done, saying what it would need.
    """

    name: ClassVar[str]

    def __init__(self, sizes: Sequence[int], epsilon: float, order: int) -> None:
        self.setting = RivalSetting.of(sizes, epsilon, order)
        self._oracles: dict[int, CellOracle] = {}
        reason = self.why_not()
        if reason is not None:
            raise ParameterError(self.name, reason)

    def __repr__(self) -> str:
        sizes, epsilon, order = self.setting.sizes, self.setting.epsilon, self.setting.order
        return f"{type(self).__name__}({len(sizes)} attributes, epsilon={epsilon:g}, order={order})"

    def why_not(self) -> str | None:
        """Return why it is impossible, with the size it would need; None if it is possible."""
        return None

    # The oracles

    @property
    def report_epsilon(self) -> float:
        """The guarantee of one report of a person."""
        return self.setting.epsilon

    def make_oracle(self, cells: int) -> CellOracle:
        """Return the oracle for ``cells`` cells, made from epsilon."""
        return CellOracle.adaptive(cells, self.setting.epsilon)

    def oracle_for(self, cells: int) -> CellOracle:
        """Return the oracle for ``cells`` cells, always the same one."""
        if cells not in self._oracles:
            self._oracles[cells] = self.make_oracle(cells)
        return self._oracles[cells]

    def using(self, oracles: Iterable[CellOracle]) -> Self:
        """Return the same with these oracles, from a file, instead of those that would be made.

        Raises
        ------
        CertificateError
            For one that promises less than a report of this rival has to.
        """
        oracles = list(oracles)
        for oracle in oracles:
            if oracle.mechanism.epsilon > self.report_epsilon:
                raise CertificateError(
                    "oracles",
                    f"one for {oracle.cells} cells has a guarantee of epsilon {oracle.mechanism.epsilon:g}",
                    f"a report has {self.report_epsilon:g}",
                )
        return self.replaced(_oracles={oracle.cells: oracle for oracle in oracles})

    @abstractmethod
    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificates of privacy of all that a person reports."""

    @abstractmethod
    def randomize(self, codes: Any, rng: Rng = None) -> Any:
        """Return the reports of all people, each drawn by an exact oracle."""

    @abstractmethod
    def estimate(self, reports: Any) -> Learned:
        """Return the server's estimates from the reports."""

    def release(self, codes: Any, rng: Rng = None) -> Learned:
        """Return the server's estimates about users, shape (n, d), from their reports."""
        return self.estimate(self.randomize(codes, rng))

    @abstractmethod
    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the expected sum of squared errors of a marginal, for these people.

        With the people's own ``table`` of that marginal it is exact; without it, what depends on the data
        is replaced by its largest value.
        """


MOST_KINDS = 2000
"""Combinations of sizes that are looked at."""


def extreme_marginals(sizes: Sequence[int], order: int) -> list[tuple[int, ...]]:
    """Return one marginal of each combination of sizes, for the first MOST_KINDS combinations.

    Examples
    --------
    >>> extreme_marginals([2, 3, 2, 2], 2)
    [(0, 2), (0, 1)]
    """
    places = {size: [place for place, own in enumerate(sizes) if own == size] for size in sorted(set(sizes))}

    def chosen(left: list[int], number: int) -> Iterator[dict[int, int]]:
        if not left:
            if number == 0:
                yield {}
            return
        size, *rest = left
        for many in range(min(number, available[size]), -1, -1):
            for other in chosen(rest, number - many):
                yield {size: many, **other}

    available = Counter(sizes)
    return [
        tuple(sorted(place for size, many in one.items() for place in places[size][:many]))
        for one in islice(chosen(list(places), order), MOST_KINDS)
    ]
