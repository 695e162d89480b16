"""The method ``statement``: a problem is solved as it is stated, by cvxpy, and its bound is proven.

What a class of problems has to say is :meth:`~mechdesign.core.problem.Problem.statement`. A convex program
is solved once: the multipliers of the solver become a proof in fractions (:mod:`mechdesign.solvers.prove`).
Integer variables are decided by HiGHS, and the bound is that of the relaxation, rounded up where the
objective is a whole number. A geometric program is solved in logarithms. Nothing of this knows a family, so
it is a second way to every optimum.

A reader sees the program as well: the source of its statement, and the sizes that a model gives it.
"""

from __future__ import annotations

import inspect
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.errors import counted
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
    from mechdesign.solvers.prove import prove

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


MOST_LISTED = 200_000
"""Numbers of a statement's variables up to which it is made for its sizes alone."""

CONES = {
    "exp": "exponential cone",
    "p3d": "power cone",
    "pnd": "power cone",
    "psd": "semidefinite cone",
    "soc": "second-order cone",
}


def program_dict(problem: Problem[Any]) -> dict[str, Any]:
    """Return the statement of a problem as plain values: its source, and the program with its sizes.

    Examples
    --------
    >>> import mechdesign as md
    >>> document = program_dict(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))
    >>> document["kind"], document["variables"]
    ('linear program', [{'name': 'channel', 'shape': [2, 2], 'domain': 'nonnegative'}])
    """
    reason = problem.why_no_statement()
    if type(problem).statement is Problem.statement:
        return {"problem": problem.name, "source": None, "reason": reason}
    document: dict[str, Any] = {
        "problem": problem.name,
        "source": textwrap.dedent(inspect.getsource(type(problem).statement)).rstrip(),
        "reason": reason,
    }
    if reason is None and problem.statement_size() > MOST_LISTED:
        document["reason"] = (
            f"with these parameters its variables are too many to be listed; the limit is {MOST_LISTED}"
        )
    return document if document["reason"] else document | _sizes(problem.statement())


def _sizes(program: cvxpy.Problem) -> dict[str, Any]:
    """Return variables, constraints and kind of a program."""
    import cvxpy

    variables = [
        {"name": variable.name(), "shape": list(variable.shape), "domain": _domain(variable)}
        for variable in program.variables()
    ]
    constraints = [
        {"name": row.label or "", "rows": int(row.size), "relation": _relation(row)}
        for row in program.constraints
    ]
    is_largest = isinstance(program.objective, cvxpy.Maximize)
    cones = _cones(program)
    return {
        "sense": "max" if is_largest else "min",
        "kind": _kind(program, cones),
        "convex": "DCP" if program.is_dcp() else "DGP (in logarithms)",
        "cones": cones,
        "variables": variables,
        "constraints": constraints,
    }


def _domain(variable: Any) -> str:
    attributes = variable.attributes
    if attributes["boolean"]:
        return "0 or 1"
    if attributes["integer"]:
        return "integer"
    return "nonnegative" if attributes["nonneg"] else "positive" if attributes["pos"] else "any"


def _relation(row: Any) -> str:
    name = type(row).__name__
    return {"Equality": "==", "Inequality": "<=", "PSD": ">> 0"}.get(name, name)


def _cones(program: cvxpy.Problem) -> dict[str, int]:
    """Return how many cones of each kind cvxpy makes of a program."""
    import warnings

    import cvxpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        relaxed = cvxpy.HIGHS if program.is_mixed_integer() else cvxpy.CLARABEL
        data = program.get_problem_data(relaxed, gp=not program.is_dcp(), ignore_dpp=True)[0]
    dims = data.get("dims")
    counts: dict[str, int] = {}
    for key, name in CONES.items():
        number = getattr(dims, key, 0) or 0
        number = number if isinstance(number, int) else len(number)
        if number:
            counts[name] = counts.get(name, 0) + number
    return counts


def _kind(program: cvxpy.Problem, cones: dict[str, int]) -> str:
    """Return the class of a program by the most general of its cones."""
    first = next(iter(cones), "")
    word = first.removesuffix(" cone") or (
        "quadratic" if program.is_qp() and not _is_linear(program) else "linear"
    )
    if not program.is_dcp():
        word = "geometric"
    return f"{'mixed-integer ' if program.is_mixed_integer() else ''}{word} program"


def _is_linear(program: cvxpy.Problem) -> bool:
    return bool(program.objective.args[0].is_pwl())


def program_text(problem: Problem[Any], name: str) -> str:
    """Return the statement of a problem for reading.

    Parameters
    ----------
    problem : Problem
    name : str
        The model that has these parameters.
    """
    document = program_dict(problem)
    lines = [f"{name}: {problem.name} as a program"]
    if document["source"] is None:
        return f"{lines[0]}: none, for {document['reason']}"
    lines += ["", textwrap.indent(document["source"], "  "), ""]
    if document["reason"]:
        return "\n".join([*lines, f"not for these parameters: {document['reason']}"])
    verb = "maximize" if document["sense"] == "max" else "minimize"
    cones = ", ".join(f"{counted(number, cone)}" for cone, number in document["cones"].items())
    lines.append(f"{verb}: {document['kind']}, convex by {document['convex']}{f'; {cones}' if cones else ''}")
    for one in document["variables"]:
        shape = " x ".join(map(str, one["shape"])) or "1"
        lines.append(f"  variable {one['name']}: {shape}, {one['domain']}")
    total = sum(one["rows"] for one in document["constraints"])
    lines.append(f"  {counted(total, 'row')} of constraints")
    named: dict[tuple[str, str], int] = {}
    for one in document["constraints"]:
        key = one["name"], one["relation"]
        named[key] = named.get(key, 0) + one["rows"]
    listed = list(named.items())
    lines += [f"    {name or '(unnamed)'}: {rows} {relation}" for (name, relation), rows in listed[:12]]
    lines += [f"    and {counted(len(listed) - 12, 'more kind')} of rows"] if len(listed) > 12 else []
    return "\n".join(lines)
