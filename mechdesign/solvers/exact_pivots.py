"""Steps of the simplex in rationals, from a basis that is optimal in double precision only.

Numbers closer than a double can tell apart make HiGHS stop at a basis next to an optimal one. If that is
exactly feasible, steps of the primal simplex lead to the optimum; if its multipliers are, steps of the dual
one. Each step factors the basis again, which is affordable for the few that are needed. Smallest indices
are taken first, so that steps end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from mechdesign.solvers.linear_systems import CommonFractions, FactoredSystem

if TYPE_CHECKING:
    from mechdesign.solvers.exact_linear import IntegerProgram

MOST_STEPS = 400
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
        self.point = spread(inner, basis.columns, self.width)
        self.prices = spread(outer, basis.tight, self.height)
        self.slacks = self._slacks(self.point, limits)
        self.reduced = self._combined(self.prices, gains)

    def _slacks(self, point: CommonFractions, limits: list[int]) -> list[Fraction]:
        from mechdesign.solvers.exact_linear import whole_array

        left = self.program.rows.times(whole_array(point.numerators)).tolist()
        return [
            Fraction(int(limit) * point.denominator - int(number), point.denominator)
            for limit, number in zip(limits, left, strict=True)
        ]

    def _combined(self, weights: CommonFractions, less: list[int]) -> list[Fraction]:
        """Return the rows' combination with these weights, minus numbers, by column."""
        from mechdesign.solvers.exact_linear import whole_array

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
        from mechdesign.solvers.exact_linear import whole_array

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
        whole = spread(fall, self.basis.columns, self.width)
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
            weights = spread(self._system.solved(right, transposed=True), self.basis.tight, self.height)
            own: dict[int, int] = {}
            sign = 1
        else:
            own = self.program.rows.row(leaving - self.width)
            right = [own.get(column, 0) for column in self.basis.columns]
            weights = spread(self._system.solved(right, transposed=True), self.basis.tight, self.height)
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


def spread(fractions: CommonFractions, places: tuple[int, ...], size: int) -> CommonFractions:
    """Return the fractions at their places among zeros.

    Examples
    --------
    >>> spread(CommonFractions([1, 2], 3), (0, 2), 4)
    CommonFractions(numerators=[1, 0, 2, 0], denominator=3)
    """
    numerators = [0] * size
    for place, number in zip(places, fractions.numerators, strict=True):
        numerators[place] = number
    return CommonFractions(numerators, fractions.denominator)


def optimal_tableau(
    program: IntegerProgram, basis: ExactBasis, steps: int = MOST_STEPS
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
