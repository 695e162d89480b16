"""Tests of uniformity: what they say, what distance from uniform they find, and three protocols.

``UniformityDump`` counts collisions among true categories and uniform dummies. With AUT and PUT every user
sends for each category whether it is the own one, hidden as ``cnt-bn`` (AUT) or ``cnt-sgm`` (PUT) hide a bit.
With noise n_j that is symmetric, independent and of known moments, the noisy counts give

    P = (sum_j (c_j + n_j - n/d)^2 + n^2/d - n - sum_j v_j) / 2,    v_j = Var n_j,

an unbiased estimate of the pairs of users with the same category. For uniform categories its variance is

    n (n - 1) (d - 1) / (2 d^2) + (n/d) (1 - 1/d) sum_j v_j + sum_j Var(n_j^2) / 4,

for the covariances of the three parts of the square vanish: noise has mean and third moment 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kernel import Steps
from mechdesign.core.errors import counted
from mechdesign.core.validation import in_range, integer
from mechdesign.core.values import Forecast, TextInNotebooks, frozen_value, json_object, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import BitSource
from mechdesign.families.shuffle.dummies import BitRows, Dummies, RowsProtocol
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, require_sent
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, bisection, half_of, remedy
from mechdesign.families.shuffle.secure import SecureNoise
from mechdesign.families.shuffle.tasks import MOST_CATEGORIES, Array, HistogramProtocol
from mechdesign.show.figure import Bars, Figure, Mark, Panel, Reference

ERROR = 0.05
"""The probability of either wrong answer, where none is given."""

LEAST_ERROR = 1e-9
"""Smaller probabilities are refused: no number of users that is allowed here would do."""


@dataclass(frozen=True, repr=False)
class UniformityVerdict(TextInNotebooks):
    """The answer of the test.

    Attributes
    ----------
    collisions, expected, threshold : float
        Pairs of messages with the same category; how many there are on average when the users' categories
        are uniform; above how many uniformity is rejected.
    significance : float
        At least as many collisions come from uniform categories with at most this chance.
    distance : float
        The total variation distance that is found with a chance of at least 1 - error.
    error : float
    users, messages : int

    Examples
    --------
    >>> print(UniformityVerdict(120.0, 100.0, 110.0, 0.01, 0.3, 0.05, 50, 60))
    NOT uniform: 120 collisions, 100 expected, rejected above 110; probability at most 0.01 if uniform
    a distance of 0.3 from uniform is found with probability 0.95; 50 users, 60 messages
    """

    collisions: float
    expected: float
    threshold: float
    significance: float
    distance: float
    error: float
    users: int
    messages: int

    @property
    def rejected(self) -> bool:
        """Whether the categories are told not to be uniform."""
        return self.collisions > self.threshold

    def __repr__(self) -> str:
        return f"UniformityVerdict({'rejected' if self.rejected else 'not rejected'}, {self.users} users)"

    def __str__(self) -> str:
        answer = "NOT uniform" if self.rejected else "uniform is not rejected"
        distance = (
            f"a distance of {self.distance:.4g} from uniform is found with probability {1.0 - self.error:g}"
            if self.distance <= 1.0
            else "no distance from uniform is sure to be found by so few users"
        )
        return (
            f"{answer}: {self.collisions:.10g} collisions, {self.expected:.10g} expected, rejected above "
            f"{self.threshold:.10g}; probability at most {self.significance:.3g} if uniform\n"
            f"{distance}; {counted(self.users, 'user')}, {counted(self.messages, 'message')}"
        )

    def figures(self) -> list[Figure]:
        """Return the collisions beyond those of uniform categories, and above how many these are rejected."""
        marks: list[Mark] = [
            Bars(x=[0, 1], y=[self.collisions, self.expected]),
            Reference(value=self.threshold, label="rejected above"),
        ]
        names = ("the messages", "uniform, on average")
        panel = Panel("categories", "pairs of messages with the same category", marks, x_names=names)
        return [Figure(f"Are the categories of {self.users} users uniform?", [panel])]

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return json_object({**vars(self), "rejected": self.rejected})


@frozen_value()
class DistanceForecast(Forecast):
    """A forecast of which distances a test finds."""

    def __str__(self) -> str:
        if not self.possible:
            return f"{self.quantity}: CANNOT be tested: {self.reason}"
        return (
            f"{self.quantity}: can be tested; with {self.users} users a total variation distance of "
            f"{self.largest:.4g} is found"
        )


def collision_moments(messages: int, categories: int) -> tuple[float, float]:
    """Return mean and variance of the number of pairs of equal categories among uniform ones.

    Examples
    --------
    >>> collision_moments(3, 2)
    (1.5, 0.75)
    """
    pairs = messages * (messages - 1) // 2
    return pairs / categories, pairs * (categories - 1) / categories**2


def null_variance(users: int, size: int, noise: float, square: float) -> float:
    """Return the variance of P for uniform categories, for the sums of Var n_j and of Var(n_j^2)."""
    _, own = collision_moments(users, size)
    return own + users / size * (1.0 - 1.0 / size) * noise + square / 4.0


def found_distance(users: int, categories: int, dummies: int, error: float) -> float:
    """Return the least distance from uniform that is found with probability 1 - error; infinite beyond 1.

    With a distance a the excess e = sum p^2 - 1/d is at least 4 a^2 / d (Cauchy and Schwarz), and the
    variance of the collisions at most
    n^2 (1/d + e) / 2 + n^3 (e/d + e^(3/2)) + n m / d + m n^2 e / d + m^2 / (2 d).

    Parameters
    ----------
    users, categories, dummies : int
        n, d, m.
    error : float

    Examples
    --------
    >>> found_distance(10**9, 10, 0, 0.05) < 0.001
    True
    """
    d, n, m = float(categories), float(users), float(dummies)
    _, variance = collision_moments(users + dummies, categories)
    allowed = math.sqrt(variance * (1.0 / error - 1.0))
    return least_distance(
        users, categories, allowed, error, lambda e: n * m / d + m * n * n * e / d + m * m / (2.0 * d)
    )


def least_distance(
    users: int, categories: int, allowed: float, error: float, extra: Callable[[float], float]
) -> float:
    """Return the least distance at which the expected excess of collisions is found despite its spread.

    Parameters
    ----------
    users, categories : int
    allowed : float
        By how much the collisions may exceed their mean before uniformity is rejected.
    error : float
        Half of it is the largest chance to miss the distance; the other half is for what ``extra`` assumes.
    extra : callable
        From the excess e = sum p^2 - 1/d to a bound of the variance that noise adds to that of the users'
        own collisions, which is at most n^2 (1/d + e) / 2 + n^3 (e/d + e^(3/2)).
    """
    d, n = float(categories), float(users)

    def enough(distance: float) -> bool:
        e = 4.0 * distance**2 / d
        spread = n * n * (1.0 / d + e) / 2.0 + n**3 * (e / d + e**1.5) + extra(e)
        gap = n * (n - 1.0) / 2.0 * e - allowed
        return gap > 0.0 and gap * gap >= spread * (2.0 / error - 1.0)

    return bisection(enough, 0.0, 1.0, rounds=50)[1] if enough(1.0) else math.inf


ROUGHLY = 4
"""Binary digits of the users and the epsilon that a refusal names: each is a calibration."""


class UniformityProtocol(HistogramProtocol):
    """A test whether users' categories are uniform.

    Parameters
    ----------
    promise, calibration, categories, labels, noise
        As in :class:`HistogramProtocol`.
    error : float
        From 1e-9 to below 1/2: the largest chance to reject uniform categories, and to miss the distance
        that is stated.
    """

    quantity: ClassVar[str] = "uniformity"
    _lacking: ClassVar[str] = "noise"
    """What the test would do without, in pictures."""
    _in_memory: ClassVar[bool] = False
    """Whether all messages together have to fit into memory."""

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        *,
        error: float = ERROR,
        **noise: Any,
    ) -> None:
        super().__init__(promise, calibration, categories, labels, **noise)
        self.error = in_range("error", error, LEAST_ERROR, 0.5, high_open=True)
        if self._in_memory:
            require_sent(promise.users * self.mean_messages)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
        error: float = ERROR,
        *,
        local_cap: float | None = None,
        calibration: str = "exact",
        **shape: Any,
    ) -> Self:
        """Return the one with about the least noise, or say what it would take to find any distance.

        Raises
        ------
        OutOfReachError
            When no distance is sure to be found.
        """
        size = integer("categories", categories, 2, MOST_CATEGORIES)
        allowed = Allowed(max_messages, local_cap)

        def possible(other: Promise) -> bool:
            try:
                noise = cls._hiding.fitting(other, size, allowed)
                return cls._of(noise, calibration, labels, error=error).rmse <= 1.0
            except OutOfReachError:
                return False

        noise = cls._hiding.by(calibration, promise, size, allowed, **shape)
        protocol = cls._of(noise, calibration, labels, error=error)
        if calibration == "exact" and protocol.rmse > 1.0:
            way = remedy(promise, possible, ROUGHLY)
            raise OutOfReachError(
                "no distance from uniform is sure to be found", remedy=f"{way}, or a larger error"
            )
        return protocol._keeping(allowed)

    def setting(self) -> dict[str, Any]:
        return {**super().setting(), "error": self.error}

    def forecast(self, users: int | None = None) -> Forecast:
        reason = "even a single category for all may be missed; give more users, or a larger epsilon"
        return DistanceForecast(self.quantity, self.promise.users, self.rmse <= 1.0, self.rmse, reason=reason)

    def figures(self) -> list[Figure]:
        """Return the distance that is found next to the one without noise, which nobody could hide among."""
        bare = min(found_distance(self.promise.users, self.labels.size, 0, self.error), 1.0)
        return self._beside("distance from uniform that is found", f"the same without {self._lacking}", bare)

    def verdict(self, pairs: float, expected: float, variance: float, messages: int) -> UniformityVerdict:
        """Return the answer for ``pairs`` pairs of equal categories, by Cantelli's inequality."""
        excess = max(0.0, pairs - expected)
        return UniformityVerdict(
            pairs,
            expected,
            expected + math.sqrt(variance * (1.0 / self.error - 1.0)),
            variance / (variance + excess**2),
            self.rmse,
            self.error,
            self.promise.users,
            messages,
        )


