"""The optimal menu in closed form: theorem 4.3.5, and theorem 4.3.12 with ironed virtual costs.

The methods of ``privacy-contract``: the first one that applies is the default.

The closed form has a file of its own. The two convex programs (all rows, or the local ones) share scaling,
solving, exact pricing of the answer, and the proven bound. They are solved in units in which every variable
is of the order of 1: epsilon in units of ``level``, money in units of (mean type) x level, users as shares.
The bound is proven in the same units.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Method, Outcome
from mechdesign.families.contract.allocation import (
    Allocation,
    Costs,
    EpsilonLimits,
    LinearRows,
    Multipliers,
    all_rows,
    best_within_budget,
    for_error,
    ironed_costs,
    least_cost,
    least_error,
    own_costs,
    reduced_rows,
    weak_duality,
)
from mechdesign.families.contract.noise import CONE_FORMS, LAPLACE, NumberNoise
from mechdesign.families.contract.payments import Posted, Rules, post, post_enough, post_within_budget
from mechdesign.families.contract.population import Population
from mechdesign.families.contract.privacy_contract import PrivacyContract
from mechdesign.solvers.convex import REGULARIZATIONS, SeparableProgram, SeparableResult, solve_separable
from mechdesign.solvers.sensitivity import Binding
from mechdesign.solvers.statement import statement_method

Array = NDArray[np.float64]

BOUND_SOURCE = "Lagrangian dual with ironed virtual costs"


@dataclass(frozen=True, eq=False)
class SizedMenu:
    """The best menu when exactly the lowest ``size`` types buy, and the bound for that case."""

    size: int
    posted: Posted
    value: float
    bound: float


def rules_of(problem: PrivacyContract, people: Population, printed: bool = False) -> Rules:
    """Return the constraints on the payments of the problem."""
    limits = problem.limits
    return Rules(
        people.types, people.counts, people.cost, problem.information, limits.low, limits.high, printed
    )


def fixed_cost(problem: PrivacyContract, people: Population) -> float:
    """Return the participation costs in the budget: each user's own, or with private types the highest."""
    if problem.information == "complete":
        return math.fsum(people.counts * people.cost)
    return people.users * float(people.cost.max())


def unit_costs(problem: PrivacyContract, people: Population) -> Costs:
    """Return the costs that a unit of epsilon has for each type."""
    return own_costs(people) if problem.information == "complete" else ironed_costs(people)


def _candidate(problem: PrivacyContract, people: Population) -> SizedMenu | None:
    """Return the best menu for exactly these buyers, or None where there is none."""
    return (
        _cheapest(problem, people)
        if problem.budget is None
        else _most_accurate(problem, people, problem.budget)
    )


def _most_accurate(problem: PrivacyContract, people: Population, budget: float) -> SizedMenu | None:
    costs, noise, limits = unit_costs(problem, people), problem.noise_model, problem.limits
    left = budget - fixed_cost(problem, people)
    # A floor that costs just the budget is settled by the exact rounding, hence "less than", not "at most".
    if left <= 0 or left < limits.low * math.fsum(costs.weights * costs.prices) * (1 - 2.0**-40):
        return None
    allocation: Allocation = best_within_budget(costs, noise, left, limits)
    posted = post_within_budget(rules_of(problem, people), allocation.epsilon, budget)
    if posted is None:
        return None
    share = (problem.population.users / people.users) ** 2
    bound = share * least_error(costs, noise, left, limits, allocation.multiplier)
    return SizedMenu(len(people.types), posted, problem.error(padded(problem, posted.epsilon)), bound)


def _cheapest(problem: PrivacyContract, people: Population) -> SizedMenu | None:
    costs, noise, limits = unit_costs(problem, people), problem.noise_model, problem.limits
    allowed = problem.error_allowed() * (people.users / problem.population.users) ** 2
    if people.users * least_loss(problem) > allowed:
        return None
    allocation = for_error(costs, noise, allowed, limits)

    def enough(epsilon: Array) -> bool:
        return problem.error(padded(problem, epsilon)) <= problem.error_allowed()

    posted = post_enough(rules_of(problem, people), allocation.epsilon, enough)
    if posted is None:
        return None
    bound = fixed_cost(problem, people) + least_cost(costs, noise, allowed, limits, allocation.multiplier)
    return SizedMenu(len(people.types), posted, float(posted.total), bound)


