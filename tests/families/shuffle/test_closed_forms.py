"""Closed forms by concentration, the literature's for k-ary response, and exact local budgets."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.exact.randomness import exp_lower, exp_upper
from mechdesign.families.shuffle.enumeration import kary_rows
from mechdesign.families.shuffle.papers.theorems import TheoremSetting, bennett, hoeffding
from tests.support.enumeration import worst_divergence

KARY = {"name": "k-ary", "size": 3}


def test_concentration_is_above_every_enumeration():
    rng = np.random.default_rng(55)
    for _ in range(60):
        users, size = int(rng.integers(2, 7)), int(rng.integers(2, 4))
        local = float(rng.uniform(0.2, 3.0))
        epsilon = local * float(rng.uniform(0.05, 0.95))
        true = worst_divergence(kary_rows(exp_upper(local), size), users, exp_lower(epsilon), symmetric=True)
        for formula, known in product((hoeffding, bennett), (size, 0)):
            assert formula(TheoremSetting(users, 1e-6, known), local, epsilon) >= true.delta


def test_concentration_has_the_values_of_other_code():
    """Largest local epsilons at delta = 1e-9 for 10^5 and 10^6 users, central epsilon 0.1."""
    for users, by_hoeffding in ((10**5, 1.2267), (10**6, 1.9480)):
        # theirs takes the wider range (e + 1)(E - 1/E)
        found = md.solve(
            md.ShuffleLocalBudget(users=users, central_epsilon=0.1, delta=1e-9), "blanket-hoeffding"
        ).value
        assert by_hoeffding < found < 1.15 * by_hoeffding
    for users, by_bennett in ((10**5, 1.3967), (10**6, 2.5458)):
        found = md.solve(
            md.ShuffleLocalBudget(users=users, central_epsilon=0.1, delta=1e-9), "blanket-bennett"
        ).value
        assert by_bennett < found < 1.03 * by_bennett


@pytest.mark.parametrize("method", ["blanket-hoeffding", "blanket-bennett", "stronger-clones-kary"])
def test_closed_forms_are_certified_where_they_are_shown(method):
    for users, local in ((10**4, 0.5), (10**6, 2.0)):
        problem = md.ShuffleAmplification(users=users, local_epsilon=local, delta=1e-6, randomizer=KARY)
        solution = md.solve(problem, method)
        assert solution.certificates[0].holds
        assert md.solve(problem).value < solution.value < local
        assert solution.kind == ("heuristic" if method.startswith("stronger") else "analytic")


def test_outside_their_ranges_they_say_why():
    few = md.ShuffleAmplification(users=10, local_epsilon=1.0, delta=1e-9, randomizer=KARY)
    reasons = {item.name: item.why_not(few) for item in md.methods_of(md.ShuffleAmplification)}
    assert "no epsilon below the local one, 1" in reasons["blanket-hoeffding"]
    assert "its range is local epsilon <= ln(n / (8 ln(2/delta)) - 1)" in reasons["stronger-clones-kary"]
    anybody = md.ShuffleAmplification(users=10**6, local_epsilon=1.0, delta=1e-9)
    known = next(item for item in md.methods_of(anybody) if item.name == "stronger-clones-kary")
    assert known.why_not(anybody) == "it is for k-ary response"


def test_the_literature_has_this_value_for_kary_response():
    problem = md.ShuffleAmplification(
        users=10_000, local_epsilon=1.0, delta=1e-6, randomizer={"name": "k-ary", "size": 10}
    )
    assert md.solve(problem, "stronger-clones-kary").value == pytest.approx(0.110529, rel=1e-4)


@pytest.mark.parametrize(
    ("users", "size", "central", "delta"),
    [(2, 2, 0.5, 0.1), (4, 3, 0.5, 0.05), (8, 2, 0.5, 0.01), (3, 2, 2.0, 0.9)],
)
def test_exact_budgets_lie_between_two_enumerations(users, size, central, delta):
    solution = md.solve(
        md.ShuffleLocalBudget(
            users=users, central_epsilon=central, delta=delta, randomizer={"name": "k-ary", "size": size}
        )
    )
    assert (solution.method, solution.status) == ("exact", "optimal")
    assert solution.bound == pytest.approx(solution.value, rel=3e-7)
    enough = worst_divergence(kary_rows(exp_upper(solution.value), size), users, exp_lower(central), True)
    beyond = worst_divergence(kary_rows(exp_lower(solution.bound), size), users, exp_upper(central), True)
    assert enough.delta <= Fraction(delta) < beyond.delta
    assert solution.value >= md.solve(solution.problem, "blanket").value
    assert all(item.holds for item in solution.certificates)


def test_a_channel_is_exactly_enough_or_not():
    channel = {"name": "channel", "channel": [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]}
    rows = [
        [Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)],
        [Fraction(1, 10), Fraction(6, 10), Fraction(3, 10)],
    ]
    true = float(worst_divergence([tuple(row) for row in rows], 5, exp_lower(0.5)).delta)
    enough = md.solve(
        md.ShuffleLocalBudget(users=5, central_epsilon=0.5, delta=true * (1 + 1e-9), randomizer=channel)
    )
    assert (enough.method, enough.status) == ("exact", "optimal")
    assert enough.value == pytest.approx(math.log(7.0))
    short = md.solve(
        md.ShuffleLocalBudget(users=5, central_epsilon=0.5, delta=true * (1 - 1e-9), randomizer=channel)
    )
    assert short.status == "infeasible"
    assert "this channel has delta" in short.message
