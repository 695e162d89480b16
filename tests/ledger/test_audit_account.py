"""Totals of several mechanisms against exact fractions, and against what is proven for one of them."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mechdesign.audit.losses import losses_of, no_loss, pure_losses
from mechdesign.collect.base import Randomizer
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.values import changed
from mechdesign.exact.randomness import exp_lower
from mechdesign.families.shuffle.promise import profile, proven
from mechdesign.ledger.account import PROMISES, Collected, total
from mechdesign.ledger.renyi_filter import FILTER, THE_SUM, decided, filter_of, pure_cost, shuffled_cost, used


def exact_delta(epsilons: list[float], epsilon: float) -> float:
    """Return the delta of binary randomized responses, over all their outcomes, in exact fractions."""
    grown, found = exp_lower(epsilon), Fraction(0)
    odds = [exp_lower(each) for each in epsilons]
    for signs in product((True, False), repeat=len(epsilons)):
        first = second = Fraction(1)
        for sign, ratio in zip(signs, odds, strict=True):
            first *= (ratio if sign else 1) / (1 + ratio)
            second *= (1 if sign else ratio) / (1 + ratio)
        found += max(Fraction(0), first - grown * second)
    return float(found)


@pytest.mark.parametrize("epsilons", [[1.0], [0.5, 0.5, 0.5], [0.3, 0.7, 1.1, 2.0], [0.25] * 8])
def test_the_law_of_losses_bounds_the_exact_delta_and_is_next_to_it(epsilons):
    law = no_loss(-12)
    for epsilon in epsilons:
        law = law.plus(pure_losses(epsilon, 1, -12, 0.0), 0.0)
    for part in (0.0, 0.1, 0.3, 0.6, 0.9):
        epsilon = part * sum(epsilons)
        exact = exact_delta(epsilons, epsilon)
        assert exact <= law.delta(epsilon) <= exact * (1.0 + 1e-4) + 1e-9


def test_groups_squares_and_coarser_lattices_only_add():
    exact = exact_delta([0.4] * 9, 1.2)
    group = pure_losses(0.4, 9, -12, 1e-16)
    single = pure_losses(0.4, 1, -12, 0.0)
    squared, coarse = single.times(9, 1e-18), group.coarser().coarser()
    assert exact <= group.delta(1.2) <= exact * (1 + 1e-4), "there is an atom, and delta has a kink"
    for law in (squared, coarse, squared.on(-8), group.on(-13)):
        assert exact <= law.delta(1.2) <= exact * (1 + 2e-3)
        assert np.isclose(law.mass.sum() + law.infinite, 1.0, rtol=1e-9)
    assert group.trimmed(1e-3).delta(1.2) >= exact


def test_a_year_of_reports_is_far_below_the_sum():
    year = total([Collected("daily", 0.1, times=365)], within=1e-6)
    assert year.epsilon == 36.50000000000001, "0.1 is a double above 0.1, and the sum is rounded up"
    assert year.exact
    assert 10.313 < year.composed < 10.315
    with localcontext() as context:
        context.prec = 60
        chance = 1 / (1 + Decimal.from_float(-0.1).exp())

        def exact(epsilon: float) -> float:
            grown, found = Decimal(epsilon).exp(), Decimal(0)
            for count in range(366):
                first = chance**count * (1 - chance) ** (365 - count)
                second = chance ** (365 - count) * (1 - chance) ** count
                found += math.comb(365, count) * max(Decimal(0), first - grown * second)
            return float(found)

        assert exact(year.composed) <= 1e-6 < exact(year.composed - 1e-6)


def test_deltas_add_up_and_count_within_the_total():
    parts = [Collected("a", 0.5, 1e-7, times=4), Collected("b", 1.0)]
    found = total(parts, within=1e-6)
    assert found.epsilon == 3.0
    assert 4e-7 <= found.delta < 4.0000001e-7
    without = total([Collected("a", 0.5, times=4), Collected("b", 1.0)], within=6e-7)
    assert found.composed == pytest.approx(without.composed, rel=1e-6)
    assert total(parts).composed == math.inf, "no epsilon has delta 0"
    assert total(parts, within=1e-7).by == "nothing"
    assert total([Collected("a", math.inf)], within=1e-6).composed == math.inf
    assert total([Collected("a", 0.0, times=3)], within=1e-6).composed == 0.0


def test_one_shuffled_collection_is_what_the_amplification_proves():
    for users, local, size in ((10_000, 2.0, 0), (1000, 1.0, 4)):
        one = total([Collected("s", local, users=users, size=size)], 1e-6, shuffled=True)
        bound, _ = proven(users, Randomizer(local, size), one.composed * 1.01, 1e-6)
        assert bound <= 1e-6
        assert proven(users, Randomizer(local, size), one.composed * 0.97, 1e-6)[0] > 1e-6
        own = total([Collected("s", local, users=users)], 1e-6).composed
        assert own == pytest.approx(local, rel=1e-5), "not after a shuffler"


def test_a_law_of_a_profile_has_at_least_its_delta():
    bound = profile(3000, Randomizer(2.0), 1e-9)
    law = losses_of(bound, 1.0, -8)
    assert np.isclose(law.mass.sum() + law.infinite, 1.0)
    for epsilon in np.linspace(0.0, 1.0, 31).tolist():
        assert bound(epsilon) <= law.delta(epsilon) <= bound(epsilon) * 1.5 + law.infinite + 1e-15


def test_composition_after_shuffling_is_below_adding_up_and_grows_like_the_root():
    """Many rounds tend to a Gaussian with the sum of the variances."""
    rounds = [Collected("s", 2.0, times=times, users=10_000) for times in (1, 4, 64)]
    many = [total([one], 1e-6, shuffled=True) for one in rounds]
    assert many[0].composed < many[1].composed < 4 * many[0].composed
    assert many[1].composed < many[2].composed < 16 * many[1].composed
    assert 4.0 < many[2].composed / many[1].composed < 6.0, "about the root of 16, and more"
    mixed = [Collected("s", 2.0, users=10_000), Collected("own", 0.5)]
    found = total(mixed, 1e-6, shuffled=True)
    assert 0.5 < found.composed < 0.5 + many[0].composed + 1e-9


def test_a_filter_is_above_the_law_of_the_sum_and_not_far():
    """What it allows has the limit by the law of the sum, which is the least of all that is proven."""
    for epsilon, limit in ((0.1, 5.0), (0.02, 1.0), (1.0, 20.0)):
        found = filter_of(limit, 1e-6)
        times = int(found.budget / pure_cost(epsilon, found.order))
        allowed = total([Collected("a", epsilon, times=times)], 1e-6).composed
        assert 0.7 * limit < allowed <= limit
        assert used([Collected("a", epsilon, times=times)], limit, 1e-6, False) <= 1.0
        assert used([Collected("a", epsilon, times=2 * times)], limit, 1e-6, False) > 1.0


def test_the_divergence_of_a_filter_is_that_of_binary_randomized_response():
    for epsilon, order in ((0.1, 7.5), (2.0, 3.0)):
        high = math.exp(epsilon) / (1.0 + math.exp(epsilon))
        low = 1.0 - high
        exact = math.log(high**order * low ** (1 - order) + low**order * high ** (1 - order)) / (order - 1)
        assert exact * (1 - 1e-12) <= pure_cost(epsilon, order) <= exact * (1 + 1e-12)


def test_shuffled_reports_cost_less_and_no_less_than_their_law():
    found = filter_of(2.0, 1e-6)
    cost = shuffled_cost(10_000, 0, 2.0, found.order)
    assert 0.0 < cost < pure_cost(2.0, found.order) / 100.0
    times = int(found.budget / cost)
    allowed = total([Collected("s", 2.0, times=times, users=10_000)], 1e-6, shuffled=True).composed
    assert 0.7 * 2.0 < allowed <= 2.0
    assert used([Collected("s", 2.0, times=times, users=10_000)], 2.0, 1e-6, True) <= 1.0
    assert used([Collected("s", 2.0, users=10_000)], 2.0, 1e-6, False) <= 1.0


def test_deltas_of_reports_leave_the_sum_only():
    parts = [Collected("a", 0.1, 1e-9, times=10)]
    assert used(parts, 2.0, 1e-6, False) == pytest.approx(0.5)
    assert used(parts, 2.0, 1e-9, False) == math.inf
    assert used([], 2.0, 0.0, False) == 0.0


def exact_divergence(epsilon, order):
    """Return the Renyi divergence to many digits, by sums and quotients of a second formula."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 120, MAX_EMAX, MIN_EMIN
        a, grown = Decimal(order), Decimal(epsilon).exp()
        high = grown / (1 + grown)
        low = 1 / (1 + grown)
        return (high * (high / low) ** (a - 1) + low * (low / high) ** (a - 1)).ln() / (a - 1)


