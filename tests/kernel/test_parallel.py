"""Many pieces of work: in order, on several processes, kept as they come, resumed after a stop."""

from __future__ import annotations

import io
import math
import os
import signal
import time

import pytest

from mechdesign.catalog import load_model, sweeping as runs
from mechdesign.core.errors import ParameterError
from mechdesign.papers.claims import check_models
from mechdesign.papers.shown.page import model_results
from mechdesign.work.bars import Watch
from mechdesign.work.cache import Cache, code_digest, default_cache, key_of
from mechdesign.work.parallel import Task, run_tasks


def square(number: int) -> int:
    return number * number


def process(_: int) -> int:
    time.sleep(0.4)
    return os.getpid()


def stop_at(number: int, last: int) -> int:
    if number == last:
        raise KeyboardInterrupt
    return number


def tasks(function, arguments):
    return [Task(f"task {item}", key_of(function.__name__, item), function, item) for item in arguments]


def test_results_come_in_the_order_of_the_tasks_from_other_processes_too():
    slow = [Task(str(number), str(number), process, (number,)) for number in range(6)]
    found = run_tasks(slow, jobs=2)
    assert len(found) == 6
    assert os.getpid() in found[:3], "the first second of work is done in this process"
    assert len(set(found)) > 1, "then others help"
    assert run_tasks(tasks(square, [(3,), (1,), (2,)]), jobs=2) == [9, 1, 4]


def test_a_long_first_model_does_not_keep_the_other_cores_waiting(monkeypatch):
    pieces = [Task(text, text, os.getpid, ()) for text in "abc"]
    assert os.getpid() not in run_tasks(pieces, jobs=2, alone=0.0)
    assert os.getpid() in run_tasks(pieces, jobs=2), "small pieces are begun here"
    seen = []
    monkeypatch.setattr(runs, "run_tasks", lambda *arguments: seen.append(arguments[-1]) or [])
    check_models(["response/zhou2019_survey", "contract/three_types"])
    model_results([load_model("response/zhou2019_survey")])
    assert seen == [0.0, 0.0]


def test_what_was_finished_before_an_interrupt_is_not_done_again(tmp_path):
    cache = Cache(tmp_path / "kept")
    work = [Task(str(number), key_of(number), stop_at, (number, 3)) for number in range(5)]
    with pytest.raises(KeyboardInterrupt):
        run_tasks(work, jobs=1, cache=cache)
    screen = io.StringIO()
    again = [Task(str(number), key_of(number), stop_at, (number, -1)) for number in range(5)]
    with Watch("tasks", screen) as watch:
        assert run_tasks(again, jobs=1, cache=cache, watcher=watch) == [0, 1, 2, 3, 4]
    assert (watch.cached, watch.done, watch.total) == (3, 5, 5)


def test_an_interrupted_watch_says_what_is_kept():
    screen = io.StringIO()
    watch = Watch("models", screen, is_kept=True)
    watch.begin(5, 1)
    watch.started("a")
    watch.finished("a")
    error = KeyboardInterrupt()
    watch.__exit__(KeyboardInterrupt, error, None)
    assert error.__notes__ == ["2 of 5 models are finished and kept; the same command resumes from there"]
    assert screen.getvalue() == ""


def blocked() -> int:
    """Say which signals this process was started without, by what the kernel says."""
    time.sleep(0.2)
    with open("/proc/self/status") as lines:
        (line,) = (line for line in lines if line.startswith("SigBlk"))
    return int(line.split()[1], 16)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the kernel says it on Linux only")
def test_other_processes_are_started_without_interrupts_and_this_one_keeps_its_own():
    """One that is just starting has no handler, and would print a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    masks = run_tasks([Task(str(item), "", blocked, ()) for item in range(3)], jobs=2, alone=0)
    assert [mask >> (signal.SIGINT - 1) & 1 for mask in masks] == [1, 1, 1]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_bar_names_what_runs_and_is_gone_at_the_end(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # on a dumb terminal nothing is drawn

    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    with Watch("models", screen) as watch:
        watch.begin(3, 0)
        watch.started("response/nary")
        watch.started("mean/best_channel")
        assert watch.doing == "response/nary, mean/best_channel"
        time.sleep(0.3)
        watch.finished("response/nary")
        assert watch.doing == "mean/best_channel"
    drawn = screen.getvalue()
    assert "response/nary" in drawn
    assert "0/3" in drawn


def test_other_code_or_other_arguments_find_nothing(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "kept")
    cache.put(key_of("a", 1.0), "result")
    assert cache.get(key_of("a", 1.0)) == ("result",)
    assert cache.get(key_of("a", 2.0)) is None
    monkeypatch.setattr("mechdesign.work.cache.code_digest", lambda: "another")
    assert Cache(tmp_path / "kept").get(key_of("a", 1.0)) is None
    assert len(code_digest()) == 16


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no modes of files")
@pytest.mark.parametrize("place", ["root", "folder", "entry"])
def test_an_entry_that_others_could_have_written_is_not_read(tmp_path, place):
    cache, key = Cache(tmp_path / "kept"), key_of("a")
    cache.put(key, 1)
    path = {"root": cache.root, "folder": cache.folder, "entry": cache.folder / key}[place]
    assert (path.stat().st_mode & 0o077 == 0) or place == "entry", "the folders are for their owner alone"
    path.chmod(path.stat().st_mode | 0o020)
    assert cache.get(key) is None
    path.chmod(path.stat().st_mode & ~0o020)
    assert cache.get(key) == (1,)


@pytest.mark.parametrize("content", [b"", b"rubbish", b"\x80\x05cnothing\nhere\n."])
def test_a_damaged_entry_counts_as_missing(tmp_path, content):
    cache, key = Cache(tmp_path / "kept"), key_of("a")
    cache.put(key, 1)
    (cache.folder / key).write_bytes(content)
    assert cache.get(key) is None


def test_a_place_that_cannot_be_written_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file")
    cache.put(key_of("a"), 1)
    assert cache.get(key_of("a")) is None
    assert (tmp_path / "file").read_text() == "in the way"


def test_entries_of_other_versions_go_after_a_month(tmp_path):
    old, recent = tmp_path / ("0" * 16), tmp_path / ("1" * 16)
    for folder in (old, recent):
        folder.mkdir(mode=0o700)
    os.utime(old, (0, time.time() - 40 * 86400))
    Cache(tmp_path).put(key_of("a"), 1)
    assert not old.exists()
    assert recent.exists()


def test_the_environment_names_the_cache(tmp_path, monkeypatch):
    assert default_cache() is None, "tests are not to read what earlier runs left"
    monkeypatch.setenv("MECHDESIGN_CACHE", str(tmp_path))
    assert default_cache().root == tmp_path
    monkeypatch.delenv("MECHDESIGN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    assert default_cache().root == tmp_path / "usual" / "mechdesign"


@pytest.mark.parametrize(
    ("jobs", "variable"),
    [(0, ""), (-1, ""), (1.5, ""), (math.inf, ""), (math.nan, ""), ("2", ""), (None, "0"), (None, "many")],
)
def test_an_impossible_number_of_processes_is_refused(jobs, variable, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_JOBS", variable)
    with pytest.raises(ParameterError, match="is not an integer >= 1"):
        run_tasks([], jobs=jobs)
