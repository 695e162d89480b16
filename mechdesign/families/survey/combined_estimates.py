"""Unbiased estimates of shares and group means from the reports of several designs, by planned weights.

**Shares.**
A design c whose reports tell a share f gives the average of scores, E[score] = 1 for users in the cells in
question and 0 for all others. With N_c reports, drawn as a random part of the users, the combination
sum a_c avg_c with sum a_c = 1 has the variance

    sum_c a_c^2 kappa_2c(f) / N_c - [f (1 - f) / n]      (theorem 0 of docs/families/survey.md)

where kappa_2c(f) is the variance of a score of a user drawn from the population and the last term belongs to
the given n users only. Third and fourth cumulants add up in the same way. a_c follows from what was planned,
not from the data, so that the estimate is unbiased given the counts.

Without reports the interval is all that is possible.

**The mean of a number in each group of the users.**
A number is rounded at random to one end of its range. With shares u and v of all users who are in a group
and rounded up and down, the group's mean is low + width r with r = u/(u + v). Under the hypothesis r the
contrast (1 - r) u - r v is 0; its unbiased estimate is tested, whatever the group's share is (Fieller 1954).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import AttributeMeans
from mechdesign.collect.intervals import (
    AverageLaw,
    Limits,
    ScoreTestLimits,
    cumulants,
    law_of_average,
    rare_step,
    within,
)
from mechdesign.collect.scores import few_users
from mechdesign.families.survey.group_scores import SMALL_GROUP, SetScores
from mechdesign.families.survey.results import Request
from mechdesign.primitives.oracle import Moments

if TYPE_CHECKING:
    from mechdesign.families.survey.questions import Questions

Law = tuple[Moments, Moments]
"""Moments of how many of some cells a report supports: for users in one of them, and for the others."""

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


def law_of_sum(laws: Sequence[AverageLaw]) -> AverageLaw:
    """Return the distribution of a sum of independent estimates; its step is that of the noisier ones.

    Examples
    --------
    >>> one = AverageLaw(np.array(3.0), np.array(0.8), np.array(0.0), np.array(0.5))
    >>> both = law_of_sum([one, one.scaled(4.0 / 3.0)])
    >>> float(both.deviation), round(float(both.skewness), 4)  # 0.8 (27 + 64)/125
    (5.0, 0.5824)
    """
    deviation = np.sqrt(sum(law.deviation**2 for law in laws))
    parts = [
        np.divide(law.deviation, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
        for law in laws
    ]
    pairs = list(zip(laws, parts, strict=True))
    return AverageLaw(
        deviation,
        sum((law.skewness * part**3 for law, part in pairs), np.zeros_like(deviation)),
        sum((law.kurtosis * part**4 for law, part in pairs), np.zeros_like(deviation)),
        sum((law.half_step * part**2 for law, part in pairs), np.zeros_like(deviation)),
        np.min([np.broadcast_to(law.freedom, deviation.shape) for law in laws], axis=0),
    )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Information about some shares in the reports of one design.

    Attributes
    ----------
    users : int
        How many reports.
    value : (n,) array
        The unbiased estimates.
    own, other : (3, n) array
        Second to fourth moments of a score, for users in the cells and for the others.
    step : (n,) array
        The distance of two scores next to each other.
    information : float
        What one report was planned to tell: the weight of the design is ``users * information``.
    """

    users: int
    value: Array
    own: Array
    other: Array
    step: Array
    information: float


def evidence(supports: Codes, users: int, laws: Sequence[Law], information: float) -> Evidence:
    """Return the evidence from how many cells the reports support.

    Parameters
    ----------
    supports : (n,) int array
        Over all reports.
    users : int
    laws : sequence of Law
        One for each share, or one for all.
    information : float
    """
    listed = list(laws) * (len(supports) if len(laws) == 1 else 1)
    low = np.array([float(other[1]) for _, other in listed])
    gain = np.array([float(own[1] - other[1]) for own, other in listed])
    own, other = (np.stack([_scores(law)[kind] for law in listed], axis=1) for kind in (0, 1))
    return Evidence(users, (supports / users - low) / gain, own, other, 1.0 / gain, information)


