"""The best set of winners of a slot, with Vickrey-Clarke-Groves payments.

A winner is paid the largest price at which the best set would still have it: what the others' best value
without it exceeds the others' value with it, counted back into money. That is truthful only where both sets
are the best ones, so no solver is believed: by integer programming a set is proposed, and whole numbers prove
it (:mod:`mechdesign.solvers.covering`); in small slots dynamic programming needs no proposal. A set that is
not proven is not used: the slot is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.auction.greedy import Award, Covering, covering_choices, preselected, remaining
from mechdesign.families.auction.slot_rules import MOST_UNITS, Slot
from mechdesign.solvers.covering import TooManyStepsError, least_cover
from mechdesign.solvers.integer import BinaryProgram, solve_binary


@dataclass(frozen=True)
class Best:
    """The best users found besides those who win anyway, and their weight."""

    users: tuple[int, ...]
    weight: int


Cover = Callable[[Slot, Sequence[int], Sequence[int]], Best | None]
"""``cover(slot, needs, candidates)``: the users of least weight who cover what is needed, proven; or None."""

MOST_ENTRIES = 20_000
"""Users times tasks of a slot that is decided by integer programs; each winner costs one more."""

MOST_PROVEN = 300_000
"""Steps that the proofs of one slot may take together, some ten seconds' worth."""


class Proven:
    """Best covers of one slot: proposed by greedy and integer program, proven in integers.

    Parameters
    ----------
    most : int
        Steps that all proofs together may take.
    proposing : bool
        Whether the integer program is asked. The answer does not depend on it, only the time it takes.
    """

    def __init__(self, most: int = MOST_PROVEN, proposing: bool = True) -> None:
        self.left, self.proposing = most, proposing

    def __call__(self, slot: Slot, needs: Sequence[int], candidates: Sequence[int]) -> Best | None:
        """Return the best cover; None where the candidates cannot cover what is needed.

        Raises
        ------
        MethodError
            When the proof takes too many steps: payments for sets that are not proven would not be critical.
        """
        if not any(needs):
            return Best((), 0)
        open_tasks = np.asarray(needs) > 0
        useful = [user for user in candidates if slot.able[user, open_tasks].any()]
        able, limits = slot.able[useful][:, open_tasks], np.asarray(needs)[open_tasks]
        if (able.sum(axis=0) < limits).any():
            return None
        weights = [slot.weights[user] for user in useful]
        proposals = [_greedy_cover(slot, needs, useful)]
        if self.proposing:
            proposals += _proposed(slot, needs, useful)
        known = min(proposals, key=lambda places: sum(weights[place] for place in places))
        try:
            cover = least_cover(weights, able, limits.tolist(), known, self.left)
        except TooManyStepsError:
            raise MethodError(
                "rule 'milp'",
                f"the best winners are not proven within {MOST_PROVEN} steps, and payments would not be "
                "critical",
                REMEDY,
            ) from None
        self.left -= cover.steps
        return Best(tuple(useful[place] for place in cover.users), cover.weight)


REMEDY = "ask for fewer tasks in this slot, or use rule 'greedy'"
"""What to do about a slot that a rule refuses for its size."""


def _greedy_cover(slot: Slot, needs: Sequence[int], users: Sequence[int]) -> list[int]:
    """Return the places of users whom the greedy rule takes."""
    weights = np.full(slot.users, np.inf)
    weights[list(users)] = [slot.weights[user] / slot.scale for user in users]
    place = {user: number for number, user in enumerate(users)}
    return [place[stage.user] for stage in covering_choices(Covering(slot, needs, weights))]


def _proposed(slot: Slot, needs: Sequence[int], users: Sequence[int]) -> list[list[int]]:
    """Return the places of the users whom the integer program takes, if they cover what is needed."""
    program, _ = _program_of(slot, needs, users)
    result = solve_binary(program)
    there = result.status in ("optimal", "feasible")
    if not there or (program.rows @ result.variables < program.limits).any():
        return []
    return [np.flatnonzero(result.variables).tolist()]


MOST_STATES = 100_000
"""Steps of dynamic programming: users times states of what is still needed."""


def _states(slot: Slot) -> int:
    """Return how many steps dynamic programming would take."""
    result = slot.users
    for need in slot.requirements.tolist():
        result *= need + 1
    return result


