"""What hides a user: the integers that clients draw with, what is proven of them, and how they are found."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.recipes import Steps
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value
from mechdesign.exact.numbers import wholes
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.client import checked_weight
from mechdesign.families.shuffle.count_limits import Group
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, least_passing, least_within, remedy

Messages = NDArray[np.int64]
"""One row a message, one column per part of it."""

NoiseT = TypeVar("NoiseT", bound="Noise")


@dataclass(frozen=True)
class Allowed:
    """Limits of a user: the most messages, and their largest epsilon before they are shuffled."""

    max_messages: int | None = None
    local_cap: float | None = None

    def most(self, limit: int, rows: int = 1) -> int:
        """Return the number of messages besides the user's own that are allowed, for each of some rows.

        Raises
        ------
        OutOfReachError
            When there is none.
        """
        most = limit if self.max_messages is None else min(limit, self.max_messages // rows - 1)
        if most < 1:
            raise OutOfReachError(f"it needs {2 * rows} messages per user", remedy="allow as many")
        return most


@frozen_value()
class Noise(ABC):
    """The noise of a protocol; its fields but the first two are what clients run on, and what files keep.

    Parameters
    ----------
    promise : Promise
    size : int
        Of how many values a user holds one: 2 for a bit, a category more than steps for a sum.
    """

    promise: Promise
    size: int

    is_rational: ClassVar[bool] = False
    """Whether the divergence is computed in fractions alone; else sums of doubles, rounded outward."""

    @classmethod
    @abstractmethod
    def fitting(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return about the least noise that is proven to keep the promise; with size 0 it is chosen as well.

        Raises
        ------
        OutOfReachError
            When there is none, saying what would do.
        """

    @classmethod
    def printed(cls, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise by the constants of its paper."""
        raise OutOfReachError("its paper has no constants", remedy="take the exact noise")

    @classmethod
    def by(cls, calibration: str, promise: Promise, size: int, allowed: Allowed) -> Self:
        """Return the noise that is proven here (``exact``), or by the constants of its paper."""
        return (cls.fitting if calibration == "exact" else cls.printed)(promise, size, allowed)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the clients as plain values."""
        kind: Any = type(self)
        parameters = {item.name: getattr(self, item.name) for item in attrs.fields(kind)[2:]}
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()
        }

    def check(self, field: str, low: int, high: int) -> None:
        """Refuse a whole number of its own that is not within limits."""
        integer(field, getattr(self, field), low, high)

    def check_weight(self, field: str, low: int, high: int, name: str = "") -> None:
        """Refuse a weight of its own, which files may call by another name, that is not within limits."""
        checked_weight(name or field, getattr(self, field), low, high)

    # What is proven

    @property
    @abstractmethod
    def least_delta(self) -> float:
        """A proven upper bound of the divergence of neighbouring data sets at epsilon, rounded up."""

    @property
    @abstractmethod
    def proof(self) -> str:
        """Name of the proof of that bound, in a few words."""

    @property
    def telling_delta(self) -> float:
        """``least_delta``; where that is beyond delta, a number beyond delta near it that takes less time."""
        return self.least_delta

    @property
    def holds(self) -> bool:
        """Whether the guarantee is proven."""
        return self.telling_delta <= self.promise.delta

    @property
    def is_computed(self) -> bool:
        """Whether the divergence is computed here as a whole; False where a theorem of others is believed."""
        return True

    @property
    def local_epsilon(self) -> float:
        """The epsilon of one user's messages before they are shuffled; infinite without local privacy."""
        return math.inf

    # What a user sends

    @property
    def most_messages(self) -> int:
        """The most messages that a user may send."""
        return 1

    @property
    def least_messages(self) -> int:
        """The fewest messages that a user may send."""
        return self.most_messages

    @property
    def mean_messages(self) -> float:
        """The expected number of messages of a user, at its largest over the values."""
        return float(self.most_messages)

    @property
    def dummy_messages(self) -> tuple[Group, ...]:
        """The messages next to the user's own, where their number is random and the same for all data."""
        return ()

    @property
    def alphabets(self) -> tuple[int, ...]:
        """For each column of a message how many values it has, counted from 0."""
        return (self.size,)

    @abstractmethod
    def encode(self, values: NDArray[np.int64], source: BitSource) -> Messages:
        """Return the messages of users who hold these values, integers below the size."""

    def client_parts(self) -> list[Steps]:
        """Return the parts of a client that make the same messages, as plain values."""
        raise MethodError(
            "export", "the messages exceed what clients draw", "build another protocol for the task"
        )


NoiseClass = type[Noise]


def chance(weight: int) -> Fraction:
    """Return weight / 2**62."""
    return Fraction(weight, TOTAL)


def least_weight(
    build: Callable[[int], NoiseT], least: int, most: int, size: int, name: str = "weights", digits: int = 12
) -> NoiseT:
    """Return noise of about the least weight that is private, where 1 / size of 2**62 would tell nothing.

    Raises
    ------
    OutOfReachError
        When there is none.
    """
    passing = None
    if least <= most:
        delta = build(least).promise.delta
        passing = least_within(
            lambda weight: build(weight).telling_delta, delta, least, most, digits, end=TOTAL // size
        )
    if passing is None:
        raise OutOfReachError(f"epsilon is too small for {name} of 62 digits", remedy="give a larger one")
    return build(passing)


MOST_TRIED = 1 << 36
"""Dummies beyond which nothing is tried as a remedy: looking at them takes a second and more."""


def fewest_dummies(
    build: Callable[[int, int], NoiseT],
    most: int,
    full: int = TOTAL,
    enough: Callable[[int], bool] | None = None,
) -> NoiseT | None:
    """Return noise of the fewest trials, and then of about the least weight, that is private.

    Parameters
    ----------
    build : callable
        From trials and a weight to noise.
    most : int
        Largest number of trials; None is returned where even these are too few.
    full : int
        The largest weight.
    enough : callable, optional
        Whether a number of trials of the largest weight is private; the noise's own answer by default.
    """
    delta = build(1, full).promise.delta
    if enough is None:
        trials = least_within(lambda count: build(count, full).telling_delta, delta, 1, most, 40)
    else:
        trials = least_passing(enough, 1, most, 40)
    if trials is None:
        return None
    weight = least_within(lambda number: build(trials, number).telling_delta, delta, 1, full)
    assert weight is not None  # the largest weight passed above
    return build(trials, weight)


def too_few(
    promise: Promise, most: int, limit: int, possible: Callable[[Promise], bool], where: str = ""
) -> NoReturn:
    """Raise OutOfReachError for dummies that are too few, saying what would do; at ``limit`` no more help."""

    def looked(other: Promise) -> bool:
        if other.honest_users * most > MOST_TRIED:
            raise ParameterError("users", "too many to be tried as a remedy")
        return possible(other)

    raise OutOfReachError(
        f"dummies are too few, {most} of each of {promise.honest_users} users{where}",
        remedy=f"{remedy(promise, looked)}{', or more messages' if most < limit else ''}",
    )


def listed_wholes(name: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of a list as plain ones."""
    return tuple(wholes(name, list(numbers), 1).tolist())
