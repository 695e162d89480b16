"""The page for sets of items and keys with values: ticks, numbers, a list that is searched, the report."""

from __future__ import annotations

import json

import pytest

from mechdesign.core.errors import MethodError
from mechdesign.export import ExportSettings, Receiver, export
from mechdesign.families.marginals.items.hashing import SetHashing
from mechdesign.families.marginals.items.selection import KeyValueSelection, SetSelection
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, served
from tests.support.pages import at, press

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
NAMES = ["bread", "milk", "tea", "jam", "rice"]
MECHANISMS = {
    "sets": SetSelection.of(5, 2.0, 2, 2, labels=NAMES),
    "pairs": KeyValueSelection.of(5, 2.0, 2, 3, labels=NAMES, low=0, high=5),
    "long": SetHashing.of(40, 2.0, 3, 20, labels=[f"Product {place}" for place in range(40)]),
}


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("items")
    for name, mechanism in MECHANISMS.items():
        settings = ExportSettings("Basket", "What do you have?", "/reports")
        (folder / f"{name}.html").write_text(export(mechanism, "html", settings), encoding="utf-8")
    with served(folder) as server, chromium() as browser:

        def visit(name):
            forget(browser, server.address)
            browser.get(f"{server.address}/{name}.html")
            return browser

        yield visit


def boxes(browser):
    return browser.find_elements("css selector", ".item input[type=checkbox]")


def taken(name, row):
    """Return the row as the receiver of the mechanism takes it."""
    mechanism = MECHANISMS[name]
    message = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint}
    return Receiver(mechanism).rows({**message, "rows": [row]})


@in_browser
def test_at_most_so_many_items_are_chosen_and_none_is_an_answer(visit):
    browser = visit("sets")
    at(browser, "make").click()
    assert at(browser, "q0-error").text == "Please answer this question."
    for box in boxes(browser)[:3]:
        box.click()
    assert at(browser, "q0-error").text == "You can choose at most 2."
    boxes(browser)[0].click()
    assert at(browser, "q0-error").text == ""
    browser.find_element("css selector", "input[value=none]").click()
    assert not any(box.is_selected() for box in boxes(browser))
    (row,) = press(browser)
    assert taken("sets", row) == [row]


@in_browser
def test_each_chosen_key_has_a_number(visit):
    browser = visit("pairs")
    boxes(browser)[1].click()
    boxes(browser)[3].click()
    fields = [
        field
        for field in browser.find_elements("css selector", ".item input[type=text]")
        if field.is_displayed()
    ]
    assert [field.get_attribute("aria-label") for field in fields] == ["milk", "jam"]
    fields[0].send_keys("4.5")
    fields[1].send_keys("9")
    at(browser, "make").click()
    assert at(browser, "q0-error").text == "jam: Please give a number from 0 to 5."
    assert [field.get_attribute("aria-invalid") for field in fields] == [None, "true"]
    fields[1].clear()
    fields[1].send_keys("1")
    (row,) = press(browser)
    assert taken("pairs", row) == [row]
    assert not any(field.get_attribute("value") for field in fields), "no answer stays on the page"


@in_browser
def test_a_long_list_is_searched_and_the_report_is_counted_as_the_server_counts_it(visit):
    browser = visit("long")
    at(browser, "q0-find").send_keys("PRODUCT 2")
    shown = [box for box in boxes(browser) if box.is_displayed()]
    assert len(shown) == 11
    shown[3].click()
    assert at(browser, "q0-error").text == ""
    (row,) = press(browser)
    assert taken("long", row) == [row]
    mechanism = MECHANISMS["long"]
    size = int(mechanism.count(mechanism.read(list(row.values()))).sum())
    assert at(browser, "plain").text == f"It will report a set of {size} of the 40 answers."
    assert json.loads(at(browser, "report").text) == row


def test_a_list_that_is_too_long_for_a_page_is_one_line():
    with pytest.raises(
        MethodError, match="at most 2000 items to choose from, and there are 2001; use --to js"
    ):
        export(SetHashing.of(2001, 1.0, 2, 100), "html")