class UniformityDump(UniformityProtocol):
    """Every user sends what ``hist-dump`` sends; the analyzer counts pairs of equal messages.

    When users' categories are independent and uniform, so are all messages, and any two pairs collide
    independently: mean and variance of the number of collisions are exact, whatever the number of dummies.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021) for the task; the collisions take the place of their statistic,
    and Cantelli's inequality that of asymptotic constants.

    Examples
    --------
    >>> protocol = UniformityDump.calibrated(Promise(100_000, 1.0, 1e-6), 100)
    >>> round(protocol.rmse, 3)
    0.032
    """

    type: ClassVar[str] = "uniformity-dump"
    _lacking: ClassVar[str] = "dummies"
    noise: Dummies
    _hiding = Dummies

    @cached_property
    def rmse(self) -> float:
        return found_distance(self.promise.users, self.labels.size, self._most_dummies, self.error)

    @property
    def _most_dummies(self) -> int:
        """A number of dummies that is exceeded with at most half of the error."""
        trials, chance = self.promise.users * self.noise.trials, float(self.noise.chance)
        reach = math.sqrt(trials * chance * (1.0 - chance) * (2.0 / self.error - 1.0))
        return min(trials, math.ceil(trials * chance + reach))

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> UniformityVerdict:
        """Return the verdict: whether there are too many collisions."""
        collisions = sum(count * (count - 1) // 2 for count in sums.tolist())
        expected, variance = collision_moments(messages, self.labels.size)
        return self.verdict(float(collisions), expected, variance, messages)


class UniformityBits(UniformityProtocol):
    """A test of uniformity by a noisy count for each category."""

    _in_memory: ClassVar[bool] = True

    @property
    @abstractmethod
    def _largest_noise(self) -> tuple[float, float]:
        """Var n_j and Var(n_j^2), exceeded by no category with a probability of at least 1 - error / 2."""

    @abstractmethod
    def _noisy_counts(self, sums: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return for each category the noisy count, Var n_j and Var(n_j^2)."""

    def variance_of(self, count: Array) -> Array:
        return np.full(len(count), self._largest_noise[0])

    @cached_property
    def rmse(self) -> float:
        """Objective of its problem: the least total variation distance that is sure to be found."""
        users, size = self.promise.users, self.labels.size
        noise, square = self._largest_noise

        def extra(excess: float) -> float:
            return noise * (users + users * users * excess) + size * square / 4.0

        variance = null_variance(users, size, size * noise, size * square)
        allowed = math.sqrt(variance * (1.0 / self.error - 1.0))
        return least_distance(users, size, allowed, self.error, extra)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> UniformityVerdict:
        """Return the verdict: whether too many pairs of users seem to have the same category."""
        users, size = self.promise.users, self.labels.size
        counts, noise, square = self._noisy_counts(sums)
        centred = float(((counts - users / size) ** 2).sum())
        pairs = (centred + users * users / size - users - float(noise.sum())) / 2.0
        expected, _ = collision_moments(users, size)
        variance = null_variance(users, size, float(noise.sum()), float(square.sum()))
        return self.verdict(pairs, expected, variance, messages)


class AUT(UniformityBits, RowsProtocol):
    """Every user sends for each category a bit, and ``trials`` times a fair coin with some chance.

    Two data sets that differ in a user differ in two bits, each hidden among the coins of its category.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021), by way of the survey, section 4.4.3: PUT with binomial noise.

    Examples
    --------
    >>> protocol = AUT.calibrated(Promise(20_000, 1.0, 1e-6), 20)
    >>> round(protocol.rmse, 3), round(protocol.mean_messages, 2)
    (0.062, 20.15)
    """

    type: ClassVar[str] = "aut"
    noise: BitRows
    _hiding = BitRows

    @cached_property
    def _largest_noise(self) -> tuple[float, float]:
        """Of the largest number of coins of a category, by Bernstein's inequality for all categories."""
        mean = 2.0 * self.noise.mean_dummies
        level = math.log(2.0 * self.labels.size / self.error)
        reach = level / 3.0 + math.sqrt(level * level / 9.0 + 2.0 * level * mean)
        coins = min(float(self.promise.users * self.noise.trials), math.ceil(mean + reach))
        return coins / 4.0, coins * (coins - 1.0) / 8.0

    def _noisy_counts(self, sums: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return the ones less half the coins; how many coins there are is seen.

        Of m fair coins the centred sum has the variance m/4 and the fourth moment (3 m^2 - 2 m)/16.
        """
        self._require_rows(sums)
        pairs = sums.reshape(-1, 2).astype(np.float64)
        coins = pairs.sum(axis=1) - self.promise.users
        return pairs[:, 1] - coins / 2.0, coins / 4.0, coins * (coins - 1.0) / 8.0


@frozen_value()
class SecureCounts(Noise):
    """:class:`SecureNoise` for the bit of each category, with half of epsilon and delta each.

    Parameters
    ----------
    promise, size
        As in :class:`Noise`.
    ratio, depth, shares, modulus : int
        Of the noise of each count.
    """

    ratio: int = value_field(plain_int)
    depth: int = value_field(plain_int)
    shares: int = value_field(plain_int)
    modulus: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        _ = self.each  # checked now

    @cached_property
    def each(self) -> SecureNoise:
        """The noise of each count."""
        return SecureNoise(half_of(self.promise), 2, *self.parameters().values())

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        most = None if allowed.max_messages is None else allowed.max_messages // size
        if most is not None and most < 1:
            raise OutOfReachError(f"it needs at least {size} messages per user", remedy="allow as many")
        each = SecureNoise.fitting(half_of(promise), 2, Allowed(most))
        return cls(promise, size, *each.parameters().values())

    @property
    def least_delta(self) -> float:
        """Delta that mixing and the tables cost for two counts; the noise itself is private with delta 0."""
        return min(1.0, 2.0 * self.each.least_delta)

    @property
    def is_computed(self) -> bool:
        return self.each.is_computed

    @property
    def proof(self) -> str:
        return f"two counts, each with half of epsilon: {self.each.proof}"

    @property
    def most_messages(self) -> int:
        return self.size * self.shares

    @property
    def alphabets(self) -> tuple[int, ...]:
        return (self.size, self.modulus)

    def client_parts(self) -> list[Steps]:
        return [self.each.shares_part(self.size)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        parts = []
        for category in range(self.size):
            shares = self.each.encode((values == category).astype(np.int64), source)
            parts.append(np.hstack([np.full_like(shares, category), shares]))
        return np.concatenate(parts)


class PUT(UniformityBits):
    """Every user adds part of discrete Laplace noise to the bit of each category, and splits it into shares.

    Two data sets that differ in a user differ in two counts; each is private with half of epsilon and delta.

    Notes
    -----
    Source: Balcer, Cheu, Joseph, Mao (2021), by way of the survey, section 4.4.3.

    Examples
    --------
    >>> protocol = PUT.calibrated(Promise(20_000, 1.0, 1e-6), 20)
    >>> round(protocol.rmse, 3), protocol.most_messages
    (0.061, 140)
    """

    type: ClassVar[str] = "put"
    _halves: ClassVar[bool] = True
    _message_parts: ClassVar[tuple[str, ...]] = ("category", "share")
    noise: SecureCounts
    _hiding = SecureCounts

    @cached_property
    def _largest_noise(self) -> tuple[float, float]:
        """The same for all categories: Var n^2 = k4 + 2 k2^2, of the cumulants of two Polya variables."""
        a, shape = float(self.noise.each.alpha), self.noise.each.shape
        second = 2.0 * shape * a / (1.0 - a) ** 2
        fourth = 2.0 * shape * a * (1.0 + 4.0 * a + a * a) / (1.0 - a) ** 4
        return second, fourth + 2.0 * second**2

    @property
    def _tally_size(self) -> int:
        return 2 * self.labels.size

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sums in Z_q, in two halves of the digits so that nothing overflows, and the numbers."""
        size, where = self.labels.size, messages[:, 0]
        low, high = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        np.add.at(low, where, messages[:, 1] & 0xFFFFFFF)
        np.add.at(high, where, messages[:, 1] >> 28)
        sums = [(int(h) * 2**28 + int(part)) % self.noise.modulus for h, part in zip(high, low, strict=True)]
        return np.concatenate([np.array(sums, dtype=np.int64), np.bincount(where, minlength=size)])

    @property
    def _ring(self) -> int:
        return self.noise.modulus

    def _noisy_counts(self, sums: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return the sums as numbers around the true counts, with the moments of the noise of all users."""
        size = self.labels.size
        self._require_sent(sums[size:], self.noise.shares)
        counts = np.array([float(self.noise.each.centred(total)) for total in sums[:size].tolist()])
        noise, square = self._largest_noise
        return counts, np.full(size, noise), np.full(size, square)
