"""JSON lines as a table: rows, messages of pages, and what is refused with the line it stands in."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError
from mechdesign.data.data_set import open_table
from mechdesign.export import vectors
from tests.support.clients import CLIENTS


def table(tmp_path, *lines):
    path = tmp_path / "reports.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return open_table(path)


def column(source, name):
    return np.concatenate([np.asarray(block[name]) for block in source.blocks([name])])


def test_rows_and_messages_are_rows(tmp_path):
    message = {"format": "mechdesign-report", "rows": [{"a": 2, "b": "ü"}, {"b": "y", "a": 3}]}
    source = table(tmp_path, '{"a": 1, "b": "x"}', "", json.dumps(message))
    assert source.columns == ("a", "b")
    assert column(source, "a").tolist() == [1, 2, 3]
    assert column(source, "b").tolist() == ["x", "ü", "y"]


def test_numbers_and_texts_in_one_column_are_texts(tmp_path):
    assert column(table(tmp_path, '{"a": 1}', '{"a": "x01"}'), "a").tolist() == ["1", "x01"]
    assert column(table(tmp_path, '{"a": 1}', '{"a": 0.5}'), "a").tolist() == [1.0, 0.5]


def test_null_is_a_missing_value(tmp_path):
    with pytest.raises(DataError, match="row 2: is missing"):
        column(table(tmp_path, '{"a": 1}', '{"a": null}'), "a")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: is not JSON"),
        ("[1]", "line 2: is not a row"),
        ("1", "line 2: is not a row"),
        ('{"a": true}', "line 2: the value of 'a' is neither text nor number"),
        ('{"a": {}}', "neither text nor number"),
        ('{"b": 1}', "line 2: the columns b, not a"),
        ('{"a": 1, "a": 2}', "a key appears twice"),
        ('{"a": NaN}', "is not JSON"),
        ('{"format": "mechdesign-report", "rows": []}', "is not a row"),
        ("x" * (1 << 20) + "x", "is longer than 1048576 bytes"),
    ],
)
def test_what_is_no_row_is_refused_with_its_line(tmp_path, line, words):
    with pytest.raises(DataError, match=words):
        column(table(tmp_path, '{"a": 1}', line), "a")


@pytest.mark.parametrize(
    "name", ["kary-response", "unary 64", "attribute-sampling", "marginals of 4 oracles"]
)
def test_estimates_from_json_lines_are_those_from_csv(tmp_path, capsys, name):
    mechanism = CLIENTS[name]()
    mechanism.save(tmp_path / "m.json")
    recipe = mechanism.recipe()
    rows = []
    for _, _, report in vectors(mechanism, 600):
        listed = report if isinstance(report, list) else [report]
        rows += listed if recipe.several else [listed]
    with (tmp_path / "r.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([recipe.columns, *rows])
    lines = [json.dumps(dict(zip(recipe.columns, row, strict=True))) for row in rows]
    (tmp_path / "r.jsonl").write_text("\n".join(lines), encoding="utf-8")
    said = []
    for kind in ("csv", "jsonl"):
        capsys.readouterr()
        assert main(["estimate", str(tmp_path / "m.json"), str(tmp_path / f"r.{kind}"), "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
