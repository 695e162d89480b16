"""The demonstration: its two tables, its folder, its page, and the data that ship for it."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
import time

import pytest

from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.data.outputs import whole_folder
from mechdesign.report.demo import folder as folders
from mechdesign.report.demo.folder import (
    commands,
    demo_page,
    demo_text,
    failure_lines,
    finish,
    solved_row,
)
from mechdesign.report.demo.running import DEMONSTRATIONS, FOLDER, data_file, demonstrate, write_all

NAMES = ["item auction", "response", "mean", "contract", "auction", "spectrum", "marginal views"]
MOST_SECONDS, MOST_LINES = 20.0, 50


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run the demonstration once, in a folder of its own; return folder, what it printed, and the cost."""
    place = tmp_path_factory.mktemp("demo")
    printed, started = [], time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("builtins.print", lambda *texts, **_: printed.append(" ".join(map(str, texts))))
        assert main(["demo"]) == 0
    return place / "mechdesign-demo", "\n".join(printed), time.process_time() - started


def test_the_problems_stand_in_a_short_table_and_cost_little(made):
    _, text, seconds = made
    assert [demonstration.name for demonstration in DEMONSTRATIONS] == NAMES
    assert all(f"\n{name}  " in text for name in NAMES)
    assert text.count("yes (") == len(NAMES)
    assert len(text.splitlines()) < MOST_LINES
    assert max(map(len, text.splitlines())) <= 104
    assert seconds < MOST_SECONDS


def test_values_agree_with_the_bound_and_estimates_with_the_truth_of_the_shipped_file(made):
    folder, _, _ = made
    found = json.loads((folder / "demo.json").read_text())
    assert found["format"] == "mechdesign-demo"
    with open(data_file("people"), newline="") as stream:
        people = list(csv.DictReader(stream))
    truths = {
        "never drinks alone": sum(row["drinks_alone"] == "never" for row in people) / len(people),
        "drinks alone weekly": sum(row["drinks_alone"] == "weekly" for row in people) / len(people),
        "mean age": sum(float(row["age"]) for row in people) / len(people),
        "smokes and insured": sum(row["smokes"] == row["insured"] == "yes" for row in people) / len(people),
        "drives, no parent": sum((row["drives"], row["parent"]) == ("yes", "no") for row in people)
        / len(people),
    }
    answers = [answer for problem in found["problems"] for answer in problem["estimates"]]
    assert {answer["question"] for answer in answers} == set(truths)
    for answer in answers:
        assert answer["truth"] == pytest.approx(truths[answer["question"]], rel=1e-12)
        assert 0 < abs(answer["estimate"] - answer["truth"]) < 4 * answer["standard_error"]
    for problem in found["problems"]:
        assert problem["analytic"]["value"] == pytest.approx(problem["bound"], rel=1e-8)
        assert problem["numeric"]["value"] == pytest.approx(problem["bound"], rel=1e-8)
        assert problem["analytic"]["method"] != problem["numeric"]["method"]


def test_the_folder_has_what_is_said_and_the_commands_of_the_page_run(made, monkeypatch, capsys):
    folder, text, _ = made
    names = {path.name for path in folder.iterdir()}
    assert {f"{name.replace(' ', '_')}.json" for name in NAMES} <= names
    pictures = [name for name in names if name.endswith(".svg")]
    assert f"{len(pictures)} pictures, index.html, demo.json" in text
    page = (folder / "index.html").read_text(encoding="utf-8")
    commands = [html.unescape(text) for text in re.findall(r'data-copy="([^"]*)"', page)]
    monkeypatch.chdir(folder.parent)
    assert len(commands) > 3 * len(NAMES)
    for command in commands:
        words = shlex.split(command)
        assert words[0].endswith("mechdesign")
        assert main(words[1:]) == 0, command
    assert capsys.readouterr().err == ""
    assert (folder.parent / "again_survey.html").read_bytes() == (folder / "survey.html").read_bytes()
    again = sorted(folder.parent.glob("again_*.csv"))
    assert len(again) == len(NAMES)
    assert all(
        path.read_bytes() == (folder / path.name.removeprefix("again_")).read_bytes() for path in again
    )


