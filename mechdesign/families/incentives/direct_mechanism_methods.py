"""The methods of ``direct-mechanism``: the exact program, and the formulas where they apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.incentives.closed_forms import (
    Profitable,
    expected_externality_rule,
    full_surplus_rule,
    median_rule,
    myerson_rule,
    peaks_of,
    pivot_rule,
    posted_price_rule,
    side_bets,
    upward_lines,
    violated,
)
from mechdesign.families.incentives.direct_mechanism import DirectMechanism, variables_of
from mechdesign.families.incentives.exact_optimum import deterministic_optimum, exact_optimum, needed_lies
from mechdesign.families.incentives.interim import interim_optimum, why_not_equal
from mechdesign.families.incentives.program import adjacent_lies
from mechdesign.families.incentives.symmetry import solve_alike, why_not_alike
from mechdesign.solvers.statement import statement_method

LARGE = 20_000
"""Variables of a program from which on orbits are the default where agents are alike."""

SURPLUS = "no rule has more than the largest surplus"
VIRTUAL = "ironed virtual values: no rule earns more (Myerson's lemma)"


def exact_program(problem: DirectMechanism) -> Outcome:
    """Solve the linear program exactly; deviations that are not in it are audited and added."""
    return exact_optimum(problem, needed_lies(problem.environment))


def symmetric_program(problem: DirectMechanism) -> Outcome:
    """Solve the exact program with one variable for each orbit of profiles; agents are treated alike."""
    return exact_optimum(problem, needed_lies(problem.environment), solved=solve_alike)


def is_large_and_alike(problem: DirectMechanism) -> bool:
    """Whether agents are alike and the whole program takes much longer than that of orbits."""
    environment = problem.environment
    columns = environment.profiles * (len(environment.outcomes) + len(environment.agents))
    return columns > LARGE and why_not_symmetric(problem) is None


def why_not_symmetric(problem: DirectMechanism) -> str | None:
    """Return why there are no orbits."""
    return why_not_lotteries(problem) or why_not_alike(problem)


def why_not_lotteries(problem: DirectMechanism) -> str | None:
    """Return why a linear program is not enough."""
    return (
        "its outcomes have to be deterministic; use 'integer'"
        if problem.outcomes == "deterministic"
        else None
    )


def lazy_program(problem: DirectMechanism) -> Outcome:
    """Solve with deviations between neighbors in the lists of types, and add those that pay."""
    return exact_optimum(problem, adjacent_lies(problem.environment))


def integer_program(problem: DirectMechanism) -> Outcome:
    """Search the rules without lotteries by branch and bound over exact linear programs."""
    return deterministic_optimum(problem)


def why_not_deterministic(problem: DirectMechanism) -> str | None:
    """Return why the integer program is not asked."""
    return (
        None if problem.outcomes == "deterministic" else "lotteries are allowed; the linear program is enough"
    )


def interim_program(problem: DirectMechanism) -> Outcome:
    """Solve for the chances of winning by type, with Border's rows."""
    return interim_optimum(problem)


def closed_form(
    rule_of: Callable[[DirectMechanism], Profitable | None], source: str
) -> Callable[[DirectMechanism], Outcome]:
    """Return the method of a formula: optimal if its rule satisfies all requirements and meets the bound."""

    def run(problem: DirectMechanism) -> Outcome:
        proposal = rule_of(problem)
        if proposal is None:
            return Outcome("failed", message="the formula does not apply")
        rule, bound = proposal
        missed = violated(problem, rule)
        if missed:
            return Outcome(
                "failed", message=f"the formula's rule violates {', '.join(missed)}; use 'exact-lp'"
            )
        value = problem.exact_value(rule)
        notes: dict[str, Any] = {"exact_value": str(value)}
        return Outcome(
            "optimal" if value == bound else "feasible",
            variables_of(rule),
            bound=float(bound),
            bound_source=source,
            solver="closed form",
            notes=notes,
        )

    return run


def why_not_formula(problem: DirectMechanism) -> str | None:
    """Return why no formula for problems with payments applies."""
    if not problem.transfers:
        return "there are no payments"
    if problem.payment_low is not None or problem.payment_high is not None:
        return "payments have limits"
    if any(problem.environment.is_interdependent(agent) for agent in range(len(problem.environment.agents))):
        return "values depend on the types of others"
    return None


def why_not_one_dimension(problem: DirectMechanism) -> str | None:
    """Revenue, independent types along lines, participation, no budget."""
    environment = problem.environment
    if problem.goal != "revenue":
        return "the goal is not revenue"
    if problem.efficient or problem.budget != "none":
        return "outcomes or budget are restricted"
    if problem.participation == "none":
        return "participation is not demanded, so revenue has no limit"
    if not environment.is_independent:
        return "types are dependent"
    if any(len(set(row)) > 1 for row in environment.outside):
        return "outside values depend on the type"
    return why_not_formula(problem) or (
        None if upward_lines(environment) else "types are not numbers that values grow with"
    )


