"""The survey with which the demonstration begins: five questions, their page and their results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mechdesign.collect.collecting import operation_of
from mechdesign.core.errors import counted
from mechdesign.data.data_set import open_table
from mechdesign.data.writing import write_blocks
from mechdesign.report.demo.folder import OpeningSurvey, can_draw
from mechdesign.report.demo.running import SEED, data_file
from mechdesign.report.page.results import Estimation, results_page
from mechdesign.report.sections import Section, sections_of
from mechdesign.survey.survey import Survey

STATEMENT = """\
# Five questions to 6,000 synthetic people, who give away epsilon = 3 each, over all questions together.

[survey]
title = "How we live"
introduction = "Five questions, one minute. Your answers do not leave this device."
id = "demo-survey"
epsilon = 3.0
users = 6000

[[questions]]
name = "drinks_alone"
text = "How often do you drink alone?"
kind = "ordered"
labels = ["never", "yearly", "monthly", "weekly", "daily"]

[[questions]]
name = "age"
text = "How old are you?"
range = [18, 90]
bins = [18, 30, 45, 60, 75, 90]

[[questions]]
name = "smokes"
text = "Do you smoke?"
labels = ["no", "yes"]

[[questions]]
name = "exercises"
text = "Do you exercise every week?"
labels = ["no", "yes"]

[[questions]]
name = "parent"
text = "Do you have children?"
labels = ["no", "yes"]
"""

FILE, BUILT, PAGE = "survey.toml", "survey.json", "survey.html"
REPORTS, RESULTS = "survey_reports.csv", "survey_results.html"


@dataclass(frozen=True)
class _Collection:
    """A survey with its reports and what they say."""

    survey: Survey
    sections: tuple[Section, ...]
    estimate: Any


def demonstrate_survey(folder: Path, name: str) -> OpeningSurvey:
    """State, build, collect and estimate a survey in a folder; return what is said and drawn of it.

    Its page of results is left to the one who draws its pictures.

    Parameters
    ----------
    folder : Path
        Where its files are written.
    name : str
        What the folder is called in commands.
    """
    collection = _collected(folder)
    survey = collection.survey
    files = [FILE, BUILT, PAGE, REPORTS]
    (folder / PAGE).write_text(survey.page(), encoding="utf-8")
    estimation = Estimation(collection.estimate, "estimate", f"{name}/{BUILT}", [f"{name}/{REPORTS}"])
    pages = {RESULTS: partial(results_page, survey.mechanism, estimation, sections=collection.sections)}
    words = [(section.heading, section.sentence) for section in collection.sections if section.sentence]
    return OpeningSurvey(
        survey.title,
        tuple(words),
        tuple(section.figures[0] for section in collection.sections if section.figures),
        (*files, *(pages if can_draw() else ())),
        pages if can_draw() else {},
        (
            f"build {name}/{FILE} -o again_{BUILT}",
            f"export {name}/{BUILT} --to html -o again_{PAGE}",
            f"estimate {name}/{BUILT} {name}/{REPORTS}",
            f"report {name}/{BUILT} {name}/{REPORTS} -o again_{RESULTS}",
        ),
    )


def _collected(folder: Path) -> _Collection:
    (folder / FILE).write_text(STATEMENT, encoding="utf-8")
    survey = Survey.load(folder / FILE).build()
    survey.save(folder / BUILT)
    mechanism = survey.mechanism
    operation = operation_of(mechanism.operations(), "randomize", BUILT)
    names = [question.name for question in survey.questions]
    settings = operation.settings({"seed": SEED, "column": names})
    blocks = operation.run([open_table(data_file("people"))], settings)
    rows = write_blocks(folder / REPORTS, blocks, operation.private)
    estimate = survey.estimate(str(folder / REPORTS))
    assert rows == estimate.users, counted(rows, "row")
    return _Collection(survey, tuple(sections_of(estimate, mechanism)), estimate)
