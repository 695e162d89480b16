"""The best set of winners of a slot by integer programming, with Vickrey-Clarke-Groves payments.

A winner is paid the largest price at which the best set would still have it: what the others' best value
without it exceeds the others' value with it, counted back into money. Weights are summed in whole numbers, so a
payment is exact for the sets that the solver found; whether those are the best ones is the solver's word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.mechanisms.auction.greedy import Award, preselected, remaining
from mechdesign.mechanisms.auction.slot import MOST_UNITS, Slot


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
        When the solver ends without an answer.
    """
    from scipy.sparse import csr_array

    from mechdesign.solvers.integer import BinaryProgram, solve_binary

    limits = np.asarray(needs, dtype=np.float64)
    wanted = limits > 0
    if not wanted.any():
        return Best((), 0)
    useful = [user for user in candidates if slot.able[user, wanted].any()]
    rows = slot.able[useful][:, wanted].T
    if (rows.sum(axis=1) < limits[wanted]).any():
        return None
    costs = np.array([slot.weights[user] / slot.scale for user in useful])
    program = BinaryProgram(
        costs, csr_array(rows.astype(np.float64)), limits[wanted], np.zeros(len(useful), dtype=np.bool_)
    )
    result = solve_binary(program)
    if result.status not in ("optimal", "feasible"):
        raise MethodError(f"integer program of a slot: {result.message}")
    users = tuple(user for user, taken in zip(useful, result.variables.tolist(), strict=True) if taken)
    return Best(users, sum(slot.weights[user] for user in users))


class Auctioneer:
    """The best sets of a slot with and without each winner, each solved once."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.ahead = preselected(slot)
        self.needs = remaining(slot, self.ahead)
        ahead = set(self.ahead)
        self.candidates = [user for user in slot.admitted.nonzero()[0].tolist() if user not in ahead]
        self._without: dict[int, Best | None] = {}
        found = best_cover(slot, self.needs, self.candidates)
        if found is None:
            raise MethodError("integer program of a slot: nobody is left for an open task; find more users first")
        self.best = found

    def without(self, user: int) -> Best | None:
        """Return the best users besides those ahead, when this user is not there."""
        if user not in self._without:
            needs = remaining(self.slot, (other for other in self.ahead if other != user))
            left = [other for other in self.candidates if other != user]
            self._without[user] = best_cover(self.slot, needs, left)
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


def relaxation(slot: Slot) -> float:
    """Return a proven lower bound of the objective of a slot, from the linear relaxation.

    Users without a positive weight are in some best set; the rest is a covering program over [0, 1].
    """
    from scipy.sparse import csr_array

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    ahead = preselected(slot)
    base = sum(slot.weights[user] for user in ahead) / slot.scale
    needs = np.asarray(remaining(slot, ahead), dtype=np.float64)
    left = _left(slot, ahead)
    if not needs.any():
        return float(np.nextafter(base, -np.inf))
    rows = csr_array(-slot.able[left][:, needs > 0].T.astype(np.float64))
    weights = np.array([slot.weights[user] / slot.scale for user in left])
    program = LinearProgram(
        -weights,
        rows,
        -needs[needs > 0],
        csr_array((0, len(left))),
        np.zeros(0),
        np.zeros(len(left)),
        np.ones(len(left)),
    )
    result = solve_linear(program)
    if result.bound is None:
        raise MethodError(f"linear relaxation of a slot: {result.message}")
    return float(np.nextafter(base - result.bound, -np.inf))


def _left(slot: Slot, ahead: Iterable[int]) -> NDArray[np.int64]:
    competing = slot.admitted.copy()
    competing[list(ahead)] = False
    found: NDArray[np.int64] = competing.nonzero()[0]
    return found
