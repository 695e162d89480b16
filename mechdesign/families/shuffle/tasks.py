"""What an analyzer says: a count or a sum, or the counts of all categories, with errors and intervals.

The tasks: what people hold and what is estimated. Counts, sums and histograms; others build on these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Labels, as_floats
from mechdesign.collect.estimate import Estimated, ListedEstimate
from mechdesign.collect.intervals import Limits
from mechdesign.collect.kernel import AskedChoice, AskedNumber
from mechdesign.core.errors import RowError, counted, margin_text
from mechdesign.core.validation import integer
from mechdesign.core.values import Forecast, json_object
from mechdesign.data.intake import array_of
from mechdesign.data.tidy import Columns, tidy_columns
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.shuffle.count_limits import SingleLimits
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.protocol import Protocol
from mechdesign.primitives.mean_limits import WorstLimits
from mechdesign.show.figure import Figure
from mechdesign.show.panels import ANYTHING, interval_figures
from mechdesign.show.tables import table, to_error

Array = NDArray[np.float64]

SHOWN = 30
"""Number of categories that are printed."""


@dataclass(frozen=True, repr=False)
class TotalEstimate(Estimated):
    """The estimated count or sum over all users.

    Attributes
    ----------
    value, standard_error : float
        The error is of the protocol's noise alone, at its worst over all data.
    users : int
    quantity : str
        ``count`` or ``sum``.
    messages : int
    limits : Limits, optional
        What intervals are made from; normal ones by default.
    notes : tuple of str

    Examples
    --------
    >>> estimate = TotalEstimate(412.0, 10.0, 1000, "count", 1000)
    >>> low, high = estimate.interval()
    >>> round(low, 1), round(high, 1)
    (392.4, 431.6)
    """

    quantity: str
    messages: int
    limits: Limits | None = field(default=None, compare=False)
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        low, high = self._ends(level)
        return float(low), float(high)

    def tidy(self, level: float = 0.95) -> Columns:
        return tidy_columns(
            self.question, [self.quantity], self.value, self.standard_error, self.interval(level)
        )

    def figures(self) -> list[Figure]:
        """Return the estimate with its interval."""
        title, name = f"Estimated {self.quantity} over {counted(self.users, 'user')}", self.quantity
        possible = (0.0, float(self.users)) if name == "count" else ANYTHING
        return interval_figures(
            title, [name], self.value, self.interval(), "over all users", name, possible=possible
        )

    def __repr__(self) -> str:
        value = to_error(self.value, self.standard_error)
        return f"TotalEstimate({self.quantity} {value} +- {self.standard_error:.3g})"

    def __str__(self) -> str:
        numbers = (self.value, *self.interval())
        value, low, high = (to_error(number, self.standard_error) for number in numbers)
        figures = f"{self.quantity} {value}, standard error {self.standard_error:.3g}"
        sent = f"{counted(self.users, 'user')}, {counted(self.messages, 'message')}"
        return f"{figures}, 95% [{low}, {high}], {sent}{self._noted()}"

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval()
        return json_object(
            {
                "quantity": self.quantity,
                "value": self.value,
                "standard_error": self.standard_error,
                "low": low,
                "high": high,
                "users": self.users,
                "messages": self.messages,
                "notes": list(self.notes),
            }
        )


@dataclass(frozen=True, repr=False, eq=False)
class CategoryCounts(ListedEstimate):
    """Estimated counts of categories, or of what is made of them."""

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "names"
    kind_of_counts: ClassVar[str] = "counts"
    axis: ClassVar[str] = "category"
    json_key: ClassVar[str] = "value"

    value: Array
    standard_error: Array
    names: Sequence[str]
    messages: int
    notes: tuple[str, ...] = ()

    def _names(self) -> Sequence[str]:
        return self.names

    def figures(self) -> list[Figure]:
        """Return the counts with their intervals."""
        title = f"Estimated {self.kind_of_counts} of {self.users} users"
        possible = (0.0, float(self.users))
        return interval_figures(
            title, self.names, self.value, self.interval(), self.axis, "users", possible=possible
        )

    def _printed(self) -> tuple[NDArray[np.int64], str]:
        """Return the places that are printed, and what is said of the others."""
        size = len(self.value)
        if size <= SHOWN:
            return np.arange(size), ""
        return np.argsort(-self.value, kind="stable")[:SHOWN], f"\nthe largest {SHOWN} of {size}"

    def __str__(self) -> str:
        places, more = self._printed()
        text = count_table(self.thing, self.names, places, self.value, self.standard_error, self.interval())
        sent = f"{counted(self.users, 'user')}, {counted(self.messages, 'message')}"
        return f"{text}{more}\n{sent}{self._noted()}"

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval()
        return json_object(
            {
                "names": list(self.names),
                self.json_key: self.value.tolist(),
                "standard_error": self.standard_error.tolist(),
                "low": low.tolist(),
                "high": high.tolist(),
                "users": self.users,
                "messages": self.messages,
                "notes": list(self.notes),
            }
        )


@dataclass(frozen=True, repr=False, eq=False)
class HistogramEstimate(CategoryCounts):
    """The estimated number of users in each category.

    Attributes
    ----------
    value, standard_error : (d,) array
    users : int
    names : sequence of str
    messages : int
    notes : tuple of str
    limits : Limits, optional
        What intervals are made from; normal ones by default.

    Examples
    --------
    >>> print(HistogramEstimate(np.array([7.0, 3.0]), np.array([1.0, 1.0]), 10, ("a", "b"), 10))
    category  count  std error  margin  95% low  95% high
    --------  -----  ---------  ------  -------  --------
    a             7          1    ±2.0  5.04004   8.95996
    b             3          1    ±2.0  1.04004   4.95996
    10 users, 10 messages
    """

    limits: Limits | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        largest = float(self.standard_error.max())
        return (
            f"HistogramEstimate({counted(len(self.value), 'category')}, "
            f"{counted(self.users, 'user')}, at most +- {largest:.3g})"
        )


def count_table(
    first: str,
    names: Sequence[str],
    places: NDArray[np.integer[Any]],
    value: Array,
    error: Array,
    ends: tuple[Array, Array],
) -> str:
    """Return a printed table of the counts at these places, with standard errors and intervals."""
    rows = []
    for place in places.tolist():
        noise = float(error[place])
        count, low, high = (to_error(float(numbers[place]), noise) for numbers in (value, *ends))
        margin = margin_text(float(ends[1][place] - ends[0][place]) / 2.0, False)
        rows.append([names[place], count, f"{noise:.3g}", margin, low, high])
    return table([first, "count", "std error", "margin", "95% low", "95% high"], rows)


BITS = Labels(2)

MOST_STEPS = 1 << 20
"""More steps of a sum are refused."""

MOST_CATEGORIES = 1 << 20
"""More categories are refused."""


class TotalProtocol(Protocol):
    """A protocol for one number over all users: a sum of steps, ``precision`` of which are 1."""

    precision: int
    rounded: int
    """Number of users whose numbers are rounded to steps at random."""

    @property
    def _tally_size(self) -> int:
        return 1

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        return np.array([int(messages.sum())], dtype=np.int64)

    def total(
        self,
        value: float,
        messages: int,
        limits: Limits,
        error: float | None = None,
        notes: tuple[str, ...] = (),
    ) -> TotalEstimate:
        """Return the estimate; its error is that for the worst data where no other one is known."""
        deviation = self.rmse if error is None else error
        users, quantity = self.promise.users, self.quantity
        return TotalEstimate(float(value), deviation, users, quantity, messages, limits, notes)


class CountProtocol(TotalProtocol):
    """A protocol that counts the users who hold 1.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    noise
        What its noise runs on.
    """

    quantity: ClassVar[str] = "count"
    _value_text: ClassVar[str] = "0 or 1"
    precision = 1
    rounded = 0
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's bit is 1 or 0",
        "event": "many ones among the coins",
    }

    def __init__(self, promise: Promise, calibration: str, *noise: int, **named: int) -> None:
        super().__init__(promise, calibration)
        self.noise = self._hiding(promise, 2, *noise, **named)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        max_messages: int | None = None,
        local_cap: float | None = None,
        *,
        calibration: str = "exact",
    ) -> Self:
        allowed = Allowed(max_messages, local_cap)
        noise = cls._hiding.by(calibration, promise, 2, allowed)
        return cls(promise, calibration, *noise.parameters().values())._keeping(allowed)

    def _question(self, column: str | None) -> AskedChoice | AskedNumber:
        return AskedChoice(column, 2)

    def _read_values(self, values: Any) -> NDArray[np.int64]:
        """Return zeros and ones; True and False are taken as well."""
        array = array_of(values, "values")
        read = BITS.encode(array.astype(np.int64) if array.dtype.kind == "b" else values, "values")
        self._require_users(len(read))
        return read

    @property
    def rmse(self) -> float:
        """The standard deviation of the unbiased count: the same for all data."""
        return math.sqrt(float(self._expected.variance(np.zeros(1))[0]))

    def rmse_at(self, ones: float) -> float:
        """Return the error when this share of the users holds 1; by default it is the same for all data."""
        return self.rmse

    def messages_at(self, ones: float) -> float:
        """Return the expected messages of a user when this share of the users holds 1."""
        return self.mean_messages

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        (value,), (error,), limits = self._decoded(sums, messages)
        notes = self._message_notes(messages)
        return self.total(value, messages, SingleLimits(limits), float(error), notes)


class SumProtocol(TotalProtocol):
    """A protocol that adds up numbers in [0, 1].

    A number x becomes a whole number of steps next to x precision, at random so that its mean is x. That is a
    mixture of two whole numbers, so the divergence of neighbouring data is at most that for whole numbers.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    precision : int
        The steps from 0 to 1, from 1 to 2**20.
    noise
        What its noise runs on.
    """

    quantity: ClassVar[str] = "sum"
    _value_text: ClassVar[str] = "a number from 0 to 1"
    _digit_names: ClassVar[tuple[str, str]] = ("digit", "bit")
    """What a digit of the numbers is called, and a message about it."""
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user's number is 1 or 0",
        "event": "a large noisy sum",
    }

    def __init__(self, promise: Promise, calibration: str, precision: int, **noise: Any) -> None:
        super().__init__(promise, calibration)
        self.precision = integer("precision", precision, 1, MOST_STEPS)
        self.rounded = promise.users
        self.noise = self._hiding(promise, self.precision + 1, **noise)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        precision: int = 0,
        max_messages: int | None = None,
        local_cap: float | None = None,
        *,
        calibration: str = "exact",
        **shape: Any,
    ) -> Self:
        """Return the one with about the least noise that is proven; with precision 0 of the best one.

        ``shape`` is of the noise: for ``rsum-rm`` the number of ``digits``.
        """
        allowed = Allowed(max_messages, local_cap)
        size = integer("precision", precision, 1, MOST_STEPS) + 1 if precision else 0
        noise = cls._hiding.by(calibration, promise, size, allowed, **shape)
        # A stated precision decides how many messages there are.
        limits = replace(allowed, max_messages=None) if precision else allowed
        return cls(promise, calibration, noise.size - 1, **noise.parameters())._keeping(limits)

    def setting(self) -> dict[str, Any]:
        return {"precision": self.precision}

    def _read_values(self, values: Any) -> Array:
        """Return people's numbers, each from 0 to 1."""
        read = as_floats(values, 1, "values")
        wrong = ~((read >= 0.0) & (read <= 1.0))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise RowError("values", row, f"{read[row]:g} is outside [0, 1]", "rescale or correct it")
        self._require_users(len(read))
        return read

    def _encode_piece(self, values: Array, source: BitSource) -> Messages:
        """Return the messages of users with these numbers of steps, rounded at random."""
        return self.noise.encode(self.steps(values, source), source)

    def steps(self, values: Array, source: BitSource) -> NDArray[np.int64]:
        """Return integers of steps from 0 to the precision, right on average."""
        scaled = values * self.precision
        whole = np.floor(scaled)
        up = source.integers(len(values)) < ((scaled - whole) * TOTAL).astype(np.int64)
        return np.minimum(whole.astype(np.int64) + up, self.precision)

    @property
    def rmse(self) -> float:
        return self.noise.rmse

    @property
    def _tally_size(self) -> int:
        """The sum of each digit; of several also the number of messages about each."""
        return 2 * len(self.noise.sum_digits) if self._halves else 1

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> TotalEstimate:
        """Return the unbiased sum; refuse digits that not every user has sent."""
        digits, users, steps = self.noise.sum_digits, self.promise.users, self.precision
        if self._halves:
            each = np.array([digit.reports for digit in digits])
            self._require_sent(sums[len(digits) :], each, *self._digit_names)
        value, parts = Fraction(0), []
        for total, digit in zip(sums.tolist(), digits, strict=False):
            factor = digit.steps / digit.gain
            value += (total - users * digit.mean) * factor
            parts.append((digit.cumulants, float(factor / steps)))
        step = 0.0 if self._halves else parts[0][1]
        return self.total(float(value / steps), messages, WorstLimits.of(parts, users, steps, step))


