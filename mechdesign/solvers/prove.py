"""A proven bound for any convex program that is written in cvxpy: no solver has to be believed.

cvxpy turns a program into a cone program: minimise c'x + d subject to A x + s = b, s in K, where K is a
product of {0}, the nonnegative numbers, second-order, exponential and semidefinite cones. For y in the dual
cone K*,

    c'x = (c + A'y)'x - y'(b - s) = r'x - b'y + y's >= r'x - b'y,        r = c + A'y,

since y's >= 0. So d - b'y is a lower bound where r = 0. The y of a solver is nearly this; here it becomes
exactly this, and all is computed in fractions:

1. *In the cone*, provably: see :mod:`mechdesign.solvers.dual_cones`.
2. *Without remainder.* r_j is moved into the multiplier of a row that bounds x_j alone (Neumaier and
   Shcherbina 2004), of the program or of the caller's ``box``. A row that bounds x_j from one side takes
   remainders of one sign: corrections in floating point aim a little to that side. For the variables without
   any bound the equations A'dy = -r are then solved exactly, with the rows whose multipliers may move:
   equations, and rows inside of their cones (Jansson, Chaykin and Keil 2007). The membership is checked
   again after that, exactly.

What is proven is a bound of the cone program, whose numbers are the doubles that cvxpy made of the problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.problem import Status
from mechdesign.exact.randomness import exp_lower, exp_upper
from mechdesign.solvers.cone_program import BOTH, Array, ConeProgram, Unsolved, Vector, sense_of, within_box
from mechdesign.solvers.dual_cones import (
    DROP,
    LAST,
    LIFT,
    MOST_EXPONENT,
    RAISE,
    SHRINK,
    distance_inside,
    is_inside,
    lifted_rows,
    put_inside,
)
from mechdesign.solvers.linear_systems import equations_solved

if TYPE_CHECKING:
    import cvxpy

TRIALS = (
    (0.0, RAISE),
    *((margin, way) for margin in (1e-12, 1e-10, 1e-8, 1e-6) for way in (RAISE, SHRINK, LAST)),
    *((margin, DROP) for margin in (1e-13, 1e-11, 1e-9)),
)
"""How far inside of its cones y is moved, relative to its size, before the equations are solved exactly."""

POLYHEDRAL = ((0.0, RAISE), (1e-14, LIFT), (1e-12, LIFT), (1e-10, LIFT))
"""The same without curved cones."""

CLOSE, LINEAR_CLOSE = Fraction(1, 10**8), Fraction(1, 10**12)
"""A bound that is this close to the solver's value, relatively, is not improved."""

MOST_EXACT = 1000
"""The most variables without any bound whose remainder is made 0 by solving equations exactly."""

MOST_ENTRIES = 40_000
"""The most entries of these equations; solving them takes some ten seconds."""

FLOAT_STEPS = 4
"""Corrections in floating point before the exact one: each makes the remainder smaller by many digits."""

DENSE = 4_000_000
"""Up to so many entries the corrections are computed by dense matrices."""

SINGULAR = 1e-15
"""Smaller pivots, relative to the largest, are taken for 0."""

EVERYWHERE = "valid for all feasible points"

ASIDE = Fraction(1, 1 << 66)
"""To which side of 0 a remainder is aimed, relative to its terms, where a bound takes one sign alone."""


