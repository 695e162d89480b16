"""Confidence limits of frequencies, quantiles and noisy sums, and notes on estimates that cannot be true.

The estimate of the frequency f of an answer is an average of scores, E[score] = 1 for a user who gave the
answer and 0 for all others. Under the hypothesis f the first three cumulants of a score are therefore known:

- users at hand: a share f has the cumulants of ``own``, the rest those of ``others``;
- a population: the users are a draw, and the score is a mixture of the two.

``others`` averages over the other answers by their estimated frequencies; for a k-ary response it is the same
for all of them, except for the one that the others are mapped to.

The law of a noisy sum of rounded numbers depends on all numbers, of which only the sum is asked for. Its
second to fourth cumulants are taken at their largest over all data, the third one in both directions: where
the data are others, the intervals are wider than need be.

An interval of a quantile holds the values whose cumulative share may be that of the quantile, by the test of
the share. An estimate far outside of where the truth must lie belongs to other reports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import (
    AverageLaw,
    Limits,
    ScoreTestLimits,
    law_of_average,
    normal_quantile,
    rare_step,
    score_distances,
    tail_of,
)
from mechdesign.core.errors import EstimationError

if TYPE_CHECKING:
    from mechdesign.collect.estimate import FrequencyEstimate

Array = NDArray[np.float64]

FEWEST = 30
"""Coverage of the limits is measured from this number of users on."""

WIDER = 1.5
"""Intervals that are wider by this factor than normal ones replace the standard error."""

MANY, UNEVEN = 1000, 10.0
"""With fewer users, coverage is not promised for channels whose answers' variances differ by this factor."""

SINGULAR = 1e-10
"""A channel whose smallest singular value is below this part of the largest counts as singular."""

ALIKE = 0.8
"""Scores are of two kinds when one gap is at least this part of their range."""


def few_users(users: int) -> tuple[str, ...]:
    """Return the note for intervals whose coverage is not promised."""
    if users >= FEWEST:
        return ()
    return (f"fewer than {FEWEST} users: the intervals may miss the frequency more often than stated",)


def told_by_intervals(
    names: Sequence[str], errors: Array, limits: FrequencyLimits | RepeatedLimits
) -> tuple[Array, tuple[str, ...]]:
    """Return the standard errors, larger where the 95 % interval is much wider than they say, and a note.

    An answer that is hardly ever reported has no report by chance, and then no variance in its estimate; the
    interval knows better. The note names the answers whose interval is wider than all that is possible.
    """
    tail, normal = tail_of(0.95), 2.0 * normal_quantile(0.975)
    widest = limits.widest(tail)
    places = np.flatnonzero((widest >= (1.0 - 1e-9) * WIDER * normal * errors) | (widest >= 1.0))
    if not len(places):
        return errors, ()
    down, up = limits.at(places).distances(tail)
    width = np.zeros_like(errors)
    width[places] = down + up
    equivalent = width / normal
    wide = np.flatnonzero(width > 1.0).tolist()
    more = f" and {len(wide) - 3} more" if len(wide) > 3 else ""
    text = ", ".join(f"'{names[answer]}'" for answer in wide[:3])
    note = f"the reports hardly determine the frequency of {text}{more}: the interval is wider than 0 to 1"
    return np.where(equivalent > WIDER * errors, equivalent, errors), (note,) if wide else ()


def uneven(variances: Array, users: int) -> tuple[str, ...]:
    """Return the note for channels whose answers differ much in noise, (answer, category), and few users.

    The limits take the variance of the other answers at their estimated frequencies, badly told by few users.
    """
    if users >= MANY or len(variances) < 3:
        return ()
    others = np.where(np.eye(len(variances), dtype=bool), np.nan, variances)
    if not (np.nanmax(others, axis=0) > UNEVEN * np.nanmin(others, axis=0)).any():
        return ()
    return (
        f"fewer than {MANY} users, and answers that differ much in noise: the intervals may miss more often "
        "than stated",
    )


