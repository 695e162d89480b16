"""Temporary files and locks: no links, no files of others, no race, and nothing that others could read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mechdesign.core.errors import DataError
from mechdesign.work import files
from mechdesign.work.files import PART, one_at_a_time, read_text, whole_file

MANY = """
import os, stat, sys, time
from mechdesign.work import files
from mechdesign.core.errors import DataError
if sys.argv[3] == "without":
    files.fcntl = None
place, end, number = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
os.umask(0)
while time.monotonic() < end:
    with files.whole_file(place, DataError, private=True) as temporary:
        temporary.write_text("x" * 200)
    number += 1
    found = os.stat(place)
    assert stat.S_IMODE(found.st_mode) == 0o600, oct(found.st_mode)
    assert found.st_size == 200, found.st_size
    for entry in os.scandir(os.path.dirname(place)):
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except FileNotFoundError:
            continue
        assert stat.S_IMODE(mode) == 0o600, (entry.name, oct(mode))
print(number)
"""

COUNTER = """
import sys
from pathlib import Path
from mechdesign.work import files
from mechdesign.core.errors import DataError
if sys.argv[3] == "without":
    files.fcntl = None
place = Path(sys.argv[1])
for _ in range(int(sys.argv[2])):
    with files.one_at_a_time(place, DataError):
        number = int(place.read_text()) + 1
        with files.whole_file(place, DataError) as temporary:
            temporary.write_text(str(number))
"""


def started(script: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(processes: list[subprocess.Popen]) -> list[str]:
    outputs = []
    for process in processes:
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
        outputs.append(out)
    return outputs


@pytest.mark.parametrize("how", ["with", "without"])
def test_processes_that_write_one_private_file_do_not_disturb_each_other(tmp_path, how):
    """The seconds and the processes of the test are few; CONTRIBUTING says how to run it for a minute."""
    seconds, number = float(os.environ.get("MECHDESIGN_STRESS", "1.5")), 4
    if "MECHDESIGN_STRESS" in os.environ:
        number = 10
    place = tmp_path / "tv"
    written = ended([started(MANY, place, seconds, how) for _ in range(number)])
    print(f"{sum(map(int, written))} files by {number} processes, {how} fcntl")
    assert min(map(int, written)) > 0
    assert os.listdir(tmp_path) == ["tv"]


def test_a_temporary_file_that_another_takes_for_abandoned_is_made_anew(tmp_path, monkeypatch):
    """The other process comes between the making of the file and its lock."""
    place, flock, seen = tmp_path / "tv", files._flock, []

    def slow(handle: int) -> bool:
        seen.append(1)
        if len(seen) == 1:
            files._remove_abandoned(place)
        return flock(handle)

    monkeypatch.setattr(files, "_flock", slow)
    with whole_file(place, DataError, private=True) as temporary:
        assert temporary.stat().st_mode & 0o777 == 0o600
        temporary.write_text("whole")
    assert len(seen) == 2
    assert place.read_text() == "whole"
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("how", ["with", "without"])
def test_processes_that_count_in_one_file_lose_nothing(tmp_path, how):
    place = tmp_path / "count.json"
    place.write_text("0")
    ended([started(COUNTER, place, 40, how) for _ in range(4)])
    assert place.read_text() == "160"
    assert os.listdir(tmp_path) == ["count.json"]


def test_only_unfinished_files_of_the_same_file_are_removed(tmp_path):
    """Names that only begin alike, files of somebody's own, links and folders stay."""
    begin = files.part_prefix(tmp_path / "tv")
    own = [".tv.mynotes.part", ".tv.state.abcdefgh.part", f"{begin}notes.part", f"{begin}{'0' * 16}.txt"]
    own += [f"{files.part_prefix(tmp_path / 'tv.state')}{'0' * 16}{PART}"]
    for name in own:
        (tmp_path / name).write_text("mine")
    (tmp_path / f"{begin}{'1' * 16}{PART}").symlink_to("away")
    (tmp_path / f"{begin}{'2' * 16}{PART}").mkdir()
    os.mkfifo(tmp_path / f"{begin}{'3' * 16}{PART}")
    os.link(tmp_path / own[0], tmp_path / f"{begin}{'4' * 16}{PART}")
    (tmp_path / f"{begin}{'5' * 16}{PART}").write_text("left by a process that was killed")
    before = set(os.listdir(tmp_path))
    with whole_file(tmp_path / "tv", DataError) as temporary:
        temporary.write_text("new")
    assert before - set(os.listdir(tmp_path)) == {f"{begin}{'5' * 16}{PART}"}


