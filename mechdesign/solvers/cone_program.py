"""The cone program that cvxpy makes of a problem, in fractions, and what a solver says of it.

minimise c'x + d subject to A x + s = b, s in a product of cones: {0}, the nonnegative numbers,
second-order, semidefinite, exponential and power cones, in this order. The numbers are the doubles that cvxpy
computed, exactly. Integer variables are relaxed. The multipliers are those of an interior-point method and,
for linear programs, also those of a vertex.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Status
from mechdesign.exact.numbers import text_of
from mechdesign.solvers.dual_cones import Cone

if TYPE_CHECKING:
    import cvxpy

Array = NDArray[np.float64]
Vector = dict[int, Fraction]

BOTH = (1, -1)
"""The sides from which a variable is bounded: below, where remainders >= 0 can be moved, and above."""


def sense_of(program: cvxpy.Problem) -> str:
    """Return whether a program minimises or maximises: "min" or "max"."""
    import cvxpy

    return "max" if isinstance(program.objective, cvxpy.Maximize) else "min"


@dataclass(frozen=True)
class Unsolved:
    """What a solver says of a program without an optimum: infeasible, unbounded or failed."""

    status: Status
    why: str
    solver: str = "cvxpy"


@dataclass(eq=False)
class ConeProgram:
    """The cone program that cvxpy made, and what the solver returned.

    Attributes
    ----------
    columns : list of lists of (row, value)
        The entries of A.
    rows : list of dicts
        The same by rows.
    c, b : lists of Fraction
    constant : Fraction
    cones : list of Cone
        ``zero``, ``nonnegative``, ``second-order``, ``semidefinite``, ``exponential`` or ``power``.
    duals : list of arrays
        Multipliers of solvers, best first.
    names : list of str
        What errors call the columns; empty for variables that cvxpy added.
    whole : bool
        Whether all variables of the program are integers.
    """

    columns: list[list[tuple[int, Fraction]]]
    rows: list[Vector]
    c: list[Fraction]
    b: list[Fraction]
    constant: Fraction
    cones: list[Cone]
    duals: list[Array]
    names: list[str]
    sense: str
    value: float | None
    solver: str
    whole: bool

    @classmethod
    def of(cls, program: cvxpy.Problem, values: bool = False) -> ConeProgram | Unsolved:
        """Return the cone program of a relaxed program, solved; or why there is none.

        With ``values`` its variables and constraints, if none is relaxed, hold the solver's point and
        multipliers afterwards.
        """
        import cvxpy

        if not isinstance(program, cvxpy.Problem):
            raise ParameterError("program", f"expected a cvxpy.Problem, got {text_of(program)}")
        if not program.is_dcp():
            raise ParameterError("program", "is not convex by cvxpy's rules", "see program.is_dcp()")
        if not program.variables():
            return Unsolved("failed", "the program has no variables")
        if any(map(_is_quadrature, _inside(program))):
            return Unsolved(
                "failed", "cvxpy approximates a quantum entropy, so that a bound of its program is none"
            )
        relaxed = _with_exact_powers(_relaxed(program))
        if isinstance(relaxed, Unsolved):
            return relaxed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # powers that squares say exactly are announced as approximated
            data, chain, inverse = relaxed.get_problem_data(
                cvxpy.CLARABEL, solver_opts={"use_quad_obj": False}, ignore_dpp=True
            )
        if data.get("lower_bounds") is not None or data.get("upper_bounds") is not None:
            return Unsolved("failed", "cvxpy keeps bounds apart from the rows; state them as constraints")
        dims = data["dims"]
        value, solver, duals, status = _solved(relaxed, data, chain, inverse, values)
        if values and not program.is_mixed_integer():
            _hand_over(relaxed.constraints, program.constraints)
        if not duals:
            return Unsolved(status, f"{solver} found no optimum", solver)
        matrix = data["A"].tocoo()
        columns: list[list[tuple[int, Fraction]]] = [[] for _ in range(matrix.shape[1])]
        rows: list[Vector] = [{} for _ in range(matrix.shape[0])]
        for row, column, entry in zip(
            matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True
        ):
            if entry:
                number = Fraction(entry)
                columns[column].append((row, number))
                rows[row][column] = number
        return cls(
            columns,
            rows,
            [Fraction(entry) for entry in data["c"].tolist()],
            [Fraction(entry) for entry in data["b"].tolist()],
            Fraction(float(inverse[-1]["offset"])),
            list(_cones(dims)),
            duals,
            _names(relaxed, data["param_prob"], matrix.shape[1]),
            sense_of(program),
            value if program.value is None else float(program.value),
            solver,
            program.is_mixed_integer() and all(map(_is_whole, program.variables())),
        )

    @property
    def is_polyhedral(self) -> bool:
        """Whether all cones have corners only, so that a multiplier inside stays inside."""
        return all(cone.kind in ("zero", "nonnegative") for cone in self.cones)

    @property
    def has_whole_objective(self) -> bool:
        """Whether the objective is a whole number at all feasible points: integers with whole factors."""
        whole = all(number.denominator == 1 for number in [self.constant, *self.c])
        return self.whole and whole and all(name or not c for name, c in zip(self.names, self.c, strict=True))

    @cached_property
    def singles(self) -> dict[int, list[tuple[int, Fraction, str]]]:
        """The rows with one variable, by their column: row, entry, and kind of cone."""
        singles: dict[int, list[tuple[int, Fraction, str]]] = {}
        for kind, rows, _ in self.cones:
            if kind not in ("zero", "nonnegative"):
                continue
            for row in rows:
                if len(self.rows[row]) == 1:
                    ((column, entry),) = self.rows[row].items()
                    singles.setdefault(column, []).append((row, entry, kind))
        return singles

    def sides(self, column: int) -> tuple[int, ...]:
        """Return from which sides rows with this variable alone bound it; both where one fixes it."""
        single = self.singles.get(column, ())
        if any(kind == "zero" for _, _, kind in single):
            return BOTH
        signs = {1 if entry < 0 else -1 for _, entry, _ in single}
        return BOTH if len(signs) == 2 else tuple(signs)

    @cached_property
    def whole_columns(self) -> tuple[list[list[tuple[int, int]]], list[int], int]:
        """The entries of A, and c, as whole numbers, and their common denominator."""
        common = lcm(1, *(entry.denominator for column in self.columns for _, entry in column))
        common = lcm(common, *(entry.denominator for entry in self.c))
        columns = [
            [(row, entry.numerator * (common // entry.denominator)) for row, entry in column]
            for column in self.columns
        ]
        return columns, [entry.numerator * (common // entry.denominator) for entry in self.c], common

    @cached_property
    def doubles(self) -> list[list[tuple[int, float]]]:
        """The entries of A, by columns, as the doubles that they were."""
        return [[(row, float(entry)) for row, entry in column] for column in self.columns]

    def remainder(self, y: Sequence[Fraction]) -> list[Fraction]:
        """Return r = c + A'y."""
        columns, first, common = self.whole_columns
        scale = lcm(1, *{part.denominator for part in y})
        numbers = [part.numerator * (scale // part.denominator) for part in y]
        return [
            Fraction(own * scale + sum([entry * numbers[row] for row, entry in column]), common * scale)
            for own, column in zip(first, columns, strict=True)
        ]


def within_box(program: cvxpy.Problem, box: Any) -> cvxpy.Problem:
    """Return the program with rows that bound |x| of its variables.

    Raises
    ------
    ParameterError
        For a box that is no number >= 0, nor a mapping of variables of the program to such numbers or arrays.
    """
    import cvxpy

    variables = program.variables()
    if not isinstance(box, Mapping):
        box = dict.fromkeys(variables, box)
    rows = []
    for variable, limit in box.items():
        if not any(variable is known for known in variables):
            raise ParameterError(
                "box", f"{text_of(variable)} is no variable of the program", "name its variables"
            )
        try:
            limits = np.broadcast_to(np.asarray(limit, dtype=np.float64), variable.shape)
        except (TypeError, ValueError):
            raise ParameterError(
                "box", f"{text_of(limit)} is no number >= 0, nor an array of the variable's shape"
            ) from None
        least = np.nextafter(0.0, 1.0) if variable.attributes["pos"] else 0.0
        if not (np.isfinite(limits).all() and (limits >= least).all()):
            raise ParameterError("box", f"{text_of(limit)} is no bound", "give finite numbers >= 0")
        parts = [cvxpy.real(variable), cvxpy.imag(variable)] if variable.is_complex() else [variable]
        if variable.attributes["pos"]:
            rows.append(variable <= limits)  # of a geometric program nothing negative is said
            continue
        for part in parts:
            rows += [part <= limits, part >= -limits]
    return cvxpy.Problem(program.objective, [*program.constraints, *rows])


def _is_whole(variable: Any) -> bool:
    return variable.attributes["integer"] is True or variable.attributes["boolean"] is True


def _relaxed(program: cvxpy.Problem) -> cvxpy.Problem:
    """Return the program with its integer variables relaxed; as it is without any."""
    import cvxpy

    if not program.is_mixed_integer():
        return program
    swapped: dict[int, Any] = {}
    more = []
    for variable in program.variables():
        attributes = dict(variable.attributes)
        boolean, integer = attributes.pop("boolean", False), attributes.pop("integer", False)
        if not (boolean or integer):
            continue
        others = {
            name: value for name, value in attributes.items() if value is not None and value is not False
        }
        free = cvxpy.Variable(variable.shape, name=variable.name(), **others)
        swapped[id(variable)] = free
        if boolean is True:
            more += [free >= 0, free <= 1]
        elif boolean:  # some entries only
            chosen = np.zeros(variable.size)
            chosen[np.ravel_multi_index(tuple(variable.boolean_idx), variable.shape, order="F")] = 1.0
            chosen = chosen.reshape(variable.shape, order="F")
            more += [cvxpy.multiply(chosen, free) >= 0, cvxpy.multiply(chosen, free) <= chosen]
    objective = type(program.objective)(_replaced(program.objective.args[0], swapped))
    constraints = [_with_variables(constraint, swapped) for constraint in program.constraints]
    return cvxpy.Problem(objective, [*constraints, *more])


def _replaced(expression: Any, swapped: Mapping[int, Any]) -> Any:
    """Return an expression with other variables."""
    if id(expression) in swapped:
        return swapped[id(expression)]
    if not expression.args:
        return expression
    return expression.copy([_replaced(argument, swapped) for argument in expression.args])


def _with_variables(constraint: Any, swapped: Mapping[int, Any]) -> Any:
    return constraint.copy([_replaced(argument, swapped) for argument in constraint.args])


ROUNDED = 1e-15
"""Exponents that cvxpy changes by more are taken as they were written."""

EXACT_POWERS = {"PowerApprox": "Power", "PnormApprox": "Pnorm", "GeoMeanApprox": "GeoMean"}
"""What cvxpy writes by squares with rounded exponents, and by power cones with the exponents themselves."""


def _with_exact_powers(program: cvxpy.Problem) -> cvxpy.Problem | Unsolved:
    """Return the program with power cones where cvxpy would round an exponent to a short quotient.

    By default it takes the nearest exponent with a denominator of at most 1024: another program, whose
    optimum may be on either side.
    """
    import cvxpy

    if not any(map(_is_rounded, _inside(program))):
        return program
    objective = type(program.objective)(_exactly(program.objective.args[0]))
    constraints = [
        row.copy([_exactly(argument) for argument in row.args])
        if any(map(_is_rounded, _inside(row)))
        else row
        for row in program.constraints
    ]
    exact = cvxpy.Problem(objective, constraints)
    if any(map(_is_rounded, _inside(exact))):
        return Unsolved("failed", "cvxpy rounds an exponent; write it as a quotient of small whole numbers")
    return exact


def _hand_over(copies: Sequence[Any], constraints: Sequence[Any]) -> None:
    """Save the multipliers of copies of constraints in these."""
    for copy, constraint in zip(copies, constraints, strict=True):
        if copy is not constraint:
            for source, target in zip(copy.dual_variables, constraint.dual_variables, strict=True):
                if source.value is not None:
                    target.save_value(source.value)


def _is_rounded(expression: Any) -> bool:
    return float(getattr(expression, "approx_error", 0.0)) > ROUNDED


def _is_quadrature(expression: Any) -> bool:
    return bool(getattr(expression, "quad_approx", ())) or type(expression).__name__.endswith("ConeQuad")


def _inside(node: Any) -> Iterator[Any]:
    """Yield all that a program or an expression is made of."""
    if isinstance(node, (list, tuple)):
        parts = list(node)
    else:
        yield node
        parts = [*(getattr(node, "args", None) or ()), getattr(node, "f", None)]
    for part in parts:
        if part is not None:
            yield from _inside(part)


def _exactly(expression: Any) -> Any:
    """Return an expression in which powers have the exponents that were written."""
    if not any(map(_is_rounded, _inside(expression))):
        return expression
    if not _is_rounded(expression) and not any(map(_is_rounded, _inside(list(expression.args)))):
        return expression  # inside of a function that it holds, as a perspective does
    arguments = [_exactly(argument) for argument in expression.args]
    exact = EXACT_POWERS.get(type(expression).__name__)
    kind = next((base for base in type(expression).__mro__ if base.__name__ == exact), None)
    if kind is None or not _is_rounded(expression):
        return expression.copy(arguments)
    if exact == "Power":
        return kind(arguments[0], arguments[1] if len(arguments) > 1 else expression.p)
    if exact == "Pnorm":
        return kind(arguments[0], expression.original_p, expression.axis, expression.keepdims)
    if not hasattr(expression, "_keep"):  # earlier releases take them out of the argument as well
        return kind(arguments[0], np.asarray(expression.p, dtype=np.float64))
    weights = np.zeros(len(expression._keep))  # those that are 0 were taken out
    weights[expression._keep] = expression.p
    return kind(arguments[0], weights, axis=expression.axis, keepdims=expression.keepdims)


WORDS: dict[str, Status] = {
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
}


def _solved(
    program: Any, data: Any, chain: Any, inverse: Any, values: bool
) -> tuple[float | None, str, list[Array], Status]:
    """Return the objective, the solver's name, multipliers y of the cone program, and the status."""
    options = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    duals: list[Array] = []
    value, names, point, status = None, list[str](), None, "failed"
    unit = _unit(data["c"])  # tolerances are absolute
    scaled = {**data, "c": data["c"] / unit}
    for settings in (options, {}):
        raw = _raw_result(program, scaled, chain, settings)
        if raw is None:
            continue
        if str(raw.status) in ("Solved", "AlmostSolved"):
            point = _point(raw, raw.x, np.asarray(raw.z) * unit, float(raw.obj_val) * unit)
            duals.append(point.z)
            objective = point.obj_val + float(inverse[-1]["offset"])
            value, names = (objective if sense_of(program) == "min" else -objective), ["CLARABEL"]
            break
        status = WORDS.get(str(raw.status), "failed")
    vertex = _vertex(data)
    if vertex is not None:
        duals.insert(0, vertex.z)
        names, point = ["HIGHS", *names], vertex
    if point is not None and values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the proof says how accurate it is
            program.unpack_results(point, chain, inverse)
    known: Status = "optimal" if duals else status  # type: ignore[assignment]
    return value, " and ".join(names) or "CLARABEL", duals, known


def _raw_result(program: Any, data: Any, chain: Any, settings: Mapping[str, float]) -> Any:
    """Return what Clarabel says; None where it panics, as for exponents whose doubles do not sum to 1."""
    try:
        return chain.solve_via_data(
            program, data, warm_start=False, verbose=False, solver_opts=dict(settings)
        )
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust; it is no Exception
            raise
        return None


def _unit(costs: Array) -> float:
    """Return the power of 2 next to the largest cost, by which nothing is rounded; 1 where all are 0."""
    largest = float(np.abs(costs).max(initial=0.0))
    return 2.0 ** round(math.log2(largest)) if 0.0 < largest < math.inf else 1.0


def _point(raw: Any, x: Any, multipliers: Array, value: float) -> SimpleNamespace:
    """Return what a solver found, as cvxpy reads it from Clarabel."""
    return SimpleNamespace(
        status=raw.status,
        x=np.asarray(x, dtype=np.float64),
        z=np.asarray(multipliers, dtype=np.float64),
        obj_val=value,
        solve_time=getattr(raw, "solve_time", 0.0),
        iterations=getattr(raw, "iterations", 0),
    )


def _vertex(data: Any) -> SimpleNamespace | None:
    """Return a vertex of a linear program and its multipliers, which are exact more often than others."""
    from scipy.optimize import linprog

    dims = data["dims"]
    if dims.soc or dims.psd or dims.exp or dims.p3d or getattr(dims, "pnd", ()):
        return None
    equal = dims.zero
    matrix, right = data["A"].tocsr(), data["b"]
    done = linprog(
        data["c"],
        A_eq=matrix[:equal] if equal else None,
        b_eq=right[:equal] if equal else None,
        A_ub=matrix[equal:] if matrix.shape[0] > equal else None,
        b_ub=right[equal:] if matrix.shape[0] > equal else None,
        bounds=(None, None),
        method="highs-ds",
    )
    if done.status != 0:
        return None
    parts: list[Any] = [
        done.eqlin.marginals if equal else [],
        done.ineqlin.marginals if matrix.shape[0] > equal else [],
    ]
    multipliers = -np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    return _point(SimpleNamespace(status="Solved"), done.x, multipliers, float(done.fun or 0.0))


def _names(program: Any, stuffed: Any, count: int) -> list[str]:
    """Return the names of the columns; empty for those of variables that cvxpy made."""
    names = [""] * count
    for variable in program.variables():
        start = stuffed.var_id_to_col.get(variable.id, count)
        for place in range(min(variable.size, count - start)):
            names[start + place] = variable.name() + (f"[{place}]" if variable.size > 1 else "")
    return names


def _cones(dims: Any) -> Iterator[Cone]:
    start = 0
    sizes: list[tuple[str, int, tuple[float, ...]]] = [("zero", dims.zero, ())]
    sizes += [("nonnegative", 1, ()) for _ in range(dims.nonneg)]
    sizes += [("second-order", size, ()) for size in dims.soc]
    sizes += [("semidefinite", size * (size + 1) // 2, ()) for size in dims.psd]
    sizes += [("exponential", 3, ()) for _ in range(dims.exp)]
    sizes += [("power", 3, (power,)) for power in dims.p3d]
    sizes += [("power", len(powers) + 1, tuple(powers)[:-1]) for powers in getattr(dims, "pnd", ())]
    for kind, size, powers in sizes:
        exponents = [Fraction(power) for power in map(float, powers)]
        if exponents:  # they sum to 1 exactly
            exponents.append(1 - sum(exponents, Fraction(0)))
        yield Cone(kind, range(start, start + size), tuple(exponents))
        start += size