@dataclass(frozen=True)
class ProvenBound:
    """A bound of the optimum of a program, proven in exact arithmetic.

    Attributes
    ----------
    bound : Fraction or None
        No feasible point is better: at most the optimum of a minimisation, at least that of a maximisation.
        None where nothing could be proven.
    value : float or None
        The objective at the solver's point; nobody has proven that the point is feasible.
    sense : {"min", "max"}
    why : str
        What the bound rests on, or why there is none and what would help.
    solver : str
    status : str
        ``optimal``, ``infeasible``, ``unbounded`` or ``failed``: what the solver says.
    """

    bound: Fraction | None
    value: float | None
    sense: str
    why: str
    solver: str
    status: Status = "optimal"

    def __float__(self) -> float:
        """Return the bound as a double, rounded to the safe side; nan without one."""
        if self.bound is None:
            return math.nan
        rounded = _double(self.bound)
        if self.sense == "min":
            return rounded if rounded <= self.bound else math.nextafter(rounded, -math.inf)
        return rounded if rounded >= self.bound else math.nextafter(rounded, math.inf)

    @property
    def gap(self) -> float:
        """The distance of value and bound; nan without one of them."""
        return math.nan if self.value is None or self.bound is None else abs(self.value - float(self))

    def __str__(self) -> str:
        if self.bound is None:
            return f"no bound: {self.why}"
        relation = ">=" if self.sense == "min" else "<="
        return f"optimum {relation} {float(self):.12g} ({self.why}; by {self.solver}, gap {self.gap:.3g})"


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def prove(program: cvxpy.Problem, box: Any = None, values: bool = False) -> ProvenBound:
    """Solve a convex program written in cvxpy and prove a bound of its optimum, in exact arithmetic.

    Parameters
    ----------
    program : cvxpy.Problem
        Linear, second-order, semidefinite, with exponentials, logarithms and powers; or geometric, which is
        proven in logarithms. Integer variables are relaxed: the bound is one for them as well, and a whole
        number where the objective is one.
    box : number, or mapping of variables to numbers or arrays, optional
        What |x| is known to be at most; it is used only where there is no bound without it.
    values : bool
        Whether the variables of a convex program hold the solver's point afterwards.

    Returns
    -------
    ProvenBound

    Raises
    ------
    ParameterError
        For a program that is not convex, or has another cone.

    Examples
    --------
    >>> import cvxpy
    >>> x = cvxpy.Variable(2, name="x")
    >>> program = cvxpy.Problem(cvxpy.Minimize(x[0] + x[1]), [x[0] + 2 * x[1] >= 2, x >= 0])
    >>> float(prove(program))
    1.0
    """
    boxed = None if box is None else within_box(program, box)
    if _is_geometric(program):
        result, again = _in_logarithms(program, EVERYWHERE), _in_logarithms
    else:
        result, again = _bound_of(program, EVERYWHERE, values), _bound_of
    if result.bound is None and boxed is not None:
        return again(boxed, "valid within the box of the caller")
    return result


def _is_geometric(program: cvxpy.Problem) -> bool:
    return (
        isinstance(getattr(program, "constraints", None), list) and not program.is_dcp() and program.is_dgp()
    )


def _in_logarithms(program: cvxpy.Problem, scope: str) -> ProvenBound:
    """Return the bound of a geometric program: e to the bound of the convex program of its logarithms."""
    from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

    result = _bound_of(Dgp2Dcp(program).reduce(), scope)
    with np.errstate(over="ignore"):
        value = None if result.value is None else float(np.exp(result.value))
    bound = None if result.bound is None else _exponential(result.bound, result.sense)
    is_lost = bound is None and result.bound is not None
    why = "its numbers are beyond those of doubles; scale the program" if is_lost else result.why
    return ProvenBound(bound, value, result.sense, why, result.solver, result.status)


def _exponential(exponent: Fraction, sense: str) -> Fraction | None:
    """Return a lower bound of e^x for a minimisation, an upper one for a maximisation, if it is a double."""
    if abs(exponent) > MOST_EXPONENT:
        return Fraction(0) if sense == "min" else None
    if sense == "min":
        return exp_lower(exponent) if exponent >= 0 else 1 / exp_upper(-exponent)
    return exp_upper(exponent) if exponent >= 0 else 1 / exp_lower(-exponent)


def _bound_of(program: cvxpy.Problem, scope: str, values: bool = False) -> ProvenBound:
    """Return the bound of a program, which holds where ``scope`` says."""
    cone = ConeProgram.of(program, values)
    if isinstance(cone, Unsolved):
        return ProvenBound(None, None, sense_of(program), cone.why, cone.solver, cone.status)
    best, failure = _best_bound(cone)
    if best is None:
        return ProvenBound(
            None, cone.value, cone.sense, failure or "the solver has no multipliers", cone.solver
        )
    if cone.has_whole_objective:
        best = Fraction(math.ceil(best))
    signed = best if cone.sense == "min" else -best
    return ProvenBound(signed, cone.value, cone.sense, scope, cone.solver)


def _best_bound(cone: ConeProgram) -> tuple[Fraction | None, str]:
    """Return the best lower bound that the multipliers prove, or None and why none does."""
    best: Fraction | None = None
    failure = ""
    trials = POLYHEDRAL if cone.is_polyhedral else TRIALS
    for multipliers in cone.duals:
        for margin, direction in trials:
            try:
                lower, why = _proven(cone, multipliers, margin, direction)
            except OverflowError:
                lower, why = None, "its numbers are beyond those of doubles; scale the program"
            if lower is not None:
                best = lower if best is None else max(best, lower)
                if _is_close(cone, best):
                    return best, ""
                continue
            failure = why
            if why == TOO_MUCH:
                return best, failure
    return best, failure


