"""Estimates from the reports of several designs: unbiased for each, combined by planned weights.

A design c whose reports tell a share f gives the average of scores, E[score] = 1 for users in the cells in
question and 0 for all others. With N_c reports, drawn as a random part of the users, the combination
sum a_c avg_c with sum a_c = 1 has the variance

    sum_c a_c^2 kappa_2c(f) / N_c - [f (1 - f) / n]      (theorem 0 of docs/families/survey.md)

where kappa_2c(f) is the variance of a score of a user drawn from the population and the last term belongs to
the given n users only. Third and fourth cumulants add up in the same way. a_c follows from what was planned,
not from the data, so that the estimate is unbiased given the counts.

Without reports the interval is all that is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.frequency_limits import cumulants
from mechdesign.collect.intervals import AverageLaw, ScoreTestLimits, law_of_average, law_of_sum, rare_step
from mechdesign.collect.oracle import Moments
from mechdesign.families.survey.parts import Law

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


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
    """Return the moments of the score for users in the cells and for the others."""
    return _score(law, law[0]), _score(law, law[1])


def _score(law: Law, moments: Moments) -> Array:
    """Return the second to fourth moment of (T - E[T | other]) / (E[T | own] - E[T | other])."""
    low, gain = law[1][1], law[0][1] - law[1][1]
    return np.array(
        [
            float(sum(comb(r, j) * moments[j] * (-low) ** (r - j) for j in range(r + 1)) / gain**r)
            for r in (2, 3, 4)
        ]
    )


@dataclass(frozen=True, eq=False)
class CombinedLimits(ScoreTestLimits):
    """The limits of the score test for shares that several designs tell.

    Parameters
    ----------
    parts : sequence of Evidence
    given : int or None
        The number of users whose shares are wanted; None for the population that they were drawn from.
    """

    parts: Sequence[Evidence]
    given: int | None = None

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
        errors: Array = np.sqrt(self.cumulants(np.clip(self.value, edge, 1.0 - edge))[0])
        return errors

    def cumulants(self, share: Array) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of the combined estimates under hypotheses in [0, 1]."""
        second, third, fourth = (np.zeros_like(share) for _ in range(3))
        for weight, part in zip(self.weights, self.parts, strict=True):
            moments = (share * a + (1.0 - share) * b for a, b in zip(part.own, part.other, strict=True))
            two, three, four = cumulants(share, *moments)
            second = second + weight**2 * two / part.users
            third = third + weight**3 * three / part.users**2
            fourth = fourth + weight**4 * four / part.users**3
        if self.given is not None:
            second = second - share * (1.0 - share) / self.given
        return np.maximum(second, 0.0), third, fourth

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law under the hypotheses at distances from the estimate, on the sides -1 and 1."""
        second, third, fourth = self.cumulants(np.clip(self.value + side * distance, 0.0, 1.0))
        step = np.min(
            [weight * part.step / part.users for weight, part in zip(self.weights, self.parts, strict=True)],
            axis=0,
        )
        return law_of_average(1, second, -side * third, fourth, rare_step(step, second, fourth))


@dataclass(frozen=True, eq=False)
class ScaledLimits:
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


class HasLaw(Protocol):
    """Limits of one estimate by the score test."""

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the estimate under hypotheses at distances from it, on the sides -1 and 1."""
        ...


@dataclass(frozen=True, eq=False)
class MixedLimits(ScoreTestLimits):
    """The limits of a weighted average of independent estimates of one number: one test of all together.

    Parameters
    ----------
    values, weights, errors : (m,) array
        The estimates, and their standard errors.
    parts : sequence of HasLaw
        The limits of each.
    """

    values: Array
    weights: Array
    errors: Array
    parts: Sequence[HasLaw]

    @property
    def value(self) -> float:
        """The weighted average."""
        return float(self.weights @ self.values)

    def standard_error(self) -> Array:
        """Return its standard error."""
        return np.sqrt(np.asarray(self.weights**2 @ self.errors**2))

    def law(self, distance: Array, side: Array) -> AverageLaw:
        """Return the law of the average: each part is tested for the same number."""
        parts = zip(self.values.tolist(), self.weights.tolist(), self.parts, strict=True)
        return law_of_sum(
            [part.law(distance + side * (self.value - value), side).scaled(w) for value, w, part in parts]
        )


NOBODY = "no user was asked: the interval is all that is possible"


@dataclass(frozen=True)
class Unknown:
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
