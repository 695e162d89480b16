"""Column generation: refine the grid, add cheapest columns and violated cuts, prove a bound on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.core.kept import kept_starts
from mechdesign.families.mean.optimal.design import ChannelDesign
from mechdesign.families.mean.optimal.patterns import Array, PatternPrices, Patterns, cheapest
from mechdesign.solvers.linear import LinearProgram, LinearResult, solve_linear

SMOOTHING = 0.5
"""Part of the best multipliers so far in the ones that are priced: it halves the rounds (measured)."""

NEW = 20
"""Most columns added for one set of multipliers."""

ROUNDS = 400

COARSEST = 11
"""Grids of more inputs are started from the solution on one of half as many."""

COARSE = 1e-4
"""Relative accuracy of the solutions that only start others."""


@dataclass(frozen=True)
class Generated:
    """An optimal design: amounts of the columns in use, criterion reached, proven bound, work done.

    ``prices`` are those of the last master program, and ``constant`` is what the criterion subtracts; a
    solution that was stored has none.
    """

    outputs: Array
    patterns: Patterns
    amounts: Array
    value: float
    bound: float
    rounds: int
    solver: str
    prices: PatternPrices | None = None
    constant: float = 0.0


def refined(make: Callable[[int], ChannelDesign], size: int, accuracy: float) -> Generated:
    """Solve on ever finer grids, each started from the one before; the last one has the wanted size.

    Parameters
    ----------
    make : callable
        The design with a given number of inputs.
    size : int
    accuracy : float
        Relative, of the last grid.
    """
    sizes = [size]
    while sizes[0] > COARSEST:
        sizes.insert(0, (sizes[0] + 1) // 2)
    before: tuple[Array, Generated] | None = None
    for number in sizes:
        design = make(number)
        design.begin()
        if before is not None:
            design.begin_from(before[0], before[1].outputs, before[1].patterns)
        found = generate_columns(design, accuracy if number == size else max(accuracy, COARSE))
        before = (design.grid, found)
    return found


def generate_columns(design: ChannelDesign, accuracy: float) -> Generated:
    """Add columns and cuts until criterion and bound agree to a relative accuracy.

    Raises
    ------
    MethodError
        When the linear program fails.
    """
    best, anchor, rounds = -math.inf, None, 0
    starts: dict[Any, Any] = {}
    while True:
        rounds += 1
        is_cold = not starts
        with kept_starts(starts):
            result = _solved(design.program())
        inputs = len(design.half)
        amounts, moments = result.variables[inputs + 1 :], result.variables[:inputs] * design.scale**2
        count = len(amounts)
        reached = _reached(design, moments, float(result.variables[inputs]))
        added = 0
        last = design.multipliers(result)
        tried = [last] if anchor is None else [_smoothed(anchor, last), last]
        for multipliers in tried:
            bound = design.bound(multipliers)
            if bound > best:
                best, anchor = bound, multipliers
            prices, constant = design.prices(multipliers)
            priced = cheapest(prices, design.small, design.outputs)
            order = np.argsort(priced.values)[:NEW]
            order = order[priced.values[order] < 0.0]
            added += design.add(priced.outputs[order], priced.patterns[order])
        cuts = _cuts(design, moments, reached, accuracy)
        design.points += cuts
        closed = reached - best <= accuracy * reached and not cuts
        is_done = closed or (added == 0 and not cuts)
        if (is_done and is_cold) or rounds >= ROUNDS:
            break
        if is_done or _purge(design, amounts, count):
            starts.clear()  # the last program is solved from nothing: a kept basis may be a little off
    used = amounts > 0.0
    outputs, patterns = design.values[:count], design.patterns[:count]
    kept = (outputs[used], patterns[used], amounts[used])
    return Generated(*kept, reached, best, rounds, result.solver, prices, constant)


def _solved(program: LinearProgram) -> LinearResult:
    """Solve the master by the simplex; by an interior-point method where that gives up."""
    result = solve_linear(program)
    if result.status != "optimal":
        result = solve_linear(program, "interior-point")
    if result.status != "optimal":
        raise MethodError(
            "mean-channel",
            f"the linear program failed ({result.message})",
            "give fewer inputs, or an epsilon below 10",
        )
    return result


def _smoothed(anchor: Array, last: Array) -> Array:
    """Return a mixture of two vectors of multipliers; cuts that the first did not know count as 0 there."""
    padded = np.zeros(len(last))
    padded[: len(anchor)] = anchor
    mixed: Array = SMOOTHING * padded + (1.0 - SMOOTHING) * last
    return mixed


def _peaks(design: ChannelDesign, moments: Array) -> tuple[Array, Array]:
    """Return, for every segment of the right half, the point with the largest variance, and that variance."""
    slopes = np.diff(moments) / np.diff(design.half)
    points = np.clip(slopes / 2.0, design.half[:-1], design.half[1:])
    variances = moments[:-1] + slopes * (points - design.half[:-1]) - points**2
    if design.odd:
        return points, variances
    return np.append(points, 0.0), np.append(variances, moments[0])  # between the two inputs around 0


def _reached(design: ChannelDesign, moments: Array, level: float) -> float:
    """Return the criterion of the master's solution, over all points where the design asks for that."""
    if design.criterion == "average":
        return float(design.halved() @ moments) - design.constant
    if not design.between:
        return level * design.scale**2
    return float(_peaks(design, moments)[1].max())


def _cuts(design: ChannelDesign, moments: Array, reached: float, accuracy: float) -> list[float]:
    """Return the peaks that exceed the variance allowed by the cuts so far."""
    if design.criterion == "average" or not design.between:
        return []
    points, variances = _peaks(design, moments)
    allowed = float((design.shares() @ moments - np.square(design.points)).max())
    exceeded = variances > allowed + accuracy * reached / 4.0
    return [point for point in points[exceeded].tolist() if point not in design.points]


def _purge(design: ChannelDesign, amounts: Array, count: int) -> bool:
    """Drop old columns that are not in use once there are many; the last added ones always stay."""
    size = len(design.grid)
    if count <= 6 * size:
        return False
    kept = np.ones(len(design.values), dtype=np.bool_)
    idle = np.flatnonzero(amounts == 0.0)
    kept[idle[: len(idle) - 2 * size]] = False
    design.values, design.patterns = design.values[kept], design.patterns[kept]
    return True
