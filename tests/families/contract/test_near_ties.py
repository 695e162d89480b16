"""Types that are nearly equal, users of very different numbers: against the optimum in rationals."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.families.contract import PrivacyContract
from mechdesign.families.contract.allocation import ironed_costs
from mechdesign.families.contract.incentives import audit_menu
from mechdesign.families.contract.payments import Rules, post


def exact_blocks(types, counts):
    """Return (users, ironed virtual cost) of each block, from the convex minorant of (L_i, theta_i L_i)."""
    points = [(Fraction(0), Fraction(0))]
    for theta, users in zip(types, counts, strict=True):
        below = points[-1][0] + Fraction(float(users))
        points.append((below, Fraction(float(theta)) * below))
    hull = points[:1]
    for point in points[1:]:
        while len(hull) > 1 and slope(hull[-2], hull[-1]) >= slope(hull[-1], point):
            hull.pop()
        hull.append(point)
    return [(b[0] - a[0], slope(a, b)) for a, b in pairwise(hull)]


def slope(a, b):
    return (b[1] - a[1]) / (b[0] - a[0])


def exact_optimum(types, counts, budget):
    """Return (sum of users * cost^(2/3))^3 / budget^2, to fifty digits."""
    with localcontext() as context:
        context.prec = 60

        def decimal(number):
            return Decimal(number.numerator) / Decimal(number.denominator)

        roots = [
            decimal(users) * (decimal(cost).ln() * 2 / 3).exp() for users, cost in exact_blocks(types, counts)
        ]
        return Fraction(sum(roots) ** 3 / decimal(Fraction(float(budget))) ** 2)


NEAR = st.sampled_from([2.0**-52, 1e-15, 1e-13, 1e-12, 1e-10, 1e-8, 1e-4, 1.0])
ROWS = st.lists(st.tuples(NEAR, st.floats(0.5, 2.0), st.floats(0.0, 12.0)), min_size=2, max_size=7)


@given(ROWS, st.sampled_from([1.0, 1e-3, 7.0]), st.sampled_from([1e-2, 1e3, 1e9]))
@settings(max_examples=200, deadline=None)
def test_value_and_bound_enclose_the_exact_optimum(rows, first, budget):
    steps, parts, powers = (np.array(column) for column in zip(*rows, strict=True))
    types = np.unique(first * (1.0 + np.cumsum(steps * parts)))
    counts = np.rint(10.0 ** powers[: len(types)])
    solution = md.solve(PrivacyContract(types=types, counts=counts, budget=budget))
    optimum = exact_optimum(types, counts, budget)
    assert solution.bound <= optimum
    assert all(certificate.holds for certificate in solution.certificates), solution
    # the menu is feasible: only the sum of its terms is rounded
    assert Fraction(solution.value) >= optimum * (1 - Fraction(len(types), 2**52))


@given(ROWS)
@settings(max_examples=100, deadline=None)
def test_ironed_costs_keep_their_digits(rows):
    steps, parts, powers = (np.array(column) for column in zip(*rows, strict=True))
    types = np.unique(1.0 + np.cumsum(steps * parts))
    counts = np.rint(10.0 ** powers[: len(types)])
    people = PrivacyContract(types=types, counts=counts, budget=1.0).population
    costs = ironed_costs(people)
    blocks = exact_blocks(types, counts)
    reached, place = Fraction(0), 0
    for users, cost in zip(counts.tolist(), costs.prices.tolist(), strict=True):
        reached += Fraction(users)
        while reached > sum(size for size, _ in blocks[: place + 1]):
            place += 1
        assert abs(Fraction(cost) / blocks[place][1] - 1) < Fraction(32 * len(types), 2**53)


def test_many_users_keep_their_epsilon_beside_one_user_of_nearly_the_same_type():
    solution = md.solve(PrivacyContract(types=[1, 1 + 1e-12, 3], counts=[1e9, 1, 5], budget=1e9))
    optimum = float(exact_optimum([1.0, 1 + 1e-12, 3.0], [1e9, 1.0, 5.0], 1e9))
    assert solution.value / optimum - 1 < 1e-9
    assert all(certificate.holds for certificate in solution.certificates)


def test_an_item_that_is_shared_is_that_of_the_many():
    types = np.array([1.1, np.nextafter(1.1, 2.0), np.nextafter(1.1, 2.0) + 2.0**-52, 2.0])
    for counts in ([1e6, 1.0, 1.0, 5.0], [1.0, 1e6, 1.0, 5.0], [1.0, 1.0, 1e6, 5.0]):
        users, wanted = np.array(counts), np.array([1.0, 1.0 - 1e-4, 1.0 - 2e-4, 0.5])
        posted = post(Rules(types, users, np.zeros(4)), wanted)
        assert (posted.epsilon[:3] == posted.epsilon[0]).all()
        assert posted.epsilon[0] == pytest.approx(
            float(users[:3] @ wanted[:3] / users[:3].sum()), abs=2.0**-50
        )
        assert all(
            certificate.holds for certificate in audit_menu(types, users, posted.epsilon, posted.payment)
        )


def test_a_hundred_thousand_types_one_float_apart():
    types = 1.0 + np.arange(1e5) * 2.0**-52
    solution = md.solve(PrivacyContract(types=types, counts=1e5, budget=1e5))
    assert all(certificate.holds for certificate in solution.certificates)


def test_any_error_can_be_had_with_laplace_noise():
    answer = md.solve(PrivacyContract(types=[1.0], counts=[1], target_error=0.001))
    with_money = md.solve(PrivacyContract(types=[1.0], counts=[1], budget=answer.value))
    assert answer.status == "optimal"
    assert with_money.quantities["alpha"] == pytest.approx(0.001, rel=1e-12)
    assert all(certificate.holds for certificate in answer.certificates)


def test_an_error_out_of_reach_names_the_cap_that_is_in_the_way():
    base = {"types": [1.0, 3.0], "counts": [1, 4], "target_error": 0.001}
    own = md.solve(PrivacyContract(**base, epsilon_max=2.0))
    assert (own.status, own.notes["least_error"]) == ("infeasible", pytest.approx(1.0))
    assert "epsilon at most 2, the epsilon_max" in own.message
    noise = md.solve(PrivacyContract(**base, noise="duchi"))
    assert noise.status == "infeasible"
    assert "epsilon at most 100, the most that noise 'duchi' is sold at" in noise.message


@pytest.mark.parametrize("target", [1e-20, 1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("method", ["reduced-program", "full-program"])
def test_programs_know_no_scale_of_epsilon_either(target, method):
    problem = PrivacyContract(types=[1.0, 3.0], counts=[1, 4], target_error=target)
    assert md.solve(problem, method=method).value == pytest.approx(md.solve(problem).value, rel=1e-6)
