"""The estimate: frequent strings, their shares, and intervals that cover all strings at once.

**Intervals.** The support of a string of share f among N reports is Bin(N, q + f (p - q)); see
:mod:`mechdesign.families.hitters.detection` for the users at hand. Strings are listed because their support
is large, so that the interval of a single share would miss too often. Let M be the number of strings that
the last level has looked at, which earlier groups have chosen. A share f is left out of the interval of a
string if

    P(support >= s) <= t (1 / (2 M) + f / 2)    or    P(support <= s) <= t f.

The interval is the least that holds all other shares: where 0 is not left out, it begins there, although
some shares just above 0 may be left out. The truths f of all strings sum to 1. So some interval misses from
below with probability at most t (M / (2 M) + 1/2) = t, from above with at most t; and this for all strings
that were looked at, hence for the listed ones. Common strings pay little for the many others: a share of 1
% is tested at a hundredth of the level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import ListedEstimate
from mechdesign.collect.intervals import Limits, tail_of
from mechdesign.data.tidy import Columns
from mechdesign.families.hitters.detection import lower_tail, upper_tail

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

HALVINGS = 34
GRID = 32
"""Shares between 0 and the estimate at which it is looked for the first that is not left out."""


@dataclass(frozen=True)
class SupportLimits(Limits):
    """Exact binomial limits of shares, from supports.

    Attributes
    ----------
    supports : (m,) int array
    reports : int
        N, the reports of the last level.
    own, other : float
        p and q.
    looked_at : float
        M; 0 for limits of each string alone.
    """

    supports: NDArray[np.int64]
    reports: int
    own: float
    other: float
    looked_at: float = 0.0

    @property
    def value(self) -> Array:
        """The unbiased estimates."""
        shares: Array = (self.supports / self.reports - self.other) / (self.own - self.other)
        return shares

    def distances(self, tail: float) -> tuple[Array, Array]:
        low, high = self.ends(tail)
        return np.maximum(self.value - low, 0.0), np.maximum(high - self.value, 0.0)

    def ends(self, tail: float) -> tuple[Array, Array]:
        """Return the least and the largest share that is not left out, both in [0, 1]."""
        count = len(self.supports)
        bottom, top = self._first_inside(tail), (np.zeros(count), np.ones(count))
        for _ in range(HALVINGS):
            middle = (bottom[0] + bottom[1]) / 2.0
            out = self._is_too_small(middle, tail)
            bottom = np.where(out, middle, bottom[0]), np.where(out, bottom[1], middle)
            middle = (top[0] + top[1]) / 2.0
            out = self._below(middle) <= tail * (middle if self.looked_at else 1.0)
            top = np.where(out, top[0], middle), np.where(out, middle, top[1])
        return bottom[0], top[1]

    def _first_inside(self, tail: float) -> tuple[Array, Array]:
        """Return two shares each, between which the first is that is not left out; both 0 where that is 0."""
        steps = np.linspace(0.0, 1.0, GRID)[:, None] * np.clip(self.value, 0.0, 1.0)
        inside = ~self._is_too_small(steps, tail)
        inside[-1] = True
        first = inside.argmax(axis=0)
        places = np.arange(len(self.supports))
        return steps[np.maximum(first - 1, 0), places], steps[first, places]

    def _is_too_small(self, share: Array, tail: float) -> NDArray[np.bool_]:
        out: NDArray[np.bool_] = self._above(share) <= tail * self._part(share, 2.0)
        return out

    def _part(self, share: Array, over: float) -> Array | float:
        return 1.0 / (over * self.looked_at) + share / over if self.looked_at else 1.0

    def _chance(self, share: Array) -> Array:
        return self.other + share * (self.own - self.other)

    def _above(self, share: Array) -> Array:
        return upper_tail(self.supports, self.reports, self._chance(share))

    def _below(self, share: Array) -> Array:
        return lower_tail(self.supports + 1, self.reports, self._chance(share))


SELECTION = (
    "intervals cover all listed strings at once: strings are listed because their estimates are large, and "
    "the estimates of those near the threshold are too large on average"
)


@dataclass(frozen=True, repr=False)
class StringEstimate(ListedEstimate):
    """Frequent strings and their estimated shares, the most frequent first.

    Attributes
    ----------
    value, standard_error : (m,) array
        Shares; unbiased for a string that is given beforehand, too large on average for one that was listed.
    users : int
        How many reported; the shares rest on the reports of the last level.
    strings : tuple of str
    origin : tuple of str
        ``found`` for strings that passed all thresholds, ``known`` for those of the list.
    reports : int
        Reports of the last level.
    population : bool
        As in :class:`~mechdesign.collect.estimate.FrequencyEstimate`.
    limits : SupportLimits
        Those of all strings at once.
    notes : tuple of str
    further : tuple of (str, float)
        Strings below a threshold, with their estimates: guesses without any guarantee.
    """

    thing: ClassVar[str] = "string"
    things: ClassVar[str] = "strings"
    digits: ClassVar[str] = ".5f"
    error_digits: ClassVar[str] = ".2g"
    most: ClassVar[int | None] = 100

    value: Array
    standard_error: Array
    users: int
    strings: tuple[str, ...]
    origin: tuple[str, ...]
    reports: int
    population: bool = False
    limits: SupportLimits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    further: tuple[tuple[str, float], ...] = field(default=(), repr=False, compare=False)

    @property
    def is_share(self) -> bool:
        return True

    def _names(self) -> Sequence[str]:
        return self.strings

    def _beside(self) -> Mapping[str, Any]:
        return {"origin": list(self.origin)}

    def interval(self, level: float = 0.95, simultaneous: bool = True) -> tuple[Array, Array]:
        """Return the ends of confidence intervals, by default of all strings at once.

        Parameters
        ----------
        level : float
            In (0, 1).
        simultaneous : bool
            False for the interval of each string alone, which is right for a string that was chosen
            beforehand and too narrow for one that was listed.
        """
        assert self.limits is not None
        limits = self.limits
        if not simultaneous:
            limits = SupportLimits(limits.supports, limits.reports, limits.own, limits.other)
        low, high = limits.ends(tail_of(level))
        return np.minimum(low, self.value), np.maximum(high, self.value)

    def margins(self, level: float = 0.95) -> Array:
        low, high = self.interval(level)
        half: Array = (high - low) / 2.0
        return half

    def tidy(self, level: float = 0.95) -> Columns:
        return super().tidy(level)

    @property
    def other(self) -> float:
        """The estimated share of all answers that are not listed, between 0 and 1."""
        return float(np.clip(1.0 - self.value.sum(), 0.0, 1.0))

    def top(self, count: int) -> tuple[str, ...]:
        """Return the strings with the largest estimates; beyond the listed ones they are guesses.

        Examples
        --------
        >>> from mechdesign.families.hitters import PrefixReports
        >>> mechanism = PrefixReports.of(3.0, "abc", 8, 4, [4, 8], [0.4, 0.6], [0.05, 0.001])
        >>> reports = mechanism.randomize(["abca"] * 600 + ["cc"] * 300 + ["b"] * 100, rng=1)
        >>> mechanism.estimate(reports).top(2)
        ('abca', 'cc')
        """
        listed = [*zip(self.strings, self.value.tolist(), strict=True), *self.further]
        listed.sort(key=lambda entry: -entry[1])
        return tuple(text for text, _ in listed[:count])

    def _about(self) -> Mapping[str, Any]:
        guesses = [[text, share] for text, share in self.further]
        return {**super()._about(), "reports": self.reports, "other": self.other, "guesses": guesses}

    def figures(self) -> list[Figure]:
        """Return the shares with their intervals; nothing where no string is listed."""
        from mechdesign.show.panels import SHARE

        if not self.strings:
            return []
        title = f"Frequent strings of {self.users} reports"
        return self._drawn(title, "string", "share", possible=SHARE)
