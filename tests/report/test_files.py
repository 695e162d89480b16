"""CSV and Parquet files in blocks: what is written is read, and errors name file and row."""

from __future__ import annotations

import os
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from mechdesign.core.errors import DataError, MissingPackageError
from mechdesign.data import csv_files
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import ROWS, Coded, MissingRule
from mechdesign.data.writing import MANY, RUNS, write_blocks
from mechdesign.work.bars import ProgressBar
from tests.support.whole_tables import read_column, write_columns


@pytest.fixture(params=["pyarrow", "python"])
def reader(request, monkeypatch):
    """Run a test with pyarrow's reader of CSV and with Python's own."""
    if request.param == "python":
        monkeypatch.setattr(csv_files, "_arrow", lambda: None)
    return request.param


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".pq"])
def test_what_is_written_is_read(tmp_path, reader, suffix):
    path = tmp_path / f"data{suffix}"
    write_columns(path, {"answer": np.array(["yes", 'say "no", or', "ä\nb"]), "age": np.array([1, 2, 3])})
    name, values = read_column(path, "answer")
    assert (name, values.tolist()) == ("answer", ["yes", 'say "no", or', "ä\nb"])
    assert [int(value) for value in read_column(path, "age")[1]] == [1, 2, 3]
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_a_single_column_needs_no_name_and_a_byte_order_mark_is_no_part_of_it(tmp_path, reader):
    path = tmp_path / "data.csv"
    path.write_bytes("\ufeffanswer\r\nyes\r\nno\r\n".encode())
    assert read_column(path)[0] == "answer"
    assert read_column(path, "answer")[1].tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "is empty; give a header line"),
        ("answer\n", None, "has a header and no rows; give one row per user"),
        ("a,b\n1,2\n", None, "has 2 columns; name one"),
        ("answer,b\n1,2\n", "anser", "no column 'anser'; known: answer, b"),
        ("a,b\n1,2\n3\n", "a", "line 3: 1 field, the header has 2"),
        ("a,b\n1,2\n3,4,5\n", "a", "line 3: 3 fields, the header has 2"),
    ],
)
def test_csv_files_that_do_not_fit(tmp_path, reader, text, column, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_column(path, column)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_files_that_are_no_csv(tmp_path, reader):
    (tmp_path / "latin.csv").write_bytes(b"answer\n\xe9\n")
    with pytest.raises(DataError, match="is not a CSV file in UTF-8"):
        read_column(tmp_path / "latin.csv")
    with pytest.raises(DataError, match="file not found; check the path"):
        read_column(tmp_path / "none.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_column(tmp_path)


def test_parquet_files_that_do_not_fit(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_text("nonsense")
    with pytest.raises(DataError, match="is not a Parquet file"):
        read_column(path)
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, None], "b": [1, 2]}), path)
    with pytest.raises(DataError, match="column 'a': row 2: is missing; leave such rows out"):
        read_column(path, "a")
    with pytest.raises(DataError) as caught:
        read_column(path, "c")
    assert str(caught.value) == f"{path}: no column 'c'; known: a, b"
    with pytest.raises(DataError, match=r"data.parquet: has 2 columns; name one"):
        read_column(path)
    pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())}), path)
    with pytest.raises(DataError, match="no rows; give one row per user"):
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


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_blocks_have_the_same_size_whatever_the_pieces_of_the_file(tmp_path, reader, suffix):
    rows = 2 * ROWS + 7
    path = tmp_path / f"data{suffix}"
    numbers = np.arange(rows)
    write_columns(path, {"x": numbers, "word": np.where(numbers % 3 == 0, "a", "b")})
    table = open_table(path)
    blocks = list(table.blocks(["word", "x"]))
    assert [len(block["x"]) for block in blocks] == [ROWS, ROWS, 7]
    joined = np.concatenate([np.asarray(block["x"]) for block in blocks]).astype(np.int64)
    assert (joined == numbers).all()
    assert np.asarray(blocks[2]["word"]).tolist() == ["b", "a", "b", "b", "a", "b", "b"]
    assert table.row(3) == 2 * ROWS + 4


GAPS = "id,age\n1,31\n2,\n3,NA\n4,47\n"


