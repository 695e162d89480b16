"""What is not a table is said before it is copied or read; a damaged one is refused."""

from __future__ import annotations

import gc
import io
import itertools
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.data import data_set, text_files
from mechdesign.data.data_set import open_table
from mechdesign.data.json_lines import json_problem
from mechdesign.data.text_files import COMPRESSIONS, FORMATS, UTF_16
from mechdesign.primitives import KaryResponse
from mechdesign.work.files import parse_json
from tests.meta.test_shown import MECHANISMS

HEAD = data_set.HEAD


@pytest.fixture
def mark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mechanism = KaryResponse.of(2, epsilon=2.0, labels=["no", "yes"])
    mechanism.save("m.json")
    return f"q__m{mechanism.fingerprint[:12]}"


class Endless(io.RawIOBase):
    """Gives pieces one after the other, the last one without end; counts what was taken."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.taken = itertools.chain(pieces, itertools.repeat(pieces[-1])), 0
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.rest:
            self.rest = next(self.pieces)
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        self.taken += size
        return size


def given(monkeypatch: Any, stream: Any) -> Any:
    """Let the standard input be this."""

    class Stream:
        closed, buffer = False, io.BufferedReader(stream)

    monkeypatch.setattr(sys, "stdin", Stream())
    return stream


COMMANDS = {
    "estimate": ["estimate", "m.json", "-"],
    "count": ["count", "m.json", "-", "-o", "c.json"],
    "randomize": ["randomize", "m.json", "-", "-o", "r.csv"],
    "folder": ["randomize", "m.json", "-", "-o", "r/"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["word", "zeros", "rows"])
def test_what_begins_wrong_is_not_copied(mark, monkeypatch, capsys, command, kind):
    head = {
        "word": b"y\n",
        "zeros": bytes(1000),
        "rows": f"{mark if command[0] in 'ec' else 'q'}\nperhaps\n".encode(),
    }
    stream = given(monkeypatch, Endless(head[kind], *([b"perhaps\n"] if kind == "rows" else [])))
    assert main(COMMANDS[command]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mechdesign: -: ")
    assert said.count("\n") == 1
    assert stream.taken <= HEAD + (1 << 20)


@pytest.mark.parametrize(
    ("rest", "what"),
    [
        (bytes(1000), "holds a NUL byte"),
        (b"yes\nno\0\n", "holds a NUL byte"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (b"yes" * 1000, "has more than 1048576 bytes"),
    ],
)
def test_what_stops_being_text_is_not_copied_on(mark, monkeypatch, capsys, rest, what):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1 << 20)
    good = b"yes\nno\n" * (HEAD // 7 + 1)
    stream = given(monkeypatch, Endless(f"{mark}\n".encode() + good, rest))
    assert main(COMMANDS["estimate"]) == 2
    line = good.count(b"\n") + 2 if b"\n" not in rest else good.count(b"\n") + 3
    assert f"-: line {line}: {what}; give text in UTF-8\n" in capsys.readouterr().err
    assert stream.taken <= 5 * HEAD


def test_input_without_end_is_limited(mark, monkeypatch, capsys):
    """It begins well; only so much is copied as there is room for."""
    room = shutil.disk_usage("/")._replace(free=4 * HEAD)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: room)
    stream = given(monkeypatch, Endless(f"{mark}\n".encode(), b"yes\nno\n" * 1000))
    assert main(COMMANDS["estimate"]) == 2
    assert "-: is larger than the room in" in capsys.readouterr().err
    assert stream.taken <= 6 * HEAD


@pytest.mark.parametrize("quotes", [False, True])
def test_a_long_input_is_counted_whole_and_once(mark, monkeypatch, capsys, quotes):
    rows = 400_000
    row = b'"yes"\n"no"\n' if quotes else b"yes\nno\n"
    content = f"{mark}\n".encode() + row * (rows // 2)
    assert len(content) > HEAD
    given(monkeypatch, io.BytesIO(content))
    assert main([*COMMANDS["estimate"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["users"] == rows


@pytest.mark.parametrize("start", FORMATS)
@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.csv.gz", "r.xlsx", "-"])
def test_files_of_other_formats_are_named(mark, monkeypatch, capsys, tmp_path, start, name):
    if name == "-" and start == b"PAR1":
        return  # read as what it is
    content = start + bytes(range(200))
    (tmp_path / name).write_bytes(content)
    given(monkeypatch, io.BytesIO(content))
    assert main(["estimate", "m.json", name]) == 2
    kind, remedy = FORMATS[start]
    if name.startswith("r.csv") and (start in COMPRESSIONS or start in UTF_16):  # is read, and is damaged
        error = capsys.readouterr().err
        assert error.startswith(f"mechdesign: {name}: ")
        assert error.count("\n") == 1
        return
    if name == "r.xlsx" and start == b"PK\x03\x04":
        kind, remedy = "not an Excel workbook (.xlsx)", "name it as what it is, or save it in Excel again"
    assert capsys.readouterr().err == f"mechdesign: {name}: is {kind}; {remedy}\n"


def test_a_line_that_is_not_json_has_one_number(mark, tmp_path, capsys):
    for line, said in (
        ('{"a": "b', "line 2: is not JSON (Unterminated string starting: column 7)"),
        ('{"a": ' + "9" * 5000 + "}", "line 2: is not JSON (a number has too many digits)"),
        ("[" * 200, "line 2: is not JSON (objects and lists are nested more than 100 deep)"),
    ):
        (tmp_path / "r.jsonl").write_text(f'{{"{mark}": "yes"}}\n{line}\n')
        assert main(["estimate", "m.json", "r.jsonl"]) == 2
        assert capsys.readouterr().err.startswith(f"mechdesign: r.jsonl: {said};")
    with pytest.raises(ValueError, match="Expecting") as caught:
        parse_json('{"a":\n}')
    assert json_problem(caught.value) == "Expecting value: line 2 column 1"


def test_a_flipped_bit_in_a_file_of_reports_never_changes_the_result(mark, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    draw = np.random.default_rng(1)
    lines = np.array(["no", "yes"])[draw.integers(0, 2, 5000)].tolist()
    (tmp_path / "people.csv").write_text("\n".join(["q", *lines]) + "\n")
    assert main(["randomize", "m.json", "people.csv", "-o", "r.parquet", "--seed", "1"]) == 0
    whole = (tmp_path / "r.parquet").read_bytes()
    capsys.readouterr()
    assert main(["estimate", "m.json", "r.parquet"]) == 0
    expected, refused = capsys.readouterr().out, 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[draw.integers(len(whole))] ^= 1 << int(draw.integers(8))
        (tmp_path / "r.parquet").write_bytes(damaged)
        code = main(["estimate", "m.json", "r.parquet"])
        found = capsys.readouterr()
        assert (code == 0 and found.out == expected) or (code == 2 and found.err.count("\n") == 1)
        refused += "is damaged: a checksum does not fit; use a copy of it" in found.err
    assert refused > 20


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_is_one_line_for_a_workbook(mark, tmp_path, monkeypatch, capsys):
    """A broken archive would be closed a second time where no error can be caught."""
    pytest.importorskip("xlsxwriter")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "r.csv").write_text(f"{mark}\nyes\nno\n")
    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["estimate", "m.json", "r.csv", "-o", "e.xlsx"]) == 2
    gc.collect()
    said = "mechdesign: e.xlsx: cannot be written (No space left on device); choose another path\n"
    assert capsys.readouterr().err == said
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(["estimate", "m.json", "r.csv", "-o", "e.xlsx"]) == 0
    assert (tmp_path / "e.xlsx").read_bytes()[:2] == b"PK"


def test_want_of_memory_is_said(monkeypatch, capsys):
    def empty(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("mechdesign.catalog.load_model", empty)
    assert main(["solve", "response/zhou2019_survey"]) == 2
    assert capsys.readouterr().err.startswith("mechdesign: not enough memory; give it more")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes are of Unix")
def test_ledgers_and_seasons_are_their_owners_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mask = os.umask(0o022)
    try:
        assert main(["ledger", "open", "l.json", "--survey", "s", "--epsilon", "1"]) == 0
        auction = MECHANISMS["online-auction"][0]()
        auction.season("s").save("season.json")
    finally:
        os.umask(mask)
    assert [os.stat(name).st_mode & 0o777 for name in ("l.json", "season.json")] == [0o600, 0o600]


QUALTRICS = [
    "StartDate,Q1,age",
    'Start Date,"Have you ever\ncheated?",How old are you?',
    '"{""ImportId"":""startDate""}","{""ImportId"":""QID1""}","{ ""ImportId"" : ""QID2""}"',
    "2024-01-02,No,31",
]
MONKEY = [
    "Respondent ID,Do you smoke?,,age",
    ",Response,Other (please specify),Open-Ended Response",
    "1,no,,31",
]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            QUALTRICS,
            "is a Qualtrics export with three header lines; use mechdesign import, or delete the lines",
        ),
        (
            [QUALTRICS[0], *QUALTRICS[2:]],
            "is a Qualtrics export with two header lines; use mechdesign import, or delete that of ImportIds",
        ),
        (
            MONKEY,
            "is a SurveyMonkey export with two header lines; use mechdesign import, or join them into one",
        ),
        (["Question,", ",Response", "1,no"], "is a SurveyMonkey export with two header lines"),
    ],
)
@pytest.mark.parametrize(
    "command", [["init", "d.csv", "-o", "s.toml"], ["randomize", "m.json", "d.csv", "-o", "r.csv"]]
)
def test_exports_with_several_header_lines_are_named(mark, tmp_path, capsys, lines, said, command):
    (tmp_path / "d.csv").write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    assert main(command) == 2
    assert capsys.readouterr().err.startswith(f"mechdesign: d.csv: {said}")


@pytest.mark.parametrize(
    "lines", [["answer", "Response", "yes"], ["a,b", "response,x", "y,z"], ["{a},b", "1,{b}"]]
)
def test_other_files_are_not_taken_for_exports(mark, tmp_path, lines):
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    assert open_table(tmp_path / "d.csv").columns == tuple(lines[0].split(","))
