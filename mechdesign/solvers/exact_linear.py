"""Linear programs in whole numbers, solved exactly: HiGHS proposes, and everything is checked in integers.

Maximise ``objective . x`` with ``rows x <= limits``, some of the rows equations, and x >= 0 but for the free
variables. HiGHS solves it in double precision. Its variables and multipliers are first taken for fractions of
small denominators; where these are not feasible, or their values differ, the basis of HiGHS is solved in
rationals (:mod:`mechdesign.solvers.linear_systems`). What is returned as ``optimal`` is a pair of a feasible
x and of feasible multipliers with the same value, so weak duality proves it without HiGHS.

Numbers closer than a double can tell apart make HiGHS stop at a basis next to an optimal one. If that is
exactly feasible, steps of the primal simplex in rationals lead to the optimum; if its multipliers are, steps
of the dual one. Each step factors the basis again, which is affordable for the few that are needed.

An infeasible program is proven to be one by Farkas' multipliers: they are the optimal multipliers of the
program that minimises the sum by which rows are violated, which is always feasible, so the same way serves.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.solvers.highs import silent_highs
from mechdesign.solvers.linear_systems import CommonFractions, FactoredSystem

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Whole = NDArray[Any]
"""Integers: int64, or Python's own as objects where they are larger."""

DENOMINATORS = (1000, 100_000)
"""Up to which denominators the numbers of HiGHS are taken for fractions."""

SAFE = 1 << 62
"""Sums of integers below it are computed in int64."""

TRIES: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": "off", "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    {"solver": "ipm", "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
)
"""Settings of HiGHS, one after the other until a basis is exactly optimal."""


def whole_array(values: Any) -> Whole:
    """Return integers as an array, of int64 where all fit well.

    Examples
    --------
    >>> whole_array([1, 2]).dtype.name, whole_array([1, 1 << 70]).dtype.name
    ('int64', 'object')
    """
    array = np.array(values, dtype=object)
    return array.astype(np.int64) if largest_integer(array) < SAFE else array


def largest_integer(array: Whole) -> int:
    """Return the largest absolute value, as an int of Python; 0 of an empty array."""
    if not array.size:
        return 0
    return max(int(array.max()), -int(array.min()))


def products_fit(left: Whole, right: Whole, count: int = 1) -> bool:
    """Whether sums of this many products, and the factors themselves, are small enough for int64."""
    sizes = (largest_integer(left), largest_integer(right), count)
    return prod(max(size, 1) for size in sizes) < SAFE


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """A sparse matrix of integers by rows: entries ``values`` at ``columns``, row r from ``starts[r]`` on."""

    starts: Places
    columns: Places
    values: Whole
    width: int

    @classmethod
    def of_entries(cls, rows: Places, columns: Places, values: Whole, shape: tuple[int, int]) -> IntegerRows:
        """Return the matrix of entries in any order, each place once at most."""
        order = np.lexsort((columns, rows))
        places = order[values[order] != 0]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows[places], minlength=shape[0]))])
        return cls(starts.astype(np.int64), columns[places], values[places], shape[1])

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def row_places(self) -> Places:
        """The row of each entry."""
        return np.repeat(np.arange(self.height), np.diff(self.starts))

    def times(self, vector: Whole) -> Whole:
        """Return ``matrix @ vector``, exactly."""
        return _sums(self.values, vector[self.columns], self.row_places, self.height)

    def transposed_times(self, vector: Whole) -> Whole:
        """Return ``matrix.T @ vector``, exactly."""
        return _sums(self.values, vector[self.row_places], self.columns, self.width)

    def row(self, number: int) -> dict[int, int]:
        """Return the entries of one row by column."""
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return dict(zip(self.columns[part].tolist(), self.values[part].tolist(), strict=True))