class AverageLimits(ScoreTestLimits):
    """The limits of the score test for averages of independent scores of users, one estimate each.

    A subclass is a dataclass with the fields below.

    Attributes
    ----------
    value : (n,) array
        The estimates.
    users : int
    step : (n,) array or float
        The distance of two sums of scores next to each other; 0 where scores are of many kinds.
    population : bool
    """

    value: Array
    users: int
    step: Any
    population: bool

    @abstractmethod
    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of a score under possible hypotheses."""

    def _possible(self, hypothesis: Array) -> Array:
        """Return hypotheses moved to what is possible: of shares, from 0 to 1."""
        return np.clip(hypothesis, 0.0, 1.0)

    def law(self, distance: Array, side: Array) -> AverageLaw:
        second, third, fourth = self._cumulants(self._possible(self.value + side * distance))
        freedom = self.users - 1.0 if self.population and self.users > 1 else np.inf
        step = rare_step(self.step, second, fourth)
        return law_of_average(self.users, second, -side * third, fourth, step, freedom)


class MixtureLimits(AverageLimits):
    """Limits for users of several kinds, of whom a hypothesis says how many there are of each.

    A subclass states the cumulants of a score under a hypothesis as they are for users at hand, whose answers
    are fixed; for a population its moments about 0, as the users are then a draw and the scores a mixture.
    """

    @abstractmethod
    def _parts(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        """Return the cumulants of a score, averaged over users; for a population its moments about 0."""

    def _cumulants(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        second, third, fourth = self._parts(hypothesis)
        if self.population:
            second, third, fourth = cumulants(hypothesis, second, third, fourth)
        return np.maximum(second, 0.0), third, fourth


@dataclass(frozen=True, eq=False)
class FrequencyLimits(MixtureLimits):
    """The limits of the score test for one frequency each.

    Parameters
    ----------
    value : (n,) array
    users : int
    own, others, worst : (3, n) array
        Second, third and fourth moments of the score for users who gave the answer, for the others on
        average, and for that other answer at which the second moment is largest.
    step : (n,) array
        The distance of two sums of scores next to each other; 0 where scores are of many kinds.
    population : bool
    """

    value: Array
    users: int
    own: Array
    others: Array
    worst: Array
    step: Array
    population: bool

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to [0, 1].

        Where these say that nothing is random, one user of n + 1 is taken to have given the answer (or not).
        """
        edge = 1.0 / (self.users + 1.0)
        variance = self._cumulants(np.clip(self.value, 0.0, 1.0))[0]
        inside = self._cumulants(np.clip(self.value, edge, 1.0 - edge))[0]
        errors: Array = np.sqrt(np.where(variance > 0.0, variance, inside) / self.users)
        return errors

    def at(self, index: NDArray[np.int64]) -> FrequencyLimits:
        """Return the limits of the answers at these indices."""
        own, others, worst = (moments[:, index] for moments in (self.own, self.others, self.worst))
        value, step = self.value[index], self.step[index]
        return FrequencyLimits(value, self.users, own, others, worst, step, self.population)

    @cached_property
    def _curves(self) -> Array:
        """Return the linear parts of cumulants by moment, kind of user and answer (population: moments)."""
        curves = np.stack([self.own, self.others, self.worst], axis=1)
        if self.population:
            return curves
        means = np.array([1.0, 0.0, 0.0]).reshape(-1, *(1 for _ in curves.shape[2:]))
        return np.stack(cumulants(means, *curves))

    def _parts(self, hypothesis: Array) -> tuple[Array, Array, Array]:
        moved = np.maximum(np.clip(self.value, 0.0, 1.0) - hypothesis, 0.0)
        rest = 1.0 - hypothesis - moved
        second, third, fourth = (
            hypothesis * own + rest * others + moved * worst for own, others, worst in self._curves
        )
        return second, third, fourth


@dataclass(frozen=True, eq=False)
class RepeatedLimits(Limits):
    """Limits that many answers share: those of ``limits`` at the places ``index``."""

    limits: FrequencyLimits
    index: NDArray[np.int64]

    def at(self, index: NDArray[np.int64]) -> RepeatedLimits:
        """Return the limits of the answers at these indices."""
        unique, place = np.unique(self.index[index], return_inverse=True)
        return RepeatedLimits(self.limits.at(unique), place.ravel())

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimates."""
        down, up = self.limits.distances(tail)
        return down[self.index], up[self.index]

    def widest(self, tail: float) -> Array:
        """Return upper bounds of the widths of the intervals, without searching for them."""
        return self.limits.widest(tail)[self.index]

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the intervals reach so far."""
        return self.limits.at(self.index).reach(difference, tail)


def cumulants(mean: Array | float, second: Array, third: Array, fourth: Array) -> tuple[Array, Array, Array]:
    """Return the second to fourth cumulants, given the mean and the moments about 0."""
    variance = second - mean**2
    central = fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * mean**4
    return variance, third - 3.0 * mean * second + 2.0 * mean**3, central - 3.0 * variance**2


