"""The linear program of event counts over given decodings: all classes of states, no patterns.

Variables are, for each decoding d, the masses z of its classes and the largest of them, L: z <= L and
L <= e^eps z. There is a row of sums for each kind of state, and one of unbiasedness for each pair of a kind
and a number of events: a few dozen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.workload.audit.event_bound import EventBound
from mechdesign.families.workload.audit.event_classes import EventStates
from mechdesign.families.workload.events.channel import EventOrbit
from mechdesign.families.workload.value import Array

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram

Decoding = tuple[int, Array]
"""The number of named slots, and the estimates of these and of the others."""

NAME = "event-counts"


@dataclass(frozen=True, eq=False)
class EventMaster:
    """The best masses of given decodings, with the prices of the rows."""

    orbits: tuple[EventOrbit, ...]
    prices: EventBound
    value: float
    solver: str


def class_rows(states: EventStates, shares: Array, point: Decoding) -> tuple[Array, Array]:
    """Return the effect of a unit of mass of each class: minus its second moment, and on the equations."""
    named, decoded = point
    classes, kinds = states.classes(named), len(states.kinds)
    size = len(classes.counts)
    each = classes.counts / states.counts[classes.kinds]
    norm = float(states.sizes(named) @ decoded**2)
    rows = np.zeros((kinds + len(states.pairs), size))
    rows[classes.kinds, np.arange(size)] = each
    rows[kinds:] = (classes.parts @ decoded) * classes.counts / states.holding[:, None]
    return -norm * shares[classes.kinds] * each, rows


def _program(states: EventStates, shares: Array, epsilon: float, points: list[Decoding]) -> LinearProgram:
    """Return the program that maximises minus the second moment of the decoded reports."""
    from scipy.sparse import block_diag, csr_array, hstack

    from mechdesign.solvers.linear import LinearProgram

    shrink, kinds = math.exp(-epsilon), len(states.kinds)
    objective, equal, upper = [], [], []
    for point in points:
        earned, rows = class_rows(states, shares, point)
        size = len(earned)
        objective.append(np.append(earned, 0.0))
        equal.append(csr_array(np.hstack([rows, np.zeros((len(rows), 1))])))
        identity, ones = np.eye(size), np.ones((size, 1))
        private_rows = [np.hstack([identity, -ones]), np.hstack([-identity, shrink * ones])]
        upper.append(csr_array(np.vstack(private_rows)))
    private = csr_array(block_diag(upper))
    count = private.shape[1]
    return LinearProgram(
        objective=np.concatenate(objective),
        upper_rows=private,
        upper_limits=np.zeros(private.shape[0]),
        equal_rows=csr_array(hstack(equal)),
        equal_limits=np.concatenate([np.ones(kinds), states.events]),
        low=np.zeros(count),
        high=np.full(count, np.inf),
    )


def solved_program(states: EventStates, prior: Array, epsilon: float, points: list[Decoding]) -> EventMaster:
    """Return the best channel with these decodings.

    Raises
    ------
    MethodError
        When HiGHS does not end with an optimum.
    """
    from mechdesign.solvers.linear import solve_linear

    shares = states.shares(prior)
    stated = _program(states, shares, epsilon, points)
    result = solve_linear(stated)
    if result.status != "optimal":
        result = solve_linear(stated, "interior-point")
    if result.status != "optimal":
        raise MethodError(
            NAME, f"the linear program failed ({result.message})", "change epsilon or the prior"
        )
    sizes = [len(states.classes(named).counts) + 1 for named, _ in points]
    parts = np.split(result.variables, np.cumsum(sizes)[:-1])
    orbits = tuple(
        EventOrbit(named, decoded, np.maximum(part[:-1], 0.0))
        for (named, decoded), part in zip(points, parts, strict=True)
    )
    prices = -result.equal_multipliers
    bound = EventBound(states, prior, prices[: len(states.kinds)], prices[len(states.kinds) :])
    value = -float(stated.objective @ result.variables) - float(shares @ states.squares)
    return EventMaster(orbits, bound, value, result.solver)