def _is_close(cone: ConeProgram, bound: Fraction) -> bool:
    """Whether no other way into the cones can lead to a bound that is worth more."""
    if cone.value is None or not math.isfinite(cone.value):
        return True
    value = Fraction(cone.value if cone.sense == "min" else -cone.value)
    part = LINEAR_CLOSE if cone.is_polyhedral else CLOSE
    return value - bound <= part * max(abs(value), abs(bound))


# The proof

OUTSIDE = (
    "the multipliers left their cones when the remainder was removed; bound the variables, or state box="
)
TOO_MUCH = "too many variables have no bound for an exact correction; bound them, or state box="


class _TooMuchError(Exception):
    """Raised where an exact correction would take too long."""


def _proven(
    cone: ConeProgram, multipliers: Array, margin: float, direction: str
) -> tuple[Fraction | None, str]:
    """Return a lower bound of the minimum, or None and why there is none."""
    if not np.isfinite(multipliers).all():
        return None, "the solver's multipliers are not finite"
    y = [Fraction(entry) for entry in multipliers.tolist()]
    if direction == DROP:  # those of constraints that do not bind: noise, next to the others
        largest = max(map(abs, y), default=Fraction(0))
        for part in cone.cones:
            if all(abs(y[row]) <= Fraction(margin) * largest for row in part.rows) and part.kind != "zero":
                y[part.rows.start : part.rows.stop] = [Fraction(0)] * len(part.rows)
    for part in cone.cones:
        put_inside(part, y, margin, direction)
    if direction == LIFT:
        lift = Fraction(margin) * _short(max(map(abs, y), default=Fraction(0)) or Fraction(1))
        for part in cone.cones:
            for row in lifted_rows(part):
                y[row] += lift
    rest = cone.remainder(y)
    _absorb(cone, y, rest)
    free = [column for column, part in enumerate(rest) if part]
    is_raised = direction == RAISE and not free  # which puts y into its cones by how it is computed
    if free:
        if not margin and not cone.is_polyhedral:
            return None, OUTSIDE
        try:
            steps = _exact_steps(cone, y, rest)
        except _TooMuchError:
            return None, TOO_MUCH
        if steps is None:
            return None, _unbounded(cone, free[0])
        for row, step in steps.items():
            y[row] += step
        rest = cone.remainder(y)
        _absorb(cone, y, rest)
        free = [column for column, part in enumerate(rest) if part]
        if free:
            return None, _unbounded(cone, free[0])
    if not is_raised and not all(is_inside(part, y) for part in cone.cones):
        return None, OUTSIDE
    value = cone.constant - sum((b * part for b, part in zip(cone.b, y, strict=True) if b), Fraction(0))
    return value, ""


def _unbounded(cone: ConeProgram, column: int) -> str:
    name = cone.names[column]
    what = f"variable {name}" if name else "a variable that cvxpy added"
    return f"{what} has no bound that its multiplier could be moved to; bound the variables, or state box="


def _absorb(cone: ConeProgram, y: list[Fraction], rest: list[Fraction]) -> None:
    """Move remainders into multipliers of rows with one variable, as far as these stay nonnegative."""
    for column, single in cone.singles.items():
        for row, entry, kind in single:
            if not rest[column]:
                break
            step = -rest[column] / entry
            if kind == "nonnegative":
                step = max(step, -y[row])
            y[row] += step
            rest[column] += step * entry


def _exact_steps(cone: ConeProgram, y: Sequence[Fraction], rest: Sequence[Fraction]) -> Vector | None:
    """Return changes of multipliers after which every remainder is 0 or can be moved, exactly.

    The unknowns are the multipliers that may move; every column that is not bounded from both sides is an
    equation. The least changes in floating point, relative to the room that each multiplier has, come
    first: what is solved exactly after that, for the columns without any bound, is tiny.
    """
    room = _room(cone, y)
    targets = [column for column in range(len(rest)) if cone.sides(column) != BOTH]
    free = [column for column in targets if not cone.sides(column)]
    if len(free) > MOST_EXACT or sum(len(cone.columns[column]) for column in free) > MOST_ENTRIES:
        raise _TooMuchError
    aims = {column: Fraction(0) for column in targets}
    sided = [column for column in targets if cone.sides(column)] if room else []
    for column, size in zip(sided, _sizes(cone, y, sided), strict=True):
        aims[column] = sum(cone.sides(column)) * _short(size * ASIDE)
    corrector = _Corrector(cone, targets, room)
    total = dict.fromkeys(room, Fraction(0))
    left = list(rest)
    for _ in range(FLOAT_STEPS):
        missing = [aims[column] - left[column] if aims[column] else -left[column] for column in targets]
        if not any(missing):
            break
        for row, step in corrector.steps(missing).items():
            total[row] += step
        left = cone.remainder([part + total[row] if total.get(row) else part for row, part in enumerate(y)])
    if not any(left[column] for column in free):
        return total
    solved = equations_solved(
        [({row: entry for row, entry in cone.columns[c] if row in room}, -left[c]) for c in free]
    )
    if solved is None:
        return None
    return {row: step + solved.get(row, Fraction(0)) for row, step in total.items()}


