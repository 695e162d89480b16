"""Column generation: stated optima, proven gaps, and local search against all patterns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.workload.master import DualPrices
from mechdesign.families.workload.patterns import all_sets
from mechdesign.families.workload.query_outcomes import spectral_bound
from mechdesign.families.workload.workload_bound import Enclosure, _largest_ratio, _ratios

STATED = [
    ({"name": "prefix", "size": 12}, 1.0, 46.62969344, 1e-8),
    ({"name": "prefix", "size": 16}, 1.0, 74.80857370, 1e-8),
    ({"name": "prefix", "size": 16}, 2.0, 13.88059831, 1e-8),
    ({"name": "prefix", "size": 16}, 4.0, 1.60739152, 1e-8),
    ({"name": "ranges", "size": 16}, 2.0, 158.68350233, 1e-8),
    ({"name": "means", "sizes": [11]}, 1.0, 0.98007542, 1e-5),
    ({"name": "marginals", "sizes": [2, 2, 2, 2], "order": 3}, 1.0, 170.41541082, 1e-4),
]


@pytest.mark.parametrize(("workload", "epsilon", "stated", "left"), STATED)
def test_the_optimum_is_found_and_proven(workload, epsilon, stated, left):
    solution = md.solve(md.LinearQueries(workload=workload, epsilon=epsilon), "columns")
    assert solution.value == pytest.approx(stated, rel=left)
    assert 0.0 <= solution.value - solution.bound <= left * stated
    assert solution.certificates[-1].holds


def test_many_types_are_solved_to_the_named_gap():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 24}, epsilon=2.0)
    solution = md.solve(problem, "columns")
    assert solution.bound <= solution.value <= 1.005 * solution.bound
    optimality = solution.certificates[-1]
    assert optimality.holds
    assert 0.0 < optimality.figures["left"] < 0.005
    assert solution.mechanism().average_error == pytest.approx(solution.value, rel=1e-4)


def test_for_many_types_a_field_comes_near_to_the_bound():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 144}, epsilon=1.0)
    solution = md.solve(problem, "field")
    assert solution.bound < solution.value < 1.06 * solution.bound
    assert max(solution.residuals.values()) < 1e-9
    assert solution.mechanism().average_error == pytest.approx(solution.value, rel=1e-6)


BOUNDS = [  # spectral, with the value of the semidefinite relaxation
    ({"name": "prefix", "size": 8}, 0.5, 101.597290),
    ({"name": "prefix", "size": 8}, 2.0, 4.224190),
    ({"name": "prefix", "size": 16}, 1.0, 74.657628),
    ({"name": "prefix", "size": 16}, 2.0, 13.829610),
    ({"name": "prefix", "size": 16}, 4.0, 1.592328),
    ({"name": "prefix", "size": 32}, 1.0, 217.804434),
    ({"name": "prefix", "size": 32}, 2.0, 40.49200),
    ({"name": "prefix", "size": 64}, 1.0, 593.452558),
    ({"name": "ranges", "size": 24}, 2.0, 452.239488),
]


@pytest.mark.parametrize(("workload", "epsilon", "stated"), BOUNDS)
def test_the_spectral_bound_has_its_stated_value_in_outward_rounding(workload, epsilon, stated):
    problem = md.LinearQueries(workload=workload, epsilon=epsilon)
    proven = problem.proven(spectral_bound(problem)[0])
    # Its search ends within a few millionths of the best form, where depends on how sums are rounded.
    assert stated * (1.0 - 5e-6) <= proven <= stated * (1.0 + 1e-6)
    assert proven <= stated * (1.0 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_no_pattern_violates_the_spectral_dual(epsilon):
    """What is proven by a form holds for every pattern, gone through one by one."""
    problem = md.LinearQueries(workload={"name": "prefix", "size": 9}, epsilon=epsilon)
    bound = spectral_bound(problem)[0]
    prices = DualPrices.of(bound, problem.directions(np.eye(9)), float(np.exp(epsilon)))
    assert prices.ratios(all_sets(9)).max() <= 1.0 + 1e-6
    best = md.solve(problem, "all-columns")
    assert problem.proven(bound) <= best.value


def test_local_search_ends_where_no_exchange_helps():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 9}, epsilon=1.0)
    bound = spectral_bound(problem)[0]
    prices = DualPrices.of(bound, problem.directions(np.eye(9)), float(np.e))
    start = np.random.default_rng(1).random((50, 9)) < 0.5

    def gains(sets):
        columns = np.where(sets, np.e, 1.0)
        squares = np.einsum("kn,nm,km->k", columns, prices.form, columns)
        return squares - (columns @ prices.multiplier) * (columns @ prices.population)

    found = prices.climbed(start)
    reached = gains(found)
    assert (reached >= gains(start) - 1e-12).all()
    for place in range(9):
        other = found.copy()
        other[:, place] ^= True
        assert (gains(other) <= reached + 1e-9).all()


def test_a_bound_for_too_many_patterns_is_refused_without_its_form():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 24}, epsilon=1.0)
    bound = spectral_bound(problem)[0]
    bare = type(bound)(bound.population, bound.directions, bound.multiplier)
    with pytest.raises(md.CertificateError, match="too many patterns"):
        problem.proven(bare)


def test_a_search_that_finds_no_new_pattern_ends_with_what_it_has():
    # At this epsilon all patterns that local search reaches are in the master program after one round.
    solution = md.solve(md.LinearQueries(workload={"name": "ranges", "size": 32}, epsilon=4.0), "columns")
    assert solution.bound < solution.value < 1.008 * solution.bound
    assert all(item.holds for item in solution.certificates if item.property != "optimality")


@pytest.mark.parametrize("power", [1.6, 20.0, 3000.0])
@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_the_largest_ratio_of_all_patterns_is_that_of_enclosures_of_each(power, spread):
    rng, size = np.random.default_rng(7), 8
    for _ in range(20):
        directions = rng.normal(size=(4, size))
        form = Enclosure.of(directions.T @ directions, spread)
        multiplier = Enclosure.of(rng.uniform(0.1, 2.0, size))
        shares = Enclosure.of(rng.dirichlet(np.ones(size)), 1e-16)
        patterns = np.where(all_sets(size), power, 1.0)
        every = _ratios(np.vstack([patterns, np.ones(size)]), form, multiplier, shares)
        found = _largest_ratio(form, multiplier, shares, power)
        assert found == pytest.approx(every.max(), rel=1e-13)


def test_the_largest_ratio_is_no_less_than_any_ratio_in_fractions():
    rng, power = np.random.default_rng(3), 7.5
    directions, multiplier, shares = rng.normal(size=(2, 5)), rng.uniform(0.1, 2.0, 5), np.full(5, 0.2)
    form = Enclosure.of(directions).transposed @ Enclosure.of(directions)
    found = Fraction(_largest_ratio(form, Enclosure.of(multiplier), Enclosure.of(shares), power))
    for inside in all_sets(5).tolist():
        v = [Fraction(power) if entry else Fraction(1) for entry in inside]
        top = sum(
            sum(Fraction(b) * entry for b, entry in zip(row, v, strict=True)) ** 2
            for row in directions.tolist()
        )
        price = sum(Fraction(m) * entry for m, entry in zip(multiplier.tolist(), v, strict=True))
        share = sum(Fraction(s) * entry for s, entry in zip(shares.tolist(), v, strict=True))
        assert top <= found * price * share


def test_prices_that_may_be_negative_or_beyond_doubles_prove_no_largest_ratio():
    form, shares = Enclosure.of(np.eye(3)), Enclosure.of(np.full(3, 1.0 / 3.0))
    with pytest.raises(md.CertificateError, match="negative"):
        _largest_ratio(form, Enclosure.of(np.array([1.0, 1.0, -0.5])), shares, 50.0)
    with np.errstate(all="ignore"), pytest.raises(md.CertificateError, match="doubles"):
        _largest_ratio(form, Enclosure.of(np.ones(3)), shares, 1e200)
