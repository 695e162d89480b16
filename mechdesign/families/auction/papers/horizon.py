"""What the source says of ``auction-horizon``: the online rule and two baselines on the same slots.

The quantities set their payments, costs, shares and backlogs next to what can be proven; the figures show
payments, users who stay and backlogs over time (figures 5.2 and 5.3); the simulation buys real data slot
after slot and measures who is paid what under each policy, and how accurate the averages are.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.fields import replace_parameters
from mechdesign.core.solution import Quantities, Solution
from mechdesign.families.auction.horizon import AuctionHorizon, Played, play
from mechdesign.families.contract.noise import noise_of
from mechdesign.show.figure import Figure, Line, Panel, Reference

PATIENCE = 20
"""Slots that a user loses in a row before it leaves, as for figure 5.2."""


class Seasons:
    """The policies on the slots of one problem, each played once, when its numbers are read.

    Payments take most of the time: they are computed where they are read.
    """

    def __init__(self, problem: AuctionHorizon) -> None:
        self.problem = problem
        self.seasons: dict[tuple[str, bool], Played] = {}

    def of(self, policy: str, paying: bool = False) -> Played:
        """Return what a policy does with all users there, with payments or, maybe, without."""
        played = self.seasons.get((policy, True)) or self.seasons.get((policy, paying))
        if played is None:
            played = self.seasons[policy, paying] = play(self.problem, policy, paying=paying)
        return played

    def paid(self, policy: str) -> float:
        """Return what the center pays per slot."""
        return float(self.of(policy, paying=True).payments.mean())

    def cost(self, policy: str) -> float:
        """Return what the winners of a slot cost."""
        return float(self.of(policy).costs.mean())

    def paid_saved(self) -> float:
        """Return the part of the payments that the online policy saves."""
        return 1.0 - self.paid("online") / self.paid("forced")

    def saved(self) -> float:
        """Return the part of the costs that the online policy saves."""
        return 1.0 - self.cost("online") / self.cost("forced")

    def least_share(self) -> float:
        """Return the least share of the slots that a user wins under the online policy."""
        return float(self.of("online").selected.mean(axis=0).min())

    def largest_backlog(self) -> float:
        """Return the largest backlog under the online policy."""
        return float(self.of("online").largest_backlog.max())

    def drift_slack(self) -> float:
        """Return by how much the inequality on the drift holds in the slot nearest to failing."""
        return _drift_slack(self.of("online").selected, self.problem.participation)


def quantities(problem: AuctionHorizon, solution: Solution[Any]) -> Quantities:
    """Return payments, costs, shares, backlogs and who stays: online, static and forced policy.

    ``*_paid`` is what the center pays per slot (definition 5.2.3 of the source) and ``*_cost`` what its
    winners cost, both with all users there; ``paid_saved`` and ``saved`` are the parts of them that the
    online policy saves compared with the forced one, which pays forced users the reserve price. ``*_left`` is
    the share of users who are still there at the end when losing 20 slots in a row makes one leave.
    ``backlog_bound`` is gamma times the largest cost
    plus D, and ``share_bound`` what follows for everybody's share of the slots. ``drift_bound`` is n (1 +
    D^2) / (2 gamma), by which a best online decision in each slot costs more than the best on average.
    ``drift_slack`` is by how much the inequality (5.10) on the drift of the backlogs holds in the slot in
    which it comes closest to failing. Where a method has a bound, ``price_of_not_knowing`` is what the online
    rule costs, with everybody's share made sure of by the end, over that bound of the best cost.
    """
    seasons = Seasons(problem)
    share, gamma, slots = problem.participation, problem.tradeoff, problem.slots
    longest = gamma * problem.reserve + share
    values: dict[str, Any] = {
        "online_paid": partial(seasons.paid, "online"),
        "static_paid": partial(seasons.paid, "static"),
        "online_cost": partial(seasons.cost, "online"),
        "static_cost": partial(seasons.cost, "static"),
        "online_left": partial(_left, problem, "online"),
        "static_left": partial(_left, problem, "static"),
        "least_share": partial(seasons.least_share),
        "share_bound": share - longest / slots,
        "largest_backlog": partial(seasons.largest_backlog),
        "backlog_bound": longest,
        "drift_slack": partial(seasons.drift_slack),
        "drift_bound": problem.users * (1.0 + share * share) / (2.0 * gamma),
    }
    if share > 0:
        values["forced_paid"] = partial(seasons.paid, "forced")
        values["forced_cost"] = partial(seasons.cost, "forced")
        values["paid_saved"] = partial(seasons.paid_saved)
        values["saved"] = partial(seasons.saved)
    if solution.bound:
        values["offline_cost"] = solution.value / slots
        values["price_of_not_knowing"] = partial(_price_of_not_knowing, problem, solution.bound)
    return Quantities(values)


def _price_of_not_knowing(problem: AuctionHorizon, bound: float) -> float:
    return float(problem.by_deadline.costs.sum()) / bound


def _left(problem: AuctionHorizon, policy: str) -> float:
    return float(play(problem, policy, PATIENCE, paying=False).left[-1]) / problem.users


def _drift_slack(selected: NDArray[np.bool_], share: float) -> float:
    """Return the least of n (D^2 + 1) / 2 + sum q D - sum q x - (L(t + 1) - L(t)) over the slots."""
    backlog = np.zeros(selected.shape[1])
    least = math.inf
    for won in selected:
        after = np.maximum(backlog - won, 0.0) + share
        drift = float((after**2 - backlog**2).sum()) / 2.0
        bound = len(won) * (share * share + 1.0) / 2.0 + float((backlog * (share - won)).sum())
        least, backlog = min(least, bound - drift), after
    return least


NAMES = {"online": "online", "static": "static", "forced": "forced to keep shares in each slot"}


def figures(problem: AuctionHorizon, solution: Solution[Any]) -> list[Figure]:
    """Return the policies slot by slot, when a user leaves who loses 20 slots in a row."""
    policies = ["online", "static", *(["forced"] if problem.participation > 0 else [])]
    played = {policy: play(problem, policy, PATIENCE) for policy in policies}
    slots = np.arange(1, problem.slots + 1)
    paid = [Line(x=slots, y=np.cumsum(one.payments), label=NAMES[policy]) for policy, one in played.items()]
    there = [Line(x=slots, y=one.left, label=NAMES[policy]) for policy, one in played.items()]
    bound = problem.tradeoff * problem.reserve + problem.participation
    queues = [
        Line(x=slots, y=played["online"].largest_backlog, label="online"),
        Reference(value=bound, label="proven bound", series=3),
    ]
    panels = [
        Panel("slot", "paid in all slots so far", paid, title="Payments"),
        Panel(
            "slot", "users still present", there, title=f"A user who loses {PATIENCE} slots in a row leaves"
        ),
        Panel("slot", "largest backlog (slots)", queues, title="Backlogs"),
    ]
    caption = (
        "The static auction takes the cheapest users until the others have left; the online one keeps all."
    )
    return [Figure("The auction over time", panels, caption)]


def simulation(
    problem: AuctionHorizon, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run online auction and baselines on users drawn again, and fuse the winners' perturbed values.

    Every winner perturbs a value for each of its tasks by Laplace noise at the announced epsilon. Values
    are Beta(2, 5) on an interval of length ``value_range``. An average misses when it is further than alpha
    from the average of the winners' values.

    Parameters
    ----------
    users : int
        Simulated users.
    repetitions : int
        Number of seasons; each draws new users, costs and requirements.

    Returns
    -------
    dict
        Cost and payment a slot of ``online``, ``static`` and ``forced``; the share of users that are left
        at the end when losing 20 slots in a row makes one leave; the least share of slots that a user won;
        how many averages were fused, the share ``missed``, and the share ``allowed`` (the average delta).
    """
    runs = []
    for _ in range(repetitions):
        season = replace_parameters(problem, {"users": users, "seed": int(rng.integers(2**31))})
        online = play(season, "online")
        figures = {"online_cost": float(online.costs.mean()), "online_paid": float(online.payments.mean())}
        for policy in ("static", "forced") if problem.participation > 0 else ("static",):
            other = play(season, policy)
            figures |= {
                f"{policy}_cost": float(other.costs.mean()),
                f"{policy}_paid": float(other.payments.mean()),
            }
        for policy in ("online", "static"):
            stayed = play(season, policy, PATIENCE, paying=False)
            figures[f"{policy}_left"] = float(stayed.left[-1]) / users
        figures["least_share"] = float(online.selected.mean(axis=0).min())
        runs.append(figures | accuracy(season, online, rng))
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def accuracy(
    problem: AuctionHorizon, played: Played, rng: np.random.Generator, noise: str = "laplace"
) -> dict[str, float]:
    """Fuse the winners' perturbed values for each task of each slot, and count how many averages miss.

    A task whose requirement was lowered to its able users promises nothing, and is left out.
    """
    client, half = noise_of(noise), problem.value_range / 2.0
    instance = problem.instance
    needs = instance.requests
    missed, allowed, slack = 0, [], []
    for slot in range(problem.slots):
        for task in range(problem.tasks):
            winners = played.selected[slot] & instance.able[slot, :, task]
            count = int(winners.sum())
            if count < needs[slot, task]:
                continue
            alpha, delta = instance.goals[slot, task].tolist()
            values = 2.0 * rng.beta(2.0, 5.0, count) - 1.0
            reports = client.randomize(values, np.full(count, problem.epsilon), rng)
            error = half * abs(math.fsum(reports) - math.fsum(values)) / count
            missed += error > alpha
            allowed.append(delta)
            slack.append(count / needs[slot, task])
    total = len(allowed)
    return {
        "averages": float(total),
        "missed": missed / total if total else 0.0,
        "allowed": float(np.mean(allowed)) if total else 0.0,
        "winners_per_needed": float(np.mean(slack)) if total else math.nan,
    }