class HistogramProtocol(Protocol):
    """A protocol that counts the users of each category.

    Parameters
    ----------
    promise : Promise
    calibration : {"exact", "published"}
    categories : int
        From 2 to 2**20.
    labels : sequence of str, optional
    noise
        What its noise runs on.
    """

    quantity: ClassVar[str] = "histogram"
    _value_text: ClassVar[str] = "a category"
    sensitivity: ClassVar[float] = 2.0
    _one_each: ClassVar[bool] = True
    witness: ClassVar[Mapping[str, Any]] = {
        "neighbours": "one user holds one category or another",
        "event": "many messages for the one, few for the other",
    }

    def __init__(
        self,
        promise: Promise,
        calibration: str,
        categories: int,
        labels: Sequence[str] | None = None,
        **noise: Any,
    ) -> None:
        super().__init__(promise, calibration)
        self.labels = Labels(integer("categories", categories, 2, MOST_CATEGORIES), labels)
        self.noise = self._hiding(promise, self.labels.size, **noise)

    @classmethod
    def calibrated(
        cls,
        promise: Promise,
        categories: int,
        max_messages: int | None = None,
        labels: Sequence[str] | None = None,
        *,
        local_cap: float | None = None,
        calibration: str = "exact",
        **shape: Any,
    ) -> Self:
        """Return the one with about the least noise that is proven to be enough.

        ``shape`` is of the noise: for ``murs`` the number of ``shufflers``.
        """
        size = integer("categories", categories, 2, MOST_CATEGORIES)
        allowed = Allowed(max_messages, local_cap)
        noise = cls._hiding.by(calibration, promise, size, allowed, **shape)
        return cls._of(noise, calibration, labels)._keeping(allowed)

    @classmethod
    def _of(cls, noise: Noise, calibration: str, labels: Sequence[str] | None, **more: Any) -> Self:
        parameters = {
            name: value for name, value in noise.parameters().items() if name not in cls.public_seeds
        }
        return cls(noise.promise, calibration, noise.size, labels, **parameters, **more)

    def _question(self, column: str | None) -> AskedChoice | AskedNumber:
        return AskedChoice.of(self.labels, column)

    def setting(self) -> dict[str, Any]:
        names = None if self.labels.names is None else list(self.labels.names)
        return {"categories": self.labels.size, "labels": names}

    def _is_value(self, text: str) -> bool:
        return text in self.labels.shown()

    def _read_values(self, values: Any) -> NDArray[np.int64]:
        read = self.labels.encode(values, "values")
        self._require_users(len(read))
        return read

    @property
    def _tally_size(self) -> int:
        return self.labels.size

    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        return np.bincount(messages[:, 0], minlength=self._tally_size).astype(np.int64)

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the errors for the users it was made for, of an empty category and at its largest."""
        held = np.array([0.0, self.promise.users / 2.0, float(self.promise.users)])
        largest = max(self.rmse, math.sqrt(float(self.variance_of(held).max())))
        empty = "for a category that no user holds"
        users = self.promise.users
        return Forecast("the histogram", users, True, largest, self.rmse, empty, of="a count")

    def variance_of(self, count: Array) -> Array:
        """Return the variance of the estimate of categories that ``count`` users hold."""
        return self._expected.variance(count)

    def squares_at(self, count: Array) -> Array:
        """Return the mean squared error of categories that ``count`` users hold."""
        return self.variance_of(count)

    @property
    def rmse(self) -> float:
        return math.sqrt(float(self.variance_of(np.zeros(1))[0]))

    def counts(
        self,
        value: NDArray[np.floating[Any]],
        messages: int,
        limits: Limits,
        errors: Array | None = None,
        notes: tuple[str, ...] = (),
    ) -> HistogramEstimate:
        """Return the estimate for these counts; without errors of its own, by what the counts say."""
        doubles, users = value.astype(np.float64), self.promise.users
        if errors is None:
            errors = np.sqrt(self.variance_of(np.clip(doubles, 0.0, float(users))))
        return HistogramEstimate(doubles, errors, users, tuple(self.labels.shown()), messages, notes, limits)

    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> Any:
        value, errors, limits = self._decoded(sums, messages)
        return self.counts(value, messages, limits, errors, self._message_notes(messages))