def least_loss(problem: PrivacyContract) -> float:
    """Return the loss at the cap of epsilon; 0 where nothing caps it (Laplace's variance tends to 0)."""
    high = problem.limits.high
    return float(problem.noise_model.loss(np.array([high]))[0]) if high < math.inf else 0.0


def padded(problem: PrivacyContract, array: Array) -> Array:
    """Return an array over the buying types with zeros for the others."""
    return np.concatenate([array, np.zeros(len(problem.population.types) - len(array))])


def sizes(problem: PrivacyContract) -> range:
    """Return the possible numbers of types that buy; those are always the lowest types."""
    people = problem.population
    if problem.minimum_buyers is None:
        return range(len(people.types), len(people.types) + 1)
    fewest = int(np.searchsorted(people.cumulative, problem.minimum_buyers)) + 1
    return range(fewest, len(people.types) + 1)


def infeasible(problem: PrivacyContract) -> Outcome:
    """Return an infeasible outcome with the change that would help: the least budget, or the least error."""
    people = problem.population.first(sizes(problem)[0])
    if problem.budget is not None:
        floor = problem.limits.low
        if floor > 0:
            least = _float_up(post(rules_of(problem, people), np.full(len(people.types), floor)).total)
            text = (
                f"budget: {problem.budget:.17g} does not pay for epsilon >= {floor:g}; the "
                f"least budget that does is {least!r}"
            )
            return Outcome("infeasible", message=text, notes={"least_budget": least})
        least = fixed_cost(problem, people)
        text = (
            f"budget: {problem.budget:g} is used up by the participation costs; the budget "
            f"must exceed {least!r}"
        )
        return Outcome("infeasible", message=text, notes={"least_budget": least})
    users = [float(problem.population.counts[:size].sum()) for size in sizes(problem)]
    best = problem.alpha_factor * problem.population.users * math.sqrt(least_loss(problem) / max(users))
    own = problem.limits.high == problem.noise_model.highest
    whose = f"the most that noise '{problem.noise_model.name}' is sold at" if own else "the epsilon_max"
    text = (
        f"target_error: {problem.target_error:g} cannot be had with epsilon at most {problem.limits.high:g}"
        f", {whose}; the least error is {best:.10g}"
    )
    return Outcome("infeasible", message=text, notes={"least_error": best})


def _float_up(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)


def outcome_of(problem: PrivacyContract, posted: Posted, **rest: object) -> Outcome:
    """Return an outcome with the variables of a posted menu and the notes on the input."""
    notes = dict(rest.pop("notes", {}))  # type: ignore[call-overload]
    if problem.population.notes:
        notes["input"] = "; ".join(problem.population.notes)
    variables = {
        "epsilon": padded(problem, posted.epsilon),
        "payment": padded(problem, posted.payment),
        "types": problem.population.types,
    }
    return Outcome(variables=variables, notes=notes, **rest)  # type: ignore[arg-type]


def menu_in_closed_form(problem: PrivacyContract) -> Outcome:
    """Solve exactly: iron, allocate, price, round."""
    candidates = [_candidate(problem, problem.population.first(size)) for size in sizes(problem)]
    menus = [menu for menu in candidates if menu is not None]
    if not menus:
        return infeasible(problem)
    best = min(menus, key=lambda menu: menu.value)
    notes: dict[str, object] = {}
    if problem.information == "incomplete":
        prices = ironed_costs(problem.population.first(best.size)).prices
        notes["ironed_types"] = int(len(prices) - len(np.unique(prices)))
    solver = "closed form" if problem.noise_model is LAPLACE else "one-dimensional root of the budget"
    bound = min(menu.bound for menu in menus)
    proven = best.value - bound <= problem.optimal_within * best.value
    return outcome_of(
        problem,
        best.posted,
        status="optimal" if proven else "feasible",
        bound=bound,
        message="" if proven else "epsilons of such different sizes do not all fit on one exact grid",
        bound_source=BOUND_SOURCE if problem.information == "incomplete" else "Lagrangian dual",
        solver=solver,
        notes=notes,
    )


