"""The scripts of the how-to for survey tools, in a browser and pages that imitate the hooks of the tools."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mechdesign.export import export
from mechdesign.mechanisms import KaryResponse
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, served

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "respondents_device.md"
LABELS = ["well", "so-so", "badly"]

LIMESURVEY = """<form id="limesurvey" method="post">{fields}
<input type="text" id="answer123X4X5" name="123X4X5" value="">{script}</form>"""

QUALTRICS = """<form><div class="QuestionText">{fields}</div></form><script>
window.stored = {{}};
const ready = [];
const Qualtrics = {{ SurveyEngine: {{
  addOnReady: (act) => ready.push(act),
  setJSEmbeddedData: (name, value) => {{ stored["__js_" + name] = value; }},
}} }};
{script}
ready.forEach((act) => act.call({{ questionId: "QID1" }}));
</script>"""

SURVEYJS = """<form><div id="question">{fields}</div></form><script type="module">
window.stored = {{}};
const heard = [];
const survey = {{
  onAfterRenderQuestion: {{ add: (act) => heard.push(act) }},
  setValue: (name, value) => {{ stored[name] = value; }},
}};
{script}
for (const name of ["another", "private"]) {{
  const htmlElement = document.getElementById(name === "private" ? "question" : "no");
  heard.forEach((act) => act(survey, {{ question: {{ name }}, htmlElement }}));
}}
</script>"""

FORM = """const form = [...new FormData(document.querySelector("form"))];
return JSON.stringify(Object.fromEntries([...form, ...Object.entries(window.stored ?? {})]));"""


def blocks(address):
    """Return the fields, the module, and the script of each tool, with the address of the test."""
    text = HOWTO.read_text(encoding="utf-8").partition("## Use it in LimeSurvey")[2]
    found = re.findall(r"```(?:html|js)\n(.*?)```", text, re.DOTALL)
    return [each.replace("https://example.org", address) for each in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    with served(folder) as server:
        fields, module, *scripts = blocks(server.address)
        (folder / "mood.js").write_text(export(KaryResponse.of(3, 1.0, LABELS), "js"), encoding="utf-8")
        (folder / "private.js").write_text(module, encoding="utf-8")
        for name, page, script in zip(TOOLS, (LIMESURVEY, QUALTRICS, SURVEYJS), scripts, strict=True):
            body = page.format(fields=fields, script=script)
            (folder / f"{name}.html").write_text(f"<!doctype html><title>x</title>{body}", encoding="utf-8")
        yield server


TOOLS = {"limesurvey": "123X4X5", "qualtrics": "__js_report", "surveyjs": "report"}
"""Under which name each tool stores the report."""


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_tool_gets_the_report_and_nothing_else(browser, site, tool):
    from selenium.webdriver.support.ui import WebDriverWait

    def stored():
        return json.loads(browser.execute_script(FORM)).get(TOOLS[tool])

    browser.get(f"{site.address}/{tool}.html")
    browser.execute_script("localStorage.clear()")
    browser.refresh()
    inputs = browser.find_elements("css selector", "[data-answer]")
    assert [each.get_attribute("data-answer") for each in inputs] == LABELS
    hears = "return localStorage.getItem(Object.keys(localStorage).find((key) => key.endsWith('probe')))"
    WebDriverWait(browser, 10).until(lambda _: browser.execute_script(hears) is not None)
    assert not stored()
    inputs[1].click()
    report = WebDriverWait(browser, 10).until(lambda _: stored())
    ((column, value),) = json.loads(report)[0].items()
    assert column.startswith("answer__m")
    assert value in LABELS
    assert list(json.loads(browser.execute_script(FORM))) == [TOOLS[tool]]
    assert not any(each.is_selected() or each.is_enabled() for each in inputs)
    browser.refresh()
    assert WebDriverWait(browser, 10).until(lambda _: stored()) == report
    assert not any(each.is_enabled() for each in browser.find_elements("css selector", "[data-answer]"))


def test_a_browser_that_keeps_nothing_says_so_before_an_answer_is_given(browser, site):
    source = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    browser.get(f"{site.address}/limesurvey.html?blocked")
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert "This browser keeps nothing" in browser.find_element("id", "private").text
    assert not any(each.is_enabled() for each in browser.find_elements("css selector", "[data-answer]"))
