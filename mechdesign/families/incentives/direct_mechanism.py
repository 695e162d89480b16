"""The problem ``direct-mechanism``: the best rule over finite types and outcomes such that the truth pays."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, choice, flag, frozen_problem, related
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.incentives.deviations import (
    Budget,
    Demands,
    ExactAudit,
    ExactRule,
    Incentives,
    Participation,
    certificates_of,
    exact_rule,
)
from mechdesign.families.incentives.direct_rule import DirectRule, item_text, outcomes_figure
from mechdesign.families.incentives.environment import (
    Environment,
    Whole,
    amounts_of,
    fraction_amount,
    nested_list,
)
from mechdesign.families.incentives.environments import NAMED, environment_of
from mechdesign.show.figure import Figure, Panel, Points

if TYPE_CHECKING:
    import cvxpy

Goal = Literal["revenue", "welfare", "weights"]
Outcomes = Literal["lotteries", "deterministic"]

GOALS = {"revenue": "expected revenue", "welfare": "expected welfare", "weights": "expected weighted sum"}


NAMES_OF_VARIABLES = ("lotteries", "payments")


def _floats(table: Whole) -> Any:
    """Return an array of fractions as doubles."""
    return np.asarray(table).astype(np.float64)


class WeightTable:
    """Weights by outcome or by agent, the same in every profile or for each profile.

    Attributes
    ----------
    table : array of Fraction, shape (columns,) or (types of each agent, columns)
    """

    def __init__(self, table: Whole) -> None:
        self.table = table

    def as_json(self) -> Any:
        """Return the numbers as nested lists."""
        return nested_list(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightTable) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash(str(self.as_json()))

    def __repr__(self) -> str:
        return str(self.as_json())


def _weights(problem: DirectMechanism, name: str, value: Any, columns: int) -> WeightTable:
    """Return weights, one for each column, or a row of them for each profile in order."""
    environment = problem.environment
    if isinstance(value, WeightTable):
        value = value.as_json()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
        while value[0] and isinstance(value[0][0], (list, tuple)):
            value = [row for part in value for row in part]
        if len(value) != environment.profiles:
            what = f"expected {environment.profiles} rows, one per profile, got {len(value)}"
            raise ParameterError(name, what)
        rows = [amounts_of(f"{name}[{place}]", row, columns) for place, row in enumerate(value)]
        table = np.array(rows, dtype=object).reshape(*environment.counts, columns)
        return WeightTable(table)
    return WeightTable(np.array(amounts_of(name, value, columns), dtype=object))


def _limit(problem: DirectMechanism, name: str, value: Any) -> Fraction:
    if not problem.transfers:
        raise ParameterError(name, "is stated, but transfers are off", "omit it, or write transfers = true")
    return fraction_amount(name, value)


@frozen_problem()
class DirectMechanism(Problem[DirectRule]):
    """Maximise revenue, welfare or own weights over all direct mechanisms that keep the stated requirements.

    Agents have types that only they know; the mechanism asks for them and chooses a lottery over outcomes and
    payments. The optimum is had exactly, with a proof in fractions; see the family's page.

    Examples
    --------
    >>> import mechdesign as md
    >>> sale = md.DirectMechanism(environment={"name": "single-item", "types": [1, 2, 3], "agents": 2})
    >>> solution = md.solve(sale)
    >>> solution.value, solution.notes["exact_value"]
    (2.0, '2')
    """

    name: ClassVar[str] = "direct-mechanism"
    sense: ClassVar[Sense] = "max"
    value_name: ClassVar[str] = "expected revenue, welfare or weighted sum"
    summary: ClassVar[str] = "the optimal direct mechanism over finite types and outcomes, exactly"
    compared_with: ClassVar[str] = "all direct mechanisms with these requirements"
    optimal_within: ClassVar[float] = 1e-12
    example: ClassVar[Mapping[str, Any]] = {
        "environment": {"name": "single-item", "types": [1, 2, 3], "agents": 2}
    }
    relaxations: ClassVar[Mapping[str, Any]] = {
        "participation": "none",
        "budget": "none",
        "efficient": False,
        "payment_low": None,
        "payment_high": None,
    }

    environment: Kept[Environment, Any] = checked(
        "A table with a name (" + ", ".join(f"``{name}``" for name in NAMED) + ") and what that takes, or an "
        ":class:`Environment`.",
        environment_of,
        form="mapping or Environment",
    )
    incentives: Incentives = choice(
        "The truth is best whatever the others say (``dominant``), or in expectation over their types.",
        Incentives,
        default="dominant",
    )
    participation: Participation = choice(
        "Taking part is no worse than staying out: in every profile, in expectation given the own "
        "type, or not demanded.",
        Participation,
        default="ex-post",
    )
    budget: Budget = choice(
        "Payments cover the cost in every profile (``no-deficit``), exactly (``balanced``), in "
        "expectation, or it is not demanded.",
        Budget,
        default="none",
    )
    transfers: bool = flag("Whether there are payments.", default=True)
    payment_low: Kept[Fraction | None, Any] = related(
        "The least payment of an agent in any profile; 0 forbids subsidies.",
        _limit,
        form="number",
        default=None,
    )
    payment_high: Kept[Fraction | None, Any] = related(
        "The largest payment of an agent in any profile.", _limit, form="number", default=None
    )
    outcomes: Outcomes = choice("Whether lotteries over outcomes are allowed.", Outcomes, default="lotteries")
    goal: Goal = choice(
        "What is maximised: payments less cost, values less cost, or own weights.", Goal, default="revenue"
    )
    efficient: bool = flag("Whether every profile has an outcome of the largest surplus.", default=False)
    outcome_weights: Kept[WeightTable | None, Any] = related(
        "With goal ``weights``: of each outcome, or a row of them for each profile.",
        lambda problem, name, value: _weights(problem, name, value, len(problem.environment.outcomes)),
        form="list",
        default=None,
    )
    payment_weights: Kept[WeightTable | None, Any] = related(
        "With goal ``weights``: of the payment of each agent, or a row of them for each profile.",
        lambda problem, name, value: _weights(problem, name, value, len(problem.environment.agents)),
        form="list",
        default=None,
    )

    def __attrs_post_init__(self) -> None:
        stated = [name for name in ("outcome_weights", "payment_weights") if getattr(self, name) is not None]
        if self.goal == "weights" and not stated:
            raise ParameterError("outcome_weights", "is missing", "state weights, or goal = 'welfare'")
        if self.goal != "weights" and stated:
            raise ParameterError(stated[0], f"is stated with goal '{self.goal}'", "write goal = 'weights'")
        if not self.transfers and (self.goal == "revenue" or self.payment_weights is not None):
            what = "payments are asked for, but transfers are off"
            raise ParameterError("goal", what, "write goal = 'welfare' or own outcome_weights")
        low, high = self.payment_low, self.payment_high
        if low is not None and high is not None and low > high:
            raise ParameterError("payment_low", f"{low} is above payment_high {high}", "exchange them")

    # What is demanded and wanted

    @cached_property
    def demands(self) -> Demands:
        """The requirements on a rule."""
        return Demands(
            self.incentives,
            self.participation,
            self.budget,
            self.transfers,
            self.payment_low,
            self.payment_high,
        )

    @cached_property
    def weights(self) -> tuple[Whole, Whole]:
        """The weights of outcomes and of payments by profile, as arrays of fractions."""
        environment = self.environment
        outcome_shape = (*environment.counts, len(environment.outcomes))
        payment_shape = (*environment.counts, len(environment.agents))
        if self.goal == "welfare":
            return environment.surplus(), np.broadcast_to(np.array(Fraction(0), dtype=object), payment_shape)
        if self.goal == "revenue":
            costs = np.array([-cost for cost in environment.cost], dtype=object)
            ones = np.array(Fraction(1), dtype=object)
            return np.broadcast_to(costs, outcome_shape), np.broadcast_to(ones, payment_shape)
        zero = np.array(Fraction(0), dtype=object)
        first = zero if self.outcome_weights is None else self.outcome_weights.table
        second = zero if self.payment_weights is None else self.payment_weights.table
        return np.broadcast_to(first, outcome_shape), np.broadcast_to(second, payment_shape)

    @cached_property
    def charges_are_uniform(self) -> bool:
        """Whether payments have the same weight in every profile."""
        return self.payment_weights is None or self.payment_weights.table.ndim == 1

    def why_unbounded(self) -> str | None:
        """Return why the objective has no limit, where that is plain; None elsewhere."""
        free = self.participation == "none" and self.payment_high is None and self.budget != "balanced"
        charged = self.transfers and self.goal == "revenue"
        if free and charged:
            return "without participation every payment can be raised; demand participation or payment_high"
        return None

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        environment, prior, agents = self.environment, _floats(self.environment.prior).ravel(), self.agents
        types = np.indices(environment.counts).reshape(agents, -1)  # of each agent in each profile
        lotteries = self._lotteries()
        payments = cp.Variable((len(prior), agents), name="payments")
        rows = [(cp.sum(lotteries, axis=1) == 1).set_label("lotteries")]
        for agent in range(agents):
            values = _floats(environment.by_profile(agent)).reshape(lotteries.shape)
            truth = cp.sum(cp.multiply(values, lotteries), axis=1) - payments[:, agent]
            for kind, other in np.argwhere(~np.eye(environment.counts[agent], dtype=np.bool_)):
                own, lie = np.flatnonzero(types[agent] == kind), np.flatnonzero(types[agent] == other)
                lying = cp.sum(cp.multiply(values[own], lotteries[lie]), axis=1) - payments[lie, agent]
                weights = prior[own] if self.incentives == "bayesian" else np.eye(len(own))
                rows.append((weights @ (lying - truth[own]) <= 0).set_label(f"incentives {agent}"))
            rows += self._participation_rows(agent, truth, types[agent], prior)
        costs, charges = (_floats(table).reshape(len(prior), -1) for table in self.weights)
        value = cp.sum(cp.multiply(costs, lotteries), axis=1) + cp.sum(cp.multiply(charges, payments), axis=1)
        return cp.Problem(cp.Maximize(prior @ value), [*rows, *self._money_rows(lotteries, payments, prior)])

    def _lotteries(self) -> cvxpy.Variable:
        import cvxpy as cp

        shape = (self.environment.profiles, len(self.environment.outcomes))
        if self.outcomes == "deterministic":
            return cp.Variable(shape, name="lotteries", boolean=True)
        return cp.Variable(shape, name="lotteries", nonneg=True)

    def _participation_rows(self, agent: int, truth: Any, types: Any, prior: Any) -> list[Any]:
        """Return that no type of an agent is better off outside."""
        outside = _floats(np.array(self.environment.outside[agent], dtype=object))
        if self.participation == "none":
            return []
        gain = truth - outside[types]
        if self.participation == "interim":
            gain = (prior * (types == np.arange(len(outside))[:, None])) @ gain
        return [(gain >= 0).set_label(f"participation {agent}")]

    def _money_rows(self, lotteries: Any, payments: Any, prior: Any) -> list[Any]:
        """Return the budget, the limits of payments, and efficiency."""
        import cvxpy as cp

        rows: list[Any] = []
        left = cp.sum(payments, axis=1) - lotteries @ _floats(np.array(self.environment.cost, dtype=object))
        if self.budget != "none":
            left = prior @ left if self.budget == "expected" else left
            rows.append((left == 0 if self.budget == "balanced" else left >= 0).set_label("budget"))
        rows += [] if self.transfers else [payments == 0]
        rows += [] if self.payment_low is None else [payments >= float(self.payment_low)]
        rows += [] if self.payment_high is None else [payments <= float(self.payment_high)]
        if self.efficient:
            surplus = self.environment.surplus().reshape(lotteries.shape)
            best = surplus == surplus.max(axis=1, keepdims=True)
            rows.append((cp.multiply(1.0 - best.astype(float), lotteries) == 0).set_label("efficiency"))
        return rows

    def why_no_statement(self) -> str | None:
        return self.why_unbounded()

    def statement_size(self) -> int:
        environment = self.environment
        deviations = sum(count * (count - 1) for count in environment.counts)
        return environment.profiles * (len(environment.outcomes) + self.agents + deviations)

    @property
    def agents(self) -> int:
        """Number of agents."""
        return len(self.environment.agents)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        """Return fractions next to a vertex; the exact audit says whether they keep all requirements."""
        from mechdesign.solvers.exact_linear import nearby_fractions

        counts = self.environment.counts
        lotteries, payments = (nearby_fractions(values[name].ravel(), 10**6) for name in NAMES_OF_VARIABLES)
        tables = np.array(lotteries.fractions(), dtype=object), np.array(payments.fractions(), dtype=object)
        return variables_of(exact_rule(*(table.reshape(*counts, -1) for table in tables)))

    # The problem judges

    def rule_of(self, variables: Variables) -> ExactRule:
        """Return the rule of variables, in integers: the exact one, or that of the doubles."""
        if "rule" in variables:
            rule: ExactRule = variables["rule"]
            return rule
        counts = self.environment.counts
        tables = [np.asarray(variables[name], dtype=object) for name in ("lotteries", "payments")]
        exact = [np.vectorize(Fraction, otypes=[object])(table) for table in tables]
        return exact_rule(*(table.reshape(*counts, table.shape[-1]) for table in exact))

    def _audit(self, variables: Variables) -> ExactAudit:
        return ExactAudit(self.environment, self.rule_of(variables))

    def objective(self, variables: Variables) -> float:
        return float(self.exact_value(self.rule_of(variables)))

    def exact_value(self, rule: ExactRule) -> Fraction:
        """Return the objective of a rule as a fraction."""
        return ExactAudit(self.environment, rule).expected(*self.weights)

    def residuals(self, variables: Variables) -> dict[str, float]:
        judged = self._audit(variables).all(self.demands)
        return {group.name: float(group.violation) for group in judged}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        audit = self._audit(solution.variables)
        return (*certificates_of(audit, self.demands), self.optimality(solution))

    def value_label(self) -> str:
        return GOALS[self.goal]

    def among(self) -> str:
        kind = "deterministic" if self.outcomes == "deterministic" else "all"
        return f"{kind} direct mechanisms: {self.demands_text()}"

    def demands_text(self) -> str:
        """Return the requirements in a few words."""
        words = [f"{self.incentives} incentives"]
        if self.participation != "none":
            words.append(f"{self.participation} participation")
        if self.budget != "none":
            words.append(f"budget {self.budget}")
        if not self.transfers:
            words.append("no transfers")
        if self.efficient:
            words.append("efficient outcomes")
        if self.payment_low is not None:
            words.append(f"payments >= {self.payment_low}")
        if self.payment_high is not None:
            words.append(f"payments <= {self.payment_high}")
        return ", ".join(words)

    def mechanism(self, solution: Solution[Any]) -> DirectRule:
        return DirectRule.of(self.environment, self.demands, self.rule_of(solution.variables))


def variables_of(rule: ExactRule) -> dict[str, Any]:
    """Return the variables of a rule: lotteries and payments as doubles, a row a profile, and the exact rule.

    Examples
    --------
    >>> rule = ExactRule(np.array([[1, 0]]), 1, np.array([[3]]), 2)
    >>> variables_of(rule)["payments"].tolist()
    [[1.5]]
    """
    lotteries = rule.lotteries.reshape(-1, rule.lotteries.shape[-1])
    payments = rule.payment_fractions().reshape(-1, rule.payments.shape[-1])
    return {
        "lotteries": (lotteries / rule.out_of).astype(np.float64),
        "payments": payments.astype(np.float64),
        "rule": rule,
    }


def figures(problem: DirectMechanism, solution: Solution[Any]) -> list[Figure]:
    """Return the outcomes by reported types; for two goods, which item of the menu each type takes."""
    rule = problem.rule_of(solution.variables)
    if problem.environment.stated.get("name") == "two-goods":
        return [_plane(problem.environment, rule)]
    lotteries = (rule.lotteries.reshape(problem.environment.profiles, -1) / rule.out_of).astype(np.float64)
    return [outcomes_figure(problem.environment, lotteries)]


def _plane(environment: Environment, rule: ExactRule) -> Figure:
    """Return the types of a buyer of two goods in the plane of their values, by what they get and pay."""
    kinds = [[float(Fraction(part)) for part in name.split()] for name in environment.types[0]]
    prices = rule.payment_fractions().reshape(-1).tolist()
    items: dict[str, list[list[float]]] = {}
    for pair, row, price in zip(kinds, rule.lottery_fractions().tolist(), prices, strict=True):
        items.setdefault(item_text(environment, row, price), []).append(pair)
    marks = [
        Points(x=[pair[0] for pair in pairs], y=[pair[1] for pair in pairs], label=text)
        for text, pairs in items.items()
    ]
    panel = Panel("value of the first good", "value of the second good", marks)
    return Figure("What each type takes, and its price", [panel])
