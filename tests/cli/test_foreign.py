"""``mechdesign audit`` of mechanisms of other programs: files, RAPPOR, programs; one line for each error."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.foreign import program

CLIENT = """
import random, sys
rng = random.Random(5)
for line in sys.stdin:
    answer = line.strip()
    print(answer if rng.random() < 0.5 else rng.choice(["no", "yes"]))
"""


def test_csv_with_names_and_quotients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "channel.csv"
    path.write_text("answer,A,B\nno,2/3,1/3\nyes,1/3,0.6667\n")
    assert main(["audit", str(path), "--epsilon", "0.6932"]) == 0
    out = capsys.readouterr().out
    assert "e^epsilon = 20001/10000" not in out  # the row is divided by its sum
    assert "row 'yes' sums to 1 + 1/30000 (3.3e-05)" in out
    assert main(["audit", str(path), "--epsilon", "0.693"]) == 1


def test_what_is_found_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "channel.toml"
    path.write_text('epsilon = 1.0\n[channel]\nanswers = ["n", "y"]\nrows = [[0.75, 0.25], ["1/4", "3/4"]]\n')
    assert main(["audit", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (audit,) = found["audits"]
    assert audit["ratio"] == "3"
    assert audit["rows_that_do_not_sum_to_one"] == []
    assert len(audit["interval"]) == 2
    assert found["certificates"][0]["holds"] is False


def test_numpy_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05]])
    np.save(tmp_path / "a.npy", rows)
    assert main(["audit", str(tmp_path / "a.npy")]) == 1
    assert "epsilon is infinite" in capsys.readouterr().out
    np.savez(tmp_path / "b.npz", channel=rows[:, :2].astype(np.float32), other=rows)
    assert main(["audit", str(tmp_path / "b.npz")]) == 0
    assert "float32 as stored" in capsys.readouterr().out
    np.save(tmp_path / "c.npy", np.array([[3, 1], [1, 3]], dtype=np.uint8))
    assert main(["audit", str(tmp_path / "c.npy")]) == 0
    assert "e^epsilon = 3" in capsys.readouterr().out


def test_rappor_as_the_repository_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "params.csv"
    path.write_text("k,h,m,p,q,f\n16,2,64,0.5,0.75,0.5\n")
    assert main(["audit", str(path)]) == 0
    out = capsys.readouterr().out
    assert "e^epsilon = 5929/2025" in out
    assert "e^epsilon = 81" in out
    assert main(["audit", str(path), "--reports", "10", "--epsilon", "4.2"]) == 1
    assert "epsilon of 10 reports = 4.299344039" in capsys.readouterr().out
    other = tmp_path / "rappor.toml"
    other.write_text("[rappor]\nbits = 16\nhashes = 2\ncohorts = 64\np = 0.5\nq = 0.75\nf = 0.5\n")
    assert main(["audit", str(other)]) == 0
    assert "e^epsilon = 5929/2025" in capsys.readouterr().out


def test_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "client.py"
    path.write_text(CLIENT)
    command = f"'{sys.executable}' '{path}'"
    asked = ["audit", "--program", command, "--answer", "no", "--answer", "yes", "--runs", "4000"]
    assert main([*asked, "--epsilon", "1.2"]) == 0  # ln 3 = 1.0986 is true
    assert "epsilon 1.2 is not refuted" in capsys.readouterr().out
    assert main([*asked, "--epsilon", "0.7", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["refuted"] is True
    assert 0.7 < found["epsilon"] < 1.0986


FILES = {
    "word.csv": ("1,2\n3,x\n", "row 2, column 2: 'x' is not a number"),
    "short.csv": ("0.5,0.5\n1\n", "row 2: has 1 entry, row 1 has 2"),
    "negative.csv": ("0.5,0.5\n1.1,-0.1\n", "row 2, column 2: -0.1 is negative"),
    "empty.csv": ("", "is empty"),
    "semicolons.csv": ("answer;x;y\nno;0,75;0,25\nyes;0,25;0,75\n", "has semicolons between its columns"),
    "tabs.csv": ("0.75\t0.25\n0.25\t0.75\n", "has tabs between its columns"),
    "spaces.csv": ("0.75 0.25\n0.25 0.75\n", "has spaces between its columns"),
    "percent.csv": ("75%,25%\n25%,75%\n", "write a decimal, such as 0.75 for 75%"),
    "large.csv": ("0.5,0.5\n1e100001,0.5\n", "'1e100001' has an exponent beyond 100000"),
    "nan.toml": ("[channel]\nrows = [[nan, 1.0]]\n", "'nan' is not a finite number"),
    "key.toml": ("[channel]\nrow = [[0.5, 0.5]]\n", "unknown key 'row'; did you mean 'rows'?"),
    "both.toml": ("epsilon = 1\n", "expected one table [channel] or [rappor]"),
    "torn.toml": ("[channel\n", "is not valid TOML"),
    "rappor.toml": ("[rappor]\nbits = 4\nhashes = 1\np = 0.5\nq = 2.0\nf = 0.1\n", "q: 2 is outside [0, 1]"),
    "params.csv": ("k,h,m,p,q,f\n16,2.5,64,0.5,0.75,0.5\n", "h: 2.5 is not a whole number"),
    "torn.npy": ("abc", "is not an array of numbers"),
}


@pytest.mark.parametrize("name", FILES)
def test_errors_are_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, said = FILES[name]
    path = tmp_path / name
    path.write_text(text)
    assert main(["audit", str(path)]) == 2
    given = capsys.readouterr()
    assert given.out == ""
    assert given.err.count("\n") == 1
    assert str(path) in given.err
    assert said in given.err


def test_spaces_after_commas_and_in_names_are_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spaced.csv"
    path.write_text("of whom, says no, says yes\nnot yet, 0.75, 0.25\nof course, 0.25, 0.75\n")
    assert main(["audit", str(path)]) == 0
    assert "answer = not yet, other = of course, report = says no" in capsys.readouterr().out


def ended(code: str) -> list[str]:
    """Return the arguments that audit a program of one line of Python."""
    command = f"'{sys.executable}' -c '{code}'"
    return ["audit", "--program", command, "--answer", "no", "--answer", "yes", "--runs", "100"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("raise KeyError(1)", "ended with exit code 1: KeyError: 1"),
        ("", "wrote 0 lines for 100 answers"),
        ("import sys; sys.stdout.buffer.write(bytes([255] * 99))", "wrote bytes that are not UTF-8"),
        ("while True: print(1)", "wrote more than 65536 bytes for one answer"),
        ("import time; time.sleep(60)", "took more than 0.5 seconds"),
    ],
)
def test_programs_that_fail_are_one_line(
    code: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MOST_BYTES", 1 << 16)
    if "sleep" in code:
        monkeypatch.setattr(program, "SECONDS", 0.5)
    assert main(ended(code)) == 2
    given = capsys.readouterr()
    assert given.err.count("\n") == 1
    assert said in given.err


def test_lines_end_at_line_feeds_alone(capsys: pytest.CaptureFixture[str]) -> None:
    write = "sys.stdout.buffer.write(line[:1].encode() + bytes([226, 128, 168, 10]))"  # a line separator
    code = f"import sys; [{write} for line in sys.stdin]"
    assert main(ended(code)) == 0
    assert "epsilon is at least" in capsys.readouterr().out


def test_pickles_are_never_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "objects.npy"
    np.save(path, np.array([["a", None]], dtype=object), allow_pickle=True)
    assert main(["audit", str(path)]) == 2
    assert "is not an array of numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit"], "MECHANISM: is missing"),
        (["audit", "a.json", "--reports", "2"], "--reports: is an option for foreign mechanisms only"),
        (["audit", "a.csv", "--runs", "2"], "--runs: is an option of --program only"),
        (["audit", "--program", "x"], "--answer: 0 of at least 2"),
        (["audit", "--program", "no-such-program-9", "--answer", "a", "--answer", "b"], "no-such-program-9"),
        (["audit", "--program", "'", "--answer", "a", "--answer", "b"], "cannot be read"),
    ],
)
def test_wrong_options_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    given = capsys.readouterr()
    assert given.err.count("\n") == 1
    assert said in given.err