def test_the_mask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    """Another thread's file would be open to everybody in that moment."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("os.umask was called"))
    with whole_file(tmp_path / "a.csv", DataError) as temporary:
        temporary.write_text("x")


def test_a_link_to_itself_is_no_place_for_a_file(tmp_path):
    for name, target in (("loop", "loop"), ("one", "two"), ("two", "one")):
        (tmp_path / name).symlink_to(target)
    for name in ("loop", "one", "two"):
        with (
            pytest.raises(DataError, match="is not a regular file"),
            whole_file(tmp_path / name, DataError) as temporary,
        ):
            temporary.write_text("x")
        assert (tmp_path / name).is_symlink()


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "link").symlink_to("real")
    for text in ("first", "second"):
        with whole_file(tmp_path / "link", DataError) as temporary:
            temporary.write_text(text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == text


def test_a_temporary_file_that_was_replaced_is_not_moved_to_its_place(tmp_path):
    (tmp_path / "other").write_text("theirs")

    def replaced() -> None:
        with whole_file(tmp_path / "a", DataError) as temporary:
            temporary.unlink()
            temporary.symlink_to("other")

    with pytest.raises(DataError, match="was replaced"):
        replaced()
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "other").read_text() == "theirs"


LOCKS = {
    "link to a file": lambda lock: lock.symlink_to("p.txt"),
    "link to nothing": lambda lock: lock.symlink_to("q.txt"),
    "link to itself": lambda lock: lock.symlink_to(lock.name),
    "hard link": lambda lock: os.link(lock.parent / "empty", lock),
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "own file": lambda lock: lock.write_text("mine"),
}


@pytest.mark.parametrize("kind", LOCKS)
@pytest.mark.parametrize("how", ["with", "without"])
def test_what_is_no_lock_is_refused_and_left_as_it_is(tmp_path, monkeypatch, kind, how):
    (tmp_path / "p.txt").write_text("precious")
    (tmp_path / "empty").touch()
    if how == "without":
        monkeypatch.setattr(files, "fcntl", None)
        monkeypatch.setattr(files, "BORN", -1.0)  # nor is an empty file waited for
    lock = tmp_path / (".season.json.lock" if how == "with" else ".season.json.locked")
    LOCKS[kind](lock)
    before = sorted(os.listdir(tmp_path))
    with (
        pytest.raises(DataError, match=r"move it away|remove it") as raised,
        one_at_a_time(tmp_path / "season.json", DataError),
    ):
        pytest.fail("it was locked")
    assert lock.name in str(raised.value)
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "p.txt").read_text() == "precious"
    if kind == "own file":
        assert lock.read_text() == "mine"


def test_the_lock_of_a_killed_process_holds_up_nobody(tmp_path):
    script = MANY.partition("place,")[0] + (
        "with files.one_at_a_time(sys.argv[1], DataError):\n    print('held', flush=True)\n    time.sleep(60)"
    )
    for how in ("with", "without"):
        process = started(script, tmp_path / "s.json", 0, how)
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with one_at_a_time(tmp_path / "s.json", DataError):
        pass
    assert os.listdir(tmp_path) == [".s.json.locked"]


def test_without_flock_a_killed_process_is_named_by_its_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    ended_before = subprocess.Popen([sys.executable, "-c", ""])
    ended_before.wait()
    (tmp_path / ".s.json.locked").write_text(f"{ended_before.pid}\n")
    with (
        pytest.raises(DataError, match=r"\.s\.json\.locked next to it was left by a killed process"),
        one_at_a_time(tmp_path / "s.json", DataError),
    ):
        pytest.fail("it was locked")


def test_a_file_system_without_locks_takes_the_other_way(tmp_path, monkeypatch):
    class Refuses:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(handle: int, how: int) -> None:
            raise OSError(files.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files, "fcntl", Refuses)
    inside, most = [], []

    def work() -> None:
        for _ in range(20):
            with one_at_a_time(tmp_path / "s.json", DataError):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    monkeypatch.setattr(files, "WAIT", 0.0005)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80
    assert os.listdir(tmp_path) == []
    with whole_file(tmp_path / "s.json", DataError) as temporary:
        temporary.write_text("x")
    assert os.listdir(tmp_path) == ["s.json"]


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    assert read_text(tmp_path / "pipe.json", 100, DataError) == ""


@pytest.mark.parametrize("name", ["a\0b", "half\ud800", ""])
def test_what_names_no_file_is_said_in_a_line(tmp_path, name):
    for use in (
        lambda: read_text(name, 100, DataError),
        lambda: whole_file(name, DataError).__enter__(),
        lambda: one_at_a_time(name, DataError).__enter__(),
    ):
        with pytest.raises(DataError, match=r"name another one|give a path"):
            use()
