"""Workbooks of results: formats, a sheet about the survey, a sheet with a chart for each question."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.collect import load_mechanism

pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")

SURVEY = """
[survey]
title = "Staff: 2026/27 [first]"
epsilon = 4.0
users = 900
wave = "2026"
contact = "quality@example.org"
tables = [["job", "mood"]]
[[questions]]
name = "job"
text = "Where do you work?"
labels = ["ward", "=lab", "office"]
[[questions]]
name = "mood"
text = "How do you like it here?"
kind = "ordered"
labels = ["1", "2", "3", "4", "5"]
skip = true
[[questions]]
name = "age"
text = "How old are you?"
range = [18, 70]
[[questions]]
name = "tools"
text = "What do you use?"
kind = "several"
labels = ["mail", "chat"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("workbook")
    (place / "staff.toml").write_text(SURVEY)
    rng = np.random.default_rng(1)
    lines = ["job,mood,age,tools: mail,tools: chat"]
    for _ in range(900):
        mood = rng.integers(0, 6)
        answers = [["ward", "=lab", "office"][rng.integers(0, 3)], str(mood or ""), str(rng.integers(18, 70))]
        lines.append(",".join([*answers, "yes" if rng.random() < 0.8 else "no", "no"]))
    (place / "people.csv").write_text("\n".join(lines) + "\n")
    names = {name: str(place / name) for name in ("staff.toml", "staff.json", "people.csv", "reports.csv")}
    assert main(["build", names["staff.toml"], "-o", names["staff.json"], "--id", "staff-26"]) == 0
    command = ["randomize", names["staff.json"], names["people.csv"], "-o", names["reports.csv"]]
    assert main([*command, "--seed", "4"]) == 0
    return place


@pytest.fixture
def book(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["estimate", "staff.json", "reports.csv", "-o", "e.xlsx", "--force"]) == 0
    return openpyxl.load_workbook("e.xlsx")


def facts(book):
    return {row[0]: row[1] for row in book["About"].iter_rows(values_only=True) if row[0]}


def test_every_question_has_a_sheet_and_the_ticks_of_one_are_together(book):
    assert book.sheetnames == ["estimates", "About", "job", "mood", "age", "tools", "job x mood"]
    assert book.active.title == "About"
    rows = list(book["tools"].iter_rows(min_row=5, max_row=7, max_col=2, values_only=True))
    assert [row[0] for row in rows] == ["answer", "mail", "chat"]
    assert rows[1][1] == pytest.approx(0.8, abs=0.2)
    assert rows[2][1] == pytest.approx(0.0, abs=0.2)


def test_the_sheet_about_the_survey_says_what_it_is(book, folder):
    found = facts(book)
    assert book["About"]["A1"].value == "Staff: 2026/27 [first]"
    assert (found["wave"], found["reports"], found["planned users"]) == ("2026", 900, 900)
    assert found["privacy of each report"].startswith("epsilon = 4")
    assert found["identity of the survey"] == "staff-26"
    assert found["fingerprint of the mechanism"] == load_mechanism(folder / "staff.json").fingerprint
    assert len(found["date"]) == len("2026-11-28")
    assert found["contact"] == "quality@example.org"
    asked = sum(found[text] for text in ("Where do you work?", "How old are you?"))
    assert asked > 0, "reports of each question"
    words = {row[0]: row[2] for row in book["About"].iter_rows(values_only=True) if len(row) > 2}
    assert words["How old are you?"].startswith("The mean is 4")
    assert "±" in words["Where do you work?"]


def test_all_estimates_have_a_frozen_head_percentages_and_margins(book, folder, capsys):
    sheet = book["estimates"]
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref
    head = [cell.value for cell in sheet[1]]
    assert head == ["question", "category", "estimate", "standard_error", "low", "high", "margin"]
    formats = {row[0].value + ": " + row[1].value: row[2].number_format for row in sheet.iter_rows(min_row=2)}
    assert formats["job: ward"] == formats["mood: of those who answered: 1"] == "0.0%"
    assert "%" not in formats["age: mean"] + formats["mood: mean"]
    assert formats["job x mood: of ward: 1"] == "0.0%"
    for row in sheet.iter_rows(min_row=2, values_only=True):
        assert row[6] == pytest.approx((row[5] - row[4]) / 2)
    assert all(sheet.column_dimensions[letter].width > 5 for letter in "ABC")
    capsys.readouterr()
    assert main(["estimate", "staff.json", "reports.csv", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    values = {(row[0], row[1]): row[2] for row in sheet.iter_rows(min_row=2, values_only=True)}
    assert values["mood", "mean"] == pytest.approx(results[1]["mean"]["value"], rel=1e-14)
    answered = results[1]["answered"]["value"]
    assert values["mood", "of those who answered: 3"] == pytest.approx(answered[2], rel=1e-14)


def test_a_cross_table_has_percentages_of_rows_and_columns_with_margins_and_a_chart(book):
    sheet = book["job x mood"]
    captions = [row[0] for row in sheet.iter_rows(values_only=True) if row[0]]
    assert "mood in percent of each row, of those who answered" in captions
    assert "job in percent of each row, of those who answered" in captions
    assert captions.count("margins of error (percentage points)") == 2
    start = next(cell.row for cell in sheet["A"] if str(cell.value).startswith("mood in percent"))
    rows = [[cell.value for cell in sheet[start + 2 + place]][1:6] for place in range(3)]
    assert [sum(row) for row in rows] == pytest.approx([1.0] * 3)
    assert sheet.cell(start + 2, 2).number_format == "0%"
    assert [len(book[name]._charts) for name in ("job", "mood", "age", "tools", "job x mood")] == [
        1,
        1,
        0,
        1,
        1,
    ]


def test_texts_stay_texts_and_the_median_is_there(book):
    assert book["job"]["A7"].value == "=lab"
    assert book["job"]["A7"].data_type == "s"
    rows = {row[0]: row[1:4] for row in book["mood"].iter_rows(values_only=True)}
    assert rows["0.5 (median)"][0] in "12345"


def test_a_question_that_begins_like_a_formula_has_a_chart_of_its_own_sheet(tmp_path, monkeypatch):
    """The package drops "=" at the beginning of a reference, which then names no sheet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(
        '[survey]\ntitle = "T"\nepsilon = 4.0\nusers = 60\n'
        '[[questions]]\nname = "a"\ntext = "=1+1 or more?"\nlabels = ["x", "y"]\n'
    )
    (tmp_path / "people.csv").write_text("a\n" + "x\ny\n" * 30)
    assert main(["build", "one.toml", "-o", "one.json"]) == 0
    assert main(["randomize", "one.json", "people.csv", "-o", "reports.csv", "--seed", "1"]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["estimate", "one.json", "reports.csv", "-o", "e.xlsx"]) == 0
    sheet = openpyxl.load_workbook("e.xlsx")["1+1 or more"]
    reference = sheet._charts[0].series[0].val.numRef.f
    assert reference.startswith("'1+1 or more'!")


def test_tables_of_three_questions_have_a_sheet_and_a_page(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    questions = "".join(f'[[questions]]\nname = "{name}"\nlabels = ["x", "y"]\n' for name in "abc")
    head = '[survey]\ntitle = "T"\nepsilon = 6.0\ntables = [["a", "b", "c"]]\n'
    (tmp_path / "t.toml").write_text(head + questions)
    (tmp_path / "p.csv").write_text("a,b,c\n" + "x,y,x\ny,y,x\nx,x,y\n" * 300)
    assert main(["build", "t.toml", "-o", "t.json"]) == 0
    assert main(["randomize", "t.json", "p.csv", "-o", "r.csv", "--seed", "1"]) == 0
    assert main(["estimate", "t.json", "r.csv", "-o", "e.xlsx"]) == 0
    captions = [row[0] for row in openpyxl.load_workbook("e.xlsx")["a x b x c"].iter_rows(values_only=True)]
    assert "c in percent of each row, of those who answered" in captions
    assert "x, y" in captions
    assert main(["report", "t.json", "r.csv", "-o", "t.html"]) == 0
    assert "c in percent of each row, of those who answered" in (tmp_path / "t.html").read_text()


def test_every_picture_is_announced(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    pytest.importorskip("matplotlib")
    capsys.readouterr()
    command = ["estimate", "staff.json", "reports.csv", "--figure", "p.svg", "--force"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    written = sorted(path.name for path in folder.glob("p*.svg"))
    assert written == ["p-2.svg", "p.svg"]
    assert [line.split(":")[0] for line in lines[:2]] == ["p.svg", "p-2.svg"]
    assert main([*command, "--json"]) == 0
    output, error = capsys.readouterr()
    assert json.loads(output)["users"] == 900
    assert error.startswith("p.svg: ")
