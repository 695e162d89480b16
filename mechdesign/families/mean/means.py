"""The base class of mechanisms for the mean of one attribute, and their mergeable server.

A report has a centred score r with E[slope r + offset | x] = x. The server keeps exact sums of r and
r^2 over all reports, so that merging in any order gives the same estimate to the last bit.

Reports of two values are coins, with exact limits (Clopper and Pearson 1934). A count of n independent
reports whose chances average p is binomial if the chances are equal, and otherwise at least as concentrated:
the chance of a count at or beyond c <= np - 1 (or c >= np + 1) is at most the binomial one (Hoeffding 1956,
theorem 4). So the limits are valid, at every n, whatever the users' values.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mechdesign.audit.classes import DensityAudit
from mechdesign.collect.codec import Array, Domain, Numbers
from mechdesign.collect.collector import AnswerMechanism
from mechdesign.collect.estimate import MeanEstimate
from mechdesign.collect.intervals import FEWEST, AverageLaw, Limits, law_of_average
from mechdesign.collect.kernel import rng_alone
from mechdesign.collect.report_scores import ReportScores, question_of
from mechdesign.collect.scores import implausible
from mechdesign.collect.server import Server
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.validation import privacy_epsilon, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.exact.randomness import BITS, BitSource
from mechdesign.families.mean.tally import Moments, Tally
from mechdesign.primitives.mean_limits import Curves, ReportSums, ScoreLimits
from mechdesign.show.tables import edge_texts, range_text


@dataclass(frozen=True)
class BinomialLimits(Limits):
    """Exact limits for a count, mapped to the estimate's units.

    Parameters
    ----------
    count, trials : int or array
    factor : float or array
        Units of the estimate for a probability of 1; positive.
    least, most : float
        What the chance is known to be between; the limits do not use it, the standard error does.
    """

    count: Any
    trials: Any
    factor: Any
    least: float = 0.0
    most: float = 1.0

    def standard_error(self) -> Array:
        """Return that of a binomial share, moved to what is possible and 1/(n + 1) away from 0 and 1."""
        edge = 1.0 / (np.asarray(self.trials) + 1.0)
        share = np.asarray(self.count) / self.trials
        share = np.clip(share, np.maximum(self.least, edge), np.minimum(self.most, 1.0 - edge))
        error: Array = np.sqrt(share * (1.0 - share) / self.trials) * self.factor
        return error

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the estimate under hypotheses at distances from it, on the sides -1 and 1."""
        p = np.clip(np.asarray(self.count) / self.trials + side * distance / self.factor, 0.0, 1.0)
        variance = p * (1.0 - p)
        third, fourth = variance * (1.0 - 2.0 * p), variance * (1.0 - 6.0 * variance)
        return law_of_average(self.trials, variance, -side * third, fourth, 1.0).scaled(self.factor)

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of Clopper and Pearson's limits from the share."""
        low, high = binomial_limits(self.count, self.trials, tail)
        share = np.asarray(self.count) / self.trials
        down, up = (np.maximum(distance, 0.0) * self.factor for distance in (share - low, high - share))
        return down, up


def binomial_limits(count: Any, trials: Any, tail: float) -> tuple[Array, Array]:
    """Return the limits of Clopper and Pearson for a probability.

    Examples
    --------
    >>> low, high = binomial_limits(0, 10, 0.025)
    >>> float(low), round(float(high), 4)  # 1 - 0.025**(1/10)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    hits, misses = np.asarray(count, dtype=np.float64), np.asarray(trials) - np.asarray(count, dtype=float)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 0.5), misses + 1.0, tail), 0.0)
    high = np.where(misses > 0, 1.0 - betaincinv(np.maximum(misses, 0.5), hits + 1.0, tail), 1.0)
    return low, high


MAY_MISS = "the interval may miss the mean more often than stated"

CHUNK = 1 << 16
"""Values are randomized in pieces of this size, which fit the processor's cache."""


def few_reports(limits: ScoreLimits | BinomialLimits) -> tuple[str, ...]:
    """Return the note for an interval whose coverage is not promised."""
    if isinstance(limits, BinomialLimits) or limits.sums.count >= FEWEST:
        return ()
    return (f"fewer than {FEWEST} reports: {MAY_MISS}",)


