"""The problem ``screening``: a menu of quantities and prices for a buyer whose value of a unit is private."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, related
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.incentives.deviations import (
    Demands,
    ExactAudit,
    ExactRule,
    certificates_of,
)
from mechdesign.families.incentives.direct_rule import ScreeningMenu
from mechdesign.families.incentives.environment import (
    Environment,
    Whole,
    amounts_of,
    decimal_name,
    environment_of_tables,
    fraction_amount,
    require_size,
    written,
)
from mechdesign.show.figure import Figure

if TYPE_CHECKING:
    import cvxpy

DEMANDS = Demands()
"""Incentives and participation of each type; with one buyer they are dominant and ex post."""


class Amounts(tuple[Fraction, ...]):
    """Numbers as fractions, written so that a file has them exactly."""

    __slots__ = ()

    def as_json(self) -> list[Any]:
        """Return integers and texts such as ``"1/3"``."""
        return [written(value) for value in self]


def _increasing(name: str, value: Any) -> Amounts:
    """Return different numbers >= 0 in increasing order."""
    result = Amounts(amounts_of(name, value))
    if not result:
        raise ParameterError(name, "is empty", "give at least one number")
    for place, (one, other) in enumerate(pairwise(result)):
        if other <= one:
            raise ParameterError(
                f"{name}[{place + 1}]", f"{other} is not above {one}", "sort them, each once"
            )
    if result[0] < 0:
        raise ParameterError(f"{name}[0]", f"{result[0]} is negative", "give numbers >= 0")
    return result


def _shares(problem: Screening, name: str, value: Any) -> Amounts:
    """Return the probabilities of the types, uniform where there are none."""
    count = len(problem.types)
    if value is None:
        return Amounts([Fraction(1, count)] * count)
    result = Amounts(amounts_of(name, value, count))
    if min(result) <= 0:
        raise ParameterError(name, f"has {min(result)}", "leave types without probability out")
    if sum(result) != 1:
        raise ParameterError(
            name, f"sums to {decimal_name(sum(result, Fraction(0)))}, not 1", "write quotients such as 1/3"
        )
    return result


def _quantities(name: str, value: Any) -> Amounts:
    result = _increasing(name, value)
    return result if result[0] == 0 else Amounts((Fraction(0), *result))


def _cost(problem: Screening, name: str, value: Any) -> Amounts | Fraction:
    """Return the coefficient of a quadratic cost, or the cost of each quantity of the list."""
    if isinstance(value, (list, tuple, np.ndarray)):
        if problem.quantities is None:
            raise ParameterError(name, "is a list, but quantities are continuous", "state quantities")
        count = len(value)
        costs = amounts_of(name, value)
        if count == len(problem.quantities) - 1:
            costs = (Fraction(0), *costs)
        if len(costs) != len(problem.quantities):
            raise ParameterError(name, f"expected {len(problem.quantities)} entries, got {count}")
        return Amounts(costs)
    result = fraction_amount(name, value)
    if problem.quantities is None and result <= 0:
        raise ParameterError(
            name, f"{decimal_name(result)} is not above 0", "continuous quantities need a cost"
        )
    return result


@frozen_problem()
class Screening(Problem[ScreeningMenu]):
    """Maximise the expected profit of a menu for a buyer with value ``type * quantity``.

    The seller does not know the type. A quantity q costs ``cost * q^2 / 2``, or what a list says;
    without a list of quantities every q >= 0 can be offered.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.Screening(types=[1, 2]))
    >>> solution.method, solution.value, solution.variables["quantity"].tolist()
    ('mussa-rosen', 1.0, [0.0, 2.0])
    """

    name: ClassVar[str] = "screening"
    sense: ClassVar[Sense] = "max"
    value_name: ClassVar[str] = "expected profit"
    summary: ClassVar[str] = "the optimal menu of quantities and prices for a buyer of unknown type, exactly"
    compared_with: ClassVar[str] = "all menus, of lotteries as well, that each type may refuse"
    optimal_within: ClassVar[float] = 1e-12
    trivial: ClassVar[float | None] = None
    example: ClassVar[Mapping[str, Any]] = {"types": [1, 2, 3]}

    types: Kept[Amounts, Any] = checked(
        "The buyer's possible values of a unit, increasing.", _increasing, form="list of numbers"
    )
    prior: Kept[Amounts, Any] = related(
        "Their probabilities; uniform by default.", _shares, form="list of numbers", default=None, fills=True
    )
    quantities: Kept[Amounts | None, Any] = related(
        "The quantities that can be offered, increasing; 0 always can. Without them, every quantity >= 0.",
        lambda problem, name, value: _quantities(name, value),
        form="list of numbers",
        default=None,
    )
    cost: Kept[Amounts | Fraction, Any] = related(
        "c of the cost c q^2 / 2 of a quantity q, or the cost of each quantity.",
        _cost,
        form="number or list",
        default=1,
    )

    def __attrs_post_init__(self) -> None:
        if self.quantities is not None:
            require_size([len(self.types)], len(self.quantities))

    def cost_of(self, quantity: Fraction) -> Fraction:
        """Return what a quantity costs the seller."""
        if isinstance(self.cost, Fraction):
            return self.cost * quantity * quantity / 2
        assert self.quantities is not None
        return self.cost[self.quantities.index(quantity)]

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        types, prior = np.array(self.types, dtype=float), np.array(self.prior, dtype=float)
        payments, size = cp.Variable(len(types), name="payments"), len(types)
        if self.quantities is None:
            quantity = cp.Variable(size, name="quantity", nonneg=True)
            costs, rows = float(self.cost_of(Fraction(1))) * cp.square(quantity), []
        else:
            offered = np.array(self.quantities, dtype=float)
            lotteries = cp.Variable((size, len(offered)), name="lotteries", nonneg=True)
            quantity, rows = lotteries @ offered, [(cp.sum(lotteries, axis=1) == 1).set_label("lotteries")]
            costs = lotteries @ np.array([float(self.cost_of(one)) for one in self.quantities])
        own = cp.multiply(types, quantity) - payments
        others = types[:, None] @ quantity[None, :] - np.ones((size, 1)) @ payments[None, :]
        rows.append((own[:, None] @ np.ones((1, size)) >= others).set_label("incentives"))
        rows.append((own >= 0).set_label("participation"))
        return cp.Problem(cp.Maximize(prior @ (payments - costs)), rows)

    def statement_size(self) -> int:
        return len(self.types) * (len(self.types) + len(self.quantities or (0,)))

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        """Return fractions next to the solver's, at the largest prices that every type pays for its item."""
        from mechdesign.families.incentives.deviations import exact_rule
        from mechdesign.solvers.exact_linear import nearby_fractions

        size = len(self.types)
        if self.quantities is None:
            numbers = np.maximum.accumulate(np.maximum(values["quantity"], 0.0))
            offered = sorted({Fraction(0), *nearby_fractions(numbers, 10**6).fractions()})
            chosen = nearby_fractions(numbers, 10**6).fractions()
            lotteries = np.array(
                [[Fraction(one == each) for each in offered] for one in chosen], dtype=object
            )
        else:
            offered = list(self.quantities)
            flat = nearby_fractions(np.maximum(values["lotteries"], 0.0).ravel(), 10**6).fractions()
            lotteries = np.array(flat, dtype=object).reshape(size, -1)
            chosen = [sum(map(operator.mul, row, offered), Fraction(0)) for row in lotteries.tolist()]
        paid, prices = Fraction(0), []
        for kind, one, before in zip(self.types, chosen, [Fraction(0), *chosen], strict=False):
            paid += kind * (one - before)
            prices.append([paid])
        return menu_variables(offered, exact_rule(lotteries, np.array(prices, dtype=object)))

    @cached_property
    def base(self) -> Fraction:
        """The profit without a sale: minus the cost of quantity 0."""
        return -self.cost_of(Fraction(0))

    def environment(self, quantities: Any) -> Environment:
        """Return the environment of one buyer, with these quantities as outcomes."""
        offered = list(quantities)
        return environment_of_tables(
            types=[[decimal_name(value) for value in self.types]],
            outcomes=[decimal_name(quantity) for quantity in offered],
            values=[[[value * quantity for quantity in offered] for value in self.types]],
            cost=[self.cost_of(quantity) for quantity in offered],
            prior=[list(self.prior)],
            agents=["buyer"],
        )

    def rule_of(self, variables: Variables) -> tuple[Environment, ExactRule]:
        """Return the environment of the offered quantities, and the rule in integers."""
        menu: ExactMenu = variables["menu"]
        return self.environment(menu.offered), menu.rule

    def exact_value(self, variables: Variables) -> Fraction:
        """Return the expected profit as a fraction."""
        environment, rule = self.rule_of(variables)
        costs = np.array([-cost for cost in environment.cost], dtype=object)
        weights = np.broadcast_to(costs, (len(self.types), len(costs)))
        charges: Whole = np.full((len(self.types), 1), Fraction(1), dtype=object)
        return ExactAudit(environment, rule).expected(weights, charges)

    def objective(self, variables: Variables) -> float:
        return float(self.exact_value(variables))

    def residuals(self, variables: Variables) -> dict[str, float]:
        judged = ExactAudit(*self.rule_of(variables)).all(DEMANDS)
        return {group.name: float(group.violation) for group in judged}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        audit = ExactAudit(*self.rule_of(solution.variables))
        return (*certificates_of(audit, DEMANDS), self.optimality(solution))

    def mechanism(self, solution: Solution[Any]) -> ScreeningMenu:
        environment, rule = self.rule_of(solution.variables)
        offered = solution.variables["menu"].offered
        return ScreeningMenu.of(self.types, self.prior, offered, environment, rule)


