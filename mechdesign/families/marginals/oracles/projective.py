"""Projective geometry response: report a hyperplane, likelier one through the user's point.

Points and hyperplanes of a projective space over a prime field are numbered without tables. A point is a
vector of F_q^L up to a factor; of its multiples the one stands for it whose last digit that is not 0 is 1.
Read as a number in base q, the lowest digit first, such vectors are those from q^t to 2 q^t - 1 for
t = 0 .. L - 1, so they are numbered from 0 to (q^L - 1)/(q - 1) - 1 by t and by the digits below. A
hyperplane is numbered by the vector that is orthogonal to its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import prime_from
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.oracles.blocks import BlockDesign, NumberedBlocks
from mechdesign.work.records import dataclass

CELLS = 1 << 20
"""Products of points and hyperplanes that are looked at at a time."""


@dataclass(frozen=True)
class ProjectiveSpace:
    """The projective space of the vectors with ``digits`` digits over the field of q elements, q prime.

    Examples
    --------
    >>> plane = ProjectiveSpace(2, 3)  # the Fano plane
    >>> plane.size, plane.on_hyperplane, plane.on_two
    (7, 3, 1)
    >>> plane.vectors(np.array([0, 3])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """

    field: int
    digits: int

    @property
    def size(self) -> int:
        """The number of points, which is that of hyperplanes."""
        return self._below(self.digits)

    @property
    def on_hyperplane(self) -> int:
        """The number of points of a hyperplane, which is that of hyperplanes through a point."""
        return self._below(self.digits - 1)

    @property
    def on_two(self) -> int:
        """The number of points on two hyperplanes, which is that of hyperplanes through two points."""
        return self._below(self.digits - 2)

    def _below(self, digits: int) -> int:
        return int((self.field**digits - 1) // (self.field - 1))

    @cached_property
    def _powers(self) -> Codes:
        return np.array([self.field**place for place in range(self.digits)], dtype=np.int64)

    @cached_property
    def _starts(self) -> Codes:
        """The number of the first point of each t."""
        return np.array([self._below(place) for place in range(self.digits)], dtype=np.int64)

    @cached_property
    def _inverses(self) -> Codes:
        return np.array(
            [0] + [pow(element, -1, self.field) for element in range(1, self.field)], dtype=np.int64
        )

    def heights(self, numbers: Codes) -> Codes:
        """Return t of each point: the place of its last digit that is not 0."""
        return np.searchsorted(self._starts, numbers, side="right") - 1

    def vectors(self, numbers: Codes) -> Codes:
        """Return the digits of points, shape (n, L)."""
        height = self.heights(numbers)
        values = self._powers[height] + numbers - self._starts[height]
        return self.digits_of(values)

    def digits_of(self, values: Codes) -> Codes:
        """Return the digits in base q of numbers below q^L, shape (n, L), the lowest first."""
        return values[:, None] // self._powers % self.field

    def numbers_of(self, vectors: Codes) -> Codes:
        """Return the number of the point that a vector, not 0, stands for."""
        height = self.digits - 1 - np.argmax(vectors[:, ::-1] != 0, axis=1)
        last = np.take_along_axis(vectors, height[:, None], axis=1)
        unit = vectors * self._inverses[last] % self.field
        numbers: Codes = unit @ self._powers - self._powers[height] + self._starts[height]
        return numbers

    def covered(self, counts: Codes, points: int) -> Codes:
        """Return for each of the first points the sum of the counts of the hyperplanes through it.

        Examples
        --------
        >>> ProjectiveSpace(2, 3).covered(np.ones(7, dtype=np.int64), 4)
        array([3, 3, 3, 3])
        """
        if points * self.size <= self.field ** (self.digits + 2):
            return self._covered_by_products(counts, points)
        return self._covered_by_digits(counts, points)

    def _covered_by_products(self, counts: Codes, points: int) -> Codes:
        """Look at every point with every hyperplane that has a count, a block of points at a time."""
        used = np.flatnonzero(counts)
        planes, weights = self.vectors(used), counts[used]
        counts_on = np.zeros(points, dtype=np.int64)
        rows = max(1, CELLS // max(1, len(used)))
        for start in range(0, points, rows):
            block = self.vectors(np.arange(start, min(start + rows, points), dtype=np.int64))
            counts_on[start : start + rows] = (block @ planes.T % self.field == 0) @ weights
        return counts_on

    def _covered_by_digits(self, counts: Codes, points: int) -> Codes:
        """Sum over one digit of the hyperplanes at a time, by the product so far: q^2 steps a digit.

        table[r] holds, for the digits of a point below the present place and those of hyperplanes from it on,
        the counts of hyperplanes whose product with the point is r so far.
        """
        q = self.field
        table = np.zeros((q, q**self.digits), dtype=np.int64)
        table[0, self.vectors(np.arange(self.size, dtype=np.int64)) @ self._powers] = counts
        for place in range(self.digits):
            before = table.reshape(q, -1, q, q**place)  # residue, digits above, this digit, digits below
            after = np.zeros_like(before)
            for own in range(q):
                for other in range(q):
                    after[:, :, own] += np.roll(before[:, :, other], own * other, axis=0)
            table = after.reshape(q, -1)
        lines: Codes = table[0, self.vectors(np.arange(points, dtype=np.int64)) @ self._powers]
        return lines


BLOCK = 1 << 14
"""Reports that are drawn at a time."""

LARGEST_FIELD = 1 << 12
MOST_COUNTERS = 1 << 24
MOST_WORK = 1 << 31
"""Steps of the server for one estimate."""


class ProjectiveGeometry(NumberedBlocks):
    """Categories are points of a projective space; report a hyperplane, likelier one through the own point.

    With weight include it is uniform among those through the own point, else among the others. The space is
    the smallest over the field of q elements that has a point for every category. It has v points and as many
    hyperplanes, k through each point, so a report has log2 v bits, and the variance is that of subset
    selection of k of v categories.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    field : int
        q, a prime; the best is near e^epsilon + 1.
    include : int
        A weight out of 2**62.
    labels : sequence of str, optional

    Notes
    -----
    Source: Feldman, Nelson, Nguyen, Talwar (2022); a symmetric block design (Park, Nam, Lee 2023).

    Examples
    --------
    >>> oracle = ProjectiveGeometry.of(13, np.log(3.0), field=3)
    >>> oracle.report_bits, round(oracle.variance(), 9)
    (4, 2.5)
    """

    type: ClassVar[str] = "projective-geometry"
    most_categories: ClassVar[int] = 1 << 20
    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]] = (
        "a hyperplane through both",
        "a hyperplane through the first",
        "a hyperplane through the second",
        "a hyperplane through neither",
    )

    def __init__(
        self, categories: int, epsilon: float, field: int, include: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.space = space_for(self.labels.size, field)
        if not server_can(self.space, self.labels.size):
            raise ParameterError(
                "field", f"{field} makes too many hyperplanes to count", "give another prime"
            )
        self._set_design(projective_design(self.space), include)

    @classmethod
    def of(cls, categories: int, epsilon: float, field: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        space = space_for(integer("categories", categories, 2, cls.most_categories), field)
        return cls(
            categories,
            privacy_epsilon(epsilon),
            field,
            projective_design(space).largest_weight(epsilon),
            labels,
        )

    def parameters(self) -> dict[str, int]:
        return {"field": self.space.field}

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), BLOCK):
            part = codes[start : start + BLOCK]
            outside = (source.integers(len(part)) >= self.include).astype(np.int64)
            reports[start : start + BLOCK] = self._hyperplanes(part, outside, source)
        return reports

    def _hyperplanes(self, codes: Codes, product: Codes, source: BitSource) -> Codes:
        """Return uniform hyperplanes whose vector has the product 0 or 1 with the point's.

        Of the multiples of a vector whose product is not 0 exactly one has the product 1.
        """
        space = self.space
        points, height = space.vectors(codes), space.heights(codes)[:, None]
        planes = np.zeros_like(points)
        waiting = np.arange(len(codes))
        while len(waiting):
            some = space.digits_of(below(space.field**space.digits, len(waiting), source))
            own, place = points[waiting], height[waiting]
            np.put_along_axis(some, place, 0, axis=1)  # the digit where the point has a 1 settles the product
            settled = (product[waiting] - (own * some).sum(axis=1)) % space.field
            np.put_along_axis(some, place, settled[:, None], axis=1)
            planes[waiting] = some
            waiting = waiting[~some.any(axis=1)]  # the vector 0 is not a hyperplane
        return space.numbers_of(planes)

    def _client_steps(self) -> Steps:
        space = {"field": self.space.field, "digits": self.space.digits}
        return {"step": "hyperplane", **space, "include": whole_hex(self.include)}

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        points = np.arange(self.labels.size) if place is None else np.array([place])
        planes, vectors = self.space.vectors(np.asarray(read)), self.space.vectors(points)
        result: NDArray[np.bool_] = (planes @ vectors.T) % self.space.field == 0
        return result

    def supports(self, counts: Codes, users: int) -> Codes:
        return self.space.covered(counts, self.labels.size)


def projective_design(space: ProjectiveSpace) -> BlockDesign:
    """Return the symmetric design of the hyperplanes."""
    return BlockDesign(space.size, space.on_hyperplane, space.on_two)


def space_for(categories: int, field: int) -> ProjectiveSpace:
    """Return the smallest projective space over a prime field with a point for every category.

    Examples
    --------
    >>> space_for(64, 3)
    ProjectiveSpace(field=3, digits=5)
    """
    order = integer("field", field, 2, LARGEST_FIELD)
    if prime_from(order) != order:
        raise ParameterError("field", f"{order} is not a prime", f"give {prime_from(order)}, for instance")
    digits = 2
    while ProjectiveSpace(order, digits).size < categories:
        digits += 1
    return ProjectiveSpace(order, digits)


def server_can(space: ProjectiveSpace, categories: int) -> bool:
    """Return whether the server's counters and its work for an estimate are within limits."""
    by_products, by_digits = categories * space.size, space.field ** (space.digits + 2)
    fits = by_products <= by_digits or space.field ** (space.digits + 1) <= MOST_COUNTERS
    return fits and space.size <= MOST_COUNTERS and min(by_products, by_digits) <= MOST_WORK
