"""Confidence limits of frequencies: what the score of an answer does for users who gave it and for others.

The estimate of the frequency f of an answer is an average of scores, E[score] = 1 for a user who gave the
answer and 0 for all others. Under the hypothesis f the first three cumulants of a score are therefore known:

- users at hand: a share f has the cumulants of ``own``, the rest those of ``others``;
- a population: the users are a draw, and the score is a mixture of the two.

``others`` averages over the other answers by their estimated frequencies; for a k-ary response it is the same
for all of them, except for the one that the others are mapped to.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import (
    AverageLaw,
    ScoreTestLimits,
    law_of_average,
    normal_quantile,
    rare_step,
    tail_of,
)

Array = NDArray[np.float64]

FEWEST = 30
"""Coverage of the limits is measured from this number of users on."""

WIDER = 1.5
"""Intervals that are wider by this factor than normal ones replace the standard error."""

MANY, UNEVEN = 1000, 10.0
"""With fewer users, coverage is not promised for channels whose answers' variances differ by this factor."""

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
    asked = np.flatnonzero((widest >= (1.0 - 1e-9) * WIDER * normal * errors) | (widest >= 1.0))
    if not len(asked):
        return errors, ()
    down, up = limits.at(asked).distances(tail)
    width = np.zeros_like(errors)
    width[asked] = down + up
    told = width / normal
    wide = np.flatnonzero(width > 1.0).tolist()
    more = f" and {len(wide) - 3} more" if len(wide) > 3 else ""
    shown = ", ".join(f"'{names[answer]}'" for answer in wide[:3])
    note = f"the reports hardly determine the frequency of {shown}{more}: the interval is wider than 0 to 1"
    return np.where(told > WIDER * errors, told, errors), (note,) if wide else ()


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
        """Return the law under the hypotheses at distances from the estimate, on the sides -1 and 1."""
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
        """Return the parts of users who gave the answer and of the others.

        Users whom a hypothesis below the estimate takes from the answer gave the worst of the others.
        """
        moved = np.maximum(np.clip(self.value, 0.0, 1.0) - hypothesis, 0.0)
        rest = 1.0 - hypothesis - moved
        second, third, fourth = (
            hypothesis * own + rest * others + moved * worst for own, others, worst in self._curves
        )
        return second, third, fourth


@dataclass(frozen=True, eq=False)
class RepeatedLimits:
    """Limits that many answers share: those of ``limits`` at the places ``index``."""

    limits: FrequencyLimits
    index: NDArray[np.int64]

    def at(self, index: NDArray[np.int64]) -> RepeatedLimits:
        """Return the limits of the answers at these indices."""
        found, place = np.unique(self.index[index], return_inverse=True)
        return RepeatedLimits(self.limits.at(found), place.ravel())

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
