"""A survey of several questions from the shell: what its owner sees, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.show.figure import Heat

MODEL = """
[model]
title = "Health of a town"
problem = "survey-design"
[parameters]
epsilon = 4.0
users = 20000
tables = [["sex", "smokes"]]
group_means = [{ number = "age", by = "sex" }]
[[parameters.questions]]
name = "age"
range = [18, 90]
[[parameters.questions]]
name = "sex"
labels = ["female", "male"]
error = 0.02
[[parameters.questions]]
name = "smokes"
labels = ["no", "yes"]
error = 0.001
[[parameters.questions]]
name = "health"
kind = "ordered"
labels = ["bad", "fair", "good", "very good"]
skip = true
[[parameters.questions]]
name = "income"
range = [0, 100]
bins = [0, 20, 50, 100]
skip = true
"""


def write_people(path: Path, users: int, seed: int = 1) -> dict[str, list]:
    """Write columns in another order, with one more, and a skipped question as an empty field."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], users)
    people = {
        "number": list(range(users)),
        "sex": sex.tolist(),
        "age": rng.integers(18, 91, users).tolist(),
        "smokes": np.where((sex == "male") & (rng.random(users) < 0.5), "yes", "no").tolist(),
        "health": rng.choice(["bad", "fair", "good", "very good", ""], users).tolist(),
        "income": rng.choice(["5", "30.5", "99", ""], users).tolist(),
    }
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(people)
        writer.writerows(zip(*people.values(), strict=True))
    return people


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    (folder / "survey.toml").write_text(MODEL)
    write_people(folder / "people.csv", 20_000)
    assert main(["build", str(folder / "survey.toml"), "-o", str(folder / "survey.json")]) == 0
    return folder


@pytest.fixture
def folder(built, tmp_path, monkeypatch) -> Path:
    for name in ("survey.toml", "people.csv", "survey.json"):
        (tmp_path / name).write_bytes((built / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys, *arguments: str) -> str:
    """Return the one line on the standard error; nothing may be written."""
    before = {path: path.read_bytes() for path in Path.cwd().iterdir()}
    assert main(list(arguments)) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1), error
    assert {path: path.read_bytes() for path in Path.cwd().iterdir()} == before
    return error


def test_build_says_who_is_asked_what_and_what_will_be_known(folder, capsys):
    """Errors fall with the square root of the users, and the users for a wanted error attain it."""
    build = ["build", "survey.toml", "-o", "survey.json"]
    assert main(build) == 0
    text = capsys.readouterr().out
    assert "each user gives away epsilon = 4 in total" in text
    assert "%  age with sex with smokes" in text
    assert "standard error, 20000 users" in text
    assert main([*build, "--json"]) == 0
    outlook = json.loads(capsys.readouterr().out)["outlook"]
    assert sum(design["share"] for design in outlook["designs"]) == pytest.approx(1.0)
    assert all(sum(part["epsilon"] for part in item["parts"]) <= 4.0 for item in outlook["designs"])
    results = {item["name"]: item for item in outlook["results"]}
    wanted = [name for name, item in results.items() if item["wanted"]]
    assert wanted == ["sex", "smokes"]
    assert outlook["users_needed"] == results["smokes"]["users"]
    for name in wanted:
        count, error = results[name]["users"], results[name]["wanted"]
        assert main([*build, "--json", "--users", str(count)]) == 0
        again = {item["name"]: item for item in json.loads(capsys.readouterr().out)["outlook"]["results"]}
        assert error * (1.0 - 1.0 / count) <= again[name]["standard_error"] <= error * (1.0 + 1e-9)


def test_an_epsilon_that_tells_nothing_is_refused_with_what_would_help(folder, capsys):
    alone = ["--set", "epsilon=0.001", "--set", "tables=[]", "--set", "group_means=[]"]
    error = refused(capsys, "build", "survey.toml", *alone, "-o", "new.json")
    assert "survey.toml: [parameters]: epsilon: 0.001 is too small: with 20000 users" in error
    assert all(f" {name} " in error for name in ("age", "sex", "smokes", "health", "income"))
    users, epsilon = re.search(r"ask (\d+) users, or give epsilon = ([0-9.]+)", error).groups()
    for remedy in (["--users", users], ["--set", f"epsilon={epsilon}"]):
        assert main(["build", "survey.toml", *alone, *remedy, "-o", "new.json", "--force"]) == 0
    assert "standard error" in capsys.readouterr().out


