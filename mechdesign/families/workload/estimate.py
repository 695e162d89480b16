"""Estimated answers of a workload: confidence limits, the cumulative distribution, quantiles, projection.

**Confidence limits: the score test, with users of all types as the reports show them.**
The estimate of a query w is an average of scores with E[score] = w_u for a user of type u, whatever w is. The
shares of the types are known from the reports, up to their noise. Under the hypothesis that the answer is
theta, a part of the users is moved to the types with the largest answer (or with the least one), of several
in the proportions of their estimated shares; the others remain as estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import ListedEstimate, MeanEstimate, project_to_simplex
from mechdesign.collect.intervals import (
    AverageLimits,
    ScalarLimits,
    cumulants,
    normal_quantile,
    quantile_ends,
    rare_step,
    tail_of,
)
from mechdesign.core.errors import counted
from mechdesign.core.validation import in_range
from mechdesign.data.tidy import Quantiles
from mechdesign.exact.numbers import frozen
from mechdesign.primitives.mean_limits import WorstLimits
from mechdesign.show.tables import edge_texts
from mechdesign.solvers.least_squares import increasing_blocks, nonnegative_quadratic

if TYPE_CHECKING:
    from mechdesign.collect.codec import Labels
    from mechdesign.collect.intervals import Limits
    from mechdesign.families.workload.patterns import ChannelValue, OrbitValue
    from mechdesign.families.workload.queries import Workload
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

MOST_CACHED = 1 << 22
"""Entries of a table (types, queries) up to which the moments of scores are kept; else computed again."""

BLOCK = 1 << 20
"""Entries of a table (types, queries) that is worked on at a time."""


@dataclass(frozen=True, eq=False)
class QueryScores:
    """The moments of the scores of some queries, for users of each type.

    Parameters
    ----------
    rows : (p, n) array
        The queries.
    moments : callable
        From queries to the second to fourth moments about 0 of their scores for each type, (3, n, p).
    """

    rows: Array
    moments: Callable[[Array], Array]

    def limits(self, value: Array, shares: Array, users: int, population: bool) -> QueryLimits:
        """Return the limits of the estimates, given estimated shares of the types that may be negative."""
        likely = (project_to_simplex(shares) * users + 1.0 / len(shares)) / (users + 1.0)
        return QueryLimits(value, users, self, likely, population)

    def mixed(self, shares: Array, population: bool) -> Array:
        """Return the moments of :class:`QueryLimits` at shares, and at the ends: (3, 3, p).

        The second axis is that of all types, those with the least answer, and those with the largest.
        """
        if self.rows.size <= MOST_CACHED:
            return _mixed(self._of_population if population else self.for_types, self._ends, shares)
        step = max(1, BLOCK // self.rows.shape[1])
        blocks = (
            QueryScores(self.rows[start : start + step], self.moments)
            for start in range(0, len(self.rows), step)
        )
        return np.concatenate([block.mixed(shares, population) for block in blocks], axis=2)

    @cached_property
    def _of_population(self) -> Array:
        return frozen(self.moments(self.rows))

    @cached_property
    def for_types(self) -> Array:
        """The second to fourth cumulants of the scores for users of each type, (3, n, p)."""
        return frozen(np.stack(cumulants(self.rows.T, *self._of_population)))

    @cached_property
    def _ends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The types with the least and with the largest answer of each query, (n, p)."""
        answers = self.rows.T
        return answers == answers.min(axis=0), answers == answers.max(axis=0)


def users_within(half: float, scores: QueryScores, tail: float) -> int:
    """Return the least number of users, all of the noisiest type, whose interval of one query is so narrow.

    Parameters
    ----------
    half : float
        The largest distance of a limit from the estimate.
    scores : QueryScores
        Of the query.
    tail : float
        The probability of each side.
    """
    parts = scores.for_types[:, :, 0]
    second, third, fourth = map(float, parts[:, int(parts[0].argmax())])
    step = float(rare_step(0.0, np.array(second), np.array(fourth)))

    def is_enough(users: int) -> bool:
        limits = WorstLimits(second / users, abs(third) / users**2, fourth / users**3, step / users)
        return float(limits.distances(tail)[0]) <= half

    few: int = 0
    enough: int = math.ceil(normal_quantile(1.0 - tail) ** 2 * second / half**2)
    while not is_enough(max(enough, 1)):
        few, enough = enough, 2 * max(enough, 1)
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if is_enough(middle) else (middle, enough)
    return enough


