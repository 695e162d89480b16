"""The form of the page for respondents: the survey's texts in their order, ticks, bins, no answer."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from mechdesign.data.about import About, QuestionText
from mechdesign.export import Receiver, export
from mechdesign.export.clients import ExportSettings, plain_json, sheet
from mechdesign.export.disclosure import percent_sure
from mechdesign.export.form import blocks_of, page_texts
from mechdesign.families.survey import Question, SurveyMechanism
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, served, wait
from tests.support.clients import CLIENTS
from tests.support.pages import (
    at,
    choose,
    fill,
    options_of,
    page_content,
    press,
    questions_of,
    staff,
    write_page,
)

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)


@pytest.fixture(scope="module")
def mechanism(tmp_path_factory):
    return staff(tmp_path_factory.mktemp("staff"))


@pytest.fixture(scope="module")
def visit(tmp_path_factory, mechanism):
    """Open a page of the staff survey as a new respondent."""
    folder = tmp_path_factory.mktemp("form")
    write_page(folder, "de", mechanism, post="/reports")
    write_page(folder, "en", mechanism, post="/reports", language="en")
    write_page(folder, "ordered", CLIENTS["survey with ordered answers"]())
    with served(folder) as server, chromium() as browser:

        def visit(name):
            forget(browser, server.address)
            browser.get(f"{server.address}/{name}.html")
            server.posted.clear()
            return browser

        visit.server = server
        yield visit


@in_browser
def test_the_texts_of_the_survey_stand_on_the_page_in_their_order(visit):
    browser = visit("de")
    assert questions_of(browser) == [
        "Wie zufrieden sind Sie mit Ihrer Arbeit?",
        "Was davon nutzen Sie?",
        "Wie alt sind Sie?",
        "Wie viele Überstunden haben Sie im Monat?",
        "Auf welcher Station arbeiten Sie?",
    ]
    assert options_of(browser, 0) == ["1 (gar nicht)", "2", "3", "4", "5 (sehr)", "keine Angabe"]
    assert options_of(browser, 1) == ["Kita", "Sport", "Jobticket", "Nichts davon"]
    assert options_of(browser, 2) == ["18 bis 29", "30 bis 39", "40 oder mehr"]
    assert options_of(browser, 4)[:2] == ["Bitte wählen", "A1"]
    text = browser.find_element("tag name", "main").text
    for part in ("drei Minuten.", "bleiben auf Ihrem Gerät.", "letzten vier Wochen.", "Kontakt: Personalrat"):
        assert part in text
    assert "Vielen Dank" not in text
    assert browser.execute_script("return document.documentElement.lang") == "de"


@in_browser
def test_the_english_page_has_what_is_translated_and_keeps_the_rest(visit):
    browser = visit("en")
    assert questions_of(browser)[:3] == [
        "How satisfied are you?",
        "Which of these do you use?",
        "Wie alt sind Sie?",
    ]
    assert options_of(browser, 0)[0] == "1 (not at all)"
    assert options_of(browser, 1) == ["Nursery", "Sports", "Bus pass", "None of these"]
    assert options_of(browser, 2)[0] == "18 to 29"
    assert at(browser, "make").text == "Make my report"


@in_browser
def test_what_is_sent_is_one_report_that_the_server_takes_and_the_thanks_follow(visit, mechanism):
    browser = visit("de")
    fill(browser)
    assert at(browser, "q3-read").text == "Ihre Eingabe: 12,5"
    (row,) = press(browser)
    assert not at(browser, "thanks").is_displayed()
    at(browser, "send").click()
    wait(browser, lambda: at(browser, "status").text == "Gesendet. Vielen Dank.")
    assert at(browser, "thanks").text == "Vielen Dank für Ihre Zeit."
    (posted,) = map(json.loads, visit.server.posted)
    assert Receiver(mechanism).rows(posted) == [row]
    assert browser.execute_script("return [...document.querySelectorAll('input:checked')].length") == 0
    assert at(browser, "q3").get_attribute("value") == ""


@in_browser
def test_nothing_is_left_out_by_accident(visit):
    """Every question without an answer says so; the first one gets the focus."""
    browser = visit("de")
    at(browser, "make").click()
    assert not at(browser, "made").is_displayed()
    assert at(browser, "wrong").text == "5 Fragen haben noch keine gültige Antwort."
    errors = [element.text for element in browser.find_elements("css selector", ".error:not(#wrong)")]
    assert errors == ["Bitte beantworten Sie diese Frage."] * 5
    assert browser.switch_to.active_element.get_attribute("name") == "q0"
    fill(browser)
    at(browser, "q3").clear()
    at(browser, "q3").send_keys("61")
    at(browser, "make").click()
    assert at(browser, "wrong").text == "Eine Frage hat noch keine gültige Antwort."
    assert at(browser, "q3-error").text == "Bitte geben Sie eine Zahl von 0 bis 60 ein."
    assert browser.switch_to.active_element.get_attribute("id") == "q3"
    assert at(browser, "q3").get_attribute("aria-invalid") == "true"


@in_browser
def test_none_of_these_and_no_answer_stand_alone(visit):
    browser = visit("de")
    choose(browser, 1, "Kita", "Sport")
    browser.find_elements("css selector", "#questions > *")[1].find_elements("css selector", ".option")[
        3
    ].click()
    ticked = (
        "const block = document.querySelectorAll('#questions > *')[1];"
        "return [...block.querySelectorAll('input')].map((input) => input.checked)"
    )
    assert browser.execute_script(ticked) == [False, False, False, True]
    browser.find_elements("css selector", "#questions > *")[1].find_elements("css selector", ".option")[
        0
    ].click()
    assert browser.execute_script(ticked) == [True, False, False, False]
    at(browser, "q3").send_keys("7")
    browser.find_element("name", "q3-skip").click()
    assert at(browser, "q3").get_attribute("value") == ""
    assert not at(browser, "q3").is_enabled()


def english(mechanism):
    """Return the blocks of the English page."""
    return blocks_of(mechanism, page_texts(mechanism, ExportSettings(language="en")))


TRIED = """
const [fillings, done] = arguments;
(async () => {
  const source = document.querySelector("script[type=module]").textContent;
  const cut = source.lastIndexOf("\\n// The page for respondents. The answer stays");
  const script = source.slice(0, cut) + "\\nexport { reportWords, contents };";
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const page = await import(url);
  return fillings.map((answer) => {
    const report = page.randomize(answer);
    return [report, page.contents(report), page.reportWords(report)];
  });
})().then(done, (error) => done(String(error)));
"""
"""Draw reports with the page's own script, and return what it says about them."""


