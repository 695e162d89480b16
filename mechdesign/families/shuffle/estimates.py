"""What an analyzer says: a count or a sum, or the counts of all categories, with errors and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import Estimated, ListedEstimate
from mechdesign.collect.intervals import Limits
from mechdesign.core.text import counted, json_object, table, to_error
from mechdesign.data.frames import Columns, tidy_columns
from mechdesign.show.figure import Figure
from mechdesign.show.panels import ANYTHING, interval_figures

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
        """Return the ends of the confidence interval of this level in (0, 1)."""
        low, high = self._ends(level)
        return float(low), float(high)

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the estimate as columns with one row; see :meth:`Tidy.tidy`."""
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
        """Return the estimate as plain values."""
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
class HistogramEstimate(ListedEstimate):
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
    category  count  std error  95% low  95% high
    --------  -----  ---------  -------  --------
    a             7          1  5.04004   8.95996
    b             3          1  1.04004   4.95996
    10 users, 10 messages
    """

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "names"

    value: Array
    standard_error: Array
    names: Sequence[str]
    messages: int
    notes: tuple[str, ...] = ()
    limits: Limits | None = field(default=None, compare=False)

    def _names(self) -> Sequence[str]:
        return self.names

    def figures(self) -> list[Figure]:
        """Return the counts with their intervals."""
        title = f"Estimated counts of {self.users} users"
        possible = (0.0, float(self.users))
        return interval_figures(
            title, self.names, self.value, self.interval(), "category", "users", possible=possible
        )

    def __repr__(self) -> str:
        largest = float(self.standard_error.max())
        return (
            f"HistogramEstimate({counted(len(self.value), 'category')}, "
            f"{counted(self.users, 'user')}, at most +- {largest:.3g})"
        )

    def __str__(self) -> str:
        order = np.arange(len(self.value))
        if len(order) > SHOWN:
            order = np.argsort(-self.value, kind="stable")[:SHOWN]
        text = count_table("category", self.names, order, self.value, self.standard_error, self.interval())
        more = f"\nthe largest {SHOWN} of {len(self.value)}" if len(self.value) > SHOWN else ""
        sent = f"{counted(self.users, 'user')}, {counted(self.messages, 'message')}"
        return f"{text}{more}\n{sent}{self._noted()}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        low, high = self.interval()
        return json_object(
            {
                "names": list(self.names),
                "value": self.value.tolist(),
                "standard_error": self.standard_error.tolist(),
                "low": low.tolist(),
                "high": high.tolist(),
                "users": self.users,
                "messages": self.messages,
                "notes": list(self.notes),
            }
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
        rows.append([names[place], count, f"{noise:.3g}", low, high])
    return table([first, "count", "std error", "95% low", "95% high"], rows)
