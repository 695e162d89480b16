"""Many attributes: each user reports k of m attributes, drawn without replacement, at epsilon/k each.

Privacy. Which attributes are drawn does not depend on the values. Given the draw, k reports of an
(epsilon/k)-private mechanism are epsilon-private together (sequential composition), whatever the values
have to do with one another; the share of epsilon is the largest double e with k e <= epsilon exactly.

Estimators. ``self-normalized`` divides by the number of users who drew attribute j, n_j about n k/m: given
n_j it is unbiased, and its variance is that of n_j reports and of a draw of n_j users from n. ``scaled``
divides by the expected number n k/m, as Harmony and algorithm 6 of the RCP paper do: it pays for the
variation of n_j as well, n Var = (m/k) E[r^2] - E[r]^2 for centred scores r. The first is the default, being
smaller unless V is huge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ComposedAudit, compose
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import nested
from mechdesign.collect.codec import Array, Labels
from mechdesign.collect.collecting import Operation, marked
from mechdesign.collect.kernel import Answer, Recipe
from mechdesign.collect.report_scores import ReportScores
from mechdesign.collect.server import damage_refused
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.validation import (
    as_written,
    double_epsilon,
    integer,
    one_of,
    privacy_epsilon,
    user_count,
)
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.intake import Intake
from mechdesign.exact.randomness import BitSource, float_up
from mechdesign.families.mean.attribute_tables import (
    AttributeAggregator,
    ColumnRanges,
    NumberColumns,
    SampledAttributes,
    attribute_operations,
    draw_attributes,
)
from mechdesign.families.mean.bits import Duchi
from mechdesign.families.mean.means import CHUNK, BinomialLimits, MeanMechanism
from mechdesign.families.mean.tally import Moments
from mechdesign.primitives.mean_limits import ReportSums, ScoreLimits

MAX_ATTRIBUTES = 1_000_000
"""More attributes are refused: a file of a few bytes must not ask for gigabytes."""

ESTIMATORS = ("self-normalized", "scaled")


class AttributeSampling(SampledAttributes):
    """Report k of m attributes, each with the same mechanism at epsilon/k.

    Parameters
    ----------
    inner : MeanMechanism
        The mechanism of one attribute, at epsilon/k; see :meth:`of` to have epsilon divided.
    attributes : int or sequence of str
        How many, or their names.
    per_user : int
        k, how many of them a user reports.
    epsilon : float, optional
        The promise for all reports of a user together; k times that of ``inner`` by default.
    low, high : float or (m,) array, optional
        The ranges of the columns; those of ``inner`` by default.
    estimator : {"self-normalized", "scaled"}

    Examples
    --------
    >>> mechanism = AttributeSampling.of(Duchi, epsilon=1.0, attributes=["steps", "pulse"])
    >>> reports = mechanism.randomize([[0.5, -0.5]] * 4000, rng=1)
    >>> reports.dtype.names, reports.shape
    (('attribute', 'report'), (4000,))
    >>> low, high = mechanism.estimate(reports).interval(0.99)
    >>> bool(low[0] < 0.5 < high[0] and low[1] < -0.5 < high[1])
    True
    """

    type: ClassVar[str] = "attribute-sampling"
    may_fail: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = (
        *("inner", "attributes", "per_user", "epsilon", "low", "high", "estimator"),
    )

    def __init__(
        self,
        inner: MeanMechanism,
        attributes: int | Sequence[str],
        per_user: int = 1,
        epsilon: float | None = None,
        low: Any = None,
        high: Any = None,
        estimator: str = "self-normalized",
    ) -> None:
        inner = nested(inner)
        if not isinstance(inner, MeanMechanism):
            raise ParameterError(
                "inner", f"{type(inner).__name__} is not a mechanism for the mean of one attribute"
            )
        names = None if isinstance(attributes, (int, np.integer)) else list(attributes)
        size = integer("attributes", attributes if names is None else len(names), 1, MAX_ATTRIBUTES)
        self.inner, self.labels = inner, Labels(size, names)
        self.per_user = integer("per_user", per_user, 1, size)
        self.estimator = one_of("estimator", estimator, ESTIMATORS)
        self.epsilon = double_epsilon(inner.epsilon * self.per_user if epsilon is None else epsilon)
        self.delta = float_up(self.per_user * Fraction(inner.delta))
        self.ranges = ColumnRanges(
            size,
            inner.domain.low if low is None else low,
            inner.domain.high if high is None else high,
            self.labels,
        )
        self.dtype = np.dtype([("attribute", np.int32), ("report", np.dtype(inner._report_dtype))])

    @classmethod
    def of(
        cls,
        kind: Callable[[float], MeanMechanism],
        epsilon: float,
        attributes: int | Sequence[str],
        per_user: int = 1,
        **options: Any,
    ) -> AttributeSampling:
        """Divide epsilon among ``per_user`` reports of a mechanism that is determined by its epsilon.

        Parameters
        ----------
        kind : callable
            ``Duchi``, ``Laplace``, ``Piecewise``, ``Hybrid``, ``DiscretePiecewise``, ``SquareWave``, or
            a function that returns a mechanism for a share of epsilon.
        epsilon : float
        attributes, per_user, **options
            As for the constructor.
        """
        promise = privacy_epsilon(epsilon)
        share = epsilon_share(promise, integer("per_user", per_user, 1))
        return AttributeSampling(kind(share), attributes, per_user, promise, **options)

    @property
    def size(self) -> int:
        """The number m of attributes."""
        return self.labels.size

    # Client

    @cached_property
    def codec(self) -> NumberColumns:
        return NumberColumns(self.ranges, self.labels)

    def _reports_of(self, codes: Array, source: BitSource) -> NDArray[Any]:
        """Return k reports for each user: records with the fields ``attribute`` and ``report``.

        The k reports of a user follow one another. ``attribute`` counts from 0.
        """
        users, k = len(codes), self.per_user
        reports = np.empty(users * k, dtype=self.dtype)
        piece = 1 << max(0, (CHUNK // k).bit_length() - 1)  # a power of two: blocks of a file leave no trace
        rows = np.repeat(np.arange(piece), k)
        for start in range(0, users, piece):
            part = codes[start : start + piece]
            places = draw_attributes(len(part), self.size, k, source).ravel()
            chosen = part[rows[: len(places)], places]
            block = reports[start * k : start * k + len(places)]
            block["attribute"] = places
            block["report"] = self.inner.draw(self.ranges.to_unit(chosen, places), source)
        return reports

    def recipe(self) -> Recipe:
        steps = {"step": "sample", "per_user": self.per_user, "each": self.inner._client_steps()}
        columns = ("attribute", marked("report", self.survey_digest))
        return Recipe(self.codec.questions(), columns, steps, False, True)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return the reports of one user, a list of (attribute, report), from the bits of a source."""
        rows = self._reports_of(self.codec.codes([answer]), source).tolist()
        return [list(map(int, row)) for row in rows]

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        return attribute_operations(self)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        self._require_missing(intake.missing)
        if intake.columns and len(intake.columns) != self.size:
            raise ParameterError(
                "columns", f"{counted(len(intake.columns), 'name')} for {counted(self.size, 'attribute')}"
            )
        if len(ranges) not in (0, 1, self.size):
            raise ParameterError(
                "range",
                f"{counted(len(ranges), 'range')} for {counted(self.size, 'attribute')}",
                "give one or each",
            )
        content = self.content()
        if intake.columns:
            content["attributes"] = list(intake.columns)
        if ranges:
            each = list(ranges) * (self.size if len(ranges) == 1 else 1)
            content["low"], content["high"] = ([pair[end] for pair in each] for end in (0, 1))
        mechanism = type(self).from_content(content)
        return mechanism.replaced(intake=intake, about=self.about)

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of an attribute's mean with this many users, in the widest range."""
        count = user_count(users)
        expected = np.array([count * self.per_user / self.size])
        widest = float(self.ranges.width.max()) / self.inner.domain.width
        largest = float(self.worst_errors(expected, count)[0]) * widest
        return Forecast("means", count, possible=True, largest=largest, of="a mean")

    def worst_errors(self, counts: NDArray[Any], users: int) -> Array:
        """Return the largest standard errors of columns with ``counts`` reports, in inner ranges."""
        variance, domain = self.inner.worst_variance(), self.inner.domain
        reports = np.maximum(np.asarray(counts, dtype=np.float64), 1.0)
        if self.estimator == "scaled":  # no larger than with the worst variance and the worst score at once
            scores = np.array([domain.low, domain.high]) - float(self.inner.offset)
            variance += (1.0 - self.per_user / self.size) * float(np.max(scores**2))
            reports = np.full(len(reports), users * self.per_user / self.size)
        errors: Array = np.sqrt(variance / reports)
        return errors

    # Server

    def aggregator(self) -> AttributeAggregator:
        return AttributeAggregator(self)

    def column_values(
        self, columns: Sequence[Moments], users: int, population: bool
    ) -> tuple[Array, ScoreLimits | BinomialLimits]:
        """Return the estimates of all columns and their limits, in units of the inner range.

        ``scaled``: a user's term is (m/k) r when the attribute is drawn, else 0; there are as many as users.
        ``self-normalized``: the users who drew it are a random part of all; without any, the middle is given.
        """
        slope, offset, middle = self.inner.slope, self.inner.offset, Fraction(self.inner.domain.middle)
        scaled = self.estimator == "scaled" and self.per_user < self.size
        times = Fraction(self.size, self.per_user) if scaled else Fraction(1)
        values, rows = [], []
        for moments in columns:
            count = users if scaled else moments.count
            mean = slope * times * moments.total / count if count else middle - offset
            square = (slope * times) ** 2 * moments.square / max(count, 1)
            share = 0.0 if population else 1.0 if scaled else count / users
            values.append(float(mean + offset))
            rows.append((max(count, 1), float(mean), float(square), share))
        sums = ReportSums(*np.array(rows).T)
        rounding = float(abs(slope) * times * columns[0].rounding)
        return np.array(values), self.inner.limits(sums, rounding, float(times))

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        """Return the scores of each number.

        Of a scaled estimator who did not draw a number says 0, counted from where scores are centred.
        """
        records, each = np.asarray(reports), self.per_user
        self.aggregator().update(records)  # refuses what is no report
        users, inner = len(records) // each, self.inner
        low, width = self.ranges.low, self.ranges.width
        places = np.asarray(records["attribute"], dtype=np.int64)
        values = inner.report_values(np.ascontiguousarray(records["report"]))
        unit = (values - inner.domain.low) / inner.domain.width
        times = self.size / each if self.estimator == "scaled" else 1.0
        base = (float(inner.offset) - inner.domain.low) / inner.domain.width if times > 1.0 else 0.0
        result = []
        for place, name in enumerate(self.labels.shown()):
            rows = np.flatnonzero(places == place)
            table = np.full((users, 1), low[place] + width[place] * base)
            information = np.full(users, 1.0 if times > 1.0 else 0.0)
            table[rows // each, 0] = low[place] + width[place] * (base + times * (unit[rows] - base))
            information[rows // each] = 1.0
            ends = (float(low[place]), float(low[place] + width[place]))
            result.append(ReportScores(str(name), ("mean",), table, information, None, ends))
        return tuple(result)

    # Accuracy

    def variance(self, x: Any, users: int) -> Any:
        """Return the predicted variance of the mean of a column whose users all have the value x.

        Parameters
        ----------
        x : float or array
            Values in the range of ``inner``.
        users : int
        """
        report = self.inner.variance(x)
        n, share = user_count(users), self.per_user / self.size
        if self.estimator == "self-normalized":
            return report / (n * share)
        score = np.asarray(x) - float(self.inner.offset)
        variance = (report + (1.0 - share) * score**2) / (n * share)
        return float(variance) if np.ndim(x) == 0 else variance

    # Certificates and file

    def audit(self) -> ComposedAudit:
        """Return the audit of all k reports of a user together."""
        of_inner = self.inner.certificates()
        privacy = next(certificate for certificate in of_inner if certificate.property == "privacy")
        return compose(privacy, self.per_user, self.epsilon, self.delta)

    def loss_curve(self) -> LossCurve | None:
        """Return the curve of all k reports: the attributes are drawn whatever the values are."""
        curve = self.inner.loss_curve()
        return None if curve is None else LossCurve.product([curve] * self.per_user)

    def certificates(self) -> tuple[Certificate, ...]:
        others = (one for one in self.inner.certificates() if one.property != "privacy")
        return (self.audit().certificate(), *others)

    def _figures(self) -> str:
        names = self.labels.shown()
        few = ", ".join(names[:4]) + (", ..." if self.size > 4 else "")
        attributes = counted(self.size, "attribute") + (f" ({few})" if self.labels.names else "")
        return f"{attributes}, {self.per_user} a user, epsilon={self.epsilon:g}, each by {self.inner!r}"

    def _part(self, name: str) -> Any:
        parts = {
            "attributes": self.labels.as_json() or self.size,
            "low": self.ranges.low,
            "high": self.ranges.high,
        }
        return parts[name] if name in parts else super()._part(name)

    @classmethod
    @damage_refused
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        return super().from_content(content)


class Harmony(AttributeSampling):
    """Harmony (Nguyen et al., 2016): one sampled attribute, Duchi's two values times m.

    Duchi's mechanism with k = 1 and the ``scaled`` estimator: a bit stands for +-m D (high - low)/2.

    Parameters
    ----------
    epsilon : float
    attributes : int or sequence of str
    low, high : float or (m,) array
        The ranges of the columns, [-1, 1] by default.
    for_double : bool
        See :class:`Duchi`.

    Examples
    --------
    >>> mechanism = Harmony(epsilon=1.0, attributes=36)
    >>> round(mechanism.variance(0.0, users=1), 3)  # m D^2
    168.577
    """

    type: ClassVar[str] = "harmony"

    def __init__(
        self,
        epsilon: float,
        attributes: int | Sequence[str],
        low: Any = -1.0,
        high: Any = 1.0,
        *,
        for_double: bool = False,
    ) -> None:
        inner = Duchi(epsilon, for_double=for_double)
        super().__init__(inner, attributes, 1, inner.epsilon, low, high, "scaled")

    @classmethod
    @damage_refused
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        inner = nested(content["inner"])
        settings = [content[name] for name in ("epsilon", "attributes", "low", "high")]
        mechanism = cls(*settings)
        if inner.fingerprint != mechanism.inner.fingerprint:
            mechanism = cls(*settings, for_double=True)
        if inner.fingerprint != mechanism.inner.fingerprint or content["per_user"] != 1:
            raise CertificateError("inner", "is not Duchi's mechanism at this epsilon with one report a user")
        return mechanism


def epsilon_share(epsilon: float, parts: int) -> float:
    """Return the largest double e with parts e <= epsilon, as doubles and as they were written.

    Examples
    --------
    >>> epsilon_share(1.0, 4)
    0.25
    """
    share = epsilon / parts
    while any(read(share) * parts > read(epsilon) for read in (Fraction, as_written)):
        share = math.nextafter(share, 0.0)
    return share
