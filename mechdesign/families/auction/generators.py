"""Users, tasks and requirements from generators, and the number of reports that makes an average accurate.

The generators draw as in table 5.2 of the source, each from a seed of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import finite_array, in_range, integer
from mechdesign.exact.numbers import rational


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
    exact = {field: rational(field, value) for field, value in parts.items()}
    share = rational("delta", delta)
    return math.ceil(2 * (exact["value_range"] / exact["epsilon"] / exact["alpha"]) ** 2 / share)


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
