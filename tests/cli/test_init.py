"""``init``: a model of a survey from a file and a codebook, which builds; what was looked at is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from mechdesign.catalog import load_model
from mechdesign.cli import main
from mechdesign.report import draft as drafted

CODES = """name,kind,labels,low,high,bins,skip,error,description
age,,,18,90,18|40|65|90,,0.02,"age, in years"
sex,,f|m,,,,true,,
health,ordered,bad|good|fine,,,,,,
"""

LONG = """name,label,kind
sex,f,
sex,m,
age,young,ordered
age,"old, or ""very"" old",ordered
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    users = 300
    columns = {
        "number": list(range(users)),
        "person": [f"p{number}" for number in range(users)],
        "age": rng.integers(18, 88, users).tolist(),
        "sex": rng.choice(["f", "m"], users).tolist(),
        "children": rng.integers(0, 4, users).tolist(),
        "income": [str(value) if value > 20 else "" for value in rng.integers(0, 1000, users)],
        "constant": ["x"] * users,
    }
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "people.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
    (tmp_path / "codes.csv").write_text(CODES)
    return tmp_path


def questions(path: str) -> dict[str, dict]:
    return {item["name"]: item for item in load_model(path).problem.questions}


def test_a_draft_from_values_says_so_and_works_up_to_the_estimate(folder, capsys):
    assert main(["init", "people.csv", "-o", "survey.toml"]) == 0
    said, text = capsys.readouterr().out, Path("survey.toml").read_text()
    assert "PRIVACY: the users' answers were read for number, person, age, sex" in said
    assert "# PRIVACY: the users' answers were read for 'number', 'person', 'age'" in text
    assert "omitted: number, person, constant" in said
    assert "p17" not in text  # no person's number is in the draft
    found = questions("survey.toml")
    assert list(found) == ["age", "sex", "children", "income"]
    assert found["age"]["range"] == [10.0, 90.0]
    assert found["children"]["labels"] == ["0", "1", "2", "3"]
    assert (found["children"]["kind"], found["income"]["skip"]) == ("ordered", True)
    assert "bins" not in found["income"]  # its mean is asked for, with no answer
    assert main(["build", "survey.toml", "--users", "100000", "-o", "survey.json"]) == 0
    assert main(["randomize", "survey.json", "people.csv", "-o", "reports.csv"]) == 0
    assert main(["estimate", "survey.json", "reports.csv"]) == 0


def test_what_a_codebook_has_is_not_read(folder, capsys, monkeypatch):
    """With a codebook for all columns, and with --private, no row is read."""

    def never(*arguments):
        raise AssertionError("rows were read")

    monkeypatch.setattr(drafted._Seen, "add", never)
    shown = ["--column", "age", "--column", "sex"]
    assert main(["init", "people.csv", *shown, "--codebook", "codes.csv", "-o", "survey.toml"]) == 0
    said = capsys.readouterr().out
    assert "PRIVACY" not in said + Path("survey.toml").read_text()
    assert "in the codebook, but no column is asked for: health" in said
    assert 'text = "age, in years"\n' in Path("survey.toml").read_text()
    found = questions("survey.toml")
    assert (found["age"]["bins"], found["age"]["error"]) == ([18.0, 40.0, 65.0, 90.0], 0.02)
    assert (found["sex"]["labels"], found["sex"]["skip"]) == (["f", "m"], True)
    assert main(["init", "people.csv", "--private", "--codebook", "codes.csv", "-o", "private.toml"]) == 0
    said = capsys.readouterr().out
    assert "nothing but name and type is known: number, person, children, income, constant" in said
    assert "PRIVACY" not in said
    for name in ("survey", "private"):
        assert main(["build", f"{name}.toml", "-o", f"{name}.json"]) == 0


