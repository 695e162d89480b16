"""Estimated answers of a workload: intervals, the cumulative distribution, quantiles, projection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import ListedEstimate
from mechdesign.collect.intervals import tail_of
from mechdesign.collect.quantile_ends import quantile_ends
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range
from mechdesign.show.figure import Figure
from mechdesign.solvers.isotonic import increasing_blocks
from mechdesign.solvers.nonnegative import nonnegative_quadratic

if TYPE_CHECKING:
    from mechdesign.collect.intervals import Limits
    from mechdesign.families.workload.release import WorkloadRelease

Array = NDArray[np.float64]

RIDGE = 1e-9
"""Queries about the shares themselves that make the projection unique, as a part of the workload's."""


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
    mechanism: WorkloadRelease = field(repr=False, compare=False)
    population: bool = False
    notes: tuple[str, ...] = ()
    limits: Limits | None = field(default=None, repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.queries

    def _about(self) -> Mapping[str, Any]:
        return {**super()._about(), "shares": self.shares}

    def answers(self, rows: Any) -> tuple[Array, Array]:
        """Return unbiased estimates and standard errors of other queries, (p, n) or (n,)."""
        asked = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        return asked @ self.shares, self.mechanism.spread(asked, self.shares, self.users, self.population)

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
        wanted = in_range("share", share, 0.0, 1.0, low_open=True, high_open=True)
        scores = self.mechanism.cumulative_scores
        values = scores.rows @ self.shares
        limits = scores.limits(values, self.shares, self.users, self.population)
        first, last = quantile_ends(values, limits, wanted, tail_of(level, together))
        middle = int(np.argmax(self.distribution() >= wanted))
        return Quantile(wanted, *self.mechanism._named_ends(middle, first, last))

    def projected(self) -> Array:
        """Return shares that are >= 0 and sum to 1, nearest to the estimate in the norm of the workload.

        A Euclidean projection of the weighted answers on a convex set that contains the truth: their squared
        error never grows, whatever the data. It is biased; the intervals stay those of the unbiased estimate.
        """
        gram = self.mechanism.workload.gram
        size = len(gram)
        metric = gram + RIDGE * float(np.trace(gram)) / size * np.eye(size)
        anchor = 1e4 * float(np.abs(metric).max())
        found = nonnegative_quadratic(metric + anchor, -(metric @ self.shares + anchor))
        whole: Array = found / float(found.sum())
        return whole

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        return self._drawn(f"Estimated answers of {counted(self.users, 'report')}", "query", "answer")
