"""The two-phase greedy rule of one slot, with critical payments and a lower bound, all in integers.

Phase 1: who has no positive weight wins. Phase 2: while tasks are open, the user with the least weight per
open task of its own wins, the first one of equals. A winner is paid the largest price that would still have
won.

How many open tasks a user has changes only when a task is closed. So ratios are divided again at most once a
task, not once a winner; and the run without a winner, which its payment comes from, starts where the winner
entered: before that the two runs are the same, and the user lost at its own price, so those stages do not
decide.

The lower bound is by dual fitting: no linear program is solved. With multipliers y >= 0 of the tasks, every
set that covers what is needed weighs at least y.r + sum_i min(0, w_i - sum_{j of i} y_j). The greedy rule
suggests y_j: the ratio at which task j was closed, divided by the harmonic number of the largest number of
open tasks that a user has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.families.auction.slot_rules import MOST_UNITS, Slot

Doubles = NDArray[np.float64]

NEAR = 1.0 + 2.0**-48
"""Ratios in double precision that are further apart than this factor are ordered as the exact ones."""


MOST_WORK = 10**12
"""Ratios that one slot may compare, some minutes' worth."""


@dataclass(frozen=True)
class Award:
    """Winners of a slot, and their payments.

    Attributes
    ----------
    winners : tuple of int
        In the order in which they were chosen.
    payments : tuple of int
        In units, one for each winner.
    """

    winners: tuple[int, ...]
    payments: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """One choice of phase 2, with the state before it; ``needs`` is empty where payments alone matter."""

    user: int
    gain: int
    gains: Doubles
    needs: tuple[int, ...] = ()


Runs = dict[tuple[int, ...], list[Stage]]
"""Phase 2 by what it starts with."""


class Covering:
    """Phase 2 as a machine that chooses one user after the other.

    Parameters
    ----------
    slot : Slot
    needs : iterable of int
        How many winners each task still needs.
    weights : (users,) array
        In double precision; infinite for those who do not compete.
    gains : (users,) array, optional
        How many open tasks each user has.
    """

    def __init__(
        self, slot: Slot, needs: Iterable[int], weights: Doubles, gains: Doubles | None = None
    ) -> None:
        self.slot, self.needs, self.weights = slot, list(needs), weights
        if gains is None:
            open_tasks = np.array([need > 0 for need in self.needs], dtype=np.float64)
            gains = open_tasks @ slot.columns
        self.gains = gains
        self.open = sum(need > 0 for need in self.needs)
        with np.errstate(divide="ignore"):
            self.ratios = self.weights / self.gains

    def best(self) -> int:
        """Return the user with the least ratio, the first one of equals.

        Raises
        ------
        MethodError
            When nobody has an open task.
        """
        ratios = self.ratios
        chosen = int(ratios.argmin())
        least = ratios.item(chosen)
        if least == math.inf:
            raise MethodError("greedy", "no user is left for an open task", "find more users first")
        ratios[chosen] = np.inf
        is_alone = ratios.item(ratios.argmin()) > least * NEAR
        ratios[chosen] = least
        return chosen if is_alone else self._first_of(ratios <= least * NEAR)

    def _first_of(self, near: NDArray[np.bool_]) -> int:
        """Return the user with the least exact ratio of these, the first one of equals."""
        exact, gains = self.slot.weights, self.gains
        chosen, *others = near.nonzero()[0].tolist()
        for user in others:
            if exact[user] * int(gains[chosen]) < exact[chosen] * int(gains[user]):
                chosen = user
        return int(chosen)

    def take(self, user: int) -> None:
        """Let a user win; the division by no open task is to be ignored."""
        self.weights[user] = self.ratios[user] = np.inf
        needs, gains = self.needs, self.gains
        for task in self.slot.tasks[user]:
            if needs[task] > 0:
                needs[task] -= 1
                if needs[task] == 0:
                    self.open -= 1
                    self.gains = self.gains - self.slot.columns[task]
        if self.gains is not gains:
            self.ratios = self.weights / self.gains