@in_browser
def test_the_words_are_what_the_report_says(visit, mechanism):
    """Read a second time from the mechanism: which questions a design asks, and each cell of a table."""
    browser = visit("en")
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    browser.get(browser.current_url)
    browser.set_script_timeout(60)
    answer = ["3", "yes", "no", "yes", "18 to 29", 12.5, "B1"]
    found = browser.execute_async_script(TRIED, [answer] * 400)
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    assert isinstance(found, list), found
    shown = {
        place: block.labels for block in english(mechanism) for place in block.places if not block.several
    }
    cells = 0
    for report, said, lines in found:
        number, _, payload = report.partition(":")
        parts = mechanism.designs[int(number)].parts
        assert said["places"] == [place for part in parts for place in part.places]
        left_out = len(said["places"]) < len(mechanism.questions)
        assert ("Nothing about the other questions is sent." in lines) == left_out
        values = iter(said["values"])
        for part, text in zip(parts, payload.split("|"), strict=True):
            if part.kind != "table" or not text.isdigit():
                [next(values) for _ in (part.places if part.kind == "sets" else "1")]
                continue
            sizes = [mechanism.questions[place].size for place in part.places]
            for place, code in zip(part.places, np.unravel_index(int(text), sizes), strict=True):
                question = mechanism.questions[place]
                labels = shown.get(place) or question.categories
                end = f"{question.categories[code]} (an end of the range)"
                number_shown = question.is_number and code < 2
                assert next(values) == (
                    end if number_shown else f"“{labels[code] if place != 5 else 'no answer'}”"
                )
                cells += 1
    assert cells > 100


