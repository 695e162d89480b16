"""The whole way in a real browser: a survey is typed, built, answered by 300 people, and its results read."""

from __future__ import annotations

import csv
import json
import random
import re
import urllib.request
from math import sqrt
from urllib.error import HTTPError

import pytest

from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.export import export
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, resize, wait
from tests.support.serving import KEY, Running, message, posted, require_packages

require_packages()
openpyxl = pytest.importorskip("openpyxl", reason="needs the extra mechdesign[xlsx]")
pytest.importorskip("xlsxwriter", reason="needs the extra mechdesign[xlsx]")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)

PEOPLE, ON_PAGE, LEAST = 300, 8, 50
ALL_SURE = 6.0
"""Standard errors by which no estimate is off: with 30 of them, one in ten million runs fails by chance."""

WARDS = ["ward", "laboratory", "office"]
TOOLS = ["chat", "paper"]
QUESTIONS = (
    {"text": "Where do you work?", "form": "choice", "labels": "\n".join(WARDS)},
    {"text": "Are you content?", "form": "yes_no", "skip": True},
    {"text": "How well do you sleep?", "form": "rating"},
    {"text": "What do you use?", "form": "several", "labels": "\n".join(TOOLS)},
    {"text": "How many hours of overtime?", "form": "mean", "range.0": "0", "range.1": "40"},
)
FILES = ("results.xlsx", "results.csv", "results.json", "results.html", "reports.jsonl")


