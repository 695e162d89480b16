"""The page for respondents for everybody: WCAG 2.2 AA by axe-core and by own checks, keyboard, offline."""

from __future__ import annotations

import json
import re

import pytest

from mechdesign.export.texts import LANGUAGES
from tests.support.axe import REASON as NO_AXE, axe_script, violations
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, resize, served, wait
from tests.support.pages import at, fill, press, staff, write_page

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)

AXE = axe_script()
STATES = ("form", "wrong", "filled", "made", "sent")
"""What a respondent sees, one after the other."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Open a page of the staff survey in a language, on a screen, as a new respondent."""
    folder = tmp_path_factory.mktemp("access")
    mechanism = staff(folder)
    for language in LANGUAGES:
        write_page(folder, language, mechanism, post="/reports", language=language)
    write_page(folder, "shared", mechanism, post="/reports", language="en", shared=True)
    with served(folder) as server, chromium() as browser:

        def page(language, width=1280, scheme="light"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            resize(browser, width, 800)
            forget(browser, server.address)
            browser.get(f"{server.address}/{language}.html")
            return browser

        yield page


def states(browser):
    """Go through the page, and yield the name of what is shown."""
    yield "form"
    at(browser, "make").click()
    yield "wrong"
    fill(browser)
    yield "filled"
    press(browser)
    yield "made"
    at(browser, "send").click()
    wait(browser, lambda: at(browser, "status").text)
    browser.find_element("tag name", "summary").click()
    yield "sent"


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize(
    ("language", "width", "scheme"),
    [
        ("de", 1280, "light"),
        ("en", 390, "dark"),
        ("zh", 320, "light"),
        ("fr", 390, "dark"),
        ("shared", 390, "light"),
    ],
)
def test_axe_core_finds_nothing(page, language, width, scheme):
    browser = page(language, width, scheme)
    found = {state: violations(browser, AXE) for state in states(browser)}
    assert found == {state: [] for state in STATES}


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
def test_axe_core_would_find_something(page):
    """A field without a label, a text without contrast and a page without a language are found."""
    browser = page("en")
    browser.execute_script(
        "document.documentElement.removeAttribute('lang');"
        "document.querySelector('label.asked').remove();"
        "document.getElementById('leaves').style.color = '#ddd';"
    )
    found = " ".join(violations(browser, AXE))
    assert all(rule in found for rule in ("html-has-lang", "label", "color-contrast"))


CONTRAST = """
const shown = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length;
const found = [];
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!shown(node) || !own || node.closest("script, style, noscript")) continue;
  let ground = node;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
  const text = node.textContent.trim().slice(0, 30);
  found.push([node.tagName, text, getComputedStyle(node).color, getComputedStyle(ground).backgroundColor]);
}
return found;
"""


def luminance(color):
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted(map(luminance, (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


EDGES = """
return [...document.querySelectorAll(".option, select, input[type=text]")].map((node) => {
  const { borderTopColor, backgroundColor } = getComputedStyle(node);
  return [borderTopColor, backgroundColor, getComputedStyle(document.body).backgroundColor];
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_edges_of_fields_have_a_contrast_of_3(page, scheme):
    browser = page("de", 390, scheme)
    edges = browser.execute_script(EDGES)
    assert len(edges) > 12
    for edge, inside, outside in edges:
        assert min(contrast(edge, inside), contrast(edge, outside)) >= 3.0, (edge, inside, outside)


TARGETS = """
return [...document.querySelectorAll("input, select, button, summary, a")]
  .filter((node) => node.checkVisibility())
  .map((node) => (node.closest("label.option") || node).getBoundingClientRect())
  .map((box) => [box.width, box.height]);
"""


@pytest.mark.parametrize(("number", "language"), list(enumerate(LANGUAGES)), ids=LANGUAGES)
def test_every_state_fits_320_pixels_with_contrast_and_large_targets(page, number, language):
    """Nothing is scrolled sideways, texts have a contrast of 4.5, and targets 24 pixels."""
    browser, texts, seen = page(language, 320, ("light", "dark")[number % 2]), 0, []
    for state in states(browser):
        seen.append(state)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 320, state
        sizes = browser.execute_script(TARGETS)
        assert sizes, state
        assert min(min(size) for size in sizes) >= 24, state
        for tag, text, ink, ground in browser.execute_script(CONTRAST):
            assert contrast(ink, ground) >= 4.5, (state, tag, text, ink, ground)
            texts += 1
    assert tuple(seen) == STATES
    assert texts > 80


def test_the_contrast_of_white_and_black_is_21():
    assert contrast("rgb(255, 255, 255)", "rgb(0, 0, 0)") == pytest.approx(21)


def tree(browser):
    """Return roles, names, descriptions and properties of what a screen reader reads, in its order."""
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [
        {
            "role": node["role"]["value"],
            "name": node.get("name", {}).get("value", ""),
            "description": node.get("description", {}).get("value", ""),
            **{entry["name"]: entry["value"].get("value") for entry in node.get("properties", ())},
        }
        for node in nodes
        if not node["ignored"]
    ]


FIELDS = ("radio", "checkbox", "textbox", "combobox", "button")


def test_a_screen_reader_reads_every_question_field_and_error(page):
    browser = page("de")
    nodes = tree(browser)
    assert [node["name"] for node in nodes if node["role"] == "heading"] == ["Mitarbeiterbefragung 2026"]
    assert [node["role"] for node in nodes].count("main") == 1
    assert all(node["name"] for node in nodes if node["role"] in FIELDS)
    groups = [node for node in nodes if node["role"] == "group" and node["name"]]
    assert [node["name"] for node in groups] == [
        "Wie zufrieden sind Sie mit Ihrer Arbeit?",
        "Was davon nutzen Sie?",
        "Wie alt sind Sie?",
    ]
    assert "letzten vier Wochen" in groups[0]["description"]
    assert all("überhaupt nichts gesendet" in node["description"] for node in (groups[0], groups[2]))
    (number,) = [node for node in nodes if node["role"] == "textbox"]
    assert number["name"] == "Wie viele Überstunden haben Sie im Monat?"
    assert "eine Zahl von 0 bis 60" in number["description"]
    at(browser, "make").click()
    nodes = tree(browser)
    (alert,) = [node for node in nodes if node["role"] == "alert"]
    assert alert["live"] == "assertive"
    (number,) = [node for node in nodes if node["role"] == "textbox"]
    assert number["invalid"] == "true"
    assert "Bitte beantworten Sie diese Frage." in number["description"]
    fill(browser)
    press(browser)
    nodes = tree(browser)
    levels = [(node["level"], node["name"]) for node in nodes if node["role"] == "heading"]
    assert levels == [(1, "Mitarbeiterbefragung 2026"), (2, "Ihr Bericht")]
    assert "Ihr Bericht" in [node["name"] for node in nodes if node["role"] == "region"]
    assert "status" in [node["role"] for node in nodes]


def test_by_keyboard_alone_in_the_order_of_the_page(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = page("en")
    browser.execute_script("document.body.focus()")

    def keys(*pressed):
        ActionChains(browser).send_keys(*pressed).perform()
        return browser.switch_to.active_element

    passed = []

    def tab():
        element = keys(Keys.TAB)
        outline = element.value_of_css_property("outline-style")
        assert outline != "none", "no focus is seen"
        passed.append(element.get_attribute("name") or element.get_attribute("id") or element.tag_name)

    tab()
    keys(Keys.ARROW_DOWN)
    tab()
    keys(Keys.SPACE)
    for _ in range(3):
        tab()
    tab()
    keys(Keys.SPACE)
    tab()
    keys("7")
    tab()
    tab()
    keys("B1")
    tab()
    assert passed == ["q0", "q1", "q1", "q1", "q1-none", "q2", "q3", "q3-skip", "q4", "make"]
    keys(Keys.ENTER)
    wait(browser, at(browser, "made").is_displayed)
    assert browser.switch_to.active_element.get_attribute("id") == "heading"
    assert keys(Keys.TAB).get_attribute("id") == "send"
    keys(Keys.ENTER)
    wait(browser, lambda: at(browser, "status").text == "Sent. Thank you.")


def test_nothing_is_loaded_from_elsewhere_and_without_a_net_it_works(page):
    """Opened as a file with the network cut off: the report is made and can be saved."""
    browser = page("en")
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert [name for name in loaded if not name.startswith("data:")] == []
    browser.execute_cdp_cmd("Network.enable", {})
    cut = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", cut)
    fill(browser)
    (row,) = press(browser)
    at(browser, "send").click()
    said = "Not sent: the server cannot be reached. Your report is kept; try again later."
    wait(browser, lambda: at(browser, "status").text == said)
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {**cut, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1},
    )
    at(browser, "send").click()
    wait(browser, lambda: at(browser, "status").text == "Sent. Thank you.")
    assert json.loads(at(browser, "report").text) == row
