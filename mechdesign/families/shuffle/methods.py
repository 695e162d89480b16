"""Methods of the problems of choosing a protocol: the best one, and each one by itself."""

from __future__ import annotations

from typing import Any, cast

from mechdesign.core.method import Method, Outcome
from mechdesign.core.problem import Problem
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.candidates import (
    BEST,
    Choosing,
    Kind,
    Reason,
    fitted,
    notes_of,
    variables_of,
)


def nothing_fits(problem: Choosing) -> Reason | None:
    """Return why none of the protocols asked for fits, if so."""
    found = problem.candidates()
    if any(isinstance(item, Protocol) for item in found.values()):
        return None
    return "; ".join(f"{name}: {reason}" for name, reason in found.items())


def best_of(problem: Choosing) -> Outcome:
    """Return the protocol of least error of all that fit."""
    reason = nothing_fits(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="enumeration", message=reason)
    fits = [item for item in problem.candidates().values() if isinstance(item, Protocol)]
    chosen = min(fits, key=problem.error_of)
    return Outcome(
        status="optimal",
        variables=variables_of(chosen),
        bound=problem.error_of(chosen),
        bound_source=f"the least of {len(fits)} protocol(s), each with its calibrated noise",
        solver="enumeration",
        notes=notes_of(chosen),
    )


def single(problem: Choosing, kind: Kind) -> Outcome:
    """Return one kind of protocol; it claims no optimum among the others."""
    found = fitted(kind, problem.case)
    if not isinstance(found, Protocol):
        return Outcome(status="infeasible", solver="calibration", message=found)
    return Outcome(
        status="feasible",
        variables=variables_of(found),
        solver="constants" if kind.is_published else "bisection",
        notes=notes_of(found),
    )


def why_not(problem: Choosing, kind: Kind) -> Reason | None:
    """Return why a kind does not apply where others do, if so."""
    protocol = kind.name.removesuffix("-published")
    if problem.protocol not in (BEST, protocol):
        return f"the protocol is to be {problem.protocol}"
    if problem.protocol == BEST and problem.only_by_name(kind):
        return f"{kind.by_name}; ask for it by its name"
    found = fitted(kind, problem.case)
    if isinstance(found, Protocol) or nothing_fits(problem) is not None:
        return None
    return found


def protocol_methods(problem: type[Choosing]) -> tuple[Method, ...]:
    """Return the best of all protocols that fit, then each with its own noise, in the order of the kinds."""
    owner = cast("type[Problem[Any]]", problem)
    best = Method(BEST, owner, "analytic", "the protocol of least error of all that fit", best_of)
    return (best, *(protocol_method(problem, kind) for kind in problem.kinds if not kind.is_published))


def protocol_method(problem: type[Choosing], kind: Kind) -> Method:
    """Return the method of one protocol with one calibration."""
    return Method(
        name=kind.name,
        problem=cast("type[Problem[Any]]", problem),
        kind="heuristic" if kind.is_published else "numeric",
        summary=kind.summary,
        run=lambda given: single(given, kind),
        why_not=lambda given: why_not(given, kind),
    )
