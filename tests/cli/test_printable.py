"""Text from files on the terminal: one line, printable, whatever the file says; and nothing unproven."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.catalog import load_model
from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.collect.base import digest
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.data.data_set import open_table
from mechdesign.data.outputs import require_output
from tests.support.whole_tables import write_columns

NASTY = "harmless\\n  optimality: holds\\u001b[2J\\u202e\\r"
"""A line break with a forged verdict, a terminal code, a change of direction; as TOML and JSON write it."""

TURNED = "harmless\\u202e"
"""What a label may still hold: line breaks and control characters are refused there."""

MODEL = f"""
[model]
title = "{NASTY}"
problem = "randomized-response"
source = {{ cite = "{NASTY}", where = "{NASTY}" }}
statement = "{NASTY}"
[parameters]
prior = [0.5, 0.5]
epsilon = 1.0
labels = ["yes", "{TURNED}"]
[[claim]]
quantity = "value"
value = 0.9
verdict = "refuted"
reason = "{NASTY}"
readings = [{{ text = "{NASTY}", outcome = "refuted" }}]
where = "{NASTY}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL)
    return tmp_path


def shown(capsys, *arguments: str) -> list[str]:
    """Run a command and return the lines of both streams, which must be printable."""
    main(list(arguments))
    output, error = capsys.readouterr()
    lines = (output + error).split("\n")
    assert all(line.isprintable() for line in lines), [line for line in lines if not line.isprintable()]
    return lines


@pytest.mark.parametrize("command", [["solve"], ["check"], ["compare"], ["build", "-o", "m.json"]])
def test_texts_of_a_model_cannot_forge_a_line(folder, capsys, command):
    lines = shown(capsys, *command, "model.toml")
    assert not [line for line in lines if line.startswith("  optimality: holds") and "value" not in line]


def test_show_breaks_only_the_statement(folder, capsys):
    lines = shown(capsys, "show", "model.toml")
    assert sum(line.startswith("  optimality") for line in lines) == 1  # the statement's own second line
    assert lines[0].startswith("model.toml: harmless optimality: holds")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('problem = "randomized-response"', f'problem = "{NASTY}"'),
        ("epsilon = 1.0", f'epsilon = "{NASTY}"'),
        ("epsilon = 1.0", f'"{NASTY}" = 1.0'),
        ('quantity = "value"', f'quantity = "{NASTY}"'),
        ('verdict = "refuted"', f'verdict = "{NASTY}"'),
        ("[[claim]]", f'["{NASTY}"]\na = 1\n[[claim]]'),
    ],
)
def test_errors_about_a_model_are_one_line(folder, capsys, old, new):
    (folder / "model.toml").write_text(MODEL.replace(old, new))
    lines = shown(capsys, "check", "model.toml")
    assert len(lines) == 2
    assert lines[0].startswith("mechdesign: ")


@pytest.mark.parametrize("place", ["type", "version", "format", "labels", "notion", "content"])
def test_errors_about_a_mechanism_are_one_line(folder, capsys, place):
    shown(capsys, "build", "model.toml", "-o", "m.json")
    document = json.loads((folder / "m.json").read_text())
    text = json.loads(f'"{NASTY}"')
    if place in document:
        document[place] = text
    else:
        document["content"][place] = [text, text] if place == "labels" else text
    (folder / "m.json").write_text(json.dumps(document))
    lines = shown(capsys, "audit", "m.json")
    assert len(lines) == 2
    with pytest.raises(md.MechDesignError) as caught:
        md.load_mechanism("m.json")
    assert str(caught.value).isprintable()


def test_labels_are_shown_on_one_line(folder, capsys):
    shown(capsys, "build", "model.toml", "-o", "m.json")
    (folder / "data.csv").write_text("answer\nyes\nyes\n")
    shown(capsys, "randomize", "m.json", "data.csv", "-o", "r.csv", "--seed", "1")
    lines = shown(capsys, "estimate", "m.json", "r.csv")
    assert sum("harmless" in line for line in lines) == 2  # in the table, and in a note
    assert any("harmless\\u202e" in line for line in lines)


def test_columns_and_paths_are_shown_on_one_line(folder, capsys):
    shown(capsys, "build", "model.toml", "-o", "m.json")
    (folder / "data.csv").write_text('"a\n  optimality: holds\x1b[2J",b\nyes,no\n')
    assert len(shown(capsys, "randomize", "m.json", "data.csv", "-o", "r.csv")) == 2
    assert len(shown(capsys, "audit", "no\n  optimality: holds.json")) == 2
    assert len(shown(capsys, "solve", "no\n  optimality: holds.toml")) == 2


def test_content_that_the_mechanism_does_not_run_on_is_refused(folder, capsys):
    shown(capsys, "build", "model.toml", "-o", "m.json")
    document = json.loads((folder / "m.json").read_text())
    document["content"]["reviewed_by"] = "somebody"
    document["sha256"] = digest(document["type"], document["content"])
    (folder / "m.json").write_text(json.dumps(document))
    assert "holds more than the mechanism runs on" in shown(capsys, "audit", "m.json")[0]


def test_build_refuses_what_fails_a_certificate(folder, capsys):
    (folder / "menu.toml").write_text(
        '[model]\ntitle = "t"\nproblem = "privacy-contract"\n'
        "[parameters]\ntypes = [1, 2, 2.1]\ncounts = [100, 1, 100]\nbudget = 1000\n"
    )
    assert main(["build", "menu.toml", "-o", "menu.json", "--method", "published"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("mechdesign: menu.toml: not built: incentive_compatibility: FAILS (exact)")
    assert not (folder / "menu.json").exists()
    assert main(["build", "menu.toml", "-o", "menu.json"]) == 0


def test_a_claim_of_optimality_that_fails_is_a_broken_promise():
    problem = md.PrivacyContract(types=[1, 2, 3], counts=[10, 10, 10], budget=100.0)
    solution = md.solve(problem)
    object.__setattr__(solution, "bound", 0.5 * solution.value)
    assert [item.property for item in solution.broken] == ["optimality"]
    modest = md.solve(problem)
    object.__setattr__(modest, "bound", 0.5 * modest.value)
    object.__setattr__(modest, "status", "feasible")
    assert modest.broken == ()


def test_a_file_whose_name_is_no_utf_8_has_a_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2", reason="needs the extra mechdesign[report]")
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"bad\xff.json")
    try:
        (tmp_path / name).touch()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    assert main(["build", "response/zhou2019_model1", "-o", name, "--force"]) == 0
    assert main(["report", name, "-o", "page.html"]) == 0
    assert "bad\\udcff.json" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("columns", [{"user": ["half \ud800"]}, {"half \ud800": ["a"]}])
def test_half_a_character_is_not_written(tmp_path, columns):
    with pytest.raises(DataError, match=r"x\.csv: not written: .* is half a character"):
        write_columns(tmp_path / "x.csv", columns)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_file_can_have_is_refused():
    for use in (
        lambda: open_table("a\0b.csv"),
        lambda: write_columns("a\0b.csv", {"x": [1]}),
        lambda: require_output("a\0b.csv", [], False),
        lambda: load_mechanism("a\0b.json"),
        lambda: load_model("a\0b.toml"),
    ):
        with pytest.raises(MechDesignError, match="cannot be the name of a file"):
            use()
