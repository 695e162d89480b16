"""Estimates of frequencies, with their errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import ListedEstimate
from mechdesign.core.text import counted

if TYPE_CHECKING:
    from mechdesign.collect.intervals import Limits
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]


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

    value: Array
    standard_error: Array
    categories: tuple[str, ...]
    population: bool = False
    covariance: Array | None = None
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()
    reported: Array | None = field(default=None, repr=False, compare=False)

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
