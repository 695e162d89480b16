"""Slots of event counts exchanged: sets of states with all their images, and the best weights of these.

**Images.**
A set of states stands for all its images under exchanges of slots, each equally often. Their mean moment
matrix is block-diagonal. One block is that of the sums over each kind of states; the other, which counts
m - 1 times, is that of the sums over the states of a kind that hold a given number of events in one
slot, less their mean over the slots. The number of an event in each slot lies in these two, so nothing else
is needed.

**One event a user: all patterns, by classes of patterns.**
A pattern gives a report the probability c E or c for each type: no event, and an event in slot 1 .. m. Slots
can be exchanged, so only two numbers of a pattern matter: whether no event has E, and how many slots have.
The patterns of a class share its probability evenly. So the moment matrix M has one eigenvalue on differences
of slots and a block of order 2 on the rest, and the program has 2 (m + 1) weights.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.families.workload.event_counts import OneEventBound
from mechdesign.families.workload.event_states import EventStates, listed_states, partitions
from mechdesign.families.workload.linear_queries import RIDGE
from mechdesign.families.workload.patterns import Array, Sets, columns_of
from mechdesign.solvers.interior import Minimised, ProgramState, minimised
from mechdesign.solvers.linear import solve_equality_form

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
        membership = (self.kinds == np.arange(len(self.states.kinds))[:, None]).astype(np.float64)
        return np.asarray(membership / np.sqrt(membership.sum(axis=1, keepdims=True)))

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
        images = []
        for arranged in arrangements(labels.tolist()):
            # the slot that had label l goes where label l is now, the first one to the first
            moved = np.empty(self.states.slots + 1, dtype=np.int64)
            moved[np.argsort(labels, kind="stable")] = np.argsort(np.array(arranged), kind="stable")
            moved[-1] = self.states.slots
            image = np.empty(len(states), dtype=bool)
            image[table[np.sort(moved[padded], axis=1) @ powers]] = states
            images.append(image)
        return np.unique(np.array(images), axis=0)


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
    labels = []
    for parts in partitions(slots):
        if arrangement_count(parts) <= most:
            labels.append(np.repeat(np.arange(len(parts)), parts))
    return labels


def arrangement_count(parts: Sequence[int]) -> int:
    """Return the number of orders of labels that occur so often each."""
    return math.factorial(sum(parts)) // math.prod(map(math.factorial, parts))


@dataclass(frozen=True, eq=False)
class ExchangedUsers:
    """What the program and the prices need to know of the users.

    Attributes
    ----------
    exchanges : Exchanges
    shares : (n,) array
    power : float
        E = e^epsilon.
    """

    exchanges: Exchanges
    shares: Array
    power: float

    @cached_property
    def ones(self) -> Array:
        """The states all alike, in coordinates of the kinds."""
        return self.exchanges.plain @ np.ones(len(self.shares))

    @cached_property
    def centered(self) -> tuple[Array, Array]:
        """The events of a slot less their mean, in coordinates: the sum over slots, and the rest."""
        total, rest = self.exchanges.counted
        mean = float((self.exchanges.plain @ self.shares) @ total)
        return total - mean * self.ones, rest

    def columns(self, sets: Sets) -> Array:
        """Return the patterns z with pi.z = 1."""
        columns = columns_of(sets, self.power)
        scaled: Array = columns / (columns @ self.shares)[:, None]
        return scaled


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of the moment matrix: that of each set, the Gram matrix, and how often it counts."""

    moments: Array
    gram: Array
    times: float