def _sums(left: Whole, right: Whole, places: Places, count: int) -> Whole:
    """Return the sums of products by place, in int64 where nothing can overflow."""
    most = int(np.bincount(places, minlength=1).max()) if len(places) else 0
    if products_fit(left, right, most):
        result = np.zeros(count, dtype=np.int64)
        np.add.at(result, places, left.astype(np.int64) * right.astype(np.int64))
        return result
    total = np.zeros(count, dtype=object)
    np.add.at(total, places, left.astype(object) * right.astype(object))
    return total


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """Maximise ``objective . x`` with ``rows x <= limits``, or ``=`` where ``equal``, x >= 0 unless free."""

    objective: Whole
    rows: IntegerRows
    limits: Whole
    equal: NDArray[np.bool_]
    free: NDArray[np.bool_]

    def primal_is_feasible(self, point: CommonFractions) -> bool:
        """Whether variables keep all rows, exactly."""
        x = whole_array(point.numerators)
        if (x[~self.free] < 0).any():
            return False
        left = self.rows.times(x).astype(object) - point.denominator * self.limits.astype(object)
        return not (left > 0).any() and not left[self.equal].any()

    def dual_is_feasible(self, prices: CommonFractions) -> bool:
        """Whether multipliers prove a bound, exactly."""
        y = whole_array(prices.numerators)
        if (y[~self.equal] < 0).any():
            return False
        left = self.rows.transposed_times(y).astype(object) - prices.denominator * self.objective.astype(
            object
        )
        return not (left < 0).any() and not left[self.free].any()

    def value(self, point: CommonFractions) -> Fraction:
        """Return the objective of variables."""
        return _inner(self.objective, point)

    def bound(self, prices: CommonFractions) -> Fraction:
        """Return what multipliers prove: no feasible x has more, if they are feasible."""
        return _inner(self.limits, prices)


def _inner(vector: Whole, fractions: CommonFractions) -> Fraction:
    total = sum(
        int(one) * other for one, other in zip(vector.tolist(), fractions.numerators, strict=True) if other
    )
    return Fraction(total, fractions.denominator)


MOST_PIVOTS = 400
"""Exact steps before the basis is given up."""


@dataclass(frozen=True)
class ExactBasis:
    """A basis: which variables are in it, and which rows are tight; both have the same number.

    Attributes
    ----------
    columns, tight : tuple of int
        In increasing order.
    """

    columns: tuple[int, ...]
    tight: tuple[int, ...]

    def exchanged(self, entering: int, leaving: int, width: int) -> ExactBasis:
        """Return the basis with another variable; from ``width`` on the numbers are those of slacks."""
        columns, tight = set(self.columns), set(self.tight)
        for variable, enters in ((entering, True), (leaving, False)):
            if variable < width:
                (columns.add if enters else columns.discard)(variable)
            else:
                (tight.discard if enters else tight.add)(variable - width)
        return ExactBasis(tuple(sorted(columns)), tuple(sorted(tight)))


class ExactTableau:
    """What a basis says of a program, in fractions: variables, slacks, multipliers, reduced costs.

    Parameters
    ----------
    program : IntegerProgram
    basis : ExactBasis

    Raises
    ------
    ZeroDivisionError
        When the basis is singular.
    """

    def __init__(self, program: IntegerProgram, basis: ExactBasis) -> None:
        self.program, self.basis = program, basis
        self.width, self.height = program.rows.width, program.rows.height
        place = {column: number for number, column in enumerate(basis.columns)}
        matrix = []
        for row in basis.tight:
            entries = program.rows.row(row)
            matrix.append({place[column]: value for column, value in entries.items() if column in place})
        self._system = FactoredSystem(matrix)
        limits = program.limits.tolist()
        gains = program.objective.tolist()
        inner = self._system.solved([int(limits[row]) for row in basis.tight])
        outer = self._system.solved([int(gains[column]) for column in basis.columns], transposed=True)
        self.point = placed_fractions(inner, basis.columns, self.width)
        self.prices = placed_fractions(outer, basis.tight, self.height)
        self.slacks = self._slacks(self.point, limits)
        self.reduced = self._combined(self.prices, gains)

    def _slacks(self, point: CommonFractions, limits: list[int]) -> list[Fraction]:
        left = self.program.rows.times(whole_array(point.numerators)).tolist()
        return [
            Fraction(int(limit) * point.denominator - int(number), point.denominator)
            for limit, number in zip(limits, left, strict=True)
        ]

    def _combined(self, weights: CommonFractions, less: list[int]) -> list[Fraction]:
        """Return the rows' combination with these weights, minus numbers, by column."""
        total = self.program.rows.transposed_times(whole_array(weights.numerators)).tolist()
        return [
            Fraction(int(number) - int(own) * weights.denominator, weights.denominator)
            for number, own in zip(total, less, strict=True)
        ]

    def infeasible(self) -> Iterator[tuple[int, Fraction]]:
        """Yield the variables of the basis that are below 0, and slacks of equations that are not 0."""
        for column in self.basis.columns:
            if not self.program.free[column] and self.point.numerators[column] < 0:
                yield column, Fraction(self.point.numerators[column], self.point.denominator)
        tight = set(self.basis.tight)
        for row, slack in enumerate(self.slacks):
            if row not in tight and (slack < 0 or (slack and self.program.equal[row])):
                yield self.width + row, slack

    def improving(self) -> Iterator[tuple[int, int]]:
        """Yield the variables outside the basis that would raise the objective, and in which direction."""
        inside = set(self.basis.columns)
        for column, cost in enumerate(self.reduced):
            if column not in inside and (cost < 0 or (cost and self.program.free[column])):
                yield column, 1 if cost < 0 else -1
        for row in self.basis.tight:
            if not self.program.equal[row] and self.prices.numerators[row] < 0:
                yield self.width + row, 1

    def rates(self, entering: int, sign: int) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
        """Return by how much the basic variables and slacks fall when a variable enters."""
        place = {row: number for number, row in enumerate(self.basis.tight)}
        right = [0] * len(place)
        own = [0] * self.width
        if entering < self.width:
            own[entering] = 1
            column = self.program.rows.times(whole_array(own)).tolist()
            for row, number in place.items():
                right[number] = int(column[row])
        else:
            column = [0] * self.height
            right[place[entering - self.width]] = 1
        fall = self._system.solved(right)
        whole = placed_fractions(fall, self.basis.columns, self.width)
        moved = self.program.rows.times(whole_array(whole.numerators)).tolist()
        variables = {
            column_place: sign * Fraction(whole.numerators[column_place], whole.denominator)
            for column_place in self.basis.columns
        }
        slacks = {
            row: sign * Fraction(int(column[row]) * whole.denominator - int(moved[row]), whole.denominator)
            for row in range(self.height)
            if row not in place
        }
        return variables, slacks

    def tableau_row(self, leaving: int) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
        """Return by how much a basic variable falls for each variable, and tight slack, outside the basis."""
        if leaving < self.width:
            right = [int(column == leaving) for column in self.basis.columns]
            weights = placed_fractions(
                self._system.solved(right, transposed=True), self.basis.tight, self.height
            )
            own: dict[int, int] = {}
            sign = 1
        else:
            own = self.program.rows.row(leaving - self.width)
            right = [own.get(column, 0) for column in self.basis.columns]
            weights = placed_fractions(
                self._system.solved(right, transposed=True), self.basis.tight, self.height
            )
            sign = -1
        entries = self._combined(weights, [own.get(column, 0) for column in range(self.width)])
        inside = set(self.basis.columns)
        variables = {
            column: sign * entry for column, entry in enumerate(entries) if entry and column not in inside
        }
        slacks = {
            row: sign * Fraction(weights.numerators[row], weights.denominator)
            for row in self.basis.tight
            if weights.numerators[row] and not self.program.equal[row]
        }
        return variables, slacks


