"""First-order steps: multipliers prove a bound close to what HiGHS finds, also once the program grew."""

import numpy as np
import pytest

from mechdesign.solvers.descent import SteppedProgram
from mechdesign.solvers.highs import GrowingProgram

USERS, LEVELS, ROWS = 30, 4, 80


def both(seed, exactly):
    """Return a program of random sets of columns for the steps, and the same for HiGHS."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(USERS), LEVELS)
    gains = 100.0 * rng.uniform(0.2, 2.0, size=USERS * LEVELS)
    fixed = np.arange(USERS) < exactly
    stepped, simplex = SteppedProgram(gains, groups, fixed), GrowingProgram()
    simplex.columns(gains)
    for group in range(USERS):
        simplex.row(np.flatnonzero(groups == group), np.ones(LEVELS), exactly=bool(fixed[group]))
    members = [rng.choice(np.arange(LEVELS, USERS * LEVELS), 8, replace=False) for _ in range(ROWS)]
    rows = [(found, rng.uniform(0.3, 1.0, size=8)) for found in members]
    return stepped, simplex, rows


def proven(stepped):
    """Return the bound of weak duality, from the entries."""
    rows, columns, entries = stepped._entries()
    prices = np.where(np.arange(stepped.size) < len(stepped.exactly), stepped.multipliers, 0.0)
    prices += np.where(
        np.arange(stepped.size) < len(stepped.exactly), 0.0, np.maximum(stepped.multipliers, 0)
    )
    left = stepped.gains - np.bincount(columns, prices[rows] * entries, len(stepped.gains))
    most = [left[(stepped.groups == g) & stepped.open].max() for g in range(USERS)]
    rest = [best if exact else max(best, 0.0) for best, exact in zip(most, stepped.exactly, strict=True)]
    return prices.sum() + sum(rest)


@pytest.mark.parametrize("exactly", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_a_program_that_grows_and_shrinks_agrees_with_highs(seed, exactly):
    stepped, simplex, rows = both(seed, exactly)
    stepped.rows(rows[: ROWS // 2])
    assert stepped.solve(20.0, 0.0, blocks=2)
    stepped.rows(rows[ROWS // 2 :])
    simplex.rows(rows)
    for program in (stepped, simplex):
        program.column(150.0, np.array([1, USERS, USERS + 3]), np.array([1.0, 0.9, 0.4]))
        program.entry(USERS + 5, USERS * LEVELS, 0.7)
        program.close(np.array([7, 20]))
        program.drop(np.array([USERS + 1, USERS + 60]))
    assert simplex.solve(20.0)
    stepped.solve(20.0, 0.0, blocks=30)
    best = float(stepped.gains @ simplex.values)
    assert best * (1.0 - 1e-9) <= proven(stepped) <= best * 1.003
    assert stepped.gains @ stepped.values == pytest.approx(best, rel=0.003)
    assert stepped.values[[7, 20]].tolist() == [0.0, 0.0]


def test_steps_end_where_the_bound_is_near_enough_and_go_on_from_the_last_solution():
    stepped, _, rows = both(9, 0)
    stepped.rows(rows)
    stepped.solve(20.0, 1e9)
    first = proven(stepped)
    stepped.begin(stepped.values, stepped.multipliers)
    stepped.solve(20.0, 0.0, blocks=20)
    assert proven(stepped) < first
    stepped.solve(0.0, 0.0)  # no time: one block
    assert proven(stepped) < first
