"""Exchanging slots: sets of states, their images, and the moments that are the same for all of these.

A set of states stands for all its images under exchanges of slots, each equally often. Their mean moment
matrix is block-diagonal. One block is that of the sums over each kind of states; the other, which counts
m - 1 times, is that of the sums over the states of a kind that hold so many events in one slot, less their
mean over the slots. The number of an event in each slot lies in these two, so nothing else is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.audit.event_classes import EventStates, partitions
from mechdesign.families.workload.events.weights import listed_states
from mechdesign.families.workload.value import Array, Sets

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Exchanges:
    """The states of users with several events, and how exchanges of slots move them.

    Examples
    --------
    >>> exchanges = Exchanges(EventStates(4, 2))
    >>> exchanges.plain.shape, exchanges.slotwise.shape  # four kinds; three pairs of a kind and a number
    ((4, 15), (3, 4, 15))
    >>> one = np.zeros(15, dtype=bool)
    >>> one[1] = True  # one event, in the first slot
    >>> exchanges.images(one, np.array([1, 0, 0, 0])).sum(axis=0).tolist()[:6]
    [0, 1, 1, 1, 1, 0]
    """

    states: EventStates

    @cached_property
    def _listed(self) -> list[tuple[int, ...]]:
        return listed_states(self.states)

    @cached_property
    def events(self) -> Codes:
        """The events of each state in each slot, (n, m)."""
        slots = self.states.slots
        return np.array(
            [np.bincount(np.array(state, dtype=np.int64), minlength=slots) for state in self._listed]
        )

    @cached_property
    def kinds(self) -> Codes:
        """The kind of each state."""
        places = {kind: number for number, kind in enumerate(self.states.kinds)}
        ordered = -np.sort(-self.events, axis=1)
        return np.array([places[tuple(row[row > 0].tolist())] for row in ordered])

    @cached_property
    def plain(self) -> Array:
        """Orthonormal vectors of the kinds, (kinds, n)."""
        found = (self.kinds == np.arange(len(self.states.kinds))[:, None]).astype(np.float64)
        return np.asarray(found / np.sqrt(found.sum(axis=1, keepdims=True)))

    @cached_property
    def slotwise(self) -> Array:
        """Orthonormal maps from states to slots, with a sum of 0 over the slots: (maps, m, n)."""
        pairs = [pair for pair in self.states.pairs if pair[1] > 0]
        maps = np.array([((self.events == held) & (self.kinds == kind)[:, None]).T for kind, held in pairs])
        centered = maps - maps.mean(axis=1, keepdims=True)
        gram = np.einsum("asn,bsn->ab", centered, centered) / (self.states.slots - 1)
        root = np.linalg.cholesky(gram)
        return np.asarray(np.linalg.solve(root, centered.reshape(len(pairs), -1)).reshape(centered.shape))

    @cached_property
    def counted(self) -> tuple[Array, Array]:
        """The number of an event in a slot in coordinates: the sum over all slots, and the rest."""
        total, rows = self.events.sum(axis=1).astype(np.float64), self.events.T.astype(np.float64)
        rest = np.einsum("asn,sn->a", self.slotwise, rows) / (self.states.slots - 1)
        return self.plain @ total, np.asarray(rest)

    @cached_property
    def _places(self) -> tuple[Codes, Codes]:
        """The slots of each state, filled up with one slot more; and the state of each such list."""
        most, base = self.states.most, self.states.slots + 1
        padded = np.full((len(self._listed), most), base - 1)
        for number, state in enumerate(self._listed):
            padded[number, : len(state)] = state
        table = np.full(base**most, -1)
        table[padded @ base ** np.arange(most)] = np.arange(len(padded))
        return padded, table

    def images(self, states: Sets, labels: Codes) -> Sets:
        """Return the images of a set whose slots with the same label can be exchanged without effect."""
        padded, table = self._places
        powers = (self.states.slots + 1) ** np.arange(self.states.most)
        found = []
        for arranged in arrangements(labels.tolist()):
            # the slot that had label l goes where label l is now, the first one to the first
            moved = np.empty(self.states.slots + 1, dtype=np.int64)
            moved[np.argsort(labels, kind="stable")] = np.argsort(np.array(arranged), kind="stable")
            moved[-1] = self.states.slots
            image = np.empty(len(states), dtype=bool)
            image[table[np.sort(moved[padded], axis=1) @ powers]] = states
            found.append(image)
        return np.unique(np.array(found), axis=0)


def arrangements(labels: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the different orders of labels, some of which are the same.

    Examples
    --------
    >>> list(arrangements([1, 0, 0]))
    [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    """
    left = {label: labels.count(label) for label in sorted(set(labels))}

    def rest(length: int) -> Iterator[tuple[int, ...]]:
        if length == 0:
            yield ()
            return
        for label in left:
            if left[label]:
                left[label] -= 1
                yield from ((label, *others) for others in rest(length - 1))
                left[label] += 1

    return rest(len(labels))


def groupings(slots: int, most: int) -> list[Codes]:
    """Return the labels of slots by which at most so many arrangements of them are different.

    Examples
    --------
    >>> [labels.tolist() for labels in groupings(4, 6)]
    [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]]
    """
    found = []
    for parts in partitions(slots):
        if arrangement_count(parts) <= most:
            found.append(np.repeat(np.arange(len(parts)), parts))
    return found


def arrangement_count(parts: Sequence[int]) -> int:
    """Return the number of orders of labels that occur so often each."""
    return math.factorial(sum(parts)) // math.prod(map(math.factorial, parts))
