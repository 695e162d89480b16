"""Reports with public columns in several files: as one table, whatever the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from mechdesign.cli import main

MODEL = """
[model]
title = "t"
problem = "frequency-oracle"
[parameters]
labels = ["no", "yes"]
epsilon = 2.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MODEL)
    assert main(["build", "m.toml", "-o", "m.json", "--id", "wards"]) == 0
    Path("reports").mkdir()
    parts = {"a.csv": ["yes,a", "no,b", "no,a"] * 50, "b.csv": ["yes,b", "no,a", "yes,a"] * 60}
    for seed, (name, rows) in enumerate(parts.items()):
        Path(name).write_text("\n".join(["tired,ward", *rows]) + "\n")
        words = ["randomize", "m.json", name, "--column", "tired", "--public", "ward", "--seed", str(seed)]
        assert main([*words, "-o", f"reports/{name}"]) == 0
    first, second = (Path("reports", name).read_text().splitlines() for name in parts)
    Path("all.csv").write_text("\n".join([*first, *second[1:]]) + "\n")
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["estimate", "m.json", "REPORTS", "--by", "ward"],
        ["test", "m.json", "REPORTS", "--by", "ward", "--draws", "0"],
        ["regress", "m.json", "REPORTS", "tired ~ ward"],
        ["scores", "m.json", "REPORTS", "-o", "OUT"],
    ],
    ids=lambda words: words[0],
)
def test_a_folder_counts_as_the_table_of_all_its_rows(folder, words, capsys):
    printed = []
    for source in ("reports", "reports/*.csv", "all.csv"):
        named = {"REPORTS": source, "OUT": f"{len(printed)}.csv"}
        assert main([named.get(word, word) for word in words]) == 0
        out = Path(named["OUT"])
        printed.append(out.read_text() if out.exists() else capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]


def test_copies_and_other_public_columns_are_refused_in_one_line(folder, capsys):
    Path("reports/copy.csv").write_bytes(Path("reports/a.csv").read_bytes())
    assert main(["test", "m.json", "reports", "--by", "ward"]) == 2
    assert "has the same content as reports/a.csv" in capsys.readouterr().err
    assert main(["test", "m.json", "reports", "--by", "ward", "--identical"]) == 0
    Path("reports/copy.csv").unlink()
    text = Path("reports/b.csv").read_text().replace("ward", "city", 1)
    Path("reports/b.csv").write_text(text)
    capsys.readouterr()
    assert main(["estimate", "m.json", "reports", "--by", "ward"]) == 2
    error = capsys.readouterr().err
    assert "reports/b.csv: has other public columns than reports/a.csv (city, ward)" in error
    assert error.count("\n") == 1
