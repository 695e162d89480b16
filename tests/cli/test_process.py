"""The command line as a process: odd terminals, closed pipes, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from mechdesign.cli import Interrupts, main
from mechdesign.work.parallel import Task
from tests.support.processes import started

COMMAND = [sys.executable, "-W", "error", "-m", "mechdesign"]

ODD = """
[model]
title = "Größe \U0001f600"
problem = "randomized-response"
[parameters]
prior = [0.5, 0.5]
epsilon = 2.0
labels = ["größer", "kleiner"]
"""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_traceback(closed):
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(COMMAND)} list response {closed}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr + done.stdout


def test_characters_that_the_terminal_does_not_know(tmp_path):
    (tmp_path / "odd.toml").write_text(ODD, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*COMMAND, "show", "odd.toml"], cwd=tmp_path, capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr\\xf6\\xdfer" in done.stdout
    assert b"\\U0001f600" in done.stdout


def test_until_main_runs_next_to_nothing_is_imported():
    """An interrupt while numpy is imported would be a traceback: it is imported inside of main."""
    text = "import mechdesign.cli, sys; print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


SETTINGS = "print(os.environ.get('OPENBLAS_THREAD_TIMEOUT'), gc.get_freeze_count() > before)"


@pytest.mark.parametrize(
    ("call", "given", "left"),
    [("main()", None, "20 True"), ("main()", "7", "7 True"), ("main(sys.argv[1:])", None, "None False")],
)
def test_threads_and_garbage_are_those_of_a_short_process(call, given, left):
    """Where it is a function in another program, both are as that program has them."""
    start = "import gc, os, sys\nbefore = gc.get_freeze_count()"  # 3.12 begins with some
    text = f"{start}\nfrom mechdesign.cli import main\n{call}\n{SETTINGS}"
    environment = {key: text for key, text in os.environ.items() if key != "OPENBLAS_THREAD_TIMEOUT"}
    environment |= {} if given is None else {"OPENBLAS_THREAD_TIMEOUT": given}
    command = [sys.executable, "-c", text, "list", "response"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == left


@pytest.mark.parametrize(
    ("call", "given", "left"),
    [
        ("main()", {}, "1 None"),
        ("main()", {"OMP_NUM_THREADS": "2"}, "None 2"),
        ("main()", {"OPENBLAS_NUM_THREADS": "3"}, "3 None"),
        ("main(sys.argv[1:])", {}, "None None"),
    ],
)
def test_linear_algebra_has_one_thread_unless_somebody_says_otherwise(call, given, left):
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    shown = f"print(*map(os.environ.get, {names!r}))"
    text = f"import os, sys\nfrom mechdesign.cli import main\n{call}\n{shown}"
    environment = {key: value for key, value in os.environ.items() if key not in names} | given
    command = [sys.executable, "-c", text, "list", "response"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == left


@pytest.mark.parametrize("place", ["mechdesign.cli.parser.parser", "mechdesign.catalog.load_model"])
def test_an_interrupt_is_one_line(place, monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    assert main(["solve", "response/zhou2019_survey"]) == 130
    assert capsys.readouterr().err == "mechdesign: interrupted\n"


def test_an_interrupted_process_says_so(tmp_path):
    command = [*COMMAND, "check", "--all"]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        time.sleep(3.0)  # long after its start, long before its end
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"mechdesign: interrupted\n")


def test_an_interrupt_in_the_first_moments_is_no_traceback():
    """What Python does before the first line of this package cannot be changed; everything after that can."""
    for delay in (0.08, 0.15, 0.25, 0.4):
        command = [*COMMAND, "check", "--all"]
        with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            wait_for_the_package(process)
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        assert (process.returncode, error) == (130, b"mechdesign: interrupted\n"), delay


def sleepers(seconds: float) -> list[Task]:
    return [Task(str(number), "", time.sleep, (seconds,)) for number in range(4)]


AT_WORK = """
import sys
from mechdesign import cli
from mechdesign.work import parallel
from tests.cli.test_process import sleepers

def work(options):
    print("at work", flush=True)
    parallel.run_tasks(sleepers(120.0), jobs=2, alone=0.0)
    return 0

class Options:
    run = staticmethod(work)

