"""Best covers in integers, proven: linear programming bounds guide, dynamic programming decides.

For multipliers y >= 0 of the tasks let d_i = w_i - sum of y_j over the tasks j of i. Every set S that covers
what is needed satisfies

    w(S) = y.r + sum over S of d_i + sum_j y_j (surplus of task j)  >=  y.r + sum_i min(0, d_i).

So a user with ``d_i`` above the distance of that bound to a known cover is in no better set, and one with
``d_i`` below minus the distance is in all of them. Over the others dynamic programming runs through what is
still needed, and drops a state that the same bound keeps from being better than the known cover. Where that
takes too many states, a user is taken in one branch and left out in the other, and both have bounds of their
own. Any y will do: it comes from a linear program in floating point and is made whole, so no tolerance of a
solver is in the proof, only in how long it takes.

**Branching** (:func:`branch`): a lower bound of a covering program, each node's proven by weak duality. An
integer solver's word "optimal" rests on a tree that nobody sees. Here the tree is our own: a node's bound is
that of :func:`mechdesign.solvers.linear.solve_linear`, which does not trust its solver, and a node is empty
only where all its free variables together do not cover.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.solvers.integer import BinaryProgram
from mechdesign.solvers.linear import LinearProgram, solve_linear

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Cover:
    """A cover of least weight: the places of its users, increasing, its weight, and the steps it took."""

    users: tuple[int, ...]
    weight: int
    steps: int


PIECE = 400
"""Steps of dynamic programming in one branch, before there are two of it."""

LINEAR = 200
"""Number of steps that a linear program counts as."""


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
    >>> least_cover([5, 2, 2], able, [1, 1], known=[0], most=1000).users
    (1, 2)
    """
    return _Tree(weights, able, [int(need) for need in needs], known, most).least()


class _Tree:
    """Branches that each take some users and leave others out; the best cover that any of them has shown."""

    def __init__(
        self, weights: Sequence[int], able: Flags, needs: list[int], known: Sequence[int], most: int
    ) -> None:
        self.weights, self.able, self.needs, self.most = weights, able, needs, most
        self.tasks = [np.flatnonzero(row).tolist() for row in able]
        self.best, self.weight = tuple(sorted(known)), sum(weights[user] for user in known)
        self.steps = 0

    def least(self) -> Cover:
        """Go through all branches that can be better than the best cover so far."""
        waiting: list[tuple[list[int], list[int]]] = [([], list(range(len(self.weights))))]
        while waiting:
            taken, candidates = waiting.pop()
            branch = self._decide(taken, candidates)
            if branch is not None:
                taken, free, user = branch
                others = [other for other in free if other != user]
                waiting += [(taken, others), ([*taken, user], others)]
        return Cover(self.best, self.weight, self.steps)

    def _decide(self, taken: list[int], candidates: list[int]) -> tuple[list[int], list[int], int] | None:
        """Find the best cover that takes these users and some of the candidates, if it is an improvement.

        What comes back is None, or where it takes too long: who is taken, who is free, and whom to branch on.
        """
        needs = self._needs(taken)
        able, weights = self.able[candidates], [self.weights[user] for user in candidates]
        if (able.sum(axis=0) < needs).any():
            return None
        if not any(needs):
            self._take(taken)
            return None
        self._count(LINEAR)
        plain, point = relaxed(weights, able, needs)
        tasks = [self.tasks[user] for user in candidates]
        prices = sharpened(plain, weights, tasks, needs)
        reduced = [own - sum(prices[task] for task in mine) for own, mine in zip(weights, tasks, strict=True)]
        bound = sum(price * need for price, need in zip(prices, needs, strict=True))
        bound += sum(min(0, amount) for amount in reduced)
        distance = self.weight - sum(self.weights[user] for user in taken) - bound
        if distance <= 0:
            return None
        surely = [user for user, amount in zip(candidates, reduced, strict=True) if amount < -distance]
        places = [place for place, amount in enumerate(reduced) if -distance <= amount <= distance]
        places.sort(key=lambda place: -abs(reduced[place]))
        taken, free = [*taken, *surely], [candidates[place] for place in places]
        search = _CoverSearch(
            [weights[place] for place in places], able[places], prices, [reduced[place] for place in places]
        )
        limit = self.weight - sum(self.weights[user] for user in taken)
        try:
            others = search.below(tuple(self._needs(taken)), limit, PIECE)
        except TooManyStepsError:
            self._count(PIECE)
            place = min(places, key=lambda place: abs(float(point[place]) - 0.5))
            return taken, free, candidates[place]
        self._count(search.steps)
        if others is not None:
            self._take([*taken, *(free[place] for place in others)])
        return None

    def _needs(self, taken: list[int]) -> list[int]:
        covered = self.able[taken].sum(axis=0).tolist()
        return [max(0, need - have) for need, have in zip(self.needs, covered, strict=True)]

    def _take(self, users: list[int]) -> None:
        weight = sum(self.weights[user] for user in users)
        if weight < self.weight:
            self.best, self.weight = tuple(sorted(users)), weight

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.most:
            raise TooManyStepsError