def award(slot: Slot) -> Award:
    """Return winners and critical payments of a slot that has no obstacle.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mechdesign.families.auction.slot_rules import slot_of
    >>> able = np.array([[True, True], [True, False], [False, True]])
    >>> slot = slot_of([3, 2, 2], able, np.array([1, 1]), 1.0, [Fraction(0)] * 3, reserve=1.0)
    >>> award(slot)
    Award(winners=(0,), payments=(4,))
    """
    ahead = preselected(slot)
    weights = competing(slot, ahead)
    stages = covering_choices(Covering(slot, remaining(slot, ahead), weights.copy()))
    chosen = (*ahead, *(stage.user for stage in stages))
    place = {stage.user: number for number, stage in enumerate(stages)}
    runs: Runs = {}
    return Award(
        chosen, tuple(_payment(slot, user, place.get(user), ahead, stages, weights, runs) for user in chosen)
    )


def too_much_work(slot: Slot) -> str:
    """Return why the rule would take too long with this slot; empty if it would not.

    The first run is short enough to count it: each winner's payment takes about as long once more.
    """
    ahead = preselected(slot)
    needs = remaining(slot, ahead)
    first = slot.users * min(slot.users, sum(needs))
    if first <= MOST_WORK:
        chosen = len(covering_choices(Covering(slot, needs, competing(slot, ahead)))) if any(needs) else 0
        tasks = len(needs)
        first = slot.users * (len(ahead) * (chosen + tasks) + chosen * (chosen // 2 + tasks))
    if first <= MOST_WORK:
        return ""
    return (
        f"{slot.users} users, of whom {len(ahead)} win in any case, and {sum(needs)} places to fill take "
        f"more than {MOST_WORK:.0e} comparisons; divide the users into areas with an auction each"
    )


def winners(slot: Slot) -> tuple[int, ...]:
    """Return the winners, without computing their payments."""
    ahead = preselected(slot)
    stages = covering_choices(Covering(slot, remaining(slot, ahead), competing(slot, ahead)))
    return (*ahead, *(stage.user for stage in stages))


def paid(slot: Slot, user: int) -> int | None:
    """Return the payment of one user by :func:`award`; None if it does not win."""
    ahead = preselected(slot)
    weights = competing(slot, ahead)
    stages = covering_choices(Covering(slot, remaining(slot, ahead), weights.copy()))
    place = {stage.user: number for number, stage in enumerate(stages)}
    if user not in place and user not in ahead:
        return None
    return _payment(slot, user, place.get(user), ahead, stages, weights, {})


def preselected(slot: Slot) -> tuple[int, ...]:
    """Return the winners before phase 2: those who are forced, and those without a positive weight."""
    weights, forced = slot.weights, slot.forced
    return tuple(user for user in slot.admitted.nonzero()[0].tolist() if weights[user] <= 0 or user in forced)


def competing(slot: Slot, ahead: Iterable[int]) -> Doubles:
    """Return the weights of those who compete in phase 2, infinite for all others."""
    scale = slot.scale
    weights = np.array([weight / scale for weight in slot.weights])
    weights[~slot.admitted] = np.inf
    weights[list(ahead)] = np.inf
    return weights


def remaining(slot: Slot, winners: Iterable[int]) -> list[int]:
    """Return the number of winners that each task needs besides these."""
    covered = slot.able[list(winners)].sum(axis=0, dtype=np.int64)
    result: list[int] = np.maximum(slot.requirements - covered, 0).tolist()
    return result


def covering_choices(covering: Covering) -> list[Stage]:
    """Run phase 2 until no task is open, and return its choices."""
    stages = []
    with np.errstate(divide="ignore"):
        while covering.open:
            user = covering.best()
            stages.append(Stage(user, int(covering.gains[user]), covering.gains, tuple(covering.needs)))
            covering.take(user)
    return stages


def closing_choices(covering: Covering) -> list[Stage]:
    """Run phase 2 until no task is open, and return the choices that closed one: they decide payments."""
    stages = []
    with np.errstate(divide="ignore"):
        while covering.open:
            user, gains = covering.best(), covering.gains
            covering.take(user)
            if covering.gains is not gains:
                stages.append(Stage(user, int(gains[user]), gains))
    return stages


def _payment(
    slot: Slot,
    user: int,
    place: int | None,
    ahead: tuple[int, ...],
    stages: list[Stage],
    weights: Doubles,
    runs: Runs,
) -> int:
    """Return the largest price at which the user would have won.

    Who wins in phase 1 does not compete in phase 2, so the runs without two of them that leave the same needs
    are one; ``runs`` keeps them.
    """
    limit = MOST_UNITS if slot.reserve is None else slot.reserve
    if slot.essential[user] or user in slot.forced:
        return limit
    if place is None:
        left = tuple(remaining(slot, (other for other in ahead if other != user)))
        if left not in runs:
            runs[left] = closing_choices(Covering(slot, left, weights.copy()))
        return min(limit, critical_price(slot, user, runs[left]))
    weights = weights.copy()
    weights[user] = np.inf
    weights[[stage.user for stage in stages[:place]]] = np.inf
    again = Covering(slot, stages[place].needs, weights, stages[place].gains)
    return min(limit, critical_price(slot, user, closing_choices(again)))


def critical_price(slot: Slot, user: int, stages: list[Stage]) -> int:
    """Return the largest price at which a user wins: in phase 1, or at some stage of the run without it.

    While gains stay the same, ratios only rise: the last stage before a task is closed decides.
    """
    slope, offset = slot.slope, slot.offsets[user]
    best = offset // slope
    for number, stage in enumerate(stages):
        if number + 1 < len(stages) and stages[number + 1].gains is stage.gains:
            continue
        gain = int(stage.gains[user])
        if gain:
            above = slot.weights[stage.user] * gain + offset * stage.gain
            price, rest = divmod(above, slope * stage.gain)
            if rest == 0 and stage.user < user:
                price -= 1  # the other one comes first of equals
            best = max(best, price)
    return best


FINE = 1 << 30


def harmonic(count: int) -> float:
    """Return 1 + 1/2 + ... + 1/count.

    Examples
    --------
    >>> harmonic(2)
    1.5
    """
    return sum(1.0 / number for number in range(1, count + 1))


def largest_gain(slot: Slot) -> int:
    """Return the largest number of open tasks of a user of phase 2."""
    needs = np.array(remaining(slot, preselected(slot)))
    return int(slot.able[:, needs > 0].sum(axis=1).max(initial=0))


def fitted_bound(slot: Slot) -> float:
    """Return a proven lower bound of the objective, at least the part 1/H of phase 2's value.

    All sums are of whole numbers.
    """
    ahead = preselected(slot)
    needs = remaining(slot, ahead)
    covering = Covering(slot, needs, competing(slot, ahead))
    divisor = math.ceil(max(1.0, harmonic(largest_gain(slot))) * FINE)
    prices = [0] * len(needs)
    for stage in covering_choices(covering):
        for task in slot.tasks[stage.user]:
            if stage.needs[task] > 0:
                prices[task] = slot.weights[stage.user] * FINE // (stage.gain * divisor)
    total = sum(price * need for price, need in zip(prices, needs, strict=True))
    outside = set(ahead)
    for user in slot.admitted.nonzero()[0].tolist():
        if user not in outside:
            total += min(0, slot.weights[user] - sum(prices[task] for task in slot.tasks[user]))
    total += sum(slot.weights[user] for user in ahead)
    return float(np.nextafter(float(Fraction(total, slot.scale)), -np.inf))
