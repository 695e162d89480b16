"""What reads columns at once gives the values and the errors of what looks at each cell and line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import mechdesign.data.csv_files as csv_files
import mechdesign.data.json_lines as json_lines
from mechdesign.collect.codec import Labels, as_floats
from mechdesign.core.errors import DataError
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import Coded, MissingRule
from mechdesign.data.uniform_lines import CellBlock, NumberedTexts
from mechdesign.exact.numbers import number_of_text, numbers_of_texts

NUMERALS = ["1", "-0", "+7.", ".5", "1e5", "1E-7", "0.1", "9" * 400, "1e000001", "00012.250", "4" * 30]
OTHERS = [
    "",
    ".",
    "1_0",
    " 1",
    "1 ",
    "\t1",
    "nan",
    "inf",
    "-",
    "+-1",
    "1.2.3",
    "0x1",
    "\u0661",
    "1,5",
    "e5",
    "1e999",
]


@pytest.mark.parametrize("text", [*NUMERALS, *OTHERS])
def test_a_column_is_converted_as_its_cells(text):
    together = numbers_of_texts(["3.25", text])
    alone = number_of_text(text)
    assert together is None or together.tolist() == [3.25, alone]
    if alone is None:
        with pytest.raises(DataError, match=r"x: row 2"):
            as_floats(np.array(["3.25", text], dtype=object), 1, "x")
    else:
        assert as_floats(np.array(["3.25", text], dtype=object), 1, "x").tolist() == [3.25, alone]


def test_random_decimals_are_the_same_doubles():
    rng = np.random.default_rng(3)
    texts = [
        f"{sign}{whole}.{part}"
        for sign, whole, part in zip("+-" * 500, *rng.integers(0, 10**12, (2, 1000)), strict=True)
    ]
    column = numbers_of_texts(texts)
    assert column is not None
    assert column.tolist() == [float(text) for text in texts]


def read(path):
    """Return the rows of a file, or its error."""
    try:
        table = open_table(path, MissingRule("drop"))
        blocks = [dict(block) for block in table.blocks(table.columns)]
    except DataError as error:
        return str(error)
    return [[np.asarray(block[name]).tolist() for name in table.columns] for block in blocks]


FILES = {
    "plain": "a,b\n" + "x,1\n" * 9,
    "blank lines": "a,b\nx,1\n\n\ny,2\n\nz,3\n\n",
    "one column": "a\nx\n\ny\n\n",
    "too few": "a,b\n" + "x,1\n" * 6 + "y\nz,2\n",
    "too many, after a blank line": "a,b\nx,1\n\ny,2,3\n",
    "lines in quotes": 'a,b\n"x\ny",1\nz\n',
    "an open quote": 'a,b\nx,1\nx,1\ny,"2\nz,3\n',
    "a quote inside": 'a,b\nx,1\ny,"2"3\n',
    "a formula": "a,b\n'=1+1,1\nx,2\n'=2,3\n",
    "both kinds of formulas": "a,b\n'=1+1,1\nx,2\n=2,3\n",
    "carriage returns": "a,b\r\nx,1\r\ny,2\r\n",
    "many texts": "a,b\n" + "".join(f"x{place},{place}\n" for place in range(30)),
    "gaps": "a,b\n" + "x,\n,1\ny,2\n" * 5,
}


@pytest.mark.parametrize("name", FILES)
def test_lines_together_are_read_as_one_by_one(name, tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text(FILES[name], newline="")
    monkeypatch.setattr(csv_files, "TOGETHER", 3)
    monkeypatch.setattr(csv_files, "LINES", 5)
    monkeypatch.setattr(csv_files.CsvTable, "_by_bytes", lambda *arguments: None)
    together = read(path)
    monkeypatch.setattr(csv_files, "REPEATED", 10**9)  # no column is coded
    monkeypatch.setattr(
        csv_files.CsvTable,
        "_lines_together",
        lambda self, reader: ([line] for line in self._full_lines(reader)),
    )
    assert together == read(path)
    assert together


CELLS = ["no", "once", "never say", "", "x" * 8, "y" * 70, "Müller", "NA", "a'b", " z ", "12", "3.5"]
ENDS = ["\n", "\r\n", "\r"]
TAILS = ["", "\n\n", "no", '"no"', "\ufeffno", '""\n', "wrong label\n", "no,no,no\n", 'say "no"\n', "a\0b\n"]


def file_of(rng: np.random.Generator, width: int) -> str:
    """Return lines of few texts, now and then with a quote, a blank line or another end."""
    end = ENDS[rng.choice(3, p=[0.7, 0.2, 0.1])]
    rows = [
        [CELLS[place] for place in rng.integers(len(CELLS), size=width)] for _ in range(rng.integers(1, 60))
    ]
    if rng.random() < 0.3:
        rows[rng.integers(len(rows))][0] = '"quoted, and\nlonger"'
    if rng.random() < 0.2:
        rows.insert(int(rng.integers(len(rows))), [])
    mark = "\ufeff" if rng.random() < 0.2 else ""
    header = ",".join(f"column{place}" for place in range(width))
    return mark + header + end + end.join(map(",".join, rows)) + end + TAILS[rng.integers(len(TAILS))]


def with_reader(path, monkeypatch, by_arrow: bool):
    """Return what a reader of CSV gives for the whole file."""
    with monkeypatch.context() as patch:
        patch.setattr(csv_files.CsvTable, "_by_bytes", lambda *arguments: None)
        patch.setattr(csv_files, "SHORT", 0)
        if not by_arrow:
            patch.setattr(csv_files, "_arrow", lambda: None)
        return read(path)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_lines_read_by_their_bytes_are_those_of_the_readers(width, tmp_path, monkeypatch):
    rng = np.random.default_rng(width)
    monkeypatch.setattr(csv_files, "SHORT", 0)
    monkeypatch.setattr(csv_files, "TINY", 0)
    errors = 0
    for number in range(150):
        text, path = file_of(rng, width), tmp_path / f"{number}.csv"
        encoding = "utf-16" if number % 10 == 9 else "utf-8"
        path.write_bytes(text.encode(encoding) + (b"\xff\n" if number % 13 == 12 else b""))
        if number % 7 == 6:
            path = tmp_path / f"{number}.csv.gz"
            path.write_bytes(gzip.compress(text.encode(encoding)))
        monkeypatch.setattr(csv_files, "BLOCK", int(rng.integers(1, 300)))
        assert read(path) == with_reader(path, monkeypatch, by_arrow=True), text
        with monkeypatch.context() as patch:
            patch.setattr(csv_files, "_arrow", lambda: None)
            expected = with_reader(path, monkeypatch, by_arrow=False)
            assert read(path) == expected, text
        errors += isinstance(expected, str)
    assert 5 < errors < 120


def test_lines_without_quotes_need_no_reader(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text("a,b\r\n" + "no,1\r\nyes,2\r\n" * 50, encoding="utf-8-sig", newline="")
    monkeypatch.setattr(csv_files, "BLOCK", 64)
    monkeypatch.setattr(csv_files, "TINY", 0)
    monkeypatch.setattr(csv_files.CsvTable, "_by_reader", None)
    assert read(path) == [[["no", "yes"] * 50, ["1", "2"] * 50]]


@pytest.mark.parametrize("count", [3, 70, 300, 3000])
def test_texts_keep_their_codes_from_block_to_block(count):
    rng = np.random.default_rng(count)
    names = [f"{'n' * rng.integers(0, 24)}{place}" for place in range(count)]
    texts, words = NumberedTexts(), []
    for start in range(0, 5):
        chosen = [names[place] for place in rng.integers(count * (start + 1) // 5 or 1, size=2000)]
        block = CellBlock.of("".join(f"{name}\n" for name in chosen).encode(), 1, ord(","))
        starts, ends = block.column(0)
        codes = texts.codes(block, starts, ends - starts)
        assert block.texts(starts, ends) == chosen
        if codes is None:
            break
        words = [text.decode() for text in texts.written]
        assert [words[code] for code in codes.tolist()] == chosen
    assert len(set(words)) == len(words)
    assert texts.are_many == (count > 1000)


def test_a_text_that_begins_like_a_longer_one_is_another_one():
    texts = NumberedTexts()
    for line in (b"abcdefgh12345678x\nabcdefgh\n", b"abcdefgh\n", b"abcdefgh12345678\nabcdefgh\n"):
        block = CellBlock.of(line, 1, ord(","))
        starts, ends = block.column(0)
        codes = texts.codes(block, starts, ends - starts)
        assert [texts.written[code] for code in codes] == line.split()


LINES = [
    '{"a": 1, "b": "x"}',
    ' {"b": "y", "a": 2.5} ',
    '{"a": null, "b": ""}',
    '{"a": 1e400, "b": "x"}',
    '{"a": NaN, "b": "x"}',
    '{"a": -Infinity, "b": "x"}',
    '{"a": true, "b": "x"}',
    '{"a": [1], "b": "x"}',
    '{"a": 1, "a": 2, "b": "x"}',
    '{"a": 1}',
    '{"a": 1, "b": "x"} {"a": 1, "b": "x"}',
    '{"a": 1, "b": "x"},',
    '[{"a": 1, "b": "x"}]',
    '{"a": ' + "9" * 5000 + ', "b": "x"}',
    '{"a": 1, "b": "\\ud800"}',
    '{"a": 1, "b": "é"}',
    "{}",
    "7",
    '{"a": 1',
    '{"format": "mechdesign-message", "b": 1}',
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_json_is_read_as_by_the_careful_way(line, tmp_path, monkeypatch):
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"a": 7, "b": "z"}}\n\n{line}\n{{"b": "w", "a": 8}}\n', encoding="utf-8")
    quick = read(path)
    monkeypatch.setattr(json_lines, "flat_row", lambda text: None)
    assert quick == read(path)


def test_a_value_that_no_row_has_is_not_refused():
    codes = np.array([2, 0, 2, 0])
    labels = Labels(2, ["no", "yes"])
    assert labels.encode(Coded(np.array(["no", "", "yes"], dtype=object), codes)).tolist() == [1, 0, 1, 0]
    assert as_floats(Coded(np.array(["1", "NA", "2.5"], dtype=object), codes), 1, "x").tolist() == [
        2.5,
        1,
        2.5,
        1,
    ]
    with pytest.raises(DataError, match=r"row 3.*unknown category 'NA'"):
        labels.encode(Coded(np.array(["no", "", "yes", "NA"], dtype=object), np.array([0, 2, 3])))
    with pytest.raises(DataError, match=r"x: row 2"):
        as_floats(Coded(np.array(["1", "NA"], dtype=object), np.array([0, 1])), 1, "x")
