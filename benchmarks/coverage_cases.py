"""What is counted when the coverage of intervals is measured; see :mod:`benchmarks.coverage`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import tail_of

SLACK = 1e-9
"""A truth that is the end of an interval is not missed by a rounding error, as a part of the users."""


@dataclass(frozen=True)
class Covered:
    """How many intervals contained the truth, of how many.

    Attributes
    ----------
    case : str
        Which estimator, what the users held, and the true number.
    hits, trials : int
    """

    case: str
    hits: int
    trials: int

    @property
    def share(self) -> float:
        """The part that contained it."""
        return self.hits / self.trials


BOTH = (False, True)
"""The users at hand, and a population from which they are drawn."""


def all_reports(
    mechanism: Any,
    values: NDArray[Any],
    population: bool,
    repetitions: int,
    rng: np.random.Generator,
    **options: Any,
) -> list[Any]:
    """Return the reports of these users in each repetition, or of as many from a population like them.

    All are drawn in one call of ``randomize``, which gets the options.
    """
    users = len(values)
    whose = np.tile(np.arange(users), repetitions)
    if population:
        whose = rng.integers(users, size=users * repetitions)
    return np.split(mechanism.randomize(values[whose], rng=rng, **options), repetitions)


def kind_of(population: bool) -> str:
    """Return whose numbers are wanted."""
    return "population" if population else "users"


Measure = Callable[[float, int, int, np.random.Generator], list[Covered]]
"""From epsilon, users, repetitions and a generator; nothing where there is no such mechanism."""


class Counting:
    """Counts intervals that contain the truth, those of equal truths together.

    Categories that equally many users hold are interchangeable, so that their intervals are repetitions.

    Examples
    --------
    >>> counting = Counting("a case", [3.0, 0.0, 0.0])
    >>> counting.add((np.array([2.0, -1.0, 1.0]), np.array([4.0, 1.0, 2.0])))
    >>> [(item.case, item.hits, item.trials) for item in counting.found()]
    [('a case, truth 0', 1, 2), ('a case, truth 3', 1, 1)]
    """

    def __init__(self, case: str, truth: Any, slack: float = SLACK) -> None:
        self.case, self.slack = case, slack
        self.truth = np.atleast_1d(np.asarray(truth, dtype=np.float64)).ravel()
        self.hits, self.trials = np.zeros(len(self.truth), np.int64), np.zeros(len(self.truth), np.int64)

    def add(self, interval: tuple[Any, Any]) -> None:
        """Count the intervals of one estimate; those without ends say nothing and are left out."""
        low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)).ravel() for end in interval)
        self.hits += (low - self.slack <= self.truth) & (self.truth <= high + self.slack)
        self.trials += np.isfinite(low) & np.isfinite(high)

    def add_estimate(self, estimate: Any, times: int = 1, level: float = 0.95) -> None:
        """Count the intervals of an estimate without searching for their ends, for that many equal estimates.

        Those of the first estimate are searched for: what it prints has to agree with what is counted.
        """
        first, inside = not self.trials.any(), self._reached(estimate, level)
        if inside is None or first:
            low, high = (np.asarray(end, dtype=np.float64).ravel() for end in estimate.interval(level))
            within = (low - self.slack <= self.truth) & (self.truth <= high + self.slack)
            assert inside is None or (within == inside).all(), f"{self.case}: interval and limits differ"
            inside = within
        self.hits += times * inside
        self.trials += times

    def _reached(self, estimate: Any, level: float) -> NDArray[np.bool_] | None:
        """Return which truths the limits of an estimate reach; None where it has none."""
        limits = getattr(estimate, "limits", None)
        if not hasattr(limits, "reach"):
            return None
        return self._within(getattr(estimate, "unbiased", estimate.value), limits, level)

    def add_limits(self, value: Any, limits: Any, times: int = 1, level: float = 0.95) -> None:
        """Count intervals that are had without the rest of an estimate, where it says anything."""
        known = ~np.isnan(self.truth) & ~np.isnan(np.asarray(value, dtype=np.float64)).ravel()
        self.hits += times * (known & self._within(np.nan_to_num(value), limits, level))
        self.trials += times * known

    def _within(self, value: Any, limits: Any, level: float) -> NDArray[np.bool_]:
        middle = np.asarray(value, dtype=np.float64)
        difference = self.truth.reshape(middle.shape) - middle
        nearer = np.sign(difference) * np.maximum(np.abs(difference) - self.slack, 0.0)
        return np.asarray(limits.reach(nearer, tail_of(level))).ravel()

    def found(self) -> Iterable[Covered]:
        """Yield the counts for each true number."""
        for truth in np.unique(self.truth):
            same = self.truth == truth
            trials = int(self.trials[same].sum())
            if trials:
                yield Covered(f"{self.case}, truth {truth:.6g}", int(self.hits[same].sum()), trials)
