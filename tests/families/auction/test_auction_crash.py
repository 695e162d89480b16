"""Kill -9 at any moment: nothing that was decided is lost, and nothing is decided, or paid, twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.collect.collecting import Settings
from mechdesign.exact.numbers import rational
from mechdesign.export.messages import MemoryTable
from mechdesign.families.auction import OnlineAuction
from mechdesign.families.auction.season import Season

SLOTS, KILLS = 400, 7

AUCTION = OnlineAuction(["noise", "air"], [3, 2], 1.0, 0.2, reserve=5.0)

WORKERS = """
import io, os, sys
from argparse import Namespace
from contextlib import redirect_stdout
from mechdesign.cli.operations import execute, parse_operation
from mechdesign.collect import load_mechanism

def steps(first, last):
    auction = load_mechanism("auction.json")
    for slot in range(first, last + 1):
        rest = [f"bids-{slot % 3}.csv", "-o", f"out-{slot}.csv", "--state", "season.json"]
        rest += ["--slot", str(slot), "--force"]  # what a killed step has written
        request = Namespace(mechanism="auction.json", operation="step", rest=rest)
        with redirect_stdout(io.StringIO()):
            assert execute(parse_operation(request, auction), auction) == 0
        if slot == first:
            print("ready", os.getpid(), flush=True)

for line in sys.stdin:
    worker = os.fork()
    if not worker:
        steps(*map(int, line.split()))
        os._exit(0)
    _, status = os.waitpid(worker, 0)
    print("ended", status, flush=True)
"""
"""A worker for each line with its first and last slot; what all of them import is loaded once."""


@contextmanager
def workers() -> Iterator[Callable[[int, float], int]]:
    """Give a function that starts a worker at a slot, kills it seconds later, and returns how it ended."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask, answers = process.stdin, process.stdout

        def started_and_killed(first: int, seconds: float) -> int:
            print(first, SLOTS, file=ask, flush=True)
            word, number = answers.readline().split()
            assert word == "ready"
            time.sleep(seconds)
            with suppress(ProcessLookupError):  # it was through with all slots
                os.kill(int(number), signal.SIGKILL)
            word, status = answers.readline().split()
            assert word == "ended"
            return os.waitstatus_to_exitcode(int(status))

        yield started_and_killed


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    AUCTION.save("auction.json")
    rng = np.random.default_rng(4)
    for number in range(3):
        rows = [
            f"u{user},{sensing!r},{privacy!r},{'noise air' if user % 2 else 'noise;air'}"
            for user, (sensing, privacy) in enumerate(rng.uniform(0.5, 1.5, (10, 2)).tolist())
        ]
        Path(f"bids-{number}.csv").write_text("\n".join(["user,sensing,privacy,tasks", *rows]) + "\n")
    return tmp_path


def state() -> Season:
    if not Path("season.json").exists():
        return AUCTION.season()
    return Season.load("season.json", AUCTION.fingerprint, rational("share", AUCTION.participation))


def written(slot: int) -> str:
    return Path(f"out-{slot}.csv").read_text()


def expected(season: Season, slot: int) -> str:
    decision = season.decisions[slot - 1]
    rows = [f"{name},{paid!r}" for name, paid in zip(decision.winners, decision.payments, strict=True)]
    return "\n".join(["user,payment", *rows]) + "\n"


def test_killed_at_random_moments_it_decides_as_if_never_killed(folder):
    generator = random.Random(7)
    next_slot, reached = 1, []
    with workers() as started_and_killed:
        for _ in range(KILLS):
            assert started_and_killed(next_slot, generator.uniform(0.0, 0.2)) in (-signal.SIGKILL, 0)
            season = state()  # whole and unchanged, whenever it was killed
            outputs = [slot for slot in range(1, SLOTS + 1) if Path(f"out-{slot}.csv").exists()]
            assert season.slot - len(outputs) in (0, 1), "decided first, told afterwards"
            for slot in outputs:
                assert written(slot) == expected(season, slot)
            reached.append(season.slot)
            next_slot = max(1, season.slot)  # the last one again: it may have lacked its output
            if season.slot == SLOTS:
                break
    assert reached == sorted(reached)
    last = reached[-1]
    assert last > KILLS
    again = ["step", f"bids-{last % 3}.csv", "-o", f"out-{last}.csv", "--state", "season.json"]
    code = main(["run", "auction.json", *again, "--slot", str(last), "--force"])
    assert code == 0
    assert written(last) == expected(state(), last)
    reference = AUCTION.season()
    tables = [Path(f"bids-{number}.csv").read_text().splitlines()[1:] for number in range(3)]
    for slot in range(1, last + 1):
        AUCTION.step(reference, {name: bid for name, bid in map(parsed, tables[slot % 3])})
    assert replace(state(), identity=reference.identity) == reference


def parsed(line: str):
    from mechdesign.families.auction import Bid

    name, sensing, privacy, tasks = line.split(",")
    return name, Bid(float(sensing), float(privacy), tuple(tasks.replace(";", " ").split()))


TABLE = {
    "user": np.array(["a", "b", "c", "d"]),
    "sensing": np.array([1.0, 2.0, 3.0, 2.5]),
    "privacy": np.array([0.5, 0.5, 0.25, 1.0]),
    "tasks": np.array(["noise air", "noise;air", "noise air", "air noise"]),
}


def test_a_crash_between_decision_and_output_repeats_the_decision(tmp_path):
    """The state is on the disk before the first row is handed out, and the second run only reads it."""
    step, *_ = AUCTION.operations()
    settings = Settings({"state": str(tmp_path / "season.json"), "slot": 1})
    rows = step.run([MemoryTable(TABLE)], settings)
    assert not (tmp_path / "season.json").exists()
    first = next(rows)
    saved = (tmp_path / "season.json").read_bytes()
    again = next(step.run([MemoryTable(TABLE)], settings))
    assert again["payment"].tolist() == first["payment"].tolist()
    assert (tmp_path / "season.json").read_bytes() == saved
    assert "slot that was decided before, repeated" in settings.counts


def test_a_crash_while_the_state_is_written_leaves_the_old_one(tmp_path, monkeypatch):
    step, *_ = AUCTION.operations()
    path = tmp_path / "season.json"
    next(step.run([MemoryTable(TABLE)], Settings({"state": str(path), "slot": 1})))
    saved = path.read_bytes()

    def killed(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        next(step.run([MemoryTable(TABLE)], Settings({"state": str(path), "slot": 2})))
    monkeypatch.undo()
    assert path.read_bytes() == saved
    next(step.run([MemoryTable(TABLE)], Settings({"state": str(path), "slot": 2})))
    assert len(Season.load(path, AUCTION.fingerprint, rational("share", 0.2)).decisions) == 2


def test_the_state_is_flushed_before_and_after_it_is_moved(tmp_path, monkeypatch):
    import os

    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr("os.fsync", lambda handle: (calls.append("fsync"), fsync(handle))[1])
    monkeypatch.setattr("os.replace", lambda *places: (calls.append("replace"), replace(*places))[1])
    AUCTION.season().save(tmp_path / "season.json")
    assert calls == ["fsync", "replace", "fsync"]
