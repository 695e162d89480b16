"""Files appear whole, keep their mode, and what a killed process left is cleared away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from mechdesign.core.errors import DataError
from mechdesign.work.files import PART, whole_file

WRITER = """
import sys, time
from mechdesign.core.errors import DataError
from mechdesign.work.files import whole_file
with whole_file(sys.argv[1], DataError) as place:
    place.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def writer(path) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    return process


def test_a_killed_writer_leaves_nothing_for_long(tmp_path):
    place = tmp_path / "data.csv"
    process = writer(place)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [PART], "killed while it was writing"
    with whole_file(place, DataError) as temporary:
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    assert place.read_text() == "whole"


def test_a_living_writer_is_left_alone(tmp_path):
    place = tmp_path / "data.csv"
    process = writer(place)
    try:
        with whole_file(place, DataError) as temporary:
            temporary.write_text("whole")
        assert {path.suffix for path in tmp_path.iterdir()} == {PART, ".csv"}
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_the_mode_of_a_file_that_is_replaced_stays(tmp_path, mode):
    place = tmp_path / "data.csv"
    place.touch()
    place.chmod(mode)
    with whole_file(place, DataError) as temporary:
        temporary.write_text("new")
    assert place.stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_usual_mode(tmp_path):
    mask = os.umask(0o027)
    try:
        with whole_file(tmp_path / "new.csv", DataError) as temporary:
            temporary.write_text("new")
    finally:
        os.umask(mask)
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o640
