"""What the server says: means with standard errors and confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.figure import Figure
from mechdesign.core.printable import printable
from mechdesign.core.text import listed, table
from mechdesign.mechanisms.figures import interval_figures
from mechdesign.mechanisms.intervals import Limits, NormalLimits, tail_of

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class MeanEstimate:
    """The estimated mean of one attribute.

    Attributes
    ----------
    value : float
        It may lie outside the range by chance.
    standard_error : float
        Of the value as an estimate of the wanted mean.
    users : int
        How many reports it rests on.
    population : bool
        False: the wanted mean is that of the users who reported. True: that of the population they
        were drawn from at random, which adds the variance of that draw.
    limits : Limits, optional
        What the mechanism makes intervals from; normal ones by default.
    notes : tuple of str
        Where the interval may cover less often than stated: why.

    Examples
    --------
    >>> low, high = MeanEstimate(0.5, 0.1, 40).interval(0.95)
    >>> round(low, 3), round(high, 3)
    (0.304, 0.696)
    """

    value: float
    standard_error: float
    users: int
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of this level in (0, 1).

        It may reach beyond the range of the values; cutting it off there loses no coverage.
        """
        limits = self.limits or NormalLimits(self.standard_error)
        down, up = limits.distances(tail_of(level))
        return self.value - float(down), self.value + float(up)

    def figures(self) -> list[Figure]:
        """Return the estimate with its interval."""
        title = f"Estimated mean of {self.users} users"
        return interval_figures(title, ["mean"], self.value, self.interval(), "attribute", "mean")

    def __repr__(self) -> str:
        return f"MeanEstimate({self.value:.6g} +- {self.standard_error:.3g}, {self.users} reports)"

    def __str__(self) -> str:
        low, high = self.interval()
        figures = f"mean {self.value:.6g}, standard error {self.standard_error:.3g}"
        notes = "".join(f"\nnote: {printable(note)}" for note in self.notes)
        return f"{figures}, 95% [{low:.6g}, {high:.6g}], {self.users} reports{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        low, high = self.interval()
        return {
            "users": self.users,
            "value": self.value,
            "standard_error": self.standard_error,
            "low": low,
            "high": high,
            "population": self.population,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, repr=False)
class AttributeMeans:
    """The estimated means of many attributes.

    Attributes
    ----------
    value, standard_error : (m,) array
    reports : (m,) int array
        How many reports each mean rests on.
    users : int
    names : tuple of str
    population : bool
        As in :class:`MeanEstimate`.
    limits : Limits, optional
        What the mechanism makes intervals from; normal ones by default.
    notes : tuple of str
        Which intervals may cover less often than stated, and why.
    """

    value: Array
    standard_error: Array
    reports: NDArray[np.int64]
    users: int
    names: tuple[str, ...]
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the ends of the intervals; ``simultaneous``: they cover together (Bonferroni)."""
        limits = self.limits or NormalLimits(self.standard_error)
        down, up = limits.distances(tail_of(level, len(self.value) if simultaneous else 1))
        return self.value - down, self.value + up

    def rows(self, level: float = 0.95) -> list[list[str]]:
        """Return one row of text an attribute: name, reports, mean, standard error, interval."""
        figures = zip(self.value, self.standard_error, *self.interval(level), strict=True)
        labelled = zip(self.names, self.reports, figures, strict=True)
        return [
            [name, str(count), *(f"{number:.6g}" for number in numbers)] for name, count, numbers in labelled
        ]

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        title = f"Estimated means of {self.users} users"
        return interval_figures(title, self.names, self.value, self.interval(), "attribute", "mean")

    def __repr__(self) -> str:
        figures = zip(self.names, self.value, self.standard_error, strict=True)
        shown = [f"{name} {value:.6g} +- {error:.3g}" for name, value, error in figures]
        return f"AttributeMeans({self.users} users: {listed(shown)})"

    def __str__(self) -> str:
        header = ["attribute", "reports", "mean", "std.error", "95% low", "95% high"]
        notes = "".join(f"\nnote: {printable(note)}" for note in self.notes)
        return f"{self.users} users\n{table(header, self.rows())}{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimates as plain values."""
        low, high = self.interval()
        return {
            "users": self.users,
            "attributes": list(self.names),
            "reports": self.reports,
            "value": self.value,
            "standard_error": self.standard_error,
            "low": low,
            "high": high,
            "population": self.population,
            "notes": list(self.notes),
        }
