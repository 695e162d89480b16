"""People in several rows of data are noticed before anything is drawn; several rows are several epsilons."""

from __future__ import annotations

from pathlib import Path

import pytest

from mechdesign.cli import main
from mechdesign.data.identifiers import repeats_in

MODEL = """[survey]
title = "S"
epsilon = 4.0
[[questions]]
name = "a"
labels = ["x", "y"]
skip = true
[[questions]]
name = "n"
range = [0, 10]
"""
ROWS = ["u0,x,1"] * 30 + [f"u{number},y,2" for number in range(1, 40)]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_CACHE", "off")
    Path("s.toml").write_text(MODEL)
    assert main(["build", "s.toml", "-o", "s.json"]) == 0
    capsys.readouterr()
    return tmp_path


def randomized(capsys, *arguments):
    code = main(["randomize", "s.json", *arguments, "-o", "r.csv", "--force"])
    output, error = capsys.readouterr()
    return code, output, error


@pytest.mark.parametrize("name", ["user_id", "Participant ID", "email", "record_id"])
def test_thirty_rows_of_one_person_are_thirty_epsilons(folder, capsys, name):
    Path("d.csv").write_text("\n".join([f"{name},a,n", *ROWS]) + "\n")
    code, output, error = randomized(capsys, "d.csv")
    what = f"d.csv: column '{name}': 69 rows of 40 people, up to 30 of one: that person's reports have"
    assert (code, output) == (2, "")
    assert error == (
        f"mechdesign: {what} epsilon = 120 in all, not 4; keep one row per person, or add --repeated if this "
        "is meant\n"
    )
    assert not Path("r.csv").exists()
    code, output, error = randomized(capsys, "d.csv", "--repeated")
    assert code == 0
    assert f"note: {what} epsilon = 120 in all, not 4\n" in error


def test_a_column_is_stated_and_identifiers_have_one_form(folder, capsys):
    lines = ["who,a,n", "1,x,1", "1.0,x,2", " 1 ,x,3", "2,y,4", ",y,5", ",y,6"]
    Path("d.csv").write_text("\n".join(lines) + "\n")
    assert randomized(capsys, "d.csv")[0] == 0  # nothing says that this column identifies people
    code, _, error = randomized(capsys, "d.csv", "--person", "who")
    assert code == 2
    assert "column 'who': 4 rows of 2 people, up to 3 of one" in error
    assert "no column 'whom'" in randomized(capsys, "d.csv", "--person", "whom")[2]


def test_people_in_two_files(folder, capsys):
    for name in ("2026.csv", "2027.csv"):
        Path(name).write_text(f"user_id,a,n\nu1,x,{name[3]}\nu2,y,2\n")
    code, _, error = randomized(capsys, "2026.csv", "2027.csv")
    assert code == 2
    assert "2026.csv: column 'user_id': 4 rows of 2 people, up to 2 of one" in error


def test_other_columns_are_no_people(folder, capsys):
    Path("d.csv").write_text("ward,a,n\ncare,x,1\ncare,y,2\n")
    assert randomized(capsys, "d.csv")[0] == 0
    Path("e.csv").write_text("user_id,a,n\nu1,x,1\nu2,y,2\n,y,2\n,y,2\n")
    assert randomized(capsys, "e.csv")[0] == 0


def test_a_question_that_is_called_like_an_identifier(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("code,a\nx,1\nx,2\n")
    assert repeats_in([str(path)], ["code"], None) is None
    assert repeats_in([str(path)], ["a"], None).most == 2


def test_dropped_rows_are_those_that_lack_a_required_answer(folder, capsys):
    Path("d.csv").write_text("a,n\n,5\nx,6\ny,\n")
    code, output, _ = randomized(capsys, "d.csv", "--missing", "drop")
    assert code == 0
    assert "2 rows of" in output
    assert "1 row without a value dropped; 1 row skips a question: counted there as 'no answer'" in output
