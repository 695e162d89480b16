"""A problem as a program: the source of its statement, and the sizes that a model gives it."""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any

from mechdesign.core.errors import counted
from mechdesign.core.problem import Problem

if TYPE_CHECKING:
    import cvxpy

MOST = 200_000
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
    if reason is None and problem.statement_size() > MOST:
        document["reason"] = (
            f"with these parameters its variables are too many to be listed; the limit is {MOST}"
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
