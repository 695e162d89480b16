"""``auction-slot``: bounds, certificates that can fail, statuses with a reason, and how much work it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.values import changed
from mechdesign.families.auction import greedy
from mechdesign.families.auction.greedy import fitted_bound, harmonic, largest_gain
from mechdesign.families.auction.slot_rules import UNIT, Slot, accurate, random_tasks, uniform_bids
from tests.support.auctions import least_weight, small_slots


def setting(users: int = 60, tasks: int = 8, seed: int = 1, **more) -> md.AuctionSlot:
    return md.AuctionSlot(
        bids=uniform_bids(users, seed=seed),
        epsilon=1.0,
        tasks=random_tasks(users, tasks, 3, tasks, seed=seed),
        requirements=accurate(tasks, 1.0, seed=seed),
        **more,
    )


def test_greedy_is_within_the_harmonic_number_and_its_prices_prove_a_bound():
    """On each slot: N <= best <= greedy, greedy - N <= H (best - N), and fitted bound <= best."""
    strict = 0
    for slot in small_slots(21, 250):
        base = sum(slot.weights[user] for user in greedy.preselected(slot))
        value, best = int(slot.value(greedy.winners(slot))), least_weight(slot)
        assert base <= best <= value
        share = Fraction(harmonic(largest_gain(slot))).limit_denominator(1000)
        assert value - base <= share * (best - base)
        fitted = fitted_bound(slot)
        assert fitted <= best
        assert fitted >= base + (value - base) / (share or 1) - 2 * slot.requirements.sum() - 1e-6
        strict += value > best
    assert strict > 5, "the greedy winners are not always the best ones"


def test_the_fitted_bound_is_the_proven_part_of_the_value():
    problem = setting()
    slot = problem.slot
    share = harmonic(largest_gain(slot))
    assert fitted_bound(slot) >= float(slot.value(greedy.winners(slot))) / share * (1 - 1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_methods_agree_and_bounds_are_in_order(seed):
    problem = setting(seed=seed, backlog=np.random.default_rng(seed).uniform(0, 3, 60))
    comparison = md.compare(problem, ["greedy", "milp"])
    assert comparison.agree
    first, second = comparison.runs
    assert first.bound <= second.bound + 1e-9
    assert second.status == "optimal"
    assert second.value <= first.value


def test_every_certificate_can_fail():
    problem = setting(reserve=4.0)
    solution = md.solve(problem, "greedy")
    names = [certificate.property for certificate in solution.certificates]
    assert names == ["coverage", "individual_rationality", "truthfulness"]
    winners, payments = solution.variables["winners"], solution.variables["payments"]
    fewer = changed(solution, variables={"winners": winners[1:], "payments": payments[1:]})
    assert [item.property for item in fewer.broken] == ["coverage", "truthfulness"]
    assert problem.residuals(fewer.variables)["coverage"] > 0
    less = payments.copy()
    user = int(winners[0])
    less[0] = float(problem.slot.prices[user] * UNIT) - 2.0**-30
    poorer = changed(solution, variables={"winners": winners, "payments": less})
    assert [item.property for item in poorer.broken] == ["individual_rationality", "truthfulness"]
    assert problem.residuals(poorer.variables)["individual_rationality"] == 2.0**-30


def test_a_slot_that_cannot_be_decided_is_a_status_for_every_method():
    problem = md.AuctionSlot(
        bids=[[1, 1], [1, 1]],
        epsilon=1.0,
        tasks=[[0], [0, 1]],
        requirements=[1, 2],
        task_names=["noise", "air"],
    )
    for method in ("greedy", "milp", "exact", "published"):
        solution = md.solve(problem, method)
        assert solution.status == "infeasible"
        assert solution.message.startswith("task air: needs 2 users and 1 are able to do it; 1 missing")
    essential = md.solve(
        md.AuctionSlot(bids=[[1, 1], [1, 1]], epsilon=1.0, tasks=[[0], [0, 1]], requirements=[1, 1])
    )
    assert essential.status == "infeasible"
    assert "give a reserve price" in essential.message
    with pytest.raises(MethodError, match="infeasible"):
        essential.mechanism()


def test_backlogs_of_any_size_are_exact():
    """Denominators beyond the range of doubles: whole numbers do not overflow."""
    problem = md.AuctionSlot(
        bids=[[1, 1], [1, 1], [2, 1]],
        epsilon=1.0,
        tasks=[[0], [0], [0]],
        requirements=[1],
        backlog=[5e-324, 0.0, 1e-200],
        tradeoff=1e9,
    )
    solution = md.solve(problem)
    assert solution.variables["winners"].tolist() == [0]
    assert solution.bound <= solution.value
    assert md.solve(problem, "exact").variables["winners"].tolist() == [0]


def test_a_requirement_of_nothing_buys_nothing():
    solution = md.solve(
        md.AuctionSlot(bids=[[1, 1], [0, 0]], epsilon=1.0, tasks=[[0], [0]], requirements=[0])
    )
    assert solution.variables["winners"].tolist() == [1], "who costs nothing is welcome"
    assert solution.variables["payments"].tolist() == [0.0]
    assert solution.value == 0.0


def test_costs_beyond_what_can_be_paid_are_refused():
    with pytest.raises(ParameterError, match="use a larger unit of money"):
        md.AuctionSlot(bids=[[1, 1e6]], epsilon=1e3, tasks=[[0]], requirements=[1])
    with pytest.raises(ParameterError, match="bids: that of user 0 is above"):
        md.AuctionSlot(bids=[[1e9, 1]], epsilon=1.0, tasks=[[0]], requirements=[1])


def test_ten_thousand_users_take_few_runs():
    """Cubic time would be hours: the work is counted, not timed."""
    rng = np.random.default_rng(1)
    able = rng.random((10_000, 50)) < 0.75
    slot = Slot(
        tuple(rng.integers(1 << 30, 4 << 30, 10_000).tolist()), able, np.full(50, 20), 1, (0,) * 10_000, 1
    )
    calls = []
    taken = greedy.Covering.take
    try:
        greedy.Covering.take = lambda self, user: (calls.append(user), taken(self, user))[1]
        award = greedy.award(slot)
    finally:
        greedy.Covering.take = taken
    count = len(award.winners)
    assert 20 <= count < 60
    assert len(calls) <= count * (count + 8) / 2 + 10 * count


def test_the_statement_is_infeasible_where_no_payments_exist():
    """Whoever is essential could ask any price: winners exist, and truthful payments do not."""
    problem = md.AuctionSlot(bids=[[1, 0.5]], epsilon=1.0, tasks=[[0]], requirements=[1])
    assert md.solve(problem).status == "infeasible"
    assert md.solve(problem, "statement").status == "infeasible"
    assert md.compare(problem).agree
