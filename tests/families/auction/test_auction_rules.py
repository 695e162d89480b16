"""Rules of one slot: against their slowest readings, and against every misreport of small slots."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import MethodError
from mechdesign.families.auction import greedy, vcg
from mechdesign.families.auction.papers import rules as published
from mechdesign.families.auction.rules import all_rules, misreports
from mechdesign.families.auction.slot_rules import MOST_UNITS, UNIT, Slot, able_of, bid_prices, slot_of
from tests.support.auctions import changed, least_weight, reports, slow_payment, slow_winners, small_slots

TOP = 22
"""Above every price at which anybody wins in the small slots, or pays off to be asked."""


def gains(rule, slots):
    """Return (user, report, gain) of every misreport that pays, in whole numbers."""
    found = []
    for slot in slots:
        for user in range(slot.users):
            cost = slot.prices[user]
            honest = utility(rule, slot, user, cost)
            assert honest >= 0, "individual rationality"
            for price, tasks in reports(slot, user, highest(slot) + 1):
                gain = utility(rule, changed(slot, user, price, tasks), user, cost) - honest
                if gain > 0:
                    found.append((slot, user, price, tasks, gain))
    return found


def highest(slot):
    """Return the highest price to report: whoever asks more than the reserve price is not admitted."""
    return TOP - 1 if slot.reserve is None else slot.reserve + 1


def utility(rule, slot, user, cost):
    award = None if slot.obstacle() else rule(slot)
    if award is None or user not in award.winners:
        return 0
    return award.payments[award.winners.index(user)] - cost


@pytest.mark.parametrize(("rule", "count"), [(greedy.award, 100), (vcg.award_exactly, 60)])
def test_no_misreport_of_bid_or_tasks_pays(rule, count):
    assert gains(rule, small_slots(11, count)) == []


UNDERBID = Slot((2, 6, 2, 6), able_of([[0], [1], [0], [1]], 2), np.array([1, 1]), 1, (5, 5, 4, 0), 1)
HIDE = Slot((5, 6, 1, 4), able_of([[0, 1], [1], [0, 1], [0, 1]], 2), np.array([1, 1]), 1, (5, 0, 4, 5), 1)


def test_misreports_of_both_kinds_pay_under_the_printed_rule():
    bids = gains(published.award, [UNDERBID])
    assert (2, 0, (True, False), 2) in [entry[1:] for entry in bids]
    hidden = gains(published.award, [HIDE])
    assert (2, 1, (True, False), Fraction(1, 2)) in [entry[1:] for entry in hidden]
    for rule in (greedy.award, vcg.award_exactly):
        assert gains(rule, [UNDERBID, HIDE]) == []


def test_the_printed_bound_of_payments_fails_where_all_weights_are_negative():
    """Theorem 5.5.6: P <= 2 delta theta d H_d (P* + m n), with gamma = 1 and theta = d = H_d = 1 here."""
    for slot, holds in (
        (Slot((1, 1, 1), np.ones((3, 1), dtype=np.bool_), np.array([1]), 1, (2, 2, 2), 1), False),
        (Slot((2, 2, 2), np.ones((3, 1), dtype=np.bool_), np.array([1]), 1, (1, 1, 1), 1), True),
    ):
        award, most = published.award(slot), max(slot.offsets)
        value = sum(award.payments) - sum(slot.offsets[user] for user in award.winners)
        best = sum(weight for weight in slot.weights if weight < 0) or min(slot.weights)
        delta = Fraction(max(slot.weights), min(slot.weights) + most)
        assert (value <= 2 * delta * (best + most * slot.users)) == holds


def test_the_printed_rule_is_truthful_where_no_weight_is_negative():
    slots = [slot for slot in small_slots(12, 120) if min(slot.weights) >= 0]
    assert len(slots) > 20
    assert gains(published.award, slots) == []


def test_winners_and_payments_are_those_of_the_slow_reading():
    for slot in small_slots(13, 150):
        award = greedy.award(slot)
        assert list(award.winners) == slow_winners(slot)
        assert greedy.winners(slot) == award.winners
        for user, payment in zip(award.winners, award.payments, strict=True):
            assert greedy.paid(slot, user) == payment
            top = 40 if slot.reserve is None else slot.reserve + 1
            if payment < MOST_UNITS:
                assert payment == slow_payment(slot, user, top)


def test_resumed_runs_pay_what_runs_from_the_start_pay():
    """Many users, several winners a task: every payment is tried out at its own price and one unit above."""
    rng = np.random.default_rng(3)
    users, tasks = 60, 7
    able = rng.random((users, tasks)) < 0.5
    able[:, 0] |= ~able.any(axis=1)
    prices = tuple(rng.integers(50, 99, users).tolist())
    offsets = tuple((rng.integers(0, 120, users) * 3).tolist())
    slot = Slot(prices, able, np.full(tasks, 9), 3, offsets, 7, reserve=5000)
    award = greedy.award(slot)
    assert len(award.winners) > 20
    for user, payment in zip(award.winners, award.payments, strict=True):
        own = tuple(able[user].tolist())
        assert user in greedy.winners(changed(slot, user, payment, own))
        assert user not in greedy.winners(changed(slot, user, payment + 1, own))


def test_near_ties_are_told_apart_exactly():
    """Ratios that no double tells apart: the smaller one wins by a unit in 2^70."""
    able = np.array([[True], [True], [True]])
    huge = 1 << 70
    slot = Slot((huge + 1, huge, huge), able, np.array([1]), 1, (0, 0, 0), 1)
    assert greedy.award(slot).winners == (1,)
    assert greedy.critical_price(slot, 1, [greedy.Stage(2, 1, np.ones(3), (1,))]) == huge
    assert greedy.critical_price(slot, 2, [greedy.Stage(1, 1, np.ones(3), (1,))]) == huge - 1


def test_the_best_sets_are_the_best_of_all_sets():
    for slot in small_slots(14, 200):
        award = vcg.award_exactly(slot)
        assert sum(slot.weights[user] for user in award.winners) == least_weight(slot)


def test_users_gain_nothing_where_two_best_sets_are_equal():
    """Costs between two units: whoever is refused at the price that ties would gain by asking a unit less."""
    half = UNIT / 2
    for order in ((0, 1), (1, 0)):
        bids = np.array([[1.0, 0.0], [float(1 - half), 0.0]])[list(order)]
        able = np.ones((2, 1), dtype=np.bool_)
        slot = slot_of(bid_prices(bids, Fraction(1)), able, np.array([1]), 1.0, [Fraction(0)] * 2)
        assert slot.prices == (1 << 30, 1 << 30)
        for rule in (greedy.award, vcg.award_exactly):
            honest = rule(slot)
            assert honest.winners == (0,)
            less = changed(slot, 1, slot.prices[1] - 1, (True,))
            (user,), (payment,) = rule(less).winners, rule(less).payments
            assert user == 1
            assert payment * UNIT <= Fraction(bids[1, 0]), "nothing is gained by asking less"


def test_the_integer_program_has_the_same_winners_and_payments():
    for slot in small_slots(15, 6):
        award, exact = vcg.award(slot), vcg.award_exactly(slot)
        assert sorted(zip(award.winners, award.payments, strict=True)) == sorted(
            zip(exact.winners, exact.payments, strict=True)
        )
        best = least_weight(slot)
        assert sum(slot.weights[user] for user in award.winners) == best
        assert vcg.objective_lower_bound(slot, award.winners, nodes=50) <= best
        assert vcg.objective_lower_bound(slot, award.winners, nodes=50) >= best - 1e-6


LIES = {
    "nothing": lambda result: replace(result, status="failed", variables=np.zeros(0, dtype=np.bool_)),
    "impossible": lambda result: replace(result, status="infeasible", variables=np.zeros(0, dtype=np.bool_)),
    "nobody": lambda result: replace(result, variables=np.zeros_like(result.variables)),
    "everybody": lambda result: replace(result, status="feasible", variables=result.variables | True),
}


@pytest.mark.parametrize("lie", LIES)
def test_no_word_of_a_solver_decides_who_wins(monkeypatch, lie):
    whole = vcg.solve_binary
    monkeypatch.setattr(vcg, "solve_binary", lambda program: LIES[lie](whole(program)))
    for slot in small_slots(17, 3):
        found = vcg.award(slot)
        best = vcg.award_exactly(slot)
        assert sorted(found.winners) == sorted(best.winners)
        assert sorted(found.payments) == sorted(best.payments)


@pytest.mark.parametrize("exponent", [-30, -20, 0, 30])
@pytest.mark.parametrize("range_", [4, 40])
def test_the_integer_program_is_truthful_at_every_scale_of_the_tradeoff(exponent, range_):
    """Weights of 1e-9 are below a solver's tolerances; weights that differ by 1e12 are beyond them."""
    rng = np.random.default_rng(exponent + range_ + 100)
    for _ in range(4):
        users = 6
        able = rng.random((users, 2)) < 0.7
        able[:, 0] |= ~able.any(axis=1)
        prices = (2 ** rng.uniform(range_ / 2, range_, users)).astype(np.int64).tolist()
        backlog = [
            Fraction(float(amount)) for amount in rng.uniform(0.0, 1.0, users) * 2.0 ** (exponent - 20)
        ]
        needs = np.minimum([2, 1], able.sum(axis=0) - 1)
        slot = slot_of(prices, able, needs, 2.0**exponent, backlog, reserve=4096.0)
        found, best = vcg.award(slot), vcg.award_exactly(slot)
        assert sum(slot.weights[user] for user in found.winners) == least_weight(slot)
        assert sorted(found.winners) == sorted(best.winners)
        assert sorted(found.payments) == sorted(best.payments)