def test_divergences_are_rounded_up_and_never_negative():
    rng = np.random.default_rng(0)
    tight = 0
    for power, order in zip(rng.uniform(-14, 1.5, 3000), 1 + 10 ** rng.uniform(-2, 3.3, 3000), strict=True):
        epsilon, order = float(10.0**power), float(order)
        found, exact = Fraction(pure_cost(epsilon, order)), Fraction(exact_divergence(epsilon, order))
        assert found > 0
        assert found >= exact, (epsilon, order)
        assert found <= exact * (1 + Fraction(1, 10**14)), (epsilon, order)
        tight += math.nextafter(float(found), 0.0) < exact
    assert tight > 2900  # the next double below is too small


@pytest.mark.parametrize(("epsilon", "delta"), [(11.0, 1e-6), (1e-3, 1e-300), (0.5, 0.5), (700.0, 1e-12)])
def test_a_budget_is_rounded_down(epsilon, delta):
    found = filter_of(epsilon, delta)
    with localcontext() as context:
        context.prec = 60
        a = Decimal(found.order)
        exact = Decimal(epsilon) - ((a - 1) / a).ln() + (Decimal(delta).ln() + a.ln()) / (a - 1)
    assert Fraction(math.nextafter(found.budget, math.inf)) > Fraction(exact) >= Fraction(found.budget)


