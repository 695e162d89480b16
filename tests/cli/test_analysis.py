"""After collection, from the shell: public columns, groups, weights, regression, tests, scores."""

from __future__ import annotations

import csv
import json

import numpy as np
import openpyxl
import pytest

from mechdesign.cli import main
from mechdesign.primitives.kary import KaryResponse

USERS = 600


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """A folder with a mechanism, answers with public columns, and reports beside the public columns."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    KaryResponse.of(2, 2.0, labels=["no", "yes"]).described("Tired?", id="t-1").save("m.json")
    ward = rng.choice(["a", "b"], USERS)
    yes = np.where(rng.random(USERS) < np.where(ward == "a", 0.2, 0.7), "yes", "no")
    with open("people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["tired", "ward", "years", "w"])
        years, weights = rng.integers(0, 30, USERS), rng.uniform(0.5, 2, USERS).round(3)
        writer.writerows(zip(yes, ward, years, weights, strict=True))
    public = ["--public", "ward", "--public", "years", "--public", "w"]
    assert (
        main(
            ["randomize", "m.json", "people.csv", "--column", "tired", *public, "--seed", "1", "-o", "r.csv"]
        )
        == 0
    )
    return tmp_path


def lines_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_public_columns_stay_row_by_row(survey, capsys):
    rows, people = lines_of("r.csv"), lines_of("people.csv")
    assert [row[1:] for row in rows] == [row[1:] for row in people]
    assert rows[0][0].startswith("tired__m")
    assert (
        main(["randomize", "m.json", "people.csv", "--column", "tired", "--seed", "1", "-o", "alone.csv"])
        == 0
    )
    assert [row[0] for row in lines_of("alone.csv")] == [row[0] for row in rows]


def test_what_is_public_is_said_and_small_groups_are_named(survey, capsys):
    with open("people.csv", "a") as file:
        file.write("no,c,3,1\n")
    assert (
        main(["randomize", "m.json", "people.csv", "--column", "tired", "--public", "ward", "-o", "s.csv"])
        == 0
    )
    error = capsys.readouterr().err
    assert (
        "not protected, written as they are: 'ward' (smallest group: 1 row with 'c', which singles it out)"
        in error
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["randomize", "m.json", "people.csv", "--column", "tired", "--public", "tired"], "private answers"),
        (
            ["randomize", "m.json", "people.csv", "--column", "tired", "--public", "wart"],
            "did you mean 'ward'",
        ),
        (["randomize", "m.json", "r.csv", "--column", "ward", "--public", "years"], "unknown category 'a'"),
        (["randomize", "m.json", "people.csv", "people.csv", "--public", "ward"], "people.csv"),
        (["estimate", "m.json", "r.csv", "--by", "wart"], "did you mean 'ward'"),
        (["estimate", "m.json", "r.csv", "--question", "x"], "needs --by"),
        (["estimate", "m.json", "r.csv", "people.csv", "--by", "ward"], "people.csv: no column name ends in"),
        (["estimate", "m.json", "r.csv", "--weights", "ward"], "holds texts, not weights"),
        (["estimate", "m.json", "r.csv", "--margins", "people.csv"], "no column 'column'"),
        (["estimate", "m.json", "people.csv", "--by", "ward"], "no column name ends in a mechanism's digest"),
        (["regress", "m.json", "r.csv", "year"], "did you mean 'years'"),
        (["regress", "m.json", "r.csv", "years", "--model", "multinomail"], "did you mean"),
        (["test", "m.json", "r.csv", "--by", "ward", "--draws", "-1"], "give 0 or more"),
        (["test", "m.json", "r.csv", "--wave", "./r.csv"], "is the same file as r.csv"),
        (["scores", "m.json", "r.csv", "-o", "r.csv"], "r.csv"),
        (["scores", "m.json", "r.csv", "-o", "s.docx"], "s.docx"),
    ],
)
def test_what_cannot_be_had_is_one_line_and_nothing_is_written(survey, capsys, command, words):
    before = {path: path.read_bytes() for path in survey.iterdir()}
    more = ["-o", "new.csv"] if command[0] == "randomize" else []
    try:
        code = main([*command, *more])
    except SystemExit as left:
        code = left.code
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1)
    assert words in error
    assert {path: path.read_bytes() for path in survey.iterdir()} == before


def test_groups_weights_and_margins(survey, capsys):
    assert main(["estimate", "m.json", "r.csv", "--by", "ward", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["groups"]["groups"] == ["a", "a", "b", "b"]
    assert result["differences"]["p_values"][0] < 1e-9
    assert main(["estimate", "m.json", "r.csv", "--weights", "w", "--strata", "ward"]) == 0
    assert "design effect" in capsys.readouterr().out
    (survey / "margins.csv").write_text("column,value,size\nward,a,90\nward,b,10\n")
    assert main(["estimate", "m.json", "r.csv", "--margins", "margins.csv", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)["estimate"]["value"][1]
    assert value == pytest.approx(0.9 * result["groups"]["value"][1] + 0.1 * result["groups"]["value"][3])
    assert (
        main(["estimate", "m.json", "r.csv", "--by", "ward", "-o", "groups.xlsx", "--figure", "g.svg"]) == 0
    )
    book = openpyxl.load_workbook("groups.xlsx")
    assert book.sheetnames == ["groups", "differences", "About"]
    head = [cell.value for cell in book["groups"][1]]
    assert head[:4] == ["question", "category", "estimate", "standard_error"]
    assert book["groups"]["C2"].number_format == "0.0%"
    assert book["groups"].freeze_panes == "A2"
    assert any("t-1" in str(cell.value) for row in book["About"].iter_rows() for cell in row)
    assert {path.name for path in survey.glob("*.svg")} == {"g.svg", "g-2.svg", "g-3.svg"}
    assert "groups.xlsx: 5 rows" in capsys.readouterr().out


def test_regression_and_test(survey, capsys):
    assert main(["regress", "m.json", "r.csv", "~ years + C(ward)", "--json"]) == 0
    fit = json.loads(capsys.readouterr().out)["regression"]
    assert fit["terms"] == ["Intercept", "years", "C(ward)[T.b]"]
    assert fit["p_values"][2] < 1e-9
    assert (
        main(["regress", "m.json", "r.csv", "years", "--weights", "w", "--cluster", "ward", "-o", "c.csv"])
        == 0
    )
    assert [row[1] for row in lines_of("c.csv")][1:] == ["Intercept", "years"]
    capsys.readouterr()
    assert main(["test", "m.json", "r.csv", "--by", "ward", "--json"]) == 0
    test = json.loads(capsys.readouterr().out)
    assert test["freedom"] == 1
    assert test["p_value"] < 1e-9


def test_scores_average_to_the_estimate(survey, capsys):
    assert main(["scores", "m.json", "r.csv", "-o", "s.csv"]) == 0
    capsys.readouterr()
    header, *rows = lines_of("s.csv")
    assert header == ["ward", "years", "w", "no", "yes", "information"]
    average = np.array([row[4] for row in rows], dtype=float).mean()
    assert main(["estimate", "m.json", "r.csv", "--json"]) == 0
    assert average == pytest.approx(json.loads(capsys.readouterr().out)["value"][1])


def test_the_users_of_a_difference(survey, capsys):
    assert main(["tradeoff", "m.json", "--difference", "10%", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert main(["tradeoff", "m.json", "--difference", "0.05", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["needed"][0] == pytest.approx(
        4 * row["needed"][0], rel=0.01
    )
    assert main(["tradeoff", "m.json", "--difference", "0.1", "--error", "0.1"]) == 2
    assert main(["tradeoff", "m.json", "--difference", "x"]) == 2
    assert main(["tradeoff", "m.json", "--difference", "0.1", "--power", "1.5"]) == 2
