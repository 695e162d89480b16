"""The square wave: a report near the value, and the server reconstructs the whole distribution.

Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric (SIGMOD 2020); RCP paper sec. 2.2. On [0, 1] the report lies in
[-b, 1 + b] with density p = e^eps/(2b e^eps + 1) within b of u and p e^-eps elsewhere: ratios are at most
e^eps. The plain average of reports is biased, but E[y | u] = 2b(p - q)u + q(1 + 2b)/2 is affine in u: solving
it gives an unbiased mean, which :meth:`SquareWave.estimate` returns. The distribution is reconstructed from a
histogram by expectation maximisation, with smoothing (EMS) or without (EM); its mean is biased.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import DensityAudit, audit_density
from mechdesign.collect.codec import Array, Domain
from mechdesign.collect.server import whole_rows
from mechdesign.core.errors import DataError, counted
from mechdesign.core.validation import integer, one_of
from mechdesign.exact.randomness import BitSource
from mechdesign.families.mean import variance as formulas
from mechdesign.families.mean.continuous import centred_grid
from mechdesign.families.mean.means import FormulaMechanism, MeanAggregator, uniform_numbers
from mechdesign.families.mean.tally import PIECE, Codes, FloatTally
from mechdesign.primitives.mean_limits import Curves

BUCKETS = 256
"""Buckets of the histogram of reports."""

ITERATIONS = 10_000
"""Expectation maximisation stops here at the latest."""

PAPER_STOP = 1e-3
"""The paper's rule: stop when the log likelihood gains less than this (EMS), or this times e^eps (EM)."""


@dataclass(frozen=True, repr=False)
class Distribution:
    """A reconstructed distribution: probabilities of equal buckets of [low, high].

    Attributes
    ----------
    probability : (d,) array
    domain : Domain
    users : int
    iterations : int
    converged : bool
        Whether the stopping rule was met before the limit of iterations.
    """

    probability: Array
    domain: Domain
    users: int
    iterations: int
    converged: bool

    def __repr__(self) -> str:
        place = f"{counted(len(self.probability), 'bucket')} of [{self.domain.low:g}, {self.domain.high:g}]"
        return f"Distribution({place}, mean {self.mean:.6g}, {counted(self.users, 'report')})"

    @property
    def centres(self) -> Array:
        """The middles of the buckets."""
        size = len(self.probability)
        centres: Array = self.domain.low + (np.arange(size, dtype=np.float64) + 0.5) * (
            self.domain.width / size
        )
        return centres

    @property
    def mean(self) -> float:
        """The mean of the distribution: biased, but inside the range."""
        return float(self.centres @ self.probability)

    def quantile(self, level: float) -> float:
        """Return the upper end of the first bucket at which the cumulative probability reaches ``level``."""
        place = int(np.searchsorted(np.cumsum(self.probability), level))
        size = len(self.probability)
        return self.domain.low + min(place + 1, size) * (self.domain.width / size)


class WaveTally(FloatTally):
    """Exact sums of the reports, and their histogram; both are integers."""

    def __init__(self, groups: int, centre: float, bound: float) -> None:
        super().__init__(groups, centre, bound)
        self.histogram: Codes = np.zeros((groups, BUCKETS), dtype=np.int64)

    def add(self, reports: NDArray[Any], groups: Codes | None = None) -> None:
        super().add(reports, groups)
        factor = BUCKETS / (2.0 * self.bound)
        for start in range(0, len(reports), PIECE):
            part = (reports[start : start + PIECE] - (self.centre - self.bound)) * factor
            places = np.clip(part, 0.0, BUCKETS - 1).astype(np.int64)
            if groups is not None:
                places += groups[start : start + PIECE] * BUCKETS
            counts = np.bincount(places, minlength=self.histogram.size)
            self.histogram += counts.reshape(self.histogram.shape)

    def merge(self, other: Self) -> None:
        super().merge(other)
        self.histogram = self.histogram + other.histogram

    def as_json(self) -> list[list[int]]:
        """Return the sums followed by the histogram, one list a group."""
        return [
            [*sums, *counts] for sums, counts in zip(super().as_json(), self.histogram.tolist(), strict=True)
        ]

    def restore(self, rows: Any) -> None:
        read = whole_rows(rows, 3 + BUCKETS, self.groups, signed=True)
        if any(min(row[3:]) < 0 or sum(row[3:]) != row[0] for row in read):
            raise DataError("aggregator", "the histogram is damaged", "add the reports again")
        super().restore([row[:3] for row in read])
        self.histogram = np.array([row[3:] for row in read], dtype=np.int64)