def placed_fractions(fractions: CommonFractions, places: tuple[int, ...], size: int) -> CommonFractions:
    """Return the fractions at their places among zeros.

    Examples
    --------
    >>> placed_fractions(CommonFractions([1, 2], 3), (0, 2), 4)
    CommonFractions(numerators=[1, 0, 2, 0], denominator=3)
    """
    numerators = [0] * size
    for place, number in zip(places, fractions.numerators, strict=True):
        numerators[place] = number
    return CommonFractions(numerators, fractions.denominator)


def optimal_tableau(
    program: IntegerProgram, basis: ExactBasis, steps: int = MOST_PIVOTS
) -> ExactTableau | None:
    """Return the tableau of an optimal basis, at most so many steps from another one; None without one."""
    for _ in range(steps + 1):
        try:
            tableau = ExactTableau(program, basis)
        except ArithmeticError:
            return None
        broken, better = list(tableau.infeasible()), next(tableau.improving(), None)
        if not broken and better is None:
            return tableau
        if not broken and better is not None:
            leaving = _leaving(tableau, *better)
            entering: int | None = better[0]
        elif better is None:
            leaving = broken[0][0]
            entering = _entering(tableau, *broken[0])
        else:
            return None
        if leaving is None or entering is None:
            return None
        basis = basis.exchanged(entering, leaving, tableau.width)
    return None


def _leaving(tableau: ExactTableau, entering: int, sign: int) -> int | None:
    """Return the basic variable that reaches its limit first."""
    variables, slacks = tableau.rates(entering, sign)
    steps = [
        (Fraction(tableau.point.numerators[column], tableau.point.denominator) / rate, column)
        for column, rate in variables.items()
        if rate > 0 and not tableau.program.free[column]
    ]
    for row, rate in slacks.items():
        if rate > 0 or (rate and tableau.program.equal[row]):
            steps.append((tableau.slacks[row] / abs(rate), tableau.width + row))
    return min(steps)[1] if steps else None


