"""A folder of reports appears whole: whatever moment a kill comes at, no part of it is counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.data.data_set import data_set, require_complete
from mechdesign.data.outputs import LIST, whole_folder
from mechdesign.primitives import KaryResponse

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders are locked on Unix only")

KILLED = """
import os, signal, sys
from mechdesign.data.outputs import (whole_folder)
moves, replace = [], os.replace
def counted(*given):
    moves.append(given)
    if len(moves) > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*given)
os.replace = counted
with whole_folder(sys.argv[1]) as work:
    for number in range(4):
        (work / f"{number}.csv").write_text("new")
    if sys.argv[2] == "-1":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(folder: Path, moves: int) -> None:
    """Write four files to a folder in a process that is killed after this many moves; before any with -1."""
    made = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(moves)], timeout=60, check=False)
    assert made.returncode == -signal.SIGKILL


def write(folder: Path, content: str = "again") -> None:
    with whole_folder(str(folder)) as work:
        for number in range(4):
            (work / f"{number}.csv").write_text(content)


def test_a_new_folder_appears_by_one_rename(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: pytest.fail("a file was moved by itself"))
    mask = os.umask(0o027)
    try:
        write(tmp_path / "new")
        (tmp_path / "empty").mkdir()
        write(tmp_path / "empty")
    finally:
        os.umask(mask)
    for name in ("new", "empty"):
        assert sorted(os.listdir(tmp_path / name)) == ["0.csv", "1.csv", "2.csv", "3.csv"]
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o750
    assert sorted(os.listdir(tmp_path)) == ["empty", "new"]


def test_what_a_kill_leaves_before_the_rename_is_removed_by_the_next_run(tmp_path):
    killed(tmp_path / "new", -1)
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".new.")
    foreign = tmp_path / ".new.0123456789ab.part"
    foreign.mkdir()
    write(tmp_path / "other")
    assert (tmp_path / left).exists(), "it is of another folder"
    write(tmp_path / "new")
    assert sorted(os.listdir(tmp_path)) == [foreign.name, "new", "other"]


def test_a_live_process_keeps_its_folder(tmp_path):
    with whole_folder(str(tmp_path / "new")) as work:
        write(tmp_path / "new")
        assert work.is_dir()
        (work / "4.csv").write_text("more")
    assert len(os.listdir(tmp_path / "new")) == 5


@pytest.mark.parametrize("moves", [0, 2, 3])
def test_a_part_of_the_files_is_not_a_data_set(tmp_path, moves):
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "0.csv").write_text("old")
    (folder / "9.csv").write_text("old")
    killed(folder, moves)
    with pytest.raises(ParameterError, match=r"moved 4 files here, of which \d are there; run it again"):
        data_set([str(folder)])
    with whole_folder(str(folder)) as work:  # other files complete nothing
        (work / "8.csv").write_text("more")
    with pytest.raises(ParameterError, match="a command ended"):
        require_complete(str(folder))
    write(folder)
    assert [Path(path).name for path in data_set([str(folder)])] == [f"{n}.csv" for n in (0, 1, 2, 3, 8, 9)]
    assert not list(folder.glob(f"{LIST}*"))
    assert (folder / "0.csv").read_text() == "again"


def test_errors_name_the_output_and_not_what_is_temporary(tmp_path, monkeypatch, capsys):
    """Neither the mechanism's file, nor a hidden folder that is gone when the error is read."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left")

    monkeypatch.chdir(tmp_path)
    KaryResponse.of(2, epsilon=1.0).save("m.json")
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"q\n0\n{int(name == 'b')}\n")
    monkeypatch.setattr(os, "replace", full)
    for output in ("out/", "out//", f"{tmp_path}/out/"):
        assert main(["randomize", "m.json", "a.csv", "b.csv", "-o", output]) == 2
        said = capsys.readouterr().err
        place = f"{output.rstrip('/')}/a.csv"
        assert said == f"mechdesign: {place}: cannot be written (No space left); choose another path\n"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv", "m.json"]


@pytest.mark.parametrize("name", ["{}", "{}/a.csv", "{}/*.csv", "{}/sub/b.csv", "{}/sub", "{}/../half"])
def test_files_of_a_folder_that_is_not_complete_are_refused_however_they_are_named(name, tmp_path):
    half = tmp_path / "half"
    (half / "sub").mkdir(parents=True)
    for file in ("a.csv", "sub/b.csv", "other.csv"):
        (half / file).write_text("x\n1\n")
    (half / f"{LIST}0").write_text('["a.csv", "sub/b.csv", "sub/c.csv"]')
    with pytest.raises(ParameterError, match="moved 3 files here, of which 2 are there"):
        data_set([name.format(half)])
    assert data_set([f"{half}/other.csv"]), "a file of its own"
    (half / f"{LIST}0").unlink()
    assert data_set([name.format(half)])