class SquareWave(FormulaMechanism):
    """The square wave on [low, high], with an unbiased mean and a reconstructed distribution.

    Parameters
    ----------
    epsilon : float
    low, high : float
        The range of the values.

    Examples
    --------
    >>> mechanism = SquareWave(epsilon=2.0, low=0.0, high=1.0)
    >>> reports = mechanism.randomize([0.2] * 3000 + [0.8] * 1000, rng=1)
    >>> low, high = mechanism.estimate(reports).interval(0.99)
    >>> low < 0.35 < high
    True
    >>> shape = mechanism.distribution(reports)
    >>> bool(shape.probability[:32].sum() > 0.5), shape.converged
    (True, True)
    """

    type: ClassVar[str] = "square-wave"
    exact_alternative = (
        "its reports are real numbers: build 'grid-mean' or 'discrete-piecewise', which are exact"
    )

    def _prepare(self) -> None:
        with np.errstate(all="ignore"):
            self.halfwidth = float(formulas.wave_halfwidth(self.epsilon))  # b, with [0, 1] as the range
        fading = float(np.exp(-self.epsilon))
        self.high_density = 1.0 / (2.0 * self.halfwidth + fading)  # p
        self.low_density = self.high_density * fading  # q
        self.inside = 2.0 * self.halfwidth * self.high_density
        self._gain = -2.0 * self.halfwidth * self.high_density * float(np.expm1(-self.epsilon))  # 2b(p - q)

    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        """Return reports: one uniform number is a place in the window or in its complement of length 1."""
        uniform = uniform_numbers(source, len(unit))
        width, window = self.domain.width, 2.0 * self.halfwidth
        rest = uniform * (1.0 / self.low_density)
        rest += (rest >= unit) * window
        within = uniform - self.low_density
        within *= window / self.inside
        within += unit
        reports = np.where(uniform < self.low_density, rest, within)
        reports *= width
        reports += self.domain.low - self.halfwidth * width
        return reports

    def tally(self, groups: int = 1) -> WaveTally:
        return WaveTally(groups, self.domain.middle, (0.5 + self.halfwidth) * self.domain.width)

    @property
    def slope(self) -> Fraction:
        """1/(2b(p - q)): by symmetry E[y - middle] = 2b(p - q)(x - middle)."""
        return 1 / Fraction(self._gain)

    @cached_property
    def curves(self) -> Curves:
        """The moments of z/g for the report z of c on a range of length 1, counted from its middle.

        With g = 2b(p - q): E[z^3] = g c (c^2 + b^2), E[z^4] = g (c^4 + 2 c^2 b^2 + b^4/5) + 2q(1/2 + b)^5/5.
        """
        c, b, gain, width = centred_grid(0.5), self.halfwidth, self._gain, self.domain.width
        second = formulas.wave_unit_variance(self.epsilon, c + 0.5) + c**2
        third = c * (c**2 + b**2) / gain**2
        fourth = gain * (c**4 + 2.0 * c**2 * b**2 + b**4 / 5.0) + 0.4 * self.low_density * (0.5 + b) ** 5
        return Curves(c * width, second * width**2, third * width**3, fourth / gain**4 * width**4)

    def _unit_variance(self, unit: Array) -> Array:
        variance: Array = formulas.wave_unit_variance(self.epsilon, unit)
        return variance

    def _worst_unit(self) -> float:
        """Return the end or the middle: the variance is a quadratic, symmetric about the middle."""
        end, middle = formulas.wave_unit_variance(self.epsilon, np.array([1.0, 0.5]))
        return 1.0 if end >= middle else 0.5

    def _least_variance(self) -> float:
        return (
            float(formulas.wave_unit_variance(self.epsilon, np.array([1.0, 0.5])).min())
            * self.domain.width**2
        )

    def log_density(self, values: Array, reports: Array) -> Array:
        """Return the log density of reports given values, in units of the range."""
        unit = self.domain.to_unit(values)
        place = (np.asarray(reports) - self.domain.low) / self.domain.width
        within = np.abs(place - unit) <= self.halfwidth
        high = float(np.log(self.high_density))
        density = np.where(within, high, high - self.epsilon)
        return np.where((place < -self.halfwidth) | (place > 1.0 + self.halfwidth), -np.inf, density)

    def audit(self) -> DensityAudit:
        """Return the audit of the density at one point in each piece for five inputs."""
        unit = np.linspace(0.0, 1.0, 5)
        edges = np.sort(np.concatenate([unit - self.halfwidth, unit + self.halfwidth]))
        middles = (edges[1:] + edges[:-1]) / 2.0
        inputs, outputs = (self.domain.low + places * self.domain.width for places in (unit, middles))
        return audit_density(self.log_density, inputs, outputs, self.epsilon)

    # Reconstruction

    def distribution(
        self, reports: Any, buckets: int = BUCKETS // 2, method: Literal["ems", "em"] = "ems"
    ) -> Distribution:
        """Return the distribution of the values, reconstructed from reports or from an aggregator.

        Parameters
        ----------
        reports : array or MeanAggregator
        buckets : int
            Buckets of the range.
        method : {"ems", "em"}
            With smoothing by (1, 2, 1)/4 after every step, or without.
        """
        one_of("method", method, ("ems", "em"))
        size = integer("buckets", buckets, 2)
        if isinstance(reports, MeanAggregator):
            tally = reports.tally
        else:
            tally = self.tally()
            tally.add(tally.check(reports))
        if not isinstance(tally, WaveTally) or not tally.counts()[0]:
            raise DataError("reports", "there are no square-wave reports", "give at least one report")
        counts = tally.histogram[0].astype(np.float64)
        stop = PAPER_STOP * (1.0 if method == "ems" else float(np.exp(min(self.epsilon, 700.0))))
        shares, steps, done = reconstruct(self.transition(size), counts, method == "ems", stop)
        return Distribution(shares, self.domain, int(counts.sum()), steps, done)

    def transition(self, buckets: int) -> Array:
        """Return the probability of each bucket of reports (rows) for the middle of each bucket of values."""
        unit = (np.arange(buckets) + 0.5) / buckets
        edges = np.linspace(-self.halfwidth, 1.0 + self.halfwidth, BUCKETS + 1)[:, None]
        inside = np.clip(edges, unit - self.halfwidth, unit + self.halfwidth) - (unit - self.halfwidth)
        cumulative = self.low_density * edges + (self.high_density - self.low_density) * inside
        matrix = np.diff(cumulative, axis=0)
        normalised: Array = matrix / matrix.sum(axis=0)
        return normalised