@dataclass(frozen=True, eq=False)
class ExactMenu:
    """Quantities that are offered, and the rule over them in integers."""

    offered: tuple[Fraction, ...]
    rule: ExactRule

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, a row for each type."""
        return {"offered": [written(value) for value in self.offered], **self.rule.as_json()}


def menu_variables(offered: Any, rule: ExactRule) -> dict[str, Any]:
    """Return the variables of a menu; quantities that no type may get are left out.

    Examples
    --------
    >>> rule = ExactRule(np.array([[1, 0, 1], [0, 0, 2]]), 2, np.array([[0], [3]]), 1)
    >>> found = menu_variables([Fraction(0), Fraction(1), Fraction(2)], rule)
    >>> found["menu"].offered, found["quantity"].tolist()
    ((Fraction(0, 1), Fraction(2, 1)), [1.0, 2.0])
    """
    used = np.flatnonzero((rule.lotteries != 0).any(axis=0))
    quantities: Whole = np.empty(len(used), dtype=object)
    quantities[:] = [offered[place] for place in used.tolist()]
    narrowed = replace(rule, lotteries=rule.lotteries[:, used])
    expected = (narrowed.lottery_fractions() * quantities).sum(axis=1)
    return {
        "quantity": expected.astype(np.float64),
        "payments": narrowed.payment_fractions().reshape(-1).astype(np.float64),
        "menu": ExactMenu(tuple(quantities.tolist()), narrowed),
    }


def figures(problem: Screening, solution: Solution[Any]) -> list[Figure]:
    """Return quantity and payment by type."""
    return problem.mechanism(solution).figures()