def limit_moments(scores: Array, channel: Array, shares: Array) -> tuple[Array, Array, Array]:
    """Return ``own``, ``others`` and ``worst`` of :class:`FrequencyLimits`.

    Parameters
    ----------
    scores : (n, m) array
        The score of each answer for each report.
    channel : (n, m) array
    shares : (..., n) array
        Frequencies of the answers, which weigh the others; all equal where only the answer itself has any. Of
        several tables of frequencies only ``others`` has several.
    """
    size = len(channel)
    table = np.stack([scores**power @ channel.T for power in (2, 3, 4)])  # power, score, answer
    rows = np.arange(size)
    own = table[:, rows, rows]
    if size == 1:
        return own, np.zeros_like(own), np.zeros_like(own)
    apart = 1.0 - np.eye(size)
    weights = shares[..., None, :] * apart
    weights = np.where(weights.sum(axis=-1, keepdims=True) > 0.0, weights, apart)
    weights /= weights.sum(axis=-1, keepdims=True)
    others = np.stack([(moment * weights).sum(axis=-1) for moment in table])
    second = table[0].copy()
    np.fill_diagonal(second, -np.inf)
    return own, others, table[:, rows, second.argmax(axis=1)]


def score_steps(scores: Array) -> Array:
    """Return the gap between two kinds of scores in each row, 0 where there are more than two.

    Examples
    --------
    >>> score_steps(np.array([[2.0, -1.0, -1.0], [0.0, 1.0, 2.0]]))
    array([3., 0.])
    """
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    ordered = np.sort(scores, axis=1)
    gaps = np.diff(ordered, axis=1).max(axis=1)
    steps: Array = np.where(gaps >= ALIKE * (ordered[:, -1] - ordered[:, 0]), gaps, 0.0)
    return steps


def quantile_ends(value: Array, limits: Limits, share: float, tail: float) -> tuple[int, int]:
    """Return the first and the last category that a quantile may be.

    A category j is possible when the share below j may be less than ``share`` and the share up to j may be at
    least that (Woodruff 1952): a test of one category, so no correction for their number is needed. Only
    ``share`` itself is tested, so the limits of the cumulative shares need not be searched for.

    Parameters
    ----------
    value : (k - 1,) array
        The estimated share up to each category but the last one.
    limits : Limits
        Those of the estimates.
    share : float
    tail : float
        The probability of each side.

    Examples
    --------
    >>> from mechdesign.collect.intervals import NormalLimits
    >>> quantile_ends(np.array([0.2, 0.5, 0.8]), NormalLimits(0.05), 0.5, 0.025)
    (1, 2)
    """
    maybe = limits.reach(share - value, tail)
    below, above = np.append(True, (value <= share) | maybe), np.append((value >= share) | maybe, True)
    possible = np.flatnonzero(below & above)
    return int(possible.min()), int(possible.max())


Cumulants = tuple[float, float, float]
"""The second, third and fourth cumulant."""


@dataclass(frozen=True)
class WorstLimits(Limits):
    """Limits of a sum whose law depends on all data: the score test with the worst moments over all data.

    Parameters
    ----------
    second, third, fourth : float
        Cumulants of the sum, at their largest over all data, in units of the estimate.
    step : float
        The distance of two sums next to each other.
    """

    second: float
    third: float
    fourth: float
    step: float

    @classmethod
    def of(
        cls, parts: Sequence[tuple[Cumulants, float]], users: int, precision: int, step: float = 0.0
    ) -> WorstLimits:
        """Return the limits of a sum of numbers rounded at random to steps, from parts with their factors."""
        rounding = rounding_cumulants(users), 1.0 / precision
        return cls(*added([*parts, rounding]), step)

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the same distance twice: either tail may be the longer one."""
        distance = np.asarray(_distance(self, tail))
        return distance, distance


@lru_cache(maxsize=256)
def _distance(limits: WorstLimits, tail: float) -> float:
    second, third, fourth = (np.array([part]) for part in (limits.second, limits.third, limits.fourth))
    law = law_of_average(1, second, third, fourth, limits.step)
    start = np.array([math.sqrt(limits.second)])
    return float(score_distances(lambda distance, side: law, start, tail)[1][0])


def added(parts: Sequence[tuple[Cumulants, float]]) -> Cumulants:
    """Return the cumulants of a sum of independent parts, each with its factor.

    Examples
    --------
    >>> added([((1.0, 0.0, 2.0), 2.0), ((1.0, 1.0, 0.0), 1.0)])
    (5.0, 1.0, 32.0)
    """
    second, third, fourth = (
        math.fsum(cumulants[order - 2] * factor**order for cumulants, factor in parts) for order in (2, 3, 4)
    )
    return second, third, fourth


def rounding_cumulants(users: int) -> Cumulants:
    """Return the largest cumulants of numbers rounded at random to one of two steps, in steps.

    f (1 - f) is at most 1/4, f (1 - f) (1 - 2 f) at most 1 / (6 sqrt 3), the fourth one at most 1/24.

    Examples
    --------
    >>> rounding_cumulants(24)[::2]
    (6.0, 1.0)
    """
    return users / 4.0, users / (6.0 * math.sqrt(3.0)), users / 24.0


FAR = 5.0
"""Largest possible standard errors outside of what is possible from which an estimate is flagged.

