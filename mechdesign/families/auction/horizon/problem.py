"""The problem ``auction-horizon``: whom to buy from in every slot, had one known them all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.fields import POSITIVE, checked, choice, frozen_problem, real, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.auction import OnlineAuction
from mechdesign.families.auction.horizon.instance import Instance, draw_instance
from mechdesign.families.auction.slot_rules import checked_positive

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
    epsilon: float = checked(
        "The announced privacy level; a user costs sensing + privacy * epsilon.",
        checked_positive,
        limits=POSITIVE,
        form="number > 0",
    )
    participation: float = real("D.", low=0.0, high=1.0, high_open=True, form="number in [0, 1)", default=0.2)
    tradeoff: float = checked(
        "gamma of the online rule; the offline optimum does not depend on it.",
        checked_positive,
        limits=POSITIVE,
        form="number > 0",
        default=1.0,
    )
    generator: Literal["fixed", "redrawn"] = choice(
        "Whether a user keeps its costs and tasks, or draws them again in each slot.",
        GENERATORS,
        default="fixed",
    )
    seed: int = whole("Of the drawn users and requirements.", low=0, default=0)
    value_range: float = checked(
        "zeta: the length of the interval the data lie in.",
        checked_positive,
        limits=POSITIVE,
        form="number > 0",
        default=1.0,
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

    @property
    def wins(self) -> int:
        """Number of slots that every user has to win: the share of all slots, rounded up."""
        count = math.ceil(self.participation * self.slots)
        return count - 1 if count and (count - 1) / self.slots >= self.participation else count

    @property
    def reserve(self) -> float:
        """The largest cost that a user can have."""
        return 2.0 + 2.0 * self.epsilon

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the cost of all who are selected, over all slots."""
        chosen = np.asarray(variables["selected"]) > 0
        return math.fsum(self.instance.costs[chosen].tolist())

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the numbers of missing selections, for tasks and for users' shares."""
        chosen = (np.asarray(variables["selected"]) > 0).astype(np.int64)
        has = np.einsum("tn,tnk->tk", chosen, self.instance.able.astype(np.int64))
        missing = np.maximum(self.instance.needs - has, 0)
        short = np.maximum(self.wins - chosen.sum(axis=0), 0)
        return {"coverage": float(missing.sum()), "participation": float(short.sum())}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return coverage and participation, counted, and optimality of the cost."""
        missing = self.residuals(solution.variables)
        found = [
            Certificate(name, amount == 0, True, {"missing": int(amount)}) for name, amount in missing.items()
        ]
        return (*found, self.optimality(solution, unproven={"value": solution.value}))

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
