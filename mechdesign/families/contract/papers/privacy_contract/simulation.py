"""The whole loop on simulated users: choose, randomize, be paid; and what misreporting would have gained."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.solution import Solution
from mechdesign.families.contract.menu import NOT_BUYING, ContractMenu
from mechdesign.families.contract.privacy_contract.problem import PrivacyContract

Array = NDArray[np.float64]
Items = NDArray[np.int64]

MAX_CHECKED = 100
"""Types whose every deviation is tried out."""


def simulation(
    problem: PrivacyContract, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the menu on users with private types and skewed values, many times.

    Every user picks the best item for the type it has, randomizes its value at that item's epsilon and is
    paid. Values are the same in every repetition (Beta(2, 5) on the data range), types are dealt
    again in the proportions of the counts.

    Parameters
    ----------
    users : int
        Simulated users; the predictions below are for that many.
    repetitions : int

    Returns
    -------
    dict
        ``rmse`` and ``predicted_rmse`` of the average; ``alpha`` and the share ``exceeded`` of averages
        further
        off than it; ``paid`` per user and the ``budget_per_user`` (where there is one); ``misreport_gain``,
        the
        most any user could have gained by taking another item than the one it chose (exact); ``stayed_out``,
        a share.
    """
    menu = solution.mechanism()
    people = problem.population
    values = problem.data_range * rng.beta(2.0, 5.0, size=users)
    errors, paid, outside, gain = [], [], [], 0.0
    for turn in range(repetitions):
        theta = rng.permutation(_dealt(people.types, people.counts, users))
        chosen = menu.choose(theta)
        buys = chosen != NOT_BUYING
        reports = menu.randomize(values, chosen, rng=rng)
        errors.append(float(reports.mean()) - float(values[buys].mean()))
        paid.append(float(menu.payments(chosen).mean()))
        outside.append(1.0 - float(buys.mean()))
        gain = max(gain, _gain(menu, theta, chosen)) if turn == 0 else gain
    scale = users / people.users
    alpha = menu.alpha() / math.sqrt(scale)
    measured = {
        "rmse": float(np.sqrt(np.mean(np.square(errors)))),
        "predicted_rmse": alpha * math.sqrt(1.0 - problem.confidence),
        "alpha": alpha,
        "exceeded": float(np.mean(np.abs(errors) > alpha)),
        "paid": float(np.mean(paid)),
        "misreport_gain": gain,
        "stayed_out": float(np.mean(outside)),
    }
    if problem.budget is not None:
        measured["budget_per_user"] = problem.budget / people.users
    return measured


def _dealt(types: Array, counts: Array, users: int) -> Array:
    """Return the types of ``users`` users, as near to the proportions of the counts as whole users allow."""
    ends = np.rint(np.cumsum(counts) / counts.sum() * users).astype(np.int64)
    return np.repeat(types, np.diff(ends, prepend=0))


def _gain(menu: ContractMenu, theta: Array, chosen: Items) -> float:
    """Return the most that a user would gain by another item than the chosen one, in rational arithmetic."""
    if menu.terms.information == "complete":
        return 0.0  # there is nothing to report
    people, first = np.unique(theta, return_index=True)
    some = np.unique(np.linspace(0, len(people) - 1, MAX_CHECKED).astype(np.int64))
    items = [(Fraction(level), Fraction(pay)) for level, pay in menu.items.tolist()]
    worst = Fraction(0)
    for person in some.tolist():
        price, own = Fraction(float(people[person])), int(chosen[first[person]])
        if own != NOT_BUYING:
            values = [pay - price * level for level, pay in items]
            worst = max(worst, max(values) - values[own])
    return float(worst)
