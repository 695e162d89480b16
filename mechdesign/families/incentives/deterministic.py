"""Rules without lotteries: branch and bound in which every node is an exact linear program.

An integer program in double precision proposes a rule first; its payments are then computed exactly. The
tree is cut where the exact bound of a node is not above the exact value of the best rule, so that what is
called optimal is proven without a tolerance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mechdesign.core.problem import Outcome
from mechdesign.core.values import changed
from mechdesign.families.incentives.deviations import ExactRule
from mechdesign.families.incentives.direct_mechanism import DirectMechanism
from mechdesign.families.incentives.exact_optimum import exact_optimum, is_deterministic, needed_lies
from mechdesign.families.incentives.program import DirectProgram, Lie
from mechdesign.solvers.exact_linear import IntegerProgram
from mechdesign.solvers.integer import MixedProgram, solve_mixed

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
    result = solve_mixed(_mixed(program.program, chances), seconds=SECONDS)
    if result.status not in ("optimal", "feasible"):
        return None
    whole = np.round(result.variables[:chances]).astype(int).tolist()
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
