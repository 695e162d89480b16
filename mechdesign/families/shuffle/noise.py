"""The client of a shuffle protocol in integers: parts, each of which makes messages of a value.

A value is a category, a bit, or a number in [0, 1] that is rounded at random to a whole number of steps. The
parts read random bits one after the other; the messages of a user are sorted, so that their order tells
nothing. The parts are stated in ``docs/project/mechanism_file.md``.

All draws are exact: bits of a probability out of 2^62, and small numbers from tables of 124 binary digits.

What hides a user: the integers that clients draw with, what is proven of them, and how they are found.
"""

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

from mechdesign.collect.kernel import Steps, row_hex, whole_hex
from mechdesign.core.errors import CertificateError, MechDesignError, MethodError, ParameterError
from mechdesign.core.extensions import in_papers
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value
from mechdesign.exact.draws import bernoulli_words
from mechdesign.exact.numbers import plain_int, wholes
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.count_limits import Group, TwoKinds
from mechdesign.families.shuffle.promise import (
    OutOfReachError,
    Promise,
    foreseen,
    halved,
    least_passing,
    remedy,
)
from mechdesign.primitives.mean_limits import Cumulants


def part(make: str, **numbers: Any) -> Steps:
    """Return a part that makes messages; weights have been written as hexadecimal digits."""
    return {"make": make, **numbers}


def flips_part(size: int, own: str, named: bool, flip: int) -> Steps:
    """Return the part of bits of which some are 1 by the value, each flipped."""
    return part("flips", size=size, ones=own, named=named, flip=whole_hex(flip))


def response_ends(alphabet: int, other: int) -> dict[str, Any]:
    """Return where the weights of a randomized response end."""
    return {"own": whole_hex(TOTAL - alphabet * other), "other": whole_hex(other)}


def levels_part(sizes: Sequence[int], others: Sequence[int], scales: Sequence[int]) -> Steps:
    """Return the part of a randomized response to each digit of the steps, the coarsest digit first."""
    levels = [
        {"scale": int(scale), **response_ends(size, other)}
        for size, other, scale in zip(sizes, others, scales, strict=True)
    ]
    return part("levels", levels=levels)


def dummies_part(own: Steps, trials: int, weight: int, alphabet: int, start: int = 0) -> Steps:
    """Return the part of one message by the value, and of dummies that are uniform below the alphabet.

    ``own`` is what the value becomes: shifted to the right, 1 where it equals a number, or hashed.
    """
    return part(
        "dummies", own=own, trials=trials, weight=whole_hex(weight), alphabet=alphabet, start=int(start)
    )


Codes = NDArray[np.int64]


def bits(count: int, weight: int, source: BitSource) -> Codes:
    """Return independent bits, each 1 with the probability weight / 2**62 exactly.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> drawn = bits(100_000, 1 << 60, bit_source(1))
    >>> drawn.dtype, bool(abs(drawn.mean() - 0.25) < 0.01)
    (dtype('int64'), True)
    """
    return flags(count, weight, source).astype(np.int64)


