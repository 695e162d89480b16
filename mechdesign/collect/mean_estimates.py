"""What the server says: means with standard errors and confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import Estimated, ListedEstimate
from mechdesign.collect.intervals import Limits
from mechdesign.core.text import counted
from mechdesign.data.tidy import Columns, tidy_columns
from mechdesign.exact.digits import to_error
from mechdesign.show.figure import Figure
from mechdesign.show.panels import ANYTHING, interval_figures

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class MeanEstimate(Estimated):
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
    possible : (low, high)
        The range of the values; pictures cut intervals off there.

    Examples
    --------
    >>> low, high = MeanEstimate(0.5, 0.1, 40).interval(0.95)
    >>> round(low, 3), round(high, 3)
    (0.304, 0.696)
    """

    value: float
    standard_error: float
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    possible: tuple[Any, Any] = field(default=ANYTHING, repr=False, compare=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of this level in (0, 1).

        It may reach beyond the range of the values; cutting it off there loses no coverage.
        """
        low, high = self._ends(level)
        return float(low), float(high)

    def figures(self) -> list[Figure]:
        """Return the estimate with its interval."""
        title = f"Estimated mean of {counted(self.users, 'report')}"
        ends, possible = self.interval(), self.possible
        return interval_figures(
            title, ["mean"], self.value, ends, "attribute", "mean", bars=False, possible=possible
        )

    def __repr__(self) -> str:
        value = to_error(self.value, self.standard_error)
        return f"MeanEstimate({value} +- {self.standard_error:.3g}, {counted(self.users, 'report')})"

    def __str__(self) -> str:
        numbers = (self.value, *self.interval())
        value, low, high = (to_error(number, self.standard_error) for number in numbers)
        figures = f"mean {value}, standard error {self.standard_error:.3g}"
        return f"{figures}, 95% [{low}, {high}], {counted(self.users, 'report')}{self._noted()}"


@dataclass(frozen=True, repr=False)
class AttributeMeans(ListedEstimate):
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
    possible : (low, high)
        The range of the values, or the ranges; pictures cut intervals off there.
    """

    reporter: ClassVar[str] = "user"
    thing: ClassVar[str] = "attribute"
    things: ClassVar[str] = "attributes"
    estimated: ClassVar[str] = "mean"

    value: Array
    standard_error: Array
    users: int
    reports: NDArray[np.int64]
    names: tuple[str, ...]
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    possible: tuple[Any, Any] = field(default=ANYTHING, repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.names

    def _beside(self) -> dict[str, NDArray[np.int64]]:
        return {"reports": self.reports}

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the means as columns, a row for each attribute; see :meth:`Tidy.tidy`."""
        ends, single = self.interval(level), [self.single] * len(self.names)
        return tidy_columns(self.names, single, self.value, self.standard_error, ends, self._beside())

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        title = f"Estimated means of {counted(self.users, 'report')}"
        return self._drawn(title, "attribute", "mean", bars=False, possible=self.possible)
