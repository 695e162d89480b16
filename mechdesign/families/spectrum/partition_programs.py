"""Linear and integer programs over all admissible sets of a map, by HiGHS, each with a bound of its own.

*Weak duality of fractional set partitioning, in integers.* For any y with y(Q) <= prior(Q) loss(Q) for every
admissible set Q, where y(Q) is the sum of y over Q, every channel of the notion "cloak" loses at least
sum(y): its weights w_Q have sum over Q of w_Q = 1 at each place, so
sum_Q w_Q prior(Q) loss(Q) >= sum_Q w_Q y(Q) = sum_x y_x. Prices of a solver are made to keep this: if the
worst set is too dear by h per place, all prices fall by h.

*The three notions.* "cloak": weights w_Q >= 0 that sum to 1 over the Q with x, at each place x. Its bound is
weak duality in integers. "cap": K(Q | x) with prior_x K(Q | x) <= cap sum_x' prior_x' K(Q | x'). "slack":
K(Q | x), and s(Q, x, x') >= K(Q | x) - e^epsilon K(Q | x'), s >= 0, whose sum over Q is at most delta. Their
bounds are weak duality in doubles, enlarged by what rounding may lose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.families.spectrum.partition import (
    SpectrumPartition,
    channels_over,
    completed,
    infeasible,
    outcome,
    released,
)
from mechdesign.solvers.linear import LinearPrices, LinearProgram, LinearResult, solve_linear

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]

BITS = 30
"""Of a limb: sums of a few hundred fit into 64 bits."""

MASK = (1 << BITS) - 1


@dataclass(frozen=True)
class Exact:
    """Costs prior(Q) loss(Q) and prices y as integers over one power of two.

    Attributes
    ----------
    unit : int
        The denominator of all numbers here.
    costs, prices : list of int
    reduced : list of int
        Cost less price of each set: all >= 0.
    """

    unit: int
    costs: list[int]
    prices: list[int]
    reduced: list[int]

    @property
    def bound(self) -> Fraction:
        """No channel of the notion "cloak" over these sets loses less."""
        return Fraction(sum(self.prices), self.unit)


def exact_costs(problem: SpectrumPartition) -> tuple[int, list[int]]:
    """Return the unit and the costs of all admissible sets, exactly those of the prior's doubles."""
    prior = [Fraction(mass) for mass in problem.masses.tolist()]
    unit = math.lcm(*(mass.denominator for mass in prior), 1 << 80)
    wholes = [int(mass * unit) for mass in prior]
    return unit, [
        mass * loss
        for mass, loss in zip(_exact_sums(problem.family, wholes), problem.losses.tolist(), strict=True)
    ]


def _exact_sums(members: NDArray[np.bool_], numbers: list[int]) -> list[int]:
    """Return the sum of the numbers over each set, exactly: in limbs of 30 bits, the highest with the sign.

    Examples
    --------
    >>> _exact_sums(np.array([[True, True], [False, True]]), [1 << 100, -3])
    [1267650600228229401496703205373, -3]
    """
    count = max(number.bit_length() for number in numbers) // BITS + 1
    limbs = [[number >> BITS * k & MASK for number in numbers] for k in range(count)]
    limbs.append([number >> BITS * count for number in numbers])
    sums = (members.astype(np.int64) @ np.array(limbs, dtype=np.int64).T).tolist()
    return [sum(part << BITS * k for k, part in enumerate(row)) for row in sums]


