"""Bad model files of the family from the shell: one line, exit code 2, nothing written."""

from __future__ import annotations

import pytest

from mechdesign.cli import main

COLLECTION = """
[model]
title = "t"
problem = "joint-collection"
[parameters]
attributes = [2, 3]
epsilon = 2.0
"""

DISTRIBUTION = """
[model]
title = "t"
problem = "joint-distribution"
[parameters]
attributes = [2, 3]
redraw = 0.2
keep = 0.75
add = 0.25
reports = { name = "file", path = "reports.csv" }
"""

REPORTS = "report__m0123456789ab\n" + "x88\nx48\nx90\n" * 100


def solve(text: str, tmp_path, capsys) -> str:
    (tmp_path / "model.toml").write_text(text)
    (tmp_path / "reports.csv").write_text(REPORTS)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "wide.csv").write_text("report\nxffff\n")
    (tmp_path / "two.csv").write_text("a,b\nx88,x88\n")
    (tmp_path / "ones.csv").write_text("report\n" + "xf8\n" * 500)
    (tmp_path / "kept.csv").write_text("permanent__m0123456789ab\nx88\n")
    code = main(["solve", "model.toml"])
    found = capsys.readouterr()
    if code == 0:
        return found.out
    assert code == 2
    assert found.out == ""
    assert found.err.count("\n") == 1
    return found.err


def test_good_files_are_solved(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "joint-collection by closed-form (analytic): optimal" in solve(COLLECTION, tmp_path, capsys)
    assert "joint-distribution by active-set (numeric): optimal" in solve(DISTRIBUTION, tmp_path, capsys)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[2, 3]", "[2, 1]", "attributes: attribute 1: 1 is not from 2"),
        ("[2, 3]", "[2, 30]", "is not a report; expected 'x' and 8 hex digits"),
        ("[2, 3]", "[2, 4]", "standard errors from 1"),
        ("[2, 3]", "[100, 1000, 100]", "10000000 joint cells; the limit is 4194304"),
        ("redraw = 0.2", "redraw = 1.0", "redraw: with 1 the permanent response is pure noise"),
        ("redraw = 0.2", "redraw = 1.5", "redraw: 1.5 is outside [0, 1]"),
        ("keep = 0.75", "keep = -0.5", "keep: -0.5 is outside [0, 1]"),
        ("add = 0.25", "add = 2", "add: 2 is outside [0, 1]"),
        ("add = 0.25", "add = 0.75", "add = 0.75 is not below keep = 0.75"),
        ("add = 0.25", 'add = "a"', "add"),
        ("reports.csv", "empty.csv", "empty.csv: is empty"),
        ("reports.csv", "wide.csv", "wide.csv: reports: row 1: 'xffff' is not a report"),
        ("reports.csv", "two.csv", "two.csv: has 2 columns"),
        ("reports.csv", "kept.csv", "kept.csv: holds permanent responses"),
        ("reports.csv", "ones.csv", "give the redraw, keep and add that the reports were made with"),
        ("reports.csv", "none.csv", "none.csv: file not found"),
        ('name = "file"', 'name = "fil"', "did you mean 'file'"),
    ],
)
def test_a_bad_distribution_is_named(tmp_path, capsys, monkeypatch, old, new, text):
    monkeypatch.chdir(tmp_path)
    assert old in DISTRIBUTION
    assert text in solve(DISTRIBUTION.replace(old, new), tmp_path, capsys)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[2, 3]", "[]", "attributes: is empty"),
        ("[2, 3]", "[2, 2.5]", "attributes: attribute 1"),
        ("epsilon = 2.0", "epsilon = -1", "epsilon: -1 is negative"),
        ("epsilon = 2.0", "epsilon = 2.0\nreports_per_user = 0", "reports_per_user: 0 is not from 1"),
        ("epsilon = 2.0", "epsilon = 2.0\nreports = 2", "'reports'; it is called 'reports_per_user' now"),
        ("epsilon = 2.0", "epsilon = 2.0\nreport_epsilon = inf", "report_epsilon: is infinite"),
        ("epsilon = 2.0", "epsilom = 2.0", "did you mean 'epsilon'"),
    ],
)
def test_a_bad_collection_is_named(tmp_path, capsys, monkeypatch, old, new, text):
    monkeypatch.chdir(tmp_path)
    assert text in solve(COLLECTION.replace(old, new), tmp_path, capsys)


def test_nothing_is_built_from_a_bad_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(COLLECTION.replace("[2, 3]", "[2, 1]"))
    assert main(["build", "model.toml", "-o", "m.json"]) == 2
    assert not (tmp_path / "m.json").exists()
    assert capsys.readouterr().err.count("\n") == 1
