"""The methods of ``screening``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.incentives.closed_forms import ironed_line
from mechdesign.families.incentives.deviations import exact_rule
from mechdesign.families.incentives.direct_mechanism import DirectMechanism
from mechdesign.families.incentives.exact_optimum import exact_optimum
from mechdesign.families.incentives.program import adjacent_lies
from mechdesign.families.incentives.screening import Screening, menu_variables
from mechdesign.solvers.statement import statement_method

VIRTUAL = "ironed virtual types: no menu earns more (Myerson's lemma)"


def threshold_payments(values: list[Fraction], quantities: list[Fraction]) -> list[Fraction]:
    """Return the largest payments for non-decreasing quantities: adjacent downward incentives bind.

    Examples
    --------
    >>> threshold_payments([Fraction(1), Fraction(3)], [Fraction(1), Fraction(2)])
    [Fraction(1, 1), Fraction(4, 1)]
    """
    result, before, paid = [], Fraction(0), Fraction(0)
    for value, quantity in zip(values, quantities, strict=True):
        paid += value * (quantity - before)
        before = quantity
        result.append(paid)
    return result


def _menu(problem: Screening, quantities: list[Fraction], bound: Fraction) -> Outcome:
    """Return the outcome of one quantity for each type."""
    offered = sorted(set(quantities))
    lotteries = np.array([[Fraction(int(one == q)) for one in offered] for q in quantities], dtype=object)
    paid = threshold_payments(list(problem.types), quantities)
    payments = np.array([[payment] for payment in paid], dtype=object)
    line = ironed_line(problem.types, problem.prior)
    return Outcome(
        "optimal",
        menu_variables(offered, exact_rule(lotteries, payments)),
        bound=float(bound),
        bound_source=VIRTUAL,
        solver="closed form",
        notes={
            "exact_value": str(bound),
            "ironed_types": sum(a != b for a, b in zip(line.virtual, line.ironed, strict=True)),
        },
    )


def mussa_rosen(problem: Screening) -> Outcome:
    """Offer q = ironed virtual type / c where it is positive."""
    assert isinstance(problem.cost, Fraction)
    ironed = ironed_line(problem.types, problem.prior).ironed
    quantities = [max(Fraction(0), value) / problem.cost for value in ironed]
    terms = zip(problem.prior, quantities, strict=True)
    bound = sum((share * problem.cost * quantity * quantity / 2 for share, quantity in terms), Fraction(0))
    return _menu(problem, quantities, bound)


def why_not_mussa_rosen(problem: Screening) -> str | None:
    """Quantities have to be continuous."""
    return None if problem.quantities is None else "quantities are a list; the formula is for all of them"


def ironed_menu(problem: Screening) -> Outcome:
    """Choose for each type the quantity with the largest ironed virtual value less cost."""
    assert problem.quantities is not None
    quantities, bound = [], Fraction(0)
    for value, share in zip(ironed_line(problem.types, problem.prior).ironed, problem.prior, strict=True):
        gains = [value * quantity - problem.cost_of(quantity) for quantity in problem.quantities]
        best = max(gains)
        quantities.append(problem.quantities[gains.index(best)])
        bound += share * best
    return _menu(problem, quantities, bound)


def exact_menu(problem: Screening) -> Outcome:
    """Solve the linear program over lotteries exactly."""
    assert problem.quantities is not None
    direct = DirectMechanism(environment=problem.environment(problem.quantities))
    outcome = exact_optimum(direct, adjacent_lies(direct.environment))
    if outcome.status != "optimal":
        return outcome
    rule = direct.rule_of(outcome.variables)
    return changed(outcome, variables=menu_variables(list(problem.quantities), rule))


def why_not_listed(problem: Screening) -> str | None:
    """Quantities have to be listed."""
    return "quantities are continuous; list some" if problem.quantities is None else None


def posted_price(problem: Screening) -> Outcome:
    """Sell one quantity at the best price of the list of types."""
    assert problem.quantities is not None
    quantity = problem.quantities[-1]
    idle, cost = problem.cost_of(Fraction(0)), problem.cost_of(quantity)
    left, best, threshold = Fraction(1), -idle, len(problem.types)
    for place, (value, share) in enumerate(zip(problem.types, problem.prior, strict=True)):
        profit = left * (value * quantity - cost) - (1 - left) * idle
        if profit > best:
            best, threshold = profit, place
        left -= share
    quantities = [Fraction(0)] * threshold + [quantity] * (len(problem.types) - threshold)
    return _menu(problem, quantities, best)


def why_not_one_quantity(problem: Screening) -> str | None:
    """There has to be one quantity besides 0."""
    if problem.quantities is None or len(problem.quantities) != 2:
        return "it is for one good: one quantity besides 0"
    return None


METHODS = (
    Method("mussa-rosen", Screening, "analytic",
           "continuous quantities: the positive part of ironed virtual types",
           mussa_rosen, why_not_mussa_rosen),
    Method("exact-lp", Screening, "numeric", "linear program over lotteries, exact primal and dual",
           exact_menu, why_not_listed),
    Method("ironing", Screening, "analytic",
           "the quantity of the largest ironed virtual surplus for each type",
           ironed_menu, why_not_listed),
    Method("posted-price", Screening, "analytic", "the best price of the list of types, for one quantity",
           posted_price, why_not_one_quantity),
    statement_method(Screening, most=3000),
)  # fmt: skip
