"""``shuffle-local-budget`` for few users: every data set in rational arithmetic, inverted by bisection."""

from __future__ import annotations

from fractions import Fraction

from mechdesign.core.method import Outcome
from mechdesign.families.shuffle.enumeration import enumeration, exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import guessed, local_bracket
from mechdesign.families.shuffle.local_budget.problem import ShuffleLocalBudget

SOLVER = "enumeration in rational arithmetic"

STEPS = 30
"""About how many local epsilons are looked at, each with an enumeration of its own."""


def exact_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon that holds for all data, and one next to it that fails for some."""
    central, delta = problem.central_epsilon, problem.delta
    if problem.setting.randomizer.kind == "channel":
        return _of_channel(problem)

    def divergence(local: float) -> float:
        return exact_delta(problem.setting_with(local), central)

    found, beyond = local_bracket(divergence, delta, central, guessed(problem.setting, central))
    variables = {"local_epsilon": found}
    if beyond <= found:  # everything is enough
        return Outcome("optimal", variables, found, "the largest local epsilon that is considered", SOLVER)
    data, fails = _worst_data(problem, beyond)
    return Outcome(
        "optimal" if fails else "feasible",
        variables,
        beyond if fails else None,
        f"the exact divergence when the others have {data}" if fails else "",
        SOLVER,
        notes={"grade": "exact"},
    )


def _worst_data(problem: ShuffleLocalBudget, local: float) -> tuple[str, bool]:
    """Return the worst data for a local epsilon, and whether it has more than delta, rounded down."""
    laws = enumeration(problem.setting_with(local), False)
    largest, place = laws.delta(problem.central_epsilon)
    return ", ".join(map(str, laws.laws[place][0])), largest > Fraction(problem.delta)


def _of_channel(problem: ShuffleLocalBudget) -> Outcome:
    local = problem.setting.randomizer.epsilon
    delta = exact_delta(problem.setting_with(local), problem.central_epsilon)
    if local > problem.central_epsilon and delta > problem.delta:
        message = f"this channel has delta = {delta:.4g}; take one with more noise"
        return Outcome("infeasible", message=message)
    source = "the channel has this local epsilon"
    return Outcome("optimal", {"local_epsilon": local}, local, source, SOLVER, notes={"grade": "exact"})


def why_not_exact_local(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    return why_not_exact(problem.setting, 1 if problem.setting.randomizer.kind == "channel" else STEPS)