@in_browser
def test_a_pattern_is_said_as_the_set_of_its_answers(visit):
    """The bits of the sets of an ordered part, read a second time."""
    browser = visit("ordered")
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    browser.get(browser.current_url)
    labels = [entry.labels for entry in CLIENTS["survey with ordered answers"]().recipe().inputs]
    reports = browser.execute_async_script(TRIED, [[labels[0][1], labels[1][0]]] * 200)
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    (part, _), *_ = CLIENTS["survey with ordered answers"]().recipe().steps["designs"]
    sizes = set()
    for report, said, _ in reports:
        text = part["draw"]["sets"][int(report[2:].split("|")[0])]
        members = [
            label
            for label, bit in zip(labels[0], f"{int(text, 16):08b}"[: len(labels[0])], strict=True)
            if bit == "1"
        ]
        quoted = [f"“{label}”" for label in members]
        sizes.add(len(members))
        assert said["values"][0] == (quoted[0] if len(quoted) == 1 else f"the set of {' and '.join(quoted)}")
    assert sizes == {1, 2}


def test_the_probability_of_nothing_is_that_of_the_designs_and_of_draws(mechanism):
    """From the weights of the designs, and counted in 20000 drawn reports."""
    blocks = english(mechanism)
    data = {
        "satisfaction": ["3"],
        "tools: Kita": ["no"],
        "tools: Sport": ["no"],
        "tools: Jobticket": ["yes"],
        "age": [40],
        "hours": [None],
        "ward": ["A1"],
    }
    reports = mechanism.randomize({name: values * 20_000 for name, values in data.items()}, rng=3)
    drawn = Counter(str(report).split(":")[0] for report in reports)
    for block in blocks:
        silent = [
            design
            for design in mechanism.designs
            if not set(block.places) & {place for part in design.parts for place in part.places}
        ]
        exact = sum(design.weight for design in silent) / 2**62
        count = sum(
            drawn[str(number)]
            for number, design in enumerate(mechanism.designs)
            if not set(block.places) & set(design.places)
        )
        assert abs(count / 20_000 - exact) < 5 * (exact * (1 - exact) / 20_000) ** 0.5
        shown = float(block.silence.split("%")[0].split()[-1])
        assert 0 <= 100 * exact - shown < 0.1


def test_the_page_has_the_percentage_of_all_other_pages(mechanism):
    text = export(mechanism, "html", ExportSettings(language="en"))
    assert percent_sure(4.0) in text


def test_the_scripts_are_small_and_keep_nothing_of_browsers(mechanism):
    text = export(mechanism, "html")
    tables = len(plain_json(sheet(mechanism)))
    assert len(text) - tables < 68_000
    assert page_content(text)["blocks"][1]["several"]
    assert 'autocomplete="off"' in text
    assert text.count('autocomplete: "off"') >= 3


def test_ticks_without_labels_are_called_by_the_names_of_their_parts():
    parts = ("tools: mail", "tools: chat")
    questions = [Question(part, labels=("no", "yes")) for part in parts]
    about = About(questions=[QuestionText("tools", "Which?", parts=parts)])
    survey = SurveyMechanism.of(questions, 1.0).with_about(about)
    (block,) = blocks_of(survey, page_texts(survey, ExportSettings()))
    assert (block.labels, block.several, block.places) == (("mail", "chat"), True, (0, 1))
