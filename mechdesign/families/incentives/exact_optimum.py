"""The exact optimum of a direct mechanism: a linear program in whole numbers, deviations added as needed.

Without lotteries: branch and bound in which every node is such a program. An integer program in double
precision proposes a rule first. The tree is cut where the exact bound of a node is not above the exact value
of the best rule, so that what is called optimal is proven without a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from mechdesign.core.errors import counted
from mechdesign.core.problem import Outcome
from mechdesign.core.validation import one_of
from mechdesign.core.values import changed, short_text
from mechdesign.families.incentives.deviations import ExactAudit, ExactRule
from mechdesign.families.incentives.direct_mechanism import DirectMechanism, variables_of
from mechdesign.families.incentives.environment import Environment
from mechdesign.families.incentives.program import DirectProgram, Lie, adjacent_lies, all_lies, linear_types
from mechdesign.solvers.exact_linear import ExactOptimum, IntegerProgram, solve_exactly
from mechdesign.solvers.integer import MixedProgram, solve_mixed
from mechdesign.solvers.linear_systems import CommonFractions
from mechdesign.solvers.sensitivity import Binding

MOST_ROUNDS = 60
"""Rounds of added deviations, before all are added."""

FEW_ENTRIES = 400_000
"""With at most this many entries in all rows of deviations, all are in the program from the start."""


REQUIREMENTS = ("incentives", "participation", "budget", "payments", "lotteries", "efficiency")
"""What the rows of a program are of."""


@dataclass(frozen=True, eq=False)
class DirectPrices:
    """The exact multipliers of a solved program: what each requirement costs.

    Attributes
    ----------
    named : tuple of (requirement, name, price, rows)
        By how much the optimum rises for one unit of utility, or of money, by which it is relaxed.
    """

    named: tuple[tuple[str, str, Fraction, int], ...]
    program: IntegerProgram
    multipliers: CommonFractions

    def proves_infeasibility(self) -> bool:
        """Whether the multipliers are Farkas': they combine the rows to 0 <= a negative number, exactly."""
        nothing = replace(self.program, objective=np.zeros(self.program.rows.width, dtype=np.int64))
        return nothing.dual_is_feasible(self.multipliers) and nothing.bound(self.multipliers) < 0

    def lagrangian(self, problem: Any) -> float | None:
        """Return None: no parameter is a number that a derivative could be taken by."""
        return None

    def binding(self) -> list[Binding]:
        """Return the requirements with a price, the largest price first."""
        units = {"incentives": "utility", "participation": "utility", "budget": "money", "payments": "money"}
        ordered = sorted(self.named, key=lambda item: -abs(item[2]))
        return [
            Binding(name, float(price), rows, units.get(requirement, ""))
            for requirement, name, price, rows in ordered
        ]

    def worst_lies(self) -> list[tuple[str, Fraction]]:
        """Return the lies that cost the designer, with the price of each."""
        lies = [(name, price) for kind, name, price, _ in self.named if kind == "incentives"]
        return sorted(lies, key=lambda item: -item[1])

    def of_requirement(self, requirement: str) -> Fraction:
        """Return the sum of the prices of a requirement, such as ``budget``: the worth of a unit for all.

        It is 0 for a requirement that is not demanded or costs nothing.

        Raises
        ------
        ParameterError
            For a name that no requirement has.
        """
        one_of("requirement", requirement, REQUIREMENTS)
        return sum((price for kind, _, price, _ in self.named if kind == requirement), Fraction(0))


