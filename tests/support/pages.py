"""A survey with every kind of question, its pages, and what the tests of pages do in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mechdesign.export import ExportSettings, export
from mechdesign.survey import Survey
from tests.support.browser import wait

STAFF = """
[survey]
title = "Mitarbeiterbefragung 2026"
epsilon = 4.0
id = "staff-2026"
language = "de"
users = 800
introduction = '''
Guten Tag! Diese Befragung dauert drei Minuten.

Ihre Antworten bleiben auf Ihrem Gerät.'''
thanks = "Vielen Dank für Ihre Zeit."
contact = "Personalrat, Telefon 1234"

[survey.translations.en]
title = "Staff survey 2026"
introduction = "Good day!"

[survey.translations.en.questions.satisfaction]
text = "How satisfied are you?"
ends = ["not at all", "very"]

[survey.translations.en.questions.tools]
text = "Which of these do you use?"
labels = ["Nursery", "Sports", "Bus pass"]

[[questions]]
name = "satisfaction"
kind = "ordered"
text = "Wie zufrieden sind Sie mit Ihrer Arbeit?"
hint = "Denken Sie an die letzten vier Wochen."
labels = ["1", "2", "3", "4", "5"]
ends = ["gar nicht", "sehr"]
skip = true

[[questions]]
name = "tools"
kind = "several"
text = "Was davon nutzen Sie?"
labels = ["Kita", "Sport", "Jobticket"]

[[questions]]
name = "age"
text = "Wie alt sind Sie?"
range = [18, 70]
bins = [18, 30, 40, 70]
open_ends = "high"

[[questions]]
name = "hours"
text = "Wie viele Überstunden haben Sie im Monat?"
range = [0, 60]
skip = true

[[questions]]
name = "ward"
text = "Auf welcher Station arbeiten Sie?"
labels = ["A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4", "C1", "C2", "C3", "C4", "D1", "D2"]
"""


def staff(folder: Path) -> Any:
    """Return the survey, built, from its file in a folder."""
    path = folder / "staff.toml"
    path.write_text(STAFF, encoding="utf-8")
    return Survey.load(path).build().mechanism


def write_page(folder: Path, name: str, mechanism: Any, **settings: Any) -> None:
    """Write a page of a mechanism into a folder."""
    text = export(mechanism, "html", ExportSettings(**settings))
    (folder / f"{name}.html").write_text(text, encoding="utf-8")


def page_content(text: str) -> dict[str, Any]:
    """Return what a page's script reads: its blocks and sentences."""
    found = re.search(r"const PAGE =\n(.*?);\n", text, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found.group(1))
    return content


def at(browser: Any, name: str) -> Any:
    """Return the element with an id."""
    return browser.find_element("id", name)


def questions_of(browser: Any) -> list[str]:
    """Return the questions of a form, in their order."""
    found: list[str] = browser.execute_script(
        "const texts = document.querySelectorAll('#questions legend, #questions .asked');"
        "return [...texts].map((element) => element.textContent)"
    )
    return found


def options_of(browser: Any, place: int) -> list[str]:
    """Return the labels of the choices of a block."""
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('#questions > *')[arguments[0]]"
        ".querySelectorAll('.option, option')].map((e) => e.textContent)",
        place,
    )
    return found


def choose(browser: Any, place: int, *texts: str) -> None:
    """Choose answers of a block by their labels."""
    browser.execute_script(
        """
const [place, texts] = arguments;
const block = document.querySelectorAll("#questions > *")[place];
for (const label of block.querySelectorAll(".option")) {
  const input = label.querySelector("input");
  if (texts.includes(label.textContent) !== input.checked) input.click();
}
const select = block.querySelector("select");
if (select) {
  select.value = [...select.options].find((option) => texts.includes(option.textContent)).value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}
""",
        place,
        list(texts),
    )


def fill(browser: Any) -> None:
    """Answer every question of the staff survey."""
    choose(browser, 0, options_of(browser, 0)[1])
    choose(browser, 1, options_of(browser, 1)[0], options_of(browser, 1)[2])
    choose(browser, 2, options_of(browser, 2)[0])
    at(browser, "q3").clear()
    at(browser, "q3").send_keys("12,5")
    choose(browser, 4, "B1")


def press(browser: Any) -> list[dict[str, Any]]:
    """Make the report, and return its rows."""
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    return [json.loads(line) for line in at(browser, "report").text.splitlines()]