def _mixed(parts: Array, ends: Sequence[NDArray[np.bool_]], shares: Array) -> Array:
    """Return the averages of parts (3, n, p) over all types and over those at the ends, (3, 3, p)."""
    means = [shares @ parts]
    for end in ends:
        weights = np.where(end, shares[:, None], 0.0)
        means.append(np.einsum("knp,np->kp", parts, weights / weights.sum(axis=0)))
    return np.stack(means, axis=1)


@dataclass(frozen=True, eq=False)
class QueryLimits(AverageLimits):
    """The limits of the score test for the answers of queries.

    Parameters
    ----------
    value : (p,) array
        The unbiased estimates.
    users : int
    scores : QueryScores
    shares : (n,) array
        The likely shares of the types, all positive.
    population : bool
    """

    value: Array
    users: int
    scores: QueryScores
    shares: Array
    population: bool
    step: float = 0.0

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        """The least and the largest answer of each query."""
        return self.scores.rows.min(axis=1), self.scores.rows.max(axis=1)

    @cached_property
    def _mixture(self) -> Array:
        return self.scores.mixed(self.shares, self.population)

    @cached_property
    def _middle(self) -> Array:
        """The answers at the likely shares."""
        answers: Array = self.scores.rows @ self.shares
        return answers

    @property
    def _known(self) -> Array:
        """The parts of queries with one answer for all types, which have no noise but rounding errors."""
        answers = self._range[0] if self.population else np.zeros(len(self.scores.rows))
        return np.stack([answers**order for order in (2, 3, 4)])

    def standard_error(self) -> Array:
        """Return the standard errors at the likely shares."""
        errors: Array = np.sqrt(self._cumulants(self._middle)[0] / self.users)
        return errors

    def _possible(self, hypothesis: Array) -> Array:
        return np.clip(hypothesis, *self._range)

    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        least, most = self._range
        up = hypothesis > self._middle
        gap = np.where(up, most, least) - self._middle
        moved = np.divide(hypothesis - self._middle, gap, out=np.zeros_like(hypothesis), where=gap != 0.0)
        second, third, fourth = (
            np.where(most > least, (1.0 - moved) * middle + moved * np.where(up, high, low), known)
            for (middle, low, high), known in zip(self._mixture, self._known, strict=True)
        )
        return self._of_kinds(hypothesis, second, third, fourth)


