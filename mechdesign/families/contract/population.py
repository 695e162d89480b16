"""Privacy preferences and the number of users with each, in the order that the theory needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.noise import noise_of
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import counted
from mechdesign.core.validation import finite_array, in_range, integer
from mechdesign.exact.numbers import plain

Array = NDArray[np.float64]

MAX_TYPES = 100_000_000

MOST_SPREAD = 1e12
"""Types further apart than this factor could not all get an epsilon on one exact grid."""

LEAST, MOST = 1e-30, 1e30
"""Types, users and money outside these are refused: choose other units."""


@dataclass(frozen=True, eq=False)
class Population:
    """Strictly increasing types with positive counts, and notes on what was done to get there.

    Attributes
    ----------
    types, counts, cost : (k,) array
        Privacy preference, users, and participation cost a user of each type.
    notes : tuple of str
        One sentence for each of: sorted, merged, dropped.
    """

    types: Array
    counts: Array
    cost: Array
    notes: tuple[str, ...] = ()

    @property
    def users(self) -> float:
        """Number of users."""
        return float(self.counts.sum())

    @property
    def cumulative(self) -> Array:
        """Number of users of each type and all lower ones."""
        return np.cumsum(self.counts)

    def first(self, size: int) -> Population:
        """Return the population of the lowest types only."""
        return Population(self.types[:size], self.counts[:size], self.cost[:size], self.notes)


def population(types: Array, counts: float | Array, cost: float | Array) -> Population:
    """Sort the types, merge equal ones, drop those that nobody has; say so in notes.

    Examples
    --------
    >>> people = population(np.array([2.0, 1.0, 2.0, 3.0]), np.array([5.0, 4.0, 1.0, 0.0]), 0.0)
    >>> people.types, people.counts
    (array([1., 2.]), array([4., 6.]))
    >>> for note in people.notes: print(note)
    types: were not increasing; sorted, and the variables are in that order
    types: 1 repeated type merged with its equals (counts added)
    counts: 1 type without users dropped (3)
    """
    size = len(types)
    users = np.full(size, counts / size) if isinstance(counts, float) else counts
    costs = np.full(size, cost) if isinstance(cost, float) else cost
    notes = []
    if (np.diff(types) < 0).any():
        order = np.argsort(types, kind="stable")
        types, users, costs = types[order], users[order], costs[order]
        notes.append("types: were not increasing; sorted, and the variables are in that order")
    starts = np.flatnonzero(np.diff(types, prepend=-np.inf))
    if len(starts) < size:
        merged = size - len(starts)
        highest, lowest = np.maximum.reduceat(costs, starts), np.minimum.reduceat(costs, starts)
        if (highest > lowest).any():
            text = types[starts[int(np.argmax(highest > lowest))]]
            raise ParameterError(
                "participation_cost",
                f"differs between users of the same type {text:g}",
                "give equal types equal costs",
            )
        types, users, costs = types[starts], np.add.reduceat(users, starts), costs[starts]
        notes.append(
            f"types: {merged} repeated type{'s' if merged > 1 else ''} merged with "
            f"{_their(merged)} equals (counts added)"
        )
    present = users > 0
    if not present.all():
        gone = types[~present]
        text = ", ".join(f"{theta:g}" for theta in gone[:5]) + (", ..." if len(gone) > 5 else "")
        notes.append(f"counts: {len(gone)} type{'s' if len(gone) > 1 else ''} without users dropped ({text})")
        types, users, costs = types[present], users[present], costs[present]
    if not len(types):
        raise ParameterError("counts", "are all zero", "give at least one type some users")
    return Population(types, users, costs, tuple(notes))


def _their(count: int) -> str:
    return "their" if count > 1 else "its"


def checked_types(value: Any) -> Array:
    """Return finite types > 0, or name the entry that is not."""
    types = finite_array("types", value, 1)
    if (types <= 0).any():
        where = int(np.argmax(types <= 0))
        raise ParameterError(
            "types",
            f"entry {where} ({types[where]:g}) is not positive",
            "a privacy preference is a price above 0",
        )
    with np.errstate(over="ignore"):
        spread = float(types.max() / types.min())
    if spread > MOST_SPREAD:
        raise ParameterError(
            "types", f"span a factor of {spread:.3g}, more than {MOST_SPREAD:g}", "leave the extremes out"
        )
    return of_sane_size("types", types)


def of_sane_size(field: str, array: Array) -> Array:
    """Return the array, or name the entry that is neither 0 nor of a size that products of it can bear."""
    strange = ((array < LEAST) & (array != 0)) | (array > MOST)
    if strange.any():
        where = int(np.argmax(strange))
        raise ParameterError(
            field, f"entry {where} ({array[where]:g}) is outside [{LEAST:g}, {MOST:g}]", "use other units"
        )
    return array


def checked_amount(field: str, value: Any) -> float:
    """Return a number > 0 of a sane size."""
    amount = in_range(field, value, 0.0, np.inf, low_open=True, high_open=True)
    if not LEAST <= amount <= MOST:
        raise ParameterError(field, f"{amount:g} is outside [{LEAST:g}, {MOST:g}]", "use other units")
    return amount


def checked_floor(field: str, value: Any) -> float:
    """Return a number >= 0 that is not beyond any sane size."""
    return in_range(field, value, 0.0, MOST)


def checked_noise(field: str, value: Any) -> Any:
    """Return the name or the table of a noise as it was given, once it is known to name one."""
    noise_of(value)
    return value


def checked_counts(value: Any, size: int) -> float | Array:
    """Return a number of users in all, to be spread equally, or one count >= 0 a type."""
    if plain(value) is not None:
        return checked_amount("counts", value)
    return _one_a_type("counts", finite_array("counts", value, 1), size)


def checked_cost(value: Any, size: int) -> float | Array:
    """Return one participation cost >= 0 for all, or one a type."""
    if plain(value) is not None:
        return checked_floor("participation_cost", value)
    return _one_a_type("participation_cost", finite_array("participation_cost", value, 1), size)


def _one_a_type(field: str, array: Array, size: int) -> Array:
    if len(array) != size:
        raise ParameterError(
            field, f"has {counted(len(array), 'entry')} for {size} types", "give one per type"
        )
    if (array < 0).any():
        where = int(np.argmax(array < 0))
        raise ParameterError(field, f"entry {where} ({array[where]:g}) is negative", "give numbers >= 0")
    return of_sane_size(field, array)


def uniform_types(low: float, high: float, size: int) -> Array:
    """Return equally spaced types from low to high, both included.

    Examples
    --------
    >>> uniform_types(5.0, 15.0, 5)
    array([ 5. ,  7.5, 10. , 12.5, 15. ])
    """
    bottom = in_range("types.low", low, 0.0, MOST, low_open=True)
    top = in_range("types.high", high, bottom, MOST)
    return np.linspace(bottom, top, integer("types.size", size, 1, MAX_TYPES))


def midpoint_types(low: float, high: float, size: int) -> Array:
    """Return the middles of equal cells of [low, high].

    Examples
    --------
    >>> midpoint_types(0.0, 1.0, 4)
    array([0.125, 0.375, 0.625, 0.875])
    """
    bottom = in_range("types.low", low, 0.0, MOST)
    top = in_range("types.high", high, bottom, MOST, low_open=True)
    cells = integer("types.size", size, 1, MAX_TYPES)
    return bottom + (top - bottom) * (np.arange(cells) + 0.5) / cells


TYPE_GENERATORS: Mapping[str, Callable[..., Any]] = {"uniform": uniform_types, "midpoints": midpoint_types}