def test_solve_prints_the_same_outlook_as_build(folder, capsys):
    assert main(["build", "survey.toml", "-o", "again.json"]) == 0
    printed = capsys.readouterr().out
    assert main(["solve", "survey.toml"]) == 0
    solved = capsys.readouterr().out
    assert printed[printed.index("  users  report") :] in solved
    assert main(["solve", "survey.toml", "--set", "epsilon=0.001"]) == 0
    assert "not worth building: epsilon: 0.001 is too small" in capsys.readouterr().out
    assert main(["solve", "survey.toml", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["outlook"]["results"]) == 7


def test_skipped_questions_are_counted_in_plain_words(folder, capsys):
    assert main(["randomize", "survey.json", "people.csv", "-o", "reports.csv", "--seed", "1"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"; \d+ rows skip a question: counted there as 'no answer'", said)
    assert "missing" not in said


def test_cross_tables_are_drawn_as_colored_cells(folder):
    survey = md.load_mechanism("survey.json")
    data = {name: column[:500] for name, column in write_people(Path("few.csv"), 500).items()}
    del data["number"]
    *_, crossed = survey.estimate(survey.randomize(data, rng=1)).figures()
    assert [panel.title for panel in crossed.panels] == ["share", "standard error"]
    assert all(isinstance(panel.marks[0], Heat) for panel in crossed.panels)
    assert crossed.panels[0].marks[0].values.shape == (2, 2)
    assert crossed.panels[0].y_names == ("female", "male")


def test_epsilon_zero_is_infeasible(folder, capsys):
    assert main(["build", "survey.toml", "--set", "epsilon=0", "-o", "new.json"]) == 1
    assert "infeasible: with epsilon = 0 reports contain no information" in capsys.readouterr().err
    assert not Path("new.json").exists()


def test_several_files_of_reports_are_merged_to_the_estimates(folder, capsys):
    """Every share is within 5 standard errors of the truth: missed with a chance below 1e-5 (fixed seed)."""
    people = {}
    for number in (1, 2):
        found = write_people(folder / f"people{number}.csv", 10_000, seed=number)
        people = {name: people.get(name, []) + column for name, column in found.items()}
        out = f"reports{number}.csv"
        assert main(["randomize", "survey.json", f"people{number}.csv", "-o", out, "--seed", "5"]) == 0
    capsys.readouterr()
    reports = ["reports1.csv", "reports2.csv"]
    assert main(["estimate", "survey.json", *reports, "--json"]) == 0
    results = {item["name"]: item for item in json.loads(capsys.readouterr().out)["results"]}
    assert list(results) == ["age", "sex", "smokes", "health", "income", "sex x smokes", "age by sex"]
    for name, labels in {
        "sex": ["female", "male"],
        "health": ["bad", "fair", "good", "very good", ""],
        "income": ["5", "30.5", "99", ""],
    }.items():
        values, errors = (np.array(results[name][key]) for key in ("value", "standard_error"))
        truth = np.array([people[name].count(label) for label in labels]) / 20_000
        assert (np.abs(values - truth) < 5 * errors).all(), name
    assert abs(results["age"]["value"] - np.mean(people["age"])) < 5 * results["age"]["standard_error"]
    assert main(["estimate", "survey.json", *reports]) == 0
    printed = capsys.readouterr().out
    assert "20000 reports; each report gives away epsilon = 4, over all questions together" in printed
    assert "a user for whom k reports were drawn has given away k times that" in printed


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("7,male,,no,good,5", ["people.csv: column 'age'", "row 4", "has no answer", "skip = true"]),
        ("7,,30,no,good,5", ["people.csv: column 'sex'", "row 4", "has no answer", "skip = true"]),
        ("7,man,30,no,good,5", ["people.csv: column 'sex'", "row 4: unknown category 'man'"]),
        ("7,male,130,no,good,5", ["row 4: 130 is outside [18, 90]", "--clip"]),
        ("7,male,30,no,good,rich", ["column 'income'", "row 4", "rich"]),
    ],
)
def test_answers_that_are_not_possible_are_named_with_their_row(folder, capsys, line, texts):
    rows = Path("people.csv").read_text().splitlines()[:4]
    Path("people.csv").write_text("\n".join([*rows, line]) + "\n")
    error = refused(capsys, "randomize", "survey.json", "people.csv", "-o", "reports.csv")
    assert all(text in error for text in texts), error


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ('"no", "yes"]', '"no", "no"]', ["question 'smokes'", "'no'"]),
        ("range = [18, 90]", 'kind = "number"', ["question 'age': range", "range = [0, 100]"]),
        ('[["sex", "smokes"]]', '[["sex", "smoke"]]', ["tables", "did you mean 'smokes'?"]),
        ('by = "sex"', 'by = "age"', ["group_means", "'age' has no categories"]),
        ("error = 0.02", "error = 0", ["sex", "error"]),
        ("bins = [0, 20, 50, 100]", "bins = [0, 20, 50]", ["question 'income': bins"]),
        ('name = "smokes"', 'name = "sex"', ["two are named 'sex'"]),
        ("epsilon = 4.0", "epsilon = -1", ["epsilon: -1 is negative"]),
    ],
)
def test_models_that_are_wrong_name_the_question(folder, capsys, old, new, texts):
    assert old in MODEL
    Path("survey.toml").write_text(MODEL.replace(old, new, 1))
    error = refused(capsys, "build", "survey.toml", "-o", "new.json")
    assert "survey.toml" in error
    assert all(text in error for text in texts), error


