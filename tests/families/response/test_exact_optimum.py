"""Optima against exact rational arithmetic: the n-ary formula, and linear programs solved in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.exact.randomness import TOTAL, exp_lower, exp_upper
from tests.support.exact import channel_optimum, nary_optimum, plain_factors, truth_gains

RATIONAL = {2: math.log(2), 3: math.log(3), 10: math.log(10)}
ROUNDING = 1e-13  # of ln 2 to a double, and of a sum of eight products


@st.composite
def rational_priors(draw: st.DrawFn, least: int = 2, most: int = 8) -> list[Fraction]:
    parts = draw(st.lists(st.integers(0, 12), min_size=least, max_size=most).filter(any))
    return [Fraction(part, sum(parts)) for part in parts]


def floats(values) -> list[float]:
    return [float(value) for value in values]


@given(
    rational_priors(most=3), st.sampled_from([2, 3]), st.sampled_from([0, Fraction(1, 10), Fraction(3, 5)])
)
@settings(max_examples=40)
def test_the_n_ary_formula_is_the_exact_optimum_of_the_definition(prior, exponential, delta):
    """Both readings of delta have the same optimum, by an exact linear program over all subsets."""
    formula = nary_optimum(prior, Fraction(exponential), Fraction(delta))
    factors = plain_factors(len(prior), Fraction(exponential))
    for notion in ("ldp", "entry-wise"):
        assert channel_optimum(truth_gains(prior), factors, Fraction(delta), notion) == formula


@pytest.mark.parametrize(("parts", "delta"), [((4, 3, 2, 1), Fraction(0)), ((1, 1, 1, 1), Fraction(1, 10))])
def test_the_n_ary_formula_is_exact_for_four_answers(parts, delta):
    prior = [Fraction(part, sum(parts)) for part in parts]
    formula = nary_optimum(prior, Fraction(2), delta)
    assert channel_optimum(truth_gains(prior), plain_factors(4, Fraction(2)), delta) == formula


@given(rational_priors(), st.sampled_from([2, 3, 10]), st.fractions(0, Fraction(9, 10), max_denominator=20))
@settings(max_examples=60)
def test_closed_form_and_linear_program_equal_the_formula_in_fractions(prior, exponential, delta):
    problem = md.RandomizedResponse(
        prior=floats(prior), epsilon=RATIONAL[exponential], delta=float(delta), notion="entry-wise"
    )
    exact = nary_optimum(prior, Fraction(exponential), delta)
    closed, program = md.solve(problem, "closed-form"), md.solve(problem, "lp")
    assert closed.value == pytest.approx(float(exact), abs=ROUNDING)
    assert closed.bound == pytest.approx(float(exact), abs=ROUNDING)
    assert abs(program.value - float(exact)) <= program.gap + ROUNDING
    assert Fraction(program.bound) >= exact - Fraction(ROUNDING)


@given(rational_priors(most=3), st.floats(0.0, 4.0), st.sampled_from([0.0, 0.05, 0.5]))
@settings(max_examples=40)
def test_every_proven_bound_is_above_the_exact_optimum(prior, epsilon, delta):
    """The linear program's bound with no tolerance at all; the exact optimum is of the doubles given."""
    problem = md.RandomizedResponse(prior=floats(prior), epsilon=epsilon, delta=delta)
    shares = [Fraction(share) for share in problem.prior.tolist()]
    exact = channel_optimum(
        truth_gains(shares), plain_factors(problem.size, exp_lower(epsilon)), Fraction(delta)
    )
    assert Fraction(md.solve(problem, "lp").bound) >= exact
    assert Fraction(md.solve(problem, "convex").bound) >= exact
    assert Fraction(md.solve(problem, "extreme-points").bound) >= exact - Fraction(ROUNDING)


@given(rational_priors(most=4), st.floats(0.0, 4.0), st.sampled_from([0.0, 0.05, 0.5]))
@settings(max_examples=40)
def test_no_deployed_channel_is_better_than_the_exact_optimum(prior, epsilon, delta):
    """A channel that is private exactly cannot beat the optimum: what the audit passes is truly private."""
    problem = md.RandomizedResponse(prior=floats(prior), epsilon=epsilon, delta=delta)
    shares = [Fraction(share) for share in problem.prior.tolist()]
    exact = nary_optimum(shares, exp_upper(epsilon), Fraction(delta)) * sum(shares)
    for method in ("closed-form", "lp"):
        mechanism = md.solve(problem, method).mechanism()
        if method == "closed-form":
            diagonal = [Fraction(mechanism.weights.own)] * problem.size
            for answer in mechanism.kept.tolist():
                diagonal[answer] += mechanism.weights.high
        else:
            diagonal = [Fraction(weight) for weight in np.diag(mechanism.weights).tolist()]
        value = sum(a * b for a, b in zip(shares, diagonal, strict=True)) / TOTAL
        assert value <= exact + abs(1 - sum(shares))
        assert float(exact - value) < 1e-8


@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
@settings(max_examples=25)
def test_general_utilities_and_metric_privacy_against_exact_linear_programs(seed, exponential):
    rng = np.random.default_rng(seed)
    size, reports = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    prior = [Fraction(int(part)) for part in rng.integers(1, 9, size)]
    prior = [part / sum(prior) for part in prior]
    table = rng.integers(-4, 5, (size, reports))
    gains = [[share * int(gain) for gain in row] for share, row in zip(prior, table, strict=True)]
    plain = channel_optimum(gains, plain_factors(size, Fraction(exponential)))
    problem = md.RandomizedResponse(
        prior=floats(prior), epsilon=RATIONAL[exponential], utility=table.astype(float)
    )
    for method in ("lp", "convex", "extreme-points"):
        solution = md.solve(problem, method)
        assert abs(solution.value - float(plain)) <= solution.gap + 1e-12
    line = [[Fraction(exponential) ** abs(i - k) for k in range(size)] for i in range(size)]
    metric = channel_optimum(gains, line)
    problem = md.RandomizedResponse(
        prior=floats(prior), epsilon=RATIONAL[exponential], utility=table.astype(float), distance="line"
    )
    for method in ("lp", "convex"):
        solution = md.solve(problem, method)
        assert abs(solution.value - float(metric)) <= solution.gap + 1e-12


def test_entry_wise_optimum_of_a_general_utility_may_exceed_the_set_wise_one():
    """Where they differ the problem says so; both against the exact optimum."""
    gains = [[Fraction(1, 3) * gain for gain in row] for row in ([1, 4, 0], [2, 0, 3], [3, 3, 3])]
    table = [[1.0, 4.0, 0.0], [2.0, 0.0, 3.0], [3.0, 3.0, 3.0]]
    found = {}
    for notion in ("ldp", "entry-wise"):
        exact = channel_optimum(gains, plain_factors(3, Fraction(2)), Fraction(1, 5), notion)
        problem = md.RandomizedResponse(
            prior=[1 / 3] * 3, epsilon=math.log(2), delta=0.2, utility=table, notion=notion
        )
        for method in ("lp", "convex", "extreme-points"):
            solution = md.solve(problem, method)
            assert abs(solution.value - float(exact)) <= solution.gap + 1e-12
        found[notion] = exact
    assert found == {"ldp": Fraction(122, 45), "entry-wise": Fraction(124, 45)}