class ExchangedMaster:
    """The program min tr(G M(w)^-1), sum w z = 1, with M and z averaged over all images.

    Parameters
    ----------
    users : ExchangedUsers
    sets : (K, n) array of bool
    """

    def __init__(self, users: ExchangedUsers, sets: Sets) -> None:
        slots = users.exchanges.states.slots
        columns = users.columns(sets)
        plain = columns @ users.exchanges.plain.T
        total, rest = users.centered
        grams = np.outer(total, total) / slots, np.outer(rest, rest)
        trace = float(np.trace(grams[0])) + (slots - 1.0) * float(np.trace(grams[1]))
        level = RIDGE * trace / len(users.shares)  # as for linear queries: all states can be told
        moments = np.einsum("ka,kb->kab", plain, plain), slotwise_moments(users.exchanges, columns)
        self.blocks = [
            _Block(moment, gram + level * np.eye(len(gram)), times)
            for moment, gram, times in zip(moments, grams, (1.0, slots - 1.0), strict=True)
        ]
        self.left, self.right = plain.T, users.ones

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature at these weights; None where M is singular."""
        value, slopes, inverses, turned = 0.0, np.zeros(len(weights)), [], []
        for block in self.blocks:
            try:
                factor = np.linalg.cholesky(np.einsum("k,kab->ab", weights, block.moments))
            except np.linalg.LinAlgError:
                return None
            root = np.linalg.solve(factor, np.eye(len(factor)))
            levels, turn = np.linalg.eigh(root @ block.gram @ root.T)
            inverse = root.T @ root
            value += block.times * float(np.sum(block.gram * inverse))
            slopes -= block.times * np.einsum("kab,ab->k", block.moments, inverse @ block.gram @ inverse)
            inverses.append(inverse)
            turned.append((block, root.T @ turn, levels))
        return ProgramState(value, slopes, partial(_factor, turned), inverses)

    def best_weights(self, accuracy: float) -> Minimised:
        """Return the best weights, the multipliers of the sums, and the inverses of both blocks."""
        return minimised(self, len(self.left[0]), accuracy)


def slotwise_moments(exchanges: Exchanges, columns: Array) -> Array:
    """Return the blocks of mean moment matrices that are about single slots, one for each column."""
    held = np.einsum("asn,kn->kas", exchanges.slotwise, columns)
    moments: Array = np.einsum("kas,kbs->kab", held, held) / (exchanges.states.slots - 1.0)
    return moments


def _factor(turned: list[tuple[_Block, Array, Array]]) -> Array:
    """Return F with F'F the Hessian, as in :mod:`mechdesign.families.workload.master`."""
    factors = []
    for block, turn, levels in turned:
        first, last = np.triu_indices(len(levels))
        scale = np.sqrt(block.times * np.maximum(levels[first] + levels[last], 0.0))
        scale *= np.where(first == last, 1.0, math.sqrt(2.0))
        moved = np.einsum("ai,kab,bj->kij", turn, block.moments, turn, optimize=True)
        factors.append((moved[:, first, last] * scale).T)
    return np.vstack(factors)


ALL = 2_500
"""Up to this many sets all are taken."""

TRIES = 6


def balanced_sets(slots: int, size: int) -> tuple[Sets, Array]:
    """Return sets of ``size`` slots with weights that sum to 1: all sets, or few with the same balance.

    The few are base sets with all their rotations, so that each slot is in equally many. How often two slots
    are in a set together then depends on their distance alone, and a linear program finds weights of base
    sets at which it is the same for every distance: at most one set more than there are distances.

    Examples
    --------
    >>> sets, weights = balanced_sets(30, 11)
    >>> together = (sets * weights[:, None]).T.astype(float) @ sets
    >>> len(sets) <= 30 * 16, bool(np.ptp(together[~np.eye(30, dtype=bool)]) < 1e-9)
    (True, True)
    """
    if math.comb(slots, size) <= ALL:
        rows = [list(chosen) for chosen in itertools.combinations(range(slots), size)]
        sets = np.zeros((len(rows), slots), dtype=bool)
        for number, row in enumerate(rows):
            sets[number, row] = True
        return sets, np.full(len(rows), 1.0 / len(rows))
    rng = np.random.default_rng(0)
    distances = slots // 2
    for attempt in range(TRIES):
        bases = np.argsort(rng.random((distances << (attempt + 2), slots)), axis=1) < size
        counts = np.array(
            [(bases & np.roll(bases, step, axis=1)).sum(axis=1) for step in range(1, distances + 1)]
        )
        even = np.full(distances, size * (size - 1) / (slots - 1.0))
        equations, limits = np.vstack([counts, np.ones(len(bases))]), np.append(even, 1.0)
        try:
            amounts, _ = solve_equality_form(-rng.random(len(bases)), equations, limits)
        except MethodError:  # the sets that were drawn are all too close together, or too far apart
            continue
        used = amounts > 1e-12
        sets = np.vstack([np.roll(bases[used], turn, axis=1) for turn in range(slots)])
        return sets, np.tile(amounts[used] / amounts[used].sum() / slots, slots)
    raise MethodError("event-counts", f"no balanced sets of {size} out of {slots} slots were drawn")


