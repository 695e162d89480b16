"""Bad input: one line that names file, field and remedy, exit code 2, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import mechdesign as md
from mechdesign.cli import main

MODEL = """
[model]
title = "t"
problem = "randomized-response"
[parameters]
prior = [0.5, 0.3, 0.2]
epsilon = 1.5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL)
    problem = md.RandomizedResponse(prior=[0.4, 0.3, 0.3], epsilon=2.0, labels=["a", "b", "c"])
    md.solve(problem).mechanism().save(tmp_path / "m.json")
    md.solve(md.RandomizedResponse(prior=[0.9, 0.1], epsilon=0.5)).mechanism().save(
        tmp_path / "constant.json"
    )
    (tmp_path / "data.csv").write_text("answer\na\nb\n")
    return tmp_path


def refused(capsys, *arguments: str, code: int = 2) -> str:
    before = {path: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()}
    try:
        found = main(list(arguments))
    except SystemExit as stop:  # argparse
        found = stop.code
    output, error = capsys.readouterr()
    assert found == code, error
    assert error.count("\n") == 1, error
    assert error.startswith("mechdesign")
    assert "Traceback" not in error
    assert output == ""
    assert {path: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()} == before, (
        "files changed"
    )
    return error


@pytest.mark.parametrize(
    ("setting", "texts"),
    [
        ("prior=[0.5, -0.1, 0.6]", ["prior: entry 1 is negative", "give probabilities >= 0"]),
        ("prior=[0.5, 0.3, 0.3]", ["prior: sums to 1.1, not 1", "divide by the sum"]),
        ("prior=[]", ["prior: is empty", "give at least one number"]),
        ("prior=[0.5, nan, 0.5]", ["prior: has NaN at index 1", "give numbers"]),
        ("epsilon=-1", ["epsilon: -1 is negative", "give a number >= 0"]),
        ("epsilon=inf", ["epsilon: is infinite", "give a finite number"]),
        ("epsilon=nan", ["epsilon: is NaN", "give a number"]),
        ("epsilon=lots", ["epsilon: expected a number, got 'lots'"]),
        ("delta=1.0", ["delta: 1 is outside [0, 1)"]),
        ("delta=-0.1", ["delta: -0.1 is outside [0, 1)"]),
        ("utility=[[1, 0], [0, 1]]", ["utility: has 2 rows for 3 answers", "give"]),
        ("utility=[[1], [2, 3], [4]]", ["utility: expected a matrix"]),
        ("epsilom=1", ["no parameter 'epsilom'", "did you mean 'epsilon'?"]),
    ],
)
@pytest.mark.parametrize("command", [["solve"], ["build", "-o", "new.json"], ["check"]])
def test_impossible_parameters(folder, capsys, command, setting, texts):
    error = refused(capsys, *command, "model.toml", "--set", setting)
    assert "model.toml: [parameters]" in error
    assert all(text in error for text in texts), error


def test_parameters_in_the_file_itself(folder, capsys):
    (folder / "model.toml").write_text(MODEL.replace("0.2]", "0.3]"))
    error = refused(capsys, "build", "model.toml", "-o", "new.json")
    assert error == (
        "mechdesign: model.toml: [parameters] prior: sums to 1.1, not 1; "
        "divide by the sum or correct an entry\n"
    )


def test_unknown_keys_problems_models_methods_and_commands(folder, capsys):
    (folder / "key.toml").write_text(MODEL.replace("epsilon", "epsilom"))
    assert "key.toml: [parameters] no parameter 'epsilom'; did you mean 'epsilon'?" in refused(
        capsys, "show", "key.toml"
    )
    (folder / "problem.toml").write_text(MODEL.replace("randomized", "randomised"))
    error = refused(capsys, "solve", "problem.toml")
    assert (
        "problem.toml: [model] problem: no 'randomised-response'; did you mean 'randomized-response'?"
        in error
    )
    assert "did you mean 'response/zhou2019_survey'?" in refused(capsys, "solve", "response/zhou2019_servey")
    assert "did you mean 'lp'?" in refused(capsys, "solve", "model.toml", "--method", "lpp")
    assert "does not apply" in refused(capsys, "solve", "model.toml", "--method", "staircase")
    assert "did you mean 'solve'?" in refused(capsys, "slove")
    assert "see mechdesign build --help" in refused(capsys, "build", "model.toml")
    assert "expected NAME=VALUE" in refused(capsys, "solve", "model.toml", "--set", "epsilon")
    assert "name models, or use --all" in refused(capsys, "compare")
    assert "'model.toml' cannot be combined with --all" in refused(capsys, "check", "--all", "model.toml")
    assert "has no [sweep]" in refused(capsys, "sweep", "model.toml")
    assert "has no [sweep]" in refused(capsys, "sweep", "model.toml", "--warm")
    assert "one after the other" in refused(capsys, "sweep", "spectrum/line_slack", "--warm", "--jobs", "2")
    assert "no family 'nothing'; known: auction, contract" in refused(capsys, "list", "nothing")
    assert "none.toml: file not found" in refused(capsys, "solve", "none.toml")