def _sizes(cone: ConeProgram, y: Sequence[Fraction], columns: Sequence[int]) -> list[Fraction]:
    """Return the sizes of the terms of columns, in doubles where these do: only the order matters."""
    try:
        parts = [abs(float(part)) for part in y]
    except OverflowError:
        parts = [math.inf] * len(y)
    sizes = []
    for column in columns:
        size = sum([abs(entry) * parts[row] for row, entry in cone.doubles[column]])
        size += abs(float(cone.c[column]))
        if 0.0 < size < math.inf:
            sizes.append(Fraction(size))
        else:
            terms = [abs(entry * y[row]) for row, entry in cone.columns[column]]
            sizes.append(sum(terms, abs(cone.c[column])))
    return sizes


def _short(number: Fraction) -> Fraction:
    """Return a power of 2 next to a number >= 0."""
    shift = number.denominator.bit_length() - number.numerator.bit_length()
    return Fraction(1, 1 << shift) if shift >= 0 else Fraction(1 << -shift)


class _Corrector:
    """About the least changes, in units of the room, that make up for what is missing in columns."""

    def __init__(self, cone: ConeProgram, columns: Sequence[int], room: Mapping[int, float]) -> None:
        from scipy.sparse import coo_array, diags_array

        self.room, self.places = room, {row: place for place, row in enumerate(room)}
        triples = [
            (number, self.places[row], entry * room[row])
            for number, column in enumerate(columns)
            for row, entry in cone.doubles[column]
            if row in room
        ]
        rows, places, values = zip(*triples, strict=True) if triples else ((), (), ())
        matrix = coo_array((values, (rows, places)), shape=(len(columns), len(room))).tocsr()
        sizes = np.sqrt(np.asarray((matrix * matrix).sum(axis=1)).ravel())
        self.scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        self.matrix = (diags_array(self.scale) @ matrix).tocsr()
        self._solve = self._factored()

    def _factored(self) -> Callable[[Array], Array]:
        """Return what solves for the least changes: by orthogonal factors, or regularized normal equations.

        The room of multipliers differs by many powers of ten. With the largest first, Householder's
        reflections are accurate row by row whatever their sizes.
        """
        from scipy.linalg import qr, solve_triangular
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        if not self.matrix.nnz:
            return lambda missing: np.zeros(self.matrix.shape[1])
        if math.prod(self.matrix.shape) > DENSE:
            normal = self.matrix @ self.matrix.T + 1e-13 * eye_array(self.matrix.shape[0])
            factors = splu(normal.tocsc())
            return lambda missing: np.asarray(self.matrix.T @ factors.solve(missing))
        upright = self.matrix.toarray().T
        order = np.argsort(-np.abs(upright).max(axis=1), kind="stable")
        turned, triangle, pivots = qr(upright[order], mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        rank = int((sizes > SINGULAR * sizes[0]).sum())

        def least(missing: Array) -> Array:
            parts = solve_triangular(triangle[:rank, :rank], missing[pivots[:rank]], trans="T")
            steps = np.zeros(len(order))
            steps[order] = turned[:, :rank] @ parts
            return steps

        return least

    def steps(self, missing: Sequence[Fraction]) -> Vector:
        """Return the change of each multiplier that may move."""
        largest = max((abs(part) for part in missing), default=Fraction(0))
        if not largest:
            return {}
        unit = _short(largest)  # remainders may be below the least double
        scaled = self._solve(self.scale * np.array([float(part / unit) for part in missing]))
        if not np.isfinite(scaled).all():
            return {}
        steps = (scaled * np.fromiter(self.room.values(), dtype=np.float64)).tolist()
        return {row: Fraction(step) * unit for row, step in zip(self.room, steps, strict=True) if step}


def _room(cone: ConeProgram, y: Sequence[Fraction]) -> dict[int, float]:
    """Return the multipliers that may change, and by how much about, before they leave their cones."""
    room: dict[int, float] = {}
    largest = max((float(abs(part)) for part in y), default=1.0) or 1.0
    for part in cone.cones:
        if part.kind == "zero":
            room |= dict.fromkeys(part.rows, largest)
            continue
        inside = distance_inside(part, y)
        if inside > 0.0:
            room |= dict.fromkeys(part.rows, inside)
    return room
