"""Programs that grow: their multipliers prove a bound close to the value."""

import subprocess
import sys

import numpy as np
import pytest

from mechdesign.solvers.highs import GrowingProgram

EXACT = 1e-6
"""The simplex method allows itself errors of 1e-7."""


def cliques(seed, users=40, rows=120):
    """Return a program of random sets of users, and its gains and matrix; it was solved once and grew."""
    rng = np.random.default_rng(seed)
    gains = rng.uniform(0.5, 2.0, size=users)
    matrix = np.array(rng.random((rows, users)) < 0.15, dtype=float)
    matrix[:, 0] = 1.0
    program = GrowingProgram()
    program.columns(gains)
    half = [(np.flatnonzero(row), row[row > 0]) for row in matrix]
    program.rows(half[: rows // 2])
    program.rows([])
    assert program.solve(20.0)
    program.rows(half[rows // 2 :])
    return program, gains, matrix


@pytest.mark.parametrize("seed", range(10))
def test_multipliers_prove_a_bound_close_to_the_value(seed):
    program, gains, matrix = cliques(seed)
    assert program.solve(20.0)
    prices = np.maximum(program.multipliers, 0.0)
    excess = np.maximum(gains - prices @ matrix, 0.0)  # no variable is above 1: each is in some row
    bound, value = prices.sum() + excess.sum(), gains @ program.values
    assert (matrix @ program.values <= 1.0 + EXACT).all()
    assert value <= bound * (1.0 + EXACT)
    assert bound <= value * (1.0 + EXACT)


def test_a_row_of_everybody_that_comes_late_is_kept():
    program, _, _ = cliques(1)
    before = program.values.copy()
    program.rows([(np.arange(40), np.ones(40))])
    assert program.solve(20.0)
    assert program.values.sum() <= 1.0 + EXACT < before.sum()


def test_nothing_is_printed_by_the_solver_itself():
    """Its banner would stand before our JSON; it is printed by C, so another process has to listen."""
    program = (
        "import numpy as np\n"
        "from mechdesign.solvers.highs import GrowingProgram\n"
        "from mechdesign.solvers.integer import MixedProgram, solve_mixed\n"
        "grown = GrowingProgram(); grown.columns(np.ones(2)); grown.solve(5.0)\n"
        "none, one = np.zeros(2), np.ones(2)\n"
        "rows = [[(0, 1.0), (1, 1.0)]]\n"
        "print(solve_mixed(MixedProgram(one, rows, [1.0], none, one, one > 0)).status)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "optimal\n"
