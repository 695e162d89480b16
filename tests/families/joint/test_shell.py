"""Bad model files of the family from the shell: one line, exit code 2, nothing written."""

from __future__ import annotations

import pytest

from mechdesign.cli import main
from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.report_origin import probabilities_of

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


MECHANISM = """
[model]
title = "t"
problem = "joint-collection"
[parameters]
attributes = [2, 3]
epsilon = 4.0
reports_per_user = 2
two_valued = "one-hot"
"""


def collected(tmp_path) -> dict[str, float]:
    """Build two mechanisms, make reports with the first, and return its probabilities."""
    (tmp_path / "collection.toml").write_text(MECHANISM)
    (tmp_path / "people.csv").write_text("a,b\n" + "0,1\n1,2\n0,0\n" * 1000)
    assert main(["build", "collection.toml", "-o", "rr.json", "--id", "one"]) == 0
    assert main(["build", "collection.toml", "-o", "other.json", "--id", "two"]) == 0
    assert main(["run", "rr.json", "randomize", "people.csv", "-o", "reports.csv", "--seed", "1"]) == 0
    return probabilities_of(JointResponse.load("rr.json"))


def of_these(probabilities: dict[str, float], extra: str = ', mechanism = "rr.json"') -> str:
    settings = "\n".join(f"{name} = {value!r}" for name, value in probabilities.items())
    return f"""
[model]
title = "t"
problem = "joint-distribution"
[parameters]
attributes = [2, 3]
{settings}
reports = {{ name = "file", path = "reports.csv"{extra} }}
"""


def test_reports_of_another_redraw_are_refused_by_their_mechanism(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = collected(tmp_path)
    capsys.readouterr()

    def solved(text: str) -> tuple[int, str, str]:
        (tmp_path / "model.toml").write_text(text)
        code = main(["solve", "model.toml"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    code, out, _ = solved(of_these(made))
    assert code == 0
    assert "redraw, keep and add are those of rr.json (m" in out
    code, out, _ = solved(of_these({name: round(value, 6) for name, value in made.items()}))
    assert code == 0  # six digits are enough

    code, out, err = solved(of_these({**made, "redraw": made["redraw"] / 2}))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"the reports were made with redraw = {made['redraw']:.9g}, not redraw =" in err
    assert f"set redraw = {made['redraw']:.9g}" in err
    code, _, err = solved(of_these({**made, "keep": made["keep"] - 1e-5}))
    assert code == 2
    assert "keep: the reports were made with keep =" in err

    code, _, err = solved(of_these(made, ', mechanism = "other.json"'))
    assert code == 2
    assert "reports.csv: holds reports of another mechanism or survey (m" in err
    code, _, err = solved(of_these(made).replace("[2, 3]", "[3, 2]"))
    assert code == 2
    assert "attributes: [3, 2], but the mechanism of these reports has [2, 3]" in err
    code, _, err = solved(of_these(made, ', mechanism = "none.json"'))
    assert code == 2
    assert "none.json: file not found" in err
    code, _, err = solved(of_these(made, ", mechanism = 3"))
    assert code == 2
    assert "'mechanism' is not a string" in err


def test_a_mark_that_cannot_be_compared_is_said(tmp_path, capsys, monkeypatch):
    """Redraw, keep and add do not give the mark: it covers epsilon, names and the survey's identity too."""
    monkeypatch.chdir(tmp_path)
    made = collected(tmp_path)
    capsys.readouterr()
    (tmp_path / "model.toml").write_text(of_these({**made, "redraw": made["redraw"] * 0.97}, ""))
    assert main(["solve", "model.toml"]) == 0
    assert 'were not compared with it: add mechanism = "FILE" to reports' in capsys.readouterr().out


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