def test_missing_values_are_refused_dropped_or_counted_as_a_category(tmp_path, reader):
    path = tmp_path / "gaps.csv"
    path.write_text(GAPS)
    with pytest.raises(DataError, match="column 'age': row 2: is missing; leave such rows out"):
        list(open_table(path).blocks(["age"]))
    dropping = MissingRule("drop", ("NA",))
    table = open_table(path, dropping)
    (block,) = table.blocks(["id", "age"])
    assert np.asarray(block["id"]).tolist() == ["1", "4"]
    assert (dropping.rows, table.row(1)) == (2, 4), "the second row that is left is the file's fourth"
    counting = MissingRule("category")
    (block,) = open_table(path, counting).blocks(["age"])
    assert np.asarray(block["age"]).tolist() == ["31", "missing", "NA", "47"]
    assert counting.note() == "1 row without a value counted as 'missing'"


def test_missing_values_of_parquet_are_nulls_and_nan(tmp_path):
    path = tmp_path / "gaps.parquet"
    columns = {"n": pyarrow.array([1, None, 3]), "x": pyarrow.array([0.5, 1.5, float("nan")])}
    columns["t"] = pyarrow.array(["a", "b", None])
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    for names, left in ((["n"], 2), (["x"], 2), (["t"], 2), (["n", "x"], 1), (["n", "x", "t"], 1)):
        rule = MissingRule("drop")
        (block,) = open_table(path, rule).blocks(names)
        assert (len(block[names[0]]), rule.rows) == (left, 3 - left)
    (block,) = open_table(path, MissingRule("category")).blocks(["t"])
    assert np.asarray(block["t"]).tolist() == ["a", "b", "missing"]


def test_nothing_but_missing_values_is_an_error(tmp_path, reader):
    (tmp_path / "gaps.csv").write_text("a,b\n,1\n,2\n")
    with pytest.raises(DataError, match="every row lacks a value; there is nothing left"):
        list(open_table(tmp_path / "gaps.csv", MissingRule("drop")).blocks(["a"]))


def test_blank_lines_of_one_column_are_missing_except_at_the_end(tmp_path, reader):
    path = tmp_path / "one.csv"
    path.write_text("a\nx\n\ny\n\n\n")
    with pytest.raises(DataError, match="column 'a': row 2: is missing"):
        list(open_table(path).blocks(["a"]))
    (block,) = open_table(path, MissingRule("drop")).blocks(["a"])
    assert np.asarray(block["a"]).tolist() == ["x", "y"]
    path.write_text("a\nx\ny\n\n\n")
    (block,) = open_table(path).blocks(["a"])
    assert np.asarray(block["a"]).tolist() == ["x", "y"], "blank lines at the end are no rows"
    path.write_text("a,b\nx,1\n\ny,2\n")
    (block,) = open_table(path).blocks(["a"])
    assert np.asarray(block["a"]).tolist() == ["x", "y"], "a row of two columns is never blank"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (["x", '""'], ["x", "missing"]),
        (["x", '""', '""', "", ""], ["x", "missing", "missing"]),
        (["x", "", '""', ""], ["x", "missing", "missing"]),
        (['""', '""'], ["missing", "missing"]),
        (['""', "x", "", ""], ["missing", "x"]),
        (['"x"', ""], ["x"]),
    ],
)
def test_quotes_without_a_text_are_a_missing_value_at_the_end_too(tmp_path, reader, lines, rows, end):
    """Programs write them for a missing value in a file of one column, where a blank line would be lost."""
    path = tmp_path / "one.csv"
    for last in ("", end):
        path.write_text(end.join(["a", *lines]) + last, newline="")
        blocks = [block["a"] for block in open_table(path, MissingRule("category")).blocks(["a"])]
        assert [value for column in blocks for value in np.asarray(column).tolist()] == rows
        if "missing" in rows:
            with pytest.raises(DataError, match=rf"row {rows.index('missing') + 1}: is missing"):
                list(open_table(path).blocks(["a"]))


def test_odd_but_legal_files(tmp_path, reader):
    """A header that spans lines, a name that appears twice, quotes, commas, line ends of Windows."""
    path = tmp_path / "odd.csv"
    path.write_text('"a\nb",x,x,"say ""c"""\r\n"1,5",,,"two\nlines"\r\n', newline="")
    table = open_table(path)
    assert table.columns == ("a\nb", "x", "x", 'say "c"')
    (block,) = table.blocks(["a\nb", 'say "c"'])
    assert [np.asarray(values).tolist() for values in block.values()] == [["1,5"], ["two\nlines"]]