@lru_cache(maxsize=1024)
def _scores(law: Law) -> tuple[Array, Array]:
    """Return the second to fourth moment of (T - E[T | other]) / (E[T | own] - E[T | other]), for both."""
    low, gain = law[1][1], law[0][1] - law[1][1]

    def score(moments: Moments, r: int) -> float:
        return float(sum(comb(r, j) * moments[j] * (-low) ** (r - j) for j in range(r + 1)) / gain**r)

    own, other = (np.array([score(moments, r) for r in (2, 3, 4)]) for moments in law)
    return own, other


@dataclass(frozen=True)
class TableReports:
    """Information about a table in the reports of one part.

    Attributes
    ----------
    users : int
    supports : (n,) int array
        How much the reports support each cell of the table.
    law : callable
        From a number of these cells to the moments of how much one report supports them.
    information : float
    """

    users: int
    supports: Codes
    law: Callable[[int], Law]
    information: float
    size: int = 1
    """Number of the mechanism's cells in a cell of the table."""

    def scores(self) -> SetScores:
        """Return the scores of contrasts of cells."""
        own, other = self.law(1)
        rare = other[1] / self.size
        likely = own[1] - (self.size - 1) * rare
        width = likely + (self.size * len(self.supports) - 1) * rare  # of fractions: a whole number
        moments = float(likely), float(rare), int(width)
        return SetScores(self.users, self.each().value, self.information, *moments, self.size)

    def each(self) -> Evidence:
        """Return the evidence of the share of each cell."""
        return evidence(self.supports, self.users, [self.law(1)], self.information)

    def sums(self, count: int) -> Evidence:
        """Return the evidence of the cumulative shares of the first ``count`` cells."""
        laws = [self.law(step) for step in range(1, count + 1)]
        return evidence(np.cumsum(self.supports)[:count], self.users, laws, self.information)


@dataclass(frozen=True, eq=False)
class CombinedLimits(ScoreTestLimits):
    """The limits of the score test for shares that several designs tell.

    Parameters
    ----------
    parts : sequence of Evidence
    sample : int or None
        The number of users whose shares are wanted; None for the population that they were drawn from.
    """

    parts: Sequence[Evidence]
    sample: int | None = None

    @property
    def weights(self) -> Array:
        """The weight of each design."""
        planned = np.array([part.users * part.information for part in self.parts])
        weights: Array = planned / planned.sum()
        return weights

    @property
    def value(self) -> Array:
        """The combined estimates."""
        result: Array = np.sum(
            [weight * part.value for weight, part in zip(self.weights, self.parts, strict=True)], axis=0
        )
        return result

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to [0, 1], and a little away from the ends."""
        edge = 1.0 / (sum(part.users for part in self.parts) + 1.0)
        return np.sqrt(self.cumulants(np.clip(self.value, edge, 1.0 - edge))[0])

    def cumulants(self, share: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of the combined estimates under hypotheses in [0, 1]."""
        second, third, fourth = (np.zeros_like(share) for _ in range(3))
        for weight, part in zip(self.weights, self.parts, strict=True):
            moments = (share * a + (1.0 - share) * b for a, b in zip(part.own, part.other, strict=True))
            two, three, four = cumulants(share, *moments)
            second = second + weight**2 * two / part.users
            third = third + weight**3 * three / part.users**2
            fourth = fourth + weight**4 * four / part.users**3
        if self.sample is not None:
            second = second - share * (1.0 - share) / self.sample
        return np.maximum(second, 0.0), third, fourth

    def law(self, distance: Array, side: Array) -> AverageLaw:
        second, third, fourth = self.cumulants(np.clip(self.value + side * distance, 0.0, 1.0))
        step = np.min(
            [weight * part.step / part.users for weight, part in zip(self.weights, self.parts, strict=True)],
            axis=0,
        )
        return law_of_average(1, second, -side * third, fourth, rare_step(step, second, fourth))


