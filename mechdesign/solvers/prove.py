"""A proven bound for any convex program that is written in cvxpy: no solver has to be believed.

cvxpy turns a program into a cone program: minimise c'x + d subject to A x + s = b, s in K, where K is a
product of {0}, the nonnegative numbers, second-order, exponential and semidefinite cones. For y in the dual
cone K*,

    c'x = (c + A'y)'x - y'(b - s) = r'x - b'y + y's >= r'x - b'y,        r = c + A'y,

since y's >= 0. So d - b'y is a lower bound where r = 0. The y of a solver is nearly this; here it becomes
exactly this, and all is computed in fractions:

1. *In the cone.* Nonnegative: the negative parts become 0. Second order: the head is raised until its
   square is at least the sum of the squares of the tail. Exponential, u < 0 and w >= -u e^(v/u - 1): w is
   raised to a rational upper bound. Semidefinite: for any L whatever, M = LL' + R is at least -|R| (the
   largest row sum), so adding that multiple of the identity to M makes it semidefinite; L comes from the
   eigenvectors in floating point, and R is exact. In its vector the entries outside of the diagonal are
   multiplied by sqrt 2; what a rational approximation of it leaves is a part of R.
2. *Without remainder.* r_j is moved into the multiplier of a row that bounds x_j alone (Neumaier and
   Shcherbina 2004), of the program or of the caller's ``box``. For what is left the equations A'dy = -r are
   solved exactly in fractions, with the rows whose multipliers may move: equations, and rows inside of their
   cones (Jansson, Chaykin and Keil 2007). The membership is checked again after that, exactly.

What is proven is a bound of the cone program, whose numbers are the doubles that cvxpy made of the problem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.exact.randomness import exp_lower, exp_upper
from mechdesign.solvers.cone_program import Array, ConeProgram, Vector, sense_of, within_box

if TYPE_CHECKING:
    import cvxpy

RAISE, SHRINK, LAST = "raise", "shrink", "last"
"""How multipliers come inside of their cones: the head grows, or the tail or its last entry shrinks."""

TRIALS = (
    (0.0, RAISE),
    *((margin, way) for margin in (1e-12, 1e-10, 1e-8, 1e-6) for way in (RAISE, SHRINK, LAST)),
)
"""How far inside of its cones y is moved, relative to its size, before the equations are solved exactly."""

MOST_EXACT = 4000
"""The most columns whose remainder is made 0 by solving equations in fractions."""

FLOAT_STEPS = 2
"""Corrections in floating point before the exact one: each makes the remainder 1e-15 times smaller."""

DENSE = 2000
"""Up to so many rows and columns the corrections are computed by dense matrices."""

MOST_WORK = 2_000_000
"""The most work of one elimination: products of fractions, each counted by its length; about ten seconds."""

MOST_EXPONENT = 500
"""Exponents beyond this are not looked at; the bounds of e^x hold up to 1000."""

ROOT = Fraction(math.isqrt(2 << 240), 1 << 120)
"""The square root of 2, rounded down to 120 binary places."""

ROOT_ERROR = Fraction(1, 1 << 120)


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
    """

    bound: Fraction | None
    value: float | None
    sense: str
    why: str
    solver: str

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


