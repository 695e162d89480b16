"""What reads columns at once gives the values and the errors of what looks at each cell and line."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign.data.csv_files as csv_files
import mechdesign.data.json_lines as json_lines
from mechdesign.collect.codec import as_floats
from mechdesign.core.errors import DataError
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import MissingRule
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
    together = read(path)
    monkeypatch.setattr(csv_files, "REPEATED", 10**9)  # no column is coded
    monkeypatch.setattr(
        csv_files.CsvTable,
        "_lines_together",
        lambda self, reader: ([line] for line in self._full_lines(reader)),
    )
    assert together == read(path)
    assert together


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
