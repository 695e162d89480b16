"""Folders, patterns and the standard input as one data set; counts as files; what is mixed is refused."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.data.data_set import open_table
from mechdesign.primitives import KaryResponse
from tests.support.whole_tables import write_columns

NAMES = ["Graz", "Linz", "Wien"]


@pytest.fixture(autouse=True)
def survey(tmp_path, monkeypatch):
    """A mechanism and three files of people's data in a folder."""
    monkeypatch.chdir(tmp_path)
    KaryResponse.of(3, epsilon=2.0, labels=NAMES).save("m.json")
    os.makedirs("people/late")
    for number, name in enumerate(("a.csv", "b.parquet", "late/c.csv")):
        answers = np.random.default_rng(number).choice(NAMES, 300)
        write_columns(f"people/{name}", {"city": answers})
    Path("people/_SUCCESS").touch()
    Path("people/.hidden.csv").touch()


def run(*words: str) -> int:
    return main(list(words))


def said(capsys) -> str:
    return capsys.readouterr().err.strip()


def test_a_folder_is_one_data_set_from_data_to_estimate(capsys):
    assert run("randomize", "m.json", "people", "-o", "reports/", "--seed", "1") == 0
    assert capsys.readouterr().out.startswith("reports/: 900 rows of 'city__m")
    files = sorted(str(path) for path in Path("reports").rglob("*.*"))
    assert files == ["reports/a.csv", "reports/b.parquet", "reports/late/c.csv"]
    assert run("count", "m.json", "reports", "-o", "all.json") == 0
    assert capsys.readouterr().out == "all.json: 900 reports from 3 files\n"
    assert run("count", "m.json", "reports/*.csv", "reports/*/*", "-o", "some.json") == 0
    assert run("count", "m.json", "reports/b.parquet", "-o", "rest.json") == 0
    assert run("merge", "some.json", "rest.json", "-o", "both.json") == 0
    capsys.readouterr()
    printed = []
    for words in (["reports"], ["all.json"], ["both.json"], ["some.json", "reports/b.parquet"], files):
        assert run("estimate", "m.json", *words, "--json") == 0
        printed.append(capsys.readouterr().out)
    assert set(printed) == {printed[0]}
    assert json.loads(printed[0])["users"] == 900


def test_reports_of_a_seed_into_a_file_are_those_of_one_stream(capsys):
    """Into a folder each file has a stream of its own; a file's name and place in a list do not matter."""
    assert run("randomize", "m.json", "people", "-o", "one.csv", "--seed", "1") == 0
    assert run("randomize", "m.json", "people/a.csv", "-o", "alone.csv", "--seed", "1") == 0
    one, alone = (open_table(path) for path in ("one.csv", "alone.csv"))
    (first,), (part,) = (
        [block[table.columns[0]] for block in table.blocks(table.columns)] for table in (one, alone)
    )
    assert len(first) == 900
    assert np.asarray(first)[:300].tolist() == np.asarray(part).tolist()
    for folder in ("x/", "y/"):
        assert run("randomize", "m.json", "people", "-o", folder, "--seed", "1") == 0
    assert Path("x/a.csv").read_bytes() == Path("y/a.csv").read_bytes() != Path("alone.csv").read_bytes()
    assert run("randomize", "m.json", "people", "-o", "x/", "--seed", "1") == 2
    assert said(capsys) == "mechdesign: -o x/a.csv: file exists; choose another path or add --force"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_the_standard_input_is_a_file_of_any_format(suffix, capsys, monkeypatch):
    assert run("randomize", "m.json", "people/a.csv", "-o", "r.csv", "--seed", "1") == 0
    table = open_table("r.csv")
    (block,) = table.blocks(table.columns)
    (column,) = table.columns
    values = np.asarray(block[column]).astype(str)
    if suffix == ".jsonl":
        Path("r.jsonl").write_text("".join(json.dumps({column: value}) + "\n" for value in values.tolist()))
    else:
        write_columns(f"r{suffix}", {column: values})
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(Path(f"r{suffix}").read_bytes()), closed=False)
    )
    assert run("count", "m.json", "-", "-o", "c.json") == 0
    assert run("count", "m.json", "r.csv", "-o", "d.json") == 0
    one, two = (json.loads(Path(name).read_text()) for name in ("c.json", "d.json"))
    assert one["files"][0][0] == "-"
    assert one["counts"] == two["counts"]
    assert one["files"][0][2] == two["files"][0][2], "the digest is that of the rows"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b""), closed=False))
    assert run("count", "m.json", "-", "-o", "e.json") == 2
    assert "-: is empty; give a header line" in said(capsys)


