"""The mechanism of a workload: a private report per user, and unbiased answers of all queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.audit.classes import ClassAudit
from mechdesign.audit.losses import MOST_WORK, LossCurve
from mechdesign.collect.codec import Choice, Codec, Codes, Domain, Labels, Numbers
from mechdesign.collect.collector import Collector
from mechdesign.collect.estimate import project_to_simplex
from mechdesign.collect.intervals import tail_of
from mechdesign.collect.kernel import Steps
from mechdesign.collect.scores import few_users, implausible
from mechdesign.collect.server import damage_refused
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, counted
from mechdesign.core.validation import double_epsilon, in_range, one_of, probability_vector, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.exact.numbers import frozen, require_no_mask, wholes
from mechdesign.families.workload.estimate import QueryEstimate, QueryScores, names_in_units, users_within
from mechdesign.families.workload.patterns import Array, ChannelValue, OrbitValue, OrbitWeights, Translations
from mechdesign.families.workload.queries import Workload
from mechdesign.families.workload.weights import PatternWeights, audit_patterns

ORDERED = ("prefix", "likert", "ranges")
"""Workloads of types with an order."""

BIASED = 2.0**-31
"""The largest bias that is allowed, as a part of the standard error of one report: that of 2^62 users."""


class Bins(Numbers):
    """A number of a range; its code is that of the bin of equal width that holds it.

    Examples
    --------
    >>> Bins(Domain(0.0, 10.0), 5).codes([0, 3, 10])
    array([0, 1, 4])
    """

    report_word = "answer"

    def __init__(self, domain: Domain, size: int, word: str = "answer") -> None:
        super().__init__(domain, word)
        self.size = size

    def codes(self, answers: Any, clip: bool = False) -> Codes:
        numbers = np.clip(self.domain.check(answers, clip), self.domain.low, self.domain.high)
        bins = (self.domain.to_unit(numbers) * self.size).astype(np.int64)
        return np.minimum(bins, self.size - 1)


class WorkloadRelease(Collector[QueryEstimate]):
    """One private report per user, from which the answers of all queries of a workload are estimated.

    Parameters
    ----------
    workload : mapping, matrix or Workload
        The queries; see :class:`~mechdesign.families.workload.queries.Workload`.
    epsilon : float
        The guarantee; audited here.
    weights : PatternWeights or OrbitWeights
        Sets of types and the integer weights of their reports.
    population : (n,) array, optional
        The shares at which the estimator is the best one; equal shares by default. It is unbiased for all.
    domain : (low, high), optional
        The types are equal bins of this range of numbers.
    labels : sequence of str, optional
        Names of the types, instead of a range.

    Raises
    ------
    CertificateError
        When the weights are not private, or do not determine the answers.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.LinearQueries(workload={"name": "likert", "size": 5}, epsilon=1.0)
    >>> mechanism = md.solve(problem).mechanism()
    >>> estimate = mechanism.estimate(mechanism.randomize([0, 1, 2, 3, 4] * 2000, rng=1))
    >>> low, high = estimate.interval(0.999)
    >>> bool((low < [0.2, 0.4, 0.6, 0.8]).all() and (high > [0.2, 0.4, 0.6, 0.8]).all())
    True
    >>> str(estimate.quantile(0.5))[:14]
    '0.5 quantile: '
    """

    type: ClassVar[str] = "linear-queries"
    quantity: ClassVar[str] = "the answers of the queries"

    def __init__(
        self,
        workload: Any,
        epsilon: float,
        weights: PatternWeights | OrbitWeights,
        population: Any = None,
        domain: Any = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        self.workload = workload if isinstance(workload, Workload) else Workload(workload)
        self.epsilon = double_epsilon(epsilon)
        self.weights = replace(
            weights, sets=frozen(weights.sets), low=frozen(weights.low), high=frozen(weights.high)
        )
        size = self.workload.size
        if weights.sets.shape[1] != size:
            raise CertificateError("channel", f"its sets are of {weights.sets.shape[1]} types, not {size}")
        equal = np.full(size, 1.0 / size)
        self.population: Array = (
            frozen(equal) if population is None else probability_vector("population", population)
        )
        if isinstance(weights, OrbitWeights) and (
            weights.group.size != size or float(np.ptp(self.population)) > 1e-12
        ):
            raise CertificateError("population", "translates need equal shares and as many types")
        if len(self.population) != size or self.population.min() <= 0.0:
            raise CertificateError("population", f"expected {size} shares above 0")
        self.domain = None if domain is None else Domain(*domain)
        self.labels = Labels(size, labels)
        for certificate in self.certificates():
            if not certificate.holds:
                raise CertificateError("channel", certificate)

    def _figures(self) -> str:
        name = self.workload.named and self.workload.definition["name"]
        workload = counted(self.workload.count, "query") + (f" ({name})" if name else "")
        return (
            f"{workload}, {counted(self.labels.size, 'type')}, {counted(self.weights.reports, 'report')}, "
            f"epsilon={self.epsilon:g}"
        )

    # Audit

    def audit(self) -> ClassAudit:
        return self._audit

    @cached_property
    def _audit(self) -> ClassAudit:
        return audit_patterns(self.weights.low, self.weights.high, self.weights.blank, self.epsilon)

    def loss_curve(self) -> LossCurve | None:
        if self.labels.size**2 * self.weights.reports > MOST_WORK:
            return None
        return LossCurve.of_rows(np.array([self.weights.row(code) for code in range(self.labels.size)]))

    @cached_property
    def value(self) -> ChannelValue | OrbitValue:
        """The errors of the integer channel with its best estimator."""
        return self.weights.value(self.population)

    def certificates(self) -> tuple[Certificate, ...]:
        return *super().certificates(), self._unbiased

    @cached_property
    def _unbiased(self) -> Certificate:
        """Certify that the estimator is unbiased for each type under the integer weights."""
        bias = self.value.bias(self.workload.gram)
        error = math.sqrt(max(self.average_error, 0.0))
        note = "computed in doubles; below the standard error of 2**62 users"
        # Not the bias itself, whose bits differ between processors: a file is loaded elsewhere.
        figures = {"bias_below": float(f"{BIASED * error:.2g}")}
        return Certificate("unbiased", bias <= BIASED * error, False, figures, {}, note)

    # Client

    @property
    def kernel(self) -> PatternWeights | OrbitWeights:
        return self.weights

    def _sum_figures(self) -> Mapping[str, float]:
        return {"blank": self.weights.most_blank}

    @cached_property
    def codec(self) -> Codec:
        return Choice(self.labels) if self.domain is None else Bins(self.domain, self.labels.size)

    def _client_steps(self) -> Steps:
        """Return how a report is drawn, as plain values; ``bins``: the answer is a number of a range."""
        return {**self.kernel.client_steps(), "bins": self.domain is not None}

    @property
    def _report_text(self) -> str:
        return f"a number from 0 to {self.weights.reports - 1}"

    def _within(self, low: float, high: float) -> Self:
        return type(self)(self.workload, self.epsilon, self.weights, self.population, (low, high))

    # Server

    def estimate_from_counts(self, counts: Codes, population: bool = False) -> QueryEstimate:
        """Return the estimates from the number of times each report was made."""
        require_no_mask(counts, "counts")
        users = int(counts.sum())
        shares = self.value.shares_from(counts)
        rows, names = self._listed
        errors = self.spread(rows, shares, users, population)
        values = rows @ shares
        worst = np.sqrt(self._query_errors.max(axis=0) / users)
        notes = few_users(users) + implausible(
            names, values, worst, rows.min(axis=1), rows.max(axis=1), users
        )
        limits = self._scores.limits(values, shares, users, population)
        return QueryEstimate(values, errors, users, names, shares, self, population, notes, limits)

    @cached_property
    def _scores(self) -> QueryScores:
        """The scores of the queries that are shown."""
        return QueryScores(self._listed[0], self.value.query_moments)

    @cached_property
    def cumulative_scores(self) -> QueryScores:
        """The scores of the cumulative shares of all types but the last one."""
        rows = np.tri(self.labels.size - 1, self.labels.size)
        scores = self._scores
        return scores if np.array_equal(scores.rows, rows) else QueryScores(rows, self.value.query_moments)

    @cached_property
    def _listed(self) -> tuple[Array, tuple[str, ...]]:
        """The queries that are shown: those of the workload, or the types where they are too many."""
        if self.workload.is_listed:
            return self.workload.rows, names_in_units(self.workload, self.edges, self.labels.names)
        return frozen(np.eye(self.labels.size)), tuple(f"= {name}" for name in self.labels.shown())

    @property
    def queries(self) -> Array:
        """The queries that are estimated and printed, a row each."""
        return self._listed[0]

    @property
    def edges(self) -> Array | None:
        """The ends of the bins; None where the types are not bins of a range."""
        if self.domain is None:
            return None
        return np.linspace(self.domain.low, self.domain.high, self.labels.size + 1)

    @property
    def label_scores(self) -> Array | None:
        """The labels as numbers, of which a mean is estimated; None where they are no rating."""
        if not self.is_ordered or self.labels.names is None:
            return None
        try:
            scores = np.array([float(label) for label in self.labels.names])
        except ValueError:
            return None
        return scores if np.isfinite(scores).all() and np.ptp(scores) > 0.0 else None

    @property
    def is_ordered(self) -> bool:
        """Whether the types have an order, and so quantiles."""
        named = self.workload.named is not None and self.workload.definition["name"] in ORDERED
        return self.domain is not None or named

    @cached_property
    def _query_errors(self) -> Array:
        return frozen(self.value.query_errors(self._listed[0]))

    def spread(self, rows: Array, shares: Array, users: int, population: bool) -> Array:
        """Return the standard errors of answers, at the estimated shares moved to the simplex."""
        truth = project_to_simplex(shares)
        errors = self._query_errors if rows is self._listed[0] else self.value.query_errors(rows)
        variance = truth @ errors
        if population:
            variance = variance + np.maximum((rows**2) @ truth - (rows @ truth) ** 2, 0.0)
        spread: Array = np.sqrt(np.maximum(variance, 0.0) / users)
        return spread

    def _named_ends(self, middle: int, first: int, last: int) -> tuple[Any, Any, Any]:
        """Return a type and two further ones by name, or the middle of a bin and the ends of two others."""
        edges = self.edges
        if edges is None:
            names = self.labels.shown()
            return names[middle], names[first], names[last]
        return float(edges[middle] + edges[middle + 1]) / 2.0, float(edges[first]), float(edges[last + 1])

    # Accuracy

    @cached_property
    def type_errors(self) -> Array:
        """The expected squared error t_u of one report for each type, weighted as the workload is."""
        return frozen(self.value.type_errors(self.workload.gram))

    @property
    def average_error(self) -> float:
        """The error of one report, averaged over the population."""
        return self.value.average(self.workload.centered(self.population))

    @property
    def worst_error(self) -> float:
        """The error of one report for the type for which it is largest."""
        return float(self.type_errors.max())

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of the least exact query with this many users."""
        count = user_count(users)
        rows = self._listed[0]
        span = rows.max(axis=1) - rows.min(axis=1)
        differs = span > 0  # a query with one answer for all types is known
        relative = np.sqrt(self._query_errors.max(axis=0))[differs] / span[differs] / math.sqrt(count)
        largest = float(np.sqrt(self._query_errors.max() / count))
        typical = float(np.sqrt((self.population @ self._query_errors).max() / count))
        even = float(np.ptp(self.population)) < 1e-12
        assumption = (
            largest,
            typical,
            f"if {'all types are equally frequent' if even else 'the plan is right'}",
        )
        kind, single = ("events per user", "a slot") if self._counts_events else ("queries", "")
        if float(relative.max()) <= 1.0:
            return Forecast(kind, count, True, *assumption, of=single)
        reason = (
            f"with {counted(count, 'user')} the standard error of {single or 'a query'} is "
            f"up to {float(relative.max()):.4g} times "
            "the range of its answers; collect from more users, or build with a larger epsilon"
        )
        return Forecast(kind, count, False, *assumption, reason, of=single)

    @property
    def _counts_events(self) -> bool:
        """Whether the queries are the events of slots."""
        return self.workload.named is not None and self.workload.definition["name"] == "events"

    def users_for(self, error: float, level: float = 0.95) -> int:
        """Return the least number of users for which every query has an interval of at most +- ``error``."""
        half = in_range("error", error, 0.0, math.inf, low_open=True, high_open=True)
        worst = int(self._query_errors.max(axis=0).argmax())
        scores = QueryScores(self._listed[0][worst : worst + 1], self.value.query_moments)
        return users_within(half, scores, tail_of(level))

    # File

    def content(self) -> dict[str, Any]:
        """Return queries, guarantee, sets and weights as plain values; sets as hexadecimal bits."""
        packed = np.packbits(self.weights.sets, axis=1)
        query_weights = self.workload.weights
        return {
            "epsilon": self.epsilon,
            "workload": self.workload.as_json(),
            "query_weights": None if query_weights is None else query_weights.tolist(),
            "population": self.population.tolist(),
            "domain": None if self.domain is None else [self.domain.low, self.domain.high],
            "labels": None if self.labels.names is None else list(self.labels.names),
            "group": self.weights.group.kind if isinstance(self.weights, OrbitWeights) else None,
            "sets": [row.tobytes().hex() for row in packed],
            "low": self.weights.low.tolist(),
            "high": self.weights.high.tolist(),
        }

    @classmethod
    @damage_refused
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from plain values, auditing it again."""
        workload = Workload(content["workload"], content["query_weights"])
        packed = np.array([list(bytes.fromhex(text)) for text in content["sets"]], dtype=np.uint8)
        sets = np.unpackbits(packed, axis=1, count=workload.size).astype(bool)
        low, high = (wholes(name, content[name], 1) for name in ("low", "high"))
        weights: PatternWeights | OrbitWeights = PatternWeights(sets, low, high)
        if content["group"] is not None:
            kind = one_of("group", content["group"], ("cycle", "cube"))
            weights = OrbitWeights(sets, low, high, Translations(workload.size, kind))
        return cls(
            workload, content["epsilon"], weights, content["population"], content["domain"], content["labels"]
        )