import mechdesign.cli.parser
mechdesign.cli.parser.parser = lambda name: type("P", (), {"parse_args": staticmethod(lambda given: Options)})
sys.argv = ["mechdesign"]
cli.run()
"""
"""A command that waits for two worker processes, which sleep for two minutes."""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no such signals")
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("SIGINT", 130, b"mechdesign: interrupted\n"),
        ("SIGTERM", 143, b"mechdesign: terminated\n"),
        ("SIGHUP", 129, b"mechdesign: hung up\n"),
        ("SIGKILL", -9, b""),
    ],
)
def test_whatever_ends_a_command_ends_its_workers(name, code, said):
    """Their standard output is this process's, which would wait for them to the end."""
    with started([sys.executable, "-c", AT_WORK], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"at work\n"
        time.sleep(2.5 if name == "SIGKILL" else 1.0)  # workers at work, or about to start
        process.send_signal(getattr(signal, name))
        _, error = process.communicate(timeout=30)
    # Killed, it says nothing; a helper of Python removes its semaphores, and says that.
    assert (process.returncode, error if said else said) == (code, said)


def test_a_shell_that_ignores_a_hang_up_is_obeyed():
    program = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from mechdesign.cli import interrupts_of; interrupts_of(None)\n"
        "print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, callable(signal.getsignal(signal.SIGTERM)))"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert made.stdout == "True True\n", made.stderr


def wait_for_the_package(process: subprocess.Popen) -> None:
    """Wait until the process takes interrupts itself, which Linux says; elsewhere a moment."""
    status, end = f"/proc/{process.pid}/status", time.monotonic() + 20
    if not os.path.exists(status):
        time.sleep(0.5)
        return
    while time.monotonic() < end:
        with open(status) as lines:
            (caught,) = (line.split()[1] for line in lines if line.startswith("SigCgt"))
        if int(caught, 16) >> (signal.SIGALRM - 1) & 1:  # set after the handler of interrupts
            return
        time.sleep(0.002)
    raise AssertionError("the process never took interrupts")


IN_PROCESS = """
import signal, sys, time
from mechdesign.cli import interrupts_of
handler = interrupts_of(None)
handler.begin()
try:
    {body}
except KeyboardInterrupt:
    print("raised")
"""

BODIES = {
    "an import": "import slow_module; sys.stdout.write('imported\\n'); time.sleep(5)",
    "a finalizer": "import torn; torn.Torn(); time.sleep(5)",
    "an open folder": "import walk; walk.through(); time.sleep(5)",
}
MODULES = {
    "slow_module.py": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.1)\n",
    "torn.py": (
        "import os, signal, time\nclass Torn:\n    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n        time.sleep(0.1)\n"
    ),
    "walk.py": (
        "import os, signal\ndef through():\n    entries = os.scandir('.')\n    next(entries)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n    entries.close()\n"
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_an_interrupt_is_neither_lost_nor_torn_apart(tmp_path, kind):
    """Not in an import, which is finished first, and not where Python could only print and forget it."""
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_PROCESS.format(body=BODIES[kind])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout == ("imported\nraised\n" if kind == "an import" else "raised\n")


def test_what_an_interrupt_has_torn_apart_is_an_interrupt(monkeypatch, capsys):
    """Some modules make an ImportError of it, or an error of their own."""

    class Received(Interrupts):
        received = property(lambda self: True, lambda self, value: None)

    def torn(*_: object, **__: object) -> None:
        raise ImportError("numpy failed to import")

    monkeypatch.setattr("mechdesign.cli.interrupts_of", lambda arguments: Received())
    monkeypatch.setattr("mechdesign.catalog.load_model", torn)
    assert main(["solve", "response/zhou2019_survey"]) == 130
    assert capsys.readouterr().err == "mechdesign: interrupted\n"


def test_a_process_ends_at_once_but_not_before_all_is_done():
    """What is registered for the end is run once, threads are waited for, and all output arrives."""
    program = """
import atexit, sys, threading, time
from mechdesign.cli import run
atexit.register(print, "registered")
if sys.argv.pop() == "thread":
    threading.Thread(target=lambda: (time.sleep(0.5), print("thread"))).start()
run()
"""
    for kind, last in (("alone", ["registered"]), ("thread", ["thread", "registered"])):
        command = [sys.executable, "-W", "error", "-c", program, "list", "response", kind]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines = done.stdout.splitlines()
        assert lines[-len(last) :] == last
        assert lines.count("registered") == 1
        assert done.stderr == ""
    failed = subprocess.run([*COMMAND, "audit", "missing.json"], capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [(["-m", "cProfile"], "function calls"), (["-i"], ">>>")],
    ids=["profiled", "inspected"],
)
def test_what_waits_for_the_end_of_a_command_gets_it(before, after):
    command = [sys.executable, *before, "-m", "mechdesign", "list", "response"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, input="")
    assert "response/" in done.stdout
    assert after in done.stdout + done.stderr
