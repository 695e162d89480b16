"""Pure privacy of a sum of integers: the largest ratio of its law under two inputs, at every value.

One user's number has the law f_0 or f_1 on 0 .. d, those of the others any of the two. With R the law of the
others' sum, the ratio of f_1 * R and f_0 * R is needed at all values, including the rarest. All terms are
positive, so that rounding errors are relative; so that none gets lost below the smallest double, the laws
are tilted by b^z, which changes no ratio, for as many b as it takes until every value is close to a mean.

Delta 0: now and then a user's number of ones is noise, and their sum hides every user.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import UNIT, compounded
from mechdesign.collect.kernel import Steps, row_hex
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource, exp_lower, float_up, log_ratio
from mechdesign.families.shuffle.count_limits import Group, TwoKinds
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, chance, part
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, least_passing, remedy
from mechdesign.families.shuffle.tasks import CountProtocol, TotalProtocol
from mechdesign.primitives.mean_limits import Cumulants

Array = NDArray[np.float64]

BLOCKS = 8
"""Into how many ranges of the number of ones all data of many others are divided."""

FEW = 24
"""With no more others every number of ones has its own law."""

LEAST = 1e-180
"""Values below this are left to another tilt."""

LOST = 1e-250
"""More than all that is lost of a value by terms too small for doubles."""

FLOOR = 1e-270
"""Ends of a law below this are cut off."""

LARGEST = 1 << 13
"""Sums beyond this are refused: they would take minutes."""


@dataclass(frozen=True)
class _Law:
    """Positive numbers in proportion to a law on ``low``, ``low + 1``, ..., with a relative error."""

    low: int
    mass: Array
    error: float

    def plus(self, other: _Law) -> _Law:
        """Return the distribution of the sum, scaled to a total of about 1 by a power of 2."""
        mass = np.convolve(self.mass, other.mass)
        steps = min(len(self.mass), len(other.mass)) + 4
        mass = np.ldexp(mass, -math.frexp(float(mass.sum()))[1])
        places = np.flatnonzero(mass >= FLOOR)
        first, last = int(places[0]), int(places[-1]) + 1
        error = compounded(self.error, other.error, steps * UNIT)
        return _Law(self.low + other.low + first, mass[first:last], error)


def crowds(others: int) -> list[tuple[int, int]]:
    """Return pairs (zeros, ones) such that all data of ``others`` users are one of these and further users.

    Examples
    --------
    >>> crowds(2)
    [(2, 0), (1, 1), (0, 2)]
    """
    count = others + 1 if others <= FEW else BLOCKS
    edges = [(others + 1) * place // count for place in range(count + 1)]
    return [(others - (after - 1), low) for low, after in pairwise(edges)]


def pure_epsilon(zero: Sequence[int], one: Sequence[int], others: int, limit: float = math.inf) -> float:
    """Return the largest logarithm of a ratio of the sum's law under the two inputs, rounded up.

    Parameters
    ----------
    zero, one : sequence of int
        Positive weights of f_0 and f_1 on 0 .. d, out of the same total; ``one`` is ``zero`` mirrored.
    others : int
        Honest users apart from the one who is looked at, whose inputs may be any.
    limit : float
        The search ends at a ratio beyond it.

    Raises
    ------
    ParameterError
        For weights that are not positive and mirrored, or too many others.

    Examples
    --------
    >>> round(pure_epsilon([3, 1], [1, 3], 0), 9)  # nobody else: ln 3
    1.098612289
    """
    if list(one) != list(zero)[::-1] or min(zero) < 1:
        raise ParameterError("weights", "give positive ones, those of 1 mirrored to those of 0")
    length = len(zero) - 1
    if others * length > LARGEST:
        raise ParameterError("weights", f"{others} others with {length} messages each take too long")
    largest = 0.0
    ways = crowds(others)
    for zeros, ones in ways[: (len(ways) + 1) // 2]:  # the rest are mirrored
        for ratio in _ratios(zero, one, zeros, ones):
            largest = max(largest, ratio)
            if largest > limit:
                return largest
    return largest


def _ratios(zero: Sequence[int], one: Sequence[int], zeros: int, ones: int) -> Iterator[float]:
    """Yield bounds of the largest logarithms of ratios in ranges that together are all values."""
    length, users = len(zero) - 1, zeros + ones + 1
    first, second = (np.array([float(weight) for weight in law]) for law in (zero, one))
    done, end = -1, users * length
    mean = 0.0
    while done < end:
        tilt = _tilt_for(first, second, zeros, ones, mean)
        top, bottom = _pair(first, second, zeros, ones, tilt)
        right = (top.mass >= LEAST) & (bottom.mass >= LEAST)
        start = done + 1 - top.low
        if not (0 <= start < len(right) and right[start]):
            if mean <= done + 1.0:
                yield math.inf  # no tilt shows this value: nothing is proven
                return
            mean = max(done + 1.0, 0.5 * (mean + done))
            continue
        gaps = np.flatnonzero(~right[start:])
        stop = start + int(gaps[0]) if len(gaps) else len(right)
        chosen = slice(start, stop)
        upper = [law.mass[chosen] * (1.0 + law.error) + LOST for law in (top, bottom)]
        lower = [law.mass[chosen] * (1.0 - law.error) - LOST for law in (top, bottom)]
        ratio = np.maximum(upper[0] / lower[1], upper[1] / lower[0])
        yield float(np.log(ratio.max())) + 1e-14
        last = top.low + stop - 1
        mean, done = min(float(end), last + max(1.0, (last - done) / 2.2)), last


def _pair(first: Array, second: Array, zeros: int, ones: int, tilt: float) -> tuple[_Law, _Law]:
    """Return both laws of the sum, tilted, on the same window."""
    places = np.arange(len(first), dtype=np.float64)
    factor = np.exp(tilt * (places - (places[-1] if tilt > 0 else 0.0)))
    scale = float((first * factor).sum() + (second * factor).sum())
    error = (len(first) + 2048.0) * UNIT  # exponents down to -745, where doubles end, are rounded
    plain, raised = (_Law(0, law * factor / scale, error) for law in (first, second))
    rest = _powers(plain, zeros, _powers(raised, ones, None))
    pair = []
    for law in (raised, plain):
        mass = law.mass if rest is None else np.convolve(rest.mass, law.mass)
        rounding = compounded(rest.error, law.error, (len(first) + 4) * UNIT) if rest else law.error
        pair.append(_Law(rest.low if rest else 0, mass, rounding))
    return pair[0], pair[1]


def _powers(law: _Law, count: int, power: _Law | None) -> _Law | None:
    """Return the distribution of the sum with this many more variables."""
    while count:
        if count & 1:
            power = law if power is None else power.plus(law)
        count >>= 1
        if count:
            law = law.plus(law)
    return power


def _tilt_for(first: Array, second: Array, zeros: int, ones: int, target: float) -> float:
    """Return the tilt with which the sum has about this mean."""
    places, laws = np.arange(len(first), dtype=np.float64), np.stack([first, second])
    below = places - places[-1]
    low, high = -200.0, 200.0
    for _ in range(60):
        tilt = (low + high) / 2.0
        tilted = laws * np.exp(tilt * (below if tilt > 0 else places))
        means = ((tilted * places).sum(axis=1) / tilted.sum(axis=1)).tolist()
        mean = (zeros + 0.5) * means[0] + (ones + 0.5) * means[1]
        low, high = (tilt, high) if mean < target else (low, tilt)
    return (low + high) / 2.0


MOST_LENGTH = 255
"""No user sends more messages."""

LENGTHS = 3.0
"""A user sends about LENGTHS ln(n) / epsilon messages: fewer make sums near the ends reveal too much."""

MOST_NOISE = TOTAL - (1 << 42)
"""With more noise the bits would say next to nothing."""

ROWS = 1 << 14
"""Users whose messages are made at a time."""


@frozen_value()
class PureNoise(Noise):
    """For a bit: ``length`` bits, (length - 1) / 2 of them 1 for the value 0, and one more for 1.

    With the chance noise / 2**62 their number is discrete Laplace noise about the middle, on 0 .. length.

    Parameters
    ----------
    promise, size
        As in :class:`Noise`.
    length : int
        Odd, from 3 to 255.
    noise, ratio : int
        Out of 2**62: the chance of noise, and the ratio of its neighbouring probabilities.
    """

    length: int = value_field(plain_int)
    noise: int = value_field(plain_int)
    ratio: int = value_field(plain_int)

    def __attrs_post_init__(self) -> None:
        self.check("length", 3, MOST_LENGTH)
        if self.length % 2 == 0:
            raise ParameterError(
                "length", f"{self.length} is even, and the middle is to lie between two", "add 1"
            )
        self.check_weight("noise", 1, MOST_NOISE)
        self.check_weight("ratio", 1, TOTAL)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise for which the largest ratio is below e^epsilon."""
        most = MOST_LENGTH if allowed.max_messages is None else min(MOST_LENGTH, allowed.max_messages)
        if most < 3:
            raise OutOfReachError("it needs 3 messages per user", remedy="allow as many")
        build = cls._made(promise, size, most)
        loudest = build(noise=MOST_NOISE)
        start = TOTAL // (64 * loudest.crowd)
        noise = least_passing(lambda weight: build(noise=weight).holds, start, MOST_NOISE, 6)
        if noise is None:
            way = remedy(promise, lambda other: cls._made(other, size, most)(noise=MOST_NOISE).holds)
            raise OutOfReachError(
                f"{loudest.length} messages of each of {promise.honest_users} users hide none with delta 0",
                remedy=f"{way}{', or more messages' if most < MOST_LENGTH else ''}",
            )
        return build(noise=noise)

    @classmethod
    def _made(cls, promise: Promise, size: int, most: int) -> Callable[..., Self]:
        """Return the one with the usual length, or the most messages; it still wants its noise."""
        length = cls.length_for(promise, most)
        ratio = max(1, math.ceil(TOTAL / exp_lower(promise.epsilon)))
        return partial(cls, promise, size, length, ratio=min(ratio, TOTAL))

    @staticmethod
    def length_for(promise: Promise, most: int = MOST_LENGTH) -> int:
        """Return how many messages a user sends for a promise, whatever the noise."""
        users = min(promise.honest_users, 400)
        length = max(3, math.ceil(LENGTHS * math.log(users + 1.0) / promise.epsilon)) | 1
        return min(length, most if most % 2 else most - 1)

    @property
    def chance(self) -> Fraction:
        """The probability of noise."""
        return chance(self.noise)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Out of 2**62, how many ones a user who holds 0 sends; for 1 it is mirrored."""
        return noisy_weights(self.length, self.noise, self.ratio)

    @property
    def crowd(self) -> int:
        """The honest users that the certificate looks at; more users hide every user as well."""
        return min(self.promise.honest_users, 1 + LARGEST // self.length)

    @cached_property
    def pure_epsilon(self) -> float:
        """The largest logarithm of a ratio, rounded up; beyond epsilon the search ends."""
        return _pure_epsilon(self.weights, self.crowd, self.promise.epsilon)

    @property
    def least_delta(self) -> float:
        """0 when no ratio is beyond e^epsilon; else nothing is proven."""
        return 0.0 if self.pure_epsilon <= self.promise.epsilon else 1.0

    proof = "largest ratio of the distribution of the sum over all sums and all data, by positive sums"

    @property
    def local_epsilon(self) -> float:
        middle = (self.length - 1) // 2
        return float_up(log_ratio(self.weights[middle], self.weights[middle + 1]))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """The mean number of ones of a user who holds 0, its variance, and how much more 1 adds."""
        mean = Fraction(sum(z * weight for z, weight in enumerate(self.weights)), TOTAL)
        square = Fraction(sum(z * z * weight for z, weight in enumerate(self.weights)), TOTAL)
        return mean, square - mean**2, self.length - 2 * mean

    def decoder(self, dummies: float) -> TwoKinds:
        chances = [chance(weight) for weight in self.weights]
        return TwoKinds(self.promise.users, chances[::-1], chances)

    @property
    def noise_cumulants(self) -> Cumulants:
        """The second to fourth cumulants of all ones when all users hold 0; the third one at its largest."""
        return Group(self.promise.users, tuple(weight / TOTAL for weight in self.weights)).cumulants()[1:]

    @property
    def most_messages(self) -> int:
        return self.length

    def client_parts(self) -> list[Steps]:
        return [self.part_of(0)]

    def part_of(self, place: int) -> Steps:
        """Return the part for a binary digit of the value."""
        row = row_hex(list(accumulate(int(weight) for weight in self.weights)))
        return part("pure", length=self.length, row=row, place=place)

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        ends = np.cumsum(np.array(self.weights[:-1], dtype=np.int64))
        ones = np.searchsorted(ends, source.integers(len(values)), side="right")
        ones = np.where(values == 1, self.length - ones, ones)
        places, parts = np.arange(self.length), []
        for start in range(0, len(ones), ROWS):
            sent = places < ones[start : start + ROWS, None]
            parts.append(sent.astype(np.int64).reshape(-1, 1))
        return np.concatenate(parts)


class PureProtocol(TotalProtocol):
    """Protocols that keep their guarantee with delta 0, and state so."""

    is_pure: ClassVar[bool] = True

    @property
    def _pure_figures(self) -> dict[str, Any]:
        """Return the figures of the certificate of delta 0."""
        return {"epsilon": self.promise.epsilon}

    def certificates(self) -> tuple[Certificate, ...]:
        note = "delta is 0; for real numbers, by doubles rounded outward"
        pure = Certificate("pure", self.holds, False, self._pure_figures, self.witness, note)
        return (*super().certificates(), pure)


class CntPURE(PureProtocol, CountProtocol):
    """Every user sends ``length`` bits, with one more 1 for the one value, or a random number of ones.

    Without noise (length - 1) / 2 of the bits are 1 for the value 0, and (length + 1) / 2 for 1; with the
    chance noise / 2**62 their number is discrete Laplace noise about the middle, on 0 .. length.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Manurangsi, Pagh, Velingker (2020) for the protocol; their constants are
    for epsilon below 0.1 and far from tight. Here the largest ratio of the law of the sum is computed over
    all sums and all data; with more than about 8000 / length users, over the data of that many.

    Examples
    --------
    >>> protocol = CntPURE.calibrated(Promise(100, 1.0, 1e-6))
    >>> protocol.most_messages, round(protocol.rmse, 1), protocol.least_delta
    (15, 2.7, 0.0)
    """

    type: ClassVar[str] = "cnt-pure"
    noise: PureNoise
    _hiding = PureNoise
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "a single number of ones in all",
    }

    @property
    def _pure_figures(self) -> dict[str, Any]:
        return {"pure_epsilon": self.noise.pure_epsilon, **super()._pure_figures}


@lru_cache(maxsize=256)
def _pure_epsilon(weights: tuple[int, ...], crowd: int, limit: float) -> float:
    return pure_epsilon(weights, weights[::-1], crowd - 1, limit)


@lru_cache(maxsize=256)
def noisy_weights(length: int, noise: int, ratio: int) -> tuple[int, ...]:
    """Return weights out of 2**62 of the number of ones of a user who holds 0; each is at least 1.

    Examples
    --------
    >>> [weight / TOTAL for weight in noisy_weights(3, TOTAL // 2, TOTAL // 2)]
    [0.083..., 0.666..., 0.166..., 0.083...]
    """
    part = Fraction(ratio, TOTAL)
    powers = [part ** (abs(2 * z - length) // 2) for z in range(length + 1)]
    scale = noise / sum(powers)
    weights = [max(1, math.floor(scale * power)) for power in powers]
    weights[(length - 1) // 2] += TOTAL - sum(weights)
    return tuple(weights)
