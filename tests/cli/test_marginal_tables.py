"""Releases of marginals from the shell: randomize, estimate, synthesize; what is refused leaves nothing."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.families.marginals import MarginalRelease

USERS = 6000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = MarginalRelease.of(
        [3, 2, 2],
        [(0, 1), (1, 2)],
        3.0,
        names=["age", "income", "smokes"],
        labels=[["young", "middle", "old"], ["low", "high"], None],
    )
    release.save("m.json")
    rng = np.random.default_rng(1)
    age, smokes = rng.integers(0, 3, USERS), rng.integers(0, 2, USERS)
    income = (rng.random(USERS) < 0.2 + 0.3 * age).astype(int)
    with open("people.csv", "w") as file:
        file.write("id,smokes,age,income\n")
        for row in range(USERS):
            words = ["young", "middle", "old"][age[row]], ["low", "high"][income[row]]
            file.write(f"{row},{smokes[row]},{words[0]},{words[1]}\n")
    tmp_path.joinpath("truth.json").write_text(
        json.dumps(np.bincount(age * 2 + income, minlength=6).tolist())
    )
    return tmp_path


def test_from_people_to_marginals_and_rows(folder, capsys):
    """Two days of reports merged; cells within 5.5 predicted errors (fixed seed; 1 in 10^6)."""
    lines = (folder / "people.csv").read_text().splitlines()
    for day, part in (("mon", lines[1:2501]), ("tue", lines[2501:])):
        (folder / f"{day}.csv").write_text("\n".join([lines[0], *part]) + "\n")
        assert main(["randomize", "m.json", f"{day}.csv", "-o", f"r-{day}.csv", "--seed", "3"]) == 0
    with open("r-mon.csv") as file:
        header = next(csv.reader(file))
    assert header[0] == "view"
    assert header[1].startswith("report__m")
    capsys.readouterr()
    command = ["estimate", "m.json", "r-mon.csv", "r-tue.csv", "--marginal", "age,income"]
    assert main([*command, "--marginal", "smokes, age", "--json"]) == 0
    found, other = json.loads(capsys.readouterr().out)["marginals"]
    truth = np.array(json.loads((folder / "truth.json").read_text())) / USERS
    errors = (np.ravel(found["value"]) - truth) / found["unpenalized_error"]
    assert found["users"] == USERS
    assert np.abs(errors).max() < 5.5
    assert found["contained"] is True
    assert other["contained"] is False
    assert "no view contains it" in other["notes"][0]
    assert main([*command, "--raw"]) == 0
    assert "95% low" in capsys.readouterr().out
    assert main(["run", "m.json", "synthesize", "r-mon.csv", "r-tue.csv", "-o", "s.csv", "--rows", "50"]) == 0
    with open("s.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert set(rows[0]) == {"age", "income", "smokes"}
    assert {row["income"] for row in rows} <= {"low", "high"}


def test_without_a_marginal_every_attribute_is_estimated(folder, capsys):
    main(["randomize", "m.json", "people.csv", "-o", "r.csv", "--seed", "1"])
    capsys.readouterr()
    assert main(["estimate", "m.json", "r.csv"]) == 0
    said = capsys.readouterr().out
    assert all(f"\n{name}" in said for name in ("age", "income", "smokes"))
    assert main(["audit", "m.json"]) == 0
    assert "covered_order = 1" in capsys.readouterr().out


REFUSED = {
    "an unknown attribute": (
        ["estimate", "m.json", "r.csv", "--marginal", "age,incom"],
        "did you mean 'income'",
    ),
    "an attribute twice": (["estimate", "m.json", "r.csv", "--marginal", "age,age"], "'age' appears twice"),
    "raw without a view": (
        ["estimate", "m.json", "r.csv", "--marginal", "age,smokes", "--raw"],
        "no view with reports contains it",
    ),
    "too much memory": (
        ["run", "m.json", "estimate", "r.csv", "--marginal", "age,smokes", "--most-cells", "5"],
        "2 attributes have 6 cells (48 bytes), 5 (40 bytes) are allowed",
    ),
    "reports of another release": (["estimate", "other.json", "r.csv"], "reports of another mechanism"),
    "a view outside": (["estimate", "m.json", "view.csv"], "row 3: unknown category"),
    "an impossible report": (["estimate", "m.json", "report.csv"], "view 0: row 2"),
    "fewer users than views": (["estimate", "m.json", "few.csv"], "1 users are fewer than the 2 views"),
    "no view column": (["estimate", "m.json", "people.csv"], "no column 'view'"),
    "a value outside": (
        ["randomize", "m.json", "outside.csv", "-o", "new.csv"],
        "column 'age': values: row 2",
    ),
    "a missing column": (["randomize", "m.json", "columns.csv", "-o", "new.csv"], "no column 'smokes'"),
    "reports again": (["randomize", "m.json", "r.csv", "-o", "new.csv"], "no column 'age'"),
    "no rows": (
        ["run", "m.json", "synthesize", "r.csv", "-o", "new.csv", "--rows", "-1"],
        "--rows: -1 is not",
    ),
    "no frequencies": (["estimate", "m.json", "r.csv", "--simplex"], "--simplex: is not an option"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_bad_input_is_one_line_and_leaves_nothing(folder, capsys, what):
    main(["randomize", "m.json", "people.csv", "-o", "r.csv", "--seed", "1"])
    MarginalRelease.of([3, 2, 2], [(0, 1), (1, 2)], 2.0, names=["age", "income", "smokes"]).save("other.json")
    lines = (folder / "r.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(lines[:2]) + "\n")
    (folder / "view.csv").write_text("\n".join([*lines[:3], "2,0"]) + "\n")
    (folder / "report.csv").write_text("\n".join([*lines[:2], "0,77"]) + "\n")
    people = "smokes,age,income\n0,young,low\n"
    (folder / "outside.csv").write_text(people + "0,ancient,low\n")
    (folder / "columns.csv").write_text("age,income\nold,low\n")
    capsys.readouterr()
    arguments, text = REFUSED[what]
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert text in said.err
    assert not (folder / "new.csv").exists()


def test_oracles_with_texts_in_csv_and_parquet(tmp_path, monkeypatch, capsys):
    """Numbers and hexadecimal texts in one column, through both kinds of files."""
    import pyarrow
    import pyarrow.parquet

    from mechdesign.families.marginals.oracles import LocalHashing, UnaryEncoding
    from mechdesign.families.marginals.oracles.best import best_oracle
    from mechdesign.primitives.attributes import Attributes

    monkeypatch.chdir(tmp_path)
    oracles = [UnaryEncoding.optimised(6, 2.0), LocalHashing.of(6, 2.0, 4), best_oracle(4, 2.0)]
    MarginalRelease(Attributes([2, 3, 2]), [(0, 1), (1, 2), (0, 2)], oracles).save("m.json")
    data = {str(place): np.arange(4000) % size for place, size in enumerate((2, 3, 2))}
    pyarrow.parquet.write_table(pyarrow.table(data), "people.parquet")
    tables = []
    for suffix in ("csv", "parquet"):
        assert main(["randomize", "m.json", "people.parquet", "-o", f"r.{suffix}", "--seed", "2"]) == 0
        capsys.readouterr()
        assert main(["estimate", "m.json", f"r.{suffix}", "--marginal", "0,1", "--json"]) == 0
        tables.append(json.loads(capsys.readouterr().out)["marginals"][0]["value"])
    assert tables[0] == tables[1]
    assert np.abs(np.array(tables[0]) - 1 / 6).max() < 0.1


def test_a_zero_is_an_option_that_was_given(folder, capsys):
    for name in ("a.csv", "b.csv"):
        assert main(["randomize", "m.json", "people.csv", "-o", name, "--seed", "0"]) == 0
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    for command in (
        ["run", "m.json", "synthesize", "a.csv", "-o", "rows.csv", "--rows", "0"],
        ["run", "m.json", "estimate", "a.csv", "--marginal", "age", "--most-cells", "0"],
    ):
        capsys.readouterr()
        assert main(command) == 2
        assert "0 is not at least 1" in capsys.readouterr().err
    assert not (folder / "rows.csv").exists()


PLAN = """
[model]
title = "Three questions"
problem = "marginal-views"
[parameters]
attributes = [3, 2, 2]
users = 250000
epsilon = 1.0
workload = [[0, 1], [1, 2]]
"""


def test_the_forecast_is_for_the_users_that_were_planned(folder, capsys):
    (folder / "plan.toml").write_text(PLAN)
    for command in (["solve", "plan.toml"], ["compare", "plan.toml"], ["build", "plan.toml", "-o", "p.json"]):
        assert main(command) == 0
        assert "with 250000 users" in capsys.readouterr().out
    assert main(["solve", "plan.toml", "--users", "900"]) == 0
    assert "with 900 users" in capsys.readouterr().out


@pytest.mark.parametrize("users", ["0", str(10**400)])
def test_an_impossible_number_of_users_builds_nothing(folder, capsys, users):
    (folder / "plan.toml").write_text(PLAN)
    for option in (["--users", users], ["--set", f"users={users}"]):
        assert main(["build", "plan.toml", "-o", "p.json", *option]) == 2
        said = capsys.readouterr().err
        assert "users: " in said
        assert said.count("\n") == 1
        assert len(said) < 200
        assert not (folder / "p.json").exists()


def test_json_says_which_values_the_cells_have(folder, capsys):
    main(["randomize", "m.json", "people.csv", "-o", "r.csv", "--seed", "1"])
    capsys.readouterr()
    assert main(["estimate", "m.json", "r.csv", "--marginal", "income,age", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["marginals"]
    assert found["labels"] == [["low", "high"], ["young", "middle", "old"]]
    assert [len(found["value"]), *map(len, found["value"])] == [2, 3, 3]


def test_a_long_table_says_how_to_see_all_of_it(folder, capsys):
    """A grid of 16 columns is too wide: of 64 cells 60 are printed."""
    MarginalRelease.of([4, 16], [(0, 1)], 2.0).save("wide.json")
    (folder / "wide.csv").write_text("a,b\n" + "0,0\n3,15\n" * 50)
    main(["randomize", "wide.json", "wide.csv", "-o", "w.csv", "--seed", "1"])
    capsys.readouterr()
    assert main(["estimate", "wide.json", "w.csv", "--marginal", "0,1"]) == 0
    assert "... and 4 more cells (--json prints all)" in capsys.readouterr().out