def test_what_is_mixed_is_named_and_nothing_is_written(capsys):
    KaryResponse.of(3, epsilon=1.0, labels=NAMES).save("other.json")
    assert run("randomize", "m.json", "people/a.csv", "-o", "r1.csv") == 0
    assert run("randomize", "other.json", "people/late/c.csv", "-o", "r2.csv") == 0
    mark = load_mechanism("m.json").fingerprint[:12]
    write_columns("r3.csv", {f"town__m{mark}": np.array(NAMES)})
    write_columns("people/late/d.csv", {"town": np.array(NAMES)})
    for number in (1, 3):
        assert run("count", "m.json", f"r{number}.csv", "-o", f"c{number}.json", "--unmarked") == 0
    capsys.readouterr()
    before = sorted(path.name for path in Path().iterdir())
    for words, what in (
        (
            ["estimate", "m.json", "c1.json", "r3.csv"],
            "c1.json: counts the column 'city', and the reports are",
        ),
        (
            ["estimate", "m.json", "c1.json", "c3.json"],
            "c3.json: counts the column 'town', c1.json counts 'c",
        ),
        (
            ["merge", "c1.json", "c3.json", "-o", "x.json"],
            "c3.json: counts the column 'town', c1.json 'city'",
        ),
        (
            ["count", "m.json", "r1.csv", "r2.csv", "-o", "x.json"],
            "r2.csv: holds reports of another mechanism",
        ),
        (["estimate", "m.json", "r1.csv", "r2.csv"], "r2.csv: holds reports of another mechanism"),
        (
            ["count", "m.json", "r1.csv", "r3.csv", "-o", "x.json"],
            f"r3.csv: has the column 'town__m{mark}', r1.csv",
        ),
        (
            ["estimate", "m.json", "r1.csv", "r3.csv", "-o", "x.csv"],
            f"r3.csv: has the column 'town__m{mark}', r1",
        ),
        (
            ["randomize", "m.json", "people", "-o", "x/"],
            "people/late/d.csv: has the column 'town', people/a.csv",
        ),
        (
            ["randomize", "m.json", "people", "-o", "x.csv"],
            "people/late/d.csv: has the column 'town', people/a.csv",
        ),
    ):
        assert run(*words) == 2, words
        line = said(capsys)
        assert what in line
        assert "\n" not in line
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_file_that_cannot_be_randomized_leaves_no_folder(capsys):
    write_columns("people/late/d.csv", {"city": np.array(["Wien", "Bern"])})
    before = sorted(path.name for path in Path().iterdir())
    assert run("randomize", "m.json", "people", "-o", "x/") == 2
    assert "people/late/d.csv: column 'city': answers: row 2: " in said(capsys)
    assert sorted(path.name for path in Path().iterdir()) == before