def test_types_of_a_parquet_file_and_a_codebook_with_a_line_a_label(folder, capsys):
    table = {"age": ["young"], "sex": ["f"], "height": [1.8], "smokes": [True]}
    pyarrow.parquet.write_table(pyarrow.table(table), "people.parquet")
    Path("long.csv").write_text(LONG)
    assert main(["init", "people.parquet", "--private", "--codebook", "long.csv", "-o", "s.toml"]) == 0
    found = questions("s.toml")
    assert found["height"]["range"] == drafted.PLACEHOLDER_RANGE
    assert found["smokes"]["labels"] == ["False", "True"]
    assert found["age"]["labels"] == ["young", 'old, or "very" old']
    assert "REPLACE the range" in Path("s.toml").read_text()
    Path("book.toml").write_text('[[questions]]\nname = "age"\nlabels = ["young", "old"]\n')
    assert main(["init", "people.parquet", "--private", "--codebook", "book.toml", "-o", "t.toml"]) == 0
    assert questions("t.toml")["age"]["labels"] == ["young", "old"]


def test_columns_of_every_type_of_a_parquet_file_work_up_to_the_estimate(folder, capsys):
    random, users = np.random.default_rng(2), 900
    columns = {
        "children": random.integers(0, 4, users),
        "height": random.normal(1.7, 0.1, users),
        "smokes": random.random(users) < 0.3,
        "grade": random.choice([0.5, 1.5, 2.0], users),
        "opinion": [None if row % 7 == 0 else "ab"[row % 2] for row in range(users)],
        "agrees": [None if row % 7 == 0 else row % 2 == 0 for row in range(users)],
        "income": [None if row % 9 == 0 else float(row % 500) for row in range(users)],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), "all.parquet")
    assert main(["init", "all.parquet", "-o", "all.toml", "--users", "100000"]) == 0
    found = questions("all.toml")
    assert list(found) == list(columns)
    assert found["grade"]["range"] == [0.0, 2.0]
    assert (found["agrees"]["labels"], found["agrees"]["skip"]) == (["False", "True"], True)
    assert main(["build", "all.toml", "-o", "all.json"]) == 0
    assert main(["randomize", "all.json", "all.parquet", "-o", "all.csv"]) == 0
    assert main(["estimate", "all.json", "all.csv"]) == 0


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["people.csv", "-o", "codes.toml"], ["-o codes.toml: file exists", "--force"]),
        (["people.csv", "-o", "people.csv", "--force"], ["end it in .toml"]),
        (["nobody.csv", "-o", "s.toml"], ["nobody.csv"]),
        (["people.csv", "--column", "aeg", "-o", "s.toml"], ["no column 'aeg'", "did you mean 'age'?"]),
        (["people.csv", "--column", "person", "-o", "s.toml"], ["no column can be a question"]),
        (["people.csv", "--codebook", "none.csv", "-o", "s.toml"], ["none.csv: file not found"]),
        (["people.csv", "--codebook", "wrong.csv", "-o", "s.toml"], ["wrong.csv", "no column 'lables'"]),
        (["people.csv", "--codebook", "twice.csv", "-o", "s.toml"], ["twice.csv", "'f' appears twice"]),
        (["people.csv", "--codebook", "half.csv", "-o", "s.toml"], ["half.csv: line 2", "low and high"]),
        (["people.csv", "--codebook", "codes.toml", "-o", "s.toml"], ["codes.toml: questions: are missing"]),
        (["people.csv", "--epsilon", "0", "-o", "s.toml"], ["--epsilon", "give a larger one"]),
        (["people.csv", "--users", "0", "-o", "s.toml"], ["users"]),
        (["semicolons.csv", "-o", "s.toml"], ["its columns may be separated by commas or by semicolons"]),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, capsys, arguments, texts):
    Path("codes.toml").write_text("x = 1\n")
    Path("wrong.csv").write_text("name,lables\nsex,f|m\n")
    Path("twice.csv").write_text("name,labels\nsex,f|f\n")
    Path("half.csv").write_text("name,low\nage,18\n")
    Path("semicolons.csv").write_text("age, in years;sex, m or f\n1,2;f,\n")
    before = {path: path.read_bytes() for path in Path.cwd().iterdir()}
    assert main(["init", *arguments]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert all(text in error for text in texts), error
    assert {path: path.read_bytes() for path in Path.cwd().iterdir()} == before
