"""Frequency oracles from the shell: build, randomize, estimate, on the simplex; CSV, Parquet; wrong files."""

from __future__ import annotations

import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from mechdesign.cli import main
from mechdesign.families.marginals.frequency_oracle import NAMES

MODEL = """
[model]
title = "Which browser"
problem = "frequency-oracle"
[parameters]
categories = 5
epsilon = 2.0
labels = ["Brave", "Chrome", "Edge", "Firefox", "Safari"]
[data]
columns = ["browser"]
missing = "drop"
"""

SHARES = np.array([0.0, 0.5, 0.05, 0.25, 0.2])
USERS = 4000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "browsers.toml").write_text(MODEL)
    names = np.array(["Brave", "Chrome", "Edge", "Firefox", "Safari"])
    answers = np.repeat(names, (SHARES * USERS).astype(int)).tolist()
    (tmp_path / "people.csv").write_text(
        "id,browser\n" + "".join(f"{n},{a}\n" for n, a in enumerate(answers))
    )
    pyarrow.parquet.write_table(pyarrow.table({"browser": answers}), tmp_path / "people.parquet")
    return tmp_path


def built(method: str, name: str = "m.json") -> str:
    assert main(["build", "browsers.toml", "--method", method, "-o", name]) == 0
    return name


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("method", NAMES)
def test_from_people_to_frequencies(folder, capsys, method, suffix):
    """Within 5.5 standard errors each (fixed seed; a right program would fail 1 time in 10^6)."""
    mechanism = built(method)
    assert main(["audit", mechanism]) == 0
    source, reports = f"people.{suffix}", f"reports.{suffix}"
    assert main(["randomize", mechanism, source, "-o", reports, "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert f"{reports}: {USERS} rows of 'browser__m" in said
    assert "frequencies: can be estimated" in said
    assert main(["estimate", mechanism, reports, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["users"] == USERS
    errors = (np.array(found["value"]) - SHARES) / np.array(found["standard_error"])
    assert np.abs(errors).max() < 5.5


@pytest.mark.parametrize("method", NAMES)
def test_on_the_simplex_on_request(folder, capsys, method):
    mechanism = built(method)
    main(["randomize", mechanism, "people.csv", "-o", "reports.csv", "--seed", "1"])
    capsys.readouterr()
    assert main(["run", mechanism]) == 0
    assert "--simplex" in capsys.readouterr().out
    assert main(["run", mechanism, "estimate", "reports.csv", "--simplex", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert min(found["simplex"]) >= 0
    assert sum(found["simplex"]) == pytest.approx(1.0)
    nearer, given = (np.linalg.norm(found[key] - SHARES) for key in ("simplex", "value"))
    assert nearer <= given * (1 + 2.0**-40)  # equal where the estimate was on the simplex
    assert main(["run", mechanism, "estimate", "reports.csv"]) == 0
    assert "95% low" in capsys.readouterr().out


def test_reports_of_two_days_are_counted_together(folder, capsys):
    mechanism = built("local-hashing")
    for day in ("1", "2"):
        main(["randomize", mechanism, "people.csv", "-o", f"day{day}.csv", "--seed", day])
    capsys.readouterr()
    assert main(["estimate", mechanism, "day1.csv", "day2.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["users"] == 2 * USERS


def refused(arguments, capsys) -> str:
    capsys.readouterr()
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_reports_of_another_oracle_are_refused(folder, capsys):
    first, second = built("optimised-unary"), built("subset-selection", "other.json")
    main(["randomize", first, "people.csv", "-o", "reports.csv"])
    assert "holds reports of another mechanism" in refused(["estimate", second, "reports.csv"], capsys)


@pytest.mark.parametrize(
    ("method", "line", "text"),
    [
        ("optimised-unary", "x1", "row 2: 'x1' is not a report"),
        ("subset-selection", "xff", "row 2: has a bit beyond the 5 categories"),
        ("hadamard", "8", "row 2: unknown category"),
        ("projective-geometry", "-1", "row 2: unknown category"),
        ("local-hashing", "1e3", "row 2: '1e3' is not a code"),
    ],
)
def test_a_damaged_report_is_named_with_its_row(folder, capsys, method, line, text):
    mechanism = built(method)
    main(["randomize", mechanism, "people.csv", "-o", "reports.csv", "--seed", "1"])
    lines = (folder / "reports.csv").read_text().splitlines()
    lines[2] = line
    (folder / "reports.csv").write_text("\n".join(lines) + "\n")
    error = refused(["estimate", mechanism, "reports.csv"], capsys)
    assert text in error
    assert "reports.csv: column 'browser__m" in error


def test_an_unknown_answer_and_a_category_for_missing_ones(folder, capsys):
    mechanism = built("hadamard")
    (folder / "odd.csv").write_text("browser\nChrome\nLynx\n")
    error = refused(["randomize", mechanism, "odd.csv", "-o", "r.csv"], capsys)
    assert "row 2: unknown category 'Lynx'" in error
    arguments = ["build", "browsers.toml", "--missing", "category", "-o", "n.json"]
    assert "no category 'missing'" in refused(arguments, capsys)


def test_solve_and_compare_show_why(folder, capsys):
    assert main(["compare", "browsers.toml"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in NAMES)
    assert main(["solve", "browsers.toml", "--set", "max_report_bits=2"]) == 1
    assert "max_report_bits has to be at least 3" in capsys.readouterr().out
