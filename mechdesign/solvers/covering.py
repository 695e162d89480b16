"""Best covers in whole numbers, proven: linear programming bounds guide, dynamic programming decides.

For multipliers y >= 0 of the tasks let d_i = w_i - sum of y_j over the tasks j of i. Every set S that covers
what is needed satisfies

    w(S) = y.r + sum over S of d_i + sum_j y_j (surplus of task j)  >=  y.r + sum_i min(0, d_i).

So a user with ``d_i`` above the distance of that bound to a known cover is in no better set, and one with
``d_i`` below minus the distance is in all of them. Over the others dynamic programming runs through what is
still needed, and drops a state that the same bound keeps from being better than the known cover. Any y will
do: it comes from a linear program in floating point and is made whole, so no tolerance of a solver is in the
proof, only in how long it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.solvers.linear import LinearProgram, solve_linear

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Cover:
    """A cover of least weight: the places of its users, increasing, its weight, and the steps it took."""

    users: tuple[int, ...]
    weight: int
    steps: int


class TooManyStepsError(Exception):
    """The proof would take more steps than allowed."""


def least_cover(
    weights: Sequence[int], able: Flags, needs: Sequence[int], known: Sequence[int], most: int
) -> Cover:
    """Return a cover of least weight, no better one than the known cover where that is the best.

    Parameters
    ----------
    weights : sequence of int
        > 0, of any size.
    able : (users, tasks) array of bool
    needs : sequence of int
        >= 0: how many users each task needs.
    known : sequence of int
        Users who cover what is needed.
    most : int
        Steps of dynamic programming that are allowed.

    Raises
    ------
    TooManyStepsError
        When the proof would take more.

    Examples
    --------
    >>> able = np.array([[True, True], [True, False], [False, True]])
    >>> least_cover([5, 2, 2], able, [1, 1], known=[0], most=100).users
    (1, 2)
    """
    users = tuple(sorted(known))
    weight = sum(weights[user] for user in users)
    needs = [int(need) for need in needs]
    tasks = [np.flatnonzero(row).tolist() for row in able]
    prices = sharpened(multipliers(weights, able, needs), weights, tasks, needs)
    reduced = [own - sum(prices[task] for task in mine) for own, mine in zip(weights, tasks, strict=True)]
    bound = sum(price * need for price, need in zip(prices, needs, strict=True))
    distance = weight - bound - sum(min(0, amount) for amount in reduced)
    taken = [user for user, amount in enumerate(reduced) if amount < -distance]
    free = [user for user, amount in enumerate(reduced) if -distance <= amount <= distance]
    free.sort(key=lambda user: -abs(reduced[user]))
    left = [max(0, need - int(have)) for need, have in zip(needs, able[taken].sum(axis=0), strict=True)]
    search = _Search([weights[user] for user in free], able[free], prices, [reduced[user] for user in free])
    base = sum(weights[user] for user in taken)
    found = search.below(tuple(left), weight - base, most)
    if found is None:
        return Cover(users, weight, search.steps)
    better = (*taken, *(free[place] for place in found))
    return Cover(tuple(sorted(better)), sum(weights[user] for user in better), search.steps)


class _Search:
    """Dynamic programming over what is still needed, one user after the other."""

    def __init__(self, weights: list[int], able: Flags, prices: list[int], reduced: list[int]) -> None:
        self.weights, self.prices, self.steps = weights, prices, 0
        self.rows = able.astype(np.int64).tolist()
        count = len(weights)
        self.ahead = [0] * (count + 1)
        for place in range(count - 1, -1, -1):
            self.ahead[place] = self.ahead[place + 1] + min(0, reduced[place])
        supply = np.zeros((count + 1, able.shape[1]), dtype=np.int64)
        supply[:-1] = able[::-1].cumsum(axis=0)[::-1]
        self.supply = supply.tolist()

    def below(self, needs: tuple[int, ...], limit: int, most: int) -> tuple[int, ...] | None:
        """Return the cover of least weight if that is below the limit; None if there is none."""
        states: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {needs: (0, ())}
        for place, (weight, row) in enumerate(zip(self.weights, self.rows, strict=True)):
            self.steps += 2 * len(states)
            if self.steps > most:
                raise TooManyStepsError
            after: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
            for left, (total, users) in states.items():
                self._keep(after, place + 1, left, total, users, limit)
                less = tuple([max(0, need - mine) for need, mine in zip(left, row, strict=True)])
                if less != left:
                    self._keep(after, place + 1, less, total + weight, (*users, place), limit)
            states = after
        found = states.get((0,) * len(needs))
        return None if found is None else found[1]

    def _keep(
        self,
        states: dict[tuple[int, ...], tuple[int, tuple[int, ...]]],
        place: int,
        left: tuple[int, ...],
        total: int,
        users: tuple[int, ...],
        limit: int,
    ) -> None:
        """Take up a state that can still end below the limit, if it is the lightest of its kind."""
        before = states.get(left)
        if before is not None and before[0] <= total:
            return
        least = total + self.ahead[place]
        least += sum(price * need for price, need in zip(self.prices, left, strict=True))
        if least < limit and all(need <= have for need, have in zip(left, self.supply[place], strict=True)):
            states[left] = (total, users)


def multipliers(weights: Sequence[int], able: Flags, needs: Sequence[int]) -> list[int]:
    """Return whole multipliers >= 0 of the tasks from the linear relaxation; zeros where the solver fails."""
    from scipy.sparse import csr_array

    count, tasks = able.shape
    top = max(weights, default=0)
    if top <= 0:
        return [0] * tasks
    program = LinearProgram(
        -np.array([weight / top for weight in weights]),
        csr_array(-able.T.astype(np.float64)),
        -np.array(needs, dtype=np.float64),
        csr_array((0, count)),
        np.zeros(0),
        np.zeros(count),
        np.ones(count),
    )
    result = solve_linear(program)
    if result.status != "optimal":
        return [0] * tasks
    return [int(Fraction(price) * top) for price in result.upper_multipliers.tolist()]


def sharpened(
    prices: list[int], weights: Sequence[int], tasks: Sequence[Sequence[int]], needs: Sequence[int]
) -> list[int]:
    """Return multipliers of a bound that is no lower: each in turn is set to its best whole value.

    As a function of one multiplier the bound is concave; it is highest at the ``need``-th smallest of what
    the users of the task weigh without that task.

    Examples
    --------
    >>> sharpened([0], [3, 5, 4], [[0], [0], [0]], [2])
    [4]
    """
    prices = list(prices)
    members: list[list[int]] = [[] for _ in prices]
    for user, mine in enumerate(tasks):
        for task in mine:
            members[task].append(user)
    reduced = [own - sum(prices[task] for task in mine) for own, mine in zip(weights, tasks, strict=True)]
    for task, users in enumerate(members):
        if not 0 < needs[task] <= len(users):
            continue
        price = max(0, sorted(reduced[user] + prices[task] for user in users)[needs[task] - 1])
        for user in users:
            reduced[user] += prices[task] - price
        prices[task] = price
    return prices
