"""What methods for ``shuffle-local-budget`` hand back: a local epsilon next to one that is attacked."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from mechdesign.core.method import Method, Outcome
from mechdesign.families.shuffle.judge import Curve, Setting, guessed, local_bracket, refuted_local
from mechdesign.families.shuffle.local_budget.problem import ShuffleLocalBudget
from mechdesign.families.shuffle.shuffling import ATTACK_WITHIN
from mechdesign.families.shuffle.theorems import Theorem


@lru_cache(maxsize=256)
def _refuted(setting: Setting, central_epsilon: float) -> tuple[float, str]:
    return refuted_local(setting, central_epsilon)


def outcome(problem: ShuffleLocalBudget, epsilon: float, grade: str, solver: str, **notes: Any) -> Outcome:
    """Return a local epsilon with an attacked one as its bound; ``optimal`` where they nearly meet."""
    bound, text = _refuted(problem.setting, problem.central_epsilon)
    close = epsilon <= bound <= epsilon * (1.0 + ATTACK_WITHIN)
    return Outcome(
        status="optimal" if close else "feasible",
        variables={"local_epsilon": epsilon},
        bound=bound if math.isfinite(bound) else None,
        bound_source=f"an exact attack: {text}",
        solver=solver,
        notes={"grade": grade, **notes},
    )


def searched_epsilon(problem: ShuffleLocalBudget, curve: Callable[[Setting], Curve], grade: str) -> Outcome:
    """Return the largest local epsilon with a bound of delta small enough."""
    central = problem.central_epsilon

    def bound(local: float) -> float:
        return curve(problem.setting_with(local))(central)

    found, _ = local_bracket(bound, problem.delta, central, guessed(problem.setting, central))
    return outcome(problem, found, grade, "bisection of a proven bound")


def search_method(
    name: str,
    summary: str,
    grade: str,
    curve: Callable[[Setting], Curve],
    why_not: Callable[[ShuffleLocalBudget], str | None],
) -> Method:
    """Return the method that searches the largest local epsilon with a bound of delta small enough."""

    def run(problem: ShuffleLocalBudget) -> Outcome:
        return searched_epsilon(problem, curve, grade)

    run.__doc__ = f"Return the largest local epsilon: {summary}."
    return Method(name, ShuffleLocalBudget, "numeric", summary, run, why_not)


def why_not_channel(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply (a channel has its local epsilon), or None."""
    if problem.setting.randomizer.kind == "channel":
        return "a channel has its local epsilon: see convolution"
    return None


def theorem_method(theorem: Theorem, summary: str) -> Method:
    """Return the method that inverts a theorem."""

    def run(problem: ShuffleLocalBudget) -> Outcome:
        found = theorem.local(problem.case, problem.central_epsilon)
        assert not isinstance(found, str)  # why_not was asked
        helps = found > problem.central_epsilon
        result = outcome(problem, found, theorem.grade, "closed form", amplifies=helps)
        return Outcome(
            "feasible", result.variables, result.bound, result.bound_source, "closed form", "", result.notes
        )

    def why_not(problem: ShuffleLocalBudget) -> str | None:
        reason = why_not_channel(problem)
        if reason is not None:
            return reason
        found = theorem.local(problem.case, problem.central_epsilon)
        return found if isinstance(found, str) else None

    run.__doc__ = f"Return the largest local epsilon of {theorem.grade}."
    return Method(theorem.name, ShuffleLocalBudget, theorem.kind, summary, run, why_not)
