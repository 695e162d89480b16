"""The problem ``auction-slot``: whom to buy data from in one slot, and what to pay.

With it: its figure, and the remark about the rule that decides every slot, which limits how large a slot may
be.

The methods of ``auction-slot``: the first one that applies is the default, and the rule that is built.

Each is truthful as a rule of its own: which one decides a season is fixed when the auction is built, not by
the bids of its slots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, MethodError, ParameterError, counted
from mechdesign.core.fields import Generators, Kept, amount, checked, choice, frozen_problem, real, related
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array
from mechdesign.core.values import Matrix, Remark, Vector, changed
from mechdesign.exact.numbers import rational, text_of
from mechdesign.exact.randomness import float_down
from mechdesign.families.auction import greedy, vcg
from mechdesign.families.auction.greedy import fitted_bound
from mechdesign.families.auction.online import OnlineAuction
from mechdesign.families.auction.rules import (
    Decided,
    all_rules,
    amounts,
    coverage,
    individual_rationality,
    misreports,
    truthfulness,
)
from mechdesign.families.auction.season import OWED
from mechdesign.families.auction.slot_rules import (
    BID_GENERATORS,
    MOST_MONEY,
    REQUIREMENT_GENERATORS,
    TASK_GENERATORS,
    UNIT,
    Slot,
    able_of,
    bid_prices,
    checked_bids,
    checked_positive,
    checked_requirements,
    checked_tasks,
    require_one_each,
    slot_of,
    units_above,
)
from mechdesign.families.auction.vcg import MOST_ENTRIES, MOST_PROVEN, MOST_STATES
from mechdesign.show.figure import Bars, Figure, Panel
from mechdesign.solvers.statement import statement_method

if TYPE_CHECKING:
    import cvxpy


def checked_backlog(value: Any, users: int) -> NDArray[np.float64]:
    """Return virtual queues >= 0, one for each user."""
    backlog = finite_array("backlog", value, 1)
    if len(backlog) != users:
        raise ParameterError(
            "backlog", f"has {counted(len(backlog), 'entry')} for {users} users", "give one each"
        )
    if (backlog < 0).any():
        user = int(np.argmax(backlog < 0))
        raise ParameterError(
            "backlog", f"that of user {user} is negative ({backlog[user]:g})", "queues are >= 0"
        )
    if (backlog > 1e9).any():
        raise ParameterError("backlog", "an entry is above 1e9", "no queue becomes that long")
    return backlog


def _tasks(problem: AuctionSlot, field: str, value: Any) -> tuple[tuple[int, ...], ...]:
    return checked_tasks(value, len(problem.bids), len(problem.requirements))


def _task_names(problem: AuctionSlot, field: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ParameterError(field, f"expected a list of names, got {text_of(names)}")
    require_one_each(field, names, len(problem.requirements))
    return tuple(names)


@frozen_problem(eq=False)
class AuctionSlot(Problem[OnlineAuction]):
    """Winners and payments of one slot of a reverse auction.

    ::

        minimize    sum_i (tradeoff c_i - backlog_i) x_i,   c_i = sensing_i + privacy_i epsilon
        subject to  sum_i y_ij x_i >= requirement_j  for all tasks j,   x_i in {0, 1}

    and payments such that nobody gains by another bid or by hiding tasks, and no winner loses.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: problem LPRC-OTPM of LEPA (Zhang 2019, section 5.4.1), with costs in place of payments.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.AuctionSlot(
    ...     bids=[[1, 0.5], [1, 1], [0.5, 1]], epsilon=1, tasks=[[0, 1], [0], [1]], requirements=[1, 1])
    >>> solution = md.solve(problem)
    >>> solution.value, solution.variables["winners"], solution.variables["payments"]
    (1.5, array([0]), array([3.]))
    """

    name: ClassVar[str] = "auction-slot"
    example: ClassVar[Mapping[str, Any]] = {
        "bids": [[1.0, 0.5], [2.0, 0.5], [1.5, 1.0]],
        "epsilon": 1.0,
        "tasks": [[0], [0], [0]],
        "requirements": [1],
    }
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "cost minus backlogs"
    summary: ClassVar[str] = "winners and truthful payments of one slot of a reverse auction for data"
    compared_with: ClassVar[str] = "all sets of winners that meet the requirements, at the bids given"
    optimal_within: ClassVar[float] = 1e-9
    """A set of winners is certified optimal when its proven gap is below this part of the weights of the
    winners that phase 2 has to choose; those of phase 1 are in some best set."""
    generators: ClassVar[Generators] = {
        "bids": BID_GENERATORS,
        "tasks": TASK_GENERATORS,
        "requirements": REQUIREMENT_GENERATORS,
    }

    bids: Kept[NDArray[np.float64], Matrix] = checked(
        "Rows (sensing, privacy), >= 0: what taking part costs, and what a unit of epsilon costs. A "
        "cost counts as the next multiple of 2^-30.",
        lambda _, bids: checked_bids(bids),
        form="(n, 2) array",
    )
    epsilon: float = amount("The announced privacy level of every report.", checked_positive)
    requirements: Kept[NDArray[np.int64], Sequence[int] | NDArray[np.int64]] = checked(
        "Number of winners that each task needs.",
        lambda _, numbers: checked_requirements(numbers),
        form="(k,) whole numbers >= 0",
    )
    tasks: Kept[tuple[tuple[int, ...], ...], Sequence[Sequence[int]]] = related(
        "What each user can do, from 0; one task at least.", _tasks, form="n lists of task numbers"
    )
    backlog: Kept[NDArray[np.float64] | None, Vector | None] = related(
        "The virtual queues; zeros by default.",
        lambda problem, _, backlog: checked_backlog(backlog, len(problem.bids)),
        form="(n,) array >= 0",
        default=None,
    )
    tradeoff: float = amount("gamma: the weight of money against backlogs.", checked_positive, default=1.0)
    reserve: float | None = real(
        "Largest payment. A user who asks more is not admitted; an essential user is paid it.",
        low=0.0,
        high=float(MOST_MONEY),
        low_open=True,
        form="number > 0",
        default=None,
    )
    participation: float = real(
        "D: what the mechanism that is built promises over many slots; it does not matter in one slot.",
        low=0.0,
        high=1.0,
        high_open=True,
        form="number in [0, 1)",
        default=0.0,
    )
    task_names: Kept[tuple[str, ...] | None, Sequence[str] | None] = related(
        "For the mechanism; by default the numbers.", _task_names, form="list of str", default=None
    )
    owed: Literal["reserve", "highest", "median"] = choice(
        "For the mechanism: up to which price a backlog counts over many slots; the reserve price, or "
        "the highest or the median price that the others asked in the slot before.",
        OWED,
        default="reserve",
    )

    def __attrs_post_init__(self) -> None:
        _ = self.slot  # a cost beyond what can be paid is refused here

    # Data

    @cached_property
    def slot(self) -> Slot:
        """The slot in integers."""
        backlog = [0.0] * len(self.bids) if self.backlog is None else self.backlog.tolist()
        return slot_of(
            bid_prices(self.bids, rational("epsilon", self.epsilon)),
            able_of(self.tasks, len(self.requirements)),
            self.requirements,
            self.tradeoff,
            [Fraction(amount) for amount in backlog],
            self.reserve,
        )

    def tolerance(self, winners: Sequence[int]) -> float:
        """Return the gap below which these winners are the best as far as double precision tells."""
        weights = [float(Fraction(self.slot.weights[user], self.slot.scale)) for user in winners]
        chosen = math.fsum(weight for weight in weights if weight > 0)
        return self.optimal_within * chosen + 8.0 * float(np.spacing(math.fsum(map(abs, weights))))

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        winners = cp.Variable(len(self.bids), name="winners", boolean=True)
        weights = np.array([weight / self.slot.scale for weight in self.slot.weights])
        rows = [
            (self.slot.able.T.astype(float) @ winners >= self.requirements).set_label("coverage"),
            (winners <= self.slot.admitted.astype(float)).set_label("reserve"),
        ]
        if self.reserve is None:  # who is essential could ask any price, and nobody pays that
            rows.append((winners <= 1.0 - self.slot.essential.astype(float)).set_label("bounded payments"))
        return cp.Problem(cp.Minimize(weights @ winners), rows)

    def statement_size(self) -> int:
        return len(self.bids)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        """Return the winners, each paid what it asks: the program does not decide truthful payments."""
        winners = np.flatnonzero(np.asarray(values["winners"]) > 0.5)
        prices = [float(self.slot.prices[user] * UNIT) for user in winners.tolist()]
        return {"winners": winners, "payments": np.array(prices)}

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        return float(self.slot.value(np.asarray(variables["winners"]).tolist()))

    def residuals(self, variables: Variables) -> dict[str, float]:
        winners = np.asarray(variables["winners"], dtype=np.int64)
        missing = np.maximum(self.requirements - self.slot.able[winners].sum(axis=0), 0)
        payments = np.asarray(variables["payments"]).tolist()
        losses = [
            float(self.slot.prices[user] * UNIT - Fraction(paid))
            for user, paid in zip(winners.tolist(), payments, strict=True)
        ]
        return {"coverage": float(missing.sum()), "individual_rationality": max(0.0, *losses, 0.0)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        winners = np.asarray(solution.variables["winners"]).tolist()
        paid = [Fraction(0)] * len(self.bids)
        for user, payment in zip(winners, np.asarray(solution.variables["payments"]).tolist(), strict=True):
            paid[user] = Fraction(payment)
        costs = [price * UNIT for price in self.slot.prices]
        certificates = [
            coverage(self.slot.able, self.requirements, winners),
            individual_rationality(costs, paid, winners),
        ]
        if solution.realisation in all_rules():
            rule = all_rules()[solution.realisation]
            search = misreports(rule, self.slot, {user: paid[user] / UNIT for user in winners})
            certificates.append(truthfulness(search, rule.argument, UNIT, rule.aside))
        return (
            *certificates,
            self.optimality(
                solution, scale=0.0, slack=self.tolerance(winners), unproven={"value": solution.value}
            ),
        )

    def mechanism(self, solution: Solution[Any]) -> OnlineAuction:
        if solution.realisation is None:
            what = f"method '{solution.method}' pays winners what they ask, which no rule of an auction does"
            raise MethodError(self.name, what, "build with method 'exact', 'milp' or 'greedy'")
        names = self.task_names or tuple(str(task) for task in range(len(self.requirements)))
        auction = OnlineAuction(
            names,
            self.requirements.tolist(),
            self.epsilon,
            self.participation,
            self.tradeoff,
            self.reserve,
            rule=str(solution.realisation),
            owed=self.owed,
        )
        for certificate in auction.certificates():
            if not certificate.holds:
                raise CertificateError("online auction", certificate)
        return auction


def outcome(
    problem: AuctionSlot, award: Decided, rule: str, solver: str, bound: tuple[float, str] | None = None
) -> Outcome:
    """Return the outcome of a rule's award: ``optimal`` only where a proven bound is met.

    Parameters
    ----------
    problem : AuctionSlot
    award : Award
        Payments that are not a whole number of units are rounded up.
    rule : str
        The name of the rule, which the audit asks.
    solver : str
    bound : (number, text), optional
        A proven lower bound, and how it is proven.
    """
    pairs = sorted(zip(award.winners, amounts(award), strict=True))
    winners = np.array([user for user, _ in pairs], dtype=np.int64)
    payments = np.array([float(units_above(payment * UNIT) * UNIT) for _, payment in pairs])
    value = float(problem.slot.value(winners.tolist()))
    lowest, source = (None, "") if bound is None else bound
    met = lowest is not None and value - lowest <= problem.tolerance(winners.tolist())
    return Outcome(
        status="optimal" if met else "feasible",
        variables={"winners": winners, "payments": payments},
        bound=lowest,
        bound_source=source,
        solver=solver,
        realisation=rule,
    )


def obstacle(problem: AuctionSlot) -> Outcome | None:
    """Return the infeasible outcome where the slot cannot be decided, naming the task and what is missing."""
    names = problem.task_names
    text = problem.slot.obstacle(names)
    return Outcome("infeasible", message=text, solver="counting") if text else None


def outlook(
    problem: AuctionSlot, solution: Solution[OnlineAuction], users: int | None = None
) -> Remark | None:
    """Return the rule that is deployed, with its limit; None for one that is kept to be refuted."""
    rule = str(solution.realisation)
    needs = problem.requirements[problem.requirements > 0].tolist()
    if rule == "exact":
        most = MOST_STATES // math.prod(need + 1 for need in needs)
        limit = f"slots with these requirements and more than {counted(most, 'user')} are refused"
    elif rule == "milp":
        most = MOST_ENTRIES // max(1, len(needs))
        limit = f"slots with more than {most} users, or not proven in {MOST_PROVEN} steps, are refused"
    elif rule == "greedy":
        text = "each slot by rule 'greedy': truthful, for slots of any size, not always the best winners"
        return Remark(text, {"rule": rule, "best_winners": False, "most_users": None})
    else:
        return None
    text = f"each slot by rule '{rule}': truthful, the best winners; {limit} (--method greedy takes any size)"
    return Remark(text, {"rule": rule, "best_winners": True, "most_users": most})


MOST_WINNERS = 40


def figures(problem: AuctionSlot, solution: Solution[Any]) -> list[Figure]:
    """Return cost and payment of each winner; nothing of many or of none."""
    winners = np.asarray(solution.variables["winners"], dtype=np.int64)
    if not 0 < len(winners) <= MOST_WINNERS:
        return []
    bids = problem.bids[winners]
    places = np.arange(len(winners))
    marks = [
        Bars(x=places, y=bids[:, 0] + problem.epsilon * bids[:, 1], label="cost by its bid"),
        Bars(x=places, y=solution.variables["payments"], label="payment"),
    ]
    panel = Panel("winner", "money", marks, x_names=[str(user) for user in winners.tolist()])
    caption = "A payment is what the winner could at most have asked for and still have won."
    title = f"Costs and payments of the {counted(len(winners), 'winner')} among {len(problem.bids)} users"
    return [Figure(title, [panel], caption)]


MOST_VCG_ENTRIES = 20_000
"""With more users times tasks, the bound comes from the greedy prices and not from a linear program."""


def two_phases(problem: AuctionSlot) -> Outcome:
    """Decide by the greedy rule, and bound what any winners would cost.

    The rule is truthful, fast, and within a logarithmic factor of the best.
    """
    if (refused := obstacle(problem)) is not None:
        return refused
    award = greedy.award(problem.slot)
    bound = (fitted_bound(problem.slot), "the greedy prices by weak duality")
    if problem.slot.able.size <= MOST_VCG_ENTRIES:
        bound = max(bound, (vcg.objective_lower_bound(problem.slot, award.winners), "the linear relaxation"))
    return outcome(problem, award, "greedy", "two-phase greedy", bound)


def why_not_two_phases(problem: AuctionSlot) -> str | None:
    """Return why the slot is too large for the greedy rule, or None."""
    return None if problem.slot.obstacle() else greedy.too_much_work(problem.slot) or None


def milp(problem: AuctionSlot) -> Outcome:
    """Solve the slot with and without each winner; what pulp proposes is proven in integers."""
    if (refused := obstacle(problem)) is not None:
        return refused
    try:
        award = vcg.award(problem.slot)
    except MethodError as error:
        return Outcome("failed", solver="pulp, proven", message=str(error))
    source = "whole multipliers of the linear relaxation and dynamic programming"
    bound = (float_down(problem.slot.value(award.winners)), source)
    solved = outcome(problem, award, "milp", "pulp, proven", bound)
    return changed(solved, notes={"integer_programs": 1 + len(award.winners)})


def exact(problem: AuctionSlot) -> Outcome:
    """Find the best winners in integers by what is still needed, and their payments."""
    if (refused := obstacle(problem)) is not None:
        return refused
    award = vcg.award_exactly(problem.slot)
    bound = (float_down(problem.slot.value(award.winners)), "dynamic programming, exact")
    return outcome(problem, award, "exact", "dynamic programming", bound)


METHODS = (
    Method("exact", AuctionSlot, "analytic",
           "dynamic programming with Vickrey-Clarke-Groves payments, for small slots",
           exact, lambda problem: vcg.too_many_states(problem.slot) or None),
    Method("milp", AuctionSlot, "numeric", "integer program with Vickrey-Clarke-Groves payments",
           milp, lambda problem: vcg.too_many_entries(problem.slot) or None),
    Method("greedy", AuctionSlot, "heuristic",
           "two-phase greedy with critical payments: truthful in bids and tasks",
           two_phases, why_not_two_phases),
    statement_method(AuctionSlot, most=300),
)  # fmt: skip
