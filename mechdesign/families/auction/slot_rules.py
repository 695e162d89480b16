"""One slot of a reverse auction in integers: what users cost, what they can do, what is wanted.

Money is counted in units of 2^-30. A user's cost, sensing + privacy * epsilon, counts as the next whole
number of units; a payment is a whole number of units. So a rule that a user wins exactly up to some whole
number of units, and that pays this number, is truthful and individually rational for the very bids, with no
rounding left to argue about: cost <= payment if and only if the counted cost is.

Users, tasks and requirements from generators, and the number of reports that makes an average accurate.

The generators draw as in table 5.2 of the source, each from a seed of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.validation import finite_array, in_range, integer
from mechdesign.exact.numbers import doubles, rational, text_of, wholes

UNIT = Fraction(1, 1 << 30)
"""The least amount of money, about a billionth."""

MOST_MONEY = 1 << 22
"""A cost above this is refused: every payment is to be a double exactly."""

MOST_UNITS = MOST_MONEY << 30

MOST_USERS, MOST_TASKS = 1_000_000, 10_000

Flags = NDArray[np.bool_]
Wholes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Slot:
    """One slot in integers.

    The weight of user i is (tradeoff * cost - backlog) * scale = slope * price - offset, a whole number.

    Parameters
    ----------
    prices : tuple of int
        What each user asks, in units, rounded up.
    able : (users, tasks) array of bool
    requirements : (tasks,) int array
        Number of winners that each task needs.
    slope : int
        > 0: the weight of one unit of money.
    offsets : tuple of int
        >= 0: the weight that the backlog takes off.
    scale : int
        > 0: weights are this many times the objective.
    reserve : int or None
        The most that anybody is paid, in units; who asks more is not admitted.
    forced : frozenset of int
        Users who win whatever they ask, up to the reserve.
    """

    prices: tuple[int, ...]
    able: Flags
    requirements: Wholes
    slope: int
    offsets: tuple[int, ...]
    scale: int
    reserve: int | None = None
    forced: frozenset[int] = frozenset()

    @property
    def users(self) -> int:
        """Number of users."""
        return len(self.prices)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights slope * price - offset."""
        slope = self.slope
        return tuple([slope * price - off for price, off in zip(self.prices, self.offsets, strict=True)])

    @cached_property
    def columns(self) -> NDArray[np.float64]:
        """Numbers of the users who are able to do each task, one row per task."""
        return np.ascontiguousarray(self.able.T, dtype=np.float64)

    @cached_property
    def tasks(self) -> tuple[tuple[int, ...], ...]:
        """The task numbers of each user."""
        users, numbers = self.able.nonzero()
        ends = np.cumsum(np.bincount(users, minlength=self.users)).tolist()
        plain = numbers.tolist()
        return tuple(tuple(plain[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True))

    @cached_property
    def admitted(self) -> Flags:
        """Users who ask for no more than the reserve price."""
        if self.reserve is None:
            return np.ones(self.users, dtype=np.bool_)
        return np.array([price <= self.reserve for price in self.prices], dtype=np.bool_)

    @cached_property
    def supply(self) -> Wholes:
        """Number of admitted users who are able to do each task."""
        result: Wholes = self.able[self.admitted].sum(axis=0, dtype=np.int64)
        return result

    @cached_property
    def essential(self) -> Flags:
        """The admitted users without whom some task could not be covered."""
        tight = (self.requirements > 0) & (self.supply <= self.requirements)
        result: Flags = self.admitted & self.able[:, tight].any(axis=1)
        return result

    def value(self, winners: Sequence[int]) -> Fraction:
        """Return the objective: the sum over the winners of tradeoff * cost - backlog."""
        return Fraction(sum(self.weights[user] for user in winners), self.scale)

    def cost(self, winners: Sequence[int]) -> Fraction:
        """Return the cost of the winners together."""
        return sum(self.prices[user] for user in winners) * UNIT

    def obstacle(self, names: Sequence[str] | None = None) -> str:
        """Return why the slot cannot be decided, naming a task and what is missing; empty if it can.

        Parameters
        ----------
        names : sequence of str, optional
            Of the tasks, for the text.
        """
        missing = self.requirements - self.supply
        if (missing > 0).any():
            task = int(np.argmax(missing))
            what = f"task {task if names is None else names[task]}"
            refused = int(self.able[:, task].sum()) - int(self.supply[task])
            also = f" ({refused} more ask above the reserve price)" if refused else ""
            return (
                f"{what}: needs {int(self.requirements[task])} users and {int(self.supply[task])} are able "
                f"to do it{also}; {int(missing[task])} missing, find them or lower its requirement"
            )
        tight = (self.requirements > 0) & (missing == 0)
        if self.reserve is None and tight.any():
            task = int(np.argmax(tight))
            what = f"task {task if names is None else names[task]}"
            return (
                f"{what}: every one of its {int(self.supply[task])} able users is essential and could ask "
                "any price; 1 more user is missing, or give a reserve price"
            )
        if self.reserve is None and self.forced:
            return "users who always win could ask any price; give a reserve price"
        return ""


def units_above(amount: Fraction) -> int:
    """Return the least whole number of units that is at least the amount."""
    scaled = amount / UNIT
    return -((-scaled.numerator) // scaled.denominator)


def units_below(amount: Fraction) -> int:
    """Return the largest whole number of units that is at most the amount."""
    scaled = amount / UNIT
    return scaled.numerator // scaled.denominator


def bid_prices(
    bids: NDArray[np.float64], epsilon: Fraction, names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """Return sensing + privacy * epsilon of each bid in units, rounded up, without any rounding before.

    Parameters
    ----------
    bids : (users, 2) array
    epsilon : Fraction
    names : sequence of str, optional
        Of the users, for errors; by default their numbers.

    Examples
    --------
    >>> [price * UNIT for price in bid_prices(np.array([[1.0, 0.5]]), Fraction(3))]
    [Fraction(5, 2)]
    """
    top, bottom = epsilon.numerator, epsilon.denominator
    inverse = UNIT.denominator
    prices = []
    for sensing, privacy in bids.tolist():
        first, first_part = sensing.as_integer_ratio()
        second, second_part = privacy.as_integer_ratio()
        second, second_part = second * top, second_part * bottom
        above = (first * second_part + second * first_part) * inverse
        prices.append(-((-above) // (first_part * second_part)))
    if prices and max(prices) > MOST_UNITS:
        user = prices.index(max(prices))
        raise ParameterError(
            "bids",
            f"{called(user, names)} costs more than {MOST_MONEY} at this epsilon",
            "use a larger unit of money",
        )
    return tuple(prices)


def called(user: int, names: Sequence[str] | None) -> str:
    """Return the name of a user in errors."""
    return f"user {user}" if names is None else text_of(names[user])


def checked_bids(value: Any, names: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Return bids as rows (sensing, privacy), both >= 0 and not too large."""
    bids = doubles("bids", value, 2)
    if bids.shape[1] != 2 or not len(bids):
        raise ParameterError("bids", "expected a row [sensing, privacy] for each user")
    if len(bids) > MOST_USERS:
        raise ParameterError("bids", f"{len(bids)} users are more than {MOST_USERS}", "take fewer")
    if (bids < 0).any():
        user = int(np.argmax((bids < 0).any(axis=1)))
        raise ParameterError(
            "bids", f"that of {called(user, names)} is negative ({bids[user].tolist()})", "costs are >= 0"
        )
    if (bids > MOST_MONEY).any():
        user = int(np.argmax((bids > MOST_MONEY).any(axis=1)))
        raise ParameterError(
            "bids",
            f"that of {called(user, names)} is above {MOST_MONEY} ({bids[user].tolist()})",
            "use a larger unit of money",
        )
    return bids


def checked_tasks(value: Any, users: int, tasks: int) -> tuple[tuple[int, ...], ...]:
    """Return the task numbers of each user, sorted; every user has one, and all of them exist."""
    if not isinstance(value, (list, tuple)) or len(value) != users:
        size = len(value) if isinstance(value, (list, tuple)) else "no list"
        raise ParameterError(
            "tasks", f"expected a list of task numbers for each of {users} users, got {size}"
        )
    rows = []
    for user, own in enumerate(value):
        numbers = wholes(f"tasks: user {user}", own, 1).tolist()
        if not numbers:
            raise ParameterError("tasks", f"user {user} has none", "name one at least, or leave the user out")
        for number in numbers:
            if not 0 <= number < tasks:
                raise ParameterError(
                    "tasks",
                    f"user {user} names task {number}, which is unknown",
                    f"there are 0 to {tasks - 1}",
                )
        if len(set(numbers)) != len(numbers):
            raise ParameterError("tasks", f"user {user} names a task twice", "name it once")
        rows.append(tuple(sorted(numbers)))
    return tuple(rows)


def checked_requirements(value: Any) -> Wholes:
    """Return the number of users that each task needs, integers >= 0."""
    numbers = wholes("requirements", value, 1)
    if not len(numbers):
        raise ParameterError("requirements", "is empty", "give a number for each task")
    if len(numbers) > MOST_TASKS:
        raise ParameterError("requirements", f"{len(numbers)} tasks are more than {MOST_TASKS}", "take fewer")
    if (numbers < 0).any():
        task = int(np.argmax(numbers < 0))
        raise ParameterError(
            "requirements", f"that of task {task} is negative ({numbers[task]})", "give a number >= 0"
        )
    return numbers


def require_one_each(field: str, entries: Sized, tasks: int) -> None:
    """Raise ParameterError unless there is one entry for each task."""
    if len(entries) != tasks:
        raise ParameterError(field, f"{len(entries)} for {counted(tasks, 'task')}", "give one each")


def checked_positive(field: str, value: Any) -> float:
    """Return epsilon or the tradeoff: a number from 1e-9 to 1e9."""
    number = in_range(field, value, 0.0, np.inf, low_open=True, high_open=True)
    return in_range(field, number, 1e-9, 1e9)


def checked_reserve(value: Any) -> float | None:
    """Return the reserve price, a number > 0, or None."""
    return None if value is None else in_range("reserve", value, 0.0, float(MOST_MONEY), low_open=True)


def able_of(tasks: Sequence[Sequence[int]], count: int) -> Flags:
    """Return a table of users and tasks: True where the user can do the task."""
    able = np.zeros((len(tasks), count), dtype=np.bool_)
    sizes = [len(numbers) for numbers in tasks]
    able[np.repeat(np.arange(len(tasks)), sizes), [number for numbers in tasks for number in numbers]] = True
    return able


def slot_of(
    prices: Sequence[int],
    able: Flags,
    requirements: Wholes,
    tradeoff: float,
    backlog: Sequence[Fraction],
    reserve: float | None = None,
    forced: frozenset[int] = frozenset(),
) -> Slot:
    """Return the slot in integers.

    Parameters
    ----------
    prices : sequence of int
        In units, see :func:`bid_prices`.
    able, requirements : array
    tradeoff : float
        gamma > 0: the weight of money against backlogs.
    backlog : sequence of Fraction
        >= 0, one for each user.
    reserve : float, optional
    forced : frozenset of int

    Examples
    --------
    >>> able = np.array([[True], [True]])
    >>> slot = slot_of([3, 5], able, np.array([1]), 1.0, [Fraction(0), Fraction(5, 2**30)])
    >>> slot.weights, slot.scale == 2**30
    ((3, 0), True)
    """
    parts = math.lcm(*{amount.denominator for amount in backlog})
    counts = [amount.numerator * (parts // amount.denominator) for amount in backlog]
    return slot_in_parts(prices, able, requirements, tradeoff, counts, parts, reserve, forced)


def slot_in_parts(
    prices: Sequence[int],
    able: Flags,
    requirements: Wholes,
    tradeoff: float,
    backlog: Sequence[int],
    parts: int,
    reserve: float | None = None,
    forced: frozenset[int] = frozenset(),
) -> Slot:
    """Return the slot in integers, as :func:`slot_of` does, of backlogs in parts of a slot.

    Examples
    --------
    >>> able = np.array([[True], [True]])
    >>> slot = slot_in_parts([3, 5], able, np.array([1]), 1.0, [0, 2], 3)
    >>> slot.weights == (3 * slot.slope, 5 * slot.slope - 2 * slot.scale // 3)
    True
    """
    money = rational("tradeoff", tradeoff) * UNIT
    scale = math.lcm(money.denominator, parts)
    factor = scale // parts
    limit = None if reserve is None else units_below(rational("reserve", reserve))
    return Slot(
        tuple(prices),
        able,
        requirements,
        int(money * scale),
        tuple([count * factor for count in backlog]),
        scale,
        limit,
        forced,
    )


def needed(epsilon: float, alpha: float, delta: float, value_range: float = 1.0) -> int:
    """Return the number of users that makes the average of a task accurate, by Chebyshev's inequality.

    Laplace noise for values in an interval of length zeta has variance 2 zeta^2 / epsilon^2. So the average
    of r reports is within alpha of that of the values with probability at least 1 - delta once r >= 2
    zeta^2 / (epsilon^2 alpha^2 delta) (Zhang 2019, lemma 5.3.1, which prints zeta for zeta^2).

    Examples
    --------
    >>> needed(epsilon=1.0, alpha=1.5, delta=0.125)
    8
    """
    parts = {"epsilon": epsilon, "alpha": alpha, "value_range": value_range}
    for field, value in parts.items():
        in_range(field, value, 0.0, math.inf, low_open=True, high_open=True)
    in_range("delta", delta, 0.0, 1.0, low_open=True)
    length, noise = (
        rational("value_range", value_range),
        (rational("epsilon", epsilon), rational("alpha", alpha)),
    )
    up = length.numerator * noise[0].denominator * noise[1].denominator
    below = length.denominator * noise[0].numerator * noise[1].numerator
    share = rational("delta", delta)
    return -(-2 * up**2 * share.denominator // (below**2 * share.numerator))  # the quotient, rounded up


MOST_DRAWN = 1_000_000


def uniform_bids(users: int, low: float = 1.0, high: float = 2.0, seed: int = 0) -> NDArray[np.float64]:
    """Return bids with both costs uniform in [low, high]."""
    count = integer("bids: users", users, 1, MOST_DRAWN)
    least, most = _ends("bids", [low, high])
    rng = np.random.default_rng([integer("bids: seed", seed, 0), 1])
    return rng.uniform(least, most, (count, 2))


def random_tasks(
    users: int, tasks: int, least: int = 1, most: int | None = None, seed: int = 0
) -> list[list[int]]:
    """Return for each user a number of tasks, uniform from least to most, and that many random tasks."""
    count = integer("tasks: users", users, 1, MOST_DRAWN)
    kinds = integer("tasks: tasks", tasks, 1, 10_000)
    high = integer("tasks: most", kinds if most is None else most, 1, kinds)
    low = integer("tasks: least", least, 1, high)
    rng = np.random.default_rng([integer("tasks: seed", seed, 0), 2])
    sizes = rng.integers(low, high + 1, count).tolist()
    return [sorted(rng.permutation(kinds)[:size].tolist()) for size in sizes]


def accurate(
    tasks: int,
    epsilon: float,
    alpha: Sequence[float] = (1.0, 2.0),
    delta: Sequence[float] = (0.1, 0.2),
    value_range: float = 1.0,
    seed: int = 0,
) -> list[int]:
    """Return the number of users of each task for an (alpha, delta) drawn from these ranges."""
    kinds = integer("requirements: tasks", tasks, 1, 10_000)
    rng = np.random.default_rng([integer("requirements: seed", seed, 0), 3])
    goals = accuracies(kinds, alpha, delta, rng)
    return [needed(epsilon, goal, share, value_range) for goal, share in goals.tolist()]


def accuracies(
    tasks: int, alpha: Sequence[float], delta: Sequence[float], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return rows (alpha, delta), one for each task."""
    low, high = _ends("alpha", alpha)
    least, most = _ends("delta", delta)
    return np.column_stack([rng.uniform(low, high, tasks), rng.uniform(least, most, tasks)])


def _ends(field: str, value: Sequence[float]) -> tuple[float, float]:
    ends = finite_array(field, value, 1).tolist()
    if len(ends) != 2 or ends[0] > ends[1]:
        raise ParameterError(field, "expected two numbers, the smaller one first")
    low, high = ends
    return in_range(field, low, 0.0, np.inf), high


BID_GENERATORS: Mapping[str, Callable[..., Any]] = {"uniform": uniform_bids}
TASK_GENERATORS: Mapping[str, Callable[..., Any]] = {"random": random_tasks}
REQUIREMENT_GENERATORS: Mapping[str, Callable[..., Any]] = {"accuracy": accurate}
