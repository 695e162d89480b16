"""Rows of counters: an own message in each row, among uniform dummies of some users."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass, binomial_mass
from mechdesign.collect.recipes import Steps
from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.client import dummies_part
from mechdesign.families.shuffle.count_limits import Group
from mechdesign.families.shuffle.dummies import MOST_TRIALS, with_dummies
from mechdesign.families.shuffle.fair_coins import rows_attack, rows_divergence
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, chance, fewest_dummies, too_few
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.tasks import HistogramProtocol


@frozen_value()
class Rows(Noise):
    """One own cell in each row, and ``trials`` times a dummy in a given cell with the chance cell / 2**62.

    Messages are cells of rows, those of the first row first; the chance is the same in all rows.
    """

    trials: int = value_field(plain_int)
    cell: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check("trials", 1, MOST_TRIALS)
        self.check_weight("cell", 1, self.full)

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """The cells of each row."""

    @abstractmethod
    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        """Return the cells of these values in a row."""

    @property
    def changed(self) -> int:
        """In how many rows two values differ, at most."""
        return self.rows

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.sizes)

    @property
    def full(self) -> int:
        """The largest weight of a cell: that with which every trial adds a dummy in the longest row."""
        return TOTAL // max(self.sizes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first cell of each row."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the fewest trials, and about the least weight of a cell, that are proven to be enough."""
        shaped = cls.shaped(promise, size, 1, 1)
        most = allowed.most(MOST_TRIALS, shaped.rows)

        def enough(other: Promise, count: int) -> bool:
            full = cls.shaped(other, size, 1, 1).full
            noise = cls.shaped(other, size, count, full)
            coin, number = Fraction(2 * full, TOTAL), other.honest_users * count
            if rows_attack(number, coin, noise.changed, other.epsilon) > other.delta:
                return False  # in no time, where the divergence itself takes seconds
            return noise.holds

        build = partial(cls.shaped, promise, size)
        fewest = fewest_dummies(build, most, shaped.full, partial(enough, promise))
        if fewest is None:
            where = f" in {counted(shaped.rows, 'row')}"
            too_few(promise, most, MOST_TRIALS, lambda other: enough(other, most), where)
        return fewest

    @classmethod
    def shaped(cls, promise: Promise, size: int, trials: int, cell: int) -> Self:
        """Return the noise with the rows that are usual for a guarantee."""
        return cls(promise, size, trials, cell)

    @property
    def chance(self) -> Fraction:
        """The probability that a trial adds a dummy in a given cell."""
        return chance(self.cell)

    @cached_property
    def least_delta(self) -> float:
        """The divergence when one value or another is sent in every row at once where they differ."""
        promise = self.promise
        trials = promise.honest_users * self.trials
        return rows_divergence(trials, 2 * self.chance, self.changed, promise.epsilon, promise.delta)

    proof = "a message in every row, each among the honest users' dummies for either cell"

    @cached_property
    def law(self) -> Mass:
        """The distribution of the dummies of a cell."""
        return binomial_mass(self.promise.users * self.trials, self.chance)

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

    @abstractmethod
    def own_of(self, row: int) -> Steps:
        """Return the steps from the value to its entry in a row, as plain values."""

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        return [
            dummies_part(self.own_of(row), self.trials, self.cell * size, size, start)
            for row, (size, start) in enumerate(zip(self.sizes, self.starts.tolist(), strict=True))
        ]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each row the own cells of all users, with the dummies among them."""
        parts = [
            with_dummies(self.own_cell(values, row), self.trials, self.cell * size, size, source) + start
            for row, (size, start) in enumerate(zip(self.sizes, self.starts.tolist(), strict=True))
        ]
        return np.concatenate(parts).reshape(-1, 1)


class RowsProtocol(HistogramProtocol):
    """A protocol whose messages are cells of rows."""

    noise: Rows

    @property
    def _tally_size(self) -> int:
        """One sum for each cell."""
        return sum(self.noise.sizes)

    def _require_rows(self, sums: NDArray[np.int64]) -> None:
        """Raise DataError for a row with fewer messages than there are users."""
        for row, count in enumerate(np.add.reduceat(sums, self.noise.starts).tolist()):
            if count < self.promise.users:
                raise DataError(
                    "messages",
                    f"row {row} has {count}, and {self.promise.users} users send more",
                    "give those of all users",
                )
