"""Numbers on the page for respondents: how they are written, how they are read, and what is shown of that."""

from __future__ import annotations

import json

import pytest

from mechdesign.export import export
from mechdesign.families.mean import DiscretePiecewise, Duchi
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, served, wait

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)

PAGES = {
    "income": Duchi(1.0, 0.0, 100.0),
    "wide": Duchi(1.0, -10.0, 5000.0),
    "sharp": DiscretePiecewise(40.0, 0.0, 100.0),
}


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    """Open a page as a new respondent."""
    folder = tmp_path_factory.mktemp("numbers")
    for name, mechanism in PAGES.items():
        (folder / f"{name}.html").write_text(export(mechanism, "html"), encoding="utf-8")
    with served(folder) as server, chromium() as browser:

        def visit(name):
            browser.get(f"{server.address}/{name}.html")
            return browser

        yield visit


def at(browser, name):
    return browser.find_element("id", name)


def reported(browser):
    """Make the report, and return it."""
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    (report,) = json.loads(at(browser, "report").text).values()
    return report


READINGS = {
    "0,5": 0.5,
    "0.5": 0.5,
    " 77,25 ": 77.25,
    "12,345": 12.345,  # 12345 is outside the range
    "0,125": 0.125,
    "100": 100,
    "0": 0,
    "007": 7,
    "+3": 3,
    "-1": None,
    "101": None,
    "1.000,5": None,
    "1,000.5": None,
    "1 000": None,
    "1'000": None,
    "0,5,5": None,
    "0,": None,
    ",5": None,
    "1e1": None,
    "50 %": None,
    "\u0665": None,
    " ": None,
    "NaN": None,
}
"""What is typed for a number from 0 to 100, and how it is read."""


def test_a_decimal_comma_is_a_comma(visit):
    browser = visit("income")
    field = at(browser, "q0")
    assert (field.get_attribute("type"), field.get_attribute("inputmode")) == ("text", "decimal")
    for typed, number in READINGS.items():
        field.clear()
        field.send_keys(typed)
        said = at(browser, "q0-read").text
        valid = browser.execute_script("return document.getElementById('q0').validity.valid")
        assert valid == (number is not None), typed
        if number is None:
            assert said.startswith("Please give a number from 0 to 100"), typed
        else:
            same = typed.strip() == f"{number:g}"
            assert said == f"You entered {number:g}" if same else f"You typed {typed.strip()}: {number:g}"
    field.clear()
    field.send_keys("1.000,5")
    at(browser, "make").click()
    assert not at(browser, "made").is_displayed()
    assert "without separators between thousands" in at(browser, "q0-read").text
    field.clear()
    field.send_keys("0,5")
    assert reported(browser) in (0, 1)
    assert browser.execute_script("return document.getElementById('q0-read').textContent") == ""
    assert browser.get_log("browser") == []


def test_the_number_that_is_read_is_the_one_that_is_reported(visit):
    """Without protection the report of 2,5 is one of two numbers, and that of 25 one of two others."""
    mechanism = PAGES["sharp"]
    browser = visit("sharp")
    at(browser, "q0").send_keys("2,5")
    report = reported(browser)
    assert report in set(mechanism.randomize([2.5] * 3000, rng=1).tolist())
    assert report not in set(mechanism.randomize([25.0] * 3000, rng=1).tolist())


def test_what_can_be_read_in_two_ways_is_asked_again(visit):
    browser = visit("wide")
    field = at(browser, "q0")
    assert field.get_attribute("inputmode") == "text"  # some keyboards of decimals have no minus
    for typed, said in {
        "1,234": "This can be 1234 or 1.234.",
        "1.234": "This can be 1234 or 1.234.",
        "1.2340": "You typed 1.2340: 1.234",
        "0,125": "You typed 0,125: 0.125",
        "1234,5": "You typed 1234,5: 1234.5",
        "-1,5": "You typed -1,5: -1.5",
        "\u22121,5": "You typed \u22121,5: -1.5",
    }.items():
        field.clear()
        field.send_keys(typed)
        assert at(browser, "q0-read").text.startswith(said), typed
