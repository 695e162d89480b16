"""Unbiased marginals with intervals, from the views that contain them, before anything is made consistent.

The views' marginals are averaged with weights inversely proportional to their variance (Zhang 2019, section
3.3.4). With several views the users of each are a random part of all, so that their cells count as draws from
the population; without replacement the variance is smaller, and intervals err on the wide side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.cross_table import CountedTable
from mechdesign.collect.frequency_estimate import FrequencyEstimate
from mechdesign.collect.frequency_limits import AverageLimits, cumulants, few_users
from mechdesign.collect.oracle import Oracle
from mechdesign.collect.plausible import implausible
from mechdesign.core.errors import EstimationError
from mechdesign.families.marginals.sums import score_moments

Array = NDArray[np.float64]
View = tuple[int, ...]

BOUNDED = (
    "sums of cells of {}: the intervals use a bound of the variance and are wider than need be; they are "
    "sharp for the whole view"
)


@dataclass(frozen=True)
class Part:
    """Contribution of a view to the average: its share of users, factor, and moments of scores."""

    share: float
    factor: float
    own: Array
    others: Array

    def cumulants(self, f: Array, population: bool) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of a scaled score when the cell has the share f."""
        scale = self.factor ** np.array([2.0, 3.0, 4.0])
        own, others = self.own * scale, self.others * scale
        if population:
            second, third, fourth = (f * a + (1.0 - f) * b for a, b in zip(own, others, strict=True))
            return cumulants(f * self.factor, second, third, fourth)
        inside, outside = cumulants(self.factor, *own), cumulants(0.0, *others)
        second, third, fourth = (f * a + (1.0 - f) * b for a, b in zip(inside, outside, strict=True))
        return second, third, fourth


@dataclass(frozen=True, eq=False)
class MarginalLimits(AverageLimits):
    """The limits of the score test for every cell of an average of views.

    Parameters
    ----------
    value : (n,) array
    users : int
        Of all views together.
    parts : tuple of Part
    step : float
        The distance of two sums of scores next to each other; 0 with several views.
    population : bool
        Whether the users of a view are a draw, from the population or from all users.
    """

    value: Array
    users: int
    parts: tuple[Part, ...]
    step: float
    population: bool

    def standard_error(self) -> Array:
        """Return the standard errors at the estimates moved to [0, 1]."""
        errors: Array = np.sqrt(self._cumulants(np.clip(self.value, 0.0, 1.0))[0] / self.users)
        return errors

    def _cumulants(self, f: Array) -> tuple[Array, Array, Array]:
        found = [(part.share, part.cumulants(f, self.population)) for part in self.parts]
        second, third, fourth = (
            sum((share * each[order] for share, each in found), start=np.zeros_like(f)) for order in range(3)
        )
        return np.maximum(second, 0.0), third, fourth


@dataclass(frozen=True, eq=False, repr=False)
class RawMarginal(CountedTable):
    """Unbiased estimates of the cells of a marginal; they need neither be >= 0 nor agree with others.

    Attributes
    ----------
    views : tuple of int
        Which views contain it.
    """

    views: tuple[int, ...]

    def _described(self) -> str:
        return f"{self.title}, unbiased, from {len(self.views)} view(s)"


def containing(wanted: View, views: Sequence[View]) -> tuple[int, ...]:
    """Return the numbers of the views that contain all wanted attributes.

    Raises
    ------
    EstimationError
        When no view does.
    """
    members = tuple(place for place, view in enumerate(views) if set(wanted) <= set(view))
    if not members:
        raise EstimationError(
            "marginal",
            "no view with reports contains it, so there is no unbiased estimate",
            "omit raw for that of the penalized distribution",
        )
    return members


def averaged(
    wanted: View,
    views: Sequence[View],
    tables: Sequence[Array],
    oracles: Sequence[Oracle],
    reports: Sequence[int],
    precision: Array,
    names: tuple[str, ...],
    population: bool,
) -> tuple[FrequencyEstimate, tuple[int, ...]]:
    """Return the weighted average of the views' marginals, flat, and which views have it."""
    members = containing(wanted, views)
    flat = [_marginal(tables[place], views[place], wanted) for place in members]
    cells = [tables[place].size // flat[0].size for place in members]
    weights = np.array([precision[place] / count for place, count in zip(members, cells, strict=True)])
    weights /= weights.sum()
    value = np.asarray(weights @ np.stack(flat))
    users = sum(reports[place] for place in members)
    parts, notes = [], few_users(min(reports[place] for place in members))
    for place, count, weight in zip(members, cells, weights.tolist(), strict=True):
        own, others = _moments(oracles[place], count)
        share = reports[place] / users
        parts.append(Part(share, weight / share, own, others))
        if count > 1 and oracles[place].supported(count) is None:
            notes += (BOUNDED.format(oracles[place].type),)
    first = oracles[members[0]].support_shares()
    step = 1.0 / float(first[0] - first[1]) if len(members) == 1 else 0.0
    limits = MarginalLimits(value, users, tuple(parts), step, population or len(views) > 1)
    errors = limits.standard_error()
    notes = tuple(dict.fromkeys(notes)) + implausible(names, value, errors, 0.0, 1.0)
    return FrequencyEstimate(value, errors, users, names, population, None, limits, notes), members


def _marginal(table: Array, view: View, wanted: View) -> Array:
    """Return the flat marginal of a view's table on wanted attributes, in their order."""
    summed = table.sum(axis=tuple(axis for axis, attribute in enumerate(view) if attribute not in wanted))
    kept = [attribute for attribute in view if attribute in wanted]
    flat: Array = summed.transpose([kept.index(attribute) for attribute in wanted]).ravel()
    return flat


def _moments(oracle: Oracle, cells: int) -> tuple[Array, Array]:
    """Return moments of the score of a sum of cells; those of a normal law with a larger variance if unknown.

    The standard deviation of a sum is at most the sum of the standard deviations.
    """
    known = score_moments(oracle, cells)
    if known is not None:
        return known
    own, other = oracle.support_shares()
    each = max(float(share * (1 - share)) for share in (own, other)) / float(own - other) ** 2
    variance = cells**2 * each
    central = np.array([variance, 0.0, 3.0 * variance**2])
    inside = np.array([variance + 1.0, 3.0 * variance + 1.0, 3.0 * variance**2 + 6.0 * variance + 1.0])
    return inside, central
