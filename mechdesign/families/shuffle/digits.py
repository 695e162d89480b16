"""Sum by digits: a number as coarse and fine digits, each by k-ary randomized response of its own.

Sum with delta 0: the binary digits of a rounded number, each counted with pure privacy of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kernel import Steps
from mechdesign.core.errors import CertificateError, ParameterError, RowError
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.randomness import TOTAL, BitSource, float_down
from mechdesign.families.shuffle.divergence import response_cumulants
from mechdesign.families.shuffle.fair_coins import blanket_divergence
from mechdesign.families.shuffle.noise import (
    LEAP,
    Allowed,
    Digit,
    Messages,
    Noise,
    chance,
    checked_weight,
    least_within,
    levels_part,
    listed_wholes,
)
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.pure import PureNoise, PureProtocol
from mechdesign.families.shuffle.responses import most_other, responses, worst_variance
from mechdesign.families.shuffle.tasks import Array, SumProtocol

PARTS = 64
"""Epsilon is split into parts of this many."""

MOST_LEVELS = 8

USUAL_LEVELS = 3
"""No more levels are tried where the messages are not limited."""


@frozen_value()
class DigitResponses(Noise):
    """The digits of a number, the coarsest first, each by a randomized response of its own.

    Parameters
    ----------
    promise, size
        As in :class:`Noise`; the precision is the product of the levels.
    levels : sequence of int
        How many values a digit has, each at least 2; the last one may have one more.
    others : sequence of int
        The weight of each other value of the digit, one a level.
    parts : sequence of int
        How many sixty-fourths of epsilon each level has, 64 in all.
    """

    levels: Sequence[int] = value_field(listed_wholes)
    others: Sequence[int] = value_field(listed_wholes)
    parts: Sequence[int] = value_field(listed_wholes)

    def __attrs_post_init__(self) -> None:
        numbers = {len(self.levels), len(self.others), len(self.parts)}
        if not 2 <= len(self.levels) <= MOST_LEVELS or len(numbers) > 1:
            raise ParameterError(
                "levels", f"give from 2 to {MOST_LEVELS} of them, and as many others and parts"
            )
        for size, other in zip(self.sizes, self.others, strict=True):
            integer("levels", size, 2, self.size)
            checked_weight("others", other, 1, most_other(size))
        if math.prod(self.levels) != self.size - 1:
            raise ParameterError(
                "levels", f"their product is not the precision {self.size - 1}", "correct one"
            )
        if min(self.parts) < 1 or sum(self.parts) > PARTS:
            raise CertificateError("parts", f"are more than {PARTS}, or one is none", "rebuild it")

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed, digits: int = 0) -> Self:
        """Return about the best levels and the best parts of epsilon for them.

        The chance of another value that is needed goes nearly with the inverse square of epsilon, and hardly
        depends on how many there are: so one calibration tells what to try.

        Parameters
        ----------
        promise : Promise
        size : int
            Has to be 0: the levels are chosen here.
        allowed : Allowed
            Of the messages, the most levels; by default 3, for further ones hardly help.
        digits : int
            How many levels; by default the better number of those that are allowed.
        """
        if size:
            raise OutOfReachError("it chooses the levels itself", remedy="omit the precision")
        most = digits or min(
            MOST_LEVELS, USUAL_LEVELS if allowed.max_messages is None else allowed.max_messages
        )
        if most < 2:
            raise OutOfReachError("it needs 2 messages per user", remedy="allow as many")
        half = _least_other(promise, 2, PARTS // 2, 2) / TOTAL
        _, levels, parts = min(best_levels(half, most)[(digits or 2) - 2 :])
        sizes = [*levels[:-1], levels[-1] + 1]
        others = [
            _least_other(promise, size, part, len(levels)) for size, part in zip(sizes, parts, strict=True)
        ]
        return cls(promise, math.prod(levels) + 1, levels, others, parts)

    @property
    def sizes(self) -> list[int]:
        """Number of values of each digit."""
        return [*self.levels[:-1], self.levels[-1] + 1]

    @cached_property
    def scales(self) -> list[int]:
        """Number of steps in a unit of each digit."""
        return [math.prod(self.levels[place + 1 :]) for place in range(len(self.levels))]

    @cached_property
    def least_delta(self) -> float:
        """The sum of the levels' divergences, each at its part of epsilon."""
        total = sum(
            Fraction(_level_delta(self.promise, size, other, part))
            for size, other, part in zip(self.sizes, self.others, self.parts, strict=True)
        )
        return math.nextafter(float(total), math.inf) if total else 0.0

    proof = "composition of the levels, each a blanket of fair coins between any two digits"

    @cached_property
    def rmse(self) -> float:
        """The root of users times the largest variance of one user's number, over all digits."""
        chances = [other / TOTAL for other in self.others]
        last = worst_variance(self.levels[-1], chances[-1]) * self.levels[-1] ** 2
        rest = [
            digit_variance(size, chance) * scale**2
            for size, chance, scale in zip(self.sizes, chances, self.scales[:-1], strict=False)
        ]
        return math.sqrt(self.promise.users * (last + sum(rest))) / (self.size - 1)

    @property
    def sum_digits(self) -> Sequence[Digit]:
        return [
            Digit(
                1,
                chance(weight) * size * (size - 1) / 2,
                1 - size * chance(weight),
                scale,
                response_cumulants(self.promise.users, size, weight / TOTAL),
            )
            for size, weight, scale in zip(self.sizes, self.others, self.scales, strict=True)
        ]

    @property
    def most_messages(self) -> int:
        return len(self.levels)

    @property
    def alphabets(self) -> tuple[int, ...]:
        return len(self.levels), max(self.sizes)

    def encode_steps(self, whole: NDArray[np.int64], up: NDArray[np.bool_], source: BitSource) -> Messages:
        """Return for each level the responses of all users to integers of steps, or one step more."""
        rest, parts = whole, []
        for level, (size, other, scale) in enumerate(zip(self.sizes, self.others, self.scales, strict=True)):
            digit = rest // scale
            rest = rest - digit * scale
            if level == len(self.levels) - 1:
                digit = digit + up
            sent = responses(digit, other, size, source)
            parts.append(np.stack([np.full(len(sent), level), sent], axis=1))
        return np.concatenate(parts)

    def client_parts(self) -> list[Steps]:
        return [levels_part(self.sizes, self.others, self.scales)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the responses to integers of steps, where 1 is one step above the largest digits."""
        whole = np.minimum(values, self.size - 2)
        return self.encode_steps(whole, values > whole, source)


class RSumRM(SumProtocol):
    """Every user sends one message a digit: the level, and a randomized response to the digit.

    It rounds by itself, as 1 has the largest digits and one step more, and counts each level.

    Notes
    -----
    Source: Balle, Bell, Gascon, Nissim (2020), recursive protocol. Its certificate composes the levels.

    Examples
    --------
    >>> protocol = RSumRM.calibrated(Promise(1_000_000, 0.9, 1e-6))
    >>> protocol.noise.levels, protocol.noise.parts, round(protocol.rmse, 1)
    ((4, 5, 8), (38, 18, 8), 13.6)
    """

    type: ClassVar[str] = "rsum-rm"
    _message_parts: ClassVar[tuple[str, ...]] = ("level", "digit")
    _digit_names: ClassVar[tuple[str, str]] = ("level", "digit")
    noise: DigitResponses
    _hiding = DigitResponses
    _halves: ClassVar[bool] = True

    def _encode_piece(self, values: Array, source: BitSource) -> Messages:
        scaled = values * self.precision
        whole = np.minimum(np.floor(scaled), self.precision - 1)  # 1 has the largest digits, and one step up
        up = source.integers(len(values)) < ((scaled - whole) * TOTAL).astype(np.int64)
        return self.noise.encode_steps(whole.astype(np.int64), up, source)

    @property
    def _most_added(self) -> int:
        return max(self.noise.sizes) - 1

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return for each level the sum of its digits, then how many there are."""
        wrong = messages[:, 1] >= np.array(self.noise.sizes)[messages[:, 0]]
        if wrong.any():
            row = int(np.argmax(wrong))
            level, digit = messages[row].tolist()
            raise RowError(
                "messages",
                row,
                f"{digit} is outside the alphabet of level {level}, 0 to {self.noise.sizes[level] - 1}",
                "use the messages of this protocol's clients",
            )
        counts = np.bincount(messages[:, 0], minlength=len(self.noise.levels))
        sums = [int(messages[messages[:, 0] == level, 1].sum()) for level in range(len(self.noise.levels))]
        return np.concatenate([np.array(sums, dtype=np.int64), counts.astype(np.int64)])


def _level_delta(promise: Promise, size: int, other: int, part: int) -> float:
    epsilon = float_down(Fraction(promise.epsilon) * part / PARTS)
    own = Fraction(TOTAL - (size - 1) * other, TOTAL)
    chance = Fraction(other, TOTAL)
    return blanket_divergence(promise.honest_users - 1, 2 * chance, own, chance, epsilon)


def _least_other(promise: Promise, size: int, part: int, levels: int) -> int:
    """Return the least weight that is private at a part of epsilon and a level's part of delta."""
    allowed = promise.delta / levels * (1.0 - 2.0**-40)
    other_weight = least_within(
        lambda weight: _level_delta(promise, size, weight, part),
        allowed,
        1,
        most_other(size),
        end=TOTAL // size,
        leap=LEAP,
    )
    if other_weight is None:
        raise OutOfReachError("epsilon is too small for weights of 62 digits", remedy="give a larger one")
    return other_weight


def digit_variance(size: int, other: float) -> float:
    """Return the largest variance of a digit's unbiased response.

    Examples
    --------
    >>> round(digit_variance(2, 0.25), 12)  # a bit: (3/4)(1/4)/(1/2)^2
    0.75
    """
    digits, gain = np.arange(size, dtype=np.float64), 1.0 - size * other
    mean = other * size * (size - 1) / 2.0
    square = other * (size - 1) * size * (2 * size - 1) / 6.0
    return float((gain * digits**2 + square - (gain * digits + mean) ** 2).max()) / gain**2


Levels = tuple[float, list[int], list[int]]
"""An error, the levels and their parts of epsilon."""


def best_levels(half: float, most: int) -> list[Levels]:
    """Return for two levels, three and so on about the best ones, where half of epsilon needs this chance.

    The error of some levels is that of the first digit and, divided by the square of its values, that of the
    rest with what is left of epsilon: so the best rest is found once for each part.

    Examples
    --------
    >>> [levels for _, levels, _ in best_levels(1e-4, 3)]
    [[7, 16], [4, 5, 10]]
    """

    def chance(part: int) -> float:
        return half * (PARTS / 2 / part) ** 2

    def alone(part: int) -> Levels:
        tried = _tried(most_values(part) - 1)
        error, size = min((worst_variance(size, chance(part)), size) for size in tried)
        return error, [size], [part]

    def most_values(part: int) -> int:
        return min(64, int(0.5 / chance(part)))  # with more, every other answer is noise

    @cache
    def spread(size: int, part: int) -> float:
        return digit_variance(size, chance(part))

    best = {part: alone(part) for part in range(4, PARTS + 1, 2) if most_values(part) > 2}
    choices = []
    for _ in range(most - 1):
        longer: dict[int, Levels] = {}
        for whole in range(8, PARTS + 1, 2):
            options = [
                ((spread(size, part) + rest) / size**2, [size, *sizes], [part, *parts])
                for part in range(4, whole - 3, 2)
                if whole - part in best
                for rest, sizes, parts in [best[whole - part]]
                for size in range(2, most_values(part) + 1)
            ]
            if options:
                longer[whole] = min(options)
        if PARTS not in longer:
            break
        best = longer
        choices.append(best[PARTS])
    return choices or [(math.inf, [2, 2], [PARTS // 2, PARTS // 2])]


def _tried(most: int) -> list[int]:
    """Return numbers of values to try for the fine digit, about a fifth apart."""
    numbers = [2]
    while numbers[-1] < min(most, 200):
        numbers.append(max(numbers[-1] + 1, numbers[-1] * 6 // 5))
    return numbers


MOST_DIGITS = 8
DIGITS = 3
"""Binary digits where no precision is given."""


@frozen_value()
class PureDigits(Noise):
    """:class:`PureNoise` for each binary digit of a number of steps, the lowest one first.

    Parameters
    ----------
    promise, size
        As in :class:`Noise`; the size is 2**J for J digits.
    lengths, noises, ratios : sequence of int
        Of each digit's noise.
    parts : sequence of int
        How many sixty-fourths of epsilon each digit has.
    """

    lengths: Sequence[int] = value_field(listed_wholes)
    noises: Sequence[int] = value_field(listed_wholes)
    ratios: Sequence[int] = value_field(listed_wholes)
    parts: Sequence[int] = value_field(listed_wholes)

    def __attrs_post_init__(self) -> None:
        count = digits_of(self.size - 1)
        if any(len(numbers) != count for numbers in self.parameters().values()):
            raise ParameterError("lengths", f"give {count} of them, and as many noises, ratios and parts")
        if min(self.parts) < 1 or sum(self.parts) > PARTS:
            raise CertificateError("parts", f"are more than {PARTS}, or one is none", "rebuild it")
        _ = self.digits  # checked now

    @cached_property
    def digits(self) -> tuple[PureNoise, ...]:
        """The noise of each digit."""
        rows = zip(self.lengths, self.noises, self.ratios, self.parts, strict=True)
        return tuple(PureNoise(_share_of(self.promise, part), 2, *numbers) for *numbers, part in rows)

    @classmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise of each digit; of three digits where none are given."""
        steps = size - 1 if size else (1 << DIGITS) - 1
        try:
            worth = [2.0 ** (place / 2.0) for place in range(digits_of(steps))]
        except ParameterError as error:
            raise error.as_a(OutOfReachError) from None
        parts = [max(1, math.floor(PARTS * part / sum(worth))) for part in worth]
        shares = [_share_of(promise, part) for part in parts]
        sent = sum(map(PureNoise.length_for, shares))  # known before the noise, which takes longer to find
        if allowed.max_messages is not None and sent > allowed.max_messages:
            raise OutOfReachError(f"it needs {sent} messages per user", remedy="allow as many")
        digits = [PureNoise.fitting(share, 2, Allowed()) for share in shares]
        lengths, noises, ratios = zip(*(digit.parameters().values() for digit in digits), strict=True)
        return cls(promise, steps + 1, list(lengths), list(noises), list(ratios), parts)

    @cached_property
    def least_delta(self) -> float:
        """0 when every digit is private with delta 0 at its part of epsilon; else nothing is proven."""
        return max(digit.least_delta for digit in self.digits)

    proof = "composition of the digits, each by the largest ratio of the distribution of its sum"

    @property
    def sum_digits(self) -> Sequence[Digit]:
        return [
            Digit(noise.length, noise.moments[0], noise.moments[2], 1 << place, noise.noise_cumulants)
            for place, noise in enumerate(self.digits)
        ]

    @property
    def rmse(self) -> float:
        """The digits' noise, the same for all data, and rounding halfway between two steps."""
        worth = sum(
            float(noise.moments[1]) * (2.0**place / float(noise.moments[2])) ** 2
            for place, noise in enumerate(self.digits)
        )
        return math.sqrt(self.promise.users * (worth + 0.25)) / (self.size - 1)

    @property
    def most_messages(self) -> int:
        return sum(digit.length for digit in self.digits)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the place of the digit, and one more when the bit is 1."""
        return (2 * len(self.digits),)

    def client_parts(self) -> list[Steps]:
        return [digit.part_of(place) for place, digit in enumerate(self.digits)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        return np.concatenate(
            [digit.encode(values >> place & 1, source) + 2 * place for place, digit in enumerate(self.digits)]
        )


class RSumPURE(PureProtocol, SumProtocol):
    """Every user sends the binary digits of the number of steps, each by :class:`CntPURE`, with its place.

    The bits of each place are counted.

    Notes
    -----
    Source: Ghazi, Golowich, Kumar, Manurangsi, Pagh, Velingker (2020). A digit's part of epsilon is in
    proportion to the root of what it is worth; the certificate composes the digits.

    Examples
    --------
    >>> protocol = RSumPURE.calibrated(Promise(100, 2.0, 1e-6), 3)
    >>> protocol.noise.parts, round(protocol.rmse, 1), protocol.least_delta
    ((26, 37), 2.5, 0.0)
    """

    type: ClassVar[str] = "rsum-pure"
    noise: PureDigits
    _hiding = PureDigits
    _halves: ClassVar[bool] = True

    @property
    def _pure_figures(self) -> dict[str, Any]:
        return {**super()._pure_figures, "digits": len(self.noise.digits)}

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of bits of each digit that are 1, then the number of bits."""
        counts = np.bincount(messages[:, 0], minlength=2 * len(self.noise.digits)).reshape(-1, 2)
        return np.concatenate([counts[:, 1], counts.sum(axis=1)]).astype(np.int64)


def digits_of(precision: int) -> int:
    """Return J for a precision of 2**J - 1.

    Examples
    --------
    >>> digits_of(7)
    3
    """
    digits = precision.bit_length()
    if precision != (1 << digits) - 1 or not 1 <= digits <= MOST_DIGITS:
        raise ParameterError(
            "precision", f"{precision} is not 2**J - 1 with J from 1 to {MOST_DIGITS}", "give 7"
        )
    return digits


def _share_of(promise: Promise, part: int) -> Promise:
    """Return the guarantee of a digit: ``part`` sixty-fourths of epsilon."""
    epsilon = float_down(Fraction(promise.epsilon) * part / PARTS)
    return Promise(promise.users, epsilon, promise.delta, promise.honest)