def best_cover_exactly(slot: Slot, needs: Sequence[int], candidates: Sequence[int]) -> Best | None:
    """Return the users of least weight who cover what is needed, by dynamic programming alone.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.families.auction.slot_rules import slot_of
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
    entry = best.get((0,) * len(needs))
    return None if entry is None else Best(entry[1], entry[0])


def too_many_states(slot: Slot) -> str:
    """Return why dynamic programming is not for this slot; empty if it is."""
    count = _states(slot)
    if count <= MOST_STATES:
        return ""
    return f"{_size(count)} steps of dynamic programming are more than {MOST_STATES}; {REMEDY}"


def too_many_entries(slot: Slot) -> str:
    """Return why integer programs are not for this slot; empty if they are."""
    count = slot.users * int((slot.requirements > 0).sum())
    if count <= MOST_ENTRIES:
        return ""
    return f"{count} users times tasks are more than {MOST_ENTRIES}; {REMEDY}"


def _size(count: int) -> str:
    return str(count) if count < 10**15 else f"about 2^{count.bit_length() - 1}"


class Auctioneer:
    """The best sets of a slot with and without each winner, each solved once."""

    def __init__(self, slot: Slot, cover: Cover) -> None:
        self.slot, self.cover = slot, cover
        self.ahead = preselected(slot)
        self.needs = remaining(slot, self.ahead)
        ahead = set(self.ahead)
        self.candidates = [user for user in slot.admitted.nonzero()[0].tolist() if user not in ahead]
        self._without: dict[int, Best | None] = {}
        best = cover(slot, self.needs, self.candidates)
        if best is None:
            raise MethodError("best winners", "no user is left for an open task", "find more users first")
        self.best = best

    def without(self, user: int) -> Best | None:
        """Return the best users besides those ahead, when this user is not there."""
        if user not in self._without:
            needs = remaining(self.slot, (other for other in self.ahead if other != user))
            left = [other for other in self.candidates if other != user]
            self._without[user] = self.cover(self.slot, needs, left)
        return self._without[user]

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
        winners = (*self.ahead, *self.best.users)
        return Award(winners, tuple(self.price(user) for user in winners))

    def paid(self, user: int) -> int | None:
        """Return the payment of a user; None if it does not win."""
        return self.price(user) if user in (*self.ahead, *self.best.users) else None


def untied(slot: Slot) -> Slot:
    """Return the slot with weights on a finer scale, on which no two sets of users weigh the same.

    Of 2^n parts of a unit of weight, the users 0, 1, 2, ... are spared 2^(n-1), 2^(n-2), 2^(n-3), ...: less
    than a unit together, and different for all sets. So of equal sets the first one is the best, nobody's
    weight meets its critical one, and a user wins if and only if it asks no more than it is paid.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.families.auction.slot_rules import slot_of
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
    """Return the best winners of a slot that has no obstacle, and their payments: proposed, then proven.

    Winners and payments are those of :func:`award_exactly`, for larger slots as well.

    Raises
    ------
    MethodError
        When the proofs take too many steps.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.families.auction.slot_rules import slot_of
    >>> able = np.array([[True, True], [True, False], [False, True]])
    >>> slot = slot_of([3, 2, 2], able, np.array([1, 1]), 1.0, [Fraction(0)] * 3)
    >>> award(slot)
    Award(winners=(0,), payments=(4,))
    """
    return Auctioneer(untied(slot), Proven()).award()


def _program_of(
    slot: Slot, needs: Sequence[int], candidates: Sequence[int]
) -> tuple[BinaryProgram, list[int]]:
    """Return the covering program of what is needed, and the users that its variables stand for."""
    from scipy.sparse import csr_array

    limits = np.asarray(needs, dtype=np.float64)
    open_tasks = limits > 0
    useful = [user for user in candidates if slot.able[user, open_tasks].any()]
    rows = csr_array(slot.able[useful][:, open_tasks].T.astype(np.float64))
    costs = np.array([slot.weights[user] / slot.scale for user in useful])
    return BinaryProgram(costs, rows, limits[open_tasks], np.zeros(len(useful), dtype=np.bool_)), useful


def objective_lower_bound(slot: Slot, winners: Iterable[int], nodes: int = 1) -> float:
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
    from mechdesign.solvers.covering import branch

    ahead = preselected(slot)
    taken = set(ahead)
    base = sum(slot.weights[user] for user in ahead) / slot.scale
    needs = remaining(slot, ahead)
    left = [user for user in slot.admitted.nonzero()[0].tolist() if user not in taken]
    if not any(needs):
        return float(np.nextafter(base, -np.inf))
    program, useful = _program_of(slot, needs, left)
    chosen = set(winners)
    incumbent = np.array([user in chosen for user in useful], dtype=np.bool_)
    bound = base + branch(program, incumbent, nodes).bound
    return bound - 4.0 * float(np.spacing(abs(base) + abs(bound)))
