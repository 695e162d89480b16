"""The page of results in a real browser: on a phone, on a wide screen and on paper."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.values import changed
from mechdesign.data.about import QuestionText
from mechdesign.report.page.results import Estimation, results_page
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
pytest.importorskip("jinja2", reason="needs the extra mechdesign[report]")

LEAST_LETTERS = 9.0
"""Pixels of the lines of text in a picture."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    labels = ["very dissatisfied indeed", "dissatisfied", "neither", "satisfied", "very satisfied"]
    questions = [
        {"name": "department", "labels": ["ward", "laboratory", "office", "kitchen"]},
        {"name": "mood", "kind": "ordered", "labels": labels, "skip": True},
        {"name": "age", "range": [18, 70]},
    ]
    problem = md.SurveyDesign(questions=questions, epsilon=4.0, users=900, tables=[["department", "mood"]])
    mechanism = md.solve(problem).mechanism().described("Staff", id="staff")
    text = QuestionText("mood", "How satisfied are you with <your> work?")
    mechanism = mechanism.with_about(changed(mechanism.about, questions=[text]))
    rng = np.random.default_rng(2)
    rows = [
        [
            questions[0]["labels"][rng.integers(0, 4)],
            [*labels, ""][rng.integers(0, 6)],
            int(rng.integers(18, 70)),
        ]
        for _ in range(900)
    ]
    results = mechanism.estimate(mechanism.randomize(rows, rng=3))
    path = tmp_path_factory.mktemp("results") / "page.html"
    path.write_text(results_page(mechanism, Estimation(results, "estimate", "m.json", ["r.csv"]), "1"))
    return path


@pytest.fixture(scope="module")
def driver(page):
    with chromium() as driver:
        driver.get(page.as_uri())
        yield driver


def view(driver, width, media=""):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


LETTERS = """return [...document.querySelectorAll('figure svg text')].map((text) => {
  const picture = text.ownerSVGElement, size = parseFloat(getComputedStyle(text).fontSize);
  return size * picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
})"""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_fits_the_screen_and_its_pictures_are_legible(driver, width):
    view(driver, width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    sizes = driver.execute_script(LETTERS)
    assert len(sizes) > 20
    if width >= 390:
        assert min(sizes) >= LEAST_LETTERS
    assert driver.get_log("browser") == []


def test_it_begins_with_the_results_in_words(driver):
    view(driver, 1280)
    first = driver.find_element("css selector", "main > *")
    assert first.text == "Results in words"
    said = driver.find_elements("css selector", ".said li")
    assert len(said) == 4
    assert "How satisfied are you with <your> work?" in said[1].text
    assert re.search(r"\d+% ±\d+ answered “", said[0].text)
    assert re.search(r"The mean is 4\d\.\d ±\d", said[2].text)


def test_each_question_has_its_picture_next_to_its_table(driver):
    view(driver, 1280)
    sections = driver.find_elements("css selector", "section.result")
    assert len(sections) == 4
    for section in sections:
        figure, *_ = section.find_elements("css selector", "figure")
        table = section.find_element("css selector", "table")
        assert table.location["x"] >= figure.location["x"] + figure.size["width"], "beside it"
        assert abs(table.location["y"] - figure.location["y"]) < 100
    view(driver, 390)
    for section in driver.find_elements("css selector", "section.result"):
        figure, table = (section.find_element("css selector", name) for name in ("figure", "table"))
        assert table.location["y"] >= figure.location["y"] + figure.size["height"], "below it"


def test_on_paper_no_table_is_cut(driver):
    view(driver, 680, "print")  # A4 without its margins
    cut = driver.execute_script(
        "return [...document.querySelectorAll('table')].filter("
        "(table) => table.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert cut == 0
    hidden = driver.execute_script(
        "return [...document.querySelectorAll('button')].every("
        "(item) => getComputedStyle(item).display === 'none')"
    )
    assert hidden
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    view(driver, 1280)
