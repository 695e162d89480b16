"""Contracts and slots of auctions of the sources, solved once more as screening and direct mechanisms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import mechdesign as md


@pytest.mark.parametrize("seed", range(8))
def test_a_contract_is_a_direct_mechanism_and_a_screening_menu(seed):
    """Its optimum lies between that on a grid and what the grid's chords make of its own menu."""
    rng = np.random.default_rng(seed)
    kinds = int(rng.integers(1, 5))
    theta = sorted(Fraction(int(number), 4) for number in rng.choice(np.arange(4, 20), kinds, replace=False))
    users = [int(number) for number in rng.integers(1, 60, kinds)]
    everyone, step = sum(users), Fraction(1, 8)
    budget = int(2 * sum(count * kind for count, kind in zip(users, theta, strict=True)))
    types = [float(kind) for kind in theta]
    contract = md.solve(md.PrivacyContract(types=types, counts=users, budget=budget))
    grid = [step * number for number in range(1, 65)]
    assert max(contract.variables["epsilon"]) < grid[-1]
    table = {
        "types": [theta],
        "outcomes": [str(point) for point in grid],
        "values": [[[-kind * point for point in grid] for kind in theta]],
        "cost": [Fraction(-budget, everyone)] * len(grid),
        "prior": [[Fraction(count, everyone) for count in users]],
    }
    noise = [-everyone / point**2 for point in grid]
    direct = md.solve(
        md.DirectMechanism(environment=table, goal="weights", outcome_weights=noise, budget="expected")
    )
    points = [float(point) for point in grid]
    chords = np.interp(contract.variables["epsilon"], points, [1 / point**2 for point in points])
    assert contract.value * (1 - 1e-9) <= -direct.value <= float(np.dot(users, chords)) * (1 + 1e-9)
    price, top = direct.prices.of_requirement("budget"), max(theta)
    menu = md.Screening(
        types=[top - kind for kind in reversed(theta)],
        prior=[Fraction(count, everyone) for count in reversed(users)],
        quantities=[0, *grid],
        cost=[10**6, *[top * point + everyone / point**2 / price for point in grid]],
    )
    profits = {Fraction(md.solve(menu, name).notes["exact_value"]) for name in ("ironing", "exact-lp")}
    assert len(profits) == 1
    assert price * (profits.pop() + Fraction(budget, everyone)) == Fraction(direct.notes["exact_value"])


def slot_of(costs, tasks, needs, queues, reserve):
    return md.AuctionSlot(
        bids=[[float(cost), 0.0] for cost in costs],
        epsilon=1,
        tasks=tasks,
        requirements=needs,
        backlog=[float(queue) for queue in queues],
        reserve=reserve,
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_slot_of_an_auction_is_a_direct_mechanism(seed):
    """Costs are equal as fractions; payments too, where each is lowered to a cost that is possible.

    Costs are sums of different powers of 2, so that no two sets of winners are equally cheap.
    """
    rng = np.random.default_rng(seed)
    powers = iter(rng.permutation(10))
    costs = [sorted(Fraction(1 << int(next(powers)), 64) for _ in range(2)) for _ in range(4)]
    queues = [Fraction(1, 1 << 20), 0, Fraction(int(rng.integers(0, 3)), 1 << 19), 0]
    tasks = [[0, 1], [0], [0, 1], [1]]
    needs = [int(rng.integers(1, 3)), 1]
    sets = [
        wins
        for wins in product((0, 1), repeat=4)
        if all(sum(wins[user] for user in range(4) if task in tasks[user]) >= need
               for task, need in enumerate(needs))
    ]  # fmt: skip
    environment = {
        "types": costs,
        "outcomes": [str(wins) for wins in sets],
        "values": [[[-cost * wins[user] for wins in sets] for cost in costs[user]] for user in range(4)],
        "cost": [-sum(queue * won for queue, won in zip(queues, wins, strict=True)) for wins in sets],
    }
    cost = listed = paid_in_all = Fraction(0)
    for chosen in product(*costs):
        solution = md.solve(slot_of(chosen, tasks, needs, queues, 16.0), "exact")
        cost += Fraction(solution.value) / 16
        winners, payments = solution.variables["winners"], solution.variables["payments"]
        for user, paid in zip(winners.tolist(), payments.tolist(), strict=True):
            paid_in_all += Fraction(paid) / 16
            listed += max(one for one in costs[user] if one <= paid) / 16
    welfare = md.solve(md.DirectMechanism(environment=environment, goal="welfare"))
    assert -Fraction(welfare.notes["exact_value"]) == cost
    least = [
        -Fraction(
            md.solve(
                md.DirectMechanism(
                    environment=environment, goal="weights", payment_weights=[1] * 4, efficient=efficient
                )
            ).notes["exact_value"]
        )
        for efficient in (True, False)
    ]
    assert least[0] == listed < paid_in_all
    assert least[1] <= least[0]