class Browser:
    """A browser, with what the tests do again and again."""

    def __init__(self, driver):
        self.driver = driver

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def wait(self, test):
        return wait(self.driver, test)

    def is_shown(self, selector):
        return any(each.is_displayed() for each in self.driver.find_elements("css selector", selector))

    def faults(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


def person(rng):
    """Return the answers of a synthetic person, as the questions are asked."""
    content = rng.choice(["yes", "yes", "no", ""])
    ticks = [tool for tool, share in zip(TOOLS, (0.7, 0.2), strict=True) if rng.random() < share]
    return (
        rng.choices(WARDS, (5, 3, 2))[0],
        content,
        str(rng.choice([2, 3, 4, 4, 5])),
        ticks,
        rng.randrange(2, 20),
    )


def type_survey(browser):
    """Type five questions of different kinds in the design room."""
    from selenium.webdriver.support.ui import Select

    for key, text in (("title", "How we work"), ("users", str(PEOPLE)), ("epsilon", "4")):
        field = browser.one(f"#survey-{key}")
        field.clear()
        field.send_keys(text)
    for card in browser.driver.find_elements("css selector", "#cards > li"):
        card.find_element("css selector", "[data-action=remove]").click()
    for question in QUESTIONS:
        browser.one("#add").click()
        card = browser.driver.find_elements("css selector", "#cards > li")[-1]
        card.find_element("css selector", "[data-key=text]").send_keys(question["text"])
        Select(card.find_element("css selector", "[data-key=form]")).select_by_value(question["form"])
        for key in ("labels", "range.0", "range.1"):
            if key in question:
                field = card.find_element("css selector", f'[data-key="{key}"]')
                field.clear()
                field.send_keys(question[key])
        if question.get("skip"):
            card.find_element("css selector", "[data-key=skip]").click()


def answer(browser, answers):
    """Answer every question on the respondents' page, and send the report."""
    ward, content, sleep, ticks, hours = answers
    groups = browser.driver.find_elements("css selector", ".question")
    chosen = ([ward], [content or "no answer"], [sleep], ticks or ["None of these"])
    for group, labels in zip(groups, chosen, strict=False):
        for option in group.find_elements("css selector", ".option"):
            if option.text.strip() in labels:
                option.click()
    browser.one("input[type=text]").send_keys(str(hours))
    browser.one("#make").click()
    browser.wait(lambda: browser.is_shown("#made"))
    browser.one("#send").click()
    browser.wait(lambda: browser.one("#status").text.startswith("Sent"))


def listed(answers):
    """Return the answers of a person as a list, one for each input of the client."""
    ward, content, sleep, ticks, hours = answers
    return [ward, content or "no answer", sleep, *("yes" if tool in ticks else "no" for tool in TOOLS), hours]


class Downloads:
    """What the owner downloads, with the key's cookie."""

    def __init__(self, running):
        self.base = f"http://127.0.0.1:{running.owner_port}/owner"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.opener.open(f"{self.base}/?key={KEY}").close()

    def get(self, path):
        try:
            with self.opener.open(f"{self.base}{path}") as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            return error.code, error.read()


def test_from_a_typed_survey_to_a_workbook(tmp_path, capsys):
    rng = random.Random(4)
    people = [person(rng) for _ in range(PEOPLE)]
    assert {each[1] for each in people[:ON_PAGE]} == {"yes", "no", ""}, "one at the page gives no answer"
    assert {len(each[3]) for each in people[:ON_PAGE]} == {0, 1, 2}
    running = Running(tmp_path / "place", "--language", "en")
    with chromium() as driver:
        resize(driver, 1280, 1000)
        browser = Browser(driver)
        driver.get(f"http://127.0.0.1:{running.owner_port}/owner/?key={KEY}")
        browser.one("main form button").click()
        browser.wait(lambda: driver.current_url.endswith("/design"))
        type_survey(browser)
        browser.wait(lambda: browser.is_shown("#margins tbody tr"))
        browser.wait(lambda: len(driver.find_elements("css selector", "#margins tbody tr")) >= 6)
        browser.wait(lambda: "saved" in browser.one("#saved").text.lower())
        assert f"{PEOPLE}" in browser.one("#line").text
        browser.one("#build").click()
        browser.wait(lambda: browser.is_shown("#to-collect a"))
        assert browser.faults() == []
        browser.one("#to-collect a").click()
        browser.wait(lambda: driver.current_url.endswith("/collect"))
        slug = re.search(r"/s/([^/]+)/collect", driver.current_url)[1]
        assert slug == "how-we-work"  # after its title
        browser.one("form[action$='/begin'] button").click()
        browser.wait(lambda: browser.is_shown("form[action$='/end'] button"))
        public = f"http://127.0.0.1:{running.port}/s/{slug}/"
        assert public in browser.one("main").text
        for place in range(ON_PAGE):
            driver.get(public)
            browser.wait(lambda: browser.is_shown("#form"))
            answer(browser, people[place])
            driver.execute_script("localStorage.clear()")  # the next one has another device
        assert browser.faults() == []

        downloads = Downloads(running)
        status, page = downloads.get(f"/s/{slug}/results")
        assert status == 200
        assert f"from {LEAST} reports on" in page.decode()
        assert "<svg" not in page.decode().partition("How many reports came by day")[0]
        assert [downloads.get(f"/s/{slug}/results/{name}")[0] for name in FILES] == [409] * len(FILES)

        files = {"survey.json": downloads.get(f"/s/{slug}/results/survey.json")[1]}
        (tmp_path / "survey.json").write_bytes(files["survey.json"])
        mechanism = load_mechanism(tmp_path / "survey.json")
        client: dict = {}
        exec(compile(export(mechanism, "python"), "client.py", "exec"), client)
        documents = [
            message(
                mechanism,
                client["rows"](client["randomize"](listed(answers))),
                rng.getrandbits(128),
            )
            for answers in people[ON_PAGE:]
        ]
        assert set(posted(running, slug, documents, 10).values()) == {204}

        driver.get(f"http://127.0.0.1:{running.owner_port}/owner/s/{slug}/results")
        text = browser.one("main").text
        assert f"{PEOPLE} reports" in text
        assert all(question["text"] in text for question in QUESTIONS)
        assert len(driver.find_elements("css selector", "figure svg")) == len(QUESTIONS)
        assert browser.faults() == []
    for name in FILES:
        status, content = downloads.get(f"/s/{slug}/results/{name}")
        assert status == 200
        (tmp_path / name).write_bytes(content)
    assert running.end() == 0
    compare_with_estimate(tmp_path, capsys)
    compare_with_people(tmp_path, people)


def compare_with_estimate(folder, capsys):
    """Compare all downloads with the command on the downloaded reports."""
    subjects = [str(folder / "survey.json"), str(folder / "reports.jsonl")]
    capsys.readouterr()
    assert main(["estimate", *subjects, "--json"]) == 0
    assert json.loads((folder / "results.json").read_text()) == json.loads(capsys.readouterr().out)
    assert main(["estimate", *subjects, "-o", str(folder / "own.csv")]) == 0
    assert (folder / "results.csv").read_text() == (folder / "own.csv").read_text()
    with open(folder / "own.csv", newline="") as file:
        own = list(csv.DictReader(file))
    sheet = openpyxl.load_workbook(folder / "results.xlsx")["estimates"]
    head, *rows = sheet.iter_rows(values_only=True)
    assert len(rows) == len(own)
    for row, line in zip(rows, own, strict=True):
        cells = dict(zip(head, row, strict=True))
        assert (cells["question"], cells["category"]) == (line["question"], line["category"])
        for name in ("estimate", "standard_error", "low", "high"):
            stated = float(line[name]) if line[name] else None
            assert cells[name] == (None if stated is None else pytest.approx(stated, rel=1e-12))


def compare_with_people(folder, people):
    """Compare estimates with the answers, which no report shows: none is off by many standard errors."""
    with open(folder / "results.csv", newline="") as file:
        rows = {(row["question"], row["category"]): row for row in csv.DictReader(file)}
    truth = {}
    names = list(dict.fromkeys(question for question, _ in rows))
    for name, place, labels in ((names[0], 0, WARDS), (names[2], 2, list("12345"))):
        for label in labels:
            truth[name, label] = sum(person[place] == label for person in people) / PEOPLE
    truth[names[1], "yes"] = sum(person[1] == "yes" for person in people) / PEOPLE
    for name, tool in zip(names[3:5], TOOLS, strict=True):
        truth[name, "yes"] = sum(tool in person[3] for person in people) / PEOPLE
    truth[names[5], "mean"] = sum(person[4] for person in people) / PEOPLE
    assert len(truth) == 12
    for key, value in truth.items():
        error = float(rows[key]["standard_error"])
        assert abs(float(rows[key]["estimate"]) - value) < ALL_SURE * sqrt(error**2 + 1e-4), key