@pytest.mark.parametrize(("epsilon", "times"), [("0.1", 10), ("1/11", 11), ("1/3", 3), ("0.7", 10)])
def test_parts_of_a_whole_fill_it_and_no_more(epsilon, times):
    one = Guarantee(epsilon)
    whole = one.times(times).epsilon
    parts = [Collected.of("m", one, times=times)]
    assert used(parts, whole, 0.0, False) == 1.0
    assert total(parts).guarantee.epsilon == whole
    more = [*parts, Collected.of("m", Guarantee("1e-30"))]
    assert used(more, whole, 0.0, False) > 1.0
    assert total([*parts, Collected.of("s", Guarantee(1, "1e-9", "central"))]).guarantee.notion == "central"


def test_deltas_add_as_they_are_written():
    parts = [Collected.of("m", Guarantee(1, "1e-7"), times=10)]
    assert used(parts, 10, "1e-6", False) == 1.0
    assert total(parts, 1e-6).composed == 10.0
    assert total([Collected.of("m", Guarantee(1, "1.01e-7"), times=10)], 1e-6).by == "nothing"


def test_only_one_of_the_accounts_with_a_delta_is_open_to_a_group():
    """Which one depends on the first collection alone: a result that is seen later does not choose."""
    pair = Collected.of("m", Guarantee("0.2"), promise=Guarantee("0.1", "1e-7"))
    many = [Collected.of("s", Guarantee("0.001"), times=2000)]
    assert decided([pair], "1", "1e-6", False) == (0.1, PROMISES)
    assert used(many, "1", "1e-6", False) < 1.0 < used([pair, *many], "1", "1e-6", False)
    assert decided([*many, pair], "1", "1e-6", False)[1] == FILTER
    infinite = Collected.of("i", Guarantee("0.1", "1e-6"))
    assert used([pair, infinite], "1", "1e-6", False) > 1.0
    assert used([infinite], "1", "1e-6", False) <= 1.0
    large = Collected.of("l", Guarantee("0.9"))
    assert decided([large, pair], "1", "1e-6", False) == (1.0, PROMISES)
    assert decided([large, infinite], "1", "1e-6", False) == (1.0, THE_SUM)
    assert used([large, pair, pair], "1", "1e-6", False) > 1.0
    assert decided([changed(pair, times=10)], "11", "1e-6", False)[1] != PROMISES