def prove(program: cvxpy.Problem, box: Any = None) -> ProvenBound:
    """Solve a convex program written in cvxpy and prove a bound of its optimum, in exact arithmetic.

    Parameters
    ----------
    program : cvxpy.Problem
        Linear, second-order, semidefinite or with exponentials and logarithms. Integer variables are relaxed:
        the bound is one for them as well.
    box : number, or mapping of variables to numbers or arrays, optional
        What |x| is known to be at most; it is used only where there is no bound without it.

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
    result = _bound_of(program, "valid for all feasible points")
    if result.bound is None and boxed is not None:
        return _bound_of(boxed, "valid within the box of the caller")
    return result


def _bound_of(program: cvxpy.Problem, scope: str) -> ProvenBound:
    """Return the bound of a program, which holds where ``scope`` says."""
    cone = ConeProgram.of(program)
    if isinstance(cone, str):
        return ProvenBound(None, None, sense_of(program), cone, "cvxpy")
    best: Fraction | None = None
    failure = ""
    trials = ((0.0, RAISE),) if cone.is_polyhedral else TRIALS
    for multipliers in cone.duals:
        for margin, direction in trials:
            try:
                lower, why = _proven(cone, multipliers, margin, direction)
            except OverflowError:
                lower, why = None, "its numbers are beyond those of doubles; scale the program"
            if lower is not None:
                best = lower if best is None else max(best, lower)
                break
            failure = why
            if why == TOO_MUCH:
                break
    if best is None:
        return ProvenBound(
            None, cone.value, cone.sense, failure or "the solver has no multipliers", cone.solver
        )
    signed = best if cone.sense == "min" else -best
    return ProvenBound(signed, cone.value, cone.sense, scope, cone.solver)


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
    for kind, rows in cone.cones:
        _put_inside(kind, rows, y, margin, direction)
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
    if not is_raised and not all(_is_inside(kind, rows, y) for kind, rows in cone.cones):
        return None, OUTSIDE
    value = cone.constant - sum((b * part for b, part in zip(cone.b, y, strict=True) if b), Fraction(0))
    return value, ""


def _unbounded(cone: ConeProgram, column: int) -> str:
    name = cone.names[column]
    what = f"variable {name}" if name else "a variable that cvxpy added"
    return f"{what} has no bound that its multiplier could be moved to; bound the variables, or state box="


def _put_inside(kind: str, rows: range, y: list[Fraction], margin: float, direction: str) -> None:
    """Move the multipliers of one cone into its dual cone, provably where they are raised."""
    if kind == "nonnegative":
        y[rows.start] = max(y[rows.start], Fraction(0))
    elif kind == "second-order":
        tail = [y[row] for row in rows[1:]]
        root = _root_above(sum((part * part for part in tail), Fraction(0)))
        if direction != RAISE and y[rows.start] > 0 and root:
            factor = min(Fraction(1), y[rows.start] / root) * Fraction(1.0 - margin)
            for row in rows[1:] if direction == SHRINK else rows[-1:]:
                y[row] *= factor
        else:
            y[rows.start] = max(y[rows.start], root) + Fraction(margin) * root
    elif kind == "exponential":
        _put_exponential(rows, y, margin, direction)
    elif kind == "semidefinite":
        _put_semidefinite(rows, y, margin, direction)


def _root_above(square: Fraction) -> Fraction:
    """Return a rational number whose square is at least this one, by at most 2^-90 of it."""
    if not square:
        return Fraction(0)
    shift = max(0, 200 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    whole = -((-square.numerator << shift) // square.denominator)
    root = math.isqrt(whole)
    return Fraction(root + (root * root < whole), 1 << (shift // 2))


def _put_exponential(rows: range, y: list[Fraction], margin: float, direction: str) -> None:
    """Move (u, v, w) to u <= 0 and w >= -u e^(v/u - 1), or to u = 0 and v, w >= 0."""
    u, v, w = (y[row] for row in rows)
    if u >= 0 or v / u - 1 > MOST_EXPONENT:
        y[rows[0]], y[rows[1]], y[rows[2]] = Fraction(0), max(v, Fraction(0)), max(w, Fraction(0))
        return
    least = _least_tail(u, v)
    if direction != RAISE and w > 0:  # v grows, so that the exponential falls below w
        y[rows[1]] = max(v, u * (1 + Fraction(math.log(float(w / -u)) - margin)))
    else:
        y[rows[2]] = max(w, least) + Fraction(margin) * least


def _least_tail(u: Fraction, v: Fraction) -> Fraction:
    """Return a rational number that is at least -u e^(v/u - 1), for u < 0."""
    exponent = v / u - 1
    return -u * exp_upper(exponent) if exponent >= 0 else -u / exp_lower(-exponent)


def _matrix(rows: range, y: Sequence[Fraction]) -> tuple[list[list[Fraction]], Fraction]:
    """Return the symmetric matrix of a vector, and how far the entries outside of the diagonal may be off.

    The vector holds the upper triangle column by column, its entries outside of the diagonal times sqrt 2.
    """
    size = (math.isqrt(8 * len(rows) + 1) - 1) // 2
    matrix = [[Fraction(0)] * size for _ in range(size)]
    entries = iter(rows)
    for column in range(size):
        for row in range(column + 1):
            entry = y[next(entries)]
            matrix[row][column] = matrix[column][row] = entry if row == column else entry / ROOT
    largest = max((abs(matrix[i][j]) for i in range(size) for j in range(i)), default=Fraction(0))
    return matrix, largest * ROOT_ERROR


def _deficit(matrix: list[list[Fraction]], error: Fraction) -> Fraction:
    """Return a number whose multiple of the identity makes a symmetric matrix semidefinite, provably."""
    size = len(matrix)
    floats = np.array([[float(entry) for entry in row] for row in matrix])
    values, vectors = np.linalg.eigh(floats)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    scale = 1 << 80
    whole = [[round(Fraction(entry) * scale) for entry in row] for row in factor.tolist()]
    worst = Fraction(0)
    for i in range(size):
        total = error * size
        for j in range(size):
            product = sum(a * b for a, b in zip(whole[i], whole[j], strict=True))
            total += abs(matrix[i][j] - Fraction(product, scale * scale))
        worst = max(worst, total)
    return worst


def _put_semidefinite(rows: range, y: list[Fraction], margin: float, direction: str) -> None:
    matrix, error = _matrix(rows, y)
    size = len(matrix)
    spread = max(abs(matrix[i][i]) for i in range(size))
    shift = _deficit(matrix, error)
    if direction == RAISE:
        shift += Fraction(margin) * spread
    else:  # towards the multiple of the identity with the same trace
        factor = 1 - Fraction(margin)
        mean = sum((matrix[place][place] for place in range(size)), Fraction(0)) / size
        for row in rows:
            y[row] *= factor
        shift = shift * factor + Fraction(margin) * mean
    for place in range(size):
        y[rows[(place + 1) * (place + 2) // 2 - 1]] += shift


def _is_inside(kind: str, rows: range, y: Sequence[Fraction]) -> bool:
    """Whether the multipliers of one cone are in its dual cone, provably."""
    if kind == "nonnegative":
        return y[rows.start] >= 0
    if kind == "second-order":
        head, tail = y[rows.start], [y[row] for row in rows[1:]]
        return head >= 0 and head * head >= sum((part * part for part in tail), Fraction(0))
    if kind == "exponential":
        u, v, w = (y[row] for row in rows)
        if u == 0:
            return v >= 0 and w >= 0
        return u < 0 and v / u - 1 <= MOST_EXPONENT and w >= _least_tail(u, v)
    if kind == "semidefinite":
        return _is_semidefinite(*_matrix(rows, y))
    return True


def _is_semidefinite(matrix: list[list[Fraction]], error: Fraction) -> bool:
    """Whether a matrix is semidefinite whatever its errors: M - t I is nearly LL' for some t > 0."""
    size = len(matrix)
    floats = np.array([[float(entry) for entry in row] for row in matrix])
    least = float(np.linalg.eigvalsh(floats)[0])
    if least <= 0.0:
        return not any(any(row) for row in matrix) and not error
    shift = Fraction(least / 2.0)
    moved = [
        [entry - (shift if i == j else 0) for j, entry in enumerate(row)] for i, row in enumerate(matrix)
    ]
    return _deficit(moved, error) <= shift and size > 0


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
    """Return changes of multipliers after which no remainder is left where there is no bound, exactly.

    The unknowns are the multipliers that may move; every column without a bound is an equation. The least
    change in floating point, relative to the room that each multiplier has, comes first, so that what is
    solved exactly after that is tiny.
    """
    room = _room(cone, y)
    bounded = {column for column in range(len(rest)) if _is_bounded(cone, column)}
    targets = [column for column in range(len(rest)) if column not in bounded]
    if len(targets) > MOST_EXACT:
        raise _TooMuchError
    entries = [[(row, entry) for row, entry in cone.columns[column] if row in room] for column in targets]
    missing, total = [-rest[column] for column in targets], dict.fromkeys(room, Fraction(0))
    for _ in range(FLOAT_STEPS):
        for row, step in _float_step(entries, missing, room).items():
            total[row] += step
        missing = [
            -rest[column] - sum((entry * total[row] for row, entry in left), Fraction(0))
            for column, left in zip(targets, entries, strict=True)
        ]
    steps = eliminated([(dict(left), value) for left, value in zip(entries, missing, strict=True)], room)
    if steps is None:
        return None
    return {row: step + steps.get(row, Fraction(0)) for row, step in total.items()}


