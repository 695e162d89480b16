"""What a protocol measures on drawn data: encode, shuffle, analyze, and compare with the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.families.shuffle import Protocol

DEVIATION = 1.0 / 6.0
"""Of normally distributed data, as a part of their range; three of them lie on either side of the middle."""


def normal_numbers(users: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return numbers in [0, 1], normal around 1/2; those outside are drawn again.

    Examples
    --------
    >>> numbers = normal_numbers(10_000, np.random.default_rng(1))
    >>> bool(numbers.min() >= 0.0), bool(numbers.max() <= 1.0), round(float(numbers.std()), 2)
    (True, True, 0.16)
    """
    numbers = rng.normal(0.5, DEVIATION, users)
    while (outside := np.flatnonzero((numbers < 0.0) | (numbers > 1.0))).size:
        numbers[outside] = rng.normal(0.5, DEVIATION, len(outside))
    return numbers


def normal_categories(users: int, categories: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return categories from 0, normal around the middle one."""
    scaled = np.floor(normal_numbers(users, rng) * categories).astype(np.int64)
    result: NDArray[np.int64] = np.minimum(scaled, categories - 1)
    return result


def ones_and_zeros(users: int, share: float) -> NDArray[np.int64]:
    """Return bits of which this share is 1."""
    return (np.arange(users) < round(share * users)).astype(np.int64)


def squared_error(protocol: Protocol, values: NDArray[Any], truth: Any, rng: np.random.Generator) -> float:
    """Return the squared error of one run, averaged over categories."""
    seed = int(rng.integers(2**62))
    messages = protocol.with_fakes(protocol.encode(values, rng=seed), rng=seed + 1)
    found = np.asarray(protocol.analyze(messages).value, dtype=np.float64)
    return float(np.mean((found - truth) ** 2))


def measured(protocol: Protocol, data: list[tuple[NDArray[Any], Any]], rng: np.random.Generator) -> float:
    """Return the root mean squared error over data sets, each with its truth, one run each."""
    errors = [squared_error(protocol, values, truth, rng) for values, truth in data]
    return math.sqrt(sum(errors) / len(errors))


def require_users(users: int, wanted: int) -> None:
    """Raise ParameterError where a simulation has other users than the protocol."""
    if users != wanted:
        raise ParameterError(
            "simulation.users", f"{users}, and the protocol is for {wanted} users", "give these"
        )
