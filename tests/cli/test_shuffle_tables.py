"""Protocols from the shell: encode, shuffle, analyze; what is refused leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mechdesign.cli import main
from tests.support.mechanism_files import opened

MODELS = {
    "counting": 'problem = "shuffle-counting"\n[parameters]\nprotocol = "cnt-rr"\n',
    "histogram": 'problem = "shuffle-histogram"\n[parameters]\nprotocol = "solh"\ncategories = 4\n'
    'labels = ["red", "green", "blue", "none"]\n',
    "sum": 'problem = "shuffle-sum"\n[parameters]\nprotocol = "rsum-dsg"\nprecision = 8\n',
}
COMMON = "users = 200\nepsilon = 1.0\ndelta = 1e-4\n"
VALUES = {"counting": ["0", "1"], "histogram": ["red", "blue"], "sum": ["0.25", "1"]}
TRUTH = {"counting": 100.0, "histogram": 100.0, "sum": 125.0}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for kind, text in MODELS.items():
        (tmp_path / f"{kind}.toml").write_text(f'[model]\ntitle = "t"\n{text}{COMMON}')
        lines = [VALUES[kind][row % 2] for row in range(200)]
        (tmp_path / f"{kind}.csv").write_text("\n".join(["answer", *lines]) + "\n")
        assert main(["build", f"{kind}.toml", "-o", f"{kind}.json"]) == 0
    return tmp_path


def shell(*words: str) -> int:
    return main(list(words))


@pytest.mark.parametrize("kind", MODELS)
def test_from_people_to_an_estimate(folder, kind, capsys):
    table = f"{kind}.json"
    assert shell("run", table, "encode", f"{kind}.csv", "-o", "m.csv", "--seed", "3") == 0
    assert shell("run", table, "shuffle", "m.csv", "-o", "s.csv") == 0
    encoded, shuffled = ((folder / name).read_text().splitlines() for name in ("m.csv", "s.csv"))
    assert encoded[0] == shuffled[0]
    assert sorted(encoded[1:]) == sorted(shuffled[1:])
    assert encoded != shuffled
    rows = [tuple(map(int, line.split(","))) for line in shuffled[1:]]
    assert rows == sorted(rows)
    capsys.readouterr()
    assert shell("run", table, "analyze", "s.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    value = found["value"][0] if kind == "histogram" else found["value"]
    error = found["standard_error"][0] if kind == "histogram" else found["standard_error"]
    assert abs(value - TRUTH[kind]) <= 6 * error
    assert found["users"] == 200
    assert shell("run", table, "analyze", "m.csv") == 0
    assert "200 users" in capsys.readouterr().out


def test_parts_of_the_messages_are_analyzed_together(folder, capsys):
    assert shell("run", "counting.json", "encode", "counting.csv", "-o", "m.csv", "--seed", "3") == 0
    lines = (folder / "m.csv").read_text().splitlines()
    for name, part in (("a.csv", lines[1:81]), ("b.csv", lines[81:])):
        (folder / name).write_text("\n".join([lines[0], *part]) + "\n")
    capsys.readouterr()
    assert shell("run", "counting.json", "analyze", "m.csv") == 0
    together = capsys.readouterr().out
    assert shell("run", "counting.json", "analyze", "a.csv", "b.csv") == 0
    assert capsys.readouterr().out == together
    assert shell("run", "counting.json", "analyze", "a.csv") == 2
    assert "80, and 200 users send 200; give those of all users" in capsys.readouterr().err


@pytest.mark.parametrize("operation", ["shuffle", "analyze"])
def test_a_copy_of_the_messages_counts_once(folder, operation, capsys):
    assert shell("run", "counting.json", "encode", "counting.csv", "-o", "m.csv", "--seed", "3") == 0
    (folder / "copy.csv").write_text((folder / "m.csv").read_text() + "\n")  # a blank line more
    output = ["-o", "s.csv"] if operation == "shuffle" else []
    capsys.readouterr()
    assert shell("run", "counting.json", operation, "m.csv", "copy.csv", *output) == 2
    error = capsys.readouterr().err
    if operation == "shuffle":
        assert "copy.csv: has the same content as m.csv, and would count twice" in error
        assert not (folder / "s.csv").exists()
        assert shell("run", "counting.json", operation, "m.csv", "copy.csv", *output, "--identical") == 2
        assert "400, and 200 users send 200" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda lines: [lines[0], "5", *lines[2:]], "row 1: outside the alphabet: 5"),
        (lambda lines: [lines[0], "x", *lines[2:]], "row 1:"),
        (lambda lines: [*lines, "1"], "201, and 200 users send 200"),
        (lambda lines: ["message", *lines[1:]], "lacks the column(s) message__m"),
        (lambda lines: ["message__m000000000000", *lines[1:]], "messages of another protocol"),
    ],
)
def test_wrong_messages_are_one_line_and_exit_2(folder, capsys, change, text):
    assert shell("run", "counting.json", "encode", "counting.csv", "-o", "m.csv", "--seed", "3") == 0
    lines = (folder / "m.csv").read_text().splitlines()
    (folder / "wrong.csv").write_text("\n".join(change(lines)) + "\n")
    capsys.readouterr()
    assert shell("run", "counting.json", "analyze", "wrong.csv") == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "rows", "text"),
    [
        ("counting", ["0"] * 201, "more rows than the protocol has users (200)"),
        ("counting", ["0", "2"], "row 2: unknown category 2"),
        ("histogram", ["red", "gren"], "did you mean 'green'"),
        ("sum", ["0.5", "1.5"], "row 2: 1.5 is outside [0, 1]"),
        ("sum", ["0.5", "much"], "row 2: 'much' is not a number"),
    ],
)
def test_wrong_data_leave_nothing_behind(folder, capsys, kind, rows, text):
    (folder / "data.csv").write_text("\n".join(["answer", *rows]) + "\n")
    capsys.readouterr()
    assert shell("run", f"{kind}.json", "encode", "data.csv", "-o", "m.csv") == 2
    assert text in capsys.readouterr().err
    assert not (folder / "m.csv").exists()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--set", "delta=0"), 2, "delta: is 0"),
        (("--set", "delta=1"), 2, "delta: 1 is outside"),
        (("--set", "users=1"), 2, "users: 1 is not from 2"),
        (("--set", "honest=0"), 2, "honest: 0 is outside"),
        (("--set", "honest=1.5"), 2, "honest: 1.5 is outside"),
        (("--set", "protocol=cnt-2m"), 1, "infeasible: cnt-2m: a coin of each of 200 users is too little"),
        (("--set", "protocol=cnt-bn", "--set", "max_messages=1"), 1, "it needs 2 messages per user"),
    ],
)
def test_promises_that_cannot_be_kept_are_not_built(folder, capsys, words, code, text):
    model = folder / "small.toml"
    model.write_text((folder / "counting.toml").read_text().replace("epsilon = 1.0", "epsilon = 0.1"))
    capsys.readouterr()
    assert shell("build", "small.toml", "-o", "no.json", *words) == code
    assert text in capsys.readouterr().err
    assert not (folder / "no.json").exists()


def test_a_file_whose_noise_was_lowered_is_refused(folder, capsys):
    document = opened(folder / "counting.json")
    document["content"]["flip"] //= 2
    (folder / "forged.json").write_text(json.dumps(document))
    assert shell("audit", "forged.json") == 2
    assert "refused: privacy: FAILS" in capsys.readouterr().err
