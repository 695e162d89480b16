"""What methods for ``shuffle-amplification`` hand back: an epsilon next to what an attack achieves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechdesign.core.method import Method, Outcome
from mechdesign.families.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.families.shuffle.judge import Curve, Setting, attacked_epsilon, least_epsilon
from mechdesign.families.shuffle.shuffling import ATTACK_WITHIN
from mechdesign.families.shuffle.theorems import Theorem


def outcome(problem: ShuffleAmplification, epsilon: float, grade: str, solver: str, **notes: Any) -> Outcome:
    """Return a central epsilon with the attacked one as its bound; ``optimal`` where they nearly meet."""
    bound, text = attacked_epsilon(problem.setting)
    return settled(epsilon, bound, text, grade, solver, **notes)


def settled(epsilon: float, bound: float, attack: str, grade: str, solver: str, **notes: Any) -> Outcome:
    """Return a central epsilon with a lower bound that an attack shows."""
    close = bound <= epsilon and epsilon - bound <= ATTACK_WITHIN * epsilon
    return Outcome(
        status="optimal" if close else "feasible",
        variables={"central_epsilon": epsilon},
        bound=bound,
        bound_source=f"an exact attack: {attack}",
        solver=solver,
        notes={"grade": grade, **notes},
    )


def search_method(
    name: str,
    summary: str,
    grade: str,
    curve: Callable[[Setting], Curve],
    why_not: Callable[[ShuffleAmplification], str | None],
) -> Method:
    """Return the method that searches the least epsilon of a proven bound of delta."""

    def run(problem: ShuffleAmplification) -> Outcome:
        setting = problem.setting
        epsilon = 0.0
        if setting.local_epsilon > 0.0:
            epsilon = least_epsilon(curve(setting), setting.delta, setting.local_epsilon)
        return outcome(problem, epsilon, grade, "bisection of a proven bound")

    run.__doc__ = f"Return the least central epsilon: {summary}."
    return Method(name, ShuffleAmplification, "numeric", summary, run, why_not)


def theorem_method(theorem: Theorem, summary: str) -> Method:
    """Return the method that evaluates a theorem."""

    def run(problem: ShuffleAmplification) -> Outcome:
        found = theorem.central(problem.case, problem.local_epsilon)
        assert not isinstance(found, str)  # why_not was asked
        helps = found < problem.local_epsilon
        result = outcome(problem, found, theorem.grade, "closed form", amplifies=helps)
        return Outcome(
            "feasible", result.variables, result.bound, result.bound_source, "closed form", "", result.notes
        )

    def why_not(problem: ShuffleAmplification) -> str | None:
        if problem.local_epsilon == 0.0:
            return "its range is local epsilon > 0"
        found = theorem.central(problem.case, problem.local_epsilon)
        return found if isinstance(found, str) else None

    run.__doc__ = f"Return the central epsilon of {theorem.grade}."
    return Method(theorem.name, ShuffleAmplification, theorem.kind, summary, run, why_not)
