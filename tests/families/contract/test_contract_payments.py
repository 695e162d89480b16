"""Exact payments: every promise holds without a tolerance, at the price of a few units in the last place."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.families.contract.incentives import audit_menu
from mechdesign.families.contract.payments import Rules, post, post_enough, post_within_budget

SIZES = st.integers(1, 30)


def random_menu(size, seed, spread):
    rng = np.random.default_rng(seed)
    types = np.sort(rng.uniform(0.1, 1.0, size) * spread)
    types = np.unique(types)
    counts = rng.integers(1, 50, len(types)).astype(float)
    epsilon = np.sort(rng.uniform(0.01, 3.0, len(types)))[::-1]
    return types, counts, epsilon.copy(), rng


@given(
    SIZES, st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 1e4]), st.sampled_from(["none", "same", "own"])
)
@settings(max_examples=150, deadline=None)
def test_every_certificate_is_exact_and_the_budget_is_nearly_spent(size, seed, spread, costs):
    types, counts, epsilon, rng = random_menu(size, seed, spread)
    cost = {
        "none": np.zeros(len(types)),
        "same": np.full(len(types), 0.3),
        "own": rng.uniform(0, 1, len(types)),
    }[costs]
    rules = Rules(types, counts, cost)
    budget = float(post(rules, epsilon).total)
    posted = post_within_budget(rules, epsilon, budget)
    certificates = audit_menu(types, counts, posted.epsilon, posted.payment, budget, cost)
    assert all(certificate.holds for certificate in certificates), certificates
    assert float(posted.total) >= budget * (1 - 1e-9)
    assert np.allclose(posted.epsilon, epsilon, rtol=1e-6)


@given(SIZES, st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_payments_are_the_least_possible(size, seed):
    types, counts, epsilon, _ = random_menu(size, seed, 1.0)
    posted = post(Rules(types, counts, np.zeros(len(types))), epsilon)
    exact = [Fraction(0)] * len(types)
    for i in reversed(range(len(types))):
        level = Fraction(float(posted.epsilon[i]))
        if i == len(types) - 1:
            exact[i] = Fraction(float(types[i])) * level
        else:
            exact[i] = exact[i + 1] + Fraction(float(types[i])) * (
                level - Fraction(float(posted.epsilon[i + 1]))
            )
    unit = Fraction(2) ** (math.frexp(float(types[-1] * epsilon[0]))[1] - 51)
    for paid, least in zip(posted.payment.tolist(), exact, strict=True):
        assert least <= Fraction(paid) <= least + len(types) * unit


def test_types_too_close_for_the_grid_share_an_item():
    types = np.array([1.1, np.nextafter(1.1, 2.0), 2.0])
    posted = post(Rules(types, np.ones(3), np.zeros(3)), np.array([1.0, 1.0 - 1e-12, 0.5]))
    assert posted.epsilon[0] == posted.epsilon[1]
    assert all(
        certificate.holds for certificate in audit_menu(types, np.ones(3), posted.epsilon, posted.payment)
    )


def test_floor_that_costs_just_the_budget_is_met():
    rules = Rules(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.zeros(2), low=0.5)
    posted = post_within_budget(rules, np.array([0.9, 0.5]), 7.0)
    assert posted.epsilon.tolist() == [0.5, 0.5]
    assert posted.total == 7
    assert post_within_budget(rules, np.array([0.9, 0.5]), math.nextafter(7.0, 0)) is None


def test_enough_scales_up_until_it_is():
    rules = Rules(np.array([1.0]), np.ones(1), np.zeros(1))
    posted = post_enough(rules, np.array([0.3]), lambda epsilon: bool(epsilon[0] > 0.3))
    assert 0.3 < posted.epsilon[0] < 0.3 * (1 + 1e-12)
    capped = Rules(np.array([1.0]), np.ones(1), np.zeros(1), high=0.3)
    assert post_enough(capped, np.array([0.3]), lambda epsilon: bool(epsilon[0] > 0.3)) is None


@pytest.mark.parametrize("shift", [-40, 0, 40])
def test_units_do_not_matter(shift):
    scale = 2.0**shift
    types, counts = np.array([1.0, 2.5, 3.0]), np.array([5.0, 2.5, 7.0])
    plain = post(Rules(types, counts, np.zeros(3)), np.array([3.0, 2.0, 1.0]))
    scaled = post(Rules(types * scale, counts, np.zeros(3)), np.array([3.0, 2.0, 1.0]))
    assert (scaled.payment == plain.payment * scale).all()
