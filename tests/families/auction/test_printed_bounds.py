"""The printed inequalities of the payments, against sums in fractions over all sets of users."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import mechdesign as md


def random_slot(rng, users=5, tasks=3, largest=8):
    """A slot that can be decided without any one user, with backlogs in quarters."""
    while True:
        able = rng.random((users, tasks)) < 0.6
        needs = rng.integers(0, 3, tasks)
        if able.any(axis=1).all() and (able.sum(axis=0) > needs).all() and needs.any():
            break
    return md.AuctionSlot(
        bids=rng.integers(1, 9, (users, 2)) / 4,
        epsilon=1.0,
        tasks=[np.flatnonzero(row).tolist() for row in able],
        requirements=needs.tolist(),
        backlog=rng.integers(0, largest + 1, users) / 4,
    )


def sums_over_covers(problem, shift):
    weights = [
        Fraction(sensing) + Fraction(privacy) - Fraction(owed) + shift
        for (sensing, privacy), owed in zip(problem.bids.tolist(), problem.backlog.tolist(), strict=True)
    ]
    for count in range(len(weights) + 1):
        for chosen in combinations(range(len(weights)), count):
            covered = [sum(task in problem.tasks[user] for user in chosen) for task in range(3)]
            if all(have >= need for have, need in zip(covered, problem.requirements.tolist(), strict=True)):
                yield sum((weights[user] for user in chosen), Fraction(0))


def test_the_lemma_holds_and_its_slack_is_that_of_all_covers():
    rng = np.random.default_rng(5)
    for _ in range(40):
        problem = random_slot(rng)
        shift = Fraction(problem.backlog.max())
        least, shifted = min(sums_over_covers(problem, 0)), min(sums_over_covers(problem, shift))
        slack = md.solve(problem, "exact").quantities["lemma_slack"]
        assert slack == float(least + 5 * shift - shifted)  # quarters are exact
        assert slack >= 0


def test_the_theorem_holds_where_some_weight_is_positive_and_fails_where_all_are_negative():
    rng = np.random.default_rng(6)
    slacks = {True: [], False: []}
    for _ in range(120):
        problem = random_slot(rng, largest=24)
        weights = problem.bids.sum(axis=1) - problem.backlog
        slacks[bool((weights > 0).any())].append(md.solve(problem, "published").quantities["printed_slack"])
    assert len(slacks[True]) > 60
    assert min(slacks[True]) >= 0
    negative = md.AuctionSlot(
        bids=[[1, 0]] * 3, epsilon=1, tasks=[[0]] * 3, requirements=[1], backlog=[2, 2, 2]
    )
    found = md.solve(negative, "published").quantities
    # weights -1, m = 2, n = 3, theta = d = H_d = 1, delta = -1; the least sum over covers is -3
    assert found["printed_bound"] == 2 * -1 * (-3 + 6)
    assert found["printed_sum"] == 1 - 2
    assert found["printed_slack"] == -5


@pytest.mark.parametrize("users", [12, 13])
def test_large_slots_have_none(users):
    problem = md.AuctionSlot(bids=[[1, 1]] * users, epsilon=1, tasks=[[0]] * users, requirements=[1])
    assert ("lemma_slack" in md.solve(problem, "greedy").quantities) == (users == 12)


def test_users_who_cost_nothing_leave_the_theorem_without_a_delta():
    problem = md.AuctionSlot(bids=[[0, 0], [1, 0]], epsilon=1, tasks=[[0], [0]], requirements=[1])
    found = md.solve(problem, "greedy").quantities
    assert "lemma_slack" in found
    assert "printed_slack" not in found