class MeanMechanism(AnswerMechanism[MeanEstimate]):
    """A local randomizer of one number in [low, high], with an unbiased estimator of the mean.

    Subclasses draw reports for u = (x - low) / (high - low), give the tally their reports need, the
    variance of one report, and their certificates.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    domain : Domain
        The range of the values.
    """

    quantity: ClassVar[str] = "the mean"
    may_fail: ClassVar[bool] = False
    epsilon: float
    delta: float = 0.0
    domain: Domain
    _report_dtype: DTypeLike = np.float64

    # What a subclass provides

    @abstractmethod
    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        """Return one report for each u in [0, 1]; at most 2**16 at a time are asked for."""

    @abstractmethod
    def tally(self, groups: int = 1) -> Tally:
        """Return empty exact counters for the reports of this many attributes."""

    @abstractmethod
    def _unit_variance(self, unit: Array) -> Array:
        """Return the variance of the estimate from one report, for u in [0, 1] and the range [0, 1]."""

    @abstractmethod
    def _worst_unit(self) -> float:
        """Return the u in [0, 1] at which the variance of a report is largest."""

    @property
    @abstractmethod
    def slope(self) -> Fraction:
        """The factor that turns a centred score into the units of the values."""

    @property
    @abstractmethod
    def offset(self) -> Fraction:
        """Constant that is added to it."""

    @property
    @abstractmethod
    def curves(self) -> Curves:
        """The first moments of slope r for each value, which is counted from the offset."""

    def limits(
        self, sums: ReportSums, rounding: float = 0.0, times: float = 1.0
    ) -> ScoreLimits | BinomialLimits:
        """Return the distribution that standard errors and limits are made of; the sums may be arrays.

        Parameters
        ----------
        sums : ReportSums
            Of ``times`` slope r, where r = 0 stands for no report.
        rounding : float
            How far these were rounded.
        times : float
            One user in ``times`` reports.
        """
        return ScoreLimits(self.curves.sampled(times), sums, rounding)

    # Client

    @cached_property
    def codec(self) -> Numbers:
        """Questions and codes: a number of the range."""
        return Numbers(self.domain)

    def _reports_of(self, codes: Array, source: BitSource) -> NDArray[Any]:
        reports = np.empty(len(codes), dtype=self._report_dtype)
        for start in range(0, len(codes), CHUNK):
            reports[start : start + CHUNK] = self._draw_values(codes[start : start + CHUNK], source)
        return reports

    def _draw_values(self, values: Array, source: BitSource) -> NDArray[Any]:
        """Return one report for each value of the range; at most 2**16 at a time are asked for."""
        return self.draw(self.domain.to_unit(values), source)

    def _within(self, low: float, high: float) -> Self:
        return type(self).from_content({**self.content(), "low": low, "high": high})

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of the mean with this many users, whatever their values."""
        count = user_count(users)
        largest = math.sqrt(self.worst_variance() / count)
        return Forecast("mean", count, possible=True, largest=largest, of="the mean")

    # Server

    def aggregator(self) -> MeanAggregator:
        return MeanAggregator(self)

    def report_values(self, reports: Any) -> Array:
        """Return the unbiased value that each report stands for, (n,).

        Examples
        --------
        >>> from mechdesign.families.mean import Duchi
        >>> mechanism = Duchi(1.0, 0, 10)
        >>> reports = mechanism.randomize([2, 9, 5], rng=1)
        >>> bool(np.isclose(mechanism.report_values(reports).mean(), mechanism.estimate(reports).value))
        True
        """
        tally = self.tally()
        result: Array = float(self.slope) * tally.centred(tally.check(reports)) + float(self.offset)
        return result

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        values = self.report_values(reports)
        ends = (self.domain.low, self.domain.high)
        return (
            ReportScores(question_of(self), ("mean",), values[:, None], np.ones(len(values)), None, ends),
        )

    def _estimate_from_moments(self, moments: Moments, population: bool = False) -> MeanEstimate:
        """Return the estimate from the exact sums of the scores."""
        centred = self.slope * moments.mean
        square = float(self.slope**2 * moments.mean_square)
        sums = ReportSums(moments.count, float(centred), square, 0.0 if population else 1.0)
        limits = self.limits(sums, float(abs(self.slope) * moments.rounding))
        value, error = float(centred + self.offset), float(limits.standard_error())
        worst, ends = math.sqrt(self.worst_variance() / moments.count), (self.domain.low, self.domain.high)
        notes = few_reports(limits) + implausible(["mean"], value, worst, *ends, moments.count)
        return MeanEstimate(value, error, moments.count, population, limits, notes, possible=ends)

    # Accuracy

    def variance(self, x: Any) -> Any:
        """Return the variance of the estimate from one report of a user with value x, in squared units.

        Parameters
        ----------
        x : float or array
            Values in [low, high].
        """
        values = np.asarray(x, dtype=np.float64)
        flat = self.domain.check(values.ravel())
        result = self._unit_variance(self.domain.to_unit(flat)) * self.domain.width**2
        return float(result[0]) if values.ndim == 0 else result.reshape(values.shape)

    def explained(self) -> tuple[str, ...]:
        low, high = edge_texts((self.domain.low, self.domain.high))
        error = math.sqrt(self.worst_variance())
        return (
            f"A number from {low} to {high} is replaced by a report, drawn at random; the number itself "
            "is not kept.",
            *super().explained(),
            f"A single report, taken for the number, would be off by up to {error:.3g} (root mean square); "
            "it is the mean of many that is of use.",
        )

    def worst_variance(self) -> float:
        """Return the largest variance of the estimate from one report, over all values."""
        return float(self._unit_variance(np.array([self._worst_unit()]))[0]) * self.domain.width**2

    def _least_variance(self) -> float:
        """Return a lower bound of the variance of a report over all values (0 is always right)."""
        return 0.0

    def _require_finite(self) -> None:
        """Raise ParameterError when the variance of a report is beyond double precision."""
        with np.errstate(all="ignore"):
            try:
                worst = self.worst_variance()
            except (OverflowError, ZeroDivisionError):
                worst = math.inf
        if not math.isfinite(worst):
            raise ParameterError(
                "epsilon",
                f"{self.epsilon:g} is so small that the variance of a report is beyond double precision",
                "give a larger epsilon",
            )

    def _figures(self) -> str:
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"{range_text(self.domain.low, self.domain.high)}, epsilon={self.epsilon:g}{delta}"

    # File

    fields: ClassVar[tuple[str, ...]] = ("epsilon", "low", "high")

    @property
    def low(self) -> float:
        """The lower end of the range."""
        return self.domain.low

    @property
    def high(self) -> float:
        """The upper end of the range."""
        return self.domain.high


LARGEST = 700.0
"""The largest epsilon of mechanisms with a density: e^epsilon is still a double."""


class FormulaMechanism(MeanMechanism):
    """A mechanism with a density, determined by epsilon (at most 700) and the range alone."""

    def __init__(self, epsilon: float, low: float = -1.0, high: float = 1.0) -> None:
        self.epsilon = privacy_epsilon(epsilon)
        if self.epsilon > LARGEST:
            raise ParameterError(
                "epsilon",
                f"{self.epsilon:g} is above {LARGEST:g}, where no noise is left in doubles",
                "give a smaller epsilon",
            )
        self.domain = Domain(low, high)
        self._prepare()
        self._require_finite()
        for certificate in self.certificates():
            if not certificate.holds:
                raise CertificateError(self.type, certificate, "give a smaller epsilon or a wider range")

    def _prepare(self) -> None:
        """Compute what drawing needs (nothing by default)."""

    @property
    def slope(self) -> Fraction:
        """1: scores are in the units of the values."""
        return Fraction(1)

    @property
    def offset(self) -> Fraction:
        return Fraction(self.domain.middle)

    @abstractmethod
    def audit(self) -> DensityAudit:
        """Return the audit of the density: for real numbers, not for the doubles that are sent."""

    def certificates(self) -> tuple[Certificate, ...]:
        return (self.audit().certificate(),)


class MeanAggregator(Server[MeanMechanism]):
    """Exact sums of the reports of one attribute: add, merge, estimate.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> mechanism = Duchi(epsilon=1.0)
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update([0, 1, 1]); there.update([1])
    >>> here.merge(there); here.users
    4
    """

    kept: ClassVar[str] = "sums"
    merged: ClassVar[str] = "sums of one mechanism"

    def __init__(self, mechanism: MeanMechanism) -> None:
        super().__init__(mechanism)
        self.tally = mechanism.tally()

    @property
    def users(self) -> int:
        """Number of reports that were added."""
        return int(self.tally.counts()[0])

    def _count(self, reports: Any) -> None:
        self.tally.add(self.tally.check(reports))

    def _merge(self, other: Self) -> None:
        self.tally.merge(other.tally)

    @rng_alone
    def estimate(self, population: bool = False) -> MeanEstimate:
        """Return the estimate from all reports added so far."""
        moments = self.tally.moments()
        self.require_some()
        return self._asked(self.mechanism._estimate_from_moments(moments, population))

    def _written(self) -> dict[str, Any]:
        return {"sums": self.tally.as_json()}

    def _read(self, document: Mapping[str, Any]) -> None:
        self.tally.restore(document.get("sums"))


def uniform_numbers(source: BitSource, count: int) -> Array:
    """Return uniform doubles in [0, 1], rounded from 62-bit fractions: full relative precision near 0."""
    return np.ldexp(source.integers(count).astype(np.float64), -BITS)