ACCURACY = 1e-11


@dataclass(frozen=True, eq=False)
class PatternClasses:
    """The best weights of the classes of patterns.

    Attributes
    ----------
    none : (K,) bool array
        Whether a report of the class is more likely without an event.
    inside : (K,) int array
        For how many slots it is more likely.
    chances : (K,) array
        How likely a report of the class is, averaged over the users.
    bound : OneEventBound
        The numbers that prove that no report is better.
    """

    none: NDArray[np.bool_]
    inside: NDArray[np.int64]
    chances: Array
    bound: OneEventBound


class _Program:
    """Minimise (m - 1)/l + tr(G M^-1) over the weights of the classes, l and M linear in them."""

    def __init__(self, slots: int, prior: Array, power: float) -> None:
        inside = np.tile(np.arange(slots + 1), 2)
        none = np.repeat([False, True], slots + 1)
        tells = (inside > 0) & (inside < slots) | (none != (inside == slots))
        self.none, self.inside = none[tells], inside[tells]
        first = np.where(self.none, power, 1.0)
        size = slots + (power - 1.0) * self.inside
        chance = prior[0] * first + prior[1] / slots * size
        self.slots = slots
        self.even = np.stack([first, size / math.sqrt(slots)], axis=1) / chance[:, None]  # (K, 2)
        apart = (power - 1.0) ** 2 * self.inside * (slots - self.inside)
        self.spread = apart / (slots * max(slots - 1, 1)) / chance**2
        self.asked = np.array([-prior[1] / slots, prior[0] / math.sqrt(slots)])
        self.gram = slots * np.outer(self.asked, self.asked)
        self.left = self.even.T.copy()
        self.right = np.array([1.0, math.sqrt(slots)])

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature; None where some count is not determined."""
        level = float(self.spread @ weights)
        moment = (self.even * weights[:, None]).T @ self.even
        if level <= 0.0 or np.linalg.det(moment) <= 0.0:
            return None
        inverse = np.linalg.inv(moment)
        sandwich = inverse @ self.gram @ inverse
        value = (self.slots - 1) / level + float(np.sum(self.gram * inverse))
        slopes = -(self.slots - 1) / level**2 * self.spread
        slopes = slopes - np.einsum("ki,ij,kj->k", self.even, sandwich, self.even)
        return ProgramState(value, slopes, partial(self._factor, level, inverse), [inverse])

    def _factor(self, level: float, inverse: Array) -> Array:
        """Return F with F'F the Hessian: 2 (z S z')(z M^-1 z') of two classes, S of rank 1."""
        root = np.linalg.cholesky(inverse)
        sharp = self.even @ inverse @ self.asked * math.sqrt(self.slots)
        rows = math.sqrt(2.0) * sharp[:, None] * (self.even @ root)
        apart = math.sqrt(2.0 * (self.slots - 1) / level**3) * self.spread
        return np.vstack([rows.T, apart])


def best_classes(slots: int, prior: Array, epsilon: float) -> PatternClasses:
    """Return the best weights of all classes of patterns, with the numbers of their bound.

    Parameters
    ----------
    slots : int
    prior : (2,) array
        Shares of users without and with an event.
    epsilon : float
    """
    program = _Program(slots, prior, math.exp(epsilon))
    best = minimised(program, len(program.none), ACCURACY)
    (inverse,) = best.state.more
    level = float(program.spread @ best.weights)
    ahead = inverse @ program.asked
    b1 = 1.0 / level
    b2 = float(ahead[1]) / math.sqrt(slots) - b1 / slots
    mu = -best.multiplier
    bound = OneEventBound(
        slots,
        (float(prior[0]), float(prior[1])),
        (float(ahead[0]), b1, b2),
        (float(mu[0]), float(mu[1]) / math.sqrt(slots)),
    )
    return PatternClasses(program.none, program.inside, best.weights, bound)
