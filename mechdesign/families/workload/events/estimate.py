"""Estimated events: the mean number per user of each slot, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import ListedEstimate
from mechdesign.core.text import counted
from mechdesign.show.figure import Figure

if TYPE_CHECKING:
    from mechdesign.collect.intervals import Limits
    from mechdesign.families.workload.events.release import EventRelease

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class EventEstimate(ListedEstimate):
    """Unbiased estimates of the mean number of events of a user, for each slot.

    Attributes
    ----------
    value, standard_error : (m,) array
    users : int
    slots : tuple of str
    population : bool
        False: the truth is the average over the users who reported, and the errors are an upper estimate.
        True: over the population they are drawn from at random.
    mechanism : EventRelease
        The mechanism that made the reports.
    limits : Limits
        What intervals are made from: those of the score test.
    """

    thing: ClassVar[str] = "slot"
    things: ClassVar[str] = "slots"
    estimated: ClassVar[str] = "events per user"
    digits: ClassVar[str] = ".5g"
    most: ClassVar[int | None] = 40

    value: Array
    standard_error: Array
    slots: tuple[str, ...]
    mechanism: EventRelease = field(repr=False, compare=False)
    population: bool = False
    notes: tuple[str, ...] = ()
    limits: Limits | None = field(default=None, repr=False, compare=False)

    def _names(self) -> tuple[str, ...]:
        return self.slots

    @property
    def counts(self) -> Array:
        """The estimated number of events of all users, for each slot."""
        found: Array = np.asarray(self.value) * self.users
        return found

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        return self._drawn(f"Estimated events of {counted(self.users, 'report')}", "slot", "events per user")