def reconstruct(transition: Array, counts: Array, smooth: bool, stop: float) -> tuple[Array, int, bool]:
    """Return the distribution that expectation maximisation finds, the steps, and whether it stopped.

    One step multiplies the probability of each bucket by the average, over reports, of its share in the
    probability of the report: the likelihood never falls (without smoothing).

    Examples
    --------
    >>> channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> shares, steps, done = reconstruct(channel, np.array([600.0, 400.0]), False, 1e-9)
    >>> shares.round(3), done
    (array([0.7, 0.3]), True)
    """
    size = transition.shape[1]
    probability = np.full(size, 1.0 / size)
    shares = counts / counts.sum()
    last = -np.inf
    for step in range(1, ITERATIONS + 1):
        expected = transition @ probability
        likelihood = float(counts @ np.log(np.where(counts > 0, expected, 1.0)))
        if likelihood - last < stop:
            return probability, step, True
        last = likelihood
        probability = probability * (
            transition.T @ np.divide(shares, expected, out=np.zeros_like(shares), where=expected > 0)
        )
        if smooth:
            probability = smoothed(probability)
        probability /= probability.sum()
    return probability, ITERATIONS, False


def smoothed(probability: Array) -> Array:
    """Return the average of each bucket with its neighbours, weights (1, 2, 1)/4, ends repeated."""
    padded = np.concatenate([probability[:1], probability, probability[-1:]])
    result: Array = (padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0
    return result
