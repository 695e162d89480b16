"""The method ``statement``: a problem is solved as it is stated, by cvxpy, and its bound is proven.

What a class of problems has to say is :meth:`~mechdesign.core.problem.Problem.statement`. A convex program
is solved once: the multipliers of the solver become a proof in fractions (:mod:`mechdesign.solvers.prove`).
Integer variables are decided by HiGHS, and the bound is that of the relaxation, rounded up where the
objective is a whole number. A geometric program is solved in logarithms. Nothing of this knows a family, so
it is a second way to every optimum.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.problem import Method, Outcome, Problem

if TYPE_CHECKING:
    import cvxpy

    from mechdesign.solvers.convex import ConvexPrices

MOST = 1000
"""Numbers of a statement's variables, by default: what is solved and proven in some seconds."""

SUMMARY = "the problem as it is stated, in cvxpy, with a bound that is proven in fractions"

SOURCE = "multipliers of the statement, in fractions"


def statement_method(
    problem: type[Problem[Any]], most: int = MOST, former_names: tuple[str, ...] = ()
) -> Method:
    """Return the method that solves the problems of a class as they are stated.

    Parameters
    ----------
    problem : type
        A class with :meth:`~mechdesign.core.problem.Problem.statement`.
    most : int
        Up to how many numbers its variables may hold.
    former_names : tuple of str
        Methods that it has taken the place of.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    >>> solution = md.solve(problem, statement_method(md.RandomizedResponse))
    >>> print(round(solution.value, 6), solution.status)
    0.731059 optimal
    """
    why_not = partial(_why_not, most)
    return Method(
        "statement", problem, "numeric", SUMMARY, solve_statement, why_not, former_names=former_names
    )


def _why_not(most: int, problem: Problem[Any]) -> str | None:
    """Return why a problem has no statement, or too large a one; None where it is solved."""
    reason = problem.why_no_statement()
    if reason is None and (size := problem.statement_size()) > most:
        count = str(size) if size < 10**9 else f"about 2^{size.bit_length() - 1}"
        return f"its statement has {count} variables; the limit is {most}"
    return reason


def solve_statement(problem: Problem[Any]) -> Outcome:
    """Solve the statement, prove its bound, and return the problem's variables."""
    from mechdesign.solvers.convex import import_cvxpy
    from mechdesign.solvers.prove import prove

    import_cvxpy()
    with np.errstate(invalid="ignore", over="ignore"):  # cvxpy 1.8 sums empty arrays to learn their shape
        program = problem.statement()
    status, solver, message = _point(program)
    if status is None:
        proof = prove(program, values=True)
        status, solver, message = proof.status, proof.solver, proof.why
    elif status in ("optimal", "feasible"):
        proof = prove(program)
    if status not in ("optimal", "feasible"):
        text = "no variables satisfy all constraints of the statement" if status == "infeasible" else message
        return Outcome(status, solver=f"cvxpy, {solver}", message=text)
    values = {variable.name(): variable.value for variable in program.variables()}
    missing = [name for name, value in values.items() if value is None]
    prices = {row.label: row.dual_value for row in program.constraints if row.label}
    if missing:
        return Outcome("failed", solver=f"cvxpy, {solver}", message=f"{solver} returned no variables")
    bound = None if proof.bound is None else float(proof)
    return Outcome(
        "optimal",
        problem.from_statement(prices | values),
        bound,
        "" if bound is None else SOURCE,
        f"cvxpy, {solver}",
        "" if bound is not None else proof.why,
        prices=_prices(program),
    )


def _point(program: cvxpy.Problem) -> tuple[Any, str, str]:
    """Solve a program with integers, or in logarithms; return status, solver and message."""
    from mechdesign.solvers.convex import solve_convex

    if program.is_mixed_integer():
        result = solve_convex(program, "SCIPY", scipy_options={"mip_rel_gap": 0.0})  # HiGHS, without a banner
    elif not program.is_dcp():
        result = solve_convex(program, gp=True)
    else:
        return None, "", ""
    return result.status, result.solver, result.message


def _prices(program: cvxpy.Problem) -> ConvexPrices | None:
    """Return the multipliers of the named constraints; None of a program with integers."""
    import cvxpy

    from mechdesign.solvers.convex import ConvexPrices

    if program.is_mixed_integer() or not program.is_dcp():
        return None
    if not all(
        isinstance(row, (cvxpy.constraints.nonpos.Inequality, cvxpy.constraints.zero.Equality))
        for row in program.constraints
    ):
        return None
    names = [row.label or "" for row in program.constraints]
    return ConvexPrices.of(program, _stated, 1.0, names)


def _stated(problem: Problem[Any]) -> cvxpy.Problem:
    return problem.statement()


def nonnegative_shares(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the numbers without negative parts, divided by their sum.

    Examples
    --------
    >>> nonnegative_shares([0.5, 0.5, -1e-12]).tolist()
    [0.5, 0.5, 0.0]
    """
    shares = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    return np.asarray(shares / shares.sum())
