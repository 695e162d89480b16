"""Operations on files: what is refused before anything is lost, fingerprints, missing values, menus."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from tests.support.tables import AGE, SURVEY, build, refused, said
from tests.support.whole_tables import write_columns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "age.toml").write_text(AGE)
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        rows = [["answer", "age"], ["a", "30"], ["b", ""], ["", "140"], ["a", "-1"], ["b", "50"]]
        csv.writer(stream).writerows(rows)
    return tmp_path


# What is never lost


def test_an_input_is_never_overwritten_by_whatever_name(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    os.symlink("people.csv", "link.csv")
    os.link("people.csv", "second.csv")
    os.link(mechanism, "mechanism.csv")
    for place in ("people.csv", "./people.csv", "link.csv", "second.csv", "mechanism.csv"):
        error = refused(
            capsys, "randomize", mechanism, "people.csv", "--column", "age", "-o", place, "--force"
        )
        assert f"-o {place}: is an input of this command; choose another path" in error
    os.symlink("survey.toml", "model.json")
    assert "is an input of this command" in refused(
        capsys, "build", "survey.toml", "-o", "model.json", "--force"
    )


def test_what_exists_is_replaced_by_force_alone(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    options = ["--column", "answer", "--missing", "category"]
    (folder / "notes.csv").write_text("do not lose\n")
    error = refused(capsys, "randomize", mechanism, "people.csv", "-o", "notes.csv", *options)
    assert "-o notes.csv: file exists; choose another path or add --force" in error
    said(capsys, "randomize", mechanism, "people.csv", "-o", "reports.csv", *options)
    error = refused(capsys, "randomize", mechanism, "people.csv", "-o", "reports.csv", *options)
    assert "reports.csv: file exists" in error, "reports that were sent already would be drawn again"
    (folder / "others.csv").write_text("answer\na\nb\n")
    error = refused(capsys, "randomize", mechanism, "others.csv", "-o", "reports.csv", *options)
    assert "reports.csv: file exists" in error, "they are reports of other people"
    said(capsys, "build", "survey.toml", "-o", "survey.json")
    error = refused(capsys, "build", "survey.toml", "--set", "epsilon=1", "-o", "survey.json")
    assert "survey.json: file exists" in error, "reports made with the old mechanism would be lost"
    assert main(["build", "survey.toml", "--set", "epsilon=1", "-o", "survey.json", "--force"]) == 0
    assert "(id " in capsys.readouterr().err, "what was replaced is named"
    error = refused(capsys, "randomize", "survey.json", "people.csv", "-o", "reports.csv", *options)
    assert "reports.csv: file exists" in error, "they are those of another mechanism"
    said(capsys, "randomize", "survey.json", "people.csv", "-o", "notes.csv", "--force", *options)
    assert (folder / "notes.csv").read_text().startswith("answer__m")


def test_a_file_keeps_its_mode_when_it_is_replaced(folder, capsys):
    (folder / "m.json").touch()
    os.chmod("m.json", 0o600)
    said(capsys, "build", "survey.toml", "-o", "m.json", "--force")
    assert os.stat("m.json").st_mode & 0o777 == 0o600


def test_a_sweep_replaces_a_table_by_force_alone(folder, capsys):
    for force in ([], ["--force"]):
        said(capsys, "sweep", "response/survey_skewed", "-o", "sweep.csv", *force)
    assert "exists" in refused(capsys, "sweep", "response/survey_skewed", "-o", "sweep.csv")
    assert "exists" in refused(capsys, "sweep", "response/zhou2019_figure2", "-o", "sweep.csv")
    assert "exists" in refused(capsys, "sweep", "response/survey_skewed", "-o", "people.csv")


# Fingerprints


def test_reports_of_another_mechanism_are_refused(folder, capsys):
    first = build(capsys, "survey.toml")
    said(capsys, "build", "survey.toml", "--set", "epsilon=1", "-o", "other.json")
    options = ["--column", "answer", "--missing", "category"]
    said(capsys, "randomize", first, "people.csv", "-o", "reports.csv", *options)
    mark, other = (f"m{load_mechanism(path).survey_digest[:12]}" for path in (first, "other.json"))
    error = refused(capsys, "estimate", "other.json", "reports.csv")
    assert f"reports.csv: holds reports of another mechanism or survey ({mark}, this one is {other}" in error
    assert "use the mechanism file they were made with" in error
    text = (folder / "reports.csv").read_text()
    (folder / "bare.csv").write_text(text.replace(f"__{mark}", ""))
    assert "--unmarked if you are sure" in refused(capsys, "estimate", first, "bare.csv")
    assert "5 reports" in said(capsys, "estimate", first, "bare.csv", "--unmarked")
    (folder / "upper.csv").write_text(text.replace(mark, mark.upper()))
    assert "5 reports" in said(capsys, "estimate", first, "upper.csv"), "programs change the case of names"


def test_a_file_counts_once(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    options = ["--column", "answer", "--missing", "category"]
    said(capsys, "randomize", mechanism, "people.csv", "-o", "r.csv", *options)
    os.symlink("r.csv", "again.csv")
    for path in ("r.csv", "./r.csv", "again.csv"):
        assert "is the same file as r.csv; name it once" in refused(
            capsys, "estimate", mechanism, "r.csv", path
        )
    os.link("r.csv", "hard.csv")
    assert "is the same file as r.csv" in refused(capsys, "estimate", mechanism, "r.csv", "hard.csv")


def test_a_copy_counts_once_in_whatever_form_unless_it_is_meant(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    options = ["--column", "answer", "--missing", "category"]
    said(capsys, "randomize", mechanism, "people.csv", "-o", "r.csv", *options)
    text = (folder / "r.csv").read_text()
    name, *rows = text.splitlines()
    forms = {
        "copy.csv": text.encode(),
        "windows.csv": text.replace("\n", "\r\n").encode(),
        "quoted.csv": "".join(f'"{line}"\n' for line in text.splitlines()).encode(),
        "marked.csv": b"\xef\xbb\xbf" + text.encode(),
    }
    for path, content in forms.items():
        (folder / path).write_bytes(content)
    write_columns("typed.parquet", {name: np.array(rows)})
    for path in (*forms, "typed.parquet"):
        for order in (["r.csv", path], [path, "r.csv"]):
            error = refused(capsys, "estimate", mechanism, *order)
            assert f"{order[1]}: has the same content as {order[0]}, and would count twice" in error
        assert "10 reports" in said(capsys, "estimate", mechanism, "r.csv", path, "--identical")
    (folder / "more.csv").write_text(text + rows[0] + "\n")
    assert "11 reports" in said(capsys, "estimate", mechanism, "r.csv", "more.csv")


# Columns, ranges and missing values


def test_the_model_file_says_columns_range_and_missing_values(folder, capsys):
    mechanism = build(capsys, "age.toml")
    document = json.loads((folder / mechanism).read_text())
    assert document["data"] == {"columns": ["age"], "missing": "drop"}
    assert (document["content"]["low"], document["content"]["high"]) == (0.0, 100.0)
    error = refused(capsys, "randomize", mechanism, "people.csv", "-o", "r.csv")
    assert "people.csv: column 'age': values: row 3: 140 is outside [0, 100]" in error, "counted with the gap"
    text = said(capsys, "randomize", mechanism, "people.csv", "-o", "r.csv", "--clip")
    assert "4 rows of 'age__m" in text
    assert "1 row without a value dropped" in text
    assert "2 values moved to [0, 100]" in text
    assert "is missing; leave such rows out with --missing drop" in refused(
        capsys, "randomize", mechanism, "people.csv", "-o", "new.csv", "--missing", "refuse"
    )


def test_the_shell_says_them_too(folder, capsys):
    said(
        capsys, "build", "age.toml", "-o", "m.json", "--column", "answer", "--range", "-5", "5", "--missing",
        "refuse",
    )  # fmt: skip
    document = json.loads((folder / "m.json").read_text())
    assert document["data"] == {"columns": ["answer"], "missing": "refuse"}
    assert (document["content"]["low"], document["content"]["high"]) == (-5.0, 5.0)


def test_missing_answers_are_a_category_where_there_is_one(folder, capsys):
    mechanism = build(capsys, "survey.toml", "--missing", "category", "--column", "answer")
    text = said(capsys, "randomize", mechanism, "people.csv", "-o", "r.csv")
    assert "1 row without a value counted as 'missing'" in text
    assert "5 rows" in text
    number = build(capsys, "age.toml")
    assert "has no category for missing values" in refused(
        capsys, "randomize", number, "people.csv", "-o", "new.csv", "--missing", "category"
    )
    assert "no category 'missing'; build with that label" in refused(
        capsys,
        "build",
        "survey.toml",
        "--set",
        'labels=["a", "b", "c"]',
        "--missing",
        "category",
        "-o",
        "x.json",
    )


def test_codes_for_missing_values(folder, capsys):
    mechanism = build(capsys, "age.toml")
    (folder / "coded.csv").write_text("age\n30\nNA\n-9\n")
    assert "row 2: 'NA' is not a number" in refused(
        capsys, "randomize", mechanism, "coded.csv", "-o", "r.csv"
    )
    codes = ["--missing-code", "NA", "--missing-code=-9"]
    text = said(capsys, "randomize", mechanism, "coded.csv", "-o", "r.csv", *codes)
    assert "2 rows without a value dropped" in text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('columns = ["a", "b"]', "2 for a mechanism of one"),
        ("range = [1]", r"[data] range: expected [low, high]"),
        ("range = [2, 1]", "low = 2 is not below high = 1"),
        ('missing = "never"', "missing: 'never' is not a choice"),
        ('colums = ["a"]', "[data] unknown key 'colums'; did you mean 'columns'?"),
        ('columns = ["a", "a"]', "a name appears twice"),
        ("columns = [1]", "expected a list of names"),
    ],
)
def test_data_tables_that_make_no_sense(folder, capsys, data, message):
    (folder / "bad.toml").write_text(AGE.split("[data]")[0] + "[data]\n" + data + "\n")
    assert message in refused(capsys, "build", "bad.toml", "-o", "bad.json")


# Whether anything can be estimated


def test_what_can_be_estimated_is_said_before_anything_is_collected(folder, capsys):
    good, bad = ["--set", "epsilon=3"], ["--set", "prior=[0.9, 0.05, 0.05]", "--set", "epsilon=1"]
    for command in (["build", "-o", "g.json"], ["solve"], ["compare"]):
        text = said(capsys, *command, "survey.toml", *good, "--users", "400")
        assert "frequencies: can be estimated; with 400 users the standard error of a share is" in text
        assert "CANNOT" not in text
    for command in (["build", "-o", "b.json"], ["solve"], ["compare"]):
        text = said(capsys, *command, "survey.toml", *bad)
        assert "CANNOT be estimated: 3 answers ('a', 'b', 'missing') lead to the same reports" in text
        assert "an even prior" in text
    options = ["people.csv", "--column", "answer", "--missing", "category", "-o", "r.csv"]
    error = refused(capsys, "randomize", "b.json", *options)
    assert error.startswith("mechdesign: b.json: frequencies: CANNOT be estimated")
    assert "on purpose with --anyway" in error
    said(capsys, "randomize", "b.json", *options, "--anyway")
    solved = json.loads(said(capsys, "solve", "survey.toml", *bad, "--json"))
    assert solved["forecast"]["possible"] is False


# Menus, and other operations


def test_a_menu_works_from_the_shell(folder, capsys):
    said(capsys, "build", "contract/monotone", "-o", "menu.json")
    listed = said(capsys, "run", "menu.json")
    assert "choose: the best item for each type" in listed
    assert "takes <type> (a privacy preference > 0" in listed
    menu = load_mechanism("menu.json")
    types = np.array([*menu.terms.types, menu.terms.types[-1] * 100])
    (folder / "types.csv").write_text("theta\n" + "\n".join(map(repr, types.tolist())) + "\n")
    text = said(capsys, "run", "menu.json", "choose", "types.csv", "-o", "out.csv")
    assert "1 user staying out" in text
    with (folder / "out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["item"]) for row in rows] == menu.choose(types).tolist()
    assert [float(row["payment"]) for row in rows] == menu.payments(menu.choose(types)).tolist()
    assert (rows[-1]["item"], float(rows[-1]["payment"]), float(rows[-1]["epsilon"])) == ("-1", 0.0, 0.0)
    (folder / "types.csv").write_text("theta\n1\n-2\n")
    error = refused(capsys, "run", "menu.json", "choose", "types.csv", "-o", "new.csv")
    assert "types.csv: column 'theta': types: row 2: -2 is not a finite price above 0" in error


def test_run_offers_what_the_mechanism_offers(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    options = ["--column", "answer", "--missing", "category", "--seed", "3"]
    said(capsys, "run", mechanism, "randomize", "people.csv", "-o", "one.csv", *options)
    said(capsys, "randomize", mechanism, "people.csv", "-o", "two.csv", *options)
    assert (folder / "one.csv").read_text() == (folder / "two.csv").read_text()
    numbered = load_mechanism(mechanism).operations()[0].settings({"seed": 0, "clip": False, "column": []})
    assert numbered.options == {"seed": 0}, "0 is a value, and what was not given is left out"
    found = json.loads(said(capsys, "run", mechanism, "estimate", "one.csv", "--json"))
    assert found["users"] == 5
    assert "no operation 'chose'; known: estimate, randomize" in refused(
        capsys, "run", mechanism, "chose", "people.csv", "-o", "x.csv"
    )
    assert "--clip: is not an option of 'randomize' of this mechanism" in refused(
        capsys, "randomize", mechanism, "people.csv", "-o", "x.csv", "--clip", "--column", "answer"
    )


# The choice of a mechanism for means, and of a report for an ordered question


def test_choose_names_linear_queries_for_an_ordered_question(folder, capsys):
    wanted = ["choose", "--epsilon", "1", "--users", "10000", "--ordered", "5"]
    text = said(capsys, *wanted, "--column", "rating", "-o", "ordered.json")
    assert text.splitlines()[3].startswith("linear-queries    0.01553  made for cumulative shares, proven to")
    ranking = json.loads(said(capsys, *wanted, "--json"))
    assert [entry["report"] for entry in ranking["candidates"]] == ["linear-queries", "subset"]
    assert load_mechanism("ordered.json").data_columns == ("rating",)
    assert "users: 0 is not from 1" in refused(capsys, *wanted[:3], "--users", "0", "--ordered", "5")
    assert "size: 1 is not from 2" in refused(capsys, *wanted[:5], "--ordered", "1")
    assert "set epsilon > 0" in refused(capsys, "choose", "--epsilon", "0", *wanted[3:])
    assert "is not for --ordered" in refused(capsys, *wanted, "--attributes", "2")


def test_choose_ranks_and_saves(folder, capsys):
    wanted = ["choose", "--epsilon", "1", "--users", "50000"]
    text = said(capsys, *wanted, "--range", "40", "200")
    assert "mean-channel" in text.splitlines()[3]
    assert "errors are parts" not in text
    ranking = json.loads(said(capsys, *wanted, "--range", "40", "200", "--json"))
    python = md.choose(1.0, 50_000, low=40.0, high=200.0)
    assert [entry["error"] for entry in ranking["candidates"]] == [entry.error for entry in python.candidates]
    columns = ["--column", "age", "--column", "steps", "--range", "0", "100", "--range", "0", "30000"]
    text = said(capsys, *wanted, *columns, "--exact-only", "--missing", "drop", "-o", "two.json")
    assert "errors are parts of the range of its column" in text
    mechanism = load_mechanism("two.json")
    assert mechanism.data_columns == ("age", "steps")
    assert mechanism.ranges.high.tolist() == [100.0, 30000.0]
    assert "exists" in refused(capsys, *wanted, "-o", "two.json")
    assert "users: 0 is not from 1" in refused(capsys, "choose", "--epsilon", "1", "--users", "0")
