"""Tables as other programs write them: delimiters, decimals, encodings, compression, workbooks."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import random
import tomllib
from decimal import Decimal

import numpy as np
import openpyxl
import pyarrow
import pytest

from mechdesign.catalog.shipped import read_toml, toml_problem
from mechdesign.core.errors import DataError, ModelFileError
from mechdesign.data import csv_files
from mechdesign.data.data_set import file_rows, open_table
from mechdesign.data.decimals import DecimalSigns
from mechdesign.data.intake import Coded
from mechdesign.data.text_files import RECOGNIZED, FileForm, stated_form

RECOGNIZING = stated_form()
ROWS = [
    ["name", "grade", "age"],
    ["Ann", "1,3", "31,5"],
    ["Müller, Bo", "2,0", "40"],
    ["Cid", "1,3", "-0,25"],
]


@pytest.fixture(params=["pyarrow", "python"])
def reader(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(csv_files, "_arrow", lambda: None)


def written(rows, delimiter=","):
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue()


def cells(path, *columns, form=RECOGNIZING):
    """Return the texts of columns of a file."""
    table = open_table(path, form=form)
    result = {name: [] for name in columns}
    for block in table.blocks(columns):
        for name in columns:
            values = block[name]
            plain = values.values[values.codes] if isinstance(values, Coded) else np.asarray(values)
            result[name] += plain.tolist()
    return [result[name] for name in columns]


def zstd(data):
    return pyarrow.compress(data, "zstd", asbytes=True)


FORMS = {
    "semicolons.csv": lambda: written(ROWS, ";").encode(),
    "tabs.tsv": lambda: written(ROWS, "\t").encode(),
    "commas.csv": lambda: written(ROWS).encode(),
    "marked.csv": lambda: ("\ufeff" + written(ROWS, ";")).encode(),
    "sep.csv": lambda: ("sep=;\r\n" + written(ROWS, ";")).encode(),
    "utf-16.csv": lambda: written(ROWS, ";").encode("utf-16"),
    "utf-16-be.csv": lambda: b"\xfe\xff" + written(ROWS, "\t").encode("utf-16-be"),
    "a.csv.gz": lambda: gzip.compress(written(ROWS, ";").encode()),
    "a.csv.bz2": lambda: bz2.compress(written(ROWS).encode()),
    "a.csv.xz": lambda: lzma.compress(written(ROWS, ";").encode("utf-16")),
    "a.csv.zst": lambda: pyarrow.compress(written(ROWS).encode(), "zstd", asbytes=True),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_the_same_cells(tmp_path, reader, name):
    """The cells are those that Python's own module wrote, with points in numbers alone."""
    path = tmp_path / name
    path.write_bytes(FORMS[name]())
    assert cells(path, "name", "age") == [["Ann", "Müller, Bo", "Cid"], ["31.5", "40", "-0.25"]]
    assert cells(path, "grade") == [["1.3", "2.0", "1.3"]]
    labels = FileForm(decimal=RECOGNIZED, texts=frozenset(["1,3", "2,0"]))
    assert cells(path, "grade", "age", form=labels) == [["1,3", "2,0", "1,3"], ["31.5", "40", "-0.25"]]


