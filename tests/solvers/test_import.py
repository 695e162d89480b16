"""cvxpy without scipy.stats: nothing of either is lost, whoever comes first; other threads see neither."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGINNINGS = {
    "by itself": "import_cvxpy()",
    "with scipy.stats before": "import scipy.stats\nimport_cvxpy()",
    "with cvxpy before": "import cvxpy\nimport_cvxpy()",
    "next to a thread": "Thread(target=stopped.wait).start()\nimport_cvxpy()\nstopped.set()",
    "where it is asked meanwhile": "sys.meta_path.insert(0, Asker())\nimport_cvxpy()",
}

START = """
import sys
from threading import Event, Thread
stopped = Event()

class Asker:
    def find_spec(self, name, path=None, target=None):
        if name == "cvxpy.atoms.quantum_rel_entr":
            from scipy.stats import norm
            assert norm.cdf(0.0) == 0.5

from mechdesign.solvers.convex import import_cvxpy
"""

END = """
import numpy as np
import cvxpy
half = np.diag([0.5, 0.5])
assert abs(cvxpy.von_neumann_entr(half).value - np.log(2.0)) < 1e-9
assert abs(cvxpy.quantum_rel_entr(np.diag([0.25, 0.75]), half).value - 0.130812) < 1e-5
import scipy.stats
from scipy.stats import chi2, entropy
assert scipy.stats.norm.cdf(0.0) == 0.5 and entropy([0.5, 0.5], base=2) == 1.0 and chi2.cdf(0.0, 1) == 0.0
assert type(sys.modules["scipy.stats"]).__name__ == "module"
"""


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_cvxpy_and_scipy_stats_are_whole(beginning: str) -> None:
    """What stands for scipy.stats while cvxpy is imported is gone afterwards, and answers all before."""
    done = subprocess.run([sys.executable, "-c", START + beginning + END], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_statement_is_solved_without_scipy_stats() -> None:
    """That is what it is for: half of the time of the import."""
    program = """
import sys, mechdesign as md
print(md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0), "statement").status)
assert "cvxpy" in sys.modules and "scipy.stats" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "optimal\n"), done.stderr