def flags(count: int, weight: int, source: BitSource) -> NDArray[np.uint8]:
    """Return the same as bytes."""
    words = bernoulli_words((count + 63) // 64, weight, source)
    return np.unpackbits(words.view(np.uint8), count=count)


def checked_weight(field: str, value: Any, low: int, high: int) -> int:
    """Return a weight out of 2**62 within limits; a file that says otherwise is refused."""
    result = plain_int(field, value)
    if not low <= result <= high:
        raise CertificateError(field, f"a weight is not from {low} to {high}")
    return result


class Table:
    """Integers 0, 1, ... by weights out of 2**124: what tails of 2**-62 would not resolve.

    Parameters
    ----------
    weights : list of int
        They sum to 2**124.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> table = Table([TOTAL * TOTAL // 4, 3 * TOTAL * TOTAL // 4])
    >>> bool(abs(table.draw(10_000, bit_source(1)).mean() - 0.75) < 0.03)
    True
    """

    def __init__(self, weights: list[int]) -> None:
        if sum(weights) != TOTAL * TOTAL or min(weights) < 0:
            raise CertificateError("table", "the weights are not 2**124 in all")
        self.weights = tuple(weights)
        ends, total = [], 0
        for weight in weights[:-1]:
            total += weight
            ends.append(total)
        self._ends = ends
        self._high = np.array([min(end // TOTAL, TOTAL - 1) for end in ends], dtype=np.int64)

    def client_rows(self) -> dict[str, str]:
        """Return the ends of the weights in two rows of 62 binary digits each, as clients get them."""
        highs = self._high.tolist()
        lows = [min(end - high * TOTAL, TOTAL) for end, high in zip(self._ends, highs, strict=True)]
        return {"high": row_hex(highs), "low": row_hex(lows)}

    def draw(self, count: int, source: BitSource) -> Codes:
        """Return independent numbers; a second word decides where the first one is at an end."""
        words = source.integers(count)
        places = np.searchsorted(self._high, words, side="left")
        if len(self._high) == 0:
            return places
        at_end = np.flatnonzero(self._high[np.minimum(places, len(self._high) - 1)] == words)
        for row in at_end.tolist():
            number = int(words[row]) * TOTAL + int(source.integers(1)[0])
            place = int(places[row])
            while place < len(self._ends) and self._ends[place] <= number:
                place += 1
            places[row] = place
        return places


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


@dataclass(frozen=True)
class Digit:
    """What the messages of all users say of one digit of their numbers, and how it is decoded.

    Attributes
    ----------
    reports : int
        Number of messages of a user.
    mean, gain : Fraction
        What a user's messages add on average for the digit 0, and how much more for each unit.
    steps : int
        Steps of the number in a unit of the digit.
    cumulants : (float, float, float)
        The second to the fourth of what all users' messages add, at their largest.
    """

    reports: int
    mean: Fraction
    gain: Fraction
    steps: int
    cumulants: Cumulants


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
    def by(cls, calibration: str, promise: Promise, size: int, allowed: Allowed, **shape: Any) -> Self:
        """Return the noise that is proven here (``exact``), or by the constants of its paper."""
        if calibration == "exact":
            return cls.fitting(promise, size, allowed, **shape)
        for papers in in_papers("constants", __package__):
            if cls in papers.CONSTANTS:
                noise: Self = papers.CONSTANTS[cls](promise, size, allowed)
                return noise
        raise OutOfReachError("its paper has no constants", remedy="take the exact noise")

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
    def quick_delta(self) -> float:
        """At most ``telling_delta``, and mostly the same: what a search looks at before it looks at that."""
        return self.telling_delta

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

    # What the messages say

    def decoder(self, dummies: float) -> TwoKinds:
        """Return what all messages say of a value when this many of them are not the users' own."""
        raise NotImplementedError(f"{type(self).__name__} has no linear decoder")

    @property
    def sum_digits(self) -> Sequence[Digit]:
        """What the messages of all users say of a sum, one for each of their kinds."""
        raise NotImplementedError(f"{type(self).__name__} says nothing of sums")

    @property
    def rmse(self) -> float:
        """The root mean squared error at its worst over all data: of sums, and where noises are compared."""
        raise NotImplementedError(f"{type(self).__name__} is not compared by its error")

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


LEAP = 4
"""Fourfold steps of a weight that are taken at once: small weights hide nothing, and are soon looked at."""

HARDLY = 0.9
"""A delta above which next to nothing is proven."""


def least_within(
    curve: Callable[[int], float],
    level: float,
    low: int,
    high: int,
    digits: int = 12,
    end: int | None = None,
    leap: int = 1,
) -> int | None:
    """Return the result of :func:`least_passing` for a falling curve and a level, from few of its values.

    ``leap`` is how many fourfold steps are taken at once while the curve is next to 1.

    Examples
    --------
    >>> least_within(lambda number: math.exp(-number / 1e6), 1e-9, 1, 1 << 62)
    20727125
    >>> least_passing(lambda number: math.exp(-number / 1e6) <= 1e-9, 1, 1 << 62)
    20727125
    """
    values: dict[int, float] = {}

    def looked(number: int) -> float:
        if number not in values:
            values[number] = curve(number)
        return values[number]

    rungs = [low]
    while rungs[-1] < high:
        rungs.append(min(high, 4 * rungs[-1] + 1))
    place = _first_within(lambda rung: looked(rungs[rung]), level, len(rungs), leap)
    if place is None:
        return None
    fails, holds = rungs[place - 1] if place else low - 1, rungs[place]
    if holds - fails == 1:
        return holds
    near = rungs[max(0, place - 2) : place + 1]
    return foreseen(
        lambda passes: halved(passes, fails, holds, digits, end), looked, level, near, rising=False
    )[0]


def _first_within(looked: Callable[[int], float], level: float, count: int, leap: int) -> int | None:
    """Return the first of ``count`` rungs at which a falling curve is within the level; None if none is.

    From below, as what passes by far may take far longer to look at; ``leap`` rungs at a time while next to
    nothing is proven. A leap to where nothing can be computed is taken in steps.
    """
    fails, place = -1, 0
    while looked(place) > level:
        if place == count - 1:
            return None
        fails, step = place, leap if looked(place) > max(HARDLY, level) else 1
        place = min(place + step, count - 1)
        try:
            looked(place)
        except MechDesignError:
            if step == 1:
                raise
            place, leap = fails + 1, 1
    while place - fails > 1:
        middle = (fails + place) // 2
        if looked(middle) <= level:
            place = middle
        else:
            fails = middle
    return place


def least_weight(
    build: Callable[[int], NoiseT], least: int, most: int, size: int, name: str = "weights", digits: int = 12
) -> NoiseT:
    """Return noise of about the least weight that is private, where 1 / size of 2**62 would tell nothing.

    Raises
    ------
    OutOfReachError
        When there is none.
    """

    def search(delta_of: Callable[[Noise], float]) -> int | None:
        delta, end = build(least).promise.delta, TOTAL // size
        return least_within(lambda weight: delta_of(build(weight)), delta, least, most, digits, end, LEAP)

    passing = search(lambda noise: noise.quick_delta) if least <= most else None
    if passing is not None and not build(passing).holds:
        passing = search(lambda noise: noise.telling_delta)
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
    weight = least_within(lambda number: build(trials, number).telling_delta, delta, 1, full, leap=LEAP)
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


MOST_MESSAGES = 1 << 27
"""More messages of all users together are refused: they would not fit into memory."""


def require_sent(messages: float) -> None:
    """Raise OutOfReachError for more messages of all users than fit into memory."""
    if messages > MOST_MESSAGES:
        raise OutOfReachError(
            f"it sends {messages:.10g} messages in all, at most {MOST_MESSAGES}",
            remedy="give fewer users or categories",
        )