def test_windows_1252_is_named_and_stated(tmp_path, reader):
    path = tmp_path / "ansi.csv"
    path.write_bytes(written(ROWS, ";").encode("windows-1252"))
    with pytest.raises(
        DataError, match=r"byte 0xfc\); it may be in Windows-1252 .* add --encoding windows-1252"
    ):
        cells(path, "name")
    assert cells(path, "name", form=stated_form(encoding="windows-1252"))[0][1] == "Müller, Bo"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a;b\nx;1,234\ny;2\n", "b", "column 'b': '1,234' may be 1.234 or 1234; add --decimal comma or"),
        ("a;b\nx;1.234\ny;2\n", "b", "column 'b': '1.234' may be 1.234 or 1234; add --decimal comma or"),
        ("a\tb\nx\t1.234\n", "b", "column 'b': '1.234' may be 1.234 or 1234"),
        ('a,b\nx,"1,234"\n', "b", "column 'b': '1,234' may be 1.234 or 1234"),
        ("a;b\nx;1,5\ny;1.234\n", "b", "column 'b': '1.234' may be 1.234 or 1234"),
        ("a;b\nx;1,5\ny;2.5\n", "b", r"has decimal points \(2.5\) and decimal commas \(1,5\)"),
        (
            "h, m;a, y\n1,2;3,4\n",
            "h, m",
            "its columns may be separated by commas or by semicolons; add --delim",
        ),
        ("a;b\nx;1,5\ny\n", "b", "line 3: 1 field, the header has 2"),
        ("a;b\nx;1,5\ny,2.5\n", "b", "line 3: 1 field, the header has 2"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(tmp_path, reader, text, column, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        cells(path, column)


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1,234", "comma", "1.234"),
        ("1.234", "comma", "1234"),
        ("1,234", "point", "1234"),
        ("1.234", "point", "1.234"),
        ("1.234,5", "comma", "1234.5"),
        ("-1,234,567.5", "point", "-1234567.5"),
        ("1,5e-3", "comma", "1.5e-3"),
    ],
)
def test_a_stated_sign_decides(tmp_path, reader, text, decimal, number):
    path = tmp_path / "a.csv"
    path.write_text(f"a;b\nx;{text}\n")
    assert cells(path, "b", form=stated_form(decimal=decimal)) == [[number]]
    other = stated_form(decimal="point" if decimal == "comma" else "comma")
    if text in ("1.234,5", "-1,234,567.5", "1,5e-3"):
        with pytest.raises(DataError, match="has a decimal"):
            cells(path, "b", form=other)


def test_no_number_is_changed_and_none_is_guessed():
    """A column of numbers written with one sign is read as these numbers, or refused; drawn at random."""
    draw = random.Random(1)
    refused = 0
    for _ in range(3000):
        sign, places = draw.choice(",."), draw.randrange(5)
        numbers = [
            Decimal(draw.randrange(-(10**6), 10**6)).scaleb(-places) for _ in range(draw.randrange(1, 4))
        ]
        grouped = draw.random() < 0.3
        texts = [f"{number:,f}" if grouped else f"{number:f}" for number in numbers]
        if sign == ",":
            texts = [text.translate(str.maketrans(",.", ".,")) for text in texts]
        try:
            read = DecimalSigns("a.csv", "", frozenset()).plain("x", texts)
        except DataError:
            refused += 1
            continue
        try:
            values = [Decimal(text) for text in read]
        except ArithmeticError:
            continue  # left as it is: the number's reader refuses it
        assert values == numbers, (texts, read)
    assert 0 < refused < 1500


def test_the_header_of_a_plain_file_with_semicolons_in_a_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,a;b\nAnn,2\nBob,3\n")
    assert cells(path, "a;b") == [["2", "3"]]
    path.write_text("a;b\nx\ny\n")
    assert cells(path, "a;b") == [["x", "y"]]


