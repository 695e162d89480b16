"""What estimates share: values with standard errors, intervals, notes, rows to print, and plain values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.encoding import json_object
from mechdesign.core.printable import printable
from mechdesign.core.text import counted, listed, table
from mechdesign.data.tidy import Columns, Tidy, tidy_columns
from mechdesign.exact.digits import to_error

if TYPE_CHECKING:
    from mechdesign.collect.intervals import Limits
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

    def _said(self) -> tuple[str, ...]:
        found: tuple[str, ...] = getattr(self, "notes", ())
        return found

    def _noted(self) -> str:
        """Return the notes as they are printed, a line each."""
        return "".join(f"\nnote: {printable(note)}" for note in self._said())

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the estimate as columns, a row for each value; see :meth:`Tidy.tidy`."""
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
        """Return the estimates as columns, a row each; see :meth:`Tidy.tidy`."""
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
        from mechdesign.collect.interval_figures import interval_figures

        return interval_figures(title, self._names(), self.value, self.interval(), thing, quantity, **options)

    def __repr__(self) -> str:
        digits, brief = self.digits, self.error_digits
        figures = zip(self._names(), self.value, self.standard_error, strict=True)
        shown = [
            f"{name} {to_error(value, error, digits)} +- {error:{brief}}" for name, value, error in figures
        ]
        return f"{type(self).__name__}({counted(self.users, self.reporter)}: {listed(shown)})"

    def __str__(self) -> str:
        header = [self.thing, *self._beside(), self.estimated, "std error", "95% low", "95% high"]
        rows = self.rows()
        rest = 0 if self.most is None else max(0, len(rows) - self.most)
        more = f"\n... and {rest} more {self.things}" if rest else ""
        shown = table(header, rows[: len(rows) - rest])
        return f"{counted(self.users, self.reporter)}\n{shown}{more}{self._noted()}"


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