For a normal estimate the chance is below 1e-6, whatever the data.
"""


def implausible(
    names: Sequence[str], value: Any, error: Any, low: Any, high: Any, users: Any = FEWEST
) -> tuple[str, ...]:
    """Return a note when estimates lie many standard errors outside of what is possible, naming the worst.

    Parameters
    ----------
    names : sequence of str
        What each estimate is of.
    value, error : (n,) array
        Estimates, and the largest standard errors they can have.
    low, high : float or (n,) array
        Between which the truth lies.
    users : int or (n,) array
        How many reports each rests on.

    Examples
    --------
    >>> for note in implausible(["no", "yes"], [1.6, -0.6], [0.01, 0.01], 0.0, 1.0):
    ...     print(note)
    2 estimates are impossible, the worst 'no' with 1.6 (60 standard errors above 1): are these its reports?
    >>> implausible(["no", "yes"], [1.02, -0.02], [0.01, 0.01], 0.0, 1.0)
    ()
    """
    estimates, errors = np.atleast_1d(np.asarray(value, float)), np.atleast_1d(np.asarray(error, float))
    if not ((estimates < low) | (estimates > high)).any():
        return ()
    bounds = [np.broadcast_to(np.asarray(end, float), estimates.shape) for end in (low, high)]
    outside = np.maximum(bounds[0] - estimates, estimates - bounds[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(errors > 0.0, outside / errors, np.where(outside > 0.0, np.inf, 0.0))
    far = np.where(np.broadcast_to(np.asarray(users), far.shape) >= FEWEST, far, 0.0)
    wrong = far > FAR
    if not wrong.any():
        return ()
    worst = int(np.argmax(far))
    below = estimates[worst] < bounds[0][worst]
    where = f"below {bounds[0][worst]:g}" if below else f"above {bounds[1][worst]:g}"
    head = "the estimate is" if len(estimates) == 1 else f"{int(wrong.sum())} estimates are"
    whose = "" if len(estimates) == 1 else f" the worst '{names[worst]}' with"
    return (
        f"{head} impossible,{whose} {estimates[worst]:.4g} ({far[worst]:.0f} standard errors {where}): "
        "are these its reports?",
    )


class Scores(ABC):
    """What reports stand for when the frequencies of answers are estimated; the third part of a collector.

    A report's score of a category has the mean 1 for users who answer it and 0 for all others.
    """

    @abstractmethod
    def estimate(
        self, counts: NDArray[np.int64], population: bool
    ) -> tuple[Array, Array, FrequencyLimits | RepeatedLimits, Array | None]:
        """Return unbiased frequencies, their standard errors and limits, and their covariance where known.

        Parameters
        ----------
        counts : (m,) int array
            Of each report.
        population : bool
            Whether the users count as a random draw from the population of interest.
        """

    @abstractmethod
    def largest_variance(self) -> float:
        """Return the largest variance of a category's score for one user, over all answers."""

    @abstractmethod
    def typical_variance(self) -> float:
        """Return the largest variance of a category's score for one of many users who answer evenly."""

    def worst_variances(self) -> Array:
        """Return the largest variance of each category's score, or one number for all."""
        return np.array([self.largest_variance()])

    def notes(self, users: int) -> tuple[str, ...]:
        """Return notes on intervals that may cover less often than stated."""
        return few_users(users)

    def frequencies(
        self,
        counts: NDArray[np.int64],
        names: Sequence[str],
        population: bool,
        reported: Array | None,
    ) -> FrequencyEstimate:
        """Return the estimate with its notes.

        Parameters
        ----------
        counts : (m,) int array
        names : sequence of str
            Of the categories.
        population : bool
        reported : (n,) array or None
            The shares among the reports, where these are categories.
        """
        from mechdesign.collect.estimate import FrequencyEstimate

        users = int(counts.sum())
        value, errors, limits, covariance = self.estimate(counts, population)
        errors, notes = told_by_intervals(names, errors, limits)
        worst = np.broadcast_to(np.sqrt(self.worst_variances() / users), value.shape)
        notes += self.notes(users) + implausible(names, value, worst, 0.0, 1.0, users)
        return FrequencyEstimate(
            value, errors, users, tuple(names), population, covariance, limits, notes, reported
        )


