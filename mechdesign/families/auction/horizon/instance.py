"""All slots of a horizon, drawn from a seed as in table 5.2 of the source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.auction.accuracy import needed
from mechdesign.families.auction.drawn import accuracies

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
    wanted : (slots, tasks) int array
        What the accuracy of each task takes.
    needs : (slots, tasks) int array
        The same, but never more than the able users.
    goals : (slots, tasks, 2) array
        alpha and delta of each task.
    """

    bids: NDArray[np.float64]
    costs: NDArray[np.float64]
    able: NDArray[np.bool_]
    wanted: NDArray[np.int64]
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
    wanted = np.array(rows, dtype=np.int64)
    needs = np.minimum(wanted, able.sum(axis=1))
    costs = bids[:, :, 0] + bids[:, :, 1] * epsilon
    return Instance(bids, costs, able, wanted, needs, goals)