def test_the_shipped_tables_are_those_of_the_generator(tmp_path):
    write_all(tmp_path)
    for path in FOLDER.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in FOLDER.iterdir()}


def test_an_earlier_demonstration_is_replaced_and_nothing_else_is(made, tmp_path):
    folders.require_demo_folder(str(made[0]))
    folders.require_demo_folder(str(tmp_path / "new"))
    folders.require_demo_folder(str(tmp_path))  # empty
    (tmp_path / "mine.txt").write_text("mine")
    for place, what in (
        (tmp_path, "not an earlier demonstration"),
        (tmp_path / "mine.txt", "is a file"),
        (tmp_path / "none" / "deeper", "parent folder does not exist"),
    ):
        with pytest.raises(ParameterError, match=what):
            folders.require_demo_folder(str(place))
        assert main(["demo", "-o", str(place)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_failure_leaves_no_folder_behind(tmp_path):
    def fail():
        with whole_folder(str(tmp_path / "demo")) as work:
            (work / "response.json").write_text("{}")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_without_the_packages_for_pages_the_rest_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(folders, "can_draw", lambda: False)
    assert folders.finish([], tmp_path, "demo", "0") == ["0 mechanism files", "0 tables", "demo.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["demo.json"]


def unusable(*_, **__):
    raise TypeError("'list' object is not an instance\nof 'AffineExpr'")


def demonstration_of(name):
    return next(item for item in DEMONSTRATIONS if item.name == name)


def test_a_method_that_throws_is_a_line_and_everything_else_goes_on(monkeypatch, tmp_path):
    from mechdesign.families.auction import vcg

    monkeypatch.setattr(vcg, "award", unusable)
    result = demonstrate(demonstration_of("auction"), tmp_path)
    assert result.numeric.method == "statement"
    assert not result.passed
    assert (tmp_path / "auction.json").exists()
    (first,) = failure_lines([result])
    assert first.startswith("FAILED: auction: milp: TypeError: 'list' object is not an instance")
    assert "families/auction/slot.py, line" in first
    assert "\n" not in first
    assert solved_row(result)[2:4] == [f"{result.analytic.value:.8g}", f"{result.numeric.value:.8g}"]
    assert first.replace("'", "&#39;") in demo_page([result], "demo", "0")


def test_a_problem_that_no_method_solves_is_a_row_without_a_mechanism(monkeypatch, tmp_path):
    from mechdesign.families.response import RandomizedResponse

    monkeypatch.setattr(RandomizedResponse, "objective", unusable)
    result = demonstrate(demonstration_of("response"), tmp_path)
    assert (result.mechanism, result.passed, list(tmp_path.iterdir())) == (None, False, [])
    assert "failed  " in demo_text([result])
    assert "FAILED: response: closed-form: TypeError" in demo_text([result])
    assert finish([result], tmp_path, "demo", "0")[0] == "0 mechanism files"
    assert "FAILED: response" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert commands(result, "demo") == [f"{folders.program()} solve {result.demonstration.model}"]


def test_the_survey_comes_first_with_its_pages_and_pictures_that_need_no_click(made):
    folder, text, _ = made
    assert text.startswith("A survey of 5 questions")
    assert "54% ±3 answered “never”" in text
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.index("How often do you drink alone?") < page.index("item auction")
    assert page.count("<svg") >= 10
    assert "<details>" not in page
    for name in re.findall(r'href="(survey[a-z_]*\.html)"', page):
        assert "How we live" in (folder / name).read_text(encoding="utf-8")


def test_a_command_is_named_by_its_path_where_its_environment_is_not_active(monkeypatch, tmp_path):
    script = tmp_path / ".venv" / "bin" / "mechdesign"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path / ".venv"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("os.name", "posix")
    assert folders.program() == ".venv/bin/mechdesign"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    assert folders.program() == "mechdesign"