def names_in_units(workload: Workload, edges: Array | None, labels: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the queries in the units of the answers: with the ends of bins, or with labels.

    Examples
    --------
    >>> from mechdesign.families.workload.queries import Workload
    >>> names_in_units(Workload({"name": "prefix", "size": 3}), np.array([0.0, 10.0, 20.0, 30.0]), None)
    ('below 10', 'below 20')
    >>> names_in_units(Workload({"name": "likert", "size": 3}), None, ["bad", "fair", "good"])
    ('up to bad', 'up to fair')
    """
    kind = workload.definition["name"] if workload.named is not None else ""
    size, texts = workload.size, () if edges is None else edge_texts(edges.tolist())
    if texts:
        low, high = texts[:-1], texts[1:]
    elif labels is not None:
        low = high = tuple(labels)
    else:
        kind = ""
    if kind in ("prefix", "likert"):
        return tuple(f"{'below' if texts else 'up to'} {high[place]}" for place in range(size - 1))
    if kind == "histogram":
        return tuple(f"{low[place]} to {high[place]}" if texts else low[place] for place in range(size))
    if kind == "ranges":
        return tuple(
            f"{low[first]} to {high[last]}" if texts or first < last else low[first]
            for first in range(size)
            for last in range(first, size)
        )
    return tuple(workload.names)


RIDGE = 1e-9
"""Queries about the shares themselves that make the projection unique, as a part of the workload's."""


QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Quantile:
    """A quantile of the answers: the types, or the numbers, between which it lies.

    Attributes
    ----------
    share : float
        The share of users at or below it.
    low, high : str or float
        The ends of the confidence interval: names of types, or numbers where the types are bins of a range.
    estimate : str or float
        The type, or the middle of the bin, at which the estimated cumulative share reaches ``share``.
    """

    share: float
    estimate: Any
    low: Any
    high: Any

    def __str__(self) -> str:
        return f"{self.share:g} quantile: {self.estimate} (from {self.low} to {self.high})"


class Answering(Protocol):
    """What estimates use of the mechanism that made the reports."""

    workload: Workload
    labels: Labels

    @property
    def value(self) -> ChannelValue | OrbitValue:
        """The errors of the integer channel with its best estimator."""

    @property
    def queries(self) -> Array:
        """The queries that are estimated and printed, a row each."""

    @property
    def cumulative_scores(self) -> QueryScores:
        """The scores of the cumulative shares of all types but the last one."""

    @property
    def label_scores(self) -> Array | None:
        """The labels as numbers, of which a mean is estimated; None where they are no rating."""

    @property
    def is_ordered(self) -> bool:
        """Whether the types have an order, and so quantiles."""

    def spread(self, rows: Array, shares: Array, users: int, population: bool) -> Array:
        """Return the standard errors of answers, at the estimated shares moved to the simplex."""

    def _named_ends(self, middle: int, first: int, last: int) -> tuple[Any, Any, Any]:
        """Return a type and two further ones by name, or the middle of a bin and the ends of two others."""


@dataclass(frozen=True, repr=False)
class QueryEstimate(ListedEstimate):
    """Unbiased estimates of the answers of all queries.

    Attributes
    ----------
    value, standard_error : (p,) array
    users : int
    queries : tuple of str
    shares : (n,) array
        Unbiased estimates of the shares of the types; they sum to 1 but may be negative by chance.
    population : bool
        False: the truth is the average over the users who reported. True: over the population they are
        drawn from at random, which adds the variance of that draw.
    mechanism : WorkloadRelease
        The mechanism that made the reports.
    limits : Limits
        What intervals are made from: those of the score test.
    """

    thing: ClassVar[str] = "query"
    things: ClassVar[str] = "queries"
    digits: ClassVar[str] = ".5g"
    most: ClassVar[int | None] = 40

    value: Array
    standard_error: Array
    queries: tuple[str, ...]
    shares: Array
    mechanism: Answering = field(repr=False, compare=False)
    population: bool = False
    notes: tuple[str, ...] = ()
    limits: Limits | None = field(default=None, repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.queries

    @property
    def is_share(self) -> bool:
        """Whether every answer is the share of some types."""
        rows = self.mechanism.queries
        return bool(((rows == 0.0) | (rows == 1.0)).all())

    @cached_property
    def mean(self) -> MeanEstimate | None:
        """The mean of a rating, whose labels are numbers; None for other types."""
        scores = self.mechanism.label_scores
        if scores is None:
            return None
        rows = scores[None, :]
        (value,), (error,) = self.answers(rows)
        limits = QueryScores(rows, self.mechanism.value.query_moments).limits(
            np.array([value]), self.shares, self.users, self.population
        )
        ends = float(scores.min()), float(scores.max())
        single, notes = ScalarLimits(limits), self.notes
        return MeanEstimate(
            float(value), float(error), self.users, self.population, single, notes, possible=ends
        )

    @cached_property
    def quantiles(self) -> Quantiles | None:
        """The quartiles with their intervals; None where the types have no order."""
        if not self.mechanism.is_ordered:
            return None
        items = [self.quantile(level) for level in QUARTERS]
        ends = (tuple(getattr(item, name) for item in items) for name in ("estimate", "low", "high"))
        estimate, low, high = ends
        return Quantiles(QUARTERS, estimate, low, high)

    def __str__(self) -> str:
        parts = [super().__str__(), *(str(part) for part in (self.mean, self.quantiles) if part is not None)]
        return "\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        result = super().as_json()
        more = {"mean": self.mean, "quantiles": self.quantiles}
        return result | {key: value.as_json() for key, value in more.items() if value is not None}

    def _about(self) -> Mapping[str, Any]:
        return {**super()._about(), "shares": self.shares}

    def answers(self, rows: Any) -> tuple[Array, Array]:
        """Return unbiased estimates and standard errors of other queries, (p, n) or (n,)."""
        queries = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        return queries @ self.shares, self.mechanism.spread(queries, self.shares, self.users, self.population)

    def share_covariance(self) -> Array:
        """Return the covariance of the unbiased shares, (n, n), of users drawn from a population.

        From the variances of sums: cov(i, j) = (var(i + j) - var(i) - var(j)) / 2.
        """
        size = len(self.shares)
        result, unit = np.empty((size, size)), np.eye(size)
        for place in range(size):
            errors = self.mechanism.spread(unit[place] + unit, self.shares, self.users, True)
            result[place] = errors**2
        variances = np.diag(result) / 4.0  # of twice a share
        covariance: Array = (result - variances[:, None] - variances) / 2.0
        return covariance

    def distribution(self) -> Array:
        """Return a cumulative distribution: increasing, from 0 to 1; biased where the estimate was not.

        The least-squares fit of an increasing sequence with the inverse variances as weights, cut off at 0
        and 1.

        Returns
        -------
        (n,) array
            The share of users whose type is at most u; 1 for the last type.
        """
        rows = self.mechanism.cumulative_scores.rows
        values = rows @ self.shares
        errors = self.mechanism.spread(rows, self.shares, self.users, self.population)
        weights = 1.0 / np.maximum(errors, 1e-12) ** 2
        starts = np.append(increasing_blocks(values, weights), len(values))
        for first, last in pairwise(starts):
            part = slice(int(first), int(last))
            values[part] = float(values[part] @ weights[part]) / float(weights[part].sum())
        return np.append(np.clip(values, 0.0, 1.0), 1.0)

    def quantile(self, share: float, level: float = 0.95, together: int = 1) -> Quantile:
        """Return a quantile with a confidence interval of at least this level.

        A type j is in the interval when the share below j may be less than ``share`` and the share up to j
        may be at least that (Woodruff 1952): a test of one type, so no correction for their number is needed.

        Parameters
        ----------
        share : float
            In (0, 1): 0.5 for the median.
        level : float
            In (0, 1).
        together : int
            Number of quantiles that the level is for (Bonferroni).
        """
        target = in_range("share", share, 0.0, 1.0, low_open=True, high_open=True)
        scores = self.mechanism.cumulative_scores
        values = scores.rows @ self.shares
        limits = scores.limits(values, self.shares, self.users, self.population)
        first, last = quantile_ends(values, limits, target, tail_of(level, together))
        middle = int(np.argmax(self.distribution() >= target))
        return Quantile(target, *self.mechanism._named_ends(middle, first, last))

    def projected(self) -> Array:
        """Return shares that are >= 0 and sum to 1, nearest to the estimate in the norm of the workload.

        A Euclidean projection of the weighted answers on a convex set that contains the truth: their squared
        error never grows, whatever the data. It is biased; the intervals stay those of the unbiased estimate.
        """
        gram = self.mechanism.workload.gram
        size = len(gram)
        metric = gram + RIDGE * float(np.trace(gram)) / size * np.eye(size)
        anchor = 1e4 * float(np.abs(metric).max())
        shares = nonnegative_quadratic(metric + anchor, -(metric @ self.shares + anchor))
        whole: Array = shares / float(shares.sum())
        return whole

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals, within what is possible."""
        rows = self.mechanism.queries
        possible = rows.min(axis=1), rows.max(axis=1)
        unit = "share" if self.is_share else "answer"
        title = f"Estimated answers of {counted(self.users, 'report')}"
        return self._drawn(title, "query", unit, possible=possible)
