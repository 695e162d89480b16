"""The proven bound of a linear program: valid for any multipliers, tight for the solver's own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array

from mechdesign.core.errors import MethodError
from mechdesign.families.response import RandomizedResponse
from mechdesign.families.response.linear_program import compact_program
from mechdesign.solvers.linear import LinearProgram, proven_bound, solve_equality_form, solve_linear
from tests.support.exact import simplex_maximum


def boxed(costs, rows, limits, high) -> LinearProgram:
    count = len(costs)
    return LinearProgram(
        objective=np.array(costs, dtype=float),
        upper_rows=csr_array(np.array(rows, dtype=float).reshape(len(limits), count)),
        upper_limits=np.array(limits, dtype=float),
        equal_rows=csr_array((0, count)),
        equal_limits=np.zeros(0),
        low=np.zeros(count),
        high=np.full(count, float(high)),
    )


small = st.integers(-5, 5)


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_the_bound_is_above_the_exact_optimum_and_tight(data, count, height):
    costs = data.draw(st.lists(small, min_size=count, max_size=count))
    rows = [data.draw(st.lists(small, min_size=count, max_size=count)) for _ in range(height)]
    limits = data.draw(st.lists(st.integers(0, 5), min_size=height, max_size=height))
    result = solve_linear(boxed(costs, rows, limits, 3))
    box = [[Fraction(int(place == number)) for place in range(count)] for number in range(count)]
    exact = simplex_maximum(
        [Fraction(cost) for cost in costs],
        [[Fraction(entry) for entry in row] for row in rows] + box,
        [Fraction(limit) for limit in limits] + [Fraction(3)] * count,
    )
    assert result.status == "optimal"
    assert Fraction(result.bound) >= exact
    assert float(Fraction(result.bound) - exact) < 1e-9
    assert np.array(costs) @ result.variables == pytest.approx(float(exact), abs=1e-8)


@given(st.data(), st.integers(0, 10_000))
def test_any_multipliers_give_a_valid_bound(data, seed):
    rng = np.random.default_rng(seed)
    problem = RandomizedResponse(
        prior=rng.dirichlet(np.ones(3)), epsilon=float(rng.uniform(0, 2)), delta=float(rng.choice([0.0, 0.2]))
    )
    program = compact_program(problem)
    optimum = solve_linear(program)
    multipliers = np.maximum(
        0.0, optimum.upper_multipliers + rng.normal(0, 0.3, len(optimum.upper_multipliers))
    )
    free = optimum.equal_multipliers + rng.normal(0, 0.3, len(optimum.equal_multipliers))
    value = float(program.objective @ optimum.variables)
    assert proven_bound(program, multipliers, free) >= value - 1e-12
    assert proven_bound(program, np.zeros_like(multipliers), np.zeros_like(free)) >= value - 1e-12


@pytest.mark.parametrize("algorithm", ["simplex", "interior-point"])
def test_both_algorithms_reach_the_same_optimum(algorithm):
    program = compact_program(RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=math.log(2)))
    result = solve_linear(program, algorithm)
    assert result.status == "optimal"
    assert result.bound == pytest.approx(8 / 15, abs=1e-7)  # 2 * 0.8 / 3


def test_infeasible_and_unbounded_are_statuses_with_a_message():
    infeasible = solve_linear(boxed([1.0], [[1.0], [-1.0]], [1.0, -2.0], 9))
    assert (infeasible.status, infeasible.bound) == ("infeasible", None)
    assert infeasible.message
    unbounded = solve_linear(boxed([1.0], [[-1.0]], [0.0], np.inf))
    assert (unbounded.status, unbounded.bound) == ("unbounded", None)


def test_equality_form_returns_prices_and_refuses_what_has_no_solution():
    values, prices = solve_equality_form(np.array([1.0, 3.0]), np.array([[1.0, 2.0]]), np.array([4.0]))
    assert values == pytest.approx([0.0, 2.0])
    assert prices == pytest.approx([1.5])
    with pytest.raises(MethodError, match="HiGHS ended with"):
        solve_equality_form(np.array([1.0]), np.array([[1.0]]), np.array([-1.0]))
