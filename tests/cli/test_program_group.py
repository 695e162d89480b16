"""What ``audit --program`` starts ends with it: children, output, signals; and reports that all differ."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError
from mechdesign.foreign import program
from mechdesign.foreign.black_box import attack_program

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are those of POSIX systems")

BEHAVED = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "a").write(f"{child.pid}\\n")
for line in sys.stdin:
    print(line.strip())
"""

ENDLESS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import sys\\nwhile True: sys.stdout.write('x' * 65536)"])
open(sys.argv[1], "a").write(f"{child.pid}\\n")
time.sleep(600)
"""

SLEEPER = BEHAVED.replace("for line", "import time; time.sleep(600)\nfor line")


def arguments(code: str, folder: Path, *more: str) -> tuple[list[str], Path]:
    """Return the arguments that audit a program of this code, and the file of its children."""
    path, children = folder / "p.py", folder / "children"
    path.write_text(code)
    command = f"'{sys.executable}' '{path}' '{children}'"
    return ["audit", "--program", command, "--answer", "no", "--answer", "yes", *more], children


def runs(number: int) -> bool:
    """Whether a process still runs; one that has ended and was not asked for yet does not."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip()[:1] not in ("", "Z")


def have_ended(children: Path) -> bool:
    """Whether all children that are named in a file end within some seconds."""
    numbers = [int(line) for line in children.read_text().split()]
    assert numbers
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if not any(map(runs, numbers)):
            return True
        time.sleep(0.02)
    for number in filter(runs, numbers):
        os.kill(number, signal.SIGKILL)
    return False


def test_children_of_a_program_that_ends_are_ended(tmp_path: Path, capsys: Capture) -> None:
    given, children = arguments(BEHAVED, tmp_path, "--runs", "100")
    assert main(given) == 0
    assert "epsilon is at least" in capsys.readouterr().out
    assert have_ended(children)
    assert len(children.read_text().split()) == 2


@pytest.mark.parametrize("code", [ENDLESS, SLEEPER])
def test_children_end_with_the_time_and_the_space(
    code: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MOST_BYTES", 1 << 20)
    given, children = arguments(code, tmp_path, "--runs", "100")
    if code == SLEEPER:  # the time is over when the child is there

        def monotonic() -> float:
            return 1e6 if children.exists() and children.read_text().endswith("\n") else 0.0

        monkeypatch.setattr(program, "time", SimpleNamespace(monotonic=monotonic, sleep=time.sleep))
    assert main(given) == 2
    said = "wrote more than 1048576 bytes" if code == ENDLESS else "took more than 600 seconds"
    assert said in capsys.readouterr().err
    assert have_ended(children)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGHUP, -1)]
)
def test_signals_end_the_whole_group(number: signal.Signals, code: int, tmp_path: Path) -> None:
    given, children = arguments(SLEEPER, tmp_path, "--runs", "100")
    command = [sys.executable, "-m", "mechdesign", *given]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not (children.exists() and children.read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode in (code, 128 + number)
    assert b"Traceback" not in said
    assert have_ended(children)


def test_files_of_a_program_are_limited(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MOST_BYTES", 1 << 16)
    other = tmp_path / "other"
    given, _ = arguments(f"open({str(other)!r}, 'wb').write(b'x' * (1 << 20))", tmp_path, "--runs", "100")
    assert main(given) == 2
    assert "File too large" in capsys.readouterr().err
    assert other.stat().st_size <= (1 << 16) + 1


def test_a_pipe_that_closes_ends_a_program_as_in_a_shell(tmp_path: Path, capsys: Capture) -> None:
    assert (
        main(
            [
                "audit",
                "--program",
                "sh -c 'yes | head -n 100'",
                "--answer",
                "a",
                "--answer",
                "b",
                "--runs",
                "100",
            ]
        )
        == 0
    )
    assert capsys.readouterr().err == ""


def test_limits_are_left_out_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert program._limited(["a"], (1, 1))[-1] == "a"
    monkeypatch.setattr(sys, "executable", "")
    assert program._limited(["a", "b"], (1, 1)) == ["a", "b"]


DIFFERENT = """
import random, sys
rng = random.Random(1)
for number, line in enumerate(sys.stdin):
    value = rng.expovariate(1.0) + (line.strip() == "yes")
    print(value if number % {period} else round(value))
"""


def test_reports_that_all_differ_are_an_error(tmp_path: Path, capsys: Capture) -> None:
    given, _ = arguments(
        DIFFERENT.format(period=10**9).replace("number %", "(number + 1) %"), tmp_path, "--runs", "200"
    )
    assert main([*given, "--epsilon", "1"]) == 2
    given_back = capsys.readouterr()
    assert given_back.out == ""
    assert "reports: all differ, so nothing can be counted; round the reports" in given_back.err


def test_reports_that_mostly_differ_are_not_called_tested(tmp_path: Path, capsys: Capture) -> None:
    given, _ = arguments(DIFFERENT.format(period=10), tmp_path, "--runs", "400")
    assert main([*given, "--epsilon", "3"]) == 0
    out = capsys.readouterr().out
    assert "of the reports repeat; round the reports" in out
    assert "epsilon 3 is not tested" in out
    assert main([*given, "--json"]) == 0
    assert 0.0 < json.loads(capsys.readouterr().out)["repeated"] < 0.5


def test_the_share_of_repeated_reports_is_counted() -> None:
    mixed = {
        name: [f"{name}{number}" if number % 4 else "often" for number in range(40)] for name in ("x", "y")
    }
    assert attack_program(mixed).repeated == 0.25
    parts = {name: ["a"] * 20 + ["b"] * 20 for name in ("x", "y")}
    with pytest.raises(DataError, match="of the second half of the runs are new"):
        attack_program(parts)
    with pytest.raises(DataError, match="all differ"):
        attack_program({name: [f"{name}{number}" for number in range(40)] for name in ("x", "y")})


ESCAPED = """
import os, subprocess, sys
SHELL = 'setsid sh -c "sleep 600 & sleep 601 & wait" & echo $! >> "$0"; wait'
child = subprocess.Popen(
    ["setsid", "sh", "-c", SHELL, sys.argv[1]],
    env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
) if not os.fork() else None
if child is not None:
    open(sys.argv[1], "a").write(f"{child.pid}\\n")
    os._exit(0)
for line in sys.stdin:
    print(line.strip())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux gives orphans a new parent")
def test_what_leaves_the_session_of_a_program_is_ended_too(tmp_path: Path, capsys: Capture) -> None:
    own = subprocess.Popen(["sleep", "600"], start_new_session=True)
    given, children = arguments(ESCAPED, tmp_path, "--runs", "100")
    try:
        assert main(given) == 0
        assert have_ended(children)
        assert len(children.read_text().split()) >= 2
        found = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True).stdout
        assert "sleep 601" not in found
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()


def test_a_witness_states_counts_of_runs() -> None:
    """A share of 1 next to a number of runs would read as one run."""
    found = attack_program({"no": ["a"] * 60, "yes": ["b"] * 45 + ["a"] * 15})
    assert found.samples == 30
    hits = [round(share * 30) for share in (found.first, found.second)]
    assert f"in {hits[0]} and {hits[1]} of 30 runs each" in str(found)
    assert hits[0] == 30, "all of them"