@dataclass(frozen=True, eq=False)
class ScaledLimits(Limits):
    """Limits of shares in the units of a number: times the width of its range."""

    limits: CombinedLimits
    factor: float

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the estimate under hypotheses at distances from it, on the sides -1 and 1."""
        return self.limits.law(distance / self.factor, side).scaled(self.factor)

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimate."""
        down, up = self.limits.distances(tail)
        return down[0] * self.factor, up[0] * self.factor

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the interval reaches so far."""
        reached: NDArray[np.bool_] = self.limits.reach(np.atleast_1d(difference) / self.factor, tail)[0]
        return reached


@dataclass(frozen=True, eq=False)
class MixedLimits(ScoreTestLimits):
    """The limits of a weighted average of independent estimates of one number: one test of all together.

    Parameters
    ----------
    values, weights, errors : (m,) array
        The estimates, and their standard errors.
    parts : sequence
        The limits of each by the score test: what has a method ``law``.
    """

    values: Array
    weights: Array
    errors: Array
    parts: Sequence[Any]

    @property
    def value(self) -> float:
        """The weighted average."""
        return float(self.weights @ self.values)

    def standard_error(self) -> Array:
        return np.sqrt(np.asarray(self.weights**2 @ self.errors**2))

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the average: each part is tested for the same number."""
        parts = zip(self.values.tolist(), self.weights.tolist(), self.parts, strict=True)
        return law_of_sum(
            [part.law(distance + side * (self.value - value), side).scaled(w) for value, w, part in parts]
        )


NOBODY = "no user was asked: the interval is all that is possible"


@dataclass(frozen=True)
class Unknown(Limits):
    """Limits where nothing is known: the whole range."""

    value: Array
    low: float
    high: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances to the ends of the range."""
        return self.value - self.low, self.high - self.value

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return True: nothing is excluded."""
        return np.ones(np.shape(difference), dtype=bool)


