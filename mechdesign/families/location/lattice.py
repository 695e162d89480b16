"""Planar Laplace noise on a lattice, held as integers: what is audited is the whole way to the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, MethodError, ParameterError
from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import BitSource, float_up
from mechdesign.families.location.lattice_noise import (
    FINEST,
    MARGIN,
    Distances,
    RadialWeights,
    lengths,
    radial_weights,
    spline_rounding,
)
from mechdesign.families.location.location_audit import LocationAudit, audit_rounded
from mechdesign.families.location.mechanism import LocationMechanism, planar_quantile

Array = NDArray[np.float64]

MOST_STEPS = 1 << 20
"""Along a side of the area; fewer cells than that squared are held."""

STEPS = 8
"""Steps of the lattice in 1 / epsilon, where no step is given."""


TRIES, SHARE = 8, 0.97
"""Levels that are tried, and the part of the radius with which a level is taken at once: how far the noise
reaches jumps with the number of lattice points that fit into the area."""

START = 1.03
"""The first level as a multiple of that of planar Laplace noise: the lattice adds about this much."""


class PlanarLattice(LocationMechanism):
    """Random rounding to a square lattice, then discrete planar Laplace noise, certified exactly.

    A place is moved at random to a place of the lattice near it, a vector of the lattice is added, and what
    lies outside the area is moved to its nearest place. The certificate is about the whole way: any two
    places of the area, however near to each other and to the lattice, make any report with probabilities
    that differ by the factor e^(epsilon d) at most, d their Euclidean distance. Coordinates are the
    rational numbers that their doubles are, and the integers that are judged are those that are sampled.

    Parameters
    ----------
    epsilon : float
        > 0, per unit of distance.
    area : (x_low, y_low, x_high, y_high)
    step : float, optional
        Of the lattice, at most a side of the area; 1 / (8 epsilon) by default. A larger one is as private,
        and less accurate.
    beta : float
        Probability of a report beyond ``radius`` of the person's place.

    Examples
    --------
    >>> mechanism = PlanarLattice(epsilon=2.0, area=[0, 0, 10, 10])
    >>> audit = mechanism.audit()
    >>> audit.holds, audit.exact, 1.99 < audit.true_epsilon <= 2.0
    (True, True, True)
    >>> mechanism.randomize([[5.0, 5.0]], rng=1).shape
    (1, 2)
    """

    type: ClassVar[str] = "planar-lattice"
    exact_alternative = (
        "its answers are places of the plane: build 'finite-channel' on the places that are asked for"
    )

    def __init__(
        self,
        epsilon: float,
        area: Any,
        step: float | None = None,
        beta: float = 0.05,
        weights: RadialWeights | None = None,
    ) -> None:
        super().__init__(epsilon, beta, area)
        if self.area is None:
            raise ParameterError("area", "is missing", "give [x_low, y_low, x_high, y_high]")
        spans = (self.area[2] - self.area[0], self.area[3] - self.area[1])
        if min(spans) * self.epsilon < FINEST:
            raise ParameterError(
                "area",
                f"a side of {min(spans):g} is below {FINEST / self.epsilon:.4g}, where noise hides every "
                "location in it",
                "give a larger area or epsilon",
            )
        default = min(1.0 / (STEPS * self.epsilon), *spans)
        self.step = in_range(
            "step", default if step is None else step, 0.0, math.inf, low_open=True, high_open=True
        )
        if min(spans) < self.step:
            raise ParameterError(
                "step", f"{self.step:g} is larger than a side of the area", f"give at most {min(spans):g}"
            )
        most = max(span / self.step for span in spans)
        if most > MOST_STEPS:
            raise ParameterError(
                "step",
                f"{self.step:g} goes {most:.3g} times into a side of the area, the limit is {MOST_STEPS}",
                "give a larger one",
            )
        corners = [Fraction(number) for number in self.area]
        sides = [(corners[axis + 2] - corners[axis]) / Fraction(self.step) for axis in (0, 1)]
        self.rows, self.columns = (math.ceil(side) + 1 for side in sides)
        self.weights = (
            radial_weights(self.epsilon, self.step, self.rows, self.columns) if weights is None else weights
        )
        self.weights.require()
        if self.weights.cells != (self.rows + 2 * self.reach) * (self.columns + 2 * self.reach):
            raise CertificateError("lattice", "the even part is not over the area and its surroundings")
        if not self.audit().holds:
            raise CertificateError("lattice", f"not private as stated: {self.audit()}")

    @cached_property
    def reach(self) -> int:
        """Number of steps from the area to the end of the even part: all vectors end in it."""
        cells, total = self.weights.cells, self.rows + self.columns
        if cells <= self.rows * self.columns:
            raise CertificateError("lattice", "the even part is not over the area and its surroundings")
        # (rows + 2 r)(columns + 2 r) = cells
        result = (math.isqrt(total * total - 4 * (self.rows * self.columns - cells)) - total) // 4
        if result < math.isqrt(self.weights.squares[-1]) + MARGIN:
            raise CertificateError(
                "lattice", "vectors and rounding reach beyond the rectangle of the even part", "rebuild it"
            )
        return result

    @cached_property
    def _audit(self) -> LocationAudit:
        table = self.weights
        return audit_rounded(table.squares, table.weights, self.step, self.epsilon)

    def audit(self) -> LocationAudit:
        return self._audit

    def draw(self, points: Array, source: BitSource) -> Array:
        """Return a lattice place near each point plus a vector, or a cell of the rectangle."""
        assert self.area is not None
        low = np.array(self.area[:2])
        places = spline_rounding(points, low, self.step, source)
        vectors, cells = self.weights.draw(len(points), source)
        moved = places + vectors
        even = np.flatnonzero(cells >= 0)
        if len(even):
            row, column = np.divmod(cells[even], self.columns + 2 * self.reach)
            moved[even] = np.stack([row, column], axis=1) - self.reach
        np.clip(moved, 0, (self.rows - 1, self.columns - 1), out=moved)
        reports: Array = low + moved * self.step
        return reports

    @cached_property
    def _distances(self) -> Distances:
        return Distances(self.weights)

    @cached_property
    def _limit(self) -> float:
        """The length of the area's diagonal, in steps: no report is farther from its place."""
        assert self.area is not None
        spans = (self.area[2] - self.area[0], self.area[3] - self.area[1])
        return math.hypot(*(span / self.step for span in spans)) * (1.0 + 2.0**-40)

    @cached_property
    def _radius(self) -> float:
        """The radius in steps."""
        return self._distances.radius(Fraction(self.beta), self._limit)

    @property
    def radius(self) -> float:
        """The distance that a report exceeds with probability beta at most, from the place of the person."""
        return math.nextafter(self.step * self._radius, math.inf)

    @cached_property
    def mean_distance(self) -> float:
        """A bound of the expected distance of a report from its place; the even part counts as the farthest.

        Rounding moves a place by 1/2 squared step on average, in no direction more than in another, and
        the mean length of v + w over both signs of v is at most the root of the sum of both mean squares.
        """
        table = self.weights
        roots = np.sqrt(np.array(table.squares) + 0.5)
        inner = math.fsum((np.array(table.excess, dtype=np.float64) * roots).tolist())
        longest = math.hypot(self.rows + self.reach, self.columns + self.reach)
        return self.step * (inner + table.floor * table.cells * longest) / table.total

    def interference(self) -> Certificate:
        none_beyond = self._radius >= self._limit
        beyond = Fraction(0) if none_beyond else self._distances.beyond(self._radius)
        figures = {"radius": self.radius, "beta": self.beta, "probability_beyond": float_up(beyond)}
        note = "from the true location, rounding included"
        return Certificate("interference", beyond <= Fraction(self.beta), True, figures, note=note)

    def _figures(self) -> str:
        return f"{self.rows} x {self.columns} places, step {self.step:g}, {super()._figures()}"

    def content(self) -> dict[str, Any]:
        assert self.area is not None
        table = self.weights
        return {
            "epsilon": self.epsilon,
            "beta": self.beta,
            "area": list(self.area),
            "step": self.step,
            "cells": table.cells,
            "weights": list(table.weights),
        }

    @classmethod
    def within(cls, radius: float, area: Any, beta: float = 0.05) -> Self:
        """Return the noise of least epsilon found whose own radius, for its beta, is at most this one.

        Parameters
        ----------
        radius : number > 0
        area : (x_low, y_low, x_high, y_high)
        beta : float
            In (0, 1): the probability of a report beyond the radius, at most.

        Examples
        --------
        >>> PlanarLattice.within(0.5, [0, 0, 20, 20]).radius <= 0.5
        True
        """
        epsilon, best = START * planar_quantile(1.0, beta) / radius, None
        for _ in range(TRIES):
            try:
                noise = cls(epsilon, area, beta=beta)
            except ParameterError as error:
                if error.is_about("step"):
                    raise ParameterError(
                        "area",
                        f"{list(map(float, area))} does not fit a privacy radius of {radius:g} (too many "
                        "steps of the noise, or too few)",
                        "give another area",
                    ) from None
                raise
            used = noise.radius / radius
            if used <= 1.0 and (best is None or noise.epsilon < best.epsilon):
                best = noise
            if SHARE <= used <= 1.0:
                break
            epsilon *= used * (1.0 + 2.0**-11)
        if best is None:
            raise MethodError(
                "user", "no level of the noise fits the privacy radius", "give another area or beta"
            )
        return best

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        weights = tuple(plain_int("weights", weight) for weight in content["weights"])
        if not weights:
            raise CertificateError("lattice", "has no weights")
        squares, counts = _first_lengths(len(weights))
        table = RadialWeights(squares, counts, weights, plain_int("cells", content["cells"]))
        return cls(content["epsilon"], content["area"], content["step"], content["beta"], table)


def _first_lengths(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the least squared lengths of a square lattice, this many, and how many vectors have each."""
    reach = max(2, math.isqrt(2 * count))
    while True:
        squares, counts = lengths(reach)
        if len(squares) >= count:
            return squares[:count], counts[:count]
        reach *= 2
