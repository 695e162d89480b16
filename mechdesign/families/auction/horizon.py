"""The problem ``auction-horizon``: whom to buy from in every slot, had one known them all.

An instance holds all slots of a horizon, drawn from a seed as in table 5.2 of the source. It is played slot
after slot by one of the policies, without knowledge of what comes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.fields import amount, choice, frozen_problem, real, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.exact.numbers import rational
from mechdesign.families.auction import greedy
from mechdesign.families.auction.online import OnlineAuction
from mechdesign.families.auction.slot_rules import (
    UNIT,
    Slot,
    accuracies,
    bid_prices,
    checked_positive,
    needed,
    slot_in_parts,
)
from mechdesign.work.bars import progress

if TYPE_CHECKING:
    import cvxpy

ENDLESS = 1 << 62
"""More users than any auction has."""

ALPHA, DELTA, COSTS = (1.0, 2.0), (0.1, 0.2), (1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Instance:
    """Bids, tasks and users of each slot.

    Attributes
    ----------
    bids : (slots, users, 2) array
        Sensing and privacy cost.
    costs : (slots, users) array
        sensing + privacy * epsilon.
    able : (slots, users, tasks) array of bool
    requests : (slots, tasks) int array
        What the accuracy of each task takes.
    needs : (slots, tasks) int array
        The same, but never more than the able users.
    goals : (slots, tasks, 2) array
        alpha and delta of each task.
    """

    bids: NDArray[np.float64]
    costs: NDArray[np.float64]
    able: NDArray[np.bool_]
    requests: NDArray[np.int64]
    needs: NDArray[np.int64]
    goals: NDArray[np.float64]


def draw_instance(
    users: int, tasks: int, slots: int, epsilon: float, value_range: float, seed: int, redrawn: bool
) -> Instance:
    """Draw all slots; what a user has does not depend on how many slots or further users there are."""
    able = np.zeros((slots, users, tasks), dtype=np.bool_)
    bids = np.zeros((slots, users, 2))
    for user in range(users):
        rng = np.random.default_rng([seed, 1, user])
        for slot in range(slots if redrawn else 1):
            bids[slot, user] = rng.uniform(*COSTS, 2)
            size = int(rng.integers((tasks + 1) // 2, tasks + 1))
            able[slot, user, rng.permutation(tasks)[:size]] = True
    if not redrawn:
        bids[:], able[:] = bids[0], able[0]
    rng = np.random.default_rng([seed, 2])
    goals = np.array([accuracies(tasks, ALPHA, DELTA, rng) for _ in range(slots)])
    rows = [
        [min(needed(epsilon, alpha, delta, value_range), ENDLESS) for alpha, delta in slot]
        for slot in goals.tolist()
    ]
    requests = np.array(rows, dtype=np.int64)
    needs = np.minimum(requests, able.sum(axis=1))
    costs = bids[:, :, 0] + bids[:, :, 1] * epsilon
    return Instance(bids, costs, able, requests, needs, goals)


GENERATORS = ("fixed", "redrawn")


@frozen_problem()
class AuctionHorizon(Problem[OnlineAuction]):
    """The cheapest selection over all slots in which every user wins a share of them.

    ::

        minimize    sum_t sum_i c_i(t) x_i(t)
        subject to  sum_i y_ij(t) x_i(t) >= r_j(t)           for all tasks j and slots t
                    (1 / slots) sum_t x_i(t) >= participation   for all users i,   x in {0, 1}

    Users, costs and requirements are drawn as in table 5.2 of the source: sensing and privacy cost uniform
    in [1, 2], from half of the tasks up to all of them, and a task needs 2 range^2 / (epsilon^2 alpha^2
    delta) users, rounded up, with alpha uniform in [1, 2] and delta in [0.1, 0.2], drawn again in each slot.
    What more than the able users would be needed for is lowered to their number.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: problem LPRC-LTPM of LEPA (Zhang 2019, section 5.3.2), with costs in place of payments.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.AuctionHorizon(users=6, tasks=2, slots=5, epsilon=1, value_range=0.3)
    >>> solution = md.solve(problem)
    >>> solution.variables["selected"].shape, bool(solution.variables["selected"].any(axis=0).all())
    ((5, 6), True)
    """

    name: ClassVar[str] = "auction-horizon"
    example: ClassVar[Mapping[str, Any]] = {"users": 12, "tasks": 3, "slots": 40, "epsilon": 1.0}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "total cost"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "the cheapest selection over many slots in which every user takes part"
    compared_with: ClassVar[str] = "all selections over the given slots, which are known in advance"
    optimal_within: ClassVar[float] = 1e-9
    """A selection is certified optimal when its proven gap is below this part of its cost."""

    users: int = whole("Number of users of each.", low=2, high=10_000)
    tasks: int = whole("Number of users of each.", low=1, high=1000)
    slots: int = whole("Number of users of each.", low=1, high=10_000)
    epsilon: float = amount(
        "The announced privacy level; a user costs sensing + privacy * epsilon.", checked_positive
    )
    participation: float = real("D.", low=0.0, high=1.0, high_open=True, form="number in [0, 1)", default=0.2)
    tradeoff: float = amount(
        "gamma of the online rule; the offline optimum does not depend on it.", checked_positive, default=1.0
    )
    generator: Literal["fixed", "redrawn"] = choice(
        "Whether a user keeps its costs and tasks, or draws them again in each slot.",
        GENERATORS,
        default="fixed",
    )
    seed: int = whole("Of the drawn users and requirements.", low=0, default=0)
    value_range: float = amount(
        "zeta: the length of the interval the data lie in.", checked_positive, default=1.0
    )

    # Data

    @cached_property
    def instance(self) -> Instance:
        """Costs, abilities and requirements of all slots."""
        return draw_instance(
            self.users,
            self.tasks,
            self.slots,
            self.epsilon,
            self.value_range,
            self.seed,
            redrawn=self.generator == "redrawn",
        )

    @cached_property
    def by_deadline(self) -> Played:
        """The online policy in which everybody gets its share by the last slot, without payments."""
        return play(self, "deadline", paying=False)

    @property
    def wins(self) -> int:
        """Number of slots that every user has to win: the share of all slots, rounded up."""
        count = math.ceil(self.participation * self.slots)
        return count - 1 if count and (count - 1) / self.slots >= self.participation else count

    @property
    def reserve(self) -> float:
        """The largest cost that a user can have."""
        return 2.0 + 2.0 * self.epsilon

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        selected = cp.Variable((self.slots, self.users), name="selected", boolean=True)
        instance = self.instance
        rows = [
            (able.T.astype(float) @ selected[slot] >= needs).set_label(f"coverage in slot {slot}")
            for slot, (able, needs) in enumerate(zip(instance.able, instance.needs, strict=True))
        ]
        rows.append((cp.sum(selected, axis=0) >= self.wins).set_label("participation"))
        return cp.Problem(cp.Minimize(cp.sum(cp.multiply(instance.costs, selected))), rows)

    def statement_size(self) -> int:
        return self.slots * self.users

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        return {"selected": np.asarray(values["selected"]) > 0.5}

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        chosen = np.asarray(variables["selected"]) > 0
        return math.fsum(self.instance.costs[chosen].tolist())

    def residuals(self, variables: Variables) -> dict[str, float]:
        chosen = (np.asarray(variables["selected"]) > 0).astype(np.int64)
        has = np.einsum("tn,tnk->tk", chosen, self.instance.able.astype(np.int64))
        missing = np.maximum(self.instance.needs - has, 0)
        short = np.maximum(self.wins - chosen.sum(axis=0), 0)
        return {"coverage": float(missing.sum()), "participation": float(short.sum())}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        missing = self.residuals(solution.variables)
        certificates = [
            Certificate(name, amount == 0, True, {"missing": int(amount)}) for name, amount in missing.items()
        ]
        return (*certificates, self.optimality(solution, unproven={"value": solution.value}))

    def mechanism(self, solution: Solution[Any]) -> OnlineAuction:
        """Return the auction that decides such slots one after the other; it needs what the first one did."""
        return OnlineAuction(
            [str(task) for task in range(self.tasks)],
            self.instance.needs[0].tolist(),
            self.epsilon,
            self.participation,
            self.tradeoff,
            self.reserve,
        )


Wholes = NDArray[np.int64]

QUEUED = ("online", "deadline")
"""The policies that look at backlogs."""


@dataclass(frozen=True, eq=False)
class Played:
    """Result of playing all slots.

    Attributes
    ----------
    selected : (slots, users) array of bool
    costs, payments : (slots,) array
        Of the winners of each slot.
    left : (slots,) int array
        How many users are there after each slot.
    largest_backlog : (slots,) array
        After each slot.
    missing : int
        Winners that tasks lacked because users had left.
    """

    selected: NDArray[np.bool_]
    costs: NDArray[np.float64]
    payments: NDArray[np.float64]
    left: Wholes
    largest_backlog: NDArray[np.float64]
    missing: int


def play(
    problem: AuctionHorizon,
    policy: str,
    patience: int | None = None,
    paying: bool = True,
) -> Played:
    """Decide one slot after the other by the two-phase greedy rule.

    Parameters
    ----------
    problem : AuctionHorizon
    policy : {"online", "static", "forced", "deadline"}
        ``deadline`` is the online one, but who can no longer afford to lose a slot wins whatever it asks.
    patience : int, optional
        A user leaves after losing this many slots in a row.
    paying : bool
        Whether payments are computed.
    """
    instance, share = problem.instance, rational("participation", problem.participation)
    epsilon = rational("epsilon", problem.epsilon)
    slots, users = instance.costs.shape
    selected = np.zeros((slots, users), dtype=np.bool_)
    costs, payments, longest = np.zeros(slots), np.zeros(slots), np.zeros(slots)
    left, idle = np.zeros(slots, dtype=np.int64), np.zeros(users, dtype=np.int64)
    backlog = [0] * users  # in parts of a slot
    part, parts = share.numerator, share.denominator
    here = np.arange(users)
    missing = 0
    wait = math.ceil(1 / share) - 1 if share else slots
    for number in progress(range(slots), slots, policy):
        must = set(np.flatnonzero(idle >= wait).tolist()) if policy == "forced" else set()
        if policy == "deadline":
            must = set(np.flatnonzero(problem.wins - selected.sum(axis=0) >= slots - number).tolist())
        able = instance.able[number, here]
        needs = np.minimum(instance.needs[number], able.sum(axis=0))
        missing += int((instance.needs[number] - needs).sum())
        if number == 0 or problem.generator == "redrawn":
            prices = bid_prices(instance.bids[number], epsilon)
        slot = slot_in_parts(
            [prices[user] for user in here.tolist()],
            able,
            needs,
            problem.tradeoff,
            [backlog[user] for user in here.tolist()] if policy in QUEUED else [0] * len(here),
            parts,
            problem.reserve,
            frozenset(place for place, user in enumerate(here.tolist()) if user in must),
        )
        winners = _winners(slot, paying)
        chosen = here[list(winners.winners)]
        selected[number, chosen] = True
        costs[number] = float(slot.cost(winners.winners))
        payments[number] = float(sum(winners.payments) * UNIT) if paying else math.nan
        won = set(chosen.tolist())
        for user in here.tolist():
            backlog[user] = (max(backlog[user] - parts, 0) if user in won else backlog[user]) + part
        idle[here] += 1
        idle[chosen] = 0
        if patience is not None:
            here = here[idle[here] < patience]
        left[number] = len(here)
        longest[number] = max((backlog[user] for user in here.tolist()), default=0) / parts
    return Played(selected, costs, payments, left, longest, missing)


def _winners(slot: Slot, paying: bool) -> greedy.Award:
    return greedy.award(slot) if paying else greedy.Award(greedy.winners(slot), ())
