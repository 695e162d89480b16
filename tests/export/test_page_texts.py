"""A page with a text field: the alphabet is checked on the device, and what is sent is a report."""

from __future__ import annotations

import json

import pytest

from mechdesign.export import Receiver
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, served, wait
from tests.support.clients import CLIENTS
from tests.support.pages import at, press, write_page

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)


@in_browser
def test_a_text_is_checked_while_it_is_typed_and_reported(tmp_path):
    mechanism = CLIENTS["prefix-hashing"]()  # letters a, b, c, ä, ß, 雪; four of them fit
    write_page(
        tmp_path, "words", mechanism, title="Words", question="Which word is missing?", post="/reports"
    )
    with served(tmp_path) as server, chromium() as browser:
        browser.get(f"{server.address}/words.html")
        field = at(browser, "q0")
        for attribute, value in (
            ("spellcheck", "false"),
            ("autocapitalize", "none"),
            ("autocomplete", "off"),
        ):
            assert field.get_attribute(attribute) == value
        assert at(browser, "q0-symbols").text == "Possible characters: a b c ä ß 雪"
        for typed, fault in (
            ("", "Please answer this question."),
            ("   ", "Please answer this question."),
            ("aB", "“B” is not possible here."),
            ("a b", "“ ” is not possible here."),
            ("abcab", "This answer is too long. Please shorten it."),
        ):
            field.clear()
            field.send_keys(typed)
            at(browser, "make").click()
            assert at(browser, "q0-error").text == fault, typed
            assert not at(browser, "made").is_displayed()
        browser.execute_script(
            "arguments[0].value = ' a\u0308bc '", field
        )  # decomposed, with spaces around it
        (row,) = press(browser)
        assert field.get_attribute("value") == ""
        at(browser, "send").click()
        wait(browser, lambda: at(browser, "status").text == "Sent. Thank you.")
        (posted,) = map(json.loads, server.posted)
        assert Receiver(mechanism).rows(posted) == [row]
        assert browser.get_log("browser") == []
