"""Projective geometry response: report a hyperplane, likelier one through the own point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ReportClass
from mechdesign.audit.exponential import exp_lower
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.mechanisms.labels import Codes, Labels
from mechdesign.mechanisms.oracles.base import Shares, SupportOracle, weight
from mechdesign.mechanisms.oracles.draws import below
from mechdesign.mechanisms.oracles.family import prime_from
from mechdesign.mechanisms.oracles.geometry import ProjectiveSpace

BLOCK = 1 << 14
"""Reports that are drawn at a time."""

LARGEST_FIELD = 1 << 12
MOST_COUNTERS = 1 << 24
MOST_WORK = 1 << 31
"""Steps of the server for one estimate."""


class ProjectiveGeometry(SupportOracle):
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
    >>> oracle = ProjectiveGeometry.of(13, math.log(3.0), field=3)
    >>> oracle.report_bits, round(oracle.variance(), 9)
    (4, 2.5)
    """

    type: ClassVar[str] = "projective-geometry"
    most_categories: ClassVar[int] = 1 << 20

    def __init__(
        self, categories: int, epsilon: float, field: int, include: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.space = space_for(self.labels.size, field)
        if not server_can(self.space, self.labels.size):
            raise ParameterError(f"field: {field} makes too many hyperplanes to count; give another prime")
        self.include = weight("include", include)
        self._require_private()

    @classmethod
    def of(cls, categories: int, epsilon: float, field: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        bound = exp_lower(privacy_epsilon(epsilon))
        space = space_for(integer("categories", categories, 2, cls.most_categories), field)
        through = space.on_hyperplane * bound
        include = math.floor(TOTAL * through / (through + space.size - space.on_hyperplane))
        return cls(categories, epsilon, field, include, labels)

    def weights(self) -> dict[str, int]:
        """Return the weight of the hyperplanes through the own point."""
        return {"include": self.include}

    def parameters(self) -> dict[str, int]:
        """Return the number of elements of the field."""
        return {"field": self.space.field}

    def support_shares(self) -> Shares:
        """Return the chances that the own and another point are on the hyperplane."""
        space, own = self.space, Fraction(self.include, TOTAL)
        both = own * space.on_two / space.on_hyperplane
        first = (1 - own) * (space.on_hyperplane - space.on_two) / (space.size - space.on_hyperplane)
        return own, both + first

    def report_classes(self) -> tuple[ReportClass, ...]:
        """Return the hyperplanes by which of two points they go through."""
        size, one, two = self.space.size, self.space.on_hyperplane, self.space.on_two
        inside, outside = self.include * (size - one), (TOTAL - self.include) * one
        return (
            ReportClass("a hyperplane through both", two, inside, inside),
            ReportClass("a hyperplane through the first", one - two, inside, outside),
            ReportClass("a hyperplane through the second", one - two, outside, inside),
            ReportClass("a hyperplane through neither", size - 2 * one + two, outside, outside),
        )

    @property
    def report_bits(self) -> int:
        """The bits that number all hyperplanes."""
        return (self.space.size - 1).bit_length()

    @property
    def report_text(self) -> str:
        """What stands in a column of reports."""
        return f"a number from 0 to {self.space.size - 1}"

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return the number of a hyperplane for the number of each category."""
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
            waiting = waiting[~some.any(axis=1)]  # the vector 0 is no hyperplane
        return space.numbers_of(planes)

    def read(self, reports: Any) -> NDArray[Any]:
        """Return numbers of hyperplanes, from those or from texts."""
        return Labels(self.space.size).encode(reports, "reports")

    @property
    def counters(self) -> int:
        """One a hyperplane."""
        return self.space.size

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return how often each hyperplane was reported."""
        return np.bincount(reports, minlength=self.space.size).astype(np.int64)

    def supports(self, counts: Codes, users: int) -> Codes:
        """Return how many of the reported hyperplanes go through each point."""
        return self.space.covered(counts, self.labels.size)

    def require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError unless there are as many reports as users."""
        if sum(counts) != users:
            raise DataError(
                "aggregator: the counts are damaged: not as many reports as users; count the reports again"
            )


def space_for(categories: int, field: int) -> ProjectiveSpace:
    """Return the smallest projective space over a prime field with a point for every category.

    Examples
    --------
    >>> space_for(64, 3)
    ProjectiveSpace(field=3, digits=5)
    """
    order = integer("field", field, 2, LARGEST_FIELD)
    if prime_from(order) != order:
        raise ParameterError(f"field: {order} is no prime; give {prime_from(order)}, for instance")
    digits = 2
    while ProjectiveSpace(order, digits).size < categories:
        digits += 1
    return ProjectiveSpace(order, digits)


def server_can(space: ProjectiveSpace, categories: int) -> bool:
    """Return whether the server's counters and its work for an estimate are within limits."""
    by_products, by_digits = categories * space.size, space.field ** (space.digits + 2)
    fits = by_products <= by_digits or space.field ** (space.digits + 1) <= MOST_COUNTERS
    return fits and space.size <= MOST_COUNTERS and min(by_products, by_digits) <= MOST_WORK