def _float_step(
    entries: Sequence[Sequence[tuple[int, Fraction]]], missing: Sequence[Fraction], room: Mapping[int, float]
) -> Vector:
    """Return about the least changes, in units of the room, that make up for what is missing."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import lsqr

    places = {row: place for place, row in enumerate(room)}
    triples = [
        (number, places[row], float(entry) * room[row])
        for number, left in enumerate(entries)
        for row, entry in left
    ]
    if not triples or not any(missing):
        return {}
    rows, columns, values = zip(*triples, strict=True)
    matrix = coo_array((values, (rows, columns)), shape=(len(entries), len(places)))
    targets = np.array([float(part) for part in missing])
    if max(matrix.shape) <= DENSE:
        scaled = np.linalg.lstsq(matrix.toarray(), targets, rcond=None)[0]
    else:
        scaled = lsqr(matrix.tocsr(), targets, atol=1e-15, btol=1e-15)[0]
    if not np.isfinite(scaled).all():
        return {}
    return {row: Fraction(float(scaled[place])) * Fraction(room[row]) for row, place in places.items()}


def _is_bounded(cone: ConeProgram, column: int) -> bool:
    """Whether rows with this variable alone bound it from both sides, or fix it."""
    single = cone.singles.get(column, ())
    signs = {entry > 0 for _, entry, _ in single}
    return len(signs) == 2 or any(kind == "zero" for _, _, kind in single)


def _room(cone: ConeProgram, y: Sequence[Fraction]) -> dict[int, float]:
    """Return the multipliers that may change, and by how much about, before they leave their cones."""
    room: dict[int, float] = {}
    largest = max((float(abs(part)) for part in y), default=1.0) or 1.0
    for kind, rows in cone.cones:
        if kind == "zero":
            room |= dict.fromkeys(rows, largest)
            continue
        inside = _distance_inside(kind, rows, y)
        if inside > 0.0:
            room |= dict.fromkeys(rows, inside)
    return room


def _distance_inside(kind: str, rows: range, y: Sequence[Fraction]) -> float:
    """Return about how far inside of its dual cone a multiplier is."""
    if kind == "nonnegative":
        return float(y[rows.start])
    if kind == "second-order":
        square = sum((y[row] * y[row] for row in rows[1:]), Fraction(0))
        return float(y[rows.start]) - math.sqrt(float(square))
    if kind == "exponential":
        u, v, w = (y[row] for row in rows)
        return float(w - _least_tail(u, v)) if u < 0 and v / u - 1 <= MOST_EXPONENT else 0.0
    matrix, _ = _matrix(rows, y)
    return float(np.linalg.eigvalsh(np.array([[float(entry) for entry in row] for row in matrix]))[0])


def eliminated(equations: list[tuple[Vector, Fraction]], room: Mapping[int, float]) -> Vector | None:
    """Return one exact solution of sparse linear equations; None where there is none.

    Unknowns with much room are used first; the others are 0.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> solution = eliminated([({0: half, 1: half}, Fraction(1)), ({1: half}, Fraction(3))], {0: 1.0, 1: 1.0})
    >>> solution[0], solution[1]
    (Fraction(-4, 1), Fraction(6, 1))
    """
    work, solved = 0, []
    left = [dict(row) for row, _ in equations]
    right = [value for _, value in equations]
    open_rows = set(range(len(left)))
    holders: dict[int, set[int]] = {}
    for number, row in enumerate(left):
        for unknown in row:
            holders.setdefault(unknown, set()).add(number)
    while open_rows:
        number = min(open_rows, key=lambda place: len(left[place]))
        open_rows.discard(number)
        row = left[number]
        if not row:
            if right[number]:
                return None
            continue
        pivot = min(row, key=lambda unknown: (len(holders[unknown]), -room[unknown]))
        solved.append((pivot, number))
        for other in list(holders[pivot]):
            if other == number or other not in open_rows:
                continue
            factor = left[other][pivot] / row[pivot]
            for unknown, entry in row.items():
                value = left[other].get(unknown, Fraction(0)) - factor * entry
                if value:
                    left[other][unknown] = value
                    holders[unknown].add(other)
                else:
                    left[other].pop(unknown, None)
                    holders[unknown].discard(other)
            right[other] -= factor * right[number]
            work += len(row) * (1 + right[other].numerator.bit_length() // 256)
            if work > MOST_WORK:
                raise _TooMuchError
    solution: Vector = {}
    for pivot, number in reversed(solved):
        known = sum(
            (
                entry * solution.get(unknown, Fraction(0))
                for unknown, entry in left[number].items()
                if unknown != pivot
            ),
            Fraction(0),
        )
        solution[pivot] = (right[number] - known) / left[number][pivot]
    return solution
