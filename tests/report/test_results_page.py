"""The page of results: headed by the question, with tables, pictures, method and guarantee."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.families.marginals import MarginalRelease
from mechdesign.report.page import mechanism_page
from mechdesign.report.page.results import Estimation, result_tables, results_page, rounded
from tests.report.test_page import Outline

pytest.importorskip("jinja2", reason="needs the extra mechdesign[report]")

SURVEY = """[model]
title = "Health 2026"
question = "Have you ever smoked <more> than one pack?"
problem = "randomized-response"

[parameters]
labels = ["no", "yes"]
prior = [0.5, 0.5]
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with a mechanism file and its reports."""
    place = tmp_path_factory.mktemp("survey")
    (place / "survey.toml").write_text(SURVEY)
    (place / "people.csv").write_text("answer\n" + "no\nno\nyes\n" * 500)
    survey, people, reports = (str(place / name) for name in ("survey.json", "people.csv", "reports.csv"))
    assert main(["build", str(place / "survey.toml"), "-o", survey, "--users", "1500"]) == 0
    assert main(["randomize", survey, people, "-o", reports, "--seed", "3"]) == 0
    return place


@pytest.fixture
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_a_folder_of_reports_is_all_its_files(there, tmp_path, capsys):
    reports = tmp_path / "reports"
    reports.mkdir()
    head, *rows = (there / "reports.csv").read_text().splitlines(keepends=True)
    (reports / "monday.csv").write_text(head + "".join(rows[:700]))
    (reports / "tuesday.csv").write_text(head + "".join(rows[700:]))
    for name, subject in (("folder", str(reports)), ("pattern", f"{reports}/*.csv")):
        place = tmp_path / f"{name}.html"
        assert main(["report", "survey.json", subject, "-o", str(place)]) == 0
        assert "results of 2 files of reports" in capsys.readouterr().out
        assert "Estimated shares of 1500 reports" in place.read_text()
    assert main(["report", "survey.json", "absent", "-o", str(tmp_path / "no.html")]) == 2
    assert "file not found" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["report", "survey.json", str(tmp_path / "empty"), "-o", str(tmp_path / "no.html")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_page_has_all_that_readers_need(there, tmp_path, capsys):
    place = tmp_path / "page.html"
    assert main(["report", "survey.json", "reports.csv", "-o", str(place)]) == 0
    assert "results of 1 file of reports" in capsys.readouterr().out
    page = place.read_text()
    outline = Outline(page)
    assert "<h1>Have you ever smoked &lt;more&gt; than one pack?</h1>" in page
    assert outline.loads == []
    for words in (
        "Health 2026",
        "1,500 reports",
        "privacy checked in exact arithmetic",
        "95% confidence interval",
        "What respondents were promised",
        "at most 73.2% sure of one after seeing the report",
        "The fact that a respondent takes part is not hidden",
        "of these respondents",
        "mechdesign estimate survey.json reports.csv",
        "mechdesign audit survey.json",
        md.load_mechanism("survey.json").fingerprint,
    ):
        assert " ".join(words.split()) in " ".join(outline.text.split()), words
    assert page.count("<figure>") == 1


def test_the_command_on_the_page_prints_its_numbers(there, tmp_path, capsys):
    place = tmp_path / "page.html"
    assert main(["report", "survey.json", "reports.csv", "--population", "-o", str(place)]) == 0
    command = "mechdesign estimate survey.json reports.csv --population"
    page = place.read_text()
    assert command in page
    assert "population that the respondents were drawn from" in " ".join(page.split())
    capsys.readouterr()
    assert main(command.split()[1:]) == 0
    estimate = md.load_mechanism("survey.json").estimate(
        (there / "reports.csv").read_text().split()[1:], population=True
    )
    assert f"{estimate.value[0]:.5f}" in capsys.readouterr().out
    assert any(text in page for text in (f"{estimate.value[0]:.5f}", f"{100 * estimate.value[0]:.1f}%"))


def test_the_page_of_the_mechanism_is_headed_by_the_question_and_forecasts_for_its_users(folder):
    mechanism = md.load_mechanism(folder / "survey.json")
    page = mechanism_page(mechanism, "survey.json", "1")
    assert "<h1>Have you ever smoked &lt;more&gt; than one pack?</h1>" in page
    assert "with 1500 users" in page
    assert "<h1>survey.json</h1>" in mechanism_page(mechanism.described(), "survey.json", "1")


def test_tables_of_a_release_are_asked_for_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release = MarginalRelease.of([2, 2], [(0, 1)], epsilon=2.0, names=["smoker", "city"])
    release.described("Two questions").save("all.json")
    Path("people.csv").write_text("smoker,city\n" + "0,0\n1,0\n0,1\n" * 300)
    assert main(["randomize", "all.json", "people.csv", "-o", "r.csv", "--seed", "1"]) == 0
    options = ["--marginal", "smoker,city", "--marginal", "city", "--raw"]
    assert main(["report", "all.json", "r.csv", *options, "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert "<h1>Two questions</h1>" in page
    assert page.count("<figure>") == 2
    assert "mechdesign estimate all.json r.csv --marginal smoker,city --marginal city --raw" in page
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reports.csv", "survey.json"], "name one mechanism file first"),
        (["survey.json", "survey.json"], "name one mechanism file first"),
        (["survey.json", "people.csv"], "people.csv"),
        (["survey.json", "reports.csv", "reports.csv"], "name it once"),
        (["survey.json", "nothing.csv"], "nothing.csv"),
        (["survey.json", "reports.csv", "--marginal", "a,b"], "--marginal"),
        (["survey.json", "--population"], "--population: is for a page of results"),
        (["mean/rcp2023_single", "--raw"], "--raw: is for a page of results"),
        (["survey.json", "reports.csv", "--set", "epsilon=2"], "is for models"),
    ],
)
def test_what_gives_no_results_is_one_line_and_nothing_is_written(there, tmp_path, arguments, said, capsys):
    capsys.readouterr()
    assert main(["report", *arguments, "-o", str(tmp_path / "page.html")]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert said in error
    assert list(tmp_path.iterdir()) == []


class Tidy:
    """A result with two questions, one share of which may be just below 0."""

    users = 100

    def tidy(self):
        return {
            "question": ["smoker", "smoker", "city"],
            "category": ["no", "<b>", "Bern"],
            "estimate": [0.99, 0.01, float("nan")],
            "standard_error": [0.02, 0.02, None],
            "low": [0.95, -0.03, None],
            "high": [1.03, 0.05, None],
            "reports": [60, 60, 40],
        }


def test_tidy_results_are_tables_by_question_with_rounded_numbers_and_possible_ends():
    smoker, city = result_tables(Tidy(), "share")
    assert (smoker["caption"], city["caption"]) == ("smoker", "city")
    margin = "margin of error (points)"
    assert smoker["header"] == ["answer", "estimate", margin, "95% low", "95% high", "standard error"]
    assert smoker["rows"] == [
        ["no", "99.0%", "±4.0", "95.0%", "100.0%", "2.0%"],
        ["<b>", "1.0%", "±4.0", "0.0%", "5.0%", "2.0%"],
    ]
    assert city["rows"] == [["Bern", "-"]], "only what is known has a column"
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism()
    page = results_page(mechanism, Estimation(Tidy(), "estimate", "m.json", ["r.csv"]), "1")
    assert "&lt;b&gt;" in page
    assert "<b>no" not in page
    assert "<h1>Results from m.json</h1>" in page


def test_numbers_have_two_digits_of_their_error():
    for error in 10.0 ** np.arange(-4, 5):
        text = rounded(12345.6789, float(error), is_share=False)
        assert abs(float(text) - 12345.6789) <= 0.051 * error
    assert rounded(-0.0001, 0.01, is_share=False) == "0.000"


def test_counts_stay_within_the_users_and_consistent_tables_show_the_expected_error():
    class Counts(Tidy):
        def tidy(self):
            return {
                "question": ["", ""],
                "category": ["a", "b"],
                "estimate": [2.0, 99.0],
                "standard_error": [7.0, 7.0],
                "low": [-12.0, 85.0],
                "high": [16.0, 113.0],
            }

    (table,) = result_tables(Counts(), "users")
    assert [row[3:5] for row in table["rows"]] == [["0.0", "16.0"], ["85.0", "100.0"]]
    release = MarginalRelease.of([2, 2], [(0, 1)], epsilon=2.0, names=["smoker", "city"])
    found = release.estimate(release.randomize([[0, 1], [1, 0]] * 500, rng=1)).marginal([0, 1])
    (table,) = result_tables(found, "share")
    assert table["header"] == ["answer", "estimate", "expected error"]
    assert table["caption"] == "", "the only table is headed by the page"


def test_questions_of_a_survey_keep_their_own_units():
    problem = md.SurveyDesign(
        questions=[{"name": "age", "range": [18, 90]}, {"name": "smokes", "labels": ["no", "yes"]}],
        epsilon=4.0,
        users=1000,
    )
    survey = md.solve(problem).mechanism()
    found = survey.estimate(survey.randomize([[40, "no"], [60, "yes"]] * 500, rng=1))
    page = results_page(survey, Estimation(found, "estimate", "m.json", ["r.csv"]), "1")
    outline = Outline(page)
    assert re.search(r"mean \d\d\.\d", outline.text), "years are not percentages"
    assert re.search(r"smokes .* no \d\d\.\d+% ", outline.text)