@dataclass(frozen=True, eq=False)
class GroupLimits(ScoreTestLimits):
    """The limits of the score test for the means of groups, in units of the range from 0 to 1.

    Parameters
    ----------
    down, up : (g,) array
        The estimated shares of users who are in each group and rounded down, or up.
    parts : sequence of (unit, users, own, other)
        Of each design: what a supporting report adds to the estimated share of a cell, times the design's
        weight; its users; moments 0 to 4 of how much a report supports a cell of its user, and another one.
    """

    down: Array
    up: Array
    parts: Sequence[tuple[float, int, Array, Array]]

    @property
    def total(self) -> Array:
        """The estimated shares of the groups."""
        return self.down + self.up

    @property
    def value(self) -> Array:
        """The estimates; they may lie outside of 0 to 1 by chance."""
        return self.up / self.total

    def standard_error(self) -> Array:
        return np.sqrt(self._cumulants(np.clip(self.value, 0.0, 1.0))[0])

    def law(self, distance: Array, side: Array) -> AverageLaw:
        second, third, fourth = self._cumulants(np.clip(self.value + side * distance, 0.0, 1.0))
        return law_of_average(1, second, -side * third, fourth, rare_step(0.0, second, fourth))

    def _cumulants(self, mean: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of the contrast over the share of the group.

        A report that supports both cells of a group has a smaller contrast than is assumed here.
        """
        group = np.clip(self.total, 0.0, 1.0)
        shares = ((1.0 - mean, mean * group), (-mean, (1.0 - mean) * group))
        totals = [np.zeros_like(mean) for _ in range(3)]
        for scale, users, own, other in self.parts:
            first, *more = (
                sum(
                    factor**order * (share * own[order] + (1.0 - share) * other[order])
                    for factor, share in shares
                )
                for order in (1, 2, 3, 4)
            )
            unit = scale / self.total
            for place, value in enumerate(cumulants(first, *more)):
                order = place + 2
                totals[place] = totals[place] + unit**order * value / float(users) ** (order - 1)
        return np.maximum(totals[0], 0.0), totals[1], totals[2]


@dataclass(frozen=True, eq=False)
class RangedLimits(Limits):
    """Limits in the units of the number, and the whole range for groups that are too small.

    Parameters
    ----------
    limits : GroupLimits
        Of the groups that are large enough.
    large : (g,) array of bool
        Which groups these are.
    value : (g,) array
        The estimates of all groups, within the range.
    low, high : float
        The range.
    """

    limits: GroupLimits
    large: NDArray[np.bool_]
    value: Array
    low: float
    high: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimates."""
        down, up = self.value - self.low, self.high - self.value
        if self.large.any():
            below, above = self.limits.distances(tail)
            width, value = self.high - self.low, self.value[self.large]
            raw = self.low + width * self.limits.value
            down[self.large] = np.maximum(value - raw + width * below, 0.0)
            up[self.large] = np.maximum(raw - value + width * above, 0.0)
        return down, up

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the intervals reach so far."""
        inside = within(difference, self.value - self.low, self.high - self.value)
        if self.large.any():
            truth = (self.value + difference)[self.large]
            moved = (truth - self.low) / (self.high - self.low) - self.limits.value
            inside[self.large] = (difference[self.large] == 0.0) | self.limits.reach(moved, tail)
        return inside


def group_means(
    questions: Questions, users: int, request: Request, evidence_sources: Sequence[TableReports]
) -> AttributeMeans:
    """Return the mean of a number in each group: of the two shares of its ends, the upper one's part.

    Parameters
    ----------
    questions : Questions
    users : int
        How many reported.
    request : Request
        The group and the number.
    evidence_sources : sequence of TableReports
        The information in the reports of all designs.
    """
    assert request.number is not None
    question, group = questions[request.number], questions[request.group]
    domain, names, size = question.domain, group.categories, group.size
    value, error = np.full(size, domain.middle), np.full(size, domain.half)
    if not evidence_sources:
        whole, nobody = Unknown(value, domain.low, domain.high), np.zeros(size, dtype=np.int64)
        return AttributeMeans(value, error, 0, nobody, names, True, whole, (NOBODY,))
    parts = [item.each() for item in evidence_sources]
    shape, axis = request.shape(questions), request.places.index(request.number)
    shared = CombinedLimits(parts)
    down, up = np.moveaxis(shared.value.reshape(shape), axis, 0)
    down_error, up_error = np.moveaxis(shared.standard_error().reshape(shape), axis, 0)
    large = down + up >= SMALL_GROUP * np.sqrt(down_error**2 + up_error**2)  # a report supports one cell
    moments = [
        _moments(weight, part.users, item.law(1))
        for weight, part, item in zip(shared.weights.tolist(), parts, evidence_sources, strict=True)
    ]
    limits = GroupLimits(down[large], up[large], moments)
    if large.any():
        value[large] = domain.low + domain.width * np.clip(limits.value, 0.0, 1.0)
        error[large] = domain.width * limits.standard_error()
    counted = sum(part.users for part in parts)
    reports = np.full(size, counted, dtype=np.int64)
    notes = few_users(counted)
    if not large.all():
        listed = ", ".join(f"'{names[place]}'" for place in np.flatnonzero(~large)[:3])
        notes += (f"too few users in {listed} for a mean: the interval is the whole range",)
    ranged = RangedLimits(limits, large, value, domain.low, domain.high)
    return AttributeMeans(value, error, users, reports, names, True, ranged, notes)


def _moments(weight: float, users: int, law: Law) -> tuple[float, int, Array, Array]:
    own, other = law
    unit = weight / float(own[1] - other[1])  # of fractions: no digit is lost
    return unit, users, np.array(own, dtype=np.float64), np.array(other, dtype=np.float64)
