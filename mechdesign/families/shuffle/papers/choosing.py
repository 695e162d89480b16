"""What all problems of choosing a protocol are judged by next to their sources.

Numbers that claims may name: how a solved protocol compares with others, and with what is reached without a
shuffler. What a protocol measures on drawn data: encode, shuffle, analyze, and compare with the truth. And
the methods of the protocols with the constants of their papers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Method
from mechdesign.core.solution import Quantities, Solution
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.choosing import Choosing, fitted, most_bits, protocol_method
from mechdesign.families.shuffle.range_tree import most_parts
from mechdesign.families.shuffle.uniformity_tests import found_distance


def quantities(problem: Choosing, solution: Solution[Any]) -> Quantities:
    """Return messages, bits and delta, and what is reached without a shuffler.

    Distinct categories: ``geometric_rmse``, discrete Laplace noise by a trusted server. Ranges:
    ``split_rmse``, a trusted server with Laplace noise of scale 2 L / epsilon in each of the nodes, on L
    levels. Uniformity: ``bare_rmse``, the distance that is found in the data themselves. Problems with more
    to compare have quantities of their own.
    """
    return compared(problem, solution, figures_of(problem, solution, RIVALS[problem.name](problem)))


def _distinct_rivals(problem: Any) -> dict[str, float]:
    ratio = math.exp(-problem.epsilon)
    return {"geometric_rmse": math.sqrt(2.0 * ratio) / (1.0 - ratio)}


def _range_rivals(problem: Any) -> dict[str, float]:
    levels = (problem.categories - 1).bit_length()
    return {"split_rmse": math.sqrt(most_parts(levels) * 2.0) * levels * 2.0 / problem.epsilon}


def _uniformity_rivals(problem: Any) -> dict[str, float]:
    return {"bare_rmse": found_distance(problem.users, problem.categories, 0, problem.error)}


RIVALS: Mapping[str, Callable[[Any], dict[str, float]]] = {
    "shuffle-distinct": _distinct_rivals,
    "shuffle-range": _range_rivals,
    "shuffle-uniformity": _uniformity_rivals,
}
"""What is reached otherwise, by the name of the problem."""


def figures_of(problem: Choosing, solution: Solution[Any], rivals: Mapping[str, float]) -> dict[str, Any]:
    """Return a solution's own figures, and how it compares with errors that are given."""
    protocol = problem.built(solution.variables)
    figures: dict[str, Any] = {
        "messages": problem.messages_of(protocol),
        "most_messages": protocol.most_messages,
        "bits": problem.messages_of(protocol) * protocol.message_bits,
        "most_bits": most_bits(protocol),
        "local_epsilon": protocol.local_epsilon,
        "least_delta": protocol.least_delta,
        **rivals,
    }
    for name, error in rivals.items():
        figures[f"over_{name.removesuffix('_rmse')}"] = multiple(solution.value, error)
    return figures


def compared(problem: Choosing, solution: Solution[Any], figures: Mapping[str, Any]) -> Quantities:
    """Return figures with how the solution compares with other protocols, which are fitted for who asks."""
    return Quantities(figures, partial(over_others, problem, solution.variables, solution.value))


def over_others(problem: Choosing, variables: Mapping[str, Any], value: float) -> dict[str, float]:
    """Return an error as a multiple of that of each protocol to compare the solution's with."""
    others = fitting(problem, problem.built(variables))
    return {f"over_{name}": multiple(value, problem.error_of(item)) for name, item in others.items()}


def multiple(error: float, other: float) -> float:
    """Return an error as a multiple of another one, which may be infinite or 0.

    Examples
    --------
    >>> multiple(3.0, 2.0), multiple(3.0, float("inf")), multiple(3.0, 0.0), multiple(0.0, 0.0)
    (1.5, 0.0, inf, 1.0)
    """
    if other == 0.0:
        return 1.0 if error == 0.0 else math.inf
    return error / other


def fitting(problem: Choosing, protocol: Protocol) -> dict[str, Protocol]:
    """Return the kinds to compare a protocol with, those that are asked for and fit.

    One with the constants of its paper is compared with such ones, and with those that have no other noise;
    one with exact noise is compared with all.
    """
    requested = {kind.name: kind for kind in problem.requested_kinds}
    printed = {name for name in requested if f"{name}-published" in {kind.name for kind in problem.kinds}}
    candidates = {}
    for kind in problem.kinds:
        if kind.name.removesuffix("-published") not in requested:
            continue
        if kind.name not in printed or protocol.calibration == "exact":
            candidates[kind.name] = fitted(kind, problem.case)
    return {name: item for name, item in candidates.items() if isinstance(item, Protocol)}


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
    estimate = np.asarray(protocol.analyze(messages).value, dtype=np.float64)
    return float(np.mean((estimate - truth) ** 2))


def measured(protocol: Protocol, data: list[tuple[NDArray[Any], Any]], rng: np.random.Generator) -> float:
    """Return the root mean squared error over data sets, each with its truth, one run each."""
    errors = [squared_error(protocol, values, truth, rng) for values, truth in data]
    return math.sqrt(sum(errors) / len(errors))


def require_users(users: int, required: int) -> None:
    """Raise ParameterError where a simulation has other users than the protocol."""
    if users != required:
        raise ParameterError(
            "simulation.users", f"{users}, and the protocol is for {required} users", "give these"
        )


def published_methods(problem: type[Choosing]) -> tuple[Method, ...]:
    """Return each protocol with the constants of its paper, in the order of the kinds."""
    return tuple(protocol_method(problem, kind) for kind in problem.kinds if kind.is_published)