def _entering(tableau: ExactTableau, leaving: int, value: Fraction) -> int | None:
    """Return the variable that keeps the multipliers feasible when another one leaves."""
    variables, slacks = tableau.tableau_row(leaving)
    sign = 1 if value < 0 else -1
    steps = []
    for column, entry in variables.items():
        if sign * entry < 0 or tableau.program.free[column]:
            steps.append((abs(tableau.reduced[column] / entry), column))
    for row, entry in slacks.items():
        if sign * entry < 0:
            price = Fraction(tableau.prices.numerators[row], tableau.prices.denominator)
            steps.append((abs(price / entry), tableau.width + row))
    return min(steps)[1] if steps else None


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """What is proven of a program.

    Attributes
    ----------
    status : str
        ``optimal``, ``infeasible``, ``unbounded`` or ``failed``.
    point, prices : CommonFractions or None
        Variables and multipliers; of an infeasible program the multipliers of Farkas: they are feasible for
        the objective 0 and prove a negative bound of it.
    how : str
        From what they were read.
    """

    status: Literal["optimal", "infeasible", "unbounded", "failed"]
    point: CommonFractions | None = None
    prices: CommonFractions | None = None
    how: str = ""


@dataclass(frozen=True, eq=False)
class _Proposal:
    """What HiGHS hands back: numbers, and the basis as masks of columns and rows."""

    variables: Array
    multipliers: Array
    basic_columns: NDArray[np.bool_]
    basic_rows: NDArray[np.bool_]


def solve_exactly(program: IntegerProgram, start: ExactBasis | None = None) -> ExactOptimum:
    """Return the exact optimum of a program with its proof, or the proof that it is infeasible.

    Parameters
    ----------
    program : IntegerProgram
    start : ExactBasis, optional
        A basis to check before HiGHS is asked.

    Examples
    --------
    >>> rows = IntegerRows.of_entries(np.array([0, 0]), np.array([0, 1]), np.array([3, 7]), (1, 2))
    >>> program = IntegerProgram(
    ...     np.array([1, 2]), rows, np.array([5]), np.array([False]), np.array([False, False]))
    >>> found = solve_exactly(program)
    >>> found.status, found.point.fractions(), program.bound(found.prices)
    ('optimal', [Fraction(5, 3), Fraction(0, 1)], Fraction(5, 3))
    """
    if start is not None and (tableau := optimal_tableau(program, start, steps=0)) is not None:
        optimum = _proven(program, tableau, "the basis of the caller, solved in rationals")
        if optimum is not None:
            return optimum
    for number, options in enumerate(TRIES):
        status, proposal = _proposed(program, options)
        if status == "infeasible":
            return _proven_infeasible(program)
        if status == "unbounded":
            return ExactOptimum("unbounded")
        if proposal is None:
            continue
        guess = _guessed(program, proposal) if number == 0 else None
        result = guess or _from_basis(program, proposal)
        if result is not None:
            return result
    return ExactOptimum("failed")


def _proven_infeasible(program: IntegerProgram) -> ExactOptimum:
    """Return the multipliers of Farkas, from the program that minimises the violation of the rows."""
    height, width = program.rows.height, program.rows.width
    doubled = np.flatnonzero(program.equal)
    extra = height + len(doubled)
    rows = np.concatenate([program.rows.row_places, np.arange(height), doubled])
    columns = np.concatenate([program.rows.columns, width + np.arange(extra)])
    signs = np.concatenate([-np.ones(height, dtype=np.int64), np.ones(len(doubled), dtype=np.int64)])
    values = np.concatenate([program.rows.values, signs.astype(program.rows.values.dtype)])
    elastic = IntegerProgram(
        np.concatenate([np.zeros(width, dtype=np.int64), -np.ones(extra, dtype=np.int64)]),
        IntegerRows.of_entries(rows, columns, values, (height, width + extra)),
        program.limits,
        program.equal,
        np.concatenate([program.free, np.zeros(extra, dtype=bool)]),
    )
    optimum = solve_exactly(elastic)
    if optimum.status != "optimal" or optimum.prices is None or elastic.bound(optimum.prices) >= 0:
        return ExactOptimum("failed")
    return ExactOptimum("infeasible", prices=optimum.prices, how=optimum.how)