class MatrixScores(Scores):
    """Scores of a channel that is given as a matrix.

    Parameters
    ----------
    matrix : (n, m) array
        Row i holds the score of category i for each report.
    chances : (n, m) array
        Row x holds the probabilities of the reports for answer x.

    Examples
    --------
    >>> scores = MatrixScores.unbiased(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> value, error, limits, _ = scores.estimate(np.array([60, 40]), population=False)
    >>> value.round(3), error.round(4), scores.largest_variance()
    (array([0.7, 0.3]), array([0.0866, 0.0866]), 0.75)
    """

    def __init__(self, matrix: Array, chances: Array) -> None:
        self.matrix, self.chances = matrix, chances

    @classmethod
    def unbiased(cls, chances: Array) -> Self:
        """Return the unbiased scores of least variance for reports distributed as for uniform answers.

        With as many reports as answers the matrix is the inverse; with more, it is the generalised least
        squares solution, unbiased for every truth.

        Raises
        ------
        EstimationError
            When answers cannot be told apart by their reports.
        """
        sizes = np.linalg.svd(chances, compute_uv=False)
        if chances.shape[0] > chances.shape[1] or sizes[-1] <= SINGULAR * sizes[0]:
            rank = int((sizes > SINGULAR * sizes[0]).sum())
            raise EstimationError(
                "channel",
                f"singular (rank {rank} for {chances.shape[0]} answers), "
                "so the frequencies cannot be recovered",
            )
        root = np.sqrt(np.maximum(chances.mean(axis=0), 2.0**-60))
        return cls(np.linalg.pinv(chances.T / root[:, None], rcond=SINGULAR / 100) / root, chances)

    @cached_property
    def variances(self) -> Array:
        """The variance of the score of category i for a user who answers x: row x, column i."""
        matrix, chances = self.matrix, self.chances
        variances: Array = chances @ (matrix**2).T - (chances @ matrix.T) ** 2
        return np.maximum(variances, 0.0)

    def largest_variance(self) -> float:
        return float(self.variances.max())

    def typical_variance(self) -> float:
        return float(self.variances.mean(axis=0).max())

    def worst_variances(self) -> Array:
        worst: Array = self.variances.max(axis=0)
        return worst

    def notes(self, users: int) -> tuple[str, ...]:
        return few_users(users) + uneven(self.variances, users)

    def estimate(
        self, counts: NDArray[np.int64], population: bool
    ) -> tuple[Array, Array, FrequencyLimits, Array]:
        from mechdesign.collect.estimate import project_to_simplex

        users = int(counts.sum())
        shares, matrix, chances = counts / users, self.matrix, self.chances
        limits = self.limits(matrix @ shares, users, population)
        if population:
            spread = np.diag(shares) - np.outer(shares, shares)
        else:
            truth = project_to_simplex(limits.value)
            spread = np.diag(truth @ chances) - (chances.T * truth) @ chances
        return limits.value, limits.standard_error(), limits, matrix @ spread @ matrix.T / users

    def limits(self, value: Array, users: int, population: bool) -> FrequencyLimits:
        """Return the limits of estimated frequencies, for intervals; (..., n) for several estimates."""
        from mechdesign.collect.estimate import project_to_simplex

        truth = np.apply_along_axis(project_to_simplex, -1, value)
        own, others, worst = limit_moments(self.matrix, self.chances, truth)
        several = (3, *(1 for _ in value.shape[:-1]), value.shape[-1])
        own, worst = (np.broadcast_to(curve.reshape(several), others.shape) for curve in (own, worst))
        steps = score_steps(self.matrix[:, self.chances.max(axis=0) > 0])
        return FrequencyLimits(value, users, own, others, worst, steps, population)
