"""Hundreds of spellings of numbers in foreign channels: each is read exactly, or refused in one line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from mechdesign.cli import main

Capture = pytest.CaptureFixture[str]

NUMBERS = {
    "9": 9,
    "9.": 9,
    "09": 9,
    "+9": 9,
    "9.000": 9,
    "9e0": 9,
    "9E+0": 9,
    "0.9e1": 9,
    "90e-1": 9,
    ".9e1": 9,
    "18/2": 9,
    "9/1": 9,
    "4.5/0.5": 9,
    " 9 ": 9,
    "9\t": 9,
    "9e400": 9 * 10**400,
    "9e-400": Fraction(9, 10**400),
    "9.0000000000000000000000001": Fraction(90000000000000000000000001, 10**25),
    "1/3": Fraction(1, 3),
}
"""Spellings of a number in a CSV file, and what they stand for."""

REFUSED = (
    "٩",
    "９",
    "९",
    "\u2079",
    "Ⅸ",
    "九",
    "\u22129",
    "–9",
    "-9",
    "−1e1",
    "9−1",
    "1_000",
    "1'000",
    "1 000",
    "1\u00a0000",
    "1\u202f000",
    "1,5",
    "1.000,5",
    "1.5.2",
    "0x9",
    "0b1",
    "0o7",
    "9h",
    "inf",
    "-inf",
    "Infinity",
    "∞",
    "nan",
    "NaN",
    "NA",
    "#N/A",
    "null",
    "NULL",
    "<NA>",
    "true",
    "false",
    "True",
    "TRUE",
    "yes",
    "9%",
    "90 %",
    "9‰",
    "$9",
    "9€",
    "9j",
    "9f",
    "9L",
    "1d3",
    "1e",
    "e5",
    "1e5.5",
    "1e+-5",
    "++9",
    "+-9",
    "9-",
    "9+",
    "(9)",
    "~9",
    "<9",
    ">9",
    "≈9",
    "=9",
    "'9",
    "9*2",
    "9^2",
    "9**2",
    "3//1",
    "/9",
    "9/",
    "9/0",
    "0/0",
    "1/2/3",
    "9 / 3 / 1",
    "1e400000",
    "1e-999999999",
    "9;1",
    "9|1",
    "9:1",
    "half",
    "½",
    "1½",
    ".",
    "-",
    "—",
    "",
    " ",
    "e",
    "+",
    "\u200b9",
    "9\u200b",
    "\u202e9",
    "\ufeff9",
    "9\u0660",
    "p=9",
    "N/A",
    "#REF!",
    "one",
    "O.9",
    "l.5",
    "1O",
    "1l",
    "9\x00",
    "\x1b[9",
)
"""Cells that are not numbers."""


def exact_ratio(rows: list[list[Fraction]]) -> Fraction:
    scaled = [[entry / sum(row) for entry in row] for row in rows]
    return max(one[y] / other[y] for one in scaled for other in scaled for y in range(len(one)))


def audited(path: Path, capsys: Capture, *more: str) -> tuple[int, dict[str, object] | None]:
    code = main(["audit", str(path), "--json", *more])
    given = capsys.readouterr()
    if code == 2:
        assert given.out == ""
        assert given.err.count("\n") == 1, given.err
        assert "Traceback" not in given.err
        return code, None
    assert given.err == ""
    return code, json.loads(given.out)


def quoted(cell: str) -> str:
    return f'"{cell}"' if set(cell) & {",", "\n"} else cell


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_read_exactly_wherever_they_stand(text: str, tmp_path: Path, capsys: Capture) -> None:
    value = Fraction(NUMBERS[text])
    for place in range(3):
        rows = [[Fraction(3), Fraction(1)], [Fraction(1), Fraction(2)], [Fraction(2), Fraction(5)]]
        cells = [[str(entry) for entry in row] for row in rows]
        rows[place][place % 2], cells[place][place % 2] = value, text
        path = tmp_path / f"{place}.csv"
        path.write_text("".join(f"a{n},{','.join(row)}\n" for n, row in enumerate(cells)), encoding="utf-8")
        code, found = audited(path, capsys, "--names", "answers")
        assert code == 0
        assert found is not None
        shown = found["audits"][0]["ratio"]  # type: ignore[index]
        assert Fraction(shown) == exact_ratio(rows)
        document = tmp_path / f"{place}.toml"
        listed = ", ".join("[" + ", ".join(f'"{cell}"' for cell in row) + "]" for row in cells)
        document.write_text(f"[channel]\nrows = [{listed}]\n".replace("\t", "\\t"), encoding="utf-8")
        code, found = audited(document, capsys)
        assert code == 0
        assert Fraction(found["audits"][0]["ratio"]) == exact_ratio(rows)  # type: ignore[index]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_number_is_refused_wherever_it_stands(text: str, tmp_path: Path, capsys: Capture) -> None:
    tables = {
        "first": f"{quoted(text)},1\n1,2\n1,3\n",
        "first row": f"a,{quoted(text)},1\nb,1,2\nc,1,3\n",
        "last row": f"a,3,1\nb,1,2\nc,{quoted(text)},3\n",
        "last cell": f"3,1\n1,2\n1,{quoted(text)}\n",
        "below a header": f"x,y\n3,1\n{quoted(text)},2\n",
        "with a header": f"answer,x,y\na,3,1\nb,1,{quoted(text)}\n",
    }
    if text == "\ufeff9":  # the mark of a file in UTF-8 at its beginning
        del tables["first"]
    for name, table in tables.items():
        path = tmp_path / "a.csv"
        path.write_text(table, encoding="utf-8")
        for more in ([], ["--names", "none" if name in ("first", "last cell") else "answers"]):
            if name == "below a header" and more:
                more = ["--names", "reports"]
            if name == "with a header" and more:
                more = ["--names", "both"]
            assert audited(path, capsys, "--epsilon", "99", *more)[0] == 2, (name, more)
    document = tmp_path / "a.toml"
    document.write_text(f"[channel]\nrows = [[3, 1], [1, {json.dumps(text)}]]\n", encoding="utf-8")
    assert audited(document, capsys)[0] == 2


SIZES = {
    "empty": "",
    "blank": "\n\n",
    "byte order mark": "\ufeff",
    "header": "x,y\n",
    "one cell": "1\n",
    "one row": "1,2\n",
    "one named row": "a,1,2\n",
    "one column": "1\n2\n3\n",
    "one named column": "x\n1\n2\n",
    "names alone": "a\nb\n",
    "names of answers alone": "answer\na\nb\n",
    "zeros": "0,0\n0,0\n",
    "a row of zeros": "1,1\n0,0\n",
    "trailing commas": "1,2,\n2,1,\n",
    "trailing comma below": "1,2\n2,1,\n",
    "leading comma": ",1,2\n,2,1\n",
    "quote": '1,"2\n2,1\n',
    "header and one row": "x,y\n1,2\n",
    "numbers and one row": "18,99\n0.5,0.5\n",
    "ages of answers": "age,yes,no\n18,40,60\n99,30,20\n",
    "ages of answers, bare": "18,40,60\n99,30,20\n",
    "ages of answers, two columns": "age,yes\n18,0.5\n99,0.7\n",
    "ages of reports": "answer,18,99\na,40,60\nb,30,20\n",
    "ages of reports, bare": "18,99\n40,60\n30,20\n",
    "ages of both": "0,18,99\n1,40,60\n2,30,20\n",
    "values of answers": "0.5,40,60\n1.5,30,20\n",
    "p=": "p=0.9,p=0.1\n0.5,0.5\n0.4,0.6\n",
    "p:": "x: 0.9,y: 0.1\n0.5,0.5\n0.4,0.6\n",
    "about": "about .9,about .1\n0.5,0.5\n0.4,0.6\n",
    "P(y)=": "no,P(y)=0.9\nyes,0.5\n",
    "full width": "\uff50=\uff10.9,\uff50=\uff10.1\n0.5,0.5\n0.4,0.6\n",
    "full width nan": "\uff4e\uff41\uff4e,\uff49\uff4e\uff46\n0.5,0.5\n0.4,0.6\n",
    "top 10%": "top 10%,rest 90%\n0.5,0.5\n0.4,0.6\n",
    "twice": "a,1,2\na,2,1\n",
    "twice in the header": "x,x\n1,2\n2,1\n",
    "mixed": "a,1,2\n2,2,1\n",
    "semicolons": "1;2\n2;1\n",
    "tabs": "1\t2\n2\t1\n",
    "spaces": "1 2\n2 1\n",
    "bars": "1|2\n2|1\n",
}
"""Tables that are too small, or that can be read in two ways."""


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_small_and_doubtful_tables_are_refused(name: str, ends: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    for mark in ("", "\ufeff"):
        path.write_text(mark + SIZES[name], encoding="utf-8", newline=ends)
        assert audited(path, capsys, "--epsilon", "99")[0] == 2


@pytest.mark.parametrize(
    ("table", "named", "ratio"),
    [
        ("age,yes,no\n18,40,60\n99,30,20\n", "both", Fraction(3, 2)),
        ("18,40,60\n99,30,20\n", "answers", Fraction(3, 2)),
        ("18,99\n40,60\n30,20\n", "reports", Fraction(3, 2)),
        ("40,60\n30,20\n", "none", Fraction(3, 2)),
        ("yes,no\n18,40,60\n99,30,20\n", "both", Fraction(3, 2)),
        ("p=0.9,p=0.1\n40,60\n30,20\n", "reports", Fraction(3, 2)),
    ],
)
def test_names_that_look_like_numbers_are_taken_where_they_are_said(
    table: str, named: str, ratio: Fraction, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table)
    code, found = audited(path, capsys, "--names", named)
    assert code == 0
    assert found is not None
    assert Fraction(found["audits"][0]["ratio"]) == ratio  # type: ignore[index]
    read = found["read"]
    assert (read["answers"] is not None) == (named in ("answers", "both"))  # type: ignore[index]
    assert (read["reports"] is not None) == (named in ("reports", "both"))  # type: ignore[index]
    for wrong in ("rows", ""):
        assert audited(path, capsys, "--names", wrong)[0] == 2
    np.save(tmp_path / "a.npy", np.eye(2) + 1)
    assert audited(tmp_path / "a.npy", capsys, "--names", "none")[0] == 2


@pytest.mark.parametrize(
    "array",
    [
        np.ones((0, 0)),
        np.ones((0, 2)),
        np.ones((2, 0)),
        np.ones((1, 1)),
        np.ones((1, 2)),
        np.ones((2, 1)),
        np.ones(4),
        np.ones((2, 2, 2)),
        np.zeros((2, 2)),
        np.array([[1.0, np.nan], [1.0, 1.0]]),
        np.array([[1.0, np.inf], [1.0, 1.0]]),
        -np.ones((2, 2)),
        np.array([[True, False], [False, True]]),
        np.array([["1", "2"], ["2", "1"]]),
        np.ones((2, 2), dtype=complex),
        np.array([["2026-01-01"] * 2] * 2, dtype="M8[D]"),
        np.array([[1, 2], [2, 1]], dtype="m8[s]"),
    ],
)
def test_arrays_that_are_no_channel_are_refused(array: np.ndarray, tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "a.npy", array)
    assert audited(tmp_path / "a.npy", capsys, "--epsilon", "99")[0] == 2
    np.savez(tmp_path / "a.npz", array)
    assert audited(tmp_path / "a.npz", capsys, "--epsilon", "99")[0] == 2


TOML = (
    "rows = []",
    "rows = [[]]",
    "rows = [[], []]",
    "rows = [[1]]",
    "rows = [[1, 2]]",
    "rows = [[1], [2]]",
    "rows = 3",
    'rows = "x"',
    "rows = [[1, 2], 3]",
    "rows = [[1, 2], [1979-05-27, 1]]",
    "rows = [[1, 2], [07:32:00, 1]]",
    "rows = [[1, 2], [1979-05-27T07:32:00Z, 1]]",
    "rows = [[1, 2], [true, 1]]",
    "rows = [[1, 2], [{x = 1}, 1]]",
    "rows = [[1, 2], [[1], 1]]",
    "rows = [[1, 2], [nan, 1]]",
    "rows = [[1, 2], [inf, 1]]",
    "rows = [[1, 2], [-1, 1]]",
    'rows = [[1, 2], ["", 1]]',
    "rows = [[1, 2], [1e-999999, 1]]",
    "rows = [[1, 2], [2, 1]]\nanswers = [18, 99]",
    'rows = [[1, 2], [2, 1]]\nanswers = ["a"]',
    'rows = [[1, 2], [2, 1]]\nreports = ["a", "a"]',
    'rows = [[1, 2], [2, 1]]\nanswers = [1979-05-27, "a"]',
    "rows = [[1, 2], [2, 1]]\nx = 1",
    "rows = [[1, 2], [2, 1, 3]]",
)


@pytest.mark.parametrize("text", TOML)
def test_documents_that_are_no_channel_are_refused(text: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"[channel]\n{text}\n")
    assert main(["audit", str(path), "--epsilon", "99"]) == 2
    given = capsys.readouterr()
    assert given.err.count("\n") == 1
    assert "datetime" not in given.err


@pytest.mark.parametrize(
    "epsilon", ["1979-05-27", "true", "[1]", "{x = 1}", "nan", "inf", "-1", '"1,5"', '"50%"', "1e400"]
)
def test_a_stated_epsilon_that_is_none_is_refused(epsilon: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"epsilon = {epsilon}\n[channel]\nrows = [[1, 2], [2, 1]]\n")
    assert main(["audit", str(path)]) == 2
    given = capsys.readouterr()
    assert given.err.count("\n") == 1
    assert "datetime" not in given.err


@pytest.mark.parametrize("suffix", ["tsv", "xlsx", "xls", "ods", "parquet", "mat", "rds", "TSV", "Parquet"])
def test_tables_of_other_formats_are_refused_by_name(suffix: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text("1\t2\n2\t1\n")
    assert audited(path, capsys, "--epsilon", "99")[0] == 2


@pytest.mark.parametrize(
    "text", ["[[0.5, 0.5], [0.4, 0.6]]", "{}", '{"rows": [[1, 2], [2, 1]]}', "", "[]", "1"]
)
def test_a_channel_in_json_is_no_mechanism_file(text: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert audited(path, capsys)[0] == 2