def test_the_two_readers_of_csv_agree_on_random_files(tmp_path, monkeypatch):
    """Random tables with quotes, blanks, long and unusual texts; 60 of them."""
    random = np.random.default_rng(20)
    words = ["", "a", "b c", "ü", '"', ",", "1", "1.5", " x ", "y" * 300, "-0", "NA", "\t"]
    for number in range(60):
        path = tmp_path / f"{number}.csv"
        rows, width = int(random.integers(1, 40)), int(random.integers(2, 5))
        table = random.choice(words, size=(rows, width))
        write_columns(path, {f"c{place}": table[:, place] for place in range(width)})
        found = []
        for arrow in (csv_files._arrow(), None):
            monkeypatch.setattr(csv_files, "_arrow", lambda arrow=arrow: arrow)
            rule = MissingRule("category", ("NA",))
            blocks = list(open_table(path, rule).blocks([f"c{place}" for place in range(width)]))
            found.append(([np.asarray(values).tolist() for values in blocks[0].values()], rule.rows))
            monkeypatch.undo()
        assert found[0] == found[1]
        wanted = np.where((table == "") | (table == "NA"), "missing", table)
        assert np.array(found[0][0]).T.tolist() == wanted.tolist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_progress_tells_how_far_the_reading_is(tmp_path, reader, suffix, monkeypatch):
    rows = 6 * ROWS
    path = tmp_path / f"data{suffix}"
    write_columns(path, {"x": np.full(rows, 1234567)})
    seen: list[tuple[float, int]] = []
    monkeypatch.setattr(ProgressBar, "show", lambda self, part, done: seen.append((part, done)))
    for _ in open_table(path).blocks(["x"]):
        pass
    assert len(seen) == 6
    assert seen[-1] == (1.0, rows)
    # the reader is at most two blocks ahead of what was handed on
    assert all(done / rows - 0.01 <= part <= (done + 2 * ROWS) / rows for part, done in seen)


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n1,x\n2,"open\n3,y\n4,z\n',
        'a,b\n1,x\n2,"open\n3,y\n4,"z\n5,w\n',
        'a,b\n1,x\n2,"one" two\n3,"and\nmore"\n',
    ],
)
def test_a_quote_that_is_not_closed_swallows_nobody(tmp_path, reader, text):
    path = tmp_path / "open.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"open.csv: line 3: is not CSV .*look for a quote"):
        for _ in open_table(path).blocks(["a"]):
            pass


def test_a_pipe_is_refused(tmp_path, reader):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"cannot be read: it is not a regular file; save it to one first"):
        open_table(tmp_path / "pipe.csv")


def test_parquet_of_few_texts_holds_texts_of_its_own_rows_alone(tmp_path):
    """Blocks may have different dictionaries, also with words that no row has, or none at all."""
    path = tmp_path / "reports.parquet"
    words = np.array(["no", "a word of a dropped row", "yes"])
    other = np.array(["perhaps", "yes"], dtype=object)
    blocks = [
        {"x": Coded(words, np.array([2, 0, 2]))},
        {"x": Coded(other, np.array([1, 0], dtype=np.uint8))},
        {"x": np.array(["no", "seldom"], dtype=object)},
    ]
    assert write_blocks(path, blocks) == 7
    table = pyarrow.parquet.read_table(path)
    assert table.schema.field("x").type == pyarrow.string()
    assert table["x"].to_pylist() == ["yes", "no", "yes", "yes", "perhaps", "no", "seldom"]
    assert b"dropped" not in path.read_bytes()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 2 * RUNS])
def test_lines_that_are_put_together_are_those_of_each_row(tmp_path, size):
    words = np.array([f"word, {number}" for number in range(size)], dtype=object)
    codes = np.random.default_rng(size).integers(0, size, MANY + 5)
    several, each = tmp_path / "several.csv", tmp_path / "each.csv"
    write_blocks(several, [{"x": Coded(words, codes)}, {"x": Coded(words, codes[:1])}])
    each.write_text("".join(["x\n", *(f'"{word}"\n' for word in words[codes]), f'"{words[codes[0]]}"\n']))
    assert several.read_bytes() == each.read_bytes()
