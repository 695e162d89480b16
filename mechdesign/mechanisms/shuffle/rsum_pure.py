"""Sum with delta 0: the binary digits of a rounded number, each counted with pure privacy of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.exponential import float_down
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.core.numbers import wholes
from mechdesign.core.randomness import BitSource
from mechdesign.mechanisms.shuffle.base import Messages
from mechdesign.mechanisms.shuffle.cnt_pure import CntPURE
from mechdesign.mechanisms.shuffle.estimates import TotalEstimate
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise
from mechdesign.mechanisms.shuffle.sums import SumProtocol
from mechdesign.mechanisms.sum_limits import Cumulants, WorstLimits

PARTS = 64
"""Epsilon is split into parts of this many."""

MOST_DIGITS = 8
DIGITS = 3
"""Binary digits where no precision is given."""


class RSumPURE(SumProtocol):
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
    >>> protocol.parts, round(protocol.rmse, 1), protocol.least_delta
    ([26, 37], 2.5, 0.0)
    """

    type: ClassVar[str] = "rsum-pure"

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        precision: int,
        *,
        lengths: Sequence[int],
        noises: Sequence[int],
        ratios: Sequence[int],
        parts: Sequence[int],
    ) -> None:
        super().__init__(promise, calibration, precision)
        given = {"lengths": lengths, "noises": noises, "ratios": ratios, "parts": parts}
        read = {name: wholes(name, list(numbers), 1).tolist() for name, numbers in given.items()}
        digits = digits_of(self.precision)
        if any(len(numbers) != digits for numbers in read.values()):
            raise ParameterError(f"lengths: give {digits} of them, and as many noises, ratios and parts")
        self.parts: list[int] = read["parts"]
        if min(self.parts) < 1 or sum(self.parts) > PARTS:
            raise CertificateError(f"parts: are more than {PARTS}, or one is none; build it anew")
        self.digits = [
            CntPURE(share_of(promise, part), calibration, *numbers)
            for part, *numbers in zip(
                self.parts, read["lengths"], read["noises"], read["ratios"], strict=True
            )
        ]

    @classmethod
    def calibrated(cls, promise: Promise, precision: int = 0, max_messages: int | None = None) -> Self:
        """Return the one with about the least noise of each digit; of three digits where none are given."""
        steps = precision or (1 << DIGITS) - 1
        try:
            worth = [2.0 ** (place / 2.0) for place in range(digits_of(steps))]
        except ParameterError as error:
            raise OutOfReachError(str(error)) from None
        parts = [max(1, math.floor(PARTS * part / sum(worth))) for part in worth]
        digits = [CntPURE.calibrated(share_of(promise, part)) for part in parts]
        sent = sum(digit.length for digit in digits)
        if max_messages is not None and sent > max_messages:
            raise OutOfReachError(f"it needs {sent} messages a user; allow as many")
        lists = {
            "lengths": [digit.length for digit in digits],
            "noises": [digit.noise for digit in digits],
            "ratios": [digit.ratio for digit in digits],
        }
        return cls(promise, "exact", steps, parts=parts, **lists)

    def parameters(self) -> dict[str, Any]:
        """Return what each digit runs on, and its part of epsilon."""
        return {
            "lengths": [digit.length for digit in self.digits],
            "noises": [digit.noise for digit in self.digits],
            "ratios": [digit.ratio for digit in self.digits],
            "parts": self.parts,
        }

    @cached_property
    def least_delta(self) -> float:
        """0 when every digit is private with delta 0 at its part of epsilon; else nothing is proven."""
        return max(digit.least_delta for digit in self.digits)

    proof = "composition of the digits, each by the largest ratio of the law of its sum"
    is_pure = True

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the privacy of the shuffled messages, and that it is pure."""
        figures = {"epsilon": self.promise.epsilon, "digits": len(self.digits)}
        note = "delta is 0; for real numbers, by doubles rounded outward"
        return (*super().certificates(), Certificate("pure", self.holds, False, figures, self.witness, note))

    @property
    def rmse(self) -> float:
        """The worst over all data: the digits' noise, and rounding halfway between two steps."""
        noise = sum((digit.rmse * 2.0**place) ** 2 for place, digit in enumerate(self.digits))
        return math.sqrt(noise + self.promise.users / 4.0) / self.precision

    @property
    def most_messages(self) -> int:
        """The bits of all digits."""
        return sum(digit.length for digit in self.digits)

    @property
    def alphabets(self) -> tuple[int, ...]:
        """Twice the place of the digit, and one more when the bit is 1."""
        return (2 * len(self.digits),)

    def encode_piece(self, values: NDArray[np.float64], source: BitSource) -> Messages:
        """Return for each digit the bits of all users."""
        steps = self.steps(values, source)
        return np.concatenate(
            [
                digit.encode_piece(steps >> place & 1, source) + 2 * place
                for place, digit in enumerate(self.digits)
            ]
        )

    @property
    def tally_size(self) -> int:
        """The ones, and all bits, of each digit."""
        return 2 * len(self.digits)

    halves: ClassVar[bool] = True

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many bits of each digit are 1, then how many there are."""
        counts = np.bincount(messages[:, 0], minlength=2 * len(self.digits)).reshape(-1, 2)
        return np.concatenate([counts[:, 1], counts.sum(axis=1)]).astype(np.int64)

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased sum; refuse digits that not every user has sent."""
        users, count, value = self.promise.users, len(self.digits), Fraction(0)
        parts: list[tuple[Cumulants, float]] = []
        for place, digit in enumerate(self.digits):
            found = int(sums[count + place])
            if found != users * digit.length:
                raise DataError(
                    f"messages: digit {place} has {found} bits, and {users} users send {digit.length} each; "
                    "give those of all users"
                )
            mean, _, gain = digit.moments
            value += (int(sums[place]) - users * mean) / gain * (1 << place)
            parts.append((digit.noise_cumulants, float((1 << place) / gain) / self.precision))
        limits = WorstLimits.of(parts, users, self.precision)
        return TotalEstimate("sum", float(value / self.precision), self.rmse, users, messages, limits)


def digits_of(precision: int) -> int:
    """Return J for a precision of 2**J - 1.

    Examples
    --------
    >>> digits_of(7)
    3
    """
    digits = precision.bit_length()
    if precision != (1 << digits) - 1 or not 1 <= digits <= MOST_DIGITS:
        raise ParameterError(f"precision: {precision} is not 2**J - 1 with J from 1 to {MOST_DIGITS}; give 7")
    return digits


def share_of(promise: Promise, part: int) -> Promise:
    """Return the promise of a digit: so many sixty-fourths of epsilon."""
    epsilon = float_down(Fraction(promise.epsilon) * part / PARTS)
    return Promise(promise.users, epsilon, promise.delta, promise.honest)