def needed_lies(environment: Environment) -> list[Lie]:
    """Return deviations to begin with: adjacent ones where types are on lines, all where these are few."""
    if all(linear_types(environment, agent) is not None for agent in range(len(environment.agents))):
        return adjacent_lies(environment)
    every = all_lies(environment)
    entries = (
        2
        * len(environment.outcomes)
        * sum(environment.profiles // environment.counts[agent] for agent, _, _ in every)
    )
    return every if entries <= FEW_ENTRIES else adjacent_lies(environment)


def exact_optimum(
    problem: DirectMechanism,
    lies: Sequence[Lie],
    fixed: dict[int, int] | None = None,
    solved: Callable[[DirectProgram], ExactOptimum] = lambda program: solve_exactly(program.program),
) -> Outcome:
    """Return the optimum, starting from some deviations and adding those by which an agent would gain.

    Parameters
    ----------
    problem : DirectMechanism
    lies : sequence of (agent, type, report)
    fixed : mapping, optional
        Columns of probabilities that are fixed.
    solved : callable
        What solves a program exactly.
    """
    reason = problem.why_unbounded()
    if reason is not None:
        return Outcome("unbounded", message=reason)
    used, every = list(lies), all_lies(problem.environment)
    for rounds in range(1, MOST_ROUNDS + 1):
        program = DirectProgram(problem, used, fixed)
        optimum = solved(program)
        if optimum.status == "infeasible" and optimum.prices is not None:
            return _infeasible(problem, program, optimum)
        if optimum.status in ("unbounded", "failed") and len(used) < len(every):
            used = every
            continue
        if optimum.status == "unbounded":
            return Outcome("unbounded", message="payments can grow without end; limit them with payment_high")
        if optimum.point is None or optimum.prices is None:
            return Outcome("failed", message="HiGHS proposes no basis that is exactly optimal")
        rule = program.rule(optimum.point)
        more = profitable_lies(problem, rule, used)
        if not more:
            return _optimal(problem, program, optimum, rule, rounds)
        used = every if rounds == MOST_ROUNDS - 1 else [*used, *more]
    return Outcome("failed", message="deviations were added without end")


def profitable_lies(problem: DirectMechanism, rule: ExactRule, used: Sequence[Lie]) -> list[Lie]:
    """Return deviations by which an agent gains, exactly, and that have no rows yet."""
    audit, known, result = ExactAudit(problem.environment, rule), set(used), []
    for agent, count in enumerate(problem.environment.counts):
        if len([lie for lie in known if lie[0] == agent]) == count * (count - 1):
            continue
        gains = audit.gains(agent, problem.incentives)
        for own in range(count):
            better = [other for other in range(count) if other != own and gains[own, other] > 0]
            result += [(agent, own, other) for other in better if (agent, own, other) not in known]
    return result


def _optimal(
    problem: DirectMechanism, program: DirectProgram, optimum: ExactOptimum, rule: ExactRule, rounds: int
) -> Outcome:
    assert optimum.prices is not None
    value = program.program.bound(optimum.prices) / program.scale
    prices = DirectPrices(tuple(program.named_prices(optimum.prices)), program.program, optimum.prices)
    notes: dict[str, Any] = {
        "exact_value": str(value),
        "deviations_in_program": len(program.lies),
        "read_from": optimum.how,
    }
    worst = prices.worst_lies()
    if worst:
        notes["dearest_lie"] = f"{worst[0][0]}: {short_text(worst[0][1])}"
    if problem.budget != "none":
        notes["worth_of_subsidy"] = str(prices.of_requirement("budget"))
    if rounds > 1:
        notes["rounds"] = rounds
    return Outcome(
        "optimal",
        variables_of(rule),
        bound=float(value),
        bound_source="an exact dual, checked in fractions",
        solver="HiGHS, then fractions",
        notes=notes,
        realisation=prices,
        prices=prices,
    )


def _infeasible(problem: DirectMechanism, program: DirectProgram, optimum: ExactOptimum) -> Outcome:
    """Return the answer for requirements in conflict, with the multipliers that prove it."""
    assert optimum.prices is not None
    named = [
        (kind, name, price * program.scale, rows)
        for kind, name, price, rows in program.named_prices(optimum.prices)
    ]
    kinds = list(dict.fromkeys(kind for kind, _, _, _ in named))
    below = -program.program.bound(optimum.prices)
    listed = [f"{price} x ({name})" for _, name, price, _ in named]
    text = f"{', '.join(_worded(problem, kind) for kind in kinds)} conflict: "
    text += counted(len(named), "requirement")
    text += f" with Farkas multipliers that add up to 0 >= {short_text(below)}"
    return Outcome(
        "infeasible",
        solver="HiGHS, then fractions",
        message=text,
        notes={
            "conflict": kinds,
            "farkas": listed,
        },
        realisation=DirectPrices(tuple(named), program.program, optimum.prices),
    )


def _worded(problem: DirectMechanism, kind: str) -> str:
    words = {
        "incentives": f"incentives = '{problem.incentives}'",
        "participation": f"participation = '{problem.participation}'",
        "budget": f"budget = '{problem.budget}'",
        "efficiency": "efficient = true",
        "payments": "the limits of payments",
    }
    return words.get(kind, kind)


def is_deterministic(rule: ExactRule) -> bool:
    """Whether every lottery has one outcome.

    Examples
    --------
    >>> is_deterministic(ExactRule(np.array([[0, 2]]), 2, np.array([[0]]), 1))
    True
    """
    return bool(np.isin(rule.lotteries, (0, rule.out_of)).all())


# Rules without lotteries


MOST_NODES = 400
"""Nodes of the tree before the best rule is returned with the bound that is left."""

SECONDS = 20.0
"""For the integer program that proposes a rule."""

LARGEST_PAYMENT = 1e6
"""Payments of the proposal are looked for up to this size, in units of the largest value."""


def deterministic_optimum(problem: DirectMechanism, nodes: int = MOST_NODES) -> Outcome:
    """Return the best rule without lotteries, proven where the tree is small enough.

    Parameters
    ----------
    problem : DirectMechanism
    nodes : int
        Exact linear programs that are solved at most.
    """
    lies = needed_lies(problem.environment)
    root = exact_optimum(problem, lies)
    if root.status != "optimal":
        return root
    best = proposal(problem, lies)
    open_nodes: list[tuple[Fraction, dict[int, int], Outcome]] = [(_value(root), {}, root)]
    solved = 1
    while open_nodes and solved < nodes:
        open_nodes.sort(key=lambda node: node[0])
        bound, fixed, outcome = open_nodes.pop()
        if best is not None and bound <= _value(best):
            open_nodes.clear()
            break
        rule: ExactRule = outcome.variables["rule"]
        column = _fractional(rule)
        if column is None:
            best = outcome
            continue
        for value in (1, 0):
            child = exact_optimum(problem, lies, {**fixed, column: value})
            solved += 1
            if child.status == "optimal" and (best is None or _value(child) > _value(best)):
                if is_deterministic(child.variables["rule"]):
                    best = child
                open_nodes.append((_value(child), {**fixed, column: value}, child))
    if best is None:
        if not open_nodes:
            return Outcome("infeasible", message="no rule without lotteries satisfies the requirements")
        return Outcome("failed", message=f"no rule without lotteries among {solved} nodes")
    bound = max([_value(best), *(node[0] for node in open_nodes)])
    return changed(
        best,
        status="optimal" if bound == _value(best) else "feasible",
        bound=float(bound),
        bound_source="branch and bound over exact linear programs",
        notes={
            "exact_value": best.notes["exact_value"],
            "nodes": solved,
            "with_lotteries": root.notes["exact_value"],
        },
        prices=None,
        realisation=None,
    )


def _value(outcome: Outcome) -> Fraction:
    return Fraction(outcome.notes["exact_value"])


def _fractional(rule: ExactRule) -> int | None:
    """Return the column of the probability that is nearest to one half; None where all are 0 or 1."""
    flat = rule.lotteries.reshape(-1).astype(object)
    distance = np.minimum(flat, rule.out_of - flat)
    place = int(distance.argmax())
    return place if distance[place] > 0 else None


def proposal(problem: DirectMechanism, lies: list[Lie]) -> Outcome | None:
    """Return the rule of an integer program in double precision, its payments exact; None without one."""
    program = DirectProgram(problem, lies)
    chances = problem.environment.profiles * len(problem.environment.outcomes)
    optimum = solve_mixed(_mixed(program.program, chances), seconds=SECONDS)
    if optimum.status not in ("optimal", "feasible"):
        return None
    whole = np.round(optimum.variables[:chances]).astype(int).tolist()
    outcome = exact_optimum(problem, lies, dict(enumerate(whole)))
    return outcome if outcome.status == "optimal" else None


def _mixed(program: IntegerProgram, chances: int) -> MixedProgram:
    """Return the program for the solver: equations as two rows, payments within a wide range."""
    rows, limits = [], []
    for number in range(program.rows.height):
        terms = [(place, float(value)) for place, value in program.rows.row(number).items()]
        rows.append(terms)
        limits.append(float(program.limits[number]))
        if program.equal[number]:
            rows.append([(place, -value) for place, value in terms])
            limits.append(-float(program.limits[number]))
    size = program.rows.width
    whole = np.arange(size) < chances
    return MixedProgram(
        program.objective.astype(np.float64),
        rows,
        limits,
        np.where(whole, 0.0, -LARGEST_PAYMENT),
        np.where(whole, 1.0, LARGEST_PAYMENT),
        whole,
    )
