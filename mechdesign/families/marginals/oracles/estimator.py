"""The unbiased frequency estimator of an oracle whose server counts support, with errors and limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.frequency_estimate import FrequencyEstimate
from mechdesign.collect.frequency_limits import FrequencyLimits, RepeatedLimits, few_users
from mechdesign.collect.plausible import implausible

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class SupportEstimator:
    """Estimates frequencies from how many reports support each category.

    A report scores (1 - q)/(p - q) for a category that it supports and -q/(p - q) for any other.

    Parameters
    ----------
    own, other : Fraction
        The chances p and q that a report supports the own and another category.

    Examples
    --------
    >>> found = SupportEstimator(Fraction(3, 4), Fraction(1, 4)).estimate(np.array([50, 30]), 80, ("a", "b"))
    >>> found.value
    array([0.75, 0.25])
    """

    own: Fraction
    other: Fraction

    def estimate(
        self, supports: Codes, users: int, names: tuple[str, ...], population: bool = False
    ) -> FrequencyEstimate:
        """Return the estimates with standard errors and limits; equal counts share theirs."""
        counts, index = np.unique(supports, return_inverse=True)
        gain = float(self.own - self.other)
        value = (counts / users - float(self.other)) / gain
        mine, theirs = (np.repeat(moments[:, None], len(counts), axis=1) for moments in self._moments)
        step = np.full(len(counts), 1.0 / gain)
        limits = FrequencyLimits(value, users, mine, theirs, theirs, step, population)
        each, errors = value[index.ravel()], limits.standard_error()[index.ravel()]
        notes = few_users(users) + implausible(names, each, errors, 0.0, 1.0)
        shared = RepeatedLimits(limits, index.ravel())
        return FrequencyEstimate(each, errors, users, names, population, None, shared, notes)

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The second to fourth moments of the score for an own and for another category."""
        gain = self.own - self.other
        high, low = (1 - self.other) / gain, -self.other / gain
        mine, theirs = (
            np.array([float(chance * high**power + (1 - chance) * low**power) for power in (2, 3, 4)])
            for chance in (self.own, self.other)
        )
        return mine, theirs