def test_a_slot_that_tolerances_confuse_is_decided_rightly():
    """Users 0 and 1 won where 0 and 3 are the best; user 3 gained 2.0 by asking nothing."""
    money = [2.5, 2.875, 3.875, 0.875, 4.875, 4.375]
    prices = bid_prices(np.array([[cost, 0.0] for cost in money]), Fraction(1))
    slot = slot_of(prices, np.ones((6, 1), dtype=np.bool_), np.array([2]), 1e-9, [Fraction(0)] * 6)
    found = vcg.award(slot)
    assert sorted(found.winners) == [0, 3]
    paid = dict(zip(found.winners, found.payments, strict=True))
    critical = Fraction(23, 8) / UNIT
    assert paid == {0: critical, 3: critical - 1}, "of equals the first one wins"


def test_a_decision_that_is_not_the_rule_s_own_fails_the_search():
    slot = slot_of([4, 2, 5], np.ones((3, 1), dtype=np.bool_), np.array([1]), 1.0, [Fraction(0)] * 3)
    rule = all_rules()["milp"]
    assert misreports(rule, slot, {1: 3}).best is None
    wrong = misreports(rule, slot, {0: 4}).best
    assert wrong is not None
    assert (wrong.user, wrong.gained) == (1, 1)
    assert misreports(rule, slot, {1: 2}).best.gained == 1, "it is paid less than the rule pays"


