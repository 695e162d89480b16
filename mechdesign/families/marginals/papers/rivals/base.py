"""What the rivals share: checked attributes, a release, its error, and the refusal of what is too large.

Made from sizes, epsilon and order, they randomize and estimate in memory with the exact oracles of this
package. ``MarginalRival`` makes of those that collect locally a mechanism with a file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mechdesign.collect.frequency_estimate import project_to_simplex
from mechdesign.collect.sealed import Sealed
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.exact.randomness import Rng
from mechdesign.families.marginals.papers.rivals.cells import Array, CellOracle, Codes

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

    def wanted(self, attributes: Sequence[int], most: int | None = None) -> tuple[int, ...]:
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
