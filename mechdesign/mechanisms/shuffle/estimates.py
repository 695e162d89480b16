"""What an analyzer says: a count or a sum, or the counts of all categories, with errors and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import Mass
from mechdesign.core.figure import Figure
from mechdesign.core.printable import printable
from mechdesign.core.text import table
from mechdesign.mechanisms.figures import interval_figures
from mechdesign.mechanisms.intervals import Limits, NormalLimits, tail_of, within

Array = NDArray[np.float64]

SHOWN = 30
"""So many categories are printed."""


@dataclass(frozen=True, repr=False)
class TotalEstimate:
    """The estimated count or sum over all users.

    Attributes
    ----------
    quantity : str
        ``count`` or ``sum``.
    value, standard_error : float
        The error is of the protocol's noise alone, at its worst over all data.
    users, messages : int
    limits : Limits, optional
        What intervals are made from; normal ones by default.
    notes : tuple of str

    Examples
    --------
    >>> estimate = TotalEstimate("count", 412.0, 10.0, 1000, 1000)
    >>> low, high = estimate.interval()
    >>> round(low, 1), round(high, 1)
    (392.4, 431.6)
    """

    quantity: str
    value: float
    standard_error: float
    users: int
    messages: int
    limits: Limits | None = field(default=None, compare=False)
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of this level in (0, 1)."""
        down, up = (self.limits or NormalLimits(self.standard_error)).distances(tail_of(level))
        return self.value - float(down), self.value + float(up)

    def figures(self) -> list[Figure]:
        """Return the estimate with its interval."""
        title, name = f"Estimated {self.quantity} over {self.users} users", self.quantity
        return interval_figures(title, [name], self.value, self.interval(), "over all users", name)

    def __repr__(self) -> str:
        return f"TotalEstimate({self.quantity} {self.value:.6g} +- {self.standard_error:.3g})"

    def __str__(self) -> str:
        low, high = self.interval()
        figures = f"{self.quantity} {self.value:.6g}, standard error {self.standard_error:.3g}"
        notes = "".join(f"\nnote: {printable(note)}" for note in self.notes)
        return f"{figures}, 95% [{low:.6g}, {high:.6g}], {self.users} users, {self.messages} messages{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        low, high = self.interval()
        return {
            "quantity": self.quantity,
            "value": self.value,
            "standard_error": self.standard_error,
            "low": low,
            "high": high,
            "users": self.users,
            "messages": self.messages,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, repr=False, eq=False)
class HistogramEstimate:
    """The estimated number of users in each category.

    Attributes
    ----------
    value, standard_error : (d,) array
    names : sequence of str
    users, messages : int
    notes : tuple of str

    Examples
    --------
    >>> print(HistogramEstimate(np.array([7.0, 3.0]), np.array([1.0, 1.0]), ("a", "b"), 10, 10))
    category  count  standard error  95% from   95% to
    --------  -----  --------------  --------  -------
    a             7               1   5.04004  8.95996
    b             3               1   1.04004  4.95996
    10 users, 10 messages
    """

    value: Array
    standard_error: Array
    names: Sequence[str]
    users: int
    messages: int
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of normal intervals of this level in (0, 1), each for its category alone."""
        down, up = NormalLimits(self.standard_error).distances(tail_of(level))
        return self.value - down, self.value + up

    def figures(self) -> list[Figure]:
        """Return the counts with their intervals."""
        title = f"Estimated counts of {self.users} users"
        return interval_figures(title, self.names, self.value, self.interval(), "category", "users")

    def __repr__(self) -> str:
        largest = float(self.standard_error.max())
        return (
            f"HistogramEstimate({len(self.value)} categories, {self.users} users, +- {largest:.3g} at most)"
        )

    def __str__(self) -> str:
        low, high = self.interval()
        order = np.arange(len(self.value))
        if len(order) > SHOWN:
            order = np.argsort(-self.value, kind="stable")[:SHOWN]
        rows = [
            [
                self.names[place],
                f"{self.value[place]:.6g}",
                f"{self.standard_error[place]:.3g}",
                f"{low[place]:.6g}",
                f"{high[place]:.6g}",
            ]
            for place in order.tolist()
        ]
        text = table(["category", "count", "standard error", "95% from", "95% to"], rows)
        more = f"\nthe largest {SHOWN} of {len(self.value)}" if len(self.value) > SHOWN else ""
        notes = "".join(f"\nnote: {printable(note)}" for note in self.notes)
        return f"{text}{more}\n{self.users} users, {self.messages} messages{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        low, high = self.interval()
        return {
            "names": list(self.names),
            "value": self.value.tolist(),
            "standard_error": self.standard_error.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "users": self.users,
            "messages": self.messages,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class NoiseLimits:
    """Limits by the exact law of an additive noise: valid at every size, not only for many users.

    Parameters
    ----------
    law : Mass
        Of the noise, in whole units.
    centre : float
        What is subtracted from the noisy number.
    scale : float
        Of the estimate for one unit.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.audit.mass import binomial
    >>> limits = NoiseLimits(binomial(100, Fraction(1, 2)), 50.0)
    >>> [float(distance) for distance in limits.distances(0.025)]
    [10.0, 10.0]
    """

    law: Mass
    centre: float
    scale: float = 1.0

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances down and up; neither side is exceeded with more than the chance ``tail``."""
        below = np.cumsum(self.law.mass)
        above = np.cumsum(self.law.mass[::-1])[::-1]
        # the largest noise that is not in the upper tail, the smallest that is not in the lower one
        top = self.law.low + int(np.flatnonzero(above > tail)[-1])
        bottom = self.law.low + int(np.argmax(below > tail))
        return np.asarray((top - self.centre) * self.scale), np.asarray((self.centre - bottom) * self.scale)

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the interval reaches so far."""
        return within(difference, *self.distances(tail))
