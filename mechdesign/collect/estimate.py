"""Estimates with standard errors, intervals and notes: frequencies and means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import Limits
from mechdesign.core.errors import counted, listed, margin_text, printable
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, Tidy, tidy_columns
from mechdesign.show.tables import table, to_error

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

COARSE = 2.0**-40
"""The width of an interval, as a part of its ends, below which the rounding of these ends matters."""


@dataclass(frozen=True)
class Estimated(Tidy):
    """An estimate: a value with its standard error, and what intervals are made from.

    A subclass is a frozen dataclass that also has the fields ``population``, ``limits`` (normal intervals
    without them) and ``notes``, which say where intervals may cover less often than stated.

    Class attributes
    ----------------
    single : str
        What a value that stands alone is, in tables.
    """

    single: ClassVar[str] = "mean"

    value: Any
    standard_error: Any
    users: int
    question: str = field(default="", kw_only=True, repr=False, compare=False)
    """What was asked, such as the column's name; it stands in tables."""

    def _ends(self, level: float, together: int = 1) -> tuple[Any, Any]:
        """Return the ends of a level's intervals, of ``together`` values at once by Bonferroni's rule."""
        from mechdesign.collect.intervals import NormalLimits, tail_of

        limits: Limits = getattr(self, "limits", None) or NormalLimits(self.standard_error)
        down, up = limits.distances(tail_of(level, together))
        return _outward(self.value - down, self.value + up, down + up)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of confidence intervals of this level in (0, 1)."""
        return self._ends(level)

    @property
    def is_share(self) -> bool:
        """Whether the estimates are shares, whose margins of error are in percentage points."""
        return False

    def margins(self, level: float = 0.95) -> Any:
        """Return the margins of error: half the widths of the intervals."""
        low, high = self._ends(level)
        return (high - low) / 2.0

    def _said(self) -> tuple[str, ...]:
        result: tuple[str, ...] = getattr(self, "notes", ())
        return result

    def _noted(self) -> str:
        """Return the notes as they are printed, a line each."""
        return "".join(f"\nnote: {printable(note)}" for note in self._said())

    def tidy(self, level: float = 0.95) -> Columns:
        return tidy_columns(self.question, [self.single], self.value, self.standard_error, self._ends(level))

    def _about(self) -> Mapping[str, Any]:
        """Return further plain values, next to users and values."""
        return {}

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        low, high = self.interval()
        return json_object(
            {
                "users": self.users,
                **self._about(),
                "value": self.value,
                "standard_error": self.standard_error,
                "low": low,
                "high": high,
                "population": getattr(self, "population", False),
                "notes": list(self._said()),
            }
        )


@dataclass(frozen=True)
class ListedEstimate(Estimated):
    """Estimates of several shares, counts or means, each with a name.

    Class attributes
    ----------------
    reporter : str
        What ``users`` counts, when printed.
    thing, things : str
        What has an estimate, in the header of the printed table and among the plain values.
    estimated : str
        The header of the estimates.
    digits, error_digits : str
        How estimates are printed where their errors need no more digits, and errors in a ``repr``.
    most : int or None
        Number of rows to print; None for all.
    """

    reporter: ClassVar[str] = "report"
    thing: ClassVar[str]
    things: ClassVar[str]
    estimated: ClassVar[str] = "estimate"
    digits: ClassVar[str] = ".6g"
    error_digits: ClassVar[str] = ".3g"
    most: ClassVar[int | None] = None

    value: Array
    standard_error: Array

    @abstractmethod
    def _names(self) -> Sequence[str]:
        """Return the name of each estimate."""

    def _beside(self) -> Mapping[str, Any]:
        """Return further columns, which stand between names and estimates."""
        return {}

    def _about(self) -> Mapping[str, Any]:
        return {self.things: list(self._names()), **self._beside()}

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the ends of confidence intervals; cutting them off at impossible values loses no coverage.

        Parameters
        ----------
        level : float
            In (0, 1).
        simultaneous : bool
            Whether all intervals together cover with this level (Bonferroni).
        """
        return self._ends(level, len(self.value) if simultaneous else 1)

    def tidy(self, level: float = 0.95) -> Columns:
        names, more = list(self._names()), self._beside()
        return tidy_columns(self.question, names, self.value, self.standard_error, self.interval(level), more)

    def rows(self, level: float = 0.95) -> list[list[str]]:
        """Return one row of text each: name, further columns, estimate, standard error, interval."""
        texts = zip(self._names(), *self._beside().values(), strict=True)
        figures = zip(self.value, self.standard_error, *self.interval(level), strict=True)
        return [
            [*map(str, text), *(to_error(number, numbers[1], self.digits) for number in numbers)]
            for text, numbers in zip(texts, figures, strict=True)
        ]

    def _drawn(self, title: str, thing: str, quantity: str, **options: Any) -> list[Figure]:
        """Return the estimates with their intervals; the options are those of :func:`interval_figures`."""
        from mechdesign.show.panels import interval_figures

        return interval_figures(title, self._names(), self.value, self.interval(), thing, quantity, **options)

    def __repr__(self) -> str:
        digits, brief = self.digits, self.error_digits
        figures = zip(self._names(), self.value, self.standard_error, strict=True)
        text = [
            f"{name} {to_error(value, error, digits)} +- {error:{brief}}" for name, value, error in figures
        ]
        return f"{type(self).__name__}({counted(self.users, self.reporter)}: {listed(text)})"

    def __str__(self) -> str:
        header = [self.thing, *self._beside(), self.estimated, "std error", "margin", "95% low", "95% high"]
        margins = [margin_text(margin, self.is_share) for margin in self.margins().tolist()]
        rows = [[*row[:-2], margin, *row[-2:]] for row, margin in zip(self.rows(), margins, strict=True)]
        rest = 0 if self.most is None else max(0, len(rows) - self.most)
        more = f"\n... and {rest} more {self.things}" if rest else ""
        text = table(header, rows[: len(rows) - rest])
        return f"{counted(self.users, self.reporter)}\n{text}{more}{self._noted()}"


