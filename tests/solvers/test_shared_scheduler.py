"""HiGHS has one scheduler a process: what other packages did with it must not stop the solvers here."""

import subprocess
import sys

PROGRAM = """
import cvxpy as cp
import numpy as np
import mechdesign as md
from scipy.sparse import csc_array
from mechdesign.solvers.highs import packed
from mechdesign.solvers.integer import MixedProgram, solve_mixed

x = cp.Variable(2, integer=True)
cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.5]).solve(solver="HIGHS", threads=2)
one = np.ones(2)
mixed = MixedProgram(np.array([2.0, 1.0]), [[(0, 1.0), (1, 1.0)]], [1.5], one * 0, one, one > 0)
assert solve_mixed(mixed).status == "optimal"
rows = csc_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
assert packed(np.array([1.0, 3.0, 1.0]), rows, np.zeros(2, dtype=bool), 10.0) is not None
problem = md.DirectMechanism(environment={"name": "single-item", "types": [1, 2, 3], "agents": 2})
assert md.solve(problem, "exact-lp").value == 2.0
"""


def test_a_program_that_ran_highs_with_two_threads_can_use_all_solvers():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
