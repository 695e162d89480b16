"""Sum with delta 0: the binary digits of a rounded number, each counted with pure privacy of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.frequency_limits import Cumulants, WorstLimits
from mechdesign.collect.recipes import Steps
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.exponential import float_down
from mechdesign.exact.randomness import BitSource
from mechdesign.families.shuffle.estimates import TotalEstimate
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, listed_wholes
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.pure import PureNoise, PureProtocol
from mechdesign.families.shuffle.tasks import SumProtocol

PARTS = 64
"""Epsilon is split into parts of this many."""

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
        digits = [PureNoise.fitting(_share_of(promise, part), 2, Allowed()) for part in parts]
        sent = sum(digit.length for digit in digits)
        if allowed.max_messages is not None and sent > allowed.max_messages:
            raise OutOfReachError(f"it needs {sent} messages per user", remedy="allow as many")
        lengths, noises, ratios = zip(*(digit.parameters().values() for digit in digits), strict=True)
        return cls(promise, steps + 1, list(lengths), list(noises), list(ratios), parts)

    @cached_property
    def least_delta(self) -> float:
        """0 when every digit is private with delta 0 at its part of epsilon; else nothing is proven."""
        return max(digit.least_delta for digit in self.digits)

    proof = "composition of the digits, each by the largest ratio of the distribution of its sum"

    @property
    def variance(self) -> float:
        """Of the unbiased sum of steps: the same for all data."""
        return sum((digit.deviation * 2.0**place) ** 2 for place, digit in enumerate(self.digits))

    @property
    def most_messages(self) -> int:
        """The bits of all digits."""
        return sum(digit.length for digit in self.digits)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the place of the digit, and one more when the bit is 1."""
        return (2 * len(self.digits),)

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages."""
        return [digit.part_of(place) for place, digit in enumerate(self.digits)]

    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return for each digit the bits of all users."""
        return np.concatenate(
            [digit.encode(values >> place & 1, source) + 2 * place for place, digit in enumerate(self.digits)]
        )


class RSumPURE(PureProtocol, SumProtocol):
    """Every user sends the binary digits of the number of steps, each by :class:`CntPURE`, with its place.

    Parameters
    ----------
    promise : Promise
        Kept with delta 0.
    calibration : {"exact"}
    precision : int
        2**J - 1 for J digits, J from 1 to 8.
    lengths, noises, ratios : sequence of int
        Of each digit's :class:`CntPURE`, the lowest digit first.
    parts : sequence of int
        How many sixty-fourths of epsilon each digit has, 64 in all at most.

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
        """Epsilon, and how many digits share it."""
        return {**super()._pure_figures, "digits": len(self.noise.digits)}

    @property
    def rmse(self) -> float:
        """The worst over all data: the digits' noise, and rounding halfway between two steps."""
        return math.sqrt(self.noise.variance + self.promise.users / 4.0) / self.precision

    @property
    def _tally_size(self) -> int:
        """The ones, and all bits, of each digit."""
        return 2 * len(self.noise.digits)

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the number of bits of each digit that are 1, then the number of bits."""
        counts = np.bincount(messages[:, 0], minlength=2 * len(self.noise.digits)).reshape(-1, 2)
        return np.concatenate([counts[:, 1], counts.sum(axis=1)]).astype(np.int64)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased sum; refuse digits that not every user has sent."""
        users, count, value = self.promise.users, len(self.noise.digits), Fraction(0)
        parts: list[tuple[Cumulants, float]] = []
        for place, digit in enumerate(self.noise.digits):
            ones = int(sums[count + place])
            if ones != users * digit.length:
                raise DataError(
                    "messages",
                    f"digit {place} has {ones} bits, and {users} users send {digit.length} each",
                    "give those of all users",
                )
            mean, _, gain = digit.moments
            value += (int(sums[place]) - users * mean) / gain * (1 << place)
            parts.append((digit.noise_cumulants, float((1 << place) / gain) / self.precision))
        limits = WorstLimits.of(parts, users, self.precision)
        return self.total(float(value / self.precision), messages, limits)


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
