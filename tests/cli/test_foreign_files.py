"""Files of other programs: what is a name and what a number is known or refused; what was read is printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mechdesign.cli import main

Capture = pytest.CaptureFixture[str]

REFUSED = {
    "thousands": ('says no,says yes\n"9,000",200\n"1,000",900\n', "'9,000' has a comma; write decimals"),
    "percent_row": ("no,90%,10%\nyes,0.5,0.5\nmaybe,0.4,0.6\n", "row 1, column 2: '90%' is not a number"),
    "percent_column": ("90%,0.1\n10%,0.9\n", "such as 0.75 for 75%"),
    "percent_names": ("90%,10%\n0.5,0.5\n0.4,0.6\n", "row 1, column 1: '90%' is not a number"),
    "permille": ("900\u2030,100\u2030\n0.5,0.5\n0.4,0.6\n", "is not a number"),
    "numbers_as_answers": ("age,young,old\n9,0.5,0.5\n1,0.99,0.01\n", "or the names of the answers"),
    "index": (",A,B\n0,0.75,0.25\n1,0.25,0.75\n", "line 1, column 1: has no name"),
    "index_of_counts": ("x,A,B\n0,75,25\n1,25,76\n", "may be probabilities or the names of the answers"),
    "answer_of_counts": (
        "answer,A,B\n9,75,25\n7,25,76\n",
        "may be probabilities or the names of the answers",
    ),
    "bare_index": ("0,0.75,0.25\n1,0.25,0.75\n", "may be probabilities or the names of the answers"),
    "unnamed_index": ('"A","B"\n"1",0.75,0.25\n"2",0.25,0.75\n', "has 2 names above rows of 3 cells"),
    "pandas": (",0,1\n0,0.75,0.25\n1,0.25,0.75\n", "row 1, column 1: is empty"),
    "numbers_as_reports": ("0,1,2\n0.2,0.3,0.5\n0.1,0.1,0.8\n", "or the names of the reports"),
    "numbers_over_one_row": ("1,2\n0.2,0.8\n", "or the names of the reports"),
    "numbers_over_counts": ("1,2,3\n5,3,2\n1,1,8\n", "or the names of the reports"),
    "numbers_over_names": ("answer,1,2\nno,0.2,0.8\nyes,0.1,0.9\n", "or the names of the reports"),
    "number_in_header": ("answer,A,2\nno,0.2,0.8\nyes,0.1,0.9\n", "'2' looks like a number among names"),
    "gap_in_header": ("answer,A,,C\nno,1,2,3\nyes,2,1,3\n", "line 1, column 3: has no name"),
    "number_in_answers": ("no,0.5,0.5\n1,0.4,0.6\n", "row 2, column 1: '1' and 'no' of row 1"),
    "short_header": ("A,B\nno,0.2,0.3,0.5\nyes,0.1,0.1,0.8\n", "has 2 names above rows of 4 cells"),
    "title": ("My channel\n0.5,0.5\n0.4,0.6\n", "has 1 name above rows of 2 cells"),
    "comment": ("# A,B\n0.5,0.5\n0.4,0.6\n", "'# A' looks like a number among names"),
    "not_a_number": ("nan,inf\n0.5,0.5\n0.4,0.6\n", "'nan' is not a finite number"),
    "infinite": ("no,-Infinity,1\nyes,0.5,0.5\n", "'-Infinity' is not a finite number"),
    "missing": ("NA,NA\n0.5,0.5\n0.4,0.6\n", "'NA' is not a finite number"),
    "by_zero": ("1/0,1/0\n0.5,0.5\n0.4,0.6\n", "'1/0' divides by zero"),
    "exponent": ("1e-100001,1\n0.5,0.5\n", "has an exponent beyond 100000"),
    "long_exponent": ("1e-99999999999999999999,1\n0.5,0.5\n", "has an exponent beyond 100000"),
    "digits": (f"0.{'3' * 10_001},1\n0.5,0.5\n", "has more than 10000 digits"),
    "decimal_commas": ('"0,75","0,25"\n"0,25","0,75"\n', "'0,75' has a comma"),
    "split_decimals": ("0,75,0,25\n0,25,0,75\n", "may be decimals with commas"),
    "split_named_decimals": ("no,0,75,0,25\nyes,0,25,0,75\n", "may be decimals with commas"),
    "spaces": ("no,9 000,200\nyes,1 000,900\n", "'9 000' has separators between its digits"),
    "hard_spaces": ("no,9\u00a0000,200\nyes,1,900\n", "has separators between its digits"),
    "apostrophes": ("no,9'000,200\nyes,1,900\n", "has separators between its digits"),
    "underscores": ("no,9_000,200\nyes,1,900\n", "has separators between its digits"),
    "currency": ("$9,$1\n0.5,0.5\n0.4,0.6\n", "'$9' is not a number"),
    "formula": ("=1/2,=1/2\n0.5,0.5\n0.4,0.6\n", "'=1/2' is not a number"),
    "below": ("<0.01,0.99\n0.5,0.5\n0.4,0.6\n", "'<0.01' is not a number"),
    "other_digits": ("\uff10.9,\uff10.1\n0.5,0.5\n0.4,0.6\n", "is not a number"),
    "other_minus": ("\u22120.9,\u22120.1\n0.5,0.5\n0.4,0.6\n", "is not a number"),
    "hidden_space": ("\u200b0.9,\u200b0.1\n0.5,0.5\n0.4,0.6\n", "is not a number"),
    "half": ("\u00bd,\u00bd\n0.5,0.5\n0.4,0.6\n", "is not a number"),
    "letter_o": ("O.9,O.1\n0.5,0.5\n0.4,0.6\n", "is not a number"),
    "dashes": ("-,-\n0.5,0.5\n0.4,0.6\n", "'-' is not a number"),
    "ages": ("18-25,0.5,0.5\n26-40,0.4,0.6\n", "'18-25' is not a number"),
    "blank": ("0.5,,0.5\n0.2,0.3,0.5\n", "row 1, column 2: is empty"),
    "end_of_line": ("0.5,0.5,\n0.4,0.6,\n", "row 1, column 3: is empty"),
    "negative": ("no,1.1,-0.1\nyes,0.5,0.5\n", "row 1, column 3: -0.1 is negative"),
    "ragged": ("no,0.5,0.5\nyes,1\n", "row 2: has 2 entries, row 1 has 3"),
    "one_report": ("0.5\n0.4\n", "channel: has one report, so nothing is compared"),
    "one_named_report": ("answer,A\nno,1\nyes,2\n", "channel: has one report"),
    "one_answer": ("0.5,0.5\n", "channel: has one answer, so nothing is compared"),
    "twice": ("a,0.5,0.5\na,0.4,0.6\n", "answers: duplicate name 'a'"),
    "twice_reported": ("answer,A,A\na,0.5,0.5\nb,0.4,0.6\n", "reports: duplicate name 'A'"),
    "only_names": ("A,B\n", "has a header and no rows"),
    "semicolons": ("no;0.5;0.5\nyes;0.4;0.6\n", "has semicolons between its columns"),
    "rappor_and_more": ("k,h,m,p,q,f,x\n16,2,64,0.5,0.75,0.5,1\n", "is like that of RAPPOR"),
    "rappor_twice": ("k,h,m,p,q,f\n16,2,64,0.5,0.75,0.5\n8,2,64,0.5,0.75,0.5\n", "expected one row"),
    "rappor_large": ("k,h,m,p,q,f\n1e5000,2,64,0.5,0.75,0.5\n", "bits: is above 4294967296"),
    "rappor_share": ("k,h,m,p,q,f\n16,2,64,-1e5000,0.75,0.5\n", "p: -1e+5000 is outside [0, 1]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_be_read_in_two_ways_is_refused(name: str, tmp_path: Path, capsys: Capture) -> None:
    text, said = REFUSED[name]
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["audit", str(path), "--epsilon", "1000000"]) == 2
    given = capsys.readouterr()
    assert given.out == ""
    assert given.err.count("\n") == 1
    assert said in given.err


READ = {
    "plain": ("0.75,0.25\n0.25,0.75\n", "3", (None, None)),
    "counts": ("30,10\n9,27\n", "3", (None, None)),
    "named": ("answer,A,B\nno,3/4,1/4\nyes,1/4,3/4\n", "3", ("no, yes", "A, B")),
    "no_corner": ('"A","B"\n"no",0.75,0.25\n"yes",0.25,0.75\n', "3", ("no, yes", "A, B")),
    "blank_corner": (",A,B\nno,0.75,0.25\nyes,0.25,0.75\n", "3", ("no, yes", "A, B")),
    "reports_only": ("x,y,z\n0.1,0.2,0.7\n0.2,0.1,0.7\n", "2", (None, "x, y, z")),
    "answers_only": ("no,3,1\nyes,1,3\n", "3", ("no, yes", None)),
    "windows": ("\ufeffanswer,A,B\r\nno,0.75,0.25\r\n\r\nyes,0.25,0.75\r\n", "3", ("no, yes", "A, B")),
    "words_like_numbers": ("answer,infected,nano\nno,3,1\nyes,1,3\n", "3", ("no, yes", "infected, nano")),
    "tiny": ("1e-4000,1\n9e-4000,1\n", None, (None, None)),
    "large": ("9e400,0\n1e400,0\n", "1", (None, None)),
    "far": ("1e-20000,1\n3e-20000,1\n", None, (None, None)),
    "equal_rows": ("1,2,3\n2,1,3\n3,2,1\n", "3", (None, None)),
}


@pytest.mark.parametrize("name", READ)
def test_what_was_certified_is_printed(name: str, tmp_path: Path, capsys: Capture) -> None:
    text, ratio, (answers, reports) = READ[name]
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert main(["audit", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["audits"][0]["ratio"] == ratio
    assert found["read"]["answers"] == answers
    assert found["read"]["reports"] == reports
    assert main(["audit", str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"of {found['size'][0]} answers and {found['size'][1]} reports" in printed
    assert f"first row: {found['read']['first_row']}" in printed
    assert f"last row: {found['read']['last_row']}" in printed
    assert found["read"]["first_row"].split(", ")[0] in text


def test_rows_are_shown_as_written_and_shortened(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{'3,' * 8}0.{'1' * 50}\n{'2,' * 8}1e-3\n")
    assert main(["audit", str(path), "--names", "none"]) == 0
    out = capsys.readouterr().out
    assert "first row: 3, 3, 3, ... 9 in all" in out
    path.write_text(f"no,1,0.{'1' * 50}\n\x1b[myes,1,1e-3\n")
    assert main(["audit", str(path)]) == 0
    out = capsys.readouterr().out
    assert "first row: 1, 0.1111111111111111111..." in out
    assert "\x1b" not in out
    np.save(tmp_path / "a.npy", np.array([[5e-324, 1.0], [0.1, 0.9]]))
    assert main(["audit", str(tmp_path / "a.npy")]) == 0
    out = capsys.readouterr().out
    assert "first row: 5e-324, 1.0" in out
    assert "last row: 0.1, 0.9" in out


@pytest.mark.parametrize(
    ("epsilon", "code"),
    [
        ("1.09861228866810969", 1),  # as a double it is above ln 3
        ("1.0986122886681096914", 0),
        ("1.0986122886681096913", 1),
        ("2/3", 1),
        ("1.1", 0),
    ],
)
def test_a_stated_epsilon_is_the_decimal_that_is_written(
    epsilon: str, code: int, tmp_path: Path, capsys: Capture
) -> None:
    rows = '[channel]\nrows = [["3/4", "1/4"], ["1/4", "3/4"]]\n'
    path = tmp_path / "a.toml"
    path.write_text(rows)
    assert main(["audit", str(path), "--epsilon", epsilon]) == code
    stated = f'"{epsilon}"' if "/" in epsilon else epsilon
    path.write_text(f"epsilon = {stated}\n{rows}")
    assert main(["audit", str(path)]) == code
    assert main(["audit", str(path), "--json"]) == code
    capsys.readouterr()


@pytest.mark.parametrize("epsilon", ["-1", "nan", "inf", "x", "1e400", "9,5", ""])
def test_an_epsilon_that_is_none_is_refused(epsilon: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    path.write_text("3,1\n1,3\n")
    assert main(["audit", str(path), f"--epsilon={epsilon}"]) == 2
    assert capsys.readouterr().err.startswith("mechdesign: --epsilon: ")


TABLES = {
    "inf": ("rows = [[inf, 1.0], [1.0, 1.0]]", "'inf' is not a finite number"),
    "bool": ("rows = [[true, 1.0], [1.0, 1.0]]", "true is not a number"),
    "date": ("rows = [[1979-05-27, 1.0], [1.0, 1.0]]", "is not a number"),
    "nested": ("rows = [[[1], 1.0], [1.0, 1.0]]", "[1] is not a number"),
    "percent": ('rows = [["90%", "10%"], [1.0, 1.0]]', "such as 0.75 for 75%"),
    "one": ("rows = [[0.5, 0.5]]", "has one answer, so nothing is compared"),
    "digits": (f"rows = [[{'9' * 5000}, 1], [1, 1]]", "too many digits"),
    "no_name": ('answers = ["", "b"]\nrows = [[1, 2], [2, 1]]', "answers: a name is empty"),
    "exponent": ("rows = [[1e-100001, 1], [1, 1]]", "has an exponent beyond 100000"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_toml_are_read_exactly_or_refused(name: str, tmp_path: Path, capsys: Capture) -> None:
    text, said = TABLES[name]
    path = tmp_path / "a.toml"
    path.write_text(f"[channel]\n{text}\n")
    assert main(["audit", str(path)]) == 2
    given = capsys.readouterr()
    assert given.err.count("\n") == 1
    assert said in given.err


def test_decimals_of_toml_keep_their_digits(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[channel]\nrows = [[1e-4000, 1_0.0], [9e-4000, 10]]\n")
    assert main(["audit", str(path)]) == 0
    assert "e^epsilon = 9" in capsys.readouterr().out.replace("8.999999999", "9")


@pytest.mark.parametrize("reports", [647, 9013, 10_000, 1_000_000, 10**18])
@pytest.mark.parametrize("text", ["3/4,1/4\n1/4,3/4\n", "1e-400,1\n0.5,0.5\n"])
def test_audits_of_any_size_are_printed(reports: int, text: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert main(["audit", str(path), "--reports", str(reports)]) == 0
    assert f"epsilon of {reports} independent reports = " in capsys.readouterr().out
    assert main(["audit", str(path), "--reports", str(reports), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["audits"][0]["epsilon"] > 700


def test_rappor_of_many_reports_and_hashes(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,h,m,p,q,f\n8192,1024,64,0.5123456,0.75,0.5\n")
    for more in ([], ["--json"], ["--reports", "1000000"], ["--reports", "3500", "--json"]):
        assert main(["audit", str(path), *more]) == 0
    assert "not bits that are set freely (encodeBits)" in capsys.readouterr().out
    path.write_text("m,f,k,h,P,Q\n1,0,1,1,0.25,0.75\n")
    assert main(["audit", str(path), "--epsilon", "0.1", "--reports", "1"]) == 1
    out = capsys.readouterr().out
    assert "RAPPOR with 1 bit" in out
    assert "a boolean: true sets the one bit, false does not (encodeBoolean)" in out
    assert "epsilon of 1 report = 1.098612289" in out
    assert main(["audit", str(path)]) == 1
    assert "epsilon of any number of reports is infinite" in capsys.readouterr().out
    table = tmp_path / "a.toml"
    table.write_text("[rappor]\nbits = 1\nhashes = 1\np = 0.25\nq = 0.75\nf = 0.5\n")
    assert main(["audit", str(table)]) == 0
    assert "e^epsilon = 5/3" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["0,1\n0.5,0.5\n", "k,h,m,p,q,f\n1,1,1,0.25,0.75,0\n"])
def test_an_infinite_epsilon_is_printed_as_json(text: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert main(["audit", str(path), "--epsilon", "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["audits"][-1]["epsilon"] == "inf"
    assert found["certificates"][-1]["true_epsilon"] == "inf"
    assert found["certificates"][-1]["holds"] is False


def test_tables_of_other_kinds_are_refused_by_name(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("0.5\t0.5\n0.4\t0.6\n")
    assert main(["audit", str(path)]) == 2
    assert "save it as .csv, .npy or .toml" in capsys.readouterr().err


def test_damaged_archives_are_one_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, channel=np.eye(2) + 1.0)
    whole = path.read_bytes()
    for size in (4, 30, 100, len(whole) - 30, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert main(["audit", str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    np.save(tmp_path / "a.npy", np.eye(2) + 1.0)
    whole = (tmp_path / "a.npy").read_bytes()
    for place in range(10, 80, 3):  # the header is a text of Python
        (tmp_path / "a.npy").write_bytes(whole[:place] + b"(" + whole[place + 1 :])
        assert main(["audit", str(tmp_path / "a.npy")]) in (0, 2)
        assert capsys.readouterr().err.count("\n") <= 1
