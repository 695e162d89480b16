"""The mean of a number in each group of a survey's users, from tables of the group and the number's two ends.

A number is rounded at random to one end of its range. With shares u and v of all users who are in a group
and rounded up and down, the group's mean is low + width r with r = u/(u + v). Under the hypothesis r the
contrast (1 - r) u - r v is 0; its unbiased estimate is tested, whatever the group's share is (Fieller 1954).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import AttributeMeans
from mechdesign.collect.frequency_limits import cumulants, few_users
from mechdesign.collect.intervals import AverageLaw, ScoreTestLimits, law_of_average, rare_step, within
from mechdesign.families.survey.combined_estimates import NOBODY, CombinedLimits, Evidence, Unknown
from mechdesign.families.survey.parts import Law
from mechdesign.families.survey.results import Wanted

if TYPE_CHECKING:
    from mechdesign.families.survey.server import SurveyCounts
    from mechdesign.families.survey.survey import Survey

Array = NDArray[np.float64]

SMALL_GROUP = 4.0
"""A group whose share is below SMALL_GROUP times its standard error has no meaningful mean."""


class CellReports(Protocol):
    """Information about the cells of a table in the reports of one part; see ``Told``."""

    @property
    def law(self) -> Callable[[int], Law]:
        """From a number of cells to the moments of how much one report supports them."""
        ...

    def each(self) -> Evidence:
        """Return the evidence of the share of each cell."""
        ...


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
        result: Array = self.up / self.total
        return result

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to the range."""
        result: Array = np.sqrt(self._cumulants(np.clip(self.value, 0.0, 1.0))[0])
        return result

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the estimate under hypotheses at distances from it, on the sides -1 and 1."""
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
            for place, found in enumerate(cumulants(first, *more)):
                order = place + 2
                totals[place] = totals[place] + unit**order * found / float(users) ** (order - 1)
        return np.maximum(totals[0], 0.0), totals[1], totals[2]


@dataclass(frozen=True, eq=False)
class RangedLimits:
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
    survey: Survey, counts: SurveyCounts, wanted: Wanted, told: Sequence[CellReports]
) -> AttributeMeans:
    """Return the mean of a number in each group: of the two shares of its ends, the upper one's part.

    Parameters
    ----------
    survey : Survey
    counts : SurveyCounts
    wanted : Wanted
        The group and the number.
    told : sequence of CellReports
        The information in the reports of all designs.
    """
    assert wanted.number is not None
    question, group = survey.questions[wanted.number], survey.questions[wanted.group]
    domain, names, size = question.domain, group.categories, group.size
    value, error = np.full(size, domain.middle), np.full(size, domain.half)
    if not told:
        whole, nobody = Unknown(value, domain.low, domain.high), np.zeros(size, dtype=np.int64)
        return AttributeMeans(value, error, 0, nobody, names, True, whole, (NOBODY,))
    parts = [item.each() for item in told]
    shape, axis = wanted.shape(survey.questions), wanted.places.index(wanted.number)
    shared = CombinedLimits(parts)
    down, up = np.moveaxis(shared.value.reshape(shape), axis, 0)
    large = down + up >= SMALL_GROUP * _error_of_group(shared, shape, axis)
    moments = [
        _moments(weight, part.users, item.law(1))
        for weight, part, item in zip(shared.weights.tolist(), parts, told, strict=True)
    ]
    limits = GroupLimits(down[large], up[large], moments)
    if large.any():
        value[large] = domain.low + domain.width * np.clip(limits.value, 0.0, 1.0)
        error[large] = domain.width * limits.standard_error()
    users = sum(part.users for part in parts)
    reports = np.full(size, users, dtype=np.int64)
    notes = few_users(users)
    if not large.all():
        listed = ", ".join(f"'{names[place]}'" for place in np.flatnonzero(~large)[:3])
        notes += (f"too few users in {listed} for a mean: the interval is the whole range",)
    ranged = RangedLimits(limits, large, value, domain.low, domain.high)
    return AttributeMeans(value, error, counts.users, reports, names, True, ranged, notes)


def _moments(weight: float, users: int, law: Law) -> tuple[float, int, Array, Array]:
    own, other = law
    unit = weight / float(own[1] - other[1])  # of fractions: no digit is lost
    return unit, users, np.array(own, dtype=np.float64), np.array(other, dtype=np.float64)


def _error_of_group(shared: CombinedLimits, shape: tuple[int, ...], axis: int) -> Array:
    """Return upper bounds of the standard errors of the groups' shares: a report supports one cell."""
    down, up = np.moveaxis(shared.standard_error().reshape(shape), axis, 0)
    result: Array = np.sqrt(down**2 + up**2)
    return result