def why_not_posted(problem: DirectMechanism) -> str | None:
    """One agent, two outcomes, one of which is worth nothing to it."""
    environment = problem.environment
    if len(environment.agents) > 1 or len(environment.outcomes) != 2:
        return "it is for one agent and one good"
    reason = why_not_one_dimension(problem)
    if reason is not None:
        return reason
    lines = upward_lines(environment)
    is_sale = lines is not None and sorted(lines[0].weights) == [0, 1] and not any(lines[0].base)
    return None if is_sale and not any(environment.outside[0]) else "it is for one agent and one good"


def why_not_welfare(problem: DirectMechanism) -> str | None:
    """Return why the efficient outcome is not what is looked for."""
    if problem.goal != "welfare":
        return "the goal is not welfare"
    return why_not_formula(problem)


def why_not_pivot(problem: DirectMechanism) -> str | None:
    """Welfare without a budget."""
    return why_not_welfare(problem) or (
        "payments have to cover the cost" if problem.budget != "none" else None
    )


def why_not_externality(problem: DirectMechanism) -> str | None:
    """Welfare, Bayesian, no participation, independent types, two agents at least."""
    if problem.incentives != "bayesian":
        return "incentives are dominant"
    if problem.participation != "none":
        return "participation is demanded"
    if not problem.environment.is_independent:
        return "types are dependent"
    if len(problem.environment.agents) < 2:
        return "there is one agent"
    return why_not_welfare(problem)


def why_not_full_surplus(problem: DirectMechanism) -> str | None:
    """Revenue, Bayesian, interim, and no beliefs that are a combination of others'."""
    if problem.goal != "revenue" or problem.incentives != "bayesian" or problem.participation != "interim":
        return "it is for revenue with bayesian incentives and interim participation"
    if problem.budget != "none":
        return "payments have to cover the cost"
    if problem.environment.is_independent:
        return "types are independent, so there is nothing to bet on"
    reason = why_not_formula(problem)
    if reason is not None:
        return reason
    environment = problem.environment
    for agent, names in enumerate(environment.types):
        bets = side_bets(environment, agent)
        if isinstance(bets, tuple):
            parts = [f"{weight} x {name}" for weight, name in zip(bets[1], names, strict=True) if weight]
            return (
                f"the beliefs of {environment.agents[agent]} of type {names[bets[0]]} are a combination of "
                f"others': {' + '.join(parts)}"
            )
    return None


def why_not_median(problem: DirectMechanism) -> str | None:
    """Welfare without payments and participation, values minus the distance on a line."""
    if problem.transfers or problem.goal != "welfare" or problem.participation != "none":
        return "it is for welfare without payments and without participation"
    is_line = peaks_of(problem.environment) is not None
    return None if is_line else "values are not minus the distance from a peak on a line"


METHODS = (
    Method("exact-lp", DirectMechanism, "numeric",
           "linear program with the rows that are needed, exact primal and dual",
           exact_program, why_not_lotteries, defers=is_large_and_alike),
    Method("symmetric", DirectMechanism, "numeric",
           "the exact program over orbits of agents that are alike, who are treated alike",
           symmetric_program, why_not_symmetric),
    Method("integer", DirectMechanism, "numeric",
           "rules without lotteries: branch and bound, each node exact",
           integer_program, why_not_deterministic),
    Method("myerson", DirectMechanism, "analytic",
           "the largest ironed virtual surplus, payments by thresholds",
           closed_form(myerson_rule, VIRTUAL), why_not_one_dimension),
    Method("posted-price", DirectMechanism, "analytic", "the best price of the list, for one buyer",
           closed_form(posted_price_rule, "no price of the list earns more"), why_not_posted),
    Method("vcg", DirectMechanism, "analytic", "the efficient outcome with Clarke's pivot payments",
           closed_form(pivot_rule, SURPLUS), why_not_pivot),
    Method("expected-externality", DirectMechanism, "analytic",
           "the efficient outcome, payments balanced by expected externalities",
           closed_form(expected_externality_rule, SURPLUS), why_not_externality),
    Method("full-surplus", DirectMechanism, "analytic", "all the surplus, by bets on correlated types",
           closed_form(full_surplus_rule, SURPLUS), why_not_full_surplus),
    Method("median", DirectMechanism, "analytic", "the median of the peaks, without payments",
           closed_form(median_rule, SURPLUS), why_not_median),
    Method("interim", DirectMechanism, "numeric", "chances of winning by type, with Border's rows, exact",
           interim_program, why_not_equal),
    Method("lazy", DirectMechanism, "numeric",
           "the exact program from adjacent deviations on, others added as they pay",
           lazy_program, why_not_lotteries),
    statement_method(DirectMechanism, most=3000),
)  # fmt: skip
