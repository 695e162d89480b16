"""The mean of a score among the users of a group, from the reports of several designs: ratios of shares.

**What is a mean of a score in a group.**
- A row percentage: the group is a row of a cross table, the score is 1 in one of its cells.
- A share of those who answered: the group is everybody but those without an answer.
- The mean of a rating: the score of a category is its number.
- A cumulative share among those who answered, from which quantiles follow.

**Limits.** With shares f of the cells, scores s and a group D the truth is r = sum_D s f / sum_D f. Under
the hypothesis r the contrast sum_D (s - r) f is 0. Its unbiased estimate is tested, whatever the share of the
group is (Fieller 1954), by the score test of all other intervals. The distribution of a report needs the
shares of the cells: those outside of the group are taken as estimated, and in it a part of the users is moved
to the cells with the largest score (or the least) until the mean is r.

**Moments.** A report of an oracle supports a random set of d out of K cells: it holds the user's own cell
with probability p and is uniform otherwise. The score of a contrast w is sum_{j in S} w_j, whose moments
follow from those of draws without replacement, by the sums of powers of w.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import (
    AverageLaw,
    Limits,
    ScoreTestLimits,
    cumulants,
    law_of_average,
    rare_step,
)
from mechdesign.work.records import dataclass

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

SMALL_GROUP = 4.0
"""A group whose share is below SMALL_GROUP times its standard error has no meaningful mean."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the cells of a table, and a score in each: p means over classes of cells.

    Attributes
    ----------
    classes : (n, p) int array
        The class of each cell, from 0 to k - 1.
    scores : (k, p) array
        The score of each class; without meaning outside of the group.
    members : (k, p) array of bool
        Which classes are in the group.
    """

    classes: Codes
    scores: Array
    members: NDArray[np.bool_]

    @cached_property
    def counts(self) -> Array:
        """Number of cells of each class, (k, p)."""
        return self.sums(np.ones(len(self.classes)))

    def sums(self, cells: Array) -> Array:
        """Return the sums of numbers of the cells over each class, (k, p)."""
        places = np.arange(self.classes.shape[1])
        result = np.zeros(self.scores.shape)
        for row, number in zip(self.classes, cells.tolist(), strict=True):
            result[row, places] += number
        return result

    def weights(self, mean: Array) -> Array:
        """Return the contrasts of hypotheses (..., p), (k, ..., p)."""
        gap = self.wide(self.scores, mean) - mean
        return np.where(self.wide(self.members, mean), gap, 0.0)

    @staticmethod
    def wide(values: NDArray[Any], like: Array) -> NDArray[Any]:
        """Return values (k, p) with the axes that hypotheses have before their last one."""
        return values.reshape(len(values), *(1 for _ in like.shape[:-1]), values.shape[1])

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """The least and the largest score of each group, (p,)."""
        low = np.where(self.members, self.scores, np.inf).min(axis=0)
        high = np.where(self.members, self.scores, -np.inf).max(axis=0)
        return low, high

    def at(self, index: NDArray[Any]) -> Groups:
        """Return some of the groups."""
        return Groups(self.classes[:, index], self.scores[:, index], self.members[:, index])


class CellScores:
    """What the reports of a design tell about the cells of a table.

    Attributes
    ----------
    users : int
    shares : (n,) array
        The unbiased estimates.
    information : float
        What one report was planned to tell.
    """

    users: int
    shares: Array
    information: float

    @abstractmethod
    def moments(self, groups: Groups, weights: Array) -> tuple[Array, Array, Array, Array]:
        """Return the first to fourth moments of the score of contrasts (k, ..., p), for users of each class.

        All are of the score less a number that is the same for all classes.
        """


def distinct_sums(weights: Array, counts: Array) -> tuple[Array, ...]:
    """Return the sums of w_a^i w_b^j ... over distinct other cells, for users in a cell of each class.

    For the powers (1), (2), (1, 1), (3), (2, 1), (1, 1, 1), (4), (3, 1), (2, 2), (2, 1, 1) and (1, 1, 1, 1).
    """
    one, two, three, four = ((counts * weights**k).sum(axis=0) - weights**k for k in (1, 2, 3, 4))
    return (
        one,
        two,
        one**2 - two,
        three,
        two * one - three,
        one**3 - 3.0 * one * two + 2.0 * three,
        four,
        three * one - four,
        two**2 - four,
        two * one**2 - two**2 - 2.0 * three * one + 2.0 * four,
        one**4 - 6.0 * one**2 * two + 3.0 * two**2 + 8.0 * one * three - 6.0 * four,
    )


def draw_sums(sums: Sequence[Array], count: int, total: int) -> tuple[Array, ...]:
    """Return the first to fourth moments of the sum of ``count`` draws without replacement out of ``total``.

    Parameters
    ----------
    sums : sequence of arrays
        Those of :func:`distinct_sums`.
    count, total : int

    Examples
    --------
    >>> sums = distinct_sums(np.array([[0.0], [1.0]]), np.array([[2.0], [2.0]]))
    >>> [round(float(moment[0, 0]), 9) for moment in draw_sums(sums, 2, 3)]  # of 0, 1, 1: sums 1, 1 or 2
    [1.333333333, 2.0, 3.333333333, 6.0]
    """
    chances, chance = [], 1.0
    for step in range(4):
        chance *= max(count - step, 0) / max(total - step, 1)
        chances.append(chance)
    a, b, c, d = chances
    s1, s2, s11, s3, s21, s111, s4, s31, s22, s211, s1111 = sums
    return (
        a * s1,
        a * s2 + b * s11,
        a * s3 + 3.0 * b * s21 + c * s111,
        a * s4 + 4.0 * b * s31 + 3.0 * b * s22 + 6.0 * c * s211 + d * s1111,
    )


@dataclass(frozen=True, eq=False)
class SetScores(CellScores):
    """Scores of reports that support a random set of cells: the own one with probability ``own``.

    Attributes
    ----------
    users : int
    shares : (n,) array
    information : float
    own, other : float
        The probabilities that the set holds the own cell, and another one.
    width : int
        Number of cells in a set.
    size : int
        Number of the mechanism's cells in a cell of the table.
    """

    users: int
    shares: Array
    information: float
    own: float
    other: float
    width: int
    size: int

    def moments(self, groups: Groups, weights: Array) -> tuple[Array, Array, Array, Array]:
        counts = self.size * groups.wide(groups.counts, weights[0])
        total = self.size * len(self.shares)
        centered = weights - (counts * weights).sum(axis=0) / total  # a set of a fixed size: a constant
        sums = distinct_sums(centered, counts)
        w, rest = centered, draw_sums(sums, self.width, total - 1)
        one, two, three, four = draw_sums(sums, self.width - 1, total - 1)
        with_own = (
            w + one,
            w**2 + 2.0 * w * one + two,
            w**3 + 3.0 * w**2 * one + 3.0 * w * two + three,
            w**4 + 4.0 * w**3 * one + 6.0 * w**2 * two + 4.0 * w * three + four,
        )
        gain = self.own - self.other
        first, second, third, fourth = (
            (self.own * inside + (1.0 - self.own) * outside) / gain**order
            for order, (inside, outside) in enumerate(zip(with_own, rest, strict=True), 1)
        )
        return first, second, third, fourth


@dataclass(frozen=True, eq=False)
class ChannelScores(CellScores):
    """Scores of the reports of a channel, a number for each of its reports; every cell is a class.

    Attributes
    ----------
    users : int
    shares : (n,) array
    information : float
    channel : (m, n) array
        The probabilities of the reports, for each cell.
    solver : (n, m) array
        What a report adds to the share of each cell.
    """

    users: int
    shares: Array
    information: float
    channel: Array
    solver: Array

    def moments(self, groups: Groups, weights: Array) -> tuple[Array, Array, Array, Array]:
        scores = np.tensordot(self.solver, weights, axes=(0, 0))  # a class is a cell
        first, second, third, fourth = (
            np.tensordot(self.channel, scores**order, axes=(0, 0)) for order in (1, 2, 3, 4)
        )
        return first, second, third, fourth


@dataclass(frozen=True, eq=False)
class GroupScoreLimits(ScoreTestLimits):
    """The limits of the score test for means of scores in groups.

    Parameters
    ----------
    groups : Groups
    parts : sequence of CellScores
    sample : int or None
        The number of users whose means are estimated; None for the population that they were drawn from.
    """

    groups: Groups
    parts: Sequence[CellScores]
    sample: int | None = None

    @cached_property
    def coefficients(self) -> list[float]:
        """The weight of each design."""
        planned = [part.users * part.information for part in self.parts]
        return [number / sum(planned) for number in planned]

    @cached_property
    def shares(self) -> Array:
        """The combined unbiased estimates of the shares of the classes, (k, p)."""
        pairs = zip(self.coefficients, self.parts, strict=True)
        return self.groups.sums(np.sum([weight * part.shares for weight, part in pairs], axis=0))

    @cached_property
    def total(self) -> Array:
        """The estimated shares of the groups, (p,)."""
        total: Array = np.where(self.groups.members, self.shares, 0.0).sum(axis=0)
        return total

    @cached_property
    def value(self) -> Array:
        """The estimated means; they may lie outside of the scores by chance."""
        sums = np.where(self.groups.members, self.groups.scores * self.shares, 0.0).sum(axis=0)
        value: Array = np.divide(sums, self.total, out=np.zeros_like(sums), where=self.total > 0.0)
        return value

    @cached_property
    def is_large(self) -> NDArray[np.bool_]:
        """Which groups have enough users for a mean, (p,)."""
        members = self.groups.members.astype(np.float64)
        error = np.sqrt(self._cumulants(members, self._likely, 0.0)[0])
        large: NDArray[np.bool_] = self.total > SMALL_GROUP * error
        return large

    def at(self, index: NDArray[Any]) -> GroupScoreLimits:
        """Return the limits of some of the groups."""
        return GroupScoreLimits(self.groups.at(index), self.parts, self.sample)

    def standard_error(self) -> Array:
        low, high = self.groups.ends
        mean = np.clip(self.value, low, high)
        return np.sqrt(self._at(mean)[0]) / np.where(self.total > 0.0, self.total, 1.0)

    def law(self, distance: Array, side: Array) -> AverageLaw:
        mean = np.clip(self.value + side * distance, *self.groups.ends)
        second, third, fourth = self._at(mean)
        law = law_of_average(1, second, -side * third, fourth, rare_step(0.0, second, fourth))
        return law.scaled(1.0 / self.total)

    @cached_property
    def _likely(self) -> Array:
        """The shares of the classes, all positive, (k, p)."""
        inside = np.maximum(self.shares, 0.0)
        users = sum(part.users for part in self.parts)
        likely: Array = (inside / inside.sum(axis=0) * users + 1.0 / len(inside)) / (users + 1.0)
        return likely

    def _at(self, mean: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of the contrasts under hypotheses (..., p)."""
        return self._cumulants(self.groups.weights(mean), self._moved(mean), mean)

    def _moved(self, mean: Array) -> Array:
        """Return the shares of the classes under hypotheses (..., p): (k, ..., p)."""
        groups = self.groups
        low, high = groups.ends
        inside = np.where(groups.members, self._likely, 0.0)
        middle = (np.where(groups.members, groups.scores, 0.0) * inside).sum(axis=0) / inside.sum(axis=0)
        up = mean > middle
        gap = np.where(up, high, low) - middle
        part = np.divide(mean - middle, gap, out=np.zeros(mean.shape), where=gap != 0.0)
        places = np.arange(inside.shape[1])
        least, most = np.zeros_like(inside), np.zeros_like(inside)
        least[np.where(groups.members, groups.scores, np.inf).argmin(axis=0), places] = inside.sum(axis=0)
        most[np.where(groups.members, groups.scores, -np.inf).argmax(axis=0), places] = inside.sum(axis=0)
        wide = groups.wide
        ends = np.where(up, wide(most, mean), wide(least, mean))
        outside = wide(np.where(groups.members, 0.0, self._likely), mean)
        moved: Array = (1.0 - part) * wide(inside, mean) + part * ends + outside
        return moved

    def _cumulants(self, weights: Array, shares: Array, mean: Array | float) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of contrasts (k, ..., p) at shares of the classes."""
        totals = [np.zeros(weights.shape[1:]) for _ in range(3)]
        for scale, part in zip(self.coefficients, self.parts, strict=True):
            moments = part.moments(self.groups, weights)
            mixed = ((shares * moment).sum(axis=0) for moment in moments)
            first, second, third, fourth = mixed
            for place, value in enumerate(cumulants(first, second, third, fourth)):
                order = place + 2
                totals[place] = totals[place] + scale**order * value / float(part.users) ** (order - 1)
        if self.sample is not None:
            middle = (shares * weights).sum(axis=0)
            totals[0] = totals[0] - ((shares * weights**2).sum(axis=0) - middle**2) / self.sample
        return np.maximum(totals[0], 0.0), totals[1], totals[2]


@dataclass(frozen=True, eq=False)
class PossibleLimits(Limits):
    """Limits of means of scores, and all that is possible for groups that are too small.

    Parameters
    ----------
    limits : GroupScoreLimits
        Of all groups.
    value : (p,) array
        The estimates that are printed: the middle of the scores for groups that are too small.
    """

    limits: GroupScoreLimits
    value: Array

    @cached_property
    def _large(self) -> GroupScoreLimits:
        return self.limits.at(np.flatnonzero(self.limits.is_large))

    def distances(self, tail: float) -> tuple[Array, Array]:
        low, high = self.limits.groups.ends
        down, up = self.value - low, high - self.value
        large = self.limits.is_large
        if large.any():
            down[large], up[large] = self._large.distances(tail)
        return down, up

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        large = self.limits.is_large
        reached = np.ones(np.shape(difference), dtype=bool)
        if large.any():
            reached[large] = self._large.reach(np.asarray(difference)[large], tail)
        return reached


def listed_groups(size: int, scores: Any, members: Any) -> Groups:
    """Return groups of the cells of one question, each cell a class of its own.

    Parameters
    ----------
    size : int
        Number of categories.
    scores : (p, size) array
    members : (p, size) array of bool
    """
    values = np.atleast_2d(np.asarray(scores, dtype=np.float64)).T
    inside = np.broadcast_to(np.asarray(members, dtype=bool), values.T.shape).T
    return Groups(np.repeat(np.arange(size)[:, None], values.shape[1], axis=1), values, inside)


def share_groups(cells: Any, members: Any) -> Groups:
    """Return groups in which the score of some cells is 1, and of the other ones 0: three classes of cells.

    Parameters
    ----------
    cells, members : (p, n) arrays of bool
        The cells with the score 1, and those of the group.
    """
    ones, inside = np.asarray(cells, dtype=bool).T, np.asarray(members, dtype=bool).T
    classes = np.where(ones, 0, np.where(inside, 1, 2))
    count = classes.shape[1]
    scores, group = np.zeros((3, count)), np.ones((3, count), dtype=bool)
    scores[0], group[2] = 1.0, False
    return Groups(classes, scores, group)
