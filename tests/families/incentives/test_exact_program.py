"""Linear programs and systems in whole numbers: proofs hold, whatever HiGHS says."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.solvers import exact_linear
from mechdesign.solvers.exact_linear import (
    IntegerProgram,
    IntegerRows,
    nearby_fractions,
    solve_exactly,
    whole_array,
)
from mechdesign.solvers.linear_systems import CommonFractions, FactoredSystem


@pytest.mark.parametrize("size", [1, 2, 5, 20, 80])
def test_a_system_is_solved_exactly_both_ways(size):
    rng = random.Random(size)
    for _ in range(5):
        rows = [
            {
                column: rng.choice([-7, -3, -1, 1, 2, 10**6])
                for column in rng.sample(range(size), min(size, 3))
            }
            | {place: rng.choice([1, 3, -5])}
            for place in range(size)
        ]
        right = [rng.randint(-9, 9) for _ in range(size)]
        try:
            system = FactoredSystem(rows)
        except ZeroDivisionError:
            continue
        x = system.solved(right).fractions()
        y = system.solved(right, transposed=True).fractions()
        assert [sum(value * x[place] for place, value in row.items()) for row in rows] == right
        columns = [
            sum(row.get(place, 0) * y[number] for number, row in enumerate(rows)) for place in range(size)
        ]
        assert columns == right


def test_a_singular_system_is_refused():
    with pytest.raises(ZeroDivisionError, match="singular"):
        FactoredSystem([{0: 1, 1: 2}, {0: 2, 1: 4}])
    with pytest.raises(ZeroDivisionError):
        FactoredSystem([{0: 1}, {}])


def random_program(rng, rows, columns, size=50):
    matrix = rng.integers(-size, size + 1, (rows, columns))
    matrix[rng.random((rows, columns)) < 0.5] = 0
    places = np.nonzero(matrix)
    return IntegerProgram(
        rng.integers(-9, 10, columns),
        IntegerRows.of_entries(*places, matrix[places], (rows, columns)),
        rng.integers(-3, 30, rows),
        rng.random(rows) < 0.2,
        rng.random(columns) < 0.2,
    )


def test_random_programs_are_proven_optimal_or_infeasible():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(250):
        program = random_program(rng, int(rng.integers(1, 12)), int(rng.integers(1, 12)))
        found = solve_exactly(program)
        seen.add(found.status)
        if found.status == "optimal":
            assert program.primal_is_feasible(found.point)
            assert program.dual_is_feasible(found.prices)
            assert program.value(found.point) == program.bound(found.prices)
        elif found.status == "infeasible":
            nothing = replace(program, objective=np.zeros_like(program.objective))
            assert nothing.dual_is_feasible(found.prices)
            assert program.bound(found.prices) < 0
        else:
            assert found.status == "unbounded"
    assert seen == {"optimal", "infeasible", "unbounded"}


def test_the_basis_serves_where_small_denominators_do_not(monkeypatch):
    """With denominators up to 1 nothing but integers is guessed, and the basis gives the same optimum."""
    rng = np.random.default_rng(5)
    programs = [random_program(rng, 6, 8) for _ in range(60)]
    before = [solve_exactly(program) for program in programs]
    monkeypatch.setattr(exact_linear, "DENOMINATORS", ())
    from_basis = 0
    for program, one in zip(programs, before, strict=True):
        other = solve_exactly(program)
        assert other.status == one.status
        if one.status == "optimal":
            from_basis += other.how == "the basis, solved in rationals"
            assert program.value(other.point) == program.value(one.point)
    assert from_basis > 5


def test_numbers_beyond_int64_are_exact():
    big = 10**30
    rows = IntegerRows.of_entries(np.array([0, 0]), np.array([0, 1]), whole_array([big, 2 * big + 1]), (1, 2))
    program = IntegerProgram(
        whole_array([1, 3]), rows, whole_array([big]), np.array([False]), np.zeros(2, dtype=bool)
    )
    found = solve_exactly(program)
    assert found.status == "optimal"
    assert program.value(found.point) == Fraction(3 * big, 2 * big + 1)


def test_an_infeasible_point_and_wrong_prices_are_refused():
    rows = IntegerRows.of_entries(np.array([0]), np.array([0]), np.array([2]), (1, 1))
    program = IntegerProgram(np.array([1]), rows, np.array([1]), np.array([False]), np.array([False]))
    assert program.primal_is_feasible(CommonFractions([1], 2))
    assert not program.primal_is_feasible(CommonFractions([2], 3))
    assert not program.primal_is_feasible(CommonFractions([-1], 3))
    assert program.dual_is_feasible(CommonFractions([1], 2))
    assert not program.dual_is_feasible(CommonFractions([1], 3))
    assert not program.dual_is_feasible(CommonFractions([-1], 2))


def test_nearby_fractions_share_a_denominator():
    found = nearby_fractions(np.array([1 / 7, 2 / 3, -0.25]), 1000)
    assert found.fractions() == [Fraction(1, 7), Fraction(2, 3), Fraction(-1, 4)]
