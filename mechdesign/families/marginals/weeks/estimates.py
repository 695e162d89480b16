r"""Estimates from weekly reports: of a week, of many weeks together, and of the change between two.

**The score of T weeks.** Let N of a user's T weekly sets hold the cell of an answer. Given the permanent set
the weeks are independent: N is binomial with a1 where that set holds the cell, with a0 where not. So N is a
mixture of two binomials, whose factorial moments are T (T - 1) ... times Pi a1^j + (1 - Pi) a0^j, with Pi the
probability that the permanent set holds the cell, of users with the answer or with another one. The mean
score is (N/T - Q)/(P - Q), and its moments give the same score test as for a single report
(:mod:`mechdesign.collect.intervals`).

**Answers that change.** The scores of a user's weeks then depend on who changed when, which nobody knows. But
users are independent: mean and difference of a user's own scores are one number a user, and the spread of
these among the users is what the estimate varies by, whatever the answers do. It holds the permanent noise
that two weeks have in common. Among fixed users it is too large rather than too small: it also counts how
users differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.estimate import FrequencyEstimate, ListedEstimate
from mechdesign.collect.intervals import (
    AverageLaw,
    FrequencyLimits,
    Limits,
    ScoreTestLimits,
    cumulants,
    law_of_average,
    rare_step,
)
from mechdesign.collect.scores import few_users, implausible
from mechdesign.core.errors import counted
from mechdesign.exact.bits import Packed
from mechdesign.families.marginals.weeks.cells import Cells
from mechdesign.families.marginals.weeks.law import WeeklyLaw
from mechdesign.primitives.oracle import STIRLING, falling_product

Array = NDArray[np.float64]

ENTRIES = 1 << 22
"""Scores that are looked at at a time."""


@dataclass(frozen=True)
class WeeklyScores:
    """Scores of an answer from so many weekly reports of a user.

    Attributes
    ----------
    law : WeeklyLaw
    cells : Cells
    weeks : int
        T.

    Examples
    --------
    >>> from mechdesign.exact.randomness import TOTAL
    >>> from mechdesign.families.marginals.weeks.cells import AnswerCells
    >>> law = WeeklyLaw(3, 1, 1, TOTAL * 3 // 4, TOTAL // 2)
    >>> scores = WeeklyScores(law, AnswerCells(3), 4)
    >>> float(scores.moments(False)[0]) == float(law.variance(4))  # a rare answer, whose mean score is 0
    True
    """

    law: WeeklyLaw
    cells: Cells
    weeks: int = 1

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """P and Q: the probabilities that a week's set holds the cell of the own and of another answer."""
        alike = self.cells.alike
        return self.law.own, alike * self.law.own + (1 - alike) * self.law.other

    def moments(self, own: bool) -> tuple[Fraction, Fraction, Fraction]:
        """Return the second to fourth moments of the mean score of users with the answer, or without it."""
        first, (inside, outside) = self.law.own_kept, self.law.transition
        if not own:
            first = self.cells.alike * first + (1 - self.cells.alike) * self.law.other_kept
        weeks, (high, low) = self.weeks, self.chances
        factorial = [
            falling_product(weeks, j) * (first * inside**j + (1 - first) * outside**j) for j in range(5)
        ]
        raw = [sum(Fraction(s) * f for s, f in zip(row, factorial, strict=False)) for row in STIRLING]
        powers = [raw[j] / weeks**j for j in range(5)]  # of N/T
        share = self.cells.share
        result = []
        for order in (2, 3, 4):
            central = sum(comb(order, j) * powers[j] * (-low) ** (order - j) for j in range(order + 1))
            result.append(central / (high - low) ** order / share ** (order - 1))
        second, third, fourth = result
        return second, third, fourth

    def variance(self, frequency: Fraction) -> Fraction:
        """Return users times the variance of a share of this size."""
        own, other = self.moments(True)[0] - 1, self.moments(False)[0]
        return frequency * own + (1 - frequency) * other

    def values(self, fits: Any, about: Any, users: int) -> Array:
        """Return the shares from how many weekly sets fit each answer, and how many reports are about it."""
        high, low = map(float, self.chances)
        scale = users * self.weeks * float(self.cells.share) * (high - low)
        result: Array = (np.asarray(fits, dtype=np.float64) - low * np.asarray(about)) / scale
        return result

    @property
    def scale(self) -> float:
        """By what support is divided: P - Q, times the share of users whose reports are about an answer."""
        high, low = map(float, self.chances)
        return float(self.cells.share) * (high - low)

    def split(self, counts: Codes, reports: int) -> tuple[Codes, Codes]:
        """Return the two parts of a server's counters."""
        size = self.cells.categories
        about = counts[size:] if len(counts) > size else np.full(size, reports, dtype=np.int64)
        return counts[:size], about

    def estimate(
        self, counts: Codes, users: int, names: tuple[str, ...], population: bool = False
    ) -> FrequencyEstimate:
        """Return the shares with their intervals, from the counters of all weeks of the same users."""
        fits, about = self.split(counts, users * self.weeks)
        value = self.values(fits, about, users)
        mine, theirs = (
            np.repeat(np.array([float(moment) for moment in moments])[:, None], len(value), axis=1)
            for moments in self._both
        )
        high, low = map(float, self.chances)
        step = np.full(len(value), 1.0 / ((high - low) * self.weeks * float(self.cells.share)))
        limits = FrequencyLimits(value, users, mine, theirs, theirs, step, population)
        errors = limits.standard_error()
        notes = few_users(users) + implausible(names, value, errors, 0.0, 1.0)
        return FrequencyEstimate(value, errors, users, names, population, None, limits, notes)

    @cached_property
    def _both(self) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
        return self.moments(True), self.moments(False)


@dataclass(frozen=True, eq=False)
class SpreadLimits(ScoreTestLimits):
    """The limits of means of one number a user, by the spread of these numbers among the users.

    Parameters
    ----------
    users : int
    second, third, fourth : (n,) array
        Cumulants of the number, estimated.
    step : float or (n,) array
        The least distance of two sums of them.
    """

    users: int
    second: Array
    third: Array
    fourth: Array
    step: float | Array

    def part(self, places: slice) -> SpreadLimits:
        """Return the limits of some of the means."""
        step = np.broadcast_to(self.step, self.second.shape)[places]
        return SpreadLimits(self.users, self.second[places], self.third[places], self.fourth[places], step)

    def standard_error(self) -> Array:
        errors: Array = np.sqrt(self._least() / self.users)
        return errors

    def _least(self) -> Array:
        """Return the variances; where no user differs, one of n + 1 is taken to do so by one step."""
        result: Array = np.maximum(self.second, self.step**2 / (self.users + 1.0))
        return result

    def law(self, distance: Array, side: Array) -> AverageLaw:
        variance = np.broadcast_to(self._least(), distance.shape)
        step = rare_step(self.step, variance, np.broadcast_to(self.fourth, distance.shape))
        freedom = max(1.0, self.users - 1.0)
        return law_of_average(self.users, variance, -side * self.third, self.fourth, step, freedom)


class Spread:
    """Sums of powers of one number a user and answer, block by block."""

    def __init__(self, size: int) -> None:
        self.users = 0
        self.sums = np.zeros((4, size))

    def add(self, numbers: Array) -> None:
        """Add the numbers of some users, (n, size)."""
        self.users += len(numbers)
        power = np.ones_like(numbers)
        for order in range(4):
            power = power * numbers
            self.sums[order] += power.sum(axis=0)

    def limits(self, step: float | Array) -> tuple[Array, SpreadLimits]:
        """Return the means, and their limits."""
        mean, second, third, fourth = self.sums / self.users
        variance, skew, kurtosis = cumulants(mean, second, third, fourth)
        variance = np.maximum(variance, 0.0) * self.users / max(1, self.users - 1)
        return mean, SpreadLimits(self.users, variance, skew, kurtosis, step)


@dataclass(frozen=True, repr=False)
class ChangeEstimate(ListedEstimate):
    """Unbiased estimates of how much the share of each answer changed from one week to another.

    Attributes
    ----------
    value, standard_error : (n,) array
    users : int
    categories : tuple of str
    population : bool
        The intervals are for the population as well as for the users who reported.
    limits : Limits, optional
    notes : tuple of str
    """

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "categories"
    estimated: ClassVar[str] = "change"
    digits: ClassVar[str] = ".5f"
    error_digits: ClassVar[str] = ".2g"
    most: ClassVar[int | None] = 60

    value: Array
    standard_error: Array
    categories: tuple[str, ...]
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    @property
    def is_share(self) -> bool:
        return True

    def _names(self) -> tuple[str, ...]:
        return self.categories

    def figures(self) -> list[Any]:
        """Return the changes with their intervals."""
        title = f"Estimated changes of {counted(self.users, 'user')}"
        return self._drawn(title, "answer", "change of the share")


def linked_estimate(
    scores: WeeklyScores,
    tables: Sequence[tuple[Packed, Packed]],
    weights: Sequence[float],
    names: tuple[str, ...],
    population: bool,
) -> FrequencyEstimate | ChangeEstimate:
    """Return a mean of weeks, or a difference, from reports of the same users in the same order.

    Parameters
    ----------
    scores : WeeklyScores
        Of one week.
    tables : sequence of (front, sets)
        The reports of each week.
    weights : sequence of float
        Of each week's score: all 1/T, or -1 and 1.
    names : tuple of str
    population : bool
    """
    users = len(tables[0][0])
    mean, limits = user_spread(scores, tables, weights).limits(min(map(abs, weights)) / scores.scale)
    errors, notes = limits.standard_error(), few_users(users)
    change = sum(weights) == 0.0
    if change:
        notes += implausible(names, mean, errors, -1.0, 1.0)
        return ChangeEstimate(mean, errors, users, names, population, limits, notes)
    notes += implausible(names, mean, errors, 0.0, 1.0)
    return FrequencyEstimate(mean, errors, users, names, population, None, limits, notes)


def user_spread(
    scores: WeeklyScores,
    tables: Sequence[tuple[Packed, Packed]],
    weights: Sequence[float],
    sums: Array | None = None,
) -> Spread:
    """Return the spread among users of their weighted scores, or of sums of these, one a column."""
    size, users = scores.cells.categories, len(tables[0][0])
    low = float(scores.chances[1])
    spread, rows = Spread(size if sums is None else sums.shape[1]), max(1, ENTRIES // size)
    for start in range(0, users, rows):
        total = np.zeros((min(rows, users - start), size))
        for (front, sets), share in zip(tables, weights, strict=True):
            fits, about = scores.cells.supports(front[start : start + rows], sets[start : start + rows])
            total += share * (fits - low * (1.0 if about is None else about)) / scores.scale
        spread.add(total if sums is None else total @ sums)
    return spread