def test_what_is_not_proven_is_refused(monkeypatch):
    """The first of these slots leaves nothing to search once the bounds have spoken; the second does."""
    monkeypatch.setattr(vcg, "MOST_PROVEN", 0)
    monkeypatch.setattr(vcg.Proven.__init__, "__defaults__", (0, True))
    able, zero = np.ones((3, 1), dtype=np.bool_), [Fraction(0)] * 3
    easy = slot_of([4, 2, 9], able, np.array([0]), 1.0, zero)
    assert vcg.award(easy) == greedy.Award((), ())
    able = able_of([[0, 1], [1, 2], [0, 2], [0, 1, 2]], 3)
    hard = slot_of([2, 2, 2, 4], able, np.array([1, 1, 1]), 1.0, [Fraction(0)] * 4, 1.0)
    with pytest.raises(
        MethodError, match="not proven within 0 steps, and payments would not be critical; ask"
    ):
        vcg.award(hard)


def test_every_rule_is_bounded_in_work(monkeypatch):
    """The same limit and the same words wherever a slot is decided; said before the work is done."""
    users, tasks = 301, 14
    zero = [Fraction(0)] * users
    slot = slot_of(
        list(range(users)), np.ones((users, tasks), dtype=np.bool_), np.full(tasks, 9), 1.0, zero, 5.0
    )
    for name, said in (
        (
            "exact",
            "steps of dynamic programming are more than 100000; ask for fewer tasks in this slot, or use",
        ),
        ("published", "301 users are more than 300 for the direct reading; use rule 'greedy'"),
    ):
        with pytest.raises(MethodError, match=f"rule '{name}': .*{said}"):
            all_rules()[name].decide(slot)
    monkeypatch.setattr(vcg, "MOST_ENTRIES", 4000)
    with pytest.raises(MethodError, match="rule 'milp': 4214 users times tasks are more than 4000; ask for"):
        all_rules()["milp"].decide(slot)
    assert all_rules()["greedy"].limit(slot) == ""
    monkeypatch.setattr(greedy, "MOST_WORK", 10**4)
    with pytest.raises(MethodError, match="divide the users into areas"):
        all_rules()["greedy"].decide(slot)


