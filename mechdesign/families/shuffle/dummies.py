"""Dummies: true values, hidden among uniform ones that some users add.

Rows of counters: an own message in each row, among uniform dummies of some users.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass, binomial_mass
from mechdesign.collect.kernel import Steps
from mechdesign.core.errors import DataError, counted
from mechdesign.core.values import dependent_field, frozen_value, value_field
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.count_limits import Group, TwoKinds, two_kinds
from mechdesign.families.shuffle.fair_coins import blanket_divergence, rows_attack, rows_divergence
from mechdesign.families.shuffle.noise import (
    Allowed,
    Messages,
    Noise,
    bits,
    chance,
    dummies_part,
    fewest_dummies,
    too_few,
)
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.tasks import CountProtocol, HistogramProtocol

MOST_TRIALS = 1 << 12
"""No user adds more dummies."""

MOST_COINS = 1 << 10
"""No user adds more coins to a bit."""


@frozen_value()
class Dummies(Noise):
    """The true value, and ``trials`` times a uniform one with the probability dummy / 2**62.

    Of trials there are 1 unless users are too few, and at most ``limit``; dummy is from 1 to 2**62.
    """

    trials: int = value_field(plain_int)
    dummy: int = dependent_field(lambda noise, name, value: plain_int(noise.weight_name, value))

    limit: ClassVar[int] = MOST_TRIALS
    weight_name: ClassVar[str] = "dummy"

    def __attrs_post_init__(self) -> None:
        self.check("trials", 1, self.limit)
        self.check_weight("dummy", 1, TOTAL, self.weight_name)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the fewest dummies whose divergence is proven to be small enough."""
        most = allowed.most(cls.limit)
        refuted = rows_attack(promise.honest_users * most, Fraction(2, size), 1, promise.epsilon)
        # In no time, where looking at the divergence of fewer dummies first takes seconds.
        fewest = None if refuted > promise.delta else fewest_dummies(partial(cls, promise, size), most)
        if fewest is None:
            too_few(promise, most, cls.limit, lambda other: cls(other, size, most, TOTAL).holds)
        return fewest

    @property
    def chance(self) -> Fraction:
        """The probability that a trial adds a dummy."""
        return chance(self.dummy)

    @cached_property
    def least_delta(self) -> float:
        """The divergence for one true value among the dummies that stand for either of two.

        What the others hold may be known, and how many dummies there are is seen.
        """
        trials = self.promise.honest_users * self.trials
        coin = 2 * self.chance / self.size
        return blanket_divergence(trials, coin, Fraction(1), Fraction(0), self.promise.epsilon)

    proof = "one message among the honest users' dummies for either category"

    def decoder(self, dummies: float) -> TwoKinds:
        return two_kinds(self.promise.users, 1, 0, dummies, Fraction(1, self.size))

    @property
    def least_messages(self) -> int:
        return 1

    @property
    def most_messages(self) -> int:
        return 1 + self.trials

    @property
    def mean_messages(self) -> float:
        return 1.0 + self.trials * float(self.chance)

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        return (Group.bits(self.promise.users * self.trials, self.chance),)

    def client_parts(self) -> list[Steps]:
        return [dummies_part({"shift": 0}, self.trials, self.dummy, self.size)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        return with_dummies(values, self.trials, self.dummy, self.size, source).reshape(-1, 1)


@frozen_value()
class Coins(Dummies):
    """:class:`Dummies` for bits: fair coins."""

    limit: ClassVar[int] = MOST_COINS
    weight_name: ClassVar[str] = "coin"
    proof = "one bit among a binomial number of fair coins; the others' bits may be known"

    def parameters(self) -> dict[str, Any]:
        return {"trials": self.trials, "coin": self.dummy}

    def client_parts(self) -> list[Steps]:
        return [dummies_part({"shift": 0}, self.trials, self.dummy, 0)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        return with_dummies(values, self.trials, self.dummy, 0, source).reshape(-1, 1)


class CntBN(CountProtocol):
    """Every user sends the true bit, and ``trials`` times a fair coin with the probability coin / 2**62.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021), with the number of coins a user adds made random, so that
    many users together add no more than is needed.

    Examples
    --------
    >>> protocol = CntBN.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> chance = protocol.noise.chance
    >>> round(1e6 * float(chance)), round(protocol.rmse, 2), round(protocol.mean_messages, 6)
    (100, 5.01, 1.0001)
    """

    type: ClassVar[str] = "cnt-bn"
    noise: Coins
    _hiding = Coins

    def __init__(self, promise: Promise, calibration: str, trials: int, coin: int) -> None:
        super().__init__(promise, calibration, trials, coin)


class HistDump(HistogramProtocol):
    """Every user sends the true category, and ``trials`` times a uniform one with the chance dummy / 2**62.

    Notes
    -----
    Source: Li, Guo, Liu, Wang, Qin (2022), pureDUMP, with the number of dummies of a user made random. For
    two categories it is :class:`CntBN`.

    Examples
    --------
    >>> promise = Promise(1_000_000, 0.9, 1e-6)
    >>> protocol = HistDump.calibrated(promise, 1000)
    >>> round(protocol.rmse, 2), round(protocol.mean_messages, 3)
    (7.09, 1.05)
    """

    type: ClassVar[str] = "hist-dump"
    noise: Dummies
    _hiding = Dummies


def with_dummies(
    values: NDArray[np.int64], trials: int, weight: int, alphabet: int, source: BitSource
) -> NDArray[np.int64]:
    """Return each user's value, followed by a uniform dummy for each trial that succeeds.

    Parameters
    ----------
    values : (n,) int array
    trials : int
        Of each user.
    weight : int
        Out of 2**62, the chance that a trial succeeds.
    alphabet : int
        Dummies are uniform below this number; 0 for bits, which take one random bit each.
    source : BitSource

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> with_dummies(np.array([7, 8]), 1, TOTAL, 1, bit_source(1))
    array([7, 0, 8, 0])
    """
    added = bits(len(values) * trials, weight, source).reshape(-1, trials).sum(axis=1)
    messages = np.empty(len(values) + int(added.sum()), dtype=np.int64)
    own = np.arange(len(values)) + np.cumsum(added) - added
    is_own = np.zeros(len(messages), dtype=np.bool_)
    is_own[own] = True
    messages[own] = values
    count = len(messages) - len(own)
    messages[~is_own] = below(alphabet, count, source) if alphabet else bits(count, TOTAL // 2, source)
    return messages


@frozen_value()
class CounterRows(Noise):
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
        return self.rows

    @property
    def most_messages(self) -> int:
        return self.rows * (1 + self.trials)

    @property
    def mean_messages(self) -> float:
        return self.rows + self.trials * float(sum(self.sizes) * self.chance)

    @property
    def alphabets(self) -> tuple[int, ...]:
        return (sum(self.sizes),)

    @abstractmethod
    def own_of(self, row: int) -> Steps:
        """Return the steps from the value to its entry in a row, as plain values."""

    def client_parts(self) -> list[Steps]:
        return [
            dummies_part(self.own_of(row), self.trials, self.cell * size, size, start)
            for row, (size, start) in enumerate(zip(self.sizes, self.starts.tolist(), strict=True))
        ]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        parts = [
            with_dummies(self.own_cell(values, row), self.trials, self.cell * size, size, source) + start
            for row, (size, start) in enumerate(zip(self.sizes, self.starts.tolist(), strict=True))
        ]
        return np.concatenate(parts).reshape(-1, 1)


class RowsProtocol(HistogramProtocol):
    """A protocol whose messages are cells of rows."""

    noise: CounterRows

    @property
    def _tally_size(self) -> int:
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


@frozen_value()
class BitRows(CounterRows):
    """A bit for each category, and ``trials`` times a fair coin: 1 with cell / 2**62, and as often 0."""

    changed = 2
    proof = "the bits of two categories, each among the honest users' fair coins"

    @property
    def sizes(self) -> tuple[int, ...]:
        return (2,) * self.size

    def own_cell(self, values: NDArray[np.int64], row: int) -> NDArray[np.int64]:
        own: NDArray[np.int64] = (values == row).astype(np.int64)
        return own

    def own_of(self, row: int) -> Steps:
        return {"equal": row}