def test_damaged_and_wrong_files(tmp_path):
    packed = gzip.compress(written(ROWS * 200).encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "text.xlsx").write_text("a,b\n1,2\n")
    (tmp_path / "nul.csv").write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    for name, message in (
        ("cut.csv.gz", r"is damaged \(gzip\)"),
        ("text.xlsx", "is not an Excel workbook"),
        ("nul.csv", "holds NUL bytes"),
    ):
        with pytest.raises(DataError, match=message):
            cells(tmp_path / name, "age")
    assert cells(tmp_path / "nul.csv", "b", form=stated_form(encoding="utf-16-le")) == [["2"]]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_a_flipped_byte_of_a_compressed_file_is_damage_or_changes_nothing(tmp_path, reader, compress):
    text = written(ROWS * 300).encode()
    packed, path = compress(text), tmp_path / "a.csv.gz"
    path.write_bytes(packed)
    right = cells(path, "age")
    places = range(5, len(packed), max(1, len(packed) // 40))
    for place in places if compress is not zstd else ():  # which has no checksum unless it is asked for
        path.write_bytes(packed[:place] + bytes([packed[place] ^ 0x55]) + packed[place + 1 :])
        with contextlib.suppress(DataError):
            assert cells(path, "age") == right
    for size in range(7, len(packed), max(1, len(packed) // 20)):
        path.write_bytes(packed[:size])
        with pytest.raises(DataError):
            cells(path, "age")


def book(path, rows, title="Data", merge="", other=None):
    result = openpyxl.Workbook()
    sheet = result.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    if merge:
        sheet.merge_cells(merge)
    if other is not None:
        result.create_sheet("Notes").append(other)
    result.save(path)
    return path


def test_a_workbook_has_the_cells_of_its_csv_file(tmp_path):
    import datetime

    day, moment = datetime.date(2026, 5, 1), datetime.datetime(2026, 5, 1, 13, 30)
    rows = [
        ["name", "n", "x", "ok", "day", "at"],
        ["Ann", 3, 2.5, True, day, moment],
        [None] * 6,
        ["Bo", 4.0, -1],
    ]
    path = book(tmp_path / "a.xlsx", rows)
    assert cells(path, "name", "n", "x") == [["Ann", "Bo"], ["3", "4"], ["2.5", "-1"]]
    assert file_rows(path, "a.xlsx")[1] == ["Ann", "3", "2.5", "TRUE", "2026-05-01", "2026-05-01 13:30:00"]
    two = book(tmp_path / "two.xlsx", rows[:2], other=["note"])
    with pytest.raises(DataError, match="has several sheets: 'Data', 'Notes'; name one: --sheet 'Data'"):
        cells(two, "n")
    assert cells(two, "n", form=stated_form(sheet="Data")) == [["3"]]
    with pytest.raises(DataError, match="no sheet 'Dat'; did you mean 'Data'"):
        cells(two, "n", form=stated_form(sheet="Dat"))


@pytest.mark.parametrize(
    ("rows", "merge", "message"),
    [
        ([["n"], ["=1+1"]], "", "row 2, column 'n': holds a formula without a value"),
        ([["n"], ["#N/A"]], "", "row 2, column 'n': holds the error #N/A"),
        ([["n", None], [1, 2]], "A1:B1", "the names in A1:B1 are merged cells"),
        ([], "", "is empty"),
        ([["n"]], "", "has a header and no rows"),
    ],
)
def test_workbooks_that_do_not_fit(tmp_path, rows, merge, message):
    path = book(tmp_path / "a.xlsx", rows, merge=merge)
    with pytest.raises(DataError, match=message):
        cells(path, "n")


def test_toml_of_other_programs_has_a_sentence_for_each_slip(tmp_path):
    path = tmp_path / "a.toml"
    for content, message in (
        ("[model]\ntitle = “S”\n".encode(), "line 2: has curly quotes (“), as word processors write them"),
        (b"[model]\nepsilon = 1,0\n", "line 2: 1,0 has a decimal comma; write 1.0"),
        (b"[[q]]\nx = { error = 0,03 }\n", "line 2: 0,03 has a decimal comma; write 0.03"),
        (
            "[model]\ntitle = 'Müller'\n".encode("windows-1252"),
            "line 2: is not text in UTF-8 (byte 0xfc); if",
        ),
        ("[model]\n".encode("utf-16"), "is text in UTF-16; save it as UTF-8"),
        (b"[model]\ntitle = \n", "is not valid TOML: Invalid value"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            read_toml(path)
        assert str(caught.value).startswith(f"{path}: {message}")
        assert "\n" not in str(caught.value)
    path.write_bytes("\ufeff[model]\ntitle = 'a “b” 1,0'\n".encode())
    assert read_toml(path) == {"model": {"title": "a “b” 1,0"}}
    with pytest.raises(tomllib.TOMLDecodeError) as invalid:
        tomllib.loads("x = [1,\n")
    assert toml_problem(invalid.value, "x = [1,\n").startswith("is not valid TOML")
