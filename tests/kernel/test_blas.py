"""One thread for linear algebra while something is solved, and what was there before afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mechdesign.solvers import solve as blas

START = """
import os, sys, threading
import numpy as np
import mechdesign as md
from mechdesign.core import blas
from mechdesign.solvers.solve import libraries, one_thread

def counts(loading=True):
    return [library.threads() for library in libraries(loading)]

def set_counts(number):
    for library in libraries(True):
        library.set_threads(number)

problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
seen = []

def run(problem):
    seen.append(counts())
    return md.Outcome("failed", message="none")

watching = md.Method("watching", md.RandomizedResponse, "numeric", "", run)
set_counts(3)
many, one = [3] * len(counts()), [1] * len(counts())
assert counts() == many and (many or sys.platform != "linux"), "no library is found"
"""


def runs(code: str, **variables: str) -> str:
    """Run code in a process of its own, whose environment says nothing of threads but ``variables``."""
    environment = {name: value for name, value in os.environ.items() if name not in blas.VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_solve_has_one_thread_and_sets_back_what_was_there():
    runs("""
md.solve(problem, watching)
assert seen == [one] and counts() == many, (seen, counts())
set_counts(2)
md.compare(problem, [watching, "lp"])
assert seen[1:] == [one] and counts() == [2 for _ in one], (seen, counts())
""")


def test_a_bound_is_proven_again_with_one_thread_as_it_was_found():
    """With several, sums are in another order, and the stored numbers can prove a little less."""
    runs("""
from mechdesign.families.workload.workload_bound import WorkloadBound
of_class = WorkloadBound.check

def check(self, *arguments):
    seen.append(counts())
    return of_class(self, *arguments)

WorkloadBound.check = check
solution = md.solve(md.LinearQueries(workload={"name": "prefix", "size": 5}, epsilon=1.0))
found = len(seen)
assert all(item.holds for item in solution.certificates)
assert len(seen) > found and seen == [one] * len(seen) and counts() == many, (seen, counts())
""")


def test_the_library_of_scipy_is_limited_before_it_is_imported():
    """A fresh process has not loaded it yet; after the solve it has as many threads as it begins with."""
    runs("""
import subprocess
told = "print([library.threads() for library in libraries(True)]);"
head = "import sys; from mechdesign.solvers.solve import libraries, one_thread;"
solving = (
    "assert 'scipy.linalg' not in sys.modules;"
    "context = one_thread(loading=True); context.__enter__(); import scipy.linalg;"
    "assert {library.threads() for library in libraries()} <= {1}; context.__exit__(None, None, None);"
)
def output(code):
    command = [sys.executable, "-c", head + code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
assert output(solving + told) == output(told)
""")


@pytest.mark.parametrize("variable", blas.VARIABLES)
def test_a_number_in_the_environment_is_left_alone(variable):
    runs("md.solve(problem, watching); assert seen == [many] and counts() == many", **{variable: "3"})


def test_an_error_and_an_interrupt_leave_nothing_behind():
    runs("""
def stop(problem):
    raise KeyboardInterrupt
try:
    md.solve(problem, md.Method("stop", md.RandomizedResponse, "numeric", "", stop))
except KeyboardInterrupt:
    assert counts() == many
else:
    raise AssertionError
""")


def test_a_number_that_is_set_meanwhile_stays():
    runs("""
with one_thread(loading=True):
    with one_thread():
        pass
    assert counts() == one, "the outer one goes on"
    set_counts(2)
assert counts() == [2 for _ in one]
""")


def test_eight_threads_at_once_set_back_when_the_last_one_ends():
    runs("""
inside, leave = threading.Barrier(9), threading.Barrier(9)
def wait(problem):
    inside.wait(60)
    seen.append(counts())
    leave.wait(60)
    return md.Outcome("failed", message="none")
waiting = md.Method("waiting", md.RandomizedResponse, "numeric", "", wait)
threads = [threading.Thread(target=md.solve, args=(problem, waiting)) for _ in range(8)]
[thread.start() for thread in threads]
inside.wait(60)
leave.wait(60)
[thread.join(60) for thread in threads]
assert seen == [one] * 8 and counts() == many, (seen, counts())
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_process_forked_meanwhile_has_no_lock_and_no_limit_of_other_threads():
    runs("""
import time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
def forked(expected_in, expected_after):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert counts() == expected_in, counts()
            md.solve(problem, watching)
            assert seen[-1] == one, seen
            assert counts() == expected_in, counts()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, status
            return
        if time.monotonic() > deadline:
            os.kill(child, 9)
            raise AssertionError("deadlock")
        time.sleep(0.01)

with one_thread(loading=True):
    forked(one, None)  # its own solve goes on in the child
assert counts() == many
begun, end = threading.Event(), threading.Event()
def other():
    with one_thread(loading=True):
        begun.set()
        end.wait(60)
thread = threading.Thread(target=other)
thread.start()
begun.wait(60)
blas._lock.acquire()  # as if the other thread had it at this moment
forked(many, None)
blas._lock.release()
end.set()
thread.join()
assert counts() == many
""")


def test_a_closed_form_loads_no_library():
    runs("""
fresh = "import mechdesign as md; md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)); " \\
    "print('scipy.libs' in open('/proc/self/maps').read())"
import subprocess
if os.path.exists("/proc/self/maps"):
    told = subprocess.run([sys.executable, "-c", fresh], check=True, capture_output=True, text=True).stdout
    assert told == "False\\n", told
""")
