"""Scores: what reports of categories stand for in estimates of frequencies; the third part of a collector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import (
    FEWEST,
    Array,
    FrequencyLimits,
    RepeatedLimits,
    normal_quantile,
    tail_of,
)
from mechdesign.core.errors import EstimationError

if TYPE_CHECKING:
    from mechdesign.collect.estimate import FrequencyEstimate


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
