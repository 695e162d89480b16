"""Rules of one slot: against their slowest readings, and against every misreport of small slots."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import MethodError
from mechdesign.mechanisms.auction import greedy, published, vcg
from mechdesign.mechanisms.auction.rules import RULES, misreports
from mechdesign.mechanisms.auction.slot import MOST_UNITS, UNIT, Slot, able_of, prices_of, slot_of
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
            for price, tasks in reports(slot, user, TOP):
                gain = utility(rule, changed(slot, user, price, tasks), user, cost) - honest
                if gain > 0:
                    found.append((slot, user, price, tasks, gain))
    return found


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
        slot = slot_of(prices_of(bids, Fraction(1)), able, np.array([1]), 1.0, [Fraction(0)] * 2)
        assert slot.prices == (1 << 30, 1 << 30)
        for rule in (greedy.award, vcg.award_exactly):
            honest = rule(slot)
            assert honest.winners == (0,)
            less = changed(slot, 1, slot.prices[1] - 1, (True,))
            (user,), (payment,) = rule(less).winners, rule(less).payments
            assert user == 1
            assert payment * UNIT <= Fraction(bids[1, 0]), "nothing is gained by asking less"


def test_the_search_says_whom_it_asked():
    assert RULES["milp"].remark(UNDERBID) == "asked of dynamic programming in its place"
    assert RULES["exact"].remark(UNDERBID) == RULES["greedy"].remark(UNDERBID) == ""


def test_the_integer_program_finds_the_same():
    for slot in small_slots(15, 6):
        award, exact = vcg.award(slot), vcg.award_exactly(slot)
        best = least_weight(slot)
        assert sum(slot.weights[user] for user in award.winners) == best
        assert vcg.lower_bound(slot, award.winners, nodes=50) <= best
        assert vcg.lower_bound(slot, award.winners, nodes=50) >= best - 1e-6
        paid = dict(zip(exact.winners, exact.payments, strict=True))
        for user, payment in zip(award.winners, award.payments, strict=True):
            assert user not in paid or payment - paid[user] in (0, 1), "a unit less where the tie loses"


def test_nobody_is_paid_by_programs_that_the_solver_left_half_solved(monkeypatch):
    whole = vcg.solve_binary
    monkeypatch.setattr(vcg, "solve_binary", lambda program: replace(whole(program), status="feasible"))
    with pytest.raises(MethodError, match="stopped at its limit, and payments would not be critical"):
        vcg.award(UNDERBID)


def test_the_audit_finds_what_brute_force_finds():
    """Its few prices around the meeting points of ratios are as good as all prices."""
    for slot in small_slots(16, 30):
        if slot.forced:
            continue
        brute = gains(published.award, [slot])
        search = misreports(RULES["published"], slot)
        assert search.exhaustive
        assert (search.best is not None) == bool(brute)
        if brute:
            assert search.best.gained >= max(gain for *_, gain in brute)
        assert misreports(RULES["greedy"], slot).best is None


def test_costs_are_rounded_up_to_units_and_payments_are_whole():
    epsilon = Fraction(0.7)
    bids = np.array([[0.1, 0.3], [1e-300, 0.0], [0.0, 0.0], [3.0, 0.5]])
    for price, (sensing, privacy) in zip(prices_of(bids, epsilon), bids.tolist(), strict=True):
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
