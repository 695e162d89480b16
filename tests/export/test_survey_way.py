"""From one survey file to results: the example is built, answered on a phone's page, and estimated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.export import Receiver
from tests.export.test_surveys import displayed, text
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, resize, served, wait

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
PEOPLE = 3


def run(*arguments):
    assert main(list(arguments)) == 0


def answer(device, turn):
    """Answer every question of the page: a choice, ticks, or a number."""
    for field in device.find_elements("css selector", "input"):
        if field.get_attribute("type") == "text":
            field.send_keys(str(5 + turn))
    ticks = device.find_elements("css selector", "input[type=checkbox]")
    ticks[turn % len(ticks)].click()
    names = {each.get_attribute("name") for each in device.find_elements("css selector", "input[type=radio]")}
    for name in sorted(names):
        options = device.find_elements("css selector", f"input[name='{name}']")
        options[turn % len(options)].click()
    device.find_element("id", "make").click()
    wait(device, lambda: displayed(device, "made"))


@in_browser
def test_one_file_leads_from_questions_to_results(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("init", "--example", "staff", "-o", "staff.toml")
    run("build", "staff.toml", "-o", "staff.json")
    run("export", "staff.json", "--to", "html", "--shared", "--post", "/reports", "-o", "staff.html")
    survey = md.Survey.load("staff.json")
    with served(tmp_path) as server, chromium() as device:
        resize(device, 390, 844)
        device.get(f"{server.address}/staff.html")
        for turn in range(PEOPLE):
            wait(device, lambda: displayed(device, "form"))
            shown = device.find_element("css selector", "main").text
            for question in survey.questions:
                assert question.text in shown
            assert "The staff council" in shown
            answer(device, turn)
            device.find_element("id", "send").click()
            wait(device, lambda: text(device, "status").startswith("Sent"))
            assert "noticeboard" in device.find_element("css selector", "main").text
            device.find_element("id", "next").click()
        assert device.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        posted = list(server.posted)
    receiver = Receiver(survey.mechanism)
    rows = [row for body in posted for row in receiver.rows(json.loads(body))]
    assert len(rows) == PEOPLE
    Path("reports").mkdir()
    for turn, body in enumerate(posted):
        Path(f"reports/{turn}.jsonl").write_text(body + "\n", encoding="utf-8")
    capsys.readouterr()
    run("estimate", "staff.json", "reports", "--json")
    results = json.loads(capsys.readouterr().out)
    assert results["users"] == PEOPLE
    names = {result["name"] for result in results["results"]}
    assert {column for question in survey.about.questions for column in question.columns} <= names
    assert survey.estimate([f"reports/{turn}.jsonl" for turn in range(PEOPLE)]).users == PEOPLE
    run("report", "staff.json", *(f"reports/{turn}.jsonl" for turn in range(PEOPLE)), "-o", "results.html")
    assert "How we work" in Path("results.html").read_text(encoding="utf-8")