def why_not_closed_form(problem: PrivacyContract) -> str | None:
    """Participation costs must be the highest for the highest type."""
    cost = problem.population.cost
    if problem.information == "incomplete" and cost[-1] < cost.max():
        return "participation costs are not the highest for the highest type, so more than one IR row binds"
    return None


RowMaker = Callable[[Population, str, float | None], LinearRows]

MODERATE = (1e-35, 1e35)
"""Where the size of epsilon is looked for; the programs are for epsilons of any moderate size."""


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """The size of one unit of epsilon, of money and of error per user."""

    level: float
    money: float
    error: float


def units(problem: PrivacyContract) -> Units:
    """Return units in which the optimal menu is of the order of 1."""
    people, noise, limits = problem.population, problem.noise_model, problem.limits
    mean = float(people.counts @ people.types) / people.users
    if problem.budget is not None:
        left = problem.budget - math.fsum(people.counts * people.cost)
        level = max(left, 1e-3 * problem.budget) / (mean * people.users)
    else:
        level = _level_of(noise, problem.error_allowed() / people.users, limits.high)
    level = min(max(level, limits.low), limits.high)
    return Units(level, mean * level, float(noise.loss(np.array([level]))[0]))


def _level_of(noise: NumberNoise, loss: float, high: float) -> float:
    """Return an epsilon with about this loss."""
    grid = np.geomspace(MODERATE[0], min(high, MODERATE[1]), 800)
    return float(grid[np.argmax(noise.loss(grid) <= max(loss, float(noise.loss(grid[-1:])[0])))])


