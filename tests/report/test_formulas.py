"""No text of a user is a formula in a CSV file, and what was written is read as it was."""

from __future__ import annotations

import csv
import io
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from mechdesign.core.errors import DataError
from mechdesign.data import csv_files
from mechdesign.data.csv_files import escaped_formula, unescaped_formula
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import Coded
from tests.support.whole_tables import read_column, write_columns

LETTERS = "=+-@＝＋－＠\t\r\n ' \" ; , | 1 a \u00a0 \u200b \ufeff \u201c . e".replace(" ", "") + " "
TEXTS = st.text(st.sampled_from(LETTERS), max_size=8) | st.text(max_size=6)
ATTACKS = [
    "=cmd|calc!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    '"=1+1"',
    "'=1+1",
    "''=1+1",
    "＝1+1",
    "－cmd",
    "＋a",
    "＠a",
    "\u00a0=1",
    "\u200b=1",
    "\ufeff=1",
    "a;=1+1",
    "a\t=1+1",
    "a\n=1+1",
    "a,=1+1",
    "\ttext",
    "\rtext",
    "+49 171 123",
    "-5 to 0",
]


def runs(cell: str) -> bool:
    """Whether a spreadsheet could run a cell: written apart from the code that is tested."""
    if not cell:
        return False
    try:
        float(cell)
        return False
    except ValueError:
        pass
    if cell[0] in "\t\r\n":
        return True
    bare = "".join(letter for letter in cell if unicodedata.category(letter) not in ("Cf", "Cc"))
    bare = bare.lstrip().lstrip('"\u201c').lstrip()
    return bare[:1] in ("=", "+", "-", "@", "＝", "＋", "－", "＠") and bool(bare[1:].strip())


@settings(max_examples=150, deadline=None)
@given(TEXTS)
@example("'\t1")
@example("'=a;'=b")
@example("''-3.5")
def test_every_text_is_read_as_it_was_written_and_is_no_formula(text):
    written = escaped_formula(text)
    assert unescaped_formula(written) == text
    assert not runs(written)


@settings(max_examples=60, deadline=None)
@given(st.floats(allow_nan=False).map(repr) | st.integers().map(str))
def test_numbers_stay_numbers(text):
    assert escaped_formula(text) == text == unescaped_formula(text)


@pytest.mark.parametrize("with_arrow", [True, False])
def test_a_file_of_names_makes_the_whole_way(tmp_path, monkeypatch, with_arrow):
    if not with_arrow:
        monkeypatch.setattr(csv_files, "_arrow", lambda: None)
    place = tmp_path / "payments.csv"
    columns = {
        "=1+1": np.array(ATTACKS, dtype=object),
        "-payment": np.linspace(-3.5, 2.0, len(ATTACKS)),
        "@label": Coded(np.array(["-5 to 0", "=x"]), np.arange(len(ATTACKS)) % 2),
    }
    write_columns(place, {name: np.asarray(values) for name, values in columns.items()})
    cells = list(csv.reader(io.StringIO(place.read_text(encoding="utf-8"), newline="")))
    assert not [cell for row in cells for cell in row if runs(cell)]
    table = open_table(place)
    assert table.columns == tuple(columns)
    (block,) = table.blocks(table.columns)
    for name, values in columns.items():
        assert np.asarray(block[name]).tolist() == [str(value) for value in np.asarray(values).tolist()]
    assert [row[1] for row in cells[1:]] == [repr(value) for value in columns["-payment"].tolist()]


def test_a_single_column_is_written_in_the_same_way(tmp_path):
    for number, values in enumerate((np.array(ATTACKS), Coded(np.array(ATTACKS), np.arange(len(ATTACKS))))):
        place = tmp_path / f"{number}.csv"
        write_columns(place, {"=name": np.asarray(values)})
        rows = list(csv.reader(io.StringIO(place.read_text(encoding="utf-8"), newline="")))
        assert not [row for row in rows if runs(row[0])]
        name, found = read_column(place)
        assert (name, found.tolist()) == ("=name", ATTACKS)


@pytest.mark.parametrize("with_arrow", [True, False])
def test_names_that_would_become_the_same_are_refused(tmp_path, monkeypatch, with_arrow):
    if not with_arrow:
        monkeypatch.setattr(csv_files, "_arrow", lambda: None)
    place = tmp_path / "mixed.csv"
    place.write_text("user\nann\n=x\n'=x\n")
    with pytest.raises(DataError, match=r"mixed\.csv: column 'user': .* write both in one way"):
        read_column(place)
    place.write_text("=x,'=x\n1,2\n")
    with pytest.raises(DataError, match=r"mixed\.csv: header: .* write both in one way"):
        open_table(place)


def test_files_of_others_are_read_as_they_are(tmp_path):
    place = tmp_path / "theirs.csv"
    place.write_text("user\n=x\n+49 30\n'tis\n-3.5\n")
    assert read_column(place)[1].tolist() == ["=x", "+49 30", "'tis", "-3.5"]
