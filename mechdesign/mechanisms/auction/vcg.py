"""The best set of winners of a slot, with Vickrey-Clarke-Groves payments.

A winner is paid the largest price at which the best set would still have it: what the others' best value
without it exceeds the others' value with it, counted back into money. Weights are summed in whole numbers,
so a payment is exact for the sets that were found. By integer programming it is the solver's word that
those are the best ones; by dynamic programming, for small slots, it is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.mechanisms.auction.greedy import Award, preselected, remaining
from mechdesign.mechanisms.auction.slot import MOST_UNITS, Slot
from mechdesign.solvers.integer import BinaryProgram, solve_binary


@dataclass(frozen=True)
class Best:
    """The best users found besides those who win anyway, and their weight."""

    users: tuple[int, ...]
    weight: int


def best_cover(slot: Slot, needs: Sequence[int], candidates: Sequence[int]) -> Best | None:
    """Return the users of least weight who cover what is needed; None where the candidates cannot.

    Raises
    ------
    MethodError
        When the solver ends without an answer, or stops at its limit: payments from half-solved programs
        would not be critical.
    """
    if not any(needs):
        return Best((), 0)
    program, useful = program_of(slot, needs, candidates)
    if (program.rows.sum(axis=1) < program.limits).any():
        return None
    result = solve_binary(program)
    if result.status == "feasible":
        raise MethodError(
            "integer program of a slot: the solver stopped at its limit, and payments would not be critical; "
            "take the rule 'greedy'"
        )
    if result.status != "optimal":
        raise MethodError(f"integer program of a slot: {result.message}")
    users = tuple(user for user, taken in zip(useful, result.variables.tolist(), strict=True) if taken)
    return Best(users, sum(slot.weights[user] for user in users))


MOST_STATES = 100_000
"""Steps of dynamic programming: users times states of what is still needed."""


def states(slot: Slot) -> int:
    """Return how many steps dynamic programming would take."""
    found = slot.users
    for need in slot.requirements.tolist():
        found *= need + 1
    return found


def best_cover_exactly(slot: Slot, needs: Sequence[int], candidates: Sequence[int]) -> Best | None:
    """Return the same as :func:`best_cover` by dynamic programming over what is still needed, proven.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.mechanisms.auction.slot import slot_of
    >>> able = np.array([[True, True], [True, False], [False, True]])
    >>> slot = slot_of([5, 2, 2], able, np.array([1, 1]), 1.0, [Fraction(0)] * 3)
    >>> best_cover_exactly(slot, [1, 1], [0, 1, 2]) == Best((1, 2), slot.weights[1] + slot.weights[2])
    True
    """
    best: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {tuple(needs): (0, ())}
    for user in candidates:
        weight, tasks = slot.weights[user], slot.able[user].tolist()
        for state, (total, users) in list(best.items()):
            left = tuple(max(0, need - able) for need, able in zip(state, tasks, strict=True))
            if left != state and (left not in best or total + weight < best[left][0]):
                best[left] = (total + weight, (*users, user))
    found = best.get((0,) * len(needs))
    return None if found is None else Best(found[1], found[0])


Cover = Callable[[Slot, Sequence[int], Sequence[int]], Best | None]


class Auctioneer:
    """The best sets of a slot with and without each winner, each solved once."""

    def __init__(self, slot: Slot, cover: Cover = best_cover) -> None:
        self.slot, self.cover = slot, cover
        self.ahead = preselected(slot)
        self.needs = remaining(slot, self.ahead)
        ahead = set(self.ahead)
        self.candidates = [user for user in slot.admitted.nonzero()[0].tolist() if user not in ahead]
        self._without: dict[int, Best | None] = {}
        found = cover(slot, self.needs, self.candidates)
        if found is None:
            raise MethodError(
                "integer program of a slot: nobody is left for an open task; find more users first"
            )
        self.best = found

    def without(self, user: int) -> Best | None:
        """Return the best users besides those ahead, when this user is not there."""
        if user not in self._without:
            needs = remaining(self.slot, (other for other in self.ahead if other != user))
            left = [other for other in self.candidates if other != user]
            self._without[user] = self.cover(self.slot, needs, left)
        return self._without[user]

    def improve(self) -> None:
        """See to it that nobody's absence makes the best set better: then the solver had missed it."""
        for user in self.best.users:
            other = self.without(user)
            if other is not None and other.weight < self.best.weight:
                self.best = other
                self.improve()
                return

    def price(self, user: int) -> int:
        """Return the largest price at which a winner would still have won."""
        slot = self.slot
        limit = MOST_UNITS if slot.reserve is None else slot.reserve
        if user in slot.forced:
            return limit
        other = self.without(user)
        if other is None:
            return limit
        own = slot.weights[user] if user in self.best.users else 0
        critical = other.weight - (self.best.weight - own)
        return min(limit, (critical + slot.offsets[user]) // slot.slope)

    def award(self) -> Award:
        """Return winners and payments."""
        self.improve()
        winners = (*self.ahead, *self.best.users)
        return Award(winners, tuple(self.price(user) for user in winners))

    def paid(self, user: int) -> int | None:
        """Return what a user is paid; None if it does not win."""
        return self.price(user) if user in (*self.ahead, *self.best.users) else None


def untied(slot: Slot) -> Slot:
    """Return the slot with weights on a finer scale, on which no two sets of users weigh the same.

    Of 2^n parts of a unit of weight, the users 0, 1, 2, ... are spared 2^(n-1), 2^(n-2), 2^(n-3), ...: less
    than a unit together, and different for all sets. So of equal sets the first one is the best, nobody's
    weight meets its critical one, and a user wins if and only if it asks no more than it is paid.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.mechanisms.auction.slot import slot_of
    >>> slot = slot_of([3, 3], np.array([[True], [True]]), np.array([1]), 1.0, [Fraction(0)] * 2)
    >>> slot.weights, untied(slot).weights
    ((3, 3), (10, 11))
    """
    users = slot.users
    offsets = tuple((off << users) + (1 << users - 1 - user) for user, off in enumerate(slot.offsets))
    return replace(slot, slope=slot.slope << users, offsets=offsets, scale=slot.scale << users)


def award_exactly(slot: Slot) -> Award:
    """Return the best winners of a small slot, proven by dynamic programming, and their payments.

    Of equal sets it takes always the same one, whatever anybody asks (see :func:`untied`).
    """
    return Auctioneer(untied(slot), best_cover_exactly).award()


def award(slot: Slot) -> Award:
    """Return the best winners of a slot that has no obstacle, and their payments.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.mechanisms.auction.slot import slot_of
    >>> able = np.array([[True, True], [True, False], [False, True]])
    >>> slot = slot_of([3, 2, 2], able, np.array([1, 1]), 1.0, [Fraction(0)] * 3)
    >>> award(slot)
    Award(winners=(0,), payments=(4,))
    """
    return Auctioneer(slot).award()


def program_of(
    slot: Slot, needs: Sequence[int], candidates: Sequence[int]
) -> tuple[BinaryProgram, list[int]]:
    """Return the covering program of what is needed, and the users that its variables stand for."""
    from scipy.sparse import csr_array

    limits = np.asarray(needs, dtype=np.float64)
    wanted = limits > 0
    useful = [user for user in candidates if slot.able[user, wanted].any()]
    rows = csr_array(slot.able[useful][:, wanted].T.astype(np.float64))
    costs = np.array([slot.weights[user] / slot.scale for user in useful])
    return BinaryProgram(costs, rows, limits[wanted], np.zeros(len(useful), dtype=np.bool_)), useful


def lower_bound(slot: Slot, winners: Iterable[int], nodes: int = 1) -> float:
    """Return a proven lower bound of the objective: the linear relaxation, or better with more nodes.

    Users without a positive weight are in some best set; the rest is a covering program.

    Parameters
    ----------
    slot : Slot
    winners : iterable of int
        Users who cover everything.
    nodes : int
        Linear programs that may be solved.
    """
    from mechdesign.solvers.branch import branch

    ahead = preselected(slot)
    taken = set(ahead)
    base = sum(slot.weights[user] for user in ahead) / slot.scale
    needs = remaining(slot, ahead)
    left = [user for user in slot.admitted.nonzero()[0].tolist() if user not in taken]
    if not any(needs):
        return float(np.nextafter(base, -np.inf))
    program, useful = program_of(slot, needs, left)
    chosen = set(winners)
    incumbent = np.array([user in chosen for user in useful], dtype=np.bool_)
    bound = base + branch(program, incumbent, nodes).bound
    return bound - 4.0 * float(np.spacing(abs(base) + abs(bound)))
