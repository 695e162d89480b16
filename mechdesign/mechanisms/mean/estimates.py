"""What the server says: means with standard errors and normal confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.text import listed, table
from mechdesign.core.validation import in_range

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

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the normal confidence interval of this level in (0, 1)."""
        width = _quantile(level) * self.standard_error
        return self.value - width, self.value + width

    def __repr__(self) -> str:
        return f"MeanEstimate({self.value:.6g} +- {self.standard_error:.3g}, {self.users} reports)"

    def __str__(self) -> str:
        low, high = self.interval()
        figures = f"mean {self.value:.6g}, standard error {self.standard_error:.3g}"
        return f"{figures}, 95% [{low:.6g}, {high:.6g}], {self.users} reports"

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
    """

    value: Array
    standard_error: Array
    reports: NDArray[np.int64]
    users: int
    names: tuple[str, ...]
    population: bool = False

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the ends of normal intervals; ``simultaneous``: they cover together (Bonferroni)."""
        width = _quantile(level, len(self.value) if simultaneous else 1) * self.standard_error
        return self.value - width, self.value + width

    def rows(self, level: float = 0.95) -> list[list[str]]:
        """Return one row of text an attribute: name, reports, mean, standard error, interval."""
        figures = zip(self.value, self.standard_error, *self.interval(level), strict=True)
        labelled = zip(self.names, self.reports, figures, strict=True)
        return [
            [name, str(count), *(f"{number:.6g}" for number in numbers)] for name, count, numbers in labelled
        ]

    def __repr__(self) -> str:
        figures = zip(self.names, self.value, self.standard_error, strict=True)
        shown = [f"{name} {value:.6g} +- {error:.3g}" for name, value, error in figures]
        return f"AttributeMeans({self.users} users: {listed(shown)})"

    def __str__(self) -> str:
        header = ["attribute", "reports", "mean", "std.error", "95% low", "95% high"]
        return f"{self.users} users\n{table(header, self.rows())}"

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
        }


def _quantile(level: float, tests: int = 1) -> float:
    checked = in_range("level", level, 0.0, 1.0, low_open=True, high_open=True)
    return -NormalDist().inv_cdf((1.0 - checked) / (2.0 * tests))
