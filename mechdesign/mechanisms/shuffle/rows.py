"""What protocols of several rows of counters have in common: an own message in each, among dummies."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass, binomial
from mechdesign.audit.shuffle_rows import rows_attack, rows_divergence
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.core.validation import integer
from mechdesign.mechanisms.count_limits import Group
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.draws import checked_weight
from mechdesign.mechanisms.shuffle.histograms import HistogramProtocol, with_dummies
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise, least_passing, remedy

Array = NDArray[np.float64]

MOST_TRIED = 1 << 38
"""Dummies of a row beyond which more users are not tried as a remedy: looking at them takes many seconds."""

MOST_TRIALS = 1 << 12
"""No user adds more dummies to a row."""


class RowsProtocol(HistogramProtocol):
    """A protocol whose messages are cells of rows; every user sends one own cell in each row, and dummies.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
    labels : sequence of str, optional
    sizes : sequence of int
        The cells of each row.
    trials : int
        Of each user in each row.
    cell : int
        Out of 2**62, the chance that a trial adds a dummy in a given cell; the same in all rows.
    """

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None,
        *,
        sizes: Sequence[int],
        trials: int,
        cell: int,
    ) -> None:
        super().__init__(promise, calibration, categories, labels)
        self.sizes = tuple(sizes)
        self.trials = integer("trials", trials, 1, MOST_TRIALS)
        self.cell = checked_weight("cell", cell, 1, most_cell(self.sizes))
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @abstractmethod
    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        """Return the cells of these categories in a row."""

    def parameters(self) -> dict[str, Any]:
        """Return the number of trials and the weight of a cell."""
        return {"trials": self.trials, "cell": self.cell}

    @property
    def chance(self) -> Fraction:
        """The chance that a trial adds a dummy in a given cell."""
        return Fraction(self.cell, TOTAL)

    @property
    def rows(self) -> int:
        """How many rows there are; two categories differ in no more."""
        return len(self.sizes)

    @cached_property
    def least_delta(self) -> float:
        """The divergence when one category or another is sent in every row at once."""
        promise = self.promise
        trials = promise.honest_users * self.trials
        return rows_divergence(trials, 2 * self.chance, self.rows, promise.epsilon, promise.delta)

    proof = "a message in every row, each among the honest users' dummies for either cell"

    @cached_property
    def noise(self) -> Mass:
        """The law of the dummies of a cell."""
        return binomial(self.promise.users * self.trials, self.chance)

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        """The dummies of each row."""
        trials = self.promise.users * self.trials
        return tuple(Group.bits(trials, size * self.chance) for size in self.sizes)

    @property
    def mean_dummies(self) -> float:
        """The expected number of dummies of a cell."""
        return self.promise.users * self.trials * float(self.chance)

    @property
    def cell_variance(self) -> float:
        """The variance of the dummies of a cell."""
        return self.mean_dummies * float(1 - self.chance)

    @property
    def least_messages(self) -> int:
        """The own ones."""
        return self.rows

    @property
    def most_messages(self) -> int:
        """The own ones and all dummies."""
        return self.rows * (1 + self.trials)

    @property
    def mean_messages(self) -> float:
        """The own ones and the expected number of dummies."""
        return self.rows + self.trials * float(sum(self.sizes) * self.chance)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A message is the number of a cell, those of the first row first."""
        return (sum(self.sizes),)

    @property
    def tally_size(self) -> int:
        """One sum for each cell."""
        return sum(self.sizes)

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many messages each cell has."""
        return np.bincount(messages[:, 0], minlength=sum(self.sizes)).astype(np.int64)

    def encode_piece(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each row the own cells of all users, with the dummies among them."""
        parts = [
            with_dummies(self.own_cell(values, row), self.trials, self.cell * size, size, source) + start
            for row, (size, start) in enumerate(zip(self.sizes, self.starts.tolist(), strict=True))
        ]
        return np.concatenate(parts).reshape(-1, 1)

    def require_rows(self, sums: NDArray[np.int64]) -> None:
        """Raise DataError for a row with fewer messages than there are users."""
        for row, count in enumerate(np.add.reduceat(sums, self.starts).tolist()):
            if count < self.promise.users:
                raise DataError(
                    f"messages: row {row} has {count}, and {self.promise.users} users send more; "
                    "give those of all users"
                )


def most_cell(sizes: Sequence[int]) -> int:
    """Return the largest weight of a cell: that with which every trial adds a dummy in the longest row."""
    return TOTAL // max(sizes)