def in_units(noise: NumberNoise, unit: Units) -> NumberNoise:
    """Return the noise as a function of epsilon / level, with the loss in units of the loss at ``level``."""
    return dataclasses.replace(
        noise,
        variance=lambda x: noise.variance(unit.level * x) / unit.error,
        slope=lambda x: noise.slope(unit.level * x) * unit.level / unit.error,
        at_slope=lambda s: noise.at_slope(s * unit.error / unit.level) / unit.level,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Scaled:
    """The program in its units, and what is needed to get back."""

    unit: Units
    people: Population
    rows: LinearRows
    limits: EpsilonLimits
    budget: float | None
    allowed: float | None

    def program(self, problem: PrivacyContract) -> SeparableProgram:
        """Return the program for the solver."""
        function, per_loss = CONE_FORMS[problem.noise_model.name]
        size = len(self.people.types)
        # Laplace's 1/epsilon^2 has no scale of its own: it is the same function in units of any level.
        plain = problem.noise_model is LAPLACE
        return SeparableProgram(
            function=function,
            scale=1.0 if plain else self.unit.level,
            weights=self.people.counts if plain else self.people.counts / (per_loss * self.unit.error),
            linear=np.zeros(size) if self.allowed is None else self.people.counts,
            upper_rows=self.rows.upper,
            upper_limits=self.rows.upper_limits,
            equal_rows=self.rows.equal,
            equal_limits=self.rows.equal_limits,
            low=self.limits.low,
            high=self.limits.high,
            limit=self.allowed,
        )


def _scaled(problem: PrivacyContract, make_rows: RowMaker, value: Units | None = None) -> Scaled:
    """Return the problem in units in which everything is of the order of 1, or in given ones."""
    unit, people = value or units(problem), problem.population
    users = people.users
    own = Population(people.types * unit.level / unit.money, people.counts / users, people.cost / unit.money)
    budget = None if problem.budget is None else problem.budget / (unit.money * users)
    return Scaled(
        unit=unit,
        people=own,
        rows=make_rows(own, problem.information, budget),
        limits=EpsilonLimits(problem.limits.low / unit.level, problem.limits.high / unit.level),
        budget=budget,
        allowed=None if problem.target_error is None else problem.error_allowed() / (unit.error * users),
    )


def solve_rows(problem: PrivacyContract, make_rows: RowMaker) -> Outcome:
    """Solve the program with these rows, price its epsilons exactly, prove a bound from its multipliers.

    The solver's accuracy is judged by that bound; while it does not prove the menu optimal, the solver is
    asked
    again with another regularisation.
    """
    if not _affordable(problem):
        return infeasible(problem)
    task = _scaled(problem, make_rows)
    program = task.program(problem)
    best: Outcome | None = None
    least_gap = math.inf
    for regularization in REGULARIZATIONS:
        outcome = _judged(problem, task, make_rows, solve_separable(program, regularization))
        if outcome.status in ("optimal", "infeasible"):
            return outcome
        gap = outcome.notes.get("relative_gap", math.inf)
        if best is None or gap < least_gap:
            best, least_gap = outcome, gap
    assert best is not None
    return best


def _judged(problem: PrivacyContract, task: Scaled, make_rows: RowMaker, answer: SeparableResult) -> Outcome:
    """Turn a solver's answer into an outcome with a menu that keeps every promise and a proven bound."""
    if answer.status == "infeasible" and _several_rows_bind(problem):
        return infeasible(problem)
    if not len(answer.x):
        return Outcome("failed", solver=answer.solver, message=answer.message)
    unit, users = task.unit, problem.population.users
    posted = _priced(problem, answer.x * unit.level)
    if posted is None and problem.budget is None:
        return Outcome("failed", solver=answer.solver, message="the solver's epsilons miss the target_error")
    if posted is None:
        return infeasible(problem)
    spent = task.budget if task.budget is not None else float(posted.total) / (unit.money * users)
    multipliers = Multipliers(answer.upper_multipliers, answer.equal_multipliers, answer.price)
    private = problem.information == "incomplete"
    noise = in_units(problem.noise_model, unit)
    bound = weak_duality(
        task.people, task.rows, noise, task.limits, spent, multipliers, task.allowed, private
    )
    bound *= users * (unit.error if task.allowed is None else unit.money)
    value = problem.objective({"epsilon": posted.epsilon, "payment": posted.payment})
    proven = value - bound <= problem.optimal_within * value
    return outcome_of(
        problem,
        posted,
        status="optimal" if proven else "feasible",
        bound=bound,
        bound_source="weak duality over the rows",
        solver=answer.solver,
        message="" if proven else answer.message,
        notes={} if proven else {"relative_gap": (value - bound) / value},
        prices=MenuPrices(task, make_rows, answer),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class MenuPrices:
    """The epsilons and multipliers of a solved menu: prices of the budget, or of the target error."""

    task: Scaled
    make_rows: RowMaker
    answer: SeparableResult

    def lagrangian(self, problem: PrivacyContract) -> float | None:
        """Return the error, or the payments, with what the multipliers charge; None for other limits."""
        unit, answer = self.task.unit, self.answer
        other = _scaled(problem, self.make_rows, unit)
        rows, people = other.rows, other.people
        own = self.task.limits
        if (own.low, own.high) != (
            other.limits.low,
            other.limits.high,
        ) or rows.upper.shape != self.task.rows.upper.shape:
            return None
        size = len(people.types)  # payments cancel: their prices sum to 0
        error = float(people.counts @ in_units(problem.noise_model, unit).loss(answer.x))
        charged = answer.upper_multipliers @ (rows.upper[:, :size] @ answer.x - rows.upper_limits)
        charged += answer.equal_multipliers @ (rows.equal[:, :size] @ answer.x - rows.equal_limits)
        users = problem.population.users
        if other.allowed is None:
            return float(users * unit.error * (error + charged))
        return float(users * unit.money * (answer.price * (error - other.allowed) + charged))

    def binding(self) -> list[Binding]:
        """Return the price of the budget or of the target error, and of the rows of the types."""
        unit, answer = self.task.unit, self.answer
        if self.task.allowed is not None:
            return [Binding("error allowed", answer.price * unit.money / unit.error)]
        return [Binding("budget", float(answer.upper_multipliers[0]) * unit.error / unit.money)]


def _affordable(problem: PrivacyContract) -> bool:
    """Whether the budget covers participation and the floor of epsilon, or the cap allows the error."""
    people, limits = problem.population, problem.limits
    if problem.budget is None:
        return people.users * least_loss(problem) <= problem.error_allowed()
    if _several_rows_bind(problem):
        return True  # the solver decides
    weight = (
        people.counts * people.types
        if problem.information == "complete"
        else people.users * people.types[-1:]
    )
    floor = limits.low * math.fsum(weight) * (1 - 2.0**-40)
    return (
        problem.budget > fixed_cost(problem, people) and problem.budget >= fixed_cost(problem, people) + floor
    )


def _several_rows_bind(problem: PrivacyContract) -> bool:
    """Whether more than the highest type's IR row may bind, so that no formula says what is affordable."""
    cost = problem.population.cost
    return problem.information == "incomplete" and bool(cost[-1] < cost.max())


def _priced(problem: PrivacyContract, epsilon: Array) -> Posted | None:
    """Make epsilon monotone, which a solver's answer is only nearly, and pay for it exactly."""
    people = problem.population
    ordered = np.minimum.accumulate(epsilon)
    rules = rules_of(problem, people)
    if problem.budget is None:
        return post_enough(rules, ordered, lambda levels: problem.error(levels) <= problem.error_allowed())
    # What the solver left over is spent by scaling all of epsilon; it shrinks again where that is too much.
    posted = post_within_budget(rules, ordered * (1.0 + 1e-6), problem.budget)
    return posted if posted is not None else post_within_budget(rules, ordered, problem.budget)


def from_statement(problem: PrivacyContract, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a menu with about the statement's epsilons, which keeps budget and incentives exactly.

    Raises
    ------
    MethodError
        Where no such menu keeps the limits.
    """
    posted = _priced(problem, np.asarray(values["epsilon"], dtype=np.float64))
    if posted is None:
        raise MethodError(problem.name, "the solver's epsilons miss the limits", "use closed-form")
    return dict(outcome_of(problem, posted, status="feasible").variables)


def why_not_convex(problem: PrivacyContract) -> str | None:
    """Only for noises with a cone form, and when all users are to buy."""
    if problem.noise_model.name not in CONE_FORMS:
        return (
            f"the variance of noise '{problem.noise_model.name}' has no cone form; the closed form takes it"
        )
    if problem.minimum_buyers is not None:
        return "which types are left out is a choice that the closed form makes by trying all"
    return None


MOST_TYPES = 5000
MOST_TYPES_IN_FULL = 120
"""k (k - 1) rows: 14 280 for 120 types."""


def reduced_program(problem: PrivacyContract) -> Outcome:
    """Solve with one IR row, k - 1 local IC rows and a monotone epsilon (lemmas 4.3.8-4.3.10)."""
    return solve_rows(problem, reduced_rows)


def why_not_reduced(problem: PrivacyContract) -> str | None:
    """Return why the reduced program does not apply, or None."""
    size = len(problem.population.types)
    too_many = f"{size} types are more than {MOST_TYPES}; use closed-form" if size > MOST_TYPES else None
    return why_not_convex(problem) or too_many


def full_program(problem: PrivacyContract) -> Outcome:
    """Solve exactly as stated in problems 4.3.2 and 4.3.7: every IR and every IC row."""
    return solve_rows(problem, all_rows)


def why_not_full(problem: PrivacyContract) -> str | None:
    """Return why the full program does not apply, or None."""
    size = len(problem.population.types)
    fits = size <= MOST_TYPES_IN_FULL or problem.information == "complete"
    too_many = f"{size} types make {size * (size - 1)} rows; use reduced-program or closed-form"
    return why_not_convex(problem) or (None if fits else too_many)


METHODS = (
    Method("closed-form", PrivacyContract, "analytic",
           "ironed virtual costs (theorems 4.3.5 and 4.3.12, corrected), exact payments",
           menu_in_closed_form, why_not_closed_form),
    Method("reduced-program", PrivacyContract, "numeric", "conic program with the local rows only",
           reduced_program, why_not_reduced),
    Method("full-program", PrivacyContract, "numeric", "conic program with all IC and IR rows, as stated",
           full_program, why_not_full),
    statement_method(PrivacyContract),
)  # fmt: skip
