"""Answers of results are called as on the page of respondents, and no number changes."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import mechdesign as md
from mechdesign.analysis.student import Change
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.data.about import About, QuestionText
from mechdesign.export import ExportSettings, export
from mechdesign.export.form import blocks_of, page_texts
from mechdesign.primitives.kary import KaryResponse
from mechdesign.report.page.waves import WaveTable, change_sentence
from mechdesign.report.phrases import LANGUAGES
from mechdesign.report.sections import sections_of, sentence_of
from mechdesign.report.wording import in_words

QUESTIONS = [
    {"name": "ward", "labels": ["a", "b"], "skip": True},
    {"name": "age", "range": [0, 80], "bins": [0, 30, 60, 80], "open_ends": "high", "skip": True},
    {"name": "weight", "range": [0, 5], "bins": [0, 2.5, 5]},
    {"name": "hours", "range": [0, 40]},
]
GERMAN = ("0 bis 29", "30 bis 59", "60 oder mehr", "keine Angabe")
COUNT = 4000


def survey_of(about=None):
    survey = designed()
    return survey if about is None else survey.with_about(about)


@cache
def designed():
    problem = md.SurveyDesign(
        questions=QUESTIONS,
        epsilon=4.0,
        tables=[["ward", "age"]],
        group_means=[{"number": "hours", "by": "age"}],
    )
    return md.solve(problem).mechanism()


def words_for(mechanism, language):
    return page_texts(mechanism, ExportSettings(language=language))


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(5)
    answers = {
        "ward": rng.choice(["a", "b", ""], COUNT).tolist(),
        "age": rng.integers(0, 80, COUNT).tolist(),
        "weight": rng.uniform(0, 5, COUNT).tolist(),
        "hours": rng.integers(0, 40, COUNT).tolist(),
    }
    survey = survey_of()
    return survey.estimate(survey.randomize(answers, rng=5))


@pytest.mark.parametrize("language", ["de", "fr", "zh"])
def test_answers_are_called_as_on_the_page_of_respondents(result, language):
    survey = survey_of()
    texts = words_for(survey, language)
    worded = in_words(result, survey, texts)
    page = export(survey, "html", ExportSettings(language=language))
    for question, block in zip(QUESTIONS[:3], blocks_of(survey, texts)[:3], strict=True):
        names = worded[question["name"]].categories
        assert names == block.labels
        for name in names:
            assert json.dumps(name) in page


def test_every_part_of_a_result_has_the_same_words(result):
    worded = in_words(result, survey_of(), words_for(survey_of(), "de"))
    age = worded.result("age")
    assert age.estimate.categories == GERMAN
    assert age.answered.categories == GERMAN[:3]
    assert age.cumulative.categories == GERMAN[:3]
    assert set(age.quantiles.category) <= set(GERMAN)
    assert worded["weight"].categories == ("0 bis unter 2,5", "2,5 bis 5")
    crossed = worded.result("ward x age")
    assert crossed.estimate.categories[:5] == (*(f"a, {name}" for name in GERMAN), "b, 0 bis 29")
    rows, columns = crossed.groups
    assert (rows.groups, rows.categories) == (("a", "b"), GERMAN[:3])
    assert (columns.groups, columns.categories) == (GERMAN[:3], ("a", "b"))
    assert worded["hours by age"].names == GERMAN
    text = " ".join(section.sentence for section in sections_of(worded, survey_of(), LANGUAGES["de"]))
    assert "bis" in text
    assert " to " not in text


def test_no_number_changes(result):
    worded = in_words(result, survey_of(), words_for(survey_of(), "de"))
    before, after = result.tidy(), worded.tidy()
    for name in ("question", "estimate", "standard_error", "low", "high"):
        assert before[name] == after[name]
    english = in_words(result, survey_of(), words_for(survey_of(), "en"))
    assert english.tidy() == before


def test_words_of_a_translation_are_used_and_those_of_one_question():
    translated = About(
        "Heim",
        language="de",
        questions=[QuestionText("ward", "Wo?", labels=("Station A", "Station B"))],
    )
    asked = [QuestionText("ward", "Where?", labels=("a", "b"))]
    about = About("Home", language="en", questions=asked, translations=[translated])
    survey = survey_of(about)
    reports = survey.randomize(
        {"ward": ["a"] * 90, "age": [3] * 90, "weight": [1] * 90, "hours": [2] * 90}, rng=1
    )
    worded = in_words(survey.estimate(reports), survey, words_for(survey, "de"))
    assert worded["ward"].categories == ("Station A", "Station B", "keine Angabe")
    assert in_words(survey.estimate(reports), survey, words_for(survey, "fr"))["ward"].categories[0] == "a"
    alone = KaryResponse.of(2, 1.0)
    estimate = alone.estimate(alone.randomize([0, 1] * 50, rng=1))
    assert in_words(estimate, alone, words_for(alone, "de")).categories == estimate.categories


def test_numbers_stay_with_their_answers_where_these_are_written_from_the_right():
    """Each answer of a sentence is isolated, and nothing of a name but its joiners is a sign of direction."""
    names = ("\u0646\u0639\u0645", "\u05db\u05df \u202e", "\u06cc\u200c\u0647")
    shares = FrequencyEstimate(np.array([0.5, 0.3, 0.2]), np.array([0.03, 0.03, 0.03]), 900, names)
    assert sentence_of(shares) == (
        "50% ±6 answered “\u2068\u0646\u0639\u0645\u2069”, 30% ±6 “\u2068\u05db\u05df \\u202e\u2069”, "
        "20% ±6 “\u2068\u06cc\u200c\u0647\u2069”."
    )
    latin = FrequencyEstimate(np.array([0.7, 0.3]), np.array([0.03, 0.03]), 900, ("a", "é"))
    assert sentence_of(latin) == "70% ±6 answered “a”, 30% ±6 “é”."
    wave = WaveTable(
        "",
        True,
        names[:1],
        (),
        (("\x1b2026", "\u05db", [Change("", names[0], 0.21, 0.03, 0.15, 0.27)]),),
    )
    assert change_sentence([wave]) == (
        "From \\x1b2026 to \u2068\u05db\u2069: “\u2068\u0646\u0639\u0645\u2069” up by 21 ±6 points."
    )