def test_rows_without_an_answer_are_dropped_where_that_is_wanted(folder, capsys):
    rows = Path("people.csv").read_text().splitlines()[:4]
    Path("people.csv").write_text("\n".join([*rows, "7,male,,no,good,5"]) + "\n")
    base = ["randomize", "survey.json", "people.csv", "--missing", "drop", "-o", "reports.csv"]
    assert main(base) == 0
    said = capsys.readouterr().out  # the last row lacks its age; others may skip a question
    assert "3 rows of" in said
    assert "; 1 row without a value dropped" in said
    skipping = sum(",," in f"{row}," for row in rows[1:])
    assert (f"{skipping} row" in said.rpartition(";")[2]) == bool(skipping)


def test_reports_of_another_survey_and_of_designs_that_are_not_there(folder, capsys):
    assert main(["randomize", "survey.json", "people.csv", "-o", "reports.csv"]) == 0
    assert main(["build", "survey.toml", "--set", "epsilon=2", "-o", "other.json"]) == 0
    capsys.readouterr()
    assert "reports of another mechanism" in refused(capsys, "estimate", "other.json", "reports.csv")
    header, first, *_ = Path("reports.csv").read_text().splitlines()
    Path("damaged.csv").write_text("\n".join([header, first, "999:1"]) + "\n")
    error = refused(capsys, "estimate", "survey.json", "damaged.csv")
    assert "row 2: '999:1' names no design of this survey" in error


def test_remember_sends_the_same_reports_again_and_draws_those_of_new_users(folder, capsys):
    lines = Path("people.csv").read_text().splitlines()
    Path("first.csv").write_text("\n".join(lines[:101]) + "\n")
    Path("second.csv").write_text("\n".join([lines[0], *reversed(lines[51:151])]) + "\n")
    remember = ["run", "survey.json", "remember", "--state", "kept.json", "--key", "number"]
    for name in ("first", "second"):
        assert main([*remember, f"{name}.csv", "-o", f"{name}_reports.csv"]) == 0
    assert "50 reports drawn before, sent again" in capsys.readouterr().out
    first, second = (Path(f"{name}_reports.csv").read_text().split()[1:] for name in ("first", "second"))
    assert first[50:100] == second[50:][::-1]
    kept = json.loads(Path("kept.json").read_text())["reports"]
    assert (len(kept), kept["0"]) == (150, first[0])
    assert main(["estimate", "survey.json", "second_reports.csv"]) == 0


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (["--key", "number"], ["--state: is missing"]),
        (["--state", "kept.json"], ["--key: is missing"]),
        (["--state", "kept.json", "--key", "sex"], ["--key: 'sex' is a question"]),
        (["--state", "kept.json", "--key", "nubmer"], ["no column 'nubmer'", "did you mean 'number'?"]),
        (["--state", "kept.csv", "--key", "number"], ["--state: kept.csv is named like a table"]),
        (["--state", "survey.toml", "--key", "number"], ["survey.toml: holds no reports"]),
    ],
)
def test_remember_refuses(folder, capsys, options, texts):
    error = refused(capsys, "run", "survey.json", "remember", "people.csv", *options, "-o", "reports.csv")
    assert all(text in error for text in texts), error


def test_remember_names_the_row_of_a_user_who_stands_twice(folder, capsys):
    rows = Path("people.csv").read_text().splitlines()[:5]
    Path("twice.csv").write_text("\n".join([*rows, rows[2]]) + "\n")
    base = ["run", "survey.json", "remember", "twice.csv", "--state", "kept.json", "--key", "number"]
    assert "column 'number': users: row 5: user '1' appears twice" in refused(capsys, *base, "-o", "r.csv")
