"""How a solved protocol compares with others: numbers that claims about the shuffle protocols may name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.candidates import fitted, most_bits
from mechdesign.families.shuffle.choosing import Choosing


def figures_of(problem: Choosing, solution: Solution[Any], rivals: Mapping[str, float]) -> dict[str, Any]:
    """Return the quantities of a solution: its own figures, and how it compares with errors of others."""
    protocol = problem.built(solution.variables)
    found: dict[str, Any] = {
        "messages": problem.messages_of(protocol),
        "most_messages": protocol.most_messages,
        "bits": problem.messages_of(protocol) * protocol.message_bits,
        "most_bits": most_bits(protocol),
        "local_epsilon": protocol.local_epsilon,
        "least_delta": protocol.least_delta,
        **rivals,
    }
    for name, error in rivals.items():
        found[f"over_{name.removesuffix('_rmse')}"] = multiple(solution.value, error)
    for name, item in fitting(problem, protocol).items():
        found[f"over_{name}"] = multiple(solution.value, problem.error_of(item))
    return found


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
    asked = {kind.name: kind for kind in problem.asked}
    printed = {name for name in asked if f"{name}-published" in {kind.name for kind in problem.kinds}}
    found = {}
    for kind in problem.kinds:
        if kind.name.removesuffix("-published") not in asked:
            continue
        if kind.name not in printed or protocol.calibration == "exact":
            found[kind.name] = fitted(kind, problem.case)
    return {name: item for name, item in found.items() if isinstance(item, Protocol)}