def least_noise(
    made: Callable[..., RowsProtocol],
    sizes_for: Callable[[Promise], Sequence[int]],
    max_messages: int | None,
    promise: Promise,
) -> dict[str, int]:
    """Return the fewest trials, and about the least weight of a cell, whose divergence is small enough.

    Raises
    ------
    OutOfReachError
        When the messages that are allowed are too few.
    """
    rows = len(sizes_for(promise))
    most = MOST_TRIALS if max_messages is None else min(MOST_TRIALS, max_messages // rows - 1)
    if most < 1:
        raise OutOfReachError(f"it needs {2 * rows} messages a user; allow as many")

    def looked_at(other: Promise) -> Promise:
        if other.users > promise.users and other.users * most > MOST_TRIED:
            raise ParameterError("users: too many to be tried as a remedy")
        return other

    def enough(other: Promise, count: int) -> bool:
        cell = most_cell(sizes_for(other))
        coin, number = Fraction(2 * cell, TOTAL), other.honest_users * count
        if rows_attack(number, coin, len(sizes_for(other)), other.epsilon) > other.delta:
            return False  # in no time, where the divergence itself takes seconds
        return made(other, trials=count, cell=cell).holds

    trials = least_passing(lambda count: enough(promise, count), 1, most, 40)
    if trials is None:
        raise OutOfReachError(
            f"dummies are too few, {most} of each of {promise.honest_users} users in {rows} rows; "
            f"{remedy(promise, lambda other: enough(looked_at(other), most))}, or more messages"
        )
    full = most_cell(sizes_for(promise))
    cell = least_passing(lambda weight: made(promise, trials=trials, cell=weight).holds, 1, full)
    assert cell is not None  # the largest weight passed above
    return {"trials": trials, "cell": cell}


def minimum_moments(law: Mass, rows: int) -> tuple[float, float]:
    """Return mean and variance of the least of so many independent variables of a law.

    Examples
    --------
    >>> from fractions import Fraction
    >>> minimum_moments(binomial(1, Fraction(1, 2)), 2)
    (0.25, 0.1875)
    """
    tails = np.cumsum(law.mass[::-1])[::-1] ** rows
    mass = tails - np.append(tails[1:], 0.0)
    numbers = law.low + np.arange(len(mass), dtype=np.float64)
    mean = float((mass * numbers).sum()) / float(mass.sum())
    return mean, float((mass * (numbers - mean) ** 2).sum())


@dataclass(frozen=True, eq=False)
class LeastOfRows:
    """The least of some rows' dummies and colliding users, over the draw of the public functions.

    A row is at least its dummies. By Markov's inequality more than u users collide in it with at most the
    chance collisions / (u + 1), whoever they are, so that it reaches x with at most the chance
    Pr[dummies >= x - u] + collisions / (u + 1), for every u >= 0.

    Parameters
    ----------
    law : Mass
        Of the dummies of a cell.
    rows, users : int
    collisions : float
        How many users collide with a category in a row on average, at most.

    Examples
    --------
    >>> noise = binomial(100, Fraction(1, 2))
    >>> LeastOfRows(noise, 1, 100, 0.0).quantiles(0.025), LeastOfRows(noise, 4, 100, 0.5).quantiles(0.025)
    ((40, 60), (38, 56))
    """

    law: Mass
    rows: int
    users: int
    collisions: float

    def quantiles(self, tail: float) -> tuple[int, int]:
        """Return the smallest number not in the lower tail and the largest that may be in the upper one."""
        above = np.minimum(np.append(np.cumsum(self.law.mass[::-1])[::-1], 0.0), 1.0)
        below = 1.0 - above[1:] ** self.rows
        bottom = self.law.low + int(np.argmax(below > tail))
        low, high = bottom, self.law.low + len(self.law.mass) + self.users
        while low < high:  # the largest that is not rejected
            middle = (low + high + 1) // 2
            if self._reaches(middle, above) ** self.rows > tail:
                low = middle
            else:
                high = middle - 1
        return bottom, low

    def _reaches(self, number: int, above: Array) -> float:
        """Return a bound of the chance that a row is at least a number."""
        most = min(self.users, number - self.law.low)
        if most < 0:
            return 1.0
        users = np.arange(max(0, number - self.law.low - len(self.law.mass)), most + 1)
        noise = above[np.maximum(number - users - self.law.low, 0)]
        collided = np.minimum(1.0, self.collisions / (users + 1.0))
        return min(1.0, float((noise + np.where(users < self.users, collided, 0.0)).min()))


def upper_square(law: Mass, rows: int, centre: float, collisions: float) -> float:
    """Return a bound of E (X - centre)_+^2, X the least of rows of dummies and of users who collide.

    In each row so many users collide on average, whoever they are: by Markov's inequality at most with the
    chance collisions / u there are u of them or more, so that a row exceeds x with at most the chance
    Pr[dummies > x - u] + collisions / u, for the best u of a few; rows are independent.

    Examples
    --------
    >>> from fractions import Fraction
    >>> noise = binomial(100, Fraction(1, 2))
    >>> 0.0 < upper_square(noise, 4, 50.0, 0.01) < 25.0
    True
    """
    deviation = math.sqrt(float((law.mass * (law.low + np.arange(len(law.mass)) - centre) ** 2).sum())) + 1.0
    tails = np.append(np.cumsum(law.mass[::-1])[::-1], 0.0)
    grid = centre + deviation * np.concatenate([np.linspace(0.0, 12.0, 481), 12.0 * 1.25 ** np.arange(1, 80)])
    exceeds = np.ones(len(grid))
    for share in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95):
        moved = share * (grid - centre) + 0.5
        places = np.clip(np.floor(grid - moved).astype(np.int64) + 1 - law.low, 0, len(tails) - 1)
        exceeds = np.minimum(exceeds, tails[places] + collisions / moved)
    places = np.clip(np.floor(grid).astype(np.int64) + 1 - law.low, 0, len(tails) - 1)
    exceeds = np.minimum(exceeds, tails[places] + min(1.0, collisions))
    squares = np.diff((grid - centre) ** 2)
    return float((exceeds[:-1] ** rows * squares).sum())
