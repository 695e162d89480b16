"""The mechanism of a workload: a private report per user, and unbiased answers of all queries."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit
from mechdesign.collect.categories import ReportMechanism
from mechdesign.collect.client import Answer, AskedNumber, Recipe, Steps, rng_alone
from mechdesign.collect.codec import Codes, Domain, Labels
from mechdesign.collect.collecting import (
    ANYWAY,
    CLIP,
    Column,
    Operation,
    Settings,
    column_operations,
    count_outside,
)
from mechdesign.collect.estimate import project_to_simplex
from mechdesign.collect.frequency_limits import few_users, implausible
from mechdesign.collect.intervals import tail_of
from mechdesign.collect.reader import on_table
from mechdesign.collect.server import damage_refused
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.tables import Values, require_no_mask
from mechdesign.core.text import counted
from mechdesign.core.validation import double_epsilon, in_range, one_of, probability_vector, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.frames import is_table
from mechdesign.data.intake import Intake
from mechdesign.exact.numbers import frozen, number_of_text, wholes
from mechdesign.exact.randomness import BITS, BitSource, Rng, bit_source
from mechdesign.families.workload.estimate import QueryEstimate, QueryScores, users_within
from mechdesign.families.workload.patterns import Array, ChannelValue, OrbitValue, OrbitWeights, Translations
from mechdesign.families.workload.queries import Workload
from mechdesign.families.workload.weights import PatternWeights, audit_patterns


class PatternClient(ReportMechanism[QueryEstimate]):
    """Texts of a workload for the author of its client; with a range a number is asked, for its bin."""

    weights: PatternWeights | OrbitWeights
    domain: Domain | None

    def _client_steps(self) -> Steps:
        """Return how a report is drawn, as plain values; ``bins``: the answer is a number of a range."""
        return {**self.weights.client_steps(), "bins": self.domain is not None}

    def recipe(self) -> Recipe:
        """Return how a client draws a report of one answer, or of one number of the range."""
        recipe = super().recipe()
        if self.domain is None:
            return recipe
        return replace(
            recipe, inputs=(AskedNumber(recipe.inputs[0].name, self.domain.low, self.domain.high),)
        )

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return the number of one report, from the bits of a source."""
        return int(self.draw(self._codes([answer]), source)[0])

    @abstractmethod
    def _codes(self, answers: Any, clip: bool = False) -> Codes:
        """Return the number of the type of each answer."""


BIASED = 2.0**-31
"""The largest bias that is allowed, as a part of the standard error of one report: that of 2^62 users."""


class WorkloadRelease(PatternClient):
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
        """Return the exact privacy audit of the weights that are sampled from."""
        return self._audit

    @cached_property
    def _audit(self) -> ClassAudit:
        return audit_patterns(self.weights.low, self.weights.high, self.weights.blank, self.epsilon)

    @cached_property
    def value(self) -> ChannelValue | OrbitValue:
        """The errors of the integer channel with its best estimator."""
        return self.weights.value(self.population)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the exact certificates of privacy and row sums, and the bias of the estimates."""
        blank = float(self.weights.blank.max()) / 2.0**BITS
        sums = Certificate("normalization", True, True, {"row_sum": f"2**{BITS}", "blank": blank})
        return self.audit().certificate(), sums, self._unbiased

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
    def _reports(self) -> Labels:
        return Labels(self.weights.reports)

    def _codes(self, answers: Any, clip: bool = False) -> Codes:
        if self.domain is None:
            return self.labels.encode(answers)
        numbers = np.clip(self.domain.check(answers, clip), self.domain.low, self.domain.high)
        return np.minimum(
            (self.domain.to_unit(numbers) * self.labels.size).astype(np.int64), self.labels.size - 1
        )

    def draw(self, codes: Codes, source: BitSource) -> Codes:
        """Return the number of a report for the number of each type: one uniform integer each."""
        return self.weights.draw(codes, source.integers(len(codes)))

    @rng_alone
    def randomize(
        self, answers: Any, rng: Rng = None, anyway: bool = False, clip: bool = False
    ) -> NDArray[Any]:
        """Return the number of one report for each answer.

        Parameters
        ----------
        answers : array of labels, numbers of types, or numbers of the range
        rng : None, int or numpy Generator
            None, the default, draws from the operating system; give a seed only in simulations.
        anyway : bool
            Whether to collect although the noise is larger than any answer.
        clip : bool
            Whether numbers outside of the range count as its nearest end.
        """
        if is_table(answers):
            options = {"anyway": anyway, "clip": clip}
            return on_table(self, "randomize", answers, rng=rng, **options)
        if not anyway:
            self.require_estimable()
        return self.draw(self._codes(answers, clip), self.source(rng))

    # Server

    @property
    def counters(self) -> int:
        """Number of counters that the server keeps: one per report."""
        return self.weights.reports

    def written(self, reports: Codes) -> Values:
        """Return reports as they stand in a table: as they are."""
        return reports

    def possible_reports(self) -> NDArray[np.bool_]:
        """Return the reports that are possible: all."""
        return np.ones(self.counters, dtype=np.bool_)

    def read(self, reports: Any) -> Codes:
        """Return the numbers of reports."""
        return self._reports.encode(reports, "reports")

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
            return self.workload.rows, tuple(self.workload.names)
        return frozen(np.eye(self.labels.size)), tuple(f"= {name}" for name in self.labels.shown())

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
        if self.domain is None:
            names = self.labels.shown()
            return names[middle], names[first], names[last]
        edges = np.linspace(self.domain.low, self.domain.high, self.labels.size + 1)
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

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        """Return ``randomize`` and ``estimate``."""
        takes = self._takes("answer")
        if self.domain is not None:
            takes = Column(
                "answer", f"a number from {self.domain.low:g} to {self.domain.high:g}", any_name=True
            )
        options = (ANYWAY,) if self.domain is None else (ANYWAY, CLIP)
        return column_operations(
            self,
            takes,
            f"a number from 0 to {self.weights.reports - 1}",
            self._client,
            options,
            "the answers of the queries",
        )

    def _client(self, answers: Values, settings: Settings, rng: Rng) -> Values:
        clip = bool(settings["clip"])
        if self.domain is not None and clip:
            numbers = self.domain.check(answers, clip)
            settings.count("value(s) clipped", count_outside(numbers, self.domain.low, self.domain.high))
        return self.draw(self._codes(answers, clip), bit_source(rng))

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        """Return the number of codes that its column takes; none where it takes numbers of a range."""
        return super().bare_codes() if self.domain is None else ()

    def _is_value(self, text: str) -> bool:
        """Whether a text can be an answer in a data file."""
        return super()._is_value(text) if self.domain is None else number_of_text(text) is not None

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        """Return the mechanism for a column of a file; with a range, its types are equal bins of numbers."""
        if not ranges:
            return super().for_data(intake)
        if len(ranges) > 1:
            raise ParameterError("range", f"{counted(len(ranges), 'range')} for one column", "give one")
        binned = type(self)(self.workload, self.epsilon, self.weights, self.population, tuple(ranges[0]))
        return super(WorkloadRelease, binned).for_data(intake).replaced(about=self.about)

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