@pytest.mark.parametrize(
    ("text", "options", "texts"),
    [
        (
            "answer\na\nd\n",
            [],
            ["data.csv", "column 'answer'", "row 2", "unknown category 'd'", "known: a, b, c"],
        ),
        ("answer\na\nA\n", [], ["row 2", "unknown category 'A'"]),
        ("", [], ["data.csv: is empty", "give a header line"]),
        ("answer\n", [], ["data.csv: has a header and no rows", "give one row per user"]),
        ("answer,age\na,1\n", [], ["data.csv: has 2 columns (answer, age)", "--column"]),
        (
            "answer,age\na,1\n",
            ["--column", "ansver"],
            ["data.csv: no column 'ansver'", "did you mean 'answer'?"],
        ),
        ("answer,age\na\n", ["--column", "answer"], ["data.csv: line 2: 1 field, the header has 2"]),
    ],
)
@pytest.mark.parametrize("verb", ["randomize", "estimate"])
def test_data_that_do_not_fit(folder, capsys, verb, text, options, texts):
    (folder / "data.csv").write_text(text)
    output = ["-o", "reports.csv"] if verb == "randomize" else ["--unmarked"]
    error = refused(capsys, verb, "m.json", "data.csv", *output, *options)
    assert all(part in error for part in texts), error


def test_parquet_data_that_do_not_fit(folder, capsys):
    (folder / "bad.parquet").write_text("nonsense")
    assert "bad.parquet: is not a Parquet file" in refused(
        capsys, "randomize", "m.json", "bad.parquet", "-o", "r.csv"
    )
    pyarrow.parquet.write_table(pyarrow.table({"answer": ["a", None]}), folder / "gap.parquet")
    error = refused(capsys, "randomize", "m.json", "gap.parquet", "-o", "r.csv")
    assert "gap.parquet: column 'answer': row 2: is missing; leave such rows out with --missing drop" in error
    error = refused(capsys, "randomize", "m.json", "gap.parquet", "--column", "anser", "-o", "r.csv")
    assert "gap.parquet: no column 'anser'; did you mean 'answer'?" in error
    assert "not a Parquet file" not in error


def test_files_that_are_missing_or_cannot_be_written(folder, capsys):
    (folder / "taken").mkdir()
    assert "none.csv: file not found" in refused(capsys, "randomize", "m.json", "none.csv", "-o", "r.csv")
    assert "none.json: file not found" in refused(capsys, "randomize", "none.json", "data.csv", "-o", "r.csv")
    for suffix, command in (
        (".json", ["build", "model.toml"]),
        (".csv", ["randomize", "m.json", "data.csv"]),
    ):
        place, taken = f"no/such/r{suffix}", folder / f"taken{suffix}"
        taken.mkdir()
        assert f"{place}: cannot be written" in refused(capsys, *command, "-o", place)
        assert f"{taken.name}: is not a regular file" in refused(capsys, *command, "-o", taken.name)
        assert list(taken.iterdir()) == []


def test_reports_that_no_channel_could_have_produced(folder, capsys):
    (folder / "reports.csv").write_text("answer\n0\n1\n")
    error = refused(capsys, "estimate", "constant.json", "reports.csv", "--unmarked")
    assert "reports.csv" in error
    assert "row 2: no answer can cause the report '1'" in error
    assert "use the mechanism file the reports were made with" in error


def test_a_channel_that_cannot_be_inverted(folder, capsys):
    (folder / "reports.csv").write_text("answer\n0\n0\n")
    error = refused(capsys, "estimate", "constant.json", "reports.csv", "--unmarked")
    assert "constant.json: channel: " in error
    assert "cannot be separated; the best channel for a prior never reports its rarest answers" in error


@pytest.mark.parametrize("verb", ["audit", "randomize", "estimate"])
def test_a_tampered_mechanism_is_refused_by_every_command(folder, capsys, verb):
    document = json.loads((folder / "m.json").read_text())
    document["content"]["epsilon"] = 0.1
    (folder / "m.json").write_text(json.dumps(document))
    rest = {"audit": [], "randomize": ["data.csv", "-o", "r.csv"], "estimate": ["data.csv"]}[verb]
    error = refused(capsys, verb, "m.json", *rest)
    assert "m.json: refused: channel: not private as stated: privacy: FAILS" in error
    assert "rebuild it" in error


def test_a_seed_that_is_none(folder, capsys):
    error = refused(capsys, "randomize", "m.json", "data.csv", "-o", "r.csv", "--seed", "-3")
    assert "-3 is not a seed" in error


def test_epsilon_zero_is_legal_and_says_what_it_means(folder, capsys):
    assert main(["build", "model.toml", "--set", "epsilon=0", "-o", "zero.json"]) == 0
    assert "true_epsilon = 0" in capsys.readouterr().out
    (folder / "reports.csv").write_text("answer\n0\n")
    assert "cannot be separated" in refused(capsys, "estimate", "zero.json", "reports.csv", "--unmarked")
