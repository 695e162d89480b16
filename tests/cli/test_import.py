"""``import``: exports of survey tools become a survey file and answers, and go the way to estimates."""

from __future__ import annotations

import csv
import json
import tomllib
from collections import Counter
from pathlib import Path

import openpyxl
import pytest

from mechdesign.cli import main
from mechdesign.data.survey_tools.export import ExportColumn, identifying_reason
from mechdesign.data.survey_tools.questions import joined_by
from tests.support import exports
from tests.support.exports import AGREE, PEOPLE, TOOLS, WARDS, people

SECRETS = ("clinic.example", "10.0.0.", "A remark of", "2026-03-", "R_1", "Doe", "47.1")
"""What identifies people or is theirs alone, in all exports."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_CACHE", "off")
    return tmp_path


def imported(capsys, *arguments):
    """Return the lines of the command, the survey file, and the answers by their columns."""
    assert main(["import", *arguments, "-o", "s.toml", "--force"]) == 0, capsys.readouterr().err
    output = capsys.readouterr().out
    with Path("s.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return output, tomllib.loads(Path("s.toml").read_text("utf-8")), rows


def refused(capsys, *arguments):
    """Return the one line of a refused import, which has written nothing."""
    before = sorted(path.name for path in Path.cwd().iterdir())
    assert main(["import", *arguments]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert sorted(path.name for path in Path.cwd().iterdir()) == before
    return error


WAYS = {
    "qualtrics": lambda: [exports.qualtrics(Path("d.csv"))],
    "qualtrics with two header lines": lambda: [exports.qualtrics(Path("d.csv"), 2)],
    "limesurvey": lambda: [exports.limesurvey(Path("d.csv"))],
    "limesurvey by texts": lambda: [exports.limesurvey(Path("d.csv"), heads="text")],
    "limesurvey with codes": lambda: [exports.limesurvey(Path("d.csv"), "codes", "code")],
    "surveymonkey": lambda: [exports.surveymonkey(Path("d.csv"))],
    "google forms": lambda: [exports.google_forms(Path("d.csv"))],
    "google forms, semicolons": lambda: [exports.google_forms(Path("d.csv"), ";")],
    "redcap": lambda: [exports.redcap(Path("d.csv"), Path("f.csv")), "--dictionary", "f.csv"],
    "redcap with labels": lambda: [exports.redcap(Path("d.csv"), Path("f.csv"), labelled=True)],
    "spss": lambda: [exports.statistics_file(Path("d.sav"))],
    "stata": lambda: [exports.statistics_file(Path("d.dta"))],
}


@pytest.mark.parametrize("tool", WAYS)
def test_the_whole_way_of_every_tool(folder, capsys, tool):
    """The answers are the true ones of the people behind the export, nothing else of them goes on."""
    if tool in ("spss", "stata"):
        pytest.importorskip("pyreadstat")
    output, survey, rows = imported(capsys, *map(str, WAYS[tool]()))
    assert len(rows) == PEOPLE
    assert "120 rows" in output
    written = Path("s.csv").read_text("utf-8") + Path("s.toml").read_text("utf-8") + output
    assert not [secret for secret in SECRETS if secret in written]
    questions = {question["name"]: question for question in survey["questions"]}
    names = list(questions)
    coded = tool == "limesurvey with codes"
    wards = [person.ward for person in people()]
    assert [row[names[0]] for row in rows] == [
        f"A{WARDS.index(ward) + 1}" if coded else ward for ward in wards
    ]
    if not coded:
        assert questions[names[1]]["labels"] == [*AGREE]
        assert questions[names[1]]["kind"] == "ordered"
        assert [row[names[1]] for row in rows] == [person.opinion for person in people()]
        assert questions[names[1]]["skip"]
    ticks = [question for question in survey["questions"] if question.get("kind") == "several"]
    if tool not in ("spss", "stata"):
        (several,) = ticks
        for place, label in enumerate(several["labels"]):
            tool_name = label if label in TOOLS else TOOLS[place]
            column = [row[f"{several['name']}: {label}"] for row in rows]
            for cell, person in zip(column, people(), strict=True):
                assert cell == ("yes" if tool_name in person.tools else "no") or (
                    cell == "" and not person.tools
                )
    assert main(["build", "s.toml", "-o", "s.json"]) == 0
    assert main(["randomize", "s.json", "s.csv", "-o", "r.csv", "--seed", "1"]) == 0
    assert main(["estimate", "s.json", "r.csv", "--json"]) == 0
    assert names[0] in capsys.readouterr().out


def test_qualtrics_says_what_it_did(folder, capsys):
    output, survey, rows = imported(capsys, str(exports.qualtrics(Path("d.csv"))))
    for line in (
        "s.toml: 4 questions from an export of Qualtrics",
        "rows: 125 in the file; left out: 2 rows of previews, tests or spam; 1 row not finished; 2 rows of",
        "one row per person, by 'RecipientEmail'",
        'kept     Q1 "Where do you work?": 3 answers',
        'kept     Q4 "Which tools?": 3 ticks, from Q4_1 to Q4_3, may be skipped',
        "recoded  Q3: '-99' (6 rows) is no answer",
        "dropped  StartDate, EndDate, RecordedDate: dates and times",
        "dropped  IPAddress, ResponseId, RecipientLastName, RecipientFirstName, RecipientEmail, Loc",
        "dropped  Q5: free text",
        "check    Q3: the range was read from the answers",
        "PRIVACY: labels and ranges that were read from answers",
    ):
        assert line in output
    hours = [row["Q3"] for row in rows]
    assert hours == ["" if person.number % 20 == 7 else str(person.hours) for person in people()]
    assert survey["survey"]["users"] == 1000
    partial, _, more = imported(capsys, "d.csv", "--partial", "--person", "-")
    assert len(more) == 123
    assert "one row per person" not in partial
    assert main(["import", "d.csv", "-o", "s.toml", "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["people"] == 120
    assert document["left_out"]["not finished"] == 1


def test_columns_codes_and_single_answers_are_stated(folder, capsys):
    exports.google_forms(Path("d.csv"))
    _, survey, _ = imported(capsys, "d.csv", "--column", "which_tools", "--column", "where_do_you_work")
    assert [question["name"] for question in survey["questions"]] == ["where_do_you_work", "which_tools"]
    _, survey, rows = imported(capsys, "d.csv", "--single", "which_tools", "--drop", "how_many_hours_a_week")
    (tools,) = [question for question in survey["questions"] if question["name"] == "which_tools"]
    assert "kind" not in tools
    assert max(Counter(row["which_tools"] for row in rows)) == "Phone (mobile, fixed)"
    _, _, rows = imported(capsys, "d.csv", "--missing-code", "Care")
    assert "" in {row["where_do_you_work"] for row in rows}
    for arguments, message in (
        (["--column", "email_address"], "--column email_address: identifies people"),
        (["--column", "tools"], "--column: no column 'tools' in d.csv; did you mean 'which_tools'?"),
        (["--person", "mail"], "--person: no column 'mail' in d.csv"),
        (["--dictionary", "d.csv"], "d.csv: is no data dictionary of REDCap"),
        (["--sheet", "A"], "d.csv: has no sheets; omit --sheet"),
        (["--epsilon", "0"], "--epsilon: with 0 reports contain no information"),
    ):
        assert message in refused(capsys, "d.csv", "-o", "t.toml", *arguments)


def test_redcap_joins_the_rows_of_a_record(folder, capsys):
    exports.redcap(Path("d.csv"), Path("f.csv"))
    output, survey, rows = imported(capsys, "d.csv", "--dictionary", "f.csv")
    assert "left out: 240 rows joined to the first of their person" in output
    assert [row["pulse"] for row in rows] == [str(60 + number % 40) for number in range(PEOPLE)]
    (hours,) = [question for question in survey["questions"] if question["name"] == "hours"]
    assert hours == {"name": "hours", "text": "How many hours a week?", "range": [0.0, 80.0]}
    assert "PRIVACY" not in output  # everything is known from the dictionary
    output, _, _ = imported(capsys, "d.csv")
    assert "codes without labels, questions without words: add --dictionary" in output


def test_the_last_row_of_a_person_may_count(folder, capsys):
    path = exports.qualtrics(Path("d.csv"))
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))
    changed = [*rows[-1]]
    changed[16] = "Office" if changed[16] != "Office" else "Care"
    exports.written(path, [*rows, changed])
    _, _, first = imported(capsys, "d.csv")
    _, _, last = imported(capsys, "d.csv", "--last")
    assert sorted(row["Q1"] for row in first) != sorted(row["Q1"] for row in last)
    assert len(first) == len(last) == PEOPLE


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "plain.csv",
            b"age,sex\n31,f\n",
            "is not an export of Qualtrics, LimeSurvey, SurveyMonkey, Google Forms",
        ),
        ("empty.csv", b"", "is empty"),
        ("head.csv", b"Timestamp,a\n", "is not an export of"),
        ("pdf.csv", b"%PDF-1.7\n", "is a PDF file"),
        ("x.sav", b"age,sex\n31,f\n", "is not a file of SPSS"),
        ("none.dta", None, "file not found"),
        ("nul.csv", b"Timestamp,a\n1/1/2026 10:00:00,\0\n", "holds NUL bytes"),
        ("open.csv", b'Timestamp,a\n1/1/2026 10:00:00,"x\n', "is not a CSV file"),
        (
            "ansi.csv",
            "Timestamp,Müller\n1/1/2026 10:00:00,x\n".encode("windows-1252"),
            "add --encoding windows-1252",
        ),
        ("short.csv", b"Timestamp,a\n1/1/2026 10:00:00\n", "short.csv: row 2: 1 field, the header has 2"),
        ("long.csv", b"Timestamp,a\n1/1/2026 10:00:00,x,y\n", "long.csv: row 2: 3 fields, the header has 2"),
        ("times.csv", b"Timestamp,at\n1/1/2026 10:00:00,1/1/2026\n", "no column of this export"),
    ],
)
def test_files_that_are_no_exports(folder, capsys, name, content, message):
    if name.endswith((".sav", ".dta")):
        pytest.importorskip("pyreadstat")
    if content is not None:
        Path(name).write_bytes(content)
    assert message in refused(capsys, name, "-o", "t.toml")


def test_nothing_is_overwritten(folder, capsys):
    exports.google_forms(Path("d.csv"))
    Path("t.csv").write_text("mine")
    assert "--answers t.csv: file exists" in refused(capsys, "d.csv", "-o", "t.toml")
    assert "is an input of this command" in refused(capsys, "d.csv", "-o", "d.toml", "--force")
    assert "end it in .toml" in refused(capsys, "d.csv", "-o", "t.json")
    assert Path("t.csv").read_text() == "mine"


def test_a_workbook_and_a_compressed_export(folder, capsys):
    path = exports.qualtrics(Path("d.csv"))
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save("d.xlsx")
    import gzip

    Path("d.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    results = [imported(capsys, name)[2] for name in ("d.csv", "d.xlsx", "d.csv.gz")]
    assert results[0] == results[1] == results[2]


def test_a_file_of_spss_without_its_package_is_named(folder, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    Path("d.sav").write_bytes(b"$FL2")
    assert "a file of SPSS or Stata needs pyreadstat; install mechdesign[statistics]" in refused(
        capsys, "d.sav", "-o", "t.toml"
    )


def test_what_identifies_people():
    for name, cells in (
        ("work_email", ["x"]),
        ("Telephone 1", ["x"]),
        ("IPAddress", ["x"]),
        ("date_of_birth", ["x"]),
        ("What is your name?", ["x"]),
        ("Wie heißen Sie?", ["x"]),
        ("Zip code", ["x"]),
        ("q", ["a@b.ch", "c@d.org", ""]),
        ("q", ["10.1.2.3", "2001:db8:0:0::1"]),
        ("q", ["+41 44 123 45 67", "(415) 555-1212"]),
        ("q", ["https://a.b/c"]),
    ):
        assert identifying_reason(ExportColumn(name, cells)) == "identifies people", (name, cells)
    assert identifying_reason(ExportColumn("q", ["2026-01-02", "2026-01-03T10:00:00Z"])) == "dates and times"
    for name, cells in (
        ("Which do you use? - Voicemail", ["yes"]),
        ("How often do you answer the phone", ["daily"]),
        ("income", ["12345678", "23456789"]),
        ("version", ["1.2", "3.4"]),
        ("brand name", ["x"]),
        ("How satisfied are you with your phone?", ["x"]),
    ):
        assert identifying_reason(ExportColumn(name, cells)) == "", (name, cells)


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["a, b", "b, c", "a, c", "a", "a, b, c"], ", "),
        (["a;b", "b;c", "a;c", "a", "a;b;c"], ";"),
        (["a, b", "a", "b, c"], ", "),
        (["Yes, always", "Yes, sometimes", "No, never"], ""),
        (["Yes, always", "Yes, sometimes", "Yes"], ""),
        (["Bern", "Basel", "Chur"], ""),
        (["1,5", "2,5", "3,5"], ""),
    ],
)
def test_answers_joined_in_a_cell(cells, separator):
    assert joined_by(cells * 3) == separator


def test_a_workbook_of_surveymonkey_with_merged_questions(folder, capsys):
    path = exports.surveymonkey(Path("d.csv"))
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([cell or None for cell in row])
    book.active.merge_cells("N1:Q1")
    book.save("d.xlsx")
    assert imported(capsys, "d.csv")[2] == imported(capsys, "d.xlsx")[2]


def test_more_columns_than_an_export_has(folder, capsys):
    names = ",".join(f"Q{number}" for number in range(10_001))
    Path("d.csv").write_text(f"Timestamp,{names}\n1/1/2026 10:00:00{',x' * 10_001}\n")
    assert "d.csv: has 10002 columns; export at most 10000" in refused(capsys, "d.csv", "-o", "t.toml")


def test_each_column_has_its_decimal_sign(folder, capsys):
    """REDCap writes typed numbers with the comma of their validation, and calculated ones with a point."""
    rows = [f'{number},"{number % 40 + 20},5",{number % 30}.25,2' for number in range(60)]
    Path("d.csv").write_text("\n".join(["record_id,height,bmi,form_complete", *rows]) + "\n")
    _, _, answers = imported(capsys, "d.csv")
    assert [row["height"] for row in answers] == [f"{number % 40 + 20}.5" for number in range(60)]
    assert [row["bmi"] for row in answers] == [f"{number % 30}.25" for number in range(60)]
