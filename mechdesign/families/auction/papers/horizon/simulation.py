"""Slot after slot with real data: who is paid what under each policy, and how accurate the averages are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.collect.noise import noise_of
from mechdesign.core.parameters import replace_parameters
from mechdesign.core.solution import Solution
from mechdesign.families.auction.horizon.play import Played, play
from mechdesign.families.auction.horizon.problem import AuctionHorizon
from mechdesign.families.auction.papers.horizon.quantities import PATIENCE


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
        found = {"online_cost": float(online.costs.mean()), "online_paid": float(online.payments.mean())}
        for policy in ("static", "forced") if problem.participation > 0 else ("static",):
            other = play(season, policy)
            found |= {
                f"{policy}_cost": float(other.costs.mean()),
                f"{policy}_paid": float(other.payments.mean()),
            }
        for policy in ("online", "static"):
            stayed = play(season, policy, PATIENCE, paying=False)
            found[f"{policy}_left"] = float(stayed.left[-1]) / users
        found["least_share"] = float(online.selected.mean(axis=0).min())
        runs.append(found | accuracy(season, online, rng))
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def accuracy(
    problem: AuctionHorizon, played: Played, rng: np.random.Generator, noise: str = "laplace"
) -> dict[str, float]:
    """Fuse the winners' perturbed values for each task of each slot, and count how many averages miss.

    A task whose requirement was lowered to its able users promises nothing, and is left out.
    """
    client, half = noise_of(noise), problem.value_range / 2.0
    instance = problem.instance
    asked = instance.wanted
    missed, allowed, slack = 0, [], []
    for slot in range(problem.slots):
        for task in range(problem.tasks):
            winners = played.selected[slot] & instance.able[slot, :, task]
            count = int(winners.sum())
            if count < asked[slot, task]:
                continue
            alpha, delta = instance.goals[slot, task].tolist()
            values = 2.0 * rng.beta(2.0, 5.0, count) - 1.0
            reports = client.randomize(values, np.full(count, problem.epsilon), rng)
            error = half * abs(math.fsum(reports) - math.fsum(values)) / count
            missed += error > alpha
            allowed.append(delta)
            slack.append(count / asked[slot, task])
    total = len(allowed)
    return {
        "averages": float(total),
        "missed": missed / total if total else 0.0,
        "allowed": float(np.mean(allowed)) if total else 0.0,
        "winners_per_needed": float(np.mean(slack)) if total else math.nan,
    }
