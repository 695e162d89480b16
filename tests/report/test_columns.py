"""Columns of CSV and Parquet files, and errors that name the file."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from mechdesign.core.errors import DataError, MissingPackageError
from mechdesign.report.columns import read_column, write_columns


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".pq"])
def test_what_is_written_is_read(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    write_columns(path, {"answer": np.array(["yes", 'say "no", or', "ä\nb"]), "age": np.array([1, 2, 3])})
    name, values = read_column(path, "answer")
    assert (name, values.tolist()) == ("answer", ["yes", 'say "no", or', "ä\nb"])
    assert [int(value) for value in read_column(path, "age")[1]] == [1, 2, 3]
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_a_single_column_needs_no_name_and_a_byte_order_mark_is_no_part_of_it(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("\ufeffanswer\r\nyes\r\nno\r\n".encode())
    assert read_column(path)[0] == "answer"
    assert read_column(path, "answer")[1].tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "is empty; give a header line"),
        ("answer\n", None, "has a header and no rows; give one line a user"),
        ("a,b\n1,2\n", None, "has 2 columns (a, b); name one with --column"),
        ("answer,b\n1,2\n", "anser", "no column 'anser'; did you mean 'answer'?"),
        ("a,b\n1,2\n3\n", "a", "line 3: 1 fields, the header has 2"),
        ("a,b\n1,2\n3,4,5\n", "a", "line 3: 3 fields, the header has 2"),
    ],
)
def test_csv_files_that_do_not_fit(tmp_path, text, column, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_column(path, column)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_files_that_are_no_csv(tmp_path):
    (tmp_path / "latin.csv").write_bytes(b"answer\n\xe9\n")
    with pytest.raises(DataError, match="is not a CSV file in UTF-8"):
        read_column(tmp_path / "latin.csv")
    with pytest.raises(DataError, match=r"cannot be read .No such file or directory.; check the path"):
        read_column(tmp_path / "none.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_column(tmp_path)


def test_parquet_files_that_do_not_fit(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_text("nonsense")
    with pytest.raises(DataError, match="is not a Parquet file"):
        read_column(path)
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, None], "b": [1, 2]}), path)
    with pytest.raises(DataError, match="column 'a' has 1 missing values; remove or recode them"):
        read_column(path, "a")
    with pytest.raises(DataError) as caught:
        read_column(path, "c")
    assert str(caught.value) == f"{path}: no column 'c'; known: a, b"
    with pytest.raises(DataError, match=r"data.parquet: has 2 columns .a, b.; name one"):
        read_column(path)
    pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())}), path)
    with pytest.raises(DataError, match="has no rows; give one row a user"):
        read_column(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_column(tmp_path / "none.parquet")


def test_without_pyarrow_parquet_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackageError, match=r"install mechdesign\[parquet\], or use CSV"):
        read_column(tmp_path / "data.parquet")
    with pytest.raises(MissingPackageError):
        write_columns(tmp_path / "out.parquet", {"a": [1]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_nothing_is_left_where_nothing_can_be_written(tmp_path, suffix):
    taken = tmp_path / f"taken{suffix}"
    taken.mkdir()
    with pytest.raises(DataError, match=r"cannot be written|not a regular file"):
        write_columns(taken, {"a": [1]})
    with pytest.raises(DataError, match=r"cannot be written .No such file"):
        write_columns(tmp_path / "no" / f"folder{suffix}", {"a": [1]})
    with pytest.raises(ValueError, match=r"zip|length"):
        write_columns(tmp_path / f"uneven{suffix}", {"a": [1, 2], "b": [1]})
    assert [item.name for item in tmp_path.iterdir()] == [taken.name]


def test_an_old_file_is_replaced_whole(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("old\n" * 1000)
    write_columns(path, {"a": ["x"]})
    assert path.read_text() == "a\nx\n"
