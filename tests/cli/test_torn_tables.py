"""Tables that must not fall apart: reports of reports, torn users, borders of blocks, files that are none."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.data.intake import ROWS
from mechdesign.export.messages import MemoryTable
from mechdesign.families.mean import AttributeSampling, Duchi
from tests.support.tables import AGE, SURVEY, build, refused, said


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "age.toml").write_text(AGE)
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        rows = [["answer", "age"], ["a", "30"], ["b", ""], ["", "140"], ["a", "-1"], ["b", "50"]]
        csv.writer(stream).writerows(rows)
    return tmp_path


def test_reports_are_not_randomized_again(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    options = ["--column", "answer", "--missing", "category"]
    said(capsys, "randomize", mechanism, "people.csv", "-o", "r.csv", *options)
    error = refused(capsys, "randomize", mechanism, "r.csv", "-o", "again.csv")
    assert "holds reports, which would be randomized a second time" in error


def test_dropped_rows_do_not_tear_users_apart(folder, capsys):
    """Three reports a user: one row without a value would shift all that follow."""
    AttributeSampling.of(Duchi, 3.0, list("abcd"), per_user=3).save("m.json")
    table = np.random.default_rng(1).uniform(-1, 1, (50, 4))
    np.savetxt("d.csv", table, delimiter=",", header="a,b,c,d", comments="", fmt="%.4f")
    said(capsys, "randomize", "m.json", "d.csv", "-o", "r.csv")
    lines = (folder / "r.csv").read_text().splitlines()
    for row in (5, 60, 100):
        lines[row] = lines[row].split(",")[0] + ","
    (folder / "r.csv").write_text("\n".join(lines) + "\n")
    assert "omit whole users" in refused(capsys, "estimate", "m.json", "r.csv", "--missing", "drop")


def test_wrong_rows_of_several_reports_a_user_are_named_beyond_a_block(folder, capsys):
    AttributeSampling.of(Duchi, 3.0, list("abcd"), per_user=3).save("m.json")
    mark = f"report__m{load_mechanism('m.json').fingerprint[:12]}"
    rows = ["0,1", "1,0", "2,1"] * 90_000
    rows[262_144 + 5] = "0,7"
    (folder / "r.csv").write_text(f"attribute,{mark}\n" + "\n".join(rows) + "\n")
    assert "row 262150:" in refused(capsys, "estimate", "m.json", "r.csv")


@pytest.mark.parametrize("per_user", [1, 2, 3])
def test_blocks_leave_no_trace(per_user):
    """The same seed gives the same reports, however the rows come."""
    mechanism = AttributeSampling.of(Duchi, 2.0, ["a", "b", "c"], per_user=per_user)
    values = np.random.default_rng(2).uniform(-1, 1, (2 * ROWS + 100, 3))
    table = MemoryTable({name: values[:, place] for place, name in enumerate("abc")})
    operation = mechanism.operations()[0]
    blocks = list(operation.run([table], operation.settings({"seed": 7})))
    joined = np.concatenate([np.asarray(block["attribute"]) for block in blocks])
    assert np.array_equal(joined, mechanism.randomize(values, rng=7)["attribute"])


def test_the_data_of_a_mechanism_file_are_part_of_its_digest(folder, capsys):
    mechanism = build(capsys, "age.toml")
    original = json.loads((folder / mechanism).read_text())
    columns = (["name"], "age", ["a", "b"], ["a\n"], None)
    for data in [*({"columns": names, "missing": "drop"} for names in columns), None, {"a": 1}]:
        (folder / mechanism).write_text(json.dumps(original | {"data": data}))
        error = refused(capsys, "audit", mechanism)
        assert "rebuild it" in error
    (folder / mechanism).write_text(json.dumps(original))
    assert main(["audit", mechanism]) == 0


def test_files_that_only_look_like_tables(folder, capsys):
    mechanism = build(capsys, "survey.toml")
    for name, text, message in (
        ("bars.csv", "name|answer\nAnn|a\n", "unknown category 'Ann|a'"),
        ("headless.csv", "a\nb\na\n", "its first line is 'a', which is an answer: add a header line"),
        ("endless.csv", "a" * (1 << 20) + "a", "its first line is longer than 1048576 characters"),
    ):
        (folder / name).write_text(text)
        assert message in refused(capsys, "randomize", mechanism, name, "-o", "r.csv")
    (folder / "semicolons.csv").write_text("name;answer\nAnn;a\n")
    options = ["--column", "answer", "--delimiter", "comma", "-o", "r.csv"]
    error = refused(capsys, "randomize", mechanism, "semicolons.csv", *options)
    assert "its columns are separated by semicolons; add --delimiter semicolon" in error
    said(capsys, "randomize", mechanism, "headless.csv", "--column", "a", "-o", "r.csv")


def test_a_menu_keeps_who_is_who(folder, capsys):
    said(capsys, "build", "contract/monotone", "-o", "menu.json")
    (folder / "types.csv").write_text("who,theta\nAnn,1\nBob,\nCid,2\n")
    options = ["--column", "theta", "--keep", "who", "--missing", "drop"]
    said(capsys, "run", "menu.json", "choose", "types.csv", "-o", "out.csv", *options)
    with (folder / "out.csv").open() as stream:
        assert [row["who"] for row in csv.DictReader(stream)] == ["Ann", "Cid"]