def test_the_audit_finds_what_brute_force_finds():
    """Its few prices around the meeting points of ratios are as good as all prices."""
    for slot in small_slots(16, 30):
        if slot.forced:
            continue
        brute = gains(published.award, [slot])
        search = misreports(all_rules()["published"], slot)
        assert search.exhaustive
        assert (search.best is not None) == bool(brute)
        if brute:
            assert search.best.gained >= max(gain for *_, gain in brute)
        assert misreports(all_rules()["greedy"], slot).best is None


def test_costs_are_rounded_up_to_units_and_payments_are_whole():
    epsilon = Fraction(0.7)
    bids = np.array([[0.1, 0.3], [1e-300, 0.0], [0.0, 0.0], [3.0, 0.5]])
    for price, (sensing, privacy) in zip(bid_prices(bids, epsilon), bids.tolist(), strict=True):
        cost = Fraction(sensing) + Fraction(privacy) * epsilon
        assert (price - 1) * UNIT < cost <= price * UNIT


def test_an_essential_user_is_paid_the_reserve_price_and_needs_one():
    able = able_of([[0, 1], [0], [0]], 2)
    needs, zero = np.array([1, 1]), [Fraction(0)] * 3
    assert "essential" in slot_of([1, 1, 1], able, needs, 1.0, zero).obstacle()
    slot = slot_of([1, 1, 1], able, needs, 1.0, zero, reserve=2.0)
    assert greedy.award(slot) == greedy.Award((0,), (2 << 30,))
    assert vcg.award_exactly(slot) == greedy.Award((0,), (2 << 30,))
    cheap = slot_of([(2 << 30) + 1, 1, 1], able, needs, 1.0, zero, reserve=2.0)
    assert cheap.obstacle() == (
        "task 1: needs 1 users and 0 are able to do it (1 more ask above the reserve price); 1 missing, find "
        "them or lower its requirement"
    )


def test_forced_users_win_and_are_paid_the_reserve_price():
    able = able_of([[0], [0], [0]], 1)
    slot = slot_of([9, 1, 2], able, np.array([1]), 1.0, [Fraction(0)] * 3, 1.0, frozenset([0]))
    assert greedy.award(slot) == greedy.Award((0,), (1 << 30,))