def test_the_same_reports_are_not_counted_twice(capsys):
    assert run("randomize", "m.json", "people", "-o", "reports/", "--seed", "1") == 0
    for words in (["reports/a.csv", "-o", "a.json"], ["reports", "-o", "all.json"]):
        assert run("count", "m.json", *words) == 0
    table = open_table("reports/a.csv")
    (block,) = table.blocks(table.columns)
    write_columns("copy.parquet", {name: np.asarray(values).astype(str) for name, values in block.items()})
    twice = "copy.parquet: has the same content as reports/a.csv"
    for words, what in (
        (["count", "m.json", "reports", "copy.parquet", "-o", "x.json"], twice),
        (["estimate", "m.json", "a.json", "copy.parquet"], f"{twice} (counted in a.json)"),
        (["merge", "a.json", "all.json", "-o", "x.json"], "all.json): has the same content as reports/a.csv"),
        (["merge", "a.json", "a.json", "-o", "x.json"], "a.json: is the same file as a.json; name it once"),
    ):
        assert run(*words) == 2, words
        assert what in said(capsys)
    assert run("merge", "a.json", "all.json", "-o", "x.json", "--identical") == 0
    assert json.loads(Path("x.json").read_text())["users"] == 1200


def test_count_files_that_do_not_fit(capsys):
    KaryResponse.of(3, epsilon=1.0, labels=NAMES).save("other.json")
    for name in ("m", "other"):
        assert run("randomize", f"{name}.json", "people/a.csv", "-o", f"{name}.csv", "--seed", "1") == 0
        assert run("count", f"{name}.json", f"{name}.csv", "-o", f"{name}-counts.json") == 0
    Path("cut.json").write_bytes(Path("m-counts.json").read_bytes()[:200])
    os.makedirs("empty")
    os.makedirs("odd")
    Path("odd/reports.txt").touch()
    for words, what in (
        (
            ["estimate", "m.json", "other-counts.json"],
            "other-counts.json: counts reports of a different mechanism or survey (m",
        ),
        (
            ["merge", "m-counts.json", "other-counts.json", "-o", "x.json"],
            "another mechanism or survey than m-counts.json",
        ),
        (["estimate", "m.json", "cut.json"], "cut.json: is damaged or cut short: not JSON"),
        (["merge", "cut.json", "-o", "x.json"], "cut.json: is damaged or cut short: not JSON"),
        (
            ["estimate", "m.json", "m.json"],
            "m.json: no reports follow it; name each mechanism file before its",
        ),
        (["count", "m.json", "none/*.csv", "-o", "x.json"], "none/*.csv: no file matches this pattern"),
        (["count", "m.json", "empty", "-o", "x.json"], "empty: is a folder without data files"),
        (["count", "m.json", "odd", "-o", "x.json"], "odd/reports.txt: is not a data file; use a pattern"),
        (["count", "m.json", "m.csv", "-o", "m.csv"], "-o m.csv: no format '.csv'; name it .json"),
        (["count", "m.json", "m.csv", "-o", "m.json", "--force"], "-o m.json: is an input of this command"),
        (["count", "m.json", "people", "-o", "x.json"], "people/a.csv: no column name ends in a mechanism's"),
        (["merge", "empty", "-o", "x.json"], "empty: is a folder without count files"),
    ):
        assert run(*words) == 2, words
        assert what in said(capsys)
    assert not os.path.exists("x.json")


def test_one_of_many_files_may_be_without_rows(capsys):
    """As data engines leave them; a single one is refused as before."""
    assert run("randomize", "m.json", "people/a.csv", "-o", "a.csv", "--seed", "1") == 0
    column = f"city__m{load_mechanism('m.json').fingerprint[:12]}"
    os.makedirs("parts")
    for number in (1, 2):
        write_columns(f"parts/{number}.parquet", {column: np.array([], dtype=str)})
        Path(f"parts/{number}.csv").write_text(f"{column}\n")
    for words in (["a.csv"], ["a.csv", "parts/1.parquet", "parts/1.csv"]):
        assert run("estimate", "m.json", *words, "--identical", "--json") == 0
    one, two = capsys.readouterr().out.split("\n", 1)[1].split("\n}\n{")
    assert one.strip("{}\n") == two.strip("{}\n")
    assert run("count", "m.json", "a.csv", "parts/1.csv", "parts/2.parquet", "-o", "c.json") == 0
    assert capsys.readouterr().out == "c.json: 300 reports from 3 files\n"
    assert run("count", "m.json", "parts/1.csv", "-o", "d.json") == 2
    assert "parts/1.csv: has a header and no rows" in said(capsys)