@dataclass(frozen=True, repr=False)
class FrequencyEstimate(ListedEstimate):
    """Unbiased estimates of the frequencies of the true answers.

    Attributes
    ----------
    value : (n,) array
        Estimated frequencies; they sum to 1 but may lie outside [0, 1] by chance.
    standard_error : (n,) array
    users : int
        How many reported.
    categories : tuple of str
    population : bool
        False: the truth is the share among the users who reported. True: the share in the
        population they were drawn from at random, which adds the variance of that draw.
    covariance : (n, n) array or None
        None for large structured channels.
    limits : Limits, optional
        What the mechanism makes intervals from; normal ones by default.
    notes : tuple of str
        Where the intervals may cover less often than stated: why.
    reported : (n,) array or None
        The shares among the reports, where these are categories: what would be believed without an estimate.

    Examples
    --------
    >>> import mechdesign as md
    >>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    >>> reports = mechanism.randomize([0] * 3000 + [1] * 1000, rng=1)
    >>> low, high = mechanism.estimate(reports).interval(0.99)
    >>> bool(low[0] < 0.75 < high[0])
    True
    """

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "categories"
    digits: ClassVar[str] = ".5f"
    error_digits: ClassVar[str] = ".2g"
    most: ClassVar[int | None] = 60

    categories: tuple[str, ...]
    population: bool = False
    covariance: Array | None = None
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    reported: Array | None = field(default=None, repr=False, compare=False)

    @property
    def is_share(self) -> bool:
        return True

    def _names(self) -> tuple[str, ...]:
        return self.categories

    def projected(self) -> Array:
        """Return the nearest probability vector (Euclidean projection): biased, but in [0, 1]."""
        return project_to_simplex(self.value)

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals; the shares among the reports are faint next to them."""
        from mechdesign.show.panels import SHARE

        title = f"Estimated shares of {counted(self.users, 'report')}"
        return self._drawn(title, "answer", "share", naive=self.reported, possible=SHARE)


def project_to_simplex(vector: Array) -> Array:
    """Return the Euclidean projection on the probability simplex.

    Examples
    --------
    >>> project_to_simplex(np.array([0.5, 0.7, -0.2]))
    array([0.4, 0.6, 0. ])
    """
    descending = np.sort(vector)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(vector) + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    projected: Array = np.maximum(vector - excess[last], 0.0)
    return projected


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
    possible: tuple[Any, Any] = field(default=(-np.inf, np.inf), repr=False, compare=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the confidence interval of this level in (0, 1).

        It may reach beyond the range of the values; cutting it off there loses no coverage.
        """
        low, high = self._ends(level)
        return float(low), float(high)

    def figures(self) -> list[Figure]:
        """Return the estimate with its interval."""
        from mechdesign.show.panels import interval_figures

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
        margin = margin_text(self.margins(), self.is_share)
        figures = f"mean {value}, standard error {self.standard_error:.3g}, margin of error {margin}"
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

    reports: NDArray[np.int64]
    names: tuple[str, ...]
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    possible: tuple[Any, Any] = field(default=(-np.inf, np.inf), repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.names

    def _beside(self) -> dict[str, NDArray[np.int64]]:
        return {"reports": self.reports}

    def tidy(self, level: float = 0.95) -> Columns:
        ends, single = self.interval(level), [self.single] * len(self.names)
        return tidy_columns(self.names, single, self.value, self.standard_error, ends, self._beside())

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        title = f"Estimated means of {counted(self.users, 'report')}"
        return self._drawn(title, "attribute", "mean", bars=False, possible=self.possible)


def _outward(low: Any, high: Any, width: Any) -> tuple[Any, Any]:
    """Return the ends of intervals, the next doubles outside where doubles are too coarse for their width.

    Examples
    --------
    >>> _outward(0.25, 0.75, 0.5)
    (0.25, 0.75)
    >>> ends = _outward(1e16, 1e16, 0.05)
    >>> [end - 1e16 for end in map(float, ends)]
    [-2.0, 2.0]
    """
    largest = np.maximum(np.abs(low), np.abs(high))
    coarse = np.isfinite(largest) & (np.asarray(width) > 0.0) & (largest * COARSE > width)
    if not np.any(coarse):
        return low, high
    down, up = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return np.where(coarse, down, low), np.where(coarse, up, high)