def repaired(problem: SpectrumPartition, prices: Array) -> Exact:
    """Return prices next to those given that satisfy every inequality, in integers."""
    unit, costs = exact_costs(problem)
    wholes = [int(Fraction(price) * unit) for price in prices.tolist()]
    sizes = problem.family.sum(axis=1).tolist()
    paid = _exact_sums(problem.family, wholes)
    excess = max(-((cost - price) // size) for cost, price, size in zip(costs, paid, sizes, strict=True))
    excess = max(0, excess)
    feasible = [price - excess for price in wholes]
    reduced = [cost - price + excess * size for cost, price, size in zip(costs, paid, sizes, strict=True)]
    assert min(reduced) >= 0
    return Exact(unit, costs, feasible, reduced)


Places = NDArray[np.int64]

MOST_VARIABLES = 150_000
"""Beyond it a program takes minutes."""

LEAST_DELTA = 1e-8
"""HiGHS answers to 1e-10, and the slack of a pair is a sum over many sets."""

NEGLIGIBLE = 1e-9
"""The least weight that is kept; HiGHS answers to 1e-10."""


def cloaks_by_linear_program(problem: SpectrumPartition) -> Outcome:
    """Solve the program of the notion."""
    if (nothing := infeasible(problem, "HiGHS simplex")) is not None:
        return nothing
    if problem.notion in ("partition", "cloak"):
        return _cloak(problem)
    if problem.delta == 0.0:
        return _whole(problem)
    program, entries = _cap(problem) if problem.notion == "cap" else _slack(problem)
    result = solve_linear(program)
    if result.status != "optimal" or result.bound is None:
        return _refused(result)
    channel = np.zeros((problem.size, len(problem.family)))
    place, number = entries
    channel[place, number] = result.variables[: len(place)]
    channel = np.maximum(channel, 0.0)
    channel /= channel.sum(axis=1, keepdims=True)
    variables = released(problem.family, channel)
    if problem.residuals(variables)[problem.notion] > problem.allowance:
        variables = whole_map(problem)  # what the solver leaves of the inequalities is too much to keep
    prices = LinearPrices(result, _program_of, -1.0, 1.0, _named_rows(problem))
    source = f"weak duality, for {channels_over(problem)}"
    return outcome(problem, variables, -result.bound, source, result.solver, prices=prices)


def _program_of(problem: SpectrumPartition) -> LinearProgram:
    return (_cap(problem) if problem.notion == "cap" else _slack(problem))[0]


def _named_rows(problem: SpectrumPartition) -> list[tuple[str, int]]:
    if problem.notion == "cap":
        return [("cap", int(problem.family.sum()))]
    first = problem.pairs[:, 0]
    return [("", int(problem.family[:, first].sum())), ("delta", len(first))]


def whole_map(problem: SpectrumPartition) -> dict[str, Any]:
    """Return the variables of the channel that tells nothing."""
    return released(np.ones((1, problem.size), dtype=np.bool_), np.ones((problem.size, 1)))


def _whole(problem: SpectrumPartition) -> Outcome:
    """Return the whole map, the only region without delta: none may leave out a neighbor of a place in it."""
    source = "delta = 0: every set that is released has the whole map"
    return outcome(problem, whole_map(problem), problem.objective_scale(), source, "theorem 1", is_best=True)


def _cloak(problem: SpectrumPartition) -> Outcome:
    """Return the weights of the sets, the same for all places of a set."""
    costs = (problem.family @ problem.masses) * problem.losses
    result = cloak_program(problem, costs)
    if result.status != "optimal":
        return _refused(result)
    exact = repaired(problem, -result.equal_multipliers)
    weights = completed(problem.family, result.variables, NEGLIGIBLE)
    variables = released(problem.family, problem.family.T * weights)
    source = f"weak duality in integers, for {channels_over(problem)}"
    return outcome(problem, variables, exact.bound, source, result.solver, is_best=True)


def cloak_program(problem: SpectrumPartition, costs: Array) -> LinearResult:
    """Solve fractional set partitioning; its prices are the negative multipliers of the equations."""
    from scipy.sparse import csr_array

    sets = len(costs)
    rows = csr_array(problem.family.T.astype(np.float64))
    ones = np.ones(problem.size)
    none, zeros = csr_array((0, sets)), np.zeros(sets)
    return solve_linear(LinearProgram(-costs, none, np.zeros(0), rows, ones, zeros, np.ones(sets)))


def _refused(result: LinearResult) -> Outcome:
    status = "infeasible" if result.status == "infeasible" else "failed"
    text = f"HiGHS ended with: {result.message}"
    return Outcome(status=status, solver=result.solver, message=text)  # type: ignore[arg-type]


def _matrix(
    rows: list[Places], columns: list[Places], values: list[Array], shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    parts = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(parts, shape=shape)


def _cap(problem: SpectrumPartition) -> tuple[LinearProgram, tuple[Places, Places]]:
    """Return the program whose variables are K(Q | x) for x in Q, and which place and set each one is for."""
    number, place = np.nonzero(problem.family)
    count, mass = len(place), problem.masses[place]
    numbers = np.arange(count)
    starts = np.searchsorted(number, np.arange(len(problem.family) + 1))
    rows, columns, values = [numbers], [numbers], [mass]
    for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        inside = np.arange(low, high)
        rows.append(np.repeat(inside, high - low))
        columns.append(np.tile(inside, high - low))
        values.append(-problem.cap * mass[columns[-1]])
    upper = _matrix(rows, columns, values, (count, count))
    equal = _matrix([place], [numbers], [np.ones(count)], (problem.size, count))
    program = LinearProgram(
        -mass * problem.losses[number],
        upper,
        np.zeros(count),
        equal,
        np.ones(problem.size),
        np.zeros(count),
        np.ones(count),
        place.astype(np.int64),
        np.ones(problem.size),
        np.ones(problem.size, dtype=np.bool_),
    )
    return program, (place, number)


def _slack(problem: SpectrumPartition) -> tuple[LinearProgram, tuple[Places, Places]]:
    """Return the program of K(Q | x) and the slacks of each pair of places in each set of the first."""
    assert problem.epsilon is not None
    assert problem.delta is not None
    number, place = np.nonzero(problem.family)
    count = len(place)
    where = np.full((len(problem.family), problem.size), -1, dtype=np.int64)
    where[number, place] = np.arange(count)
    first, second = problem.pairs.T
    of_set, pair = np.nonzero(problem.family[:, first])
    slacks = np.arange(len(pair))
    own, other = where[of_set, first[pair]], where[of_set, second[pair]]
    both = other >= 0
    rows = [slacks, slacks, slacks[both], len(slacks) + pair]
    columns = [own, count + slacks, other[both], count + slacks]
    factor = math.exp(problem.epsilon)
    ones = np.ones(len(slacks))
    values = [ones, -ones, np.full(int(both.sum()), -factor), ones]
    total = count + len(slacks)
    upper = _matrix(rows, columns, values, (len(slacks) + len(first), total))
    limits = np.concatenate([np.zeros(len(slacks)), np.full(len(first), problem.delta)])
    equal = _matrix([place], [np.arange(count)], [np.ones(count)], (problem.size, total))
    objective = np.zeros(total)
    objective[:count] = -problem.masses[place] * problem.losses[number]
    blocks = np.concatenate([place, np.full(len(slacks), -1)]).astype(np.int64)
    program = LinearProgram(
        objective,
        upper,
        limits,
        equal,
        np.ones(problem.size),
        np.zeros(total),
        np.ones(total),
        blocks,
        np.ones(problem.size),
        np.ones(problem.size, dtype=np.bool_),
    )
    return program, (place, number)


def why_no_linear_program(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.notion == "partition" and not problem.on_line:
        return "on a grid the best weights need not be a partition"
    if problem.notion in ("partition", "cloak"):
        return None
    if problem.delta is not None and 0.0 < problem.delta < LEAST_DELTA:
        return f"delta {problem.delta:g} is below {LEAST_DELTA:g}, what its solver tells from 0"
    each = 1 if problem.notion == "cap" else 1 + len(problem.pairs) // problem.size
    variables = int(problem.family.sum()) * each
    if variables > MOST_VARIABLES:
        return f"its program has some {variables} variables, more than {MOST_VARIABLES}"
    return None