class _CoverSearch:
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
        best = states.get((0,) * len(needs))
        return None if best is None else best[1]

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


def relaxed(
    weights: Sequence[int], able: Flags, needs: Sequence[int]
) -> tuple[list[int], NDArray[np.float64]]:
    """Return whole multipliers >= 0 of the tasks and a point of the linear relaxation.

    Zeros and halves where the solver fails: a worse bound, and not a wrong one.
    """
    from scipy.sparse import csr_array

    count, tasks = able.shape
    nothing = [0] * tasks, np.full(count, 0.5)
    top = max(weights, default=0)
    if top <= 0:
        return nothing
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
        return nothing
    return [int(Fraction(price) * top) for price in result.upper_multipliers.tolist()], result.variables


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


Array = NDArray[np.float64]

CLOSED = 1e-10
"""A node within this part of the sum of the costs is as good as the incumbent."""


@dataclass(frozen=True)
class BranchProof:
    """Result of branching: a proven bound.

    Attributes
    ----------
    bound : float
        No feasible point costs less.
    variables : (N,) array of bool
        The best point known: the incumbent, or a better one that a node has shown.
    nodes : int
        How many linear programs were solved.
    """

    bound: float
    variables: NDArray[np.bool_]
    nodes: int


def branch(program: BinaryProgram, incumbent: NDArray[np.bool_], nodes: int = 200) -> BranchProof:
    """Prove a lower bound of a program with rows >= 0, the better the more nodes there may be.

    Parameters
    ----------
    program : BinaryProgram
        With entries >= 0 in its rows.
    incumbent : (N,) array of bool
        A feasible point.
    nodes : int
        Linear programs at most.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    >>> program = BinaryProgram(np.ones(3), rows, np.ones(3), np.zeros(3, dtype=bool))
    >>> round(branch(program, np.ones(3, dtype=bool)).bound, 6)
    2.0
    """
    best, value = incumbent, _value(program, incumbent)
    slack = CLOSED * float(np.abs(program.costs).sum())
    low, high = program.fixed.astype(np.float64), np.ones(len(program.costs))
    numbers, solved, closed = count(), 1, math.inf
    first, point = _relaxed(program, low, high)
    waiting: list[tuple[float, int, Array, Array, Array]] = [(first, next(numbers), low, high, point)]
    while waiting:
        bound, _, low, high, point = heapq.heappop(waiting)
        if bound >= value - slack or solved >= nodes:
            closed = min(closed, bound)
            break  # all others are no lower
        fraction = np.abs(point - np.rint(point))
        place = int(fraction.argmax())
        if fraction[place] <= 1e-7:
            candidate = point > 0.5
            if (program.rows @ candidate >= program.limits).all() and _value(program, candidate) < value:
                best, value = candidate, _value(program, candidate)
            if (low == high).all() or fraction[place] == 0.0:
                closed = min(closed, bound)
                continue
            place = int(np.where(low < high, fraction, -1.0).argmax())
        for end in (0.0, 1.0):
            below, above = low.copy(), high.copy()
            below[place] = above[place] = end
            if (program.rows @ above < program.limits).any():
                continue
            least, other = _relaxed(program, below, above)
            solved += 1
            if least >= value - slack:
                closed = min(closed, least)
            else:
                heapq.heappush(waiting, (max(least, bound), next(numbers), below, above, other))
    return BranchProof(min(closed, _not_above(program, best)), best, solved)


def _value(program: BinaryProgram, point: NDArray[np.bool_]) -> float:
    return math.fsum(program.costs[point].tolist())


def _not_above(program: BinaryProgram, point: NDArray[np.bool_]) -> float:
    """Return the cost of a point, rounded down."""
    cost = sum((Fraction(cost) for cost in program.costs[point].tolist()), Fraction(0))
    number = float(cost)
    return number if Fraction(number) <= cost else float(np.nextafter(number, -np.inf))


def _relaxed(program: BinaryProgram, low: Array, high: Array) -> tuple[float, Array]:
    """Return a proven lower bound over the box, and where the relaxation has its optimum."""
    from scipy.sparse import csr_array

    rows: Any = -program.rows
    none = csr_array((0, len(low)))
    relaxed = LinearProgram(-program.costs, rows, -program.limits, none, np.zeros(0), low, high)
    result = solve_linear(relaxed)
    if result.bound is None:  # the solver gave up: nothing is proven below this node
        return -math.inf, low
    return -result.bound, result.variables
