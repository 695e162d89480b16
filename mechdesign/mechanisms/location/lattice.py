"""Planar Laplace noise on a lattice, held as integers: what is audited is what is sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.location import LocationAudit, audit_radial
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.numbers import whole
from mechdesign.core.randomness import BitSource
from mechdesign.core.validation import in_range
from mechdesign.mechanisms.location.base import LocationMechanism
from mechdesign.mechanisms.location.radial import RadialWeights, lengths, radial_weights

Array = NDArray[np.float64]

MOST_STEPS = 1 << 20
"""Along a side of the area; fewer cells than that squared are held."""

STEPS = 8
"""Steps of the lattice in 1 / epsilon, where no step is given."""


class PlanarLattice(LocationMechanism):
    """Discrete planar Laplace noise on the places of a square lattice over an area, certified exactly.

    A place is moved to the nearest one of the lattice; the noise is a vector of the lattice; reports outside
    the area are moved to its nearest place. The certificate is about places of the lattice: two of them at
    the Euclidean distance d make any report with probabilities that differ by the factor e^(epsilon d) at
    most, for the very integers that are sampled. (The distance of two people's own places differs from that
    of their places of the lattice by at most step sqrt(2).)

    Parameters
    ----------
    epsilon : float
        > 0, per unit of distance.
    area : (x_low, y_low, x_high, y_high)
    step : float, optional
        Of the lattice; 1 / (8 epsilon) by default.
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
            raise ParameterError("area: is missing; give [x_low, y_low, x_high, y_high]")
        default = 1.0 / (STEPS * self.epsilon)
        self.step = in_range(
            "step", default if step is None else step, 0.0, math.inf, low_open=True, high_open=True
        )
        spans = (self.area[2] - self.area[0], self.area[3] - self.area[1])
        if min(spans) < self.step:
            raise ParameterError(f"step: {self.step:g} is larger than a side of the area; give a smaller one")
        most = max(span / self.step for span in spans)
        if most > MOST_STEPS:
            raise ParameterError(
                f"step: {self.step:g} goes {most:.3g} times into a side of the area, {MOST_STEPS} at most; "
                "give a larger one"
            )
        self.rows, self.columns = (math.floor(span / self.step) + 1 for span in spans)
        self.weights = (
            radial_weights(self.epsilon, self.step, self.rows, self.columns) if weights is None else weights
        )
        self.weights.require()
        if self.weights.cells != (self.rows + 2 * self.reach) * (self.columns + 2 * self.reach):
            raise CertificateError("lattice: the even part is not over the area and its surroundings")
        if not self.audit().holds:
            raise CertificateError(f"lattice: not private as promised: {self.audit()}")

    @cached_property
    def reach(self) -> int:
        """How many steps the rectangle of the even part extends beyond the area: all vectors end in it."""
        cells, total = self.weights.cells, self.rows + self.columns
        # (rows + 2 r)(columns + 2 r) = cells
        found = (math.isqrt(total * total - 4 * (self.rows * self.columns - cells)) - total) // 4
        if found < math.isqrt(self.weights.squares[-1]):
            raise CertificateError("lattice: vectors reach beyond the rectangle of the even part")
        return found

    @cached_property
    def _audit(self) -> LocationAudit:
        table = self.weights
        return audit_radial(table.squares, table.weights, self.step, self.epsilon)

    def audit(self) -> LocationAudit:
        """Return the exact audit of the integers that are sampled from."""
        return self._audit

    def draw(self, points: Array, source: BitSource) -> Array:
        """Return the lattice place of each point plus a vector, or a cell of the rectangle."""
        assert self.area is not None
        low = np.array(self.area[:2])
        places = np.rint((points - low) / self.step).astype(np.int64)
        np.clip(places, 0, (self.rows - 1, self.columns - 1), out=places)
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
    def _square(self) -> int:
        """The least squared length that is exceeded with probability beta at most."""
        table, wanted = self.weights, Fraction(self.beta)
        far = table.floor * table.cells
        for place in range(len(table.squares) - 1, 0, -1):
            if Fraction(far + table.excess[place], table.total) > wanted:
                return table.squares[place]
            far += table.excess[place]
        return 0

    @property
    def noise_radius(self) -> float:
        """The distance that a report exceeds with probability beta at most, from its lattice place."""
        return self.step * math.nextafter(math.sqrt(self._square), math.inf) if self._square else 0.0

    @property
    def offset(self) -> float:
        """The largest distance of a place of the area from its lattice place."""
        assert self.area is not None
        spans = (self.area[2] - self.area[0], self.area[3] - self.area[1])
        counts = (self.rows, self.columns)
        last = [span - (count - 1) * self.step for span, count in zip(spans, counts, strict=True)]
        return math.hypot(*(max(self.step / 2.0, rest) for rest in last)) * (1.0 + 2.0**-40)

    @property
    def radius(self) -> float:
        """The distance that a report exceeds with probability beta at most, from the place of the person."""
        return self.noise_radius + self.offset

    @cached_property
    def mean_distance(self) -> float:
        """The expected length of the noise; the even part counts with the longest there is."""
        table = self.weights
        roots = np.sqrt(np.array(table.squares))
        inner = math.fsum((np.array(table.excess, dtype=np.float64) * roots).tolist())
        longest = math.hypot(self.rows + self.reach, self.columns + self.reach)
        return self.step * (inner + table.floor * table.cells * longest) / table.total

    def interference(self) -> Certificate:
        """Judge the weights beyond the radius against beta, in whole numbers."""
        beyond = self.weights.beyond(self._square)
        figures = {
            "radius": self.radius,
            "beta": self.beta,
            "noise_radius": self.noise_radius,
            "probability_beyond": float(beyond),
        }
        note = "noise_radius counts from the place of the lattice, radius from anywhere that goes to it"
        return Certificate("interference", beyond <= Fraction(self.beta), True, figures, note=note)

    def _figures(self) -> str:
        return f"{self.rows} x {self.columns} places, step {self.step:g}, {super()._figures()}"

    def content(self) -> dict[str, Any]:
        """Return the parameters and the integers that are sampled from."""
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
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from plain values, auditing it again."""
        weights = tuple(whole("weights", weight) for weight in content["weights"])
        if not weights:
            raise CertificateError("lattice: has no weights")
        squares, counts = _first_lengths(len(weights))
        table = RadialWeights(squares, counts, weights, whole("cells", content["cells"]))
        return cls(content["epsilon"], content["area"], content["step"], content["beta"], table)


def _first_lengths(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the first so many squared lengths of a square lattice, and how many vectors have each."""
    reach = max(2, math.isqrt(2 * count))
    while True:
        squares, counts = lengths(reach)
        if len(squares) >= count:
            return squares[:count], counts[:count]
        reach *= 2