def _proposed(program: IntegerProgram, options: dict[str, Any]) -> tuple[str, _Proposal | None]:
    """Return what HiGHS says, its rows and its objective scaled to numbers of the order of 1."""
    module: Any = importlib.import_module("highspy")
    solver = silent_highs()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 0)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    model, factors = _model(module, program)
    solver.passModel(model)
    solver.run()
    status, states = solver.getModelStatus(), module.HighsModelStatus
    if status == states.kUnboundedOrInfeasible:
        solver.setOptionValue("presolve", "off")
        solver.run()
        status = solver.getModelStatus()
    words = {states.kInfeasible: "infeasible", states.kUnbounded: "unbounded", states.kOptimal: "optimal"}
    if words.get(status) != "optimal":
        return words.get(status, "failed"), None
    optimum, basis = solver.getSolution(), solver.getBasis()
    basic = module.HighsBasisStatus.kBasic
    return "optimal", _Proposal(
        np.array(optimum.col_value),
        -np.array(optimum.row_dual) * factors,
        np.array([item == basic for item in basis.col_status], dtype=bool),
        np.array([item == basic for item in basis.row_status], dtype=bool),
    )


def _model(module: Any, program: IntegerProgram) -> tuple[Any, Array]:
    """Return the program for HiGHS, and what its multipliers are to be multiplied by, row by row."""
    rows = program.rows
    largest: Whole = np.ones(rows.height, dtype=rows.values.dtype)
    np.maximum.at(largest, rows.row_places, np.abs(rows.values))
    scale = max(largest_integer(program.objective), 1)
    limits = _quotients(program.limits, largest)
    model = module.HighsLp()
    model.num_row_, model.num_col_ = rows.height, rows.width
    model.col_cost_ = -_quotients(program.objective, whole_array([scale]))
    model.col_lower_ = np.where(program.free, -np.inf, 0.0)
    model.col_upper_ = np.full(rows.width, np.inf)
    model.row_lower_ = np.where(program.equal, limits, -np.inf)
    model.row_upper_ = limits
    model.a_matrix_.format_ = module.MatrixFormat.kRowwise
    model.a_matrix_.start_ = rows.starts.astype(np.int32)
    model.a_matrix_.index_ = rows.columns.astype(np.int32)
    model.a_matrix_.value_ = _quotients(rows.values, largest[rows.row_places])
    return model, _quotients(whole_array([scale]), largest)


def _quotients(numbers: Whole, divisors: Whole) -> Array:
    """Return quotients of integers as doubles, also of integers that no double holds."""
    if numbers.dtype != object and divisors.dtype != object:
        return np.asarray(numbers / divisors, dtype=np.float64)
    return np.asarray(numbers.astype(object) / divisors.astype(object), dtype=np.float64)


def _guessed(program: IntegerProgram, proposal: _Proposal) -> ExactOptimum | None:
    """Return variables and multipliers as fractions of small denominators, where these prove the optimum."""
    for most in DENOMINATORS:
        point = nearby_fractions(proposal.variables, most)
        prices = nearby_fractions(proposal.multipliers, most)
        if program.value(point) != program.bound(prices):
            continue
        if program.primal_is_feasible(point) and program.dual_is_feasible(prices):
            return ExactOptimum("optimal", point, prices, f"fractions of denominators up to {most}")
    return None


def nearby_fractions(numbers: Array, most: int) -> CommonFractions:
    """Return the fractions next to numbers, their denominators at most ``most``, over a common one.

    Examples
    --------
    >>> nearby_fractions(np.array([0.3333333333, 0.5, 0.0]), 1000)
    CommonFractions(numerators=[2, 3, 0], denominator=6)
    """
    distinct, inverse = np.unique(np.round(numbers, 10), return_inverse=True)
    optimum = [Fraction(number).limit_denominator(most) for number in distinct.tolist()]
    common = int(np.lcm.reduce(np.array([item.denominator for item in optimum] or [1], dtype=object)))
    whole = np.array([int(item * common) for item in optimum], dtype=object)
    return CommonFractions(whole[inverse.reshape(-1)].tolist(), common)


def _from_basis(program: IntegerProgram, proposal: _Proposal) -> ExactOptimum | None:
    """Return variables and multipliers of the basis of HiGHS, or of one near it, that prove the optimum."""
    columns = tuple(np.flatnonzero(proposal.basic_columns).tolist())
    tight = tuple(np.flatnonzero(~proposal.basic_rows).tolist())
    if len(columns) != len(tight):
        return None
    first = ExactBasis(columns, tight)
    tableau = optimal_tableau(program, first)
    if tableau is None:
        return None
    how = "the basis, solved in rationals" if tableau.basis == first else "a basis near it, in rationals"
    return _proven(program, tableau, how)


def _proven(program: IntegerProgram, tableau: ExactTableau, how: str) -> ExactOptimum | None:
    """Return the optimum of a tableau, where its numbers prove it."""
    if not (program.primal_is_feasible(tableau.point) and program.dual_is_feasible(tableau.prices)):
        return None
    return ExactOptimum("optimal", tableau.point, tableau.prices, how)
