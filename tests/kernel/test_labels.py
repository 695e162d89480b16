"""Categories by name and by number, and errors that name the row."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.collect.codec import Labels
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.mean import Duchi

NAMED, NUMBERED = Labels(3, ["no", "yes", "don't know"]), Labels(3)


@pytest.mark.parametrize(
    "values",
    [["yes", "no", "yes"], np.array(["yes", "no", "yes"]), np.array(["yes", "no", "yes"], dtype=object)],
)
def test_names_become_their_numbers_and_come_back(values):
    codes = NAMED.encode(values)
    assert codes.tolist() == [1, 0, 1]
    assert NAMED.decode(codes).tolist() == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    "values",
    [[0, 2, 1], [0.0, 2.0, 1.0], ["0", "2", "1"], np.array([0, 2, 1], dtype=np.uint8), ["0.0", "2.0", "1"]],
)
def test_numbers_in_any_form_are_taken(values):
    assert NUMBERED.encode(values).tolist() == [0, 2, 1]
    assert NUMBERED.encode([]).tolist() == []


def test_labels_that_are_digits_are_found_among_numbers():
    assert Labels(2, ["3", "4"]).encode(np.array([4, 3, 4])).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            ["yes", "maybe", "maybe"],
            "row 2: unknown category 'maybe' \\(2 such values\\); known: don't know, no, yes",
        ),
        (["yes", "ye"], "row 2: unknown category 'ye'; did you mean 'yes'\\?"),
        (["yes", None], "row 2: is missing"),
        (["yes", ""], "row 2: unknown category ''"),
        ([["yes"]], "one column of values"),
    ],
)
def test_unknown_names_are_refused_naming_the_row(values, text):
    with pytest.raises(DataError, match=text):
        NAMED.encode(values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0, 1, 3], "row 3: unknown category 3; give integers from 0 to 2"),
        ([0, -1], "row 2: unknown category -1"),
        ([0.5], "row 1: unknown category 0.5"),
        ([1.0, float("nan")], "row 2: is missing"),
        ([float("inf")], "row 1: unknown category inf"),
        ([1e300, 0.0], "row 1: unknown category 1e\\+300"),
        (["1e300"], "row 1: '1e300' is not a code"),
        ([2**63 + 5], "row 1: unknown category"),
        (["0", "two"], "row 2: 'two' is not a code"),
        (["0", None], "row 2: is missing; omit users without a value"),
        ([True, False], "are booleans"),
        ([1j], "expected integers"),
    ],
)
def test_impossible_numbers_are_refused_naming_the_row(values, text):
    with pytest.raises(DataError, match=text):
        NUMBERED.encode(np.array(values) if None not in values else np.array(values, dtype=object))


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "1 name for 2 categories"),
        (["a", "a"], "'a' appears twice"),
        (["a", ""], "non-empty"),
        ([1, 2], "quotes"),
    ],
)
def test_names_that_cannot_serve_are_refused(names, text):
    with pytest.raises(ParameterError, match=text):
        Labels(2, names)


@pytest.mark.parametrize("value", [True, 1.0, float("nan")])
def test_what_equals_a_whole_number_is_no_label_of_digits(value):
    labels, column = Labels(3, ["0", "1", "no"]), np.array(["no", 1, value, "0"], dtype=object)
    assert labels.encode(column[[0, 1, 3]]).tolist() == [2, 1, 0]
    said = "is missing" if value != value else f"unknown category {value!r}"
    with pytest.raises(DataError, match=f"row 3: {said}"):
        labels.encode(column)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.0, "unknown category 1.0; write 1 without a point: a column with gaps becomes one of decimals"),
        ("1.0", "unknown category '1.0'; write 1 without a point"),
        (2.5, "unknown category 2.5; known: "),
        (True, "unknown category True; give strings: 'True'"),
        ("N/A", "known: 1, 5, True; if it stands for a missing value, give None"),
        (".", "if it stands for a missing value, give None"),
        (" ", "if it stands for a missing value, give None"),
        ("-", "if it stands for a missing value, give None"),
        ("1 ", "did you mean '1', without blanks around it?"),
    ],
)
def test_what_to_do_about_a_value_that_is_no_label(value, said):
    with pytest.raises(DataError) as caught:
        Labels(3, ["1", "5", "True"]).encode(np.array(["5", value], dtype=object))
    assert said in str(caught.value)
    assert str(caught.value).startswith("answers: row 2: ")
    if "give None" in said:
        assert f"missing value, --missing-code {value!r}" in str(caught.value.for_shell())


def test_a_number_that_questionnaires_use_for_no_answer_is_named():
    duchi = Duchi(1.0, 0.0, 5000.0)
    for value in (-9, -999, -1, -88.0):
        with pytest.raises(DataError, match=r"; omit it if it stands .* clip=True$") as caught:
            duchi.randomize([1, value])
        assert f"; name it with --missing-code={value:g} if it" in str(caught.value.for_shell())
    with pytest.raises(DataError, match=r"5001 is outside .*; correct it, or move values"):
        duchi.randomize([1, 5001])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_code_for_missing_is_a_number_however_it_is_written(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Duchi(1.0, -100.0, 5000.0).save("m.json")
    values = ["1.5", "-9.0", "-9", "200", "-90"]
    if kind == "csv":
        (tmp_path / "d.csv").write_text("\n".join(["x", *values]) + "\n")
    elif kind == "jsonl":
        (tmp_path / "d.jsonl").write_text("".join(f'{{"x": {value}}}\n' for value in values))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pytest.importorskip("pyarrow").table({"x": [float(value) for value in values]})
        parquet.write_table(table, "d.parquet")
    command = ["randomize", "m.json", f"d.{kind}", "-o", "r.csv", "--missing-code=-9"]
    assert main(command) == 2
    assert "column 'x': row 2: is missing (2 such rows here)" in capsys.readouterr().err
    assert main([*command, "--missing", "drop"]) == 0
    assert "2 rows without a value dropped" in capsys.readouterr().out
    assert len((tmp_path / "r.csv").read_text().split()) == 4
